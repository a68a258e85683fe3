/*
 * nest.h - a nursery for tests: a directory, a real nursery process, and a socket where results
 * arrive. Run by root, jobs belong to the user nobody; otherwise to the current user.
 */
#ifndef SUPPORT_NEST_H
#define SUPPORT_NEST_H

#include "base/vec.h"
#include "run/nursery.h"

struct nest {
	/* work: the user's own directory */
	char dir[64], live[128], work[128], spare[128], socket[128];
	const char *cgroup;
	bool root_jobs;
	uid_t uid;
	gid_t gid;
	const char *user;
	struct nursery nursery;
	int results; /* datagram socket; -1: no server is listening */
	struct strbuf in;
	struct arena *a;
	VEC(struct answer) answers; /* answers not consumed yet */
	VEC(struct result) got, ready, saved;
	struct result used; /* last usage that a running job reported */
	VEC(int) fds;
};

int nest_setup(void **state);	 /* cmocka: *state is a struct nest */
int nest_teardown(void **state); /* also checks that nothing of it is running any more */
struct nest *nest_create(const char *cgroup);
void nest_destroy(struct nest *n);

void nest_start(struct nest *n); /* forks a nursery, after waiting for an earlier one to end */
void nest_stop(struct nest *n);	 /* drops the server's end; waits for the nursery to end */
void nest_kill(struct nest *n);	 /* kill -9 of the nursery */
void nest_listen(struct nest *n);
void nest_deafen(struct nest *n);

/* Builds an order with this script (its text), and output in work/TAG.out and .err. */
struct order nest_order(struct nest *n, const char *tag, const char *script);
void nest_send(struct nest *n, const struct order *o);
void nest_frames(struct nest *n, struct strbuf *out); /* sends and frees it */
void nest_signal(struct nest *n, const char *tag, int signal);
void nest_limit(struct nest *n, const char *tag, int64_t walltime); /* changes its walltime */
void nest_save(struct nest *n, const char *tag, enum checkpoint_cause cause, int64_t seconds);
/* These wait at most half a minute, then fail. */
struct answer nest_answer(struct nest *n, enum answer_type type, const char *tag);
struct result nest_result(struct nest *n, const char *tag);
void nest_ready(struct nest *n, const char *tag); /* waits until a part without a script is open */
/* Waits for the next report of that state. */
struct saves nest_saved(struct nest *n, const char *tag, enum save_state state);
/* Sends it, waits for its start and its result. */
struct result nest_run(struct nest *n, const struct order *o);
struct result nest_script(struct nest *n, const char *tag, const char *script);

/* Fails if the job ended in another way. */
#define ends(r, how, status, cause) nest_ends(r, how, status, cause, __LINE__)
void nest_ends(struct result r, enum result_how how, int status, enum result_cause cause, int line);
/* Fails unless `part` is in `text`. */
void contains(const char *text, const char *part);

/* Paths and files, allocated in the arena. */
char *nest_path(struct nest *n, const char *name); /* path below work */
char *nest_read(struct nest *n, const char *path); /* NULL: missing */
void nest_write(struct nest *n, const char *path, const char *text, size_t size, int mode);
void nest_await(struct nest *n, const char *path); /* waits until it exists and is not empty */
bool nest_alive(pid_t pid);			   /* true if running; a zombie is not */
void nest_await_dead(pid_t pid);

/* Runs the tests as root and, with the argument "user", as nobody; "--nursery" runs a nursery. */
int nest_main(int argc, char **argv, int (*tests)(void));

#endif
