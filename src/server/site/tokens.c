/*
 * tokens.c - stores, finds and checks tokens: "ID.SECRET.FINGERPRINT" (tls/pki.h).
 *
 * The store has the hash of the secret of a join or login token. Tokens of jobs, and the passes
 * that a standby gives to users of its machine, are derived from the servers' own secret and stored
 * nowhere.
 *
 * Whatever is wrong with a token, the answer is the same sentence, and the comparison takes the
 * same time: a client does not learn which part was right. Expiry is by the server's clock, which
 * never goes back. Wrong tokens are counted by address, and after 20 in a minute the answer is "too
 * many". A correct token is still accepted: secrets of 128 bits cannot be guessed, and a user must
 * not be able to shut out others on the same host by failing on purpose.
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

#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/tray.h"
#include "net/address.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "server/site/realm.h"
#include "server/site/sessions.h"
#include "server/site/tokens.h"
#include "store/store.h"
#include "tls/pki.h"

#define PASS_LIFE 86400 /* seconds */
#define FAILURES_MAX 20
#define FAILURES_SECONDS 60
#define FAILURES_KEPT 1024 /* addresses kept; beyond that the oldest is dropped */

struct tokens *tokens_of(struct server *s)
{
	if (!s->realm->tokens)
		s->realm->tokens = mem_zalloc(sizeof *s->realm->tokens);
	return s->realm->tokens;
}

void token_id(const struct token_record *t, char ret[32])
{
	char letter = t->kind == TOKEN_JOIN ? 'j' : t->kind == TOKEN_SITE ? 's' : 'u';

	snprintf(ret, 32, "%c%llu", letter, (unsigned long long)t->number);
}

struct token_record *token_find(struct server *s, const char *id)
{
	struct tokens *all = tokens_of(s);
	char own[32];

	for (size_t i = 0; i < all->list.n; i++) {
		token_id(&all->list.v[i], own);
		if (strcmp(own, id) == 0)
			return &all->list.v[i];
	}
	return NULL;
}

/* ---- the store ---- */

enum { STORED = 1 << 0, SHOWN = 1 << 1 };

struct subject {
	struct token_record token;
};

static void get_id(const struct subject *x, struct value *v)
{
	char id[32];

	token_id(&x->token, id);
	strbuf_puts(&v->scratch, id);
	v->kind = VALUE_TEXT;
	v->text = v->scratch.text;
}

static void get_uses(const struct subject *x, struct value *v)
{
	v->kind = x->token.kind == TOKEN_JOIN ? VALUE_INT : VALUE_NULL;
	v->number = x->token.uses;
}

#define HAS(member) MEMBER(struct token_record, member)

const struct schema token_shown = {
	"Token",
	FIELDS({"id", .is = REQUIRED | IS_TEXT, .get = get_id, .in = SHOWN},
	       {"kind", .is = REQUIRED | IS_TEXT, .words = TOKEN_KINDS, .in = STORED | ALWAYS | SHOWN,
		MEMBER_AS(FORM_CHOICE, struct token_record, kind)},
	       {"hash", .is = IS_TEXT, .in = STORED | ALWAYS, MEMBER_CHARS(struct token_record, hash)},
	       {"uid", .is = IS_INT, .in = STORED, HAS(uid)},
	       {"user", .is = REQUIRED | IS_TEXT | IS_NULL, "whose login it is; who made the join token",
		.in = STORED | SHOWN, HAS(user)},
	       {"label", .is = REQUIRED | IS_TEXT | IS_NULL, .in = STORED | SHOWN, HAS(label)},
	       {"name", .is = REQUIRED | IS_TEXT | IS_NULL,
		"the only node that a join is for; of a site, what it is called", .in = STORED | SHOWN, HAS(name)},
	       {"created", .is = REQUIRED | IS_INSTANT, .in = STORED | SHOWN, HAS(created)},
	       {"expires", .is = REQUIRED | IS_INSTANT, .in = STORED | SHOWN, HAS(expires)},
	       {"uses", .is = REQUIRED | IS_INT | IS_NULL, "of a join token: how many are left", .get = get_uses,
		.in = STORED | SHOWN, HAS(uses)},
	       {"used", .is = REQUIRED | IS_INSTANT | IS_NULL, .in = STORED | SHOWN, HAS(used)}),
	.in = SHOWN};

