/*
 * intake.h - accepts a large submission in slices, and yet as a whole.
 *
 * Its records are written first, some in each turn, under a mark in the store (object "intake").
 * One commit removes the mark and keeps the idempotency key: with it all of its jobs are accepted.
 * Then they begin to wait, some in each turn; until then they are invisible.
 *
 * Recovery drops the records that a mark covers; those of an accepted submission are jobs like all
 * others, and begin to wait there if they had not before. A record is written before it is known
 * whether its job will be held, so it has the likely state; the job begins as its record has it,
 * and any difference is an event, as usual.
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

/* Assigns numbers to `count` submissions, from `first` on (number_for()), and core ids to their
 * jobs, both in the order that recovery uses. The mark is in this turn's commit. */
void intake_open(struct server *s, uint64_t first, const struct submission *x, size_t count, uint32_t *ret_id);
/* Writes the record of a submission. `before`: the previous one with the same request, or NULL. */
void intake_stage(struct server *s, uint64_t number, struct submission *x, const struct submission *before);
/* Writes the record again with its present spec. */
void intake_record(struct server *s, uint64_t number, const struct submission *x);
void intake_unstage(struct server *s, uint64_t number, const struct submission *x);
/* Removes the mark when all are accepted. */
void intake_close(struct server *s, uint64_t first);
/* The same when all are unstaged; gives back the entries that intake_open() reserved. */
void intake_refuse(struct server *s, uint64_t first, const struct submission *x, size_t count, uint32_t id);

/* Lets the jobs of an accepted submission begin to wait, one after the other: *done of them
 * have, beginning with `first`. Returns false after the last one. */
bool intake_begin(struct server *s, uint64_t number, const struct submission *x, uint32_t first, uint32_t *done);

/* Restores the mark of a submission that was not accepted yet, and what it covers, at recovery. */
int intake_restore(struct server *s, const char *name, const json_t *o, struct err *err);
/* Drops a job's record if a mark covers it; returns true if it did. */
bool intake_drop(struct server *s, uint64_t key, uint64_t script);
void intake_recovered(struct server *s);

#endif
