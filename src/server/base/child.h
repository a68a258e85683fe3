/*
 * child.h - runs a program beside the server until it ends, for at most some seconds, and hands over what it printed.
 */
#ifndef SERVER_BASE_CHILD_H
#define SERVER_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct child;

/* How it ended. The texts are borrowed, and end with a NUL. */
struct child_end {
	int how;   /* as waitpid() says it */
	bool late; /* it took too long, and was killed */
	bool much; /* it printed more than `most`: `out` is cut off there */
	const char *out;
	size_t n;
	const char *errors; /* the beginning of what it complained of */
};

struct child_order {
	const char *program;
	char *const *argv;
	char *also;	 /* "NAME=value" beside the server's environment, or NULL */
	int64_t seconds; /* that it has */
	size_t most;	 /* bytes of its output */
	int nice;	 /* 0: as the server */
	/* In the loop; the child is gone then. Not called after child_stop(). */
	void (*done)(void *context, const struct child_end *end);
	void *context;
};

/* 0 with the child, or -errno. All but also, argv and program is kept. */
int child_start(uv_loop_t *loop, const struct child_order *o, struct child **ret);
/* The server stops: kills it, with all that it started. */
void child_stop(struct child *c);
/* "took longer than 10 s", "ended with signal 9": what is wrong with how it ended. False: nothing. */
bool child_fault(const struct child_order *o, const struct child_end *end, char *ret, size_t size);

#endif