void token_store(struct server *s, const struct token_record *t)
{
	char id[32];

	token_id(t, id);
	record_put(s, "token", id, token_shown.fields, STORED, t);
}

int token_restore(struct server *s, const char *id, const json_t *o, struct err *err)
{
	struct token_record t = {0};
	char own[32];
	int rc = record_load(token_shown.fields, STORED, o, &t, NULL, err);

	t.number = strtoull(*id ? id + 1 : "", NULL, 10);
	token_id(&t, own);
	if (rc == 0 && strlen(t.hash) != FINGERPRINT_SIZE - 1)
		rc = err_set(err, -EINVAL, "hash must have %d digits", FINGERPRINT_SIZE - 1);
	if (rc == 0 && strcmp(own, id) != 0)
		rc = err_set(err, -EINVAL, "its kind is not that of its name");
	if (rc < 0) {
		record_free(token_shown.fields, &t);
		return rc;
	}
	if (t.number >= s->realm->next_token)
		s->realm->next_token = t.number + 1;
	vec_push(&tokens_of(s)->list, t);
	return 0;
}

void token_drop(struct server *s, struct token_record *t)
{
	struct tokens *all = tokens_of(s);
	char id[32];

	token_id(t, id);
	store_drop_object(s->store, "token", id);
	record_free(token_shown.fields, t);
	vec_remove(&all->list, (size_t)(t - all->list.v));
}

void tokens_expire(struct server *s, int64_t since)
{
	struct tokens *all = tokens_of(s);

	for (size_t i = all->list.n; i-- > 0;)
		if (all->list.v[i].expires <= s->clock->now - since)
			token_drop(s, &all->list.v[i]);
}

struct token_record *token_add(struct server *s, struct token_record *t, char ret_text[TOKEN_SIZE])
{
	struct tokens *all = tokens_of(s);
	struct token shown = {0};

	if (s->realm->next_token == 0)
		s->realm->next_token = 1;
	t->number = s->realm->next_token++;
	t->created = s->clock->now;
	token_id(t, shown.id);
	secret_random(shown.secret);
	secret_hash(shown.secret, t->hash);
	snprintf(shown.fingerprint, sizeof shown.fingerprint, "%.*s", SHOWN_DIGITS, s->realm->authority.fingerprint);
	token_write(&shown, ret_text);
	vec_push(&all->list, *t);
	token_store(s, t);
	return &all->list.v[all->list.n - 1];
}

/* ---- failures ---- */

static struct failures *failures_of(struct server *s, uint64_t from)
{
	struct tokens *all = tokens_of(s);
	size_t oldest = 0;

	for (size_t i = 0; i < all->failures.n; i++) {
		if (all->failures.v[i].from == from)
			return &all->failures.v[i];
		if (all->failures.v[i].since < all->failures.v[oldest].since)
			oldest = i;
	}
	if (all->failures.n < FAILURES_KEPT) {
		vec_push(&all->failures, (struct failures){0});
		oldest = all->failures.n - 1;
	}
	all->failures.v[oldest] = (struct failures){.from = from, .since = s->clock->now};
	return &all->failures.v[oldest];
}

/* Returns true after too many failures. Adds no entry for an unknown origin: only wrong guesses
 * make the list longer. */
bool failures_many(struct server *s, uint64_t from)
{
	const struct tokens *all = tokens_of(s);

	for (size_t i = 0; i < all->failures.n; i++)
		if (all->failures.v[i].from == from)
			return all->failures.v[i].count >= FAILURES_MAX &&
			       s->clock->now - all->failures.v[i].since < FAILURES_SECONDS;
	return false;
}

int failures_add(struct server *s, uint64_t from)
{
	struct failures *f = failures_of(s, from);

	if (s->clock->now - f->since >= FAILURES_SECONDS) {
		f->since = s->clock->now;
		f->count = 0;
	}
	return ++f->count;
}

