/*
 * test_taskclient.c - programs on other hosts, as pbs_rsh asks for them: against an agent's side
 * that is played here, over a real UNIX socket, and starts real programs.
 */
#include <errno.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/unixsock.h"
#include "cmd/launch/taskclient.h"
#include "pmix/cable.h"

static char dir[] = "/tmp/shunt-test-XXXXXX", path[64];
static int listener;

/* ---- the agent ---- */

struct program {
	struct cable wire;
	pid_t pid;
	int in, out, err;
	struct strbuf input;
	size_t fed;
	bool input_end;
};

static void pipe_make(int fd[2])
{
	if (pipe(fd) < 0)
		_exit(90);
}

/* Starts what the first frame asks for. */
static void program_start(struct program *p, const json_t *head)
{
	int in[2], out[2], err[2];
	char *argv[16] = {0};
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(head, "argv"), i, v) if (i < 15) argv[i] = (char *)json_string_value(v);
	pipe_make(in);
	pipe_make(out);
	pipe_make(err);
	p->pid = fork();
	if (p->pid == 0) {
		setpgid(0, 0);
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		json_array_foreach(json_object_get(head, "env"), i, v) putenv((char *)json_string_value(v));
		if (json_is_string(json_object_get(head, "workdir")) &&
		    chdir(json_string_value(json_object_get(head, "workdir"))) < 0)
			_exit(91);
		execvp(argv[0], argv);
		_exit(92);
	}
	setpgid(p->pid, p->pid);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	p->in = in[1];
	p->out = out[0];
	p->err = err[0];
	cable_pack(&p->wire, NULL, 0, "{s:s,s:i}", "t", "started", "pid", (int)p->pid);
}

static void program_feed(struct program *p, const json_t *head, const char *data, size_t n)
{
	const char *t = json_string_value(json_object_get(head, "t"));

	if (strcmp(t, "in") == 0) {
		strbuf_add(&p->input, data, n);
	} else if (strcmp(t, "in_end") == 0) {
		p->input_end = true;
	} else if (strcmp(t, "signal") == 0) {
		kill(-p->pid, (int)json_integer_value(json_object_get(head, "signal")));
	}
}

/* A piece that the program's pipe has room for. */
static void input_push(struct program *p)
{
	size_t n = p->input.n - p->fed;
	ssize_t wrote = n ? write(p->in, p->input.text + p->fed, n < 4096 ? n : 4096) : 0;

	p->fed = wrote < 0 ? p->input.n : p->fed + (size_t)wrote;
	if (p->fed == p->input.n) {
		strbuf_clear(&p->input);
		p->fed = 0;
	}
	if (p->input_end && !p->input.n) {
		close(p->in);
		p->in = -1;
	}
}

static void output_take(struct program *p, int *fd, const char *type)
{
	char piece[4096];
	ssize_t n = read(*fd, piece, sizeof piece);

	if (n > 0) {
		cable_pack(&p->wire, piece, (size_t)n, "{s:s}", "t", type);
		return;
	}
	close(*fd);
	*fd = -1;
}

/* -1: the client has gone. */
static int frames_take(struct program *p)
{
	const char *data;
	json_t *head;
	size_t n;

	if (cable_fill(&p->wire) < 0)
		return -1;
	while (cable_next(&p->wire, &head, &data, &n) > 0) {
		if (!p->pid)
			program_start(p, head);
		else
			program_feed(p, head, data, n);
		json_decref(head);
	}
	return 0;
}

