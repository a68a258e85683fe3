/*
 * test_bag_worker.c - commands as a worker starts them, and a real worker at the other end of a
 * socket.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/spawn.h"
#include "bag/wire.h"
#include "bag/worker.h"
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

static struct broker begin_for(int64_t cpus, int64_t gpus, int64_t seconds)
{
	int fd[2];
	struct broker b = {0};

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	b.pid = fork();
	if (b.pid == 0) {
		struct err err;
		close(fd[0]);
		_exit(worker_run(fd[1],
				 &(struct worker_offer){
					 .name = "w", .cpus = cpus, .gpus = gpus, .memory = -1, .seconds = seconds},
				 &err) >= 0
			      ? 0
			      : 1);
	}
	close(fd[1]);
	b.fd = fd[0];
	return b;
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
	return status;
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
	assert_int_equal(end(&b), 0);
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
	assert_int_equal(end(&b), 0);
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
	assert_int_equal(end(&b), 0);
	b = begin(1000, 0);
	next(&b);
	graced(&b, 5, saves);
	kill(b.pid, SIGTERM); /* by a cluster that takes its allocation away */
	assert_int_equal(recv(b.fd, &m, 1, 0), 0);
	assert_int_equal(unlink("saved"), 0);
	assert_int_equal(end(&b), 0);
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
	assert_int_equal(end(&b), 0);
	assert_int_equal(fread(&c, 1, 1, f), 0); /* the last writer is gone */
	fclose(f);
	unlink(path);
	/* Nonsense also ends it. */
	b = begin(1000, 0);
	next(&b);
	give(&b, &(struct wire){.kind = WIRE_ASK, .text = "status", .ntext = 6});
	assert_int_equal(WEXITSTATUS(end(&b)), 1);
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
					   CLOSED_TEST};
	return cmocka_run_group_tests_name("bag_worker", tests, closed_begin, NULL);
}
