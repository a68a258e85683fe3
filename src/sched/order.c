/*
 * order.c - see order.h.
 */
#include "sched/order.h"

#include "sched/sched_internal.h"

static bool is_overdue(const struct sched *s, const struct queued *e)
{
	return s->due.dates && queue_get(s, e->job)->due <= (double)s->now;
}

void sched_order(struct sched *s, job_vec *ret)
{
	queue_settle(s);
	for (size_t i = 0; i < s->special.n; i++)
		vec_push(ret, s->special.v[i]);
	/* Overdue jobs come first, by their due dates (due.c). */
	for (size_t i = 0; i < s->line.by_due.n && is_overdue(s, &s->line.by_due.v[i]); i++)
		vec_push(ret, s->line.by_due.v[i].job);
	for (size_t i = 0; i < s->line.by_key.n; i++)
		if (!is_overdue(s, &s->line.by_key.v[i]))
			vec_push(ret, s->line.by_key.v[i].job);
}
