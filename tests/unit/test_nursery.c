/*
 * test_nursery.c - what happens when server, nursery or shepherd die, and what the nursery refuses.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/cgroup.h"
#include "run/lease.h"
#include "run/share.h"
#include "support/nest.h"
#include "support/skip.h"

static struct result await_ended(struct nest *n, const char *tag)
{
	struct result r;
	pid_t pid;

	for (int i = 0; i < 6000; i++) {
		if (live_look(n->live, tag, n->a, &r, &pid) == LIVE_ENDED)
			return r;
		usleep(5000);
	}
	fail_msg("%s does not end", tag);
	return r;
}

static void test_refused(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo once >>log");
	struct strbuf out = {0};

	nest_run(n, &o);
	nest_send(n, &o); /* the attempt has been made */
	contains(nest_answer(n, ANSWER_REFUSED, "1.1").reason, "started already");
	assert_string_equal(nest_read(n, nest_path(n, "log")), "once\n");

	o = nest_order(n, "2.1", "exit 0");
	o.out = "relative";
	nest_send(n, &o);
	contains(nest_answer(n, ANSWER_REFUSED, "2.1").reason, "not an absolute path");

	o = nest_order(n, "3.1", "exit 0");
	o.uid = 0;
	o.gid = 0;
	o.user = "root";
	nest_send(n, &o);
	contains(nest_answer(n, ANSWER_REFUSED, "3.1").reason, geteuid() == 0 ? "root may not" : "is not root");

	o = nest_order(n, "4.1", "exit 0");
	if (geteuid() == 0) {
		o.user = "no-such-user";
		nest_send(n, &o);
		contains(nest_answer(n, ANSWER_REFUSED, "4.1").reason, "not known");
		o.user = "daemon";
		nest_send(n, &o);
		contains(nest_answer(n, ANSWER_REFUSED, "4.1").reason, "has uid");
		o.user = n->user;
		o.gid = 0;
		nest_send(n, &o);
		contains(nest_answer(n, ANSWER_REFUSED, "4.1").reason, "not in the group");
	}
	struct result r;
	pid_t pid;
	assert_int_equal(live_look(n->live, "4.1", n->a, &r, &pid), LIVE_NONE);

	strbuf_add(&out, "\005\0\0\0ojunk\004\0\0\0?{}", 16 + 1);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_REFUSED, "");
}

static void test_root_jobs(void **state)
{
	struct nest *n = *state;

	if (geteuid() != 0)
		skip_because("needs root");
	nest_stop(n);
	n->root_jobs = true;
	nest_start(n);
	struct order o = nest_order(n, "1.1", "id -u");
	o.uid = 0;
	o.gid = 0;
	o.user = "root";
	assert_int_equal(nest_run(n, &o).status, 0);
	assert_string_equal(nest_read(n, o.out), "0\n");
}

/* A nonsense length ends the nursery, which has freed what it took. */
static void test_nonsense(void **state)
{
	struct nest *n = *state;
	struct strbuf out = {0};

	nest_stop(n);
	setenv("ASAN_OPTIONS", "detect_leaks=1", 1);
	nest_start(n);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	nest_script(n, "1.1", "exit 0");
	strbuf_add(&out, "\377\377\377\377", 4);
	nest_frames(n, &out);
	nest_stop(n);
}

/* The server goes away while the job runs: the result is on disk. */
static void test_server_gone(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo $$ >started; while [ ! -e go ]; do sleep 0.01; done; exit 6");

	nest_send(n, &o);
	nest_await(n, nest_path(n, "started"));
	nest_stop(n);
	nest_deafen(n);
	struct result r;
	pid_t shepherd = 0;
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &shepherd), LIVE_RUNNING);
	assert_true(nest_alive(shepherd));
	assert_int_equal(r.session, atoi(nest_read(n, nest_path(n, "started"))));
	nest_write(n, nest_path(n, "go"), "", 0, 0644);
	r = await_ended(n, "1.1");
	assert_int_equal(r.how, RESULT_EXITED);
	assert_int_equal(r.status, 6);
}

