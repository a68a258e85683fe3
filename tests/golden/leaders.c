/*
 * leaders.c - see leaders.h.
 */
#include "golden/leaders.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/err.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/link/standby.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "store/store.h"
#include "support/bare.h"

#define TIMERS 4

static const struct leaders_test *test; /* NULL: nothing is played */
static struct store_leader other;	/* the other server; its `left` 0: it does not lead */
static const char *broken;		/* why the store can't be asked; NULL: it can */
static bool deposed;			/* the store says that the other one leads */
static uint64_t epoch;
static int64_t kept_us, lease_us;
static bool standing, stopped;
static jmp_buf ended; /* the process has ended */

/* ---- the store ---- */

const char *__real_store_kind(const struct store *s);
const char *__wrap_store_kind(const struct store *s);
const char *__wrap_store_kind(const struct store *s)
{
	return test ? "postgres" : __real_store_kind(s);
}

int __real_store_lead(struct store *s, const char *owner, const char *address, uint64_t at_least, int64_t lease_ms,
		      struct store_leader *ret, struct err *err);
int __wrap_store_lead(struct store *s, const char *owner, const char *address, uint64_t at_least, int64_t lease_ms,
		      struct store_leader *ret, struct err *err);
int __wrap_store_lead(struct store *s, const char *owner, const char *address, uint64_t at_least, int64_t lease_ms,
		      struct store_leader *ret, struct err *err)
{
	if (!test)
		return __real_store_lead(s, owner, address, at_least, lease_ms, ret, err);
	test->say("store: %s at %s asks for the lead for %lld ms, epoch at least %llu", owner, address,
		  (long long)lease_ms, (unsigned long long)at_least);
	if (broken)
		return err_set(err, -EIO, "%s", broken);
	if (other.left > 0) {
		*ret = other;
		return err_set(err, -EBUSY, "%s leads", other.owner);
	}
	*ret = (struct store_leader){.epoch = epoch = epoch + 1 > at_least ? epoch + 1 : at_least, .left = lease_ms};
	snprintf(ret->owner, sizeof ret->owner, "%s", owner);
	snprintf(ret->address, sizeof ret->address, "%s", address);
	kept_us = *test->now_us;
	lease_us = lease_ms * 1000;
	return 0;
}

int __real_store_get_leader(struct store *s, struct store_leader *ret, struct err *err);
int __wrap_store_get_leader(struct store *s, struct store_leader *ret, struct err *err);
int __wrap_store_get_leader(struct store *s, struct store_leader *ret, struct err *err)
{
	if (!test)
		return __real_store_get_leader(s, ret, err);
	*ret = other;
	return broken ? err_set(err, -EIO, "%s", broken) : 0;
}

int __real_store_keep(struct store *s, int64_t lease_ms, struct err *err);
int __wrap_store_keep(struct store *s, int64_t lease_ms, struct err *err);
int __wrap_store_keep(struct store *s, int64_t lease_ms, struct err *err)
{
	if (!test)
		return __real_store_keep(s, lease_ms, err);
	test->say("store: renew the lease for %lld ms%s", (long long)lease_ms, broken || deposed ? ": it fails" : "");
	if (broken)
		return err_set(err, -EIO, "%s", broken);
	if (deposed)
		return err_set(err, -ESTALE, "the server %s leads", other.owner);
	kept_us = *test->now_us;
	lease_us = lease_ms * 1000;
	return 0;
}

bool __real_store_leads(const struct store *s);
bool __wrap_store_leads(const struct store *s);
bool __wrap_store_leads(const struct store *s)
{
	return test ? *test->now_us < kept_us + lease_us : __real_store_leads(s);
}

int64_t __real_store_kept(const struct store *s);
int64_t __wrap_store_kept(const struct store *s);
int64_t __wrap_store_kept(const struct store *s)
{
	return test ? kept_us : __real_store_kept(s);
}

