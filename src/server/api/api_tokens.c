/*
 * api_tokens.c - the API's side of tokens: making, listing and revoking them; joining; logging in; who one is.
 *
 * A login token is made by the local socket only: what another machine was given can't be made into more of it. A token's secret is in the one
 * answer that makes it, and nowhere else.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "net/http.h"
#include "rules/attr.h"
#include "server/api/api.h"
#include "server/api/attributes.h"
#include "server/api/call.h"
#include "server/api/request.h"
#include "server/api/schemas.h"
#include "server/api/view_share.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/users.h"
#include "server/book/audit.h"
#include "server/life/lives.h"
#include "server/link/claims.h"
#include "server/link/nodes.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "station/owner.h"
#include "tls/pki.h"

/* A number of the body, which the table allows. */
static int64_t number_of(const json_t *body, const char *key, int64_t otherwise)
{
	const json_t *v = json_object_get(body, key);

	return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

static const char *text_of(const json_t *body, const char *key)
{
	return json_string_value(json_object_get(body, key));
}

static size_t login_count(const struct tokens *all, uid_t uid)
{
	size_t own = 0;

	for (size_t i = 0; i < all->list.n; i++)
		own += all->list.v[i].kind == TOKEN_LOGIN && all->list.v[i].uid == uid;
	return own;
}

static bool room_check(struct server *s, struct http_request *r, enum token_kind kind, uid_t uid)
{
	const struct tokens *all = tokens_of(s);
	size_t own = 0;

	for (int64_t since = EXPIRED_KEPT; since >= 0; since -= EXPIRED_KEPT) {
		tokens_expire(s, since);
		own = login_count(all, uid);
		if (all->list.n < TOKENS_MAX && (kind != TOKEN_LOGIN || own < TOKENS_PER_USER))
			return true;
	}
	http_error(r, CODE_BAD_STATE, "There are %zu tokens already: revoke some ('shunt token list').",
		   kind != TOKEN_LOGIN || own < TOKENS_PER_USER ? all->list.n : own);
	return false;
}

static const struct field new_token_fields[] = {
	{"id", .is = REQUIRED | IS_TEXT},
	{"kind", .is = REQUIRED | IS_TEXT, .words = "join|login|site"},
	{"token", .is = REQUIRED | IS_TEXT, "ID.SECRET.FINGERPRINT"},
	{"server", .is = REQUIRED | IS_TEXT | IS_NULL, "what to call it from other machines"},
	{"expires", .is = REQUIRED | IS_INSTANT},
	{"fingerprint", .is = REQUIRED | IS_TEXT},
	{"user", .is = REQUIRED | IS_TEXT | IS_NULL},
	{0},
};
const struct schema new_token_answer = {"NewToken", .fields = new_token_fields};

/* The one answer that shows a secret. */
static void token_reply(struct server *s, struct http_request *r, const struct token_record *t, const char *text)
{
	const char *address = realm_address(s);
	struct strbuf out = {0};
	struct json j;
	char id[32];

	token_id(t, id);
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "id", id);
	json_text(&j, "kind", token_kind_name(t->kind));
	json_text(&j, "token", text);
	json_text(&j, "server", *address ? address : NULL);
	json_int(&j, "expires", t->expires);
	json_text(&j, "fingerprint", s->realm->authority.fingerprint);
	json_text(&j, "user", t->user);
	json_close_object(&j);
	http_header(r, "Cache-Control", "no-store");
	reply_later(s, r, 201, &out);
}

/* ---- making ---- */

/* w NULL: nobody asked for it but its owner. */
static void made_record(struct server *s, const struct asker *w, const struct token_record *t)
{
	struct strbuf undo = {0}, change = {0};
	char id[32];

	if (!w)
		return;
	token_id(t, id);
	strbuf_printf(&undo, "shunt token revoke %s", id);
	if (t->kind == TOKEN_LOGIN)
		strbuf_printf(&change, "login of %s", t->user);
	else if (t->kind == TOKEN_SITE)
		strbuf_printf(&change, "lets site %s hand jobs over", t->name);
	else
		strbuf_printf(&change, "lets %s join", t->name ? t->name : "nodes");
	audit_record(s, w, "token", id, "created", change.text, undo.text);
	strbuf_fini(&undo);
	strbuf_fini(&change);
}

