/* submit.c - accepts a job: the rules of its queue and of the server, then its first events. For
 * large submissions see intake.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "core/job.h"
#include "core/jobid.h"
#include "core/res.h"
#include "plan/pack.h"
#include "rules/access.h"
#include "rules/admit.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "rules/libra.h"
#include "rules/limit.h"
#include "rules/queue.h"
#include "rules/weigh.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/book/ended.h"
#include "server/job/body.h"
#include "server/job/census.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/scripts.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/submit.h"
#include "server/life/wait/depend.h"
#include "server/life/world/block.h"
#include "server/life/world/shares.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/remotes.h"
#include "server/site/who.h"
#include "store/store.h"

#define DEPEND_PRODUCT_MAX 10000000 /* maximum jobs x ids that one text may relate */
/* relations in memory, at most; each takes some 60 bytes with its text */
#define RELATIONS_MAX 20000000
#define BEFORE_MAX 1000 /* maximum ids after before... in one request */
/* jobs of such a request, at most: all of them begin in one turn */
#define BEFORE_JOBS_MAX 2000
/* maximum total length of the dependency texts of the named jobs */
#define BEFORE_TEXT_MAX 1048576
#define PAST_MOST 100 /* dependencies looked up in the history, at most: each is a database query */

/* ---- the site in the form of rules/admit.h ---- */

/* Returns the known attributes of a queue of another site: it accepts jobs, and that site
 * decides the rest. */
static const struct attrs *remote_attrs(void)
{
	static struct attrs attrs;

	if (!attrs.set.n) {
		attrs_init(&attrs, ATTR_QUEUE);
		attrs_change(&attrs, ATTR_SET, "enabled", "True", NULL);
	}
	return &attrs;
}

static bool site_queue(void *context, const char *name, struct admit_queue *ret)
{
	const char *at = strchr(name, '@');
	const struct queue *q = NULL;
	char here[256];

	if (at && remote_find(context, at + 1)) {
		*ret = (struct admit_queue){.name = name, .attrs = remote_attrs(), .elsewhere = true};
		return true;
	}
	size_t n = at ? (size_t)(at - name) : strlen(name);
	if (n < sizeof here && (!at || server_is_here(context, at + 1))) {
		memcpy(here, name, n);
		here[n] = '\0';
		q = queue_named(context, here);
	}
	if (q)
		*ret = (struct admit_queue){.name = q->name, .attrs = &q->attrs};
	return q;
}

static int64_t site_jobs(void *context, const char *queue, const char *user)
{
	struct server *s = context;

	if (user)
		return tally_of(s, word_add(s, user), queue ? word_add(s, queue) : 0)->total;
	return queue ? queue_named(s, queue)->total : s->jobs->total;
}

static struct admit_site site_of(struct server *s)
{
	return (struct admit_site){s->attrs, site_queue, site_jobs, s};
}

/* Returns the names of a user's groups, ended by NULL: those of the table, and that of the
 * process, which may come from newgrp alone. */
static const char *const *groups_of(const struct server *s, const struct asker *who, struct arena *a)
{
	const struct user *u = user_known(s, who->uid);
	int n = u ? u->ngroups : 0;
	const char **names = arena_alloc(a, ((size_t)n + 2) * sizeof *names);

	for (int i = 0; i < n; i++)
		names[i] = u->groups[i];
	names[n] = user_group(s, who->uid, who->gid);
	names[n + 1] = NULL;
	return names;
}

/* Returns the submitting party for access lists. The machine's own name (submit_host) does not
 * count, since any client can claim any name. */
static struct admit_party party_of(struct server *s, const struct asker *who, struct arena *a)
{
	return (struct admit_party){who->user, *who->address ? who->address : s->instance->host, groups_of(s, who, a)};
}

/* ---- fit ---- */

/* Checks that the nodes could ever hold it. */
static int room_check(struct server *s, const struct spec *p, struct err *err)
{
	enum fit fit = p->request == UINT32_MAX ? FIT_YES : world_could_hold(s, p);

	if (p->request == UINT32_MAX) {
		struct err why;
		world_misfit(s, p, &why);
		return err_code(err, CODE_REFUSED, "the cluster does not have what it asks for: %s", why.text);
	}
	if (fit != FIT_YES && shares_could(s, p))
		fit = FIT_YES;
	if (fit == FIT_NO) {
		struct err why;
		world_refuse(s, p, &why);
		bool others = s->cluster->partitions.n && p->allowed == NODES_ALL;
		return err_code(err, CODE_REFUSED, "%s ('shunt nodes' shows what each node has%s)", why.text,
				others ? "; those in partitions are for jobs that request one: --partition NAME or any"
				       : "");
	}
	if (fit == FIT_UNKNOWN)
		return err_code(
			err, CODE_REFUSED,
			"no way was found to place it, even with all nodes empty, though there may be one: request fewer different kinds of parts");
	return 0;
}

