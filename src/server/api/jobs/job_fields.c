/*
 * job_fields.c - the fields of a job: the members of its description, by their rows
 * (core/jobschema.h), and computed ones, by a table of its own. Lists choose from both, and both
 * describe the API.
 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/jobschema.h"
#include "core/reqtext.h"
#include "core/res.h"
#include "plan/near.h"
#include "plan/plan.h"
#include "rules/gate.h"
#include "sched/sched.h"
#include "server/api/frame/limit_json.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/counts.h"
#include "server/api/jobs/show.h"
#include "server/api/jobs/show_internal.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/book/prices.h"
#include "server/job/attempt.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/job/usage.h"
#include "server/life/run/prepare.h"
#include "server/life/wait/foresee.h"
#include "server/life/wait/priority.h"
#include "server/server.h"
#include "store/store.h"

static void put_int(struct value *v, int64_t n)
{
	v->kind = VALUE_INT;
	v->number = n;
}

static void put_bool(struct value *v, bool b)
{
	v->kind = VALUE_BOOL;
	v->number = b;
}

static void put_text(struct value *v, const char *text)
{
	if (!text || !*text)
		return;
	v->kind = VALUE_TEXT;
	v->text = text;
}

static void put_scratch(struct value *v, enum value_kind kind)
{
	v->kind = kind;
	v->text = strbuf_text(&v->scratch);
}

static void put_instant(struct value *v, int64_t at)
{
	if (at > 0 && at != TIME_NEVER)
		put_int(v, at);
}

static void put_letter(struct value *v, char c)
{
	strbuf_char(&v->scratch, c);
	put_scratch(v, VALUE_TEXT);
}

static void put_body(const struct subject *x, struct value *v, const char *key)
{
	put_text(v, json_string_value(json_object_get(x->body, key)));
}

/* ---- getters ---- */

static void f_id(const struct subject *x, struct value *v)
{
	if (x->a)
		array_id(x->s, x->a, &v->scratch);
	else
		entry_id(x->s, x->id, &v->scratch);
	put_scratch(v, VALUE_TEXT);
}

static void f_number(const struct subject *x, struct value *v)
{
	put_int(v, (int64_t)job_key_number(x->e->key));
}

static void f_index(const struct subject *x, struct value *v)
{
	if (!x->a && job_key_index(x->e->key) >= 0)
		put_int(v, job_key_index(x->e->key));
}

static void f_array(const struct subject *x, struct value *v)
{
	bool element = !x->a && job_key_index(x->e->key) >= 0;
	const struct array *a = element ? array_find(x->s, job_key_number(x->e->key)) : NULL;

	if (!a)
		return;
	array_id(x->s, a, &v->scratch);
	put_scratch(v, VALUE_TEXT);
}

static void f_state(const struct subject *x, struct value *v)
{
	put_letter(v, x->a ? array_state(x->s, x->a) : entry_state(x->s, x->id));
}

static void f_substate(const struct subject *x, struct value *v)
{
	put_text(v, job_state_name(x->job->state));
}

static void f_type(const struct subject *x, struct value *v)
{
	bool nice = x->job->nice && x->job->kind == KIND_COMMON;

	put_letter(v, x->job->interactive ? 'I' : nice ? 'N' : job_kind_letter(x->job->kind));
}

static void f_deadline(const struct subject *x, struct value *v)
{
	put_instant(v, x->job->interactive ? TIME_NEVER : x->job->deadline);
}

static void f_budget(const struct subject *x, struct value *v)
{
	if (x->p->rare->libra.estimate)
		put_int(v, x->p->rare->libra.budget);
}

static void f_price(const struct subject *x, struct value *v)
{
	struct price price;

	if (prices_get(x->s, x->p, &price))
		put_int(v, price.amount);
}

static void f_price_unit(const struct subject *x, struct value *v)
{
	struct price price;

	if (prices_get(x->s, x->p, &price))
		put_text(v, credit_unit_name(price.tariff.unit));
}

static void f_nice_until(const struct subject *x, struct value *v)
{
	put_instant(v, x->job->nice ? x->job->nice : TIME_NEVER);
}

