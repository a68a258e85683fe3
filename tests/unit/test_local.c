/*
 * test_local.c - what an agent does with its machine: parts that begin, what there is, files opened
 * as a user, leases; and all that again after a restart.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/local.h"
#include "run/shepherd.h"
#include "support/nest.h"

#define PATIENCE 30000 /* ms */

/* A listener that keeps what was reported to it. */
struct ear {
	struct ear *before; /* all stay, since what a server has lasts as long as its process */
	struct nest *n;
	uv_loop_t loop;
	uv_timer_t patience;
	struct local *e;
	struct strbuf log;   /* "[started 1.1][ready 1.1]" */
	const char *awaited; /* stop when that is heard */
	struct result r;     /* result of the last part that ended */
	int fd;		     /* the last that was opened */
	char reason[512];
};

static void heard(struct ear *a, const char *what, const char *tag)
{
	strbuf_printf(&a->log, "[%s %s]", what, tag);
	if (a->awaited && strstr(a->log.text, a->awaited))
		uv_stop(&a->loop);
}

static void on_news(void *context, const struct news *n)
{
	static const char *const words[] = {[SAYS_STARTED] = "started", [SAYS_READY] = "ready", [SAYS_SAVED] = "saved",
					    [SAYS_REFUSED] = "refused", [SAYS_ENDED] = "ended", [SAYS_LOST] = "lost"};
	struct ear *a = context;

	if (n->report == SAYS_USED)
		return;
	if (n->report == SAYS_REFUSED)
		snprintf(a->reason, sizeof a->reason, "%s", n->reason ? n->reason : "");
	if (n->report == SAYS_ENDED) {
		a->r = *n->r;
		a->r.tag = a->r.reason = NULL;
	}
	heard(a, words[n->report], n->tag);
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	struct ear *a = context;
	char text[32];

	a->fd = fd;
	snprintf(a->reason, sizeof a->reason, "%s", reason ? reason : "");
	snprintf(text, sizeof text, "%llu", (unsigned long long)id);
	heard(a, "opened", text);
}

static void on_erased(void *context, const char *tag, const char *reason)
{
	struct ear *a = context;

	snprintf(a->reason, sizeof a->reason, "%s", reason ? reason : "");
	heard(a, "erased", tag);
}

static void on_failed(void *context, const char *reason)
{
	struct ear *a = context;

	snprintf(a->reason, sizeof a->reason, "%s", reason);
	heard(a, "failed", "");
}

static void on_patience(uv_timer_t *t)
{
	struct ear *a = t->data;

	fail_msg("'%s' is not heard: %s (%s)", a->awaited, strbuf_text(&a->log), a->reason);
}

static void await(struct ear *a, const char *what)
{
	a->awaited = what;
	local_flush(a->e);
	uv_timer_start(&a->patience, on_patience, PATIENCE, 0);
	if (!strstr(strbuf_text(&a->log), what))
		uv_run(&a->loop, UV_RUN_DEFAULT);
	uv_timer_stop(&a->patience);
}

/* Waits until the nursery has answered all orders: news of the shepherds may come first. */
static void answers_await(struct ear *a)
{
	for (int i = 0; i < 2000 && local_backlog(a->e) > 0; i++) {
		uv_run(&a->loop, UV_RUN_NOWAIT);
		usleep(5000);
	}
	assert_int_equal(local_backlog(a->e), 0);
}

static struct ear *ears;

static struct ear *ear_start(struct nest *n)
{
	struct ear *a = mem_zalloc(sizeof *a);
	struct local_options o = {.program = "/proc/self/exe", .live = n->live, .socket = n->socket, .cgroup = "none"};
	struct local_listener l = {
		.heard = on_news, .opened = on_opened, .erased = on_erased, .failed = on_failed, .context = a};
	struct err err;