/* Orders that the nursery has are executed, also when the server is gone at once. */
static void test_orders_kept(void **state)
{
	struct nest *n = *state;

	for (int i = 0; i < 20; i++) {
		struct order o = nest_order(n, arena_printf(n->a, "%d.1", i), "exit 1");
		nest_send(n, &o);
	}
	nest_stop(n);
	for (int i = 0; i < 20; i++)
		assert_int_equal(await_ended(n, arena_printf(n->a, "%d.1", i)).status, 1);
}

/* kill -9 of the nursery: its shepherds continue, and obey the next one. */
static void test_nursery_killed(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "trap 'echo heard; exit 8' USR1; echo x; while :; do sleep 0.02; done");

	nest_send(n, &o);
	nest_await(n, o.out);
	nest_kill(n);
	nest_start(n);
	nest_send(n, &o);
	contains(nest_answer(n, ANSWER_REFUSED, "1.1").reason, "started already");
	nest_signal(n, "1.1", SIGUSR1);
	struct result r = nest_result(n, "1.1");
	assert_int_equal(r.status, 8);
	contains(nest_read(n, o.out), "heard");

	o = nest_order(n, "2.1", "echo x; exec sleep 1000");
	nest_send(n, &o);
	nest_await(n, o.out);
	nest_kill(n);
	nest_start(n);
	nest_signal(n, "2.1", SIGKILL);
	r = nest_result(n, "2.1");
	assert_int_equal(r.how, RESULT_SIGNALED);
	assert_int_equal(r.cause, CAUSE_ORDERED);
}

/* A shepherd that is stopped can't end its job with the lease: the nursery does, also a later
 * one than that which forked it. */
static void test_shepherd_stopped(void **state)
{
	struct nest *n = *state;

	for (int later = 0; later < 2; later++) {
		const char *tag = later ? "2.1" : "1.1";
		struct order o =
			nest_order(n, tag, "trap '' TERM; setsid sleep 1000 & echo $! >daemon; echo $$ >first; wait");
		struct result r;
		pid_t shepherd, daemon, first;

		unlink(nest_path(n, "first"));
		o.lease = 1;
		o.grace = 0;
		assert_int_equal(lease_write(n->live, 0, true, NULL), 0);
		nest_send(n, &o);
		shepherd = nest_answer(n, ANSWER_STARTED, tag).pid;
		nest_await(n, nest_path(n, "first"));
		first = atoi(nest_read(n, nest_path(n, "first")));
		daemon = atoi(nest_read(n, nest_path(n, "daemon")));
		if (later) {
			nest_kill(n);
			nest_start(n);
		}
		kill(shepherd, SIGSTOP);
		assert_int_equal(lease_write(n->live, boot_us() - 60000000, false, NULL), 0);
		nest_await_dead(first);
		nest_await_dead(daemon);
		nest_await_dead(shepherd);
		nest_answer(n, ANSWER_CLEANED, tag);
		assert_int_equal(live_look(n->live, tag, n->a, &r, &shepherd), LIVE_LOST);
	}
}

/* One that ends its job itself is left alone: its epilogue may take longer than the lease. */
static void test_lease_epilogue(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "exec sleep 1000");

	nest_write(n, nest_path(n, "epilogue"), "#!/bin/sh\nsleep 7\n", 18, 0755);
	o.site.epilogue = nest_path(n, "epilogue");
	o.lease = 1;
	o.grace = 0;
	nest_send(n, &o);
	assert_int_equal(nest_result(n, "1.1").cause, CAUSE_LEASE);
}

/* kill -9 of the shepherd: the first process goes with it; the rest is found. */
static void test_shepherd_killed(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(
		n, "1.1",
		"setsid sleep 1000 & echo $! >daemon; env -i sleep 1000 & echo $! >bare; echo $$ >first; wait");
	struct strbuf out = {0};
	struct result r;
	pid_t shepherd, other;

	nest_send(n, &o);
	shepherd = nest_answer(n, ANSWER_STARTED, "1.1").pid;
	nest_await(n, nest_path(n, "first"));
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &other), LIVE_RUNNING);
	assert_int_equal(shepherd, other);
	kill(shepherd, SIGKILL);
	nest_answer(n, ANSWER_DIED, "1.1");
	nest_await_dead(atoi(nest_read(n, nest_path(n, "first"))));
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &other), LIVE_LOST);
	assert_true(nest_alive(atoi(nest_read(n, nest_path(n, "daemon")))));

	nursery_clean("1.1", &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "1.1");
	nest_await_dead(atoi(nest_read(n, nest_path(n, "daemon"))));
	nest_await_dead(atoi(nest_read(n, nest_path(n, "bare"))));

	nursery_clean("7.1", &out); /* never was */
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "7.1");
}

