/*
 * save.h - checkpoints of jobs as the server sees them: what an order says of them, asking for one, and what became of them.
 */
#ifndef SERVER_SAVE_H
#define SERVER_SAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "run/order.h"

struct attempt;
struct server;
struct spec;

/* Fills in o->checkpoint for the part with the script; o->tag is set. */
void save_order(const struct server *s, const struct attempt *t, struct arena *a, struct order *o);
/* Where a job has its checkpoints, absolute; NULL: it makes none, or its user's home is not known. */
const char *save_directory(const struct server *s, uint32_t id, struct arena *a);
/* Asks it to save its work and end, and sees to it that it does. False: it makes no checkpoints. */
bool attempt_save(struct server *s, const struct attempt *t, enum checkpoint_cause cause);
/* Whether a job that is stopped for another (JOB_NONE: for none) saves its work first, if it makes checkpoints: rules/leave.h. */
bool save_before(const struct server *s, uint32_t id, uint32_t by);
/* Its shepherd told this; lost_ms: work of an attempt that is over which is in none. */
void saves_note(struct server *s, uint32_t id, uint32_t attempt, const struct saves *v, int64_t lost_ms);
/* The same of an attempt that ended, or, without a result, was lost. `cut`: it had not finished. */
void saves_ended(struct server *s, uint32_t id, uint32_t attempt, const struct result *r, bool cut);
/* Milliseconds that an attempt was busy saving its work only because others wanted it to stop: its user is not charged for them. */
int64_t saves_free(const struct saves *v);

#endif
