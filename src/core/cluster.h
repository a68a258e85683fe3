/*
 * cluster.h - everything the scheduler knows of the world, together: nodes, requests, jobs, settings.
 *
 * Requests are interned: jobs that ask for the same share one `struct request`, and fragments that ask for the
 * same share one `struct shape`. A burst of a thousand equal jobs costs one request, and a scan of the nodes is made
 * per shape, not per fragment.
 */
#ifndef CORE_CLUSTER_H
#define CORE_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hours.h"
#include "base/map.h"
#include "base/names.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/feature.h"
#include "core/job.h"
#include "core/partition.h"
#include "core/reqtext.h"
#include "core/res.h"
#include "core/speed.h"
#include "core/topology.h"

#define NODE_ANY (-1)
#define STARVE_AUTO (-1) /* settings.starve_after: the policy sets each job's due date itself */

struct habit;

struct node {
	uint32_t name; /* in cluster.node_names; equals the node's index */
	struct res total;
	uint32_t features;  /* in cluster.features, of cluster.feature_names */
	int32_t peer;	    /* the next node of the same machine, or partition, in a ring; itself if it has none */
	uint32_t ring;	    /* equal for the nodes of one ring */
	uint32_t partition; /* PARTITION_NONE, or its index plus one */
	uint32_t speed;	    /* thousandths of a usual node's (speed.h) */
	uint32_t leaf;	    /* the switch that it is at, plus one, as an index into topology.leaf; 0: not known */
	bool up;
	const struct habit
		*habit; /* of a workstation: when its owner usually has it, in hours of UTC; or NULL. Borrowed */
};

/* What one fragment asks of its node. */
struct shape {
	struct res need;
	uint32_t features; /* in cluster.features */
	bool exclusive;	   /* the only fragment of its job there */
	uint8_t whole;	   /* enum wholeness: the same for all fragments of a job */
	int64_t divided;   /* the CPUs that it asks for, if it has a share of a node's CPUs instead; else 0 */
	uint64_t hash;	   /* its key in cluster.shape_index */
	uint32_t held;	   /* number of trials that hold it; 0: it is kept */
};

struct frag {
	uint32_t shape;
	int32_t node; /* NODE_ANY, or the node it names: then it is fixed */
};

/* What the site has of something that jobs use wherever they run, such as the licences of a program. */
struct amount {
	int64_t total;
	int64_t elsewhere; /* of these, what others than our jobs use; may be more than there are */
};

#define AMOUNTS_MAX 64

/* What a job takes of it. */
struct portion {
	uint32_t amount; /* in cluster.amounts */
	int64_t count;	 /* at least 1 */
};

/* Fragments in placing order: fixed ones first, then free ones by CPUs, smallest first. */
struct request {
	struct frag *frag;
	uint32_t nfrags;
	uint32_t nfixed;
	bool uniform;	   /* all fragments free and of one shape */
	bool apart;	   /* some fragment is exclusive */
	uint8_t whole;	   /* enum wholeness */
	struct res total;  /* over all fragments: with `whole` the least that it holds */
	int64_t divided;   /* the same of its shapes' */
	int64_t cpus_free; /* CPUs of free and of fixed fragments: for the weight */
	int64_t cpus_fixed;
	struct portion *portion; /* of what the site has, ascending */
	uint32_t nportions;
	uint32_t held; /* number of trials that hold it; 0: it is kept */
	uint64_t hash; /* its key in cluster.request_index */
	struct {
		uint64_t nodes_version;
		uint32_t allowed;
		int64_t cpus;
	} most; /* the last answer of cluster_most_cpus(), and what it was for */
};

/* What is interned to find out whether a job would be accepted, or when it would start (base/trial.h). */
struct cluster_trial {
	trial_vec shapes, requests, features;
};

/* Which nodes a job may use. Nodes beyond the last word, also those that are added later, are members if `rest` is set. */
struct nodeset {
	uint64_t *word; /* bit i % 64 of word[i / 64]: node i */
	uint32_t nwords;
	bool rest;
};

