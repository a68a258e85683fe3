/*
 * spec.h - a job's description: what it was submitted or last altered with. Its members are the rows of jobschema.h.
 */
#ifndef CORE_SPEC_H
#define CORE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

enum mail_point { MAIL_ABORT = 1, MAIL_BEGIN = 2, MAIL_END = 4 };

/* The price that was agreed (rules/libra.h); without an estimate the job has none. */
struct libra_terms {
	int64_t estimate;    /* seconds */
	int64_t window;	     /* seconds from its submission to its deadline, at least 1 */
	int64_t budget;	     /* unit-seconds, or LIBRA_NO_BUDGET */
	int64_t alpha, beta; /* percent */
};

enum quota_type { QUOTA_NORMAL, QUOTA_PRIORITY, QUOTA_INTERACTIVE, QUOTA_TYPES };

/* What a job has taken of its user's quota (rules/quota.h). It stays with the job until the job has ended. */
struct quota_claim {
	int32_t month; /* 0: nothing was taken */
	enum quota_type type;
	int64_t seconds;
};

/* Where jobs with the same dependencies find each other (rules/gate.h): {0} at first, then the gate's. */
struct gate_share {
	uint32_t waiter, generation;
};

/* Members that few jobs have. */
struct spec_rare {
	struct libra_terms libra;
	int64_t share;		  /* thousandths of a shared node's CPU; 0: its CPUs are its own */
	struct quota_claim claim; /* taken by each of its jobs */
	uint64_t restart;	  /* key of the job whose last checkpoint it starts from; 0: none */
	uint32_t through;	  /* routing queue by which it came into a queue of another site; 0: none */
	uint32_t from;		  /* address of the machine it was submitted from; 0: the server's own */
	char *label;		  /* text of its user's own, or NULL */
	uint64_t came;		  /* place among the jobs with a host's number (job_came()); else 0 */
};

/* The elements of an array share one. Texts are words: numbers in the server's struct names, 0 for none. Every waiting
 * job has one, so its members lie without holes. */
struct spec {
	uint32_t refs;
	uint32_t owner, host, queue, resources, account, project;
	uint32_t checkpoint;  /* the text of -c, if it asks for checkpoints (rules/checkpoint.h); 0: it makes none */
	uint32_t class;	      /* program class; 0: none */
	uint32_t qos;	      /* quality of service; 0: none */
	uint32_t reservation; /* the one it is bound to; 0: none */
	uint32_t group, home; /* its owner's, when it was submitted; 0: not known */
	uint32_t uid, gid;
	uint32_t files_name;	   /* name in its output's paths, which it had when it was started; 0: its name */
	struct {		   /* how it was submitted */
		int64_t created;   /* instant */
		uint32_t origin;   /* server.origin of the server that accepted it; 0: older than that field */
		uint32_t eligible; /* number of elements that were eligible, the first ones; of a job 1 or 0 */
	};
	int64_t at;		  /* instant, or 0 */
	int64_t walltime;	  /* seconds */
	struct {		  /* by its type */
		int64_t deadline; /* instant, or TIME_NEVER */
		int64_t nice;	  /* type N: until this instant jobs submitted later pass it; 0: it is not nice */
	};
	double rank;
	const struct spec_rare *rare; /* shared by the specs that have nothing of it */
	uint64_t script;	      /* in the store; 0: none */
	uint32_t request;	      /* UINT32_MAX: the cluster has nothing of the kind */
	uint32_t allowed; /* nodes that suit it (rules/partition.h): a partition's, or NODES_ALL for shared ones */
	uint32_t layout;  /* hosts.layout by which these two were found */
	struct {	  /* derived from `depend` */
		uint32_t watchers;	 /* jobs that count in jobs.dependents by it */
		struct gate_share share; /* by which jobs with this very text wait together */
	};
	int16_t priority;
	uint8_t kind, powers;
	uint8_t mail; /* enum mail_point */
	uint8_t holds;
	bool rerunnable, interactive, array;
	bool visitor;	      /* from another site, which asks what became of it: kept for longer */
	bool now;	      /* interactive, and starts at once or not at all: policy artaras */
	bool legacy;	      /* from a store that did not keep who was eligible, nor what was altered when */
	struct {	      /* texts of its own, or NULL */
		char *depend; /* canonical */
		char *array_text;
		char *program; /* the command line that it runs, for people; NULL: its name says as much */
	};
	char name[]; /* NUL-terminated */
};

#endif
