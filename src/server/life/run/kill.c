/*
 * kill.c - see kill.h.
 */
#include "server/life/run/kill.h"

#include <signal.h>
#include <stdbool.h>

#include "base/heap.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/save.h"
#include "server/server.h"

void signal_later(struct server *s, uint32_t id, uint32_t attempt, int signal)
{
	struct signal_order o = {.signal = signal};

	attempt_tag(s, id, attempt, o.tag);
	vec_push(&s->post->signals, o);
}

void attempt_kill(struct server *s, const struct attempt *t, int64_t delay)
{
	if (entry_get(s, t->job)->suspended)
		signal_later(s, t->job, t->attempt, SIGCONT);
	signal_later(s, t->job, t->attempt, delay > 0 ? SIGTERM : SIGKILL);
	if (delay > 0)
		heap_push(&s->agenda->kills, s->clock->now + delay, t->job, t->attempt);
}

void job_kill(struct server *s, uint32_t id, const struct payload *p)
{
	struct entry *e = entry_get(s, id);
	struct attempt *t = attempt_find(s, id, entry_job(s, id)->attempt);
	struct payload x = *p;

	if (x.delay < 0)
		x.delay = setting_of(s, e->spec, SET_KILL_DELAY);
	if (t && x.intent == INTENT_RERUN && !x.drops && attempt_save(s, t, SAVE_MOVE))
		x.saves.last.cause = SAVE_MOVE;
	else if (t)
		attempt_kill(s, t, x.delay);
	entry_event(s, id, EVENT_INTENT, &x);
}

void job_put_back(struct server *s, uint32_t id, bool save, const char *who)
{
	const struct entry *e = entry_get(s, id);
	struct attempt *t = attempt_find(s, id, entry_job(s, id)->attempt);
	struct payload x = {.intent = e->spec->rerunnable ? INTENT_RERUN : INTENT_DELETE,
			    .delay = setting_of(s, e->spec, SET_KILL_DELAY),
			    .who = who};

	if (e->intent)
		return; /* it is already ending */
	if (save && t && attempt_save(s, t, SAVE_SHUTDOWN)) {
		x.intent = INTENT_RERUN;
		x.saves.last.cause = SAVE_SHUTDOWN;
	} else if (t) {
		attempt_kill(s, t, x.delay);
	}
	entry_event(s, id, EVENT_INTENT, &x);
}

void job_kill_again(struct server *s, uint32_t id, uint32_t attempt)
{
	const struct entry *e = entry_get(s, id);
	struct attempt *t = attempt_find(s, id, attempt);
	const struct outcome *o = e->outcome;
	int64_t delay = setting_of(s, e->spec, SET_KILL_DELAY);
	enum checkpoint_cause cause = o && o->saves && o->saves->moving ? SAVE_MOVE : SAVE_PREEMPTED;
	bool saves = !e->intent && save_before(s, id, entry_job(s, id)->by);

	if (attempt == entry_job(s, id)->attempt && e->intent) {
		delay = o->kill_at - s->clock->now;
		cause = o->saving;
		saves = o->saving != 0;
	}
	if (t && !(saves && attempt_save(s, t, cause)))
		attempt_kill(s, t, delay);
}
