/*
 * saving.h - the shepherd's side of checkpoints (checkpoint.h): when to make one, how long it may
 * take, whether it succeeded.
 *
 *	idle --time, or an order--> PREPARE --> signal --> AWAIT --> good, or failed --> idle
 *
 * Only one is made at a time. A final one waits for one in progress, for at most half of its own
 * time. When its time is up the job is ended, and no other is begun.
 */
#ifndef RUN_SAVING_H
#define RUN_SAVING_H

#include <sys/stat.h>

#include "run/scribe.h"

struct shepherd;

struct saving {
	struct saves saves; /* state as last reported */
	struct scribe_page *page;
	const char *dir;
	struct order order;    /* order with other arguments, for an attempt that restarts */
	const char *other;     /* path of restart_of; NULL: none */
	struct stat output[2]; /* CHECKPOINT_CRIU: where the job's output goes */
	struct identity root;  /* CHECKPOINT_CRIU: identity of its scribes */
	/* CHECKPOINT_CRIU: kill the job; it is saved, or was damaged by an interrupted dump */
	bool ends;
	pid_t scribe; /* 0: none is running */
	enum scribe_task task;
	enum checkpoint_cause cause;
	int64_t number;	      /* number of the checkpoint in progress; -1: being prepared; 0: none */
	int64_t begun, until; /* boot_us() */
	/* boot_us() at which the first process got the signal; 0: none has a handler for it yet */
	int64_t heard_at;
	int64_t signal_at; /* when to try the signal again */
	int64_t next_at;   /* when the next periodic checkpoint is due */
	int64_t late_at;   /* when to kill the scribe */
	bool final;	   /* the job was asked to end */
	bool waits;	   /* a final checkpoint is waiting for the one in progress */
	enum checkpoint_cause waiting;
	int64_t waiting_until;
	int64_t leased_until; /* end of the lease for which the job was already saved */
	off_t live_at;	      /* offset of its line in the live file; 0: it has none */
};

/* Before the job starts: finds the checkpoint to restart from, and sets launch.env and launch.o.
 * Returns -errno and a sentence if the directory can't be used. */
int saving_open(struct shepherd *s, struct err *err);
/* Returns true if CRIU restores the attempt; the first process then becomes the shepherd's
 * child. */
bool saving_restores(const struct shepherd *s);
/* Returns the pid, or -errno and a sentence. */
pid_t saving_restore(struct shepherd *s, struct err *err);
void saving_started(struct shepherd *s); /* called when the job is running */
/* Returns false if the word is not an order to save. */
bool saving_word(struct shepherd *s, int word);
/* Begins a checkpoint, or lets it wait for the one in progress. */
void saving_begin(struct shepherd *s, enum checkpoint_cause cause, int64_t until);
/* Returns true if the process was a scribe. */
bool saving_reaped(struct shepherd *s, pid_t pid, int status);
void saving_look(struct shepherd *s, int64_t now);
/* Returns how long before the end of a lease to save the job; 0: it makes no checkpoints, or was
 * already saved for this lease. */
int64_t saving_before_lease(const struct shepherd *s);
/* Saves a job whose lease is about to end. The job continues, since the server may be back in time;
 * a program that can't continue after a checkpoint makes its final one. */
void saving_lease(struct shepherd *s);
int64_t saving_next(const struct shepherd *s);
/* Returns true if the time of a final checkpoint is up: the job must be ended. */
bool saving_over(const struct shepherd *s, int64_t now);
/* Returns when the checkpoint for the walltime must begin; NEVER: none. */
int64_t saving_limit_at(const struct shepherd *s, int64_t term_at);
/* Returns why the job was ended, if a final checkpoint was made. */
enum result_cause saving_result(const struct shepherd *s);
/* Takes the last look, when nothing of the job is left. */
void saving_close(struct shepherd *s);
void saving_erase(struct shepherd *s); /* deletes the checkpoints of a job that succeeded */

#endif