static void program_end(struct program *p)
{
	int status;

	waitpid(p->pid, &status, 0);
	cable_pack(&p->wire, NULL, 0, "{s:s,s:s,s:i}", "t", "exit", "how", WIFEXITED(status) ? "exited" : "signaled",
		   "status", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	while (cable_waits(&p->wire) && cable_push(&p->wire) == 0)
		poll(&(struct pollfd){.fd = p->wire.out, .events = POLLOUT}, 1, -1);
}

static void agent_serve(int fd)
{
	struct program p = {.in = -1, .out = -1, .err = -1};

	cable_init(&p.wire, fd, fd);
	while (!p.pid || p.out >= 0 || p.err >= 0) {
		bool room = !cable_full(&p.wire);
		struct pollfd polls[] = {
			{.fd = fd, .events = (short)((p.input.n ? 0 : POLLIN) | (cable_waits(&p.wire) ? POLLOUT : 0))},
			{.fd = room ? p.out : -1, .events = POLLIN},
			{.fd = room ? p.err : -1, .events = POLLIN},
			{.fd = p.input.n || p.input_end ? p.in : -1, .events = POLLOUT},
		};
		if (poll(polls, 4, 20000) <= 0)
			_exit(93);
		if (polls[0].revents & (POLLIN | POLLHUP) && frames_take(&p) < 0) {
			kill(-p.pid, SIGKILL);
			_exit(0);
		}
		if (polls[1].revents)
			output_take(&p, &p.out, "out");
		if (polls[2].revents)
			output_take(&p, &p.err, "err");
		if (polls[3].revents)
			input_push(&p);
		cable_push(&p.wire);
	}
	program_end(&p);
	_exit(0);
}

/* One connection. `say`: what it answers instead of starting anything; "" closes without a word. */
static pid_t agent_start(const char *say)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGPIPE, SIG_IGN);
	alarm(60);
	int fd = accept(listener, NULL, NULL);
	if (!say)
		agent_serve(fd);
	struct cable w;
	cable_init(&w, fd, fd);
	poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 10000);
	cable_fill(&w);
	if (*say)
		cable_put(&w, json_loads(say, 0, NULL), NULL, 0);
	cable_push(&w);
	_exit(0);
}

/* ---- the client ---- */

struct outcome {
	int rc, code;
	struct err err;
	char out[4096], error[4096];
};

static void file_read(FILE *f, char *text, size_t size)
{
	rewind(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	fclose(f);
}

static struct outcome task_run(const char *say, const char *input, char *const *env, const char *script)
{
	struct outcome o = {0};
	FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
	pid_t agent = agent_start(say);

	fputs(input ? input : "", in);
	rewind(in);
	struct taskclient t = {.node = "n2",
			       .argv = argv,
			       .env = env,
			       .workdir = dir,
			       .in = input ? fileno(in) : -1,
			       .out = fileno(out),
			       .err = fileno(err)};
	o.rc = taskclient_run(&t, &o.code, &o.err);
	waitpid(agent, NULL, 0);
	fclose(in);
	file_read(out, o.out, sizeof o.out);
	file_read(err, o.error, sizeof o.error);
	return o;
}

/* ---- cases ---- */

static void test_what_it_writes(void **state)
{
	char *env[] = {"SHUNT_NODE=n2", "PBS_NODENUM=1", NULL};
	struct outcome o = task_run(NULL, NULL, env, "echo $SHUNT_NODE $PBS_NODENUM; pwd; echo oh >&2; cat; exit 7");
	char expected[128];

	snprintf(expected, sizeof expected, "n2 1\n%s\n", dir);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.code, 7);
	assert_string_equal(o.out, expected);
	assert_string_equal(o.error, "oh\n");
}

static void test_input(void **state)
{
	struct outcome o = task_run(NULL, "one\ntwo\n", NULL, "sort -r; exit 0");

	assert_int_equal(o.rc, 0);
	assert_int_equal(o.code, 0);
	assert_string_equal(o.out, "two\none\n");
}

static void test_signal_ends_it(void **state)
{
	struct outcome o = task_run(NULL, NULL, NULL, "kill -9 $$");

	assert_int_equal(o.rc, 0);
	assert_int_equal(o.code, 128 + 9);
}

/* Three megabytes there and back, through pipes that hold far less. */
static void test_much(void **state)
{
	int in[2], out[2], code;
	char *argv[] = {"cat", NULL}, piece[65536];
	size_t all = 3 << 20, got = 0;
	bool good = true;
	ssize_t n;
	pid_t agent = agent_start(NULL), client, writer; /* it first: it must not hold our pipes open */

	assert_int_equal(pipe(in) | pipe(out), 0);
	client = fork();
	if (client == 0) {
		struct taskclient t = {.node = "n2", .argv = argv, .in = in[0], .out = out[1], .err = 2};
		close(in[1]);
		close(out[0]);
		_exit(taskclient_run(&t, &code, NULL) == 0 ? code : 99);
	}
	close(in[0]);
	close(out[1]);
	writer = fork();
	if (writer == 0) {
		for (size_t i = 0; i < all; i += sizeof piece) {
			memset(piece, (int)(i >> 16), sizeof piece);
			if (write(in[1], piece, sizeof piece) != sizeof piece)
				_exit(1);
		}
		_exit(0);
	}
	close(in[1]);
	while ((n = read(out[0], piece, sizeof piece)) > 0)
		for (ssize_t i = 0; i < n; i++, got++)
			good &= piece[i] == (char)(got >> 16);
	close(out[0]);
	assert_int_equal(got, all);
	assert_true(good);
	waitpid(writer, NULL, 0);
	waitpid(client, &code, 0);
	assert_int_equal(code, 0);
	waitpid(agent, NULL, 0);
}

