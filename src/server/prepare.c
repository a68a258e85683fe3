/*
 * prepare.c - what an attempt needs to run: script file, environment, node file, paths, limits. The body of the job is read from the store here.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "server/server_internal.h"

static const char *body_text(const json_t *body, const char *key)
{
	return json_string_value(json_object_get(body, key));
}

int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err)
{
	const struct entry *e = &s->entries.v[id];
	json_error_t error;
	char *text = NULL;
	int rc = store_get_body(s->store, e->key, &text, err);

	if ((rc == -ENOENT || (rc == 0 && !*text)) && job_key_index(e->key) >= 0) { /* an element's is its array's */
		free(text);
		rc = store_get_body(s->store, job_key(job_key_number(e->key), -1), &text, err);
	}
	if (rc < 0)
		return rc;
	*ret = json_loads(text, 0, &error);
	free(text);
	return *ret ? 0 : err_set(err, -EIO, "what the store has of the job is damaged: %s", error.text);
}

struct spec *spec_own(struct server *s, uint32_t id)
{
	struct entry *e = &s->entries.v[id];
	const struct spec *shared = e->spec;
	struct strbuf head = {0};
	struct spec *p;

	if (!shared->array)
		return e->spec;
	p = mem_alloc(sizeof *p + strlen(shared->name) + 1);
	memcpy(p, shared, sizeof *p + strlen(shared->name) + 1);
	p->refs = 1;
	p->array = false;
	p->array_text = NULL;
	p->depend = shared->depend ? mem_strdup(shared->depend) : NULL;
	spec_unref(e->spec);
	e->spec = p;
	spec_head(s, p, &head);
	store_put_job(s->store, e->key, strbuf_text(&head), "");
	strbuf_fini(&head);
	return p;
}

/* ---- where output goes ---- */

static const char *replace(struct arena *a, const char *path, const char *word_, const char *value)
{
	const char *at = strstr(path, word_);

	return at ? arena_printf(a, "%.*s%s%s", (int)(at - path), path, value, at + strlen(word_)) : path;
}

/* What TORQUE and PBS Pro know in the names of output files. */
static const char *replace_words(const struct server *s, uint32_t id, const char *path, struct arena *a)
{
	int64_t index = job_key_index(s->entries.v[id].key);
	const char *number = index < 0 ? "" : arena_printf(a, "%lld", (long long)index);
	struct strbuf name = {0};

	entry_id(s, id, &name);
	path = replace(a, path, "^array_index^", number);
	path = replace(a, path, "$PBS_ARRAYID", number);
	path = replace(a, path, "$PBS_ARRAY_INDEX", number);
	path = replace(a, path, "$PBS_JOBID", strbuf_text(&name));
	path = replace(a, path, "$PBS_JOBNAME", s->entries.v[id].spec->name);
	strbuf_fini(&name);
	return path;
}

static const char *default_name(const struct server *s, uint32_t id, char letter, struct arena *a)
{
	const struct entry *e = &s->entries.v[id];
	unsigned long long number = job_key_number(e->key);
	int64_t index = job_key_index(e->key);

	return index < 0 ? arena_printf(a, "%s.%c%llu", e->spec->name, letter, number)
			 : arena_printf(a, "%s.%c%llu-%lld", e->spec->name, letter, number, (long long)index);
}

static const char *output_path(const struct server *s, uint32_t id, const char *given, char letter, bool keep,
			       const char *workdir, const char *home, struct arena *a)
{
	const char *path = given ? given : "", *colon = strchr(path, ':');

	if (keep)
		return arena_printf(a, "%s/%s", home, default_name(s, id, letter, a));
	if (colon && !memchr(path, '/', (size_t)(colon - path))) /* host:path */
		path = colon + 1;
	if (!*path)
		return arena_printf(a, "%s/%s", workdir, default_name(s, id, letter, a));
	if (strpbrk(path, "^$"))
		path = replace_words(s, id, path, a);
	if (path[0] != '/')
		path = arena_printf(a, "%s/%s", workdir, path);
	if (path[strlen(path) - 1] == '/')
		path = arena_printf(a, "%s%s", path, default_name(s, id, letter, a));
	return arena_printf(a, "%s", path); /* what was given is the body's */
}

