/*
 * attempt.c - attempts: the CPUs, GPUs and memory that the processes of a job hold, on which nodes
 * and hosts.
 *
 * An attempt holds them from the moment they are assigned until its processes are gone, whatever
 * the plan says: a job that was stopped to make room frees them only when it has really ended, and
 * the job started in its place waits for that (dispatch.c).
 */
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/numa.h"
#include "core/res.h"
#include "engine/engine.h"
#include "rules/attr.h"
#include "run/live.h"
#include "server/base/instance.h"
#include "server/base/turn.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/usage.h"
#include "server/node/nodes.h"
#include "server/node/owners.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "store/store.h"

static uint64_t attempt_key(uint32_t job, uint32_t attempt)
{
	return (uint64_t)job << 32 | attempt;
}

struct attempt *attempt_find(const struct server *s, uint32_t id, uint32_t attempt)
{
	uint64_t at;

	return map_get(&s->jobs->attempts, attempt_key(id, attempt), &at) ? (struct attempt *)(uintptr_t)at : NULL;
}

/* Writes the digits of a number, and returns their end. */
static char *digits_put(char *at, uint64_t n, unsigned base)
{
	char digits[24];
	size_t k = sizeof digits;

	do
		digits[--k] = "0123456789abcdef"[n % base];
	while (n /= base);
	memcpy(at, digits + k, sizeof digits - k);
	return at + (sizeof digits - k);
}

/* Without printf: a job's tag is made several times. */
void attempt_tag(const struct server *s, uint32_t id, uint32_t attempt, char tag[64])
{
	const struct entry *e = entry_get(s, id);
	char *p = digits_put(tag, job_key_number(e->key), 10);

	if (job_key_index(e->key) >= 0) {
		*p++ = '-';
		p = digits_put(p, (uint64_t)job_key_index(e->key), 10);
	}
	if (e->spec->origin) {
		*p++ = '-';
		*p++ = 'x';
		p = digits_put(p, e->spec->origin, 16);
	}
	*p++ = '.';
	p = digits_put(p, attempt, 10);
	*p = '\0';
}

pid_t attempt_session(const struct server *s, uint32_t id)
{
	char path[PATH_MAX], tag[64];

	snprintf(path, sizeof path, "%s/live", s->instance->where.state);
	attempt_tag(s, id, entry_job(s, id)->attempt, tag);

	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t session = dir < 0 ? 0 : live_session(dir, tag);

	if (dir >= 0)
		close(dir);
	return session;
}

bool tag_parse(const struct server *s, const char *tag, uint32_t *ret, uint32_t *ret_attempt)
{
	const char *dot = strrchr(tag, '.');
	char same[64], *end;
	uint64_t number = strtoull(tag, &end, 10);
	/* "-x" is followed by the origin */
	int64_t index = *end == '-' && end[1] != 'x' ? strtoll(end + 1, NULL, 10) : -1;

	if (!dot || end == tag || !entry_find(s, number, index, ret))
		return false;
	*ret_attempt = (uint32_t)strtoul(dot + 1, NULL, 10);
	attempt_tag(s, *ret, *ret_attempt, same);
	return strcmp(tag, same) == 0;
}

bool tag_known(void *context, const char *tag)
{
	uint32_t id;
	uint32_t attempt;

	return tag_parse(context, tag, &id, &attempt) && attempt_find(context, id, attempt);
}

void attempts_each(const struct server *s, void (*one)(void *context, struct attempt *t), void *context)
{
	size_t left = s->jobs->attempts.n;

	JOBS_EACH(s, id) {
		if (!left)
			break;
		for (uint32_t n = 1; left && entry_get(s, id)->spec && n <= entry_job(s, id)->attempt; n++) {
			struct attempt *t = attempt_find(s, id, n);
			if (!t)
				continue;
			left--;
			one(context, t);
		}
	}
}

/* ---- CPUs, GPUs and memory ---- */

