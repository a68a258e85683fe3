/*
 * entry.h - the server's part of a job, and the one fold that changes it.
 *
 * A job is three records of one index: the core's struct job, its struct entry here, and the struct spec it was submitted or last altered with.
 * Whatever happens to a job is an event: the core's (struct event) or one of the server's own below. What the server knows of it besides is
 * its payload. entry_apply() folds event and payload into the entry, live and at recovery alike; nothing else writes these fields. The
 * store keeps the payload as JSON, so that both directions are in entry.c, side by side.
 *
 * The job's record in the store (its head) is as it was submitted and stays so: an event is judged against the request of its time, which
 * EVENT_ALTER changes.
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

/* The server's own events, beside enum event_type. Numbers are in stores: they stay. */
enum server_event {
	EVENT_PLACED = 32, /* CPUs were given to a start that had to wait for them */
	EVENT_INTENT,	   /* a running job is to end, or to run again */
	EVENT_NOTE,	   /* for the log only */
	EVENT_ALTER,	   /* it has another spec */
	EVENT_HOLDS,	   /* it has other holds */
	EVENT_SUSPEND,	   /* it was suspended, or resumed */
	EVENT_RANK,	   /* it has another place in the queue */
	EVENT_SAVED,	   /* what is known of its checkpoints */
	EVENT_AWAY,	   /* how far it is on its way to another site, or what it does there */
	EVENT_GONE, /* of an attempt that is not its last, or that lingered when it ended, nothing runs any more */
	SERVER_EVENT_END
};

enum intent { INTENT_NONE, INTENT_DELETE, INTENT_RERUN };

/* Why a job ended. Numbers are in stores: they stay. */
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
	END_REFUSED, /* it was submitted while the server was down, and refused at its start */
	END_COUNT
};

/* Exit statuses of jobs whose script did not tell one; below 0, as in PBS. */
enum exit_special {
	EXIT_NOT_STARTED = -1, /* it could not be started */
	EXIT_LOST = -2,	       /* its processes vanished, or it was purged */
	EXIT_NEVER_RAN = -3,   /* it was deleted while it waited */
	EXIT_EXPIRED = -4,     /* its deadline could no longer be met */
};

/* Checkpoints of a job: only of those that make any. */
struct job_saves {
	uint32_t attempt;	 /* ... which this is of */
	struct saves last;	 /* as its shepherd told */
	int64_t lost_ms;	 /* work of attempts that was in no checkpoint when they ended, */
	int64_t attempt_lost_ms; /* ... and of `attempt` alone */
	bool from_start;	 /* it is to be run again as if there were none */
	uint32_t moves;		 /* how often it was stopped to go on elsewhere */
	int64_t moving;		 /* ... since this instant; 0: it goes on */
};

/* What became of a job: only for those that were started, or have ended. */
struct outcome {
	char *exec_host; /* "n1/0+n1/1" */
	char *comment;
	int64_t cpu_ms, memory_kib;
	int64_t started_us, ended_us; /* wall clock: when, not how long */
	int64_t ran_ms;		      /* how long it ran */
	int64_t spent_ms;	      /* how long earlier attempts ran, which were stopped, less what was paid for */
	int64_t began_us;	      /* of one that runs: clock.boot_us when it began */
	int64_t kill_at;	      /* instant: SIGKILL if SIGTERM was not enough; 0: nobody wants it ended */
	pid_t session;
	struct job_saves *saves; /* NULL: none */
};

/* The server's part of a job; its index in jobs.entries is the job's id in the core. */
struct entry {
	uint64_t key;
	struct spec *spec; /* NULL: forgotten */
	struct outcome *outcome;
	int64_t modified;
	int32_t exit_status;
	uint32_t
		before; /* the owner's entry that came before this one; 0: none. Derived, and kept when it is forgotten */
	uint8_t holds;		       /* those of enum block that people set */
	uint8_t intent;		       /* of one that runs */
	uint8_t cause;		       /* enum end_cause */
	struct job_failures *failures; /* NULL: none */
	struct away *away;	       /* NULL: it never left */
	bool suspended;
	bool resumed; /* it was suspended, and goes on */
	bool limited; /* its walltime was changed while it ran */
	bool ran;     /* its script was started, now or once */
	bool urgent;  /* it was started before others that had come first: it needed its priority */
	bool foreign; /* deleted by another than its owner */
	bool billed;  /* of one that runs: its owner wants it run again, and pays for this attempt */
	bool broken;  /* a part of its history could not be read */
	bool leaving; /* it is in jobs.leaving; derived */
	bool watches; /* those it depends on are kept for it (jobs.dependents); derived */
	bool fresh;   /* being submitted: its record, written last, says whether it began as held */
};

