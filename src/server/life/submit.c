/*
 * submit.c - taking a job over: the rules of its queue and of the server, then its first events. A large submission: intake.h.
 */
#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "core/job.h"
#include "core/res.h"
#include "plan/pack.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "rules/limit.h"
#include "rules/queue.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/book/ended.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/block.h"
#include "server/life/submit.h"
#include "server/life/world.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/who.h"
#include "store/store.h"

#define ROUTE_DEPTH 5

static int refused(const char **code, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int refused(const char **code, struct err *err, const char *fmt, ...)
{
	va_list ap;
	char text[400];

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	*code = "refused";
	return err_set(err, -EPERM, "%s", text);
}

struct asked {
	const char *resource;
	int64_t amount;
	bool duration;
};

/* resources_max and resources_min, of the queue or of the server. */
static int amounts_check(const struct attrs *a, const char *of, const struct asked *asked, const char **code,
			 struct err *err)
{
	char x[32], y[32];

	for (; asked->resource; asked++) {
		int64_t most = attrs_amount(a, "resources_max", asked->resource),
			least = attrs_amount(a, "resources_min", asked->resource);
		bool over = most >= 0 && asked->amount > most, under = least >= 0 && asked->amount < least;
		int64_t bound = over ? most : least;
		if (!over && !under)
			continue;
		if (asked->duration)
			return refused(code, err, "%s=%s is %s what %s allows (%s): ask for %s", asked->resource,
				       duration_format(asked->amount, x, sizeof x), over ? "more than" : "less than",
				       of, duration_format(bound, y, sizeof y), over ? "less" : "more");
		return refused(code, err, "%s=%lld is %s what %s allows (%lld)", asked->resource,
			       (long long)asked->amount, over ? "more than" : "less than", of, (long long)bound);
	}
	return 0;
}

int walltime_allowed(struct server *s, uint32_t queue, int64_t walltime, const char **code, struct err *err)
{
	struct asked asked[] = {{"walltime", walltime, true}, {NULL, 0, false}};
	const struct queue *q = queue_of(s, queue);
	char of[300];
	int rc = amounts_check(s->attrs, "this server", asked, code, err);

	if (rc < 0 || !q)
		return rc;
	snprintf(of, sizeof of, "queue %s", q->name);
	return amounts_check(&q->attrs, of, asked, code, err);
}

static bool in_group(const struct attrs *a, const struct asker *who)
{
	gid_t groups[256];
	int n = 256;

	if (getgrouplist(who->user, who->gid, groups, &n) < 0)
		n = 0;
	for (int i = 0; i < n; i++) {
		const struct group *g = getgrgid(groups[i]);
		if (g && attrs_list_has(a, "acl_groups", g->gr_name, NULL))
			return true;
	}
	return false;
}

static int acl_check(const struct server *s, const struct attrs *a, const char *of, const struct asker *who,
		     const struct spec *p, const char **code, struct err *err)
{
	/* From another machine the address counts, not what it calls itself. */
	const char *host = *who->address ? who->address : word(s, p->host);

	if (attrs_bool(a, "acl_user_enable") && !attrs_list_has(a, "acl_users", who->user, host))
		return refused(code, err, "%s is not for user %s (acl_users)", of, who->user);
	if (attrs_bool(a, "acl_host_enable") && !attrs_list_has(a, "acl_hosts", host, NULL))
		return refused(code, err, "%s takes no jobs from host %s (acl_hosts)", of, host);
	if (a->owner == ATTR_QUEUE && attrs_bool(a, "acl_group_enable") && !in_group(a, who))
		return refused(code, err, "%s is not for the groups of user %s (acl_groups)", of, who->user);
	return 0;
}

static int count_check(int64_t have, int64_t more, int64_t limit, const char *of, const char *attr, const char **code,
		       struct err *err)
{
	if (limit < 0 || have + more <= limit)
		return 0;
	return refused(code, err, "%s has a limit of %lld job%s (%s), and it has %lld now", of, (long long)limit,
		       limit == 1 ? "" : "s", attr, (long long)have);
}

static int queue_check(struct server *s, struct queue *q, const struct asker *who, const struct submission *x,
		       const struct asked *asked, int64_t ahead, bool routed, const char **code, struct err *err)
{
	char of[300];
	int64_t n = x->spec->array ? x->array.count : 1;
	uint32_t user = word_add(s, who->user);
	int rc;

	snprintf(of, sizeof of, "queue %s", q->name);
	if (!attrs_bool(&q->attrs, "enabled"))
		return refused(code, err, "%s is not enabled: it takes no jobs now", of);
	if (attrs_bool(&q->attrs, "from_route_only") && !routed)
		return refused(code, err, "%s takes jobs from routing queues only", of);
	if ((rc = acl_check(s, &q->attrs, of, who, x->spec, code, err)) < 0 ||
	    (rc = amounts_check(&q->attrs, of, asked, code, err)) < 0 ||
	    (rc = count_check(q->total + ahead, n, attrs_number(&q->attrs, "max_queuable"), of, "max_queuable", code,
			      err)) < 0 ||
	    (rc = count_check(tally_of(s, user, word_add(s, q->name))->total + ahead, n,
			      attrs_number(&q->attrs, "max_user_queuable"), of, "max_user_queuable", code, err)) < 0)
		return rc;
	return 0;
}

/* The queue that takes it in the end: a routing queue hands it to the first of its destinations that does. */
static int route(struct server *s, struct queue *q, const struct asker *who, struct submission *x,
		 const struct asked *asked, int64_t ahead, int depth, const char **code, struct err *err)
{
	const char *list, *type = attrs_text(&q->attrs, "queue_type");
	struct err first = {""};
	char name[256];
	int rc = queue_check(s, q, who, x, asked, ahead, depth > 0, code, err);

	if (rc < 0)
		return rc;
	if (strcmp(type, "Route") != 0) {
		x->spec->queue = word_add(s, q->name);
		return 0;
	}
	list = attrs_text(&q->attrs, "route_destinations");
	if (!list || depth >= ROUTE_DEPTH)
		return refused(code, err, "queue %s routes nowhere (route_destinations)", q->name);
	while (*list) {
		size_t n = strcspn(list, ",");
		snprintf(name, sizeof name, "%.*s", (int)strcspn(list, ",@"), list);
		struct queue *to = queue_named(s, name);
		struct err why;
		if (to && route(s, to, who, x, asked, ahead, depth + 1, code, &why) == 0)
			return 0;
		if (!first.text[0])
			first = to ? why : (struct err){"no such queue"};
		list += n + (list[n] == ',');
	}
	return refused(code, err, "no destination of queue %s takes it: %.250s", q->name, first.text);
}

int depend_check(struct server *s, const struct asker *who, const struct spec *p, struct err *err)
{
	struct depends d = {0};
	int rc = 0;

	if (!p->depend || depends_parse(p->depend, &d, NULL) < 0)
		return 0;
	for (uint32_t i = 0; i < d.n && rc == 0; i++)
		for (uint32_t k = 0; k < d.v[i].nids && rc == 0; k++) {
			const struct jobid *id = &d.v[i].id[k];
			struct array *a = array_find(s, id->number);
			uint32_t found = a ? a->first : 0;
			if ((!a || id->kind == JOBID_ELEMENT) && !entry_find(s, id->number, id->index, &found))
				rc = err_set(err, -ENOENT, "depend: there is no job %llu",
					     (unsigned long long)id->number);
			else if (!may_change(who, s->jobs->entries.v[found].spec) && depend_is_before(d.v[i].type))
				rc = err_set(err, -EPERM, "depend: job %llu is not yours",
					     (unsigned long long)id->number);
			else if (depend_is_before(d.v[i].type) && (a || entry_job(s, found)->state > STATE_ALLOCATED))
				rc = err_set(err, -EPERM, "depend: job %llu no longer waits",
					     (unsigned long long)id->number);
		}
	depends_fini(&d);
	return rc;
}

int submit_check(struct server *s, const struct asker *who, const struct submission *x, int64_t ahead,
		 const char **code, struct err *err)
{
	const struct request *q = &s->cluster->requests.v[x->spec->request];
	int64_t n = x->spec->array ? x->array.count : 1;
	struct asked asked[] = {
		{"ncpus", q->total.v[RES_CPU], false}, {"procct", q->total.v[RES_CPU], false},
		{"nodect", q->nfrags, false},	       {"nodes", q->nfrags, false},
		{"mem", q->total.v[RES_MEM], false},   {"ngpus", q->total.v[RES_GPU], false},
		{"walltime", x->spec->walltime, true}, {NULL, 0, false},
	};
	struct queue *queue = queue_of(s, x->spec->queue);
	enum fit fit = world_could_hold(s, x->spec->request);
	int rc;

	if (fit == FIT_NO) {
		struct err why;
		world_refuse(s, x->spec->request, &why);
		return refused(code, err, "%s ('shunt nodes' shows what each node has)", why.text);
	}
	if (fit == FIT_UNKNOWN)
		return refused(
			code, err,
			"no way was found to place it, even with all nodes empty, though there may be one: request fewer different kinds of parts");

	if (x->spec->deadline <= s->clock->now)
		return refused(code, err, "the deadline has passed already: give a later one");
	if (s->turn->terminating || s->turn->emptying) {
		*code = "unavailable";
		return err_set(err, -ESHUTDOWN, "the server is shutting down: submit again when it is back");
	}
	if (x->spec->uid == 0 && s->instance->multi && !s->conf->root_jobs)
		return refused(
			code, err,
			"jobs of root are refused here (root_jobs = no in the configuration): submit as an ordinary user");
	if ((rc = acl_check(s, s->attrs, "this server", who, x->spec, code, err)) < 0 ||
	    (rc = amounts_check(s->attrs, "this server", asked, code, err)) < 0 ||
	    (rc = count_check(s->jobs->total + ahead, n, attrs_number(s->attrs, "max_queued"), "this server",
			      "max_queued", code, err)) < 0 ||
	    (rc = count_check(tally_of(s, word_add(s, who->user), 0)->total + ahead, n,
			      attrs_number(s->attrs, "max_user_queuable"), "this server", "max_user_queuable of a user",
			      code, err)) < 0)
		return rc;
	rc = route(s, queue, who, (struct submission *)x, asked, ahead, 0, code, err);
	if (rc < 0)
		return rc;
	*code = "refused";
	return depend_check(s, who, x->spec, err);
}

void entry_fill(struct server *s, uint32_t id, uint64_t key, struct spec *p)
{
	struct job *job = entry_job(s, id);

	p->refs++;
	s->jobs->entries.v[id] = (struct entry){.key = key, .spec = p, .modified = p->created, .holds = p->holds};
	job_fill(s, job, p);
	job->user = names_add(&s->cluster->user_names, word(s, p->owner));
	job->rank = p->rank;
	job->by = JOB_NONE;
}

uint32_t entries_reserve(struct server *s, int64_t count)
{
	uint32_t first = s->cluster->njobs;

	for (int64_t i = 0; i < count; i++)
		cluster_add_job(s->cluster);
	while (s->jobs->entries.n < s->cluster->njobs)
		vec_push(&s->jobs->entries, (struct entry){0});
	return first;
}

/* A core job and its entry, in STATE_NEW. */
uint32_t entry_add(struct server *s, uint64_t key, struct spec *p)
{
	uint32_t id = entries_reserve(s, 1);

	entry_fill(s, id, key, p);
	return id;
}

struct array *array_add(struct server *s, uint64_t number, struct spec *p, const struct array_spec *spec,
			uint32_t first)
{
	struct array *a = mem_zalloc(sizeof *a);

	a->number = number;
	a->spec = p;
	p->refs++;
	a->limit = spec->limit;
	a->count = spec->count;
	a->first = first;
	gate_array(s->gate, a->first, a->count);
	limits_set(s->limits, LIMIT_ARRAY, number, a->limit ? a->limit : -1);
	map_set(&s->jobs->by_number, number, ARRAY_BIT | s->jobs->arrays.n);
	vec_push(&s->jobs->arrays, a);
	return a;
}

/* before...: the other job waits for this one, and counts one less of its on:N. */
static void mirror_before(struct server *s, uint32_t other, enum depend_type type, uint64_t number)
{
	const char *depend = s->jobs->entries.v[other].spec->depend;
	struct depends d = {0};
	struct strbuf text = {0};

	if (depend)
		depends_parse(depend, &d, NULL);
	for (uint32_t i = 0; i < d.n; i++)
		if (d.v[i].type == DEPEND_ON && d.v[i].count > 0)
			d.v[i].count--;
	for (uint32_t i = 0; i < d.n; i++)
		if (d.v[i].type != DEPEND_ON || d.v[i].count > 0) {
			struct depends one = {&d.v[i], 1};
			strbuf_puts(&text, text.n ? "," : "");
			depends_format(&one, &text);
		}
	strbuf_printf(&text, "%s%s:%llu", text.n ? "," : "", depend_type_name(depend_mirror(type)),
		      (unsigned long long)number);
	struct spec *p = spec_copy(s->jobs->entries.v[other].spec);

	free(p->depend);
	p->depend = mem_strdup(text.text);
	p->holds = s->jobs->entries.v[other].holds;
	entry_alter(s, other, &(struct payload){.spec = p, .text = "another job is to run before it"});
	spec_unref(p);
	strbuf_fini(&text);
	depends_fini(&d);
}

static void apply_before(struct server *s, const struct spec *p, uint64_t number)
{
	struct depends d = {0};
	uint32_t other;

	if (!p->depend || depends_parse(p->depend, &d, NULL) < 0)
		return;
	for (uint32_t i = 0; i < d.n; i++)
		for (uint32_t k = 0; depend_is_before(d.v[i].type) && k < d.v[i].nids; k++)
			if (entry_find(s, d.v[i].id[k].number, d.v[i].id[k].index, &other))
				mirror_before(s, other, d.v[i].type, number);
	depends_fini(&d);
}

void submission_settle(struct server *s, struct submission *x, const struct submission *before)
{
	const struct queue *q = queue_of(s, x->spec->queue);

	submission_keep_script(s, x, before);
	if (q)
		x->spec->rank -= 60.0 * (double)attrs_number(&q->attrs, "priority");
}

int64_t submission_count(const struct submission *x)
{
	return x->spec->array ? x->array.count : 1;
}

void submission_fill(struct server *s, uint64_t number, const struct submission *x, uint32_t first)
{
	uint32_t id = first;

	if (x->spec->array) {
		array_add(s, number, x->spec, &x->array, first);
		for (int64_t i = array_next(&x->array, -1); i >= 0; i = array_next(&x->array, i))
			entry_fill(s, id++, job_key(number, i), x->spec);
	} else {
		entry_fill(s, id, job_key(number, -1), x->spec);
		map_set(&s->jobs->by_number, number, id);
	}
}

void submission_begun(struct server *s, uint64_t number, const struct spec *p, uint32_t first, uint32_t count)
{
	s->stats->submitted += count;
	book_event(s, first, 'Q');
	apply_before(s, p, number);
	s->turn->dirty = true;
}

/* A job that begins to wait. */
static void begin(struct server *s, uint32_t id)
{
	s->jobs->entries.v[id].fresh = true;
	sched_submit(s->sched, id, s->clock->now);
	block_begin(s, id);
}

uint64_t submit(struct server *s, struct submission *x, const struct submission *before)
{
	uint64_t number = s->jobs->next_number++;
	struct strbuf head = {0};
	struct spec *p = x->spec;
	uint32_t first, end, eligible = 0;

	submission_settle(s, x, before);
	first = entries_reserve(s, submission_count(x));
	end = s->cluster->njobs;
	submission_fill(s, number, x, first);
	for (uint32_t id = first; id < end; id++) /* events find the array whole */
		begin(s, id);
	for (uint32_t id = first; id < end; id++) {
		eligible += gate_blocks(s->gate, id) == 0;
		s->jobs->entries.v[id].fresh = false;
	}
	p->eligible = eligible;
	spec_head(s, p, &head);
	store_put_job(s->store, job_key(number, -1), strbuf_text(&head), x->body);
	strbuf_fini(&head);
	submission_begun(s, number, p, first, end - first);
	return number;
}
