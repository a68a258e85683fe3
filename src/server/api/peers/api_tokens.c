/*
 * api_tokens.c - API of tokens: creating, listing and revoking them; joining; logging in; showing
 * the caller's identity.
 *
 * Login tokens are created over the local socket only, so that another machine can't turn its token
 * into more. A token's secret appears only in the answer to the request that creates it.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "net/http.h"
#include "rules/attr.h"
#include "server/api/frame/api.h"
#include "server/api/frame/attributes.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/users.h"
#include "server/book/audit.h"
#include "server/life/world/lives.h"
#include "server/link/claims.h"
#include "server/link/nodes.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/offline/view_share.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "station/owner.h"
#include "tls/pki.h"

/* Argument of the getters of the answers; the first member of each. */
struct subject {
	struct server *s;
	const struct asker *who;
	/* token the client authenticated with; NULL: another method */
	const struct token_record *token;
};

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

struct new_token {
	char id[32];
	enum token_kind kind;
	const char *token, *server, *fingerprint, *user;
	int64_t expires;
};

const struct schema new_token_answer = {
	"NewToken",
	FIELDS({"id", .is = REQUIRED | IS_TEXT, MEMBER_AS(FORM_INLINE, struct new_token, id)},
	       {"kind", .is = REQUIRED | IS_TEXT, .words = TOKEN_KINDS, MEMBER_AS(FORM_CHOICE, struct new_token, kind)},
	       {"token", .is = REQUIRED | IS_TEXT, "ID.SECRET.FINGERPRINT", MEMBER(struct new_token, token)},
	       {"server", .is = REQUIRED | IS_TEXT | IS_NULL, "what to call it from other machines",
		MEMBER(struct new_token, server)},
	       {"expires", .is = REQUIRED | IS_INSTANT, MEMBER(struct new_token, expires)},
	       {"fingerprint", .is = REQUIRED | IS_TEXT, MEMBER(struct new_token, fingerprint)},
	       {"user", .is = REQUIRED | IS_TEXT | IS_NULL, MEMBER(struct new_token, user)})};

/* Sends the one answer that shows a secret. */
static void token_reply(struct server *s, struct http_request *r, const struct token_record *t, const char *text)
{
	struct new_token x = {.kind = t->kind,
			      .token = text,
			      .server = realm_address(s),
			      .expires = t->expires,
			      .fingerprint = s->realm->authority.fingerprint,
			      .user = t->user};

	token_id(t, x.id);
	http_header(r, "Cache-Control", "no-store");
	api_show_later(s, r, 201, &new_token_answer, &x);
}

/* ---- creating ---- */

/* Records the creation of a token in the audit log. w NULL: its owner created it, which is not
 * recorded. */
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

struct token_wish {
	enum token_kind kind;
	int64_t expires, uses;
	const char *name, *user, *label;
};

const struct schema token_body = {FIELDS(
	{"kind", .is = REQUIRED | IS_TEXT, .words = TOKEN_KINDS, MEMBER_AS(FORM_CHOICE, struct token_wish, kind)},
	{"expires", .is = IS_INT | IS_NULL,
	 "seconds from now, of a join at most 30 days; if not given an hour, of a login 30 days, of a site a year",
	 .least = 1, .most = LOGIN_LIFE_MAX, MEMBER(struct token_wish, expires)},
	{"uses", .is = IS_INT | IS_NULL, "how many machines may join", .least = 1, .most = USES_MAX, .otherwise = "1",
	 .missing = 1, MEMBER(struct token_wish, uses)},
	{"name", .is = IS_TEXT | IS_NULL, "the only node that a join is for; what the site is called", .most = 63,
	 MEMBER(struct token_wish, name)},
	{"user", .is = IS_TEXT | IS_NULL, "whose login it is, if not one's own (managers)", .most = 63,
	 MEMBER(struct token_wish, user)},
	{"label", .is = IS_TEXT | IS_NULL, .most = 200, MEMBER(struct token_wish, label)})};

/* Creates a token from `t` and from copies of these texts, which may be NULL, and answers with
 * it. */
static void token_make(struct server *s, struct http_request *r, const struct asker *w, struct token_record *t,
		       const char *user, const struct token_wish *x)
{
	const struct token_record *made;
	char text[TOKEN_SIZE];

	t->user = mem_strdup(user);
	t->name = x->name ? mem_strdup(x->name) : NULL;
	t->label = x->label ? mem_strdup(x->label) : NULL;
	made = token_add(s, t, text);
	made_record(s, w, made);
	token_reply(s, r, made, text);
}

