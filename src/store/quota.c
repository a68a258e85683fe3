/*
 * quota.c - see quota.h.
 */
#include "store/quota.h"

#include <string.h>

#include "store/store_internal.h"

void store_put_quota(struct store *s, const struct store_quota *q)
{
	const struct value v[] = {store_text(s, q->user), {.n = q->limit[0]}, {.n = q->limit[1]},
				  {.n = q->limit[2]},	  {.n = q->end},      {.n = q->month},
				  {.n = q->left[0]},	  {.n = q->left[1]},  {.n = q->left[2]}};

	change_add(s, PUT_QUOTA, v);
}

void store_drop_quota(struct store *s, const char *user)
{
	const struct value v[] = {store_text(s, user)};

	change_add(s, DROP_QUOTA, v);
}

void store_put_move(struct store *s, const struct store_move *m)
{
	const struct value v[] = {{.n = (int64_t)m->seq}, store_text(s, m->user), {.n = m->time},
				  {.n = m->month},	  store_text(s, m->type), store_text(s, m->cause),
				  {.n = (int64_t)m->job}, {.n = m->seconds}};

	change_add(s, PUT_MOVE, v);
}

struct reading {
	int (*quota)(void *context, const struct store_quota *q);
	int (*move)(void *context, const struct store_move *m);
	void *context;
};

static int quota_row(void *context, const struct value *v)
{
	const struct reading *r = context;
	struct store_quota q = {.user = v[0].text,
				.limit = {v[1].n, v[2].n, v[3].n},
				.end = v[4].n,
				.month = v[5].n,
				.left = {v[6].n, v[7].n, v[8].n}};

	return r->quota(r->context, &q);
}

int store_get_quota(struct store *s, int (*one)(void *context, const struct store_quota *q), void *context,
		    struct err *err)
{
	struct reading r = {.quota = one, .context = context};

	return s->back->query(s->db, GET_QUOTA, NULL, quota_row, &r, err);
}

static int move_row(void *context, const struct value *v)
{
	const struct reading *r = context;
	struct store_move m = {.seq = (uint64_t)v[0].n,
			       .user = v[1].text,
			       .time = v[2].n,
			       .month = v[3].n,
			       .type = v[4].text,
			       .cause = v[5].text,
			       .job = (uint64_t)v[6].n,
			       .seconds = v[7].n};

	return r->move(r->context, &m);
}

int store_get_moves(struct store *s, int64_t month, const char *user,
		    int (*one)(void *context, const struct store_move *m), void *context, struct err *err)
{
	struct reading r = {.move = one, .context = context};
	const struct value all[] = {{.n = month}},
			   of_user[] = {{.n = month}, {(int64_t)(user ? strlen(user) : 0), user}};

	return s->back->query(s->db, user ? GET_USER_MOVES : GET_MOVES, user ? of_user : all, move_row, &r, err);
}