/* What an event says besides struct event. Texts are borrowed. */
struct payload {
	const char *text;    /* for the log */
	const char *comment; /* what the job's comment is from now on; NULL: events of the core use `text` */
	const char *who;     /* who asked for it */
	int32_t exit_status; /* FINISH, DELETE */
	uint8_t cause;	     /* ... enum end_cause */
	bool lingers;	     /* FINISH: its processes are still being killed, and hold their CPUs */
	bool used;	     /* FINISH: these are known */
	int64_t cpu_ms, memory_kib, started_us, ended_us, ran_ms;
	int64_t spent_ms; /* PREEMPT: how long it had run, as far as it is charged, */
	int64_t free_ms;  /* ... and the rest: what saving its work took, for others or for a shutdown. Not kept */
	bool moves;	  /* PREEMPT: to go on elsewhere */
	int64_t began_us; /* STARTED: clock.boot_us, */
	uint64_t boot;	  /* ... which counts from this start of the machine */
	pid_t session;
	bool failed;		       /* `retry` is set */
	struct retry retry;	       /* what follows from a failure; all 0: they are forgotten */
	bool urgent;		       /* START: before others that came first */
	uint8_t intent;		       /* INTENT */
	bool foreign;		       /* ... by another than its owner */
	bool drops;		       /* ... without its checkpoints */
	bool billed;		       /* ... by its owner: what the attempt used is charged */
	int64_t paid;		       /* ... seconds of it that were taken from the owner's quota at once */
	int64_t delay;		       /* ... seconds from SIGTERM to SIGKILL */
	struct job_saves saves;	       /* SAVED; lost_ms is added to what there is */
	uint8_t holds;		       /* HOLDS */
	bool suspended;		       /* SUSPEND */
	struct away away;	       /* AWAY; `from` 0: as it was; `refused` is not used */
	bool refused;		       /* ... the site does not accept it */
	double rank;		       /* RANK */
	const struct attempt *attempt; /* START, PLACED: the CPUs it was given, or NULL */
	uint32_t gone;		       /* GONE: the attempt's number */
	struct spec *spec;	       /* ALTER */
	bool throttled;		       /* ALTER of an array as a whole: `limit` is set, and nothing else */
	uint32_t limit;		       /* ... elements that run at once; 0: all may */
	uint64_t as;		       /* ... the job of this key has the same one; 0: it is written out */
};

/* The fold. The core's own events have been applied to the job already (job_apply). */
void entry_apply(struct server *s, const struct event *e, const struct payload *p);
/* Whose job it is, for limits. `array`: the number of its array, or 0. */
struct limit_party spec_party(const struct spec *p, uint64_t array);
/* What the core knows of a job, by its spec: at submission, when it is altered, at recovery. */
void job_fill(const struct server *s, struct job *job, const struct spec *p);
/* Fills in only how much longer than its walltime its place lasts, by its queue and its checkpoints. */
void job_margins(const struct server *s, struct job *job, const struct spec *p);
/* A job gets another spec: also in the queue, where it loses its place and its guarantee if it asks for something else. */
void entry_alter(struct server *s, uint32_t id, const struct payload *p);
/* An array as a whole is shown with the spec of its element `as`, which it was altered with. */
void array_alter(struct server *s, struct array *a, struct spec *p, uint64_t as);
void array_apply(struct array *a, const struct spec *p); /* the same at recovery */
/* So many of its elements may run at once from now on; 0: all. Those that run go on. */
void array_throttle(struct server *s, struct array *a, uint32_t limit, const char *who);
void array_limit(struct array *a, uint32_t limit); /* the same at recovery */
/* Applies one of the server's own events, and keeps it. */
void entry_event(struct server *s, uint32_t id, enum server_event type, const struct payload *p);
/* Remembers an event that was applied for the store, and for streams. */
void event_keep(struct server *s, const struct event *e, const struct payload *p);

void payload_write(const struct server *s, int type, const struct payload *p, struct strbuf *out); /* nothing: "" */
/* From the store. `data` must outlive it, and may be NULL; the spec, if there is one, is the caller's to unref. -EINVAL. */
int payload_read(struct server *s, int type, const json_t *data, struct payload *ret, struct err *err);
/* Reads what people are shown of an event. What it used, its spec and its site are left out; so is what is damaged. */
void payload_glance(int type, const json_t *data, struct payload *ret);
/* It came into a queue of another site: it is one of jobs.leaving from now on. */
void entry_leaves(struct server *s, uint32_t id);
/* ... by that routing queue: it returns there. */
void entry_through(struct server *s, uint32_t id, uint32_t queue);
/* Whether another site has it, or may have. */
static inline bool entry_away(const struct entry *x)
{
	return x->away && x->away->phase != AWAY_NOT;
}

const char *cause_name(uint8_t cause); /* NULL: it ended by itself */

#endif
