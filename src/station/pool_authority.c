/*
 * pool_authority.c - the authority of a pool, which has no server: signs the certificates of
 * stations that present a token.
 *
 * Its files are ca.key, ca.crt, and joins.json: the number of the next join, hashes of the unused
 * tokens, and the last join of each station. A token is removed from joins.json before its
 * certificate exists, so that it never works twice even if the machine crashes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "station/pool_home.h"
#include "tls/pki.h"

#define LIFE (3 * 365 * 86400LL) /* seconds that a station's certificate is valid */
#define EARLY 86400LL		 /* seconds by which a certificate's validity precedes its making (pki.h) */
#define TOKENS_MOST 1000

static int issue(const struct pool_home *h, const char *csr, const char *name, uint64_t join, struct strbuf *ret,
		 struct err *err)
{
	struct strbuf key = {0}, cert = {0};
	struct cert_names who = {.role = CERT_NODE, .join = join};
	int rc = pool_home_read(h, "ca.key", &key, err);

	if (rc == -ENOENT)
		err_set(err, rc = -ENOTSUP, "this station can't let others join: ask the one that created the pool");
	if (rc == 0)
		rc = pool_home_read(h, "ca.crt", &cert, err);
	snprintf(who.name, sizeof who.name, "%s", name);
	if (rc == 0)
		rc = pki_issue(strbuf_text(&key), strbuf_text(&cert), csr, strlen(csr), &who, NULL, LIFE, ret, err);
	if (key.text)
		explicit_bzero(key.text, key.n);
	strbuf_fini(&key);
	strbuf_fini(&cert);
	return rc;
}

static int joins_store(const struct pool_home *h, const json_t *joins, struct err *err)
{
	char *text = json_dumps(joins, JSON_INDENT(1));
	int rc = pool_home_write(h, "joins.json", 0600, text, err);

	free(text);
	return rc;
}

/* Loads joins.json without expired tokens. */
static int joins_load(const struct pool_home *h, int64_t now, json_t **ret, struct err *err)
{
	struct strbuf text = {0};
	int rc = pool_home_read(h, "joins.json", &text, err);
	json_t *o = rc == 0 ? json_loads(strbuf_text(&text), 0, NULL) : NULL, *tokens, *t;
	const char *id;
	void *next;

	strbuf_fini(&text);
	if (rc == -ENOENT)
		return err_set(err, -ENOTSUP, "this station can't let others join: ask the one that created the pool");
	tokens = json_object_get(o, "tokens");
	if (rc == 0 && !json_is_object(tokens)) {
		json_decref(o);
		rc = err_set(err, -EINVAL, "%.300s/joins.json is damaged", h->dir);
	}
	if (rc < 0)
		return rc;
	json_object_foreach_safe(tokens, next, id, t)
	{
		if (json_integer_value(json_object_get(t, "until")) < now)
			json_object_del(tokens, id);
	}
	*ret = o;
	return 0;
}

int pool_authority_create(const struct pool_home *h, const struct pool_conf *c, struct err *err)
{
	struct strbuf key = {0}, cert = {0}, own = {0}, csr = {0}, signedby = {0};
	int rc = pki_authority(c->pool, &key, &cert, err);

	if (rc == 0)
		rc = pool_home_write(h, "ca.key", 0600, strbuf_text(&key), err);
	if (rc == 0)
		rc = pool_home_write(h, "ca.crt", 0644, strbuf_text(&cert), err);
	if (rc == 0)
		rc = pool_home_write(h, "joins.json", 0600, "{\"next\": 2, \"tokens\": {}}\n", err);
	if (rc == 0 && (rc = pki_key(&own, err)) == 0 && (rc = pki_request(strbuf_text(&own), &csr, err)) == 0)
		rc = issue(h, strbuf_text(&csr), c->name, JOIN_AUTHORITY, &signedby, err);
	if (rc == 0)
		rc = pool_home_write(h, "node.key", 0600, strbuf_text(&own), err);
	if (rc == 0)
		rc = pool_home_write(h, "node.crt", 0644, strbuf_text(&signedby), err);
	if (rc == 0)
		rc = pool_conf_store(h, c, err);
	strbuf_fini(&key);
	strbuf_fini(&cert);
	strbuf_fini(&own);
	strbuf_fini(&csr);
	strbuf_fini(&signedby);
	return rc;
}

