/*
 * pile.h - rows of the history on their way into it.
 *
 * A row of `history` has indexes by user, queue, state and time: to write it costs more than all else that the end of a waiting job does. So the commit in
 * which jobs end writes their rows into one blob, a block of the table `pile`; a later commit files them: the rows go to `history`, and the block is deleted, in
 * one transaction, so that a crash neither loses nor doubles any. Whoever reads the history reads the pile, too (history.c): nobody sees a difference.
 *
 * A block is a sequence of rows, each with what differs from the row before it: four bytes, a bit for each column of HISTORY_COLUMNS that follows, then
 * these. A number is zigzag LEB128; a text its length + 1 (0: NULL) as LEB128, its bytes, and a 0. A mask of PILE_LOST alone is no row, but what an attempt
 * lost: its key, attempt and lost_ms.
 */
#ifndef STORE_PILE_H
#define STORE_PILE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/history.h"
#include "store/store_internal.h"

#define PILE_LOST (UINT32_C(1) << 31)

/* A row as values in the order of HISTORY_COLUMNS, and back. Texts are borrowed. */
struct history_values {
	struct value v[HISTORY_WIDTH];
};
struct history_values history_values_of(const struct history_row *row);
struct history_row history_row_of(const struct value *v);

void pile_put(struct store *s, const struct history_row *row); /* texts are copied, and become UTF-8 */
void pile_lost(struct store *s, uint64_t key, int64_t attempt, int64_t lost_ms);
bool pile_used(const struct store *s);	      /* some rows are not filed */
void pile_close(struct store *s);	      /* before a commit: the block becomes a change */
int pile_look(struct store *s, struct err *); /* which blocks there are; by who leads from now on */
void pile_fini(struct store *s);

/* Reading a block. */
struct pile_reader {
	const char *at, *end;
	struct history_values row; /* the last one; texts are in the block */
	uint64_t key;		   /* of what was lost */
	int64_t attempt, lost_ms;
};
enum pile_item { PILE_END, PILE_ROW, PILE_LOSS, PILE_DAMAGED };
void pile_begin(struct pile_reader *r, const char *block, size_t n);
enum pile_item pile_next(struct pile_reader *r);

/* All rows that are not filed, of what is committed. */
struct pile_rows {
	VEC(struct history_row) v;
	struct map at; /* hash of key and attempt -> index + 1 */
	struct arena *arena;
	bool began; /* a transaction, in which the history is read as well */
};
/* Until pile_done() the connection sees one moment. */
int pile_read(struct store *s, struct pile_rows *t, struct err *err);
void pile_done(struct store *s, struct pile_rows *t);
bool pile_has(const struct pile_rows *t, uint64_t key, int64_t attempt);

#endif
