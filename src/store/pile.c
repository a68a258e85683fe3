/*
 * pile.c - see pile.h.
 */
#include "store/pile.h"

#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/varint.h"

#define BLOCK_ROWS 500 /* rows per block; a block is filed as a whole */

_Static_assert(
	HISTORY_WIDTH < 31,
	"a column has a bit of the mask, and the last one is PILE_LOST; new columns come last: blocks of older versions lack them");

/* ---- writing ---- */

static void mask_add(struct strbuf *out, uint32_t mask)
{
	const char bytes[] = {(char)mask, (char)(mask >> 8), (char)(mask >> 16), (char)(mask >> 24)};

	strbuf_add(out, bytes, sizeof bytes);
}

static void text_add(struct store *s, struct pile_last *last, const char *text)
{
	struct value v = store_text(s, text);

	varint_add(&s->pile.block, text ? (uint64_t)v.n + 1 : 0);
	last->n = text ? v.n : -1;
	last->at = s->pile.block.n;
	if (text)
		strbuf_add(&s->pile.block, v.text, (size_t)v.n + 1);
}

static bool is_same(const struct pile *t, int i, const struct value *v)
{
	const struct pile_last *last = &t->last[i];

	if (HISTORY_TYPES[i] == 'i')
		return last->n == v->n;
	if (!v->text)
		return last->n < 0;
	return last->n == v->n && memcmp(t->block.text + last->at, v->text, (size_t)v->n) == 0;
}

/* Makes room for one more row in the current block. */
static void block_open(struct store *s)
{
	struct pile *t = &s->pile;

	if (t->rows == BLOCK_ROWS)
		pile_close(s);
	if (t->rows++)
		return;
	for (int i = 0; i < HISTORY_WIDTH; i++)
		t->last[i] = (struct pile_last){.n = HISTORY_TYPES[i] == 'i' ? 0 : -1};
}

void pile_put(struct store *s, const struct history_row *row)
{
	const struct history_values x = history_values_of(row);
	struct pile *t = &s->pile;
	uint32_t mask = 0;

	block_open(s);
	for (int i = 0; i < HISTORY_WIDTH; i++)
		mask |= (uint32_t)!is_same(t, i, &x.v[i]) << i;
	mask_add(&t->block, mask);
	for (int i = 0; i < HISTORY_WIDTH; i++) {
		if (!(mask >> i & 1))
			continue;
		if (HISTORY_TYPES[i] == 't')
			text_add(s, &t->last[i], x.v[i].text);
		else
			varint_add_signed(&t->block, t->last[i].n = x.v[i].n);
	}
}

void pile_lost(struct store *s, uint64_t key, int64_t attempt, int64_t lost_ms)
{
	block_open(s);
	mask_add(&s->pile.block, PILE_LOST);
	varint_add_signed(&s->pile.block, (int64_t)key);
	varint_add_signed(&s->pile.block, attempt);
	varint_add_signed(&s->pile.block, lost_ms);
}

void pile_close(struct store *s)
{
	struct pile *t = &s->pile;

	if (!t->rows)
		return;
	store_change(s, PUT_PILE,
		     (const struct value[]){{.n = ++t->newest}, {(int64_t)t->block.n, strbuf_text(&t->block)}});
	strbuf_clear(&t->block);
	t->rows = 0;
}

bool store_unfiled(const struct store *s)
{
	return s->pile.rows || s->pile.newest > s->pile.filed;
}

void pile_fini(struct store *s)
{
	strbuf_fini(&s->pile.block);
}

static int take_ends(void *context, const struct value *v)
{
	struct pile *t = context;

	t->filed = v[0].n;
	t->newest = v[1].n;
	return 0;
}

int pile_look(struct store *s, struct err *err)
{
	return s->back->query(s->db, GET_PILE_ENDS, NULL, take_ends, &s->pile, err);
}

/* ---- blocks ---- */

static char *block_copy(struct arena *a, const struct value *block)
{
	char *copy = arena_alloc(a, (size_t)block->n + 1);

	if (block->n)
		memcpy(copy, block->text, (size_t)block->n);
	return copy;
}

static bool text_take(struct pile_reader *r, struct value *ret)
{
	uint64_t n;

	*ret = (struct value){0};
	if (!varint_take(&r->at, r->end, &n))
		return false;
	if (n == 0)
		return true;
	if (n > (uint64_t)(r->end - r->at) || r->at[n - 1] != '\0')
		return false;
	*ret = (struct value){(int64_t)n - 1, r->at};
	r->at += n;
	return true;
}

static bool mask_take(struct pile_reader *r, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)r->at;

	if (r->end - r->at < 4)
		return false;
	*ret = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	r->at += 4;
	return true;
}

/* Returns true if the row has all the texts that every row must have. */
static bool row_is_whole(const struct history_values *x)
{
	const struct history_row row = history_row_of(x->v);

	return row.user && row.group && row.queue && row.name && row.resources && row.state;
}

void pile_begin(struct pile_reader *r, const char *block, size_t n)
{
	*r = (struct pile_reader){.at = block, .end = block + n};
}

enum pile_item pile_next(struct pile_reader *r)
{
	uint32_t mask;

