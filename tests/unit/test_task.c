/*
 * test_task.c - parts, the tasks in them, and leases, with a real nursery and real shepherds.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

#include "run/cgroup.h"
#include "run/lease.h"
#include "run/message.h"
#include "run/shepherd.h"
#include "run/task.h"
#include "support/nest.h"
#include "support/skip.h"

#define PATIENCE 30000 /* ms */

static struct order_host hosts[] = {{"n1", "10.0.0.1:7723", 0, 7}, {"n2", "", 1, UINT64_MAX}};

/* ---- parts ---- */

static struct order room_order(struct nest *n, const char *tag)
{
	struct order o = nest_order(n, tag, NULL);

	o.room = true;
	o.part = 1;
	o.hosts = hosts;
	o.nhosts = 2;
	return o;
}

static void room_start(struct nest *n, const struct order *o)
{
	nest_send(n, o);
	nest_answer(n, ANSWER_STARTED, o->tag);
	nest_ready(n, o->tag);
}

static struct result room_end(struct nest *n, const char *tag, int signal)
{
	nest_signal(n, tag, signal);
	struct result r = nest_result(n, tag);
	nest_answer(n, ANSWER_DIED, tag);
	assert_int_equal(access(arena_printf(n->a, "%s/.task-%s", n->live, tag), F_OK), -1);
	return r;
}

/* ---- the asking side ---- */

struct asker {
	struct nest *n;
	int fd;
	int out; /* where to read what the task writes; -1: none */
	struct strbuf in;
};

static struct asker ask(struct nest *n, const char *tag)
{
	struct err err;
	struct asker a = {.n = n, .fd = task_connect(n->live, tag, &err), .out = -1};

	if (a.fd < 0)
		fail_msg("%s", err.text);
	return a;
}

static void asker_put(struct asker *a, struct strbuf *out)
{
	assert_int_equal(send(a->fd, out->text, out->n, MSG_NOSIGNAL), out->n);
	strbuf_fini(out);
}