/* How many names a directory has. */
static int names_in(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static char *directory_make(struct nest *n, const char *path, uid_t uid)
{
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chown(path, uid, (gid_t)-1), 0);
	return (char *)path;
}

static bool is_empty(const char *nodes, const char *tmp)
{
	for (int i = 0; i < 1000 && (names_in(nodes) || names_in(tmp)); i++)
		usleep(20000);
	return !names_in(nodes) && !names_in(tmp);
}

/* What a shepherd could not remove goes when its attempt is cleaned up, or else when the next
 * nursery starts; what belongs to an attempt stays. */
static void test_litter(void **state)
{
	struct nest *n = *state;
	char *nodes = directory_make(n, arena_printf(n->a, "%s/nodes", n->dir), geteuid()),
	     *tmp = directory_make(n, arena_printf(n->a, "%s/tmp", n->dir), geteuid());
	struct order o = nest_order(n, "1.1", "mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a; echo x >up; sleep 1000");
	struct strbuf out = {0};

	o.nodefile = "n1\n";
	o.nodefile_path = arena_printf(n->a, "%s/1.1/1.host", nodes);
	o.tmpdir = arena_printf(n->a, "%s/1.1", tmp);
	nest_send(n, &o);
	pid_t shepherd = nest_answer(n, ANSWER_STARTED, "1.1").pid;
	nest_await(n, nest_path(n, "up"));
	kill(shepherd, SIGKILL);
	nest_answer(n, ANSWER_DIED, "1.1");
	assert_int_equal(names_in(tmp), 1);
	nursery_clean("1.1", &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "1.1");
	assert_int_equal(names_in(tmp), 0);
	assert_int_equal(access(o.nodefile_path, F_OK), -1);
	nest_stop(n); /* the text is still there */
	nest_start(n);
	assert_true(is_empty(nodes, tmp));

	/* After a crash of the machine: nothing of 7 has a live file, and 8-2 has
	 * one. */
	nest_stop(n);
	directory_make(n, arena_printf(n->a, "%s/7.1", tmp), n->uid);
	directory_make(n, arena_printf(n->a, "%s/7.1/deep", tmp), n->uid);
	nest_write(n, arena_printf(n->a, "%s/7.1/deep/file", tmp), "x", 1, 0600);
	assert_int_equal(symlink(n->work, arena_printf(n->a, "%s/7.1/link", tmp)), 0);
	directory_make(n, arena_printf(n->a, "%s/7.host.d", nodes), n->uid);
	nest_write(n, arena_printf(n->a, "%s/7.host", nodes), "x", 1, 0644);
	nest_write(n, arena_printf(n->a, "%s/.0123.4", nodes), "x", 1, 0644);
	nest_write(n, arena_printf(n->a, "%s/8[2].host", nodes), "x", 1, 0644);
	directory_make(n, arena_printf(n->a, "%s/8-2.1", tmp), n->uid);
	nest_write(n, arena_printf(n->a, "%s/8-2.1", n->live), "pid 1 x\n", 8, 0600);
	int kept = names_in(n->work);
	nest_start(n);
	for (int i = 0; i < 1000 && names_in(nodes) + names_in(tmp) > 2; i++)
		usleep(20000);
	assert_int_equal(names_in(nodes), 1);
	assert_int_equal(names_in(tmp), 1);
	assert_int_equal(access(arena_printf(n->a, "%s/8[2].host", nodes), F_OK), 0);
	assert_int_equal(names_in(n->work), kept); /* the link was not followed */
	nest_stop(n);
	unlink(arena_printf(n->a, "%s/8-2.1", n->live));
	nest_start(n);
	assert_true(is_empty(nodes, tmp));
}

/* Jobs share a directory for their node files: each file goes with its own attempt only, and is
 * found by its name; a directory that can't be read stands for one too large to be read. */
