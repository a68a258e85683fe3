/*
 * belongings.c - records which store the files in the state directory belong to.
 *
 * Files there are named by job numbers, and another store assigns the same numbers to other jobs.
 * So the directory is marked with the id of its store. A server whose store has another id, or is
 * empty while there are files, does not start: the store was lost, or 'store' names the wrong one.
 * An administrator who really wants to start first sets the files aside (--set-aside).
 *
 * A restored backup has the right id, and yet assigns numbers again. Therefore the names of an
 * attempt's files have a part that is drawn at random when a server starts and stays with the jobs
 * it accepts (attempt_tag), and each server writes scripts again. An order has the SHA-256 of its
 * script's text, and nothing else is run (run/script.c).
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "run/nursery.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/site/belongings.h"
#include "store/store.h"

#define MARK "store-id"

static const char *const below[] = {"live", "scripts", "nodes", "undelivered", "tmp"};
#define NBELOW (sizeof below / sizeof *below)

/* Reads the mark; "": none. */
static void mark_read(const struct server *s, char id[64])
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s/" MARK, s->instance->where.state);
	f = fopen(path, "re");
	if (!f || !fgets(id, 64, f))
		id[0] = '\0';
	id[strcspn(id, "\n")] = '\0';
	if (f)
		fclose(f);
}

void belongings_mark(struct server *s)
{
	char path[PATH_MAX], id[64];
	struct strbuf text = {0};
	int rc;

	mark_read(s, id);
	if (strcmp(id, store_id(s->store)) == 0)
		return;
	snprintf(path, sizeof path, "%s/" MARK, s->instance->where.state);
	strbuf_printf(&text, "%s\n", store_id(s->store));
	rc = file_replace(path, 0600, text.text, text.n, REPLACE_SYNC);
	if (rc < 0)
		server_log(s, SEVERITY_ERROR, "%s: %s: the files here can't be marked as those of their store", path,
			   strerror(-rc));
	strbuf_fini(&text);
}

static bool has_entries(const char *path)
{
	DIR *d = opendir(path);
	bool found = false;

	for (const struct dirent *e; d && !found && (e = readdir(d));)
		found = e->d_name[0] != '.';
	if (d)
		closedir(d);
	return found;
}

/* Returns the first folder with files, or NULL. */
static const char *files_find(const struct server *s)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < NBELOW; i++) {
		snprintf(path, sizeof path, "%s/%s", s->instance->where.state, below[i]);
		if (has_entries(path))
			return below[i];
	}
	return NULL;
}

/* Finds the newest copy that a server saved of a store deleted while it ran, or "". */
static void saved_find(const struct server *s, char path[PATH_MAX])
{
	char pattern[PATH_MAX];
	glob_t g;

	path[0] = '\0';
	snprintf(pattern, sizeof pattern, "%s.saved-*[0-9]", store_name(s->store));
	if (strcmp(store_kind(s->store), "sqlite") == 0 && glob(pattern, 0, NULL, &g) == 0) {
		snprintf(path, PATH_MAX, "%s", g.gl_pathv[g.gl_pathc - 1]);
		globfree(&g);
	}
}

int belongings_check(struct server *s, struct err *err)
{
	const char *system = s->instance->multi ? " --system" : "", *files;
	char id[64], saved[PATH_MAX];

	mark_read(s, id);
	files = files_find(s);
	if (*id ? strcmp(id, store_id(s->store)) == 0 : !files || !store_is_new(s->store))
		return 0;
	saved_find(s, saved);
	return err_set(
		err, -ESTALE,
		"the files in %s belong to another store%s%s; %s %s. Put that store back%s%s, or let 'store' name it. If its jobs are "
		"given up: 'shuntd%s --set-aside' moves these files away",
		s->instance->where.state, *id ? ", " : "", id, store_name(s->store),
		store_is_new(s->store) ? "is empty" : "is not the one", *saved ? ": a server has saved it in " : "",
		saved, system);
}

/* ---- setting aside ---- */

struct running {
	const char *live;
	int n;
	struct strbuf pids;
};

static void running_count(void *context, const char *tag)
{
	struct running *r = context;
	struct arena *a = arena_create();
	struct result result;
	pid_t pid = 0;

	if (live_look(r->live, tag, a, &result, &pid) == LIVE_RUNNING) {
		r->n++;
		strbuf_printf(&r->pids, " %d", (int)pid);
	}
	arena_destroy(a);
}

int belongings_set_aside(struct server *s, struct err *err)
{
	char to[PATH_MAX], from[PATH_MAX + 32], there[PATH_MAX + 32], id[64];
	struct running r = {.live = from};

	mark_read(s, id);
	if (!*id && !files_find(s))
		return err_set(err, -ENOENT, "%s has no files of a store: there is nothing to set aside",
			       s->instance->where.state);
	snprintf(from, sizeof from, "%s/live", s->instance->where.state);
	live_list(from, running_count, &r, NULL);
	if (snprintf(to, sizeof to, "%s/set-aside-%lld", s->instance->where.state, (long long)time(NULL)) >=
		    (int)sizeof to ||
	    mkdir(to, 0700) < 0)
		return err_set(err, -errno, "%s: %s", to, strerror(errno));
	/* the mark comes last: until then nothing counts as set aside */
	for (size_t i = 0; i <= NBELOW; i++) {
		const char *name = i < NBELOW ? below[i] : MARK;
		snprintf(from, sizeof from, "%s/%s", s->instance->where.state, name);
		snprintf(there, sizeof there, "%s/%s", to, name);
		if (rename(from, there) < 0 && errno != ENOENT)
			return err_set(err, -errno, "%s: %s", from, strerror(errno));
	}
	printf("The files of the other store are in %s.\n", to);
	if (r.n)
		printf("%d job%s still run%s, and nobody watches over %s: end the process%s%s if %s not wanted.\n", r.n,
		       r.n == 1 ? "" : "s", r.n == 1 ? "s" : "", r.n == 1 ? "it" : "them", r.n == 1 ? "" : "es",
		       strbuf_text(&r.pids), r.n == 1 ? "it is" : "they are");
	strbuf_fini(&r.pids);
	return 0;
}

/* ---- names of this server's files ---- */

void belongings_begin(struct server *s)
{
	while (!s->instance->origin)
		if (getrandom(&s->instance->origin, sizeof s->instance->origin, 0) != sizeof s->instance->origin)
			s->instance->origin = 0;
}

static void script_needed(void *context, struct attempt *t)
{
	struct server *s = ((void **)context)[0];
	struct map *needed = ((void **)context)[1];

	if (entry_get(s, t->job)->spec->script)
		map_set(needed, entry_get(s, t->job)->spec->script, 1);
}

/* Removes scripts that an earlier server wrote, except those of attempts that may not have
 * opened them yet (a prologue may be running). */
void belongings_sweep(struct server *s)
{
	char path[PATH_MAX];
	struct map needed = {0};
	uint64_t one;
	DIR *d;

	attempts_each(s, script_needed, (void *[]){s, &needed});
	snprintf(path, sizeof path, "%s/scripts", s->instance->where.state);
	d = opendir(path);
	for (const struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.' && strtoull(e->d_name, NULL, 10) &&
		    !map_get(&needed, strtoull(e->d_name, NULL, 10), &one))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	map_fini(&needed);
}