static void join_make(struct server *s, struct http_request *r, const struct asker *w, const json_t *body)
{
	struct token_record t = {.kind = TOKEN_JOIN, .uses = number_of(body, "uses", 1)};
	const char *name = text_of(body, "name"), *label = text_of(body, "label");
	int64_t life = number_of(body, "expires", JOIN_LIFE);
	const struct token_record *made;
	char text[TOKEN_SIZE];

	if (w->role < ROLE_MANAGER) {
		http_error(r, CODE_FORBIDDEN, "Only managers let nodes join.");
		return;
	}
	if (life > JOIN_LIFE_MAX) {
		http_error(r, CODE_BAD_REQUEST, "expires must be a whole number from 1 to %d.", JOIN_LIFE_MAX);
		return;
	}
	if (!room_check(s, r, TOKEN_JOIN, 0))
		return;
	if (name && !conf_node_name_good(name)) {
		http_error(
			r, CODE_BAD_REQUEST,
			"name must be a node's: up to 63 letters, digits, '.', '-' and '_', with a letter or digit first.");
		return;
	}
	t.expires = s->clock->now + life;
	t.user = mem_strdup(w->user);
	t.name = name ? mem_strdup(name) : NULL;
	t.label = label ? mem_strdup(label) : NULL;
	made = token_add(s, &t, text);
	made_record(s, w, made);
	token_reply(s, r, made, text);
}

static void site_make(struct server *s, struct http_request *r, const struct asker *w, const json_t *body)
{
	struct token_record t = {.kind = TOKEN_SITE};
	const char *name = text_of(body, "name"), *label = text_of(body, "label");
	const struct token_record *made;
	char text[TOKEN_SIZE];

	if (w->role < ROLE_MANAGER || w->by != BY_SOCKET) {
		http_error(r, CODE_FORBIDDEN,
			   "Only managers, on the server's machine (%s), let another site hand jobs over.",
			   s->instance->host);
		return;
	}
	if (!name || !*name || !name_is_good(name)) {
		http_error(r, CODE_BAD_REQUEST, "name must be the site's: up to 64 letters, digits, '.', '-' and '_'.");
		return;
	}
	if (!room_check(s, r, TOKEN_SITE, 0))
		return;
	t.expires = s->clock->now + number_of(body, "expires", SITE_LIFE);
	t.user = mem_strdup(w->user);
	t.name = mem_strdup(name);
	t.label = label ? mem_strdup(label) : NULL;
	made = token_add(s, &t, text);
	made_record(s, w, made);
	token_reply(s, r, made, text);
}

void token_reply_login(struct server *s, struct http_request *r, const struct asker *w, uid_t uid, const char *user,
		       const char *label, int64_t life)
{
	const struct token_record *made;
	struct token_record t = {.kind = TOKEN_LOGIN, .uid = uid, .expires = s->clock->now + life};
	char text[TOKEN_SIZE];

	if (!room_check(s, r, TOKEN_LOGIN, uid))
		return;
	t.user = mem_strdup(user);
	t.label = label ? mem_strdup(label) : NULL;
	made = token_add(s, &t, text);
	made_record(s, w, made);
	token_reply(s, r, made, text);
}

/* Another user, whom a token is for. False: an answer was made, or will be when he has been looked up. */
static bool other_find(struct server *s, struct http_request *r, const struct asker *w, const char *user, uid_t *ret)
{
	struct user_key k = {USER_BY_NAME, 0, user};
	const struct user *u;
	struct err err;

	if (w->role < ROLE_MANAGER) {
		http_error(r, CODE_FORBIDDEN, "A token for %s can be made by managers and by that user only.", user);
		return false;
	}
	switch (users_find(s, k, &u, &err)) {
	case LOOKUP_KNOWN:
		*ret = u->uid;
		return true;
	case LOOKUP_NONE:
		http_error(r, CODE_BAD_REQUEST, "There is no user %s on this machine.", user);
		break;
	case LOOKUP_PENDING:
		request_await(s, r, k);
		break;
	case LOOKUP_FAILED:
		refuse_lookup(r, &err);
		break;
	}
	return false;
}