static void test_shared_directory(void **state)
{
	struct nest *n = *state;
	char *nodes = directory_make(n, arena_printf(n->a, "%s/nodes", n->dir), geteuid());
	const char *shared = arena_printf(n->a, "%s/x5f.1", nodes),
		   *gpus = arena_printf(n->a, "%s/1[3].hostgpu", shared);
	struct order one = nest_order(n, "1-2-x5f.1", "echo x >up1; while [ ! -e go ]; do sleep 0.01; done"),
		     other = nest_order(n, "1-3-x5f.1", "echo x >up2; sleep 1000");
	struct strbuf out = {0};

	one.nodefile = other.nodefile = "n1\n";
	one.nodefile_path = arena_printf(n->a, "%s/x5f.1/1[2].host", nodes);
	other.nodefile_path = arena_printf(n->a, "%s/x5f.1/1[3].host", nodes);
	one.id = "1[2].host";
	other.id = "1[3].host";
	other.gpu.gpufile = "host-gpu/0\n";
	nest_send(n, &one);
	nest_await(n, nest_path(n, "up1"));
	nest_kill(n);
	nest_start(n);
	nest_send(n, &other);
	pid_t shepherd = nest_answer(n, ANSWER_STARTED, other.tag).pid;
	nest_await(n, nest_path(n, "up2"));
	assert_string_equal(nest_read(n, one.nodefile_path), "n1\n");
	assert_string_equal(nest_read(n, other.nodefile_path), "n1\n");

	assert_int_equal(access(gpus, F_OK), 0);
	kill(shepherd, SIGKILL);
	nest_answer(n, ANSWER_DIED, other.tag);
	assert_int_equal(chmod(nodes, 0311) || chmod(shared, 0311), 0);
	nursery_clean(other.tag, &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, other.tag);
	assert_int_equal(chmod(nodes, 0755) || chmod(shared, 0755), 0);
	assert_int_equal(access(other.nodefile_path, F_OK), -1);
	assert_int_equal(access(gpus, F_OK), -1);
	assert_int_equal(access(one.nodefile_path, F_OK), 0);
	nest_write(n, nest_path(n, "go"), "", 0, 0644);
	assert_int_equal(nest_result(n, one.tag).status, 0);
	assert_int_equal(access(one.nodefile_path, F_OK), -1);

	/* left by a crash of the machine */
	nest_stop(n);
	nest_write(n, one.nodefile_path, "x", 1, 0644);
	unlink(arena_printf(n->a, "%s/%s", n->live, one.tag));
	unlink(arena_printf(n->a, "%s/%s", n->live, other.tag));
	nest_start(n);
	assert_int_equal(names_in(nodes), 0);
}

static void test_torn(void **state)
{
	const struct {
		const char *text;
		enum live_state state, locked; /* locked: its shepherd is there */
	} cases[] = {
		{"", LIVE_NEVER, LIVE_RUNNING},
		{"pid 1 x\n", LIVE_LOST, LIVE_RUNNING},
		{"pid 1 x\nsession 2 y\n{\"tag\":\"1.1\",\"how\":\"exited\",\"status\":1}", LIVE_LOST, LIVE_RUNNING},
		{"pid 1 x\nsession 2 y\n{\"tag\":\"1.1\",\"how\":\"exi\n", LIVE_LOST, LIVE_RUNNING},
		{"pid 1 x\nsession 2 y\n{\"tag\":\"1.1\",\"how\":\"exited\",\"status\":1}\n", LIVE_ENDED, LIVE_ENDED},
	};
	struct nest *n = *state;
	struct result r;
	pid_t pid;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *file = arena_printf(n->a, "%s/1.1", n->live);
		nest_write(n, file, cases[i].text, strlen(cases[i].text), 0600);
		assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), cases[i].state);
		int fd = open(file, O_RDONLY | O_CLOEXEC);
		assert_int_equal(flock(fd, LOCK_EX), 0);
		assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), cases[i].locked);
		close(fd);
	}
}

