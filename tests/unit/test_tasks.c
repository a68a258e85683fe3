/*
 * test_tasks.c - programs of a job on its other hosts: two hosts in one process, each with a
 * nursery, a room, a port and the service; TLS and the programs are real. All of it twice: with
 * tasks in this process, and with a process for each; and then with services in processes of their
 * own, which are killed.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/unixsock.h"
#include "engine/apart.h"
#include "engine/tasks.h"
#include "net/listener.h"
#include "run/task.h"
#include "support/nest.h"
#include "support/wire.h"

#define TAG "7.1"
#define ALONE "8.1" /* a job on one host */

struct host {
	struct world *w;
	struct nest *n;
	struct tasks *tasks;
	struct listener *listener;
	struct tls_context *calls, *listens;
	char socket[128], address[32];
	pid_t agent; /* process of the service; 0: this one */
};

struct world {
	uv_loop_t loop;
	struct trust trust;
	struct host host[2];
	struct order_host hosts[2];
	bool apart, agents;    /* tasks and services have processes of their own */
	int most, most_of_one; /* tasks at once; 0: as usual */
};

/* ---- hosts ---- */

static void on_first(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct host *h = context;

	if (h->tasks)
		tasks_serve(h->tasks, l, head);
	else
		link_close(l, "it stops");
}

static void on_link(void *context, struct link *l)
{
	static const struct link_events events = {.frame = on_first};

	link_trust(l);
	link_events_set(l, &events, context);
}

static void service_start(struct host *h, uv_loop_t *loop, const char *where)
{
	static const struct listener_limits limits = {.connections = 1000,
						      .strangers = 1000,
						      .strangers_per_address = 1000,
						      .handshake_seconds = 10,
						      .idle_seconds = 10};
	const struct listener_events events = {.link = on_link};
	struct tasks_options o = {.socket = h->socket,
				  .live = h->n->live,
				  .name = h == h->w->host ? "n1" : "n2",
				  .tls = h->calls,
				  .apart = h->w->apart,
				  .most = h->w->most,
				  .most_of_one = h->w->most_of_one,
				  .patience = h->w->agents ? 0 : 500};
	struct err err;

	if (h == h->w->host) { /* its socket is opened later, as for the first overlay */
		o.socket = NULL;
		o.tls = NULL;
	}
	if (listener_open(loop, where, h->listens, &limits, &events, h, &h->listener, &err) < 0 ||
	    tasks_start(loop, &o, &h->tasks, &err) < 0 || tasks_open(h->tasks, h->socket, h->calls, &err) < 0)
		fail_msg("%s", err.text);
}

/* The service in a process of its own, until it is killed. */
static void agent_start(struct host *h)
{
	int fds[2];
	char up;

	assert_int_equal(pipe(fds), 0);
	h->agent = fork();
	if (h->agent == 0) {
		uv_loop_t loop;
		uv_loop_init(&loop);
		service_start(h, &loop, h->address);
		if (write(fds[1], "+", 1) == 1)
			uv_run(&loop, UV_RUN_DEFAULT);
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &up, 1), 1);
	close(fds[0]);
}

static void agent_kill(struct host *h, int signal)
{
	if (!h->agent)
		return;
	kill(h->agent, signal);
	assert_int_equal(waitpid(h->agent, NULL, 0), h->agent);
	h->agent = 0;
}

static void host_start(struct world *w, int i)
{
	struct host *h = &w->host[i];
	struct cert_names who = {.role = CERT_NODE, .join = (uint64_t)i + 7};

	snprintf(who.name, sizeof who.name, "n%d", i + 1);
	h->w = w;
	h->n = nest_create("none");
	h->calls = trust_issue(&w->trust, &who, 3600, false);
	h->listens = trust_issue(&w->trust, &who, 3600, true);
	snprintf(h->socket, sizeof h->socket, "%s/agent.sock", h->n->dir);
	service_start(h, &w->loop, "127.0.0.1:0");
	snprintf(h->address, sizeof h->address, "127.0.0.1:%d", listener_port(h->listener));
	w->hosts[i] = (struct order_host){.name = i ? "n2" : "n1", .address = h->address, .part = i, .join = who.join};
	if (!w->agents)
		return;
	tasks_stop(h->tasks);
	listener_close(h->listener);
	h->tasks = NULL;
	h->listener = NULL;
	agent_start(h);
}

