/*
 * reqtext.h - the text of a request, in the syntax of -l.
 *
 *	nodes=2:ppn=4:gpus=1+uff3:ppn=4:e	TORQUE and OscarPBS
 *	select=2:ncpus=4:mem=8gb		PBS Pro
 *	ncpus=4  mem=8gb  walltime=3:45		plain
 *
 * Parsing checks only the syntax; cluster_request() checks that the names exist.
 *
 * Chunks. nodes= and select= share one grammar; '+' separates chunks and ':' the parts of one:
 *	a count or a node's name; default 1	host=NAME, vnode=NAME	a node's name
 *	ppn= ncpus=	CPUs, default 1			mem=	memory
 *	gpus= ngpus=	GPUs				e	exclusive
 *	disk= swap=	disk and swap of the node, written like memory
 *	mpiprocs= ompthreads=	number of lines in the node file; OMP_NUM_THREADS
 *	NAME=NUMBER	a named resource		NAME=WORD	the feature WORD
 *	WORD, NAME=true	a feature
 * Plain ncpus=4 is nodes=1:ppn=4, and procs=4 is nodes=4:ppn=1. nodes= and select= differ in the
 * node file: it has one line per CPU, as in TORQUE, or one per chunk unless mpiprocs is given, as
 * in PBS Pro.
 *
 * For the whole job: walltime=; mem=, disk=, swap=, gpus= or ngpus=, and NAME=NUMBER for named
 * resources; pmem=, per CPU; place=free, pack or scatter (or vscatter), optionally followed by
 * shared, excl (no other job on its nodes) or exclhost (nor on their machines), as in
 * place=scatter:excl; Moab's naccesspolicy=singlejob or shared sets only the sharing;
 * partition=NAME or any (rules/partition.h); qos=NAME, advres=NAME (rules/access.h); estimate=,
 * deadline= and budget= (rules/libra.h). TORQUE's vmem=, pvmem=, cput=, pcput= and file= are
 * checked and ignored, so that scripts run unchanged.
 *
 * Key names are case-insensitive.
 */
#ifndef CORE_REQTEXT_H
#define CORE_REQTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "core/res.h"

#define CHUNKS_MAX 1024		 /* '+' parts in one request */
#define FRAGS_MAX 1000000	 /* fragments in one request */
#define WORDS_MAX 16		 /* features, or named resources, per chunk */
#define PARTITION_NAME_MAX 64	 /* characters */
#define PARTITION_WORD_ANY "any" /* partition=any: any partition that suits the job */

/* Bounds that keep sums over a request, and their products with a walltime, far from overflow. */
#define REQTEXT_MAX 65536		  /* characters of one -l */
#define CPUS_MAX INT64_C(1000000)	  /* CPUs, or GPUs, of a fragment */
#define CPUS_TOTAL_MAX INT64_C(100000000) /* CPUs of a request */
#define AMOUNT_MAX INT64_C(1000000000000) /* units of a named resource */

/* Extent of a job's exclusive use wherever it has a fragment: none, its nodes, or their machines
 * with all nodes on them. No other job runs there at the same time, but fragments of the same
 * job may share a node. */
enum wholeness { WHOLE_NOT, WHOLE_NODE, WHOLE_HOST };

struct named_amount {
	const char *name;
	int64_t amount;
};

/* `count` equal fragments, or one on the named node. */
struct chunk {
	int64_t count;
	const char *node; /* NULL: any */
	struct res need;  /* CPUs, memory, GPUs, disk, swap; per fragment */
	bool exclusive;	  /* no other fragment of the same job on this node */
	int64_t mpiprocs; /* lines of a fragment in the node file; 0: not given */
	int64_t ompthreads;
	int nnamed, nfeatures;
	struct named_amount named[WORDS_MAX];
	const char *feature[WORDS_MAX];
};

/* The result of one or more -l options. Strings live in the arena given to the parser. */
#define MEMORY_LEAST 512 /* KiB */

struct reqtext {
	struct chunk *chunk;
	int nchunks;	  /* 0: the default, one CPU */
	bool select;	  /* the chunks came from select= */
	int64_t walltime; /* seconds; -1: not given */
	/* amounts for the whole job (-l mem=..), spread evenly over its fragments */
	struct res job;
	int64_t pmem;	       /* KiB for each CPU of a fragment, or 0 */
	bool pack;	       /* place=pack: all fragments on one node */
	bool scatter;	       /* place=scatter: all chunks are marked exclusive */
	enum wholeness whole;  /* place=excl, place=exclhost */
	const char *partition; /* a name, or PARTITION_WORD_ANY; NULL: not given */
	const char *qos;       /* quality of service; NULL: not given. Not part of the canonical text */
	/* reservation the job is bound to; NULL: not given. Not part of the canonical text */
	const char *reservation;
	int64_t estimate;     /* seconds; 0: not given. Not part of the canonical text */
	const char *deadline; /* unparsed text; NULL: not given. Not part of the canonical text */
	const char *budget;   /* unparsed text; NULL: not given. Not part of the canonical text */
	int nnamed;	      /* named resources of the whole job, spread like `job` */
	struct named_amount named[WORDS_MAX];
};

void reqtext_init(struct reqtext *r);

/* Reads one -l argument, a list of name=value separated by commas, on top of what `r` holds (a
 * later nodes=, select=, ncpus= or procs= replaces an earlier one; they do not mix in one list).
 * On -EINVAL the message names the part, the error and what is allowed, and `r` is unchanged. */
int reqtext_parse(struct reqtext *r, const char *text, struct arena *arena, struct err *err);

/* Refuses amounts of memory in which no program runs: a unit was forgotten, since a number alone is
 * bytes. -EINVAL. */
int reqtext_check_memory(const struct reqtext *r, struct err *err);

/* Appends the canonical text, which parses back to the same request. */
void reqtext_format(const struct reqtext *r, struct strbuf *out);

/* Sums a request over all nodes, without named resources, and counts the nodes. */
void reqtext_sum(const struct reqtext *r, struct res *ret, int64_t *ret_nodes);

/* Sets an error such as "unknown resource 'wallclock'; did you mean walltime?" and returns
 * -EINVAL. `more`: the site's own names, separated by blanks. */
int resource_unknown(const char *name, const char *more, struct err *err);

#endif
