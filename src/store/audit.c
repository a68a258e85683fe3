/*
 * audit.c - see audit.h.
 */
#include "store/audit.h"

#include "store/store_internal.h"

void store_put_audit(struct store *s, const struct store_audit *a)
{
	const struct value v[] = {{.n = (int64_t)a->seq},   {.n = a->time},	    store_text(s, a->who),
				  store_text(s, a->kind),   store_text(s, a->name), store_text(s, a->action),
				  store_text(s, a->change), store_text(s, a->undo)};

	change_add(s, PUT_AUDIT, v);
}

void store_trim_audit(struct store *s, int64_t before, int64_t most)
{
	const struct value v[] = {{.n = before}, {.n = most}};

	change_add(s, TRIM_AUDIT, v);
}

struct reading {
	int (*one)(void *context, const struct store_audit *a);
	void *context;
};

static int row(void *context, const struct value *v)
{
	const struct reading *r = context;
	struct store_audit a = {.seq = (uint64_t)v[0].n,
				.time = v[1].n,
				.who = v[2].text,
				.kind = v[3].text,
				.name = v[4].text,
				.action = v[5].text,
				.change = v[6].text,
				.undo = v[7].text};

	return r->one(r->context, &a);
}

int store_get_audit(struct store *s, int64_t since, uint64_t after,
		    int (*one)(void *context, const struct store_audit *a), void *context, struct err *err)
{
	struct reading r = {one, context};
	const struct value in[] = {{.n = since}, {.n = (int64_t)after}};

	return s->back->query(s->db, GET_AUDIT, in, row, &r, err);
}
