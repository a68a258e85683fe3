/*
 * admit.c - see admit.h.
 *
 * A routing queue is a step of a walk. Each step has a pointer to the one before it, to reach the
 * defaults of all queues passed. Every queue is tried once per job, so cycles of routing queues end
 * the walk, and the cost is bounded by the number of queues.
 */
#include "rules/admit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/timetext.h"

#define SERVER "this server"

/* ---- requested amounts ---- */

struct amount {
	const char *resource; /* name in resources_max */
	int64_t amount;
};

struct amounts {
	struct amount v[7 + WORDS_MAX];
	int n;
};

static const struct chunk single = {.count = 1, .need = {.v = {1}}};

static int64_t chunk_count(const struct chunk *k)
{
	return k->node ? 1 : k->count;
}

static void named_add(struct amounts *a, const char *name, int64_t amount)
{
	for (int i = 0; i < a->n; i++)
		if (strcmp(a->v[i].resource, name) == 0) {
			a->v[i].amount += amount;
			return;
		}
	if (a->n < (int)(sizeof a->v / sizeof *a->v))
		a->v[a->n++] = (struct amount){name, amount};
}

static void amounts_of(const struct reqtext *t, struct amounts *ret)
{
	const struct chunk *chunk = t->nchunks ? t->chunk : &single;
	int nchunks = t->nchunks ? t->nchunks : 1;
	struct res sum;
	int64_t nodes;

	*ret = (struct amounts){.n = 0};
	reqtext_sum(t, &sum, &nodes);
	ret->v[ret->n++] = (struct amount){"walltime", t->walltime};
	ret->v[ret->n++] = (struct amount){"ncpus", sum.v[RES_CPU]};
	ret->v[ret->n++] = (struct amount){"nodect", nodes};
	ret->v[ret->n++] = (struct amount){"mem", sum.v[RES_MEM]};
	ret->v[ret->n++] = (struct amount){"ngpus", sum.v[RES_GPU]};
	ret->v[ret->n++] = (struct amount){"disk", sum.v[RES_DISK]};
	ret->v[ret->n++] = (struct amount){"swap", sum.v[RES_SWAP]};
	for (int i = 0; i < nchunks; i++)
		for (int k = 0; k < chunk[i].nnamed; k++)
			named_add(ret, chunk[i].named[k].name, chunk_count(&chunk[i]) * chunk[i].named[k].amount);
	for (int k = 0; k < t->nnamed; k++)
		named_add(ret, t->named[k].name, t->named[k].amount);
}

static const char *amount_text(const char *resource, int64_t amount, char *buf, size_t size)
{
	if (strcmp(resource, "walltime") == 0)
		return duration_format(amount, buf, size);
	if (strcmp(resource, "mem") == 0 || strcmp(resource, "disk") == 0 || strcmp(resource, "swap") == 0)
		return memory_format(amount, buf, size);
	snprintf(buf, size, "%lld", (long long)amount);
	return buf;
}

static int amount_refuse(const char *of, const struct amount *a, bool over, int64_t bound, struct err *err)
{
	char asked[32], allowed[32];

	return err_code(err, CODE_REFUSED, "%.40s=%s is %s than %s allows: at %s %s (resources_%s.%.40s)", a->resource,
			amount_text(a->resource, a->amount, asked, sizeof asked), over ? "more" : "less", of,
			over ? "most" : "least", amount_text(a->resource, bound, allowed, sizeof allowed),
			over ? "max" : "min", a->resource);
}

/* Returns true for TORQUE's resources that are accepted and ignored; the requested value is not
 * known. */
static bool is_dropped(const char *resource)
{
	static const char *const names[] = {"cput", "pcput", "vmem", "pvmem", "pmem", "file"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(resource, names[i]) == 0)
			return true;
	return false;
}

static int64_t amount_asked(const struct amounts *asked, const char *resource)
{
	const char *name = strcmp(resource, "procct") == 0 ? "ncpus" : resource;

	for (int i = 0; i < asked->n; i++)
		if (strcmp(asked->v[i].resource, name) == 0)
			return asked->v[i].amount;
	return 0;
}

