/*
 * entry.h - the server's part of a job, and the one fold that changes it.
 *
 * A job is three records of one index: the core's struct job, its struct entry here, and the struct
 * spec it was submitted or last altered with. Everything that happens to a job is an event: one of
 * the core's (struct event) or one of the server's own below. The server's additional data about an
 * event is its payload. entry_apply() folds event and payload into the entry, both live and at
 * recovery; nothing else writes these fields. The store keeps the payload as JSON; entry.c reads
 * and writes it, side by side.
 *
 * The job's record in the store (its head) stays as it was submitted. An event is judged against
 * the request that was valid at its time, which EVENT_ALTER changes.
 */
#ifndef SERVER_ENTRY_H
#define SERVER_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "core/job.h"
#include "rules/limit.h"
#include "run/checkpoint.h"
#include "server/job/elsewhere.h"
#include "server/job/failures.h"

struct server;
struct array;
struct attempt;
struct spec;

/* The server's own events, in addition to enum event_type. The numbers are stored and must not
 * change. */
enum server_event {
	EVENT_PLACED = 32, /* a start that had to wait for CPUs was given them */
	EVENT_INTENT,	   /* a running job is to end or to be rerun */
	EVENT_NOTE,	   /* for the log only */
	EVENT_ALTER,	   /* its spec was replaced */
	EVENT_HOLDS,	   /* its holds were changed */
	EVENT_SUSPEND,	   /* it was suspended, or resumed */
	EVENT_RANK,	   /* its place in the queue was changed */
	EVENT_SAVED,	   /* state of its checkpoints */
	EVENT_AWAY,	   /* progress of its move to another site, or its state there */
	/* all processes of an earlier attempt, or of one that lingered at its end, are gone */
	EVENT_GONE,
	SERVER_EVENT_END
};

enum intent { INTENT_NONE, INTENT_DELETE, INTENT_RERUN };

/* Why a job ended. The numbers are stored and must not change. */
enum end_cause {
	END_ITSELF,
	END_WALLTIME,
	END_MEMORY,
	END_DELETED,
	END_LOST,
	END_EXPIRED,
	END_DEPEND,
	END_NOT_STARTED,
	END_HUNG_UP,
	END_REFUSED, /* submitted while the server was down, and refused when it started */
	END_COUNT
};

/* Exit statuses of jobs whose script did not return one; below 0, as in PBS. */
enum exit_special {
	EXIT_NOT_STARTED = -1, /* the job could not be started */
	EXIT_LOST = -2,	       /* its processes vanished, or the job was purged */
	EXIT_NEVER_RAN = -3,   /* it was deleted while it waited */
	EXIT_EXPIRED = -4,     /* its deadline could no longer be met */
};

/* Checkpoints of a job; present only for jobs that make them. */
struct job_saves {
	uint32_t attempt;  /* the attempt that the values below describe */
	struct saves last; /* last report of its shepherd */
	/* work of all attempts that no checkpoint contained when they ended */
	int64_t lost_ms;
	int64_t attempt_lost_ms; /* the same for `attempt` only */
	bool from_start;	 /* the next attempt ignores the checkpoints */
	uint32_t moves;		 /* number of times it was stopped to continue on other nodes */
	/* instant at which the current move began; 0: it is not being moved */
	int64_t moving;
};

/* Results of a job; present only once it was started or has ended. */
struct outcome {
	char *exec_host; /* "n1/0+n1/1" */
	char *comment;
	int64_t cpu_ms, memory_kib;
	int64_t started_us, ended_us; /* wall clock; use ran_ms for durations */
	int64_t ran_ms;		      /* run time of the last attempt */
	/* run time of earlier, stopped attempts, minus what was already paid for */
	int64_t spent_ms;
	int64_t began_us; /* running: clock.boot_us when it began */
	/* instant to send SIGKILL if SIGTERM was not enough; 0: it is not being ended */
	int64_t kill_at;
	/* with an intent: cause of the final checkpoint that it makes instead of being killed; 0:
	 * it makes none */
	enum checkpoint_cause saving;
	pid_t session;
	struct job_saves *saves; /* NULL: none */
};

/* The server's part of a job; its index in jobs.entries is the job's id in the core. */
struct entry {
	uint64_t key;
	struct spec *spec; /* NULL: the job was forgotten */
	struct outcome *outcome;
	int64_t modified;
	int32_t exit_status;
	uint32_t before;	       /* the owner's entry that was accepted before; 0: none. Derived */
	uint8_t holds;		       /* bits of enum block that users have set */
	uint8_t intent;		       /* enum intent, while it runs */
	uint8_t cause;		       /* enum end_cause */
	uint32_t after;		       /* the owner's entry that was accepted next; 0: none. Derived */
	struct job_failures *failures; /* NULL: none */
	struct away *away;	       /* NULL: it never left this site */
	uint8_t retried;	       /* number of times it was run again since it had failed */
	bool suspended;
	bool resumed; /* it was suspended and has been resumed */
	bool limited; /* its walltime was changed while it ran */
	bool ran;     /* its script has been started at least once */
	bool urgent;  /* its priority started it before jobs that were submitted earlier */
	bool foreign; /* deleted by someone other than its owner */
	bool billed;  /* running: its owner asked to rerun it, and pays for this attempt */
	bool prepaid; /* its last attempt made way for a job of its own user, and was charged then */
	bool broken;  /* part of its history could not be read */
	bool leaving; /* listed in jobs.leaving; derived */
	bool watches; /* jobs it depends on are kept for it (jobs.dependents); derived */
	bool fresh;   /* being submitted; its record, written last, shows if it began as held */
};

