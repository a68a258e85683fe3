/*
 * scripts.c - see scripts.h.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "core/jobschema.h"
#include "server/job/jobs.h"
#include "server/job/scripts.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/server.h"
#include "store/store.h"

#define RECENT_MAX 16384 /* bytes of a script that is kept in memory */

int script_read(const json_t *job, struct arena *a, const char **ret, size_t *ret_n, struct err *err)
{
	const json_t *v = json_object_get(job, "script"), *b = json_object_get(job, "script_base64");
	bool plain = v && !json_is_null(v), coded = b && !json_is_null(b);
	struct strbuf text = {0};

	*ret = NULL;
	if (plain && coded)
		return err_set(err, -EINVAL, "script and script_base64 can't both be given");
	if ((plain && !json_is_string(v)) || (coded && !json_is_string(b)))
		return err_set(err, -EINVAL, "%s must be a string", plain ? "script" : "script_base64");
	if (plain) {
		*ret = json_string_value(v);
		*ret_n = json_string_length(v);
	} else if (coded) {
		if (base64_decode(json_string_value(b), json_string_length(b), &text) < 0)
			return err_set(err, -EINVAL, "script_base64 is not base64");
		*ret = memcpy(arena_alloc(a, text.n + 1), strbuf_text(&text), text.n); /* it may hold NULs */
		*ret_n = text.n;
		strbuf_fini(&text);
	}
	if (*ret && *ret_n > JOB_SCRIPT_MOST)
		return err_set(err, -E2BIG, "the script has %zu bytes: at most %u are taken", *ret_n, JOB_SCRIPT_MOST);
	return 0;
}

/* Returns true if the kept script with that id has this text. A recent one is compared in memory,
 * since most scripts are submitted again soon or never. */
static bool script_has(struct server *s, const struct recent_script *last, uint64_t id, const char *text, size_t n)
{
	size_t known_n;
	char *known;
	bool same;

	if (last->id == id)
		return last->text.n == n && memcmp(last->text.text, text, n) == 0;
	if (store_get_script(s->store, id, &known, &known_n, NULL) < 0)
		return false;
	same = known_n == n && memcmp(known, text, n) == 0;
	free(known);
	return same;
}

static void recent_set(struct recent_script *last, uint64_t id, const char *text, size_t n)
{
	if (last->id == id || n > RECENT_MAX)
		return;
	last->id = id;
	strbuf_clear(&last->text);
	strbuf_add(&last->text, text, n);
}

/* Keeps a script and returns its id; identical scripts of one user are kept once. */
static uint64_t script_keep(struct server *s, const struct spec *p, const char *text, size_t n)
{
	uint64_t hash = hash_bytes(text, n) ^ (uint64_t)p->uid * UINT64_C(0x9e3779b97f4a7c15), id;
	struct recent_script *last = &s->jobs->recent[hash % RECENT_SCRIPTS];

	hash |= UINT64_C(1) << 63; /* distinguishes hashes from ids */
	if (map_get(&s->jobs->scripts, hash, &id) && map_get(&s->jobs->scripts, id, &(uint64_t){0}) &&
	    script_has(s, last, id, text, n)) {
		++*map_at(&s->jobs->scripts, id);
	} else {
		id = s->jobs->next_script++;
		map_set(&s->jobs->scripts, hash, id);
		map_set(&s->jobs->scripts, id, 1);
		store_put_script(s->store, id, text, n);
	}
	recent_set(last, id, text, n);
	return id;
}

/* Returns true if two submissions have the same script. Most jobs submitted together do, and
 * comparing them saves a query of the store. */
static bool script_is(const struct server *s, const struct submission *x, const struct submission *other)
{
	return other && other->script && other->spec->uid == x->spec->uid && other->script_n == x->script_n &&
	       memcmp(other->script, x->script, x->script_n) == 0 &&
	       map_get(&s->jobs->scripts, other->spec->script, &(uint64_t){0});
}

void submission_keep_script(struct server *s, struct submission *x, const struct submission *before)
{
	if (!x->script)
		return;
	if (script_is(s, x, before)) {
		x->spec->script = before->spec->script;
		++*map_at(&s->jobs->scripts, x->spec->script);
	} else {
		x->spec->script = script_keep(s, x->spec, x->script, x->script_n);
	}
}
