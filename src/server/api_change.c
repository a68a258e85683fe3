/*
 * api_change.c - changes of jobs: one function for each action, called for each job; each stands for itself.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/server_internal.h"

#define DEPTH_MAX 32 /* of a chain of dependencies, when looking for a circle */

/* A change under way. */
struct change {
	struct server *s;
	const struct asker *w;
	const json_t *args;
	struct arena *arena;
	/* What the last job was altered to, for those that have the same spec: the elements of an array. */
	struct {
		struct spec *from, *to; /* NULL: nothing yet */
		uint64_t as;		/* that job's key */
		char *body;		/* what the store is to keep; NULL: as it was */
		uint8_t holds;
		bool running;
	} last;
	VEC(uint32_t) reorder; /* users, as words, whose jobs have other priorities now */
};

typedef int (*action_function)(struct change *c, uint32_t id, const char **code, struct err *err);

static bool runs(const struct server *s, uint32_t id)
{
	return entry_job(s, id)->state == STATE_NOW || entry_job(s, id)->state == STATE_RUNNING;
}

static const char *arg_text(const struct change *c, const char *key)
{
	return json_string_value(json_object_get(c->args, key));
}

static int ended_error(const char **code, struct err *err)
{
	*code = "finished";
	return err_set(err, -EINVAL, "Job has finished");
}

static int state_error(const struct server *s, uint32_t id, const char *what, const char **code, struct err *err)
{
	*code = "bad_state";
	return err_set(err, -EINVAL, "%s (it is in state %c)", what, entry_state(s, id));
}

/* ---- the actions ---- */

static int do_delete(struct change *c, uint32_t id, const char **code, struct err *err)
{
	struct server *s = c->s;
	const char *message = arg_text(c, "message");
	const json_t *delay = json_object_get(c->args, "delay");
	char why[600];
	struct payload p = {.text = why, .who = c->w->user};

	if (entry_ended(s, id))
		return ended_error(code, err);
	snprintf(why, sizeof why, "deleted by %s%s%.400s", c->w->user, message ? ": " : "", message ? message : "");
	p.foreign = c->w->uid != s->entries.v[id].spec->uid;
	if (!runs(s, id)) {
		p.who = NULL; /* the text says it */
		job_end_waiting(s, id, END_DELETED, &p);
		return 0;
	}
	if (json_is_true(json_object_get(c->args, "purge")) && c->w->role < ROLE_MANAGER) {
		*code = "forbidden";
		return err_set(err, -EPERM, "only managers may purge a job");
	}
	p.intent = INTENT_DELETE;
	p.comment = why;
	p.text = NULL;
	p.delay = json_is_integer(delay) ? json_integer_value(delay) : -1;
	if (json_is_true(json_object_get(c->args, "purge"))) {
		p.delay = 0;
		job_purge(s, id, &p);
	} else {
		job_kill(s, id, &p);
	}
	return 0;
}

static int holds_arg(struct change *c, uint8_t *ret, const char **code, struct err *err)
{
	const char *text = arg_text(c, "holds");
	const json_t *given = json_object_get(c->args, "holds");
	int rc = given && !text ? err_set(err, -EINVAL, "holds must be a text of u, o and s")
				: holds_parse(text && *text ? text : "u", ret, err);

	if (rc < 0)
		return rc;
	if ((*ret & BLOCK_OTHER && c->w->role < ROLE_OPERATOR) || (*ret & BLOCK_SYSTEM && c->w->role < ROLE_MANAGER)) {
		*code = "forbidden";
		return err_set(err, -EPERM, "holds of type o are for operators, and those of type s for managers");
	}
	return 0;
}

static int do_hold(struct change *c, uint32_t id, const char **code, struct err *err)
{
	uint8_t bits;
	int rc = holds_arg(c, &bits, code, err);

	if (rc < 0)
		return rc;
	if (entry_ended(c->s, id))
		return ended_error(code, err);
	entry_event(c->s, id, EVENT_HOLDS,
		    &(struct payload){.holds = c->s->entries.v[id].holds | bits, .text = "held", .who = c->w->user});
	if (!runs(c->s, id)) /* a running one is held when it comes back */
		block_set(c->s, id, bits);
	return 0;
}