/* Input is /dev/null, output and error output one pipe. */
static void asker_start(struct asker *a, const struct task *t)
{
	int p[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct err err;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	if (task_send(a->fd, t, (int[3]){null, p[1], p[1]}, &err))
		fail_msg("%s", err.text);
	close(null);
	close(p[1]);
	a->out = p[0];
}

static struct asker task_start(struct nest *n, const char *tag, char *script, char **env)
{
	struct asker a = ask(n, tag);
	char *argv[] = {"sh", "-c", script, NULL};

	asker_start(&a, &(struct task){.argv = argv, .env = env});
	return a;
}

static struct task_answer answer_get(struct asker *a)
{
	struct task_answer t;
	const char *text;
	size_t length;
	ssize_t took;
	char part[4096];

	while ((took = nursery_frame(a->in.text, a->in.n, &text, &length)) == 0) {
		if (poll(&(struct pollfd){.fd = a->fd, .events = POLLIN}, 1, PATIENCE) <= 0)
			fail_msg("no answer");
		ssize_t got = recv(a->fd, part, sizeof part, 0);
		if (got <= 0)
			fail_msg("the connection was closed");
		strbuf_add(&a->in, part, (size_t)got);
	}
	assert_true(took > 0);
	assert_int_equal(task_answer_read(text, length, a->n->a, &t, NULL), 0);
	memmove(a->in.text, a->in.text + took, a->in.n - (size_t)took);
	a->in.n -= (size_t)took;
	return t;
}

static struct task_answer answer_of(struct asker *a, enum task_answer_type type)
{
	struct task_answer t = answer_get(a);

	if (t.type != type)
		fail_msg("answer %d, not %d: %s", t.type, type, t.reason ? t.reason : "");
	return t;
}

static void await_closed(struct asker *a)
{
	char c;

	assert_int_equal(poll(&(struct pollfd){.fd = a->fd, .events = POLLIN}, 1, PATIENCE), 1);
	assert_int_equal(recv(a->fd, &c, 1, 0), 0);
}

static void asker_close(struct asker *a)
{
	close(a->fd);
	if (a->out >= 0)
		close(a->out);
	strbuf_fini(&a->in);
}

/* All that it wrote, when it has ended. */
static char *output_get(struct asker *a)
{
	struct strbuf b = {0};
	char part[4096];

	for (ssize_t got; (got = read(a->out, part, sizeof part)) > 0;)
		strbuf_add(&b, part, (size_t)got);
	char *text = arena_strndup(a->n->a, strbuf_text(&b), b.n);
	strbuf_fini(&b);
	return text;
}

static char *task_run(struct nest *n, const char *tag, char *script, char **env, int status)
{
	struct asker a = task_start(n, tag, script, env);

	assert_true(answer_of(&a, TASK_STARTED).pid > 0);
	assert_int_equal(answer_of(&a, TASK_EXITED).status, status);
	await_closed(&a);
	char *text = output_get(&a);
	asker_close(&a);
	return text;
}

/* ---- tests ---- */

static void test_room(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	char *nodes = arena_printf(n->a, "%s/nodes", n->dir);
	struct result r;
	pid_t pid;

	assert_int_equal(mkdir(nodes, 0755), 0);
	o.nodefile = "n1\nn2\n";
	o.nodefile_path = arena_printf(n->a, "%s/1.host", nodes);
	o.tmpdir = arena_printf(n->a, "%s/1.tmp", nodes);
	room_start(n, &o);
	assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), LIVE_RUNNING);
	assert_true(r.ready && pid > 0 && !r.session);
	assert_int_equal(access(o.nodefile_path, F_OK), 0);
	assert_int_equal(access(o.out, F_OK), -1); /* no output of its own */
	nest_signal(n, "1.1", SIGWINCH);	   /* there may be nobody to get it */
	contains(task_run(n, "1.1", "cat $PBS_NODEFILE; touch $TMPDIR/x && echo made", NULL, 0), "n1\nn2\nmade\n");

	r = room_end(n, "1.1", SIGTERM);
	assert_int_equal(r.how, RESULT_EXITED);
	assert_int_equal(r.cause, CAUSE_ORDERED);
	assert_false(r.ready);
	assert_true(r.ended_us >= r.started_us && r.started_us > 0);
	assert_int_equal(access(o.nodefile_path, F_OK) & access(o.tmpdir, F_OK), -1);
	assert_int_equal(task_connect(n->live, "1.1", NULL), -ENOENT);

	o = room_order(n, "2.1");
	o.walltime = 0;
	room_start(n, &o);
	assert_int_equal(nest_result(n, "2.1").cause, CAUSE_WALLTIME);
	nest_answer(n, ANSWER_DIED, "2.1");

	o = room_order(n, "3.1");
	room_start(n, &o);
	assert_int_equal(room_end(n, "3.1", SIGKILL).cause, CAUSE_ORDERED);
}

/* A part that the host can't make does not count: it is not reported as ready. */
static void test_room_refused(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");

	o.nodefile_path = arena_printf(n->a, "%s/none/none/x", n->dir);
	struct result r = nest_run(n, &o);
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "node file");
	assert_int_equal(n->ready.n, 0);
	assert_int_equal(access(arena_printf(n->a, "%s/.task-1.1", n->live), F_OK), -1);
}

