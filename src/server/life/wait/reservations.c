/*
 * reservations.c - see reservations.h.
 */
#include "server/life/wait/reservations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "plan/plan.h"
#include "rules/reservation.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/reserved.h"
#include "server/job/spec.h"
#include "server/life/state.h"
#include "server/life/wait/foresee.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "store/store.h"

#define NAMED_MOST 5 /* maximum jobs an error names */

/* ---- keys ---- */

/* Collects the job numbers in access lists: the keys of these jobs are computed one by one. */
static void numbers_named(const struct server *s, struct map *ret)
{
	for (size_t i = 0; i < s->objects->of[OBJECT_RESERVATION].n; i++) {
		const char *list = attrs_text(&s->objects->of[OBJECT_RESERVATION].v[i]->attrs, SET_ACL_JOBS);
		for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
			map_set(ret, strtoull(p, NULL, 10), 1);
	}
}

/* Returns a hash of owner, host, group, account, queue and QoS: jobs with the same ones have the
 * same keys. */
static uint64_t party_hash(const struct spec *p)
{
	uint32_t words[] = {p->owner, p->host, p->group, p->account, p->queue, p->qos};

	return hash_bytes(words, sizeof words) | 1;
}

uint32_t *keys_now(struct server *s)
{
	uint32_t *ret = calloc(s->jobs->entries.n + 1, sizeof *ret);
	struct map named = {0}, known = {0};
	uint64_t keys, any;

	numbers_named(s, &named);
	JOBS_EACH(s, id) {
		const struct spec *p = entry_get(s, id)->spec;
		if (!p || entry_ended(s, id))
			continue;
		uint64_t number = job_key_number(entry_get(s, id)->key), hash = party_hash(p);
		bool own = map_get(&named, number, &any);
		if (own || !map_get(&known, hash, &keys)) {
			keys = reserved_keys(s, p, number);
			if (!own)
				map_set(&known, hash, keys);
		}
		ret[id] = (uint32_t)keys;
	}
	map_fini(&named);
	map_fini(&known);
	return ret;
}

static void keys_give(struct server *s)
{
	uint32_t *keys = keys_now(s);

	JOBS_EACH(s, id) {
		const struct spec *p = entry_get(s, id)->spec;
		if (p && !entry_ended(s, id))
			sched_keys(s->sched, id, keys[id], reserved_bound(s, p, job_key_number(entry_get(s, id)->key)),
				   s->clock->now);
	}
	free(keys);
}

/* ---- layout ---- */

void reservations_lay(struct server *s)
{
	node_fence_vec fences = {0};

	reservations_fences(s->objects, s->cluster, s->clock->now, &fences);
	keys_give(s);
	sched_fences(s->sched, fences.v, fences.n, s->clock->now);
	vec_free(&fences);
	s->world->reservations_next = reservations_next(s->objects, s->clock->now);
	foresee_again(s);
	s->turn->dirty = true;
}

int64_t reservations_wake(const struct server *s)
{
	return s->objects->of[OBJECT_RESERVATION].n ? s->world->reservations_next : TIME_NEVER;
}

void reservations_turn(struct server *s)
{
	if (reservations_wake(s) > s->clock->now || s->turn->merging || s->turn->trouble)
		return;
	for (size_t i = s->objects->of[OBJECT_RESERVATION].n; i-- > 0;) {
		struct object *x = s->objects->of[OBJECT_RESERVATION].v[i];
		if (!reservation_over(x, s->clock->now) || x->fixed || object_named_by(s->objects, x))
			continue;
		server_log(s, SEVERITY_NOTICE, "reservation %s is over", x->name);
		object_drop(s, x);
	}
	reservations_lay(s);
}

/* ---- conflicting jobs ---- */

static bool admitted(const struct server *s, const struct object *next, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	char number[24];
	struct reservation_party p = reserved_party(s, e->spec, job_key_number(e->key), number);

	return reservation_admits(next, &p);
}

/* Returns the end of a job's place; for a running job its walltime counts, though ending it may
 * take a little longer. */
static int64_t until(const struct server *s, const struct piece *x)
{
	return x->running ? x->end - entry_job(s, x->job)->ending : x->end;
}