static int do_release(struct change *c, uint32_t id, const char **code, struct err *err)
{
	uint8_t bits;
	int rc = holds_arg(c, &bits, code, err);

	if (rc < 0)
		return rc;
	if (entry_ended(c->s, id))
		return ended_error(code, err);
	entry_event(c->s, id, EVENT_HOLDS,
		    &(struct payload){.holds = c->s->entries.v[id].holds & (uint8_t)~bits,
				      .failed = bits & BLOCK_SYSTEM,
				      .text = "released",
				      .who = c->w->user});
	failures_update(c->s, id);
	block_clear(c->s, id, bits & BLOCK_SYSTEM ? bits | BLOCK_RETRY : bits);
	return 0;
}

static int signal_parse(const char *text, int *ret)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text && !*end && n >= 0 && n < NSIG) {
		*ret = (int)n;
		return 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	if (strcasecmp(text, "suspend") == 0)
		text = "STOP";
	if (strcasecmp(text, "resume") == 0)
		text = "CONT";
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && strcasecmp(text, sigabbrev_np(i)) == 0) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

static int do_signal(struct change *c, uint32_t id, const char **code, struct err *err)
{
	const char *text = arg_text(c, "signal");
	struct signal_order o = {0};

	if (!text || signal_parse(text, &o.signal) < 0)
		return err_set(err, -EINVAL,
			       "signal \"%.30s\" is neither a name (TERM, SIGUSR1, suspend, resume) nor a number",
			       text ? text : "");
	if (entry_ended(c->s, id))
		return ended_error(code, err);
	if (!runs(c->s, id))
		return state_error(c->s, id, "only a running job can be sent a signal", code, err);
	attempt_tag(c->s, id, entry_job(c->s, id)->attempt, o.tag);
	if (o.signal)
		vec_push(&c->s->signals, o);
	entry_event(c->s, id, o.signal == SIGSTOP || o.signal == SIGCONT ? EVENT_SUSPEND : EVENT_NOTE,
		    &(struct payload){.suspended = o.signal == SIGSTOP,
				      .text = arena_printf(c->arena, "signal %s sent", text),
				      .who = c->w->user});
	return 0;
}

static int do_rerun(struct change *c, uint32_t id, const char **code, struct err *err)
{
	if (entry_ended(c->s, id))
		return ended_error(code, err);
	if (!runs(c->s, id))
		return state_error(c->s, id, "only a running job can be run again", code, err);
	if (!c->s->entries.v[id].spec->rerunnable)
		return state_error(c->s, id, "it is not rerunnable (-r n)", code, err);
	job_kill(c->s, id, &(struct payload){.intent = INTENT_RERUN, .who = c->w->user});
	return 0;
}

/* "n1+n2": the set of nodes that a job is to start on; NODES_ALL: none was given. */
static int nodes_arg(struct change *c, uint32_t *ret, const char **code, struct err *err)
{
	const char *text = arg_text(c, "nodes");
	struct cluster *cluster = c->s->cluster;
	bool *has;

	*ret = NODES_ALL;
	if (!text || !*text)
		return 0;
	has = arena_alloc(c->arena, cluster->nodes.n * sizeof *has);
	for (const char *p = text; *p; p += strspn(p, "+, ")) {
		size_t n = strcspn(p, "+, ");
		const char *name = arena_strndup(c->arena, p, strcspn(p, "+, /:"));
		uint32_t node;
		if (!names_find(&cluster->node_names, name, &node)) {
			*code = "unknown_node";
			return err_set(err, -ENOENT, "There is no node %.60s.", name);
		}
		has[node] = true;
		p += n;
	}
	*ret = cluster_nodeset(cluster, has, (uint32_t)cluster->nodes.n, false);
	return 0;
}