static void join_make(struct server *s, struct http_request *r, const struct asker *w, const struct token_wish *x)
{
	int64_t life = x->expires ? x->expires : JOIN_LIFE;
	struct token_record t = {.kind = TOKEN_JOIN, .uses = x->uses, .expires = s->clock->now + life};

	if (w->role < ROLE_MANAGER)
		http_error(r, CODE_FORBIDDEN, "Only managers let nodes join.");
	else if (life > JOIN_LIFE_MAX)
		http_error(r, CODE_BAD_REQUEST, "expires must be a whole number from 1 to %d.", JOIN_LIFE_MAX);
	else if (!room_check(s, r, TOKEN_JOIN, 0))
		return;
	else if (x->name && !conf_node_name_good(x->name))
		http_error(
			r, CODE_BAD_REQUEST,
			"name must be a node's: up to 63 letters, digits, '.', '-' and '_', with a letter or digit first.");
	else
		token_make(s, r, w, &t, w->user, x);
}

static void site_make(struct server *s, struct http_request *r, const struct asker *w, const struct token_wish *x)
{
	int64_t life = x->expires ? x->expires : SITE_LIFE;
	struct token_record t = {.kind = TOKEN_SITE, .expires = s->clock->now + life};

	if (w->role < ROLE_MANAGER || w->by != BY_SOCKET)
		http_error(r, CODE_FORBIDDEN,
			   "Only managers, on the server's machine (%s), let another site hand jobs over.",
			   s->instance->host);
	else if (!x->name || !*x->name || !name_is_good(x->name))
		http_error(r, CODE_BAD_REQUEST, "name must be the site's: up to 64 letters, digits, '.', '-' and '_'.");
	else if (room_check(s, r, TOKEN_SITE, 0))
		token_make(s, r, w, &t, w->user, x);
}

void token_reply_login(struct server *s, struct http_request *r, const struct asker *w, uid_t uid, const char *user,
		       const char *label, int64_t life)
{
	struct token_record t = {.kind = TOKEN_LOGIN, .uid = uid, .expires = s->clock->now + life};

	if (room_check(s, r, TOKEN_LOGIN, uid))
		token_make(s, r, w, &t, user, &(struct token_wish){.label = label});
}

/* Looks up another user whom a token is for. Returns false if the request was answered, or will be
 * after the lookup. */
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
		http_error(r, CODE_BAD_REQUEST, "User %s does not exist on this machine.", user);
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

static void login_make(struct server *s, struct http_request *r, const struct asker *w, const struct token_wish *x)
{
	const char *user = x->user ? x->user : w->user;
	uid_t uid = w->uid;
	struct err err;

	if (w->by != BY_SOCKET) {
		http_error(r, CODE_FORBIDDEN, "Login tokens are made on the server's machine (%s) only.",
			   s->instance->host);
		return;
	}
	if (strcmp(user, w->user) != 0 && !other_find(s, r, w, user, &uid))
		return;
	if (token_user_check(s, uid, user, &err) < 0)
		api_refuse(r, &err);
	else
		token_reply_login(s, r, w, uid, user, x->label, x->expires ? x->expires : LOGIN_LIFE);
}

static bool job_refused(const struct call *c)
{
	if (c->w->by == BY_JOB)
		http_error(c->r, CODE_FORBIDDEN, "A job's own token does not manage tokens.");
	return c->w->by == BY_JOB;
}

void api_token_create(struct server *s, const struct call *c)
{
	struct token_wish x;

	if (job_refused(c))
		return;
	call_read(c, &x);
	if (!*realm_address(s))
		http_error(
			c->r, CODE_BAD_STATE,
			"No port is open for other machines: set listen = 7722 in section [cluster] of %s, and restart.",
			s->instance->where.conf);
	else if (x.kind == TOKEN_JOIN)
		join_make(s, c->r, c->w, &x);
	else if (x.kind == TOKEN_SITE)
		site_make(s, c->r, c->w, &x);
	else
		login_make(s, c->r, c->w, &x);
}

/* ---- listing and revoking ---- */

static bool may_manage(const struct asker *w, const struct token_record *t)
{
	return w->role == ROLE_MANAGER || (t->kind == TOKEN_LOGIN && t->uid == w->uid);
}

static void tokens_show(const struct subject *x, struct json *j)
{
	const struct tokens *all = tokens_of(x->s);

	for (size_t i = 0; i < all->list.n; i++) {
		const struct token_record *t = &all->list.v[i];
		if (!may_manage(x->who, t) || t->expires <= x->s->clock->now)
			continue;
		schema_show(&token_shown, NULL, t, NULL, j);
	}
}

const struct schema tokens_answer = {
	FIELDS({"tokens", .is = REQUIRED | IS_LIST, .of = &token_shown, .item = IS_OBJECT, .inside = tokens_show})};

