/*
 * table.h - tables for terminals: columns as wide as needed, numbers to the
 * right, cut with an ellipsis when the terminal is narrower than the table.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct table;

/* Columns: a word per column, '>' before it aligns right, '~' marks a column that may be shortened first, '!' one that is shortened last,
 * '=' one that is never shortened while others can be. */
struct table *table_create(const char *const *columns, int ncolumns);
void table_destroy(struct table *t);
/* Appends a cell to the row being filled; a full row starts the next one. UTF-8 aware in widths; cleaned by
 * text_clean(). */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_rule(struct table *t); /* a line between rows; called first, under the headings */
/* Prints; width 0 asks the terminal (no limit when `out` is none). */
void table_print(const struct table *t, FILE *out, int width);

#endif
