/*
 * api_why.c - explains in a sentence why a job waits.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/job.h"
#include "net/http.h"
#include "plan/pack.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/explain.h"
#include "server/api/frame/answer.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/limit_json.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/grounds.h"
#include "server/life/peers/away.h"
#include "server/life/wait/foresee.h"
#include "server/life/wait/overlay.h"
#include "server/life/world/block.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "server/settings/remotes.h"
#include "server/site/who.h"

static void name_job(void *context, uint32_t job, struct strbuf *out)
{
	entry_id(context, job, out);
}

static void why_blocked(struct server *s, uint32_t id, struct strbuf *out)
{
	const struct entry *e = entry_get(s, id);
	unsigned block = gate_blocks(s->gate, id);
	char when[32];

	if (block & BLOCK_MISFIT) {
		struct err err;
		world_misfit(s, e->spec, &err);
		strbuf_puts(out, err.text);
		strbuf_puts(out,
			    e->spec->request != UINT32_MAX &&
					    pack_refuse_amounts(s->cluster, &s->cluster->requests.v[e->spec->request],
								NULL) < 0
				    ? ": qalter -l what it asks for"
				    : ": qalter -l what it asks for, or bring the nodes back");
	} else if (block & BLOCK_SYSTEM)
		strbuf_printf(out,
			      held_by_failures(e)
				      ? "it is held by the system%s%s: qrls releases it"
				      : "it is held by the system%s%s: a manager releases it with qrls -h s",
			      e->outcome && e->outcome->comment ? ": " : "",
			      e->outcome && e->outcome->comment ? e->outcome->comment : "");
	else if (block & BLOCK_HOLDS)
		strbuf_printf(out, "it is held by its %s: qrls -h %s releases it",
			      block & BLOCK_USER ? "user" : "operator", block & BLOCK_USER ? "u" : "o");
	else if (block & BLOCK_DEPEND) {
		strbuf_puts(out, "it waits for other jobs: ");
		block_explain(s, id, out);
	} else if (block & BLOCK_TIME)
		strbuf_printf(out, "it must not start before %s (-a): change the time with qalter -a",
			      instant_format(e->spec->at, when, sizeof when));
	else if (block & BLOCK_RETRY)
		strbuf_printf(out, "%s (failure %u)",
			      e->outcome && e->outcome->comment ? e->outcome->comment
								: "it failed, and is tried again later",
			      e->failures ? e->failures->total : 0);
	else if (queue_is_remote(word_text(s, e->spec->queue)))
		away_explain(s, id, out);
	else if (block & BLOCK_QUEUE)
		strbuf_printf(
			out,
			queue_is_started(s, e->spec->queue)
				? "no destination of its routing queue %s accepts it: move it to another queue with qmove"
				: "its queue %s is stopped: qstart, by an operator, starts it",
			word_text(s, e->spec->queue));
}

/* Writes when a waiting job is expected to start, and an array to end, or why that is unknown. */
static void why_expected(const struct server *s, uint32_t id, bool known, int64_t at, int64_t array_end,
			 struct strbuf *out)
{
	char when[32], age[32];

	if (known) {
		strbuf_printf(out, "; it is expected to start in %s%s", foresee_rough(s, id) ? "roughly " : "",
			      duration_human(at > s->clock->now ? at - s->clock->now : 0, when, sizeof when));
		if (array_end != TIME_NEVER)
			strbuf_printf(out, ", and the last element to end within %s",
				      duration_human(array_end > s->clock->now ? array_end - s->clock->now : 0, when,
						     sizeof when));
		if (gate_blocks(s->gate, id) & BLOCK_DEPEND)
			strbuf_puts(out, ", if the jobs it waits for succeed");
		if (s->clock->now - foresee_made(s, id) >= FORECAST_OLD)
			strbuf_printf(out, " (as of %s ago)",
				      duration_human(s->clock->now - foresee_made(s, id), age, sizeof age));
	} else if (gate_blocks(s->gate, id) & (BLOCK_HOLDS | BLOCK_QUEUE | BLOCK_MISFIT)) {
		strbuf_puts(out, "; until then there is no estimate of its start");
	} else {
		strbuf_puts(out, "; no estimate: ");
		foresee_not(s, id, out);
	}
}

/* Argument of the getters in this file: a job, and one of the reasons why it waits. */
struct subject {
	struct server *s;
	const struct asker *who;
	uint32_t job;
	const struct reason *reason;
};

static void id_write(const struct subject *x, uint32_t job, struct json *j)
{
	struct strbuf id = {0};

	entry_id(x->s, job, &id);
	json_text(j, NULL, id.text);
	strbuf_fini(&id);
}