void api_tokens(struct server *s, const struct call *c)
{
	if (!job_refused(c))
		api_show(s, c->r, &tokens_answer, &(struct subject){.s = s, .who = c->w});
}

void api_token_revoke(struct server *s, const struct call *c)
{
	struct token_record *t = token_find(s, c->name);

	if (job_refused(c))
		return;
	if (!t || !may_manage(c->w, t)) {
		http_error(c->r, CODE_NOT_FOUND, "There is no token %.60s ('shunt token list' shows yours).", c->name);
		return;
	}
	audit_record(s, c->w, "token", c->name, "revoked", NULL, NULL);
	token_drop(s, t);
	reply_empty(s, c->r, 200);
}

/* ---- unauthenticated requests, over TLS ---- */

struct join {
	const char *token, *csr, *name, *workstation, *before, *proof;
	int64_t leaves;
};

static const struct field join_fields[] = {
	{"token", .is = REQUIRED | IS_TEXT, MEMBER(struct join, token)},
	{"csr", .is = REQUIRED | IS_TEXT, "a request for a certificate, PEM", .most = 16384, MEMBER(struct join, csr)},
	{"name", .is = IS_TEXT | IS_NULL, "of the node; may be left out if the token is for one name", .most = 255,
	 MEMBER(struct join, name)},
	{"facts", .is = REQUIRED | IS_OBJECT, "what docs/protocol.md lists"},
	{"leaves", .is = IS_INSTANT | IS_NULL,
	 "when the machine goes away: the node is drained early enough for its jobs to end by then",
	 MEMBER(struct join, leaves)},
	{"workstation", .is = IS_TEXT | IS_NULL, "the policy for its owner: docs/workstations.md",
	 MEMBER(struct join, workstation)},
	{"before", .is = IS_TEXT | IS_NULL,
	 "the certificate that the node had, PEM, if it joins again: it keeps the number of its join, and with it its jobs' files",
	 MEMBER(struct join, before)},
	{"proof", .is = IS_TEXT | IS_NULL, "the csr signed with the key of that certificate, base64 (docs/protocol.md)",
	 MEMBER(struct join, proof)},
	{0},
};
static const struct schema join_known = {.fields = join_fields, .open = true};
/* checked only once the token is known to be valid */
const struct schema join_body = {.fields = join_fields, .late = true};