/* Checks the walltime of an interactive job, in any queue. */
static int interactive_check(const struct attrs *server, int64_t walltime, struct err *err)
{
	int64_t most = attrs_number(server, SET_INTERACTIVE_WALLTIME);
	char asked[32], allowed[32];

	if (most < 0 || walltime <= most)
		return 0;
	if (most == 0)
		return err_code(err, CODE_REFUSED, SERVER " accepts no interactive jobs (interactive_walltime is 0)");
	return err_code(err, CODE_REFUSED,
			"walltime=%s is more than " SERVER
			" allows an interactive job: at most %s (interactive_walltime)",
			duration_format(walltime, asked, sizeof asked), duration_format(most, allowed, sizeof allowed));
}

/* Checks resources_max and resources_min of a queue or of the server; `only` one resource, or
 * NULL. */
static int amounts_check(const struct attrs *a, const char *of, const struct amounts *asked, const char *only,
			 struct err *err)
{
	for (size_t i = 0; i < a->set.n; i++) {
		const struct attr_value *v = &a->set.v[i];
		bool max = attr_is(v->attr, SET_RESOURCES_MAX);
		if ((!max && !attr_is(v->attr, SET_RESOURCES_MIN)) || is_dropped(v->resource) ||
		    (only && strcmp(only, v->resource) != 0))
			continue;
		struct amount x = {v->resource, amount_asked(asked, v->resource)};
		if (max ? x.amount > v->number : x.amount < v->number)
			return amount_refuse(of, &x, max, v->number, err);
	}
	return 0;
}

/* ---- defaults ---- */

static const char *default_text(const struct attrs *a, const char *resource)
{
	for (size_t i = 0; i < a->set.n; i++)
		if (attr_is(a->set.v[i].attr, SET_RESOURCES_DEFAULT) && strcmp(a->set.v[i].resource, resource) == 0)
			return a->set.v[i].text;
	return NULL;
}

static bool asks_for(const struct reqtext *t, enum res_dim d)
{
	for (int i = 0; i < t->nchunks; i++)
		if (t->chunk[i].need.v[d] > 0)
			return true;
	return t->job.v[d] > 0 || (d == RES_MEM && t->pmem > 0);
}

static bool is_asked(const struct reqtext *t, const char *resource)
{
	if (strcmp(resource, "nodes") == 0 || strcmp(resource, "select") == 0 || strcmp(resource, "ncpus") == 0)
		return t->nchunks > 0;
	if (strcmp(resource, "mem") == 0)
		return asks_for(t, RES_MEM);
	if (strcmp(resource, "disk") == 0)
		return asks_for(t, RES_DISK);
	if (strcmp(resource, "swap") == 0)
		return asks_for(t, RES_SWAP);
	if (strcmp(resource, "ngpus") == 0 || strcmp(resource, "gpus") == 0)
		return asks_for(t, RES_GPU);
	if (strcmp(resource, "partition") == 0)
		return t->partition != NULL;
	return true;
}

/* Adds one object's defaults to a request that lacks them. */
static int defaults_add(const struct attrs *a, struct reqtext *text, struct arena *arena, struct err *err)
{
	static const char *const resources[] = {"nodes", "select", "ncpus", "mem",	"disk",
						"swap",	 "ngpus",  "gpus",  "partition"};
	int rc = 0;

	for (size_t i = 0; i < sizeof resources / sizeof *resources && rc == 0; i++) {
		const char *value = is_asked(text, resources[i]) ? NULL : default_text(a, resources[i]);
		if (value)
			rc = reqtext_parse(text, arena_printf(arena, "%s=%s", resources[i], value), arena, err);
	}
	if (text->walltime < 0)
		text->walltime = attrs_amount(a, SET_RESOURCES_DEFAULT, "walltime");
	return rc < 0 ? err_prefix(err, rc, "resources_default") : 0;
}

