/*
 * save.c - see save.h.
 *
 * What the server knows of a job's checkpoints are events (EVENT_SAVED); restarts go by what is on
 * disk.
 */
#include <string.h>

#include "base/heap.h"
#include "core/job.h"
#include "rules/attr.h"
#include "rules/checkpoint.h"
#include "rules/leave.h"
#include "run/criu.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/book/ended.h"
#include "server/book/history.h"
#include "server/job/attempt.h"
#include "server/job/classes.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/restart.h"
#include "server/life/run/save.h"
#include "server/server.h"
#include "store/history.h"

#define LATE 5 /* seconds after which a shepherd should have ended the job by itself */

/* Returns the job's checkpoint settings, completed by the site's defaults. */
static bool terms(const struct server *s, const struct spec *p, struct arena *a, struct checkpoint_wish *ret)
{
	int64_t shortest = class_number(s, p, SET_CHECKPOINT_INTERVAL_MIN);

	if (!p->checkpoint || checkpoint_parse(word_text(s, p->checkpoint), a, ret, NULL) < 0 || !ret->makes)
		return false;
	if (!ret->duration)
		ret->duration = class_number(s, p, SET_CHECKPOINT_DURATION);
	if (!ret->interval)
		ret->interval = class_number(s, p, SET_CHECKPOINT_INTERVAL);
	if (ret->interval < shortest)
		ret->interval = shortest;
	if (!ret->dir)
		ret->dir = attrs_text(s->attrs, SET_CHECKPOINT_PATH);
	return true;
}

/* Returns true if CRIU is used: a user's own program takes precedence over the class. */
static bool is_criu(const struct server *s, const struct spec *p, const struct checkpoint_wish *w)
{
	return !w->saver && strcmp(attrs_text(class_attrs(s, p), SET_METHOD), "criu") == 0;
}

static const char *directory(const struct server *s, const struct spec *p, const struct checkpoint_wish *w,
			     const char *tag, struct arena *a)
{
	const char *dot = strrchr(tag, '.');

	if (is_criu(s, p, w))
		return arena_printf(a, IMAGES "%.*s", dot ? (int)(dot - tag) : 0, tag);
	return arena_printf(a, "%s/%.*s", w->dir, dot ? (int)(dot - tag) : 0, tag);
}

const char *save_directory(const struct server *s, uint32_t id, struct arena *a)
{
	const struct spec *p = entry_get(s, id)->spec;
	const struct user *owner = user_known(s, p->uid);
	const char *home = p->home ? word_text(s, p->home) : owner ? owner->home : NULL;
	struct checkpoint_wish w;
	char tag[64];

	if (!terms(s, p, a, &w))
		return NULL;
	attempt_tag(s, id, 0, tag);
	const char *dir = directory(s, p, &w, tag, a);
	if (*dir == '/' || is_criu(s, p, &w))
		return dir;
	return home && *home == '/' ? arena_printf(a, "%s/%s", home, dir) : NULL;
}

void save_order(const struct server *s, const struct attempt *t, struct arena *a, struct order *o)
{
	const struct entry *e = entry_get(s, t->job);
	const struct attrs *class = class_attrs(s, e->spec);
	const char *restarter = attrs_text(class, SET_RESTARTER);
	struct checkpoint_wish w;

	if (!terms(s, e->spec, a, &w))
		return;

	const char *saver = w.saver ? w.saver : attrs_text(class, SET_SAVER);
	bool script = w.saver || (strcmp(attrs_text(class, SET_METHOD), "script") == 0 && saver);
	bool criu = is_criu(s, e->spec, &w);

	restarter = w.restarter ? w.restarter : restarter;
	o->checkpoint = (struct order_checkpoint){
		.method = criu	   ? CHECKPOINT_CRIU
			  : script ? CHECKPOINT_SCRIPT
				   : CHECKPOINT_SIGNAL,
		.saves_in = directory(s, e->spec, &w, o->tag, a),
		.periodic_signal = (int)attrs_number(class, SET_PERIODIC_SIGNAL),
		.preempt_signal = (int)attrs_number(class, SET_PREEMPT_SIGNAL),
		.interval = w.periodic ? w.interval : 0,
		.duration = w.duration,
		.keep = w.depth,
		.exit_saves = attrs_bool(class, SET_EXIT_SAVES),
		.restart_argument = attrs_bool(class, SET_RESTART_ARGUMENT),
		.saver = script ? arena_printf(a, "%s", saver) : NULL,
		.restarter = restarter ? arena_printf(a, "%s", restarter) : NULL,
		.restart_of = restart_directory(s, t->job, a),
		.from_start = e->outcome && e->outcome->saves && e->outcome->saves->from_start,
	};
}

bool attempt_save(struct server *s, const struct attempt *t, enum checkpoint_cause cause)
{
	const struct spec *p = entry_get(s, t->job)->spec;
	struct arena *a = arena_create();
	struct signal_order o = {.cause = (uint8_t)cause};
	struct checkpoint_wish w;
	bool makes = terms(s, p, a, &w);

	if (makes) {
		o.save = w.duration;
		attempt_tag(s, t->job, t->attempt, o.tag);
		vec_push(&s->post->signals, o);
		heap_push(&s->agenda->kills, s->clock->now + w.duration + setting_of(s, p, SET_KILL_DELAY) + LATE,
			  t->job, t->attempt);
	}
	arena_destroy(a);
	return makes;
}

bool save_before(const struct server *s, uint32_t id, uint32_t by)
{
	const struct spec *p = entry_get(s, id)->spec;

	return by == JOB_NONE || !entry_job(s, by)->interactive ||
	       leave_of(s->attrs, class_saving(s, p), 0, s->clock->now).saves;
}

void saves_note(struct server *s, uint32_t id, uint32_t attempt, const struct saves *v, int64_t lost_ms)
{
	const struct entry *e = entry_get(s, id);
	const struct job_saves *known = e->outcome ? e->outcome->saves : NULL;
	bool same = known && known->attempt == attempt && memcmp(&known->last, v, sizeof *v) == 0;
	bool better = v->state == SAVE_GOOD && !(known && known->attempt == attempt && known->last.good >= v->good);

	if (!e->spec || !e->spec->checkpoint || (known && known->attempt > attempt) || (same && !lost_ms) ||
	    (!lost_ms && !saves_any(v)))
		return;
	entry_event(s, id, EVENT_SAVED,
		    &(struct payload){.saves = {.attempt = attempt, .last = *v, .lost_ms = lost_ms}});
	if (better)
		book_event(s, id, 'C');
	s->turn->dirty = true;
}

int64_t saves_free(const struct saves *v)
{
	bool done = v->state == SAVE_GOOD || v->state == SAVE_FAILED;

	return done && cause_is_final(v->cause) && v->cause != SAVE_LIMIT ? v->took_ms : 0;
}

void saves_ended(struct server *s, const struct attempt *t, const struct result *r, bool cut)
{
	const struct entry *e = entry_get(s, t->job);
	const struct job_saves *known = e->outcome ? e->outcome->saves : NULL;
	struct saves v = r ? r->saves : known && known->attempt == t->attempt ? known->last : (struct saves){0};
	int64_t ran = r ? r->ran_ms : attempt_ran(s, t), lost = cut && ran > v.covers_ms ? ran - v.covers_ms : 0;

	saves_note(s, t->job, t->attempt, &v, lost);
	if (lost && e->spec->checkpoint)
		/* if its row was stored before */
		store_set_lost(s->store, e->key, t->attempt, lost);
}