static int do_run(struct change *c, uint32_t id, const char **code, struct err *err)
{
	struct server *s = c->s;
	const struct entry *e = &s->entries.v[id];
	bool held = entry_job(s, id)->state == STATE_HELD;
	uint32_t on;
	int rc;

	if (c->w->role < ROLE_OPERATOR) {
		*code = "forbidden";
		return err_set(err, -EPERM, "only operators and managers may start a job before its turn");
	}
	if (entry_ended(s, id))
		return ended_error(code, err);
	if (runs(s, id))
		return state_error(s, id, "it runs already", code, err);
	if (e->block & ~(BLOCK_QUEUE | BLOCK_LIMIT | BLOCK_RETRY))
		return state_error(s, id, "it is held, or waits for its time or for other jobs", code, err);
	if ((rc = nodes_arg(c, &on, code, err)) < 0)
		return rc;
	if (held)
		sched_release(s->sched, id, s->now);
	if (!sched_run(s->sched, id, on, s->now)) {
		if (held)
			sched_hold(s->sched, id, s->now);
		return state_error(s, id, "there is no room for it now (shunt why tells what is in its way)", code,
				   err);
	}
	block_running(s, id);
	entry_event(s, id, EVENT_NOTE, &(struct payload){.text = "started before its turn", .who = c->w->user});
	s->dirty = true;
	return 0;
}

static struct asker owner_of(struct server *s, const struct spec *p)
{
	struct asker w = {.uid = p->uid, .gid = p->gid};

	snprintf(w.user, sizeof w.user, "%s", word(s, p->owner));
	return w;
}

static int do_move(struct change *c, uint32_t id, const char **code, struct err *err)
{
	struct server *s = c->s;
	const char *name = arg_text(c, "queue");
	struct asker owner = owner_of(s, s->entries.v[id].spec);
	struct submission x = {0};
	int rc;

	if (entry_ended(s, id))
		return ended_error(code, err);
	if (runs(s, id))
		return state_error(s, id, "a running job can't be moved", code, err);
	if (!name || !queue_named(s, name)) {
		*code = "unknown_queue";
		return err_set(err, -ENOENT, "There is no queue %.60s.", name ? name : "\"\"");
	}
	x.spec = spec_copy(s->entries.v[id].spec);
	x.spec->queue = word_add(s, name);
	x.spec->holds = s->entries.v[id].holds;
	rc = c->w->role >= ROLE_OPERATOR ? 0 : submit_check(s, &owner, &x, 0, code, err);
	if (rc == 0)
		entry_alter(
			s, id,
			&(struct payload){.spec = x.spec,
					  .text = arena_printf(c->arena, "moved to queue %s", word(s, x.spec->queue)),
					  .who = c->w->user});
	spec_unref(x.spec);
	return rc;
}

static int append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc = 0; /* it may be a FIFO */

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", text) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int do_message(struct change *c, uint32_t id, const char **code, struct err *err)
{
	struct server *s = c->s;
	const char *text = arg_text(c, "text"), *to = arg_text(c, "to"), *out, *error;
	json_t *body = NULL;
	int rc = 0;

	if (!text)
		return err_set(err, -EINVAL, "text is missing");
	if (entry_ended(s, id))
		return ended_error(code, err);
	if (!runs(s, id))
		return state_error(s, id, "only a running job has output to write to", code, err);
	if (s->multi && s->entries.v[id].spec->uid != s->uid) {
		*code = "bad_state";
		return err_set(err, -ENOTSUP, "in a system instance the server can't write into users' files");
	}
	rc = body_read(s, id, &body, err);
	if (rc < 0)
		return rc;
	output_paths(s, id, body, c->arena, &out, &error);
	if (!to || strcmp(to, "out") != 0)
		rc = append(error ? error : out, text);
	if (rc == 0 && to && strcmp(to, "err") != 0)
		rc = append(out, text);
	json_decref(body);
	return rc < 0 ? err_set(err, rc, "%s: %s", out, strerror(-rc)) : 0;
}

/* ---- alter ---- */