/* Adds the server's defaults, which come last. They do not give an interactive job more than it
 * may request. */
static int server_defaults_add(const struct attrs *server, bool limited, struct reqtext *text, struct arena *arena,
			       struct err *err)
{
	int rc = defaults_add(server, text, arena, err);
	int64_t most = limited ? attrs_number(server, SET_INTERACTIVE_WALLTIME) : -1;

	if (most > 0 && (text->walltime > most || text->walltime < 0))
		text->walltime = most;
	return rc;
}

int admit_defaults(const struct attrs *queue, const struct attrs *server, bool interactive, struct reqtext *text,
		   struct arena *arena, struct err *err)
{
	bool limited = interactive && text->walltime < 0;
	int rc = queue ? defaults_add(queue, text, arena, err) : 0;

	return rc < 0 ? rc : server_defaults_add(server, limited, text, arena, err);
}

/* ---- access and numbers of jobs ---- */

static int access_check(const struct attrs *a, const char *of, const struct admit_party *by, struct err *err)
{
	bool member = false;

	if (attrs_bool(a, SET_ACL_USER_ENABLE) && !attrs_list_has(a, SET_ACL_USERS, by->user, by->host))
		return err_code(err, CODE_REFUSED, "%s does not accept jobs of user %.60s (acl_users)", of, by->user);
	if (by->host && attrs_bool(a, SET_ACL_HOST_ENABLE) && !attrs_list_has(a, SET_ACL_HOSTS, by->host, NULL))
		return err_code(err, CODE_REFUSED, "%s does not accept jobs from host %.60s (acl_hosts)", of, by->host);
	if (a->owner != ATTR_QUEUE || !by->groups || !attrs_bool(a, SET_ACL_GROUP_ENABLE))
		return 0;
	for (const char *const *g = by->groups; *g && !member; g++)
		member = attrs_list_has(a, SET_ACL_GROUPS, *g, NULL);
	if (!member)
		return err_code(err, CODE_REFUSED, "%s does not accept jobs of the groups of user %.60s (acl_groups)",
				of, by->user);
	return 0;
}

/* Checks a limit on the number of jobs in a queue (NULL: in all) of a user (NULL: of all) after
 * adding `more`. */
static int count_check(const struct admit_site *site, const struct attrs *a, enum attr_key key, const char *queue,
		       const char *user, int64_t more, const char *of, struct err *err)
{
	int64_t limit = attrs_number(a, key), have;

	if (limit < 0 || more <= 0)
		return 0;
	have = site->jobs(site->context, queue, user);
	if (have + more <= limit)
		return 0;
	return err_code(err, CODE_REFUSED, "%s has a limit of %lld job%s%s (%s), and it has %lld now", of,
			(long long)limit, limit == 1 ? "" : "s", user ? " of a user" : "", attr_table[key].name,
			(long long)have);
}

/* Checks the server's own rules, which apply to any queue. */
static int server_check(const struct admit_site *site, const struct admit_job *job, struct err *err)
{
	int64_t most = attrs_number(site->attrs, SET_MAX_ARRAY_SIZE), more = job->from ? 0 : job->count;
	int rc;

	if (job->array && !job->from && most >= 0 && job->count > most)
		return err_set(err, -EINVAL,
			       "the array has %lld elements: this server takes at most %lld (max_array_size)",
			       (long long)job->count, (long long)most);
	if ((rc = access_check(site->attrs, SERVER, &job->by, err)) < 0 ||
	    (rc = count_check(site, site->attrs, SET_MAX_QUEUED, NULL, NULL, more, SERVER, err)) < 0)
		return rc;
	return count_check(site, site->attrs, SET_MAX_USER_QUEUABLE, NULL, job->by.user, more, SERVER, err);
}

/* ---- routing ---- */

struct step {
	struct admit_queue queue;
	const struct step *before;
	int depth;
};