struct fitting {
	struct server *s;
	const struct spec *spec;
};

static int fits_here(void *context, const char *queue, const struct reqtext *text, struct err *err)
{
	const struct fitting *f = context;
	struct spec *p = spec_copy(f->spec);
	int rc;

	p->queue = word_add(f->s, queue);
	rc = spec_fill(f->s, text, p, err);
	if (rc == 0)
		rc = room_check(f->s, p, err);
	spec_unref(p);
	return rc;
}

/* Chooses a queue for a job, and applies it to its spec. */
static int place(struct server *s, const struct asker *who, struct submission *x, struct admit_job *job,
		 struct arena *a, struct err *err)
{
	struct admit_site site = site_of(s);
	const char *refused[AWAY_REFUSED + 1] = {0};
	struct fitting fitting = {s, x->spec};
	struct admitted in;
	struct err stays;
	int rc;

	job->by = party_of(s, who, a);
	job->stays = spec_portable(x->spec, &stays) < 0 ? stays.text : NULL;
	if (x->away) {
		for (int i = 0; i < AWAY_REFUSED && x->away->refused[i]; i++)
			refused[i] = word_text(s, x->away->refused[i]);
		job->refused = refused;
	}
	job->fits = fits_here;
	job->context = &fitting;
	job->text = &x->text;
	job->count = submission_count(x);
	job->array = x->spec->array;
	job->interactive = x->spec->interactive;
	rc = job_admit(&site, word_text(s, x->spec->queue), job, a, &in, err);
	if (rc < 0)
		return rc;
	uint32_t named = x->spec->queue;
	x->spec->queue = word_add(s, in.queue.name);
	/* The spec of a new job has the defaults of the queue it named; a moved one already has
	 * its own. */
	if (job->from ? memcmp(&in.text, &x->text, sizeof in.text) != 0 : x->spec->queue != named)
		rc = spec_fill(s, &in.text, x->spec, err);
	if (in.queue.elsewhere && !job->from && x->spec->queue != named)
		spec_rare(x->spec)->through = named;
	/* the other site decides, or there is nothing to guarantee */
	if (in.queue.elsewhere || x->spec->deadline == TIME_NEVER)
		x->guarantee = false;
	return rc;
}

/* Requests whole nodes for a job with a dedicated QoS. */
static int dedicate(struct server *s, struct spec *p, struct arena *a, struct err *err)
{
	const struct object *q = p->qos ? object_find(s->objects, OBJECT_QOS, word_text(s, p->qos)) : NULL;
	struct reqtext text;
	int rc;

	if (!q || !attrs_bool(&q->attrs, SET_DEDICATED))
		return 0;
	rc = spec_request(s, p, a, &text, err);
	if (rc < 0 || text.whole != WHOLE_NOT)
		return rc;
	text.whole = WHOLE_NODE;
	return spec_fill(s, &text, p, err);
}

int job_access(struct server *s, const struct asker *owner, struct spec *p, struct arena *a, struct err *err)
{
	const struct queue *q = queue_of(s, p->queue);
	struct access_party party = {.by = party_of(s, owner, a),
				     .group = word_text(s, p->group),
				     .queue = q ? &q->attrs : NULL,
				     .queue_name = word_text(s, p->queue),
				     .server = s->attrs,
				     .lent = owner->lent ? word_text(s, owner->lent) : NULL,
				     .now = s->clock->now};
	struct access x = {p->account ? word_text(s, p->account) : NULL, p->qos ? word_text(s, p->qos) : NULL,
			   p->reservation ? word_text(s, p->reservation) : NULL};
	int rc = access_resolve(s->objects, &party, &x, err);

	if (rc < 0)
		return rc;
	p->account = word_add(s, x.account);
	p->qos = word_add(s, x.qos);
	access_preempt(s->objects, x.qos, &p->kind, &p->powers);
	p->reservation = word_add(s, x.reservation);
	return dedicate(s, p, a, err);
}

