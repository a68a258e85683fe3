/*
 * guarantee.h - what has to be asked before a submission is accepted: whether deadlines are guaranteed, whether interactive jobs start at once.
 */
#ifndef SERVER_GUARANTEE_H
#define SERVER_GUARANTEE_H

#include <stdbool.h>

struct err;
struct server;
struct submit_work;

/* Whether some of its jobs, which were not asked about yet, need an answer. */
bool guarantee_wanted(const struct submit_work *w);
/* A step of it. 1: there are more. 0: all have what they want. Less: one can't have it, and the submission is refused. */
int guarantee_ask(struct server *s, struct submit_work *w, struct err *err);

#endif
