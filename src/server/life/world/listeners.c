/*
 * listeners.c - see listeners.h.
 */
#include "server/life/world/listeners.h"

#include <stddef.h>

#include "base/heap.h"
#include "core/job.h"
#include "hooks/hook.h"
#include "rules/limit.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/book/credits.h"
#include "server/book/ended.h"
#include "server/book/history.h"
#include "server/book/quotas.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/hooked.h"
#include "server/life/wait/depend.h"
#include "server/life/wait/foresee.h"
#include "server/server.h"
#include "store/store.h"

/* Adds up the wait of a job's first start. */
static void stats_begun(struct server *s, uint32_t id)
{
	const struct spec *p = entry_get(s, id)->spec;
	int64_t due = p->at > p->created ? p->at : p->created;

	s->stats->started++;
	if (entry_job(s, id)->attempt != 1)
		return;
	s->stats->first_started++;
	s->stats->waited += s->clock->now > due ? s->clock->now - due : 0;
}

static void stats_settled(struct server *s, uint32_t id)
{
	s->stats->finished++;
	s->stats->failed += entry_get(s, id)->exit_status != 0;
}

/* Updates the queue's count: it may accept another job. */
static void queue_settled(struct server *s, uint32_t id)
{
	total_count(s, entry_get(s, id)->spec, -1);
	s->turn->route = true;
}

static void array_settled(struct server *s, uint32_t id)
{
	uint64_t key = entry_get(s, id)->key;
	struct array *a = job_key_index(key) >= 0 ? array_find(s, job_key_number(key)) : NULL;

	if (a)
		a->ended++;
}

static void forgets_settled(struct server *s, uint32_t id)
{
	heap_push(&s->agenda->forgets, s->clock->now + keep_of(s, entry_get(s, id)->spec), id, 0);
}

static void accounting_begun(struct server *s, uint32_t id)
{
	book_event(s, id, 'S');
}

static void accounting_settled(struct server *s, uint32_t id)
{
	book_event(s, id, entry_finished(s, id) ? 'E' : 'D');
}

static void mail_begun(struct server *s, uint32_t id)
{
	mail_event(s, id, MAIL_BEGIN);
}

static void mail_settled(struct server *s, uint32_t id)
{
	mail_event(s, id, entry_get(s, id)->cause == END_ITSELF ? MAIL_END : MAIL_ABORT);
}

static void hooks_begun(struct server *s, uint32_t id)
{
	hook_later(s, id, HOOK_START);
}

static void hooks_settled(struct server *s, uint32_t id)
{
	hook_later(s, id, HOOK_END);
}

typedef void listener(struct server *s, uint32_t id);

static listener *const listeners[][MOMENTS] = {
	{[MOMENT_BEGUN] = stats_begun, [MOMENT_SETTLED] = stats_settled},
	{[MOMENT_ENDED] = history_ended},
	{[MOMENT_ENDED] = quotas_settle},
	{[MOMENT_ENDED] = credits_settle},
	{[MOMENT_SETTLED] = foresee_forget},
	{[MOMENT_SETTLED] = depend_unwatch},
	{[MOMENT_SETTLED] = queue_settled},
	{[MOMENT_SETTLED] = array_settled},
	{[MOMENT_SETTLED] = forgets_settled},
	{[MOMENT_BEGUN] = accounting_begun, [MOMENT_SETTLED] = accounting_settled},
	{[MOMENT_BEGUN] = mail_begun, [MOMENT_SETTLED] = mail_settled},
	{[MOMENT_BEGUN] = hooks_begun, [MOMENT_SETTLED] = hooks_settled},
};

void job_happened(struct server *s, enum moment moment, uint32_t id)
{
	for (size_t i = 0; i < sizeof listeners / sizeof *listeners; i++)
		if (listeners[i][moment])
			listeners[i][moment](s, id);
}