static void f_guaranteed(const struct subject *x, struct value *v)
{
	put_bool(v, x->job->guaranteed && x->job->state != STATE_CANDIDATE &&
			    x->job->state != STATE_HELD); /* a stopped job may have no place yet */
}

static void f_powers(const struct subject *x, struct value *v)
{
	struct json j;

	json_init(&j, &v->scratch, false);
	json_open_array(&j, NULL);
	for (int i = 0; power_name(i); i++)
		if (x->job->powers & 1 << i)
			json_text(&j, NULL, power_name(i));
	json_close_array(&j);
	put_scratch(v, VALUE_JSON);
}

static void f_holds(const struct subject *x, struct value *v)
{
	unsigned holds = x->e->holds;

	if (holds & BLOCK_USER)
		strbuf_puts(&v->scratch, "u");
	if (holds & BLOCK_OTHER)
		strbuf_puts(&v->scratch, "o");
	if (holds & BLOCK_SYSTEM)
		strbuf_puts(&v->scratch, "s");
	if (!v->scratch.n)
		strbuf_puts(&v->scratch, "n");
	put_scratch(v, VALUE_TEXT);
}

static void f_attempt(const struct subject *x, struct value *v)
{
	put_int(v, x->job->attempt);
}

static void f_failures(const struct subject *x, struct value *v)
{
	put_int(v, x->e->failures ? x->e->failures->total : 0);
}

static void f_retried(const struct subject *x, struct value *v)
{
	put_int(v, x->e->retried);
}

static const struct request *request_of(const struct subject *x)
{
	return cluster_job_request(x->s->cluster, x->job);
}

struct asked {
	struct res total; /* sum over all its nodes */
	int64_t nodes;
	int64_t ppn; /* CPUs on the first node */
};

/* Returns the resources requested. If no node here has anything like it, they come from the
 * request's text. */
static struct asked asked_of(const struct subject *x)
{
	const struct request *r = request_of(x);
	const struct shape *first = r->nfrags ? &x->s->cluster->shapes.v[r->frag[0].shape] : NULL;
	struct asked ret = {r->total, r->nfrags, first ? first->need.v[RES_CPU] + first->divided : 1};
	struct reqtext text;
	struct arena *a;

	ret.total.v[RES_CPU] = request_cpus(r);
	if (x->p->request != UINT32_MAX)
		return ret;
	a = arena_create();
	if (spec_request((struct server *)x->s, x->p, a, &text, NULL) == 0) {
		reqtext_sum(&text, &ret.total, &ret.nodes);
		ret.ppn = text.nchunks ? text.chunk[0].need.v[RES_CPU] : 1;
	}
	arena_destroy(a);
	return ret;
}

static void f_cpus(const struct subject *x, struct value *v)
{
	put_int(v, asked_of(x).total.v[RES_CPU]);
}

static void f_nodect(const struct subject *x, struct value *v)
{
	put_int(v, asked_of(x).nodes);
}

static void f_ppn(const struct subject *x, struct value *v)
{
	put_int(v, asked_of(x).ppn);
}

static void f_exclusive(const struct subject *x, struct value *v)
{
	const struct request *r = spec_asked(x->s, x->p);

	if (r->whole)
		put_text(v, whole_name(r->whole));
}

static void f_memory(const struct subject *x, struct value *v)
{
	int64_t memory = asked_of(x).total.v[RES_MEM];

	if (memory > 0)
		put_int(v, memory);
}

static void f_gpus(const struct subject *x, struct value *v)
{
	int64_t gpus = asked_of(x).total.v[RES_GPU];

	if (gpus > 0)
		put_int(v, gpus);
}

static void f_queued(const struct subject *x, struct value *v)
{
	put_instant(v, x->p->at > x->p->created ? x->p->at : x->p->created);
}

static bool ran(const struct subject *x)
{
	return x->job->attempt > 0 &&
	       (x->job->state == STATE_NOW || x->job->state == STATE_RUNNING || x->job->state == STATE_DONE);
}

static void f_started(const struct subject *x, struct value *v)
{
	if (!x->a && ran(x))
		put_instant(v, x->job->start);
}

static void f_ended(const struct subject *x, struct value *v)
{
	if (!x->a && job_ended(x->job))
		put_instant(v, x->job->since);
}

