/*
 * prepare_env.c - the environment of a job on one of its hosts: the user's variables, our defaults
 * for those that the user did not set, then those that must be correct.
 *
 * Entries with directories come last: on another host its agent replaces the placeholders (@STATE@,
 * @RUN@, @BIN@) in these entries only.
 */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "run/order.h"
#include "server/base/instance.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/prepare_internal.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "store/store.h"
#include "tls/pki.h"

#define VARIABLES 64 /* usual number of a job's variables */

struct variable {
	uint64_t name; /* hash of the name */
	char *text;    /* NAME=VALUE */
};

struct env {
	VEC(struct variable) list;
	struct strbuf text; /* the entry that is being made */
	struct arena *a;
	int placed;
};

static size_t env_find(const struct env *env, const char *text, uint64_t *ret_name)
{
	size_t n = strcspn(text, "=") + 1, i = 0;

	*ret_name = hash_bytes(text, n);
	while (i < env->list.n && (env->list.v[i].name != *ret_name || strncmp(env->list.v[i].text, text, n) != 0))
		i++;
	return i;
}

static void env_put(struct env *env, const char *text)
{
	struct variable v = {.text = arena_strndup(env->a, text, strlen(text))};
	size_t i = env_find(env, text, &v.name);

	if (i < env->list.n)
		env->list.v[i] = v;
	else
		vec_push(&env->list, v);
}

/* Returns NAME=VALUE, valid until the next call. */
static const char *env_text(struct env *env, const char *name, const char *value)
{
	strbuf_clear(&env->text);
	strbuf_puts(&env->text, name);
	strbuf_puts(&env->text, "=");
	strbuf_puts(&env->text, value);
	return env->text.text;
}

static void env_set(struct env *env, const char *name, const char *value)
{
	env_put(env, env_text(env, name, value));
}

static void env_int(struct env *env, const char *name, int64_t value)
{
	env_text(env, name, "");
	strbuf_int(&env->text, value);
	env_put(env, env->text.text);
}

/* Appends an entry with a directory; removes an earlier one of that name. */
static void env_place(struct env *env, const char *name, const char *value)
{
	const char *text = env_text(env, name, value);
	struct variable v;

	size_t i = env_find(env, text, &v.name);
	v.text = arena_strndup(env->a, text, strlen(text));
	if (i < env->list.n)
		vec_remove(&env->list, i);
	vec_push(&env->list, v);
	env->placed++;
}

/* Adds an entry whose name is new, or replaced by env_unite(). */
static void env_append(struct env *env, const char *text)
{
	vec_push(&env->list, ((struct variable){.name = hash_bytes(text, strcspn(text, "=") + 1),
						.text = arena_strndup(env->a, text, strlen(text))}));
}

/* Compares by name, and variables of one name by their places. */
static int variable_compare(const void *one, const void *other)
{
	const struct variable *const a = *(struct variable *const *)one, *const b = *(struct variable *const *)other;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	size_t n = strcspn(a->text, "=");
	int order = strncmp(a->text, b->text, n + 1);
	return order ? order : a < b ? -1 : 1;
}

/* Keeps the last of the variables with the same name. */
static void env_unite(struct env *env)
{
	struct variable **sorted = mem_alloc((env->list.n + 1) * sizeof *sorted);
	size_t n = env->list.n, kept = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = &env->list.v[i];
	qsort(sorted, n, sizeof(struct variable *), variable_compare);
	for (size_t i = 1; i < n; i++)
		if (sorted[i - 1]->name == sorted[i]->name &&
		    strncmp(sorted[i - 1]->text, sorted[i]->text, strcspn(sorted[i]->text, "=") + 1) == 0)
			sorted[i - 1]->text = NULL;
	for (size_t i = 0; i < n; i++)
		if (env->list.v[i].text)
			env->list.v[kept++] = env->list.v[i];
	env->list.n = kept;
	free(sorted);
}

static void env_default(struct env *env, const char *name, const char *value)
{
	uint64_t hash;

	strbuf_clear(&env->text);
	strbuf_puts(&env->text, name);
	strbuf_char(&env->text, '=');
	strbuf_puts(&env->text, value);
	if (env_find(env, env->text.text, &hash) == env->list.n)
		env_append(env, env->text.text);
}