/* Refuses a job that requests more than its user, group, account, QoS or queue may have at once. */
static int limit_check(struct server *s, const struct spec *p, struct err *err)
{
	struct limit_party party = spec_party(p, 0);
	int64_t cpus = cluster_most_cpus(s->cluster, p->request, spec_nodes(s, p));
	/* credits are checked when it is about to start */
	struct limit_need need =
		limit_need_of(&s->cluster->requests.v[p->request], cpus, p->walltime, &(struct charge){0}, 0);

	return limits_admit(s->limits, &party, &need, err);
}

int walltime_allowed(struct server *s, const struct spec *p, int64_t walltime, struct err *err)
{
	struct admit_site site = site_of(s);
	struct spec longer = *p;
	struct reqtext text;
	int rc;

	reqtext_init(&text);
	text.walltime = longer.walltime = walltime;
	rc = admit_request(&site, word_text(s, p->queue), &text, p->interactive, "walltime", err);
	return rc < 0 || p->request == UINT32_MAX ? rc : limit_check(s, &longer, err);
}

/* Checks one job that another is to wait for, or to run before. Settled: the job is forgotten,
 * and ended as required. */
static int relation_check(struct server *s, const struct asker *who, enum depend_type type, const struct jobid *id,
			  int *looks, bool *ret_settled, struct err *err)
{
	const struct array *a = array_find(s, id->number);
	unsigned long long number = id->number;
	uint32_t found = a ? a->first : 0;

	*ret_settled = false;
	if ((!a || id->kind == JOBID_ELEMENT) && !entry_find(s, id->number, id->index, &found)) {
		struct depend_fate past;
		if (++*looks > PAST_MOST)
			return err_code(
				err, CODE_REFUSED,
				"depend: of the jobs that it names only %d may be ones that have left the queue",
				PAST_MOST);
		past = depend_past_of(s, id, may_see_all(s, who) ? NULL : who->user);
		if (past.gone)
			return err_code(err, CODE_REFUSED, "depend: there is no job %llu", number);
		if (depend_is_before(type))
			return err_code(err, CODE_REFUSED, "depend: job %llu no longer waits", number);
		*ret_settled = depend_judge(type, &past) == DEPEND_SATISFIED;
		return 0;
	}
	/* otherwise the fate of the dependent job would reveal how an invisible job ended */
	if (!may_see(s, who, entry_get(s, found)->spec))
		return err_code(err, CODE_REFUSED, "depend: there is no job %llu", number);
	if (!depend_is_before(type))
		return 0;
	if (!asker_may(s, who, ACT_ALTER, entry_get(s, found)->spec))
		return err_code(err, CODE_REFUSED, "depend: job %llu is not yours", number);
	if (a || entry_job(s, found)->state > STATE_ALLOCATED)
		return err_code(err, CODE_REFUSED, "depend: job %llu no longer waits", number);
	return 0;
}

/* Formats dependencies. Malloc'd; NULL if nothing is left. */
static char *depend_text(const struct depends *d)
{
	struct strbuf text = {0};

	for (uint32_t i = 0; i < d->n; i++) {
		struct depends one = {&d->v[i], 1};
		if (d->v[i].nids == 0 && d->v[i].type != DEPEND_ON)
			continue;
		strbuf_puts(&text, text.n ? "," : "");
		depends_format(&one, &text);
	}
	return text.text; /* its own buffer, or NULL */
}

/* Bounds the memory for relations before they are stored, so that whatever was accepted can be
 * restored. */
static int relations_check(const struct server *s, const struct depends *d, int64_t count, struct err *err)
{
	int64_t ids = 0;

	for (uint32_t i = 0; i < d->n; i++)
		ids += d->v[i].nids;
	if (ids * count > DEPEND_PRODUCT_MAX)
		return err_code(err, CODE_REFUSED,
				"depend: %lld jobs that each depend on %lld others are too many: at most %d relations",
				(long long)count, (long long)ids, DEPEND_PRODUCT_MAX);
	if (s->jobs->related + ids > RELATIONS_MAX)
		return err_code(err, CODE_REFUSED,
				"depend: the server has no memory for more dependencies (%d) until jobs have ended",
				RELATIONS_MAX);
	return 0;
}

