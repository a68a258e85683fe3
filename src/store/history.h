/*
 * history.h - jobs that have ended, kept for years after the server has forgotten them, and the
 * ledger, which sums their use by day.
 *
 * A row, and what it adds to the ledger, is written in the same commit as the event that ended an
 * attempt or the job (pile.h). A server does not read either at startup, so their number does not
 * matter to it. They are read by index, newest first, on a separate connection (store_open_reader),
 * which may be used by another thread than the server's.
 */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H

#include "store/store.h"

/* Ways in which an attempt can end. */
#define HISTORY_STATES                                                                                                 \
	"completed|failed|walltime|memory|deleted|lost|expired|dependency|not_started|hung_up|refused|preempted|rerun"

/* An attempt that has ended. Texts are borrowed; optional ones may be NULL. */
struct history_row {
	uint64_t key;
	int64_t attempt; /* 0: never started */
	bool last;	 /* the job ended with this attempt; the others were followed by another */
	const char *id;	 /* id of a job of another system, whose key has no meaning; or NULL */
	const char *user, *group, *account, *project, *queue, *name, *qos;
	const char *resources; /* resources as requested */
	const char *hosts;     /* hosts it ran on, "n1/0+n1/1"; or NULL */
	const char *state;     /* outcome: "completed", "failed", "walltime", ... */
	const char *text;      /* reason, for display; or NULL */
	/* members of the job that have no field in this struct: a JSON object; or NULL */
	const char *members;
	int64_t exit_status;
	int64_t submitted, started, ended;		 /* instants; `started` is 0 if it never was */
	int64_t nodes, cpus, gpus, memory_kib, walltime; /* requested; 0: not given */
	int64_t ran_ms, cpu_ms, peak_kib;		 /* measured use */
	int64_t lost_ms; /* part of ran_ms that was in no checkpoint when it was stopped */
};

/* Resources that attempts occupied and used. */
struct usage {
	int64_t ran_ms, alloc_ms; /* run time; run time x CPUs */
	int64_t gpu_ms, cpu_ms;	  /* run time x GPUs; CPU time used */
};

/* The part of an attempt's use that fell on one day. `day` is a date, 20261115. */
struct ledger_row {
	int64_t day;
	const char *user, *group, *account, *queue; /* account: "" if none */
	int64_t attempts;			    /* number of attempts that ended on that day */
	struct usage used;
};

void store_put_history(struct store *s,
		       /* replaces the row with the same key and attempt */
		       const struct history_row *row);
/* Moves committed rows from the pile, where they are written quickly, into the history with all
 * its indexes: about `most` rows, as part of the next commit. Readers of the history see no
 * difference. Returns 1 if there are more. */
int store_file(struct store *s, int64_t most, struct err *err);
bool store_unfiled(const struct store *s); /* leaders only: the pile has rows */
/* Adds to the existing sums. */
void store_add_ledger(struct store *s, const struct ledger_row *row);
/* Do the same for a job of another system, unless a row with that key and attempt exists. The
 * row must be put after its additions to the ledger. */
void store_put_foreign(struct store *s, const struct history_row *row);
void store_add_foreign(struct store *s, const struct ledger_row *row, uint64_t key, int64_t attempt);
/* Sets the lost work of a stopped attempt that has a row; it is known only when its processes
 * are gone. */
void store_set_lost(struct store *s, uint64_t key, int64_t attempt, int64_t lost_ms);
/* Deletes rows that ended before an instant, the oldest first, at most `most`. The ledger stays. */
void store_trim_history(struct store *s, int64_t before, int64_t most);

/* Rows that a client may see: its user's own jobs, and those of some queues and accounts. */
struct history_sight {
	const char *user;	       /* NULL: everything */
	const char *queues, *accounts; /* ",long,short,"; "": none */
};

/* Search conditions; NULL and 0 match everything. */
struct history_filter {
	const char *user, *group, *account, *project, *queue, *state, *name, *qos;
	struct history_sight sight; /* rights of the client */
	const char *prefix;	    /* prefix of the name */
	const char *id;		    /* id of a job of another system */
	uint64_t first, last;	    /* range of keys, of one job or array; last 0: any */
	int64_t since, until;	    /* ended at or after `since` and before `until`; until 0: no end */
	bool attempts;		    /* include attempts that were followed by another */
	int64_t most;		    /* maximum number of rows; 0: no limit */
	/* Continue after the row with this end, key and attempt. */
	int64_t after_ended, after_attempt;
	uint64_t after_key;
};

/* Opens a second connection, for reading, to a store that is open. */
int store_open_reader(const char *url, struct store **ret, struct err *err);

typedef int (*history_fn)(void *context, const struct history_row *row);
/* Reads committed rows, newest first. A nonzero result of the callback ends the reading and is
 * returned. */
int history_read(struct store *s, const struct history_filter *f, history_fn one, void *context, struct err *err);
/* 0: the history is empty */
int history_oldest(struct store *s, int64_t *ret_ended, struct err *err);
int history_known(struct store *s, const uint64_t *keys, size_t n, int64_t *ret,
		  struct err *err); /* number of rows with these keys */
/* Reads all attempts of a job; for an array (no index), of all its elements. */
int history_job(struct store *s, uint64_t key, history_fn one, void *context, struct err *err);

/* Sums what a filter matches (ignoring most and after_*), one row per value of a column. */
enum history_by { BY_ALL, BY_USER, BY_GROUP, BY_ACCOUNT, BY_QUEUE, BY_STATE, BY_QOS, HISTORY_BY_COUNT };
struct history_sum {
	const char *name; /* value of the column; NULL for BY_ALL */
	int64_t jobs;
	struct usage used;
	int64_t started;       /* number of these jobs that were started */
	int64_t asked, waited; /* over those: CPU-seconds requested, and seconds waited */
};
int history_sum(struct store *s, const struct history_filter *f, enum history_by by,
		int (*one)(void *context, const struct history_sum *sum), void *context, struct err *err);

/* Reads the days from `first` to `last`, in order. */
int ledger_read(struct store *s, int64_t first, int64_t last, int (*one)(void *context, const struct ledger_row *row),
		void *context, struct err *err);

#endif
