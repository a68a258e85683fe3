/*
 * test_signin.c - proofs of who somebody is, from other machines: tokens of each kind, sessions of
 * the page, passwords, munge; what ends them, and what is kept after a restart. Also the list of
 * removed nodes.
 */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pam/signin.h"
#include "server/base/asker.h"
#include "server/base/instance.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/revoke.h"
#include "server/site/sessions.h"
#include "server/site/signin.h"
#include "server/site/tokens.h"
#include "support/bare.h"
#include "support/site.h"
#include "support/skip.h"
#include "tls/pki.h"

#define NOW INT64_C(1800000000)
#define USER 1 /* daemon, whom every system has, as bin and sys */
#define OTHER 2

static char page_here; /* stands for the page's TLS port */

/* Gives the server its authority, and an address for other machines. */
static void realm_ready(struct site *f)
{
	struct err err;

	assert_int_equal(conf_set(f->s->conf, "cluster.listen", "7722", &err), 0);
	assert_int_equal(conf_set(f->s->conf, "cluster.address", "head.example.org:7722", &err), 0);
	assert_int_equal(realm_begin(f->s, &err), 0);
	realm_locate(f->s);
	f->s->realm->page_port = 4433;
}

static int setup(void **state)
{
	int rc = site_setup(state, "n1:cpus=4", NOW);

	realm_ready(*state);
	return rc;
}

static void again(struct site *f)
{
	server_turn(f->s);
	site_reopen(f);
	realm_ready(f);
}

static void pass(struct site *f, int64_t seconds)
{
	f->now += seconds;
	bare_clock(f->now * 1000000);
	server_turn(f->s);
}

static void member(const struct site *f, const char *name, char *ret, size_t size)
{
	json_t *o = json_loads(strbuf_text(&f->a.body), 0, NULL);
	const char *text = json_string_value(json_object_get(o, name));

	if (!text)
		fail_msg("%s is not in %s", name, strbuf_text(&f->a.body));
	snprintf(ret, size, "%s", text);
	json_decref(o);
}

static void says(const struct site *f, const char *text)
{
	if (!strstr(strbuf_text(&f->a.body), text))
		fail_msg("%s is not in %s", text, strbuf_text(&f->a.body));
}

static int remote(struct site *f, struct bare_client from, const char *method, const char *path, const char *body)
{
	strbuf_fini(&f->a.body);
	f->a = (struct bare_answer){0};
	return bare_remote(f->s, &from, method, path, body, &f->a);
}

/* Returns a client that shows a token; NULL: none. Valid until the next call. */
static struct bare_client by(const char *token)
{
	static char bearer[TOKEN_SIZE + 8];

	snprintf(bearer, sizeof bearer, "Bearer %s", token ? token : "");
	return (struct bare_client){.header = {{"Authorization", token ? bearer : NULL}}};
}

/* Makes a token over the local socket. */
static void token_made(struct site *f, uid_t uid, const char *body, char ret[TOKEN_SIZE])
{
	if (site_ask(f, uid, "POST", "/v1/tokens", body) != 201)
		fail_msg("%s: %s", body, strbuf_text(&f->a.body));
	member(f, "token", ret, TOKEN_SIZE);
}

static void refused(struct site *f, uid_t uid, const char *body, int status, const char *text)
{
	assert_int_equal(site_ask(f, uid, "POST", "/v1/tokens", body), status);
	says(f, text);
}

/* ---- tokens ---- */

static void who_gets_tokens(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE];

	token_made(f, USER, "{\"kind\":\"login\"}", token);
	says(f, "\"server\":\"head.example.org:7722\",\"expires\":1802592000");
	refused(f, 0, "{\"kind\":\"login\"}", 403, "Nobody is root from another machine");
	refused(f, USER, "{\"kind\":\"login\",\"user\":\"bin\"}", 403, "by managers and by that user only");
	refused(f, USER, "{\"kind\":\"join\"}", 403, "Only managers let nodes join");
	refused(f, USER, "{\"kind\":\"site\",\"name\":\"east\"}", 403, "Only managers, on the server's machine");
	refused(f, getuid(), "{\"kind\":\"login\",\"user\":\"no-such-user\"}", 400, "User no-such-user does not exist");
	refused(f, getuid(), "{\"kind\":\"join\",\"expires\":2592001}", 400, "from 1 to 2592000");
	refused(f, getuid(), "{\"kind\":\"join\",\"name\":\"-n\"}", 400, "name must be a node's");
	refused(f, getuid(), "{\"kind\":\"site\"}", 400, "name must be the site's");
	token_made(f, getuid(), "{\"kind\":\"login\",\"user\":\"bin\"}", token);
	says(f, "\"user\":\"bin\"");
	assert_int_equal(remote(f, by(token), "POST", "/v1/tokens", "{\"kind\":\"login\"}"), 403);
	says(f, "Login tokens are made on the server's machine");
	f->s->instance->multi = false;
	refused(f, USER, "{\"kind\":\"login\"}", 403, "This is a personal instance");
}