int token_failed(struct server *s, const char *address, struct err *err)
{
	int count = failures_add(s, address_key(address));

	if (count == FAILURES_MAX + 1)
		server_log(s, SEVERITY_WARNING, "more than %d wrong tokens from %s within a minute", FAILURES_MAX,
			   address);
	if (count > FAILURES_MAX)
		return err_code(err, CODE_TOO_MANY, "Too many wrong tokens came from %.60s: wait a minute.", address);
	return err_code(err, CODE_UNAUTHORIZED,
			"No valid token was shown: it is missing, wrong, used up, revoked, or has expired "
			"('shunt token create' on the server's machine makes a new one).");
}

/* ---- checking ---- */

/* Returns true if the token is this cluster's and its secret has this hash. Compares everything
 * in any case, for constant time. */
static bool shown_right(const struct server *s, const struct token *shown, const char *hash)
{
	char own[FINGERPRINT_SIZE], given[FINGERPRINT_SIZE];

	snprintf(own, sizeof own, "%.*s", SHOWN_DIGITS, s->realm->authority.fingerprint);
	secret_hash(shown->secret, given);
	bool cluster = secret_equal(shown->fingerprint, own), secret = secret_equal(given, hash);
	return cluster && secret;
}

/* Returns the record of that kind that the token is valid for, or NULL. */
static struct token_record *record_shown(struct server *s, const struct token *shown, enum token_kind kind)
{
	static const char nobody[] = "0000000000000000000000000000000000000000000000000000000000000000";
	struct token_record *t = token_find(s, shown->id);
	bool right = shown_right(s, shown, t ? t->hash : nobody);

	return t && right && t->kind == kind && t->expires > s->clock->now ? t : NULL;
}

int token_check_join(struct server *s, const char *text, const char *address, struct token_record **ret,
		     struct err *err)
{
	struct token shown;
	struct token_record *t = NULL;

	if (token_parse(text, &shown, NULL) == 0)
		t = record_shown(s, &shown, TOKEN_JOIN);
	if (!t || t->uses < 1)
		return token_failed(s, address, err);
	*ret = t;
	return 0;
}

int token_user_check(struct server *s, uid_t uid, const char *user, struct err *err)
{
	if (uid == 0)
		return err_code(
			err, CODE_FORBIDDEN,
			"Nobody is root from another machine, neither by a login token nor by another site's word.");
	if (!s->instance->multi && uid != s->instance->uid)
		return err_code(err, CODE_FORBIDDEN, "This is a personal instance: only its own user can have tokens.");
	if (s->instance->multi && uid == s->instance->uid)
		return err_code(
			err, CODE_FORBIDDEN,
			"Nobody is %s, the server's own account, from another machine, neither by a login token nor by another site's word.",
			user);
	return 0;
}

static bool login_right(struct server *s, const struct token *shown, struct asker *ret)
{
	struct token_record *t = record_shown(s, shown, TOKEN_LOGIN);
	const struct user *a = t ? user_known(s, t->uid) : NULL;

	/* The uid may have been reassigned. */
	if (!a || !t->user || strcmp(a->name, t->user) != 0 || token_user_check(s, t->uid, t->user, NULL) < 0)
		return false;
	t->used = s->clock->now;
	ret->uid = t->uid;
	ret->gid = a->gid;
	ret->by = BY_TOKEN;
	snprintf(ret->user, sizeof ret->user, "%s", a->name);
	return true;
}

bool token_sealed(struct server *s, const char *id, const char *text, const char *seal, int64_t at, uid_t *ret_uid,
		  const char **ret_user)
{
	struct token_record *t = token_find(s, id);
	char right[64];

	secret_mac(t ? t->hash : "nobody", text, right);
	if (!secret_equal(right, seal) || !t || t->kind != TOKEN_LOGIN || t->expires <= at || !t->user ||
	    token_user_check(s, t->uid, t->user, NULL) < 0)
		return false;
	t->used = s->clock->now;
	*ret_uid = t->uid;
	*ret_user = t->user;
	return true;
}

