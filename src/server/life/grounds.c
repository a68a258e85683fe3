/* grounds.c - see grounds.h: first the gate's reasons (rules/gate.h), then the scheduler's. */
#include "server/life/grounds.h"
#include "server/life/peers/away.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/jobid.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/blockers.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/life/wait/overlay.h"
#include "server/life/world/block.h"
#include "server/life/world/world.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/remotes.h"
#include "store/store.h"

#define NEWS_MOST 100000 /* maximum relations judged as if the jobs in the way had ended */

struct finding {
	struct server *s;
	uint32_t id;
	const struct entry *e;
	ground_vec *list;
};

void grounds_fini(ground_vec *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->v[i].text);
		free(v->v[i].change);
		reason_fini(&v->v[i].detail);
	}
	vec_free(v);
}

static struct ground *say(struct finding *f, const char *code, const char *text, const char *change)
{
	struct ground g = {.code = code,
			   .text = mem_strdup(text),
			   .change = mem_strdup(change),
			   .detail = {.why = WHY_NOT, .by = JOB_NONE}};

	vec_push(f->list, g);
	return &f->list->v[f->list->n - 1];
}

/* ---- the gate's reasons ---- */

static void find_holds(struct finding *f, unsigned block)
{
	const char *comment = f->e->outcome ? f->e->outcome->comment : NULL;
	struct strbuf text = {0};

	if (block & BLOCK_USER)
		say(f, "hold_user", "it is held by its user", "release it with qrls -h u");
	if (block & BLOCK_OTHER)
		say(f, "hold_other", "it is held by an operator", "an operator releases it with qrls -h o");
	if (block & BLOCK_SYSTEM) {
		strbuf_printf(&text, "it is held by the system%s%s", comment ? ": " : "", comment ? comment : "");
		say(f, "hold_system", text.text,
		    held_by_failures(f->e) ? "release it with qrls once the cause is removed"
					   : "a manager releases it with qrls -h s");
	}
	strbuf_fini(&text);
}

static void find_relation(void *context, enum depend_type type, const struct jobid *id, const char *text)
{
	struct finding *f = context;
	struct ground *g;
	uint32_t other;

	if (f->list->n >= GROUNDS_MOST)
		return;
	g = say(f, "depend", text, "change the dependency with qalter -W depend=");
	if (id && entry_find(f->s, id->number, id->index, &other))
		g->detail.by = other;
}

static void find_times(struct finding *f, unsigned block)
{
	struct strbuf text = {0}, change = {0};
	char when[32];

	if (block & BLOCK_TIME) {
		strbuf_printf(&text, "it must not start before %s (-a)",
			      instant_format(f->e->spec->at, when, sizeof when));
		say(f, "time", text.text, "change the time with qalter -a");
	}
	strbuf_clear(&text);
	if (block & BLOCK_RETRY) {
		strbuf_printf(&text, "its last attempt could not be started or was lost (failure %u)",
			      f->e->failures ? f->e->failures->total : 0);
		if (f->e->failures)
			strbuf_printf(&change,
				      "it will be retried at %s; a manager has it tried at once with qrls -h s",
				      instant_format(f->e->failures->until, when, sizeof when));
		say(f, "retry", text.text, strbuf_text(&change));
	}
	strbuf_fini(&text);
	strbuf_fini(&change);
}

static void find_place(struct finding *f, unsigned block)
{
	const char *queue = word_text(f->s, f->e->spec->queue);
	struct strbuf text = {0}, change = {0};

	if (block & BLOCK_QUEUE) {
		if (queue_is_remote(queue)) {
			away_explain(f->s, f->id, &text);
			say(f, "site", text.text,
			    "wait for the site, or take it back with qmove while the site does not have it");
		} else if (queue_is_started(f->s, f->e->spec->queue)) {
			strbuf_printf(&text, "no destination of its routing queue %s accepts it", queue);
			say(f, "route", text.text, "move it to another queue with qmove");
		} else {
			strbuf_printf(&text, "its queue %s is stopped", queue);
			strbuf_printf(&change, "an operator starts the queue with qstart %s", queue);
			say(f, "queue", text.text, change.text);
		}
	}
	if (block & BLOCK_MISFIT) {
		struct err err;
		world_misfit(f->s, f->e->spec, &err);
		say(f, "misfit", err.text, "change the request with qalter -l, or add nodes that are large enough");
	}
	strbuf_fini(&text);
	strbuf_fini(&change);
}

