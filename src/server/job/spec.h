/*
 * spec.h - a job as it was submitted (submission.h), in memory and in the store.
 */
#ifndef SERVER_SPEC_H
#define SERVER_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/reqtext.h"
#include "rules/gate.h"
#include "rules/libra.h"
#include "rules/quota.h"

struct arena;
struct err;
struct server;
struct strbuf;

enum mail_point { MAIL_ABORT = 1, MAIL_BEGIN = 2, MAIL_END = 4 };

/* What few jobs have. */
struct spec_rare {
	struct libra_terms libra; /* its price, if it has one */
	int64_t share;		  /* thousandths of a shared node's CPU that it has; 0: its CPUs are its own */
	struct quota_claim claim; /* what each of its jobs has taken of its user's quota */
	uint64_t restart;	  /* the key of the job whose last checkpoint it starts from; 0: none */
	uint32_t through;	  /* the routing queue by which it came into a queue of another site; 0: none */
	uint64_t came;		  /* of one with a host's number (job_came()): its place among the others; else 0 */
};

/* A job as it was submitted, or altered; the elements of an array share one. Words are ids in server.words. Every job that waits has one: its members lie
 * without holes. */
struct spec {
	uint32_t refs;
	uint32_t owner, host, queue, resources, account, project;
	uint32_t checkpoint;  /* the words of -c, if they ask for checkpoints (rules/checkpoint.h); 0: it makes none */
	uint32_t class;	      /* its program class; 0: none */
	uint32_t qos;	      /* its quality of service; 0: none */
	uint32_t reservation; /* that it is bound to; 0: none */
	uint32_t group, home; /* the name of its group, its owner's home, when it was submitted; 0: not known */
	uid_t uid;
	gid_t gid;
	uint32_t files_name;	   /* the name in its output's paths: the one it had when it was started; 0: its name */
	struct {		   /* how it came in */
		int64_t created;   /* instant */
		uint32_t origin;   /* server.origin of the server that accepted it; 0: it is older than that field */
		uint32_t eligible; /* of an array's elements, or 1 or 0 of a job; the first ones */
	};
	int64_t at;		  /* instant, or 0 */
	int64_t walltime;	  /* seconds */
	struct {		  /* by its type */
		int64_t deadline; /* instant, or TIME_NEVER */
		int64_t nice;	  /* type N: until this instant jobs submitted later pass it; 0: it is not nice */
	};
	double rank;
	const struct spec_rare *rare; /* shared by those that have nothing of it; written by spec_rare() */
	uint64_t script;	      /* in the store; 0: none */
	uint32_t request;	      /* UINT32_MAX: the cluster has nothing of the kind */
	uint32_t allowed;  /* nodes that suit it (rules/partition.h): a partition's, or NODES_ALL for shared ones */
	uint32_t layout;   /* hosts.layout by which these two were found */
	uint32_t watchers; /* jobs that count in jobs.dependents by `depend`; derived */
	struct gate_share share; /* by which jobs with this very `depend` wait together; derived */
	int16_t priority;
	uint8_t kind, powers;
	uint8_t mail; /* enum mail_point */
	uint8_t holds;
	bool rerunnable, interactive, array;
	bool visitor;	      /* from another site, which asks what became of it: kept for longer */
	bool now;	      /* an interactive one that starts at once or not at all: policy artaras */
	bool legacy;	      /* of a store that did not keep who was eligible, nor what was altered when */
	struct {	      /* texts of its own, or NULL */
		char *depend; /* canonical */
		char *array_text;
		char *program; /* the command line that it runs, for people; NULL: its name says as much */
	};
	char name[]; /* NUL-terminated */
};

struct spec *spec_create(const char *name);   /* with nothing else */
struct spec *spec_copy(const struct spec *p); /* a job's own, to be changed: no array's */
void spec_unref(struct spec *p);	      /* gone with the last one; NULL is none */
/* To write what few jobs have: it becomes the spec's own. */
struct spec_rare *spec_rare(struct spec *p);
/* As the store has it (spec_head.c). */
void spec_head(const struct server *s, const struct spec *p, struct strbuf *out);
int spec_restore(struct server *s, const char *head, struct spec **ret, struct err *err);
/* A request, complete with its defaults, into a spec: its canonical text, its walltime, and the cluster's request. */
bool shares_offered(const struct server *s); /* there are nodes whose CPUs are divided */
int spec_fill(struct server *s, const struct reqtext *text, struct spec *spec, struct err *err);
/* What the cluster as it is has for it. A job that no partition suits any more keeps its request, by which its events are understood, and may use no node. */
void spec_resolve(struct server *s, const struct reqtext *text, struct spec *spec);
/* Once partitions are laid out anew: what follows for it, if that was not done before. */
void spec_lay(struct server *s, struct spec *spec);
/* Whether a job of this kind can be handed over to another site. CODE_REFUSED. */
int spec_portable(const struct spec *p, struct err *err);
/* What a spec asks for, as a text that is complete. */
int spec_request(struct server *s, const struct spec *spec, struct arena *a, struct reqtext *ret, struct err *err);

#endif
