/*
 * quotas.c - see quotas.h.
 */
#include "server/book/quotas.h"

#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/job.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/book/books.h"
#include "server/book/history.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "store/quota.h"
#include "store/store.h"

/* `end` of an entry that was removed. The entry stays, so that usage of this month still counts
 * if the user is added again. */
#define END_DROPPED 1

struct of_user {
	uint32_t user; /* a word */
	struct quota quota;
};

struct quotas {
	VEC(struct of_user) v;
	struct map at; /* word -> index + 1 */
	size_t n;      /* number of entries that were not removed */
	/* lowest job not known to be unable to start: when quotas_overtakes() last looked, no
	 * job below could start, nor since then unless it was eased or freed */
	uint32_t none;
	uint32_t seen; /* a job that could start at that time; 0: none */
};

struct quotas *quotas_create(void)
{
	return mem_zalloc(sizeof(struct quotas));
}

/* ---- finding and keeping ---- */

static struct quota *find(const struct server *s, uint32_t user)
{
	struct quotas *q = s->books->quotas;
	uint64_t at;

	return map_get(&q->at, user, &at) && q->v.v[at - 1].quota.end != END_DROPPED ? &q->v.v[at - 1].quota : NULL;
}

/* Returns the entry of a user without one: a new one, or the removed one. */
static struct quota *add(struct server *s, uint32_t user)
{
	struct quotas *q = s->books->quotas;
	uint64_t at;

	q->n++;
	if (map_get(&q->at, user, &at))
		return &q->v.v[at - 1].quota;
	vec_push(&q->v, (struct of_user){user, {{0}, 0, 0, {0}}});
	map_set(&q->at, user, q->v.n);
	return &q->v.v[q->v.n - 1].quota;
}

static int restore(void *context, const struct store_quota *row)
{
	struct server *s = context;
	struct quota *q = add(s, word_add(s, row->user));

	q->end = (int32_t)row->end;
	s->books->quotas->n -= q->end == END_DROPPED;
	q->month = (int32_t)row->month;
	for (int i = 0; i < QUOTA_TYPES; i++) {
		q->limit[i] = row->limit[i];
		q->left[i] = row->left[i];
	}
	return 0;
}

int quotas_restore(struct server *s, struct err *err)
{
	return store_get_quota(s->store, restore, s, err);
}

static int32_t this_month(const struct server *s)
{
	return month_of(s->clock->now);
}

/* Stores a quota and the moves that changed it, in this turn's commit. */
static void keep(struct server *s, uint32_t user, const struct quota *q, const struct quota_moves *moves, uint64_t key)
{
	struct store_quota row = {.user = word_text(s, user), .end = q->end, .month = q->month};

	for (int i = 0; i < QUOTA_TYPES; i++) {
		row.limit[i] = q->limit[i];
		row.left[i] = q->left[i];
	}
	store_put_quota(s->store, &row);
	for (size_t i = 0; i < moves->n; i++) {
		struct store_move m = {.seq = s->jobs->next_seq++,
				       .user = row.user,
				       .time = s->clock->now,
				       .month = moves->v[i].month,
				       .type = quota_type_name(moves->v[i].type),
				       .cause = quota_cause_name(moves->v[i].cause),
				       .job = moves->v[i].cause <= QUOTA_LIMIT ? 0 : key,
				       .seconds = moves->v[i].seconds};
		store_put_move(s->store, &m);
		if (s->post->show_move)
			s->post->show_move(s, &m);
	}
}

/* ---- administrators ---- */

bool quotas_count(const struct server *s)
{
	return s->books->quotas->n && attrs_bool(s->attrs, SET_QUOTA);
}

bool quotas_get(struct server *s, const char *user, struct quota *ret)
{
	const struct quota *q = find(s, word_find(s, user));
	struct quota_moves moves;

	*ret = q ? *q : (struct quota){{0}, 0, 0, {0}};
	quota_turn(ret, this_month(s), &moves); /* the next change stores these moves */
	return q;
}

size_t quotas_users(const struct server *s)
{
	return s->books->quotas->v.n;
}

const char *quotas_user(const struct server *s, size_t i)
{
	const struct of_user *x = &s->books->quotas->v.v[i];

	return x->quota.end != END_DROPPED ? word_text(s, x->user) : NULL;
}

