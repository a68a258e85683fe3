/* twin.h - a process forked from the server: it has the server's state as of the fork, and the
 * server continues. Its results come back through a pipe. */
#ifndef SERVER_TWIN_H
#define SERVER_TWIN_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct twin;

struct twin_order {
	const char *name; /* name of the process, at most 15 characters */
	int seconds;	  /* time after which it is killed */
	int nice;	  /* niceness; 0: the server's */
	/* Runs in the process, and writes its results to `fd`. The process ends when it returns. */
	void (*run)(void *context, int fd);
	/* Called in the server for everything that it wrote. */
	void (*got)(void *context, const char *text, size_t n);
	/* Called at the end, when the twin is freed: it has written all, was killed, or failed. */
	void (*over)(void *context);
	void *context;
};

/* Returns NULL if it could not be forked. */
struct twin *twin_start(uv_loop_t *loop, const struct twin_order *o);
/* Kills the process; nothing is called afterwards. Accepts NULL. */
void twin_stop(struct twin *x);
/* Returns how long the fork held the server, microseconds. */
int64_t twin_fork_us(const struct twin *x);

#endif