/* The job as it would be submitted now. */
static json_t *as_submission(struct server *s, uint32_t id, json_t *body)
{
	const struct entry *e = &s->entries.v[id];
	const struct spec *p = e->spec;
	json_t *o = json_deep_copy(body), *resources = json_array();
	char walltime[64], mail[4] = "", holds[4] = "";

	json_object_set_new(o, "name", json_string(p->name));
	json_object_set_new(o, "queue", json_string(word(s, p->queue)));
	if (*word(s, p->resources))
		json_array_append_new(resources, json_string(word(s, p->resources)));
	snprintf(walltime, sizeof walltime, "walltime=%lld", (long long)p->walltime);
	json_array_append_new(resources, json_string(walltime));
	json_object_set_new(o, "resources", resources);
	json_object_set_new(o, "priority", json_integer(p->priority));
	if (p->at)
		json_object_set_new(o, "at", json_integer(p->at));
	if (p->depend)
		json_object_set_new(o, "depend", json_string(p->depend));
	snprintf(mail, sizeof mail, "%s%s%s", p->mail & MAIL_ABORT ? "a" : "", p->mail & MAIL_BEGIN ? "b" : "",
		 p->mail & MAIL_END ? "e" : "");
	json_object_set_new(o, "mail", json_string(*mail ? mail : "n"));
	snprintf(holds, sizeof holds, "%s%s%s", e->holds & BLOCK_USER ? "u" : "", e->holds & BLOCK_OTHER ? "o" : "",
		 e->holds & BLOCK_SYSTEM ? "s" : "");
	json_object_set_new(o, "hold", json_string(holds));
	json_object_set_new(o, "rerunnable", json_boolean(p->rerunnable));
	json_object_set_new(o, "account", json_string(word(s, p->account)));
	json_object_set_new(o, "project", json_string(word(s, p->project)));
	json_object_set_new(o, "submit_host", json_string(word(s, p->host)));
	if (p->kind == KIND_QOS || p->kind == KIND_EMERGENCY) {
		json_t *powers = json_array();
		json_object_set_new(o, "type", json_string(p->kind == KIND_QOS ? "Q" : "E"));
		json_object_set_new(o, "deadline", json_integer(p->deadline));
		for (int i = 0; power_name(i); i++)
			if (p->powers & 1 << i)
				json_array_append_new(powers, json_string(power_name(i)));
		json_object_set_new(o, "powers", powers);
	}
	return o;
}

static int overlay(json_t *o, const json_t *args, bool running, const char **code, struct err *err)
{
	static const char *const may[] = {"name",     "output",	 "error",	"join",	      "keep",
					  "mail",     "mail_to", "priority",	"resources",  "at",
					  "hold",     "depend",	 "account",	"rerunnable", "shell",
					  "deadline", "type",	 "comment",	"checkpoint", "stagein",
					  "stageout", "umask",	 "environment", "args",	      NULL};
	static const char *const may_running[] = {"name", "mail", "mail_to", "comment", NULL};
	const char *const *list = running ? may_running : may;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)args, key, value)
	{
		int i = 0;
		if (strcmp(key, "ids") == 0 || strcmp(key, "filter") == 0)
			continue;
		while (list[i] && strcmp(list[i], key) != 0)
			i++;
		if (!list[i]) {
			*code = running ? "bad_state" : "bad_request";
			return err_set(err, -EINVAL,
				       running ? "%s of a running job can't be changed" : "%s can't be changed", key);
		}
		if (strcmp(key, "resources") == 0) {
			size_t k;
			json_t *v;
			json_array_foreach(value, k, v) json_array_append(json_object_get(o, "resources"), v);
		} else {
			json_object_set(o, key, value);
		}
	}
	return 0;
}

/* Whether those jobs wait for this one, in the end. */
static bool waits_for(struct server *s, const char *depend, uint64_t number, int depth)
{
	struct depends d = {0};
	bool found = false;

	if (!depend || depth == 0 || depends_parse(depend, &d, NULL) < 0)
		return false;
	for (uint32_t i = 0; i < d.n && !found; i++)
		for (uint32_t k = 0; k < d.v[i].nids && !found && d.v[i].type < DEPEND_BEFORE; k++) {
			const struct jobid *id = &d.v[i].id[k];
			struct array *a = array_find(s, id->number);
			uint32_t other = a ? a->first : 0;
			found = id->number == number;
			if (!found && (a || entry_find(s, id->number, id->index, &other)) && !entry_ended(s, other))
				found = waits_for(s, s->entries.v[other].spec->depend, number, depth - 1);
		}
	depends_fini(&d);
	return found;
}

static void last_forget(struct change *c)
{
	spec_unref(c->last.from);
	spec_unref(c->last.to);
	free(c->last.body);
	memset(&c->last, 0, sizeof c->last);
}

/* The name in the paths of its output stays as it was when it was started, and for those that wait follows their name. */
static uint32_t files_name_after(struct server *s, const struct spec *old, const struct spec *p, bool running)
{
	if (strcmp(old->name, p->name) == 0)
		return old->files_name;
	if (!running)
		return 0;
	return old->files_name ? old->files_name : word_add(s, old->name);
}

