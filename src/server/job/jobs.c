/*
 * jobs.c - the server's jobs: finding them by the ids that users give, naming them, and forgetting
 * them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/job.h"
#include "core/jobid.h"
#include "plan/plan.h"
#include "rules/admit.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "rules/leave.h"
#include "rules/queue.h"
#include "server/base/instance.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/remotes.h"
#include "store/store.h"

/* seconds; the site it came from may be down and fetch its output later */
#define VISITOR_KEPT 604800

void entry_release(struct server *s, uint32_t id)
{
	if (!rows_drop(&s->jobs->entries, id))
		return;
	plan_release(s->plan, id);
	gate_release(s->gate, id);
	cluster_release_jobs(s->cluster, id);
	rows_release(&s->jobs->entries, id);
}

void key_id(const struct server *s, uint64_t key, struct strbuf *out)
{
	strbuf_int(out, (int64_t)job_key_number(key));
	if (job_key_index(key) >= 0) {
		strbuf_char(out, '[');
		strbuf_int(out, job_key_index(key));
		strbuf_char(out, ']');
	}
	strbuf_char(out, '.');
	strbuf_puts(out, s->instance->name);
}

void entry_id(const struct server *s, uint32_t id, struct strbuf *out)
{
	key_id(s, entry_get(s, id)->key, out);
}

void array_id(const struct server *s, const struct array *a, struct strbuf *out)
{
	strbuf_printf(out, "%llu[].%s", (unsigned long long)a->number, s->instance->name);
}

char entry_state(const struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);

	switch (entry_job(s, id)->state) {
	case STATE_NOW:
		return e->intent ? 'E' : 'R';
	case STATE_RUNNING:
		return e->intent ? 'E' : e->suspended ? 'S' : 'R';
	case STATE_DONE:
	case STATE_EXPIRED:
	case STATE_DELETED:
		return 'C';
	default:
		break;
	}

	unsigned block = gate_blocks(s->gate, id);

	if (entry_away(e))
		return e->away->phase == AWAY_THERE && *e->away->state ? *e->away->state : 'W';
	if (block & (BLOCK_HOLDS | BLOCK_DEPEND | BLOCK_MISFIT))
		return 'H';
	return block & (BLOCK_TIME | BLOCK_RETRY) ? 'W' : 'Q';
}

uint64_t number_for(const struct server *s, uint64_t wanted)
{
	if (number_leased(wanted))
		return map_get(&s->jobs->by_number, wanted, &(uint64_t){0}) ? s->jobs->next_number : wanted;
	return wanted > s->jobs->next_number ? wanted : s->jobs->next_number;
}

void number_take(struct server *s, uint64_t first, uint64_t count)
{
	if (!number_leased(first) && first + count > s->jobs->next_number)
		s->jobs->next_number = first + count;
}

void job_came(struct server *s, uint64_t number, struct spec *p)
{
	if (number_leased(number))
		spec_rare(p)->came = s->jobs->next_number << CAME_BITS | ++s->jobs->leased;
}

struct array *array_find(const struct server *s, uint64_t number)
{
	uint64_t at;

	return map_get(&s->jobs->by_number, number, &at) && at & ARRAY_BIT ? s->jobs->arrays.v[at & ~ARRAY_BIT] : NULL;
}