/* Computes the secret of a job's token or of a pass, which are not stored. */
static void derived_secret(const struct server *s, const char *what, const char *id, char ret[64])
{
	char text[96];

	snprintf(text, sizeof text, "%s %.63s", what, id);
	secret_mac(s->realm->authority.secret, text, ret);
}

/* Finds the job of a tag if the tag's attempt is the current one and is running. */
static bool job_runs(const struct server *s, const char *tag, uint32_t *ret)
{
	uint32_t attempt;

	return tag_parse(s, tag, ret, &attempt) && !entry_ended(s, *ret) && entry_job(s, *ret)->attempt == attempt &&
	       attempt_find(s, *ret, attempt);
}

static bool job_right(struct server *s, const struct token *shown, struct asker *ret)
{
	const char *tag = shown->id + 1;
	char secret[64], hash[FINGERPRINT_SIZE];
	uint32_t id;

	derived_secret(s, "job", tag, secret);
	secret_hash(secret, hash);
	if (!shown_right(s, shown, hash) || !job_runs(s, tag, &id))
		return false;

	const struct spec *p = entry_get(s, id)->spec;
	if (p->uid == 0)
		return false;
	ret->uid = p->uid;
	ret->gid = p->gid;
	ret->by = BY_JOB;
	snprintf(ret->user, sizeof ret->user, "%s", word_text(s, p->owner));
	return true;
}

/* Writes the id of a pass, "pUNTIL-UID-HASH", with the hash of the user's name, which must be
 * the same on both machines. */
static void pass_id(int64_t until, uid_t uid, const char *user, char ret[64])
{
	snprintf(ret, 64, "p%lld-%u-%llx", (long long)until, (unsigned)uid,
		 (unsigned long long)hash_bytes(user, strlen(user)));
}

static bool pass_read(const struct server *s, const char *id, int64_t *ret_until, uid_t *ret_uid)
{
	long long until;
	unsigned uid;

	if (sscanf(id, "p%lld-%u-", &until, &uid) != 2 || until <= s->clock->now)
		return false;
	*ret_until = until;
	*ret_uid = uid;
	return true;
}

/* Returns true for a pass made by a server of this cluster: a standby has the same secrets as
 * the leader. */
static bool pass_genuine(const struct server *s, const struct token *shown, int64_t *ret_until, uid_t *ret_uid)
{
	char secret[64], hash[FINGERPRINT_SIZE];

	if (!pass_read(s, shown->id, ret_until, ret_uid))
		return false;
	derived_secret(s, "pass", shown->id, secret);
	secret_hash(secret, hash);
	return shown_right(s, shown, hash);
}

static bool pass_right(struct server *s, const struct token *shown, struct asker *ret)
{
	const struct user *a;
	int64_t until;
	char id[64];
	uid_t uid;

	if (!pass_genuine(s, shown, &until, &uid) || !(a = user_known(s, uid)))
		return false;
	pass_id(until, uid, a->name, id);
	if (strcmp(id, shown->id) != 0)
		return false;
	ret->uid = uid;
	ret->gid = a->gid;
	ret->by = BY_TOKEN;
	snprintf(ret->user, sizeof ret->user, "%s", a->name);
	return true;
}

bool token_pass(struct server *s, uid_t uid, char ret[TOKEN_SIZE])
{
	const struct user *a = user_known(s, uid);
	struct token shown = {0};

	if (!a || !s->realm->authority.secret)
		return false;
	pass_id(s->clock->now + PASS_LIFE, uid, a->name, shown.id);
	derived_secret(s, "pass", shown.id, shown.secret);
	snprintf(shown.fingerprint, sizeof shown.fingerprint, "%.*s", SHOWN_DIGITS, s->realm->authority.fingerprint);
	token_write(&shown, ret);
	return true;
}

const char *token_site(struct server *s, const char *text)
{
	const struct token_record *t;
	struct token shown;

	if (!text || token_parse(text, &shown, NULL) < 0 || shown.id[0] != 's')
		return NULL;
	t = record_shown(s, &shown, TOKEN_SITE);
	return t ? t->name : NULL;
}

