/*
 * ssh.c - hosts that are reached by ssh: runs one command on each, whose key comes on standard
 * input and is never on a command line.
 *
 * A host has no queue and no end: a request takes the next free host, until its ssh ends. A host
 * whose ssh ends before anything has joined from it is left alone for a while, longer each time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bag/own.h"
#include "bag/provider.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/text.h"

enum {
	PAUSE_MOST = 600,
	PATIENCE = 12,	      /* limit for joining, in multiples of the pace */
	REQUESTS_MOST = 9999, /* maximum requests of a run */
};

struct host {
	const char *name;     /* its name in the list */
	int request;	      /* request that uses it; 0: none */
	int64_t pause, until; /* after a session: seconds, and when they are over by provider_now() */
};

struct session {
	struct provider_request r;
	struct host *host;
	pid_t pid; /* 0: it is not running */
	int output;
	int64_t began; /* by provider_now() */
};

struct ssh {
	struct provider base;
	struct provider_user user;
	name_list names;
	struct host *host; /* array of names.n */
	VEC(struct session) all;
	int64_t now; /* at the last poll(), by provider_now() */
};

static void path_of(const struct ssh *s, int id, struct strbuf *ret)
{
	const char *name = strchr(s->user.tag, ':');

	strbuf_printf(ret, "%s/%s-%d.key", s->user.dir, name ? name + 1 : s->user.tag, id);
}

static void limits(struct provider *p, struct provider_limits *ret)
{
	const struct ssh *s = (const struct ssh *)p;

	*ret = (struct provider_limits){.processors = 1, .seconds = -1, .hosts = (int64_t)s->names.n};
	for (size_t i = 0; i < s->names.n; i++)
		ret->used += s->host[i].request != 0;
	for (size_t i = 0; i < s->names.n; i++)
		ret->pending += !s->host[i].request && s->now >= s->host[i].until;
}

static bool over(const struct session *x)
{
	return x->r.state == REQUEST_ENDED || x->r.state == REQUEST_FAILED;
}

/* Ends a session. `why`: the reason; NULL: none, or it was wanted. */
static void session_end(struct ssh *s, struct session *x, enum request_fate fate, const char *why)
{
	struct strbuf path = {0}, text = {0};
	struct host *h = x->host;

	if (over(x))
		return;
	x->r.state = why && !x->r.joined ? REQUEST_FAILED : REQUEST_ENDED;
	x->r.ended = (int64_t)time(NULL);
	x->r.fate = fate;
	s->user.over(s->user.arg, x->r.id);
	path_of(s, x->r.id, &path);
	unlink(path.text);
	h->request = 0;
	h->pause = x->r.joined ? s->user.pace : h->pause ? h->pause * 2 : s->user.pace;
	h->pause = h->pause > PAUSE_MOST ? PAUSE_MOST : h->pause;
	h->until = s->now + h->pause;
	if (why) {
		snprintf(x->r.failure, sizeof x->r.failure, "%s", why);
		strbuf_printf(&text, "ssh: %s: %s; it is tried again in %" PRId64 " s at the earliest", h->name, why,
			      h->pause);
		s->user.warn(s->user.arg, text.text);
	}
	strbuf_fini(&path);
	strbuf_fini(&text);
}

static int start(struct ssh *s, struct session *x, struct err *err)
{
	struct strbuf path = {0}, remote = {0}, command = {0};
	char here[4096], wait[48];
	int key = -1;

	path_of(s, x->r.id, &path);
	int rc = s->user.prepare(s->user.arg, &x->r, 1, path.text, &command, err);
	if (rc == 0 && getcwd(here, sizeof here)) {
		strbuf_puts(&remote, "cd ");
		text_quote(here, &remote);
		strbuf_puts(&remote, " 2>/dev/null\n");
	}
	strbuf_puts(&remote, "SHUNT_KEY=- SHUNT_NODE=0 SHUNT_CPUS= SHUNT_END= SHUNT_ALLOCATION=");
	text_quote(x->host->name, &remote);
	strbuf_printf(&remote, "\nexport SHUNT_KEY SHUNT_NODE SHUNT_CPUS SHUNT_END SHUNT_ALLOCATION\n%s",
		      strbuf_text(&command));
	snprintf(wait, sizeof wait, "-oConnectTimeout=%" PRId64, PATIENCE * s->user.pace);
	char *words[] = {"ssh", "-oBatchMode=yes", wait, "-T", "--", (char *)(uintptr_t)x->host->name, remote.text,
			 NULL};
	if (rc == 0) {
		key = open(path.text, O_RDONLY | O_CLOEXEC);
		x->output = memfd_create("output", MFD_CLOEXEC);
		rc = key < 0 || x->output < 0 ? -errno : 0;
		pid_t pid = rc < 0 ? rc : own_start("ssh", words, key, x->output);
		rc = pid < 0 ? err_set(err, (int)pid, "can't be started: %s", strerror((int)-pid)) : 0;
		x->pid = pid > 0 ? pid : 0;
	}
	if (key >= 0)
		close(key);
	strbuf_fini(&path);
	strbuf_fini(&remote);
	strbuf_fini(&command);
	return rc;
}

