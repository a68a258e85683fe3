/*
 * broker_verdict.c - what becomes of tasks: records of their ends, and why workers on other hosts
 * were lost, killed by a task or taken away with their allocation.
 *
 * The tasks of a lost worker run again at once. The loss is counted when its reason is known: the
 * worker's guard comes back with its session key and says that the working process was killed, or
 * the request of the worker ends and the cluster says why. Where it does not say why, a loss counts
 * only for a task that ran alone.
 */
#include <stdio.h>
#include <string.h>

#include "bag/broker_internal.h"

enum { DOUBT_US = 600 * 1000000 }; /* lifetime of a session key, microseconds */

struct flight *flight_find(struct peer *p, uint64_t task, size_t *ret_at)
{
	for (size_t i = 0; i < p->flights.n; i++)
		if (p->flights.v[i].task == task) {
			*ret_at = i;
			return &p->flights.v[i];
		}
	return NULL;
}

/* Drops the other copies of a finished task. */
static void others_drop(struct broker *b, uint32_t task)
{
	size_t at;

	for (size_t i = 0; queue_copies(b->queue, task) > 0 && i < b->peers.n; i++) {
		struct peer *p = b->peers.v[i];
		struct flight *f = p ? flight_find(p, task, &at) : NULL;
		if (!f || f->dropped)
			continue;
		f->dropped = true;
		wire_add(&p->out, &(struct wire){.kind = WIRE_DROP, .task = task});
	}
}

void verdict_apply(struct broker *b, enum verdict verdict, struct record *r)
{
	if (verdict == VERDICT_IGNORE || (verdict == VERDICT_AGAIN && r->kind != RECORD_FAILED))
		return;
	if (verdict == VERDICT_ASIDE) {
		r->kind = RECORD_FAILED;
		r->last = true;
	}
	if (verdict == VERDICT_AGAIN) /* the output of the last failure is enough */
		r->nout = r->nerr = 0;
	journal_add(b->journal, r);
	if (verdict == VERDICT_AGAIN)
		return;
	if (b->options->finished)
		journal_record_put(&b->finished, r);
	others_drop(b, (uint32_t)r->task);
}

void loss_doubt(struct broker *b, const struct peer *p, uint32_t task, uint32_t attempt, bool alone)
{
	struct doubt d = {.task = task, .attempt = attempt, .request = p->request, .since = b->now, .alone = alone};

	memcpy(d.session, p->session, sizeof d.session);
	memcpy(d.worker, p->name, sizeof d.worker);
	vec_push(&b->doubts, d);
}

/* Counts a loss, or forgets it, and removes the doubt. */
static void settle(struct broker *b, size_t at, bool counts)
{
	struct doubt d = b->doubts.v[at];

	b->doubts.v[at] = b->doubts.v[--b->doubts.n];
	if (counts)
		loss_record(b, d.task, d.attempt, d.worker, queue_blame(b->queue, d.task, d.alone));
}

void loss_record(struct broker *b, uint32_t task, uint32_t attempt, const char *worker, enum verdict verdict)
{
	char why[160];
	struct record r = {.kind = RECORD_DONE,
			   .task = task,
			   .status = RECORD_LOST,
			   .attempt = attempt,
			   .worker = worker,
			   .nworker = strlen(worker)};

	snprintf(why, sizeof why, "shunt: %d workers were killed while they ran it; the last one ran nothing else\n",
		 queue_losses(b->queue, task));
	r.err = why;
	r.nerr = strlen(why);
	verdict_apply(b, verdict, &r);
}

void loss_rejoined(struct broker *b, const char *session, bool died)
{
	for (size_t i = b->doubts.n; i-- > 0;)
		if (memcmp(b->doubts.v[i].session, session, SECRET_SIZE - 1) == 0)
			settle(b, i, died);
}

void loss_judge(struct broker *b, size_t at, enum request_fate fate)
{
	const struct doubt *d = &b->doubts.v[at];

	if (fate != FATE_OPEN)
		settle(b, at, fate == FATE_ENDED || (fate == FATE_UNKNOWN && d->alone));
	else if (b->now - d->since > DOUBT_US)
		settle(b, at, d->alone);
}
