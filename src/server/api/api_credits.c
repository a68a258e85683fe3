/*
 * api_credits.c - see api_credits.h.
 */
#include "server/api/api_credits.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "net/http.h"
#include "rules/access.h"
#include "rules/object.h"
#include "server/api/call.h"
#include "server/api/moves.h"
#include "server/api/query.h"
#include "server/api/schemas.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/users.h"
#include "server/book/credits.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/quota.h"

/* ---- what is sent ---- */

static const struct field body_fields[] = {
	{"op", .is = REQUIRED | IS_TEXT, .words = "deposit|withdraw|transfer"},
	{"account", .is = REQUIRED | IS_TEXT, .least = 1, .most = OBJECT_NAME_MAX},
	{"to", .is = IS_TEXT, "the account that a transfer goes to", .least = 1, .most = OBJECT_NAME_MAX},
	{"amount", .is = REQUIRED | IS_INT, "in seconds of the account's unit", .least = 1, .most = CREDIT_MOST},
	{"expires", .is = IS_INSTANT | IS_NULL, "for a deposit: when the rest of it expires"},
	{0},
};
const struct schema credits_body = {.name = "CreditChange", .fields = body_fields};

static const struct field deposit_fields[] = {
	{"id", .is = REQUIRED | IS_INT},
	{"amount", .is = REQUIRED | IS_INT},
	{"left", .is = REQUIRED | IS_INT},
	{"expires", .is = REQUIRED | IS_INSTANT | IS_NULL},
	{0},
};
static const struct schema deposit_schema = {.name = "CreditDeposit", .fields = deposit_fields};

static const struct field account_fields[] = {
	{"account", .is = REQUIRED | IS_TEXT},
	{"unit", .is = REQUIRED | IS_TEXT, .words = CREDIT_UNIT_WORDS},
	{"rate", .is = REQUIRED | IS_INT, "percent of the price"},
	{"balance", .is = REQUIRED | IS_INT, "seconds of the unit, including what jobs hold in escrow"},
	{"escrow", .is = REQUIRED | IS_INT, "held for jobs that run or have a guaranteed place"},
	{"available", .is = REQUIRED | IS_INT},
	{"deposited", .is = REQUIRED | IS_INT, "so far: balance + spent + expired + withdrawn"},
	{"spent", .is = REQUIRED | IS_INT},
	{"expired", .is = REQUIRED | IS_INT},
	{"withdrawn", .is = REQUIRED | IS_INT, "including transfers to other accounts"},
	{"deposits", .is = REQUIRED | IS_LIST, "those not used up, in the order in which they are spent",
	 .of = &deposit_schema, .item = IS_OBJECT},
	{0},
};
static const struct schema account_schema = {.name = "Credits", .fields = account_fields};

static const struct field answer_fields[] = {
	{"accounts", .is = REQUIRED | IS_LIST, .of = &account_schema, .item = IS_OBJECT},
	{0},
};
const struct schema credits_answer = {.fields = answer_fields};

static const struct field line_fields[] = {
	{"seq", .is = REQUIRED | IS_INT},
	{"time", .is = REQUIRED | IS_INSTANT},
	{"cause", .is = REQUIRED | IS_TEXT, .words = "deposit|withdrawal|transfer|job|expired"},
	{"job", .is = REQUIRED | IS_TEXT | IS_NULL},
	{"amount", .is = REQUIRED | IS_INT, "change of the balance"},
	{0},
};
static const struct schema line_schema = {.name = "CreditLine", .fields = line_fields};

static const struct field statement_fields[] = {
	{"account", .is = REQUIRED | IS_TEXT},
	{"month", .is = REQUIRED | IS_INT},
	{"lines", .is = REQUIRED | IS_LIST, .of = &line_schema, .item = IS_OBJECT},
	{0},
};
const struct schema statement_answer = {.fields = statement_fields};

/* ---- who may see what ---- */

/* Operators all of them, users those that they may charge. */
static bool account_seen(struct server *s, const struct call *c, const struct object *x)
{
	const struct user *u = user_known(s, c->w->uid);
	const char *groups[65] = {NULL};
	struct access_party p = {.by = {c->w->user, c->w->address, groups}, .server = s->attrs};
	struct access a = {.account = x->name};

	for (int i = 0; u && i < u->ngroups && i < 64; i++)
		groups[i] = u->groups[i];
	return strcmp(x->name, OBJECT_DEFAULT) != 0 &&
	       (c->w->role >= ROLE_OPERATOR || access_resolve(s->objects, &p, &a, NULL) == 0);
}