int depend_check(struct server *s, const struct asker *who, struct spec *p, int64_t count, struct err *err)
{
	struct depends d = {0};
	bool any = false;
	int looks = 0, rc;

	if (!p->depend || depends_parse(p->depend, &d, NULL) < 0)
		return 0;
	rc = relations_check(s, &d, count, err);
	for (uint32_t i = 0; i < d.n && rc == 0; i++) {
		struct depend *x = &d.v[i];
		for (uint32_t k = 0; k < x->nids && rc == 0;) {
			bool settled;
			rc = relation_check(s, who, x->type, &x->id[k], &looks, &settled, err);
			if (rc < 0 || !settled) {
				k++;
				continue;
			}
			jobid_fini(&x->id[k]);
			memmove(&x->id[k], &x->id[k + 1], (--x->nids - k) * sizeof *x->id);
			any = true;
		}
	}
	if (rc == 0 && any) {
		free(p->depend);
		p->depend = depend_text(&d);
	}
	depends_fini(&d);
	return rc;
}

/* Checks that the nodes could ever hold it, and that nothing else forbids it to wait here. */
static int fit_check(struct server *s, const struct spec *p, struct err *err)
{
	int rc = spec_may_leave(s, p) ? 0 : room_check(s, p, err);

	return rc < 0 || queue_is_remote(word_text(s, p->queue)) || p->request == UINT32_MAX ? rc
											     : limit_check(s, p, err);
}

/* Refuses a job that could not meet its deadline even on an empty cluster, since it would expire
 * at once; with the policy artaras (by position) it starts anyway. */
static int deadline_check(const struct server *s, const struct spec *p, struct err *err)
{
	int64_t from = p->at > s->clock->now ? p->at : s->clock->now;
	int64_t takes =
		p->walltime + s->cluster->settings.tolerance + (*s->conf->prologue ? s->conf->program_limit : 0);

	if (p->deadline <= s->clock->now)
		return err_code(err, CODE_REFUSED, "the deadline has passed already: give a later one");
	return s->world->policy.position ? 0 : admit_deadline(p->deadline, from, takes, err);
}

static int wait_check(struct server *s, const struct spec *p, struct err *err)
{
	int rc = fit_check(s, p, err);

	return rc == 0 ? deadline_check(s, p, err) : rc;
}

int submit_check(struct server *s, const struct asker *who, struct submission *x, struct arena *a, struct err *err)
{
	int rc;

	if (s->turn->terminating || s->turn->emptying) {
		return err_code(err, CODE_UNAVAILABLE, "the server is shutting down: submit again when it is back");
	}
	if (x->spec->uid == 0 && s->instance->multi && !s->conf->root_jobs)
		return err_code(
			err, CODE_REFUSED,
			"jobs of root are refused here (root_jobs = no in the configuration): submit as an ordinary user");
	if (x->spec->nice && x->spec->nice <= s->clock->now)
		return err_code(err, CODE_REFUSED, "the deadline of a nice job has passed already: give a later one");
	if ((rc = place(s, who, x, &(struct admit_job){0}, a, err)) < 0 ||
	    (rc = job_access(s, who, x->spec, a, err)) < 0 || (rc = wait_check(s, x->spec, err)) < 0)
		return rc;
	return depend_check(s, who, x->spec, submission_count(x), err);
}

struct asker owner_of(const struct server *s, const struct spec *p)
{
	struct asker w = {.uid = p->uid, .gid = p->gid};

	snprintf(w.user, sizeof w.user, "%s", word_text(s, p->owner));
	if (p->rare->from)
		snprintf(w.address, sizeof w.address, "%s", word_text(s, p->rare->from));
	return w;
}

int move_check(struct server *s, const struct asker *owner, struct submission *x, const char *queue, enum mover by,
	       struct arena *a, struct err *err)
{
	bool exempt = by == MOVER_OPERATOR, away = spec_may_leave(s, x->spec);
	struct admit_job job = {
		.from = word_text(s, x->spec->queue), .granted = by == MOVER_COORDINATOR, .exempt = exempt};
	int rc = spec_request(s, x->spec, a, &x->text, err);

	if (rc < 0)
		return err_code(err, CODE_BAD_STATE, "%s", err->text);
	x->spec->queue = word_add(s, queue);
	if ((rc = place(s, owner, x, &job, a, err)) < 0)
		return rc;
	if (!exempt)
		/* a job whose deadline has passed expires in any queue */
		return fit_check(s, x->spec, err);
	/* It was accepted for the resources of other sites. */
	return away && !spec_may_leave(s, x->spec) ? room_check(s, x->spec, err) : 0;
}

