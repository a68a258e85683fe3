/* seer.h - forecasts starts in a process forked from the server: it has the server's state as of
 * the fork, and the server continues. Results come back through a pipe. */
#ifndef SERVER_SEER_H
#define SERVER_SEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct foreseen;
struct seer;
struct server;

struct seer_calls {
	/* called for every start, in order of time */
	void (*told)(void *context, const struct foreseen *x);
	/* Called at the end, when the seer is freed. complete: all jobs that can be forecast
	 * were, or as many as requested; otherwise time ran out or it failed. */
	void (*over)(void *context, bool complete);
	void *context;
};

/* Forecasts the first `most` starts (0: all), with nodes for the first `nodes` of them; starts
 * not reached in three quarters of `seconds` are rough. The process is killed after `seconds`.
 * Returns NULL if it could not be forked. */
struct seer *seer_start(struct server *s, size_t most, size_t nodes, int seconds, const struct seer_calls *calls);
/* Kills the process; no callback is called afterwards. Accepts NULL. */
void seer_stop(struct seer *x);
/* Returns how long the fork held the server, microseconds. */
int64_t seer_fork_us(const struct seer *x);

#endif
