/* history.h - the long-term history of jobs. */
#ifndef SERVER_BOOK_HISTORY_H
#define SERVER_BOOK_HISTORY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct attempt;
struct entry;
struct err;
struct event;
struct history_row;
struct payload;
struct server;

/* Returns the run time of an attempt without a reported result: until now, or until a server saw
 * it last. */
int64_t ran_until_now(const struct server *s, uint32_t id);
/* Returns the same for an attempt, which may have been stopped and not ended yet. */
int64_t attempt_ran(const struct server *s, const struct attempt *t);
/* Fills in what is known now of a job and its last attempt; `group`, of `size` bytes, holds the
 * group's name. Texts are borrowed. */
void history_fill(struct server *s, uint32_t id, struct history_row *row, char *group, size_t size);
/* Adds the row of a stopped attempt; called for PREEMPT, before the event is applied. */
void history_stopped(struct server *s, const struct event *e, const struct payload *p);
/* Adds the row of a job that has ended. */
void history_ended(struct server *s, uint32_t id);
/* Adds the ended jobs of a store that is older than the history, at recovery. */
void history_begin(struct server *s);
/* Marks that the store has a history. */
int history_restore(struct server *s, const char *name, const json_t *o, struct err *err);
/* Files the waiting rows if it is time; called when everything is committed. */
void history_file(struct server *s);
/* Returns the time of the next filing, microseconds; TIME_NEVER: none. */
int64_t history_next(const struct server *s);

#endif