/* Files that the server has done with are used again, and nothing of what they held is left. */
static void test_recycled(void **state)
{
	struct nest *n = *state;
	char *spare = arena_printf(n->a, "%s/.free.0", n->live);
	struct result r;
	pid_t pid;

	nest_script(n, "1.1", "exit 1");
	live_remove(n->live, "1.1");
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), LIVE_NONE);
	assert_int_equal(access(spare, F_OK), 0);

	struct order o = nest_order(n, "2.1", "echo x; while [ ! -e go ]; do sleep 0.01; done");
	nest_send(n, &o);
	nest_await(n, o.out);
	assert_int_equal(access(spare, F_OK), -1);
	assert_int_equal(live_look(n->live, "2.1", n->a, &r, &pid), LIVE_RUNNING);
	nest_send(n, &o);
	contains(nest_answer(n, ANSWER_REFUSED, "2.1").reason, "started already");
	nest_write(n, nest_path(n, "go"), "", 0, 0644);
	assert_int_equal(nest_result(n, "2.1").status, 0);

	nest_write(n, arena_printf(n->a, "%s/3.1", n->live), "pid 1 x\n", 8, 0600);
	live_remove(n->live, "3.1"); /* without a result: not kept */
	assert_int_equal(access(spare, F_OK), -1);
}

/* A server that is not root, under a nursery that is: what the server made becomes the user's,
 * and nothing else. */
static void test_server_account(void **state)
{
	struct nest *n = *state;
	struct stat st;

	if (geteuid() != 0)
		skip_because("needs root");
	nest_stop(n);
	char *nodes = arena_printf(n->a, "%s/nodes", n->dir);
	assert_int_equal(mkdir(nodes, 0755), 0);
	assert_int_equal(chown(nodes, 1, 1) || chown(n->live, 1, 1) || chown(n->spare, 1, 1), 0);
	nest_start(n);

	struct order o = nest_order(n, "1.1", "cat $PBS_NODEFILE; touch $TMPDIR/x; id -u");
	assert_int_equal(chmod(o.script, 0600) || chown(o.script, 1, 1), 0);
	o.nodefile = "n1\n";
	o.nodefile_path = arena_printf(n->a, "%s/1.host", nodes);
	o.tmpdir = arena_printf(n->a, "%s/tmp", nodes);
	struct result r = nest_run(n, &o);
	assert_int_equal(r.status, 0);
	assert_string_equal(nest_read(n, o.out), arena_printf(n->a, "n1\n%u\n", (unsigned)n->uid));
	assert_int_equal(stat(arena_printf(n->a, "%s/1.1", n->live), &st), 0);
	assert_int_equal(st.st_uid, 1);
	assert_int_equal(access(o.nodefile_path, F_OK) & access(o.tmpdir, F_OK), -1);

	o = nest_order(n, "2.1", "exit 0");
	assert_int_equal(chmod(o.script, 0600), 0); /* root's */
	assert_int_equal(nest_run(n, &o).status, 126);
	assert_int_equal(stat(o.script, &st), 0);
	assert_int_equal(st.st_uid, 0);

	o = nest_order(n, "3.1", "exit 0");
	o.nodefile_path = arena_printf(n->a, "%s/nodefile", n->dir); /* root's directory */
	r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "Permission denied");

	o = nest_order(n, "4.1", "exit 0");
	o.tmpdir = n->dir;
	r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	assert_int_equal(stat(n->dir, &st), 0);
	assert_int_equal(st.st_uid, 0);

	/* After a killed attempt only what the server may remove is cleaned up. */
	struct strbuf out = {0};
	char *roots = arena_printf(n->a, "%s/5.1", nodes);

	assert_int_equal(chown(nodes, 0, 0), 0);
	nest_write(n, roots, "x", 1, 0644);
	o = nest_order(n, "5.1", "echo x >up; sleep 1000");
	assert_int_equal(chmod(o.script, 0600) || chown(o.script, 1, 1), 0);
	nest_send(n, &o);
	pid_t shepherd = nest_answer(n, ANSWER_STARTED, "5.1").pid;
	nest_await(n, nest_path(n, "up"));
	kill(shepherd, SIGKILL);
	nest_answer(n, ANSWER_DIED, "5.1");
	nursery_clean("5.1", &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "5.1");
	assert_int_equal(access(roots, F_OK), 0);
}

static void test_one_nursery(void **state)
{
	struct nest *n = *state;
	struct nursery_options o = {.live = n->live, .socket = n->socket, .cgroup = "none"};
	struct nursery second;
	struct err err;

	assert_int_equal(nursery_start("/proc/self/exe", &o, 50, &second, &err), -ETIMEDOUT);
	contains(err.text, "still holds it");
}

