/*
 * launch.h - the job's first process, from fork to exec.
 */
#ifndef RUN_LAUNCH_H
#define RUN_LAUNCH_H

#include <stdnoreturn.h>

#include "run/cgroup.h"
#include "run/identity.h"
#include "run/order.h"

struct launch {
	const struct order *o;
	const struct identity *who;
	const struct cgroup *cgroup;
	char **env;
	int out, err;  /* descriptors; `in` is 0 already */
	int tty;       /* interactive: the terminal, instead of all three; -1: none */
	pid_t parent;  /* the shepherd */
	char *trouble; /* shared with the shepherd: why the job never ran */
	int live;      /* its live file, and */
	off_t live_at; /* ... where the next line goes */
};
#define TROUBLE_SIZE 512

/* Its first process is shunt-init, in a PID namespace of its own (criu.h). */
bool launch_has_init(const struct launch *l);
/* Where the order wants it: control group, CPUs, limit of open files. */
void launch_place(const struct launch *l);
/* The memory may be the shepherd's (vfork): it changes nothing there but `trouble`. */
noreturn void launch_job(const struct launch *l);

struct task;
/* The same for a task (task.h), in a process with memory of its own: `fds` become its standard streams; why it can't be started is written to `trouble`, which
 * closes by itself when it can. */
noreturn void launch_task(const struct launch *l, const struct task *t, const int fds[3], int trouble);

/* "shunt: ..." on standard error, which is the job's. */
void job_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