/* Whatever is wrong, the answer is the same. */
static void wrong_tokens(void **state)
{
	static const char sentence[] =
		"No valid token was shown: it is missing, wrong, used up, revoked, or has expired";
	struct site *f = *state;
	char token[TOKEN_SIZE], join[TOKEN_SIZE], bad[TOKEN_SIZE];

	token_made(f, USER, "{\"kind\":\"login\"}", token);
	token_made(f, getuid(), "{\"kind\":\"join\"}", join);
	for (int i = 0; i < 6; i++) {
		snprintf(bad, sizeof bad, "%s", token);
		char *at = i == 1   ? bad + 1		    /* another number */
			   : i == 2 ? strchr(bad, '.') + 1  /* the secret's first digit */
			   : i == 3 ? strrchr(bad, '.') - 1 /* and its last */
			   : i == 4 ? bad + strlen(bad) - 1 /* another cluster's */
				    : NULL;
		if (at)
			*at = *at == '7' ? '8' : '7';
		assert_int_equal(remote(f, by(i == 0 ? NULL : i == 5 ? join : bad), "GET", "/v1/whoami", NULL), 401);
		says(f, sentence);
	}
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 200);
	says(f, "\"user\":\"daemon\",\"uid\":1,\"role\":\"user\"");
	says(f, "\"by\":\"token\"");
}

/* After 20 wrong ones in a minute the answer is another; a right one is still accepted. */
static void guesses_are_counted(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE];

	token_made(f, USER, "{\"kind\":\"login\"}", token);
	for (int i = 0; i < 20; i++)
		assert_int_equal(remote(f, by("u1.x.y"), "GET", "/v1/whoami", NULL), 401);
	assert_int_equal(remote(f, by("u1.x.y"), "GET", "/v1/whoami", NULL), 429);
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 200);
	pass(f, 59);
	assert_int_equal(remote(f, by("u1.x.y"), "GET", "/v1/whoami", NULL), 429);
	pass(f, 1);
	assert_int_equal(remote(f, by("u1.x.y"), "GET", "/v1/whoami", NULL), 401);
}

/* The list of guessers is bounded: the first of them is forgotten. */
static void guessers_are_bounded(void **state)
{
	enum { KEPT = 1024 };
	struct site *f = *state;

	for (int i = 1; i <= 20; i++) {
		assert_false(failures_many(f->s, 1));
		assert_int_equal(failures_add(f->s, 1), i);
	}
	assert_true(failures_many(f->s, 1));
	assert_false(failures_many(f->s, 2));
	assert_int_equal(tokens_of(f->s)->failures.n, 1); /* to ask adds nobody */
	pass(f, 1);
	for (uint64_t from = 2; from <= KEPT; from++)
		assert_int_equal(failures_add(f->s, from), 1);
	assert_true(failures_many(f->s, 1));
	assert_int_equal(failures_add(f->s, KEPT + 1), 1);
	assert_int_equal(tokens_of(f->s)->failures.n, KEPT);
	assert_false(failures_many(f->s, 1));
	assert_int_equal(failures_add(f->s, 2), 2);
	pass(f, 59);
	assert_int_equal(failures_add(f->s, 2), 3);
	pass(f, 1);
	assert_int_equal(failures_add(f->s, 2), 1);
}