static void test_who(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	struct strbuf out = {0};

	room_start(n, &o);
	struct asker a = ask(n, "1.1");
	task_who(&out);
	asker_put(&a, &out);
	struct task_place p = answer_of(&a, TASK_WHO).place;
	assert_string_equal(p.user, n->user);
	assert_true(p.uid == n->uid && p.part == 1 && p.nhosts == 2);
	assert_string_equal(p.hosts[0].name, "n1");
	assert_string_equal(p.hosts[0].address, "10.0.0.1:7723");
	assert_string_equal(p.hosts[1].address, "");
	assert_true(p.hosts[0].join == 7 && p.hosts[1].join == UINT64_MAX && p.hosts[1].part == 1);

	char *argv[] = {"true", NULL}; /* and then a task, on the same connection */
	asker_start(&a, &(struct task){.argv = argv});
	answer_of(&a, TASK_STARTED);
	assert_int_equal(answer_of(&a, TASK_EXITED).status, 0);
	asker_close(&a);
	room_end(n, "1.1", SIGTERM);
	assert_int_equal(task_connect(n->live, "../x", NULL), -ENOENT);
}

static void test_task(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	char *env[] = {"PATH=/usr/bin:/bin", "A=job", "B=job", "C=job", NULL},
	     *changes[] = {"A=task", "B", "D=new=1", "SHUNT_TAG", "SHUNT_TAG=false", NULL};
	int gpus[] = {0, 2};

	o.env = env;
	o.files = 99;
	o.gpu.gpus = gpus;
	o.gpu.ngpus = 2;
	room_start(n, &o);
	char *text = task_run(n, "1.1",
			      "echo \"$A|${B-none}|$C|$D|$SHUNT_TAG\"; id -u; pwd; ulimit -n; umask; "
			      "echo $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES $GPU_DEVICE_ORDINAL; "
			      "test $$ = $(ps -o sid= -p $$) && echo leads; exit 3",
			      changes, 3);
	assert_string_equal(text,
			    arena_printf(n->a, "task|none|job|new=1|1.1@%s\n%u\n%s\n99\n0077\n0,2 0,2 0,2\nleads\n",
					 n->live, (unsigned)n->uid, n->work));

	struct asker a = task_start(n, "1.1", "kill -9 $$", NULL);
	answer_of(&a, TASK_STARTED);
	assert_int_equal(answer_of(&a, TASK_SIGNALED).status, SIGKILL);
	asker_close(&a);

	a = ask(n, "1.1"); /* elsewhere */
	char *argv[] = {"/bin/pwd", NULL};
	asker_start(&a, &(struct task){.argv = argv, .workdir = "/usr"});
	answer_of(&a, TASK_STARTED);
	answer_of(&a, TASK_EXITED);
	assert_string_equal(output_get(&a), "/usr\n");
	asker_close(&a);
	room_end(n, "1.1", SIGTERM);
}

static void test_task_refused(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	char *missing[] = {"/no/such/program", NULL}, *unnamed[] = {"no-such-program", NULL}, *none[] = {NULL};
	const struct {
		char **argv;
		const char *workdir, *reason;
	} cases[] = {{missing, NULL, "/no/such/program can't be run: No such file"},
		     {unnamed, NULL, "no-such-program can't be run: No such file"},
		     {none, NULL, "needs a program"},
		     {missing, "relative", "not an absolute path"}};

	room_start(n, &o);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct asker a = ask(n, "1.1");
		asker_start(&a, &(struct task){.argv = cases[i].argv, .workdir = cases[i].workdir});
		contains(answer_of(&a, TASK_REFUSED).reason, cases[i].reason);
		await_closed(&a);
		asker_close(&a);
	}
	struct strbuf out = {0}; /* without descriptors */
	size_t at = message_begin(&out, TASK_ASK_START);
	strbuf_puts(&out, "{\"argv\":[\"true\"]}");
	message_end(&out, at);
	struct asker a = ask(n, "1.1");
	asker_put(&a, &out);
	contains(answer_of(&a, TASK_REFUSED).reason, "three descriptors");
	asker_close(&a);

	a = ask(n, "1.1"); /* nonsense */
	strbuf_add(&out, "\xff\xff\xff\xff", 4);
	asker_put(&a, &out);
	await_closed(&a);
	asker_close(&a);
	task_run(n, "1.1", "exit 0", NULL, 0); /* it is as well as before */
	room_end(n, "1.1", SIGTERM);
}