bool entry_find(const struct server *s, uint64_t number, int64_t index, uint32_t *ret)
{
	const struct array *a = array_find(s, number);
	uint64_t at;

	if (!a) {
		if (index >= 0 || !map_get(&s->jobs->by_number, number, &at))
			return false;
		*ret = (uint32_t)at;
		return entry_get(s, *ret)->spec != NULL;
	}
	for (uint32_t lo = 0, hi = a->count; lo < hi;) {
		uint32_t mid = (lo + hi) / 2;
		int64_t found = job_key_index(entry_get(s, a->first + mid)->key);
		if (found == index) {
			*ret = a->first + mid;
			return entry_get(s, *ret)->spec != NULL;
		}
		if (found < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

struct queue *queue_named(const struct server *s, const char *name)
{
	for (size_t i = 0; i < s->jobs->queues.n; i++)
		if (strcmp(s->jobs->queues.v[i]->name, name) == 0)
			return s->jobs->queues.v[i];
	return NULL;
}

struct queue *queue_of(const struct server *s, uint32_t word)
{
	return word < s->jobs->queue_by_word.n ? s->jobs->queue_by_word.v[word] : NULL;
}

bool queue_is_started(const struct server *s, uint32_t word)
{
	const struct queue *q = queue_of(s, word);

	return q && attrs_bool(&q->attrs, SET_STARTED);
}

bool queue_routes(const struct server *s, uint32_t word)
{
	const struct queue *q = queue_of(s, word);

	return q && admit_routes(&q->attrs);
}

static void queue_index(struct server *s, const char *name, struct queue *q)
{
	uint32_t at = word_add(s, name);

	while (s->jobs->queue_by_word.n <= at)
		vec_push(&s->jobs->queue_by_word, NULL);
	s->jobs->queue_by_word.v[at] = q;
}

bool queues_lay(struct server *s)
{
	bool changed = false;

	for (size_t i = 0; i < s->jobs->queues.n; i++) {
		struct queue *q = s->jobs->queues.v[i];
		uint32_t nodes = queue_nodes(s->cluster, &q->attrs, true),
			 shared = queue_nodes(s->cluster, &q->attrs, false);
		changed |= q->nodes != nodes || q->shared != shared;
		q->nodes = nodes;
		q->shared = shared;
	}
	return changed;
}

struct charge entry_charge(const struct server *s, uint32_t id)
{
	const struct request *r = cluster_job_request(s->cluster, entry_job(s, id));
	const struct outcome *o = entry_get(s, id)->outcome;
	int64_t cpus = 1;

	if (!r->whole || !o || !o->exec_host)
		return charge_of(r, request_cpus(r));
	for (const char *p = o->exec_host; *p; p++)
		cpus += *p == '+';
	return charge_of(r, cpus);
}

uint32_t spec_nodes(const struct server *s, const struct spec *p)
{
	const struct queue *q = queue_of(s, p->queue);

	if (!q || q->nodes == NODES_ALL)
		return p->allowed;
	return p->allowed == NODES_ALL ? q->shared : cluster_nodeset_both(s->cluster, p->allowed, q->nodes);
}

struct queue *queue_create(struct server *s, const char *name)
{
	struct queue *q = mem_zalloc(sizeof *q);
	size_t at = s->jobs->queues.n;

	q->name = mem_strdup(name);
	attrs_init(&q->attrs, ATTR_QUEUE);
	vec_push(&s->jobs->queues, q);
	/* sorted by name, as in the store */
	for (; at > 0 && strcmp(s->jobs->queues.v[at - 1]->name, name) > 0; at--)
		s->jobs->queues.v[at] = s->jobs->queues.v[at - 1];
	s->jobs->queues.v[at] = q;
	queue_index(s, name, q);
	s->turn->settings++;
	return q;
}

void queue_destroy(struct server *s, struct queue *q)
{
	queue_index(s, q->name, NULL);
	s->turn->settings++;
	for (size_t i = 0; i < s->jobs->queues.n; i++)
		if (s->jobs->queues.v[i] == q) {
			vec_remove(&s->jobs->queues, i);
			break;
		}
	attrs_fini(&q->attrs);
	free(q->name);
	free(q);
}

int64_t setting_of(const struct server *s, const struct spec *p, enum attr_key key)
{
	const struct queue *q = queue_of(s, p->queue);
	int64_t value = q ? attrs_number(&q->attrs, key) : -1;

	return value >= 0 ? value : attrs_number(s->attrs, key);
}

int64_t ending_of(const struct server *s, const struct spec *p, int64_t saving)
{
	return leave_ending(setting_of(s, p, SET_KILL_DELAY), saving, *s->conf->epilogue ? s->conf->program_limit : 0);
}

int64_t keep_of(const struct server *s, const struct spec *p)
{
	int64_t keep = setting_of(s, p, SET_KEEP_COMPLETED);

	return p->visitor && keep < VISITOR_KEPT ? VISITOR_KEPT : keep;
}

struct tally *tally_of(struct server *s, uint32_t user, uint32_t queue)
{
	uint64_t *at = map_at(&s->jobs->tallies, (uint64_t)queue << 32 | user);

	if (*at == 0) {
		vec_push(&s->jobs->tally, (struct tally){0});
		*at = s->jobs->tally.n;
	}
	return &s->jobs->tally.v[*at - 1];
}

bool number_unused(const struct server *s, uint64_t number)
{
	return !number_leased(number) && number >= s->jobs->next_number;
}

static int job_unknown(const struct server *s, uint64_t number, const char *text, struct err *err)
{
	if (number_unused(s, number))
		return err_code(err, CODE_UNKNOWN_JOB, "There is no job %.100s: that number was never given to one.",
				text);
	return err_code(err, CODE_UNKNOWN_JOB, "There is no job %.100s.", text);
}

int jobs_named(const struct server *s, const char *text, job_vec *ret, struct array **ret_array, struct err *err)
{
	return jobs_named_of_many(s, text, ret, ret_array, &(size_t){0}, err);
}

int jobs_named_of_many(const struct server *s, const char *text, job_vec *ret, struct array **ret_array, size_t *named,
		       struct err *err)
{
	struct jobid id;
	int rc = jobid_parse(text, &id, err);
	uint32_t found;

	*ret_array = NULL;
	*named += 1;
	if (rc < 0)
		return rc;
	*named += id.some.count;
	if (strchr(text, '@') && !server_is_here(s, strchr(text, '@') + 1)) {
		jobid_fini(&id);
		return err_code(err, CODE_UNKNOWN_JOB, "Job %.100s is not a job of this server, which is %.60s.", text,
				s->instance->name);
	}

	struct array *a = array_find(s, id.number);
	bool ok = false;

	if (id.kind == JOBID_ELEMENT || (id.kind == JOBID_JOB && !a)) {
		ok = entry_find(s, id.number, id.index, &found);
		if (ok)
			vec_push(ret, found);
	} else if (a && id.kind == JOBID_SOME) {
		for (int64_t i = array_next(&id.some, -1); i >= 0; i = array_next(&id.some, i))
			if (entry_find(s, id.number, i, &found)) {
				vec_push(ret, found);
				ok = true;
			}
	} else if (a) {
		*ret_array = a;
		*named += a->count;
		ok = true;
		for (uint32_t i = 0; i < a->count; i++)
			if (entry_get(s, a->first + i)->spec)
				vec_push(ret, a->first + i);
	}
	jobid_fini(&id);
	return ok ? 0 : job_unknown(s, id.number, text, err);
}

void total_count(struct server *s, const struct spec *p, int64_t change)
{
	struct queue *q = queue_of(s, p->queue);

	s->jobs->total += change;
	tally_of(s, p->owner, 0)->total += change;
	if (q) {
		q->total += change;
		tally_of(s, p->owner, p->queue)->total += change;
	}
}