static const struct shape *frag_shape(const struct server *s, uint32_t id, uint32_t frag)
{
	const struct request *q = cluster_job_request(s->cluster, entry_job(s, id));

	return &s->cluster->shapes.v[q->frag[frag < q->nfrags ? frag : 0].shape];
}

static const struct res *frag_need(const struct server *s, uint32_t id, uint32_t frag)
{
	return &frag_shape(s, id, frag)->need;
}

static struct kib kib_of(const struct res *r)
{
	return (struct kib){r->v[RES_MEM], r->v[RES_DISK], r->v[RES_SWAP]};
}

static void kib_add(struct kib *a, const struct kib *b, int sign)
{
	a->memory += sign * b->memory;
	a->disk += sign * b->disk;
	a->swap += sign * b->swap;
}

/* Returns true if the node's total covers what is used there, for each kind that this attempt uses;
 * others may overuse the rest. */
static bool kib_room(const struct kib *own, const struct kib *used, const struct res *total)
{
	return (!own->memory || used->memory <= total->v[RES_MEM]) &&
	       (!own->disk || used->disk <= total->v[RES_DISK]) && (!own->swap || used->swap <= total->v[RES_SWAP]);
}

/* Sets the lease: hosts that are out of contact for long must end by themselves jobs that will be
 * run elsewhere. */
static void lease_set(const struct server *s, struct attempt *t)
{
	const struct spec *p = entry_get(s, t->job)->spec;

	t->grace = setting_of(s, p, SET_KILL_DELAY);
	for (uint32_t i = 0; i < t->nfrags; i++)
		if (node_joined(&s->hosts->nodes.v[t->node[i]].life) && p->rerunnable)
			t->lease = attrs_number(s->attrs, SET_NODE_LOST_AFTER);
}

struct attempt *attempt_create(struct server *s, uint32_t id, uint32_t number, const int32_t *nodes, uint32_t n)
{
	struct attempt *t = mem_zalloc(sizeof *t);

	t->job = id;
	t->attempt = number;
	t->nfrags = n;
	t->node = mem_zalloc(n * sizeof *t->node);
	t->cpu = mem_zalloc(n * sizeof *t->cpu);
	t->ncpus = mem_zalloc(n * sizeof *t->ncpus);
	t->gpu = mem_zalloc(n * sizeof *t->gpu);
	t->ngpus = mem_zalloc(n * sizeof *t->ngpus);
	t->kib = mem_zalloc(n * sizeof *t->kib);
	memcpy(t->node, nodes, n * sizeof *nodes);
	for (uint32_t i = 0; i < n; i++)
		t->kib[i] = kib_of(frag_need(s, id, i));
	lease_set(s, t);
	map_set(&s->jobs->attempts, attempt_key(id, number), (uint64_t)(uintptr_t)t);
	return t;
}

static void memory_count(struct server *s, struct attempt *t, bool held)
{
	for (uint32_t i = 0; i < t->nfrags && t->held != held; i++)
		kib_add(&s->hosts->nodes.v[t->node[i]].used, &t->kib[i], held ? 1 : -1);
	t->held = held;
}

static void attempt_release(struct server *s, struct attempt *t)
{
	memory_count(s, t, false);
	for (uint32_t i = 0; i < t->nfrags; i++) {
		struct node_info *n = &s->hosts->nodes.v[t->node[i]];
		if (t->cpu[i])
			world_cpus_mark(n, t->cpu[i], t->ncpus[i], false);
		for (int32_t k = 0; t->gpu[i] && k < t->ngpus[i]; k++)
			n->gpu_used[t->gpu[i][k]] = false;
		free(t->cpu[i]);
		free(t->gpu[i]);
		t->cpu[i] = t->gpu[i] = NULL;
		t->ncpus[i] = t->ngpus[i] = 0;
	}
}

