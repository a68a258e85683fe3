/*
 * spawn.c - `shunt spawn`: runs programs on the stations of a pool. The daemon of this machine
 * places them and keeps them until they have a result (station/pool_origin.c); this command relays
 * input, output and signals.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag/graph.h"
#include "base/codec.h"
#include "base/fdio.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/object.h"
#include "cmd/lib/program.h"
#include "cmd/pool/pool_wire.h"
#include "station/pool_table.h"

#define PATIENCE_MS 3000 /* time without progress after which the reason is requested */

struct arguments {
	int64_t n, priority;
	const char *need, *graph;
	bool live, label, verbose;
};

static const struct option options[] = {
	OPTION_ROW(NUMBER, 'n', "tasks", offsetof(struct arguments, n), "N", "start it N times", .initial = "1",
		   .min = 1, .max = 50000),
	OPTION_ROW(NUMBER, 'p', "priority", offsetof(struct arguments, priority), "P",
		   "start it before tasks of a lower priority", .initial = "0", .min = -1000000, .max = 1000000),
	OPTION_ROW(TEXT, 'l', "need", offsetof(struct arguments, need), "LIST",
		   "use only stations that have this: arch=NAME, mem=SIZE, which a task may use"),
	OPTION_ROW(FILE, 'g', "graph", offsetof(struct arguments, graph), "FILE",
		   "run the commands of FILE, each when those before it have succeeded"),
	OPTION_ROW(FLAG, 0, "live", offsetof(struct arguments, live), NULL,
		   "show output at once; a task whose station is lost then fails instead of being started again"),
	OPTION_ROW(FLAG, 0, "label", offsetof(struct arguments, label), NULL,
		   "put the task's number before each line of output"),
	OPTION_ROW(FLAG, 'v', "verbose", offsetof(struct arguments, verbose), NULL,
		   "report on standard error where each task ran"),
	{0},
};

struct spawn {
	const struct command *command;
	const struct arguments *a;
	struct pool_wire wire;
	const char **env; /* environment of the tasks; ends with SHUNT_TASK and SHUNT_TASKS */
	char which[64], count[64];
	char dir[PATH_MAX];
	struct graph graph; /* n 0: none */
	int64_t left;	    /* tasks given to the daemon that have no result yet */
	int64_t never;	    /* tasks not given to the daemon yet */
	int64_t failed;	    /* number of the first task that failed; -1: none */
	int code;
	bool input;	    /* standard input is relayed */
	bool asked;	    /* the reason was requested, or something has happened */
	int64_t midline[3]; /* fd 1 and 2: number of the task whose last line is incomplete; -1: none */
};

/* ---- signals ---- */

static int signal_pipe[2];
static volatile sig_atomic_t interrupts;

/* Exits at the third Ctrl-C: the user does not want to wait. */
static void on_signal(int number)
{
	int saved = errno;

	if (number == SIGINT && ++interrupts > 2)
		_exit(128 + SIGINT);
	if (write(signal_pipe[1], &(char){(char)number}, 1) < 0)
		_exit(128 + number);
	errno = saved;
}