#define NODES_ALL 0		 /* the set of all nodes, also of those that are added later */
#define KEYS_NONE 0		 /* of a job's keys, which are a set of the same kind: none */
#define BOUND_NOWHERE UINT32_MAX /* of a job that is bound: to what it may not use */

struct settings {
	int64_t tolerance;	 /* seconds added to every walltime in the plan */
	double fixed_factor;	 /* FF >= 1: what a fixed CPU weighs */
	int64_t starve_after;	 /* seconds; TIME_NEVER: no job starves; STARVE_AUTO: the policy's due dates */
	int max_deallocations;	 /* by QoS jobs; then a starving job is critical */
	bool interactive_breaks; /* interactive jobs may break deadlines that were guaranteed */
	int64_t long_saving;	 /* jobs whose checkpoints take more seconds than this, ... */
	struct hours nights;	 /* ... run only in these hours, under the policy artaras; none: at any time */
	int64_t time_slice; /* seconds for which a job has its partition while others wait for it, under the policy artaras; 0: to its end */
	int64_t migrate_cost; /* seconds to move a running job; < 0: never */
	int64_t reserve_depth; /* waiting jobs that hold reservations at once, of a policy by which all do; 0: any number */
};

void settings_default(struct settings *s);

struct job_page;

struct cluster {
	struct names node_names, feature_names, user_names, partition_names;
	struct features features;	/* sets of feature_names */
	struct names res_names;		/* of dimensions RES_NAMED and up */
	struct names amount_names;	/* of `amounts` */
	struct names reservation_names; /* a reservation's id (job.bound) is its number here, + 1 */
	VEC(struct node) nodes;
	uint64_t nodes_version; /* grows when a node comes, or gets another size or other features */
	VEC(struct partition) partitions;
	VEC(struct shape) shapes;
	VEC(struct request) requests;
	VEC(struct nodeset) nodesets;
	VEC(struct amount) amounts;
	trial_vec spare_shapes, spare_requests;		      /* numbers of those that were removed */
	struct cluster_trial *trial;			      /* by which new ones are held now; NULL: they are kept */
	struct map shape_index, request_index, nodeset_index; /* hash -> id + 1, chained by re-hashing */
	VEC(struct job *) pages;
	uint32_t njobs;
	int nres;	   /* dimensions in use */
	struct res total;  /* of the nodes that are up */
	struct res coming; /* the most that a node has which may come from elsewhere; without CPUs: none may */
	struct settings settings;
	bool habits;		   /* some node has one (node.habit) */
	struct topology *topology; /* by which the nodes of a job are kept close together; NULL: they are not */
};

struct cluster *cluster_create(void);
void cluster_destroy(struct cluster *c);

/* Adds a node; -EEXIST when the name is taken. Nodes are added before the plan is made. */
int cluster_add_node(struct cluster *c, const char *name, const struct res *total, struct err *err);
/* Takes over a tree of switches; nodes that are added later have their places in it, too. NULL drops the tree. */
void cluster_set_topology(struct cluster *c, struct topology *t);
/* Adds a feature to a node; -ENOSPC: the cluster has FEATURES_MAX others. */
int cluster_add_feature(struct cluster *c, uint32_t node, const char *feature, struct err *err);
void cluster_drop_features(struct cluster *c, uint32_t node);
/* Two nodes, and those that they were on one machine with, are on one machine. Before the plan is made. */
void cluster_share_host(struct cluster *c, uint32_t a, uint32_t b);
/* The nodes with has[node] are one ring, in their order. */
void cluster_make_ring(struct cluster *c, const bool *has);
/* It has more, or less, than before; plans made earlier don't know. */
void cluster_resize_node(struct cluster *c, uint32_t node, const struct res *total);
/* What has some of this is counted from now on; plans made earlier don't know (plan_widen). */
void cluster_count(struct cluster *c, const struct res *r);
/* The dimension of a named resource, made if new; -ENOSPC when all RES_MAX are taken. */
int cluster_resource(struct cluster *c, const char *name, struct err *err);