/* How a token is shown, and what the list says of its use. */
static void tokens_are_shown(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE], head[TOKEN_SIZE + 16];
	static const struct {
		const char *before;
		int status;
	} ways[] = {{"Bearer ", 200}, {"bearer    ", 200}, {"Bearer", 401}, {"Basic ", 401}, {"", 401}};

	token_made(f, USER, "{\"kind\":\"login\"}", token);
	assert_int_equal(site_ask(f, USER, "GET", "/v1/tokens", NULL), 200);
	says(f, "\"uses\":null,\"used\":null");
	pass(f, 7);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		snprintf(head, sizeof head, "%s%s", ways[i].before, token);
		assert_int_equal(
			remote(f, (struct bare_client){.header = {{"Authorization", head}}}, "GET", "/v1/whoami", NULL),
			ways[i].status);
	}
	assert_int_equal(site_ask(f, USER, "GET", "/v1/tokens", NULL), 200);
	says(f, "\"created\":1800000000,");
	says(f, "\"used\":1800000007");
	token_made(f, getuid(), "{\"kind\":\"join\",\"uses\":3,\"name\":\"n9\"}", token);
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/tokens", NULL), 200);
	says(f, "\"name\":\"n9\",");
	says(f, "\"uses\":3,");
}

static void tokens_end(void **state)
{
	struct site *f = *state;
	char first[TOKEN_SIZE], second[TOKEN_SIZE];

	token_made(f, USER, "{\"kind\":\"login\",\"label\":\"laptop\"}", first);
	token_made(f, USER, "{\"kind\":\"login\",\"expires\":100}", second);
	pass(f, 10);
	assert_int_equal(remote(f, by(first), "GET", "/v1/whoami", NULL), 200);
	again(f);
	pass(f, 89);
	assert_int_equal(remote(f, by(second), "GET", "/v1/whoami", NULL), 200);
	pass(f, 1);
	assert_int_equal(remote(f, by(second), "GET", "/v1/whoami", NULL), 401);
	assert_int_equal(remote(f, by(first), "GET", "/v1/tokens", NULL), 200);
	says(f, "{\"tokens\":[{\"id\":\"u1\",\"kind\":\"login\",\"user\":\"daemon\",\"label\":\"laptop\"");
	assert_null(strstr(f->a.body.text, "\"u2\""));
	assert_int_equal(site_ask(f, OTHER, "GET", "/v1/tokens", NULL), 200);
	says(f, "{\"tokens\":[]}");
	assert_int_equal(site_ask(f, OTHER, "DELETE", "/v1/tokens/u1", NULL), 404);
	assert_int_equal(remote(f, by(first), "DELETE", "/v1/tokens/u1", NULL), 200);
	assert_int_equal(remote(f, by(first), "GET", "/v1/whoami", NULL), 401);
	again(f);
	assert_int_equal(remote(f, by(first), "GET", "/v1/whoami", NULL), 401);
	token_made(f, USER, "{\"kind\":\"login\"}", second);
	says(f, "\"id\":\"u3\""); /* numbers are not used again */
}

/* A user whose name the number no longer has is not let in. */
static void names_are_compared(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE];

	token_made(f, USER, "{\"kind\":\"login\"}", token);
	struct token_record *t = token_find(f->s, "u1");
	free(t->user);
	t->user = mem_strdup("predecessor");
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 401);
}

/* Full lists lose what has expired first, at once if need be. */
static void tokens_are_limited(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE];

	for (int i = 0; i < TOKENS_PER_USER; i++)
		token_made(f, USER, i ? "{\"kind\":\"login\"}" : "{\"kind\":\"login\",\"expires\":100}", token);
	refused(f, USER, "{\"kind\":\"login\"}", 409, "There are 200 tokens already");
	token_made(f, OTHER, "{\"kind\":\"login\"}", token);
	pass(f, 100);
	token_made(f, USER, "{\"kind\":\"login\"}", token);
	assert_null(token_find(f->s, "u1"));
	assert_non_null(token_find(f->s, "u2"));
}