static void room_open(struct world *w, int i)
{
	struct nest *n = w->host[i].n;
	struct order o = nest_order(n, TAG, NULL);

	o.room = true;
	o.part = i;
	o.hosts = w->hosts;
	o.nhosts = 2;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, TAG);
	nest_ready(n, TAG);
}

static void attempt_end(struct nest *n, const char *tag)
{
	nest_signal(n, tag, SIGKILL);
	nest_result(n, tag);
	nest_answer(n, ANSWER_DIED, tag);
	live_remove(n->live, tag);
}

static void room_close(struct world *w, int i)
{
	attempt_end(w->host[i].n, TAG);
}

static int world_create(void **state, const struct world *how)
{
	struct world *w = mem_zalloc(sizeof *w);

	*w = *how;
	/* Processes apart become our children, so that how they ended is known. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	uv_loop_init(&w->loop);
	trust_init(&w->trust);
	for (int i = 0; i < 2; i++)
		host_start(w, i);
	for (int i = 0; i < 2; i++)
		room_open(w, i);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return world_create(state, &(struct world){.apart = false});
}

static int setup_apart(void **state)
{
	return world_create(state, &(struct world){.apart = true});
}

static int setup_agents(void **state)
{
	return world_create(state, &(struct world){.apart = true, .agents = true});
}

static int setup_few(void **state)
{
	return world_create(state, &(struct world){.most = 3, .most_of_one = 3});
}

static int setup_few_apart(void **state)
{
	return world_create(state, &(struct world){.apart = true, .most = 3, .most_of_one = 4});
}

static void service_stop(struct host *h)
{
	agent_kill(h, SIGKILL);
	if (h->tasks)
		tasks_stop(h->tasks);
	h->tasks = NULL;
	if (h->listener)
		listener_close(h->listener);
}

/* Every process apart has ended, and well: a sanitizer that found something says it by the exit
 * code. */
static void parted_await(void)
{
	int status;

	while (waitpid(-1, &status, 0) > 0)
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(errno, ECHILD);
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 2; i++)
		service_stop(&w->host[i]);
	TURN_UNTIL(&w->loop, !uv_loop_alive(&w->loop));
	assert_int_equal(uv_loop_close(&w->loop), 0); /* everything was closed */
	for (int i = 0; i < 2; i++) {
		struct result r;
		pid_t pid;
		if (live_look(w->host[i].n->live, TAG, w->host[i].n->a, &r, &pid) == LIVE_RUNNING)
			room_close(w, i);
		nest_destroy(w->host[i].n);
		tls_context_free(w->host[i].calls);
		tls_context_free(w->host[i].listens);
	}
	trust_fini(&w->trust);
	free(w);
	parted_await();
	return 0;
}

/* ---- rights of the client ---- */

/* Runs as the job's user, unless `as_root`. */
static void client_open(struct world *w, int i, struct end *e, bool as_root)
{
	uid_t uid = geteuid();
	struct err err;
	int fd;

	*e = (struct end){0};
	if (!as_root && uid == 0)
		assert_int_equal(seteuid(w->host[i].n->uid), 0);
	fd = unix_connect(w->host[i].socket, 1000, &err);
	if (uid == 0)
		assert_int_equal(seteuid(0), 0);
	if (fd < 0)
		fail_msg("%s", err.text);
	e->link = link_open(&w->loop, fd, NULL, &end_events, e);
	link_trust(e->link);
}

static json_t *task_of(const char *node, const char *script)
{
	return json_pack("{s:s,s:s,s:s,s:[sss],s:[s]}", "t", "task", "tag", TAG, "node", node, "argv", "/bin/sh", "-c",
			 script, "env", "COLOUR=green");
}

static void head_send(struct end *e, json_t *head, const char *data, size_t n)
{
	char *text = json_dumps(head, JSON_COMPACT);

	link_send(e->link, text, strlen(text), data, n);
	free(text);
	json_decref(head);
}

static void word_send(struct end *e, const char *type, const char *data)
{
	head_send(e, json_pack("{s:s}", "t", type), data, data ? strlen(data) : 0);
}

static const char *last_of(const struct end *e)
{
	return e->frames.n ? e->frames.v[e->frames.n - 1].head : "";
}

