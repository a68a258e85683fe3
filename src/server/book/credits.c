/*
 * credits.c - see credits.h.
 */
#include "server/book/credits.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/codec_array.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "rules/access.h"
#include "rules/attr.h"
#include "rules/object.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/book/books.h"
#include "server/book/history.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "store/quota.h"
#include "store/store.h"

struct of_account {
	uint32_t account; /* a word */
	struct credit credit;
};

struct credits {
	VEC(struct of_account) v;
	struct map at; /* word -> index + 1 */
	int64_t next;  /* instant of the next expiry of a deposit */
};

struct credits *credits_create(void)
{
	struct credits *c = mem_zalloc(sizeof *c);

	c->next = TIME_NEVER;
	return c;
}

/* ---- finding and keeping ---- */

static struct credit *find(const struct server *s, uint32_t account)
{
	struct credits *c = s->books->credits;
	uint64_t at;

	return map_get(&c->at, account, &at) ? &c->v.v[at - 1].credit : NULL;
}

static struct credit *find_or_add(struct server *s, uint32_t account)
{
	struct credits *c = s->books->credits;
	struct credit *x = find(s, account);

	if (x)
		return x;
	vec_push(&c->v, (struct of_account){.account = account});
	map_set(&c->at, account, c->v.n);
	return &c->v.v[c->v.n - 1].credit;
}

bool credits_tariff(const struct object *x, struct credit_tariff *ret)
{
	return credit_tariff_of(&x->attrs, ret);
}

static int64_t escrow_of(const struct server *s, uint32_t account, const struct credit_tariff *t)
{
	return credit_price(t, limits_used(s->limits, LIMIT_OF_ACCOUNT, account, credit_measure(t->unit)));
}

bool credits_get(struct server *s, const struct object *account, struct credit_state *ret)
{
	uint32_t number = word_add(s, account->name);

	*ret = (struct credit_state){.credit = find(s, number)};
	if (!credits_tariff(account, &ret->tariff))
		return false;
	ret->balance = ret->credit ? credit_balance(ret->credit) : 0;
	ret->escrow = escrow_of(s, number, &ret->tariff);
	if (ret->escrow > ret->balance) /* jobs were started by force */
		ret->escrow = ret->balance;
	return true;
}

static void limit_set(struct server *s, const struct object *x)
{
	uint32_t number = word_add(s, x->name);
	const struct credit *c = find(s, number);
	struct credit_tariff t = {0};
	bool pays = strcmp(x->name, OBJECT_DEFAULT) != 0 && credits_tariff(x, &t);

	for (int unit = 0; unit < CREDIT_UNITS; unit++)
		limits_credit(s->limits, number, credit_measure((enum credit_unit)unit),
			      pays && (int)t.unit == unit ? credit_limit(&t, c ? credit_balance(c) : 0) : -1);
}

void credits_limits(struct server *s)
{
	for (size_t i = 0; i < s->objects->of[OBJECT_ACCOUNT].n; i++)
		limit_set(s, s->objects->of[OBJECT_ACCOUNT].v[i]);
}

#define CREDIT(member)                                                                                                 \
	{                                                                                                              \
#member, MEMBER(struct credit, member)                                                                 \
	}
#define DEPOSIT(member)                                                                                                \
	{                                                                                                              \
#member, MEMBER(struct credit_deposit, member)                                                         \
	}
static const struct field credit_rows[] = {CREDIT(spent), CREDIT(expired), CREDIT(withdrawn), {0}};
static const struct field deposit_rows[] = {DEPOSIT(id), DEPOSIT(amount), DEPOSIT(left), DEPOSIT(expires), {0}};

static void store(struct server *s, uint32_t account, const struct credit *c)
{
	struct strbuf text = {0};
	struct json j;

	json_begin(&j, &text);
	record_store(credit_rows, 0, c, NULL, &j);
	json_open_array(&j, "deposits");
	for (size_t i = 0; i < c->deposits.n; i++)
		values_store(deposit_rows, &c->deposits.v[i], NULL, &j);
	json_close_array(&j);
	json_close_object(&j);
	store_put_object(s->store, "credit", word_text(s, account), text.text);
	strbuf_fini(&text);
}

