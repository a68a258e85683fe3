/*
 * nest.h - a nursery to test with: a directory, a real nursery process, and a socket where results arrive. As root, jobs are those
 * of the user nobody; otherwise one's own.
 */
#ifndef SUPPORT_NEST_H
#define SUPPORT_NEST_H

#include "base/vec.h"
#include "run/nursery.h"

struct nest {
	char dir[64], live[128], work[128], spare[128], socket[128]; /* work: the user's own */
	const char *cgroup;
	bool root_jobs;
	uid_t uid;
	gid_t gid;
	const char *user;
	struct nursery nursery;
	int results; /* datagram socket, -1: no server listens */
	struct strbuf in;
	struct arena *a;
	VEC(struct answer) answers; /* that nobody asked for yet */
	VEC(struct result) got, ready, saved;
	struct result used; /* what a running job said last of that */
	VEC(int) fds;
};

int nest_setup(void **state);	 /* cmocka: *state is a struct nest */
int nest_teardown(void **state); /* also checks that nothing of it runs any more */
struct nest *nest_create(const char *cgroup);
void nest_destroy(struct nest *n);

void nest_start(struct nest *n); /* forks a nursery, waiting for an earlier one to be gone */
void nest_stop(struct nest *n);	 /* the server goes; waits for the nursery to end */
void nest_kill(struct nest *n);	 /* kill -9 of the nursery */
void nest_listen(struct nest *n);
void nest_deafen(struct nest *n);

/* An order with this script (its text), output in work/TAG.out and .err. */
struct order nest_order(struct nest *n, const char *tag, const char *script);
void nest_send(struct nest *n, const struct order *o);
void nest_frames(struct nest *n, struct strbuf *out); /* sends and frees it */
void nest_signal(struct nest *n, const char *tag, int signal);
void nest_limit(struct nest *n, const char *tag, int64_t walltime); /* it has another one */
void nest_save(struct nest *n, const char *tag, enum checkpoint_cause cause, int64_t seconds);
/* Wait at most half a minute, then fail. */
struct answer nest_answer(struct nest *n, enum answer_type type, const char *tag);
struct result nest_result(struct nest *n, const char *tag);
void nest_ready(struct nest *n, const char *tag);				 /* a room has opened */
struct saves nest_saved(struct nest *n, const char *tag, enum save_state state); /* the next report of that state */
struct result nest_run(struct nest *n, const struct order *o);			 /* send, started, result */
struct result nest_script(struct nest *n, const char *tag, const char *script);

/* Paths and files, in the arena. */
char *nest_path(struct nest *n, const char *name); /* in work */
char *nest_read(struct nest *n, const char *path); /* NULL: not there */
void nest_write(struct nest *n, const char *path, const char *text, size_t size, int mode);
void nest_await(struct nest *n, const char *path); /* until it is there and not empty */
bool nest_alive(pid_t pid);			   /* and no zombie */
void nest_await_dead(pid_t pid);

/* Runs the tests as root and, in the argument "user", as nobody; "--nursery": is one. */
int nest_main(int argc, char **argv, int (*tests)(void));

#endif