void quotas_set(struct server *s, const char *user, const int64_t limit[QUOTA_TYPES], int32_t end)
{
	uint32_t who = word_add(s, user);
	struct quota *q = find(s, who);
	struct quota_moves moves;

	if (!q)
		q = add(s, who);
	quota_set(q, limit, end, this_month(s), &moves);
	keep(s, who, q, &moves, 0);
}

bool quotas_drop(struct server *s, const char *user)
{
	const struct quota *q = find(s, word_find(s, user));
	bool taken = false;

	if (!q)
		return false;
	quotas_set(s, user, (int64_t[QUOTA_TYPES]){0}, END_DROPPED);
	s->books->quotas->n--;
	for (int i = 0; i < QUOTA_TYPES; i++)
		taken |= q->left[i] < 0;
	if (!taken)
		store_drop_quota(s->store, user);
	return true;
}

/* ---- jobs ---- */

static enum quota_type type_of(const struct spec *p)
{
	if (p->interactive)
		return QUOTA_INTERACTIVE;
	return p->kind == KIND_QOS || p->kind == KIND_EMERGENCY ? QUOTA_PRIORITY : QUOTA_NORMAL;
}

/* Checks that a quota covers a bill with `more` of a type. */
static int room(const struct quota *q, const struct quota_bill *bill, enum quota_type type, int64_t more,
		struct err *err)
{
	struct quota trial = *q;
	struct quota_claim claim;
	struct quota_moves moves;

	return quota_take(&trial, type, bill->seconds[type] + more, bill->month, &claim, &moves, err);
}

int quotas_bill(struct server *s, struct quota_bill *bill, struct spec *p, int64_t count, const char **ret_warning,
		struct err *err)
{
	static const struct quota none;
	const struct quota *q = find(s, p->owner);
	enum quota_type type = type_of(p);
	int64_t more = p->walltime * count;
	int rc;

	*ret_warning = NULL;
	if (p->rare->claim.month)
		spec_rare(p)->claim = (struct quota_claim){0};
	if (!quotas_count(s))
		return 0;
	bill->user = p->owner;
	bill->month = this_month(s);
	rc = room(q ? q : &none, bill, type, more, err);
	if (rc < 0 && type == QUOTA_PRIORITY && p->kind == KIND_QOS &&
	    room(q ? q : &none, bill, QUOTA_NORMAL, more, NULL) == 0) {
		type = QUOTA_NORMAL;
		p->kind = KIND_COMMON;
		p->deadline = TIME_NEVER;
		*ret_warning = "the priority quota is too small for it: it is a normal job now, without a deadline";
		rc = 0;
	}
	if (rc < 0)
		return rc;
	bill->seconds[type] += more;
	spec_rare(p)->claim = (struct quota_claim){bill->month, type, p->walltime};
	return 0;
}

int quotas_take(struct server *s, const struct quota_bill *bill, uint64_t key, struct err *err)
{
	struct quota *q = bill->user ? find(s, bill->user) : NULL;
	int rc = 0;

	for (int type = 0; q && type < QUOTA_TYPES && rc == 0; type++)
		if (bill->seconds[type])
			rc = room(q, bill, type, 0, err);
	for (int type = 0; q && type < QUOTA_TYPES && rc == 0; type++) {
		struct quota_claim claim;
		struct quota_moves moves;

		if (!bill->seconds[type])
			continue;
		rc = quota_take(q, type, bill->seconds[type], bill->month, &claim, &moves, err);
		keep(s, bill->user, q, &moves, key);
	}
	return rc;
}

bool quotas_low(struct server *s, const struct spec *p, char *ret, size_t size)
{
	const struct quota *q = p->rare->claim.month ? find(s, p->owner) : NULL;
	char left[32], limit[32];

	if (!q || q->left[p->rare->claim.type] >= q->limit[p->rare->claim.type] / 10)
		return false;
	snprintf(ret, size, "%s of %s of %s quota is left this month",
		 duration_format(q->left[p->rare->claim.type], left, sizeof left),
		 duration_format(q->limit[p->rare->claim.type], limit, sizeof limit),
		 quota_type_name(p->rare->claim.type));
	return true;
}