static void test_task_signal(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	struct strbuf out = {0};

	room_start(n, &o);
	struct asker a = task_start(n, "1.1", "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done", NULL);
	answer_of(&a, TASK_STARTED);
	char text[8];
	assert_int_equal(read(a.out, text, sizeof text), 6);
	task_signal(SIGUSR1, &out);
	asker_put(&a, &out);
	assert_int_equal(answer_of(&a, TASK_EXITED).status, 9);
	asker_close(&a);
	room_end(n, "1.1", SIGTERM);
}

/* The client goes: the task hears SIGHUP, and SIGKILL if that is not enough. */
static void test_hang_up(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	const char *scripts[] = {"echo ready; sleep 1000", "trap '' HUP; echo ready; while :; do sleep 1; done"};

	room_start(n, &o);
	for (int i = 0; i < 2; i++) {
		char text[8];
		struct asker a = task_start(n, "1.1", (char *)scripts[i], NULL);
		pid_t pid = answer_of(&a, TASK_STARTED).pid;
		assert_int_equal(read(a.out, text, sizeof text), 6);
		asker_close(&a);
		nest_await_dead(pid);
	}
	room_end(n, "1.1", SIGTERM);
}

static void test_ends_with_room(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	char text[8];

	room_start(n, &o);
	struct asker a =
		task_start(n, "1.1", "trap 'echo term; exit 4' TERM; echo ready; while :; do sleep 0.05; done", NULL);
	answer_of(&a, TASK_STARTED);
	assert_int_equal(read(a.out, text, sizeof text), 6);
	room_end(n, "1.1", SIGTERM);
	assert_int_equal(answer_of(&a, TASK_EXITED).status, 4);
	contains(output_get(&a), "term\n");
	asker_close(&a);

	o = room_order(n, "2.1");
	room_start(n, &o);
	a = task_start(n, "2.1", "trap '' TERM; echo ready; while :; do sleep 1; done", NULL);
	answer_of(&a, TASK_STARTED);
	assert_int_equal(read(a.out, text, sizeof text), 6);
	room_end(n, "2.1", SIGKILL);
	assert_int_equal(answer_of(&a, TASK_SIGNALED).status, SIGKILL);
	asker_close(&a);
}

/* Tasks beside a script: they end with it, and what they used is the job's. */
static void test_beside_script(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo begun; until test -s stop; do sleep 0.05; done; exit 5");
	char text[8];

	o.hosts = hosts;
	o.nhosts = 2;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "1.1");
	nest_await(n, o.out);
	task_run(n, "1.1", "i=0; while test $i -lt 100000; do i=$((i+1)); done", NULL, 0);
	struct asker a = task_start(n, "1.1", "echo ready; exec sleep 1000", NULL);
	pid_t pid = answer_of(&a, TASK_STARTED).pid;
	assert_int_equal(read(a.out, text, sizeof text), 6);
	nest_write(n, nest_path(n, "stop"), "x", 1, 0644);
	struct result r = nest_result(n, "1.1");
	assert_true(r.how == RESULT_EXITED && r.status == 5 && r.cause == CAUSE_ITSELF);
	assert_true(r.cpu_ms > 0);
	answer_of(&a, TASK_SIGNALED);
	assert_false(nest_alive(pid));
	asker_close(&a);
	nest_answer(n, ANSWER_DIED, "1.1");
}