static void seals(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE], seal[64];
	const char *user;
	uid_t uid;

	token_made(f, USER, "{\"kind\":\"login\",\"expires\":100}", token);
	secret_mac(token_find(f->s, "u1")->hash, "text", seal);
	assert_true(token_sealed(f->s, "u1", "text", seal, NOW + 99, &uid, &user));
	assert_int_equal(uid, USER);
	assert_string_equal(user, "daemon");
	assert_false(token_sealed(f->s, "u1", "text", seal, NOW + 100, &uid, &user));
	assert_false(token_sealed(f->s, "u1", "tex", seal, NOW, &uid, &user));
	assert_false(token_sealed(f->s, "u2", "text", seal, NOW, &uid, &user));
	seal[0] ^= 1;
	assert_false(token_sealed(f->s, "u1", "text", seal, NOW, &uid, &user));
	token_made(f, getuid(), "{\"kind\":\"join\"}", token);
	secret_mac(token_find(f->s, "j2")->hash, "text", seal);
	assert_false(token_sealed(f->s, "j2", "text", seal, NOW, &uid, &user)); /* not a user's */
}

/* A job's own token lives as long as its attempt, and gives no more than a user's role. */
static void tokens_of_jobs(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;
	char token[TOKEN_SIZE], tag[64];
	struct asker w;

	site_set(f, "managers", "daemon");
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", "{\"script\":\"true\"}"), 201);
	server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	token_of_job(f->s, tag, token);
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 200);
	says(f, "\"user\":\"daemon\",\"uid\":1,\"role\":\"user\"");
	says(f, "\"by\":\"job\"");
	assert_int_equal(remote(f, by(token), "GET", "/v1/tokens", NULL), 403);
	assert_int_equal(remote(f, by(token), "POST", "/v1/tokens", "{\"kind\":\"join\"}"), 403);
	w = (struct asker){.by = BY_JOB};
	snprintf(w.token, sizeof w.token, "a%.60s", tag);
	assert_true(token_holds(f->s, &w));
	assert_int_equal(site_ask(f, USER, "DELETE", "/v1/jobs/1", "{\"purge\":true}"), 200);
	bare_forget(tag);
	pass(f, 1);
	assert_false(token_holds(f->s, &w));
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 401);
}

/* A standby vouches for a user of its machine, for a day. */
static void passes(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE];
	struct asker w = {.by = BY_TOKEN};

	assert_int_equal(site_ask(f, USER, "GET", "/v1/whoami", NULL), 200); /* the user is known */
	assert_true(token_pass(f->s, USER, token));
	snprintf(w.token, sizeof w.token, "%.*s", (int)strcspn(token, "."), token);
	again(f); /* another server with the same secret */
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 200);
	says(f, "\"user\":\"daemon\"");
	token[strcspn(token, "-") + 1] = '2'; /* another user */
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 401);
	token[strcspn(token, "-") + 1] = '1';
	pass(f, 86399);
	assert_true(token_holds(f->s, &w));
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 200);
	pass(f, 1);
	assert_false(token_holds(f->s, &w));
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 401);
}

/* Tokens that let another machine join, and another site ask for a user. */
static void tokens_of_machines(void **state)
{
	struct site *f = *state;
	char join[TOKEN_SIZE], site[TOKEN_SIZE];
	struct token_record *t;
	struct asker w;
	struct err err;

	token_made(f, getuid(), "{\"kind\":\"join\",\"uses\":1}", join);
	token_made(f, getuid(), "{\"kind\":\"site\",\"name\":\"east\"}", site);
	assert_int_equal(token_check_join(f->s, site, "192.0.2.7", &t, &err), -EACCES);
	assert_int_equal(token_check_join(f->s, "nonsense", "192.0.2.7", &t, &err), -EACCES);
	assert_int_equal(token_check_join(f->s, join, "192.0.2.7", &t, &err), 0);
	t->uses = 0; /* it was used up */
	assert_int_equal(token_check_join(f->s, join, "192.0.2.7", &t, &err), -EACCES);
	assert_string_equal(token_site(f->s, site), "east");
	assert_null(token_site(f->s, join));
	assert_int_equal(site_ask(f, OTHER, "GET", "/v1/whoami", NULL), 200); /* users are known */
	assert_int_equal(token_check_site(f->s, join, "bin", "192.0.2.7", &w, &err), -EACCES);
	assert_true(token_check_site(f->s, site, NULL, "192.0.2.7", &w, &err) < 0);
	assert_non_null(strstr(err.text, "does not exist here: site east cannot ask on their behalf"));
	static const char *const users[] = {"root", "no-such-user", "bin"};
	for (int i = 0; i < 3; i++) {
		struct bare_answer a = {0};
		assert_int_equal(bare_visit(f->s, site, users[i], "/v1/jobs", "\"k\"",
					    "{\"script\":\"true\",\"hold\":\"u\"}", &a),
				 i < 2 ? 403 : 201);
		strbuf_fini(&a.body);
	}
}

