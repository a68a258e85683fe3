/*
 * metrics.c - see metrics.h. All values are counted as they occur, or by nodes and queues; none
 * takes a pass over jobs.
 */
#include "server/api/admin/metrics.h"

#include <stdint.h>

#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
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

static void node_line(struct strbuf *out, const char *name, const char *node, int64_t value)
{
	const char *const words[] = {"shunt_", name, "{node=\"", node, "\"} "};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		strbuf_puts(out, words[i]);
	strbuf_int(out, value);
	strbuf_puts(out, "\n");
}

static void total(struct strbuf *out, const char *name, const char *help, double value)
{
	metric_write(out, name, "counter", help, value);
}

/* Writes a line for each existing node. */
static void by_node(const struct server *s, struct strbuf *out, const char *name, const char *help,
		    int64_t (*value)(const struct server *s, uint32_t node))
{
	head(out, name, "gauge", help);
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		if (!world_node_past(s, i))
			node_line(out, name, names_get(&s->cluster->node_names, i), value(s, i));
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

void metrics_write(const struct server *s, struct strbuf *out)
{
	head(out, "queue_jobs", "gauge", "Jobs that wait or run, by queue.");
	for (size_t i = 0; i < s->jobs->queues.n; i++)
		strbuf_printf(out, "shunt_queue_jobs{queue=\"%s\"} %lld\n", s->jobs->queues.v[i]->name,
			      (long long)s->jobs->queues.v[i]->total);
	by_node(s, out, "node_cpus", "CPUs of a node.", cpus);
	by_node(s, out, "node_cpus_used", "CPUs of a node that jobs hold.", cpus_used);
	by_node(s, out, "node_up", "1 if jobs can start on a node.", up);
	total(out, "jobs_first_started_total", "Jobs that started for the first time.",
	      (double)s->stats->first_started);
	total(out, "wait_seconds_total", "Time that those jobs had waited, from when they were due.",
	      (double)s->stats->waited);
	total(out, "jobs_failed_total", "Jobs that ended with an exit status other than 0.", (double)s->stats->failed);
	total(out, "start_failures_total", "Attempts that could not be started on a node.",
	      (double)s->stats->start_failures);
	total(out, "cycle_seconds_total", "Time spent in scheduling cycles.", (double)s->stats->cycles_us / 1e6);
}
