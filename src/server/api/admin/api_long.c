/*
 * api_long.c - answers that take long to compose, in slices (work.h): the plan and the log.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/jobid.h"
#include "core/res.h"
#include "net/http.h"
#include "plan/plan.h"
#include "sched/sched.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/book/accounting.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/coordinators.h"
#include "server/site/who.h"

#define LINES 64	   /* lines of the log read in one step */
#define PIECES 16	   /* pieces of the plan written in one step */
#define KEPT_MOST 8	   /* maximum reservations shown for a node */
#define LOG_MAX (8u << 20) /* maximum bytes of matching lines */

/* ---- the plan ---- */

struct plan_piece {
	uint32_t job, node;
	int64_t cpus, start, end, until;
	const char *state;
	bool held; /* a node of its partition or machine on which it has no fragment */
};

/* Answer with the plan. All its pieces are of one instant. */
struct plan_work {
	struct work work;
	struct http_request *r;
	struct asker who;
	VEC(struct plan_piece) pieces;
	uint32_t node; /* first node not yet written */
	size_t at;     /* index of the first piece not yet written */
	int64_t now, foreseen;
	struct strbuf out;
	struct json j;
};

struct piece_shown {
	const char *job, *name, *owner, *node;
	struct plan_piece x;
	int64_t deadline;
};

static const struct schema piece = {FIELDS(
	{"job", .is = REQUIRED | IS_TEXT | IS_NULL, "null: of a job that the user may not see", .example = "12.host",
	 MEMBER(struct piece_shown, job)},
	{"name", .is = REQUIRED | IS_TEXT | IS_NULL, MEMBER(struct piece_shown, name)},
	{"owner", .is = REQUIRED | IS_TEXT | IS_NULL, MEMBER(struct piece_shown, owner)},
	{"node", .is = REQUIRED | IS_TEXT, MEMBER(struct piece_shown, node)},
	{"cpus", .is = REQUIRED | IS_INT, "that no other job can have; of a node that the job has to itself, all",
	 MEMBER(struct piece_shown, x.cpus)},
	{"start", .is = REQUIRED | IS_INSTANT, MEMBER(struct piece_shown, x.start)},
	{"end", .is = REQUIRED | IS_INSTANT, "when the job is ended at the latest", MEMBER(struct piece_shown, x.end)},
	{"until", .is = REQUIRED | IS_INSTANT, "when its CPUs are free: ending it may take that long",
	 MEMBER(struct piece_shown, x.until)},
	{"state", .is = REQUIRED | IS_TEXT, .words = "running|reserved|guaranteed|expected",
	 MEMBER(struct piece_shown, x.state)},
	{"held", .is = SPARSE | IS_BOOL,
	 "true: the job has no process on this node, which belongs to a partition or machine that it has to itself",
	 MEMBER(struct piece_shown, x.held)},
	{"deadline", .is = IS_INSTANT, MEMBER(struct piece_shown, deadline)})};

static void piece_show(const struct server *s, const struct asker *w, struct json *j, const struct plan_piece *x)
{
	const struct spec *p = entry_get(s, x->job)->spec;
	struct piece_shown shown = {.node = names_get(&s->cluster->node_names, x->node), .x = *x};
	struct strbuf id = {0};

	if (p && may_see(s, w, p)) {
		entry_id(s, x->job, &id);
		shown.job = id.text;
		shown.name = p->name;
		shown.owner = word_text(s, p->owner);
		shown.deadline = entry_job(s, x->job)->deadline;
	}
	schema_show(&piece, NULL, &shown, NULL, j);
	strbuf_fini(&id);
}

static int64_t piece_cpus(const struct server *s, const struct piece *x)
{
	const struct request *r = cluster_job_request(s->cluster, entry_job(s, x->job));
	int64_t cpus = s->cluster->shapes.v[x->shape].need.v[RES_CPU];

	if (x->whole && plan_hold(s->plan, x->job)->placed == r->nfrags) {
		int32_t *nodes = mem_alloc(r->nfrags * sizeof *nodes);
		plan_nodes(s->plan, x->job, nodes);
		cpus = cluster_frag_cpus(s->cluster, r, nodes, x->frag);
		free(nodes);
	}
	return cpus;
}

/* Adds the other nodes of machines that a job has to itself. `x`: one of its pieces; `mark`: a zero
 * byte for each node, and zeros again on return. */