static void login_make(struct server *s, struct http_request *r, const struct asker *w, const json_t *body)
{
	const char *user = text_of(body, "user"), *label = text_of(body, "label");
	int64_t life = number_of(body, "expires", LOGIN_LIFE);
	uid_t uid = w->uid;
	struct err err;

	if (w->by != BY_SOCKET) {
		http_error(r, CODE_FORBIDDEN, "Login tokens are made on the server's machine (%s) only.",
			   s->instance->host);
		return;
	}
	if (user && strcmp(user, w->user) != 0 && !other_find(s, r, w, user, &uid))
		return;
	if (token_user_check(s, uid, user ? user : w->user, &err) < 0)
		api_refuse(r, &err);
	else
		token_reply_login(s, r, w, uid, user ? user : w->user, label, life);
}

static bool job_refused(const struct call *c)
{
	if (c->w->by == BY_JOB)
		http_error(c->r, CODE_FORBIDDEN, "A job's own token does not manage tokens.");
	return c->w->by == BY_JOB;
}

void api_token_create(struct server *s, const struct call *c)
{
	if (job_refused(c))
		return;
	if (!*realm_address(s))
		http_error(
			c->r, CODE_BAD_STATE,
			"No port is open for other machines: set listen = 7722 in section [cluster] of %s, and restart.",
			s->instance->where.conf);
	else if (strcmp(text_of(c->body, "kind"), "join") == 0)
		join_make(s, c->r, c->w, c->body);
	else if (strcmp(text_of(c->body, "kind"), "site") == 0)
		site_make(s, c->r, c->w, c->body);
	else
		login_make(s, c->r, c->w, c->body);
}

/* ---- listing, revoking ---- */

static bool may_manage(const struct asker *w, const struct token_record *t)
{
	return w->role == ROLE_MANAGER || (t->kind == TOKEN_LOGIN && t->uid == w->uid);
}

static const struct field token_fields[] = {
	{"id", .is = REQUIRED | IS_TEXT},
	{"kind", .is = REQUIRED | IS_TEXT, .words = "join|login|site"},
	{"user", .is = REQUIRED | IS_TEXT | IS_NULL, "whose login it is; who made the join token"},
	{"label", .is = REQUIRED | IS_TEXT | IS_NULL},
	{"name", .is = REQUIRED | IS_TEXT | IS_NULL, "the only node that a join is for; of a site, what it is called"},
	{"created", .is = REQUIRED | IS_INSTANT},
	{"expires", .is = REQUIRED | IS_INSTANT},
	{"uses", .is = REQUIRED | IS_INT | IS_NULL, "of a join token: how many are left"},
	{"used", .is = REQUIRED | IS_INSTANT | IS_NULL},
	{0},
};
static const struct schema token_row = {"Token", .fields = token_fields};
static const struct field tokens_fields[] = {
	{"tokens", .is = REQUIRED | IS_LIST, .of = &token_row, .item = IS_OBJECT},
	{0},
};
const struct schema tokens_answer = {.fields = tokens_fields};

