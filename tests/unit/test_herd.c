/*
 * test_herd.c - shepherds that take one order after another: nothing of a job may reach the next
 * one, and no promise of nursery.h may break.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
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
#include <unistd.h>

#include <cmocka.h>

#include "run/glance.h"
#include "run/handover.h"
#include "run/live.h"
#include "support/nest.h"
#include "support/skip.h"

/* Runs an order up to its end. Returns its shepherd. */
static pid_t shepherd_of(struct nest *n, const struct order *o)
{
	nest_send(n, o);
	pid_t pid = nest_answer(n, ANSWER_STARTED, o->tag).pid;
	nest_result(n, o->tag);
	nest_answer(n, ANSWER_DIED, o->tag);
	return pid;
}

static pid_t plain_run(struct nest *n, const char *tag)
{
	struct order o = nest_order(n, tag, "exit 0");

	return shepherd_of(n, &o);
}

/* The nursery passes results on; only without one do they come as datagrams. */
static void test_passed_on(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "2.1", "while [ ! -e go ]; do sleep 0.01; done; exit 4");

	nest_deafen(n);
	assert_int_equal(nest_script(n, "1.1", "exit 3").status, 3);
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "2.1");
	nest_kill(n);
	nest_listen(n);
	nest_write(n, nest_path(n, "go"), "", 0, 0644);
	assert_int_equal(nest_result(n, "2.1").status, 4);
	nest_start(n);
}

static void test_same(void **state)
{
	struct nest *n = *state;
	pid_t first = plain_run(n, "1.1");
	char instance[PATH_MAX];

	assert_non_null(realpath(n->live, instance));
	for (int i = 2; i < 6; i++) {
		struct order o = nest_order(n, arena_printf(n->a, "%d.1", i),
					    "echo $SHUNT_TAG; echo $PBS_NODEFILE; cat $PBS_NODEFILE; exit 3");
		char *nodes = arena_printf(n->a, "%s/nodes.%d", n->work, i);
		o.nodefile_path = nodes;
		o.nodefile = arena_printf(n->a, "host%d\n", i);
		nest_send(n, &o);
		assert_int_equal(nest_answer(n, ANSWER_STARTED, o.tag).pid, first);
		assert_int_equal(nest_result(n, o.tag).status, 3);
		nest_answer(n, ANSWER_DIED, o.tag);
		assert_string_equal(nest_read(n, o.out),
				    arena_printf(n->a, "%s@%s\n%s\nhost%d\n", o.tag, instance, nodes, i));
	}
}

/* Memory and CPU time are those of the job itself. */
static void test_usage(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "exit 0");
	struct result before = nest_run(n, &o), big, after;

	o = nest_order(n, "2.1", "x=$(head -c 60000000 /dev/zero | tr '\\0' a); echo ${#x}");
	big = nest_run(n, &o);
	o = nest_order(n, "3.1", "exit 0");
	after = nest_run(n, &o);
	assert_true(big.memory_kib > 50000 && big.cpu_ms > 0);
	assert_true(after.memory_kib < before.memory_kib + 20000);
	assert_true(after.cpu_ms <= big.cpu_ms);
}