static void f_modified(const struct subject *x, struct value *v)
{
	put_instant(v, x->e->modified);
}

static void f_planned_start(const struct subject *x, struct value *v)
{
	if (!x->a && x->job->state == STATE_ALLOCATED)
		put_instant(v, x->job->start);
	else if (!x->a && sched_kept(x->s->sched, x->id))
		put_instant(v, sched_planned(x->s->sched, x->id));
}

/* Finds the expected start of a job; of an array that of its next element. */
static bool expected(const struct subject *x, int64_t *ret, uint32_t *ret_job)
{
	int64_t at, first = TIME_NEVER;

	*ret_job = x->id;
	if (!x->a)
		return foresee_start(x->s, x->id, ret);
	for (uint32_t i = 0; i < x->a->count; i++)
		if (entry_get(x->s, x->a->first + i)->spec && foresee_start(x->s, x->a->first + i, &at) && at < first) {
			first = at;
			*ret_job = x->a->first + i;
		}
	*ret = first;
	return first != TIME_NEVER;
}

/* Shows when it will start if all jobs use their full walltime, all succeed and no more are
 * submitted (foresee.c). This is not a promise. */
static void f_expected_start(const struct subject *x, struct value *v)
{
	uint32_t job;
	int64_t at;

	if (expected(x, &at, &job))
		put_instant(v, at);
}

/* Shows the partition in which it has a place, otherwise the one it requested. */
static void f_partition(const struct subject *x, struct value *v)
{
	const struct cluster *c = x->s->cluster;
	const char *asked = strstr(word_text(x->s, x->p->resources), "partition=");
	uint32_t in = PARTITION_NONE;

	bool placed = !x->a && !job_ended(x->job) && plan_holds(x->s->plan, x->id);

	/* Places that are found again in every cycle are not shown. */
	if (placed && (x->job->state != STATE_CANDIDATE || sched_kept(x->s->sched, x->id)))
		in = c->nodes.v[plan_place(x->s->plan, x->id, 0)->node].partition;
	if (in != PARTITION_NONE) {
		put_text(v, names_get(&c->partition_names, in - 1));
	} else if (asked) {
		asked += strlen("partition=");
		strbuf_add(&v->scratch, asked, strcspn(asked, ","));
		put_scratch(v, VALUE_TEXT);
	}
}

/* Shows the instant at which the start was predicted. */
static void f_expected_made(const struct subject *x, struct value *v)
{
	uint32_t job;
	int64_t at;

	if (expected(x, &at, &job))
		put_instant(v, foresee_made(x->s, job));
}

static void f_expected_rough(const struct subject *x, struct value *v)
{
	uint32_t job;
	int64_t at;

	put_bool(v, expected(x, &at, &job) && foresee_rough(x->s, job));
}

/* Shows the latest end if it starts as expected. */
static void f_expected_end(const struct subject *x, struct value *v)
{
	int64_t end;

	if (x->a ? foresee_array_end(x->s, x->a, &end) : foresee_end(x->s, x->id, &end))
		put_instant(v, end);
}

/* Shows if a job was asked to end or to make room for another, and its processes still exist. A
 * moved job already has its next attempt, which waits for the end of the last. */
static void f_quitting(const struct subject *x, struct value *v)
{
	bool runs = x->job->state == STATE_NOW || x->job->state == STATE_RUNNING;
	uint32_t stopped = x->job->attempt - runs;

	put_bool(v, !x->a && !job_ended(x->job) &&
			    ((runs && x->e->intent != INTENT_NONE) ||
			     (x->job->attempt > 0 && stopped > 0 && attempt_find(x->s, x->id, stopped))));
}

static void f_no_estimate(const struct subject *x, struct value *v)
{
	uint32_t job;
	int64_t at;
	uint32_t id = x->id;

	for (uint32_t i = 0; x->a && i < x->a->count && entry_job(x->s, id)->state >= STATE_NOW; i++)
		id = x->a->first + i;
	if (!expected(x, &at, &job) && foresee_not(x->s, id, &v->scratch))
		put_scratch(v, VALUE_TEXT);
}

