/*
 * task.h - programs added to a running attempt: pbs_rsh, pbsdsh and `shunt launch` start them on
 * the job's other hosts.
 *
 * A shepherd whose order names hosts, or that was sent a TASKS_WORD, listens at LIVE/.task-TAG
 * (stream socket; only root and the server's account can reach it). Each connection is a query or a
 * task; messages are nursery frames (a letter and JSON):
 *
 *	W {}			asks who the shepherd is
 *				-> w {"user", "uid", "part",
 *				      "hosts": [{"name","address","part","join"}]}
 *	T {"argv", "env", "workdir", "rows", "columns"}
 *				starts a task, with three descriptors (SCM_RIGHTS): its input,
 *				output and error output
 *				-> s {"pid"}, then x {"how": "exited"|"signaled", "status"};
 *				   or r {"reason"}: it was not started
 *	S {"signal"}		signals the task's process group
 *	closing before x	ends the task's process group: SIGHUP, SIGCONT, after two seconds
 *				SIGKILL
 *
 * A task runs as the job's user, in its control group, on its CPUs, with the job's environment
 * changed by `env` (NAME=VALUE; an entry without '=' removes; SHUNT_TAG stays), in a session of its
 * own. It is the shepherd's child: it ends with the attempt, and its usage counts as the attempt's.
 * The caller's permission is checked elsewhere (engine/tasks.h).
 */
#ifndef RUN_TASK_H
#define RUN_TASK_H

#include <sys/types.h>

#include "base/err.h"
#include "run/order.h"

/* An order to take tasks from now on, sent where a signal is expected (nursery.h). */
#define TASKS_WORD (1 << 29)
#define TASK_PROTOCOL "shunt-task" /* frames of engine/tasks.h, after an upgrade from HTTP */

struct task {
	char **argv;	     /* NULL-terminated, at least one */
	char **env;	     /* changes to the environment; NULL-terminated, or NULL */
	const char *workdir; /* NULL: the job's */
	int rows, columns;   /* > 0: the descriptors are a terminal of this size */
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

/* Connects to an attempt's shepherd. Returns a non-blocking descriptor; -ENOENT, -ECONNREFUSED: no
 * such attempt is running here. */
int task_connect(const char *live, const char *tag, struct err *err);
void task_who(struct strbuf *out);
/* Sends the request with its descriptors in one message; the caller keeps the descriptors. */
int task_send(int fd, const struct task *t, const int fds[3], struct err *err);
void task_signal(int signal, struct strbuf *out);
/* Reads the text that nursery_frame() found. */
int task_answer_read(const char *text, size_t n, struct arena *a, struct task_answer *ret, struct err *err);

/* ---- the shepherd's side (crew.c) ---- */

#define TASK_MAX (4 << 20) /* maximum bytes of a request */
enum { TASK_ASK_WHO = 'W', TASK_ASK_START = 'T', TASK_ASK_SIGNAL = 'S' };

struct json_t;
int task_load(const struct json_t *object, struct arena *a, struct task *ret, struct err *err);
int task_request_read(const char *text, size_t n, struct arena *a, struct task *ret, struct err *err);
int task_signal_read(const char *text, size_t n); /* returns 0 if it is not valid */
void task_answer_write(const struct task_answer *t, struct strbuf *out);
void task_name(const char *tag, char *buf, size_t size); /* writes ".task-TAG" */

#endif
