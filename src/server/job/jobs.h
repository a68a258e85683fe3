/*
 * jobs.h - the jobs, arrays and queues that the server has.
 */
#ifndef SERVER_JOBS_H
#define SERVER_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "core/job.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "server/job/entry.h"
#include "server/server.h"

struct keys;

#define ARRAY_BIT (UINT64_C(1) << 63)

/* A host that takes changes while the server is down (offline/spool.h) numbers them from a block of its own, which the number of its join gives it: no two hosts
 * share one, whatever became of the store, and the server's own numbers stay below all of them. */
#define LEASED_FIRST UINT64_C(1000000000) /* STORE_FIRST_READ */
#define LEASED_EACH UINT64_C(1000000)

static inline bool number_leased(uint64_t number)
{
	return number >= LEASED_FIRST;
}
#define CAME_BITS 32 /* of spec.came: how many such jobs came before; above them the next number of the server's own */

struct array {
	uint64_t number;
	uint32_t first, count; /* its elements are entries first .. first + count - 1, by index */
	struct spec *spec;
	int64_t limit; /* elements that may run at once; 0: no limit */
	uint32_t ended;
	uint32_t away; /* elements that are at another site, or on their way: derived */
	uint32_t due;  /* of those that have ended: kept long enough (jobs.c) */
};

struct queue {
	char *name;
	struct attrs attrs;
	int64_t total; /* jobs that have not ended */
	uint32_t nodes,
		shared; /* that its jobs may use: those in partitions, too, or without them. Derived: queues_lay() */
};

/* Someone's jobs, for limits: of a user, or of a user in a queue. */
struct tally {
	int64_t total;
	uint32_t newest; /* of a user, in any queue: the entry that came last; 0: none */
};

/* Jobs in routing queues, so that those who leave room for one need not look for them among all. It is derived. */
struct routed {
	job_vec jobs;	 /* that were found there; 0: it has left since */
	uint32_t beyond; /* jobs from this one on have not been looked at yet */
};

struct jobs {
	VEC(struct entry) entries;
	VEC(struct array *) arrays;
	struct map by_number;	    /* number -> core id, or ARRAY_BIT | index in arrays */
	struct map attempts;	    /* attempt_key() -> struct attempt * */
	VEC(struct usage *) usages; /* usage.c: of attempts that have ended, oldest first */
	VEC(struct queue *) queues;
	struct routed routed; /* queues.c */
	job_vec leaving; /* life/peers/away.c: that came into a queue of another site; derived, and some have left it since */
	VEC(struct queue *) queue_by_word; /* the same by their names' words; NULL: no queue */
	struct map tallies;		   /* words of queue and user -> index + 1 into tally */
	VEC(struct tally) tally;
	struct map dependents;	 /* number -> how many specs of jobs that have not ended depend on it */
	int64_t related;	 /* sum of these */
	struct map restarts;	 /* number -> core id of the latest job that restarts from its checkpoint */
	struct keys *keys;	 /* keys.c */
	struct map script_files; /* id -> struct script_file * of the file that this server wrote (prepare.c) */
	struct map scripts;	 /* hash of text and owner -> id; id | SCRIPT_BIT -> how many jobs use it */
	struct map unseen;	 /* attempts that ended while no server ran: core id << 32 | attempt */
	int64_t seen; /* the instant of the last event before this server started: they ran until then at least */
	uint64_t next_number, next_seq, next_script;
	struct intake_marks
		*intake;   /* at recovery: submissions that were not accepted yet (life/enter/intake.h); else NULL */
	uint32_t eased;	   /* the lowest that got another spec or waits again, for quotas_overtakes(); 0: none */
	uint32_t leased;   /* jobs with numbers of hosts that came in */
	int64_t total;	   /* that have not ended */
	bool priorities;   /* somebody uses them */
	uint32_t fallback; /* a request of one CPU, for jobs that no node could hold any more */
};

static inline struct job *entry_job(const struct server *s, uint32_t id)
{
	return cluster_job(s->cluster, id);
}
/* It runs, or the order to start it is out. */
static inline bool entry_running(const struct server *s, uint32_t id)
{
	return entry_job(s, id)->state == STATE_NOW || entry_job(s, id)->state == STATE_RUNNING;
}
static inline bool entry_ended(const struct server *s, uint32_t id)
{
	return job_ended(cluster_job(s->cluster, id));
}
/* It may be one that could be started now, and was none before; 0, the one that serves for trials, never is. */
static inline void entry_eased(const struct server *s, uint32_t id)
{
	if (id && (!s->jobs->eased || id < s->jobs->eased))
		s->jobs->eased = id;
}
struct entry *entry_get(const struct server *s, uint32_t id);
void entry_id(const struct server *s, uint32_t id, struct strbuf *out);		  /* "12[3].name" */
void key_id(const struct server *s, uint64_t key, struct strbuf *out);		  /* the same by the key */
void array_id(const struct server *s, const struct array *a, struct strbuf *out); /* "12[].name" */
char entry_state(const struct server *s, uint32_t id);				  /* the letter */
/* The number for a submission: `wanted`, which its user knows already, if it is free; else, and with 0, the next one. It is taken by submit(). */
uint64_t number_for(const struct server *s, uint64_t wanted);
/* One with a host's number keeps when it came in: numbers alone do not tell. */
void job_came(struct server *s, uint64_t number, struct spec *p);
void number_take(struct server *s, uint64_t first, uint64_t count); /* the next one is not among these */
struct array *array_find(const struct server *s, uint64_t number);
/* Returns what it is charged for: for whole nodes all CPUs that exec_host lists, once it has run. */
struct charge entry_charge(const struct server *s, uint32_t id);
bool entry_find(const struct server *s, uint64_t number, int64_t index, uint32_t *ret);
struct queue *queue_named(const struct server *s, const char *name);
struct queue *queue_of(const struct server *s, uint32_t word); /* by the word of its name; NULL: there is none */
bool queue_is_started(const struct server *s, uint32_t word);
bool queue_routes(const struct server *s, uint32_t word); /* it passes jobs on */
struct queue *queue_create(struct server *s, const char *name);
/* Which nodes the jobs of queues may use, by what is set and by the nodes that there are. True: some others than before. */
bool queues_lay(struct server *s);
/* The nodes that a job may use, by its request and its queue. */
uint32_t spec_nodes(const struct server *s, const struct spec *p);
void queue_destroy(struct server *s, struct queue *q);
/* A number that holds for a job: its queue's, else the server's. */
int64_t setting_of(const struct server *s, const struct spec *p, const char *name);
/* job.ending of a job whose checkpoints take `saving` seconds. */
int64_t ending_of(const struct server *s, const struct spec *p, int64_t saving);
int64_t keep_of(const struct server *s, const struct spec *p); /* seconds that it is kept after its end */
/* By the words of their names, queue 0: in any. Made if new; valid until the next call. */
struct tally *tally_of(struct server *s, uint32_t user, uint32_t queue);
void total_count(struct server *s, const struct spec *p, int64_t change); /* jobs that have not ended, for limits */
/* Jobs that a text of the API means. Arrays give all their elements. -ENOENT, -EINVAL. */
int jobs_named(const struct server *s, const char *text, job_vec *ret, struct array **ret_array, struct err *err);
/* The same for one text of many: adds to `named` the jobs that it names, whether they are there or not, since each takes a look. */
int jobs_named_of_many(const struct server *s, const char *text, job_vec *ret, struct array **ret_array, size_t *named,
		       struct err *err);

#endif
