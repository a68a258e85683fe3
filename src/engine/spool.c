/*
 * spool.c - SPOOL/TAG.json: the transfers for an attempt, and their progress. It is written to a
 * new file and renamed, so it is always complete.
 *
 * The order is kept without what only the nursery needs, and as a room, because that may lack a
 * script.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/errands_internal.h"
#include "run/nursery.h"

#define JSON_MOST (4u << 20)
#define KEPT (30 * 86400) /* seconds that undelivered output is kept */

void spool_path(const struct errands *all, const char *tag, const char *suffix, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s.%s", all->spool, tag, suffix);
}

void spool_remove(const struct errands *all, const char *tag, const char *suffix)
{
	char path[4096];

	spool_path(all, tag, suffix, path, sizeof path);
	unlink(path);
}

static void order_slim(const struct order *o, struct strbuf *out)
{
	struct order slim = {.id = o->id,
			     .tag = o->tag,
			     .uid = o->uid,
			     .gid = o->gid,
			     .user = o->user,
			     .home = o->home,
			     .foreign.look_up = o->foreign.look_up,
			     .workdir = o->workdir,
			     .spare = o->spare,
			     .umask = o->umask,
			     .room = true,
			     .carry.carried = o->carry.carried,
			     .carry.ncarried = o->carry.ncarried,
			     .carry.ticket = o->carry.ticket,
			     .carry.signature = o->carry.signature,
			     .carry.deliver_for = o->carry.deliver_for,
			     .lease = o->lease,
			     .carry.spool = o->carry.spool};

	order_write(&slim, out);
}

static const struct field parcel_rows[] = {
	{"here", MEMBER_AS(FORM_BYTES, struct parcel, here)},
	{"took", MEMBER(struct parcel, took)},
	{"size", MEMBER(struct parcel, size)},
	{"over", MEMBER(struct parcel, over)},
	{"stays", MEMBER(struct parcel, stays)},
	{"why", MEMBER(struct parcel, why)},
	{0},
};

static void errand_write(const struct errand *e, struct strbuf *out)
{
	struct strbuf order = {0};
	struct json j;

	order_slim(&e->o, &order);
	json_begin(&j, out);
	json_raw(&j, "order", order.text);
	json_bool(&j, "done", e->state == ERRAND_DONE);
	json_text(&j, "notes", strbuf_text(&e->notes));
	json_open_array(&j, "parcels");
	for (int i = 0; i < e->n; i++) {
		json_open_object(&j, NULL);
		record_store(parcel_rows, 0, &e->parcel[i], NULL, &j);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	strbuf_fini(&order);
}

/* If the disk is full, the previous file stays: it has less progress, and a little is sent
 * again. */
void spool_write(const struct errand *e)
{
	char path[4096];
	struct strbuf text = {0};

	spool_path(e->all, e->o.tag, "json", path, sizeof path);
	errand_write(e, &text);
	file_replace(path, 0600, text.text, text.n, 0);
	strbuf_fini(&text);
}

/* ---- reading ---- */

static json_t *file_load(const char *path)
{
	struct strbuf text = {0};
	int rc = file_read(path, O_NOFOLLOW, JSON_MOST, &text);
	json_t *o = rc < 0 ? NULL : json_loadb(strbuf_text(&text), text.n, 0, NULL);
	strbuf_fini(&text);
	return o;
}

static int errand_take(struct errand *e, const json_t *o)
{
	const json_t *parcels = json_object_get(o, "parcels");
	const char *notes = json_string_value(json_object_get(o, "notes"));
	int rc = order_load(json_object_get(o, "order"), e->a, &e->o, NULL);

	if (rc < 0 || json_array_size(parcels) != (size_t)e->o.carry.ncarried)
		return -EINVAL;
	e->n = e->o.carry.ncarried;
	e->state = json_is_true(json_object_get(o, "done")) ? ERRAND_DONE : ERRAND_RUNS;
	e->parcel = arena_alloc(e->a, (size_t)(e->n + 1) * sizeof *e->parcel);
	for (int i = 0; i < e->n && rc == 0; i++) {
		e->parcel[i] = (struct parcel){.e = e, .f = &e->o.carry.carried[i]};
		rc = record_read(parcel_rows, 0, json_array_get(parcels, (size_t)i), &e->parcel[i], e->a, NULL);
	}
	if (rc == 0)
		strbuf_puts(&e->notes, notes ? notes : "");
	return rc;
}

static struct errand *errand_read(struct errands *all, const json_t *o)
{
	struct errand *e = mem_zalloc(sizeof *e);

	e->all = all;
	e->a = arena_create();
	if (errand_take(e, o) == 0)
		return e;
	for (int i = 0; i < e->n; i++)
		record_free(parcel_rows, &e->parcel[i]);
	arena_destroy(e->a);
	free(e);
	return NULL;
}

struct errand *spool_read(struct errands *all, const char *tag)
{
	struct errand *e = NULL;
	char path[4096];
	json_t *o;

	spool_path(all, tag, "json", path, sizeof path);
	o = file_load(path);
	if (o)
		e = errand_read(all, o);
	json_decref(o);
	return e;
}

/* Returns true if a file has looked old for a day: the wall clock may be wrong for a while, and
 * output that was not delivered exists only here. */
static bool is_old(struct errands *all, const char *tag, const char *suffix)
{
	char path[4096];
	struct stat st;

	spool_path(all, tag, suffix, path, sizeof path);

	uint64_t key = hash_bytes(path, strlen(path)), since;
	bool old = lstat(path, &st) == 0 && st.st_mtime < time(NULL) - KEPT;

	if (old && map_get(&all->aging, key, &since))
		return uv_now(all->loop) - since >= DAY_MS;
	if (old)
		map_set(&all->aging, key, uv_now(all->loop));
	else
		map_remove(&all->aging, key);
	return false;
}

void spool_sweep(struct errands *all)
{
	DIR *dir = opendir(all->spool);
	struct dirent *d;

	all->swept = uv_now(all->loop);
	while (dir && (d = readdir(dir))) {
		struct arena *a = arena_create();
		const char *suffix = strrchr(d->d_name, '.');
		struct result r;
		pid_t pid;
		char tag[256];
		if (suffix++ && suffix > d->d_name + 1) {
			snprintf(tag, sizeof tag, "%.*s", (int)(suffix - d->d_name) - 1, d->d_name);
			if (strcmp(suffix, "new") == 0) /* incomplete */
				spool_remove(all, tag, suffix);
			else if ((strcmp(suffix, "json") == 0 || is_old(all, tag, suffix)) &&
				 live_look(all->live, tag, a, &r, &pid) == LIVE_NONE)
				spool_remove(all, tag, suffix);
		}
		arena_destroy(a);
	}
	if (dir)
		closedir(dir);
}