	*a = (struct ear){.before = ears, .n = n, .fd = -1};
	ears = a;
	assert_int_equal(uv_loop_init(&a->loop), 0);
	uv_timer_init(&a->loop, &a->patience);
	a->patience.data = a;
	if (local_start(&a->loop, &o, &l, &a->e, &err))
		fail_msg("%s", err.text);
	return a;
}

/* The process that had it goes; here only its nursery does, which is what the next one waits
 * for. */
static void ear_stop(struct ear *a)
{
	local_stop(a->e);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

struct census {
	struct nest *n;
	char text[512];
};

static void item_take(void *context, const struct local_item *i)
{
	static const char *const words[] = {"never", "runs", "ended", "lost", "unknown"};
	struct census *c = context;

	assert_true((i->state == ATTEMPT_ENDED) == (i->result != NULL));
	snprintf(c->text, sizeof c->text, "%s",
		 arena_printf(c->n->a, "%s[%s %s%s]", c->text, i->tag, words[i->state], i->ready ? " ready" : ""));
}

static bool listed(struct ear *a, const char *item)
{
	struct census c = {.n = a->n};

	local_list(a->e, item_take, &c);
	return strstr(c.text, item);
}

static struct order room_order(struct nest *n, const char *tag)
{
	static struct order_host host = {"n1", "", 0, 0};
	struct order o = nest_order(n, tag, NULL);

	o.room = true;
	o.hosts = &host;
	o.nhosts = 1;
	return o;
}

static int setup(void **state)
{
	struct nest *n = nest_create("none");

	nest_stop(n);
	nest_deafen(n);
	*state = n;
	return 0;
}

static void test_rooms(void **state)
{
	struct nest *n = *state;
	struct order room = room_order(n, "1.1"), job = nest_order(n, "2.1", "exit 3");
	struct ear *a;

	a = ear_start(n);
	assert_int_equal(local_backlog(a->e), 0);
	local_order(a->e, &room);
	assert_int_equal(local_backlog(a->e), 1);
	await(a, "[ready 1.1]");
	answers_await(a);
	assert_true(listed(a, "[1.1 runs ready]"));
	local_order(a->e, &job);
	await(a, "[ended 2.1]");
	assert_int_equal(a->r.status, 3);
	for (int i = 0; i < 2000 && !listed(a, "[2.1 ended]"); i++)
		usleep(5000); /* its shepherd reports it last */
	assert_true(listed(a, "[2.1 ended]"));
	local_forget(a->e, "2.1");
	local_flush(a->e);
	for (int i = 0; i < 2000 && listed(a, "2.1"); i++)
		usleep(5000); /* the nursery removes it */
	assert_false(listed(a, "2.1"));
	ear_stop(a);

	a = ear_start(n); /* another agent: the part is still ready, and that is reported again */
	assert_true(listed(a, "[1.1 runs ready]"));
	assert_int_equal(local_attach(a->e, "1.1"), ATTEMPT_RUNS);
	await(a, "[ready 1.1]");
	local_signal(a->e, "1.1", SIGTERM);
	await(a, "[ended 1.1]");
	assert_true(a->r.how == RESULT_EXITED && a->r.cause == CAUSE_ORDERED);
	ear_stop(a);
}

static void test_lost(void **state)
{
	struct nest *n = *state;
	struct order room = room_order(n, "1.1");
	struct result r;
	struct ear *a;
	pid_t pid;

	a = ear_start(n);
	local_order(a->e, &room);
	await(a, "[ready 1.1]");
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), LIVE_RUNNING);
	kill(pid, SIGKILL);
	await(a, "[lost 1.1]");
	assert_true(listed(a, "[1.1 lost]"));
	local_forget(a->e, "1.1");
	assert_false(listed(a, "1.1"));

	local_order(a->e, &(struct order){.id = "x", .tag = "2.1", .user = n->user});
	await(a, "[refused 2.1]");
	answers_await(a);
	ear_stop(a);
}

