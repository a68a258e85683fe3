/*
 * lookups.c - see lookups.h.
 */
#include "run/lookups.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "run/identity.h"
#include "run/lease.h"

#define AT_ONCE 32 /* maximum processes at once */
/* microseconds that a nursery waits for lookups after its server is gone */
#define FINISH_US INT64_C(2000000)
/* microseconds until a lookup is killed and the frames waiting for it are refused */
#define PATIENCE_US INT64_C(30000000)

struct parked {
	char *tag, *text; /* tag: "" if none */
	size_t n;
	char kind;
};

struct lookup {
	char *user;
	pid_t pid; /* 0: waits for other lookups to end */
	int fd;
	int64_t until; /* boot_us() */
	struct strbuf in;
	VEC(struct parked) parked;
};

static struct lookup *lookup_find(const struct lookups *l, const char *user)
{
	for (size_t i = 0; i < l->list.n; i++)
		if (strcmp(l->list.v[i]->user, user) == 0)
			return l->list.v[i];
	return NULL;
}

static void lookup_free(struct lookup *k)
{
	for (size_t i = 0; i < k->parked.n; i++) {
		free(k->parked.v[i].tag);
		free(k->parked.v[i].text);
	}
	vec_free(&k->parked);
	strbuf_fini(&k->in);
	free(k->user);
	free(k);
}

/* ---- the process ---- */

static _Noreturn void child_run(const char *user, int fd)
{
	struct strbuf out = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no one else would end it */
	identity_look(user, &out);
	fd_write(fd, out.text, out.n);
	_exit(0);
}

/* Returns false if no process can be forked; the caller tries again. */
static bool lookup_start(struct lookups *l, struct lookup *k)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		l->child(l->context);
		child_run(k->user, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return false;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	k->pid = pid;
	k->fd = fds[0];
	k->until = boot_us() + PATIENCE_US;
	return true;
}

static size_t running(const struct lookups *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->list.n; i++)
		n += l->list.v[i]->pid != 0;
	return n;
}

/* Starts lookups, oldest first. */
static void lookups_go(struct lookups *l)
{
	size_t n = running(l);

	for (size_t i = 0; i < l->list.n && n < AT_ONCE; i++)
		if (!l->list.v[i]->pid) {
			if (!lookup_start(l, l->list.v[i]))
				break;
			n++;
		}
}

static struct lookup *lookup_get(struct lookups *l, const char *user)
{
	struct lookup *k = lookup_find(l, user);

	if (k)
		return k;
	k = mem_zalloc(sizeof *k);
	k->user = mem_strdup(user);
	k->fd = -1;
	k->until = boot_us() + PATIENCE_US;
	vec_push(&l->list, k);
	lookups_go(l);
	return k;
}

/* ---- frames ---- */

static void frame_park(struct lookup *k, const char *tag, char kind, const char *text, size_t n)
{
	struct parked p = {.tag = mem_strdup(tag ? tag : ""), .text = mem_alloc(n + 1), .n = n, .kind = kind};

	memcpy(p.text, text, n);
	vec_push(&k->parked, p);
}

void lookups_refresh(struct lookups *l, const char *user)
{
	lookup_get(l, user);
}

void lookups_park(struct lookups *l, const char *user, const char *tag, char kind, const char *text, size_t n)
{
	frame_park(lookup_get(l, user), tag, kind, text, n);
}

bool lookups_follow(struct lookups *l, const char *tag, char kind, const char *text, size_t n)
{
	for (size_t i = 0; i < l->list.n; i++)
		for (size_t p = 0; p < l->list.v[i]->parked.n; p++)
			if (strcmp(l->list.v[i]->parked.v[p].tag, tag) == 0) {
				frame_park(l->list.v[i], tag, kind, text, n);
				return true;
			}
	return false;
}

/* ---- answers ---- */

int lookups_fds(const struct lookups *l, pollfd_vec *fds)
{
	int64_t first = INT64_MAX, now = boot_us();

	for (size_t i = 0; i < l->list.n; i++) {
		const struct lookup *k = l->list.v[i];
		if (k->pid)
			vec_push(fds, ((struct pollfd){.fd = k->fd, .events = POLLIN}));
		if (k->until < first)
			first = k->until;
	}
	return first == INT64_MAX ? -1 : first <= now ? 0 : (int)((first - now) / 1000 + 1);
}

/* Returns true when it has ended, with or without an answer. */
static bool lookup_read(struct lookup *k)
{
	char part[4096];
	ssize_t n = 0;

	while (k->pid && (n = read(k->fd, part, sizeof part)) > 0)
		strbuf_add(&k->in, part, (size_t)n);
	if (k->pid && n == 0)
		return true;
	if (boot_us() < k->until)
		return false;
	if (k->pid)
		kill(k->pid, SIGKILL);
	strbuf_clear(&k->in);
	return true;
}

static void lookup_end(struct lookups *l, size_t at)
{
	struct lookup *k = l->list.v[at];

	vec_remove(&l->list, at);
	if (k->fd >= 0)
		close(k->fd);
	identity_keep(k->user, strbuf_text(&k->in), k->in.n);
	lookups_go(l);
	for (size_t i = 0; i < k->parked.n; i++)
		l->unpark(l->context, k->parked.v[i].kind, k->parked.v[i].text, k->parked.v[i].n);
	lookup_free(k);
}

void lookups_turn(struct lookups *l)
{
	for (size_t i = 0; i < l->list.n;)
		if (lookup_read(l->list.v[i]))
			lookup_end(l, i); /* the entries behind it move up */
		else
			i++;
	lookups_go(l);
}

void lookups_finish(struct lookups *l)
{
	int64_t until = boot_us() + FINISH_US;
	pollfd_vec fds = {0};

	while (l->list.n && boot_us() < until) {
		vec_clear(&fds);
		lookups_fds(l, &fds);
		poll(fds.v, fds.n, 50);
		lookups_turn(l);
	}
	vec_free(&fds);
}

void lookups_fini(struct lookups *l)
{
	for (size_t i = 0; i < l->list.n; i++) {
		if (l->list.v[i]->pid)
			kill(l->list.v[i]->pid, SIGKILL);
		if (l->list.v[i]->fd >= 0)
			close(l->list.v[i]->fd);
		lookup_free(l->list.v[i]);
	}
	vec_free(&l->list);
}
