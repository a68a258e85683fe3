/*
 * cluster.h - the scheduler's complete view of the cluster: nodes, requests, jobs and settings.
 *
 * Requests are interned: equal requests share one `struct request`, and equal fragments share one
 * `struct shape`. A burst of a thousand equal jobs costs one request, and nodes are scanned once
 * per shape rather than once per fragment.
 */
#ifndef CORE_CLUSTER_H
#define CORE_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hours.h"
#include "base/map.h"
#include "base/names.h"
#include "base/rows.h"
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
	uint32_t name; /* index in cluster.node_names; equals the node's index */
	struct res total;
	uint32_t features; /* feature set, an index in cluster.features */
	/* next node on the same machine or in the same partition, in a ring; itself if alone */
	int32_t peer;
	uint32_t ring;	    /* id shared by all nodes of one ring */
	uint32_t partition; /* PARTITION_NONE, or the partition's index plus one */
	uint32_t speed;	    /* speed in thousandths of a standard node's (speed.h) */
	uint32_t leaf;	    /* the node's switch: index into topology.leaf plus one; 0: unknown */
	bool up;
	/* workstations only: hours (UTC) in which the owner usually uses it, or NULL. Borrowed */
	const struct habit *habit;
};

/* The needs of one fragment on its node. */
struct shape {
	struct res need;
	uint32_t features; /* required feature set, an index in cluster.features */
	bool exclusive;	   /* no other fragment of the same job on this node */
	uint8_t whole;	   /* enum wholeness; the same for all fragments of a job */
	/* CPUs requested, if the job gets a share of a node's CPUs instead; else 0 */
	int64_t divided;
	uint64_t hash; /* key in cluster.shape_index */
	uint32_t held; /* number of trials that hold the shape; 0: permanent */
};

struct frag {
	uint32_t shape;
	int32_t node; /* NODE_ANY, or the node the request names (a fixed fragment) */
};

/* A site-wide resource that jobs use wherever they run, such as software licences. */
struct amount {
	int64_t total;
	int64_t elsewhere; /* units used by others than our jobs; may exceed `total` */
};

#define AMOUNTS_MAX 64

/* The part of a site-wide resource that one job takes. */
struct portion {
	uint32_t amount; /* index in cluster.amounts */
	int64_t count;	 /* at least 1 */
};

/* Fragments are in placing order: fixed ones first, then free ones by CPUs, smallest first. */
struct request {
	struct frag *frag;
	uint32_t nfrags;
	uint32_t nfixed;
	bool uniform;	   /* all fragments are free and have the same shape */
	bool apart;	   /* some fragment is exclusive */
	uint8_t whole;	   /* enum wholeness */
	struct res total;  /* sum over all fragments; with `whole`, the least the job holds */
	int64_t divided;   /* sum of `divided` over all fragments */
	int64_t cpus_free; /* CPUs of free and of fixed fragments, for cluster_weight() */
	int64_t cpus_fixed;
	struct portion *portion; /* site-wide resources, ascending by `amount` */
	uint32_t nportions;
	uint32_t held; /* number of trials that hold the request; 0: permanent */
	uint64_t hash; /* key in cluster.request_index */
	struct {
		uint64_t nodes_version;
		uint32_t allowed;
		int64_t cpus;
	} most; /* last result of cluster_most_cpus() and its arguments */
};

/* Objects interned only to test whether a job would be accepted, or when it would start
 * (base/trial.h). */
struct cluster_trial {
	trial_vec shapes, requests, features;
};

/* Set of nodes a job may use. `rest` says whether nodes beyond the last word are members,
 * including nodes added later. */
struct nodeset {
	uint64_t *word; /* bit i % 64 of word[i / 64] stands for node i */
	uint32_t nwords;
	bool rest;
};

#define NODES_ALL 0		 /* set of all nodes, including nodes added later */
#define KEYS_NONE 0		 /* empty set of keys; a job's keys are stored as a nodeset */
#define BOUND_NOWHERE UINT32_MAX /* value of job.bound for a reservation the job may not use */

