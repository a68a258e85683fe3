/*
 * metrics.c - see metrics.h. All values are counted as they occur, or by nodes and queues; none
 * takes a pass over jobs.
 */
#include "server/api/admin/metrics.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "net/http.h"
#include "server/base/stats.h"
#include "server/job/jobs.h"
#include "server/link/nodes.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"

static void head(struct strbuf *out, const char *name, const char *type, const char *help)
{
	const char *const words[] = {"# HELP shunt_", name, " ", help, "\n# TYPE shunt_", name, " ", type, "\n"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		strbuf_puts(out, words[i]);
}

/* Writes a number, without decimals if it is whole, as most are. */
static void number(struct strbuf *out, double value)
{
	if (value > -1e15 && value < 1e15 && (double)(int64_t)value == value)
		strbuf_int(out, (int64_t)value);
	else
		strbuf_printf(out, "%.15g", value);
	strbuf_puts(out, "\n");
}

void metric_write(struct strbuf *out, const char *name, const char *type, const char *help, double value)
{
	head(out, name, type, help);
	strbuf_puts(out, "shunt_");
	strbuf_puts(out, name);
	strbuf_puts(out, " ");
	number(out, value);
}

static void total(struct strbuf *out, const char *name, const char *help, double value)
{
	metric_write(out, name, "counter", help, value);
}

static void node_line(struct strbuf *out, const char *name, const char *node, int64_t value)
{
	const char *const words[] = {"shunt_", name, "{node=\"", node, "\"} "};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		strbuf_puts(out, words[i]);
	strbuf_int(out, value);
	strbuf_puts(out, "\n");
}

static int64_t cpus(const struct server *s, uint32_t node)
{
	return node_cpus(&s->cluster->nodes.v[node]);
}

static int64_t cpus_used(const struct server *s, uint32_t node)
{
	return world_cpus_used(s, node);
}

static int64_t up(const struct server *s, uint32_t node)
{
	return node_plain(s, node);
}

static const struct by_node {
	const char *name, *help;
	int64_t (*value)(const struct server *s, uint32_t node);
} by_node[] = {
	{"node_cpus", "CPUs of a node.", cpus},
	{"node_cpus_used", "CPUs of a node that jobs hold.", cpus_used},
	{"node_up", "1 if jobs can start on a node.", up},
};

#define BY_NODE (sizeof by_node / sizeof *by_node)

/* An answer in progress: the sums of one instant, then three lines for each node in slices, since
 * there may be very many. */
struct scrape {
	const struct server *s;
	struct strbuf sums; /* not yet sent */
	size_t what;	    /* index in by_node */
	uint32_t next;	    /* next node */
};

static int scrape_fill(void *context, struct strbuf *out, size_t want)
{
	struct scrape *x = context;
	const struct server *s = x->s;

	strbuf_add(out, strbuf_text(&x->sums), x->sums.n);
	strbuf_clear(&x->sums);
	if (x->what == BY_NODE)
		return out->n ? 1 : -1;
	for (; x->what < BY_NODE && out->n < want; x->what++, x->next = 0) {
		const struct by_node *b = &by_node[x->what];
		if (x->next == 0)
			head(out, b->name, "gauge", b->help);
		for (; x->next < s->hosts->nodes.n && (x->next == 0 || out->n < want); x->next++)
			if (!world_node_past(s, x->next))
				node_line(out, b->name, names_get(&s->cluster->node_names, x->next),
					  b->value(s, x->next));
		if (x->next < s->hosts->nodes.n)
			break;
	}
	return 1;
}

static void scrape_free(void *context)
{
	struct scrape *x = context;

	strbuf_fini(&x->sums);
	free(x);
}

void metrics_send(const struct server *s, struct http_request *r, struct strbuf *sums, bool nodes)
{
	struct scrape *x = mem_zalloc(sizeof *x);

	x->s = s;
	x->what = nodes ? 0 : BY_NODE;
	x->sums = *sums;
	*sums = (struct strbuf){0};
	http_stream(r, 200, "text/plain; version=0.0.4", &(struct stream_source){scrape_fill, scrape_free, x});
}

void metrics_write(const struct server *s, struct strbuf *out)
{
	head(out, "queue_jobs", "gauge", "Jobs that wait or run, by queue.");
	for (size_t i = 0; i < s->jobs->queues.n; i++)
		strbuf_printf(out, "shunt_queue_jobs{queue=\"%s\"} %lld\n", s->jobs->queues.v[i]->name,
			      (long long)s->jobs->queues.v[i]->total);
	total(out, "jobs_first_started_total", "Jobs that started for the first time.",
	      (double)s->stats->first_started);
	total(out, "wait_seconds_total", "Time that those jobs had waited, from when they were due.",
	      (double)s->stats->waited);
	total(out, "jobs_failed_total", "Jobs that ended with an exit status other than 0.", (double)s->stats->failed);
	total(out, "start_failures_total", "Attempts that could not be started on a node.",
	      (double)s->stats->start_failures);
	total(out, "cycle_seconds_total", "Time spent in scheduling cycles.", (double)s->stats->cycles_us / 1e6);
}
