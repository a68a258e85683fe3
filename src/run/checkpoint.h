/*
 * checkpoint.h - how an attempt saves its work, what it restarts from, and what is reported of it.
 *
 * The job's view. $SHUNT_CHECKPOINT_DIR is a directory of the job's user that survives attempts:
 *
 *	notice		key=value lines, replaced before each signal: cause, final (yes, no), deadline (seconds since 1970), seconds (until then),
 *			directory (where to write), number
 *	7/, 8/		checkpoints by number
 *	new -> 8	the one to be written now
 *	last -> 7	the last good one; $SHUNT_RESTART of an attempt that restarts is its path
 *
 * A program writes into new/ and, when all of it is there, creates the regular file new/done. Its shepherd then syncs the file system and repoints `last`: only this makes a
 * checkpoint good, and it is one rename. Each has a directory of its own, so that one which is still being written, or never finished, can't damage another.
 * No `done` within the duration is a failed checkpoint, whatever the program says otherwise.
 *
 * All this lies where the user can write, on file systems that may not answer. So it is touched only by scribes (scribe.h): children of the shepherd that have become the
 * user for good, have nothing of root's open, and are killed when their time is over.
 */
#ifndef RUN_CHECKPOINT_H
#define RUN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

enum checkpoint_method {
	CHECKPOINT_NONE,
	CHECKPOINT_SIGNAL, /* the program saves itself when it gets a signal */
	CHECKPOINT_SCRIPT, /* a program that runs beside it, as its user, saves it; exit code 0 is its `done` */
	CHECKPOINT_CRIU,   /* CRIU saves it as it is (criu.h), and the program need not know */
};

/* Why. Numbers are in stores and on the wire: they stay. */
enum checkpoint_cause {
	SAVE_PERIODIC,
	SAVE_ASKED, /* by a person; it goes on */
	SAVE_PREEMPTED,
	SAVE_LIMIT, /* of its walltime */
	SAVE_SHUTDOWN,
	SAVE_MOVE,
	SAVE_CAUSES
};
/* It must end afterwards: it gets the preempt signal, and is killed when the time is over. */
static inline bool cause_is_final(enum checkpoint_cause cause)
{
	return cause >= SAVE_PREEMPTED;
}
extern const char *const save_words[]; /* periodic, asked, preempted, time_limit, shutdown, move; the last is NULL */
extern const char save_choice[];       /* the same for rows (base/schema.h) */

/* What an order says of it. */
struct order_checkpoint {
	enum checkpoint_method method;
	const char *
		saves_in; /* the directory: absolute, or below the user's home; of CHECKPOINT_CRIU: criu.h; NULL: none */
	int periodic_signal, preempt_signal; /* 0: none is sent */
	int64_t interval;		     /* seconds; <= 0: none are made periodically */
	int64_t duration;		     /* seconds that one may take */
	int keep;			     /* good ones that stay; < 1: one */
	/* Of programs that write their own files and exit: exit code 0 after the preempt signal counts as `done`. That they wrote what they should, that it is on disk, and that
	 * an earlier file survives an end in the middle is theirs to see to; and a periodic signal leads to a good checkpoint only by new/done. */
	bool exit_saves;
	bool restart_argument; /* "-Restart" is the last argument of an attempt that restarts */
	const char *
		restart_of; /* another job's directory, absolute: what it starts from as long as it has no checkpoint of its own; NULL: the beginning */
	bool from_start;    /* earlier checkpoints are deleted: it begins anew */
	const char *saver;  /* of CHECKPOINT_SCRIPT: its program */
	const char *
		restarter; /* run instead of the script of an attempt that restarts, with the checkpoint's path as argument; NULL: the script is */
};

enum save_state { SAVE_NONE, SAVE_BEGUN, SAVE_GOOD, SAVE_FAILED };

/* What became of an attempt's checkpoints so far. All of it, each time: what was missed is made up for by the next. */
struct saves {
	enum save_state state; /* of the latest; NONE: there was none */
	enum checkpoint_cause cause;
	int good, failed;
	int64_t number;	   /* of the last good one, which may be of an earlier attempt; 0: none */
	int64_t covers_ms; /* of the time that it ran: what is in it; 0: it is of an earlier attempt */
	int64_t saved_us;  /* wall clock: when it was good */
	int64_t took_ms;
	int64_t restarted; /* the number of the one that the attempt began with; 0: it began anew */
};
/* Whether there is anything to report. */
static inline bool saves_any(const struct saves *v)
{
	return v->state != SAVE_NONE || v->restarted;
}

/* An order to save, where a signal is expected (nursery.h): seconds that it has, at most 194 days; 0: the order's duration. */
#define SAVE_WORD (1 << 30)
#define SAVE_SECONDS ((1 << 24) - 1)
static inline int save_word(enum checkpoint_cause cause, int64_t seconds)
{
	return SAVE_WORD | (int)cause << 24 | (int)(seconds < 0 ? 0 : seconds > SAVE_SECONDS ? SAVE_SECONDS : seconds);
}
/* False: it is something else. */
bool save_word_read(int word, enum checkpoint_cause *ret_cause, int64_t *ret_seconds);

#endif