static void seen_write(const struct subject *x, uint32_t job, struct json *j)
{
	const struct spec *p = job == JOB_NONE ? NULL : entry_get(x->s, job)->spec;

	if (p && may_see(x->s, x->who, p))
		id_write(x, job, j);
}

static void jobs_inside(const struct subject *x, struct json *j)
{
	seen_write(x, x->reason->by, j);
	for (size_t i = 0; i < x->reason->holders.n; i++)
		seen_write(x, x->reason->holders.v[i], j);
}

static void nodes_inside(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->reason->nodes.n; i++)
		json_text(j, NULL, names_get(&x->s->cluster->node_names, x->reason->nodes.v[i]));
}

static void limit_inside(const struct subject *x, struct json *j)
{
	if (x->reason->why == WHY_LIMIT)
		limit_json(x->s, &x->reason->limit, x->reason->needed, j);
}

struct ground_shown {
	struct subject x;
	struct ground g;
};

static const struct schema one_reason = {FIELDS(
	{"code", .is = REQUIRED | IS_TEXT, "in a word", .words = GROUND_CODES, MEMBER(struct ground_shown, g.code)},
	{"text", .is = REQUIRED | IS_TEXT, "a sentence", MEMBER(struct ground_shown, g.text)},
	{"change", .is = REQUIRED | IS_TEXT, "what would change it", MEMBER(struct ground_shown, g.change)},
	{"implied", .is = REQUIRED | IS_BOOL, "it is gone when the others are",
	 MEMBER(struct ground_shown, g.detail.implied)},
	{"jobs", .is = REQUIRED | IS_LIST, "other jobs that it is about, as far as the user may see them",
	 .item = IS_TEXT, .inside = jobs_inside},
	{"nodes", .is = REQUIRED | IS_LIST, "nodes that it is about", .item = IS_TEXT, .inside = nodes_inside},
	{"limit", .is = IS_OBJECT, .of = &limit_schema, .inside = limit_inside})};

static void reasons_inside(const struct subject *x, struct json *j)
{
	const struct job *job = entry_job(x->s, x->job);
	ground_vec list = {0};

	if (job->state == STATE_HELD || job_waits(job))
		grounds_find(x->s, x->job, &list);
	for (size_t i = 0; i < list.n; i++) {
		struct ground_shown shown = {*x, list.v[i]};
		shown.x.reason = &list.v[i].detail;
		schema_show(&one_reason, NULL, &shown, NULL, j);
	}
	grounds_fini(&list);
}

static void holders_inside(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->reason->holders.n; i++)
		id_write(x, x->reason->holders.v[i], j);
}

struct why_shown {
	struct subject x;
	const char *text, *why;
	int64_t when, end, made;
	int64_t needed, free, missing; /* NOT_COUNTED: the reason is not about an amount */
};

#define NOT_COUNTED INT64_MIN

const struct schema why_answer = {FIELDS(
	{"text", .is = REQUIRED | IS_TEXT, "a sentence", MEMBER(struct why_shown, text)},
	{"why", .is = REQUIRED | IS_TEXT, "the reason in a word",
	 .words = "not|next|held|never|short|scattered|whole|reserved|turn|limit|leaves|reservation|hours|amount",
	 MEMBER(struct why_shown, why)},
	{"when", .is = REQUIRED | IS_INSTANT | IS_NULL, "its expected start", MEMBER(struct why_shown, when)},
	{"end", .is = REQUIRED | IS_INSTANT | IS_NULL, "its expected end; of an array that of its last element",
	 MEMBER(struct why_shown, end)},
	{"made", .is = REQUIRED | IS_INSTANT | IS_NULL, "the instant of that forecast", MEMBER(struct why_shown, made)},
	{"needed", .is = SPARSE | IS_INT,
	 "CPUs, if there are too few; whole nodes or machines, if too few are empty; of an amount of the site",
	 .missing = NOT_COUNTED, MEMBER(struct why_shown, needed)},
	{"free", .is = SPARSE | IS_INT, .missing = NOT_COUNTED, MEMBER(struct why_shown, free)},
	{"missing", .is = SPARSE | IS_INT, .missing = NOT_COUNTED, MEMBER(struct why_shown, missing)},
	{"holders", .is = REQUIRED | IS_LIST, "jobs that hold what it needs", .item = IS_TEXT,
	 .inside = holders_inside},
	{"reasons", .is = REQUIRED | IS_LIST,
	 "every reason for which it does not start now: with all of them gone it starts at once, with fewer it does not, but for those that are implied",
	 .of = &one_reason, .item = IS_OBJECT, .inside = reasons_inside})};

