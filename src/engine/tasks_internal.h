/*
 * tasks_internal.h - what the service (tasks.c), a task on this host (task_here.c) or another (task_far.c), and the talk with a shepherd (talk.c) share.
 */
#ifndef ENGINE_TASKS_INTERNAL_H
#define ENGINE_TASKS_INTERNAL_H

#include "engine/tasks.h"
#include "run/task.h"

#define TASK_QUEUE 262144 /* bytes that may wait on the way before the sender is held back */

/* The last frame: it was not started, or what became of it can't be told. The reason may hold any bytes. */
void task_refuse(struct link *l, const char *reason);

/* ---- talk.c: a connection to the shepherd of a part ---- */

struct talk;
/* `a` NULL: the shepherd hung up. The talk may be closed inside. */
typedef void (*talk_handler)(void *context, const struct task_answer *a);
int talk_open(uv_loop_t *loop, const char *live, const char *tag, talk_handler handler, void *context,
	      struct talk **ret, struct err *err);
void talk_who(struct talk *t);
int talk_start(struct talk *t, const struct task *task, const int fds[3], struct err *err);
void talk_signal(struct talk *t, int signal);
void talk_close(struct talk *t); /* NULL is none */

/* ---- task_here.c: a program of a part on this host; frames in, frames out ---- */

struct task_here;
/* `first` is the task's first frame. The link stays the caller's, who passes frames and `drained` on; `over` comes after the last frame was
 * sent, and then it is to be closed. */
int task_here_start(uv_loop_t *loop, const char *live, const json_t *first, struct link *link,
		    void (*over)(void *context), void *context, struct task_here **ret, struct err *err);
void task_here_frame(struct task_here *h, const char *type, const json_t *head, const char *data, size_t n);
void task_here_drained(struct task_here *h);
void task_here_close(struct task_here *h); /* a program that has not ended is; NULL is none */

/* ---- task_far.c: the same on another host ---- */

struct task_way {
	struct tls_context *tls;
	const struct order_host *host; /* copied */
	int patience;		       /* ms for a host that can't be reached */
};
struct task_far;
/* The caller's link is paused until the other host has the first frame. */
struct task_far *task_far_start(uv_loop_t *loop, const struct task_way *way, json_t *first, struct link *link,
				void (*over)(void *context), void *context);
bool task_far_revoked(const struct task_far *f, const struct revoked *r); /* the other host is */
void task_far_frame(struct task_far *f, const json_t *head, const char *data, size_t n);
void task_far_drained(struct task_far *f);
void task_far_close(struct task_far *f,
		    bool at_once); /* what was sent there still leaves, unless at once; NULL is none */

#endif
