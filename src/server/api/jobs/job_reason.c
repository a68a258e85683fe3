/*
 * job_reason.c - why a job waits, as a code and a sentence for lists of jobs, from what is already
 * known. For a single job the scheduler lists every reason (life/grounds.c).
 */
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/phrase.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/fence.h"
#include "core/res.h"
#include "plan/plan.h"
#include "rules/gate.h"
#include "rules/limit.h"
#include "sched/explain.h"
#include "sched/sched.h"
#include "server/api/frame/limit_json.h"
#include "server/api/jobs/show_internal.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/world/world.h"
#include "server/server.h"

/* Why a job waits: a code, from which clients build sentences in other languages, and the English
 * sentence. */
struct ground {
	const char *code;
	const char *text;     /* NULL: it was written to `out` */
	int64_t needed, free; /* "cpus": CPUs; "limit": needed is the amount requested */
	struct limit_reached limit;
	struct fence bound;
	const char *form; /* "misfit": format string (struct err) */
	size_t begins;
};

/* Explains a plain queued job by what it needs and what is free, without asking the scheduler
 * (`why` does). */
static struct ground shortage_of(const struct subject *x, struct strbuf *out)
{
	const struct request *request = cluster_job_request(x->s->cluster, x->job);
	int64_t need = request->total.v[RES_CPU], idle = sched_idle_cpus(x->s->sched);

	if (need > idle) {
		strbuf_printf(out, "needs %lld CPU%s, %lld %s free", (long long)need, need == 1 ? "" : "s",
			      (long long)idle, idle == 1 ? "is" : "are");
		return (struct ground){.code = "cpus", .needed = need, .free = idle};
	}
	if (request->whole == WHOLE_HOST)
		return (struct ground){.code = "machines", .text = "waits for empty machines"};
	if (request->whole)
		return (struct ground){.code = "nodes", .text = "waits for empty nodes"};
	return (struct ground){.code = "turn", .text = "waits for its turn"};
}

static struct ground ground_of(const struct subject *x, struct strbuf *out)
{
	unsigned block = gate_blocks(x->s->gate, x->id);
	struct ground g = {0};
	struct err err;

	if (block & BLOCK_MISFIT) {
		world_misfit((struct server *)x->s, x->e->spec, &err);
		strbuf_puts(out, err.text);
		return (struct ground){.code = "misfit", .form = err.form, .begins = err.begins};
	}
	if (block & BLOCK_HOLDS)
		return (struct ground){.code = "held", .text = "held: qrls releases it"};
	if (block & BLOCK_DEPEND)
		return (struct ground){.code = "depend", .text = "waits for jobs that it depends on"};
	if (block & BLOCK_TIME)
		return (struct ground){.code = "time", .text = "waits for its time (-a)"};
	if (block & BLOCK_RETRY)
		return (struct ground){.code = "retry", .text = "failed, and is not tried again yet"};
	if (block & BLOCK_QUEUE)
		return queue_is_started(x->s, entry_get(x->s, x->id)->spec->queue)
			       ? (struct ground){.code = "route",
						 .text = "no destination of its routing queue accepts it"}
			       : (struct ground){.code = "stopped", .text = "its queue is stopped"};
	g.code = "bound";
	if (sched_bound_text(x->s->sched, x->id, &g.bound, out))
		return g;
	g.code = "limit";
	if (sched_limit_text(x->s->sched, x->id, &g.limit, &g.needed, out))
		return g;
	if (json_is_string(json_object_get(x->body, "comment")))
		return (struct ground){.code = "said", .text = json_string_value(json_object_get(x->body, "comment"))};
	return shortage_of(x, out);
}

/* Writes the values of the sentence, for translations. */
static void ground_values(const struct server *s, const struct ground *g, const char *text, struct json *j)
{
	if (strcmp(g->code, "cpus") == 0) {
		json_int(j, "needed", g->needed);
		json_int(j, "free", g->free);
	} else if (strcmp(g->code, "limit") == 0) {
		json_open_object(j, "limit");
		limit_json(s, &g->limit, g->needed, j);
		json_close_object(j);
	} else if (strcmp(g->code, "bound") == 0) {
		if (g->bound.id)
			json_text(j, "reservation", names_get(&s->cluster->reservation_names, g->bound.id - 1));
		if (g->bound.start != TIME_NEVER)
			json_int(j, "begins", g->bound.start);
		if (g->bound.end != TIME_NEVER)
			json_int(j, "ends", g->bound.end);
	} else if (g->form && g->begins < strlen(text)) {
		phrase_json(j, g->form, text + g->begins);
	}
}

const char *job_reason_text(const struct subject *x, struct strbuf *out)
{
	struct ground g = ground_of(x, out);

	return g.text ? g.text : strbuf_text(out);
}

void job_reason_json(const struct subject *x, struct strbuf *out)
{
	struct strbuf text = {0};
	struct ground g = ground_of(x, &text);
	struct json j;

	json_begin(&j, out);
	json_text(&j, "code", g.code);
	json_text(&j, "text", g.text ? g.text : strbuf_text(&text));
	ground_values(x->s, &g, strbuf_text(&text), &j);
	json_close_object(&j);
	strbuf_fini(&text);
}