/* Checks that a job may have other dependencies: the named jobs exist, and do not wait for it. */
static int redepend_check(struct server *s, const struct asker *owner, uint32_t id, struct spec *p, struct err *err)
{
	const struct entry *e = entry_get(s, id);
	const struct array *a = array_find(s, job_key_number(e->key));
	int rc;

	if (p->depend && e->spec->depend && strcmp(p->depend, e->spec->depend) == 0) {
		p->share = e->spec->share;
		return 0;
	}
	rc = depend_check(s, owner, p, a ? a->count : 1, err);
	return rc < 0 ? rc : block_circle_check(s, p, &id, 1, err);
}

int alter_check(struct server *s, const struct asker *owner, uint32_t id, const struct submission *x, bool exempt,
		struct arena *a, struct err *err)
{
	struct admit_site site = site_of(s);
	struct reqtext text;
	int rc = exempt ? 0 : spec_request(s, x->spec, a, &text, err);

	if (!exempt &&
	    (rc < 0 ||
	     (rc = admit_request(&site, word_text(s, x->spec->queue), &text, x->spec->interactive, NULL, err)) < 0 ||
	     (rc = wait_check(s, x->spec, err)) < 0))
		return rc;
	return redepend_check(s, owner, id, x->spec, err);
}

static void entry_fill(struct server *s, uint32_t id, uint64_t key, struct spec *p)
{
	struct job *job = entry_job(s, id);
	struct tally *own = tally_of(s, p->owner, 0);

	p->refs++;
	*entry_get(s, id) =
		(struct entry){.key = key, .spec = p, .modified = p->created, .holds = p->holds, .before = own->newest};
	if (own->newest)
		entry_get(s, own->newest)->after = id;
	own->newest = id;
	if (id == s->jobs->entries.n - 1)
		s->jobs->last_key = key;
	census_mark(s, id);
	job_fill(s, job, p);
	job->user = names_add(&s->cluster->user_names, word_text(s, p->owner));
	job->rank = p->rank;
	job->by = JOB_NONE;
	if (queue_is_remote(word_text(s, p->queue))) {
		entry_leaves(s, id);
		entry_through(s, id, p->rare->through);
	}
	if (p->rare->restart)
		map_set(&s->jobs->restarts, job_key_number(p->rare->restart), id);
}

uint32_t entries_reserve(struct server *s, int64_t count)
{
	uint32_t first = s->cluster->jobs.n;

	/* until they are filled, for which they may wait, or for ever: keys are in order */
	for (int64_t i = 0; i < count; i++) {
		struct entry *e = rows_add(&s->jobs->entries, sizeof *e);
		e->key = s->jobs->last_key;
		cluster_add_job(s->cluster);
	}
	return first;
}

/* Adds a core job and its entry, in STATE_NEW. */
uint32_t entry_add(struct server *s, uint64_t key, struct spec *p)
{
	uint32_t id = entries_reserve(s, 1);

	entry_fill(s, id, key, p);
	return id;
}

struct array *array_add(struct server *s, uint64_t number, struct spec *p, const struct array_spec *spec,
			uint32_t first)
{
	uint32_t at = (uint32_t)s->jobs->arrays.n;
	struct array *a;

	if (s->jobs->spare_arrays.n)
		at = s->jobs->spare_arrays.v[--s->jobs->spare_arrays.n];
	else
		vec_push(&s->jobs->arrays, mem_alloc(sizeof *a));
	a = s->jobs->arrays.v[at];
	*a = (struct array){0};
	a->number = number;
	a->spec = p;
	p->refs++;
	a->limit = spec->limit;
	a->count = spec->count;
	a->first = first;
	gate_array(s->gate, a->first, a->count);
	limits_set(s->limits, LIMIT_ARRAY, number, a->limit ? a->limit : -1);
	map_set(&s->jobs->by_number, number, ARRAY_BIT | at);
	return a;
}

