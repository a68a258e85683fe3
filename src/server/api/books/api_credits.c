/*
 * api_credits.c - see api_credits.h.
 */
#include "server/api/books/api_credits.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "net/http.h"
#include "rules/access.h"
#include "rules/object.h"
#include "server/api/books/moves.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/users.h"
#include "server/book/credits.h"
#include "server/server.h"
#include "store/quota.h"

/* ---- bodies and answers ---- */

const struct schema credits_body = {
	.name = "CreditChange",
	FIELDS({"op", .is = REQUIRED | IS_TEXT, .words = "deposit|withdraw|transfer",
		MEMBER_AS(FORM_CHOICE, struct credit_order, op)},
	       {"account", .is = REQUIRED | IS_TEXT, .least = 1, .most = OBJECT_NAME_MAX,
		MEMBER(struct credit_order, account)},
	       {"to", .is = IS_TEXT, "the account that a transfer goes to", .least = 1, .most = OBJECT_NAME_MAX,
		MEMBER(struct credit_order, to)},
	       {"amount", .is = REQUIRED | IS_INT, "in seconds of the account's unit", .least = 1, .most = CREDIT_MOST,
		MEMBER(struct credit_order, amount)},
	       {"expires", .is = IS_INSTANT | IS_NULL, "for a deposit: when the rest of it expires",
		.missing = TIME_NEVER, MEMBER(struct credit_order, expires)})};

static const struct schema deposit_schema = {
	.name = "CreditDeposit",
	FIELDS({"id", .is = REQUIRED | IS_INT, MEMBER(struct credit_deposit, id)},
	       {"amount", .is = REQUIRED | IS_INT, MEMBER(struct credit_deposit, amount)},
	       {"left", .is = REQUIRED | IS_INT, MEMBER(struct credit_deposit, left)},
	       {"expires", .is = REQUIRED | IS_INSTANT | IS_NULL, MEMBER(struct credit_deposit, expires)})};

/* An account that pays. */
struct subject {
	const char *account, *unit;
	struct credit_state state;
	struct credit credit; /* borrowed */
	int64_t available;
};
#define HAS(member) MEMBER(struct subject, member)

static void deposits_inside(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->credit.deposits.n; i++)
		schema_show(&deposit_schema, NULL, &x->credit.deposits.v[i], NULL, j);
}

static const struct schema account_schema = {
	.name = "Credits",
	FIELDS({"account", .is = REQUIRED | IS_TEXT, HAS(account)},
	       {"unit", .is = REQUIRED | IS_TEXT, .words = CREDIT_UNIT_WORDS, HAS(unit)},
	       {"rate", .is = REQUIRED | IS_INT, "percent of the price", HAS(state.tariff.rate)},
	       {"balance", .is = REQUIRED | IS_INT, "seconds of the unit, including what jobs hold in escrow",
		HAS(state.balance)},
	       {"escrow", .is = REQUIRED | IS_INT, "held for jobs that run or have a guaranteed place",
		HAS(state.escrow)},
	       {"available", .is = REQUIRED | IS_INT, HAS(available)},
	       {"deposited", .is = REQUIRED | IS_INT, "so far: balance + spent + expired + withdrawn",
		HAS(credit.deposited)},
	       {"spent", .is = REQUIRED | IS_INT, HAS(credit.spent)},
	       {"expired", .is = REQUIRED | IS_INT, HAS(credit.expired)},
	       {"withdrawn", .is = REQUIRED | IS_INT, "including transfers to other accounts", HAS(credit.withdrawn)},
	       {"deposits", .is = REQUIRED | IS_LIST, "those not used up, in the order in which they are spent",
		.of = &deposit_schema, .item = IS_OBJECT, .inside = deposits_inside})};

const struct schema credits_answer = {
	FIELDS({"accounts", .is = REQUIRED | IS_LIST, .of = &account_schema, .item = IS_OBJECT})};

static const struct schema line_schema = {
	.name = "CreditLine",
	FIELDS({"seq", .is = REQUIRED | IS_INT, MEMBER(struct move_line, move.seq)},
	       {"time", .is = REQUIRED | IS_INSTANT, MEMBER(struct move_line, move.time)},
	       {"cause", .is = REQUIRED | IS_TEXT, .words = "deposit|withdrawal|transfer|job|expired",
		MEMBER(struct move_line, move.cause)},
	       {"job", .is = REQUIRED | IS_TEXT | IS_NULL, MEMBER(struct move_line, job)},
	       {"amount", .is = REQUIRED | IS_INT, "change of the balance", MEMBER(struct move_line, move.seconds)})};

const struct schema statement_answer = {
	FIELDS({"account", .is = REQUIRED | IS_TEXT}, {"month", .is = REQUIRED | IS_INT},
	       {"lines", .is = REQUIRED | IS_LIST, .of = &line_schema, .item = IS_OBJECT})};

/* ---- access ---- */

/* Returns true if the user may see an account: operators see all, users those that they may
 * charge. */
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

static void account_write(struct server *s, struct json *j, const struct object *x)
{
	struct subject account = {.account = x->name};

	if (!credits_get(s, x, &account.state))
		return;
	account.unit = credit_unit_name(account.state.tariff.unit);
	account.available = account.state.balance - account.state.escrow;
	if (account.state.credit)
		account.credit = *account.state.credit;
	schema_show(&account_schema, NULL, &account, NULL, j);
}

void api_credits(struct server *s, const struct call *c)
{
	const char *only = request_query(c->r, "account");
	struct strbuf out = {0};
	struct json j;

	json_begin(&j, &out);
	json_open_array(&j, "accounts");
	for (size_t i = 0; i < s->objects->of[OBJECT_ACCOUNT].n; i++) {
		const struct object *x = s->objects->of[OBJECT_ACCOUNT].v[i];
		if ((!only || strcmp(only, x->name) == 0) && account_seen(s, c, x))
			account_write(s, &j, x);
	}
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}

void api_credits_change(struct server *s, const struct call *c)
{
	struct credit_order o;
	struct err err;

	if (record_load(credits_body.fields, 0, c->body, &o, NULL, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	if ((o.op == CREDIT_TRANSFER) != (o.to != NULL)) {
		http_error(c->r, CODE_BAD_REQUEST,
			   "\"to\" names the receiving account: it is required for transfers and allowed only there.");
		return;
	}
	if (credits_change(s, &o, &err) < 0) {
		http_error(c->r, err.code, "%s", err.text);
		return;
	}
	reply_empty(s, c->r, 200);
}

/* ---- the ledger ---- */

void api_credits_statement(struct server *s, const struct call *c)
{
	static const struct moves_form form = {"credits", "lines", &line_schema};
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
