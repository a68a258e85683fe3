/*
 * task.h - programs that are added to a running attempt: what pbs_rsh, pbsdsh and `shunt launch` start on the job's other hosts.
 *
 * A shepherd whose order names hosts listens at LIVE/.task-TAG (stream socket; only root and the server's account can get there).
 * Each connection is a question or a task; messages are nursery frames (a letter and JSON):
 *
 *	W {}                            who are you?  -> w {"user", "uid", "part", "hosts": [{"name","address","part","join"}]}
 *	T {"argv", "env", "workdir", "rows", "columns"}  with three descriptors (SCM_RIGHTS): its input, output and error output
 *	                                -> s {"pid"}, then x {"how": "exited"|"signaled", "status"}; or r {"reason"}: it was not started
 *	S {"signal"}                    to the task's process group
 *	closing before x                ends the task's process group: SIGHUP, SIGCONT, after two seconds SIGKILL
 *
 * A task runs as the job's user, in its control group, on its CPUs, with the job's environment changed by `env` (NAME=VALUE; an entry without '=' removes; SHUNT_TAG
 * stays), in a session of its own. It is the shepherd's child: it
 * ends with the attempt, and its usage is the attempt's. Whether whoever asks may is not checked here: engine/tasks.h does.
 */
#ifndef RUN_TASK_H
#define RUN_TASK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "run/order.h"

struct task {
	char **argv;	     /* NULL-terminated, at least one */
	char **env;	     /* changes; NULL-terminated or NULL */
	const char *workdir; /* NULL: the job's */
	int rows, columns;   /* > 0: the descriptors are one terminal's */
};

struct task_place { /* the answer to W */
	const char *user;
	uid_t uid;
	int part;
	struct order_host *hosts;
	int nhosts;
};

enum task_answer_type { TASK_WHO, TASK_STARTED, TASK_EXITED, TASK_SIGNALED, TASK_REFUSED };
struct task_answer {
	enum task_answer_type type;
	struct task_place place;
	pid_t pid;
	int status;
	const char *reason;
};

/* The asking side. The descriptor is non-blocking; -ENOENT, -ECONNREFUSED: no such attempt runs here. */
int task_connect(const char *live, const char *tag, struct err *err);
void task_who(struct strbuf *out);
/* Sends the request with its descriptors in one message; they stay the caller's. */
int task_send(int fd, const struct task *t, const int fds[3], struct err *err);
void task_signal(int signal, struct strbuf *out);
/* `text` is what nursery_frame() found. */
int task_answer_read(const char *text, size_t n, struct arena *a, struct task_answer *ret, struct err *err);

/* ---- the shepherd's side (crew.c) ---- */

#define TASK_MAX (4 << 20) /* bytes of a request */
enum { TASK_ASK_WHO = 'W', TASK_ASK_START = 'T', TASK_ASK_SIGNAL = 'S' };

struct json_t;
int task_load(const struct json_t *object, struct arena *a, struct task *ret, struct err *err);
int task_request_read(const char *text, size_t n, struct arena *a, struct task *ret, struct err *err);
int task_signal_read(const char *text, size_t n); /* 0: none */
void task_answer_write(const struct task_answer *t, struct strbuf *out);
void task_name(const char *tag, char *buf, size_t size); /* ".task-TAG" */

#endif