struct settings {
	int64_t tolerance;   /* seconds added to every walltime in the plan */
	double fixed_factor; /* FF >= 1: weight of a fixed CPU relative to a free one */
	/* seconds; TIME_NEVER: no job starves; STARVE_AUTO: the policy sets due dates */
	int64_t starve_after;
	/* number of times QoS jobs may deallocate a starving job before it is critical */
	int max_deallocations;
	bool interactive_breaks; /* interactive jobs may break guaranteed deadlines */
	/* policy artaras: jobs whose checkpoints take longer than this, in seconds, run only in
	 * `nights` */
	int64_t long_saving;
	/* policy artaras: hours for jobs with long checkpoints; empty: any time */
	struct hours nights;
	/* policy artaras: seconds a job keeps its partition while others wait for it; 0: until
	 * it ends */
	int64_t time_slice;
	int64_t migrate_cost; /* seconds it takes to move a running job; < 0: never move */
	/* number of waiting jobs that may hold reservations at once, for policies that reserve
	 * for all jobs; 0: no limit */
	int64_t reserve_depth;
};

void settings_default(struct settings *s);

struct cluster {
	struct names node_names, feature_names, user_names, partition_names;
	struct features features;  /* sets over feature_names */
	struct names res_names;	   /* names of dimensions RES_NAMED and up */
	struct names amount_names; /* names of `amounts` */
	/* names of reservations; a reservation's id (job.bound) is its index here plus 1 */
	struct names reservation_names;
	VEC(struct node) nodes;
	/* incremented when a node is added or changes its size or features */
	uint64_t nodes_version;
	VEC(struct partition) partitions;
	VEC(struct shape) shapes;
	VEC(struct request) requests;
	VEC(struct nodeset) nodesets;
	VEC(struct amount) amounts;
	trial_vec spare_shapes, spare_requests; /* indexes of removed entries, for reuse */
	uint64_t trials;			/* number of requests removed */
	/* trial that holds new entries; NULL: new entries are permanent */
	struct cluster_trial *trial;
	struct map shape_index, request_index, nodeset_index; /* hash -> id + 1, chained by re-hashing */
	struct rows jobs;				      /* struct job, by id */
	int nres;					      /* number of dimensions in use */
	struct res total;				      /* sum over the nodes that are up */
	struct res coming; /* largest node that may be borrowed from elsewhere; no CPUs: none may */
	struct settings settings;
	bool habits; /* some node has a habit (node.habit) */
	/* switch tree used to place a job's nodes close together; NULL: not used */
	struct topology *topology;
};

struct cluster *cluster_create(void);
void cluster_destroy(struct cluster *c);

/* Adds a node; -EEXIST if the name is taken. Nodes must be added before the plan is made. */
int cluster_add_node(struct cluster *c, const char *name, const struct res *total, struct err *err);
/* Takes ownership of a switch tree, which also applies to nodes added later. NULL removes the
 * tree. */
void cluster_set_topology(struct cluster *c, struct topology *t);
/* Adds a feature to a node; -ENOSPC if the cluster already has FEATURES_MAX features. */
int cluster_add_feature(struct cluster *c, uint32_t node, const char *feature, struct err *err);
void cluster_drop_features(struct cluster *c, uint32_t node);
/* Declares that the nodes with has[node] are on one machine: joins them into one ring, in index
 * order. Call before the plan is made. */
void cluster_make_ring(struct cluster *c, const bool *has);
/* Changes a node's size. Plans made earlier do not see the change. */
void cluster_resize_node(struct cluster *c, uint32_t node, const struct res *total);
/* Starts counting the dimensions that are nonzero in `r`. Plans made earlier do not see them
 * (plan_widen). */
void cluster_count(struct cluster *c, const struct res *r);
/* Returns the dimension of a named resource, creating it if new; -ENOSPC if all RES_MAX are
 * taken. */
int cluster_resource(struct cluster *c, const char *name, struct err *err);

