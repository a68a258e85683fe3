/*
 * checkpoint.h - how an attempt saves its work, what it restarts from, and what it reports.
 *
 * $SHUNT_CHECKPOINT_DIR is a directory of the job's user that survives attempts. The job sees:
 *
 *	notice		key=value lines, replaced before each signal: cause, final (yes, no),
 *			deadline (seconds since 1970), seconds (until then), directory (where to
 *			write), number
 *	7/, 8/		checkpoints by number
 *	new -> 8	the one to be written now
 *	last -> 7	the last good one; $SHUNT_RESTART of an attempt that restarts is its path
 *
 * A program writes into new/ and, once everything is written, creates the regular file new/done.
 * Its shepherd then syncs the file system and repoints `last` with one rename: only this makes a
 * checkpoint good. Each checkpoint has its own directory, so an unfinished one can't damage
 * another. A checkpoint without `done` within the duration has failed, whatever else the program
 * reports.
 *
 * The directory is writable by the user and may be on a file system that does not answer. Only
 * scribes (scribe.h) touch it: children of the shepherd that have become the user for good, have
 * nothing of root's open, and are killed when their time is up.
 */
#ifndef RUN_CHECKPOINT_H
#define RUN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

enum checkpoint_method {
	CHECKPOINT_NONE,
	CHECKPOINT_SIGNAL, /* the program saves itself when it gets a signal */
	/* another program, run as the job's user, saves it; exit code 0 counts as `done` */
	CHECKPOINT_SCRIPT,
	CHECKPOINT_CRIU, /* CRIU saves the processes (criu.h); the program need not cooperate */
};

/* Reasons for a checkpoint. The numbers are in stores and on the wire and must not change. */
enum checkpoint_cause {
	SAVE_PERIODIC,
	SAVE_ASKED, /* requested by a person; the job continues */
	SAVE_PREEMPTED,
	SAVE_LIMIT, /* the walltime is nearly over */
	SAVE_SHUTDOWN,
	SAVE_MOVE,
	SAVE_CAUSES
};
/* Returns true if the job must end after the checkpoint: it gets the preempt signal, and is killed
 * when the time is up. */
static inline bool cause_is_final(enum checkpoint_cause cause)
{
	return cause >= SAVE_PREEMPTED;
}
/* periodic, asked, preempted, time_limit, shutdown, move; then NULL */
extern const char *const save_words[];
extern const char save_choice[]; /* the same words as a choice for rows (base/schema.h) */

/* The checkpoint settings of an order. */
struct order_checkpoint {
	enum checkpoint_method method;
	/* checkpoint directory: absolute, or relative to the user's home; for CHECKPOINT_CRIU see
	 * criu.h; NULL: none */
	const char *saves_in;
	int periodic_signal, preempt_signal; /* 0: none is sent */
	int64_t interval;		     /* seconds between periodic checkpoints; <= 0: no periodic ones */
	int64_t duration;		     /* seconds that one checkpoint may take */
	int keep;			     /* number of good checkpoints to keep; < 1: one */
	/* For programs that write their own files and exit: exit code 0 after the preempt signal
	 * counts as `done`. The program itself must write everything, get it to disk, and keep an
	 * earlier file intact if it is killed meanwhile. A periodic signal still needs new/done for
	 * a good checkpoint. */
	bool exit_saves;
	bool restart_argument; /* an attempt that restarts gets "-Restart" as its last argument */
	/* absolute directory of another job: the attempt starts from its checkpoint while it has
	 * none of its own; NULL: it starts from the beginning */
	const char *restart_of;
	bool from_start;   /* delete earlier checkpoints and start from the beginning */
	const char *saver; /* CHECKPOINT_SCRIPT: the program that saves the job */
	/* program run instead of the script when an attempt restarts, with the checkpoint's path as
	 * argument; NULL: the script itself */
	const char *restarter;
};

enum save_state { SAVE_NONE, SAVE_BEGUN, SAVE_GOOD, SAVE_FAILED };

/* State of an attempt's checkpoints. Each report is complete, so a later one makes up for a lost
 * one. */
struct saves {
	enum save_state state; /* state of the latest checkpoint */
	enum checkpoint_cause cause;
	int good, failed;
	/* number of the last good checkpoint, perhaps of an earlier attempt; 0: none */
	int64_t number;
	/* milliseconds of this attempt's run time that it contains; 0: it is from an earlier
	 * attempt */
	int64_t covers_ms;
	int64_t saved_us; /* wall clock at which it became good, microseconds */
	int64_t took_ms;
	int64_t restarted; /* number of the checkpoint that the attempt restarted from; 0: none */
};
/* Returns true if there is anything to report. */
static inline bool saves_any(const struct saves *v)
{
	return v->state != SAVE_NONE || v->restarted;
}

/* An order to save, sent where a signal is expected (nursery.h): the low bits are the seconds that
 * it may take, at most 194 days; 0: the order's duration. */
#define SAVE_WORD (1 << 30)
#define SAVE_SECONDS ((1 << 24) - 1)
static inline int save_word(enum checkpoint_cause cause, int64_t seconds)
{
	return SAVE_WORD | (int)cause << 24 | (int)(seconds < 0 ? 0 : seconds > SAVE_SECONDS ? SAVE_SECONDS : seconds);
}
/* Returns false if the word is not an order to save. */
bool save_word_read(int word, enum checkpoint_cause *ret_cause, int64_t *ret_seconds);

#endif