static int signals_catch(void)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = on_signal};

	if (pipe(signal_pipe) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
		sigaction(caught[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* ---- frames from the daemon ---- */

static void output_show(struct spawn *s, int64_t task, int fd, const char *data, size_t n)
{
	struct strbuf out = {0};

	if (!s->a->label) {
		fd_write(fd, data, n);
		return;
	}
	for (const char *end = data + n; data < end;) {
		const char *line = memchr(data, '\n', (size_t)(end - data));
		const char *next = line ? line + 1 : end;
		if (s->midline[fd] != task)
			strbuf_printf(&out, "%s%lld: ", s->midline[fd] < 0 ? "" : "\n", (long long)task);
		strbuf_add(&out, data, (size_t)(next - data));
		s->midline[fd] = line ? -1 : task;
		data = next;
	}
	fd_write(fd, strbuf_text(&out), out.n);
	strbuf_fini(&out);
}

/* Completes the lines of a task that has ended. */
static void lines_end(struct spawn *s, int64_t task)
{
	for (int fd = 1; fd <= 2; fd++)
		if (s->midline[fd] == task) {
			fd_write(fd, "\n", 1);
			s->midline[fd] = -1;
		}
}

static int go(struct spawn *s);
static void task_ready(void *context, int task);

static void result_count(struct spawn *s, int64_t task, int code)
{
	s->left--;
	if (s->graph.n && code == 0) {
		graph_done(&s->graph, (int)task, task_ready, s);
		go(s);
	}
	if (code && (s->failed < 0 || task < s->failed)) {
		s->failed = task;
		s->code = code;
	}
}

static void on_done(struct spawn *s, const struct peer_outcome *o, int64_t task)
{
	int status = o->status;
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	if (s->a->verbose)
		fprintf(stderr, "shunt spawn: task %lld on %s: exit code %d, %lld ms of processor time, attempt %d\n",
			(long long)task, o->where, code, (long long)o->cpu_ms, o->attempts);
	result_count(s, task, code);
}

/* Explains why no task starts: a user who has just made a pool types at all of its stations, so
 * these take no tasks. */
static void wait_explain(const struct spawn *s, const json_t *stations)
{
	struct strbuf states = {0};
	const json_t *o;
	size_t i;

	json_array_foreach(stations, i, o)
	{
		const char *state = json_string_value(json_object_get(o, "state"));
		if (state && strcmp(state, "ready") == 0)
			break; /* it is only slow */
		if (i < 5)
			strbuf_printf(&states, "%s%s is %s", i ? ", " : "",
				      json_string_value(json_object_get(o, "name")), state ? state : "");
	}
	if (i == json_array_size(stations))
		command_fail(
			s->command,
			"waiting: no station takes tasks now (%s%s); one is closed while its owner uses it: see 'shunt owner', 'shunt pool status'",
			strbuf_text(&states), i > 5 ? ", ..." : "");
	strbuf_fini(&states);
}

static void frame_take(struct spawn *s, const json_t *head, const char *data, size_t n)
{
	const char *t = object_text(head, "t");
	struct peer_outcome o;
	int64_t task;

	s->asked = true;
	if (record_load(peer_outcome_frame.fields, 0, head, &o, NULL, NULL) < 0)
		return; /* the daemon is newer */
	task = o.task - 1;
	if (strcmp(t, "status") == 0) {
		wait_explain(s, json_object_get(head, "stations"));
	} else if (strcmp(t, "out") == 0 && (o.fd == 1 || o.fd == 2)) {
		output_show(s, task, o.fd, data, n);
	} else if (strcmp(t, "done") == 0) {
		lines_end(s, task);
		on_done(s, &o, task);
	} else if (strcmp(t, "failed") == 0) {
		lines_end(s, task);
		command_fail(s->command, "task %lld: %s", (long long)task, o.why);
		result_count(s, task, EXIT_FAILED);
	}
}

/* ---- frames to the daemon ---- */

static void input_pass(struct spawn *s)
{
	char part[32768];
	ssize_t n = read(STDIN_FILENO, part, sizeof part);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	s->input = n > 0;
	pool_wire_send(&s->wire, json_pack("{s:s,s:i}", "t", "input", "id", 1), part, n > 0 ? (size_t)n : 0);
}

static void signal_pass(struct spawn *s)
{
	char number;

	if (read(signal_pipe[0], &number, 1) == 1)
		pool_wire_send(&s->wire, json_pack("{s:s,s:i}", "t", "signal", "n", (int)number), NULL, 0);
}

static int task_send(struct spawn *s, int64_t number, const char **argv, int64_t path, const char *need)
{
	struct peer_start start = {.id = (uint64_t)number + 1,
				   .priority = s->a->priority,
				   .path = path,
				   .argv = argv,
				   .env = s->env,
				   .dir = s->dir};
	struct strbuf data = {0};
	json_t *head;
	char *text;
	int rc;

	snprintf(s->which, sizeof s->which, "SHUNT_TASK=%lld", (long long)number);
	text = peer_start_write(&start, &data);
	head = json_loads(text, 0, NULL);
	if (need)
		json_object_set_new(head, "need", json_string(need));
	json_object_set_new(head, "live", json_boolean(s->a->live));
	json_object_set_new(head, "input", json_boolean(number == 0 && s->input));
	rc = pool_wire_send(&s->wire, head, data.text, data.n);
	free(text);
	strbuf_fini(&data);
	s->left++;
	s->never--;
	return rc;
}

static int go(struct spawn *s)
{
	return pool_wire_send(&s->wire, json_pack("{s:s}", "t", "go"), NULL, 0);
}

static void task_ready(void *context, int task)
{
	struct spawn *s = context;
	const struct graph_task *t = &s->graph.tasks[task];
	const struct bag_task *b = &s->graph.bag.tasks.v[task];
	struct strbuf command = {0}, need = {0};

	strbuf_add(&command, s->graph.bag.text + b->at, b->n);
	if (t->arch[0])
		strbuf_printf(&need, "arch=%s", t->arch);
	if (t->memory)
		strbuf_printf(&need, "%smem=%lldkb", need.n ? "," : "", (long long)t->memory);
	task_send(s, task, (const char *[]){"sh", "-c", strbuf_text(&command), NULL}, t->remaining,
		  need.n ? strbuf_text(&need) : s->a->need);
	strbuf_fini(&command);
	strbuf_fini(&need);
}

extern char **environ;

/* Builds the environment: this command's, the task's number and the number of tasks. */
static void environment_make(struct spawn *s)
{
	size_t n = 0;

	while (environ[n])
		n++;
	s->env = mem_realloc(NULL, n + 3, sizeof *s->env);
	n = 0;
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "SHUNT_TASK=", 11) != 0 && strncmp(*e, "SHUNT_TASKS=", 12) != 0)
			s->env[n++] = *e;
	s->env[n] = s->which;
	s->env[n + 1] = s->count;
	s->env[n + 2] = NULL;
	snprintf(s->count, sizeof s->count, "SHUNT_TASKS=%lld", (long long)s->never);
}

static int tasks_send(struct spawn *s, char **argv)
{
	int64_t n = s->never;
	int rc = 0;

	environment_make(s);
	for (int64_t i = 0; i < n && rc == 0; i++)
		if (!s->graph.n)
			rc = task_send(s, i, (const char **)argv, 0, s->a->need);
		else if (!s->graph.tasks[i].waits)
			task_ready(s, (int)i);
	return rc < 0 ? rc : go(s);
}

static int serve(struct spawn *s)
{
	while (s->left) {
		struct pollfd fds[3] = {
			{.fd = s->wire.fd, .events = pool_wire_waits(&s->wire) ? POLLIN | POLLOUT : POLLIN},
			{.fd = signal_pipe[0], .events = POLLIN},
			{.fd = s->input && !pool_wire_waits(&s->wire) ? STDIN_FILENO : -1, .events = POLLIN}};
		json_t *head;
		const char *data;
		size_t n;
		int rc = poll(fds, 3, s->asked ? -1 : PATIENCE_MS);
		if (rc == 0) {
			s->asked = true;
			pool_wire_send(&s->wire, json_pack("{s:s}", "t", "status"), NULL, 0);
		}
		if (rc <= 0)
			continue;
		if (fds[1].revents)
			signal_pass(s);
		if (fds[2].revents)
			input_pass(s);
		/* one that has ended may have told results first */
		if (pool_wire_flush(&s->wire) == 0 && !(fds[0].revents & ~POLLOUT))
			continue;
		if (pool_wire_fill(&s->wire) <= 0)
			return command_fail(s->command, "the pool's daemon has ended: %lld task%s no result",
					    (long long)(s->left + s->never),
					    s->left + s->never == 1 ? " has" : "s have");
		while ((rc = pool_wire_next(&s->wire, &head, &data, &n)) > 0) {
			frame_take(s, head, data, n);
			json_decref(head);
		}
		if (rc < 0)
			return command_fail(s->command, "what the pool's daemon says can't be understood");
	}
	if (s->never)
		command_fail(s->command, "tasks that were not started, since one before them failed: %lld",
			     (long long)s->never);
	return s->code;
}

static int graph_read(struct spawn *s, struct strbuf *text, struct err *err)
{
	int rc = file_read(s->a->graph, 0, SIZE_MAX, text);

	if (rc < 0)
		return err_set(err, rc, "%s: %s", s->a->graph, strerror(-rc));
	rc = graph_parse(strbuf_text(text), text->n, &s->graph, err);
	if (rc == 0 && !s->graph.n)
		rc = err_set(err, -EINVAL, "no command is in it");
	return rc < 0 ? err_prefix(err, rc, "%s", s->a->graph) : 0;
}

static int spawn(const struct command *c, const void *arguments, char **argv)
{
	struct spawn s = {.command = c, .a = arguments, .failed = -1, .wire.fd = -1, .midline = {-1, -1, -1}};
	struct strbuf text = {0};
	struct pool_need need;
	struct err err = {.text = ""};
	int code = 0;

	if (!s.a->graph == !argv[0])
		return command_misused(c, "give a program, or --graph FILE");
	if (s.a->need && pool_need_parse(s.a->need, &need, &err) < 0)
		return command_misused(c, "-l %s", err.text);
	s.input = !s.a->graph;
	if ((s.a->graph && graph_read(&s, &text, &err) < 0) || pool_wire_open(&s.wire, &err) < 0)
		code = command_fail(c, "%s", err.text);
	s.never = s.a->graph ? s.graph.n : s.a->n;
	if (!code && !getcwd(s.dir, sizeof s.dir))
		code = command_fail(c, "the current directory can't be found: %s", strerror(errno));
	if (!code)
		code = signals_catch() < 0 || tasks_send(&s, argv) < 0
			       ? command_fail(c, "the tasks can't be given to the pool's daemon: %s", strerror(errno))
			       : serve(&s);
	pool_wire_close(&s.wire);
	graph_fini(&s.graph);
	strbuf_fini(&text);
	free(s.env);
	return code;
}

static int spawn_main(const struct command *c, int argc, char **argv)
{
	return program_main(c, argc, argv, spawn);
}

const struct command command_spawn = {
	.name = "spawn",
	.operands = "[--] [PROGRAM [ARGUMENT...]]",
	.about = "Run a program on the stations of a pool of workstations, without a server.",
	.details =
		"This machine must be a station of a pool ('shunt pool create', 'shunt pool join'). Its daemon decides by the pool's policy where a task "
		"runs. Tasks have this command's environment, with SHUNT_TASK (0 to N-1) and SHUNT_TASKS added, and start in this directory if the station has it, else in /. "
		"Standard input goes to the first task. A graph is a bag file ('shunt bag run') with lines '#task NAME after=NAMES time=DURATION mem=SIZE arch=NAME' before commands: of the tasks of a graph those with the longest "
		"expected path to an end come first, and what waits for a task that failed is not started.  The output of a task is written when the task has ended, so that a task whose station is lost can be "
		"started again elsewhere, and its output still appears once. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on to all tasks. The "
		"exit code is 0 if all succeeded, else that of the first task that failed, 128 and the signal's number where it was a signal.",
	.examples = EXAMPLES(
		{"shunt spawn ./simulate --seed 7",
		 "Runs it on the station that is best for it now, in the current directory there."},
		{"shunt spawn -n 500 --label sh -c 'echo $SHUNT_TASK'",
		 "Runs 500 tasks, and puts a task's number before each line of its output."},
		{"shunt spawn -l arch=x86_64,mem=2gb ./render < scene",
		 "Uses only stations of that kind; standard input goes to the task."},
		{"shunt spawn --graph render.tasks",
		 "Runs the commands of a file, in which '#task join after=left,right' before a command says what must have succeeded before it starts."}),
	OPTIONS(struct arguments, options),
	.main = spawn_main,
	.alone = true,
};
