/*
 * keys.c - submissions by their idempotency key, so that a client can repeat one whose answer it
 * did not get.
 *
 * A key and the numbers of the jobs it created are one object of the store, written in the same
 * commit as those jobs: after a crash or a take-over either both exist or neither does. A key
 * belongs to its user. A key from another site belongs to all sites, since the answer to a site
 * must not depend on whether the user can be looked up. A key is kept for a day, even if the jobs
 * have been forgotten by then; each user has at most KEYS_PER_USER, and the oldest is dropped
 * first. The wall clock may jump, so that this server must also have had the key for a day by a
 * clock that does not: otherwise a repetition would submit the job again.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "server/base/clock.h"
#include "server/job/jobs.h"
#include "server/job/keys.h"
#include "server/server.h"
#include "store/store.h"

#define KEEP 86400	      /* seconds a user's key is kept */
#define KEEP_LASTING 34560000 /* 400 days: a site that was down asks again */
#define KEYS_PER_USER 50000   /* some 150 bytes each */
#define SWEEP 60	      /* seconds between two searches for old keys */

/* The keys of one user, in the order of `time`. */
struct ring {
	uid_t uid;
	VEC(struct submission_key *) v;
	size_t first; /* index of the first key that is not forgotten */
	bool unsorted;
};

/* Owned by the server. */
struct keys {
	struct map by_text; /* key_hash() -> struct submission_key * */
	VEC(struct ring) rings;
	struct map by_uid; /* uid -> index in rings + 1 */
	int64_t sweep;	   /* instant of the next search for old keys */
};

static struct keys *keys_of(struct server *s)
{
	if (!s->jobs->keys)
		s->jobs->keys = mem_zalloc(sizeof *s->jobs->keys);
	return s->jobs->keys;
}

/* Returns the owner of a key: the user who submitted, or all sites. */
static uid_t key_owner(const struct submission_key *k)
{
	return k->lasting ? SUBKEY_SITE : k->uid;
}