/* What can't be restored is refused with a reason, and leaves what there was. */
static void damaged_records(void **state)
{
	static const char sixty[] = "0123456789012345678901234567890123456789012345678901234567890123";
	static const struct {
		const char *id, *hash, *kind, *text;
	} rows[] = {
		{"u7", sixty + 1, "login", "hash must have 64 digits"},
		{"j7", sixty, "login", "its kind is not that of its name"},
		{"u7x", sixty, "login", "its kind is not that of its name"},
		{"", sixty, "login", "its kind is not that of its name"},
		{"u7", sixty, "nosuch", "kind"},
	};
	struct site *f = *state;
	struct err err;
	json_t *o;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		o = json_pack("{s:s,s:s,s:i,s:s,s:i,s:i}", "kind", rows[i].kind, "hash", rows[i].hash, "uid", 1, "user",
			      "daemon", "created", 1, "expires", 2);
		assert_true(token_restore(f->s, rows[i].id, o, &err) < 0);
		if (!strstr(err.text, rows[i].text))
			fail_msg("%s: %s", rows[i].id, err.text);
		json_decref(o);
	}
	assert_null(token_find(f->s, "u7"));
	o = json_pack("{s:s,s:s,s:i,s:s,s:i}", "cookie", sixty, "token", sixty, "uid", 1, "user", "daemon", "expires",
		      2);
	assert_int_equal(session_restore(f->s, "7", o, &err), -EINVAL);
	assert_string_equal(err.text, "its name must be w and a number");
	json_object_del(o, "uid");
	assert_true(session_restore(f->s, "w7", o, &err) < 0);
	assert_false(session_holds(f->s, "w7"));
	json_decref(o);
}

/* ---- sessions ---- */

struct browser {
	char cookie[128], session[SESSION_SECRET];
};

static struct bare_client shown(const struct browser *b)
{
	return (struct bare_client){.page = true,
				    .header = {{"Host", "localhost:4433"},
					       {"Cookie", b ? b->cookie : NULL},
					       {SESSION_HEADER, b ? b->session : NULL}}};
}

static int sign_in(struct site *f, const char *proof, struct browser *ret)
{
	int status = remote(f, shown(NULL), "POST", "/v1/session", proof);

	if (status == 201) {
		member(f, "token", ret->session, sizeof ret->session);
		snprintf(ret->cookie, sizeof ret->cookie, "a=b; %.*s", (int)strcspn(f->a.cookie, ";"), f->a.cookie);
	}
	return status;
}

/* Makes a link; writes the body that signs in with it. */
static void link_made(struct site *f, uid_t uid, char ret[128])
{
	char url[400];

	if (site_ask(f, uid, "POST", "/v1/page", "{}") != 201)
		fail_msg("%s", strbuf_text(&f->a.body));
	member(f, "url", url, sizeof url);
	assert_non_null(strstr(url, "#key="));
	snprintf(ret, 128, "{\"key\":\"%s\"}", strstr(url, "#key=") + 5);
}

static int visit(struct site *f, const struct browser *b)
{
	return remote(f, shown(b), "GET", "/v1/whoami", NULL);
}

static void links(void **state)
{
	struct site *f = *state;
	char link[128];
	struct browser b, other, half;

	link_made(f, USER, link);
	assert_int_equal(sign_in(f, link, &b), 201);
	assert_non_null(strstr(f->a.cookie, "shunt-4433="));
	assert_non_null(strstr(f->a.cookie, "; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800"));
	assert_int_equal(sign_in(f, link, &other), 401); /* it works once */
	assert_int_equal(visit(f, &b), 200);
	says(f, "\"user\":\"daemon\"");
	says(f, "\"by\":\"page\"");
	link_made(f, OTHER, link);
	assert_int_equal(sign_in(f, link, &other), 201);
	half = b;
	memcpy(half.cookie, other.cookie, sizeof half.cookie); /* both of one session are needed */
	assert_int_equal(visit(f, &half), 401);
	half = b;
	half.cookie[0] = '\0';
	assert_int_equal(visit(f, &half), 401);
	half = b;
	half.session[0] = '\0';
	assert_int_equal(visit(f, &half), 401);
	assert_int_equal(remote(f, shown(&b), "POST", "/v1/page", "{}"), 403); /* it does not prolong itself */
	again(f);
	assert_int_equal(visit(f, &b), 200);
	assert_int_equal(remote(f, shown(&b), "DELETE", "/v1/session", NULL), 200);
	assert_non_null(strstr(f->a.cookie, "shunt-4433=; "));
	assert_int_equal(visit(f, &b), 401);
	assert_int_equal(visit(f, &other), 200);
	again(f);
	assert_int_equal(visit(f, &b), 401);
	pass(f, SESSION_LIFE - 1);
	assert_int_equal(visit(f, &other), 200);
	pass(f, 1);
	assert_int_equal(visit(f, &other), 401);
	link_made(f, USER, link);
	pass(f, LINK_LIFE);
	assert_int_equal(sign_in(f, link, &b), 401);
}

