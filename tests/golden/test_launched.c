/*
 * test_launched.c - the hub of `shunt launch`, with hosts, ranks, an input and a clock that the
 * test plays: what it prints, relays and ends, compared with launched.txt (played.h).
 *
 *	$ run n1,n1,n2 [OPTION=VALUE...]	the program begins: a rank for each node named
 *	$ n1 {HEAD} [DATA]	a frame from that host
 *	$ n1 close | bytes TEXT	its connection ends; it sends something else than frames
 *	$ input [TEXT]		to our standard input; nothing: its end
 *	$ signal N | wait MS	a signal for us; time passes
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/launch/launch.h"
#include "cmd/launch/launch_peer.h"
#include "golden/played.h"

#define RECORDED SHUNT_ROOT "/tests/golden/launched.txt"

enum { HOSTS = 8, WORDS = 16, FIRST_PID = 5000000 };

static struct {
	char name[16];
	struct cable cable; /* the host's end; in -1: closed */
} hosts[HOSTS];
static int nhosts;
static int input[2];	/* pipe; [0] is our standard input */
static char absent[16]; /* host on which nothing can be started */

/* ---- hosts ---- */

int peer_start(struct peer *p, const struct peer *others, size_t n, const char *node, const sigset_t *mask,
	       struct err *err)
{
	int fd[2];

	say("start on %s after %zu", node, n);
	if (strcmp(node, absent) == 0)
		return err_set(err, -ENOENT, "no process");
	if (nhosts == HOSTS || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		die("too many hosts", node);
	cable_init(&p->cable, fd[0], fd[0]);
	p->pid = FIRST_PID + nhosts;
	snprintf(hosts[nhosts].name, sizeof hosts[0].name, "%s", node);
	cable_init(&hosts[nhosts++].cable, fd[1], fd[1]);
	return 0;
}

static int host_find(const char *name)
{
	for (int i = 0; i < nhosts; i++)
		if (strcmp(hosts[i].name, name) == 0 && hosts[i].cable.in >= 0)
			return i;
	die("no such host", name);
}

/* Prints what the hub has sent. Of the frame that begins a host's part only what is the same each
 * time; the rest is test_launch's. */
static void hosts_read(void)
{
	const char *data;
	json_t *head;
	size_t n;

	for (int i = 0; i < nhosts; i++) {
		if (hosts[i].cable.in < 0)
			continue;
		ssize_t got = cable_fill(&hosts[i].cable);
		while (cable_next(&hosts[i].cable, &head, &data, &n) == 1) {
			char *text = json_dumps(head, JSON_COMPACT);
			bool setup = strstr(text, "\"t\":\"setup\"");
			say("%s < %s%s%.*s", hosts[i].name, text, n && !setup ? " " : "",
			    setup	       ? 0
			    : n > PLAYED_SHOWN ? PLAYED_SHOWN
					       : (int)n,
			    data);
			free(text);
			json_decref(head);
		}
		if (got == -EPIPE) {
			say("%s: closed", hosts[i].name);
			cable_fini(&hosts[i].cable);
		}
	}
}

static void host_act(char *name, char *what)
{
	struct cable *w = &hosts[host_find(name)].cable;
	json_error_t e;
	json_t *head = what ? json_loads(what, JSON_DISABLE_EOF_CHECK, &e) : NULL;

	if (head) {
		char *data = what + e.position + (what[e.position] == ' '), *bulk = NULL;
		size_t n = unescape(data);
		if (*data == '*') {
			n = strtoul(data + 1, NULL, 10);
			data = bulk = mem_zalloc(n + 1);
			memset(data, 'x', n);
		}
		cable_put(w, head, data, n);
		free(bulk);
		cable_push(w);
	} else if (what && strncmp(what, "bytes ", 6) == 0) {
		strbuf_add(&w->to, what + 6, unescape(what + 6));
		cable_push(w);
	} else if (what && strcmp(what, "close") == 0) {
		cable_fini(w);
	} else {
		die("no such act of a host", name);
	}
}

/* ---- the hub's calls ---- */

int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);

/* Plays the next lines until something has happened for the hub, whose poll has the hosts and four
 * more. */
