/*
 * reqtext.h - the text of a request, as users write it after -l.
 *
 *	nodes=2:ppn=4:gpus=1+uff3:ppn=4:e	as TORQUE and OscarPBS
 *	select=2:ncpus=4:mem=8gb		PBS Pro
 *	ncpus=4  mem=8gb  walltime=3:45		plain
 *
 * Parsing is syntax only: whether the names exist is for cluster_request() to say.
 *
 * Chunks. nodes= and select= share one grammar; '+' separates chunks and ':' what is said of one:
 *	a count, a node's name, or neither (then one)	host=NAME and vnode=NAME name it too
 *	ppn= ncpus=	CPUs, 1 unless said		mem=	memory
 *	gpus= ngpus=	GPUs				e	exclusive
 *	disk= swap=	of the node, as memory
 *	mpiprocs= ompthreads=	lines in the node file, and OMP_NUM_THREADS
 *	NAME=NUMBER	a named resource		NAME=WORD	the feature WORD
 *	WORD, NAME=true	a feature
 * Plain ncpus=4 is nodes=1:ppn=4, and procs=4 is nodes=4:ppn=1. What differs between nodes= and select= is the node file: a
 * line for each CPU, as TORQUE has it, or one for each chunk unless mpiprocs says otherwise, as PBS Pro has it.
 *
 * For the whole job: walltime=; mem=, disk=, swap=, gpus= or ngpus=, and NAME=NUMBER for named resources; pmem=, for each CPU;
 * place=free, pack or scatter (vscatter is the same), and whether the job shares its nodes with others: shared, excl (it has
 * its nodes alone) or exclhost (their machines, too), as in place=scatter:excl; naccesspolicy=singlejob or shared, of Moab, says the latter alone;
 * partition=NAME or any (rules/partition.h); qos=NAME, advres=NAME (rules/access.h); estimate=, deadline= and budget= (rules/libra.h). TORQUE's vmem=, pvmem=, cput=, pcput= and
 * file= are checked and dropped, so that scripts run unchanged: nothing here plans with them.
 *
 * Names of keys are compared without regard to case.
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
#define WORDS_MAX 16		 /* features, or named resources, of one chunk */
#define PARTITION_NAME_MAX 64	 /* characters */
#define PARTITION_WORD_ANY "any" /* partition=any: whichever suits the job */

/* Bounds that keep sums over a request, and their products with a walltime, far from overflow. */
#define REQTEXT_MAX 65536		  /* characters of one -l */
#define CPUS_MAX INT64_C(1000000)	  /* of a fragment; GPUs too */
#define CPUS_TOTAL_MAX INT64_C(100000000) /* of a request */
#define AMOUNT_MAX INT64_C(1000000000000) /* of a named resource */

/* What a job keeps to itself wherever it has a fragment: nothing, its nodes, or their machines with all of their nodes.
 * No other job is there while it runs; its own fragments may share a node all the same. */
enum wholeness { WHOLE_NOT, WHOLE_NODE, WHOLE_HOST };

struct named_amount {
	const char *name;
	int64_t amount;
};

/* `count` equal fragments, or one on the node that is named. */
struct chunk {
	int64_t count;
	const char *node; /* NULL: any */
	struct res need;  /* CPUs, memory, GPUs, disk, swap; per fragment */
	bool exclusive;	  /* the only fragment of its job on its node */
	int64_t mpiprocs; /* lines of a fragment in the node file; 0: not said */
	int64_t ompthreads;
	int nnamed, nfeatures;
	struct named_amount named[WORDS_MAX];
	const char *feature[WORDS_MAX];
};

/* Everything one or more -l options said. Strings live in the arena given to the parser. */
struct reqtext {
	struct chunk *chunk;
	int nchunks;	       /* 0: the default, one CPU */
	bool select;	       /* the chunks were given by select= */
	int64_t walltime;      /* seconds, or -1: not said */
	struct res job;	       /* amounts for the job as a whole (-l mem=..), to be spread evenly over its fragments */
	int64_t pmem;	       /* KiB that each CPU of a fragment brings along, or 0 */
	bool pack;	       /* place=pack: all fragments on one node */
	bool scatter;	       /* place=scatter: all chunks are exclusive, and marked so */
	enum wholeness whole;  /* place=excl, place=exclhost */
	const char *partition; /* a name, or PARTITION_WORD_ANY; NULL: not said */
	const char *qos;       /* a quality of service; NULL: not said. Not a part of the canonical text */
	const char *reservation; /* that it is bound to; the same */
	int64_t estimate;	 /* seconds; 0: not said; the same */
	const char *deadline;	 /* as it was written; NULL: not said; the same */
	const char *budget;	 /* the same */
	int nnamed;		 /* named resources of the job as a whole, spread like `job` */
	struct named_amount named[WORDS_MAX];
};

void reqtext_init(struct reqtext *r);

/* Reads one -l argument, a list of name=value separated by commas, on top of what `r` holds (a later nodes=, select=,
 * ncpus= or procs= replaces an earlier one; in one list they don't mix). -EINVAL with a sentence that names the part,
 * what is wrong and what is allowed; `r` is then as it was. */
int reqtext_parse(struct reqtext *r, const char *text, struct arena *arena, struct err *err);

/* The canonical text, which parses back to the same request. */
void reqtext_format(const struct reqtext *r, struct strbuf *out);

/* What a request adds up to over all nodes, without named resources; and on how many nodes that is. */
void reqtext_sum(const struct reqtext *r, struct res *ret, int64_t *ret_nodes);

/* "unknown resource 'wallclock'; did you mean walltime?" `more`: names of the site's own, with blanks between. -EINVAL. */
int resource_unknown(const char *name, const char *more, struct err *err);

#endif