/* The shepherd is killed: its tasks go with it, and cleaning removes its socket. */
static void test_shepherd_killed(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	struct strbuf out = {0};
	char text[8];

	nest_send(n, &o);
	pid_t shepherd = nest_answer(n, ANSWER_STARTED, "1.1").pid;
	nest_ready(n, "1.1");
	struct asker a = task_start(n, "1.1", "setsid sleep 1000 & echo $! >daemon; echo ready; wait", NULL);
	pid_t pid = answer_of(&a, TASK_STARTED).pid;
	assert_int_equal(read(a.out, text, sizeof text), 6);
	kill(shepherd, SIGKILL);
	nest_answer(n, ANSWER_DIED, "1.1");
	nest_await_dead(pid);
	assert_int_equal(task_connect(n->live, "1.1", NULL), -ECONNREFUSED);
	nursery_clean("1.1", &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "1.1");
	nest_await_dead(atoi(nest_read(n, nest_path(n, "daemon"))));
	assert_int_equal(task_connect(n->live, "1.1", NULL), -ENOENT);
	asker_close(&a);
}

static void test_many(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	struct asker a[40];
	struct strbuf big = {0};

	strbuf_puts(&big, "X=");
	for (int i = 0; i < 100000; i++)
		strbuf_puts(&big, "y");
	char *env[] = {big.text, "Y=2", NULL};
	room_start(n, &o);
	for (int i = 0; i < 40; i++)
		a[i] = task_start(n, "1.1", "echo ${#X} $Y", env);
	for (int i = 0; i < 40; i++) {
		answer_of(&a[i], TASK_STARTED);
		answer_of(&a[i], TASK_EXITED);
		assert_string_equal(output_get(&a[i]), "100000 2\n");
		asker_close(&a[i]);
	}
	strbuf_fini(&big);
	room_end(n, "1.1", SIGTERM);
}

static void test_terminal(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");
	char *argv[] = {"sh", "-c", "stty size; tty; echo x >/dev/tty; exit 6", NULL}, text[512];
	struct strbuf seen = {0};

	room_start(n, &o);
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(master >= 0 && !grantpt(master) && !unlockpt(master));
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	struct asker a = ask(n, "1.1");
	assert_int_equal(task_send(a.fd, &(struct task){.argv = argv, .rows = 33, .columns = 77},
				   (int[3]){slave, slave, slave}, NULL),
			 0);
	close(slave);
	answer_of(&a, TASK_STARTED);
	assert_int_equal(answer_of(&a, TASK_EXITED).status, 6);
	for (ssize_t got; (got = read(master, text, sizeof text)) > 0;)
		strbuf_add(&seen, text, (size_t)got);
	contains(strbuf_text(&seen), "33 77");
	contains(strbuf_text(&seen), "/dev/pts/");
	contains(strbuf_text(&seen), "x\r\n");
	strbuf_fini(&seen);
	close(master);
	asker_close(&a);
	room_end(n, "1.1", SIGTERM);
}

/* A room whose tasks take too much memory ends, and says why. */
static void test_memory(void **state)
{
	struct nest *n = *state;
	struct order o = room_order(n, "1.1");

	o.memory = 50 * 1024;
	room_start(n, &o);
	struct asker a = task_start(n, "1.1", "x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 100", NULL);
	answer_of(&a, TASK_STARTED);
	struct result r = nest_result(n, "1.1");
	assert_int_equal(r.cause, CAUSE_MEMORY);
	contains(r.reason, "its limit is 50 MB");
	nest_answer(n, ANSWER_DIED, "1.1");
	asker_close(&a);
}