static int request(struct provider *p, int64_t processors, int64_t seconds, struct err *err)
{
	struct ssh *s = (struct ssh *)p;
	int64_t now = (int64_t)time(NULL);

	(void)seconds;
	for (size_t i = 0; i < s->names.n; i++) {
		struct host *h = &s->host[i];
		if (h->request || s->now < h->until || s->all.n >= REQUESTS_MOST)
			continue;
		struct session x = {.r = {.id = (int)s->all.n + 1,
					  .state = REQUEST_RUNNING,
					  .processors = processors,
					  .seconds = -1,
					  .submitted = now,
					  .started = now},
				    .host = h,
				    .output = -1,
				    .began = s->now};
		snprintf(x.r.name, sizeof x.r.name, "%s", h->name);
		h->request = x.r.id;
		vec_push(&s->all, x);
		struct session *new = &s->all.v[s->all.n - 1];
		struct err why;
		if (start(s, new, &why) < 0)
			session_end(s, new, FATE_TAKEN, why.text);
		return new->r.id;
	}
	return err_set(err, -EAGAIN, "no host is free");
}

static void output_last(int fd, char *ret, size_t size)
{
	char text[4096];
	off_t end = lseek(fd, 0, SEEK_END);
	ssize_t n = pread(fd, text, sizeof text - 1, end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0);

	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		text[--n] = '\0';
	const char *line = strrchr(text, '\n');
	snprintf(ret, size, "%.200s", *text ? (line ? line + 1 : text) : "it ended without a message");
	for (char *c = ret; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
}

static void poll_all(struct provider *p, int64_t now)
{
	struct ssh *s = (struct ssh *)p;

	s->now = now;
	for (size_t i = 0; i < s->all.n; i++) {
		struct session *x = &s->all.v[i];
		char why[256];
		int status = -1;
		if (!x->pid)
			continue;
		if (!own_ended(x->pid, &status)) {
			if (over(x) || (!x->r.joined && now - x->began > PATIENCE * s->user.pace))
				kill(-x->pid, SIGKILL);
			continue;
		}
		x->pid = 0;
		output_last(x->output, why, sizeof why);
		close(x->output);
		/* ssh itself ends with 255 when the connection is lost */
		bool ended = WIFEXITED(status) && WEXITSTATUS(status) != 255;
		session_end(s, x, ended ? FATE_ENDED : FATE_TAKEN, ended && WEXITSTATUS(status) == 0 ? NULL : why);
	}
}

static void cancel(struct provider *p, int id)
{
	struct ssh *s = (struct ssh *)p;

	if (id >= 1 && (size_t)id <= s->all.n) {
		session_end(s, &s->all.v[id - 1], FATE_TAKEN, NULL);
		poll_all(p, s->now);
	}
}

static bool look(struct provider *p, int id, struct provider_request *ret)
{
	const struct ssh *s = (const struct ssh *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return false;
	*ret = s->all.v[id - 1].r;
	return true;
}

static int plan(struct provider *p, struct provider_plan *ret, struct err *err)
{
	(void)p, (void)ret;
	return err_set(err, -ENOTSUP, "hosts have no plan");
}

static void joined(struct provider *p, int id)
{
	struct ssh *s = (struct ssh *)p;

	if (id >= 1 && (size_t)id <= s->all.n) {
		s->all.v[id - 1].r.joined = true;
		s->all.v[id - 1].host->pause = 0;
	}
}

static void destroy(struct provider *p)
{
	struct ssh *s = (struct ssh *)p;
	int status;

	for (size_t i = 0; i < s->all.n; i++) {
		struct session *x = &s->all.v[i];
		session_end(s, x, FATE_TAKEN, NULL);
		if (!x->pid)
			continue;
		kill(-x->pid, SIGTERM);
		for (int k = 0; k < 1000 && !own_ended(x->pid, &status); k++) {
			if (k == 500)
				kill(-x->pid, SIGKILL);
			usleep(1000);
		}
		close(x->output);
	}
	vec_free(&s->all);
	free(s->host);
	name_list_free(&s->names);
	free(s);
}

static const struct provider_kind ssh_kind = {
	.name = "ssh",
	.limits = limits,
	.request = request,
	.cancel = cancel,
	.look = look,
	.poll = poll_all,
	.plan = plan,
	.joined = joined,
	.destroy = destroy,
};

struct provider *provider_ssh(const char *hosts, const struct provider_user *user, struct err *err)
{
	name_list names = {0};

	if (hostlist_parse(hosts, &names, err) < 0) {
		err_prefix(err, 0, "ssh:%.100s", hosts);
		return NULL;
	}
	if (names.n == 0 || names.n > SSH_HOSTS_MOST) {
		err_set(err, -EINVAL, "ssh:%.100s: must name 1 to %d hosts", hosts, SSH_HOSTS_MOST);
		name_list_free(&names);
		return NULL;
	}
	struct ssh *s = mem_zalloc(sizeof *s);
	*s = (struct ssh){.base.kind = &ssh_kind, .user = *user, .names = names};
	s->host = mem_zalloc(names.n * sizeof *s->host);
	for (size_t i = 0; i < names.n; i++)
		s->host[i].name = names.v[i];
	return &s->base;
}