static bool is_over(const struct end *e)
{
	return strstr(last_of(e), "\"exit\"") || strstr(last_of(e), "\"refused\"");
}

/* What came of one kind, joined; the test's to free. */
static char *all_of(const struct end *e, const char *type)
{
	struct strbuf b = {0};
	char want[32];

	snprintf(want, sizeof want, "\"t\":\"%s\"", type);
	for (size_t i = 0; i < e->frames.n; i++)
		if (strstr(e->frames.v[i].head, want))
			strbuf_add(&b, e->frames.v[i].data, e->frames.v[i].n);
	strbuf_puts(&b, "");
	return b.text;
}

static void assert_all(const struct end *e, const char *type, const char *text)
{
	char *all = all_of(e, type);

	assert_string_equal(all, text);
	free(all);
}

static void assert_holds(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%.500s' does not hold '%s'", text ? text : "", part);
}

static void client_close(struct world *w, struct end *e)
{
	if (e->link)
		link_close(e->link, "done");
	TURN_UNTIL(&w->loop, !e->link);
	end_fini(e);
}

static pid_t pid_in(struct world *w, struct end *e)
{
	TURN_UNTIL(&w->loop, e->frames.n > 0);
	assert_holds(e->frames.v[0].head, "\"started\"");
	return (pid_t)atoi(strstr(e->frames.v[0].head, "\"pid\":") + 6);
}

/* ---- programs ---- */

/* On this host and on the other: input, both outputs, environment, exit code. */
static void test_program(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 2; i++) {
		struct end e;
		client_open(w, 0, &e, false);
		head_send(&e, task_of(w->hosts[i].name, "read x; echo $x $COLOUR $SHUNT_TAG; echo oh >&2; cat; exit 5"),
			  NULL, 0);
		word_send(&e, "in", "first\nsecond\n");
		word_send(&e, "in", "third\n");
		word_send(&e, "in_end", NULL);
		TURN_UNTIL(&w->loop, is_over(&e));
		assert_holds(e.frames.v[0].head, "\"started\"");
		char *out = all_of(&e, "out"), *live = realpath(w->host[i].n->live, NULL), want[256];
		snprintf(want, sizeof want, "first green " TAG "@%s\nsecond\nthird\n", live);
		assert_string_equal(out, want);
		free(out);
		free(live);
		assert_all(&e, "err", "oh\n");
		assert_holds(last_of(&e), "\"how\":\"exited\"");
		assert_holds(last_of(&e), "\"status\":5");
		client_close(w, &e);
	}
}

