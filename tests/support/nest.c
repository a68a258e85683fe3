/*
 * nest.c - a nursery for tests.
 */
#include "support/nest.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/unixsock.h"
#include "run/message.h"
#include "run/tree.h"

#define PATIENCE 30000 /* ms */

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* ---- creating and removing it ---- */

struct nest *nest_create(const char *cgroup)
{
	struct nest *n = mem_zalloc(sizeof *n);
	struct passwd *pw = geteuid() == 0 ? getpwnam("nobody") : getpwuid(geteuid());

	assert_non_null(pw);
	*n = (struct nest){
		.dir = "/tmp/shunt-run-XXXXXX", .cgroup = cgroup, .uid = pw->pw_uid, .gid = pw->pw_gid, .results = -1};
	n->a = arena_create();
	n->user = arena_strndup(n->a, pw->pw_name, strlen(pw->pw_name));
	n->nursery.fd = -1;
	assert_non_null(mkdtemp(n->dir));
	assert_int_equal(chmod(n->dir, 0711), 0);
	snprintf(n->live, sizeof n->live, "%s/live", n->dir);
	snprintf(n->work, sizeof n->work, "%s/work", n->dir);
	snprintf(n->spare, sizeof n->spare, "%s/spare", n->dir);
	snprintf(n->socket, sizeof n->socket, "%s/results", n->dir);
	assert_int_equal(mkdir(n->live, 0700), 0);
	assert_int_equal(mkdir(n->work, 0755), 0);
	assert_int_equal(mkdir(n->spare, 0711), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(n->work, n->uid, n->gid), 0);
	nest_listen(n);
	nest_start(n);
	return n;
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

void nest_destroy(struct nest *n)
{
	nest_stop(n);
	nest_deafen(n);
	nftw(n->dir, entry_remove, 32, FTW_DEPTH | FTW_PHYS);
	vec_free(&n->answers);
	vec_free(&n->got);
	vec_free(&n->ready);
	vec_free(&n->saved);
	for (size_t i = 0; i < n->fds.n; i++)
		close(n->fds.v[i]);
	vec_free(&n->fds);
	strbuf_fini(&n->in);
	arena_destroy(n->a);
	free(n);
}

int nest_setup(void **state)
{
	*state = nest_create("none");
	return 0;
}

struct census {
	struct nest *n;
	int running;
	bool end; /* end them */
};

static void census_take(void *context, const char *tag)
{
	struct census *c = context;
	struct result r;
	pid_t pid;

	if (live_look(c->n->live, tag, c->n->a, &r, &pid) != LIVE_RUNNING)
		return;
	c->running++;
	if (c->end && pid > 0)
		kill(pid, SIGTERM); /* a shepherd then ends its job */
}

/* Returns how many still run after a few seconds. */
static int census_await(struct nest *n, bool end)
{
	struct census c = {0};

	for (int turn = 0; turn < 1000; turn++) {
		c = (struct census){.n = n, .end = end && turn == 0};
		live_list(n->live, census_take, &c, NULL);
		if (!c.running)
			break;
		nap();
	}
	return c.running;
}

int nest_teardown(void **state)
{
	int running = census_await(*state, false);

	if (running)
		census_await(*state, true);
	nest_destroy(*state);
	assert_int_equal(running, 0);
	return 0;
}

/* ---- the nursery and its results ---- */

void nest_listen(struct nest *n)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	strcpy(at.sun_path, n->socket);
	n->results = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(n->results, (struct sockaddr *)&at, sizeof at), 0);
}

void nest_deafen(struct nest *n)
{
	if (n->results >= 0)
		close(n->results);
	n->results = -1;
	unlink(n->socket);
}

void nest_start(struct nest *n)
{
	struct nursery_options o = {
		.live = n->live, .socket = n->socket, .cgroup = n->cgroup, .root_jobs = n->root_jobs};
	struct err err;

	if (nursery_start("/proc/self/exe", &o, PATIENCE, &n->nursery, &err))
		fail_msg("%s", err.text);
}

void nest_stop(struct nest *n)
{
	int status;

	if (n->nursery.fd < 0)
		return;
	close(n->nursery.fd);
	n->nursery.fd = -1;
	strbuf_clear(&n->in);
	assert_int_equal(waitpid(n->nursery.pid, &status, 0), n->nursery.pid);
	assert_int_equal(status, 0);
}

