/*
 * listing.h - tables of an answer's objects, one row each, described by their columns.
 */
#ifndef CMD_LISTING_H
#define CMD_LISTING_H

#include <jansson.h>

#include "base/strbuf.h"
#include "cmd/lib/command.h"

struct listing_column {
	const char *heading; /* heading for table_create() */
	const char *key;     /* the member that is shown; "used.cput" looks inside */
	/* Writes the cell of an object; NULL: see `format`. */
	void (*make)(const json_t *object, const char *key, struct strbuf *cell);
	const char *format; /* printf format of a real number, "%.1f%%" */
};

/* Makes a table of the objects of a list. The columns end with a NULL heading. */
struct table *listing_table(const json_t *list, const struct listing_column *columns);
/* Prints the objects of a list. The columns end with a NULL heading. An empty list prints
 * the line `none` instead, nothing if it is "", and only the headings if it is NULL. */
void listing_print(const json_t *list, const struct listing_column *columns, const char *none);

/* A command that only lists objects: the `run` of its row. Its options are show_options. */
struct listing {
	const char *path; /* GET; "%s" is the first operand, or "" */
	const char *key;  /* name of the list in the answer */
	const struct listing_column *columns;
	const char *none;		   /* see listing_print() */
	void (*after)(const json_t *list); /* prints what follows the table; may be NULL */
};
int listing_run(const struct command *c, const void *arguments, const struct operands *operands);

/* Cells: a text or a whole number. */
void cell_plain(const json_t *object, const char *key, struct strbuf *cell);
/* "12" for "12.name". */
void cell_id(const json_t *object, const char *key, struct strbuf *cell);
/* "2026-11-16 14:05:00", and the same as instant_near() writes it; "" and "-" for 0 or nothing. */
void cell_instant(const json_t *object, const char *key, struct strbuf *cell);
void cell_near(const json_t *object, const char *key, struct strbuf *cell);
/* "1h 30m" and "1.5gb"; "-" if the member is missing or negative. */
void cell_duration(const json_t *object, const char *key, struct strbuf *cell);
void cell_memory(const json_t *object, const char *key, struct strbuf *cell);
/* A list of texts, separated by blanks; "-" if it is empty. */
void cell_words(const json_t *object, const char *key, struct strbuf *cell);

#endif