struct walk {
	const struct admit_site *site;
	const struct admit_job *job;
	struct arena *arena;
	const struct attrs *tried[ADMIT_TRIES];
	int ntried;
	struct admitted *ret;
};

/* Computes the request as it would be in the last queue of the walk so far. */
static int step_request(const struct walk *w, const struct step *s, struct reqtext *ret, struct err *err)
{
	int rc = 0;

	*ret = *w->job->text;
	for (; s && rc == 0; s = s->before)
		rc = defaults_add(s->queue.attrs, ret, w->arena, err);
	return rc < 0 ? rc
		      : server_defaults_add(w->site->attrs, w->job->interactive && w->job->text->walltime < 0, ret,
					    w->arena, err);
}

bool admit_routes(const struct attrs *queue)
{
	return strcmp(attrs_text(queue, SET_QUEUE_TYPE), "Route") == 0;
}

static int queue_check(const struct walk *w, const struct step *s, const struct amounts *asked, struct err *err)
{
	const struct attrs *a = s->queue.attrs;
	const struct admit_job *job = w->job;
	bool there = job->from && strcmp(job->from, s->queue.name) == 0;
	int64_t more = there ? 0 : job->count;
	char of[80];
	int rc;

	if (there && admit_routes(a)) /* already accepted; it only passes through */
		return 0;
	snprintf(of, sizeof of, "queue %.60s", s->queue.name);
	if (!attrs_bool(a, SET_ENABLED))
		return err_code(err, CODE_REFUSED, "%s is not enabled: it accepts no jobs now", of);
	if (attrs_bool(a, SET_FROM_ROUTE_ONLY) && !s->before)
		return err_code(err, CODE_REFUSED, "%s accepts jobs from routing queues only (from_route_only)", of);
	if ((!(job->granted && !s->before && !admit_routes(a)) && (rc = access_check(a, of, &job->by, err)) < 0) ||
	    (rc = amounts_check(a, of, asked, NULL, err)) < 0 ||
	    (rc = count_check(w->site, a, SET_MAX_QUEUABLE, s->queue.name, NULL, more, of, err)) < 0)
		return rc;
	return count_check(w->site, a, SET_MAX_USER_QUEUABLE, s->queue.name, job->by.user, more, of, err);
}

static bool tried(struct walk *w, const struct attrs *queue)
{
	for (int i = 0; i < w->ntried; i++)
		if (w->tried[i] == queue)
			return true;
	if (w->ntried == ADMIT_TRIES)
		return true;
	w->tried[w->ntried++] = queue;
	return false;
}

static int step_to(struct walk *w, const struct step *s, struct err *err);

/* Routes to the first destination that accepts the job; otherwise reports why none does. */
static int route(struct walk *w, const struct step *s, struct err *err)
{
	const char *list = attrs_text(s->queue.attrs, SET_ROUTE_DESTINATIONS);
	struct strbuf why = {0};
	int rc = -EDQUOT;

	if (!list || !*list)
		return err_code(err, CODE_REFUSED,
				"queue %.60s has nowhere to route to (route_destinations is not set)", s->queue.name);
	if (s->depth == ADMIT_DEPTH)
		return err_code(err, CODE_REFUSED, "queue %.60s: more than %d routing queues behind each other",
				s->queue.name, ADMIT_DEPTH);
	for (const char *p = list; *p && rc < 0; p += *p == ',') {
		size_t n = strcspn(p, ",");
		const char *name = arena_strndup(w->arena, p, n);
		struct step next = {.before = s, .depth = s->depth + 1};
		struct err one = {.text = ""};
		p += n;
		if (!w->site->queue(w->site->context, name, &next.queue))
			err_code(&one, CODE_UNKNOWN_QUEUE, "unknown queue %.60s", name);
		else if (!next.queue.elsewhere && tried(w, next.queue.attrs))
			continue;
		else
			rc = step_to(w, &next, &one);
		/* a refusal by the server is the same for all: report it once */
		if (rc < 0 && !strstr(strbuf_text(&why), one.text))
			strbuf_printf(&why, "%s%s", why.n ? "; " : "", one.text);
	}
	if (rc < 0)
		rc = err_code(err, CODE_REFUSED, "no destination of queue %.60s accepts it: %.350s", s->queue.name,
			      why.n ? why.text : "all were tried before");
	strbuf_fini(&why);
	return rc;
}

