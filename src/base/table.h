/*
 * table.h - tables for terminals: columns as wide as needed, numbers right-aligned, cells cut with
 * an ellipsis if the terminal is narrower than the table.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct table;

/* Creates a table; each column is given by its heading. A leading '>' aligns right, '~' marks a
 * column to shorten first, '!' one to shorten last, '=' one that is never shortened while others
 * can be. */
struct table *table_create(const char *const *columns, int ncolumns);
void table_destroy(struct table *t);
/* Appends a cell to the current row; a full row starts the next one. Widths account for UTF-8.
 * Text is cleaned by text_clean(). */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a part of a whole in percent, or "-" if the whole is 0. */
void table_percent(struct table *t, int64_t part, int64_t whole);
/* Styles the cells of the column with this heading: `style` gets the text of a cell before it is
 * printed and, if it returned true, NULL after it. */
void table_style(struct table *t, const char *heading, bool (*style)(FILE *out, const char *text));
/* Draws a line between rows; before the first row, below the headings. */
void table_rule(struct table *t);
/* Prints the table. Width 0 uses the terminal's (no limit if `out` is not a terminal). */
void table_print(const struct table *t, FILE *out, int width);

#endif