void nest_kill(struct nest *n)
{
	kill(n->nursery.pid, SIGKILL);
	waitpid(n->nursery.pid, NULL, 0);
	close(n->nursery.fd);
	n->nursery.fd = -1;
	strbuf_clear(&n->in);
}

void nest_frames(struct nest *n, struct strbuf *out)
{
	for (size_t done = 0; done < out->n;) {
		ssize_t sent = send(n->nursery.fd, out->text + done, out->n - done, MSG_NOSIGNAL);
		if (sent < 0)
			poll(&(struct pollfd){.fd = n->nursery.fd, .events = POLLOUT}, 1, PATIENCE);
		else
			done += (size_t)sent;
	}
	strbuf_fini(out);
}

void nest_send(struct nest *n, const struct order *o)
{
	struct strbuf out = {0};

	nursery_order(o, &out);
	nest_frames(n, &out);
}

void nest_signal(struct nest *n, const char *tag, int signal)
{
	struct strbuf out = {0};

	nursery_signal(tag, signal, &out);
	nest_frames(n, &out);
}

void nest_limit(struct nest *n, const char *tag, int64_t walltime)
{
	nest_signal(n, tag, walltime_word(walltime));
}

void nest_save(struct nest *n, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	nest_signal(n, tag, save_word(cause, seconds));
}

/* A result that the nursery passes on is also the end of the shepherd's attempt. */
static struct answer frame_read(struct nest *n, char kind, const char *text, size_t length)
{
	struct answer a;
	struct result r;

	if (kind != FRAME_RESULT) {
		assert_int_equal(answer_read(text, length, n->a, &a, NULL), 0);
		return a;
	}
	assert_int_equal(result_read(text, length, n->a, &r, NULL), 0);
	vec_push(&n->got, r);
	return (struct answer){.type = ANSWER_DIED, .tag = r.tag};
}

static void answers_take(struct nest *n)
{
	char buf[4096], kind;
	const char *text;
	size_t length;
	int fd;
	size_t nfds;
	ssize_t got = unix_receive(n->nursery.fd, buf, sizeof buf, &fd, 1, &nfds, 0), took;

	assert_true(got > 0);
	if (nfds)
		vec_push(&n->fds, fd);
	strbuf_add(&n->in, buf, (size_t)got);
	while ((took = message_next(n->in.text, n->in.n, &kind, &text, &length)) > 0) {
		vec_push(&n->answers, frame_read(n, kind, text, length));
		memmove(n->in.text, n->in.text + took, n->in.n - (size_t)took);
		n->in.n -= (size_t)took;
	}
	assert_true(took == 0);
}

static void results_take(struct nest *n)
{
	static char buf[65536];
	ssize_t got = recv(n->results, buf, sizeof buf, MSG_DONTWAIT);
	struct result r;

	assert_true(got > 0);
	assert_int_equal(result_read(buf, (size_t)got, n->a, &r, NULL), 0);
	if (r.how == RESULT_RUNS)
		n->used = r;
	else if (r.ready)
		vec_push(&n->ready, r);
	else if (r.saved)
		vec_push(&n->saved, r);
	else
		vec_push(&n->got, r);
}

static void turn(struct nest *n, const char *what, const char *tag)
{
	struct pollfd fds[] = {{.fd = n->nursery.fd, .events = POLLIN}, {.fd = n->results, .events = POLLIN}};

	if (poll(fds, 2, PATIENCE) <= 0)
		fail_msg("no %s of %s", what, tag);
	if (fds[0].revents)
		answers_take(n);
	if (fds[1].revents)
		results_take(n);
}

struct answer nest_answer(struct nest *n, enum answer_type type, const char *tag)
{
	for (;;) {
		for (size_t i = 0; i < n->answers.n; i++) {
			struct answer a = n->answers.v[i];
			if (a.type == type && (!tag || (a.tag && !strcmp(a.tag, tag)))) {
				vec_remove(&n->answers, i);
				return a;
			}
			if (type != ANSWER_REFUSED && a.type == ANSWER_REFUSED)
				fail_msg("%s", a.reason);
		}
		turn(n, "answer", tag ? tag : "");
	}
}

struct saves nest_saved(struct nest *n, const char *tag, enum save_state state)
{
	for (;;) {
		while (n->saved.n) {
			struct result r = n->saved.v[0];
			vec_remove(&n->saved, 0);
			if (!strcmp(r.tag, tag) && r.saves.state == state)
				return r.saves;
		}
		turn(n, "checkpoint", tag);
	}
}