static void held_add(const struct server *s, struct plan_work *w, struct plan_piece x, const int32_t *nodes, size_t n,
		     char *mark)
{
	enum { USED = 1, SEEN };
	const struct node *all = s->cluster->nodes.v;

	x.held = true;
	for (size_t i = 0; i < n; i++)
		mark[nodes[i]] = USED;
	for (size_t i = 0; i < n; i++)
		for (int32_t k = nodes[i]; mark[k] != SEEN; k = all[k].peer) {
			x.node = (uint32_t)k;
			x.cpus = node_cpus(&all[k]);
			if (mark[k] != USED)
				vec_push(&w->pieces, x);
			mark[k] = SEEN;
		}
	for (size_t i = 0; i < n; i++)
		for (int32_t k = nodes[i]; mark[k]; k = all[k].peer)
			mark[k] = 0;
}

static bool has_machines(const struct server *s, uint32_t job)
{
	return cluster_job_request(s->cluster, entry_job(s, job))->whole == WHOLE_HOST;
}

/* Adds the other nodes a job holds. The plan is traversed by node; they follow the job's first
 * fragment, which is the last piece so far. */
static void placed_held(const struct server *s, struct plan_work *w, const struct piece *x, char *mark)
{
	const struct hold *h = plan_hold(s->plan, x->job);
	int32_t *nodes;

	if (x->frag != 0 || !has_machines(s, x->job) || h->placed != h->nfrags)
		return;
	nodes = mem_alloc(h->nfrags * sizeof *nodes);
	plan_nodes(s->plan, x->job, nodes);
	held_add(s, w, w->pieces.v[w->pieces.n - 1], nodes, h->nfrags, mark);
	free(nodes);
}

/* Collects the places where displaced jobs continue later. */
static void restarts_collect(const struct server *s, struct plan_work *w, uint32_t node)
{
	const booking_vec *v = s->plan->node[node].bookings;

	for (size_t i = 0; v && i < v->n; i++)
		if (v->v[i].owner.kind == OWNER_RESTART)
			vec_push(&w->pieces,
				 (struct plan_piece){v->v[i].owner.id, node, node_cpus(&s->cluster->nodes.v[node]),
						     v->v[i].start, v->v[i].end, v->v[i].end, "reserved", false});
}

/* Returns the latest time at which the job is ended. The plan also covers what ending it takes, but
 * that is not shown as the job's. */
static int64_t shown_end(const struct server *s, const struct piece *x, const struct job *job)
{
	int64_t end = (x->running ? job->start : x->start) + cluster_run(s->cluster, job);

	return end > s->clock->now && x->end > end && x->end - end <= job->ending ? end : x->end;
}

static void placed_collect(const struct server *s, struct plan_work *w, char *mark)
{
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		restarts_collect(s, w, i);
		for (size_t k = 0; k < s->plan->node[i].pieces.n; k++) {
			const struct piece *x = &s->plan->node[i].pieces.v[k];
			const struct job *job = entry_job(s, x->job);
			if (job->state == STATE_CANDIDATE)
				continue; /* its place is not promised; the forecast shows it */
			vec_push(&w->pieces,
				 (struct plan_piece){x->job, i, piece_cpus(s, x), x->running ? job->start : x->start,
						     shown_end(s, x, job), x->end,
						     x->running	       ? "running"
						     : job->guaranteed ? "guaranteed"
								       : "reserved",
						     false});
			placed_held(s, w, x, mark);
		}
	}
}

/* Collects predicted pieces. Those of one job are adjacent. */
static void foreseen_collect(const struct server *s, struct plan_work *w, char *mark)
{
	const foreseen_pieces *all = &s->outlook->pieces;
	VEC(int32_t) nodes = {0};

	for (size_t i = 0; i < all->n; i++) {
		const struct foreseen_piece *x = &all->v[i];
		struct plan_piece p = {x->job, x->node, x->cpus, x->start, x->end, x->end, "expected", false};
		if (!entry_get(s, x->job)->spec || entry_job(s, x->job)->state != STATE_CANDIDATE)
			continue;
		vec_push(&w->pieces, p);
		vec_push(&nodes, (int32_t)x->node);
		if (i + 1 < all->n && all->v[i + 1].job == x->job)
			continue;
		if (has_machines(s, x->job))
			held_add(s, w, p, nodes.v, nodes.n, mark);
		vec_clear(&nodes);
	}
	vec_free(&nodes);
}

static void pieces_collect(const struct server *s, struct plan_work *w)
{
	char *mark = mem_zalloc(s->cluster->nodes.n + 1);

	placed_collect(s, w, mark);
	foreseen_collect(s, w, mark);
	free(mark);
}