static void f_exec_host(const struct subject *x, struct value *v)
{
	if (!x->a && x->e->outcome)
		put_text(v, x->e->outcome->exec_host);
}

/* Shows the switches of its nodes, where the server knows them. */
static void f_switches(const struct subject *x, struct value *v)
{
	VEC(uint32_t) leaf = {0};

	if (x->a || !x->e->outcome || !x->e->outcome->exec_host || !x->s->cluster->topology)
		return;
	for (const char *p = x->e->outcome->exec_host; *p; p += strcspn(p, "+"), p += *p == '+') {
		char name[256];
		snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "/"), p);
		vec_push(&leaf, topology_leaf(x->s->cluster->topology, name));
	}
	put_int(v, near_span(leaf.v, (uint32_t)leaf.n));
	vec_free(&leaf);
}

void vnodes_format(const char *exec_host, struct strbuf *out)
{
	for (const char *p = exec_host; *p;) {
		size_t n = strcspn(p, "/");
		const char *name = p;
		int cpus = 0;
		while (*p && strncmp(p, name, n + 1) == 0) {
			cpus++;
			p += strcspn(p, "+");
			p += *p == '+';
		}
		strbuf_printf(out, "%s(%.*s:ncpus=%d)", out->n ? "+" : "", (int)n, name, cpus);
	}
}

static void f_exec_vnode(const struct subject *x, struct value *v)
{
	if (!x->a && x->e->outcome && x->e->outcome->exec_host)
		vnodes_format(x->e->outcome->exec_host, &v->scratch);
	if (v->scratch.n)
		put_scratch(v, VALUE_TEXT);
}

static void f_exit_status(const struct subject *x, struct value *v)
{
	if (!x->a && job_ended(x->job)) {
		put_int(v, x->e->exit_status);
	} else if (x->a && x->a->ended >= x->a->count) { /* for an array: the first that is not 0 */
		put_int(v, 0);
		for (uint32_t i = 0; i < x->a->count && v->number == 0; i++)
			v->number = entry_get(x->s, x->a->first + i)->exit_status;
	}
}

static void f_cause(const struct subject *x, struct value *v)
{
	if (!x->a && job_ended(x->job))
		put_text(v, cause_name(x->e->cause));
}

static int64_t wall_used(const struct subject *x)
{
	const struct outcome *o = x->e->outcome;

	if (x->a)
		return 0;
	if (x->job->state == STATE_RUNNING)
		return o && x->s->clock->boot_us > o->began_us ? (x->s->clock->boot_us - o->began_us) / 1000000 : 0;
	return o ? o->ran_ms / 1000 : 0;
}

const struct schema used_schema = {
	FIELDS({"cput", .is = REQUIRED | IS_INT, "seconds", .missing = -1, MEMBER(struct job_used, cput)},
	       {"walltime", .is = REQUIRED | IS_INT, "seconds", .missing = -1, MEMBER(struct job_used, walltime)},
	       {"memory", .is = REQUIRED | IS_INT, "KiB", .missing = -1, MEMBER(struct job_used, memory)})};

/* Returns what the last attempt used, or has used so far as its hosts last reported. */
static struct job_used used_by(const struct subject *x)
{
	const struct outcome *o = x->a ? NULL : x->e->outcome;
	const struct usage *u = !x->a && x->job->state == STATE_RUNNING ? usage_of(x->s, x->id) : NULL;

	return (struct job_used){.walltime = wall_used(x),
				 .cput = (u   ? u->v[u->n - 1].cpu_ms
					  : o ? o->cpu_ms
					      : 0) /
					 1000,
				 .memory = u   ? u->peak_kib
					   : o ? o->memory_kib
					       : 0};
}

static void f_used(const struct subject *x, struct value *v)
{
	struct job_used used = used_by(x);

	if (x->a || !ran(x))
		return;
	record_show_text(used_schema.fields, 0, &used, NULL, &v->scratch);
	put_scratch(v, VALUE_JSON);
}

static void f_used_walltime(const struct subject *x, struct value *v)
{
	put_int(v, wall_used(x));
}

static void f_used_cput(const struct subject *x, struct value *v)
{
	put_int(v, used_by(x).cput);
}