/* Requests of other pages, and those under another name, are refused. */
static void other_origins(void **state)
{
	static const struct {
		const char *host, *origin, *site;
		int status;
	} rows[] = {
		{"localhost:4433", NULL, NULL, 200},
		{"127.0.0.1:4433", "http://127.0.0.1:4433", "same-origin", 200},
		{"127.0.0.1:4433", "http://127.0.0.1:4434", NULL, 403},
		{"127.0.0.1:4433", "https://127.0.0.1:4433", NULL, 403},
		{"127.0.0.1:4433", NULL, "same-site", 403},
		{"127.0.0.1:4434", NULL, NULL, 403},
		{"page.example.org:4433", NULL, NULL, 403},
		{NULL, NULL, NULL, 403},
	};
	struct site *f = *state;
	struct browser b;
	char link[128];

	link_made(f, USER, link);
	assert_int_equal(sign_in(f, link, &b), 201);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bare_client c = shown(&b);
		c.header[0].value = rows[i].host;
		c.header[3].name = "Origin";
		c.header[3].value = rows[i].origin;
		c.header[4].name = "Sec-Fetch-Site";
		c.header[4].value = rows[i].site;
		assert_int_equal(remote(f, c, "GET", "/v1/whoami", NULL), rows[i].status);
	}
}

static void sessions_are_limited(void **state)
{
	struct site *f = *state;
	struct browser first, second, other, b;
	char link[128];

	link_made(f, OTHER, link);
	assert_int_equal(sign_in(f, link, &other), 201);
	for (int i = 0; i <= SESSIONS_PER_USER; i++) {
		link_made(f, USER, link);
		assert_int_equal(sign_in(f, link, i == 0 ? &first : i == 1 ? &second : &b), 201);
	}
	assert_int_equal(visit(f, &first), 401);
	assert_int_equal(visit(f, &second), 200);
	assert_int_equal(visit(f, &other), 200);
	for (int i = 0; i < 30; i++)
		assert_int_equal(sign_in(f, "{\"key\":\"guess\"}", &b), 401);
	assert_int_equal(sign_in(f, "{\"key\":\"guess\"}", &b), 429);
	link_made(f, USER, link);
	assert_int_equal(sign_in(f, link, &b), 201);
	pass(f, 60);
	assert_int_equal(sign_in(f, "{\"key\":\"guess\"}", &b), 401);
}

/* Over TLS a login token signs in as well, and the session ends with it. */
static void signed_in_by_token(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE], body[TOKEN_SIZE + 40], link[128];
	struct browser b, linked;

	token_made(f, USER, "{\"kind\":\"login\"}", token);
	snprintf(body, sizeof body, "{\"token\":\"%s\"}", token);
	assert_int_equal(sign_in(f, body, &b), 400); /* not in plain text */
	says(f, "Signing in needs key.");
	f->s->realm->page = (struct listener *)&page_here;
	assert_int_equal(sign_in(f, body, &b), 201);
	assert_non_null(strstr(f->a.cookie, "__Host-shunt="));
	assert_non_null(strstr(f->a.cookie, "; Secure"));
	assert_int_equal(visit(f, &b), 200);
	assert_int_equal(remote(f, by(token), "POST", "/v1/page", "{}"), 201);
	member(f, "url", body, sizeof body);
	snprintf(link, sizeof link, "{\"key\":\"%s\"}", strstr(body, "#key=") + 5);
	assert_int_equal(sign_in(f, link, &linked), 201);
	assert_int_equal(visit(f, &linked), 200);
	assert_int_equal(sign_in(f, "{\"token\":\"u1.x.y\"}", &b), 401);
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"x\"}", &b), 503);
	assert_int_equal(site_ask(f, USER, "DELETE", "/v1/tokens/u1", NULL), 200);
	assert_int_equal(visit(f, &b), 401);
	assert_int_equal(visit(f, &linked), 401);
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/page", "{}"), 403); /* root, or the server's account */
	says(f, "can't use the page: it is for users.");
}

