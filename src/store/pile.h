/*
 * pile.h - rows of the history that are not filed yet.
 *
 * A row of `history` has indexes by user, queue, state and time, so writing it costs more than
 * everything else at the end of a waiting job. Therefore the commit in which jobs end writes their
 * rows into one blob, a block of the table `pile`. A later commit files them: it inserts the rows
 * into `history` and deletes the block in one transaction, so that a crash neither loses nor
 * duplicates any. Readers of the history also read the pile (history.c) and see no difference.
 *
 * A block is a sequence of rows, each with its differences from the row before: a mask of four
 * bytes, with a bit for each column of HISTORY_COLUMNS that follows, then these columns. A number
 * is zigzag LEB128; a text is its length + 1 (0: NULL) as LEB128, its bytes, and a 0. A mask with
 * only PILE_LOST is not a row but the lost work of an attempt: its key, attempt and lost_ms.
 */
#ifndef STORE_PILE_H
#define STORE_PILE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/history.h"
#include "store/store_internal.h"

#define PILE_LOST (UINT32_C(1) << 31)

/* Convert a row to values in the order of HISTORY_COLUMNS and back. Texts are borrowed. */
struct history_values {
	struct value v[HISTORY_WIDTH];
};
struct history_values history_values_of(const struct history_row *row);
struct history_row history_row_of(const struct value *v);

/* Adds a row. Texts are copied and converted to UTF-8. */
void pile_put(struct store *s, const struct history_row *row);
void pile_lost(struct store *s, uint64_t key, int64_t attempt, int64_t lost_ms);
void pile_close(struct store *s); /* before a commit: turns the block into a change */
/* Finds the existing blocks; called when this server takes the lead. */
int pile_look(struct store *s, struct err *);
void pile_fini(struct store *s);

/* State while reading a block. */
struct pile_reader {
	const char *at, *end;
	struct history_values row; /* last row; its texts are in the block */
	uint64_t key;		   /* these three: last PILE_LOSS */
	int64_t attempt, lost_ms;
};
enum pile_item { PILE_END, PILE_ROW, PILE_LOSS, PILE_DAMAGED };
void pile_begin(struct pile_reader *r, const char *block, size_t n);
enum pile_item pile_next(struct pile_reader *r);

/* All committed rows that are not filed. */
struct pile_rows {
	VEC(struct history_row) v;
	struct map at; /* hash of key and attempt -> index + 1 */
	struct arena *arena;
	bool began; /* a transaction in which the history is read as well */
};
/* Reads the pile. Until pile_done() the connection sees one snapshot. */
int pile_read(struct store *s, struct pile_rows *t, struct err *err);
void pile_done(struct store *s, struct pile_rows *t);
bool pile_has(const struct pile_rows *t, uint64_t key, int64_t attempt);

#endif
