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

void sched_order(struct sched *s, job_vec *ret)
{
	const struct queued *e;
	struct cursor k;

	queue_settle(s);
	for (size_t i = 0; i < s->special.n; i++)
		vec_push(ret, s->special.v[i]);
	/* Overdue jobs come first, by their due dates (due.c). */
	for (struct spot i = {0}; (e = ranks_at(&s->line.by_due, &i)) && is_overdue(s, e); i.at++)
		vec_push(ret, e->job);
	for (cursor_open(&k, s, &s->line.by_key); (e = cursor_at(&k)); cursor_step(&k))
		if (!is_overdue(s, e))
			vec_push(ret, e->job);
	cursor_close(&k);
}