/* Who starts it learns that it can't work, and why. */
static void test_cannot_work(void **state)
{
	struct nest *n = *state;
	char *live = arena_printf(n->a, "%s/live2", n->dir);
	struct nursery_options o = {.live = live, .socket = n->socket, .cgroup = "v9"};
	struct nursery none;
	struct err err;

	assert_int_equal(mkdir(live, 0700), 0);
	assert_int_equal(nursery_start("/proc/self/exe", &o, 50, &none, &err), -ECANCELED);
	contains(err.text, "jobs can't be started here: cgroup = v9: it is auto, v2, v1 or none");
}

static void test_open(void **state)
{
	struct nest *n = *state;
	char *mine = nest_path(n, "mine\xff"), *secret = arena_printf(n->a, "%s/secret", n->dir), text[16] = "";
	struct strbuf out = {0};

	nest_write(n, mine, "content", 7, 0644);
	nest_write(n, secret, "secret", 6, 0600);
	nursery_open(5, n->uid, n->gid, n->user, mine, O_RDONLY, 0, &out);
	nursery_open(6, n->uid, n->gid, n->user, n->work, O_RDONLY, 0, &out);
	nest_frames(n, &out);
	bool seen[3] = {false};
	for (int i = 0; i < 2; i++) {
		struct answer a = nest_answer(n, ANSWER_OPENED, NULL);
		seen[a.id - 5] = true;
		if (a.id == 5)
			assert_null(a.reason);
		else
			contains(a.reason, "is not a file");
	}
	assert_true(seen[0] && seen[1]);
	assert_int_equal(n->fds.n, 1);
	assert_int_equal(read(n->fds.v[0], text, sizeof text), 7);
	assert_string_equal(text, "content");

	if (geteuid() == 0) {
		nursery_open(7, n->uid, n->gid, n->user, secret, O_RDONLY, 0, &out);
		nest_frames(n, &out);
		contains(nest_answer(n, ANSWER_OPENED, NULL).reason, "Permission denied");
	}
	nursery_open(8, n->uid + 1, n->gid, n->user, mine, O_RDONLY, 0, &out);
	nest_frames(n, &out);
	assert_non_null(nest_answer(n, ANSWER_OPENED, NULL).reason);
}

/* A file that was written beside another takes its place, or goes. */
static void test_rename(void **state)
{
	struct nest *n = *state;
	const struct nursery_user who = {n->uid, n->gid, n->user};
	char *mine = nest_path(n, "mine"), *next = nest_path(n, "next"), *alias = nest_path(n, "alias"), text[16] = "";
	struct strbuf out = {0};
	struct stat st;

	nest_write(n, mine, "old", 3, 0644);
	nest_write(n, next, "newer", 5, 0644);
	assert_int_equal(symlink("mine", alias), 0);
	nursery_rename(5, &who, next, alias, &out);
	nest_frames(n, &out);
	assert_null(nest_answer(n, ANSWER_OPENED, NULL).reason);
	assert_int_equal(read(n->fds.v[0], text, sizeof text), 5);
	assert_int_equal(stat(mine, &st), 0);
	assert_int_equal(st.st_size, 5);
	assert_true(lstat(alias, &st) == 0 && S_ISLNK(st.st_mode));
	assert_int_equal(stat(next, &st), -1);

	nursery_rename(6, &who, mine, "", &out);
	nest_frames(n, &out);
	contains(nest_answer(n, ANSWER_OPENED, NULL).reason, "No such file");
	assert_int_equal(stat(mine, &st), -1);
}

static void test_look(void **state)
{
	struct nest *n = *state;
	char *closed = arena_printf(n->a, "%s/closed", n->dir);
	struct nursery_user who = {n->uid, n->gid, n->user};
	struct strbuf out = {0};

	nursery_look(5, &who, n->work, &out);
	nest_frames(n, &out);
	struct answer a = nest_answer(n, ANSWER_LOOKED, NULL);
	assert_int_equal(a.id, 5);
	assert_null(a.reason);
	assert_true(a.directory && a.fs);

	nest_write(n, nest_path(n, "file"), "x", 1, 0644);
	nursery_look(6, &who, nest_path(n, "file"), &out);
	nest_frames(n, &out);
	a = nest_answer(n, ANSWER_LOOKED, NULL);
	assert_true(!a.reason && a.fs && !a.directory);

	nursery_look(7, &who, "/no/such/directory", &out);
	nest_frames(n, &out);
	a = nest_answer(n, ANSWER_LOOKED, NULL);
	contains(a.reason, "No such file or directory");
	assert_true(!a.fs && !a.directory);

	if (geteuid() == 0) { /* what the user can't see is not seen for him */
		assert_int_equal(mkdir(closed, 0700), 0);
		assert_int_equal(mkdir(arena_printf(n->a, "%s/in", closed), 0755), 0);
		nursery_look(8, &who, arena_printf(n->a, "%s/in", closed), &out);
		nest_frames(n, &out);
		contains(nest_answer(n, ANSWER_LOOKED, NULL).reason, "Permission denied");
	}
}

