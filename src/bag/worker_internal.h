/*
 * worker_internal.h - a worker's threads (worker_slot.c) and its loop (worker.c).
 */
#ifndef BAG_WORKER_INTERNAL_H
#define BAG_WORKER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "bag/spawn.h"
#include "bag/wire.h"
#include "base/vec.h"

enum {
	THREADS_MOST = 4096,
	OUT_MOST = 16 << 20, /* bytes that wait for the broker before tasks must wait, too */
	GPUS_MOST = 64,	     /* that are told apart */
	OWN_VARIABLES = 4,   /* of each task */
};

/* Owned by the list it is in, then by the thread that runs it. */
struct task {
	struct wire w; /* text: its command, which follows the struct */
	char *apart; /* it runs in a directory of its own: patterns of the files that go back, owned; NULL: it runs here */
	int broken; /* -errno: a file that it needs could not be written */
	char command[];
};

/* What came of a task before it did. */
struct apart {
	uint64_t task; /* 0: none */
	char *patterns;
	int broken;
};

struct worker;

/* A thread, and what it runs. Under the lock: pid, task, dropped, deadline, busy. */
struct slot {
	struct worker *worker;
	struct spawner spawner;
	int out, err; /* files of its tasks' output */
	struct task *task;
	pid_t pid;	  /* 0: nothing runs */
	bool dropped;	  /* nobody wants the result */
	bool late;	  /* it was killed at its limit */
	int64_t large;	  /* it was killed since it had so many KiB; 0: it was not */
	int64_t deadline; /* microseconds, CLOCK_MONOTONIC; 0: none */
	uint64_t gpus;	  /* mask */
	char **env;	  /* the list of CUDA's devices comes first, then `own` */
	char *inherited;  /* what our own environment says of them; NULL: nothing */
	char own[OWN_VARIABLES][256];
};

struct worker {
	int fd, wake;
	int64_t cpus, gpus; /* free */
	int64_t memory;	    /* free, KiB; as much as there can be if it is unknown */
	uint64_t gpus_used;
	pthread_mutex_t lock;
	pthread_cond_t work, drained;
	VEC(struct task *) list; /* from `first` on */
	size_t first;
	VEC(struct slot *) slots;
	int idle, starting;  /* threads */
	struct strbuf out;   /* for the broker */
	size_t sent;	     /* of it */
	bool broken;	     /* the connection is */
	char *session;	     /* as in worker.h */
	const char *scratch; /* the same */
	bool scratched;	     /* it is there */
	struct apart next;   /* of the task that comes next */
	int64_t trimmed;     /* microseconds: when outputs were looked at last */
};

/* The directory of a task that runs apart. */
void task_dir(const struct worker *w, uint64_t task, struct strbuf *ret);
void task_free(struct worker *w, struct task *t); /* with its directory */

int64_t now_us(clockid_t clock);

/* All of these under the lock. */
void out_send(struct worker *w);
void out_put(struct worker *w, const struct wire *m);
void slots_wake(struct worker *w); /* if the next task can begin, a thread takes it: an idle one, or one more */

#endif