int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
	static char line[8192];
	char *w[2];

	if (n < 5)
		return __real_poll(p, n, ms);
	for (;;) {
		hosts_read();
		int ready = __real_poll(p, n, 0);
		if (ready || ms == 0)
			return ready;
		if (!played_next(line, sizeof line))
			die("the program has not ended", played_name);
		int nwords = words_split(line, w, 2);
		char *rest = nwords == 2 ? w[1] : NULL;
		if (strcmp(w[0], "signal") == 0 && rest) {
			raise(atoi(rest));
		} else if (strcmp(w[0], "wait") == 0 && rest) {
			int64_t most = ms < 0 || atoll(rest) < ms ? atoll(rest) : ms;
			played->now_us += most * 1000;
			if (most == ms)
				return 0;
			ms -= ms < 0 ? 0 : (int)most;
		} else if (strcmp(w[0], "input") == 0) {
			if (!rest)
				close(input[1]);
			else if (write(input[1], rest, unescape(rest)) < 0)
				die("no input", rest);
		} else {
			host_act(w[0], rest);
		}
	}
}

int __wrap_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal)
{
	say("kill %s with %d", hosts[pid - FIRST_PID].name, signal);
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	say("wait for %s", hosts[pid - FIRST_PID].name);
	return pid;
}

/* ---- commands ---- */

static void option_take(struct launch_arguments *a, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		die("not an option", word);
	*value++ = '\0';
	if (strcmp(word, "timeout") == 0)
		a->timeout = atoi(value);
	else if (strcmp(word, "pass") == 0)
		a->pass = value;
	else if (strcmp(word, "label") == 0)
		a->label = true;
	else if (strcmp(word, "output") == 0)
		a->output = value;
	else if (strcmp(word, "absent") == 0)
		snprintf(absent, sizeof absent, "%s", value);
	else
		die("no such option", word);
}

static void files_show(const struct layout *l, const char *pattern)
{
	for (uint32_t i = 0; pattern && i < l->size; i++) {
		char name[32], text[128] = "missing";
		snprintf(name, sizeof name, "%u.%s", i, l->node.v[l->rank[i].node]);
		int fd = open(name, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
		if (fd >= 0)
			close(fd);
		if (n >= 0 && fd >= 0)
			text[n] = '\0';
		say("%s: %s", name, text);
	}
}

static void run(char *nodes, char **options)
{
	struct launch_arguments a = {.ranks = -1, .per_node = -1, .timeout = -1, .map = "block", .pass = "10,12"};
	struct jobhosts h = {.arena = arena_create()};
	char *argv[] = {(char *)"true", NULL}, *env[] = {NULL};
	struct layout l = {.arena = arena_create(), .name = "shunt.1", .workdir = "/", .argv = argv, .env = env};
	struct launch_output output = {0};
	sigset_t before;
	struct err err;

	for (char *node; (node = strsep(&nodes, ","));)
		vec_push(&h.line, node);
	for (; *options; options++)
		option_take(&a, *options);
	if (launch_map(&h, &a, &l, &err) < 0)
		die(err.text, "run");
	sigprocmask(SIG_SETMASK, NULL, &before);
	if (output_init(&output, &l, &a, &err) < 0)
		say("no output: %s", err.text);
	else
		say("exit code %d", hub_run(&l, &a, &output));
	hosts_read();
	output_fini(&output);
	sigprocmask(SIG_SETMASK, &before, NULL);
	files_show(&l, a.output);
	layout_fini(&l);
	jobhosts_fini(&h);
}

static void command(char *line)
{
	static char copy[8192];
	char *w[WORDS + 1] = {0};

	snprintf(copy, sizeof copy, "%s", line);
	if (words_split(copy, w, WORDS) < 2 || strcmp(w[0], "run") != 0)
		die("no such command", line);
	played_name = line;
	run(w[1], w + 2);
}

static void run_begin(const char *base, int number)
{
	for (int i = 0; i < nhosts; i++)
		cable_fini(&hosts[i].cable);
	nhosts = 0;
	*absent = '\0';
	close(input[1]);
	if (!base)
		return;
	if (pipe2(input, O_CLOEXEC) < 0 || dup2(input[0], STDIN_FILENO) < 0 || chdir(base) < 0)
		die("no input", base);
	close(input[0]);
}

static void launched(void **state)
{
	input[1] = -1;
	played_record(RECORDED, run_begin, command);
	assert_int_equal(chdir("/"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(launched)};

	setenv("SHUNT_HERE", "nowhere", 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("launched", tests, NULL, NULL);
}