/* Returns the index of a site-wide resource, creating it with a total of 0 if new. -ENOSPC:
 * AMOUNTS_MAX others exist. -EEXIST: nodes have a resource of that name. Plans made earlier do
 * not see a new one (plan_set_amount). */
int cluster_amount(struct cluster *c, const char *name, struct err *err);
/* Looks up a site-wide resource by name, ignoring case. */
bool cluster_find_amount(const struct cluster *c, const char *name, uint32_t *ret);

/* Interns the request that a text describes. -EINVAL if it names an unknown node, feature or
 * resource or needs more than any node has; the message says which and what is available. */
int cluster_request(struct cluster *c, const struct reqtext *text, uint32_t *ret, struct err *err);
/* Stores, for each fragment in placing order, the index of the chunk it comes from; -1 if it
 * stands for all chunks (place=pack). -EINVAL if the text does not belong to this request. */
int cluster_request_chunks(const struct cluster *c, const struct reqtext *text, const struct request *r, int *ret);
/* Interns a request for `procs` CPUs, cut into whole nodes of the largest size and a remainder. */
int cluster_request_procs(struct cluster *c, int64_t procs, uint32_t *ret, struct err *err);
/* Ends a trial and empties it. No job may use entries that the trial gives back. */
void cluster_trial_end(struct cluster *c, struct cluster_trial *t, bool keep);
/* Sorts the given fragments into placing order and interns them as a request. */
uint32_t cluster_intern(struct cluster *c, struct frag *frag, uint32_t nfrags);
/* Returns how much of a site-wide resource a request takes; 0 if none. */
int64_t request_portion(const struct request *r, uint32_t amount);
/* Returns true if both take some of the same site-wide resource. */
bool requests_share(const struct request *a, const struct request *b);
/* Interns a shape and starts counting the dimensions it needs (cluster_count). */
uint32_t cluster_shape(struct cluster *c, const struct shape *shape);
/* Interns the same fragments with another `whole`. */
uint32_t cluster_request_whole(struct cluster *c, uint32_t request, enum wholeness whole);

/* Interns the same request with a share of a node's CPUs, in thousandths of one CPU, instead of
 * whole CPUs. Returns UINT32_MAX unless the request is a single fragment that names no node and
 * shares its node with other jobs. */
uint32_t cluster_request_divided(struct cluster *c, uint32_t request, int64_t share);

/* Returns the CPUs requested, including those given as shares. */
static inline int64_t request_cpus(const struct request *r)
{
	return r->total.v[RES_CPU] + r->divided;
}

/*
 * Resources that limits, credits, accounting, history and the ledger charge a job for, per second
 * it runs: those it requested, except that a job with whole nodes is charged for all CPUs of its
 * nodes once it has started. Before the start its nodes are unknown, so it starts only if it could
 * be charged for the largest suitable ones (cluster_most_cpus).
 */
struct charge {
	int64_t cpus, gpus, memory, nodes; /* memory in KiB */
};

static inline struct charge charge_of(const struct request *r, int64_t cpus)
{
	return (struct charge){cpus, r->total.v[RES_GPU], r->total.v[RES_MEM], (int64_t)r->nfrags};
}

/* Returns the most CPUs that a job with this request can get on a set of nodes. */
int64_t cluster_most_cpus(struct cluster *c, uint32_t request, uint32_t allowed);

static inline bool node_divided(const struct node *n)
{
	return n->total.v[RES_SHARE] > 0;
}

/* Returns the node's CPUs, whole or divided. */
static inline int64_t node_cpus(const struct node *n)
{
	return node_divided(n) ? n->total.v[RES_SHARE] / SHARE_CPU : n->total.v[RES_CPU];
}

/* Makes the set of nodes with has[node], plus all nodes from `n` on if `rest`. The caller frees
 * `word`. */
struct nodeset nodeset_make(const bool *has, uint32_t n, bool rest);
/* Interns the set that nodeset_make() returns. */
uint32_t cluster_nodeset(struct cluster *c, const bool *has, uint32_t n, bool rest);

