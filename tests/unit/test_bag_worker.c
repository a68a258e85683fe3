/*
 * test_bag_worker.c - commands as a worker starts them, a real worker at the other end of a socket,
 * and a relay between them.
 */
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/bagfile.h"
#include "bag/files.h"
#include "bag/journal.h"
#include "bag/relay.h"
#include "bag/spawn.h"
#include "bag/wire.h"
#include "bag/worker.h"
#include "base/tcp.h"
#include "base/ticks.h"
#include "support/closed.h"

static void splits(const char *command, const char *expected)
{
	struct spawner s = {0};
	char got[256] = "";
	size_t n = spawner_split(&s, command, strlen(command));

	for (size_t i = 0; i < n; i++)
		sprintf(got + strlen(got), "[%s]", s.words[i]);
	assert_string_equal(got, expected);
	assert_true(n == 0 || s.words[n] == NULL);
	spawner_fini(&s);
}

static void words(void **state)
{
	(void)state;
	splits("true", "[true]");
	splits("  a\tb  c=d ", "[a][b][c=d]");
	splits("cat 'a b' x'; rm 'y ''", "[cat][a b][x; rm y][]");
	splits("a=b c", "");
	splits("echo $x", "");
	splits("echo a > b", "");
	splits("ls *.c", "");
	splits("cat ~/x", "");
	splits("echo a#b", "[echo][a#b]");
	splits("echo #b", "");
	splits("echo 'a", "");
	splits("echo \"a\"", "");
	splits("'if' x", "");
	splits("a; b", "");
	splits("", "");
}

/* The other end. */
struct broker {
	int fd;
	pid_t pid;
	struct strbuf in;
	size_t at;
};

enum { TOLD, CUT, WRONG }; /* why a worker ended */

static struct broker begin_with(const struct worker_offer *offer)
{
	int fd[2];
	struct broker b = {0};

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	b.pid = fork();
	if (b.pid == 0) {
		struct err err;
		close(fd[0]);
		int rc = worker_run(fd[1], offer, &err);
		_exit(rc < 0 ? WRONG : rc);
	}
	close(fd[1]);
	b.fd = fd[0];
	return b;
}

static struct broker begin_for(int64_t cpus, int64_t gpus, int64_t seconds)
{
	return begin_with(
		&(struct worker_offer){.name = "w", .cpus = cpus, .gpus = gpus, .memory = -1, .seconds = seconds});
}

static struct broker begin(int64_t cpus, int64_t gpus)
{
	return begin_for(cpus, gpus, -1);
}

static struct wire next(struct broker *b)
{
	struct wire m;
	char buffer[65536];

	if (b->at == b->in.n)
		strbuf_clear(&b->in), b->at = 0;
	for (;;) {
		ssize_t step = b->in.n ? wire_next(b->in.text + b->at, b->in.n - b->at, &m) : 0;
		assert_true(step >= 0);
		if (step > 0) {
			b->at += (size_t)step;
			return m;
		}
		ssize_t n = recv(b->fd, buffer, sizeof buffer, 0);
		assert_true(n > 0);
		strbuf_add(&b->in, buffer, (size_t)n);
	}
}

static void give(struct broker *b, const struct wire *m)
{
	struct strbuf out = {0};

	wire_add(&out, m);
	assert_int_equal(send(b->fd, out.text, out.n, 0), out.n);
	strbuf_fini(&out);
}

static void task(struct broker *b, uint64_t number, const char *command, int64_t cpus, int64_t seconds)
{
	give(b, &(struct wire){.kind = WIRE_TASK,
			       .task = number,
			       .attempt = 1,
			       .cpus = cpus,
			       .seconds = seconds,
			       .grace = 60,
			       .output = 16 << 20,
			       .text = command,
			       .ntext = strlen(command)});
}

