/*
 * entrance.h - interactive jobs that start at once or not at all (policy artaras,
 * sched/entrance.h).
 *
 * No job is displaced without consent: a submission states how long the start may take
 * (`displace`). If it takes longer, the submission is refused with that time, and nothing has
 * changed: no job, no quota, no place. Nothing is kept while the user decides, so nothing has to be
 * given back; a second submission is judged by the state at that time.
 */
#ifndef SERVER_ENTRANCE_H
#define SERVER_ENTRANCE_H

#include <stdint.h>

struct entrance; /* sched/entrance.h */
struct err;
struct server;
struct spec;
struct submission;

/* Computes how the job would start now, or why it cannot. Free *ret in either case. */
int entrance_look(struct server *s, const struct spec *p, struct entrance *ret, struct err *err);
/* Checks that the job may start now. The error has the code would_displace if the user might
 * consent to the displacement. */
int entrance_check(struct server *s, const struct submission *x, struct err *err);
/* Ends an accepted job that did not start at once, whatever the reason: such jobs never wait. */
void entrance_settle(struct server *s, uint64_t number);

#endif
