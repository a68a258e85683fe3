/*
 * worker_internal.h - shared by a worker's threads (worker_slot.c) and its loop (worker.c).
 */
#ifndef BAG_WORKER_INTERNAL_H
#define BAG_WORKER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bag/spawn.h"
#include "bag/wire.h"
#include "base/vec.h"

enum {
	THREADS_MOST = 4096,
	OUT_MOST = 16 << 20, /* bytes waiting for the broker before tasks must wait as well */
	GPUS_MOST = 64,	     /* GPUs that can be assigned individually */
	OWN_VARIABLES = 4,   /* variables set for each task */
};

/* Owned by the list it is in, then by the thread that runs it. */
struct task {
	struct wire w; /* text: its command, which follows the struct */
	/* patterns of the files that go back, if it runs in its own directory; owned; NULL: it
	 * runs here */
	char *apart;
	int broken; /* -errno: a file it needs could not be written */
	char command[];
};

/* What arrived for a task before the task itself. */
struct apart {
	uint64_t task; /* 0: none */
	char *patterns;
	int broken;
};

struct worker;

/* A thread and its task. Protected by the lock: pid, task, dropped, deadline, kill_at, killed. */
struct slot {
	struct worker *worker;
	struct spawner spawner;
	int out, err; /* files for the output of its tasks */
	struct task *task;
	pid_t pid;	  /* 0: nothing is running */
	bool dropped;	  /* the result is no longer wanted */
	bool late;	  /* it reached its time limit */
	bool killed;	  /* it got SIGKILL, because it did not end after SIGTERM */
	int64_t large;	  /* it was killed because it used this many KiB; 0: it was not */
	int64_t deadline; /* its time limit; microseconds, CLOCK_MONOTONIC; 0: none */
	int64_t kill_at;  /* the end of its grace, the same; 0: it may run */
	uint64_t gpus;	  /* bit mask */
	char **env;	  /* the list of CUDA devices comes first, then `own` */
	char *inherited;  /* the value of that list in our own environment; NULL: not set */
	char own[OWN_VARIABLES][256];
};

struct worker {
	int fd, wake;
	int64_t cpus, gpus; /* free */
	int64_t memory;	    /* free, KiB; the largest value if unknown */
	uint64_t gpus_used;
	pthread_mutex_t lock;
	pthread_cond_t work, drained;
	VEC(struct task *) list; /* valid from `first` on */
	size_t first;
	VEC(struct slot *) slots;
	int idle, starting;  /* number of threads */
	struct strbuf out;   /* bytes for the broker */
	size_t sent;	     /* bytes of `out` already sent */
	bool broken;	     /* the connection is broken */
	bool ending;	     /* tasks are ended, and their results no longer sent */
	char *session;	     /* see worker.h */
	const char *scratch; /* see worker.h */
	bool scratched;	     /* the scratch directory exists */
	struct apart next;   /* what arrived for the next task */
	int64_t trimmed;     /* when output files were last checked, microseconds */
};

/* Writes the path of the directory of a task that runs apart. */
void task_dir(const struct worker *w, uint64_t task, struct strbuf *ret);
void task_free(struct worker *w, struct task *t); /* with its directory */

/* Call all of these with the lock held. */
void out_send(struct worker *w);
void out_put(struct worker *w, const struct wire *m);
void slots_wake(struct worker *w); /* wakes or starts a thread if the next task can begin */
/* Asks a running task to end: SIGTERM now, SIGKILL after its grace. SIGCONT wakes it if it is
 * stopped. */
void slot_end(struct slot *s);

#endif
