/*
 * prepare.c - prepares an attempt: an order for each of its hosts, with script, node file, paths,
 * limits. The body of the job is read from the store here.
 *
 * The first part has the script; the others only provide a place in which its tasks run
 * (order.room). Another host has its own directories: paths there begin with placeholders that its
 * agent replaces (docs/protocol.md).
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/members.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/reqtext.h"
#include "core/res.h"
#include "engine/engine.h"
#include "net/protocol.h"
#include "rules/attr.h"
#include "run/order.h"
#include "run/script.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
#include "server/job/body.h"
#include "server/job/classes.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/prepare.h"
#include "server/life/run/prepare_internal.h"
#include "server/life/run/save.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "store/store.h"

static const char *body_text_copy(const json_t *body, const char *key, struct arena *a)
{
	const char *text = member_find_text(body, key);

	return text ? arena_printf(a, "%s", text) : NULL;
}

/* ---- output files ---- */

static const char *replace(struct arena *a, const char *path, const char *word_, const char *value)
{
	const char *at = strstr(path, word_);

	return at ? arena_printf(a, "%.*s%s%s", (int)(at - path), path, value, at + strlen(word_)) : path;
}

/* Returns the name used in output paths: a job renamed while it runs keeps writing to its first
 * files. */
static const char *files_name(const struct server *s, uint32_t id)
{
	const struct spec *p = entry_get(s, id)->spec;

	return p->files_name ? word_text(s, p->files_name) : p->name;
}

/* Replaces the placeholders of TORQUE and PBS Pro in names of output files. */
const char *replace_words(const struct server *s, uint32_t id, const char *path, struct arena *a)
{
	int64_t index = job_key_index(entry_get(s, id)->key);
	const char *number = index < 0 ? "" : arena_printf(a, "%lld", (long long)index);
	struct strbuf name = {0};

	entry_id(s, id, &name);
	path = replace(a, path, "^array_index^", number);
	path = replace(a, path, "$PBS_ARRAYID", number);
	path = replace(a, path, "$PBS_ARRAY_INDEX", number);
	path = replace(a, path, "$PBS_JOBID", strbuf_text(&name));
	path = replace(a, path, "$PBS_JOBNAME", files_name(s, id));
	strbuf_fini(&name);
	return path;
}

static const char *default_name(const struct server *s, uint32_t id, char letter, struct arena *a)
{
	unsigned long long number = job_key_number(entry_get(s, id)->key);
	int64_t index = job_key_index(entry_get(s, id)->key);

	return index < 0 ? arena_printf(a, "%s.%c%llu", files_name(s, id), letter, number)
			 : arena_printf(a, "%s.%c%llu-%lld", files_name(s, id), letter, number, (long long)index);
}

/* Returns true if the name already gives each element of an array a file of its own, or is a
 * device. */
static bool tells_elements_apart(const char *path)
{
	return strstr(path, "^array_index^") || strstr(path, "$PBS_ARRAYID") || strstr(path, "$PBS_ARRAY_INDEX") ||
	       strstr(path, "$PBS_JOBID") || strncmp(path, "/dev/", 5) == 0;
}

/* Returns the path for an element of a file named for a whole array: seq.out-1, seq.out-2, ...,
 * as in TORQUE. */
static const char *element_path(const struct server *s, uint32_t id, const char *path, struct arena *a)
{
	int64_t index = job_key_index(entry_get(s, id)->key);

	if (index < 0 || path[strlen(path) - 1] == '/' || tells_elements_apart(path))
		return path;
	return arena_printf(a, "%s-%lld", path, (long long)index);
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
	path = element_path(s, id, path, a);
	if (strpbrk(path, "^$"))
		path = replace_words(s, id, path, a);
	if (path[0] != '/')
		path = arena_printf(a, "%s/%s", workdir, path);
	if (path[strlen(path) - 1] == '/')
		path = arena_printf(a, "%s%s", path, default_name(s, id, letter, a));
	return arena_printf(a, "%s", path); /* the given text belongs to the body */
}

