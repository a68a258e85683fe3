/*
 * test_engines.c - the server's engine, with a nursery, hosts and clocks that the test plays: every
 * order to the nursery, every frame to a host and every notification to the server, compared with
 * engines.txt (played.h).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/unixsock.h"
#include "engine/engine.h"
#include "golden/played.h"
#include "run/message.h"
#include "run/task.h"

#define RECORDED SHUNT_ROOT "/tests/golden/engines.txt"

enum { WORDS = 24, LIVES = 16, KNOWN = 8 };

static char dir[64];
static uv_loop_t loop;
static struct engine *engine;

/* ---- the nursery ---- */

static struct {
	int fd; /* the test's end of its socket; -1: it is gone */
	bool fails;
	struct strbuf in;
} nursery = {.fd = -1};

/* Starts a process that does nothing, as a nursery and shepherds have one; it has no descriptors of
 * ours when this returns. */
static pid_t process_start(void)
{
	int closed[2];
	pid_t pid;

	if (pipe2(closed, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		die("no process can be started", dir);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close_range(0, ~0u, 0);
		for (;;)
			pause();
	}
	close(closed[1]);
	if (read(closed[0], &(char){0}, 1) != 0)
		die("it has written something", dir);
	close(closed[0]);
	return pid;
}

int __wrap_nursery_start(const char *program, const struct nursery_options *o, int wait_ms, struct nursery *ret,
			 struct err *err);
int __wrap_nursery_start(const char *program, const struct nursery_options *o, int wait_ms, struct nursery *ret,
			 struct err *err)
{
	int pair[2];

	say("nursery starts: %s, %s, root jobs %d, wait %d ms%s", program, o->cgroup, o->root_jobs, wait_ms,
	    nursery.fails ? ": it fails" : "");
	if (nursery.fails)
		return err_set(err, -ECANCELED, "jobs can't be started here");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		die("socketpair", program);
	nursery.fd = pair[1];
	*ret = (struct nursery){.fd = pair[0], .pid = process_start()};
	return 0;
}

static void nursery_read(void)
{
	char bytes[65536];
	size_t at = 0, length;
	const char *text;
	ssize_t n, step;
	char kind;

	if (nursery.fd < 0)
		return;
	while ((n = recv(nursery.fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		strbuf_add(&nursery.in, bytes, (size_t)n);
	while ((step = message_next(nursery.in.text + at, nursery.in.n - at, &kind, &text, &length)) > 0) {
		say("nursery < %c %.*s", kind, (int)length, text);
		at += (size_t)step;
	}
	if (at)
		memmove(nursery.in.text, nursery.in.text + at, nursery.in.n - at);
	nursery.in.n -= at;
	if (n == 0) {
		say("nursery: its server is gone");
		close(nursery.fd);
		nursery.fd = -1;
	}
}

static void nursery_send(const struct strbuf *frames, const int *fds, size_t nfds)
{
	struct iovec part = {frames->text, frames->n};

	if (unix_send(nursery.fd, &part, 1, fds, nfds, 0) != (ssize_t)frames->n)
		die("it can't be sent", "answer");
}

/* ---- what is on disk ---- */

static struct live {
	char tag[64];
	enum live_state state;
	char result[512]; /* JSON */
	pid_t shepherd;	  /* 0: none */
} lives[LIVES];

static struct live *live_of(const char *tag)
{
	struct live *free_one = NULL;

	for (int i = 0; i < LIVES; i++) {
		if (strcmp(lives[i].tag, tag) == 0)
			return &lives[i];
		if (!*lives[i].tag)
			free_one = &lives[i];
	}
	snprintf(free_one->tag, sizeof free_one->tag, "%s", tag);
	return free_one;
}

static void shepherd_end(struct live *l)
{
	siginfo_t info;

	if (!l->shepherd)
		return;
	kill(l->shepherd, SIGKILL);
	waitid(P_PID, (id_t)l->shepherd, &info, WEXITED | WNOWAIT);
	waitpid(l->shepherd, NULL, 0);
	l->shepherd = 0;
}

static void live_path(const char *tag, char ret[200])
{
	snprintf(ret, 200, "%s/%s", dir, tag);
}

enum live_state __wrap_live_look(const char *live, const char *tag, struct arena *a, struct result *ret,
				 pid_t *ret_pid);
enum live_state __wrap_live_look(const char *live, const char *tag, struct arena *a, struct result *ret, pid_t *ret_pid)
{
	struct live *l = live_of(tag);

	*ret = (struct result){0};
	if (*l->result && result_read(l->result, strlen(l->result), a, ret, NULL) < 0)
		die("it is not a result", l->result);
	*ret_pid = l->shepherd;
	return l->state;
}

void __wrap_live_remove(const char *live, const char *tag);
void __wrap_live_remove(const char *live, const char *tag)
{
	char path[200];

	say("live %s: removed", tag);
	live_path(tag, path);
	unlink(path);
	shepherd_end(live_of(tag));
	*live_of(tag) = (struct live){0};
}

int __wrap_live_list(const char *live, void (*one)(void *context, const char *tag), void *context, struct err *err);
int __wrap_live_list(const char *live, void (*one)(void *context, const char *tag), void *context, struct err *err)
{
	for (int i = 0; i < LIVES; i++)
		if (lives[i].state != LIVE_NONE)
			one(context, lives[i].tag);
	return 0;
}

/* ---- what the server hears ---- */

static void on_started(void *context, const char *tag, pid_t pid)
{
	say("server: %s started, %d", tag, pid);
}

static void on_refused(void *context, const struct refusal *r)
{
	say("server: %s refused by %s: %s%s", r->tag, r->host ? r->host : "-", r->reason ? r->reason : "-",
	    r->unclear ? " (unclear)" : "");
}

static void on_ended(void *context, const struct result *r)
{
	struct strbuf text = {0};

	result_write(r, &text);
	say("server: ended %s", text.text);
	strbuf_fini(&text);
}

static void on_lost(void *context, const char *tag, const char *host, const char *why)
{
	say("server: %s lost with %s: %s", tag, *host ? host : "here", why ? why : "-");
}

static void on_saved(void *context, const char *tag, const struct saves *saves)
{
	struct strbuf text = {0};

	saves_write(saves, &text);
	say("server: %s saved %s", tag, text.text);
	strbuf_fini(&text);
}

static void on_used(void *context, const char *tag, int64_t cpu_ms, int64_t memory_kib)
{
	say("server: %s used %" PRId64 " ms, %" PRId64 " KiB", tag, cpu_ms, memory_kib);
}

static void on_erased(void *context, const char *name, const char *reason)
{
	say("server: %s erased%s%s", name, reason ? ": " : "", reason ? reason : "");
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	say("server: opened %" PRIu64 " %s", id, fd >= 0 ? "a file" : reason ? reason : "-");
	if (fd >= 0)
		close(fd);
}

static void on_failed(void *context, const char *reason)
{
	say("server: failed: %s", reason);
}

static void engine_begin(bool here, bool drop)
{
	static const struct engine_listener listener = {.attempt_started = on_started,
							.attempt_refused = on_refused,
							.attempt_ended = on_ended,
							.attempt_lost = on_lost,
							.attempt_saved = on_saved,
							.attempt_used = on_used,
							.erased = on_erased,
							.opened = on_opened,
							.failed = on_failed};
	char socket[100];
	struct local_options o = {
		.program = "shuntd", .live = dir, .socket = socket, .cgroup = "none", .root_jobs = true, .drop = drop};
	struct err err;

	snprintf(socket, sizeof socket, "%s/.results", dir);
	if (engine_create(&loop, here ? &o : NULL, &listener, &engine, &err) < 0)
		say("error: %s", err.text);
}

static void engine_end(void)
{
	if (engine)
		engine_stop(engine);
	engine = NULL;
	played_settle(&loop, nursery_read);
	if (nursery.fd >= 0)
		close(nursery.fd);
	nursery.fd = -1;
	strbuf_clear(&nursery.in);
	played_settle(&loop, NULL);
}

/* ---- commands ---- */

static const char *host_of(const char *word)
{
	return strcmp(word, "here") == 0 ? HOST_HERE : word;
}

/* Splits "oak,here" in place; returns the number of names. */
static int hosts_split(char *words, const char *ret[8])
{
	int n = 0;

	for (char *word; n < 8 && (word = strsep(&words, ",")) != NULL;)
		ret[n++] = host_of(word);
	return n;
}

/* TAG HOSTS WALLTIME GRACE [BYTES of the script] */
static void attempt_start(char **w)
{
	static char script[] = "#!/bin/sh\n", *none[] = {NULL};
	const char *hosts[8];
	struct part_order parts[8];
	size_t most = strtoul(w[5], NULL, 10);
	char *large = most ? mem_zalloc(most) : NULL;
	int n = hosts_split(w[2], hosts);

	for (int i = 0; i < n; i++)
		parts[i] = (struct part_order){.host = hosts[i],
					       .order = {.id = "1.oak",
							 .tag = w[1],
							 .uid = 1000,
							 .gid = 100,
							 .user = "ana",
							 .home = "/home/ana",
							 .script = i || !*hosts[i] ? "/spool/script" : NULL,
							 .workdir = "/",
							 .out = "/dev/null",
							 .argv = none,
							 .env = none,
							 .umask = -1,
							 .walltime = atoll(w[3]),
							 .grace = atoll(w[4]),
							 .part = i,
							 .room = i > 0},
					       .script = i || !*hosts[i] ? NULL
							 : large	 ? large
									 : script,
					       .nscript = i || !*hosts[i] ? 0
							  : large	  ? most
									  : strlen(script)};
	engine_start(engine, parts, n);
	free(large);
}

/* TYPE ...: an answer of the nursery */
static void answer_give(char **w, const char *line)
{
	static const char *const types[] = {"started", "refused", "died",     "cleaned",
					    "opened",  "looked",  "signaled", "erased"};
	const char *reason = strchr(line, ':');
	struct strbuf frame = {0};
	int fd = -1;
	struct answer a = {.tag = w[2], .pid = atoi(w[3]), .id = strtoull(w[2], NULL, 10)};

	while (a.type < sizeof types / sizeof *types && strcmp(w[1], types[a.type]) != 0)
		a.type++;
	a.reason = reason ? reason + 2 : NULL;
	a.unclear = strncmp(w[3], "unclear", 7) == 0;
	if (!*w[2] || strcmp(w[2], "-") == 0)
		a.tag = NULL;
	answer_write(&a, &frame);
	if (a.type == ANSWER_OPENED && !reason)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	nursery_send(&frame, &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
	strbuf_fini(&frame);
}

static bool is_known(void *context, const char *tag)
{
	char *const *known = context;

	for (; **known; known++)
		if (strcmp(*known, tag) == 0)
			return true;
	return false;
}

static void datagram_send(const char *text)
{
	struct sockaddr_un {
		sa_family_t family;
		char path[108];
	} to = {.family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(to.path, sizeof to.path, "%s/.results", dir);
	if (sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to, sizeof to) < 0)
		die("it can't be sent", text);
	close(fd);
}

/* TAG none|never|runs|ended|lost [RESULT] */
static void live_set(char **w, const char *result)
{
	static const char *const states[] = {"none", "never", "runs", "ended", "lost"};
	struct live *l = live_of(w[1]);
	char path[200];

	shepherd_end(l);
	for (l->state = LIVE_NONE; strcmp(states[l->state], w[2]) != 0; l->state++)
		;
	snprintf(l->result, sizeof l->result, "%s", result);
	if (l->state == LIVE_RUNNING)
		l->shepherd = process_start();
	live_path(w[1], path);
	if (l->state == LIVE_NONE)
		unlink(path);
	else
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void on_closed(void *context, struct link *l, const char *reason)
{
}

static void command(char *line)
{
	static const struct nursery_user ana = {1000, 100, "ana"};
	static char copy[4096];
	char *w[WORDS] = {0}, *brace = strchr(line, '{'), *text = brace ? brace : line + strlen(line);
	const char *hosts[8];
	struct strbuf bytes = {0};
	struct link *link;
	bool silent = strncmp(line, "silent ", 7) == 0; /* nothing is read before the next command */

	line += silent ? 7 : 0;
	snprintf(copy, sizeof copy, "%s", line);
	int n = words_split(copy, w, WORDS);
	for (int i = n; i < WORDS; i++)
		w[i] = copy + strlen(line);
	const char *what = w[0];
	if (strcmp(what, "engine") == 0) { /* here|elsewhere|drop */
		engine_begin(strcmp(w[1], "elsewhere") != 0, strcmp(w[1], "drop") == 0);
	} else if (strcmp(what, "restart") == 0) {
		engine_end();
		engine_begin(true, false);
	} else if (strcmp(what, "start") == 0) {
		attempt_start(w);
	} else if (strcmp(what, "flush") == 0) {
		engine_flush(engine);
	} else if (strcmp(what, "signal") == 0) { /* TAG SIGNAL|tasks */
		engine_signal(engine, w[1], strcmp(w[2], "tasks") == 0 ? TASKS_WORD : atoi(w[2]));
	} else if (strcmp(what, "limit") == 0) { /* TAG SECONDS */
		engine_limit(engine, w[1], atoll(w[2]));
	} else if (strcmp(what, "save") == 0) { /* TAG CAUSE SECONDS */
		int cause = 0;
		while (strcmp(save_words[cause], w[2]) != 0)
			cause++;
		engine_save(engine, w[1], cause, atoll(w[3]));
	} else if (strcmp(what, "forget") == 0) { /* TAG */
		engine_forget(engine, w[1]);
	} else if (strcmp(what, "attach") == 0) { /* TAG HOSTS */
		static const char *const states[] = {"never", "runs", "ended", "lost", "unknown"};
		n = hosts_split(w[2], hosts);
		say("attached: %s", states[engine_attach(engine, w[1], hosts, n)]);
	} else if (strcmp(what, "sweep") == 0) { /* TAGS that are known */
		engine_sweep(engine, is_known, w + 1);
	} else if (strcmp(what, "backlog") == 0) {
		say("backlog: %zu", engine_backlog(engine));
	} else if (strcmp(what, "open") == 0) { /* ID PATH */
		engine_open(engine, strtoull(w[1], NULL, 10), &ana, w[2], O_RDONLY, 0640);
	} else if (strcmp(what, "rename") == 0) { /* ID FROM PATH */
		engine_rename(engine, strtoull(w[1], NULL, 10), &ana, w[2], w[3]);
	} else if (strcmp(what, "erase") == 0) { /* NAME PATH */
		engine_erase(engine, w[1], &ana, w[2]);
	} else if (strcmp(what, "up") == 0) { /* HOST [ITEM ...] */
		static const struct link_events none = {.closed = on_closed};
		json_t *inventory = json_array();
		for (json_error_t e; *text; text += e.position + (text[e.position] == ' ')) {
			json_t *item = json_loads(text, JSON_DISABLE_EOF_CHECK, &e);
			if (!item)
				die("no JSON", text);
			json_array_append_new(inventory, item);
		}
		engine_host_up(engine, w[1], played_link(w[1], &none, NULL, -1), inventory);
		json_decref(inventory);
	} else if (strcmp(what, "down") == 0) { /* HOST */
		engine_host_down(engine, w[1]);
		if ((link = played_find(w[1])) != NULL)
			link->over = mem_strdup("down");
	} else if (strcmp(what, "lost") == 0) { /* HOST */
		engine_host_lost(engine, w[1]);
	} else if (strcmp(what, "frame") == 0) { /* HOST {HEAD} */
		json_t *head = json_loads(text, 0, NULL);
		if (!engine_frame(engine, w[1], head, NULL, 0))
			say("not for the engine");
		json_decref(head);
	} else if (strcmp(what, "answer") == 0) {
		answer_give(w, line);
	} else if (strcmp(what, "result") == 0 || strcmp(what, "garbage") == 0) { /* {RESULT}: from the nursery */
		size_t at = message_begin(&bytes, FRAME_RESULT);
		strbuf_puts(&bytes, text);
		message_end(&bytes, at);
		nursery_send(&bytes, NULL, 0);
	} else if (strcmp(what, "datagram") == 0) { /* {RESULT}: from a shepherd */
		datagram_send(text);
	} else if (strcmp(what, "live") == 0) { /* TAG STATE [RESULT] */
		live_set(w, text);
	} else if (strcmp(what, "kill") == 0) { /* TAG: its shepherd */
		shepherd_end(live_of(w[1]));
	} else if (strcmp(what, "nursery") == 0) { /* dies|fails */
		nursery.fails = strcmp(w[1], "fails") == 0;
		close(nursery.fd);
		nursery.fd = -1;
		strbuf_clear(&nursery.in);
	} else if (strcmp(what, "wait") == 0) { /* MS */
		played_wait(&loop, atoi(w[1]), nursery_read);
	} else {
		die("no such command", line);
	}
	if (!silent)
		played_settle(&loop, nursery_read);
	strbuf_fini(&bytes);
}

static void run_end(void)
{
	engine_end();
	played_ends();
	for (int i = 0; i < LIVES; i++)
		shepherd_end(&lives[i]);
	memset(lives, 0, sizeof lives);
	nursery.fails = false;
}

static void run_begin(const char *base, int number)
{
	run_end();
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void engines(void **state)
{
	uv_loop_init(&loop);
	played_record(RECORDED, run_begin, command);
	strbuf_fini(&nursery.in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(engines)};

	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("engines", tests, NULL, NULL);
}