static bool waits(const struct subject *x)
{
	return !x->a && !(x->e->outcome && x->e->outcome->comment) && !job_ended(x->job) && x->job->state < STATE_NOW;
}

static void f_comment(const struct subject *x, struct value *v)
{
	if (!x->a && x->e->outcome && x->e->outcome->comment)
		put_text(v, x->e->outcome->comment);
	if (waits(x))
		put_text(v, job_reason_text(x, &v->scratch));
}

static void f_reason(const struct subject *x, struct value *v)
{
	if (!waits(x))
		return;
	job_reason_json(x, &v->scratch);
	put_scratch(v, VALUE_JSON);
}

/* Lists in words everything that keeps the job from being considered. */
static void f_blocks(const struct subject *x, struct value *v)
{
	static const struct {
		unsigned bit;
		const char *word;
	} words[] = {
		{BLOCK_USER, "user"},	  {BLOCK_OTHER, "other"}, {BLOCK_SYSTEM, "system"}, {BLOCK_TIME, "time"},
		{BLOCK_DEPEND, "depend"}, {BLOCK_QUEUE, "queue"}, {BLOCK_MISFIT, "misfit"}, {BLOCK_RETRY, "retry"},
	};
	unsigned block = gate_blocks(x->s->gate, x->id);

	if (x->a || job_ended(x->job) || x->job->state == STATE_NOW || x->job->state == STATE_RUNNING)
		return;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (block & words[i].bit)
			strbuf_printf(&v->scratch, "%s%s", v->scratch.n ? "," : "", words[i].word);
	if (sched_limited(x->s->sched, x->id))
		strbuf_printf(&v->scratch, "%slimit", v->scratch.n ? "," : "");
	if (v->scratch.n)
		put_scratch(v, VALUE_TEXT);
}

/* Shows the priority by the site's weights. */
static void f_weight(const struct subject *x, struct value *v)
{
	if (!x->a && priority_rules(x->s) && job_waits(x->job))
		put_int(v, llround(job_priority((void *)x->s, x->id, x->s->clock->now)));
}

static void f_session(const struct subject *x, struct value *v)
{
	if (!x->a && x->e->outcome && x->e->outcome->session == 0 && x->job->state == STATE_RUNNING)
		x->e->outcome->session = attempt_session(x->s, x->id);
	if (!x->a && x->e->outcome && x->e->outcome->session > 0)
		put_int(v, x->e->outcome->session);
}

/* Shows the absolute path of one of its streams. */
static void put_path(const struct subject *x, struct value *v, bool error)
{
	struct arena *a;
	const char *out, *err;

	if (!x->body)
		return;
	a = arena_create();
	output_paths((struct server *)x->s, x->id, x->body, a, &out, &err);
	strbuf_puts(&v->scratch, error && err ? err : out);
	put_scratch(v, VALUE_TEXT);
	arena_destroy(a);
}

static void f_output(const struct subject *x, struct value *v)
{
	put_path(x, v, false);
}

static void f_error(const struct subject *x, struct value *v)
{
	put_path(x, v, true);
}

static void f_array_spec(const struct subject *x, struct value *v)
{
	if (x->a)
		put_text(v, x->a->spec->array_text);
}

static void f_max_run_subjobs(const struct subject *x, struct value *v)
{
	if (x->a && x->a->limit)
		put_int(v, x->a->limit);
}

static void f_array_counts(const struct subject *x, struct value *v)
{
	int64_t counts[256];
	struct json j;

	if (!x->a)
		return;
	array_counts(x->s, x->a, counts);
	json_begin(&j, &v->scratch);
	for (const char *p = "QRHWSEC"; *p; p++)
		json_int(&j, (char[]){*p, '\0'}, counts[(unsigned char)*p]);
	json_close_object(&j);
	put_scratch(v, VALUE_JSON);
}

static void f_array_failed(const struct subject *x, struct value *v)
{
	int64_t n = 0;

	if (!x->a)
		return;
	for (uint32_t i = 0; i < x->a->count && x->a->ended; i++)
		n += entry_failed(x->s, x->a->first + i);
	put_int(v, n);
}