/* Returns true for reasons with an amount needed and an amount free. */
static bool is_counted(enum why why)
{
	return why == WHY_SHORT || why == WHY_NEVER || why == WHY_WHOLE || why == WHY_AMOUNT;
}

/* Writes the answer for a job, or for an array: the reason of its first waiting element. */
static void why_write(struct server *s, const struct asker *who, uint32_t id, const struct array *a, struct strbuf *out)
{
	struct strbuf sentence = {0};
	struct reason reason;
	int64_t at = TIME_NEVER, end = TIME_NEVER;
	bool known, counted;

	for (uint32_t i = 0; a && i < a->count && entry_job(s, id)->state > STATE_ALLOCATED; i++)
		id = a->first + i;
	sched_explain(s->sched, id, &reason);
	known = foresee_start(s, id, &at);
	if (!(a ? foresee_array_end(s, a, &end) : foresee_end(s, id, &end)))
		end = TIME_NEVER;
	if (entry_job(s, id)->state == STATE_NEW)
		strbuf_puts(&sentence, "it is being submitted");
	else if (entry_job(s, id)->state == STATE_HELD)
		why_blocked(s, id, &sentence);
	else if (!attrs_bool(s->attrs, SET_SCHEDULING) && job_waits(entry_job(s, id)))
		strbuf_puts(&sentence, "the server is not starting jobs (scheduling is False)");
	else if (reason.why == WHY_NOT) {
		char state = entry_state(s, id);
		strbuf_printf(&sentence, "it does not wait: it %s",
			      state == 'C'   ? "has ended"
			      : state == 'E' ? "is ending"
					     : "runs");
		if (state == 'C')
			strbuf_printf(&sentence, " with exit status %d", entry_get(s, id)->exit_status);
		if (state == 'C' && entry_get(s, id)->outcome && entry_get(s, id)->outcome->comment)
			strbuf_printf(&sentence, ": %s", entry_get(s, id)->outcome->comment);
	} else {
		reason_text(s->sched, id, &reason, name_job, s, &sentence);
		if (reason_of_nodes(reason.why))
			world_tie(s, entry_get(s, id)->spec, &sentence);
		failures_text(s, id, &sentence);
		overlays_why(s, id, &sentence);
	}
	if (entry_job(s, id)->state < STATE_NOW && reason.why != WHY_NEXT)
		why_expected(s, id, known, at, a ? end : TIME_NEVER, &sentence);
	counted = is_counted(reason.why);
	record_show_text(why_answer.fields, why_answer.in,
			 &(struct why_shown){
				 .x = {s, who, id, &reason},
				 .text = strbuf_text(&sentence),
				 .why = why_name(reason.why),
				 .when = known ? at : TIME_NEVER,
				 .end = end,
				 .made = known ? foresee_made(s, id) : TIME_NEVER,
				 .needed = counted ? reason.needed : NOT_COUNTED,
				 .free = counted ? reason.free : NOT_COUNTED,
				 .missing = counted ? reason.missing : NOT_COUNTED,
			 },
			 s->words, out);
	reason_fini(&reason);
	strbuf_fini(&sentence);
}

/* What an answer in the loop may cost, in nodes that are examined: some milliseconds. */
#define LOOP_NODES 8000
#define JOBS_A_NODE 16 /* jobs that cost as much to copy as a node to examine */
#define PLACE_NODES 4  /* nodes that cost as much to examine as a reserved fragment to take out */

static bool is_long(const struct server *s, uint32_t id, const struct array *a)
{
	const struct job *job = entry_job(s, id);

	return s->loop && (a || job_waits(job) || job->state == STATE_HELD) &&
	       s->plan->nnodes + rows_left(&s->cluster->jobs) / JOBS_A_NODE +
			       PLACE_NODES * (uint64_t)s->plan->nreserved >
		       LOOP_NODES;
}

static bool why_answers(struct server *s, const struct asker *who, const char *name, struct strbuf *out,
			struct err *err)
{
	struct array *a;
	uint32_t id;

	if (job_seen(s, who, name, &id, &a, err) < 0)
		return false;
	why_write(s, who, id, a, out);
	return true;
}

void api_why(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct array *a;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a))
		return;
	foresee_update(s);
	if (is_long(s, id, a)) {
		answer_apart(s, c, why_answers);
		return;
	}
	why_write(s, c->w, id, a, &out);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}