/* Data of an event beyond struct event. Texts are borrowed. */
struct payload {
	const char *text;    /* for the log */
	const char *comment; /* the job's new comment; NULL: events of the core use `text` */
	const char *who;     /* user who asked for it */
	int32_t exit_status; /* FINISH, DELETE, PREEMPT if `retried` */
	uint8_t cause;	     /* the same: enum end_cause */
	bool lingers;	     /* FINISH: its processes are still being killed and hold their CPUs */
	bool used;	     /* FINISH: the following five are known */
	int64_t cpu_ms, memory_kib, started_us, ended_us, ran_ms;
	int64_t spent_ms; /* PREEMPT: chargeable time it had run */
	/* PREEMPT: time that is not charged, spent saving its work for others or for a shutdown.
	 * Not stored */
	int64_t free_ms;
	bool moves;	  /* PREEMPT: it is to continue on other nodes */
	bool retried;	  /* PREEMPT: it has failed, and is run again by itself */
	int64_t began_us; /* STARTED: clock.boot_us */
	uint64_t boot;	  /* STARTED: the boot of the machine from which began_us counts */
	pid_t session;
	bool failed; /* `retry` is set */
	/* consequences of a failure; all 0: earlier failures are forgotten */
	struct retry retry;
	bool urgent;	/* START: ahead of jobs submitted earlier */
	uint8_t intent; /* INTENT: enum intent */
	bool foreign;	/* INTENT: by someone other than its owner */
	bool drops;	/* INTENT: its checkpoints are dropped */
	/* INTENT by its owner, PREEMPT for a job of the same user or account: the attempt is charged */
	bool billed;
	/* INTENT: seconds of it that were taken from the owner's quota at once */
	int64_t paid;
	int64_t delay; /* INTENT: seconds from SIGTERM to SIGKILL */
	/* SAVED; lost_ms is added to the job's total. INTENT: last.cause is that of the final
	 * checkpoint that it makes instead of being killed; 0: it makes none */
	struct job_saves saves;
	uint8_t holds;		       /* HOLDS */
	bool suspended;		       /* SUSPEND */
	struct away away;	       /* AWAY; `from` 0: unchanged; `refused` is not used */
	bool refused;		       /* AWAY: the site does not accept it */
	double rank;		       /* RANK */
	const struct attempt *attempt; /* START, PLACED: holds the CPUs it was given, or NULL */
	uint32_t gone;		       /* GONE: the attempt's number */
	struct spec *spec;	       /* ALTER */
	bool throttled;		       /* ALTER of an array as a whole: only `limit` is set */
	uint32_t limit;		       /* ALTER: elements that may run at once; 0: all */
	/* ALTER: key of the job that has the same spec; 0: the spec is written out */
	uint64_t as;
};

/* Folds an event into the entry. job_apply() has already applied the core's events to the job. */
void entry_apply(struct server *s, const struct event *e, const struct payload *p);
/* Returns the party that limits count a job for. `array`: the number of its array, or 0. */
struct limit_party spec_party(const struct spec *p, uint64_t array);
/* Fills in the core's part of a job from its spec: at submission, alteration and recovery. */
void job_fill(const struct server *s, struct job *job, const struct spec *p);
/* Fills in only the time a job needs in addition to its walltime, by its queue and its
 * checkpoints. */
void job_margins(const struct server *s, struct job *job, const struct spec *p);
/* Gives a job another spec. If the new one requests something else, a waiting job loses its place
 * and its guarantee. */
void entry_alter(struct server *s, uint32_t id, const struct payload *p);
/* Shows an array as a whole with the spec of its element `as`, which it was altered with. */
void array_alter(struct server *s, struct array *a, struct spec *p, uint64_t as);
void array_apply(struct array *a, const struct spec *p); /* the same at recovery */
/* Limits how many elements may run at once; 0: all. Running elements continue. */
void array_throttle(struct server *s, struct array *a, uint32_t limit, const char *who);
void array_limit(struct array *a, uint32_t limit); /* the same at recovery */
/* Applies one of the server's own events and records it. */
void entry_event(struct server *s, uint32_t id, enum server_event type, const struct payload *p);
/* Records an applied event for the store and for streams. */
void event_keep(struct server *s, const struct event *e, const struct payload *p);

/* Appends "" for an empty one. */
void payload_write(const struct server *s, int type, const struct payload *p, struct strbuf *out);
/* Reads a payload from the store. `data` may be NULL and must outlive the result. The caller unrefs
 * the spec, if any. -EINVAL. */
int payload_read(struct server *s, int type, const json_t *data, struct payload *ret, struct err *err);
/* Reads the part of an event that users see. Leaves out usage, spec and site, and anything
 * damaged. */
void payload_glance(int type, const json_t *data, struct payload *ret);
/* Adds a job that entered a queue of another site to jobs.leaving. */
void entry_leaves(struct server *s, uint32_t id);
/* Records the routing queue that sent a job to another site; the job returns there. */
void entry_through(struct server *s, uint32_t id, uint32_t queue);
/* Returns true if another site has the job, or may have it. */
static inline bool entry_away(const struct entry *x)
{
	return x->away && x->away->phase != AWAY_NOT;
}

const char *cause_name(uint8_t cause); /* NULL: it ended by itself */

#endif