/* ---- passwords ---- */

/* Runs as shunt-signin: the password says what PAM answers. */
static void stand_in(void)
{
	struct signin_question q;

	while (recv(SIGNIN_FD, &q, sizeof q, 0) == sizeof q) {
		struct signin_answer a = {.id = q.id, .verdict = SIGNIN_WRONG, .uid = USER};
		if (q.gives_up || strcmp(q.password, "hang") == 0)
			continue;
		if (strcmp(q.password, "die") == 0)
			break;
		if (strcmp(q.password, "right") == 0)
			a.verdict = SIGNIN_RIGHT;
		else if (strcmp(q.password, "old") == 0)
			a.verdict = SIGNIN_EXPIRED;
		else if (strcmp(q.password, "broken") == 0)
			a.verdict = SIGNIN_BROKEN;
		if (strcmp(q.user, "root") == 0)
			a.uid = 0;
		snprintf(a.user, sizeof a.user, "%s", a.uid ? "daemon" : "root");
		snprintf(a.why, sizeof a.why, "from %s", q.address);
		send(SIGNIN_FD, &a, sizeof a, 0);
	}
	_exit(0); /* at once: no search for leaks */
}

static void passwords(void **state)
{
	struct site *f = *state;
	struct browser b;

	if (geteuid() != 0)
		skip_because("shunt-signin runs as root");
	site_program(f, "shunt-signin");
	assert_int_equal(conf_set(f->s->conf, "page.listen", "443", NULL), 0);
	f->s->realm->page = (struct listener *)&page_here;
	signin_start(f->s);
	assert_true(signin_works(f->s));
	site_waits(f);
	assert_int_equal(remote(f, shown(NULL), "GET", "/v1/session", NULL), 200);
	says(f, "\"link\":true,\"token\":true,\"password\":true");
	assert_int_equal(sign_in(f, "{\"user\":\"Daemon\",\"password\":\"right\"}", &b), 201);
	assert_int_equal(visit(f, &b), 200);
	says(f, "\"user\":\"daemon\"");
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"guess\"}", &b), 401);
	says(f, "The name or the password is wrong.");
	assert_int_equal(sign_in(f, "{\"user\":\"root\",\"password\":\"right\"}", &b), 401);
	says(f, "The name or the password is wrong."); /* it does not show that it was right */
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"old\"}", &b), 401);
	says(f, "This password has expired");
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"broken\"}", &b), 503);
	for (int i = 0; i < 16; i++) /* 20 in all */
		assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"guess\"}", &b), 401);
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"right\"}", &b), 429);
	pass(f, 60);
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"right\"}", &b), 201);
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"die\"}", &b), 503);
	assert_false(signin_works(f->s));
	assert_int_equal(sign_in(f, "{\"user\":\"daemon\",\"password\":\"right\"}", &b), 503);
	bare_between = NULL;
}

/* ---- munge ---- */

static bool munge_is_here;

/* Other libraries are the sanitizers' own, which are linked into the program: they look for
 * functions before they can follow instrumented code. */
#if defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef UNINSTRUMENTED
#define UNINSTRUMENTED
#endif

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
UNINSTRUMENTED void *__wrap_dlopen(const char *name, int flags)
{
	if (!name || strcmp(name, "libmunge.so.2") != 0)
		return __real_dlopen(name, flags);
	return munge_is_here ? &munge_is_here : NULL;
}