static int descriptors_of(pid_t pid)
{
	char path[32];
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *d = opendir(path);
	if (!d) /* root's */
		return 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Whatever one job has set, the next one finds as if it were the first. */
static void test_reset(void **state)
{
	static const char look[] =
		"pwd; umask; ulimit -a; cat /proc/self/oom_score_adj; ls /proc/self/fd\n"
		"grep -E 'Uid|Gid|Groups|SigBlk|SigIgn|SigCgt|Cpus_allowed_list|NoNewPrivs|Cap' /proc/self/status\n"
		"cut -d' ' -f 18,19,41 /proc/self/stat; env | grep -v -E 'SHUNT_TAG|PBS_NODEFILE' | sort";
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", look);
	pid_t first = shepherd_of(n, &o);
	int descriptors = descriptors_of(first), cpus[] = {0};
	/* its three streams, and the one that ls has open */
	contains(nest_read(n, o.out), "\n0\n1\n2\n3\nUid:");
	char *odd[] = {"PATH=/usr/bin:/bin", "ODD=1", NULL};

	o = nest_order(n, "2.1",
		       "umask 0; ulimit -t 100; cd /; exec 5</dev/null; nice -n 5 true; trap '' TERM; exit 1");
	o.umask = 027;
	o.files = 99;
	o.cpus = cpus;
	o.ncpus = 1;
	o.env = odd;
	o.workdir = "/tmp";
	o.walltime = 1000;
	o.memory = 1 << 20;
	o.tmpdir = nest_path(n, "temporary");
	assert_int_equal(shepherd_of(n, &o), first);
	assert_int_equal(descriptors_of(first), descriptors);
	o = nest_order(n, "3.1", look);
	assert_int_equal(shepherd_of(n, &o), first);
	assert_string_equal(nest_read(n, nest_path(n, "1.1.out")), nest_read(n, nest_path(n, "3.1.out")));
	assert_int_equal(descriptors_of(first), descriptors);
}

/* Two users in turn: each has its own ids and groups, and its own files. */
static void test_users(void **state)
{
	struct nest *n = *state;
	struct passwd *other = getpwnam("daemon");
	pid_t first = 0;

	if (geteuid() != 0 || !other)
		skip_because("needs root, and another account");
	mkdir(nest_path(n, "open"), 0777);
	chmod(nest_path(n, "open"), 0777);
	for (int i = 1; i < 7; i++) {
		const char *tag = arena_printf(n->a, "%d.1", i);
		struct order o = nest_order(n, tag, "id -u; id -g; id -G; umask; echo x >open/$SHUNT_NAME");
		char *env[] = {"PATH=/usr/bin:/bin", arena_printf(n->a, "SHUNT_NAME=file%d", i), NULL};
		struct stat st;
		if (i % 2) {
			o.uid = other->pw_uid;
			o.gid = other->pw_gid;
			o.user = "daemon";
		}
		o.env = env;
		o.umask = i % 2 ? 077 : 022;
		o.out = arena_printf(n->a, "%s/open/out%d", n->work, i);
		o.err = "/dev/null";
		pid_t pid = shepherd_of(n, &o);
		assert_int_equal(pid, first ? first : pid);
		first = pid;
		assert_int_equal(stat(o.out, &st), 0);
		assert_int_equal(st.st_uid, o.uid);
		assert_int_equal(st.st_mode & 0777, i % 2 ? 0600 : 0644);
		assert_int_equal(stat(arena_printf(n->a, "%s/open/file%d", n->work, i), &st), 0);
		assert_int_equal(st.st_uid, o.uid);
		assert_int_equal(st.st_gid, o.gid);
		assert_string_equal(nest_read(n, o.out), arena_printf(n->a, "%u\n%u\n%u\n%s\n", o.uid, o.gid, o.gid,
								      i % 2 ? "0077" : "0022"));
	}
}

static void await_stopped(pid_t pid)
{
	char path[32], text[512] = "", *end;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	do {
		FILE *f = fopen(path, "re");
		assert_non_null(f);
		assert_non_null(fgets(text, sizeof text, f));
		fclose(f);
		end = strrchr(text, ')');
	} while (end[2] != 'T');
}

/* A signal that its shepherd reads only after the job's end does not reach the next job. */
static void test_late_signal(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo $$ >first; while [ ! -e go ]; do sleep 0.01; done");
	union sigval kill_it = {.sival_int = SIGKILL};

	nest_send(n, &o);
	pid_t shepherd = nest_answer(n, ANSWER_STARTED, "1.1").pid, job;
	nest_await(n, nest_path(n, "first"));
	job = atoi(nest_read(n, nest_path(n, "first")));
	kill(shepherd, SIGSTOP);
	await_stopped(shepherd);
	nest_signal(n, "1.1", SIGKILL);
	nest_answer(n, ANSWER_SIGNALED, "1.1");
	nest_write(n, nest_path(n, "go"), "x", 1, 0644);
	nest_await_dead(job);
	kill(shepherd, SIGCONT);
	assert_int_equal(nest_result(n, "1.1").how, RESULT_EXITED);
	nest_answer(n, ANSWER_DIED, "1.1");

	o = nest_order(n, "2.1", "echo $$ >second; while [ ! -e on ]; do sleep 0.01; done; exit 5");
	nest_send(n, &o);
	assert_int_equal(nest_answer(n, ANSWER_STARTED, "2.1").pid, shepherd);
	nest_await(n, nest_path(n, "second"));
	if (geteuid() == 0 || n->uid == getuid())
		sigqueue(shepherd, SIGRTMIN, kill_it); /* it has a nursery: only that orders */
	nest_signal(n, "1.1", SIGKILL);
	nest_answer(n, ANSWER_SIGNALED, "1.1");
	nest_write(n, nest_path(n, "on"), "x", 1, 0644);
	assert_int_equal(nest_result(n, "2.1").status, 5);
}

/* Signals reach the job that they are for, whichever place it has in its shepherd's life. */
static void test_signal(void **state)
{
	struct nest *n = *state;
	pid_t first = plain_run(n, "1.1");
	struct order o = nest_order(n, "2.1", "trap 'exit 9' USR1; echo x >ready; while :; do sleep 0.01; done");

	nest_send(n, &o);
	assert_int_equal(nest_answer(n, ANSWER_STARTED, "2.1").pid, first);
	nest_await(n, nest_path(n, "ready"));
	nest_signal(n, "2.1", SIGUSR1);
	assert_int_equal(nest_result(n, "2.1").status, 9);
	nest_answer(n, ANSWER_DIED, "2.1");

	o = nest_order(n, "3.1", "sleep 1000");
	nest_send(n, &o);
	nest_limit(n, "3.1", 1);
	assert_int_equal(nest_result(n, "3.1").cause, CAUSE_WALLTIME);
	nest_answer(n, ANSWER_DIED, "3.1");
	o = nest_order(n, "4.1", "sleep 1.5; exit 4"); /* the changed walltime was that of 3.1 */
	assert_int_equal(nest_run(n, &o).status, 4);
}

/* After anything out of the ordinary the next job gets another shepherd. */
static void test_retired(void **state)
{
	static const char *const scripts[] = {"kill -9 $$", "setsid sleep 1000 & exit 0", "exit 0", "exit 0", "exit 0"};
	struct nest *n = *state;

	nest_write(n, nest_path(n, "prologue"), "#!/bin/sh\nexit 0\n", 17, 0755);
	for (int i = 0; i < 5; i++) {
		struct order o = nest_order(n, arena_printf(n->a, "%d.1", i), scripts[i]);
		if (i == 2)
			o.workdir = "/nowhere";
		if (i == 3)
			o.out = "/nowhere/out";
		if (i == 4)
			o.site.epilogue = nest_path(n, "prologue");
		if (i == 4 && geteuid() == 0)
			assert_int_equal(chown(o.site.epilogue, 0, 0), 0);
		pid_t odd = shepherd_of(n, &o);
		assert_int_not_equal(plain_run(n, arena_printf(n->a, "%d.2", i)), odd);
		nest_await_dead(odd);
	}
}

/* A shepherd does not live forever. */
static void test_replaced(void **state)
{
	struct nest *n = *state;
	pid_t first = plain_run(n, "1.1"), last = first;
	int i = 2;

	for (; i <= 1000 && last == first; i++)
		last = plain_run(n, arena_printf(n->a, "%d.1", i));
	assert_int_not_equal(last, first);
	nest_await_dead(first);
}

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && e->d_type == DT_DIR;
	closedir(d);
	return n;
}