/* ---- accounts ---- */

static void deposits_write(struct json *j, const struct credit *c)
{
	json_open_array(j, "deposits");
	for (size_t i = 0; c && i < c->deposits.n; i++) {
		const struct credit_deposit *d = &c->deposits.v[i];
		json_open_object(j, NULL);
		json_int(j, "id", (int64_t)d->id);
		json_int(j, "amount", d->amount);
		json_int(j, "left", d->left);
		if (d->expires == TIME_NEVER)
			json_text(j, "expires", NULL);
		else
			json_int(j, "expires", d->expires);
		json_close_object(j);
	}
	json_close_array(j);
}

static void account_write(struct server *s, struct json *j, const struct object *x)
{
	static const struct credit none;
	struct credit_state state;
	const struct credit *c;

	if (!credits_get(s, x, &state))
		return;
	c = state.credit ? state.credit : &none;
	json_open_object(j, NULL);
	json_text(j, "account", x->name);
	json_text(j, "unit", credit_unit_name(state.tariff.unit));
	json_int(j, "rate", state.tariff.rate);
	json_int(j, "balance", state.balance);
	json_int(j, "escrow", state.escrow);
	json_int(j, "available", state.balance - state.escrow);
	json_int(j, "deposited", c->deposited);
	json_int(j, "spent", c->spent);
	json_int(j, "expired", c->expired);
	json_int(j, "withdrawn", c->withdrawn);
	deposits_write(j, c);
	json_close_object(j);
}

void api_credits(struct server *s, const struct call *c)
{
	const char *only = request_query(c->r, "account");
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "accounts");
	for (size_t i = 0; i < s->objects->of[OBJECT_ACCOUNT].n; i++) {
		const struct object *x = s->objects->of[OBJECT_ACCOUNT].v[i];
		if ((!only || strcmp(only, x->name) == 0) && account_seen(s, c, x))
			account_write(s, &j, x);
	}
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

void api_credits_change(struct server *s, const struct call *c)
{
	const char *op = json_string_value(json_object_get(c->body, "op"));
	const json_t *expires = json_object_get(c->body, "expires");
	struct credit_order o = {.op = *op == 'd'   ? CREDIT_DEPOSIT
				       : *op == 'w' ? CREDIT_WITHDRAW
						    : CREDIT_TRANSFER,
				 .account = json_string_value(json_object_get(c->body, "account")),
				 .to = json_string_value(json_object_get(c->body, "to")),
				 .amount = json_integer_value(json_object_get(c->body, "amount")),
				 .expires = json_is_integer(expires) ? json_integer_value(expires) : TIME_NEVER};
	struct strbuf out = {0};
	struct err err;

	if ((o.op == CREDIT_TRANSFER) != (o.to != NULL)) {
		http_error(c->r, CODE_BAD_REQUEST,
			   "\"to\" names the receiving account: it is required for transfers and allowed only there.");
		return;
	}
	if (credits_change(s, &o, &err) < 0) {
		http_error(c->r, err.code, "%s", err.text);
		return;
	}
	strbuf_puts(&out, "{}");
	reply_later(s, c->r, 200, &out);
}

/* ---- the book ---- */

void api_credits_statement(struct server *s, const struct call *c)
{
	static const struct moves_form form = {"credits", "lines", "amount", .users = false};
	const char *account = request_query(c->r, "account");
	const struct object *x = account ? object_find(s->objects, OBJECT_ACCOUNT, account) : NULL;
	char name[OBJECT_NAME_MAX + 2];

	if (!x || !account_seen(s, c, x)) {
		http_error(c->r, CODE_NOT_FOUND, "Unknown account %.60s, or you may not charge it.",
			   account ? account : "");
		return;
	}
	snprintf(name, sizeof name, CREDIT_BOOK_PREFIX "%.*s", OBJECT_NAME_MAX, x->name);
	moves_reply(s, c, &form, name, x->name);
}
