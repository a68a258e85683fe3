/*
 * acted.c - actions by their idempotency key, with their results so far: an interrupted action can
 * be repeated and does the rest.
 *
 * Each slice of such an action adds an object to the store, in the same commit: the jobs it has
 * changed, and its errors. A second request with the same key skips those. A key belongs to its
 * user and is kept for a day. A user has at most RECORDS keys with JOBS jobs in all; the oldest is
 * dropped first, except for those in progress.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "server/api/jobs/acted.h"
#include "server/base/clock.h"
#include "server/base/work.h"
#include "server/job/keys.h"
#include "server/server.h"
#include "store/store.h"

#define KEEP 86400 /* seconds a key is kept */
#define RECORDS 1000
#define JOBS 1000000
#define SWEEP 60 /* seconds between two searches for old keys */

static void object_name(const struct acted *x, uint32_t part, char ret[KEY_MAX + 32])
{
	snprintf(ret, KEY_MAX + 32, "%u %u %s", (unsigned)x->uid, part, x->text);
}

struct acted *acted_find(const struct server *s, uid_t uid, const char *text)
{
	for (size_t i = 0; i < s->slices->acted.n; i++)
		if (s->slices->acted.v[i]->uid == uid && strcmp(s->slices->acted.v[i]->text, text) == 0)
			return s->slices->acted.v[i];
	return NULL;
}

static void forget(struct server *s, size_t at)
{
	struct acted *x = s->slices->acted.v[at];
	char name[KEY_MAX + 32];

	for (uint32_t i = 0; i < x->parts; i++) {
		object_name(x, i, name);
		store_drop_object(s->store, "acted", name);
	}
	for (size_t i = 0; i < x->done.n; i++) {
		free(x->done.v[i].message);
		free(x->done.v[i].form);
	}
	vec_free(&x->done);
	free(x);
	s->slices->acted.v[at] = s->slices->acted.v[--s->slices->acted.n];
}

/* Finds the user's oldest key that is not in progress. Returns true if there are too many. */
static bool crowded(const struct server *s, uid_t uid, size_t *ret)
{
	size_t records = 0, jobs = 0;
	bool found = false;

	for (size_t i = 0; i < s->slices->acted.n; i++) {
		const struct acted *x = s->slices->acted.v[i];
		if (x->uid != uid)
			continue;
		records++;
		jobs += x->done.n;
		if (!x->running && (!found || x->time < s->slices->acted.v[*ret]->time)) {
			found = true;
			*ret = i;
		}
	}
	return found && (records > RECORDS || jobs > JOBS);
}

static struct acted *acted_put(struct server *s, uid_t uid, const char *text)
{
	struct acted *x = mem_zalloc(sizeof *x + strlen(text) + 1);

	x->uid = uid;
	strcpy(x->text, text);
	vec_push(&s->slices->acted, x);
	return x;
}

struct acted *acted_begin(struct server *s, uid_t uid, const char *text, uint64_t print)
{
	struct acted *x;
	size_t at = 0;

	while (crowded(s, uid, &at))
		forget(s, at);
	x = acted_put(s, uid, text);
	x->print = print;
	x->time = s->clock->now;
	return x;
}

void acted_turn(struct server *s)
{
	if (s->clock->now < s->slices->acted_sweep)
		return;
	s->slices->acted_sweep = s->clock->now + SWEEP;
	for (size_t i = s->slices->acted.n; i-- > 0;)
		if (!s->slices->acted.v[i]->running && s->slices->acted.v[i]->time + KEEP <= s->clock->now)
			forget(s, i);
}

void acted_add(struct acted *x, uint32_t item, uint64_t key, const struct err *err)
{
	struct acted_job d = {.key = key, .item = item};

	if (err) {
		d.code = err->code ? err->code : CODE_BAD_REQUEST;
		d.message = mem_strdup(err->text);
		d.form = err->form ? mem_strdup(err->form) : NULL;
		d.begins = err->begins;
	}
	vec_push(&x->done, d);
}

/* ---- in the store ---- */

void acted_keep(struct server *s, struct acted *x, bool complete)
{
	struct strbuf value = {0};
	char name[KEY_MAX + 32], print[24];
	struct json j;

	if (x->kept == x->done.n && x->complete == complete)
		return;
	x->complete = complete;
	snprintf(print, sizeof print, "%016llx", (unsigned long long)x->print);
	json_begin(&j, &value);
	json_text(&j, "print", print);
	json_int(&j, "time", x->time);
	json_bool(&j, "complete", complete);
	json_open_array(&j, "done");
	for (; x->kept < x->done.n; x->kept++) {
		const struct acted_job *d = &x->done.v[x->kept];
		json_open_array(&j, NULL);
		json_int(&j, NULL, d->item);
		json_int(&j, NULL, (int64_t)d->key);
		if (d->code) {
			json_text(&j, NULL, code_row(d->code)->word);
			json_text(&j, NULL, d->message);
		}
		if (d->form) {
			json_text(&j, NULL, d->form);
			json_int(&j, NULL, d->begins);
		}
		json_close_array(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	object_name(x, x->parts++, name);
	store_put_object(s->store, "acted", name, value.text);
	strbuf_fini(&value);
}

static int job_restore(struct acted *x, const json_t *v)
{
	const json_t *item = json_array_get(v, 0), *key = json_array_get(v, 1);
	const char *word = json_string_value(json_array_get(v, 2)), *message = json_string_value(json_array_get(v, 3));

	struct err err = {.form = json_string_value(json_array_get(v, 4)),
			  .begins = (unsigned short)json_integer_value(json_array_get(v, 5))};

	if (!json_is_integer(item) || !json_is_integer(key) || !word != !message)
		return -EINVAL;
	if (word) {
		err.code = code_find(word);
		snprintf(err.text, sizeof err.text, "%s", message);
	}
	acted_add(x, (uint32_t)json_integer_value(item), (uint64_t)json_integer_value(key), word ? &err : NULL);
	return 0;
}

int acted_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	const char *print = json_string_value(json_object_get(o, "print"));
	unsigned uid, part;
	int at = 0;
	char text[KEY_MAX + 1];
	struct acted *x;
	const json_t *v;
	size_t i;

	if (sscanf(name, "%u %u %n", &uid, &part, &at) != 2 || at == 0 || subkey_read(name + at, text, NULL) < 0 ||
	    !print)
		return err_set(err, -EINVAL, "it is not an action's key");
	x = acted_find(s, (uid_t)uid, text);
	if (!x)
		x = acted_put(s, (uid_t)uid, text);
	x->print = strtoull(print, NULL, 16);
	x->time = json_integer_value(json_object_get(o, "time"));
	x->complete |= json_is_true(json_object_get(o, "complete"));
	if (part >= x->parts)
		x->parts = part + 1;
	json_array_foreach(json_object_get(o, "done"), i,
			   v) if (job_restore(x, v) < 0) return err_set(err, -EINVAL, "done[%zu] is not a job", i);
	x->kept = x->done.n;
	return 0;
}