void output_paths(struct server *s, uint32_t id, const json_t *body, struct arena *a, const char **ret_out,
		  const char **ret_err)
{
	const char *join = body_text(body, "join"), *keep = body_text(body, "keep"),
		   *workdir = body_text(body, "workdir");
	const struct account *owner = account_of(s, s->entries.v[id].spec->uid);
	const char *home = owner ? owner->home : "/";

	if (!workdir)
		workdir = "/";
	if (!keep)
		keep = "";
	*ret_out = output_path(s, id, body_text(body, "output"), 'o', strchr(keep, 'o') != NULL, workdir, home, a);
	*ret_err = output_path(s, id, body_text(body, "error"), 'e', strchr(keep, 'e') != NULL, workdir, home, a);
	if (join && strcmp(join, "oe") == 0) {
		*ret_err = NULL;
	} else if (join && strcmp(join, "eo") == 0) {
		*ret_out = *ret_err;
		*ret_err = NULL;
	} else if (strcmp(*ret_out, *ret_err) == 0) {
		*ret_err = NULL;
	}
}

/* ---- the script ---- */

static void script_path(const struct server *s, uint64_t script, char *path, size_t size)
{
	snprintf(path, size, "%s/scripts/%llu.SC", s->where.state, (unsigned long long)script);
}

void script_file_drop(struct server *s, uint64_t script)
{
	char path[4096];

	script_path(s, script, path, sizeof path);
	unlink(path);
}

/* Written when it is first needed, and again when it was lost; never half. */
static int script_file(struct server *s, const struct spec *p, struct arena *a, const char **ret, struct err *err)
{
	char path[4096], temporary[4104], *text;
	struct stat st;
	size_t n;
	int fd, rc;

	*ret = NULL;
	if (!p->script)
		return 0;
	script_path(s, p->script, path, sizeof path);
	*ret = arena_printf(a, "%s", path);
	if (stat(path, &st) == 0)
		return 0;
	rc = store_get_script(s->store, p->script, &text, &n, err);
	if (rc < 0)
		return rc;
	snprintf(temporary, sizeof temporary, "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n || fchmod(fd, 0500) < 0 || close(fd) < 0 ||
	    rename(temporary, path) < 0) {
		rc = err_set(err, -errno, "%s: %s", temporary, strerror(errno));
		unlink(temporary);
	}
	free(text);
	return rc;
}

/* ---- the environment ---- */

typedef VEC(char *) env_vec;

static void env_set(env_vec *env, struct arena *a, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void env_put(env_vec *env, char *text)
{
	size_t n = strcspn(text, "=") + 1;

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], text, n) == 0) {
			env->v[i] = text;
			return;
		}
	vec_push(env, text);
}

static void env_set(env_vec *env, struct arena *a, const char *name, const char *fmt, ...)
{
	struct strbuf value = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(&value, fmt, ap);
	va_end(ap);
	env_put(env, arena_printf(a, "%s=%s", name, strbuf_text(&value)));
	strbuf_fini(&value);
}

/* What the user gave; values that were not UTF-8 came as base64. */
static void env_given(env_vec *env, struct arena *a, const json_t *body)
{
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(body, "environment"), i, v)
	{
		struct strbuf raw = {0};
		const json_t *b = json_object_get(v, "base64");
		if (json_is_string(v))
			env_put(env, arena_printf(a, "%s", json_string_value(v)));
		else if (json_is_string(b) && base64_decode(json_string_value(b), json_string_length(b), &raw) == 0 &&
			 strlen(strbuf_text(&raw)) == raw.n)
			env_put(env, arena_printf(a, "%s", strbuf_text(&raw)));
		strbuf_fini(&raw);
	}
}

/* Our own commands are found first: a job's qsub is this server's. */
static void env_path(const struct server *s, env_vec *env, struct arena *a)
{
	static const char usual[] = "/usr/local/bin:/usr/bin:/bin";
	const char *slash = strrchr(s->rsh, '/');
	const char *bin = arena_printf(a, "%.*s", slash ? (int)(slash - s->rsh) : 0, s->rsh);
	bool known = !*bin || strcmp(bin, "/usr/local/bin") == 0 || strcmp(bin, "/usr/bin") == 0;

	env_set(env, a, "PATH", "%s%s%s", known ? "" : bin, known ? "" : ":", usual);
}

/* Whether what should be on several machines is on this one. */
static bool spans_virtual_nodes(const struct server *s, const struct attempt *t)
{
	for (uint32_t i = 1; i < t->nfrags; i++)
		if (t->node[i] != t->node[0])
			return !s->real;
	return false;
}