void attempt_free(struct server *s, struct attempt *t)
{
	s->turn->dirty |= t->held || t->ordered; /* otherwise nothing has become free */
	attempt_release(s, t);
	usage_close(s, t);
	map_remove(&s->jobs->attempts, attempt_key(t->job, t->attempt));
	free(t->node);
	free(t->cpu);
	free(t->ncpus);
	free(t->gpu);
	free(t->ngpus);
	free(t->kib);
	free(t->retries);
	free(t);
}

#define NUMA_MAX 65535

/* Returns the NUMA node of each CPU of a node, newly allocated; NULL: not known. */
static int32_t *numa_of(const struct server *s, uint32_t node, int64_t *ret_n)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	const json_t *list = n->agent ? json_object_get(n->agent->facts, "numa_cpus") : NULL;
	size_t count = json_array_size(list);
	int32_t *numa;

	if (s->instance->real && node < s->hosts->here)
		count = (size_t)s->instance->ncpu_numa;
	*ret_n = (int64_t)count;
	if (count == 0)
		return NULL;
	numa = mem_alloc(count * sizeof *numa);
	for (size_t i = 0; i < count; i++) {
		json_int_t x = list ? json_integer_value(json_array_get(list, i)) : s->instance->cpu_numa[i];
		numa[i] = x >= 0 && x <= NUMA_MAX ? (int32_t)x : -1;
	}
	return numa;
}

/* Takes CPUs from a single NUMA node if they fit there. */
static bool take_cpus(const struct server *s, uint32_t node, int64_t want, int32_t **ret, int32_t *ret_n)
{
	int64_t known;
	int32_t *numa = numa_of(s, node, &known);
	bool done;

	*ret = mem_zalloc((size_t)(want + 1) * sizeof **ret);
	done = numa_take(s->hosts->nodes.v[node].cpu_used, s->cluster->nodes.v[node].total.v[RES_CPU], numa, known,
			 want, *ret);
	*ret_n = done ? (int32_t)want : 0;
	s->hosts->nodes.v[node].cpus_held += *ret_n;
	free(numa);
	return done;
}

/* Returns the GPUs that the owner of a workstation uses, one bit each. */
static uint64_t gpus_owned(const struct node_info *n)
{
	return n->owner ? n->owner->gpus : 0;
}

/* Takes the lowest unused ones of `total`, not counting those in `skip`, until the list has `want`
 * of them or none is left. */
static void take_some(bool *used, int64_t total, uint64_t skip, int64_t want, int32_t *list, int32_t *n)
{
	for (int64_t k = 0, seen = 0; seen < total && *n < want; k++) {
		if (k < 64 && skip >> k & 1)
			continue;
		seen++;
		if (!used[k]) {
			used[k] = true;
			list[(*n)++] = (int32_t)k;
		}
	}
}

static bool take(bool *used, int64_t total, uint64_t skip, int64_t want, int32_t **ret, int32_t *ret_n)
{
	*ret = mem_zalloc((size_t)(want + 1) * sizeof **ret);
	*ret_n = 0;
	take_some(used, total, skip, want, *ret, ret_n);
	return *ret_n == want;
}

/* Adds everything that is left to a fragment. */
static void take_rest(bool *used, int64_t total, uint64_t skip, int32_t **list, int32_t *n)
{
	*list = mem_realloc(*list, (size_t)(total + 1), sizeof **list);
	take_some(used, total, skip, INT64_MAX, *list, n);
}

/* Gives a job with whole nodes all CPUs and GPUs of each: those it did not request go to its last
 * fragment there. */
static void take_nodes(struct server *s, struct attempt *t)
{
	for (uint32_t i = 0; i < t->nfrags; i++) {
		const struct res *total = &s->cluster->nodes.v[t->node[i]].total;
		struct node_info *n = &s->hosts->nodes.v[t->node[i]];
		uint32_t k = i + 1;
		while (k < t->nfrags && t->node[k] != t->node[i])
			k++;
		if (k < t->nfrags)
			continue;
		n->cpus_held -= t->ncpus[i];
		take_rest(n->cpu_used, total->v[RES_CPU], 0, &t->cpu[i], &t->ncpus[i]);
		n->cpus_held += t->ncpus[i];
		take_rest(n->gpu_used, total->v[RES_GPU], gpus_owned(n), &t->gpu[i], &t->ngpus[i]);
	}
}