/* Values that are not UTF-8 are in base64. */
void draft_given(struct draft *p)
{
	struct env all = {.a = p->a}, *env = &all;
	struct variable *list;
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(p->body, "environment"), i, v)
	{
		struct strbuf raw = {0};
		const json_t *b = json_object_get(v, "base64");
		if (json_is_string(v))
			env_append(env, json_string_value(v));
		else if (json_is_string(b) && base64_decode(json_string_value(b), json_string_length(b), &raw) == 0 &&
			 strlen(strbuf_text(&raw)) == raw.n)
			env_append(env, strbuf_text(&raw));
		strbuf_fini(&raw);
	}
	env_unite(env);
	p->given = list = arena_alloc(p->a, (all.list.n + 1) * sizeof *list);
	p->ngiven = all.list.n;
	for (i = 0; i < all.list.n; i++)
		list[i] = all.list.v[i];
	vec_free(&all.list);
}

/* Sets defaults for parallel programs; the user may override them. */
static void env_parallel(const struct server *s, const struct draft *p, struct env *env)
{
	/* The job is already bound to its CPUs: Open MPI would use the machine's first ones,
	 * which may be another job's. */
	env_default(env, "OMPI_MCA_hwloc_base_binding_policy", "none");
	env_default(env, "PRTE_MCA_hwloc_default_binding_policy", "none");
	if (entry_get(s, p->t->job)->spec->uid == 0) {
		env_default(env, "OMPI_ALLOW_RUN_AS_ROOT", "1");
		env_default(env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
	}
	if (!draft_is_virtual(s, p))
		return;
	/* Virtual nodes may have more CPUs than the machine, and need no network to reach each
	 * other. */
	env_default(env, "OMPI_MCA_mpi_yield_when_idle", "1");
	env_default(env, "OMPI_MCA_oob_tcp_if_include", "lo");
	env_default(env, "OMPI_MCA_btl_tcp_if_include", "lo");
	/* shared memory is named by host and local rank: two virtual nodes would collide */
	if (draft_spans_virtual(s, p))
		env_default(env, "OMPI_MCA_btl", "self,tcp");
}

static void env_job(struct server *s, const struct draft *p, const struct order *o, struct env *env)
{
	const struct attempt *t = p->t;
	const struct entry *e = entry_get(s, t->job);
	int64_t index = job_key_index(e->key);

	env_set(env, "HOME", p->who->home);
	env_set(env, "USER", p->who->name);
	env_set(env, "LOGNAME", p->who->name);
	env_set(env, "SHELL", p->who->shell);
	env_set(env, "PBS_JOBID", o->id);
	env_set(env, "PBS_JOBNAME", e->spec->name);
	env_set(env, "PBS_QUEUE", word_text(s, e->spec->queue));
	env_set(env, "PBS_SERVER", s->instance->name);
	env_set(env, "PBS_ENVIRONMENT", e->spec->interactive ? "PBS_INTERACTIVE" : "PBS_BATCH");
	env_int(env, "PBS_NUM_NODES", t->nfrags);
	env_int(env, "PBS_NUM_PPN", t->nfrags ? p->layout.lines[0] : 1);
	env_int(env, "PBS_NP", p->layout.total);
	if (p->layout.threads)
		env_int(env, "OMP_NUM_THREADS", p->layout.threads);
	env_int(env, "NCPUS", t->nfrags ? attempt_asked(s, t, draft_first(p)) : 1);
	env_set(env, "PBS_TASKNUM", "1");
	env_int(env, "PBS_WALLTIME", e->spec->walltime);
	env_set(env, "PBS_JOBDIR", o->workdir);
	env_int(env, "SHUNT_ATTEMPT", t->attempt);
	if (index >= 0) {
		env_int(env, "PBS_ARRAYID", index);
		env_int(env, "PBS_ARRAY_INDEX", index);
		env_set(env, "PBS_ARRAY_ID",
			arena_printf(env->a, "%llu[].%s", (unsigned long long)job_key_number(e->key),
				     s->instance->name));
	}
}

/* Sets which of the job's nodes this is, and how to reach the others. */
static void env_hosts(const struct server *s, const struct draft *p, const struct order *o, struct env *env)
{
	struct strbuf names = {0};
	int last = -1;

	for (uint32_t i = draft_first(p); i < p->t->nfrags; i = p->next[i])
		if (p->place[i] > last) {
			strbuf_printf(&names, "%s%s", names.n ? " " : "",
				      names_get(&s->cluster->node_names, (uint32_t)p->t->node[i]));
			last = p->place[i];
		}
	env_int(env, "PBS_NODENUM", p->place[draft_first(p)]);
	env_int(env, "PBS_VNODENUM", p->place[draft_first(p)]);
	/* Not set for the script if there are other nodes: MPICH's mpiexec passes its
	 * environment to ranks there. */
	if (p->t->nfrags && (o->room || (p->count == 1 && !draft_spans_virtual(s, p))))
		env_set(env, "SHUNT_NODE", names_get(&s->cluster->node_names, (uint32_t)p->t->node[draft_first(p)]));
	env_set(env, "SHUNT_HERE", strbuf_text(&names));
	if (o->nhosts)
		env_place(env, "SHUNT_AGENT_SOCKET", arena_printf(env->a, "%s/agent.sock", p->run));
	strbuf_fini(&names);
}

/* Lets commands in the job find this server: by its socket, or with a token that is valid while
 * this attempt runs. */
static void env_server(const struct server *s, const struct draft *p, struct env *env)
{
	struct strbuf servers = {0};
	char token[TOKEN_SIZE];
	const json_t *v;
	json_t *list;
	size_t i;

	if (p->here) {
		if (s->instance->where.home[0])
			env_set(env, "SHUNT_HOME", s->instance->where.home);
		return;
	}
	list = agents_servers(s);
	json_array_foreach(list, i, v) strbuf_printf(&servers, "%s%s", i ? " " : "", json_string_value(v));
	json_decref(list);
	token_of_job(s, p->tag, token);
	env_set(env, "SHUNT_TOKEN", token);
	env_set(env, "SHUNT_SERVERS", strbuf_text(&servers));
	strbuf_fini(&servers);
}

/* Sets the entries with directories. Launchers of parallel programs reach the job's nodes
 * through us. */
static void env_places(const struct server *s, const struct draft *p, const struct order *o, struct env *env)
{
	static const char usual[] = "/usr/local/bin:/usr/bin:/bin";
	static const char *const hostfile[] = {"PBS_NODEFILE", "OMPI_MCA_orte_default_hostfile",
					       "PRTE_MCA_prte_default_hostfile"};
	static const char *const agent[] = {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC",
					    "PARALLEL_SSH", "PBS_RSH"};
	uint64_t name;

	/* our commands are found first: a job's qsub is this server's */
	if (env_find(env, "PATH=", &name) == env->list.n)
		env_place(env, "PATH", arena_printf(env->a, "%s%s%s", p->path, *p->path ? ":" : "", usual));
	for (size_t i = 0; i < sizeof hostfile / sizeof *hostfile; i++)
		env_place(env, hostfile[i], o->nodefile_path);
	for (size_t i = 0; i < sizeof agent / sizeof *agent; i++)
		env_place(env, agent[i], p->rsh);
	if (o->tmpdir)
		env_place(env, "TMPDIR", o->tmpdir);
	/* pbs_rsh makes each virtual node's directory below it */
	if (o->tmpdir && draft_spans_virtual(s, p))
		env_place(env, "SHUNT_TMPDIR", o->tmpdir);
}

void draft_environment(struct server *s, const struct draft *p, struct order *o)
{
	struct env env = {.a = p->a};

	vec_reserve(&env.list, p->ngiven + VARIABLES);
	for (size_t i = 0; i < p->ngiven; i++)
		vec_push(&env.list, p->given[i]);
	env_default(&env, "LANG", "C.UTF-8");
	env_parallel(s, p, &env);
	env_job(s, p, o, &env);
	/* otherwise a host listed once has all its cores */
	env_set(&env, "OMPI_MCA_orte_set_default_slots", "1");
	env_set(&env, "PRTE_MCA_prte_set_default_slots", "1");
	env_server(s, p, &env);
	env_hosts(s, p, o, &env);
	env_places(s, p, o, &env);
	o->foreign.nplaced = p->here ? 0 : env.placed;
	o->env = arena_alloc(p->a, (env.list.n + 1) * sizeof *o->env);
	for (size_t i = 0; i < env.list.n; i++)
		o->env[i] = env.list.v[i].text;
	vec_free(&env.list);
	strbuf_fini(&env.text);
}