/* Works out what a job is altered to, into c->last. */
static int alter_read(struct change *c, uint32_t id, const char **code, struct err *err)
{
	struct server *s = c->s;
	struct spec *old = s->entries.v[id].spec;
	struct asker owner = owner_of(s, old);
	struct submission x = {0};
	json_t *body = NULL, *o = NULL;
	char *as_it_was = NULL;
	int rc;

	last_forget(c);
	rc = body_read(s, id, &body, err);
	if (rc < 0)
		return rc;
	o = as_submission(s, id, body);
	rc = overlay(o, c->args, runs(s, id), code, err);
	owner.role = c->w->role;
	if (rc == 0)
		rc = spec_read(s, &owner, o, false, c->arena, &x, code, err);
	if (rc == 0 && !runs(s, id) && c->w->role < ROLE_OPERATOR)
		rc = submit_check(s, &owner, &x, -1, code, err);
	else if (rc == 0 && !runs(s, id))
		rc = depend_check(s, &owner, x.spec,
				  err); /* limits are not for operators, but what isn't there nobody can wait for */
	if (rc == 0 && waits_for(s, x.spec->depend, job_key_number(s->entries.v[id].key), DEPTH_MAX))
		rc = err_set(err, -ELOOP, "depend: it would wait for itself");
	if (rc == 0) {
		x.spec->created = old->created;
		x.spec->origin = old->origin;
		x.spec->rank = old->rank;
		x.spec->script = old->script;
		x.spec->interactive = old->interactive;
		x.spec->files_name = files_name_after(s, old, x.spec, runs(s, id));
		old->refs++;
		c->last.from = old;
		c->last.to = x.spec;
		x.spec->refs++;
		c->last.holds = s->entries.v[id].holds;
		c->last.running = runs(s, id);
		as_it_was = json_dumps(body, JSON_COMPACT);
		if (strcmp(as_it_was, x.body) != 0) {
			c->last.body = x.body;
			x.body = NULL;
		}
		free(as_it_was);
	}
	submission_fini(&x);
	json_decref(o);
	json_decref(body);
	return rc;
}

static int do_alter(struct change *c, uint32_t id, const char **code, struct err *err)
{
	struct server *s = c->s;
	const struct entry *e = &s->entries.v[id];
	struct payload p = {.text = "altered", .who = c->w->user};
	int rc;

	if (entry_ended(s, id))
		return ended_error(code, err);
	if (c->last.from && c->last.from == e->spec && c->last.holds == e->holds && c->last.running == runs(s, id)) {
		p.as = c->last.as;
	} else if ((rc = alter_read(c, id, code, err)) < 0) {
		return rc;
	}
	p.spec = c->last.to;
	if (c->last.body)
		store_put_body(s->store, e->key, c->last.body);
	if (p.spec->priority != e->spec->priority)
		vec_push(&c->reorder, p.spec->owner);
	entry_alter(s, id, &p);
	c->last.as = e->key;
	return 0;
}

/* ---- which, and for whom ---- */

static const struct {
	const char *name;
	action_function run;
} actions[] = {
	{"delete", do_delete}, {"alter", do_alter}, {"hold", do_hold}, {"release", do_release}, {"signal", do_signal},
	{"rerun", do_rerun},   {"run", do_run},	    {"move", do_move}, {"message", do_message},
};

static action_function action_find(const char *name)
{
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (strcmp(actions[i].name, name) == 0)
			return actions[i].run;
	return NULL;
}

static void change_end(struct change *c)
{
	for (size_t i = 0; i < c->reorder.n; i++) {
		bool seen = false;
		for (size_t k = 0; k < i; k++)
			seen |= c->reorder.v[k] == c->reorder.v[i];
		if (!seen)
			reorder(c->s, word(c->s, c->reorder.v[i]));
		c->s->priorities = true;
	}
	vec_free(&c->reorder);
	last_forget(c);
}