/* Runs a script in a child, and gives its output's descriptor. */
static pid_t client_fork(const char *script, int *ret_out)
{
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
	int out[2], code;

	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct taskclient t = {.node = "n2", .argv = argv, .in = -1, .out = out[1], .err = 2};
		close(out[0]);
		_exit(taskclient_run(&t, &code, NULL) == 0 ? code : 99);
	}
	close(out[1]);
	*ret_out = out[0];
	return pid;
}

static void test_signals_are_passed_on(void **state)
{
	pid_t agent = agent_start(NULL), client;
	char word[8] = "";
	int out, status;

	client = client_fork("trap 'echo term; exit 3' TERM; echo up; while :; do sleep 0.05; done", &out);
	assert_int_equal(read(out, word, 3), 3);
	assert_string_equal(word, "up\n");
	kill(client, SIGTERM);
	assert_int_equal(read(out, word, 5), 5);
	assert_memory_equal(word, "term\n", 5);
	waitpid(client, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 3);
	close(out);
	waitpid(agent, NULL, 0);
}

/* `pbs_rsh n2 yes | head` ends. */
static void test_reader_goes(void **state)
{
	pid_t agent = agent_start(NULL), client;
	int out, status;
	char c;

	client = client_fork("yes", &out);
	assert_int_equal(read(out, &c, 1), 1);
	close(out);
	waitpid(client, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 128 + SIGPIPE);
	waitpid(agent, NULL, 0);
}

static void test_refused(void **state)
{
	struct outcome o = task_run("{\"t\":\"refused\",\"reason\":\"the job is not yours\"}", NULL, NULL, "true");

	assert_int_equal(o.rc, -EACCES);
	assert_string_equal(o.err.text, "n2: the job is not yours");
}

static void test_lost(void **state)
{
	struct outcome o = task_run("", NULL, NULL, "true");

	assert_int_equal(o.rc, -EPIPE);
	assert_string_equal(o.err.text, "the connection to n2 was lost");
}

/* The agent is back a moment later. */
static void test_away(void **state)
{
	char *argv[] = {"sh", "-c", "exit 4", NULL}, later[sizeof path + 8];
	struct taskclient t = {.node = "n2", .argv = argv, .in = -1, .out = 1, .err = 2};
	struct err err;
	int code;

	snprintf(later, sizeof later, "%s.later", path);
	setenv("SHUNT_AGENT_SOCKET", later, 1);
	pid_t agent = agent_start(NULL), pid = fork();
	if (pid == 0) {
		usleep(300000);
		_exit(symlink(path, later));
	}
	assert_int_equal(taskclient_run(&t, &code, &err), 0);
	assert_int_equal(code, 4);
	waitpid(pid, NULL, 0);
	waitpid(agent, NULL, 0);
	unlink(later);
	setenv("SHUNT_AGENT_SOCKET", path, 1);
}

static void test_nobody_there(void **state)
{
	char *argv[] = {"true", NULL};
	struct taskclient t = {.node = "n2", .argv = argv, .in = -1, .out = 1, .err = 2, .patience = 1};
	struct err err;
	int code;

	setenv("SHUNT_AGENT_SOCKET", "/nowhere/agent.sock", 1);
	assert_true(taskclient_run(&t, &code, &err) < 0);
	assert_non_null(strstr(err.text, "the agent of this host can't be asked for n2"));
	unsetenv("SHUNT_AGENT_SOCKET");
	assert_int_equal(taskclient_run(&t, &code, &err), -ENOENT);
	setenv("SHUNT_AGENT_SOCKET", path, 1);
}

static int setup(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/agent.sock", dir);
	setenv("SHUNT_AGENT_SOCKET", path, 1);
	setenv("SHUNT_TAG", "12.1@/somewhere/live", 1);
	listener = unix_listen(path, 0600, NULL);
	return listener < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	close(listener);
	unlink(path);
	rmdir(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_writes),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_signal_ends_it),
		cmocka_unit_test(test_much),
		cmocka_unit_test(test_signals_are_passed_on),
		cmocka_unit_test(test_reader_goes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_away),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