/* Applies this server's rules to a queue of another server. */
static int elsewhere_check(const struct walk *w, const struct step *s, struct err *err)
{
	if (!s->queue.elsewhere)
		return 0;
	if (w->job->stays)
		return err_code(err, CODE_REFUSED, "queue %.60s: %.200s", s->queue.name, w->job->stays);
	for (const char *const *p = w->job->refused; s->before && p && *p; p++)
		if (strcmp(*p, s->queue.name) == 0)
			return err_code(err, CODE_REFUSED, "queue %.60s did not accept it", s->queue.name);
	return 0;
}

static int step_to(struct walk *w, const struct step *s, struct err *err)
{
	bool routes = admit_routes(s->queue.attrs), exempt = w->job->exempt && !s->before && !routes;
	struct amounts asked;
	struct reqtext text;
	int rc = step_request(w, s, &text, err);

	if (rc < 0 || (rc = elsewhere_check(w, s, err)) < 0)
		return rc;
	amounts_of(&text, &asked);
	if (!exempt && w->job->interactive && (rc = interactive_check(w->site->attrs, text.walltime, err)) < 0)
		return rc;
	if (!exempt && ((rc = amounts_check(w->site->attrs, SERVER, &asked, NULL, err)) < 0 ||
			(!s->queue.elsewhere && (rc = queue_check(w, s, &asked, err)) < 0)))
		return rc;
	if (routes && attrs_bool(s->queue.attrs, SET_STARTED))
		return route(w, s, err);
	if (s->before && !routes && !s->queue.elsewhere && w->job->fits &&
	    (rc = w->job->fits(w->job->context, s->queue.name, &text, err)) < 0)
		return rc;
	*w->ret = (struct admitted){s->queue, text};
	return 0;
}

int job_admit(const struct admit_site *site, const char *queue, const struct admit_job *job, struct arena *arena,
	      struct admitted *ret, struct err *err)
{
	struct walk w = {.site = site, .job = job, .arena = arena, .ret = ret};
	struct step first = {.before = NULL};
	int rc = 0;

	if (!site->queue(site->context, queue, &first.queue))
		return err_code(err, CODE_UNKNOWN_QUEUE, "Unknown queue %.60s", queue);
	if (!job->exempt)
		rc = server_check(site, job, err);
	tried(&w, first.queue.attrs);
	return rc < 0 ? rc : step_to(&w, &first, err);
}

int admit_request(const struct admit_site *site, const char *queue, const struct reqtext *text, bool interactive,
		  const char *only, struct err *err)
{
	struct admit_queue q;
	struct amounts asked;
	char of[80];
	int rc = interactive ? interactive_check(site->attrs, text->walltime, err) : 0;

	if (rc < 0)
		return rc;
	amounts_of(text, &asked);
	rc = amounts_check(site->attrs, SERVER, &asked, only, err);
	if (rc < 0 || !queue || !site->queue(site->context, queue, &q))
		return rc;
	snprintf(of, sizeof of, "queue %.60s", q.name);
	return amounts_check(q.attrs, of, &asked, only, err);
}

int admit_deadline(int64_t deadline, int64_t from, int64_t takes, struct err *err)
{
	char left[32], length[32];

	if (deadline == TIME_NEVER || deadline - takes >= from)
		return 0;
	return err_code(
		err, CODE_REFUSED,
		"the deadline can't be met: it leaves %s, and the job may take %s (its walltime, the tolerance and a prologue): give a later deadline or a shorter walltime",
		duration_human(deadline > from ? deadline - from : 0, left, sizeof left),
		duration_human(takes, length, sizeof length));
}
