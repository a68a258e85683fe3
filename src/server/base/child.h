/* child.h - runs a program beside the server with a time limit and returns its output. */
#ifndef SERVER_BASE_CHILD_H
#define SERVER_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct child;

/* How the program ended. The texts are borrowed and end with a NUL. */
struct child_end {
	int how;   /* status as returned by waitpid() */
	bool late; /* it exceeded its time limit and was killed */
	bool much; /* it printed more than `most` bytes: `out` is cut off there */
	const char *out;
	size_t n;
	const char *errors; /* beginning of its standard error */
};

struct child_order {
	const char *program;
	char *const *argv;
	char *also;	 /* "NAME=value" added to the server's environment, or NULL */
	int64_t seconds; /* time limit, seconds */
	size_t most;	 /* limit on its output, bytes; 0: what it prints is not kept */
	int in;		 /* descriptor of its standard input, which the caller closes; 0: /dev/null */
	/* it continues when the server stops, and so do processes that it leaves behind */
	bool apart;
	int nice; /* niceness; 0: the server's */
	/* Called in the loop when the child has exited. Not called after child_stop(). */
	void (*done)(void *context, const struct child_end *end);
	void *context;
};

/* Returns 0 with the child, or -errno. Keeps all of `o` except also, argv and program. */
int child_start(uv_loop_t *loop, const struct child_order *o, struct child **ret);
/* Kills the program and everything it started, because the server stops; if it is apart, forgets
 * it instead. */
void child_stop(struct child *c);
/* Writes what is wrong with the end, such as "took longer than 10 s". Returns false if nothing
 * is. */
bool child_fault(const struct child_order *o, const struct child_end *end, char *ret, size_t size);

#endif