/* The node file's directory is used again, and does not stay behind. */
static void test_directory(void **state)
{
	struct nest *n = *state;
	const char *nodes = arena_printf(n->a, "%s/nodes", n->dir);
	struct stat st, first = {0};
	pid_t shepherd = 0;

	assert_int_equal(mkdir(nodes, 0755), 0);
	for (int i = 1; i < 5; i++) {
		struct order o = nest_order(n, arena_printf(n->a, "%d.1", i),
					    "ls $(dirname $PBS_NODEFILE); cat $PBS_NODEFILE; echo x >begun; "
					    "while [ ! -e on ]; do sleep 0.01; done");
		o.nodefile = "host\n";
		o.nodefile_path = arena_printf(n->a, "%s/%s/%d.server", nodes, o.tag, i);
		nest_send(n, &o);
		shepherd = nest_answer(n, ANSWER_STARTED, o.tag).pid;
		nest_await(n, nest_path(n, "begun"));
		assert_int_equal(stat(arena_printf(n->a, "%s/%s", nodes, o.tag), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0755);
		if (i > 1)
			assert_int_equal(st.st_ino, first.st_ino);
		first = st;
		unlink(nest_path(n, "begun"));
		nest_write(n, nest_path(n, "on"), "x", 1, 0644);
		nest_result(n, o.tag);
		nest_answer(n, ANSWER_DIED, o.tag);
		unlink(nest_path(n, "on"));
		assert_string_equal(nest_read(n, o.out), arena_printf(n->a, "%d.server\nhost\n", i));
		assert_int_equal(entries(nodes), 1);
	}
	nest_stop(n); /* its shepherd leaves as well, with what it has kept */
	nest_await_dead(shepherd);
	assert_int_equal(entries(nodes), 0);
	nest_start(n);
	struct order o = nest_order(n, "5.1", "exit 0");
	o.nodefile = "host\n";
	o.nodefile_path = arena_printf(n->a, "%s/%s/5.server", nodes, o.tag);
	shepherd = shepherd_of(n, &o);
	assert_int_equal(entries(nodes), 1);
	kill(shepherd, SIGKILL);
	nest_await_dead(shepherd);
	nest_stop(n);
	nest_start(n); /* what a killed one has kept is swept, in a process of its own */
	for (int i = 0; i < 6000 && entries(nodes); i++)
		usleep(5000);
	assert_int_equal(entries(nodes), 0);
}

/* Shepherds that wait for an order and are killed, stopped or orphaned. */
static void test_waiting_killed(void **state)
{
	struct nest *n = *state;
	pid_t first = plain_run(n, "1.1"), second;

	kill(first, SIGKILL);
	nest_await_dead(first);
	second = plain_run(n, "2.1");
	assert_int_not_equal(second, first);
	kill(second, SIGTERM); /* the host is shutting down */
	nest_await_dead(second);
	first = plain_run(n, "3.1");
	nest_kill(n);
	nest_await_dead(first);
	nest_start(n);
	first = plain_run(n, "4.1");
	nest_stop(n);
	nest_await_dead(first);
}

/* One that is stopped does not take its order: that attempt never ran, and another may. */
static void test_waiting_stopped(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "2.1", "exit 0");
	pid_t first = plain_run(n, "1.1"), pid;
	struct result r;

	kill(first, SIGSTOP);
	nest_send(n, &o);
	nest_answer(n, ANSWER_DIED, "2.1");
	assert_int_equal(live_look(n->live, "2.1", n->a, &r, &pid), LIVE_NEVER);
	assert_int_not_equal(plain_run(n, "3.1"), first);
}