int token_check_site(struct server *s, const char *text, const char *user, const char *address, struct asker *ret,
		     struct err *err)
{
	const struct user *u = NULL;
	struct token_record *t;
	struct token shown;
	int rc;

	if (token_parse(text, &shown, NULL) < 0 || !(t = record_shown(s, &shown, TOKEN_SITE)))
		return token_failed(s, address, err);
	if (!user || users_find(s, (struct user_key){USER_BY_NAME, 0, user}, &u, err) != LOOKUP_KNOWN)
		return err_code(err, CODE_FORBIDDEN,
				"User %.60s does not exist here: site %.60s cannot ask on their behalf.",
				user ? user : "\"\"", t->name);
	if ((rc = token_user_check(s, u->uid, u->name, err)) < 0)
		return rc;
	*ret = (struct asker){.uid = u->uid, .gid = u->gid, .by = BY_SITE};
	snprintf(ret->user, sizeof ret->user, "%s", u->name);
	snprintf(ret->token, sizeof ret->token, "%s", shown.id);
	snprintf(ret->address, sizeof ret->address, "%.63s", address);
	t->used = s->clock->now;
	snprintf(t->from, sizeof t->from, "%.63s", address);
	return 0;
}

bool token_whose(struct server *s, const char *text, uid_t *ret_uid, gid_t *ret_gid)
{
	const struct token_record *t;
	struct asker w;
	struct token shown;
	int64_t until;

	*ret_gid = (gid_t)-1;
	if (!text || token_parse(text, &shown, NULL) < 0)
		return false;
	if (shown.id[0] == 'p')
		return pass_genuine(s, &shown, &until, ret_uid);
	if (shown.id[0] == 'a') {
		if (!job_right(s, &shown, &w))
			return false;
		*ret_uid = w.uid;
		*ret_gid = w.gid;
		return true;
	}
	if (!(t = record_shown(s, &shown, TOKEN_LOGIN)))
		return false;
	*ret_uid = t->uid;
	return true;
}

static bool token_right(struct server *s, const char *text, struct asker *ret)
{
	struct token shown;
	bool right = false;

	*ret = (struct asker){0};
	if (text && token_parse(text, &shown, NULL) == 0)
		right = shown.id[0] == 'a'   ? job_right(s, &shown, ret)
			: shown.id[0] == 'p' ? pass_right(s, &shown, ret)
					     : login_right(s, &shown, ret);
	if (right)
		snprintf(ret->token, sizeof ret->token, "%s", shown.id);
	else
		*ret = (struct asker){.uid = (uid_t)-1, .gid = (gid_t)-1};
	return right;
}

int token_check(struct server *s, const char *text, const char *address, struct asker *ret, struct err *err)
{
	if (!token_right(s, text, ret))
		return token_failed(s, address, err);
	snprintf(ret->address, sizeof ret->address, "%.63s", address);
	struct token_record *t = ret->by == BY_TOKEN ? token_find(s, ret->token) : NULL;
	if (t)
		snprintf(t->from, sizeof t->from, "%.63s", address);
	return 0;
}

void token_view(const struct token_record *t, char ret[64])
{
	secret_mac(t->hash, TRAY_VIEW, ret);
}

bool token_holds(struct server *s, const struct asker *w)
{
	const struct token_record *t;
	int64_t until;
	uint32_t id;
	uid_t uid;

	if (w->by == BY_SOCKET)
		return true;
	if (w->by == BY_PAGE)
		return session_holds(s, w->token);
	if (w->token[0] == 'p')
		return pass_read(s, w->token, &until, &uid);
	if (w->by == BY_JOB)
		return job_runs(s, w->token + 1, &id);
	t = token_find(s, w->token);
	return t && t->expires > s->clock->now;
}

void token_of_job(const struct server *s, const char *tag, char ret[TOKEN_SIZE])
{
	struct token shown = {0};

	snprintf(shown.id, sizeof shown.id, "a%.62s", tag);
	derived_secret(s, "job", tag, shown.secret);
	snprintf(shown.fingerprint, sizeof shown.fingerprint, "%.*s", SHOWN_DIGITS, s->realm->authority.fingerprint);
	token_write(&shown, ret);
}