void output_paths(struct server *s, uint32_t id, const json_t *body, struct arena *a, const char **ret_out,
		  const char **ret_err)
{
	const char *join = member_find_text(body, "join"), *keep = member_find_text(body, "keep"),
		   *workdir = member_find_text(body, "workdir");
	const struct spec *p = entry_get(s, id)->spec;
	const struct user *owner = user_known(s, p->uid);
	const char *home = p->home ? word_text(s, p->home) : owner ? owner->home : "/";

	if (!workdir)
		workdir = "/";
	if (!keep)
		keep = "";
	*ret_out =
		output_path(s, id, member_find_text(body, "output"), 'o', strchr(keep, 'o') != NULL, workdir, home, a);
	*ret_err =
		output_path(s, id, member_find_text(body, "error"), 'e', strchr(keep, 'e') != NULL, workdir, home, a);
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

#define TITLE_NONE "SC"
#define TITLE_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"

/* Finds the end of a script's path, by which its user knows it in the errors of shells: the name of
 * the file that was submitted, or the job's. */
static void script_title(const struct spec *p, char ret[64])
{
	const char *name = p->program ? p->program : p->name, *end = name + strcspn(name, " "), *last = end;

	while (last > name && last[-1] != '/')
		last--;
	size_t n = strspn(last, TITLE_CHARS);
	snprintf(ret, 64, "%.*s", (int)n, last);
	if (n == 0 || last + n != end)
		strcpy(ret, TITLE_NONE);
}

static void script_path(const struct server *s, uint64_t script, const char *title, char *path, size_t size)
{
	snprintf(path, size, "%s/scripts/%llu_%x.%s", s->instance->where.state, (unsigned long long)script,
		 s->instance->origin, title);
}

/* Returns a fingerprint of the file and its last modification; never 0. It differs after any
 * change, replacement or damage. */
static uint64_t file_print(const struct stat *st)
{
	int64_t what[] = {(int64_t)st->st_dev, (int64_t)st->st_ino, st->st_size, st->st_mtim.tv_sec,
			  st->st_mtim.tv_nsec};

	return hash_bytes(what, sizeof what) | 1;
}

/* The files of a script: one with the title of the first job, one for all jobs with others. */
struct script_file {
	char title[64];
	bool made[2];
	uint64_t stat[2]; /* file_print(); 0: in doubt */
	struct script_print print;
};

static struct script_file *script_file_of(const struct server *s, uint64_t script)
{
	uint64_t at;

	return map_get(&s->jobs->script_files, script, &at) ? (struct script_file *)(uintptr_t)at : NULL;
}

static struct script_file *script_file_add(struct server *s, uint64_t script)
{
	struct script_file *f = mem_zalloc(sizeof *f);

	map_set(&s->jobs->script_files, script, (uint64_t)(uintptr_t)f);
	return f;
}

void script_file_doubt(struct server *s, uint64_t script)
{
	struct script_file *f = script_file_of(s, script);

	if (f)
		f->stat[0] = f->stat[1] = 0;
}

void script_file_drop(struct server *s, uint64_t script)
{
	struct script_file *f = script_file_of(s, script);
	char path[4096];

	if (!f)
		return;
	for (int i = 0; i < 2; i++) {
		script_path(s, script, i ? TITLE_NONE : f->title, path, sizeof path);
		if (f->made[i])
			unlink(path);
	}
	map_remove(&s->jobs->script_files, script);
	free(f);
}

/* Writes the script when the server first needs it, and again when it was lost or changed, or
 * after a failed start; never partially. A file that this server did not write is not used,
 * since it may be another job's (belongings.c). The reader checks its text by the SHA-256 in the
 * order (run/script.c), since the server cannot read a file that was given to its user. */
static int script_file(struct server *s, const struct spec *p, struct arena *a, struct order *o, struct err *err)
{
	char path[4096], title[64], *text;
	struct script_file *known;
	struct stat st;
	size_t n;
	int fd, rc;

	if (!p->script)
		return 0;
	script_title(p, title);
	known = script_file_of(s, p->script);
	int which = known && strcmp(known->title, title) != 0;
	script_path(s, p->script, which ? TITLE_NONE : title, path, sizeof path);
	o->script = arena_printf(a, "%s", path);
	if (known && lstat(path, &st) == 0 && file_print(&st) == known->stat[which]) {
		order_print_set(o, &known->print, a);
		return 0;
	}
	if (known && known->made[which])
		server_log(
			s, SEVERITY_WARNING,
			"%s was changed, lost, or a job could not be started with it: writing it again from the store",
			path);
	rc = store_get_script(s->store, p->script, &text, &n, err);
	if (rc < 0)
		return rc;
	fd = replacement_open(path, 0500, 0);
	rc = fd < 0 ? fd : fd_write(fd, text, n);
	if (rc == 0 && fstat(fd, &st) < 0)
		rc = -errno;
	if (fd >= 0)
		rc = replacement_close(fd, path, rc, 0);
	if (rc < 0)
		err_set(err, rc, "%s: %s", path, strerror(-rc));
	else {
		if (!known) {
			known = script_file_add(s, p->script);
			strcpy(known->title, title);
		}
		known->made[which] = true;
		known->stat[which] = file_print(&st);
		script_print_make(&known->print, text, n);
		order_print_set(o, &known->print, a);
	}
	free(text);
	return rc;
}

/* Adds the script's text, for a host that does not see our directories. */
static int script_text(struct server *s, const struct spec *p, struct arena *a, struct part_order *ret, struct err *err)
{
	struct script_print print;
	size_t n;
	char *text, *copy;
	int rc = p->script ? store_get_script(s->store, p->script, &text, &n, err) : 0;

	if (!p->script || rc < 0)
		return rc;
	copy = arena_alloc(a, n + 1);
	memcpy(copy, text, n);
	free(text);
	ret->script = copy;
	ret->nscript = n;
	script_print_make(&print, copy, n);
	order_print_set(&ret->order, &print, a);
	return 0;
}

/* ---- one host ---- */

bool draft_is_virtual(const struct server *s, const struct draft *p)
{
	return p->here && p->count == 1 && !s->instance->real;
}

bool draft_spans_virtual(const struct server *s, const struct draft *p)
{
	for (uint32_t i = 1; i < p->t->nfrags; i++)
		if (p->t->node[i] != p->t->node[0])
			return draft_is_virtual(s, p);
	return false;
}

uint32_t draft_first(const struct draft *p)
{
	return p->first[p->index];
}

static void draft_directories(const struct server *s, struct draft *p)
{
	const char *slash = strrchr(s->instance->rsh, '/');
	const char *bin = arena_printf(p->a, "%.*s", slash ? (int)(slash - s->instance->rsh) : 0, s->instance->rsh);
	bool known = strcmp(bin, "/usr/local/bin") == 0 || strcmp(bin, "/usr/bin") == 0;

	p->here = strcmp(p->host, HOST_HERE) == 0;
	p->state = p->here ? s->instance->where.state : "@STATE@";
	p->run = p->here ? s->instance->where.run : "@RUN@";
	p->rsh = p->here ? s->instance->rsh : "@BIN@/pbs_rsh";
	p->launcher = arena_printf(p->a, "%s/shunt", p->here ? bin : "@BIN@");
	p->path = !p->here ? "@BIN@" : known ? "" : bin;
}

static size_t sum_of(const struct draft *p, const int32_t *n)
{
	size_t sum = 0;

	for (uint32_t i = draft_first(p); i < p->t->nfrags; i = p->next[i])
		sum += (size_t)n[i];
	return sum;
}

static void draft_devices(const struct server *s, const struct draft *p, struct order *o)
{
	const struct attempt *t = p->t;
	bool bind = strcmp(s->conf->bind, "no") != 0;

	o->cpus = arena_alloc(p->a, (sum_of(p, t->ncpus) + 1) * sizeof *o->cpus);
	o->gpu.gpus = arena_alloc(p->a, (sum_of(p, t->ngpus) + 1) * sizeof *o->gpu.gpus);
	for (uint32_t i = draft_first(p); i < t->nfrags; i = p->next[i]) {
		const struct node_info *n = &s->hosts->nodes.v[t->node[i]];
		const json_t *os = n->agent ? json_object_get(n->agent->facts, "os_cpus") : NULL;
		for (int32_t k = 0; k < t->ncpus[i] && !node_divided(&s->cluster->nodes.v[t->node[i]]) &&
				    (p->here ? s->instance->cpu_os != NULL : bind && os);
		     k++)
			o->cpus[o->ncpus++] =
				p->here ? s->instance->cpu_os[t->cpu[i][k]]
					: (int)json_integer_value(json_array_get(os, (size_t)t->cpu[i][k]));
		for (int32_t k = 0; k < t->ngpus[i]; k++)
			o->gpu.gpus[o->gpu.ngpus++] = t->gpu[i][k];
		o->gpu.hide_gpus |= n->gpu_room > 0;
		if (attrs_bool(s->attrs, SET_MEM_ENFORCE))
			o->memory += t->kib[i].memory;
		if (attrs_bool(s->attrs, SET_MEM_ENFORCE))
			o->swap += t->kib[i].swap;
		o->disk += t->kib[i].disk;
	}
}

/* Sets the remaining time for the job's share (rules/libra.h), which is shorter when it runs
 * again. */
static void draft_share(const struct server *s, const struct draft *p, struct order *o)
{
	const struct spec *x = entry_get(s, p->t->job)->spec;
	int64_t cpus = attempt_asked(s, p->t, 0), time = cpus * x->rare->libra.estimate * SHARE_CPU, left;

	if (!x->rare->share)
		return;
	time /= x->rare->share;
	left = x->deadline - s->clock->now;
	o->share = (struct order_share){.share = x->rare->share,
					.share_most = cpus * SHARE_CPU,
					.share_work = cpus * x->rare->libra.estimate * 1000,
					.share_time = left < time ? (left > 1 ? left : 1) : time};
}

/* Lists all nodes of a job on several hosts, each once, in the order of the node file. */
static void draft_hosts(const struct server *s, const struct draft *p, struct order *o)
{
	const struct attempt *t = p->t;

	o->hosts = arena_alloc(p->a, (t->nfrags + 1) * sizeof *o->hosts);
	for (uint32_t i = 0; i < t->nfrags && p->count > 1; i++) {
		const struct node_info *n = &s->hosts->nodes.v[t->node[i]];
		if (p->place[i] == o->nhosts)
			o->hosts[o->nhosts++] = (struct order_host){
				.name = names_get(&s->cluster->node_names, (uint32_t)t->node[i]),
				.address = n->agent ? n->agent->address : realm_address(s),
				.part = p->of[i],
				.join = n->join,
			};
	}
}

/* Returns a path that ends in the job's id, as Open MPI expects. On this machine all jobs of the
 * store share a directory for each number of attempts, whose name is the rest of the tag; agents
 * of earlier versions would not make it, and those of protocol 1 not even one of the attempt's
 * own. */
static const char *nodefile_path(const struct server *s, const struct draft *p, const struct order *o)
{
	const struct agent *a = s->hosts->nodes.v[p->t->node[draft_first(p)]].agent;
	const char *rest = p->here ? strstr(p->tag, "-x") : NULL;

	if (a && a->protocol < PROTOCOL_NODEFILE)
		return arena_printf(p->a, "%s/nodes/%s", p->state, p->tag);
	return arena_printf(p->a, "%s/nodes/%s/%s", p->state, rest ? rest + 1 : p->tag, o->id);
}

/* Fills in what differs between hosts. */
static int draft_prepare(struct server *s, const struct draft *p, struct part_order *ret, struct err *err)
{
	const struct spec *spec = entry_get(s, p->t->job)->spec;
	struct order *o = &ret->order;
	int rc = 0;

	ret->host = p->host;
	o->part = p->index;
	o->room = p->index > 0;
	o->foreign.by_name = !p->here;
	o->lease = p->here ? 0 : p->t->lease;
	o->spare = arena_printf(p->a, "%s/%s", p->state, p->here ? "undelivered" : "spool");
	o->nodefile_path = nodefile_path(s, p, o);
	if (!p->here || s->instance->multi)
		o->tmpdir = arena_printf(p->a, "%s/tmp/%s", p->state, p->tag);
	/* they must not share /tmp: Open MPI's daemons would conflict */
	else if (draft_spans_virtual(s, p))
		o->tmpdir = arena_printf(p->a, "%s/nodes/%s.d", p->state, p->tag);
	draft_devices(s, p, o);
	draft_share(s, p, o);
	if (spec->interactive && !o->room) {
		o->terminal.pty = arena_printf(p->a, "%s/terminal.sock", p->run);
		o->terminal.patience = attrs_number(s->attrs, SET_INTERACTIVE_GRACE);
		/* < 0: unset */
		o->terminal.warning = attrs_number(s->attrs, SET_INTERACTIVE_WARNING);
	}
	if (!o->room && p->here)
		rc = script_file(s, spec, p->a, o, err);
	else if (!o->room && spec->script) {
		char title[64];
		script_title(spec, title);
		o->script = arena_printf(p->a, "%s/scripts/%s.%s", p->state, p->tag, title);
		rc = script_text(s, spec, p->a, ret, err);
	}
	if (!o->room && class_is_spmd(s, spec))
		o->launcher = p->launcher;
	if (!o->room && !spec->interactive)
		save_order(s, p->t, p->a, o);
	draft_environment(s, p, o);
	if (rc == 0 && !o->room && !spec->interactive)
		rc = draft_files(s, p, o, err);
	return rc;
}

/* ---- all hosts ---- */

/* Adds the processes and threads of a fragment from a chunk; -1: from all. A chunk without
 * mpiprocs has one process, with a thread for each CPU. */
static void chunk_add(const struct reqtext *text, int chunk, int64_t *lines, int64_t *threads)
{
	for (int i = chunk < 0 ? 0 : chunk; i < (chunk < 0 ? text->nchunks : chunk + 1); i++) {
		const struct chunk *k = &text->chunk[i];
		int64_t copies = chunk < 0 && !k->node ? k->count : 1;
		*lines += copies * (k->mpiprocs ? k->mpiprocs : 1);
		if (!*threads)
			*threads = k->ompthreads ? k->ompthreads : k->need.v[RES_CPU];
	}
}

/* Computes each fragment's lines in the node file: one for each of its CPUs, like TORQUE; or
 * like PBS Pro if the request has select=, mpiprocs or ompthreads. */
static void layout_read(struct server *s, const struct attempt *t, struct arena *a, struct layout *ret)
{
	const struct request *r = cluster_job_request(s->cluster, entry_job(s, t->job));
	int *chunk = arena_alloc(a, (t->nfrags + 1) * sizeof *chunk);
	struct reqtext text;
	bool said;

	*ret = (struct layout){.lines = arena_alloc(a, (t->nfrags + 1) * sizeof *ret->lines)};
	reqtext_init(&text);
	if (reqtext_parse(&text, word_text(s, entry_get(s, t->job)->spec->resources), a, NULL) < 0)
		reqtext_init(&text);
	said = text.select;
	for (int i = 0; i < text.nchunks; i++)
		said |= text.chunk[i].mpiprocs || text.chunk[i].ompthreads;
	said = said && r->nfrags == t->nfrags && cluster_request_chunks(s->cluster, &text, r, chunk) == 0;
	for (uint32_t i = 0; i < t->nfrags; i++) {
		int64_t threads = 0;
		if (said)
			chunk_add(&text, chunk[i], &ret->lines[i], &threads);
		else
			ret->lines[i] = attempt_asked(s, t, i);
		if (i == 0)
			ret->threads = threads;
		ret->total += ret->lines[i];
	}
}

static const char *nodefile_text(struct server *s, const struct attempt *t, const struct layout *l, struct arena *a)
{
	struct strbuf text = {0};
	const char *ret;

	for (uint32_t i = 0; i < t->nfrags; i++)
		for (int64_t k = 0; k < l->lines[i]; k++)
			strbuf_printf(&text, "%s\n", names_get(&s->cluster->node_names, (uint32_t)t->node[i]));
	ret = arena_strndup(a, strbuf_text(&text), text.n);
	strbuf_fini(&text);
	return ret;
}

/* Lists the GPUs of all hosts in TORQUE's format; NULL: none. */
static const char *gpufile_text(const struct server *s, const struct attempt *t, struct arena *a)
{
	struct strbuf text = {0};
	const char *ret = NULL;

	for (uint32_t i = 0; i < t->nfrags; i++)
		for (int32_t k = 0; k < t->ngpus[i]; k++)
			strbuf_printf(&text, "%s-gpu%d\n", names_get(&s->cluster->node_names, (uint32_t)t->node[i]),
				      t->gpu[i][k]);
	if (text.n)
		ret = arena_strndup(a, text.text, text.n);
	strbuf_fini(&text);
	return ret;
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

/* Fills in what is the same on every host. */
static void order_common(struct server *s, const struct draft *x, struct order *o)
{
	const struct attempt *t = x->t;
	const struct spec *p = entry_get(s, t->job)->spec;
	struct strbuf id = {0};

	*o = (struct order){.uid = p->uid, .gid = x->who->gid, .umask = -1, .grace = t->grace};
	entry_id(s, t->job, &id);
	o->id = arena_printf(x->a, "%s", strbuf_text(&id));
	strbuf_fini(&id);
	o->tag = x->tag;
	o->user = arena_printf(x->a, "%s", x->who->name);
	o->home = arena_printf(x->a, "%s", x->who->home);
	o->shell = body_text_copy(x->body, "shell", x->a);
	o->manner.shell_given = o->shell != NULL;
	if (!o->shell)
		o->shell = arena_printf(x->a, "%s", x->who->shell);
	o->manner.login = attrs_bool(s->attrs, SET_LOGIN_SHELL);
	o->argv = argv_of(x->body, x->a);
	o->workdir = body_text_copy(x->body, "workdir", x->a);
	if (!o->workdir)
		o->workdir = o->home;
	output_paths(s, t->job, x->body, x->a, &o->out, &o->err);
	o->append = true; /* keep the output of other jobs and earlier attempts */
	if (member_find_text(x->body, "umask"))
		o->umask = (int)strtol(member_find_text(x->body, "umask"), NULL, 8);
	draft_hosts(s, x, o);
	o->nodefile = nodefile_text(s, t, &x->layout, x->a);
	o->gpu.gpufile = gpufile_text(s, t, x->a);
	o->walltime = p->walltime + s->cluster->settings.tolerance;
	o->site.prologue = *s->conf->prologue ? s->conf->prologue : NULL;
	o->site.epilogue = *s->conf->epilogue ? s->conf->epilogue : NULL;
	o->site.site_seconds = s->conf->program_limit;
	o->site.name = p->name;
	o->site.queue = word_text(s, p->queue);
	o->site.resources = word_text(s, p->resources);
	o->site.account = word_text(s, p->account);
}

/* Finds the fragments of each part, and the place of each fragment's node. */
static void draft_divide(struct draft *p)
{
	uint32_t nfrags = p->t->nfrags, *first = arena_alloc(p->a, ((size_t)p->count + 1) * sizeof *first),
		 *next = arena_alloc(p->a, (nfrags + 1) * sizeof *next);
	int *place = arena_alloc(p->a, (nfrags + 1) * sizeof *place);
	struct map seen = {0};
	uint64_t nodes = 0;

	for (int i = 0; i < p->count; i++)
		first[i] = nfrags;
	for (uint32_t i = nfrags; i-- > 0;) {
		next[i] = first[p->of[i]];
		first[p->of[i]] = i;
	}
	for (uint32_t i = 0; i < nfrags; i++) {
		uint64_t k = nodes, node = (uint64_t)p->t->node[i] + 1;
		if (!map_get(&seen, node, &k)) {
			if (nfrags > 1)
				map_set(&seen, node, k);
			nodes++;
		}
		place[i] = (int)k;
	}
	map_fini(&seen);
	p->first = first;
	p->next = next;
	p->place = place;
}

int attempt_prepare(struct server *s, const struct attempt *t, struct arena *a, struct part_order **ret, int *ret_n,
		    struct err *err)
{
	const struct spec *spec = entry_get(s, t->job)->spec;
	struct draft p = {.t = t, .a = a};
	const char **hosts;
	struct order common;
	char tag[64];
	int *of, rc;

	rc = body_share(s, t->job, &s->jobs->last_body, &p.body, err);
	if (rc < 0)
		return rc;
	p.who = user_known(s, spec->uid);
	if (!p.who)
		return err_set(err, -ENOENT, "there is no user with the id %u on this machine", (unsigned)spec->uid);
	attempt_tag(s, t->job, t->attempt, tag);
	p.tag = arena_printf(a, "%s", tag);
	p.of = of = arena_alloc(a, (t->nfrags + 1) * sizeof *of);
	p.count = attempt_hosts(s, t, &hosts, of);
	draft_divide(&p);
	draft_given(&p);
	layout_read(s, t, a, &p.layout);
	order_common(s, &p, &common);
	*ret = arena_alloc(a, (size_t)(p.count + 1) * sizeof **ret);
	*ret_n = p.count;
	for (; p.index < p.count && rc == 0; p.index++) {
		(*ret)[p.index].order = common;
		p.host = hosts[p.index];
		draft_directories(s, &p);
		rc = draft_prepare(s, &p, &(*ret)[p.index], err);
	}
	free(hosts);
	return rc;
}