	if (r->at == r->end)
		return PILE_END;
	if (!mask_take(r, &mask))
		return PILE_DAMAGED;
	if (mask == PILE_LOST) {
		int64_t key;
		if (!varint_take_signed(&r->at, r->end, &key) || !varint_take_signed(&r->at, r->end, &r->attempt) ||
		    !varint_take_signed(&r->at, r->end, &r->lost_ms))
			return PILE_DAMAGED;
		r->key = (uint64_t)key;
		return PILE_LOSS;
	}
	if (mask >> HISTORY_WIDTH)
		return PILE_DAMAGED;
	for (int i = 0; i < HISTORY_WIDTH; i++)
		if (mask >> i & 1 && !(HISTORY_TYPES[i] == 't' ? text_take(r, &r->row.v[i])
							       : varint_take_signed(&r->at, r->end, &r->row.v[i].n)))
			return PILE_DAMAGED;
	return row_is_whole(&r->row) ? PILE_ROW : PILE_DAMAGED;
}

/* ---- filing ---- */

struct filing {
	struct store *s;
	int64_t rows, most;
};

/* Keeps a damaged block in the table `damaged`, for inspection. */
static void damage_note(struct store *s, int64_t seq, const char *block, size_t n)
{
	struct strbuf what = {0}, hex = {0};

	strbuf_printf(&what, "block %lld of rows for the history", (long long)seq);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(&hex, "%02x", (unsigned char)block[i]);
	const struct value v[] = {{.n = (int64_t)time(NULL)},
				  store_text(s, strbuf_text(&what)),
				  store_text(s, "it can't be read to its end"),
				  store_text(s, strbuf_text(&hex))};
	change_add(s, PUT_RECORD, v);
	strbuf_fini(&what);
	strbuf_fini(&hex);
}

static int block_file(void *context, const struct value *v)
{
	struct filing *f = context;
	struct store *s = f->s;
	struct pile_reader r;
	enum pile_item item;
	char *copy = block_copy(s->arena, &v[1]);

	pile_begin(&r, copy, (size_t)v[1].n);
	for (; (item = pile_next(&r)) == PILE_ROW || item == PILE_LOSS; f->rows++) {
		if (item == PILE_ROW)
			change_add(s, PUT_HISTORY, r.row.v);
		else
			change_add(s, SET_LOST,
				   (const struct value[]){{.n = r.lost_ms}, {.n = (int64_t)r.key}, {.n = r.attempt}});
	}
	if (item == PILE_DAMAGED)
		damage_note(s, v[0].n, copy, (size_t)v[1].n);
	s->pile.filed = v[0].n;
	return f->rows >= f->most;
}

int store_file(struct store *s, int64_t most, struct err *err)
{
	struct filing f = {.s = s, .most = most};
	int64_t filed = s->pile.filed;

	if (filed == s->pile.newest)
		return 0;
	int rc = s->back->query(s->db, GET_PILE, &(struct value){.n = filed}, block_file, &f, err);
	if (s->pile.filed > filed)
		change_add(s, TRIM_PILE, &(struct value){.n = s->pile.filed});
	return rc;
}

/* ---- reading unfiled rows ---- */

static uint64_t slot_of(uint64_t key, int64_t attempt)
{
	const uint64_t both[] = {key, (uint64_t)attempt};

	return hash_bytes(both, sizeof both);
}

bool pile_has(const struct pile_rows *t, uint64_t key, int64_t attempt)
{
	return t->v.n && map_get(&t->at, slot_of(key, attempt), &(uint64_t){0});
}

static int block_take(void *context, const struct value *v)
{
	struct pile_rows *t = context;
	struct pile_reader r;
	enum pile_item item;

	pile_begin(&r, block_copy(t->arena, &v[1]), (size_t)v[1].n);
	while ((item = pile_next(&r)) == PILE_ROW || item == PILE_LOSS) {
		const struct history_row row = history_row_of(r.row.v);
		bool is_row = item == PILE_ROW;
		uint64_t slot = is_row ? slot_of(row.key, row.attempt) : slot_of(r.key, r.attempt);
		uint64_t at = 0;
		bool known = map_get(&t->at, slot, &at);
		if (is_row && known) {
			t->v.v[at - 1] = row;
		} else if (is_row) {
			vec_push(&t->v, row);
			map_set(&t->at, slot, t->v.n);
		} else if (known) {
			t->v.v[at - 1].lost_ms = r.lost_ms;
		}
	}
	return 0;
}

static int blocks_take(struct store *s, struct pile_rows *t, struct err *err)
{
	*t = (struct pile_rows){.arena = arena_create()};
	return s->back->query(s->db, GET_PILE, &(struct value){.n = 0}, block_take, t, err);
}

static void rows_free(struct pile_rows *t)
{
	vec_free(&t->v);
	map_fini(&t->at);
	arena_destroy(t->arena);
}

int pile_read(struct store *s, struct pile_rows *t, struct err *err)
{
	int rc = blocks_take(s, t, err);

	if (rc < 0) {
		rows_free(t);
		return rc;
	}
	if (t->v.n == 0)
		return 0;
	/* Read again in a transaction, since they may be filed at any moment. */
	rows_free(t);
	rc = s->back->exec(s->db, s->back->read, err);
	if (rc < 0)
		return rc;
	rc = blocks_take(s, t, err);
	t->began = true;
	if (rc < 0)
		pile_done(s, t);
	return rc;
}

void pile_done(struct store *s, struct pile_rows *t)
{
	if (t->began)
		s->back->exec(s->db, "COMMIT", NULL);
	rows_free(t);
}
