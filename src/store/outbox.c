/*
 * outbox.c - see outbox.h.
 */
#include "store/outbox.h"

#include "store/store_internal.h"

static const struct {
	enum statement put, trim, get;
} ways[] = {
	[OUTBOX_ACCOUNTING] = {PUT_OUTBOX, TRIM_OUTBOX, GET_OUTBOX},
	[OUTBOX_JOURNAL] = {PUT_JOURNAL, TRIM_JOURNAL, GET_JOURNAL},
};

void store_put_outbox(struct store *s, enum outbox_kind kind, const struct outbox_row *row)
{
	const struct value v[] = {{.n = (int64_t)row->seq}, {.n = row->day}, {(int64_t)row->n, row->lines}};

	store_change(s, ways[kind].put, v);
}

void store_trim_outbox(struct store *s, enum outbox_kind kind, uint64_t last)
{
	store_change(s, ways[kind].trim, &(struct value){.n = (int64_t)last});
}

struct telling {
	int (*one)(void *context, const struct outbox_row *row);
	void *context;
};

static int tell_row(void *context, const struct value *v)
{
	struct telling *t = context;
	struct outbox_row row = {(uint64_t)v[0].n, v[1].n, v[2].text ? v[2].text : "", (size_t)v[2].n};

	return t->one(t->context, &row);
}

int store_get_outbox(struct store *s, enum outbox_kind kind, uint64_t after, int64_t most,
		     int (*one)(void *context, const struct outbox_row *row), void *context, struct err *err)
{
	const struct value in[] = {{.n = (int64_t)after}, {.n = most}};
	struct telling t = {one, context};

	return s->back->query(s->db, ways[kind].get, in, tell_row, &t, err);
}