/* Argument of the getters in this file: a node. */
struct subject {
	const struct server *s;
	uint32_t node;
};

struct kept {
	const char *name;
	int64_t start, end;
};

static const struct schema kept = {FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct kept, name)},
					  {"start", .is = REQUIRED | IS_INSTANT, MEMBER(struct kept, start)},
					  {"end", .is = REQUIRED | IS_INSTANT | IS_NULL, MEMBER(struct kept, end)})};

/* Writes the next reservations that apply to a node. */
static void kept_inside(const struct subject *x, struct json *j)
{
	const struct server *s = x->s;
	const fence_vec *v = s->plan->node[x->node].fences;
	int n = 0;

	for (size_t i = 0; v && i < v->n && n < KEPT_MOST; i++) {
		const struct fence *f = &v->v[i];
		if (f->end <= s->clock->now)
			continue;
		n++;
		schema_show(&kept, NULL,
			    &(struct kept){names_get(&s->cluster->reservation_names, f->id - 1), f->start, f->end},
			    NULL, j);
	}
}

struct node_shown {
	struct subject x;
	const char *name, *partition;
	int64_t cpus, drain_at;
	bool up;
};

static const struct schema plan_node = {FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct node_shown, name)},
					       {"cpus", .is = REQUIRED | IS_INT, MEMBER(struct node_shown, cpus)},
					       {"up", .is = REQUIRED | IS_BOOL, MEMBER(struct node_shown, up)},
					       {"drain_at", .is = IS_INSTANT, MEMBER(struct node_shown, drain_at)},
					       {"partition", .is = IS_TEXT, MEMBER(struct node_shown, partition)},
					       {"reservations", .is = IS_LIST, "the next that hold there, at most 8",
						.of = &kept, .item = IS_OBJECT, .inside = kept_inside})};

/* plan_step() writes the members of the whole in slices. */
const struct schema plan_answer = {FIELDS(
	{"now", .is = REQUIRED | IS_INSTANT}, {"nodes", .is = REQUIRED | IS_LIST, .of = &plan_node, .item = IS_OBJECT},
	{"pieces", .is = REQUIRED | IS_LIST, .of = &piece, .item = IS_OBJECT},
	{"foreseen", .is = REQUIRED | IS_INT, "when the forecast of the expected ones was made; 0: none yet"})};

static void node_write(const struct server *s, struct json *j, uint32_t node)
{
	const struct cluster *c = s->cluster;
	uint32_t partition = c->nodes.v[node].partition;

	if (world_node_past(s, node))
		return;
	schema_show(
		&plan_node, NULL,
		&(struct node_shown){
			.x = {s, node},
			.name = names_get(&c->node_names, node),
			.cpus = node_cpus(&c->nodes.v[node]),
			.up = sched_node_open(s->sched, node),
			.drain_at = s->hosts->nodes.v[node].life.at,
			.partition = partition == PARTITION_NONE ? NULL : names_get(&c->partition_names, partition - 1),
		},
		NULL, j);
}

static void plan_free(struct plan_work *w)
{
	vec_free(&w->pieces);
	strbuf_fini(&w->out);
	free(w);
}

static bool plan_step(struct server *s, struct work *work)
{
	struct plan_work *w = (struct plan_work *)work;

	if (w->node < s->plan->nnodes) {
		for (int i = 0; i < PIECES && w->node < s->plan->nnodes; i++)
			node_write(s, &w->j, w->node++);
		if (w->node == s->plan->nnodes) {
			json_close_array(&w->j);
			json_open_array(&w->j, "pieces");
		}
		return true;
	}
	for (int i = 0; i < PIECES && w->at < w->pieces.n; i++) {
		piece_show(s, &w->who, &w->j, &w->pieces.v[w->at++]);
	}
	if (w->at < w->pieces.n)
		return true;
	json_close_array(&w->j);
	json_int(&w->j, "foreseen", w->foreseen);
	json_close_object(&w->j);
	http_reply_strbuf(w->r, 200, "application/json", &w->out);
	plan_free(w);
	return false;
}

static void plan_stop(struct server *s, struct work *work, const char *why)
{
	struct plan_work *w = (struct plan_work *)work;

	http_error(w->r, CODE_UNAVAILABLE, "The plan could not be put together (%s). Try again later.", why);
	plan_free(w);
}

