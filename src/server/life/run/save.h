/* save.h - checkpoints as the server sees them: their part of an order, requests for them, and
 * their results. */
#ifndef SERVER_SAVE_H
#define SERVER_SAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "run/order.h"

struct attempt;
struct server;

/* Fills in o->checkpoint for the part with the script; o->tag must be set. */
void save_order(const struct server *s, const struct attempt *t, struct arena *a, struct order *o);
/* Returns the absolute path of a job's checkpoints; NULL: it makes none, or its user's home is
 * not known. */
const char *save_directory(const struct server *s, uint32_t id, struct arena *a);
/* Asks an attempt to save its work and end, and enforces it. Returns false if it makes no
 * checkpoints. */
bool attempt_save(struct server *s, const struct attempt *t, enum checkpoint_cause cause);
/* Returns true if a job with checkpoints saves its work before it is stopped for job `by`
 * (JOB_NONE: for none): rules/leave.h. */
bool save_before(const struct server *s, uint32_t id, uint32_t by);
/* Records the shepherd's report; lost_ms: work of an ended attempt that no checkpoint has. */
void saves_note(struct server *s, uint32_t id, uint32_t attempt, const struct saves *v, int64_t lost_ms);
/* Records the checkpoints of an attempt that ended or, without a result, was lost. `cut`: it had
 * not finished. */
void saves_ended(struct server *s, const struct attempt *t, const struct result *r, bool cut);
/* Returns the milliseconds that an attempt spent on a checkpoint requested by others before it was
 * stopped; its user is not charged for them. */
int64_t saves_free(const struct saves *v);

#endif
