/*
 * amounts.c - see amounts.h.
 */
#include "rules/amounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"

/* Returns true for words of -l that cannot name a site-wide resource. */
static bool is_taken(const char *name)
{
	static const char *const words[] = {
		"walltime",  "nodes", "select", "ncpus",    "procs",	  "ppn",	 "mem",	     "pmem",
		"gpus",	     "ngpus", "place",	"qos",	    "advres",	  "reservation", "estimate", "deadline",
		"budget",    "vmem",  "pvmem",	"file",	    "cput",	  "pcput",	 "nodect",   "procct",
		"partition", "host",  "vnode",	"mpiprocs", "ompthreads", "disk",	 "swap",     "naccesspolicy",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(name, words[i]) == 0)
			return true;
	return false;
}

static bool is_amount(const struct attr_value *v)
{
	return attr_is(v->attr, SET_RESOURCES_AVAILABLE);
}

int amounts_check(const struct attrs *server, struct err *err)
{
	int n = 0;

	for (size_t i = 0; i < server->set.n; i++) {
		const struct attr_value *v = &server->set.v[i];
		if (!is_amount(v))
			continue;
		if (is_taken(v->resource))
			return err_set(err, -EINVAL,
				       "resources_available.%s: the name is reserved (-l has another use for it, or "
				       "nodes report it); choose another name",
				       v->resource);
		if (v->resource[strspn(v->resource, "0123456789")] == '\0')
			return err_set(err, -EINVAL, "resources_available.%s: a name needs a letter", v->resource);
		if (++n > AMOUNTS_MAX)
			return err_set(err, -EINVAL, "resources_available: a site can have at most %d", AMOUNTS_MAX);
	}
	return 0;
}

bool amounts_of_server(struct cluster *c, const struct attrs *server)
{
	size_t known = c->amounts.n;
	bool changed;

	for (size_t i = 0; i < server->set.n; i++)
		if (is_amount(&server->set.v[i]))
			cluster_amount(c, server->set.v[i].resource, NULL);
	changed = c->amounts.n > known; /* a new amount is a change even if its total is 0 */
	for (uint32_t i = 0; i < c->amounts.n; i++) {
		int64_t total = attrs_amount(server, SET_RESOURCES_AVAILABLE, names_get(&c->amount_names, i));
		if (total < 0)
			total = 0;
		changed |= c->amounts.v[i].total != total;
		c->amounts.v[i].total = total;
	}
	return changed;
}

static void name_keep(struct cluster *c, const struct named_amount *a)
{
	uint32_t id;

	if (!names_find(&c->res_names, a->name, &id))
		cluster_amount(c, a->name, NULL);
}

void amounts_keep(struct cluster *c, const struct reqtext *text)
{
	for (int i = 0; i < text->nchunks; i++)
		for (int k = 0; k < text->chunk[i].nnamed; k++)
			name_keep(c, &text->chunk[i].named[k]);
	for (int k = 0; k < text->nnamed; k++)
		name_keep(c, &text->named[k]);
}

bool amounts_missing(const struct cluster *c, const struct request *r, struct strbuf *out)
{
	for (uint32_t i = 0; i < r->nportions; i++) {
		const struct amount *a = &c->amounts.v[r->portion[i].amount];
		const char *name = names_get(&c->amount_names, r->portion[i].amount);
		if (a->total < r->portion[i].count) {
			strbuf_printf(out, "the site has %lld %s", (long long)a->total, name);
			return true;
		}
		if (a->total - a->elsewhere < r->portion[i].count) {
			strbuf_printf(out, "%lld of %lld %s are in use outside the cluster", (long long)a->elsewhere,
				      (long long)a->total, name);
			return true;
		}
	}
	return false;
}

/* ---- reports of a site's program ---- */

#define REPORT_LINES_MAX 10000

static int count_parse(const char *text, const char *what, int64_t *ret, struct err *err)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 12 || text[n])
		return err_set(err, -EINVAL, "%s must be a whole number from 0 to 999999999999, not \"%.40s\"", what,
			       text);
	*ret = strtoll(text, NULL, 10);
	return 0;
}

/* Parses a line, modifying it. Returns 1 for a report, 0 for an empty line. */
static int report_line(char *line, struct amount_report *ret, struct err *err)
{
	char *rest = NULL, *word[4] = {NULL};
	int n = 0, rc;

	line[strcspn(line, "#\r")] = '\0';
	for (char *w = strtok_r(line, " \t", &rest); w && n < 4; w = strtok_r(NULL, " \t", &rest))
		word[n++] = w;
	if (n == 0)
		return 0;
	if (n < 2 || n > 3 || strlen(word[0]) >= sizeof ret->name)
		return err_set(err, -EINVAL, "a line must be \"NAME TOTAL [IN-USE-ELSEWHERE]\"");
	*ret = (struct amount_report){.elsewhere = 0};
	memcpy(ret->name, word[0], strlen(word[0]) + 1);
	rc = count_parse(word[1], "the total", &ret->total, err);
	if (rc == 0 && n == 3)
		rc = count_parse(word[2], "what is in use elsewhere", &ret->elsewhere, err);
	return rc < 0 ? rc : 1;
}

int amounts_report_read(const char *text, size_t n, amount_reports *ret, struct err *err)
{
	struct lines *in = lines_over(text, n);
	struct amount_report x;
	char *line;
	int rc;

	while ((rc = lines_next(in, &line, err)) == 1) {
		rc = ret->n >= REPORT_LINES_MAX ? err_set(err, -EINVAL, "more than %d lines", REPORT_LINES_MAX)
						: report_line(line, &x, err);
		if (rc < 0) {
			rc = err_prefix(err, rc, "line %lld", (long long)lines_number(in));
			break;
		}
		if (rc)
			vec_push(ret, x);
	}
	lines_close(in);
	if (rc < 0)
		vec_free(ret);
	return rc < 0 ? rc : 0;
}

int64_t amounts_elsewhere(int64_t total, const struct amount_report *r)
{
	return (r->total < total ? total - r->total : 0) + r->elsewhere;
}