static bool meets(const struct server *s, const span_vec *spans, const struct piece *x)
{
	for (size_t i = 0; i < spans->n; i++)
		if (spans->v[i].start < until(s, x) && (x->live || spans->v[i].end > x->start))
			return true;
	return false;
}

static void concern(struct server *s, const struct object *next, const struct piece *x, struct map *seen,
		    concerned_vec *ret)
{
	const struct job *job = entry_job(s, x->job);
	uint64_t any;

	if (map_get(seen, x->job, &any))
		return;
	map_set(seen, x->job, 1);
	if (!entry_get(s, x->job)->spec || admitted(s, next, x->job))
		return;
	vec_push(ret, (struct concerned){.job = x->job,
					 .end = until(s, x),
					 .runs = x->running,
					 .guaranteed = !x->running && job->guaranteed});
}

/* Adds jobs that are not admitted and hold more of an amount than the reservation leaves them. */
static void amounts_concern(struct server *s, const struct object *next, const span_vec *spans, struct map *seen,
			    concerned_vec *ret)
{
	reservation_amount_vec amounts = {0};

	reservation_amounts(next, s->cluster, &amounts, NULL);
	for (size_t a = 0; a < amounts.n && spans->n; a++) {
		int64_t left = s->cluster->amounts.v[amounts.v[a].amount].total - amounts.v[a].count;
		for (int pass = 0; pass < 2 && (pass == 0 || left < 0); pass++)
			JOBS_EACH(s, id) {
				int64_t has =
					!entry_get(s, id)->spec || !plan_holds(s->plan, id)
						? 0
						: request_portion(cluster_job_request(s->cluster, entry_job(s, id)),
								  amounts.v[a].amount);
				const struct piece *x = has ? plan_piece(s->plan, id, 0) : NULL;
				if (!x || !meets(s, spans, x) || (!x->running && !entry_job(s, id)->guaranteed) ||
				    admitted(s, next, id))
					continue;
				left -= pass == 0 ? has : 0;
				if (pass == 1)
					concern(s, next, x, seen, ret);
			}
	}
	vec_free(&amounts);
}

/* Returns true if a piece counts against what a reservation leaves to jobs that are not
 * admitted. */
static bool counts(struct server *s, const struct object *next, const struct piece *x, const struct span *span)
{
	return (x->running || entry_job(s, x->job)->guaranteed) && span->start < until(s, x) &&
	       (x->live || span->end > x->start) && entry_get(s, x->job)->spec && !admitted(s, next, x->job);
}

/* Adds jobs that are not admitted and have more of a node in a span than the reservation leaves
 * them. */
static void part_concern(struct server *s, const struct object *next, const struct res *part, uint32_t node,
			 const struct span *span, struct map *seen, concerned_vec *ret)
{
	const piece_vec *v = &s->plan->node[node].pieces;
	struct res rest = s->plan->total[node], least;
	struct timeline line;

	res_sub(&rest, part);
	timeline_init(&line, RES_MAX, &rest);
	for (size_t i = 0; i < v->n; i++) {
		const struct piece *x = &v->v[i];
		int64_t from = x->live || x->start < span->start ? span->start : x->start,
			to = until(s, x) < span->end ? until(s, x) : span->end;
		if (counts(s, next, x, span))
			timeline_change(&line, from, to,
					x->whole ? &s->plan->total[node] : &s->cluster->shapes.v[x->shape].need, -1);
	}
	timeline_least(&line, span->start, span->end, &least);
	timeline_fini(&line);
	for (int d = 0; d < RES_MAX; d++)
		for (size_t i = 0; i < v->n && part->v[d] && least.v[d] < 0; i++)
			if (counts(s, next, &v->v[i], span) &&
			    (v->v[i].whole || s->cluster->shapes.v[v->v[i].shape].need.v[d]))
				concern(s, next, &v->v[i], seen, ret);
}