/* An amount that the site has, made if new, of which there is nothing at first; its index. -ENOSPC: AMOUNTS_MAX others are known; -EEXIST: nodes have a
 * resource of that name. Plans made earlier don't know of it (plan_set_amount). */
int cluster_amount(struct cluster *c, const char *name, struct err *err);
/* An amount by its name, in any case. */
bool cluster_find_amount(const struct cluster *c, const char *name, uint32_t *ret);

/* The request a text asks for, interned. -EINVAL: unknown node, feature or resource, or more than any node has, and
 * the sentence says which and what there is. */
int cluster_request(struct cluster *c, const struct reqtext *text, uint32_t *ret, struct err *err);
/* The chunk that each fragment of a text's request is from, in placing order; -1: of all of them (place=pack). -EINVAL: that
 * is not the text of this request. */
int cluster_request_chunks(const struct cluster *c, const struct reqtext *text, const struct request *r, int *ret);
/* `procs` CPUs cut for this cluster's nodes: as many whole nodes of the largest size as needed and a remainder. */
int cluster_request_procs(struct cluster *c, int64_t procs, uint32_t *ret, struct err *err);
/* Ends a trial, which is empty then. No job has what it gives back. */
void cluster_trial_end(struct cluster *c, struct cluster_trial *t, bool keep);
/* Interns fragments given as they are (sorted into placing order). */
uint32_t cluster_intern(struct cluster *c, struct frag *frag, uint32_t nfrags);
/* The same with portions of what the site has, ascending by amount. */
uint32_t cluster_intern_with(struct cluster *c, struct frag *frag, uint32_t nfrags, const struct portion *portion,
			     uint32_t nportions);
/* How much a request takes of an amount; 0: nothing. */
int64_t request_portion(const struct request *r, uint32_t amount);
bool requests_share(const struct request *a, const struct request *b); /* both take of some amount */
/* Interned; what it needs some of is counted from now on (cluster_count). */
uint32_t cluster_shape(struct cluster *c, const struct shape *shape);
/* The same fragments, keeping to themselves what `whole` says. */
uint32_t cluster_request_whole(struct cluster *c, uint32_t request, enum wholeness whole);

/* The same with a share of a node's CPUs, in thousandths of one, instead of CPUs; of one fragment that names no node and leaves room for others. UINT32_MAX: it is not of that kind. */
uint32_t cluster_request_divided(struct cluster *c, uint32_t request, int64_t share);

/* CPUs that it asks for, also where it has shares of them instead. */
static inline int64_t request_cpus(const struct request *r)
{
	return r->total.v[RES_CPU] + r->divided;
}

/*
 * What a job is charged for, each second that it runs: by limits, credits, accounting, history and ledger. That is what it asks for; of CPUs, with whole nodes,
 * all that its nodes have, from its start on. Before its start nobody knows its nodes: it starts only if it might have the largest ones that suit it
 * (cluster_most_cpus).
 */
struct charge {
	int64_t cpus, gpus, memory, nodes; /* memory: KiB */
};

static inline struct charge charge_of(const struct request *r, int64_t cpus)
{
	return (struct charge){cpus, r->total.v[RES_GPU], r->total.v[RES_MEM], (int64_t)r->nfrags};
}

/* Returns the most CPUs that a job with this request can have on a set of nodes. */
int64_t cluster_most_cpus(struct cluster *c, uint32_t request, uint32_t allowed);

static inline bool node_divided(const struct node *n)
{
	return n->total.v[RES_SHARE] > 0;
}

/* CPUs that it has, whole or divided. */
static inline int64_t node_cpus(const struct node *n)
{
	return node_divided(n) ? n->total.v[RES_SHARE] / SHARE_CPU : n->total.v[RES_CPU];
}