void api_tokens(struct server *s, const struct call *c)
{
	const struct tokens *all = tokens_of(s);
	struct strbuf out = {0};
	struct json j;
	char id[32];

	if (job_refused(c))
		return;
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "tokens");
	for (size_t i = 0; i < all->list.n; i++) {
		const struct token_record *t = &all->list.v[i];
		if (!may_manage(c->w, t) || t->expires <= s->clock->now)
			continue;
		token_id(t, id);
		json_open_object(&j, NULL);
		json_text(&j, "id", id);
		json_text(&j, "kind", token_kind_name(t->kind));
		json_text(&j, "user", t->user);
		json_text(&j, "label", t->label);
		json_text(&j, "name", t->name);
		json_int(&j, "created", t->created);
		json_int(&j, "expires", t->expires);
		if (t->kind == TOKEN_JOIN)
			json_int(&j, "uses", t->uses);
		else
			json_text(&j, "uses", NULL);
		if (t->used)
			json_int(&j, "used", t->used);
		else
			json_text(&j, "used", NULL);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

void api_token_revoke(struct server *s, const struct call *c)
{
	struct token_record *t = token_find(s, c->name);
	struct strbuf out = {0};

	if (job_refused(c))
		return;
	if (!t || !may_manage(c->w, t)) {
		http_error(c->r, CODE_NOT_FOUND, "There is no token %.60s ('shunt token list' shows yours).", c->name);
		return;
	}
	audit_record(s, c->w, "token", c->name, "revoked", NULL, NULL);
	token_drop(s, t);
	strbuf_puts(&out, "{}");
	reply_later(s, c->r, 200, &out);
}

/* ---- without an asker: over TLS, from anyone ---- */

/* The name of the newcomer; NULL: an answer was made. */
static const char *join_name(struct http_request *r, const json_t *body, const struct token_record *t)
{
	const char *name = text_of(body, "name");

	if (!name)
		name = t->name ? t->name : "";
	if (!conf_node_name_good(name))
		http_error(
			r, CODE_BAD_REQUEST,
			"The node's name must be of up to 63 letters, digits, '.', '-' and '_', with a letter or digit first: "
			"join with --name NAME.");
	else if (t->name && strcmp(t->name, name) != 0)
		http_error(r, CODE_FORBIDDEN, "This token is for another node than %s.", name);
	else
		return name;
	return NULL;
}

/* The number of the join that this node has already, if it can show its certificate of then and sign with that key: what its jobs were given goes
 * on to count. Else 0. */
static uint64_t join_before(struct server *s, const json_t *body, const char *name, const char *csr)
{
	const char *cert = json_string_value(json_object_get(body, "before")),
		   *proof = json_string_value(json_object_get(body, "proof"));
	struct cert_names who;
	uint32_t node;

	if (!cert || !proof || pki_issued(s->realm->authority.cert, cert, NULL) < 0 ||
	    pki_verify(cert, csr, strlen(csr), proof, strlen(proof), NULL) < 0 || pki_names(cert, &who, NULL) < 0 ||
	    who.role != CERT_NODE || strcmp(who.name, name) != 0 || !names_find(&s->cluster->node_names, name, &node) ||
	    !node_joined(&s->hosts->nodes.v[node].life) || s->hosts->nodes.v[node].join != who.join)
		return 0;
	return who.join;
}

static const struct field joined_fields[] = {
	{"certificate", .is = REQUIRED | IS_TEXT, "PEM"},
	{"ca", .is = REQUIRED | IS_TEXT, "PEM"},
	{"name", .is = REQUIRED | IS_TEXT},
	{"servers", .is = REQUIRED | IS_LIST, .item = IS_TEXT},
	{0},
};
const struct schema joined_answer = {.fields = joined_fields};

static void join_reply(struct server *s, struct http_request *r, const char *name, const char *cert)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "certificate", cert);
	json_text(&j, "ca", s->realm->authority.cert);
	json_text(&j, "name", name);
	realm_servers(s, &j, "servers");
	json_close_object(&j);
	reply_later(s, r, 200, &out);
}

/* Jobs there end so long before its end that the slowest has ended by then. */
static int64_t leaves_at(const struct server *s, int64_t end)
{
	return end - attrs_number(s->attrs, "kill_delay") - LEAVES_EARLY;
}

static int leaves_check(const struct server *s, int64_t end, struct err *err)
{
	if (end && leaves_at(s, end) <= s->clock->now)
		return err_code(err, CODE_BAD_STATE, "the machine leaves in %lld s, which is too soon for any job",
				(long long)(end - s->clock->now));
	return 0;
}

static void leaves_set(struct server *s, const char *name, int64_t end, const char *by)
{
	uint32_t node;

	if (!end || !names_find(&s->cluster->node_names, name, &node))
		return;
	node_maybe(s, node, NODE_DRAIN,
		   &(struct cause){.who = by, .at = leaves_at(s, end), .reason = "the machine is here for a time"});
	world_node_gate(s, node);
}

/* Checked before the node is made; without one, a node that joins again stays what it was. */
static int policy_check(const char *policy, struct err *err)
{
	return policy ? owner_rules_parse(policy, &(struct owner_rules){0}, err) : 0;
}

static void policy_set(struct server *s, const char *name, const char *policy)
{
	uint32_t node;

	if (!policy || !names_find(&s->cluster->node_names, name, &node))
		return;
	claim_policy(s, node, policy, NULL);
	world_node_store(s, node);
}