static uint64_t key_hash(uid_t uid, const char *text)
{
	return hash_bytes(text, strlen(text)) ^ ((uint64_t)uid + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void object_name(uid_t uid, const char *text, char ret[KEY_MAX + 16])
{
	snprintf(ret, KEY_MAX + 16, "%u:%.*s", (unsigned)uid, KEY_MAX, text);
}

int subkey_read(const char *text, char ret[KEY_MAX + 1], struct err *err)
{
	size_t n = strlen(text);
	/* a string in the syntax of structured fields */
	bool quoted = n >= 2 && text[0] == '"' && text[n - 1] == '"';

	text += quoted;
	n -= quoted ? 2 : 0;
	bool right = n >= 1 && n <= KEY_MAX;
	for (size_t i = 0; i < n && right; i++)
		right = isalnum((unsigned char)text[i]) || strchr("-_.:~+/=", text[i]);
	if (!right)
		return err_set(
			err, -EINVAL,
			"Idempotency-Key must have 1 to %d characters, which may be letters, digits and any of -_.:~+/=",
			KEY_MAX);
	memcpy(ret, text, n);
	ret[n] = '\0';
	return 0;
}

const struct submission_key *subkey_find(struct server *s, uid_t uid, const char *text)
{
	uint64_t at;

	if (!map_get(&keys_of(s)->by_text, key_hash(uid, text), &at))
		return NULL;
	const struct submission_key *k = (const struct submission_key *)(uintptr_t)at;
	return key_owner(k) == uid && strcmp(k->text, text) == 0 ? k : NULL;
}

/* ---- forgetting ---- */

static void oldest_forget(struct server *s, struct ring *r)
{
	struct submission_key *k = r->v.v[r->first++];
	uint64_t at, hash = key_hash(key_owner(k), k->text);
	char name[KEY_MAX + 16];

	if (map_get(&s->jobs->keys->by_text, hash, &at) && at == (uint64_t)(uintptr_t)k)
		map_remove(&s->jobs->keys->by_text, hash);
	object_name(k->uid, k->text, name);
	store_drop_object(s->store, "key", name);
	free(k->arrays);
	free(k);
	if (r->first * 2 > r->v.n) {
		memmove(r->v.v, r->v.v + r->first, (r->v.n - r->first) * sizeof *r->v.v);
		r->v.n -= r->first;
		r->first = 0;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct submission_key *x = *(struct submission_key *const *)a, *y = *(struct submission_key *const *)b;

	return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
				  : (x->first > y->first) - (x->first < y->first);
}

static void ring_sort(struct ring *r)
{
	if (r->unsorted)
		qsort(r->v.v + r->first, r->v.n - r->first, sizeof *r->v.v, by_time);
	r->unsorted = false;
}

static bool is_old(const struct server *s, const struct ring *r, const struct submission_key *k)
{
	return k->time + (r->uid == SUBKEY_SITE ? KEEP_LASTING : KEEP) <= s->clock->now &&
	       s->clock->boot_us - k->since_us >= KEEP * INT64_C(1000000);
}

void subkeys_turn(struct server *s)
{
	struct keys *keys = keys_of(s);
	int budget = 1000;

	if (s->clock->now < keys->sweep)
		return;
	for (size_t i = 0; i < keys->rings.n; i++) {
		struct ring *r = &keys->rings.v[i];
		ring_sort(r);
		for (; budget > 0 && r->first < r->v.n && is_old(s, r, r->v.v[r->first]); budget--)
			oldest_forget(s, r);
	}
	keys->sweep = budget > 0 ? s->clock->now + SWEEP : s->clock->now;
}

/* ---- adding ---- */

static struct ring *ring_of(struct keys *keys, uid_t uid)
{
	uint64_t *at = map_at(&keys->by_uid, uid);

	if (*at == 0) {
		vec_push(&keys->rings, (struct ring){.uid = uid});
		*at = keys->rings.n;
	}
	return &keys->rings.v[*at - 1];
}

static struct submission_key *key_put(struct server *s, uid_t uid, const char *text, bool lasting)
{
	struct keys *keys = keys_of(s);
	struct submission_key *k = mem_zalloc(sizeof *k + strlen(text) + 1);

	k->uid = uid;
	k->lasting = lasting;
	k->since_us = s->clock->boot_us;
	strcpy(k->text, text);
	map_set(&keys->by_text, key_hash(key_owner(k), text), (uint64_t)(uintptr_t)k);
	vec_push(&ring_of(keys, key_owner(k))->v, k);
	return k;
}

/* The fingerprint is written separately, in hexadecimal digits. */
static const struct field key_rows[] = {
	{"first", .most = INT64_MAX, MEMBER(struct submission_key, first)},
	{"count", MEMBER(struct submission_key, count)},
	{"time", MEMBER(struct submission_key, time)},
	{"arrays", MEMBER_AS(FORM_LENT, struct submission_key, arrays)},
	{"lasting", MEMBER(struct submission_key, lasting)},
	{0},
};

static struct submission_key *key_copy(struct server *s, uid_t uid, const char *text,
				       const struct submission_key *given)
{
	struct submission_key *k = key_put(s, uid, text, given->lasting);

	k->first = given->first;
	k->count = given->count;
	k->time = given->time;
	k->print = given->print;
	k->arrays = given->arrays ? mem_strdup(given->arrays) : NULL;
	return k;
}

void subkey_add(struct server *s, uid_t uid, const char *text, const struct submission_key *given)
{
	struct submission_key *k = key_copy(s, uid, text, given);
	struct ring *r = ring_of(s->jobs->keys, key_owner(k));
	struct strbuf value = {0};
	char name[KEY_MAX + 16], print[24];
	struct json j;

	snprintf(print, sizeof print, "%016llx", (unsigned long long)k->print);
	json_begin(&j, &value);
	record_store(key_rows, 0, k, NULL, &j);
	json_text(&j, "print", print);
	json_close_object(&j);
	object_name(uid, text, name);
	store_put_object(s->store, "key", name, value.text);
	strbuf_fini(&value);
	ring_sort(r);
	if (!given->lasting && r->v.n - r->first > KEYS_PER_USER)
		oldest_forget(s, r);
}

int subkey_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	const char *print = json_string_value(json_object_get(o, "print"));
	char text[KEY_MAX + 1], *end;
	unsigned long uid = strtoul(name, &end, 10);
	struct submission_key k = {0}, *kept;

	if (end == name || *end != ':' || uid > UINT32_MAX || subkey_read(end + 1, text, NULL) < 0 || !print ||
	    record_load(key_rows, 0, o, &k, NULL, NULL) < 0 || (!k.lasting && (k.first < 1 || k.count < 1)) ||
	    (k.arrays && strlen(k.arrays) != k.count))
		return err_set(err, -EINVAL, "it is not a submission's key");
	k.print = strtoull(print, NULL, 16);
	kept = key_copy(s, (uid_t)uid, text, &k);
	ring_of(s->jobs->keys, key_owner(kept))->unsorted = true;
	return 0;
}