uint64_t pool_station_join(const struct pool_home *h, const char *name)
{
	json_t *joins = NULL;
	uint64_t join = 0;

	if (joins_load(h, 0, &joins, NULL) == 0)
		join = peer_join_read(json_object_get(json_object_get(joins, "stations"), name));
	json_decref(joins);
	return join;
}

int pool_token_create(const struct pool_home *h, int64_t now, int64_t seconds, char *ret, struct err *err)
{
	struct strbuf cert = {0};
	struct token t = {0};
	char hash[FINGERPRINT_SIZE];
	json_t *joins = NULL, *tokens;
	int rc = joins_load(h, now, &joins, err);

	if (rc == 0)
		rc = pool_home_read(h, "ca.crt", &cert, err);
	if (rc == 0)
		rc = pki_fingerprint(strbuf_text(&cert), t.fingerprint, err);
	if (rc == 0) {
		json_int_t next = json_integer_value(json_object_get(joins, "next"));
		tokens = json_object_get(joins, "tokens");
		t.fingerprint[32] = '\0';
		snprintf(t.id, sizeof t.id, "j%lld", (long long)next);
		secret_random(t.secret);
		secret_hash(t.secret, hash);
		json_object_set_new(joins, "next", json_integer(next + 1));
		json_object_set_new(tokens, t.id,
				    json_pack("{s:s,s:I}", "hash", hash, "until",
					      (json_int_t)(seconds > INT64_MAX - now ? INT64_MAX : now + seconds)));
		rc = json_object_size(tokens) > TOKENS_MOST
			     ? err_set(err, -E2BIG, "%d tokens are not used yet: wait until they expire", TOKENS_MOST)
			     : joins_store(h, joins, err);
		token_write(&t, ret);
	}
	json_decref(joins);
	strbuf_fini(&cert);
	return rc;
}

int pool_token_use(const struct pool_home *h, const char *id, const char *secret, const char *name, const char *csr,
		   int64_t now, struct strbuf *ret_cert, struct err *err)
{
	char hash[FINGERPRINT_SIZE];
	const char *kept;
	json_t *joins;
	int rc = joins_load(h, now, &joins, err);

	if (rc < 0)
		return rc;
	secret_hash(secret, hash);
	kept = json_string_value(json_object_get(json_object_get(json_object_get(joins, "tokens"), id), "hash"));
	if (!kept || !secret_equal(kept, hash)) {
		json_decref(joins);
		return err_set(err, -EACCES,
			       "the token is wrong, was used, or has expired: 'shunt pool token' prints another");
	}
	json_object_del(json_object_get(joins, "tokens"), id);
	if (!json_is_object(json_object_get(joins, "stations")))
		json_object_set_new(joins, "stations", json_object());
	json_object_set_new(json_object_get(joins, "stations"), name, json_integer(strtoll(id + 1, NULL, 10)));
	rc = joins_store(h, joins, err);
	if (rc == 0)
		rc = issue(h, csr, name, strtoull(id + 1, NULL, 10), ret_cert, err);
	json_decref(joins);
	return rc;
}

int pool_certificate_renew(const struct pool_home *h, const struct cert_names *who, const char *csr,
			   struct strbuf *ret_cert, struct err *err)
{
	if (who->role != CERT_NODE)
		return err_set(err, -EACCES, "only certificates of stations are renewed");
	return issue(h, csr, who->name, who->join, ret_cert, err);
}

bool pool_certificate_due(int64_t from, int64_t until, int64_t now)
{
	return now > until - (until - from - EARLY) / 3;
}