/* The use is counted in the turn that makes the node, and its answer leaves after their commit. */
void api_join(struct server *s, const struct call *c)
{
	const char *token = text_of(c->body, "token"), *csr = text_of(c->body, "csr"), *name;
	struct token_record *t;
	struct strbuf cert = {0};
	struct err err;
	uint64_t number;
	char by[96];
	int rc = token_check_join(s, token ? token : "", request_remote(c->r), &t, &err);

	if (rc < 0) {
		api_refuse(c->r, &err);
		return;
	}
	if (schema_check(&join_known, c->body, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	name = join_name(c->r, c->body, t);
	if (!name)
		return;
	/* Once for nothing: after this only the number is another, so that no node is made for a bad request. */
	rc = realm_certify(s, csr, strlen(csr), name, 0, &cert, &err);
	if (rc < 0) {
		http_error(c->r, CODE_BAD_REQUEST, "The request for a certificate: %s.", err.text);
		strbuf_fini(&cert);
		return;
	}
	strbuf_clear(&cert);
	snprintf(by, sizeof by, "token j%llu of %.60s", (unsigned long long)t->number, t->user ? t->user : "?");
	number = join_before(s, c->body, name, csr);
	rc = leaves_check(s, number_of(c->body, "leaves", 0), &err);
	if (rc == 0)
		rc = policy_check(text_of(c->body, "workstation"), &err);
	if (rc == 0)
		rc = nodes_join(s, name, json_object_get(c->body, "facts"), by, &number, &err);
	if (rc == 0)
		leaves_set(s, name, number_of(c->body, "leaves", 0), by);
	if (rc == 0)
		policy_set(s, name, text_of(c->body, "workstation"));
	if (rc == 0)
		rc = realm_certify(s, csr, strlen(csr), name, number, &cert, &err);
	if (rc < 0) {
		api_refuse(c->r, &err);
	} else {
		t->uses--;
		t->used = s->clock->now;
		token_store(s, t);
		server_say(s, "node %s was let in from %s by token j%llu of %s", name, request_remote(c->r),
			   (unsigned long long)t->number, t->user ? t->user : "?");
		join_reply(s, c->r, name, cert.text);
	}
	strbuf_fini(&cert);
}

void api_login(struct server *s, const struct call *c)
{
	if (!s->conf->munge)
		http_error(
			c->r, CODE_FORBIDDEN,
			"This server takes no munge credentials: log in with a token ('shunt token create --login' on %s).",
			s->instance->host);
	else
		munge_login(s, c->r, text_of(c->body, "munge"), number_of(c->body, "expires", MUNGE_LIFE));
}

static const struct field whoami_fields[] = {
	{"user", .is = REQUIRED | IS_TEXT},
	{"uid", .is = REQUIRED | IS_INT},
	{"role", .is = REQUIRED | IS_TEXT, .words = "user|operator|manager"},
	{"spools", .is = IS_LIST,
	 "of a login token: agents that keep the user's changes, and show the queue, while no server runs",
	 .item = IS_TEXT},
	{"spool_wait", .is = IS_INT,
	 "of a login token: how many seconds commands wait for a server before they use those"},
	{"by", .is = REQUIRED | IS_TEXT, .words = "socket|token|job|site|page"},
	{"home", .is = REQUIRED | IS_TEXT | IS_NULL, "the user's directory on the server's machine"},
	{0},
};
const struct schema whoami_answer = {.fields = whoami_fields};

void api_whoami(struct server *s, const struct call *c)
{
	static const char *const role[] = {"user", "operator", "manager"}, *const by[] = {"socket", "token", "job",
											  "site", "page"};
	const struct token_record *t = c->w->by == BY_TOKEN ? token_find(s, c->w->token) : NULL;
	const struct user *u = user_known(s, c->w->uid);
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "user", c->w->user);
	json_int(&j, "uid", c->w->uid);
	json_text(&j, "role", role[c->w->role]);
	json_text(&j, "by", by[c->w->by]);
	if (t) {
		view_spools(s, t, &j, "spools");
		json_int(&j, "spool_wait", s->conf->offline_wait);
	}
	json_text(&j, "home", u ? u->home : NULL);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}