int quotas_alter(struct server *s, uint32_t id, struct spec *spec, struct err *err)
{
	const struct entry *e = entry_get(s, id);
	const struct spec *old = e->spec;
	struct quota *q = find(s, old->owner);
	struct quota_claim claim = old->rare->claim;
	struct quota_moves moves;
	int rc = 0;

	if (claim.month && q) {
		rc = quota_alter(q, &claim, type_of(spec), spec->walltime, e->ran, this_month(s), &moves, err);
		if (moves.n)
			keep(s, old->owner, q, &moves, e->key);
	}
	if (rc == 0 && claim.month)
		/* not earlier: other elements of its array may already have this spec */
		spec_rare(spec)->claim = claim;
	return rc;
}

int quotas_rerun(struct server *s, uint32_t id, int64_t used_ms, int64_t *ret_paid, struct err *err)
{
	const struct entry *e = entry_get(s, id);
	struct quota_claim claim = e->spec->rare->claim;
	struct quota *q = claim.month && !e->billed ? find(s, e->spec->owner) : NULL;
	int64_t used = used_ms > 0 ? used_ms / 1000 : 0;
	struct quota_moves moves;
	int rc;

	*ret_paid = 0;
	if (!q)
		return 0;
	rc = quota_take(q, claim.type, used, this_month(s), &claim, &moves, err);
	if (moves.n)
		keep(s, e->spec->owner, q, &moves, e->key);
	if (rc == 0)
		*ret_paid = used;
	return rc;
}

static bool could_start(const struct server *s, uint32_t id)
{
	return entry_get(s, id)->spec && entry_job(s, id)->state <= STATE_ALLOCATED &&
	       entry_job(s, id)->kind == KIND_COMMON && gate_blocks(s->gate, id) == 0;
}

static void lower(struct quotas *q, uint32_t id)
{
	if (id < q->none)
		q->none = id;
}

/* Returns true if an earlier normal job could start. The job found last usually still waits;
 * otherwise no job is looked at twice without reason. New jobs have higher ids than those
 * already looked at. */
bool quotas_overtakes(const struct server *s, uint32_t id)
{
	struct quotas *q = s->books->quotas;

	if (q->seen && q->seen < id && could_start(s, q->seen))
		return true;
	lower(q, gate_freed(s->gate));
	if (s->jobs->eased)
		lower(q, s->jobs->eased);
	s->jobs->eased = 0;
	for (; q->none < id; q->none++)
		if (could_start(s, q->none)) {
			q->seen = q->none;
			return true;
		}
	return false;
}

/* Returns true if a priority job overtakes others. Earlier jobs have lower ids. */
bool quotas_urgent(const struct server *s, uint32_t id)
{
	const struct quota_claim *claim = &entry_get(s, id)->spec->rare->claim;

	if (claim->month == 0 || claim->type != QUOTA_PRIORITY)
		return false;
	return entry_job(s, id)->kind == KIND_EMERGENCY || quotas_overtakes(s, id);
}

void quotas_settle(struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	const struct job *job = entry_job(s, id);
	const struct outcome *o = e->outcome;
	struct quota *q = find(s, e->spec->owner);
	/* the job has ended, so its claim is not needed again */
	struct quota_claim claim = e->spec->rare->claim;
	struct quota_moves moves;
	int64_t ran_ms = o ? o->spent_ms : 0;

	if (!claim.month || !q)
		return;
	if (job->state == STATE_DONE)
		ran_ms += o && o->ended_us ? o->ran_ms : ran_until_now(s, id);
	else if (entry_finished(s, id) && o && o->ran_ms > ran_ms)
		ran_ms = o->ran_ms; /* it was counted only until it was to stop */
	quota_settle(q, &claim,
		     &(struct quota_use){.seconds = ran_ms > 0 ? ran_ms / 1000 : 0,
					 .started = e->ran,
					 .urgent = e->urgent,
					 .percent = (int)attrs_number(s->attrs, SET_QUOTA_RETURNED)},
		     this_month(s), &moves);
	if (moves.n)
		keep(s, e->spec->owner, q, &moves, e->key);
}