/* Shows the checkpoint option as submitted; without the body, only if checkpoints were
 * requested. */
static void f_checkpoint(const struct subject *x, struct value *v)
{
	if (x->body)
		put_body(x, v, "checkpoint");
	else
		put_text(v, word_text(x->s, x->p->checkpoint));
}

struct checkpoints {
	struct saves last;
	int64_t saved, lost;
	uint32_t moves;
	const char *cause;
};
#define HAS(member) MEMBER(struct checkpoints, member)

static const struct schema checkpoints = {FIELDS(
	{"number", .is = REQUIRED | IS_INT, "the last good one; 0: none", HAS(last.number)},
	{"saved", .is = IS_INSTANT, "when that was made", HAS(saved)},
	{"state", .is = REQUIRED | IS_TEXT, "of the latest", .words = "none|begun|good|failed",
	 MEMBER_AS(FORM_CHOICE, struct checkpoints, last.state)},
	{"cause", .is = IS_TEXT, NULL, .words = "periodic|asked|preempted|time_limit|shutdown|move", HAS(cause)},
	{"good", .is = REQUIRED | IS_INT, "of this attempt", HAS(last.good)},
	{"failed", .is = REQUIRED | IS_INT, "the same", HAS(last.failed)},
	{"restarted", .is = REQUIRED | IS_INT,
	 "the checkpoint that this attempt began with; 0: it started from the beginning", HAS(last.restarted)},
	{"lost", .is = REQUIRED | IS_INT, "seconds of work that were in no checkpoint when attempts ended", HAS(lost)},
	{"moves", .is = REQUIRED | IS_INT, "how often the job was stopped to continue elsewhere", HAS(moves)})};

static void f_checkpoints(const struct subject *x, struct value *v)
{
	const struct job_saves *saves = x->a || !x->e->outcome ? NULL : x->e->outcome->saves;

	if (!saves)
		return;
	record_show_text(checkpoints.fields, 0,
			 &(struct checkpoints){.last = saves->last,
					       .saved = saves->last.saved_us / 1000000,
					       .lost = saves->lost_ms / 1000,
					       .moves = saves->moves,
					       .cause = saves->last.state ? save_words[saves->last.cause] : NULL},
			 NULL, &v->scratch);
	put_scratch(v, VALUE_JSON);
}

static void f_restart(const struct subject *x, struct value *v)
{
	if (!x->p->rare->restart)
		return;
	key_id(x->s, x->p->rare->restart, &v->scratch);
	put_scratch(v, VALUE_TEXT);
}

static const struct field reason_fields[] = {
	{"code", .is = REQUIRED | IS_TEXT, .words = REASON_CODES},
	{"text", .is = REQUIRED | IS_TEXT, "a sentence"},
	{"needed", .is = IS_INT, "CPUs, of `cpus`"},
	{"free", .is = IS_INT, "the same"},
	{"limit", .is = IS_OBJECT, "of `limit`", .of = &limit_schema},
	{"reservation", .is = IS_TEXT, "of `bound`; not given: none admits the job"},
	{"begins", .is = IS_INSTANT,
	 "the reservation; neither `begins` nor `ends` is given: it is over, or too far ahead"},
	{"ends", .is = IS_INSTANT},
	{"template", .is = IS_TEXT, "of `misfit`: the sentence with `{1}`, `{2}` for the values"},
	{"values", .is = IS_LIST, .item = IS_TEXT},
	{0},
};
static const struct schema reason_schema = {.fields = reason_fields};