static void concerns(struct server *s, const struct object *next, bool amounts, concerned_vec *ret)
{
	bool *has = calloc(s->cluster->nodes.n + 1, sizeof *has);
	struct map seen = {0};
	span_vec spans = {0};
	struct res part;
	bool parted;

	reservation_part(next, &part);
	parted = !res_equal(&part, &(struct res){0});
	reservation_nodes(next, s->cluster, has, NULL);
	if (reservation_holds(next))
		reservation_spans(next, s->clock->now, s->clock->now + (int64_t)RESERVATION_DAYS * 86400, &spans);
	for (uint32_t n = 0; n < s->plan->nnodes && parted; n++)
		for (size_t i = 0; has[n] && i < spans.n; i++)
			part_concern(s, next, &part, n, &spans.v[i], &seen, ret);
	for (uint32_t n = 0; n < s->plan->nnodes && spans.n && !parted; n++)
		for (size_t i = 0; has[n] && i < s->plan->node[n].pieces.n; i++)
			if (meets(s, &spans, &s->plan->node[n].pieces.v[i]))
				concern(s, next, &s->plan->node[n].pieces.v[i], &seen, ret);
	if (amounts)
		amounts_concern(s, next, &spans, &seen, ret);
	map_fini(&seen);
	vec_free(&spans);
	free(has);
}

void reservation_concerns(struct server *s, const struct object *next, concerned_vec *ret)
{
	concerns(s, next, true, ret);
}

/* Appends ids, "12.host, 13.host and 4 more", of the running or of the guaranteed jobs. */
static size_t concerned_text(struct server *s, const concerned_vec *v, bool runs, struct strbuf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (runs ? !v->v[i].runs : !v->v[i].guaranteed)
			continue;
		if (n++ >= NAMED_MOST)
			continue;
		strbuf_puts(out, n > 1 ? ", " : "");
		entry_id(s, v->v[i].job, out);
	}
	if (n > NAMED_MOST)
		strbuf_printf(out, " and %zu more", n - NAMED_MOST);
	return n;
}

/* Checks that the site has what all simultaneous reservations keep of an amount together. */
static int amounts_allowed(struct server *s, const struct object *next, struct err *err)
{
	reservation_amount_vec mine = {0}, theirs = {0};
	int64_t until = s->clock->now + (int64_t)RESERVATION_DAYS * 86400;
	span_vec spans = {0}, other = {0};
	int rc = reservation_amounts(next, s->cluster, &mine, err);

	if (rc == 0 && mine.n && reservation_holds(next))
		reservation_spans(next, s->clock->now, until, &spans);
	for (size_t m = 0; m < mine.n && rc == 0; m++) {
		int64_t sum = mine.v[m].count, total = s->cluster->amounts.v[mine.v[m].amount].total;
		for (size_t i = 0; i < s->objects->of[OBJECT_RESERVATION].n; i++) {
			const struct object *x = s->objects->of[OBJECT_RESERVATION].v[i];
			vec_clear(&theirs);
			vec_clear(&other);
			if (strcmp(x->name, next->name) == 0 || !reservation_holds(x))
				continue;
			reservation_amounts(x, s->cluster, &theirs, NULL);
			reservation_spans(x, s->clock->now, until, &other);
			for (size_t t = 0; t < theirs.n; t++)
				if (theirs.v[t].amount == mine.v[m].amount &&
				    reservation_spans_meet(&spans, &other, NULL))
					sum += theirs.v[t].count;
		}
		if (sum > total)
			rc = err_code(
				err, CODE_BAD_STATE,
				"amounts.%.60s: reservations at the same time would keep %lld, but the site has %lld",
				names_get(&s->cluster->amount_names, mine.v[m].amount), (long long)sum,
				(long long)total);
	}
	vec_free(&mine);
	vec_free(&theirs);
	vec_free(&spans);
	vec_free(&other);
	return rc;
}