int credits_restore(struct server *s, const char *account, const struct json_t *o, struct err *err)
{
	struct credit *c = find_or_add(s, word_add(s, account));
	const json_t *d;
	size_t i;
	int rc;

	json_array_foreach(json_object_get(o, "deposits"), i, d)
	{
		struct credit_deposit x;
		values_load(deposit_rows, d, &x);
		credit_add(c, &x);
	}
	rc = record_load(credit_rows, 0, o, c, NULL, err);
	c->deposited += c->spent + c->expired + c->withdrawn;
	s->books->credits->next = 0; /* makes credits_turn() check */
	return rc;
}

/* Writes a line of the book and the deposits, and updates the limit, in this turn's commit. */
static void keep(struct server *s, uint32_t account, const char *cause, int64_t amount, uint64_t key)
{
	struct credit *c = find_or_add(s, account);
	const struct object *x = object_find(s->objects, OBJECT_ACCOUNT, word_text(s, account));
	char name[OBJECT_NAME_MAX + 2];
	struct store_move m = {.seq = s->jobs->next_seq++,
			       .user = name,
			       .time = s->clock->now,
			       .month = month_of(s->clock->now),
			       .type = "credit",
			       .cause = cause,
			       .job = key,
			       .seconds = amount};

	snprintf(name, sizeof name, CREDIT_BOOK_PREFIX "%.*s", OBJECT_NAME_MAX, word_text(s, account));
	store_put_move(s->store, &m);
	store(s, account, c);
	if (x)
		limit_set(s, x);
	s->books->credits->next = 0;
	s->turn->dirty = true;
}

/* ---- administrators ---- */

static int account_find(struct server *s, const char *name, struct credit_state *ret, uint32_t *ret_number,
			struct err *err)
{
	const struct object *x =
		strcmp(name, OBJECT_DEFAULT) == 0 ? NULL : object_find(s->objects, OBJECT_ACCOUNT, name);

	if (!x)
		return err_code(err, CODE_NOT_FOUND, "unknown account %.60s", name);
	if (!credits_get(s, x, ret))
		return err_code(
			err, CODE_BAD_STATE,
			"account %s does not use credits (enable them with qmgr -c 'set account %s credit_unit = cpu_hours')",
			name, name);
	*ret_number = word_add(s, name);
	return 0;
}

static int enough(const char *name, const struct credit_state *x, int64_t amount, struct err *err)
{
	if (amount <= x->balance - x->escrow)
		return 0;
	return err_code(err, CODE_BAD_STATE, "account %s has only %lld unit-seconds available, not %lld", name,
			(long long)(x->balance - x->escrow), (long long)amount);
}

int credits_change(struct server *s, const struct credit_order *o, struct err *err)
{
	struct credit_state from, to = {0};
	uint32_t number, other = 0;
	int rc = account_find(s, o->account, &from, &number, err);

	if (rc == 0 && o->op == CREDIT_TRANSFER)
		rc = account_find(s, o->to, &to, &other, err);
	if (rc == 0 && o->op == CREDIT_TRANSFER && (number == other || from.tariff.unit != to.tariff.unit))
		rc = err_code(err, CODE_BAD_STATE,
			      number == other ? "an account can't transfer credits to itself"
					      : "the accounts have different units (credit_unit)");
	if (rc == 0 && o->op == CREDIT_DEPOSIT && o->expires <= s->clock->now)
		rc = err_code(err, CODE_BAD_STATE, "the expiry date is in the past: give a later one");
	if (rc == 0 && o->op != CREDIT_WITHDRAW &&
	    (o->op == CREDIT_DEPOSIT ? from.balance : to.balance) > CREDIT_MOST - o->amount)
		rc = err_code(err, CODE_BAD_STATE, "an account holds at most %lld hours",
			      (long long)(CREDIT_MOST / 3600));
	if (rc == 0 && o->op != CREDIT_DEPOSIT)
		rc = enough(o->account, &from, o->amount, err);
	if (rc < 0)
		return rc;
	find_or_add(s, number);
	if (o->op == CREDIT_DEPOSIT) {
		credit_add(find(s, number),
			   &(struct credit_deposit){s->jobs->next_seq, o->amount, o->amount, o->expires});
		keep(s, number, "deposit", o->amount, 0);
	} else if (o->op == CREDIT_WITHDRAW) {
		keep(s, number, "withdrawal", -credit_withdraw(find(s, number), o->amount), 0);
	} else {
		find_or_add(s, other); /* take both pointers after this */
		credit_transfer(find(s, number), find(s, other), o->amount, &s->jobs->next_seq);
		keep(s, number, "transfer", -o->amount, 0);
		keep(s, other, "transfer", o->amount, 0);
	}
	return 0;
}