/* One job by its text, or an array with all its elements: then the first error counts, and those that have ended do not. */
static int change_named(struct change *c, action_function run, const char *text, const char **code, struct err *err)
{
	struct array *a;
	job_vec v = {0};
	int rc = jobs_named(c->s, text, &v, &a, err), done = 0;
	uint64_t last = 0;

	*code = rc == -EINVAL ? "bad_request" : "unknown_job";
	if (rc == 0 && (v.n == 0 || !may_see(c->s, c->w, c->s->entries.v[v.v[0]].spec)))
		rc = err_set(err, -ENOENT, "There is no job %.100s.", text);
	if (rc == 0 && !may_change(c->w, c->s->entries.v[v.v[0]].spec)) {
		*code = "forbidden";
		rc = err_set(err, -EPERM, "Job %.100s is not yours.", text);
	}
	for (size_t i = 0; i < v.n && rc == 0; i++) {
		if (v.n > 1 && entry_ended(c->s, v.v[i]))
			continue;
		*code = "bad_request";
		rc = run(c, v.v[i], code, err);
		last = c->s->entries.v[v.v[i]].key;
		done++;
	}
	if (rc == 0 && v.n > 1 && done == 0)
		rc = ended_error(code, err);
	if (rc == 0 && a && (run == do_alter || run == do_move)) /* all of it: so is what is shown of the array */
		array_alter(c->s, a, last);
	vec_free(&v);
	return rc;
}

static void result_write_(struct json *j, const char *id, int rc, const char *code, const struct err *err)
{
	json_open_object(j, NULL);
	json_text(j, "id", id);
	if (rc < 0) {
		json_open_object(j, "error");
		json_text(j, "code", code);
		json_text(j, "message", err->text);
		json_close_object(j);
	}
	json_close_object(j);
}

static bool filter_fits(const struct server *s, const json_t *f, uint32_t id)
{
	const struct spec *p = s->entries.v[id].spec;
	const char *user = json_string_value(json_object_get(f, "user")),
		   *queue = json_string_value(json_object_get(f, "queue"));
	const char *state = json_string_value(json_object_get(f, "state")),
		   *name = json_string_value(json_object_get(f, "name"));

	return (!user || strcmp(user, word(s, p->owner)) == 0) && (!queue || strcmp(queue, word(s, p->queue)) == 0) &&
	       (!state || strchr(state, entry_state(s, id))) && (!name || strcmp(name, p->name) == 0);
}

static void change_filtered(struct change *c, action_function run, const json_t *f, struct json *j)
{
	struct strbuf id = {0};
	const char *code;
	struct err err;

	for (uint32_t i = 1; i < c->s->entries.n; i++) {
		const struct entry *e = &c->s->entries.v[i];
		if (!e->spec || entry_ended(c->s, i) || !may_change(c->w, e->spec) || !filter_fits(c->s, f, i))
			continue;
		strbuf_clear(&id);
		entry_id(c->s, i, &id);
		code = "bad_request";
		int rc = run(c, i, &code, &err);
		result_write_(j, id.text, rc, code, &err);
	}
	strbuf_fini(&id);
}

void api_action(struct server *s, struct http_request *r, const struct asker *w, const char *action)
{
	action_function run = action_find(action);
	struct err err;
	json_t *body = run ? api_body(r, &err) : NULL, *ids = json_object_get(body, "ids"), *v;
	struct change c = {.s = s, .w = w, .args = body, .arena = request_arena(r)};
	struct strbuf out = {0};
	const char *code = "bad_request";
	struct json j;
	size_t i;

	if (!run) {
		http_error(r, 404, "not_found", "There is no action \"%.40s\" on jobs.", action);
		return;
	}
	if (!body || (!json_is_array(ids) && !json_is_object(json_object_get(body, "filter")))) {
		http_error(r, 400, "bad_request", "%s",
			   body ? "ids must be an array of job ids, or filter an object" : err.text);
		json_decref(body);
		return;
	}
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "results");
	json_array_foreach(ids, i, v)
	{
		const char *text = json_string_value(v);
		int rc = text ? change_named(&c, run, text, &code, &err)
			      : err_set(&err, -EINVAL, "an id must be a string");
		result_write_(&j, text ? text : "", rc, code, &err);
	}
	if (!ids)
		change_filtered(&c, run, json_object_get(body, "filter"), &j);
	change_end(&c);
	json_close_array(&j);
	json_close_object(&j);
	reply_later(s, r, 200, &out);
	json_decref(body);
}

