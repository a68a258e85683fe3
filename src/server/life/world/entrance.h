/*
 * entrance.h - interactive jobs that start at once or not at all (policy artaras, sched/entrance.h).
 *
 * Nobody is displaced unasked: a submission says how long the start may take (`displace`). It is refused, with that time, if it takes longer, and then nothing has
 * changed: no job, no quota, no place. While its user is asked nothing is kept for it, so that nothing has to be given back; a second submission is
 * judged by what is true then.
 */
#ifndef SERVER_ENTRANCE_H
#define SERVER_ENTRANCE_H

#include <stdint.h>

struct entrance; /* sched/entrance.h */
struct err;
struct server;
struct spec;
struct submission;

/* How it would come in now; why it can't. To be freed in either case. */
int entrance_look(struct server *s, const struct spec *p, struct entrance *ret, struct err *err);
/* Whether it may come in now: the reason why not has the code would_displace if its user might agree to what it takes. */
int entrance_check(struct server *s, const struct submission *x, struct err *err);
/* An accepted one that did not start, for whatever reason, ends: it does not wait. */
void entrance_settle(struct server *s, uint64_t number);

#endif