/* What parallel programs need to know of this machine; the user may say otherwise. */
static void env_parallel(const struct server *s, const struct attempt *t, env_vec *env, struct arena *a)
{
	/* The job has its CPUs already: Open MPI would take the machine's first ones, whoever has them. */
	env_set(env, a, "OMPI_MCA_hwloc_base_binding_policy", "none");
	env_set(env, a, "PRTE_MCA_hwloc_default_binding_policy", "none");
	if (s->entries.v[t->job].spec->uid == 0) {
		env_set(env, a, "OMPI_ALLOW_RUN_AS_ROOT", "1");
		env_set(env, a, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
	}
	if (s->real)
		return;
	/* Virtual nodes may have more CPUs than there are, and need no network to reach each other. */
	env_set(env, a, "OMPI_MCA_mpi_yield_when_idle", "1");
	env_set(env, a, "OMPI_MCA_oob_tcp_if_include", "lo");
	env_set(env, a, "OMPI_MCA_btl_tcp_if_include", "lo");
	if (spans_virtual_nodes(s, t)) /* shared memory is named by host and rank on it: that of two would be one */
		env_set(env, a, "OMPI_MCA_btl", "self,tcp");
}

/* Launchers of parallel programs reach the job's nodes through us. */
static void env_launchers(const struct server *s, const struct order *o, env_vec *env, struct arena *a)
{
	env_set(env, a, "OMPI_MCA_orte_default_hostfile", "%s", o->nodefile_path);
	env_set(env, a, "OMPI_MCA_plm_rsh_agent", "%s", s->rsh);
	env_set(env, a, "OMPI_MCA_orte_set_default_slots", "1"); /* else a host that is there once has all its cores */
	env_set(env, a, "PRTE_MCA_prte_default_hostfile", "%s", o->nodefile_path);
	env_set(env, a, "PRTE_MCA_prte_set_default_slots", "1");
	env_set(env, a, "PRTE_MCA_plm_ssh_agent", "%s", s->rsh);
	env_set(env, a, "HYDRA_LAUNCHER_EXEC", "%s", s->rsh);
	env_set(env, a, "PARALLEL_SSH", "%s", s->rsh);
	env_set(env, a, "PBS_RSH", "%s", s->rsh);
}

static void env_fill(struct server *s, const struct attempt *t, const struct account *who, const json_t *body,
		     struct order *o, env_vec *env, struct arena *a)
{
	const struct entry *e = &s->entries.v[t->job];
	const struct request *q = cluster_job_request(s->cluster, entry_job(s, t->job));
	int64_t index = job_key_index(e->key);
	int32_t ppn = t->nfrags ? t->ncpus[0] : 1;

	env_path(s, env, a);
	env_set(env, a, "LANG", "C.UTF-8");
	env_parallel(s, t, env, a);
	env_given(env, a, body);
	env_set(env, a, "HOME", "%s", who->home);
	env_set(env, a, "USER", "%s", who->name);
	env_set(env, a, "LOGNAME", "%s", who->name);
	env_set(env, a, "SHELL", "%s", who->shell);
	env_set(env, a, "PBS_JOBID", "%s", o->id);
	env_set(env, a, "PBS_JOBNAME", "%s", e->spec->name);
	env_set(env, a, "PBS_QUEUE", "%s", word(s, e->spec->queue));
	env_set(env, a, "PBS_SERVER", "%s", s->name);
	env_set(env, a, "PBS_ENVIRONMENT", "%s", o->pty ? "PBS_INTERACTIVE" : "PBS_BATCH");
	env_set(env, a, "PBS_NODEFILE", "%s", o->nodefile_path);
	env_set(env, a, "PBS_NUM_NODES", "%u", t->nfrags);
	env_set(env, a, "PBS_NUM_PPN", "%d", ppn);
	env_set(env, a, "PBS_NP", "%lld", (long long)q->total.v[RES_CPU]);
	env_set(env, a, "NCPUS", "%d", ppn);
	env_set(env, a, "PBS_TASKNUM", "1");
	env_set(env, a, "PBS_NODENUM", "0");
	env_set(env, a, "PBS_VNODENUM", "0");
	env_set(env, a, "PBS_WALLTIME", "%lld", (long long)e->spec->walltime);
	env_set(env, a, "PBS_JOBDIR", "%s", o->workdir);
	env_set(env, a, "SHUNT_ATTEMPT", "%u", t->attempt);
	if (o->tmpdir) {
		env_set(env, a, "TMPDIR", "%s", o->tmpdir);
		env_set(env, a, "SHUNT_TMPDIR", "%s", o->tmpdir); /* pbs_rsh makes each node's below it */
	}
	if (index >= 0) {
		env_set(env, a, "PBS_ARRAYID", "%lld", (long long)index);
		env_set(env, a, "PBS_ARRAY_INDEX", "%lld", (long long)index);
		env_set(env, a, "PBS_ARRAY_ID", "%llu[].%s", (unsigned long long)job_key_number(e->key), s->name);
	}
	if (s->where.home[0]) /* so that commands in the job find this server */
		env_set(env, a, "SHUNT_HOME", "%s", s->where.home);
	env_launchers(s, o, env, a);
	vec_push(env, NULL);
}

/* A host for each CPU, or for each MPI process that a fragment asks for. */
static const char *nodefile_text(struct server *s, const struct attempt *t, struct arena *a)
{
	struct strbuf text = {0};
	const char *ret;

	for (uint32_t i = 0; i < t->nfrags; i++)
		for (int32_t k = 0; k < t->ncpus[i]; k++)
			strbuf_printf(&text, "%s\n", names_get(&s->cluster->node_names, (uint32_t)t->node[i]));
	ret = arena_strndup(a, strbuf_text(&text), text.n);
	strbuf_fini(&text);
	return ret;
}

static void bind_cpus(struct server *s, const struct attempt *t, struct order *o, struct arena *a)
{
	if (!s->cpu_os)
		return;
	o->cpus = arena_alloc(a, 4096 * sizeof *o->cpus);
	for (uint32_t i = 0; i < t->nfrags; i++)
		for (int32_t k = 0; k < t->ncpus[i] && o->ncpus < 4096; k++)
			o->cpus[o->ncpus++] = s->cpu_os[t->cpu[i][k]];
}

static char **argv_of(const json_t *body, struct arena *a)
{
	const json_t *args = json_object_get(body, "args");
	size_t n = json_array_size(args);
	char **v = arena_alloc(a, (n + 1) * sizeof *v);

	for (size_t i = 0; i < n; i++)
		v[i] = arena_printf(a, "%s", json_string_value(json_array_get(args, i)));
	return v;
}

static const char *text_of(const json_t *body, const char *key, struct arena *a)
{
	const char *text = body_text(body, key);

	return text ? arena_printf(a, "%s", text) : NULL;
}

int order_prepare(struct server *s, const struct attempt *t, struct arena *a, struct order *ret, struct err *err)
{
	const struct entry *e = &s->entries.v[t->job];
	const struct spec *p = e->spec;
	const struct account *who = account_of(s, p->uid);
	struct order *o = ret;
	struct strbuf id = {0};
	env_vec env = {0};
	json_t *body = NULL;
	char tag[64];
	int rc = 0;

	if (!who)
		return err_set(err, -ENOENT, "there is no user with the id %u on this machine", (unsigned)p->uid);
	rc = body_read(s, t->job, &body, err);
	if (rc < 0)
		return rc;
	*o = (struct order){.attempt = t->attempt, .uid = p->uid, .gid = who->gid, .umask = -1, .grace = 10};
	entry_id(s, t->job, &id);
	attempt_tag(s, t->job, t->attempt, tag);
	o->id = arena_printf(a, "%s", strbuf_text(&id));
	o->tag = arena_printf(a, "%s", tag);
	strbuf_fini(&id);
	o->user = arena_printf(a, "%s", who->name);
	o->home = arena_printf(a, "%s", who->home);
	o->shell = text_of(body, "shell", a);
	o->shell_given = o->shell != NULL;
	if (!o->shell)
		o->shell = arena_printf(a, "%s", who->shell);
	o->login = attrs_bool(&s->attrs, "login_shell");
	o->argv = argv_of(body, a);
	o->workdir = text_of(body, "workdir", a);
	if (!o->workdir)
		o->workdir = o->home;
	output_paths(s, t->job, body, a, &o->out, &o->err);
	o->append = t->attempt > 1; /* what an earlier attempt wrote stays */
	o->spare = arena_printf(a, "%s/undelivered", s->where.state);
	if (body_text(body, "umask"))
		o->umask = (int)strtol(body_text(body, "umask"), NULL, 8);
	o->nodefile = nodefile_text(s, t, a);
	o->nodefile_path = arena_printf(a, "%s/nodes/%s", s->where.state, o->id);
	if (spans_virtual_nodes(s, t)) /* they may not share /tmp: daemons of Open MPI would be in each other's way */
		o->tmpdir = arena_printf(a, "%s.d", o->nodefile_path);
	o->walltime = p->walltime + s->cluster->settings.tolerance;
	o->grace = setting_of(s, p, "kill_delay");
	if (attrs_bool(&s->attrs, "mem_enforce"))
		o->memory = cluster_job_request(s->cluster, entry_job(s, t->job))->total.v[RES_MEM];
	bind_cpus(s, t, o, a);
	o->pty = p->interactive ? text_of(body, "interactive", a) : NULL;
	o->prologue = *s->conf.prologue ? s->conf.prologue : NULL;
	o->epilogue = *s->conf.epilogue ? s->conf.epilogue : NULL;
	o->name = p->name;
	o->queue = word(s, p->queue);
	o->resources = word(s, p->resources);
	o->account = word(s, p->account);
	rc = script_file(s, p, a, &o->script, err);
	env_fill(s, t, who, body, o, &env, a);
	o->env = arena_alloc(a, env.n * sizeof *o->env);
	memcpy(o->env, env.v, env.n * sizeof *o->env);
	vec_free(&env);
	json_decref(body);
	return rc;
}
