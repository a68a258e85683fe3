/*
 * jobs.h - the server's jobs, arrays and queues.
 */
#ifndef SERVER_JOBS_H
#define SERVER_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/rows.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "core/job.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/server.h"

struct census;
struct keys;

#define ARRAY_BIT (UINT64_C(1) << 63)

/* A host that accepts changes while the server is down (offline/spool.h) numbers jobs from a block
 * of its own, derived from the number of its join: no two hosts share a block, even if the store
 * was restored, and the server's own numbers stay below all blocks. */
#define LEASED_FIRST UINT64_C(1000000000) /* equals STORE_FIRST_READ */
#define LEASED_EACH UINT64_C(1000000)

static inline bool number_leased(uint64_t number)
{
	return number >= LEASED_FIRST;
}
/* low bits of spec.came: count of such jobs so far; the high bits hold the server's next own
 * number */
#define CAME_BITS 32

struct array {
	uint64_t number;
	uint32_t first, count; /* its elements are entries first .. first + count - 1, by index */
	struct spec *spec;
	int64_t limit; /* elements that may run at once; 0: no limit */
	uint32_t ended;
	uint32_t away; /* elements that are at another site or moving there; derived */
	uint32_t due;  /* ended elements that have been kept long enough (jobs.c) */
};

struct queue {
	char *name;
	struct attrs attrs;
	int64_t total; /* jobs that have not ended */
	/* number of nodes its jobs may use: including those in partitions, and without them.
	 * Derived by queues_lay() */
	uint32_t nodes, shared;
};

/* Counts of a user's jobs, in all queues or in one, for limits. */
struct tally {
	int64_t total;
	uint32_t newest; /* all queues: the user's latest entry; 0: none */
};

/* Jobs in routing queues, kept so that a job that makes room need not search all jobs. Derived. */
struct routed {
	job_vec jobs;	 /* jobs found there; 0: it has left since */
	uint32_t beyond; /* first job that has not been looked at yet */
};

#define RECENT_SCRIPTS 16 /* a power of two */

struct jobs {
	struct rows entries;	    /* struct entry, by core id; pages of forgotten jobs are gone */
	VEC(struct array *) arrays; /* without a spec: it was forgotten */
	VEC(uint32_t) spare_arrays; /* indexes of those */
	uint64_t last_key;	    /* key of the last entry, for those that are reserved */
	struct map by_number;	    /* number -> core id, or ARRAY_BIT | index in arrays */
	struct map attempts;	    /* attempt_key() -> struct attempt * */
	VEC(struct usage *) usages; /* usage.c: usage of ended attempts, oldest first */
	VEC(struct queue *) queues;
	struct routed routed; /* queues.c */
	/* life/peers/away.c: jobs that entered a queue of another site; some may have left it
	 * since. Derived */
	job_vec leaving;
	/* queues by the words of their names; NULL: no such queue */
	VEC(struct queue *) queue_by_word;
	struct map tallies; /* words of queue and user -> index + 1 into tally */
	VEC(struct tally) tally;
	struct map dependents; /* number -> how many specs of unfinished jobs depend on it */
	int64_t related;       /* sum of the counts in `dependents` */
	struct map restarts;   /* number -> core id of the latest job that restarts from its checkpoint */
	struct keys *keys;     /* keys.c */
	struct census *census; /* census.c; NULL: not yet needed */
	/* id -> struct script_file * of the file this server wrote (prepare.c) */
	struct map script_files;
	struct body_last last_body; /* body of the last attempt that was ordered or failed */
	/* hash of text and owner -> id; id | SCRIPT_BIT -> number of jobs that use it */
	struct map scripts;
	/* the last scripts that were submitted, by their hashes (scripts.c) */
	struct recent_script {
		uint64_t id; /* 0: none */
		struct strbuf text;
	} recent[RECENT_SCRIPTS];
	struct map unseen; /* attempts that ended while no server was running: core id << 32 | attempt */
	/* instant of the last event before this server started; the unseen attempts ran at least
	 * until then */
	int64_t seen;
	uint64_t next_number, next_seq, next_script;
	/* during recovery: submissions not yet accepted (life/enter/intake.h); otherwise NULL */
	struct intake_marks *intake;
	/* lowest job that got another spec or waits again, for quotas_overtakes(); 0: none */
	uint32_t eased;
	uint32_t leased;   /* number of accepted jobs that hosts have numbered */
	int64_t total;	   /* jobs that have not ended */
	bool priorities;   /* at least one job or setting uses priorities */
	uint32_t fallback; /* a request for one CPU, for jobs that no node can hold any more */
};

static inline struct entry *entry_get(const struct server *s, uint32_t id)
{
	return rows_at(&s->jobs->entries, id, sizeof(struct entry));
}

/* Walks through all jobs that may still be known: a forgotten one has no spec. */
#define JOBS_EACH(s, id)                                                                                               \
	for (uint32_t id = rows_next(&(s)->jobs->entries, 1); id < (s)->jobs->entries.n;                               \
	     id = rows_next(&(s)->jobs->entries, id + 1))

