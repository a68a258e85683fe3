/*
 * amounts.c - see amounts.h.
 */
#include "server/life/amounts.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "plan/plan.h"
#include "rules/amounts.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/spawn.h"
#include "server/base/turn.h"
#include "server/life/foresee.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "store/store.h"

#define OUTPUT_MAX 65536 /* bytes that are read of it */

/* ---- what is reported ---- */

static void elsewhere_set(struct server *s, uint32_t i, int64_t elsewhere)
{
	struct amount a = s->cluster->amounts.v[i];
	char text[64];

	if (a.elsewhere == elsewhere)
		return;
	a.elsewhere = elsewhere;
	sched_amount(s->sched, i, &a, s->clock->now);
	snprintf(text, sizeof text, "{\"elsewhere\":%lld}", (long long)elsewhere);
	store_put_object(s->store, "amount", names_get(&s->cluster->amount_names, i), text);
	foresee_again(s);
	s->turn->dirty = true;
	turn_wake(s);
}

int amounts_reported(struct server *s, const char *text, size_t n, struct err *err)
{
	amount_reports all = {0};
	int rc = amounts_report_read(text, n, &all, err);

	for (size_t k = 0; k < all.n; k++) {
		uint32_t i;
		if (cluster_find_amount(s->cluster, all.v[k].name, &i)) /* others are none of ours */
			elsewhere_set(s, i, amounts_elsewhere(s->cluster->amounts.v[i].total, &all.v[k]));
	}
	vec_free(&all);
	return rc;
}

int amount_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	int i = cluster_amount(s->cluster, name, err);

	if (i < 0)
		return i;
	s->cluster->amounts.v[i].elsewhere = json_integer_value(json_object_get(o, "elsewhere"));
	if (s->plan)
		plan_set_amount(s->plan, (uint32_t)i);
	return 0;
}

/* ---- the program ---- */

/* Lives as long as the server; `pid` is 0 while no program runs. */
struct reporter {
	struct server *s;
	uv_timer_t due, patience;
	uv_poll_t ended; /* while it runs */
	pid_t pid;
	int pidfd, out; /* its output, a file without a name */
	bool late;
	bool said; /* that it fails: once, until it does not */
};

static void complain(struct reporter *r, const char *what)
{
	if (!r->said)
		server_say(r->s, "the program that reports amounts, %s, %s; what it reported before still holds",
			   r->s->conf->amounts_program, what);
	r->said = true;
}

static void take(struct reporter *r, int how)
{
	char *text = mem_alloc(OUTPUT_MAX + 1), what[600];
	ssize_t n = pread(r->out, text, OUTPUT_MAX + 1, 0);
	struct err err;

	if (r->late)
		snprintf(what, sizeof what, "took longer than amounts.timeout");
	else if (how != 0)
		snprintf(what, sizeof what, "ended with %s %d", WIFSIGNALED(how) ? "signal" : "exit status",
			 WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
	else if (n < 0 || n > OUTPUT_MAX)
		snprintf(what, sizeof what, "printed more than %d bytes", OUTPUT_MAX);
	else if (amounts_reported(r->s, text, (size_t)n, &err) < 0)
		snprintf(what, sizeof what, "printed something else than amounts: %.500s", err.text);
	else
		*what = '\0';
	if (*what)
		complain(r, what);
	else
		r->said = false;
	free(text);
}

static void on_due(uv_timer_t *timer);

static void on_closed(uv_handle_t *h)
{
	struct reporter *r = h->data;

	close(r->pidfd);
	uv_timer_start(&r->due, on_due, (uint64_t)r->s->conf->amounts_every * 1000, 0);
}

static void on_ended(uv_poll_t *poll, int status, int events)
{
	struct reporter *r = poll->data;
	int how = 0;

	(void)status;
	(void)events;
	if (waitpid(r->pid, &how, WNOHANG) == 0)
		return;
	kill(-r->pid, SIGKILL); /* what it left behind */
	r->pid = 0;
	uv_timer_stop(&r->patience);
	take(r, how);
	close(r->out);
	uv_close((uv_handle_t *)&r->ended, on_closed);
}

static void on_late(uv_timer_t *timer)
{
	struct reporter *r = timer->data;

	r->late = true;
	kill(-r->pid, SIGKILL); /* its group: it was made the leader of one */
}

static int spawn(char *program, int out, char *used, pid_t *ret)
{
	char *argv[] = {program, NULL};
	VEC(char *) env = {0};
	int rc;

	for (char **e = environ; *e; e++)
		vec_push(&env, *e);
	vec_push(&env, used);
	vec_push(&env, NULL);
	rc = spawn_beside(program, argv, env.v, (int[]){SPAWN_NULL, out, SPAWN_NULL}, ret);
	vec_free(&env);
	return rc;
}

/* "SHUNT_USED=matlab=6 ansys=0": a program that counts all that are checked out takes these off. */
static void used_text(const struct server *s, struct strbuf *out)
{
	strbuf_puts(out, "SHUNT_USED=");
	for (uint32_t i = 0; i < s->cluster->amounts.n; i++) {
		const struct amount *a = &s->cluster->amounts.v[i];
		int64_t free = plan_amount_free(s->plan, i, s->clock->now, s->clock->now + 1);
		strbuf_printf(out, "%s%s=%lld", i ? " " : "", names_get(&s->cluster->amount_names, i),
			      (long long)(a->total - a->elsewhere - free));
	}
}

static int run(struct reporter *r)
{
	struct strbuf used = {0};
	int rc;

	r->out = memfd_create("amounts", MFD_CLOEXEC);
	if (r->out < 0)
		return -errno;
	used_text(r->s, &used);
	rc = spawn(r->s->conf->amounts_program, r->out, used.text, &r->pid);
	strbuf_fini(&used);
	if (rc == 0) {
		r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
		if (r->pidfd >= 0)
			return 0;
		rc = -errno;
		kill(-r->pid, SIGKILL);
		waitpid(r->pid, NULL, 0);
	}
	close(r->out);
	r->pid = 0;
	return rc;
}

static void on_due(uv_timer_t *timer)
{
	struct reporter *r = timer->data;
	char what[200];
	int rc = run(r);

	if (rc < 0) {
		snprintf(what, sizeof what, "can't be started: %s", strerror(-rc));
		complain(r, what);
		uv_timer_start(&r->due, on_due, (uint64_t)r->s->conf->amounts_every * 1000, 0);
		return;
	}
	r->late = false;
	uv_poll_init(r->s->loop, &r->ended, r->pidfd);
	r->ended.data = r;
	uv_poll_start(&r->ended, UV_READABLE, on_ended);
	uv_timer_start(&r->patience, on_late, (uint64_t)r->s->conf->amounts_timeout * 1000, 0);
}

void amounts_start(struct server *s)
{
	struct reporter *r;

	if (!*s->conf->amounts_program)
		return;
	r = mem_zalloc(sizeof *r);
	r->s = s;
	uv_timer_init(s->loop, &r->due);
	uv_timer_init(s->loop, &r->patience);
	r->due.data = r->patience.data = r;
	uv_timer_start(&r->due, on_due, 0, 0);
}