/* The set of the nodes with has[node], and of those from `n` on if `rest`; the caller frees its words. */
struct nodeset nodeset_make(const bool *has, uint32_t n, bool rest);
/* The same, interned as requests are. */
uint32_t cluster_nodeset(struct cluster *c, const bool *has, uint32_t n, bool rest);

/* Those that are in both of two sets. */
uint32_t cluster_nodeset_both(struct cluster *c, uint32_t a, uint32_t b);

static inline bool nodeset_has(const struct nodeset *s, uint32_t node)
{
	return node / 64 < s->nwords ? s->word[node / 64] >> node % 64 & 1 : s->rest;
}

/* The CPUs that fragment i of a request has on nodes[i]: those it asks for; with whole nodes the last fragment on a node has all
 * that the job's others leave there. */
int64_t cluster_frag_cpus(const struct cluster *c, const struct request *r, const int32_t *nodes, uint32_t i);

/* A new job in STATE_NEW, numbered in sequence. Pointers stay valid. */
struct job *cluster_add_job(struct cluster *c);

#define JOBS_PER_PAGE 4096

static inline struct job *cluster_job(const struct cluster *c, uint32_t id)
{
	return &c->pages.v[id / JOBS_PER_PAGE][id % JOBS_PER_PAGE];
}

static inline const struct request *cluster_job_request(const struct cluster *c, const struct job *job)
{
	return &c->requests.v[job->request];
}

/* The nodes that a job may use; NULL: all of them. Valid until another set is made. */
static inline const struct nodeset *cluster_job_nodes(const struct cluster *c, const struct job *job)
{
	return job->allowed == NODES_ALL ? NULL : &c->nodesets.v[job->allowed];
}

/* Seconds from its start until a job is ended, if it does not end by itself before. */
static inline int64_t cluster_run(const struct cluster *c, const struct job *job)
{
	return job->starting + job->walltime + c->settings.tolerance;
}

/* Seconds that a job holds its place in the plan: until it is ended, and what its end may take then. */
static inline int64_t cluster_length(const struct cluster *c, const struct job *job)
{
	return cluster_run(c, job) + job->ending;
}

/* The latest start at which a job meets its deadline, whatever it does. */
static inline int64_t cluster_latest(const struct cluster *c, const struct job *job)
{
	return job->deadline - cluster_run(c, job);
}

/* Instant until which a place that meets the deadline may last: a job is ended by then, though its end takes longer. */
static inline int64_t cluster_until(const struct job *job)
{
	return job->deadline + job->ending;
}

/* Seconds of what it asks for that its account pays for, at most. */
static inline int64_t cluster_paid(const struct cluster *c, const struct job *job)
{
	return job->has_price ? job->priced : job->walltime + c->settings.tolerance;
}

/* What the account of a job that has these CPUs pays for. A price that was agreed is for what the job asks for. */
static inline struct charge cluster_paid_for(const struct cluster *c, const struct job *job, int64_t cpus)
{
	const struct request *r = cluster_job_request(c, job);

	return charge_of(r, job->has_price ? request_cpus(r) : cpus);
}

/* It runs only in settings.nights; ... and is longer than any of them: then it is stopped at their end, and goes on in the next. */
static inline bool cluster_nightly(const struct cluster *c, const struct job *job)
{
	return c->settings.nights.n && job->saving > c->settings.long_saving;
}
bool cluster_nights_short(const struct cluster *c, const struct job *job);
/* When the place of a job ends that starts at an instant. */
int64_t cluster_end(const struct cluster *c, const struct job *job, int64_t start);

/* Walltime x (CPUs of free fragments + FF x CPUs of fixed ones). */
double cluster_weight(const struct cluster *c, const struct job *job);

/* A starving job that QoS jobs may no longer deallocate. */
static inline bool cluster_critical(const struct cluster *c, const struct job *job)
{
	return job->kind == KIND_STARVING && job->deallocations >= c->settings.max_deallocations;
}

#endif