/* kill -9 of a shepherd in a later attempt: its job and everything of it is ended. */
static void test_running_killed(void **state)
{
	struct nest *n = *state;
	pid_t first = plain_run(n, "1.1"), job, daemon, pid;
	struct order o = nest_order(n, "2.1", "setsid sleep 1000 & echo $! >daemon; echo $$ >first; wait");
	struct strbuf out = {0};
	struct result r;

	nest_send(n, &o);
	assert_int_equal(nest_answer(n, ANSWER_STARTED, "2.1").pid, first);
	nest_await(n, nest_path(n, "first"));
	job = atoi(nest_read(n, nest_path(n, "first")));
	daemon = atoi(nest_read(n, nest_path(n, "daemon")));
	kill(first, SIGKILL);
	nest_answer(n, ANSWER_DIED, "2.1");
	nest_await_dead(job);
	assert_int_equal(live_look(n->live, "2.1", n->a, &r, &pid), LIVE_LOST);
	nursery_clean("2.1", &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "2.1");
	assert_false(nest_alive(daemon));
}

/* The nursery is killed while a shepherd is in a later attempt: that one ends as usual, obeys the
 * next nursery, and its shepherd ends with it. */
static void test_nursery_killed(void **state)
{
	struct nest *n = *state;

	for (int later = 0; later < 2; later++) {
		pid_t first = plain_run(n, later ? "3.1" : "1.1");
		const char *tag = later ? "4.1" : "2.1";
		struct order o = nest_order(n, tag, "echo x >begun; while [ ! -e on ]; do sleep 0.01; done; exit 6");
		unlink(nest_path(n, "begun"));
		nest_send(n, &o);
		assert_int_equal(nest_answer(n, ANSWER_STARTED, tag).pid, first);
		nest_await(n, nest_path(n, "begun"));
		nest_kill(n);
		nest_start(n);
		if (later)
			nest_signal(n, tag, SIGKILL);
		else
			nest_write(n, nest_path(n, "on"), "x", 1, 0644);
		struct result r = nest_result(n, tag);
		assert_int_equal(r.how, later ? RESULT_SIGNALED : RESULT_EXITED);
		assert_int_equal(r.status, later ? SIGKILL : 6);
		nest_await_dead(first);
		unlink(nest_path(n, "on"));
	}
}

/* An order that is too large for a message, and one written in an unusual way. */
static void test_large(void **state)
{
	struct nest *n = *state;
	char *text = arena_alloc(n->a, 100001), *env[] = {"PATH=/usr/bin:/bin", text, NULL};
	struct order o = nest_order(n, "2.1", "echo ${#BIG}");

	plain_run(n, "1.1");
	memset(text, 'x', 100000);
	memcpy(text, "BIG=", 4);
	o.env = env;
	assert_int_equal(nest_run(n, &o).status, 0);
	assert_string_equal(nest_read(n, o.out), "99996\n");
}

