/*
 * jobs.h - the jobs, arrays and queues that the server has.
 */
#ifndef SERVER_JOBS_H
#define SERVER_JOBS_H

#include "base/map.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "server/job/entry.h"

#define ARRAY_BIT (UINT64_C(1) << 63)

struct array {
	uint64_t number;
	uint32_t first, count; /* its elements are entries first .. first + count - 1, by index */
	struct spec *spec;
	int64_t limit; /* elements that may run at once; 0: no limit */
	uint32_t ended;
	uint32_t due; /* of those that have ended: kept long enough (jobs.c) */
};

struct queue {
	char *name;
	struct attrs attrs;
	int64_t total; /* jobs that have not ended */
};

/* Someone's jobs, for limits: of a user, or of a user in a queue. */
struct tally {
	int64_t total;
};

struct jobs {
	VEC(struct entry) entries;
	VEC(struct array *) arrays;
	struct map by_number; /* number -> core id, or ARRAY_BIT | index in arrays */
	struct map attempts;  /* attempt_key() -> struct attempt * */
	VEC(struct queue *) queues;
	VEC(struct queue *) queue_by_word; /* the same by their names' words; NULL: no queue */
	struct map tallies;		   /* words of queue and user -> index + 1 into tally */
	VEC(struct tally) tally;
	struct map dependents; /* number -> index + 1 into dependent_lists */
	VEC(job_vec) dependent_lists;
	struct keys *keys;	  /* keys.c */
	struct map script_files;  /* id -> what stat() says of the file that this server wrote (prepare.c) */
	struct map script_hashes; /* id -> the hash of its text, of the same */
	struct map scripts;	  /* hash of text and owner -> id; id | SCRIPT_BIT -> how many jobs use it */
	uint64_t next_number, next_seq, next_script;
	int64_t total;	 /* that have not ended */
	bool priorities; /* somebody uses them */
	struct names words;
};

#endif
