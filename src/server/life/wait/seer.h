/*
 * seer.h - a forecast of starts made by a process of its own, forked from the server: it has everything that the server knows as it was then, and the
 * server goes on. What it foresees comes back through a pipe.
 */
#ifndef SERVER_SEER_H
#define SERVER_SEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct foreseen;
struct seer;
struct server;

struct seer_calls {
	void (*told)(void *context, const struct foreseen *x); /* every start, in the order of time */
	/* It is over, and so is the seer. Complete: every job that can be foreseen was, or as many as were asked for; otherwise its time was up, or it failed. */
	void (*over)(void *context, bool complete);
	void *context;
};

/* The first `most` starts (0: all), with nodes of the first `nodes` of them; what it did not get to in three quarters of `seconds` roughly. It is ended after `seconds`. NULL: the system lets us have no process. */
struct seer *seer_start(struct server *s, size_t most, size_t nodes, int seconds, const struct seer_calls *calls);
void seer_stop(struct seer *x);		    /* nothing is told any more; NULL is none */
int64_t seer_fork_us(const struct seer *x); /* how long the server was held by it */

#endif
