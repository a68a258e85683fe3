/*
 * launch.h - the job's first process, from fork to exec.
 */
#ifndef RUN_LAUNCH_H
#define RUN_LAUNCH_H

#include <stdnoreturn.h>

#include "run/cgroup.h"
#include "run/identity.h"
#include "run/order.h"

struct script_head;
struct launch {
	const struct order *o;
	const struct identity *who;
	const struct cgroup *cgroup;
	char **env;
	/* start of its script; valid until the first process runs it */
	const struct script_head *head;
	/* descriptors for output and error output; standard input is already set up */
	int out, err;
	int tty;       /* terminal of an interactive job, used for all three streams; -1: none */
	pid_t parent;  /* the shepherd */
	char *trouble; /* why the job never ran; shared with the shepherd */
	int live;      /* descriptor of the attempt's live file */
	off_t live_at; /* offset of the next line in it */
	/* set to the offset after the "session" line, once the first process has written it; the
	 * shepherd sees that only if they share memory */
	off_t *said_at;
};
#define TROUBLE_SIZE 512

/* Returns true if the first process is shunt-init, in its own PID namespace (criu.h). */
bool launch_has_init(const struct launch *l);
/* Applies the order's control group, CPUs and limit of open files to this process. */
void launch_place(const struct launch *l);
/* Becomes the job. May share the shepherd's memory (vfork): it changes nothing there but
 * `trouble` and `said_at`. */
noreturn void launch_job(const struct launch *l);

struct task;
/* Becomes a task (task.h), in a process with its own memory. `fds` become its standard streams. If
 * it can't start, the reason is written to `trouble`, which is close-on-exec. */
noreturn void launch_task(const struct launch *l, const struct task *t, const int fds[3], int trouble);

/* Prints "shunt: ..." to standard error, which is the job's. */
void job_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
