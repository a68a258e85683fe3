/*
 * spec.h - a job's description as submitted or last altered. Its members are the rows of
 * jobschema.h.
 */
#ifndef CORE_SPEC_H
#define CORE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

enum mail_point { MAIL_ABORT = 1, MAIL_BEGIN = 2, MAIL_END = 4 };

/* The agreed price (rules/libra.h); without an estimate the job has none. */
struct libra_terms {
	int64_t estimate;    /* seconds */
	int64_t window;	     /* seconds from submission to deadline, at least 1 */
	int64_t budget;	     /* unit-seconds, or LIBRA_NO_BUDGET */
	int64_t alpha, beta; /* percent */
};

enum quota_type { QUOTA_NORMAL, QUOTA_PRIORITY, QUOTA_INTERACTIVE, QUOTA_TYPES };

/* Time that a job has taken from its user's quota (rules/quota.h) and holds until it has ended. */
struct quota_claim {
	int32_t month; /* 0: nothing was taken */
	enum quota_type type;
	int64_t seconds;
};

/* Record of the jobs with the same dependencies (rules/gate.h): {0} at first, then set by the
 * gate. */
struct gate_share {
	uint32_t waiter, generation;
};

/* Members that few jobs have. */
struct spec_rare {
	struct libra_terms libra;
	int64_t share;		  /* thousandths of a shared node's CPU; 0: it has CPUs of its own */
	struct quota_claim claim; /* taken by each job of the spec */
	uint64_t restart;	  /* key of the job whose last checkpoint it starts from; 0: none */
	uint32_t through;	  /* routing queue through which it entered another site's queue; 0: none */
	uint32_t from;		  /* address of the machine it was submitted from; 0: the server's own */
	char *label;		  /* user-defined text, or NULL */
	uint64_t came;		  /* arrival order among jobs with a host's number (job_came()); else 0 */
};

/* Shared by the elements of an array. Texts are words: numbers in the server's struct names, 0
 * for none. Every waiting job has a spec, so the members are ordered to avoid padding. */
struct spec {
	uint32_t refs;
	uint32_t owner, host, queue, resources, account, project;
	/* text of -c if it asks for checkpoints (rules/checkpoint.h); 0: none */
	uint32_t checkpoint;
	uint32_t class;	      /* program class; 0: none */
	uint32_t qos;	      /* quality of service; 0: none */
	uint32_t reservation; /* reservation it is bound to; 0: none */
	uint32_t group, home; /* group and home of its owner at submission; 0: unknown */
	uint32_t uid, gid;
	/* name used in its output paths, fixed when it was started; 0: its name */
	uint32_t files_name;
	struct {		 /* circumstances of the submission */
		int64_t created; /* instant */
		uint32_t origin; /* server.origin of the server that accepted it; 0: older than that field */
		/* number of elements, counted from the first, that were eligible; for a single
		 * job 1 or 0 */
		uint32_t eligible;
	};
	int64_t at;		  /* instant of -a, or 0 */
	int64_t walltime;	  /* seconds */
	struct {		  /* depend on the job's type */
		int64_t deadline; /* instant, or TIME_NEVER */
		/* type N: instant until which jobs submitted later pass it; 0: not nice */
		int64_t nice;
	};
	double rank;
	const struct spec_rare *rare; /* shared by all specs without rare members */
	uint64_t script;	      /* key in the store; 0: none */
	uint32_t request;	      /* UINT32_MAX: the cluster cannot satisfy it */
	/* nodes that suit it (rules/partition.h): a partition's, or NODES_ALL for shared ones */
	uint32_t allowed;
	uint32_t layout;		 /* hosts.layout for which `request` and `allowed` were computed */
	struct {			 /* derived from `depend` */
		uint32_t watchers;	 /* number of jobs with this spec that count in jobs.dependents */
		struct gate_share share; /* record of the jobs that wait with exactly this text */
	};
	int16_t priority;
	uint8_t kind, powers;
	uint8_t mail; /* enum mail_point */
	uint8_t holds;
	bool rerunnable, interactive, array;
	bool visitor;	      /* from another site, which will ask for its outcome: kept longer */
	bool now;	      /* policy artaras: interactive; starts at once or not at all */
	bool legacy;	      /* from a store that did not record eligibility or alteration times */
	struct {	      /* allocated texts, or NULL */
		char *depend; /* canonical */
		char *array_text;
		char *program; /* command line it runs, for display; NULL: its name is enough */
	};
	char name[]; /* NUL-terminated */
};

#endif