/* Computed fields. The members of a job's description are rows of core/jobschema.h. */
static const struct field derived_fields[] = {
	{"id", .is = IS_TEXT, NULL, f_id, .example = "12.host"},
	{"number", .is = IS_INT, NULL, f_number},
	{"index", .is = IS_INT | IS_NULL, "of an element of an array", f_index},
	{"array", .is = IS_TEXT | IS_NULL, "the array's id of an element", f_array},
	{"state", .is = IS_TEXT,
	 "queued, running, held or waiting for a job it depends on, waiting for its time, suspended, exiting, completed, an array that has begun",
	 f_state, .words = "Q|R|H|W|S|E|C|B"},
	{"substate", .is = IS_TEXT, NULL, f_substate,
	 .words = "candidate|allocated|now|running|done|expired|deleted|held"},
	{"type", .is = IS_TEXT, "S is starving; I: interactive, and started at once or not at all", f_type,
	 .words = "C|Q|E|N|S|I"},
	{"deadline", .is = IS_INSTANT | IS_NULL, NULL, f_deadline},
	{"budget", .is = IS_INT | IS_NULL, "what it may cost: unit-seconds", f_budget},
	{"price", .is = IS_INT | IS_NULL, "what it costs: unit-seconds", f_price},
	{"price_unit", .is = IS_TEXT | IS_NULL, "the unit of budget and price: that of its account, or CPU hours",
	 f_price_unit, .words = CREDIT_UNIT_WORDS},
	{"nice_until", .is = IS_INSTANT | IS_NULL, "of type N: until then jobs submitted later go first", f_nice_until},
	{"guaranteed", .is = IS_BOOL, NULL, f_guaranteed},
	{"powers", .is = IS_LIST, NULL, f_powers, .item = IS_TEXT,
	 .words = "sc_alloc|q_alloc|e_alloc|c_exec|s_exec|q_exec|e_exec"},
	{"holds", .is = IS_TEXT, NULL, f_holds},
	{"attempt", .is = IS_INT, NULL, f_attempt},
	{"failures", .is = IS_INT, NULL, f_failures},
	{"retried", .is = IS_INT, "how often it was run again by itself since it had failed", f_retried},
	{"cpus", .is = IS_INT, NULL, f_cpus},
	{"nodect", .is = IS_INT, NULL, f_nodect},
	{"ppn", .is = IS_INT, NULL, f_ppn},
	{"exclusive", .is = IS_TEXT | IS_NULL, "what no other job shares with it while it runs", f_exclusive,
	 .words = "node|host"},
	{"partition", .is = IS_TEXT | IS_NULL,
	 "where it runs or has a reservation, else what it asked for: a name or any", f_partition, .example = "A"},
	{"memory", .is = IS_INT | IS_NULL, "KiB", f_memory},
	{"gpus", .is = IS_INT | IS_NULL, NULL, f_gpus},
	{"queued", .is = IS_INSTANT | IS_NULL, NULL, f_queued},
	{"started", .is = IS_INSTANT | IS_NULL, NULL, f_started},
	{"ended", .is = IS_INSTANT | IS_NULL, NULL, f_ended},
	{"modified", .is = IS_INSTANT | IS_NULL, NULL, f_modified},
	{"planned_start", .is = IS_INSTANT | IS_NULL, NULL, f_planned_start},
	{"expected_start", .is = IS_INSTANT | IS_NULL,
	 "when a waiting job would start if those ahead of it ran as long as they may and succeeded; not a promise",
	 f_expected_start},
	{"expected_made", .is = IS_INSTANT | IS_NULL, "the instant of that forecast", f_expected_made},
	{"expected_rough", .is = IS_BOOL,
	 "very many jobs are ahead of it, which that start takes as a sum of CPUs only: it may be off by far",
	 f_expected_rough},
	{"expected_end", .is = IS_INSTANT | IS_NULL,
	 "the latest end of a running job, and of a waiting one that starts as expected; of an array that of its last element",
	 f_expected_end},
	{"no_estimate", .is = IS_TEXT | IS_NULL, "why a waiting job has no expected start", f_no_estimate,
	 .example = "held by its owner"},
	{"exec_host", .is = IS_TEXT | IS_NULL, NULL, f_exec_host, .example = "n1/0+n1/1"},
	{"switches", .is = IS_INT | IS_NULL, "number of leaf switches of its nodes, if the server has a topology",
	 f_switches},
	{"exec_vnode", .is = IS_TEXT | IS_NULL, NULL, f_exec_vnode, .example = "(n1:ncpus=2)"},
	{"quitting", .is = IS_BOOL, "it was asked to end or to make room, and its processes are still there",
	 f_quitting},
	{"exit_status", .is = IS_INT | IS_NULL,
	 "exit code; 256 + signal; negative: never ran to an end (-1 could not be started, -2 lost, -3 deleted before it ran, -4 expired)",
	 f_exit_status},
	{"cause", .is = IS_TEXT | IS_NULL, NULL, f_cause,
	 .words = "walltime|memory|deleted|preempted|lost|expired|dependency|not_started|hung_up|refused"},
	{"used", .is = IS_OBJECT | IS_NULL, NULL, f_used, .of = &used_schema},
	{"used_walltime", .is = IS_INT | IS_NULL, "as in used; for lists", f_used_walltime},
	{"used_cput", .is = IS_INT | IS_NULL, "as in used; for lists", f_used_cput},
	{"comment", .is = IS_TEXT | IS_NULL, "a sentence: why it waits, or how it ended", f_comment},
	{"reason", .is = IS_OBJECT | IS_NULL, "the same of one that waits, for clients that make sentences themselves",
	 f_reason, .of = &reason_schema},
	{"blocks", .is = IS_TEXT | IS_NULL,
	 "what keeps a waiting job from being considered, joined by commas: user, other, system (holds), time, depend, queue, misfit, retry, limit; null: nothing does",
	 f_blocks, .example = "user,depend"},
	{"weight", .is = IS_INT | IS_NULL,
	 "the priority of a waiting job, rounded; null: the policy orders the jobs (priority_order)", f_weight},
	{"session", .is = IS_INT | IS_NULL, "of the running job", f_session},
	{"array_spec", .is = IS_TEXT | IS_NULL, NULL, f_array_spec},
	{"max_run_subjobs", .is = IS_INT | IS_NULL, "of an array: elements that may run at once; null: no limit",
	 f_max_run_subjobs},
	{"array_counts", .is = IS_OBJECT | IS_NULL, "of an array: its elements by state", f_array_counts,
	 .item = IS_INT},
	{"array_failed", .is = IS_INT | IS_NULL,
	 "of an array: its elements that ended otherwise than well and were not deleted", f_array_failed},
	{"output", .is = IS_TEXT | IS_NULL | OF_BODY, "absolute", f_output},
	{"error", .is = IS_TEXT | IS_NULL | OF_BODY, "absolute", f_error},
	{"checkpoint", .is = IS_TEXT | IS_NULL, "in lists, of those that make any", f_checkpoint},
	{"restart", .is = IS_TEXT | IS_NULL, "the job whose last checkpoint it starts from", f_restart},
	{"checkpoints", .is = IS_OBJECT | IS_NULL, "of a job that makes them", f_checkpoints, .of = &checkpoints},
	{0},
};

