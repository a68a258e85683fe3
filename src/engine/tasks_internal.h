/*
 * tasks_internal.h - shared by the service (tasks.c), tasks on this host (task_here.c) and others
 * (task_far.c), and connections to shepherds (talk.c).
 */
#ifndef ENGINE_TASKS_INTERNAL_H
#define ENGINE_TASKS_INTERNAL_H

#include "engine/tasks.h"
#include "run/task.h"

#define TASK_QUEUE 262144 /* maximum bytes waiting on the way before the sender is paused */

/* Sends the last frame: the task was not started, or its outcome is unknown. The reason may contain
 * any bytes. */
void task_refuse(struct link *l, const char *reason);

/* ---- talk.c: a connection to the shepherd of a part ---- */

struct talk;
/* `a` NULL: the shepherd hung up. The handler may close the talk. */
typedef void (*talk_handler)(void *context, const struct task_answer *a);
int talk_open(uv_loop_t *loop, const char *live, const char *tag, talk_handler handler, void *context,
	      struct talk **ret, struct err *err);
void talk_who(struct talk *t);
int talk_start(struct talk *t, const struct task *task, const int fds[3], struct err *err);
void talk_signal(struct talk *t, int signal);
void talk_close(struct talk *t); /* NULL is allowed */

/* ---- task_here.c: a task on this host; frames in, frames out ---- */

struct task_here;
/* Starts a task; `first` is its first frame. The caller keeps the link and passes frames and
 * `drained` on; `over` is called after the last frame was sent, and then the task must be
 * closed. */
int task_here_start(uv_loop_t *loop, const char *live, const json_t *first, struct link *link,
		    void (*over)(void *context), void *context, struct task_here **ret, struct err *err);
void task_here_frame(struct task_here *h, const char *type, const json_t *head, const char *data, size_t n);
void task_here_drained(struct task_here *h);
/* Ends a program that is still running; NULL is allowed. */
void task_here_close(struct task_here *h);

/* ---- task_far.c: a task on another host ---- */

struct task_way {
	struct tls_context *tls;
	const struct order_host *host; /* copied */
	int patience;		       /* ms to wait for an unreachable host */
};
struct task_far;
/* Starts a task. The caller's link is paused until the other host has the first frame. */
struct task_far *task_far_start(uv_loop_t *loop, const struct task_way *way, json_t *first, struct link *link,
				void (*over)(void *context), void *context);
/* Returns true if the other host was revoked. */
bool task_far_revoked(const struct task_far *f, const struct revoked *r);
void task_far_frame(struct task_far *f, const json_t *head, const char *data, size_t n);
void task_far_drained(struct task_far *f);
/* sends what is queued first, unless at_once; NULL is allowed */
void task_far_close(struct task_far *f, bool at_once);

#endif