/* ---- the scheduler's reasons ---- */

static void name_job(void *context, uint32_t job, struct strbuf *out)
{
	entry_id(context, job, out);
}

/* Returns what would change a reason; "" if nothing is known. */
static const char *change_of(const struct finding *f, const struct reason *r)
{
	static const char *const changes[WHY_COUNT] = {
		[WHY_SHORT] = "wait until those jobs end",
		[WHY_SCATTERED] = "wait until those jobs end",
		[WHY_WHOLE] = "wait until those jobs end",
		[WHY_RESERVED_FOR] = "wait until that job starts, or shorten the walltime (qalter -l walltime=)",
		[WHY_NODES] = "bring the nodes back (see 'shunt nodes'; an operator uses 'shunt nodes online')",
		[WHY_AVOIDED] = "wait until the pause is over; a manager has them tried at once with qrls -h s",
		[WHY_BOOKED] = "wait until the nodes accept jobs again, or shorten the walltime (qalter -l walltime=)",
		[WHY_RESERVATION] =
			"release the reservation (releaseres), admit the job to it, or shorten the walltime",
		[WHY_HOURS] = "wait until then, or have an administrator change long_checkpoint_hours",
		[WHY_ORDER] =
			"wait until they start or end, or move it ahead of them (showq -i shows the order; qorder and qalter -p change it)",
	};

	if (reason_too_late(f->s->sched, f->id, r))
		return "give it a later deadline (qalter --deadline) or ask for less; waiting helps only if other jobs end early";
	if (r->why == WHY_LIMIT)
		return r->limit.measure != LIMIT_JOBS && r->needed > r->limit.most
			       ? "the request exceeds the limit itself: lower it with qalter -l, or raise the limit"
			       : "wait until another job that counts towards the limit ends, or raise the limit";
	if (r->why == WHY_AMOUNT)
		return r->holders.n || r->implied ? "wait until jobs that hold it end"
						  : "wait until less is used outside the cluster";
	if (r->why == WHY_NEVER)
		return overlays_could_hold(f->s, f->e->spec->request, f->e->spec->allowed)
			       ? "wait until nodes of an overlay come (see 'shunt overlay'), or change the request with qalter -l"
			       : "change the request with qalter -l";
	return changes[r->why] ? changes[r->why] : "";
}

static void reason_add(struct finding *f, const struct reason *r)
{
	struct strbuf text = {0}, change = {0};
	char when[32];

	reason_text(f->s->sched, f->id, r, name_job, f->s, &text);
	if (reason_of_nodes(r->why))
		world_tie(f->s, f->e->spec, &text);
	strbuf_puts(&change, change_of(f, r));
	if (r->why == WHY_SHORT && r->when != TIME_NEVER && r->when > f->s->clock->now &&
	    !reason_too_late(f->s->sched, f->id, r))
		strbuf_printf(&change, ", in %s at the latest",
			      duration_human(r->when - f->s->clock->now, when, sizeof when));
	say(f, why_name(r->why), text.text, strbuf_text(&change))->detail = *r;
	strbuf_fini(&text);
	strbuf_fini(&change);
}

/* Collects the jobs that starting the job's stopped queue would also release. */
static void along_collect(const struct finding *f, unsigned block, job_vec *ret)
{
	const struct server *s = f->s;

	if (queue_is_remote(word_text(s, f->e->spec->queue)) || queue_is_started(s, f->e->spec->queue))
		return; /* moving it to another queue releases no other job */
	if (!(block & BLOCK_QUEUE))
		return;
	JOBS_EACH(s, id)
		if (id != f->id && gate_blocks(s->gate, id) == BLOCK_QUEUE && entry_get(s, id)->spec &&
		    entry_get(s, id)->spec->queue == f->e->spec->queue && entry_job(s, id)->state == STATE_HELD)
			vec_push(ret, id);
}

