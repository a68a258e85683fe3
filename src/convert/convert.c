/*
 * convert.c - see convert.h. Picks the reader for a file, and prints the site that the readers
 * filled.
 */
#include "convert/convert.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "client/qmgr.h"
#include "convert/convert_internal.h"

static const char *const names[CONVERT_KINDS] = {"maui", "slurm", "sacctmgr", "qmgr"};

const char *convert_name(enum convert_from from)
{
	return names[from];
}

struct conversion *conversion_new(void)
{
	struct conversion *c = mem_zalloc(sizeof *c);

	ruleset_init(&c->site);
	return c;
}

void conversion_free(struct conversion *c)
{
	ruleset_fini(&c->site);
	for (size_t i = 0; i < c->remark.n; i++)
		free(c->remark.v[i]);
	vec_free(&c->remark);
	convert_slurm_fini(c);
	convert_standing_fini(c);
	free(c);
}

/* ---- reading a file ---- */

/* Returns true if a line of the text begins with one of the words, which are NUL-terminated and end
 * with an empty one. */
static bool line_begins(const char *text, const char *words)
{
	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		line += strspn(line, " \t");
		for (const char *w = words; *w; w += strlen(w) + 1)
			if (strncasecmp(line, w, strlen(w)) == 0)
				return true;
	}
	return false;
}

bool convert_guess(const char *text, enum convert_from *ret)
{
	static const struct {
		enum convert_from from;
		const char *words;
	} signs[] = {
		{CONVERT_SACCTMGR, "Cluster - \0Parent - \0Account - \0Name|\0"},
		{CONVERT_QMGR, "set server \0create queue \0set queue \0create node \0create resource \0"},
		{CONVERT_SLURM, "ClusterName=\0NodeName=\0PartitionName=\0SlurmctldHost=\0ControlMachine=\0"},
		{CONVERT_MAUI,
		 "SERVERHOST\0RMCFG[\0RMPOLLINTERVAL\0BACKFILLPOLICY\0ADMIN1\0USERCFG[\0GROUPCFG[\0CLASSCFG[\0QOSCFG["
		 "\0ACCOUNTCFG[\0SRCFG[\0NODEALLOCATIONPOLICY\0QUEUETIMEWEIGHT\0FSPOLICY\0"},
	};

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (line_begins(text, signs[i].words)) {
			*ret = signs[i].from;
			return true;
		}
	return false;
}

/* Reads lines without their comments; a backslash at the end continues a line. */
static void lines_read(struct conversion *c, void (*convert)(struct conversion *c, char *line), const char *text)
{
	struct strbuf line = {0};

	for (int64_t number = 1; *text; number++) {
		size_t n = strcspn(text, "\n"), cut = n;
		if (!line.n)
			c->line = number;
		for (size_t i = 0; i < n; i++)
			if (text[i] == '#' && (i == 0 || isspace((unsigned char)text[i - 1]))) {
				cut = i;
				break;
			}
		while (cut && isspace((unsigned char)text[cut - 1]))
			cut--;
		bool more = cut && text[cut - 1] == '\\';
		strbuf_add(&line, text, cut - more);
		text += n + (text[n] == '\n');
		if (more && *text) {
			strbuf_puts(&line, " ");
			continue;
		}
		if (line.n && strbuf_text(&line)[strspn(line.text, " \t")])
			convert(c, line.text);
		strbuf_clear(&line);
	}
	strbuf_fini(&line);
}

void conversion_read(struct conversion *c, enum convert_from from, const char *name, const char *text)
{
	c->file = name;
	c->line = 1;
	switch (from) {
	case CONVERT_MAUI:
		lines_read(c, convert_maui, text);
		break;
	case CONVERT_SLURM:
		lines_read(c, convert_slurm, text);
		break;
	case CONVERT_SACCTMGR:
		lines_read(c, convert_sacctmgr, text);
		convert_sacctmgr_end(c);
		break;
	default:
		convert_qmgr(c, text);
	}
}

/* ---- printing ---- */

static int attrs_print(const struct attrs *a, const char *what, const char *name, struct strbuf *out)
{
	for (size_t i = 0; i < a->set.n; i++) {
		strbuf_printf(out, "set %s%s%s ", what, *name ? " " : "", name);
		attr_value_name(&a->set.v[i], out);
		strbuf_puts(out, " = ");
		qmgr_quote(a->set.v[i].text, out);
		strbuf_puts(out, "\n");
	}
	return (int)a->set.n;
}

static int object_print(const struct object *x, struct strbuf *out)
{
	const struct object_row *k = &object_table[x->kind];
	bool create = !k->implicit && strcmp(x->name, OBJECT_DEFAULT) != 0;

	if (create)
		strbuf_printf(out, "create %s %s\n", k->name, x->name);
	return create + attrs_print(&x->attrs, k->name, x->name, out);
}

/* Prints accounts, each after its parent. */
static int accounts_print(const struct objects *o, const char *parent, struct strbuf *out)
{
	int n = 0;

	for (size_t i = 0; i < o->of[OBJECT_ACCOUNT].n; i++) {
		const struct object *x = o->of[OBJECT_ACCOUNT].v[i];
		const char *above = attrs_text(&x->attrs, SET_PARENT);
		if (strcmp(above ? above : "", parent) == 0)
			n += object_print(x, out) + accounts_print(o, x->name, out);
	}
	return n;
}

void conversion_print(struct conversion *c, struct strbuf *out)
{
	const struct objects *o = &c->site.objects;
	int n = 0;

	convert_slurm_end(c);
	convert_standing_end(c);
	for (int k = 0; k < OBJECT_KINDS; k++) {
		if (k == OBJECT_ACCOUNT)
			n += accounts_print(o, "", out);
		else
			for (size_t i = 0; i < o->of[k].n; i++)
				n += object_print(o->of[k].v[i], out);
	}
	for (size_t i = 0; i < c->site.queues.n; i++) {
		strbuf_printf(out, "create queue %s\n", c->site.queues.v[i].name);
		n += 1 + attrs_print(&c->site.queues.v[i].attrs, "queue", c->site.queues.v[i].name, out);
	}
	n += attrs_print(&c->site.attrs, "server", "", out);
	strbuf_printf(out, "# %d directive%s, %zu remark%s%s\n", n, n == 1 ? "" : "s", c->remark.n,
		      c->remark.n == 1 ? "" : "s", c->remark.n ? ":" : "");
	for (size_t i = 0; i < c->remark.n; i++)
		strbuf_printf(out, "# %s\n", c->remark.v[i]);
}