/* ---- messages and the glance ---- */

static void test_handover(void **state)
{
	struct nest *n = *state;
	gid_t groups[] = {7, 8, 9};
	struct handover h = {.tag = "3.1", .user = "ann", .text = "{}", .n = 2, .live = STDOUT_FILENO}, got = {0};
	int pair[2], signal = 0;

	h.who = (struct identity){
		.uid = 5, .gid = 6, .groups = groups, .ngroups = 3, .change = true, .shell = "/bin/x"};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(handover_receive(pair[1], "2.1", &got, &signal), HANDOVER_NONE);
	assert_int_equal(handover_signal(pair[0], "1.1", SIGKILL), 0);
	assert_int_equal(handover_signal(pair[0], "2.1", SIGUSR1), 0);
	assert_int_equal(handover_signal(pair[0], "2.1.1", SIGKILL), 0);
	assert_int_equal(handover_order(pair[0], &h), 0);
	assert_int_equal(handover_receive(pair[1], "2.1", &got, &signal), HANDOVER_SIGNAL);
	assert_int_equal(signal, SIGUSR1);
	assert_int_equal(handover_receive(pair[1], "2.1", &got, &signal), HANDOVER_ORDER);
	assert_string_equal(got.tag, "3.1");
	assert_string_equal(got.user, "ann");
	assert_string_equal(got.who.shell, "/bin/x");
	assert_null(got.who.home);
	assert_true(got.who.uid == 5 && got.who.gid == 6 && got.who.change && got.who.ngroups == 3);
	assert_memory_equal(got.who.groups, groups, sizeof groups);
	assert_true(got.n == 2 && !memcmp(got.text, "{}", 2));
	assert_int_equal(close(got.live), 0);
	h.n = HANDOVER_MAX;
	h.text = arena_alloc(n->a, h.n);
	assert_int_equal(handover_order(pair[0], &h), -EMSGSIZE);
	close(pair[0]);
	assert_int_equal(handover_receive(pair[1], "2.1", &got, &signal), HANDOVER_CLOSED);
	assert_false(handover_wait(pair[1], &got));
	close(pair[1]);
}

static void test_glance(void **state)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
		{"{\"tag\": \"1.1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\", \"lease\": 7}", 0},
		{" {\"x\": {\"tag\": \"2.1\", \"y\": [\"]}\"]}, \"tag\":\"1.1\",\"uid\":5,\"gid\":6,\"user\":\"ann\","
		 "\"lease\":7}\n",
		 0},
		{"{\"tag\": \"3.1\", \"tag\": \"1.1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\", \"lease\": 7}", 0},
		{"{\"tag\": \"1\\u002e1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"\\u0074ag\": \"1.1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"tag\": \"../1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"tag\": \".1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"tag\": \"1.1\", \"uid\": 4294967295, \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"tag\": \"1.1\", \"uid\": -1, \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"tag\": \"1.1\", \"uid\": 5e0, \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"tag\": \"1.1\", \"gid\": 6, \"user\": \"ann\"}", -EINVAL},
		{"{\"tag\": \"1.1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\"} x", -EINVAL},
		{"{\"tag\": \"1.1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\"", -EINVAL},
		{"{\"tag\": \"1.1\", \"uid\": 5, \"gid\": 6, \"user\": \"ann\\", -EINVAL},
		{"{\"tag\": \"1.1\", \"uid\": 5, \"gid\": 6, \"user\": {\"hex\": \"616e6e\"}}", -EINVAL},
		{"{}", -EINVAL},
		{"", -EINVAL},
	};
	struct nest *n = *state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct order_glance g;
		assert_int_equal(order_glance(cases[i].text, strlen(cases[i].text), n->a, &g), cases[i].result);
		if (cases[i].result)
			continue;
		assert_string_equal(g.tag, "1.1");
		assert_string_equal(g.user, "ann");
		assert_true(g.uid == 5 && g.gid == 6 && g.lease == 7 && !g.look_up);
	}
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test_setup_teardown(test_passed_on, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_same, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_usage, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_reset, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_users, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_late_signal, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_signal, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_retired, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_replaced, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_directory, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_waiting_killed, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_waiting_stopped, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_running_killed, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_nursery_killed, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_large, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_handover, nest_setup, nest_teardown),
		cmocka_unit_test_setup_teardown(test_glance, nest_setup, nest_teardown),
	};

	return cmocka_run_group_tests_name("herd", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
