/*
 * decide.h - the scheduler decides.
 */
#ifndef SERVER_DECIDE_H
#define SERVER_DECIDE_H

#include <stdbool.h>

struct server;

void turn_decide(struct server *s);
void server_decide(struct server *s); /* a turn's decisions, in the middle of one */
bool decide_may(
	const struct server *s); /* whether jobs may be started: scheduling is on, and no shutdown is under way */
void scheduler_decide(
	struct server
		*s); /* a cycle of the scheduler, or a part of one: then s->turn->undecided; none unless decide_may() */

#endif