/* The only child that is not a shepherd. */
static pid_t nursery_of_ours(void)
{
	char path[64];
	int pid = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

/* A signal that the nursery had not read when it was killed is sent by the next one. */
static void test_signal_kept(void **state)
{
	struct nest *n = *state;
	struct order room = room_order(n, "1.1");
	struct ear *a = ear_start(n);
	pid_t pid;

	local_order(a->e, &room);
	await(a, "[ready 1.1]");
	pid = nursery_of_ours();
	kill(pid, SIGSTOP);
	local_signal(a->e, "1.1", SIGTERM);
	local_flush(a->e);
	kill(pid, SIGKILL);
	await(a, "[ended 1.1]");
	assert_true(a->r.how == RESULT_EXITED && a->r.cause == CAUSE_ORDERED);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* it was waited for */
	ear_stop(a);
}

/* a file in the environment: the nursery that removes it dies at its start; "always": each does */
#define DIES "TEST_NURSERY_DIES"

/* The next nursery is killed as well, while it starts. */
static void test_killed_twice(void **state)
{
	struct nest *n = *state;
	struct order room = room_order(n, "1.1");
	struct ear *a = ear_start(n);
	char path[256];

	local_order(a->e, &room);
	await(a, "[ready 1.1]");
	snprintf(path, sizeof path, "%s/dies", n->dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	setenv(DIES, path, 1);
	kill(nursery_of_ours(), SIGKILL);
	local_signal(a->e, "1.1", SIGTERM);
	local_flush(a->e);
	await(a, "[ended 1.1]");
	unsetenv(DIES);
	assert_int_equal(access(path, F_OK), -1);
	ear_stop(a);
}

/* No nursery can be started again. To stop then leaves other sockets alone, of which one has the
 * number of the lost nursery's. */
static void test_killed_always(void **state)
{
	struct ear *a = ear_start(*state);
	int pairs[8][2];

	setenv(DIES, "always", 1);
	kill(nursery_of_ours(), SIGKILL);
	await(a, "[failed ]");
	unsetenv(DIES);
	assert_non_null(strstr(a->reason, "the nursery ended without a message"));
	for (int i = 0; i < 8; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]), 0);
	ear_stop(a);
	for (int i = 0; i < 8; i++)
		for (int end = 0; end < 2; end++)
			assert_int_equal(send(pairs[i][end], "x", 1, MSG_NOSIGNAL), 1);
	for (int i = 0; i < 16; i++)
		close(pairs[i / 2][i % 2]);
}

static void opened(struct ear *a, const char *path, int flags, int mode, const char *reason)
{
	struct nest *n = a->n;

	strbuf_clear(&a->log);
	local_open(a->e, 9, n->uid, n->gid, n->user, path, flags, mode);
	await(a, "[opened 9]");
	if (!reason != !a->reason[0] || (reason && !strstr(a->reason, reason)))
		fail_msg("%s: '%s', not '%s'", path, a->reason, reason ? reason : "");
	assert_true((a->fd >= 0) == !reason);
}