/* Interns the intersection of two sets. */
uint32_t cluster_nodeset_both(struct cluster *c, uint32_t a, uint32_t b);

static inline bool nodeset_has(const struct nodeset *s, uint32_t node)
{
	return node / 64 < s->nwords ? s->word[node / 64] >> node % 64 & 1 : s->rest;
}

/* Returns the CPUs that fragment i gets on nodes[i]: those requested or, with whole nodes, for
 * the job's last fragment on a node, all that its other fragments leave. */
int64_t cluster_frag_cpus(const struct cluster *c, const struct request *r, const int32_t *nodes, uint32_t i);

/* Adds a job in STATE_NEW; ids are consecutive. The pointer stays valid until the job is
 * released. */
struct job *cluster_add_job(struct cluster *c);

/* Frees the jobs of the job's page (base/rows.h), which have ended and are forgotten. */
void cluster_release_jobs(struct cluster *c, uint32_t id);

static inline struct job *cluster_job(const struct cluster *c, uint32_t id)
{
	return rows_at(&c->jobs, id, sizeof(struct job));
}

static inline const struct request *cluster_job_request(const struct cluster *c, const struct job *job)
{
	return &c->requests.v[job->request];
}

/* Returns the nodes a job may use; NULL: all. Valid until another set is made. */
static inline const struct nodeset *cluster_job_nodes(const struct cluster *c, const struct job *job)
{
	return job->allowed == NODES_ALL ? NULL : &c->nodesets.v[job->allowed];
}

/* Returns the seconds from a job's start until it is ended, unless it ends by itself before. */
static inline int64_t cluster_run(const struct cluster *c, const struct job *job)
{
	return job->starting + job->walltime + c->settings.tolerance;
}

/* Returns the seconds a job occupies in the plan: until it is ended, plus the time its end may
 * take. */
static inline int64_t cluster_length(const struct cluster *c, const struct job *job)
{
	return cluster_run(c, job) + job->ending;
}

/* Returns the latest start at which the job is certain to meet its deadline. */
static inline int64_t cluster_latest(const struct cluster *c, const struct job *job)
{
	return job->deadline - cluster_run(c, job);
}

/* Returns the instant until which a slot that meets the deadline may extend. The job is ended by
 * the deadline, but its end may take longer. */
static inline int64_t cluster_until(const struct job *job)
{
	return job->deadline + job->ending;
}

/* Returns the most seconds that the job's account pays for. */
static inline int64_t cluster_paid(const struct cluster *c, const struct job *job)
{
	return job->has_price ? job->priced : job->walltime + c->settings.tolerance;
}

/* Returns what the account of a job with these CPUs pays for. An agreed price covers what the
 * job requested. */
static inline struct charge cluster_paid_for(const struct cluster *c, const struct job *job, int64_t cpus)
{
	const struct request *r = cluster_job_request(c, job);

	return charge_of(r, job->has_price ? request_cpus(r) : cpus);
}

/* Returns true if the job runs only in settings.nights. cluster_nights_short() returns true if
 * it is also longer than any night: it is then stopped when a night ends and continues in the
 * next. */
static inline bool cluster_nightly(const struct cluster *c, const struct job *job)
{
	return c->settings.nights.n && job->saving > c->settings.long_saving;
}
bool cluster_nights_short(const struct cluster *c, const struct job *job);
/* Returns when the job's slot ends if it starts at `start`. */
int64_t cluster_end(const struct cluster *c, const struct job *job, int64_t start);

/* Returns walltime x (CPUs of free fragments + FF x CPUs of fixed ones). */
double cluster_weight(const struct cluster *c, const struct job *job);

/* Returns true for a starving job that QoS jobs may no longer deallocate. */
static inline bool cluster_critical(const struct cluster *c, const struct job *job)
{
	return job->kind == KIND_STARVING && job->deallocations >= c->settings.max_deallocations;
}

#endif
