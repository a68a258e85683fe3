/*
 * guarantee.h - checks before a submission is accepted: whether deadlines can be guaranteed, and
 * whether interactive jobs can start at once.
 */
#ifndef SERVER_GUARANTEE_H
#define SERVER_GUARANTEE_H

#include <stdbool.h>

struct err;
struct server;
struct submit_work;

/* Returns true if some of its jobs still need such a check. */
bool guarantee_wanted(const struct submit_work *w);
/* Does one step of the checks. 1: there are more. 0: all jobs get what they require. < 0: one
 * can't, and the submission is refused. */
int guarantee_ask(struct server *s, struct submit_work *w, struct err *err);

#endif
