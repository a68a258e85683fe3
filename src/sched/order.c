/*
 * order.c - see order.h.
 */
#include "sched/order.h"

#include "sched/cursor.h"
#include "sched/sched_internal.h"

static bool is_overdue(const struct sched *s, const struct queued *e)
{
	return s->due.dates && queue_get(s, e->job)->due <= (double)s->now;
}

void sched_order_each(struct sched *s, bool (*one)(void *context, uint32_t job), void *context)
{
	const struct queued *e;
	struct cursor k;
	bool more = true;

	queue_settle(s);
	for (size_t i = 0; i < s->special.n && more; i++)
		more = one(context, s->special.v[i]);
	/* Overdue jobs come first, by their due dates (due.c). */
	for (struct spot i = {0}; more && (e = ranks_at(&s->line.by_due, &i)) && is_overdue(s, e); i.at++)
		more = one(context, e->job);
	for (cursor_open(&k, s, &s->line.by_key); more && (e = cursor_at(&k)); cursor_step(&k))
		if (!is_overdue(s, e))
			more = one(context, e->job);
	cursor_close(&k);
}

static bool job_push(void *context, uint32_t job)
{
	vec_push((job_vec *)context, job);
	return true;
}

void sched_order(struct sched *s, job_vec *ret)
{
	sched_order_each(s, job_push, ret);
}