struct result nest_result(struct nest *n, const char *tag)
{
	for (;;) {
		for (size_t i = 0; i < n->got.n; i++) {
			struct result r = n->got.v[i];
			if (!strcmp(r.tag, tag)) {
				vec_remove(&n->got, i);
				return r;
			}
		}
		turn(n, "result", tag);
	}
}

void nest_ready(struct nest *n, const char *tag)
{
	for (;;) {
		for (size_t i = 0; i < n->ready.n; i++)
			if (!strcmp(n->ready.v[i].tag, tag)) {
				vec_remove(&n->ready, i);
				return;
			}
		turn(n, "word that it is ready", tag);
	}
}

struct result nest_run(struct nest *n, const struct order *o)
{
	nest_send(n, o);
	nest_answer(n, ANSWER_STARTED, o->tag);
	struct result r = nest_result(n, o->tag);
	assert_int_equal(nest_answer(n, ANSWER_DIED, o->tag).pid, 0);
	return r;
}

/* ---- orders and files ---- */

char *nest_path(struct nest *n, const char *name)
{
	return arena_printf(n->a, "%s/%s", n->work, name);
}

struct order nest_order(struct nest *n, const char *tag, const char *script)
{
	static char *env[] = {"PATH=/usr/bin:/bin", NULL}, *argv[] = {NULL};
	char *path = arena_printf(n->a, "%s/%s.sh", n->work, tag);

	if (script)
		nest_write(n, path, script, strlen(script), 0644);
	return (struct order){.id = arena_printf(n->a, "%s.host", tag),
			      .tag = tag,
			      .uid = n->uid,
			      .gid = n->gid,
			      .user = n->user,
			      .home = n->work,
			      .shell = "/bin/sh",
			      .script = script ? path : NULL,
			      .argv = argv,
			      .env = env,
			      .workdir = n->work,
			      .out = arena_printf(n->a, "%s/%s.out", n->work, tag),
			      .err = arena_printf(n->a, "%s/%s.err", n->work, tag),
			      .spare = n->spare,
			      .umask = -1,
			      .walltime = -1,
			      .grace = 10};
}

struct result nest_script(struct nest *n, const char *tag, const char *script)
{
	struct order o = nest_order(n, tag, script);

	return nest_run(n, &o);
}

char *nest_read(struct nest *n, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct strbuf b = {0};
	char part[4096];

	if (fd < 0)
		return NULL;
	for (ssize_t got; (got = read(fd, part, sizeof part)) > 0;)
		strbuf_add(&b, part, (size_t)got);
	close(fd);
	char *text = arena_strndup(n->a, strbuf_text(&b), b.n);
	strbuf_fini(&b);
	return text;
}

void nest_write(struct nest *n, const char *path, const char *text, size_t size, int mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(fchmod(fd, (mode_t)mode), 0);
	close(fd);
}

void nest_await(struct nest *n, const char *path)
{
	for (int i = 0; i < PATIENCE / 5; i++) {
		struct stat st;
		if (stat(path, &st) == 0 && st.st_size > 0)
			return;
		nap();
	}
	fail_msg("%s does not come", path);
}

bool nest_alive(pid_t pid)
{
	char path[32], text[512] = "";

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	char *state = got > 0 ? strrchr(text, ')') : NULL;
	return state && state[2] != 'Z' && state[2] != 'X';
}

void nest_await_dead(pid_t pid)
{
	assert_true(pid > 0);
	for (int i = 0; i < PATIENCE / 5 && nest_alive(pid); i++)
		nap();
	assert_false(nest_alive(pid));
}

void nest_ends(struct result r, enum result_how how, int status, enum result_cause cause, int line)
{
	if (r.how != how || r.status != status || r.cause != cause)
		fail_msg("line %d: how %d, status %d, cause %d: %s", line, r.how, r.status, r.cause,
			 r.reason ? r.reason : "");
}

void contains(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' does not contain '%s'", text ? text : "(nothing)", part);
}

int nest_main(int argc, char **argv, int (*tests)(void))
{
	if (argc > 1 && !strcmp(argv[1], "--nursery"))
		return nursery_command(argc, argv);
	/* A leak check takes seconds on some machines, and every nursery is a process. One test
	 * requests it. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	signal(SIGPIPE, SIG_IGN);
	return tests();
}