void api_plan(struct server *s, const struct call *c)
{
	static const struct work_kind kind = {.step = plan_step, .stop = plan_stop, .reads = true};
	struct plan_work *w = mem_zalloc(sizeof *w);

	foresee_update(s);
	w->r = c->r;
	w->who = *c->w;
	w->foreseen = foresee_last(s);
	pieces_collect(s, w);
	json_begin(&w->j, &w->out);
	json_int(&w->j, "now", s->clock->now);
	json_open_array(&w->j, "nodes");
	if (s->plan->nnodes == 0) {
		json_close_array(&w->j);
		json_open_array(&w->j, "pieces");
	}
	work_add(s, &w->work, &kind);
}

/* ---- the log ---- */

struct log_work {
	struct work work;
	struct http_request *r;
	struct accounting_reader *reader;
	struct jobid id; /* where `named`; else lines of all jobs */
	bool named;
	struct asker who;
	bool all; /* the client may see jobs of all users */
	struct strbuf out;
};

/* Returns the value of "KEY=" in a line; "" if missing. */
static const char *line_value(const char *line, const char *key, char *ret, size_t size)
{
	const char *at = strstr(line, key);

	snprintf(ret, size, "%.*s", at ? (int)strcspn(at + strlen(key), " \n") : 0, at ? at + strlen(key) : "");
	return ret;
}

/* Returns true if a line is about the job, one of the elements, or anything of the array. */
static bool line_names(const char *line, const struct jobid *wanted)
{
	const char *at = strchr(line, ';');
	struct jobid id;
	char text[128];
	bool found;

	at = at ? strchr(at + 1, ';') : NULL;
	snprintf(text, sizeof text, "%.*s", at ? (int)strcspn(at + 1, ";") : 0, at ? at + 1 : "");
	if (strtoull(text, NULL, 10) != wanted->number || jobid_parse(text, &id, NULL) < 0)
		return false;
	found = wanted->kind == JOBID_ELEMENT ? id.index == wanted->index
		: wanted->kind == JOBID_SOME  ? array_has(&wanted->some, id.index)
					      : true;
	jobid_fini(&id);
	return found;
}

static bool line_fits(const struct server *s, const struct log_work *w, const char *line)
{
	char value[300];
	uint32_t known;

	if (w->named && !line_names(line, &w->id))
		return false;
	if (w->all || strcmp(line_value(line, "user=", value, sizeof value), w->who.user) == 0)
		return true;
	line_value(line, "queue=", value, sizeof value);
	if (*value && names_find(s->words, value, &known) && coordinates_queue(s, w->who.party, known))
		return true;
	line_value(line, "account=", value, sizeof value);
	return *value && names_find(s->words, value, &known) && coordinates_account(s, w->who.party, known);
}

static void log_free(struct log_work *w)
{
	accounting_close_days(w->reader);
	jobid_fini(&w->id);
	strbuf_fini(&w->out);
	free(w);
}

static bool log_step(struct server *s, struct work *work)
{
	struct log_work *w = (struct log_work *)work;
	bool more = true;
	char *line;

	for (int i = 0; i < LINES && more; i++) {
		more = accounting_next(w->reader, &line, NULL) == 1 && w->out.n < LOG_MAX;
		if (more && line && line_fits(s, w, line))
			strbuf_printf(&w->out, "%s\n", line);
	}
	if (more)
		return true;
	http_reply_strbuf(w->r, 200, "text/plain; charset=utf-8", &w->out);
	log_free(w);
	return false;
}

static void log_stop(struct server *s, struct work *work, const char *why)
{
	struct log_work *w = (struct log_work *)work;

	http_error(w->r, CODE_UNAVAILABLE, "The log could not be read (%s). Try again later.", why);
	log_free(w);
}

void api_log(struct server *s, const struct call *c)
{
	static const struct work_kind kind = {.step = log_step, .stop = log_stop, .reads = true};
	const char *job = request_query(c->r, "job");
	struct log_work *w;
	struct jobid id = {0};
	char dir[4096];
	int64_t days = query_number(c, "days", 1);
	struct err err;

	if (job && jobid_parse(job, &id, &err) < 0 && !strchr(job, ':')) { /* not slurm:12: that one has no lines */
		api_refuse(c->r, &err);
		return;
	}
	w = mem_zalloc(sizeof *w);
	w->r = c->r;
	w->id = id;
	w->named = job;
	w->who = *c->w;
	w->all = c->w->role >= ROLE_OPERATOR;
	snprintf(dir, sizeof dir, "%s/accounting", s->instance->where.state);
	w->reader = accounting_open_days(*s->conf->accounting ? s->conf->accounting : dir, s->clock->now - days * 86400,
					 s->clock->now);
	work_add(s, &w->work, &kind);
}
