/*
 * job.c - the table of legal transitions and the fold over it.
 */
#include "core/job.h"

#include <assert.h>
#include <errno.h>

#include "base/timetext.h"

/* to[from][event]: the state after the event; 0 (STATE_NEW, which no event leads to) marks
 * illegal ones. */
static const uint8_t to[STATE_COUNT][EVENT_COUNT] = {
	[STATE_NEW] = {[EVENT_SUBMIT] = STATE_CANDIDATE},
	[STATE_HELD] =
		{[EVENT_RELEASE] = STATE_CANDIDATE, [EVENT_EXPIRE] = STATE_EXPIRED, [EVENT_DELETE] = STATE_DELETED},
	[STATE_CANDIDATE] = {[EVENT_HOLD] = STATE_HELD,
			     [EVENT_STARVE] = STATE_CANDIDATE,
			     [EVENT_GUARANTEE] = STATE_CANDIDATE,
			     [EVENT_ALLOCATE] = STATE_ALLOCATED,
			     [EVENT_KEEP] = STATE_CANDIDATE,
			     [EVENT_START] = STATE_NOW,
			     [EVENT_EXPIRE] = STATE_EXPIRED,
			     [EVENT_DELETE] = STATE_DELETED},
	[STATE_ALLOCATED] = {[EVENT_GUARANTEE] = STATE_ALLOCATED,
			     [EVENT_ALLOCATE] = STATE_ALLOCATED,
			     [EVENT_DEALLOCATE] = STATE_CANDIDATE,
			     [EVENT_START] = STATE_NOW,
			     [EVENT_EXPIRE] = STATE_EXPIRED,
			     [EVENT_DELETE] = STATE_DELETED},
	[STATE_NOW] = {[EVENT_STARTED] = STATE_RUNNING,
		       [EVENT_MIGRATE] = STATE_NOW,
		       [EVENT_START_FAILED] = STATE_CANDIDATE,
		       [EVENT_DELETE] = STATE_DELETED},
	[STATE_RUNNING] = {[EVENT_PREEMPT] = STATE_CANDIDATE,
			   [EVENT_MIGRATE] = STATE_RUNNING,
			   [EVENT_FINISH] = STATE_DONE,
			   [EVENT_DELETE] = STATE_DELETED},
};

bool job_next(enum job_state from, enum event_type type, enum job_state *ret_to)
{
	if (from >= STATE_COUNT || type >= EVENT_COUNT || !to[from][type])
		return false;
	*ret_to = to[from][type];
	return true;
}

int job_apply(struct job *job, const struct event *event, enum job_kind by_kind, struct err *err)
{
	enum job_state next;

	if (!job_next(job->state, event->type, &next))
		return err_set(err, -EINVAL, "event %s is not legal in state %s", event_type_name(event->type),
			       job_state_name(job->state));
	switch ((enum event_type)event->type) {
	case EVENT_SUBMIT:
		job->submit = event->time;
		if (job->rank == 0)
			job->rank = (double)event->time;
		break;
	case EVENT_STARVE:
		job->kind = KIND_STARVING;
		break;
	case EVENT_ALLOCATE:
		job->start = event->at;
		break;
	case EVENT_DEALLOCATE:
		job->by = event->by;
		job->guaranteed = job->guaranteed && event->at != LOST_WITH_GUARANTEE;
		if (job->kind == KIND_STARVING && event->by != JOB_NONE && by_kind == KIND_QOS &&
		    job->deallocations < UINT8_MAX)
			job->deallocations++;
		break;
	case EVENT_GUARANTEE:
		job->guaranteed = true;
		break;
	case EVENT_START:
		job->start = event->time;
		job->attempt++;
		break;
	case EVENT_STARTED:
		job->start = event->time;
		break;
	case EVENT_START_FAILED: /* failed by itself, or `by` took its slot meanwhile */
	case EVENT_PREEMPT:
	case EVENT_MIGRATE:
		job->by = event->by;
		/* A job whose time slice is over goes behind all others, also those of this
		 * second. */
		if (event->type == EVENT_PREEMPT && event->by == job->id)
			job->rank = (double)event->time + 1;
		break;
	case EVENT_EXPIRE:
		job->guaranteed = false;
		break;
	case EVENT_FINISH:
		job->guaranteed = job->guaranteed && event->time <= job->deadline;
		break;
	default:
		break;
	}
	if (next != job->state)
		job->since = event->time;
	job->state = next;
	return 0;
}

void job_check(const struct job *job)
{
	assert(job->state < STATE_COUNT);
	assert(job->kind < KIND_COUNT);
	assert(job->walltime > 0);
	assert(job->powers == 0 || job->kind == KIND_EMERGENCY);
	assert((job->kind == KIND_QOS || job->kind == KIND_EMERGENCY) == (job->deadline != TIME_NEVER));
	assert(!job->guaranteed || job->deadline != TIME_NEVER);
	assert(job->deallocations == 0 || job->kind == KIND_STARVING);
	if (job->state == STATE_RUNNING || job->state == STATE_NOW || job->state == STATE_DONE)
		assert(job->attempt > 0 && job->start >= job->submit);
}

const char *job_state_name(enum job_state state)
{
	static const char *const name[STATE_COUNT] = {"new",	 "held", "candidate", "allocated", "now",
						      "running", "done", "expired",   "deleted"};

	return state < STATE_COUNT ? name[state] : "?";
}

const char *event_type_name(enum event_type type)
{
	static const char *const name[EVENT_COUNT] = {
		"submit",  "hold",	   "release", "starve",	 "allocate", "deallocate", "guarantee", "start",
		"started", "start-failed", "preempt", "migrate", "finish",   "expire",	   "delete",	"keep"};

	return type < EVENT_COUNT ? name[type] : "?";
}

char job_kind_letter(enum job_kind kind)
{
	return kind < KIND_COUNT ? "CSQE"[kind] : '?';
}
