/*
 * history.h - jobs that have ended, for years after the server has forgotten them; and the ledger: what was used, summed up by day.
 *
 * A row is written in the same commit as the event that ended an attempt, or the job (pile.h); so is what it adds to the ledger. Neither is
 * read at the start of a server: they cost it nothing, however many there are. Reading is by index, newest first. It is done on a connection of its own
 * (store_open_reader), which another thread than the server's may use.
 */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H

#include "store/store.h"

/* How an attempt can have ended. */
#define HISTORY_STATES                                                                                                 \
	"completed|failed|walltime|memory|deleted|lost|expired|dependency|not_started|hung_up|refused|preempted|rerun"

/* An attempt that has ended. Texts are borrowed; those that may be missing are NULL. */
struct history_row {
	uint64_t key;
	int64_t attempt; /* 0: it was never started */
	bool last;	 /* with it the job ended; the others were followed by another attempt */
	const char *id;	 /* of a job of another system, whose key says nothing; or NULL */
	const char *user, *group, *account, *project, *queue, *name, *qos;
	const char *resources; /* as they were requested */
	const char *hosts;     /* where it ran, "n1/0+n1/1"; or NULL */
	const char *state;     /* how it ended: "completed", "failed", "walltime", ... */
	const char *text;      /* why, for people; or NULL */
	const char *members;   /* of the job that have no place in this struct: a JSON object; or NULL */
	int64_t exit_status;
	int64_t submitted, started, ended;		 /* instants; started is 0 if it never was */
	int64_t nodes, cpus, gpus, memory_kib, walltime; /* requested; 0: nothing was said */
	int64_t ran_ms, cpu_ms, peak_kib;		 /* used */
	int64_t lost_ms;				 /* of ran_ms: what was in no checkpoint when it was stopped */
};

/* What attempts had, and what they used. */
struct usage {
	int64_t ran_ms, alloc_ms; /* time; time x CPUs that they had */
	int64_t gpu_ms, cpu_ms;	  /* time x GPUs that they had; CPU time that they used */
};

/* A part of what an attempt had, that fell on one day. `day` is a date, 20261115. */
struct ledger_row {
	int64_t day;
	const char *user, *group, *account, *queue; /* account: "" if there is none */
	int64_t attempts;			    /* that ended on it */
	struct usage used;
};

void store_put_history(struct store *s,
		       const struct history_row *row); /* replaces the one of the same key and attempt */
/* Rows are written quickly first, and filed, with all their indexes, when there is time: some `most` of what is committed, to be committed again. Who reads
 * the history does not notice. 1: there are more. */
int store_file(struct store *s, int64_t most, struct err *err);
bool store_unfiled(const struct store *s);			      /* of who leads: there are such */
void store_add_ledger(struct store *s, const struct ledger_row *row); /* adds to what is there */
/* The same of a job of another system: unless there is a row of that key and attempt. The row is put after what it adds to the ledger. */
void store_put_foreign(struct store *s, const struct history_row *row);
void store_add_foreign(struct store *s, const struct ledger_row *row, uint64_t key, int64_t attempt);
/* Of an attempt that was stopped, and has a row: what it lost is known only when its processes are gone. */
void store_set_lost(struct store *s, uint64_t key, int64_t attempt, int64_t lost_ms);
/* Forgets rows that ended before an instant, `most` at a time, the oldest first. The ledger stays. */
void store_trim_history(struct store *s, int64_t before, int64_t most);

/* Somebody who sees his own jobs, and those of some queues and accounts. */
struct history_sight {
	const char *user;	       /* NULL: he sees all */
	const char *queues, *accounts; /* ",long,short,"; "": none */
};

/* What is looked for: NULL and 0 do not matter. */
struct history_filter {
	const char *user, *group, *account, *project, *queue, *state, *name, *qos;
	struct history_sight sight; /* who looks */
	const char *prefix;	    /* of the name */
	const char *id;		    /* of a job of another system */
	uint64_t first, last;	    /* keys, of one job or array; last 0: any */
	int64_t since, until;	    /* ended at or after, and before; until 0: no end */
	bool attempts;		    /* also those that were followed by another */
	int64_t most;		    /* rows; 0: all */
	/* Goes on behind a row: its end, key and attempt. */
	int64_t after_ended, after_attempt;
	uint64_t after_key;
};

/* A second connection to a store that is open, to read from. */
int store_open_reader(const char *url, struct store **ret, struct err *err);

typedef int (*history_fn)(void *context, const struct history_row *row);
/* Newest first, of what is committed. Other than 0 from the callback ends it, and is returned. */
int history_read(struct store *s, const struct history_filter *f, history_fn one, void *context, struct err *err);
int history_oldest(struct store *s, int64_t *ret_ended, struct err *err); /* 0: there is none */
int history_known(struct store *s, const uint64_t *keys, size_t n, int64_t *ret,
		  struct err *err); /* rows of these keys */
/* A job, all its attempts; of an array (no index) all its elements. */
int history_job(struct store *s, uint64_t key, history_fn one, void *context, struct err *err);

/* Sums of what a filter finds (not: most, after), a row for each value of a column. */
enum history_by { BY_ALL, BY_USER, BY_GROUP, BY_ACCOUNT, BY_QUEUE, BY_STATE, BY_QOS, HISTORY_BY_COUNT };
struct history_sum {
	const char *name; /* the column's value; BY_ALL: NULL */
	int64_t jobs;
	struct usage used;
	int64_t started;       /* of these jobs so many were started: */
	int64_t asked, waited; /* ... seconds x CPUs that they requested, seconds that they waited */
};
int history_sum(struct store *s, const struct history_filter *f, enum history_by by,
		int (*one)(void *context, const struct history_sum *sum), void *context, struct err *err);

/* Days from `first` to `last`, in order. */
int ledger_read(struct store *s, int64_t first, int64_t last, int (*one)(void *context, const struct ledger_row *row),
		void *context, struct err *err);

#endif