/* Names CPUs of a node whose CPUs are divided. No job has one to itself there, so the first ones,
 * as many as requested, stand for its share. */
static void name_cpus(const struct server *s, struct attempt *t, uint32_t frag)
{
	int64_t cpus = node_cpus(&s->cluster->nodes.v[t->node[frag]]), asked = attempt_asked(s, t, frag);

	t->cpu[frag] = mem_zalloc((size_t)(cpus + 1) * sizeof **t->cpu);
	for (t->ncpus[frag] = 0; t->ncpus[frag] < cpus && t->ncpus[frag] < asked; t->ncpus[frag]++)
		t->cpu[frag][t->ncpus[frag]] = t->ncpus[frag];
}

int64_t attempt_asked(const struct server *s, const struct attempt *t, uint32_t frag)
{
	return frag_need(s, t->job, frag)->v[RES_CPU] + frag_shape(s, t->job, frag)->divided;
}

bool attempt_place(struct server *s, struct attempt *t)
{
	for (uint32_t i = 0; i < t->nfrags; i++) {
		const struct res *need = frag_need(s, t->job, i), *total = &s->cluster->nodes.v[t->node[i]].total;
		struct node_info *n = &s->hosts->nodes.v[t->node[i]];
		if (frag_shape(s, t->job, i)->divided)
			name_cpus(s, t, i);
		if ((!t->cpu[i] && !take_cpus(s, (uint32_t)t->node[i], need->v[RES_CPU], &t->cpu[i], &t->ncpus[i])) ||
		    !take(n->gpu_used, total->v[RES_GPU], gpus_owned(n), need->v[RES_GPU], &t->gpu[i], &t->ngpus[i])) {
			attempt_release(s, t);
			return false;
		}
	}
	if (cluster_job_request(s->cluster, entry_job(s, t->job))->whole)
		take_nodes(s, t);
	memory_count(s, t, true);
	for (uint32_t i = 0; i < t->nfrags; i++)
		if (!kib_room(&t->kib[i], &s->hosts->nodes.v[t->node[i]].used,
			      &s->cluster->nodes.v[t->node[i]].total)) {
			attempt_release(s, t);
			return false;
		}
	return true;
}

/* ---- storing attempts ---- */

static void lists_write(struct json *j, const char *key, int32_t *const *list, const int32_t *n, uint32_t nfrags)
{
	json_open_array(j, key);
	for (uint32_t i = 0; i < nfrags; i++) {
		json_open_array(j, NULL);
		for (int32_t k = 0; k < n[i]; k++)
			json_int(j, NULL, list[i][k]);
		json_close_array(j);
	}
	json_close_array(j);
}

void attempt_exec_host(const struct server *s, const struct attempt *t, struct strbuf *out)
{
	for (uint32_t i = 0; i < t->nfrags; i++)
		for (int32_t k = 0; k < t->ncpus[i]; k++) {
			strbuf_puts(out, out->n ? "+" : "");
			strbuf_puts(out, names_get(&s->cluster->node_names, (uint32_t)t->node[i]));
			strbuf_puts(out, "/");
			strbuf_int(out, t->cpu[i][k]);
		}
}

void attempt_write(const struct attempt *t, struct json *j)
{
	int64_t gpus = 0;

	lists_write(j, "cpus", t->cpu, t->ncpus, t->nfrags);
	for (uint32_t i = 0; i < t->nfrags; i++)
		gpus += t->ngpus[i];
	if (gpus)
		lists_write(j, "gpus", t->gpu, t->ngpus, t->nfrags);
	if (t->lease) {
		json_int(j, "lease", t->lease);
		json_int(j, "grace", t->grace);
	}
}