int reservation_allowed(struct server *s, const struct object *next, struct err *err)
{
	bool *has = calloc(s->cluster->nodes.n + 1, sizeof *has);
	concerned_vec jobs = {0};
	struct strbuf names = {0};
	int rc = reservation_nodes(next, s->cluster, has, err);

	if (rc == 0)
		rc = reservation_part_check(next, s->cluster, has, err);
	if (rc == 0)
		rc = amounts_allowed(s, next, err);
	if (rc == 0)
		rc = reservations_overlap(s->objects, s->cluster, next, s->clock->now, err);
	if (rc == 0)
		reservation_concerns(s, next, &jobs);
	if (rc == 0 && !attrs_bool(&next->attrs, SET_IGNORE_JOBS) && concerned_text(s, &jobs, true, &names))
		rc = err_code(
			err, CODE_BAD_STATE,
			"running jobs extend into it: %s (set ignore_jobs to create it anyway; they keep running)",
			names.text);
	strbuf_clear(&names);
	if (rc == 0 && !attrs_bool(&next->attrs, SET_BREAKS_DEADLINES) && concerned_text(s, &jobs, false, &names))
		rc = err_code(err, CODE_BAD_STATE,
			      "it would break guaranteed deadlines: %s (set breaks_deadlines to create it anyway)",
			      names.text);
	strbuf_fini(&names);
	vec_free(&jobs);
	free(has);
	return rc;
}

/* ---- choosing nodes ---- */

/* Parses a set of features, "gpu:fast". -EINVAL: no node has one of them. */
static int features_read(struct server *s, const char *text, uint32_t *ret, struct err *err)
{
	char *copy = mem_strdup(text ? text : ""), *rest = copy, *one;
	uint32_t id;
	int rc = 0;

	*ret = FEATURES_NONE;
	while (rc == 0 && (one = strsep(&rest, ":,"))) {
		if (!*one)
			continue;
		if (!names_find(&s->cluster->feature_names, one, &id))
			rc = err_set(err, -EINVAL, "features: no node has the feature %.60s", one);
		else
			*ret = features_add(&s->cluster->features, *ret, id);
	}
	free(copy);
	return rc;
}

/* Returns true if `next` may have this node, and the number of jobs in its way there. */
static bool node_suits(struct server *s, const struct object *next, uint32_t node, size_t *ret_jobs)
{
	struct object one = *next;
	concerned_vec jobs = {0};
	bool suits, *has = calloc(s->cluster->nodes.n + 1, sizeof *has);

	attrs_copy(&one.attrs, &next->attrs);
	has[node] = true;
	suits = reservation_part_check(next, s->cluster, has, NULL) == 0 &&
		attrs_change(&one.attrs, ATTR_SET, "nodes", names_get(&s->cluster->node_names, node), NULL) == 0 &&
		reservations_overlap(s->objects, s->cluster, &one, s->clock->now, NULL) == 0;
	concerns(s, &one, false, &jobs);
	*ret_jobs = jobs.n;
	free(has);
	vec_free(&jobs);
	attrs_fini(&one.attrs);
	return suits;
}

int reservation_choose(struct server *s, struct object *next, struct err *err)
{
	int64_t wanted = attrs_number(&next->attrs, SET_NODE_COUNT), found = 0;
	struct strbuf list = {0};
	uint32_t features;
	struct object probe = *next;
	bool holds;
	int rc;

	if (wanted < 0 || attrs_is_set(&next->attrs, SET_NODES))
		return 0;
	attrs_copy(&probe.attrs, &next->attrs);
	attrs_change(&probe.attrs, ATTR_SET, "nodes", "all", NULL);
	holds = reservation_holds(&probe);
	attrs_fini(&probe.attrs);
	rc = features_read(s, attrs_text(&next->attrs, SET_FEATURES), &features, err);
	for (int pass = 0; rc == 0 && holds && pass < 2; pass++) /* nodes without jobs first */
		for (uint32_t n = 0; n < s->cluster->nodes.n && found < wanted; n++) {
			const struct node *x = &s->cluster->nodes.v[n];
			size_t jobs;
			if (!x->up || !features_cover(&s->cluster->features, x->features, features) ||
			    !node_suits(s, next, n, &jobs) || (jobs > 0) != (pass == 1))
				continue;
			strbuf_printf(&list, "%s%s", list.n ? "," : "", names_get(&s->cluster->node_names, n));
			found++;
		}
	if (rc == 0 && holds && found < wanted)
		rc = err_code(err, CODE_BAD_STATE,
			      "node_count: only %lld suitable node%s up and not reserved at that time",
			      (long long)found, found == 1 ? " is" : "s are");
	if (rc == 0 && holds)
		rc = attrs_change(&next->attrs, ATTR_SET, "nodes", list.text, err);
	strbuf_fini(&list);
	return rc;
}