static void test_merge(void **state)
{
	struct world *w = *state;
	json_t *head = task_of("n2", "echo one; echo two >&2; echo three");
	struct end e;

	client_open(w, 0, &e, false);
	json_object_set_new(head, "merge", json_true());
	head_send(&e, head, NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_all(&e, "out", "one\ntwo\nthree\n");
	assert_all(&e, "err", "");
	client_close(w, &e);
}

static void test_signal(void **state)
{
	struct world *w = *state;
	struct end e;

	client_open(w, 0, &e, false);
	head_send(&e, task_of("n2", "echo up; exec sleep 1000"), NULL, 0);
	TURN_UNTIL(&w->loop, e.frames.n >= 2);
	head_send(&e, json_pack("{s:s,s:i}", "t", "signal", "signal", SIGTERM), NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_holds(last_of(&e), "\"how\":\"signaled\"");
	assert_holds(last_of(&e), "\"status\":15");
	client_close(w, &e);
}

/* The client goes, and so does the program: also when it reads nothing of what is sent to it. */
static void test_hang_up(void **state)
{
	struct world *w = *state;
	static char much[65536];

	for (int i = 0; i < 6; i++) {
		struct end e;
		client_open(w, 0, &e, false);
		head_send(&e, task_of(w->hosts[i % 2].name, "exec sleep 1000"), NULL, 0);
		pid_t pid = pid_in(w, &e);
		/* Nothing; half a megabyte, which waits over there; 4 MiB, more than waits
		 * anywhere on the way. */
		for (int k = 0; k < (i < 2 ? 0 : i < 4 ? 8 : 64); k++) {
			head_send(&e, json_pack("{s:s}", "t", "in"), much, sizeof much);
			uv_run(&w->loop, UV_RUN_NOWAIT);
		}
		assert_true(nest_alive(pid));
		client_close(w, &e);
		TURN_UNTIL(&w->loop, !nest_alive(pid));
	}
}

static void test_much_output(void **state)
{
	struct world *w = *state;
	struct end e;

	client_open(w, 0, &e, false);
	e.quiet = true;
	head_send(&e, task_of("n2", "head -c 20000000 /dev/zero"), NULL, 0);
	TURN_UNTIL(&w->loop, e.bytes > 100000);
	link_pause(e.link, true);
	for (int i = 0; i < 2000; i++) /* nobody reads: what is on the way is bounded */
		uv_run(&w->loop, UV_RUN_NOWAIT);
	assert_true(e.bytes < 20000000);
	link_pause(e.link, false);
	TURN_UNTIL(&w->loop, e.bytes == 20000000 && !e.link);
	client_close(w, &e);
}

static void test_much_input(void **state)
{
	struct world *w = *state;
	static char part[65536];

	for (int i = 0; i < 2; i++) {
		struct end e;
		client_open(w, 0, &e, false);
		head_send(&e, task_of(w->hosts[i].name, "sleep 0.2; wc -c"), NULL, 0);
		for (int k = 0; k < 128; k++) {
			TURN_UNTIL(&w->loop, link_queued(e.link) < sizeof part);
			head_send(&e, json_pack("{s:s}", "t", "in"), part, sizeof part);
		}
		word_send(&e, "in_end", NULL);
		TURN_UNTIL(&w->loop, is_over(&e));
		assert_all(&e, "out", "8388608\n");
		client_close(w, &e);
	}
}

static void test_terminal(void **state)
{
	struct world *w = *state;
	json_t *head =
		task_of("n2", "stty size; test -t 0 -a -t 2 && echo tty; read x; stty size; echo $x; cat; exit 9");
	struct end e;

	client_open(w, 0, &e, false);
	json_object_set_new(head, "rows", json_integer(30));
	json_object_set_new(head, "columns", json_integer(100));
	head_send(&e, head, NULL, 0);
	for (bool seen = false; !seen;) {
		char *out = all_of(&e, "out");
		seen = strstr(out, "tty\r\n") != NULL;
		free(out);
		TURN_UNTIL(&w->loop, uv_run(&w->loop, UV_RUN_NOWAIT) >= 0);
		assert_false(is_over(&e));
	}
	head_send(&e, json_pack("{s:s,s:i,s:i}", "t", "window", "rows", 40, "columns", 120), NULL, 0);
	word_send(&e, "in", "hello\n");
	word_send(&e, "in_end", NULL);
	TURN_UNTIL(&w->loop, is_over(&e));
	char *out = all_of(&e, "out");
	assert_holds(out, "30 100\r\n");
	assert_holds(out, "40 120\r\n");
	assert_holds(out, "hello\r\n");
	free(out);
	assert_holds(last_of(&e), "\"status\":9");
	client_close(w, &e);
}

/* What a program leaves behind may keep its output open; it is over all the same. */
static void test_left_behind(void **state)
{
	struct world *w = *state;
	struct end e;

	client_open(w, 0, &e, false);
	head_send(&e, task_of("n2", "sleep 1000 & echo said"), NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_all(&e, "out", "said\n");
	assert_holds(last_of(&e), "\"status\":0");
	client_close(w, &e);
}

static void test_job_ends(void **state)
{
	struct world *w = *state;
	struct end e;

	client_open(w, 0, &e, false);
	head_send(&e, task_of("n2", "exec sleep 1000"), NULL, 0);
	pid_t pid = pid_in(w, &e);
	room_close(w, 1);
	TURN_UNTIL(&w->loop, is_over(&e));
	nest_await_dead(pid);
	client_close(w, &e);
}

static void test_many(void **state)
{
	enum { MANY = 60 };
	struct world *w = *state;
	static struct end e[MANY];
	int many = w->apart ? MANY / 3 : MANY; /* with sanitizers a fork is slow, and both hosts are one process */

	for (int i = 0; i < many; i++) {
		client_open(w, 0, &e[i], false);
		head_send(&e[i], task_of(i % 2 ? "n2" : "n1", "cat; echo there"), NULL, 0);
		word_send(&e[i], "in", "here\n");
		word_send(&e[i], "in_end", NULL);
	}
	for (int i = 0; i < many; i++) {
		TURN_UNTIL(&w->loop, is_over(&e[i]));
		assert_holds(last_of(&e[i]), "\"status\":0");
		assert_all(&e[i], "out", "here\nthere\n");
		client_close(w, &e[i]);
	}
}

/* ---- who may not ---- */

static void refused(struct world *w, json_t *head, bool as_root, const char *why)
{
	struct end e;

	client_open(w, 0, &e, as_root);
	head_send(&e, head, NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_holds(last_of(&e), "\"refused\"");
	assert_holds(last_of(&e), why);
	TURN_UNTIL(&w->loop, !e.link);
	client_close(w, &e);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	json_t *head = task_of("n2", "true");

	refused(w, task_of("n9", "true"), false, "n9 is not a node of this job");
	json_object_set_new(head, "tag", json_string("8.1"));
	refused(w, head, false, "8.1");
	head = task_of("n2", "true");
	json_object_set_new(head, "tag", json_string("../" TAG));
	refused(w, head, false, "not an attempt");
	refused(w, json_pack("{s:s}", "t", "hello"), false, "must be a task");
	head = task_of("n1", "true");
	json_object_set_new(head, "argv", json_array());
	refused(w, head, false, "needs a program");
	if (geteuid() == 0)
		refused(w, task_of("n2", "true"), true, "another user's job");
	listener_close(w->host[1].listener);
	w->host[1].listener = NULL;
	refused(w, task_of("n2", "true"), false, "the connection to n2 failed");
}

/* A task that comes from the network. */
static void peer_answered(struct world *w, const char *name, enum cert_role role, uint64_t join, json_t *task,
			  const char *answer)
{
	struct cert_names who = {.role = role, .join = join};
	struct tls_context *c;
	struct end e = {0};

	snprintf(who.name, sizeof who.name, "%s", name);
	c = trust_issue(&w->trust, &who, 3600, false);
	e.link = link_connect(&w->loop, c, w->host[1].address, CERT_NODE, &end_events, &e);
	head_send(&e, task, NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_holds(last_of(&e), answer);
	client_close(w, &e);
	tls_context_free(c);
}

/* A node's certificate alone does not suffice. */
static void peer_refused(struct world *w, const char *name, enum cert_role role, uint64_t join, const char *node,
			 const char *why)
{
	peer_answered(w, name, role, join, task_of(node, "true"), why);
}

/* A task for ALONE from a client that the server has checked. */
static json_t *entry_of(const char *script)
{
	json_t *head = task_of("n2", script);

	json_object_set_new(head, "tag", json_string(ALONE));
	json_object_set_new(head, "await", json_true());
	return head;
}

/* The server lets the owner of a job enter it: on its own machine with what the server names, not
 * the client, and on a node. A job on one host has no list of hosts. */
static void test_entered(void **state)
{
	struct world *w = *state;
	const struct order_host server = {.name = "head", .address = ""};
	struct end e = {0};
	int pair[2];

	for (int i = 0; i < 2; i++) {
		struct order o = nest_order(w->host[i].n, ALONE, "exec sleep 1000");
		nest_send(w->host[i].n, &o);
		nest_answer(w->host[i].n, ANSWER_STARTED, ALONE);
		nest_signal(w->host[i].n, ALONE, TASKS_WORD);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	tasks_enter(w->host[0].tasks, pair[1], w->host[0].n->uid, ALONE, &server);
	e.link = link_open(&w->loop, pair[0], NULL, &end_events, &e);
	head_send(&e, task_of("n2", "echo ${SHUNT_TAG%@*}"), NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_holds(last_of(&e), "\"status\":0");
	assert_all(&e, "out", ALONE "\n");
	client_close(w, &e);

	peer_answered(w, "head", CERT_SERVER, 0, entry_of("exit 3"), "\"status\":3");
	peer_answered(w, "n1", CERT_NODE, 7, entry_of("exit 3"), "your host has no part");
	for (int i = 0; i < 2; i++)
		attempt_end(w->host[i].n, ALONE);
}

static void test_peers(void **state)
{
	struct world *w = *state;

	peer_refused(w, "n1", CERT_NODE, 6, "n2", "your host has no part"); /* it was removed, and joined again */
	peer_refused(w, "n3", CERT_NODE, 7, "n2", "your host has no part");
	peer_refused(w, "head", CERT_SERVER, 0, "n2", "your host has no part"); /* the server's machine is not in it */
	peer_refused(w, "n1", CERT_NODE, 7, "n1", "not a node of this job on this host"); /* no way through */
	peer_refused(w, "n1", CERT_NODE, 7, "n2", "\"status\":0");
}

/* A host that took over another's address is not believed to be it. */
static void test_impostor(void **state)
{
	struct world *w = *state;
	struct cert_names who = {.role = CERT_NODE, .name = "n3", .join = 8};
	struct tls_context *c = trust_issue(&w->trust, &who, 3600, true);
	struct end e;

	listener_identity(w->host[1].listener, c);
	client_open(w, 0, &e, false);
	head_send(&e, task_of("n2", "true"), NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_holds(last_of(&e), "not the one that this job is on");
	client_close(w, &e);
	tls_context_free(c);
}

/* Counts children of ours whose file FILE in /proc begins with `text`. A zombie has its name
 * (comm), but no title (cmdline). */
static int children_with(const char *file, const char *text)
{
	char path[64], line[256];
	FILE *list, *f;
	int pid, n = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	list = fopen(path, "r");
	while (list && fscanf(list, "%d", &pid) == 1) {
		snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
		f = fopen(path, "r");
		line[f ? fread(line, 1, sizeof line - 1, f) : 0] = '\0';
		n += strncmp(line, text, strlen(text)) == 0;
		if (f)
			fclose(f);
	}
	if (list)
		fclose(list);
	return n;
}

/* Programs on a host that was removed, and those that it has started here, end; others continue. */
static void test_revoked(void **state)
{
	struct world *w = *state;
	struct revoked list = {0};
	struct end there, here;
	pid_t pid;

	client_open(w, 0, &there, false);
	client_open(w, 0, &here, false);
	head_send(&there, task_of("n2", "exec sleep 1000"), NULL, 0);
	head_send(&here, task_of("n1", "read x; echo got $x"), NULL, 0);
	pid = pid_in(w, &there);
	pid_in(w, &here);
	revoked_add(&list, "n2", 7); /* an earlier one of that name */
	tasks_revoke(w->host[0].tasks, &list);
	for (uint64_t end = uv_now(&w->loop) + 300; uv_now(&w->loop) < end;)
		turn(&w->loop);
	assert_false(is_over(&there));
	revoked_add(&list, "n2", 8);
	tasks_revoke(w->host[0].tasks, &list);
	TURN_UNTIL(&w->loop, is_over(&there) || there.closes); /* its process is killed */
	TURN_UNTIL(&w->loop, !nest_alive(pid));		       /* n2 has lost its caller */
	word_send(&here, "in", "one\n");
	TURN_UNTIL(&w->loop, is_over(&here));
	assert_all(&here, "out", "got one\n");
	client_close(w, &there);
	client_open(w, 0, &there, false);
	head_send(&there, task_of("n2", "exec sleep 1000"), NULL, 0);
	pid = pid_in(w, &there);
	revoked_add(&list, "n1", 7);
	listener_revoke(w->host[1].listener, &list);
	tasks_revoke(w->host[1].tasks, &list);
	TURN_UNTIL(&w->loop, (is_over(&there) || there.closes) && !nest_alive(pid));
	client_close(w, &there);
	client_close(w, &here);
	/* Here those that were killed are waited for; afterwards only good ends are expected. */
	TURN_UNTIL(&w->loop, children_with("comm", "shunt-task\n") == 0);
	revoked_fini(&list);
}

/* ---- when the service is killed ---- */

static bool is_heard(struct end *e, const char *type, const char *text)
{
	char *all = all_of(e, type);
	bool heard = strstr(all, text) != NULL;

	free(all);
	return heard;
}

static const char talkative[] = "read x; echo got $x; read y; echo too $y >&2; exit 6";

/* Both hosts' services are killed in the middle of tasks, and started again: nothing that they
 * held is kept from them, and tasks continue. */
static void test_killed(void **state)
{
	struct world *w = *state;
	struct end e[2], late;

	for (int i = 0; i < 2; i++) {
		client_open(w, 0, &e[i], false);
		head_send(&e[i], task_of(w->hosts[i].name, talkative), NULL, 0);
		word_send(&e[i], "in", "one\n");
	}
	for (int i = 0; i < 2; i++)
		TURN_UNTIL(&w->loop, is_heard(&e[i], "out", "got one\n"));
	agent_kill(&w->host[0], SIGKILL);
	agent_kill(&w->host[1], SIGTERM);
	assert_int_equal(children_with("cmdline", "shunt-agent: task " TAG " on n1"), 1);
	assert_int_equal(children_with("cmdline", "shunt-agent: task " TAG " on n2"),
			 2); /* the caller's host, and its own */
	for (int i = 0; i < 2; i++)
		agent_start(&w->host[i]);
	client_open(w, 0, &late, false);
	head_send(&late, task_of("n2", "echo late"), NULL, 0);
	TURN_UNTIL(&w->loop, is_over(&late));
	assert_all(&late, "out", "late\n");
	for (int i = 0; i < 2; i++) {
		word_send(&e[i], "in", "two\n");
		TURN_UNTIL(&w->loop, is_over(&e[i]));
		assert_all(&e[i], "out", "got one\n");
		assert_all(&e[i], "err", "too two\n");
		assert_holds(last_of(&e[i]), "\"status\":6");
		client_close(w, &e[i]);
	}
	client_close(w, &late);
}

/* The client goes while there is no service at all: the programs end. */
static void test_killed_hang_up(void **state)
{
	struct world *w = *state;
	struct end e;
	pid_t pid;

	client_open(w, 0, &e, false);
	head_send(&e, task_of("n2", "exec sleep 1000"), NULL, 0);
	pid = pid_in(w, &e);
	for (int i = 0; i < 2; i++)
		agent_kill(&w->host[i], SIGKILL);
	assert_true(nest_alive(pid));
	client_close(w, &e);
	TURN_UNTIL(&w->loop, !nest_alive(pid));
}

/* Asked for while the other host's agent is away, as it is when it is upgraded: it waits. */
static void test_away(void **state)
{
	struct world *w = *state;
	struct end e;

	agent_kill(&w->host[1], SIGKILL);
	client_open(w, 0, &e, false);
	head_send(&e, task_of("n2", "echo here"), NULL, 0);
	for (uint64_t end = uv_now(&w->loop) + 700; uv_now(&w->loop) < end;)
		turn(&w->loop);
	assert_false(is_over(&e));
	agent_start(&w->host[1]);
	TURN_UNTIL(&w->loop, is_over(&e));
	assert_all(&e, "out", "here\n");
	client_close(w, &e);
}

static void test_limits(void **state)
{
	struct world *w = *state;
	struct end e[3], more;

	for (int i = 0; i < 3; i++) {
		client_open(w, 0, &e[i], false);
		head_send(&e[i], task_of("n1", "exec sleep 1000"), NULL, 0);
		pid_in(w, &e[i]);
	}
	refused(w, task_of("n1", "true"), false,
		w->most_of_one == 3 ? "has 3 tasks under way on n1" : "3 tasks are under way on n1");
	client_close(w, &e[0]);
	for (bool taken = false; !taken;) { /* as soon as that has ended */
		client_open(w, 0, &more, false);
		head_send(&more, task_of("n1", "true"), NULL, 0);
		TURN_UNTIL(&w->loop, is_over(&more));
		taken = strstr(last_of(&more), "\"exit\"") != NULL;
		client_close(w, &more);
	}
	client_close(w, &e[1]);
	client_close(w, &e[2]);
}

#define IN(where, test)                                                                                                \
	{                                                                                                              \
#test " " #where, test, where, teardown, NULL                                                          \
	}
#define BOTH(test) IN(setup, test), IN(setup_apart, test)

static int tests_run(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_program),
		BOTH(test_merge),
		BOTH(test_signal),
		BOTH(test_hang_up),
		BOTH(test_much_output),
		BOTH(test_much_input),
		BOTH(test_terminal),
		BOTH(test_left_behind),
		BOTH(test_job_ends),
		BOTH(test_many),
		BOTH(test_refused),
		BOTH(test_peers),
		BOTH(test_entered),
		BOTH(test_impostor),
		BOTH(test_revoked),
		IN(setup_few, test_limits),
		IN(setup_few_apart, test_limits),
		IN(setup_agents, test_killed),
		IN(setup_agents, test_killed_hang_up),
		IN(setup_agents, test_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		apart_titles(argv);
	return nest_main(argc, argv, tests_run);
}