/* ---- control groups ---- */

/* Each version that this machine lets us use, and one that it does not. */
static void groups_try(const char *version)
{
	struct cgroup c;

	if (cgroup_init(&c, version, "test", NULL))
		skip_because("control groups (%s) may not be used here", version);
	cgroup_fini(&c);

	struct nest *n = nest_create(version);
	struct order o = nest_order(n, "1.1", "cat /proc/self/cgroup; exit 2");
	struct result r = nest_run(n, &o);
	assert_int_equal(r.status, 2);
	contains(nest_read(n, o.out), "/1.1\n");

	o = nest_order(n, "2.1",
		       "setsid sleep 1000 & echo $! >daemon; env -i setsid sleep 1000 & echo $! >bare; echo x; wait");
	nest_send(n, &o);
	pid_t shepherd = nest_answer(n, ANSWER_STARTED, "2.1").pid;
	nest_await(n, o.out);
	kill(shepherd, SIGKILL);
	nest_answer(n, ANSWER_DIED, "2.1");
	struct strbuf out = {0};
	nursery_clean("2.1", &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "2.1");
	nest_await_dead(atoi(nest_read(n, nest_path(n, "daemon"))));
	nest_await_dead(
		atoi(nest_read(n, nest_path(n, "bare")))); /* no environment, no session: only the group knows it */

	o = nest_order(n, "3.1", "x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 100");
	o.memory = 50 * 1024;
	assert_int_equal(nest_run(n, &o).cause, CAUSE_MEMORY);

	o = nest_order(n, "4.1", "echo x; trap '' TERM; while :; do sleep 1; done");
	nest_send(n, &o);
	nest_await(n, o.out);
	nest_signal(n, "4.1", SIGKILL);
	assert_int_equal(nest_result(n, "4.1").cause, CAUSE_ORDERED);
	nest_answer(n, ANSWER_DIED, "4.1");
	nest_destroy(n);
}

/* CPU time that a job which only counts has, of one CPU, in thousandths. */
static void share_try(const char *version)
{
	struct cgroup c;

	if (cgroup_init(&c, version, "test", NULL))
		skip_because("control groups (%s) may not be used here", version);
	struct order probe = {.tag = "probe", .share.share = 100};
	int r = cgroup_create(&c, &probe, NULL);
	r = r ? r : cgroup_share(&c, "probe", 100, 100);
	cgroup_remove(&c, "probe");
	cgroup_fini(&c);
	if (r)
		skip_because("CPU time can't be limited here by control groups (%s)", version);

	struct nest *n = nest_create(version);
	struct order o = nest_order(n, "5.1", "while :; do :; done");
	o.walltime = 3;
	o.grace = 1;
	o.share = (struct order_share){.share = 200, .share_most = 1000, .share_work = 20000, .share_time = 100};
	struct result x = nest_run(n, &o);
	assert_int_equal(x.cause, CAUSE_WALLTIME);
	assert_true(x.cpu_ms < x.ran_ms * 3 / 10); /* held; how much less depends on the machine */
	assert_null(x.reason);
	nest_destroy(n);
}

/* What is written to a file of a job's group; the group is a plain directory here. */
static void swap_is(struct cgroup *c, int dir, const char *file, int64_t memory, int64_t swap, const char *expected)
{
	struct order o = {.tag = "probe", .memory = memory, .swap = swap};
	const char *const files[] = {"memory.max", "memory.limit_in_bytes", file};
	char root[] = "/tmp/shunt-test-XXXXXX", path[PATH_MAX], got[64] = "";
	FILE *f;

	assert_non_null(mkdtemp(root));
	c->dir[dir] = root;
	snprintf(path, sizeof path, "%s/probe", root);
	assert_int_equal(mkdir(path, 0755), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/probe/%s", root, files[i]);
		assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0644)), 0);
	}
	assert_int_equal(cgroup_create(c, &o, NULL), 0);
	assert_non_null(f = fopen(path, "re"));
	assert_non_null(fgets(got, sizeof got, f));
	fclose(f);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/probe/%s", root, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/probe", root);
	assert_int_equal(rmdir(path) || rmdir(root), 0);
	assert_string_equal(got, expected);
}

