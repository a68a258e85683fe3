/*
 * decide.h - the scheduler decides.
 */
#ifndef SERVER_DECIDE_H
#define SERVER_DECIDE_H

struct server;

void turn_decide(struct server *s);
void server_decide(struct server *s); /* a turn's decisions, in the middle of one */
void decide(struct server *s);	      /* a cycle of the scheduler, or a part of one: then s->turn->undecided */

#endif