int __real_store_yield(struct store *s, struct err *err);
int __wrap_store_yield(struct store *s, struct err *err);
int __wrap_store_yield(struct store *s, struct err *err)
{
	if (!test)
		return __real_store_yield(s, err);
	test->say("store: the lead is given up%s", broken ? ": it fails" : "");
	return broken ? err_set(err, -EIO, "%s", broken) : 0;
}

int __real_store_register(struct store *s, const char *kind, const char *name, const char *text, struct err *err);
int __wrap_store_register(struct store *s, const char *kind, const char *name, const char *text, struct err *err);
int __wrap_store_register(struct store *s, const char *kind, const char *name, const char *text, struct err *err)
{
	if (test)
		test->say("store: register %s: %s", name, text);
	return test && broken ? err_set(err, -EIO, "%s", broken) : __real_store_register(s, kind, name, text, err);
}

/* ---- a store that can't be written ---- */

static int unwritten; /* why no commit succeeds: -errno; 0: they do */

int __real_store_commit(struct store *s, struct err *err);
int __wrap_store_commit(struct store *s, struct err *err);
int __wrap_store_commit(struct store *s, struct err *err)
{
	return unwritten ? err_set(err, unwritten, "%s", strerror(-unwritten)) : __real_store_commit(s, err);
}

void store_fails(const char *why)
{
	unwritten = strcmp(why, "full") == 0 ? -ENOSPC : *why ? -EIO : 0;
}

/* ---- the loop ---- */

static struct {
	uv_timer_t *t;
	uv_timer_cb cb;
	int64_t due_us, repeat_us;
} timers[TIMERS];

/* Returns where a timer of the lead is kept, or a free place; NULL: it is another's. */
static int timer_at(const uv_timer_t *t)
{
	const struct server *s = t->data;
	int free_one = -1;

	if (!test || !s || t == &s->turn->timer || t == &s->users->timer)
		return -1;
	for (int i = 0; i < TIMERS; i++) {
		if (timers[i].t == t)
			return i;
		if (!timers[i].t)
			free_one = i;
	}
	return free_one;
}

int __real_uv_timer_start(uv_timer_t *t, uv_timer_cb cb, uint64_t ms, uint64_t repeat);
int __wrap_uv_timer_start(uv_timer_t *t, uv_timer_cb cb, uint64_t ms, uint64_t repeat);
int __wrap_uv_timer_start(uv_timer_t *t, uv_timer_cb cb, uint64_t ms, uint64_t repeat)
{
	int i = timer_at(t);

	if (i < 0)
		return __real_uv_timer_start(t, cb, ms, repeat);
	timers[i].t = t;
	timers[i].cb = cb;
	timers[i].due_us = *test->now_us + (int64_t)ms * 1000;
	timers[i].repeat_us = (int64_t)repeat * 1000;
	return 0;
}

int __real_uv_timer_stop(uv_timer_t *t);
int __wrap_uv_timer_stop(uv_timer_t *t);
int __wrap_uv_timer_stop(uv_timer_t *t)
{
	int i = timer_at(t);

	if (i < 0)
		return __real_uv_timer_stop(t);
	timers[i].t = NULL;
	return 0;
}

static void timers_run(void)
{
	for (int i = 0; i < TIMERS; i++) {
		uv_timer_t *t = timers[i].t;
		if (!t || timers[i].due_us > *test->now_us || stopped)
			continue;
		timers[i].due_us = timers[i].repeat_us ? timers[i].due_us + timers[i].repeat_us : INT64_MAX;
		timers[i].cb(t);
	}
}

/* A server that stands by runs its loop: commands are played until it stops it. */
int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode)
{
	if (!test || mode != UV_RUN_DEFAULT)
		return __real_uv_run(loop, mode);
	standing = true;
	stopped = false;
	while (!stopped && test->next())
		;
	standing = stopped = false;
	return 0;
}

void __real_uv_stop(uv_loop_t *loop);
void __wrap_uv_stop(uv_loop_t *loop);
void __wrap_uv_stop(uv_loop_t *loop)
{
	if (test)
		stopped = true;
	else
		__real_uv_stop(loop);
}