/* Swap beyond the memory that was asked for: none, unless a job asks for it. */
static void test_swap(void **state)
{
	struct cgroup two = {.kind = CGROUP_V2, .memory = true}, one = {.kind = CGROUP_V1, .memory = true};

	(void)state;
	swap_is(&two, 0, "memory.swap.max", 1 << 16, 0, "0");
	swap_is(&two, 0, "memory.swap.max", 1 << 16, 1 << 10, "1048576");
	swap_is(&two, 0, "memory.swap.max", 0, 1 << 10, "1048576");
	swap_is(&one, CGROUP_MEMORY, "memory.memsw.limit_in_bytes", 1 << 16, 0, "67108864");
	swap_is(&one, CGROUP_MEMORY, "memory.memsw.limit_in_bytes", 1 << 16, 1 << 10, "68157440");
}

static void test_share_v2(void **state)
{
	share_try("v2");
}

static void test_share_v1(void **state)
{
	share_try("v1");
}

/* Where there are no groups it runs all the same, and the result says that it was not held. */
static void test_share_none(void **state)
{
	struct nest *n = nest_create("none");
	struct order o = nest_order(n, "6.1", "true");

	o.share = (struct order_share){.share = 200, .share_most = 1000, .share_work = 20000, .share_time = 100};
	contains(nest_run(n, &o).reason, "share of the CPUs was not enforced");
	nest_destroy(n);
}

/* The quota is what is left by the time that is left. */
static void test_share_quota(void **state)
{
	struct order_share o = {.share = 500, .share_most = 2000, .share_work = 50000, .share_time = 100};

	assert_int_equal(share_quota(&o, 0, 0), 500);
	assert_int_equal(share_quota(&o, 25000, 50000), 500); /* its exact share */
	assert_int_equal(share_quota(&o, 10000, 50000), 800); /* it waited, and catches up */
	assert_int_equal(share_quota(&o, 0, 90000), 2000);    /* it catches up as far as it may */
	assert_int_equal(share_quota(&o, 40000, 50000), 200);
	assert_int_equal(share_quota(&o, 49999, 10000), 10); /* the least */
	assert_int_equal(share_quota(&o, 50000, 99000), 500);
	assert_int_equal(share_quota(&o, 40000, 200000), 2000); /* late */
	assert_int_equal(share_quota(&o, -1, 0), 500);
}

static void test_group_v2(void **state)
{
	groups_try("v2");
}

static void test_group_v1(void **state)
{
	groups_try("v1");
}

static void test_group_names(void **state)
{
	struct cgroup c;
	struct err err;

	assert_int_equal(cgroup_init(&c, "v3", "test", &err), -EINVAL);
	contains(err.text, "auto, v2, v1 or none");
	assert_int_equal(cgroup_init(&c, "auto", "test", &err), 0);
	cgroup_fini(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_refused),
		TEST(test_root_jobs),
		TEST(test_nonsense),
		TEST(test_server_gone),
		TEST(test_orders_kept),
		TEST(test_nursery_killed),
		TEST(test_shepherd_stopped),
		TEST(test_lease_epilogue),
		TEST(test_shepherd_killed),
		TEST(test_litter),
		TEST(test_shared_directory),
		TEST(test_torn),
		TEST(test_one_nursery),
		TEST(test_cannot_work),
		TEST(test_recycled),
		TEST(test_server_account),
		TEST(test_open),
		TEST(test_rename),
		TEST(test_look),
		cmocka_unit_test(test_group_v2),
		cmocka_unit_test(test_group_v1),
		cmocka_unit_test(test_group_names),
		TEST(test_swap),
		TEST(test_share_v2),
		TEST(test_share_v1),
		TEST(test_share_none),
		cmocka_unit_test(test_share_quota),
	};

	return cmocka_run_group_tests_name("nursery", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