void api_one(struct server *s, struct http_request *r, const struct asker *w, const char *action, const char *id)
{
	struct err err;
	size_t n;
	json_t *body = (request_body(r, &n), n) ? api_body(r, &err) : json_object();
	struct change c = {.s = s, .w = w, .args = body, .arena = request_arena(r)};
	struct strbuf out = {0};
	const char *code = "bad_request";

	if (!body) {
		http_error(r, 400, "bad_request", "%s", err.text);
		return;
	}
	if (change_named(&c, action_find(action), id, &code, &err) < 0) {
		http_error(r, api_status(code), code, "%s", err.text);
	} else {
		strbuf_puts(&out, "{}");
		reply_later(s, r, 200, &out);
	}
	change_end(&c);
	json_decref(body);
}

/* ---- order ---- */

static void rank_set(struct server *s, uint32_t id, double rank)
{
	bool queued = job_waits(entry_job(s, id));

	if (entry_job(s, id)->rank == rank)
		return;
	if (queued)
		sched_withdraw(s->sched, id, s->now);
	entry_event(s, id, EVENT_RANK, &(struct payload){.rank = rank});
	if (queued)
		sched_readmit(s->sched, id, s->now);
	block_rank(s, id);
	s->dirty = true;
}

/* A waiting job on the ladder of ranks. */
struct rung {
	double rank;
	int priority;
	uint32_t id;
};

static int rank_cmp(const void *a, const void *b)
{
	const struct rung *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int priority_cmp(const void *a, const void *b)
{
	const struct rung *x = a, *y = b;

	return x->priority != y->priority ? (x->priority > y->priority ? -1 : 1) : rank_cmp(a, b);
}

/* A user's waiting jobs share out the places they have: higher priority first, then in the order they are in. */
void reorder(struct server *s, const char *user)
{
	VEC(struct rung) by_rank = {0}, by_priority = {0};

	for (uint32_t id = 1; id < s->entries.n; id++) {
		const struct spec *p = s->entries.v[id].spec;
		if (!p || entry_job(s, id)->state > STATE_ALLOCATED || strcmp(word(s, p->owner), user) != 0)
			continue;
		struct rung rung = {entry_job(s, id)->rank, p->priority, id};
		vec_push(&by_rank, rung);
		vec_push(&by_priority, rung);
	}
	if (by_rank.n > 1) {
		qsort(by_rank.v, by_rank.n, sizeof *by_rank.v, rank_cmp);
		qsort(by_priority.v, by_priority.n, sizeof *by_priority.v, priority_cmp);
	}
	for (size_t i = 0; i < by_rank.n; i++)
		rank_set(s, by_priority.v[i].id, by_rank.v[i].rank);
	vec_free(&by_rank);
	vec_free(&by_priority);
}

void api_order(struct server *s, struct http_request *r, const struct asker *w)
{
	struct err err;
	json_t *body = api_body(r, &err), *ids = json_object_get(body, "ids");
	struct strbuf out = {0};
	uint32_t id[2] = {0};

	if (!body || json_array_size(ids) != 2) {
		http_error(r, 400, "bad_request", "%s", body ? "ids must name two jobs" : err.text);
		goto out;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *text = json_string_value(json_array_get(ids, i));
		struct array *a;
		job_vec v = {0};
		int rc = text ? jobs_named(s, text, &v, &a, &err) : -EINVAL;
		if (rc == 0 && v.n)
			id[i] = v.v[0];
		vec_free(&v);
		if (rc < 0 || !id[i] || !may_see(s, w, s->entries.v[id[i]].spec)) {
			http_error(r, 404, "unknown_job", "There is no job %.100s.", text ? text : "?");
			goto out;
		}
		if (!may_change(w, s->entries.v[id[i]].spec)) {
			http_error(r, 403, "forbidden", "Job %.100s is not yours.", text);
			goto out;
		}
		if (entry_job(s, id[i])->state > STATE_ALLOCATED) {
			http_error(r, 409, "bad_state", "Job %.100s does not wait any more.", text);
			goto out;
		}
	}
	if (s->entries.v[id[0]].spec->queue != s->entries.v[id[1]].spec->queue) {
		http_error(r, 409, "bad_state", "The two jobs are in different queues.");
		goto out;
	}

	double first = entry_job(s, id[0])->rank;

	rank_set(s, id[0], entry_job(s, id[1])->rank);
	rank_set(s, id[1], first);
	strbuf_puts(&out, "{}");
	reply_later(s, r, 200, &out);
out:
	json_decref(body);
}