_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);
_Noreturn void __wrap__exit(int code)
{
	if (!test)
		__real__exit(code);
	test->say("exit %d", code);
	longjmp(ended, 1);
}

/* ---- commands ---- */

/* Lets time pass in steps of a tenth of a second. */
static void tick(int64_t ms)
{
	for (; ms > 0 && !stopped; ms -= 100) {
		bare_clock(*test->now_us += 100000);
		timers_run();
	}
}

/* "other NAME ADDRESS": another server leads; "other" alone: nobody does. */
static void other_set(const char *args)
{
	other.left = 0;
	*other.owner = *other.address = '\0';
	if (sscanf(args, "%319s %319s", other.owner, other.address) > 0)
		other.left = 5000;
}

static void address_set(struct server *s, const char *address)
{
	conf_set(s->conf, "cluster.address", address, &(struct err){.text = ""});
	realm_locate(s);
}

/* Registers another server: "register NAME jobs|none ADDRESS". */
static void other_register(struct server *s, const char *args)
{
	char own[sizeof s->realm->owner], address[128], jobs[8] = "", its[128] = "";
	uint32_t here = s->hosts->here;
	struct err err = {.text = ""};

	memcpy(own, s->realm->owner, sizeof own);
	snprintf(address, sizeof address, "%s", realm_address(s));
	sscanf(args, "%300s %7s %127s", s->realm->owner, jobs, its);
	address_set(s, its);
	s->hosts->here = strcmp(jobs, "jobs") == 0;
	if (realm_register(s, false, &err) < 0)
		test->say("%s", err.text);
	s->hosts->here = here;
	address_set(s, address);
	memcpy(s->realm->owner, own, sizeof own);
}

static void result_say(const char *what, int rc, const struct err *err)
{
	test->say("%s: %s", what, rc == 0 ? "done" : rc == -EBUSY ? "another leads" : err->text);
}

static bool command_play(struct server *s, const char *word, const char *args)
{
	struct err err = {.text = ""};

	if (strcmp(word, "take") == 0) {
		free(s->realm->lead); /* an earlier start has left it */
		s->realm->lead = NULL;
		memset(timers, 0, sizeof timers);
		int rc = lead_take(s, &err);
		result_say("take", rc, &err);
		test->say("epoch %llu", (unsigned long long)s->realm->epoch);
	} else if (strcmp(word, "stand") == 0) {
		int rc = standby_wait(s);
		test->say("it %s", rc ? "was stopped" : "leads");
	} else if (strcmp(word, "start") == 0) {
		int rc = lead_start(s, &err);
		result_say("start", rc, &err);
	} else if (strcmp(word, "holds") == 0)
		test->say("%s", lead_holds(s) ? "yes" : "no");
	else if (strcmp(word, "finish") == 0)
		lead_end(s);
	else if (strcmp(word, "other") == 0)
		other_set(args);
	else if (strcmp(word, "register") == 0)
		other_register(s, args);
	else if (strcmp(word, "broken") == 0)
		broken = *args ? "the database is away" : NULL;
	else if (strcmp(word, "deposed") == 0)
		deposed = true;
	else if (strcmp(word, "port") == 0)
		bare_port = atoi(args);
	else if (strcmp(word, "tick") == 0)
		tick(atoi(args));
	else
		return false;
	return true;
}

bool leaders_command(struct server *s, const char *word, const char *args)
{
	if (!test)
		return false;
	return setjmp(ended) || command_play(s, word, args);
}

bool leaders_standing(void)
{
	return standing;
}

void leaders_begin(const struct leaders_test *t)
{
	test = t;
	other_set("");
	broken = NULL;
	deposed = standing = stopped = false;
	epoch = 0;
	kept_us = t ? *t->now_us : 0;
	lease_us = 60000000;
	bare_port = 0;
	memset(timers, 0, sizeof timers);
}