const struct field *job_field_next(const struct field *f)
{
	static const struct schema members = {.fields = job_members, .in = SHOWN};

	if (!f)
		return derived_fields;
	if (!f->get)
		return schema_next(&members, f);
	return f[1].name ? f + 1 : schema_next(&members, NULL);
}

bool job_field_of_body(const struct field *f)
{
	return f->is & OF_BODY || (!f->get && f->form == FORM_NONE);
}

void job_field_get(const struct field *f, const struct subject *x, struct value *v)
{
	v->kind = VALUE_NULL;
	strbuf_clear(&v->scratch);
	if (f->get)
		f->get(x, v);
	else if (f->form != FORM_NONE)
		field_get(f, spec_part(x->p, f), x->s->words, v);
	else
		put_body(x, v, f->name);
}

/* Fields shown in addition, outside these tables. */
static const struct schema more = {
	FIELDS({"past", .is = IS_BOOL,
		"true: the server has forgotten it, and this is what the history has; other fields are missing"},
	       {"environment", .is = IS_LIST, "only for one job, for its owner and managers"})};
static const struct schema described = {.fields = job_members, .in = SHOWN, .base = &more};
const struct schema job_schema = {
	"Job", "A list has the `fields` asked for; one job alone has all.", .fields = derived_fields,
	.base = &described,
	.example =
		"{\"id\": \"12.host\", \"number\": 12, \"name\": \"hello\", \"owner\": \"ann\", \"queue\": \"batch\", \"state\": \"R\", \"resources\": \"nodes=1:ppn=2\", \"walltime\": 600, \"started\": 1767225600, \"exec_host\": \"n1/0+n1/1\", \"exit_status\": null}"};