/* Returns the name of the new node; NULL: the request was answered. */
static const char *join_name(struct http_request *r, const struct join *x, const struct token_record *t)
{
	const char *name = x->name ? x->name : t->name ? t->name : "";

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

/* Returns the number of the node's existing join, if it presents the certificate of that join and
 * has signed with its key; then what its jobs were given stays valid. Otherwise returns 0. */
static uint64_t join_before(struct server *s, const struct join *x, const char *name)
{
	struct cert_names who;
	uint32_t node;

	if (!x->before || !x->proof || pki_issued(s->realm->authority.cert, x->before, NULL) < 0 ||
	    pki_verify(x->before, x->csr, strlen(x->csr), x->proof, strlen(x->proof), NULL) < 0 ||
	    pki_names(x->before, &who, NULL) < 0 || who.role != CERT_NODE || strcmp(who.name, name) != 0 ||
	    !names_find(&s->cluster->node_names, name, &node) || !node_joined(&s->hosts->nodes.v[node].life) ||
	    s->hosts->nodes.v[node].join != who.join)
		return 0;
	return who.join;
}

struct joined {
	struct subject x;
	const char *certificate, *ca, *name;
};

static void servers_show(const struct subject *x, struct json *j)
{
	realm_servers(x->s, j);
}

const struct schema joined_answer = {
	FIELDS({"certificate", .is = REQUIRED | IS_TEXT, "PEM", MEMBER(struct joined, certificate)},
	       {"ca", .is = REQUIRED | IS_TEXT, "PEM", MEMBER(struct joined, ca)},
	       {"name", .is = REQUIRED | IS_TEXT, MEMBER(struct joined, name)},
	       {"servers", .is = REQUIRED | IS_LIST, .item = IS_TEXT, .inside = servers_show})};

/* Returns when jobs there have to end, early enough that even the slowest has ended when the node
 * leaves. */
static int64_t leaves_at(const struct server *s, int64_t end)
{
	return end - attrs_number(s->attrs, SET_KILL_DELAY) - LEAVES_EARLY;
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

/* Checks the policy before the node is created. Without one, a node that joins again keeps its
 * own. */
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

/* Lets a node join. The use of the token is counted in the same turn, and the answer is sent after
 * their commit. */
void api_join(struct server *s, const struct call *c)
{
	const char *token = json_string_value(json_object_get(c->body, "token")), *name;
	struct token_record *t;
	struct join x;
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
	call_read(c, &x);
	name = join_name(c->r, &x, t);
	if (!name)
		return;
	/* Try the request first, so that a bad one creates no node: later only the number
	 * differs. */
	rc = realm_certify(s, x.csr, strlen(x.csr), name, 0, &cert, &err);
	if (rc < 0) {
		http_error(c->r, CODE_BAD_REQUEST, "The request for a certificate: %s.", err.text);
		strbuf_fini(&cert);
		return;
	}
	strbuf_clear(&cert);
	snprintf(by, sizeof by, "token j%llu of %.60s", (unsigned long long)t->number, t->user ? t->user : "?");
	number = join_before(s, &x, name);
	rc = leaves_check(s, x.leaves, &err);
	if (rc == 0)
		rc = policy_check(x.workstation, &err);
	if (rc == 0)
		rc = nodes_join(s, name, json_object_get(c->body, "facts"), by, &number, &err);
	if (rc == 0)
		leaves_set(s, name, x.leaves, by);
	if (rc == 0)
		policy_set(s, name, x.workstation);
	if (rc == 0)
		rc = realm_certify(s, x.csr, strlen(x.csr), name, number, &cert, &err);
	if (rc < 0) {
		api_refuse(c->r, &err);
	} else {
		t->uses--;
		t->used = s->clock->now;
		token_store(s, t);
		server_log(s, SEVERITY_NOTICE, "admitted node %s from %s by token j%llu of %s", name,
			   request_remote(c->r), (unsigned long long)t->number, t->user ? t->user : "?");
		api_show_later(
			s, c->r, 200, &joined_answer,
			&(struct joined){
				.x = {.s = s}, .certificate = cert.text, .ca = s->realm->authority.cert, .name = name});
	}
	strbuf_fini(&cert);
}

struct login {
	const char *munge;
	int64_t expires;
};

const struct schema login_body = {
	FIELDS({"munge", .is = REQUIRED | IS_TEXT,
		"a credential whose text is `shunt:` and the first 32 digits of the cluster's fingerprint",
		.most = 65536, MEMBER(struct login, munge)},
	       {"expires", .is = IS_INT | IS_NULL, "seconds from now", .least = 1, .most = LOGIN_LIFE_MAX,
		.otherwise = "86400", .missing = MUNGE_LIFE, MEMBER(struct login, expires)})};

void api_login(struct server *s, const struct call *c)
{
	struct login x;

	call_read(c, &x);
	if (!s->conf->munge)
		http_error(
			c->r, CODE_FORBIDDEN,
			"This server takes no munge credentials: log in with a token ('shunt token create --login' on %s).",
			s->instance->host);
	else
		munge_login(s, c->r, x.munge, x.expires);
}

struct whoami {
	struct subject x;
	struct asker who;
	const char *home;
};

static void get_spools(const struct subject *x, struct value *v)
{
	struct json j;

	if (!x->token)
		return;
	v->kind = VALUE_JSON;
	json_init(&j, &v->scratch, false);
	view_spools(x->s, x->token, &j, NULL);
	v->text = v->scratch.text;
}

static void get_spool_wait(const struct subject *x, struct value *v)
{
	v->kind = x->token ? VALUE_INT : VALUE_NULL;
	v->number = x->s->conf->offline_wait;
}

const struct schema whoami_answer = {FIELDS(
	{"user", .is = REQUIRED | IS_TEXT, MEMBER_AS(FORM_INLINE, struct whoami, who.user)},
	{"uid", .is = REQUIRED | IS_INT, MEMBER(struct whoami, who.uid)},
	{"role", .is = REQUIRED | IS_TEXT, .words = "user|operator|manager",
	 MEMBER_AS(FORM_CHOICE, struct whoami, who.role)},
	{"spools", .is = IS_LIST,
	 "of a login token: agents that keep the user's changes, and show the queue, while no server runs",
	 .item = IS_TEXT, .get = get_spools},
	{"spool_wait", .is = IS_INT,
	 "of a login token: how many seconds commands wait for a server before they use those", .get = get_spool_wait},
	{"by", .is = REQUIRED | IS_TEXT, .words = "socket|token|job|site|page",
	 MEMBER_AS(FORM_CHOICE, struct whoami, who.by)},
	{"home", .is = REQUIRED | IS_TEXT | IS_NULL, "the user's directory on the server's machine",
	 MEMBER(struct whoami, home)})};

void api_whoami(struct server *s, const struct call *c)
{
	const struct user *u = user_known(s, c->w->uid);
	struct whoami x = {.x = {.s = s, .token = c->w->by == BY_TOKEN ? token_find(s, c->w->token) : NULL},
			   .who = *c->w,
			   .home = u ? u->home : NULL};

	api_show(s, c->r, &whoami_answer, &x);
}