/* Adds the jobs that the end of those in its way would release: they compete with it then. Returns
 * true if there are any. */
static bool dependents_collect(const struct finding *f, const reason_vec *reasons, job_vec *ret)
{
	const struct server *s = f->s;
	struct gate *then = NULL;
	size_t before = ret->n;
	enum gate_news news;
	uint32_t id;

	for (size_t i = 0; i < reasons->n; i++)
		for (size_t k = 0; k < reasons->v[i].holders.n; k++) {
			uint32_t holder = reasons->v[i].holders.v[k];
			if (!map_get(&s->jobs->dependents, job_key_number(entry_get(s, holder)->key), &(uint64_t){0}))
				continue;
			then = then ? then : gate_clone(s->gate);
			gate_ended(then, holder, 0);
		}
	for (int i = 0; then && i < NEWS_MOST && (news = gate_news(then, &id, NULL)) != NEWS_NONE; i++)
		if (news == NEWS_FREED && id != f->id && gate_blocks(then, id) == 0)
			vec_push(ret, id);
	gate_destroy(then);
	return ret->n > before;
}

static void find_scheduled(struct finding *f, unsigned block, bool released)
{
	struct server *s = f->s;
	bool *there = mem_zalloc((s->cluster->nodes.n + 1) * sizeof *there);
	job_vec along = {0};
	struct blockers_ask ask = {f->id,
				   spec_nodes(s, f->e->spec),
				   there,
				   &along,
				   released,
				   f->e->spec->allowed != NODES_ALL,
				   &s->outlook->scratch};
	reason_vec reasons = {0};

	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		there[i] = !node_gone(&s->hosts->nodes.v[i].life);
	along_collect(f, block, &along);
	sched_blockers(s->sched, &ask, &reasons);
	if (dependents_collect(f, &reasons, &along)) {
		reasons_fini(&reasons);
		reasons = (reason_vec){0};
		sched_blockers(s->sched, &ask, &reasons);
	}
	for (size_t i = 0; i < reasons.n; i++)
		reason_add(f, &reasons.v[i]);
	vec_free(&reasons); /* the list owns their contents now */
	vec_free(&along);
	free(there);
}

/* Marks implied reasons. A job that depends on a job holding its resources waits for one event,
 * not two; and releasing the system hold also clears the job's failures. */
static void find_implied(struct finding *f, unsigned block)
{
	for (size_t i = 0; i < f->list->n && block & BLOCK_SYSTEM; i++)
		f->list->v[i].detail.implied |=
			strcmp(f->list->v[i].code, "retry") == 0 || strcmp(f->list->v[i].code, "avoided") == 0;
	for (size_t i = 0; i < f->list->n; i++) {
		struct ground *g = &f->list->v[i];
		for (size_t k = 0; strcmp(g->code, "depend") == 0 && k < f->list->n; k++)
			for (size_t n = 0; n < f->list->v[k].detail.holders.n; n++)
				g->detail.implied |= f->list->v[k].detail.holders.v[n] == g->detail.by;
	}
}

void grounds_find(struct server *s, uint32_t id, ground_vec *ret)
{
	struct finding f = {s, id, entry_get(s, id), ret};
	unsigned block = gate_blocks(s->gate, id);
	bool off = !attrs_bool(s->attrs, SET_SCHEDULING);

	find_holds(&f, block);
	find_times(&f, block);
	if (block & BLOCK_DEPEND)
		block_unmet(s, id, find_relation, &f);
	find_place(&f, block);
	if (off)
		say(&f, "scheduling", "the server is not starting jobs (scheduling is False)",
		    "a manager runs qmgr -c 'set server scheduling = True'");
	if (!(block & BLOCK_MISFIT))
		find_scheduled(&f, block, block || off || s->turn->dirty);
	find_implied(&f, block);
}