static int end(struct broker *b)
{
	int status;

	close(b->fd);
	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	strbuf_fini(&b->in);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void result(struct broker *b, uint64_t number, int status, const char *out, const char *err)
{
	struct wire m = next(b);

	assert_int_equal(m.kind, WIRE_RESULT);
	assert_int_equal(m.task, number);
	assert_int_equal(m.status, status);
	assert_int_equal(m.ntext, strlen(out));
	assert_memory_equal(m.text, out, m.ntext);
	if (err) {
		assert_int_equal(m.nerr, strlen(err));
		assert_memory_equal(m.err, err, m.nerr);
	}
}

static void runs(void **state)
{
	(void)state;
	struct broker b = begin(1000, 0);
	struct wire m = next(&b);

	assert_int_equal(m.kind, WIRE_HELLO);
	assert_int_equal(m.cpus, 1000);
	task(&b, 1, "echo a", 1000, 0);
	task(&b, 2, "echo $SHUNT_TASK; echo e >&2; exit 3", 1000, 0);
	task(&b, 3, "no-such-program x", 1000, 0);
	task(&b, 4, "cat", 1000, 0); /* standard input is empty */
	task(&b, 5, "exit 4", 1000, 0);
	task(&b, 6, "echo b", 1000, 0);
	result(&b, 1, 0, "a\n", "");
	result(&b, 2, 3 << 8, "2\n", "e\n");
	result(&b, 3, 127 << 8, "", NULL);
	result(&b, 4, 0, "", "");
	result(&b, 5, 4 << 8, "", "");
	result(&b, 6, 0, "b\n", "");
	task(&b, 7, ":", 1000, 0);
	task(&b, 8, ": 'no process' here", 1000, 0);
	result(&b, 7, 0, "", "");
	result(&b, 8, 0, "", "");
	assert_int_equal(end(&b), CUT);
}

/* Output of more than a message comes in pieces. */
static void large(void **state)
{
	(void)state;
	struct broker b = begin(1000, 0);
	size_t chunks = 0, total = 0;

	next(&b);
	task(&b, 1, "head -c 3000000 /dev/zero", 1000, 0);
	for (;;) {
		struct wire m = next(&b);
		total += m.ntext;
		if (m.kind == WIRE_RESULT)
			break;
		assert_int_equal(m.kind, WIRE_CHUNK);
		chunks++;
	}
	assert_int_equal(total, 3000000);
	assert_int_equal(chunks, 3000000 / WIRE_OUTPUT);
	assert_int_equal(end(&b), CUT);
}

/* When its time is up it ends, also if nothing comes from anybody. */
static void time_is_up(void **state)
{
	(void)state;
	struct broker b = begin_for(1000, 0, 1);
	int status;

	next(&b);
	assert_int_equal(waitpid(b.pid, &status, 0), b.pid);
	assert_int_equal(status, 0);
	close(b.fd);
	strbuf_fini(&b.in);
}

static void limits_and_drops(void **state)
{
	(void)state;
	struct broker b = begin(2000, 2);

	next(&b);
	task(&b, 1, "sleep 100", 1000, 1);
	struct wire m = next(&b);
	assert_true(WIFSIGNALED(m.status) && WTERMSIG(m.status) == SIGTERM);
	assert_int_equal(strncmp(m.err, "shunt: ended by SIGTERM at its limit, time=1s\n", m.nerr), 0);
	char path[64], command[128];
	snprintf(path, sizeof path, "/tmp/bag-begun.%d", (int)b.pid);
	snprintf(command, sizeof command, "echo > %s; sleep 100", path);
	task(&b, 2, command, 2000, 0);
	while (access(path, F_OK) != 0) /* it has begun: a recall does not concern it */
		usleep(1000);
	unlink(path);
	task(&b, 3, "sleep 100", 1000, 0); /* waits for the previous one */
	give(&b, &(struct wire){.kind = WIRE_DROP, .task = 3});
	m = next(&b);
	assert_true(m.kind == WIRE_RETURNED && m.task == 3);
	task(&b, 4, "sleep 100", 1000, 0);
	give(&b, &(struct wire){.kind = WIRE_RECALL});
	m = next(&b);
	assert_true(m.kind == WIRE_RETURNED && m.task == 4);
	give(&b, &(struct wire){.kind = WIRE_DROP, .task = 2});
	m = next(&b);
	assert_true(m.kind == WIRE_RETURNED && m.task == 2);
	give(&b, &(struct wire){.kind = WIRE_TASK,
				.task = 5,
				.cpus = 500,
				.gpus = 2,
				.output = 100,
				.text = "echo $CUDA_VISIBLE_DEVICES",
				.ntext = 26});
	result(&b, 5, 0, "0,1\n", "");
	give(&b, &(struct wire){.kind = WIRE_END});
	int status;
	assert_int_equal(waitpid(b.pid, &status, 0), b.pid);
	assert_int_equal(status, 0);
	close(b.fd);
	strbuf_fini(&b.in);
}

/* Gives a task that has 60 seconds of grace, and waits until it has made the file `begun`. */
static void graced(struct broker *b, uint64_t number, const char *command)
{
	give(b, &(struct wire){.kind = WIRE_TASK,
			       .task = number,
			       .cpus = 1000,
			       .grace = 60,
			       .output = 16 << 20,
			       .text = command,
			       .ntext = strlen(command)});
	while (access("begun", F_OK) != 0)
		usleep(1000);
	unlink("begun");
}

/* A task that must end gets SIGTERM, and only after its grace SIGKILL. */
static void grace(void **state)
{
	(void)state;
	static const char saves[] =
		"exec 2>/dev/null; trap 'touch saved; exit 0' TERM; touch begun; while :; do sleep 0.01; done";
	/* the shell ends at once, and the program that it runs some time later */
	static const char below[] =
		"sh -c \"trap 'sleep 0.3; touch saved; exit 0' TERM; touch begun; while :; do sleep 0.01; done\"; true";
	static const char deaf[] = "trap '' TERM; sleep 100";
	char dir[] = "/tmp/bag-grace.XXXXXX";
	int status;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	struct broker b = begin(1000, 0);
	next(&b);
	give(&b, &(struct wire){.kind = WIRE_TASK,
				.task = 1,
				.seconds = 1,
				.grace = 60,
				.output = 16 << 20,
				.text = saves,
				.ntext = strlen(saves)});
	result(&b, 1, SIGTERM, "", "shunt: ended by SIGTERM at its limit, time=1s\n"); /* although it exits with 0 */
	assert_int_equal(unlink("saved"), 0);
	give(&b, &(struct wire){.kind = WIRE_TASK,
				.task = 2,
				.seconds = 1,
				.grace = 1,
				.output = 16 << 20,
				.text = deaf,
				.ntext = strlen(deaf)});
	result(&b, 2, SIGKILL, "", "shunt: killed, as it did not end after SIGTERM, at its limit, time=1s\n");
	unlink("begun");
	graced(&b, 3, below);
	give(&b, &(struct wire){.kind = WIRE_DROP, .task = 3});
	struct wire m = next(&b);
	assert_true(m.kind == WIRE_RETURNED && m.task == 3);
	assert_int_equal(unlink("saved"), 0);
	graced(&b, 4, below);
	give(&b, &(struct wire){.kind = WIRE_END});
	assert_int_equal(recv(b.fd, &m, 1, 0), 0); /* no result: the task runs again */
	assert_int_equal(unlink("saved"), 0);
	assert_int_equal(end(&b), TOLD);
	b = begin(1000, 0);
	next(&b);
	graced(&b, 5, saves);
	kill(b.pid, SIGTERM); /* by a cluster that takes its allocation away */
	assert_int_equal(recv(b.fd, &m, 1, 0), 0);
	assert_int_equal(unlink("saved"), 0);
	assert_int_equal(end(&b), TOLD);
	b = begin(1000, 0);
	next(&b);
	graced(&b, 6, "trap '' TERM; touch begun; sleep 1000");
	give(&b, &(struct wire){.kind = WIRE_END});
	close(b.fd); /* a broker in a hurry */
	assert_int_equal(waitpid(b.pid, &status, 0), b.pid);
	strbuf_fini(&b.in);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* When the connection ends, so does everything, also what has left its group. */
static void dies(void **state)
{
	(void)state;
	struct broker b = begin(1000, 0);
	char c;

	next(&b);
	task(&b, 1, "mkfifo /tmp/bag-worker.$PPID; setsid sleep 1000 > /tmp/bag-worker.$PPID & echo $PPID; wait", 1000,
	     0);
	char path[64];
	snprintf(path, sizeof path, "/tmp/bag-worker.%d", (int)b.pid);
	FILE *f = NULL;
	while (!f)
		f = fopen(path, "r"); /* opens when the writer does */
	assert_int_equal(end(&b), CUT);
	assert_int_equal(fread(&c, 1, 1, f), 0); /* the last writer is gone */
	fclose(f);
	unlink(path);
	/* Nonsense also ends it. */
	b = begin(1000, 0);
	next(&b);
	give(&b, &(struct wire){.kind = WIRE_ASK, .text = "status", .ntext = 6});
	assert_int_equal(end(&b), WRONG);
}

/* Two tasks at a time, each with GPUs of its own, named as in the worker's own list; and memory
 * for one. */
static void resources(void **state)
{
	(void)state;
	static const char gpus[] =
		"echo $CUDA_VISIBLE_DEVICES >&2; touch $SHUNT_TASK; while ! [ -e 1 -a -e 2 ]; do sleep "
		"0.01; done",
			  holds[] = "touch begun; while ! [ -e go ]; do sleep 0.01; done; rm begun go",
			  waits[] = "! [ -e begun ]";
	char dir[] = "/tmp/bag-resources.XXXXXX";
	bool seen[2] = {false};

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	setenv("CUDA_VISIBLE_DEVICES", "17,23", 1);
	struct broker b = begin_with(&(struct worker_offer){.cpus = 2000, .gpus = 2, .memory = 1 << 20, .seconds = -1});
	unsetenv("CUDA_VISIBLE_DEVICES");
	struct wire m = next(&b), t = {.kind = WIRE_TASK, .cpus = 1000, .gpus = 1, .output = 100};
	char name[80] = "";
	gethostname(name, 60);
	sprintf(name + strlen(name), ":%d", (int)b.pid);
	assert_true(m.ntext == strlen(name) && memcmp(m.text, name, m.ntext) == 0);
	assert_true(m.gpus == 2 && m.memory == 1 << 20 && m.seconds == -1 && m.pid == (uint32_t)b.pid);
	t.text = gpus;
	t.ntext = strlen(gpus);
	for (t.task = 1; t.task <= 2; t.task++)
		give(&b, &t);
	for (int i = 0; i < 2; i++) {
		m = next(&b);
		assert_int_equal(m.status, 0);
		assert_true(m.nerr == 3 && (memcmp(m.err, "17\n", 3) == 0 || memcmp(m.err, "23\n", 3) == 0));
		seen[m.err[0] == '2'] = true;
	}
	assert_true(seen[0] && seen[1]);
	assert_true(unlink("1") == 0 && unlink("2") == 0);
	t = (struct wire){
		.kind = WIRE_TASK, .task = 3, .cpus = 1000, .memory = 600 << 10, .output = 100, .text = holds};
	t.ntext = strlen(holds);
	give(&b, &t);
	while (access("begun", F_OK) != 0)
		usleep(1000);
	t.task = 4;
	t.text = waits;
	t.ntext = strlen(waits);
	give(&b, &t);
	for (int i = 0; i < 100; i++) { /* they have no needs, and give the other the time to begin */
		task(&b, 5, ":", 0, 0);
		result(&b, 5, 0, "", "");
	}
	fclose(fopen("go", "w"));
	result(&b, 3, 0, "", "");
	result(&b, 4, 0, "", "");
	assert_int_equal(end(&b), CUT);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A task's own variables take the place of those that the worker has itself. */
static void environments(void **state)
{
	(void)state;
	static const char shown[] = "env | grep -E '^SHUNT_(ATTEMPT|CPUS|TASK)=' | sort; echo $CUDA_VISIBLE_DEVICES";

	setenv("SHUNT_TASK", "other", 1);
	setenv("SHUNT_ATTEMPT", "other", 1);
	setenv("SHUNT_CPUS", "other", 1);
	setenv("CUDA_VISIBLE_DEVICES", "3,5", 1);
	struct broker b = begin(3999, 0);
	next(&b);
	struct wire t = {.kind = WIRE_TASK, .task = 7, .attempt = 2, .cpus = 3999, .output = 1000, .text = shown};
	t.ntext = strlen(shown);
	give(&b, &t);
	result(&b, 7, 0, "SHUNT_ATTEMPT=2\nSHUNT_CPUS=3\nSHUNT_TASK=7\n3,5\n", "");
	t.cpus = 100;
	give(&b, &t);
	result(&b, 7, 0, "SHUNT_ATTEMPT=2\nSHUNT_CPUS=1\nSHUNT_TASK=7\n3,5\n", "");
	assert_int_equal(end(&b), CUT);
	unsetenv("SHUNT_TASK");
	unsetenv("SHUNT_ATTEMPT");
	unsetenv("SHUNT_CPUS");
	unsetenv("CUDA_VISIBLE_DEVICES");
}

/* If a task writes more than is kept, the beginning is sent, and its file is cut while it runs.
 * Tasks wait while nobody reads their output. A result says when it began and how long it took. */
static void outputs(void **state)
{
	(void)state;
	static const char grows[] =
		"exec 3>&1; head -c 100000 /dev/zero | tr '\\0' x; while [ $(stat -Lc %s /dev/fd/3) -gt "
		"101 ]; do sleep 0.05; done";
	int64_t now = clock_us(CLOCK_REALTIME), hour = INT64_C(3600000000);
	struct broker b = begin(1000, 0);
	struct wire t = {.kind = WIRE_TASK, .task = 1, .cpus = 1000, .output = 100, .text = grows}, m;
	char path[64], command[200];
	size_t total = 0;

	next(&b);
	t.ntext = strlen(grows);
	give(&b, &t);
	m = next(&b);
	assert_true(m.kind == WIRE_RESULT && m.status == 0 && m.cut && m.ntext == 100 && m.nerr == 0);
	assert_true(m.began > now - hour && m.began < now + hour && m.took > 0 && m.took < hour);
	t.output = 5;
	t.text = "echo 1234; echo 1234 >&2";
	t.ntext = strlen(t.text);
	give(&b, &t);
	m = next(&b);
	assert_true(!m.cut && m.ntext == 5 && m.nerr == 5);
	t.output = 64 << 20;
	/* more than the worker keeps in memory for its broker */
	snprintf(path, sizeof path, "/tmp/bag-full.%d", (int)b.pid);
	snprintf(command, sizeof command, "head -c 40000000 /dev/zero; mkdir %s", path);
	t.text = command;
	t.ntext = strlen(command);
	give(&b, &t);
	while (access(path, F_OK) != 0)
		usleep(1000);
	rmdir(path);
	do {
		m = next(&b);
		total += m.ntext;
	} while (m.kind == WIRE_CHUNK);
	assert_true(m.kind == WIRE_RESULT && m.status == 0 && !m.cut);
	assert_int_equal(total, 40000000);
	assert_int_equal(end(&b), CUT);
}

/* A task that uses more memory than it stated is killed, and only that one; one that is stopped
 * gets the time to end itself nevertheless. */
static void memory_and_stops(void **state)
{
	(void)state;
	static const char large[] = "x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 1000",
			  stops[] = "trap 'touch saved; exit 0' TERM; touch begun; kill -STOP $$; sleep 1000";
	char dir[] = "/tmp/bag-memory.XXXXXX";

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	struct broker b = begin(2000, 0);
	next(&b);
	struct wire t = {
		.kind = WIRE_TASK, .task = 1, .cpus = 1000, .memory = 1 << 30, .output = 100, .text = "sleep 1000"};
	t.ntext = strlen(t.text);
	give(&b, &t);
	t.task = 2;
	t.memory = 20 << 10;
	t.text = large;
	t.ntext = strlen(large);
	give(&b, &t);
	struct wire m = next(&b);
	assert_true(m.kind == WIRE_RESULT && m.task == 2 && m.status == SIGKILL);
	assert_int_equal(strncmp(m.err, "shunt: killed with ", 19), 0);
	assert_non_null(memmem(m.err, m.nerr, " of memory, its limit is mem=20mb\n", 34));
	graced(&b, 3, stops);
	give(&b, &(struct wire){.kind = WIRE_DROP, .task = 3});
	m = next(&b);
	assert_true(m.kind == WIRE_RETURNED && m.task == 3);
	assert_int_equal(unlink("saved"), 0);
	assert_int_equal(end(&b), CUT);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void apart(struct broker *b, uint64_t number, const char *patterns)
{
	give(b, &(struct wire){.kind = WIRE_APART, .task = number, .text = patterns, .ntext = strlen(patterns)});
}

static void file(struct broker *b, uint64_t number, const char *path, int mode, const char *bytes, bool more)
{
	give(b, &(struct wire){.kind = WIRE_FILE,
			       .task = number,
			       .attempt = (uint32_t)mode,
			       .to_err = more,
			       .text = path,
			       .ntext = strlen(path),
			       .err = bytes,
			       .nerr = strlen(bytes)});
}

/* Tasks in directories of their own: their files come before them, and what they make goes back. */
static void tasks_apart(void **state)
{
	(void)state;
	char dir[] = "/tmp/bag-apart.XXXXXX", scratch[64];

	assert_non_null(mkdtemp(dir));
	snprintf(scratch, sizeof scratch, "%s/scratch", dir);
	struct worker_offer offer = {.name = "w", .cpus = 1000, .memory = -1, .seconds = -1, .scratch = scratch};
	struct broker b = begin_with(&offer);
	next(&b);
	apart(&b, 1, "out/*");
	file(&b, 1, "in/a", 0700, "echo in", false);
	file(&b, 1, "in/a", 0, "put", true);
	task(&b, 1, "mkdir out; in/a >out/x; ls; pwd", 1000, 0);
	struct wire m = next(&b);
	assert_true(m.kind == WIRE_FILE && m.task == 1 && m.ntext == 5 && memcmp(m.text, "out/x", 5) == 0);
	assert_true(m.nerr == 6 && memcmp(m.err, "input\n", 6) == 0);
	char shown[100];
	snprintf(shown, sizeof shown, "in\nout\n%s/1\n", scratch);
	result(&b, 1, 0, shown, "");
	apart(&b, 2, "missing");
	task(&b, 2, ":", 1000, 0); /* what is to come back is looked for */
	m = next(&b);
	assert_true(m.kind == WIRE_RESULT && m.task == 2 && m.status == 1 << 8);
	assert_int_equal(strncmp(m.err, "shunt: out=missing", 18), 0);
	apart(&b, 3, "");
	task(&b, 3, "ls; exit 3", 1000, 0);
	result(&b, 3, 3 << 8, "", "");
	apart(&b, 4, "");
	file(&b, 4, "a", 0600, "x", false);
	file(&b, 4, "a/b", 0600, "x", false); /* a is a file */
	task(&b, 4, "true", 1000, 0);
	result(&b, 4, 126 << 8, "", "shunt: its files can't be written on its worker: Not a directory\n");
	task(&b, 5, "ls | wc -l", 1000, 0); /* here again */
	m = next(&b);
	assert_true(m.kind == WIRE_RESULT && m.task == 5 && m.status == 0);
	assert_int_equal(rmdir(scratch), 0); /* nothing is left in it */
	assert_int_equal(end(&b), CUT);

	/* it must not be someone else's */
	assert_int_equal(mkdir(scratch, 0700), 0);
	b = begin_with(&offer);
	next(&b);
	apart(&b, 1, "");
	task(&b, 1, "true", 1000, 0);
	result(&b, 1, 126 << 8, "", "shunt: its files can't be written on its worker: File exists\n");
	assert_int_equal(end(&b), CUT);
	assert_true(rmdir(scratch) == 0 && rmdir(dir) == 0);
}

/* What a broker never sends ends the worker. */
static void nonsense(void **state)
{
	(void)state;
#define WRONG_TASK(member)                                                                                             \
	{                                                                                                              \
		.kind = WIRE_TASK, .task = 1, .text = "true", .ntext = 4, member                                       \
	}
	const struct wire first = {.kind = WIRE_APART, .task = 1, .text = "x", .ntext = 1},
			  wrong[] = {WRONG_TASK(.cpus = -1),
				     WRONG_TASK(.gpus = -1),
				     WRONG_TASK(.memory = -1),
				     WRONG_TASK(.seconds = -1),
				     WRONG_TASK(.grace = -1),
				     WRONG_TASK(.grace = BAG_GRACE_MOST + 1),
				     WRONG_TASK(.output = -1),
				     WRONG_TASK(.output = INT64_C(1) + RECORD_OUTPUT_MOST),
				     {.kind = WIRE_TASK, .task = 1},
				     {.kind = WIRE_ANSWER, .text = "key", .ntext = 3},
				     {.kind = WIRE_APART},
				     /* after the first one */
				     {.kind = WIRE_TASK, .task = 2, .text = "true", .ntext = 4},
				     first,
				     {.kind = WIRE_FILE, .task = 2, .text = "a", .ntext = 1},
				     {.kind = WIRE_FILE, .task = 1, .text = "../a", .ntext = 4}};
	char dir[] = "/tmp/bag-nonsense.XXXXXX", scratch[64];

	assert_non_null(mkdtemp(dir));
	snprintf(scratch, sizeof scratch, "%s/scratch", dir);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct broker b = begin_with(&(struct worker_offer){
			.name = "w", .cpus = 1000, .memory = -1, .seconds = -1, .scratch = scratch});
		struct wire m = next(&b);
		if (i >= 11)
			give(&b, &first);
		give(&b, &wrong[i]);
		while (recv(b.fd, &m, 1, 0) > 0)
			;
		assert_int_equal(end(&b), WRONG);
		files_remove(scratch);
	}
	assert_int_equal(rmdir(dir), 0);
}

/* ---- the relay ---- */

static int to_port(int port)
{
	char text[8];

	snprintf(text, sizeof text, "%d", port);
	int fd = tcp_reach("127.0.0.1", text, 5000, NULL);
	assert_true(fd >= 0);
	fcntl(fd, F_SETFL, 0);
	return fd;
}

static int accepted(int listener)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	while (poll(&p, 1, -1) < 0)
		;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void carries(int from, int to, const char *text)
{
	char got[100];
	size_t n = strlen(text);

	assert_int_equal(send(from, text, n, MSG_NOSIGNAL), n);
	assert_int_equal(recv(to, got, n, MSG_WAITALL), n);
	assert_memory_equal(got, text, n);
}

/* Returns true if the other end has ended, perhaps by a reset. */
static bool is_over(int fd)
{
	char c;

	return recv(fd, &c, 1, 0) <= 0;
}

struct relayed {
	int listener, port, broker;
	pid_t pid;
};

/* Starts a relay to a broker of the test, of whose addresses the first one refuses. */
static struct relayed relay_begin(void)
{
	struct relayed x;
	struct credential c = {.nwhere = 2};
	struct err err;
	int port;

	close(tcp_listen(0, &port, &err));
	snprintf(c.where[0], sizeof c.where[0], "127.0.0.1:%d", port);
	x.broker = tcp_listen(0, &port, &err);
	snprintf(c.where[1], sizeof c.where[1], "127.0.0.1:%d", port);
	x.listener = tcp_listen(0, &x.port, &err);
	assert_true(x.broker >= 0 && x.listener >= 0);
	x.pid = fork();
	if (x.pid == 0) {
		close(x.broker);
		_exit(relay_run(x.listener, &c, &err) == 0 && closed_count() == closed_before + 1 ? 0 : 1);
	}
	close(x.listener);
	/* it looks for the broker before it takes anything, and again later */
	close(accepted(x.broker));
	return x;
}

static void pair_begin(const struct relayed *x, int *worker, int *broker)
{
	char got[5];
	ssize_t n;

	*worker = to_port(x->port);
	assert_int_equal(send(*worker, "hello", 5, 0), 5);
	for (;;) {
		*broker = accepted(x->broker);
		n = recv(*broker, got, 5, MSG_WAITALL);
		if (n > 0)
			break;
		close(*broker); /* the relay has looked for it again */
	}
	assert_int_equal(n, 5);
	assert_memory_equal(got, "hello", 5);
}

static void relays(void **state)
{
	(void)state;
	enum { MUCH = 4 << 20 };
	struct relayed x = relay_begin();
	int worker[2], broker[2], status;
	char *much = malloc(MUCH), *got = malloc(MUCH);

	for (int i = 0; i < MUCH; i++)
		much[i] = (char)(i % 251);
	for (int i = 0; i < 2; i++)
		pair_begin(&x, &worker[i], &broker[i]);
	pid_t writer = fork(); /* more than fits into any buffer, while the other end does not read yet */
	if (writer == 0) {
		ssize_t n = send(broker[0], much, MUCH, 0);
		_exit(n == MUCH && shutdown(broker[0], SHUT_WR) == 0 ? 0 : 1);
	}
	carries(worker[1], broker[1], "worker");
	carries(broker[1], worker[1], "broker");
	assert_int_equal(recv(worker[0], got, MUCH, MSG_WAITALL), MUCH);
	assert_memory_equal(got, much, MUCH);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	assert_true(is_over(worker[0])); /* one direction has ended, the other not */
	carries(worker[0], broker[0], "and back");
	shutdown(worker[0], SHUT_WR);
	assert_true(is_over(broker[0]));
	close(worker[0]);
	close(broker[0]);
	/* a broken connection breaks at the other end */
	setsockopt(broker[1], SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
	close(broker[1]);
	assert_true(is_over(worker[1]));
	close(worker[1]);
	pair_begin(&x, &worker[0], &broker[0]);
	close(x.broker); /* it ends: the next connection is not kept, and the relay ends with the last one */
	worker[1] = to_port(x.port);
	assert_true(is_over(worker[1]));
	carries(worker[0], broker[0], "still");
	close(broker[0]);
	assert_true(is_over(worker[0]));
	close(worker[0]);
	close(worker[1]);
	assert_int_equal(waitpid(x.pid, &status, 0), x.pid);
	assert_int_equal(status, 0);

	x = relay_begin(); /* a signal ends it, and its connections */
	pair_begin(&x, &worker[0], &broker[0]);
	kill(x.pid, SIGTERM);
	assert_true(is_over(worker[0]) && is_over(broker[0]));
	assert_int_equal(waitpid(x.pid, &status, 0), x.pid);
	assert_int_equal(status, 0);
	close(worker[0]);
	close(broker[0]);
	close(x.broker);
	free(much);
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(words),
					   cmocka_unit_test(runs),
					   cmocka_unit_test(large),
					   cmocka_unit_test(time_is_up),
					   cmocka_unit_test(limits_and_drops),
					   cmocka_unit_test(grace),
					   cmocka_unit_test(dies),
					   cmocka_unit_test(resources),
					   cmocka_unit_test(environments),
					   cmocka_unit_test(outputs),
					   cmocka_unit_test(memory_and_stops),
					   cmocka_unit_test(tasks_apart),
					   cmocka_unit_test(nonsense),
					   cmocka_unit_test(relays),
					   CLOSED_TEST};
	return cmocka_run_group_tests_name("bag_worker", tests, closed_begin, NULL);
}
