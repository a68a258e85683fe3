/*
 * saving.h - the shepherd's side of checkpoints (checkpoint.h): when one is made, how long it may take, what became of it.
 *
 *	idle --time, or an order--> PREPARE --> signal --> AWAIT --> good, or failed --> idle
 *
 * One at a time. A final one waits for one under way for at most half of its time. When its time is over the job is ended, and after that nothing is begun any more.
 */
#ifndef RUN_SAVING_H
#define RUN_SAVING_H

#include <sys/stat.h>

#include "run/scribe.h"

struct shepherd;

struct saving {
	struct saves saves; /* as reported last */
	struct scribe_page *page;
	const char *dir;
	struct order order;    /* of an attempt that restarts: with other arguments */
	const char *other;     /* the path of restart_of; NULL: none */
	struct stat output[2]; /* of CHECKPOINT_CRIU: where the job's output goes */
	struct identity root;  /* ... and as whom its scribes run */
	bool ends;	       /* ... the job is saved, or was damaged by a dump that had to be stopped: it is killed */
	pid_t scribe;	       /* 0: none is at work */
	enum scribe_task task;
	enum checkpoint_cause cause;
	int64_t number;	      /* of the one under way; -1: it is being prepared; 0: none is */
	int64_t begun, until; /* boot_us() */
	int64_t heard_at;     /* when the first process got the signal; 0: none has a handler for it yet, */
	int64_t signal_at;    /* ... and then it is tried again */
	int64_t next_at;      /* the next periodic one */
	int64_t late_at;      /* when the scribe is killed */
	bool final;	      /* it was asked to end */
	bool waits;	      /* a final one does, until the one under way is over: */
	enum checkpoint_cause waiting;
	int64_t waiting_until;
	int64_t leased_until; /* the end of a lease for which it was saved already */
	off_t live_at;	      /* where its line is; 0: it has none */
};

/* Before the job starts: finds the checkpoint to restart from, and sets launch.env and launch.o. -errno and a sentence if the directory can't be used. */
int saving_open(struct shepherd *s, struct err *err);
/* An attempt that CRIU restores: the first process is the shepherd's child then. */
bool saving_restores(const struct shepherd *s);
pid_t saving_restore(struct shepherd *s, struct err *err); /* its number, or -errno and a sentence */
void saving_started(struct shepherd *s);		   /* the job runs */
/* False: the word is something else. */
bool saving_word(struct shepherd *s, int word);
void saving_begin(struct shepherd *s, enum checkpoint_cause cause, int64_t until); /* or it waits, or one was begun */
bool saving_reaped(struct shepherd *s, pid_t pid, int status);			   /* it was a scribe */
void saving_look(struct shepherd *s, int64_t now);
/* How long before the end of a lease its work is saved; 0: it makes no checkpoints, or was saved for this one. */
int64_t saving_before_lease(const struct shepherd *s);
/* It will end: one after which it goes on, since the server may be back in time; of a program that has none of these, the last one. */
void saving_lease(struct shepherd *s);
int64_t saving_next(const struct shepherd *s);
/* A final one's time is over: the job is to be ended. */
bool saving_over(const struct shepherd *s, int64_t now);
/* When the one for its walltime must begin; NEVER: there is none. */
int64_t saving_limit_at(const struct shepherd *s, int64_t term_at);
enum result_cause saving_result(const struct shepherd *s); /* why it was ended, if a final one was */
void saving_close(struct shepherd *s);			   /* nothing of the job is left: the last look */
void saving_erase(struct shepherd *s);			   /* it succeeded: its checkpoints go */

#endif