/* Handles before...: lets the other job wait for this one, and decrements its on:N. */
static void mirror_before(struct server *s, uint32_t other, enum depend_type type, uint64_t number)
{
	const char *depend = entry_get(s, other)->spec->depend;
	struct depends d = {0};
	struct strbuf text = {0};
	char relation[48];

	snprintf(relation, sizeof relation, "%s:%llu", depend_type_name(depend_mirror(type)),
		 (unsigned long long)number);
	/* it was named twice; nobody else can know this number yet */
	if (depend && strstr(depend, relation))
		return;
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
	strbuf_printf(&text, "%s%s", text.n ? "," : "", relation);
	struct spec *p = spec_copy(entry_get(s, other)->spec);

	free(p->depend);
	p->depend = mem_strdup(text.text);
	p->share = (struct gate_share){0};
	p->holds = entry_get(s, other)->holds;
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

/* Jobs that a request goes before. */
struct ahead {
	job_vec jobs; /* the named jobs */
	int64_t text; /* length of their dependency texts, characters */
	int both;     /* number of submissions that also wait for others */
	const struct spec *one;
};

static int ahead_add(struct server *s, const struct spec *p, struct ahead *x, struct err *err)
{
	struct depends d = {0};
	bool before = false, after = false;
	uint32_t other;
	int rc = 0;

	if (!p->depend || depends_parse(p->depend, &d, NULL) < 0)
		return 0;
	for (uint32_t i = 0; i < d.n; i++) {
		after |= d.v[i].type < DEPEND_BEFORE;
		before |= depend_is_before(d.v[i].type);
		for (uint32_t k = 0; depend_is_before(d.v[i].type) && k < d.v[i].nids && rc == 0; k++) {
			const char *depend;
			if (!entry_find(s, d.v[i].id[k].number, d.v[i].id[k].index, &other))
				continue;
			depend = entry_get(s, other)->spec->depend;
			vec_push(&x->jobs, other);
			x->text += depend ? (int64_t)strlen(depend) : 0;
			if (depend && depends_count(depend) + BEFORE_MAX > DEPEND_JOBS_MAX)
				rc = err_code(err, CODE_REFUSED, "depend: job %llu depends on %d jobs already",
					      (unsigned long long)d.v[i].id[k].number, depends_count(depend));
			else if (x->jobs.n > BEFORE_MAX || x->text > BEFORE_TEXT_MAX)
				rc = err_code(
					err, CODE_REFUSED,
					"depend: one request goes before at most %d jobs, which depend on few others",
					BEFORE_MAX);
		}
	}
	x->both += before && after;
	if (before && after)
		x->one = p;
	depends_fini(&d);
	return rc;
}

int before_check(struct server *s, const struct submission *x, size_t n, struct err *err)
{
	struct ahead ahead = {0};
	int64_t jobs = 0;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		jobs += submission_count(&x[i]);
		rc = ahead_add(s, x[i].spec, &ahead, err);
	}
	if (rc == 0 && ahead.jobs.n && jobs > BEFORE_JOBS_MAX)
		rc = err_code(err, CODE_REFUSED,
			      "depend: a request with before dependencies has at most %d jobs, and this one has %lld",
			      BEFORE_JOBS_MAX, (long long)jobs);
	if (rc == 0 && ahead.both > 1)
		rc = err_code(
			err, CODE_REFUSED,
			"depend: of the jobs of one request only one may have both before and after dependencies");
	if (rc == 0 && ahead.both)
		rc = block_circle_check(s, ahead.one, ahead.jobs.v, ahead.jobs.n, err);
	vec_free(&ahead.jobs);
	return rc;
}

void submission_settle(struct server *s, struct submission *x, const struct submission *before)
{
	const struct queue *q = queue_of(s, x->spec->queue);

	submission_keep_script(s, x, before);
	x->spec->rank = weigh_rank(q ? &q->attrs : NULL, x->spec->rank);
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

/* Lets a job begin to wait. */
static void begin(struct server *s, uint32_t id)
{
	entry_get(s, id)->fresh = true;
	sched_submit(s->sched, id, entry_get(s, id)->spec->created);
	block_begin(s, id);
}

void submission_accept(struct server *s, uint64_t number, struct submission *x, const struct submission *before)
{
	struct strbuf head = {0};
	struct spec *p = x->spec;
	uint32_t first, end, eligible = 0;

	number_take(s, number, 1);
	job_came(s, number, x->spec);
	submission_settle(s, x, before);
	first = entries_reserve(s, submission_count(x));
	end = s->cluster->jobs.n;
	submission_fill(s, number, x, first);
	for (uint32_t id = first; id < end; id++) /* events need the complete array */
		begin(s, id);
	for (uint32_t id = first; id < end; id++) {
		eligible += gate_blocks(s->gate, id) == 0;
		entry_get(s, id)->fresh = false;
	}
	p->eligible = eligible;
	spec_head(s, p, &head);
	store_put_job(s->store, job_key(number, -1), strbuf_text(&head), x->body);
	body_remember(s, job_key(number, -1), x->body);
	strbuf_fini(&head);
	submission_begun(s, number, p, first, end - first);
}