/* Decodes "UID TEXT"; others are not genuine. */
static int decode(const char *credential, void *context, void **text, int *n, uid_t *uid, gid_t *gid)
{
	char *end;

	*uid = (uid_t)strtoul(credential, &end, 10);
	if (*end != ' ')
		return 1;
	*text = strdup(end + 1);
	*n = (int)strlen(end + 1);
	return 0;
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
UNINSTRUMENTED void *__wrap_dlsym(void *library, const char *name)
{
	if (library != &munge_is_here)
		return __real_dlsym(library, name);
	assert_string_equal(name, "munge_decode");
	return (void *)decode;
}

static int munge(struct site *f, const char *uid, int digits)
{
	char body[200];

	snprintf(body, sizeof body, "{\"munge\":\"%sshunt:%.*s\",\"expires\":100}", uid, digits,
		 f->s->realm->authority.fingerprint);
	return remote(f, (struct bare_client){0}, "POST", "/v1/login", body);
}

static void munged(void **state)
{
	struct site *f = *state;
	char token[TOKEN_SIZE];

	assert_int_equal(munge(f, "1 ", 32), 403); /* not unless the configuration says so */
	f->s->conf->munge = true;
	site_waits(f);
	assert_int_equal(munge(f, "1 ", 32), 503);
	says(f, "libmunge.so.2 is not there");
	munge_is_here = true;
	assert_int_equal(munge(f, "1 ", 32), 201);
	says(f, "\"expires\":1800000100");
	member(f, "token", token, sizeof token);
	assert_int_equal(munge(f, "1", 32), 401);
	says(f, "munge does not confirm this credential for this cluster.");
	assert_int_equal(munge(f, "1 ", 31), 401); /* for another service, or another cluster */
	assert_int_equal(munge(f, "1 ", 33), 401);
	assert_int_equal(munge(f, "0 ", 32), 403);
	assert_int_equal(munge(f, "3999999999 ", 32), 403);
	says(f, "has no account on the server's machine");
	for (int i = 3; i < 20; i++)
		assert_int_equal(munge(f, "1", 32), 401);
	assert_int_equal(munge(f, "1", 32), 429);
	bare_between = NULL;
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 200);
	says(f, "\"user\":\"daemon\"");
	pass(f, 100);
	assert_int_equal(remote(f, by(token), "GET", "/v1/whoami", NULL), 401);
}

/* ---- removed nodes ---- */

static void json_is(json_t *o, const char *text)
{
	char *found = o ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS) : strdup("-");

	assert_string_equal(found, text);
	free(found);
	json_decref(o);
}

static void removed_nodes(void **state)
{
	struct site *f = *state;

	json_is(revoked_news(f->s), "-");
	node_revoke(f->s, "n8", 0, 0); /* it never joined */
	node_revoke(f->s, "n9", 3, NOW + 100);
	node_revoke(f->s, "n9", 2, NOW + 100); /* an earlier join is removed already */
	node_revoke(f->s, "n7", 5, 0);
	json_is(revoked_news(f->s), "{\"n7\":5,\"n9\":3}");
	json_is(revoked_news(f->s), "-"); /* once */
	node_revoke(f->s, "n9", 4, NOW + 200);
	json_is(revoked_news(f->s), "{\"n9\":4}");
	again(f);
	json_is(revoked_json(f->s), "{\"n7\":5,\"n9\":4}");
	pass(f, 200 + 30 * 86400); /* the certificate has expired a month ago, by any clock */
	again(f);
	json_is(revoked_json(f->s), "{\"n7\":5,\"n9\":4}");
	pass(f, 1);
	again(f);
	json_is(revoked_json(f->s), "{\"n7\":5}");
	pass(f, 365 * 86400);
	again(f);
	json_is(revoked_json(f->s), "{}");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, site_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(who_gets_tokens),
		TEST(wrong_tokens),
		TEST(guesses_are_counted),
		TEST(guessers_are_bounded),
		TEST(tokens_are_shown),
		TEST(tokens_end),
		TEST(names_are_compared),
		TEST(tokens_are_limited),
		TEST(seals),
		TEST(tokens_of_jobs),
		TEST(passes),
		TEST(tokens_of_machines),
		TEST(damaged_records),
		TEST(links),
		TEST(other_origins),
		TEST(sessions_are_limited),
		TEST(signed_in_by_token),
		TEST(passwords),
		TEST(munged),
		TEST(removed_nodes),
	};

	if (strcmp(strrchr(argv[0], '/') ? strrchr(argv[0], '/') : "", "/shunt-signin") == 0)
		stand_in();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
