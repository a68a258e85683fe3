/*
 * history.h - what is kept for years.
 */
#ifndef SERVER_BOOK_HISTORY_H
#define SERVER_BOOK_HISTORY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct entry;
struct err;
struct event;
struct history_row;
struct payload;
struct server;

/* How long an attempt has run of which no result tells it: until now, or until a server saw it last. */
int64_t ran_until_now(const struct server *s, const struct entry *e);
/* Fills in what is known now of a job and of its last attempt; `group`, of `size` bytes, is for the name of a group.
 * Texts are borrowed. */
void history_fill(struct server *s, uint32_t id, struct history_row *row, char *group, size_t size);
void history_stopped(struct server *s, const struct event *e,
		     const struct payload *p);	   /* PREEMPT, before it is applied */
void history_ended(struct server *s, uint32_t id); /* the job has ended */
void history_begin(struct server *s);		   /* at recovery: of a store that is older than the history */
int history_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* it has one */
void history_file(struct server *s);	      /* all is committed: rows that wait for it are filed, if it is time */
int64_t history_next(const struct server *s); /* microseconds: when that is, or TIME_NEVER */

#endif
