/*
 * intake.h - a large submission is taken over in slices, and yet as a whole.
 *
 * Its records are written first, some in each turn, under a mark in the store (object "intake"). One commit takes the mark away and keeps the idempotency
 * key: with it all of its jobs are accepted. Then they begin to wait, some in each turn; until then nobody sees them. Recovery drops the records that a mark
 * covers; those of a submission that was accepted are jobs like all others, and begin to wait there, if they did not before.
 *
 * A record is written before it is known whether its job will be held, so it says what is likely; the job begins as its record says, and what is different is an
 * event, as ever.
 */
#ifndef SERVER_INTAKE_H
#define SERVER_INTAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct server;
struct submission;

/* Numbers for `count` submissions, from `first` on (number_for()), and core ids for their jobs: both are in the same order, as recovery has them. The mark
 * is in this turn's commit. */
void intake_open(struct server *s, uint64_t first, const struct submission *x, size_t count, uint32_t *ret_id);
/* The record of a submission. `before`: the one before it with the same request, or NULL. */
void intake_stage(struct server *s, uint64_t number, struct submission *x, const struct submission *before);
void intake_record(struct server *s, uint64_t number, const struct submission *x); /* again, as its spec is now */
void intake_unstage(struct server *s, uint64_t number, const struct submission *x);
void intake_close(struct server *s, uint64_t first); /* takes the mark away: they are accepted, or all unstaged */

/* The jobs of a submission that was accepted, one after the other: *done of it have begun to wait, the first of which is `first`. False: those were all. */
bool intake_begin(struct server *s, uint64_t number, const struct submission *x, uint32_t first, uint32_t *done);

/* At recovery: marks of submissions that were not accepted yet, and what they cover. */
int intake_restore(struct server *s, const char *name, const json_t *o, struct err *err);
/* Drops a job's record if a mark covers it; returns true if it did. */
bool intake_drop(struct server *s, uint64_t key, uint64_t script);
void intake_recovered(struct server *s);

#endif