static inline struct job *entry_job(const struct server *s, uint32_t id)
{
	return cluster_job(s->cluster, id);
}
/* Returns true if the job is running or the order to start it was sent. */
static inline bool entry_running(const struct server *s, uint32_t id)
{
	return entry_job(s, id)->state == STATE_NOW || entry_job(s, id)->state == STATE_RUNNING;
}
/* Follows the owner's chain from an element of an array down to `first`, the array's first element,
 * or to the last one before another of the owner's jobs, which was accepted between them. */
static inline uint32_t entry_run(const struct server *s, uint32_t id, uint32_t first)
{
	while (id > first && entry_get(s, id)->before == id - 1)
		id--;
	return id;
}

static inline bool entry_ended(const struct server *s, uint32_t id)
{
	return job_ended(cluster_job(s->cluster, id));
}
/* Returns true if it ended otherwise than well, unless somebody deleted it. */
static inline bool entry_failed(const struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);

	return e->spec && entry_ended(s, id) && e->cause != END_DELETED &&
	       (e->cause != END_ITSELF || e->exit_status != 0);
}
/* Returns true if one of its attempts here ended the job, even one that was being stopped for
 * another job at that moment. */
static inline bool entry_finished(const struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	enum job_state state = cluster_job(s->cluster, id)->state;

	return state == STATE_DONE || (state == STATE_DELETED && e->cause == END_ITSELF && !entry_away(e));
}
/* Notes that a job might be startable now and was not before. Job 0, used for trials, is
 * ignored. */
static inline void entry_eased(const struct server *s, uint32_t id)
{
	if (id && (!s->jobs->eased || id < s->jobs->eased))
		s->jobs->eased = id;
}
/* Counts an entry that will not be used again. After the last one of its page all that is kept of
 * these jobs is freed. */
void entry_release(struct server *s, uint32_t id);
void entry_id(const struct server *s, uint32_t id, struct strbuf *out); /* "12[3].name" */
/* Appends the same, by key. */
void key_id(const struct server *s, uint64_t key, struct strbuf *out);
void array_id(const struct server *s, const struct array *a, struct strbuf *out); /* "12[].name" */
char entry_state(const struct server *s, uint32_t id);				  /* state letter */
/* Returns the number for a submission: `wanted`, which its user already knows, if that is free;
 * otherwise, or if it is 0, the next one. submit() takes it. */
uint64_t number_for(const struct server *s, uint64_t wanted);
/* Records in the spec when a job with a host's number was accepted, since its number does not show
 * the order. */
void job_came(struct server *s, uint64_t number, struct spec *p);
/* Takes numbers: the next one will not be among these. */
void number_take(struct server *s, uint64_t first, uint64_t count);
struct array *array_find(const struct server *s, uint64_t number);
/* Returns the charge for a job: with whole nodes, once it has run, all CPUs that exec_host
 * lists. */
struct charge entry_charge(const struct server *s, uint32_t id);
bool entry_find(const struct server *s, uint64_t number, int64_t index, uint32_t *ret);
struct queue *queue_named(const struct server *s, const char *name);
/* Looks it up by the word of its name; NULL: none. */
struct queue *queue_of(const struct server *s, uint32_t word);
bool queue_is_started(const struct server *s, uint32_t word);
bool queue_routes(const struct server *s, uint32_t word); /* it passes jobs on */
struct queue *queue_create(struct server *s, const char *name);
/* Computes which nodes the jobs of each queue may use, from the settings and the existing nodes.
 * Returns true if any changed. */
bool queues_lay(struct server *s);
/* Returns the set of nodes that a job may use, by its request and its queue. */
uint32_t spec_nodes(const struct server *s, const struct spec *p);
void queue_destroy(struct server *s, struct queue *q);
/* Returns a number that applies to a job: its queue's, otherwise the server's. */
int64_t setting_of(const struct server *s, const struct spec *p, enum attr_key key);
/* Returns job.ending of a job whose checkpoints take `saving` seconds. */
int64_t ending_of(const struct server *s, const struct spec *p, int64_t saving);
/* Seconds a job is kept after its end. */
int64_t keep_of(const struct server *s, const struct spec *p);
/* Returns the tally for the words of a user and a queue (0: all queues), creating it if needed.
 * Valid until the next call. */
struct tally *tally_of(struct server *s, uint32_t user, uint32_t queue);
/* Adds to the numbers of unfinished jobs, for limits. */
void total_count(struct server *s, const struct spec *p, int64_t change);
/* Returns true if no job ever had the number. */
bool number_unused(const struct server *s, uint64_t number);
/* Finds the jobs that a text of the API names. An array yields all its elements. -ENOENT,
 * -EINVAL. */
int jobs_named(const struct server *s, const char *text, job_vec *ret, struct array **ret_array, struct err *err);
/* Does the same for one text of many. Adds to `named` the number of jobs named, found or not, since
 * each takes a lookup. */
int jobs_named_of_many(const struct server *s, const char *text, job_vec *ret, struct array **ret_array, size_t *named,
		       struct err *err);

#endif