/* ---- jobs ---- */

static void charge(struct server *s, uint32_t id, const struct object *x, int64_t ran_ms)
{
	const struct job *job = entry_job(s, id);
	struct charge paid = cluster_paid_for(s->cluster, job, entry_charge(s, id).cpus);
	uint32_t number = word_add(s, x->name);
	struct credit *c = find(s, number);
	struct credit_tariff t;
	int64_t spent = 0;

	if (!c || !credits_tariff(x, &t))
		return;
	spent = credit_spend(c, credit_charge(&t, &paid, cluster_paid(s->cluster, job), ran_ms));
	if (spent)
		keep(s, number, "job", -spent, entry_get(s, id)->key);
}

/* Charges the account and those above it. */
static void charge_all(struct server *s, uint32_t id, int64_t ran_ms)
{
	const struct spec *p = entry_get(s, id)->spec;
	const struct object *x = p->account ? object_find(s->objects, OBJECT_ACCOUNT, word_text(s, p->account)) : NULL;

	for (int depth = 0; x && depth <= ACCOUNT_DEPTH_MAX; depth++) {
		charge(s, id, x, ran_ms);
		x = account_above(s->objects, x);
	}
}

void credits_stopped(struct server *s, uint32_t id, int64_t ran_ms, bool own)
{
	if (entry_get(s, id)->billed || own)
		charge_all(s, id, ran_ms);
}

/* Charges a job that has ended. Its price applies if it met its deadline. Otherwise the account
 * pays for what the job used, and at most the price. An attempt is charged once. */
void credits_settle(struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	const struct outcome *o = e->outcome;

	const struct job *job = entry_job(s, id);

	bool late = job->state != STATE_DONE; /* it ended by itself while it was being stopped */

	if (e->ran && entry_finished(s, id) && !(late && e->prepaid))
		charge_all(s, id,
			   job->has_price && job->since <= job->deadline ? job->priced * 1000
			   : o && o->ended_us				 ? o->ran_ms
									 : ran_until_now(s, id));
}

/* ---- time ---- */

int64_t credits_next(const struct server *s)
{
	return s->books->credits->next;
}

void credits_turn(struct server *s)
{
	struct credits *c = s->books->credits;

	if (c->next > s->clock->now)
		return;
	for (size_t i = 0; i < c->v.n; i++) {
		const struct object *x = object_find(s->objects, OBJECT_ACCOUNT, word_text(s, c->v.v[i].account));
		struct credit_tariff t;
		int64_t over = credit_expire(&c->v.v[i].credit, s->clock->now,
					     x && credits_tariff(x, &t) ? escrow_of(s, c->v.v[i].account, &t) : 0);
		if (over)
			keep(s, c->v.v[i].account, "expired", -over, 0);
	}
	c->next = TIME_NEVER;
	for (size_t i = 0; i < c->v.n; i++) {
		int64_t at = credit_next(&c->v.v[i].credit, s->clock->now);
		if (at < c->next)
			c->next = at;
	}
}