static void list_read(const json_t *list, int64_t room, int32_t **ret, int32_t *ret_n)
{
	free(*ret);
	*ret = mem_zalloc((json_array_size(list) + 1) * sizeof **ret);
	*ret_n = 0;
	for (size_t k = 0; k < json_array_size(list); k++) {
		json_int_t i = json_integer_value(json_array_get(list, k));
		if (i < 0 || i >= room)
			continue;
		(*ret)[(*ret_n)++] = (int32_t)i;
	}
}

/* Marks the CPUs and GPUs of a fragment as used on its node. */
static void part_hold(const struct attempt *t, uint32_t frag, struct node_info *n)
{
	world_cpus_mark(n, t->cpu[frag], t->ncpus[frag], true);
	for (int32_t k = 0; k < t->ngpus[frag]; k++)
		n->gpu_used[t->gpu[frag][k]] = true;
}

struct attempt *attempt_restore(struct server *s, uint32_t id, uint32_t number, const int32_t *nodes, uint32_t n,
				const json_t *data)
{
	struct attempt *t = attempt_find(s, id, number);
	const json_t *cpus = json_object_get(data, "cpus"), *gpus = json_object_get(data, "gpus");

	if (!t)
		t = attempt_create(s, id, number, nodes, n);
	for (uint32_t i = 0; i < t->nfrags && json_is_array(cpus); i++) {
		struct node_info *x = &s->hosts->nodes.v[t->node[i]];
		list_read(json_array_get(cpus, i), x->cpu_room, &t->cpu[i], &t->ncpus[i]);
		list_read(json_array_get(gpus, i), x->gpu_room, &t->gpu[i], &t->ngpus[i]);
		part_hold(t, i, x);
	}
	t->ordered = true;
	if (json_is_array(cpus)) {
		t->lease = json_integer_value(json_object_get(data, "lease"));
		t->grace = json_integer_value(json_object_get(data, "grace"));
		memory_count(s, t, true);
	}
	return t;
}

/* Drops an attempt that recovery restored from an earlier event and that a later one shows to be
 * over. */
void attempt_discard(struct server *s, uint32_t id, uint32_t number)
{
	struct attempt *t = attempt_find(s, id, number);

	if (t)
		attempt_free(s, t);
}

static void hold_one(void *context, struct attempt *t)
{
	struct server *s = context;

	for (uint32_t i = 0; i < t->nfrags; i++)
		part_hold(t, i, &s->hosts->nodes.v[t->node[i]]);
}

/* Makes the remaining attempts hold their CPUs, at the end of recovery. Before that, a lingering
 * attempt may have released CPUs that others have been given since. */
void attempts_hold(struct server *s)
{
	attempts_each(s, hold_one, s);
}

bool attempt_lingers(const struct server *s, uint32_t id, uint32_t before)
{
	for (uint32_t i = 1; i < before; i++)
		if (attempt_find(s, id, i))
			return true;
	return false;
}

/* ---- hosts ---- */

int attempt_hosts(const struct server *s, const struct attempt *t, const char ***ret, int *part)
{
	const char **host = mem_zalloc((t->nfrags + 1) * sizeof *host);
	struct map known = {0};
	int n = 0;

	for (uint32_t i = 0; i < t->nfrags; i++) {
		uint32_t node = (uint32_t)t->node[i];
		bool joined = node_joined(&s->hosts->nodes.v[node].life);
		uint64_t k = (uint64_t)n, key = joined ? node + UINT64_C(2) : 1;
		if (!map_get(&known, key, &k)) {
			host[n++] = joined ? names_get(&s->cluster->node_names, node) : HOST_HERE;
			if (t->nfrags > 1)
				map_set(&known, key, k);
		}
		if (part)
			part[i] = (int)k;
	}
	map_fini(&known);
	*ret = host;
	return n;
}

bool attempt_on(const struct attempt *t, uint32_t node)
{
	for (uint32_t i = 0; i < t->nfrags; i++)
		if (t->node[i] == (int32_t)node)
			return true;
	return false;
}
