/*
 * local.c - workers on this host: children of the broker in their own sessions, so that a
 * terminal's signals reach only the broker.
 *
 * A worker guards itself: whichever of its processes is killed, the others end what its tasks had
 * started, also if the broker is killed at the same time.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bag/own.h"
#include "bag/provider.h"
#include "base/program.h"
#include "base/vec.h"

enum { DEATHS_MOST = 10 }; /* deaths in a row without a task, each within two seconds of the start */

struct child {
	pid_t pid;	 /* 0: none */
	int64_t started; /* by provider_now() */
	int deaths;
};

struct local {
	struct provider base;
	struct local_options options;
	struct child *child; /* array of options.workers */
	struct provider_request request;
};

static int64_t now_seconds(void)
{
	return (int64_t)time(NULL);
}

static int start(struct local *l, int i)
{
	char name[32], cpus[32], gpus[32], memory[32];
	pid_t pid;

	snprintf(name, sizeof name, "local-%d", i + 1);
	snprintf(cpus, sizeof cpus, "%" PRId64, l->options.cpus / l->options.workers);
	snprintf(gpus, sizeof gpus, "%" PRId64, l->options.gpus / l->options.workers);
	snprintf(memory, sizeof memory, "%" PRId64, l->options.memory / l->options.workers);
	char *words[] = {
		"shunt",	"bag", "worker", "--socket", (char *)(uintptr_t)l->options.socket,	"--name", name,
		"--milli-cpus", cpus,  "--gpus", gpus,	     l->options.memory > 0 ? "--memory" : NULL, memory,	  NULL};
	int rc = program_start(l->options.program, words, NULL, (int[]){PROGRAM_NULL, PROGRAM_NULL}, 2, PROGRAM_SESSION,
			       &pid);
	if (rc < 0)
		return rc;
	l->child[i].pid = pid;
	l->child[i].started = provider_now();
	return 0;
}

static void limits(struct provider *p, struct provider_limits *ret)
{
	struct local *l = (struct local *)p;

	*ret = (struct provider_limits){.pending = 1, .processors = l->options.cpus / 1000, .seconds = -1};
}

static int request(struct provider *p, int64_t processors, int64_t seconds, struct err *err)
{
	struct local *l = (struct local *)p;

	if (l->request.state == REQUEST_RUNNING)
		return err_set(err, -EBUSY, "the workers of this host are running already");
	l->request = (struct provider_request){.id = 1,
					       .state = REQUEST_RUNNING,
					       .processors = processors,
					       .seconds = seconds,
					       .submitted = now_seconds(),
					       .started = now_seconds(),
					       .name = "local"};
	for (int i = 0; i < l->options.workers; i++) {
		int rc = start(l, i);
		if (rc < 0) {
			p->kind->cancel(p, 1);
			return err_set(err, rc, "%s: can't start a worker: %s", l->options.program, strerror(-rc));
		}
	}
	return 1;
}

/* Notes the end of a child; returns true if it was a worker. */
static bool ended(struct local *l, pid_t pid)
{
	for (int i = 0; i < l->options.workers; i++) {
		struct child *c = &l->child[i];
		if (c->pid != pid)
			continue;
		c->pid = 0;
		c->deaths = provider_now() - c->started < 2 ? c->deaths + 1 : 1;
		return true;
	}
	return false;
}

static void poll_children(struct provider *p, int64_t now)
{
	struct local *l = (struct local *)p;
	pid_t pid;

	(void)now;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (!own_note(pid, status))
			ended(l, pid);
	if (l->request.state != REQUEST_RUNNING)
		return;
	for (int i = 0; i < l->options.workers; i++) {
		struct child *c = &l->child[i];
		if (c->pid || (c->deaths && c->deaths < DEATHS_MOST && start(l, i) == 0))
			continue;
		l->request.state = REQUEST_FAILED;
		l->request.ended = now_seconds();
		snprintf(l->request.failure, sizeof l->request.failure,
			 "worker local-%d died %d times in a row, each within two seconds", i + 1, c->deaths);
		return;
	}
}

static bool look(struct provider *p, int id, struct provider_request *ret)
{
	struct local *l = (struct local *)p;

	*ret = l->request;
	return id == 1;
}

/* Notes that a worker has worked: if it died then, that was because of a task. */
static void joined(struct provider *p, int id)
{
	struct local *l = (struct local *)p;

	(void)id;
	for (int i = 0; i < l->options.workers; i++)
		l->child[i].deaths = l->child[i].pid ? 0 : l->child[i].deaths;
}

/* Ends the workers, whose connections the broker has closed. A worker still running after five
 * seconds is killed. */
static void cancel(struct provider *p, int id)
{
	struct local *l = (struct local *)p;
	int left = 0;

	(void)id;
	l->request.state = REQUEST_ENDED;
	l->request.ended = now_seconds();
	for (int tries = 0; tries < 1000; tries++) {
		left = 0;
		poll_children(p, provider_now());
		for (int i = 0; i < l->options.workers; i++) {
			left += l->child[i].pid != 0;
			if (l->child[i].pid && tries == 500)
				kill(l->child[i].pid, SIGKILL);
		}
		if (!left)
			break;
		usleep(tries < 50 ? 1000 : 10000);
	}
}

static int plan(struct provider *p, struct provider_plan *ret, struct err *err)
{
	(void)p, (void)ret;
	return err_set(err, -ENOTSUP, "this host has no plan");
}

static void destroy(struct provider *p)
{
	struct local *l = (struct local *)p;

	free(l->child);
	free(l);
}

static const struct provider_kind local_kind = {
	.name = "local",
	.limits = limits,
	.request = request,
	.cancel = cancel,
	.look = look,
	.poll = poll_children,
	.plan = plan,
	.joined = joined,
	.destroy = destroy,
};

struct provider *provider_local(const struct local_options *options)
{
	struct local *l = mem_zalloc(sizeof *l);

	*l = (struct local){.base.kind = &local_kind, .options = *options};
	l->child = mem_zalloc((size_t)options->workers * sizeof *l->child);
	return &l->base;
}