static void test_open(void **state)
{
	struct nest *n = *state;
	const int make = O_WRONLY | O_CREAT;
	char *mine = nest_path(n, "mine"), *roots = arena_printf(n->a, "%s/roots", n->dir);
	struct stat st;
	struct ear *a;

	a = ear_start(n);
	opened(a, mine, O_RDONLY, 0, "No such file");
	opened(a, mine, make | O_EXCL, 0664, NULL);
	assert_int_equal(write(a->fd, "one\n", 4), 4);
	assert_int_equal(fstat(a->fd, &st), 0);
	assert_true(st.st_uid == n->uid && (st.st_mode & 07777) == 0664);
	close(a->fd);
	opened(a, mine, make | O_EXCL, 0600, "File exists");
	opened(a, mine, make | O_APPEND, 0600, NULL);
	assert_int_equal(write(a->fd, "two\n", 4), 4);
	close(a->fd);
	assert_string_equal(nest_read(n, mine), "one\ntwo\n");
	opened(a, mine, make | O_TRUNC, 0600, NULL);
	close(a->fd);
	assert_string_equal(nest_read(n, mine), "");

	opened(a, mine, O_RDWR | O_CREAT, 0, "in no other way");
	opened(a, mine, O_RDONLY | O_CREAT, 0, "in no other way");
	opened(a, nest_path(n, ""), O_RDONLY, 0, "is not a file");
	assert_int_equal(mkfifo(nest_path(n, "pipe"), 0666) || chmod(nest_path(n, "pipe"), 0666), 0);
	opened(a, nest_path(n, "pipe"), O_RDONLY, 0, "is not a file"); /* and nobody waits for its other end */
	if (geteuid() == 0) {
		nest_write(n, roots, "root's", 6, 0644);
		opened(a, roots, O_RDONLY, 0, NULL);
		close(a->fd);
		opened(a, roots, O_WRONLY, 0, "Permission denied");
		opened(a, arena_printf(n->a, "%s/new", n->dir), make, 0600, "Permission denied");
		assert_int_equal(symlink(roots, nest_path(n, "link")), 0);
		opened(a, nest_path(n, "link"), O_WRONLY | O_TRUNC, 0, "Permission denied");
		assert_string_equal(nest_read(n, roots), "root's");
	}
	ear_stop(a);
}

/* Checkpoints are deleted with their user's rights, and the answer comes also if the nursery is
 * lost. */
static void test_erase(void **state)
{
	struct nest *n = *state;
	const struct nursery_user who = {n->uid, n->gid, n->user};
	char *mine = nest_path(n, "saves"), *roots = arena_printf(n->a, "%s/roots", n->dir);
	struct ear *a = ear_start(n);

	assert_int_equal(mkdir(mine, 0755) || chown(mine, n->uid, n->gid), 0);
	nest_write(n, nest_path(n, "saves/1"), "x", 1, 0644);
	local_erase(a->e, "1.1", &who, mine);
	await(a, "[erased 1.1]");
	assert_string_equal(a->reason, "");
	assert_int_equal(access(mine, F_OK), -1);
	if (geteuid() == 0) {
		assert_int_equal(mkdir(roots, 0755), 0);
		local_erase(a->e, "2.1", &who, roots);
		await(a, "[erased 2.1]");
		assert_non_null(strstr(a->reason, "Permission denied"));
		assert_int_equal(access(roots, F_OK), 0);
	}
	kill(nursery_of_ours(), SIGSTOP);
	local_erase(a->e, "3.1", &who, mine);
	local_flush(a->e);
	kill(nursery_of_ours(), SIGKILL);
	await(a, "[erased 3.1]");
	assert_string_equal(a->reason, "the nursery was lost meanwhile");
	ear_stop(a);
}

static void test_lease(void **state)
{
	struct nest *n = *state;
	struct order room = room_order(n, "1.1"), old = room_order(n, "2.1");
	struct ear *a;

	a = ear_start(n);
	local_lease(a->e, boot_us() - 60 * INT64_C(1000000), true); /* suspended: how old it is does not matter */
	room.lease = old.lease = 20;
	local_order(a->e, &room);
	await(a, "[ready 1.1]");
	local_lease(a->e, boot_us() - 60 * INT64_C(1000000), false);
	local_order(a->e, &old);
	await(a, "[ended 2.1]");
	assert_true(a->r.how == RESULT_NOT_STARTED && a->r.cause == CAUSE_LEASE);
	await(a, "[ended 1.1]"); /* which sees it when it looks next */
	assert_int_equal(a->r.cause, CAUSE_LEASE);
	ear_stop(a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {TEST(test_rooms),	  TEST(test_lost),	    TEST(test_signal_kept),
					 TEST(test_killed_twice), TEST(test_killed_always), TEST(test_open),
					 TEST(test_lease),	  TEST(test_erase)};

	return cmocka_run_group_tests_name("local", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	const char *dies = getenv(DIES);

	if (dies && (strcmp(dies, "always") == 0 || unlink(dies) == 0))
		raise(SIGKILL);
	return nest_main(argc, argv, tests);
}