/* In control groups, of each version that this machine lets us use. */
static void groups_try(const char *version)
{
	struct cgroup c;
	int r = cgroup_init(&c, version, "test", NULL);
	bool limits = !r && c.memory;

	if (r)
		skip_because("control groups (%s) may not be used here", version);
	cgroup_fini(&c);
	struct nest *n = nest_create(version);
	struct order o = room_order(n, "1.1");
	room_start(n, &o);
	contains(task_run(n, "1.1", "cat /proc/self/cgroup", NULL, 0), "/1.1\n");
	struct asker a = task_start(n, "1.1", "/no/such/program", NULL);
	answer_of(&a, TASK_STARTED); /* the shell */
	assert_int_equal(answer_of(&a, TASK_EXITED).status, 127);
	asker_close(&a);
	a = task_start(n, "1.1", "trap '' TERM; while :; do sleep 1; done", NULL);
	answer_of(&a, TASK_STARTED);
	room_end(n, "1.1", SIGKILL);
	answer_of(&a, TASK_SIGNALED);
	asker_close(&a);
	if (limits) {
		o = room_order(n, "2.1");
		o.memory = 50 * 1024;
		room_start(n, &o);
		a = task_start(n, "2.1", "x=$(head -c 200000000 /dev/zero | tr '\\0' x); exit 0", NULL);
		assert_int_equal(nest_result(n, "2.1").cause, CAUSE_MEMORY);
		nest_answer(n, ANSWER_DIED, "2.1");
		asker_close(&a);
	}
	nest_destroy(n);
}

static void test_group_v2(void **state)
{
	groups_try("v2");
}

static void test_group_v1(void **state)
{
	groups_try("v1");
}

/* ---- leases ---- */

static void test_lease(void **state)
{
	struct nest *n = *state;
	struct order o = nest_order(n, "1.1", "echo x; sleep 1000");
	int64_t minute = 60 * INT64_C(1000000);

	o.lease = 1; /* no file: from its own start */
	struct result r = nest_run(n, &o);
	assert_int_equal(r.cause, CAUSE_LEASE);
	assert_string_equal(r.reason, "this host had no word from the server for 1 s");

	lease_write(n->live, boot_us() - minute, false, NULL); /* over before it begins */
	o = nest_order(n, "2.1", "echo x >ran");
	o.lease = 30;
	r = nest_run(n, &o);
	assert_true(r.how == RESULT_NOT_STARTED && r.cause == CAUSE_LEASE);
	assert_null(nest_read(n, nest_path(n, "ran")));

	nest_write(n, arena_printf(n->a, "%s/.lease", n->live), "1 another-boot\n", 15, 0600);
	o = nest_order(n, "3.1", "exit 3");
	o.lease = 30;
	assert_int_equal(nest_run(n, &o).status, 3);
}

/* Renewed, it continues; suspended too; then the words stop, and it ends, and so does one that
 * does not listen to SIGTERM. */
static void test_lease_renewed(void **state)
{
	struct nest *n = *state;
	struct order room = room_order(n, "1.1"),
		     o = nest_order(n, "2.1", "trap '' TERM; echo x; while :; do sleep 1; done");
	struct result r;
	pid_t pid;

	lease_write(n->live, boot_us(), false, NULL);
	room.lease = o.lease = 3;
	o.grace = 1;
	room_start(n, &room);
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "2.1");
	nest_await(n, o.out);
	for (int i = 0; i < 16; i++) {
		usleep(250000);
		lease_write(n->live, boot_us(), i > 4 && i < 15, NULL);
		assert_int_equal(live_look(n->live, "1.1", n->a, &r, &pid), LIVE_RUNNING);
	}
	r = nest_result(n, "1.1");
	assert_int_equal(r.cause, CAUSE_LEASE);
	nest_answer(n, ANSWER_DIED, "1.1");
	r = nest_result(n, "2.1");
	assert_true(r.cause == CAUSE_LEASE && r.how == RESULT_SIGNALED && r.status == SIGKILL);
	nest_answer(n, ANSWER_DIED, "2.1");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_room),
		TEST(test_room_refused),
		TEST(test_who),
		TEST(test_task),
		TEST(test_task_refused),
		TEST(test_task_signal),
		TEST(test_hang_up),
		TEST(test_ends_with_room),
		TEST(test_beside_script),
		TEST(test_many),
		TEST(test_shepherd_killed),
		TEST(test_terminal),
		TEST(test_memory),
		TEST(test_lease),
		TEST(test_lease_renewed),
		cmocka_unit_test(test_group_v2),
		cmocka_unit_test(test_group_v1),
	};

	return cmocka_run_group_tests_name("task", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
