/*
 * test_agent.c - shunt-agent, the program, against a server that says what a test wants it to say:
 * TLS, joining, orders and their ends are real.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "engine/watch.h"
#include "net/listener.h"
#include "net/protocol.h"
#include "run/order.h"
#include "run/script.h"
#include "support/paths.h"
#include "support/wire.h"

static const char *program; /* shunt-agent */

struct world {
	uv_loop_t loop;
	struct trust trust;
	struct listener *listener;
	char home[64], work[96], where[32], token[TOKEN_SIZE];
	const char *user;
	pid_t pid;		/* pid of the agent; 0: none */
	VEC(struct end *) all;	/* everything that it has connected */
	VEC(struct end *) ends; /* its own connections; the last is the present one */
	size_t terminals;	/* connections of terminals */
	bool keeps;		/* true: these stay open; else each is closed at once */
	uint64_t join;		/* for the next certificate */
	int heartbeat;
	/* the API */
	struct watch *request;
	struct strbuf text;
	const char *answer;    /* what joining is answered with; NULL: a certificate */
	struct strbuf asked;   /* bodies of the requests, without key, facts and proof */
	pid_t asker;	       /* pid of the agent that joins */
	json_t *facts, *proof; /* in the last request */
};

/* ---- the server ---- */

static void certificate_make(struct world *w, const char *csr, struct strbuf *ret)
{
	struct cert_names who = {.role = CERT_NODE, .name = "n1", .join = w->join};
	struct err err;

	if (pki_issue(w->trust.authority_key.text, w->trust.authority_cert.text, csr, strlen(csr), &who, NULL, 3600,
		      ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* Everyone can see the command line: the token must not be there any more. */
static void command_line_check(const struct world *w)
{
	char path[32], text[1024];

	snprintf(path, sizeof path, "/proc/%d/cmdline", w->asker);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text);
	close(fd);
	assert_true(n > 0);
	assert_null(memmem(text, (size_t)n, w->token, strlen(w->token)));
}

/* Notes a request, and removes from it what differs each time. */
static void request_note(struct world *w, json_t *o)
{
	json_decref(w->facts);
	json_decref(w->proof);
	w->facts = json_incref(json_object_get(o, "facts"));
	w->proof = json_incref(json_object_get(o, "proof"));
	assert_string_equal(json_string_value(json_object_get(o, "token")), w->token);
	assert_true(json_is_object(w->facts));
	for (const char *const *key = (const char *const[]){"token", "csr", "facts", "before", "proof", NULL}; *key;
	     key++)
		json_object_del(o, *key);
	char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	strbuf_puts(&w->asked, text);
	free(text);
}

static void join_answer(struct world *w, const char *body)
{
	json_t *o = json_loads(body, 0, NULL), *a;
	struct strbuf cert = {0}, reply = {0};

	certificate_make(w, json_string_value(json_object_get(o, "csr")), &cert);
	command_line_check(w);
	request_note(w, o);
	a = json_pack("{s:s,s:s,s:s,s:[s]}", "certificate", cert.text, "ca", w->trust.authority_cert.text, "name", "n1",
		      "servers", w->where);
	char *text = json_dumps(a, 0);
	if (w->answer)
		strbuf_puts(&reply, w->answer);
	else
		strbuf_printf(&reply, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(text), text);
	assert_int_equal(write(watch_fd(w->request), strbuf_text(&reply), reply.n), reply.n);
	free(text);
	json_decref(a);
	json_decref(o);
	strbuf_fini(&cert);
	strbuf_fini(&reply);
}

static void on_request(void *context, int events)
{
	struct world *w = context;
	char part[4096];
	ssize_t n = read(watch_fd(w->request), part, sizeof part);
	const char *body, *length;

	if (n < 0)
		return;
	strbuf_add(&w->text, part, (size_t)n);
	body = strstr(strbuf_text(&w->text), "\r\n\r\n");
	length = strstr(strbuf_text(&w->text), "Content-Length: ");
	if (n > 0 &&
	    (!body || !length || w->text.n < (size_t)(body + 4 - w->text.text) + strtoul(length + 16, NULL, 10)))
		return;
	if (n > 0) {
		assert_int_equal(strncmp(w->text.text, "POST /v1/join ", 14), 0);
		join_answer(w, body + 4);
	}
	watch_close(w->request);
	w->request = NULL;
	strbuf_clear(&w->text);
}

static void on_http(void *context, int fd, const char *address)
{
	struct world *w = context;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	w->request = watch_open(&w->loop, fd, on_request, w);
	watch_for(w->request, UV_READABLE);
}

static struct world *world; /* the present one, for on_first() */

static void on_first(struct end *e, json_t *head)
{
	e->on_frame = NULL;
	if (strcmp(json_string_value(json_object_get(head, "t")), "stream") != 0) {
		vec_push(&world->ends, e);
		return;
	}
	assert_string_equal(json_string_value(json_object_get(head, "what")), "terminal");
	world->terminals++;
	if (!world->keeps)
		link_abort(e->link, "call again");
}

static void on_link(void *context, struct link *l)
{
	struct end *e = mem_zalloc(sizeof *e);

	world = context;
	e->link = l;
	e->on_frame = on_first;
	link_trust(l);
	link_events_set(l, &end_events, e);
	vec_push(&world->all, e);
}

static struct end *now(const struct world *w)
{
	return w->ends.n ? w->ends.v[w->ends.n - 1] : NULL;
}

/* The last frame of a type that holds a text; NULL: none. */
static const char *frame_with(const struct world *w, const char *type, const char *text)
{
	struct end *e = now(w);
	char begins[32];

	snprintf(begins, sizeof begins, "{\"t\":\"%s\"", type);
	for (size_t i = e ? e->frames.n : 0; i-- > 0;)
		if (strncmp(e->frames.v[i].head, begins, strlen(begins)) == 0 && strstr(e->frames.v[i].head, text))
			return e->frames.v[i].head;
	return NULL;
}

static json_t *hello_await(struct world *w, size_t connection)
{
	TURN_UNTIL(&w->loop, w->ends.n >= connection && now(w)->frames.n);
	json_t *hello = json_loads(now(w)->frames.v[0].head, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(hello, "t")), "hello");
	return hello;
}

static void welcome(struct world *w, uint64_t epoch, json_t *settings)
{
	link_pack(now(w)->link, NULL, 0, "{s:s,s:i,s:s,s:I,s:s,s:[s],s:i,s:o}", "t", "welcome", "protocol", 1,
		  "version", "9.9", "epoch", (json_int_t)epoch, "name", "n1", "servers", w->where, "heartbeat",
		  w->heartbeat, "settings", settings ? settings : json_object());
}

static json_t *greet(struct world *w, size_t connection)
{
	json_t *hello = hello_await(w, connection);

	welcome(w, 1000, NULL);
	TURN_UNTIL(&w->loop, frame_with(w, "ping", ""));
	return hello;
}

static void tag_send(struct world *w, const char *type, const char *tag, int number)
{
	link_pack(now(w)->link, NULL, 0, "{s:s,s:s,s:i}", "t", type, "tag", tag, "signal", number);
}

static struct script_print order_print; /* fingerprint of the script in the next order; hash 0: none */
static bool order_is_older;		/* the order comes from a server that does not know script_sha256 */
static bool order_is_interactive;

static void order_send(struct world *w, const char *tag, const char *user, const char *script)
{
	json_t *o = json_pack("{s:s,s:s,s:i,s:i,s:i,s:s,s:s,s:s,s:[],s:[ss],s:s,s:s,s:s,s:s,s:I,s:I,s:b,s:i,s:i}", "id",
			      "7.pine", "tag", tag, "attempt", 1, "uid", 4242, "gid", 4242, "user", user, "home",
			      "/nowhere", "script", "@STATE@/scripts/x", "argv", "env", "PATH=/usr/bin:/bin",
			      "SOCKET=@RUN@/agent.sock", "workdir", w->work, "out", "@STATE@/out", "err", "@STATE@/err",
			      "spare", "@STATE@/spool", "walltime", (json_int_t)-1, "grace", (json_int_t)1, "by_name",
			      true, "nplaced", 1, "umask", 0022);
	char path[160];

	snprintf(path, sizeof path, "@STATE@/scripts/%s.job.sh", tag);
	json_object_set_new(o, "script", json_string(path));
	json_object_set_new(o, "shell", json_string("/bin/sh")); /* nobody has none */
	json_object_set_new(o, "shell_given", json_true());
	snprintf(path, sizeof path, "%s/%s.out", w->work, tag);
	json_object_set_new(o, "out", json_string(path));
	snprintf(path, sizeof path, "%s/%s.err", w->work, tag);
	json_object_set_new(o, "err", json_string(path));
	if (order_print.hash)
		json_object_set_new(o, "script_hash", json_integer(order_print.hash));
	if (order_print.hash && !order_is_older)
		json_object_set_new(o, "script_sha256", json_string(order_print.sha256));
	order_print.hash = 0;
	if (order_is_interactive) {
		json_object_set_new(o, "pty", json_string("@RUN@/terminal.sock"));
		json_object_set_new(o, "patience", json_integer(20));
	}
	link_pack(now(w)->link, script, strlen(script), "{s:s,s:o}", "t", "order", "order", o);
}

/* ---- the agent ---- */

static pid_t agent_spawn(struct world *w, int out, const char *const *args)
{
	const char *argv[16] = {program};
	pid_t pid;

	for (int i = 0; args[i]; i++)
		argv[i + 1] = args[i];
	pid = fork();
	if (pid == 0) {
		char log[96];
		umask(077);   /* it sets its own */
		if (out >= 0) /* it ends soon, and frees nothing before */
			setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
		snprintf(log, sizeof log, "%s.log", w->home);
		setenv("SHUNT_AGENT_HOME", w->home, 1);
		setenv("SHUNT_FAKE_GPUS", "2", 1);
		dup2(out < 0 ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : out, 2);
		dup2(2, 1);
		execv(program, (char *const *)argv);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

/* Turns the loop until it has ended: its exit code. */
static int agent_await(struct world *w, pid_t pid)
{
	int status = 0;

	TURN_UNTIL(&w->loop, waitpid(pid, &status, WNOHANG) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs it, and gives what it printed: static. */
static const char *agent_run(struct world *w, int *ret_code, const char *const *args)
{
	static char text[4096];
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	w->asker = agent_spawn(w, fds[1], args);
	close(fds[1]);
	*ret_code = agent_await(w, w->asker);
	n = read(fds[0], text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	close(fds[0]);
	return text;
}

static const char *agent_join(struct world *w, int *ret_code)
{
	return agent_run(
		w, ret_code,
		(const char *[]){"--join", w->where, w->token, "--name", "n1", "--port", "0", "--no-start", NULL});
}

static void agent_start(struct world *w)
{
	w->pid = agent_spawn(w, -1, (const char *[]){"--foreground", NULL});
}

static int agent_end(struct world *w, int signal)
{
	pid_t pid = w->pid;

	w->pid = 0;
	kill(pid, signal);
	return agent_await(w, pid);
}

static bool there(const struct world *w, const char *name)
{
	char path[160];

	snprintf(path, sizeof path, "%s/%s", w->home, name);
	return access(path, F_OK) == 0;
}

static long size_of(const struct world *w, const char *name)
{
	char path[160];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", w->home, name);
	return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

static bool file_holds(const char *path, const char *text)
{
	struct strbuf got = {0};
	bool found = file_read(path, 0, 1 << 20, &got) == 0 && strstr(strbuf_text(&got), text);

	strbuf_fini(&got);
	return found;
}

static bool logged(const struct world *w, const char *text)
{
	char path[96];

	snprintf(path, sizeof path, "%s.log", w->home);
	return file_holds(path, text);
}

/* The number behind a text in a file; 0: it is not there. */
static int number_in(const struct world *w, const char *name, const char *text)
{
	struct strbuf got = {0};
	char path[160];

	snprintf(path, sizeof path, "%s/%s", w->home, name);
	assert_int_equal(file_read(path, 0, 1 << 20, &got), 0);
	const char *at = strstr(strbuf_text(&got), text);
	int n = at ? atoi(at + strlen(text)) : 0;
	strbuf_fini(&got);
	return n;
}

static void assert_holds(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' does not hold '%s'", text ? text : "(nothing)", part);
}

/* ---- making and removing it all ---- */

static int setup(void **state)
{
	static const struct listener_limits limits = {.connections = 100,
						      .strangers = 100,
						      .strangers_per_address = 100,
						      .handshake_seconds = 10,
						      .idle_seconds = 10};
	const struct listener_events events = {.link = on_link, .http = on_http};
	struct world *w = mem_zalloc(sizeof *w);
	struct passwd *pw = geteuid() == 0 ? getpwnam("nobody") : getpwuid(geteuid());
	struct token t = {.id = "j1", .secret = "c2VjcmV0"};
	struct err err;

	uv_loop_init(&w->loop);
	trust_init(&w->trust);
	w->user = strdup(pw->pw_name);
	w->join = 7;
	w->heartbeat = 1;
	snprintf(w->home, sizeof w->home, "/tmp/shunt-agent-XXXXXX");
	assert_non_null(mkdtemp(w->home));
	chmod(w->home, 0711);
	snprintf(w->work, sizeof w->work, "%s/work", w->home);
	assert_int_equal(mkdir(w->work, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(w->work, pw->pw_uid, pw->pw_gid), 0);
	if (listener_open(&w->loop, "127.0.0.1:0", w->trust.server, &limits, &events, w, &w->listener, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(w->where, sizeof w->where, "127.0.0.1:%d", listener_port(w->listener));
	pki_fingerprint(w->trust.authority_cert.text, t.fingerprint, &err);
	t.fingerprint[32] = '\0';
	token_write(&t, w->token);
	*state = w;
	return 0;
}

static int setup_joined(void **state)
{
	int code;

	setup(state);
	agent_join(*state, &code);
	if (code == 0)
		agent_start(*state);
	return code;
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

/* The log says why a test has failed. */
static void log_end(struct world *w)
{
	char path[96], line[512];
	FILE *f;

	snprintf(path, sizeof path, "%s.log", w->home);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "ERROR: ") || strstr(line, "runtime error"))
			fail_msg("%s", line);
	if (f)
		fclose(f);
	unlink(path);
}

static int teardown(void **state)
{
	struct world *w = *state;

	if (w->pid)
		assert_int_equal(agent_end(w, SIGTERM), 0);
	for (size_t i = 0; i < w->all.n; i++)
		if (w->all.v[i]->link)
			link_close(w->all.v[i]->link, "over");
	listener_close(w->listener);
	watch_close(w->request);
	TURN_UNTIL(&w->loop, !uv_loop_alive(&w->loop));
	assert_int_equal(uv_loop_close(&w->loop), 0);
	for (size_t i = 0; i < w->all.n; i++) {
		end_fini(w->all.v[i]);
		free(w->all.v[i]);
	}
	vec_free(&w->all);
	vec_free(&w->ends);
	strbuf_fini(&w->text);
	strbuf_fini(&w->asked);
	json_decref(w->facts);
	json_decref(w->proof);
	trust_fini(&w->trust);
	log_end(w);
	nftw(w->home, entry_remove, 32, FTW_DEPTH | FTW_PHYS);
	free((char *)w->user);
	free(w);
	return 0;
}

/* ---- joining ---- */

/* It is for another authority then. */
static void token_spoil(struct world *w)
{
	char *last = &w->token[strlen(w->token) - 1];

	*last = *last == '0' ? '1' : '0';
}

static void file_is(const struct world *w, const char *name, int mode, const char *text)
{
	struct strbuf got = {0};
	char path[160];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", w->home, name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, mode);
	assert_int_equal(file_read(path, 0, 1 << 20, &got), 0);
	if (text)
		assert_string_equal(strbuf_text(&got), text);
	strbuf_fini(&got);
}

/* Joins with the options, and compares what it prints, but for the machine's facts in between, and
 * what it asks the server. */
static void joining_is(struct world *w, const char *const *args, int code, const char *begins, const char *ends,
		       const char *asked)
{
	const char *words[16] = {"--join", w->where};
	char want[256];
	int got;

	strbuf_clear(&w->asked);
	for (int i = 0; args[i]; i++)
		words[i + 2] = args[i];
	const char *said = agent_run(w, &got, words);
	snprintf(want, sizeof want, begins, w->where, w->home);
	if (strncmp(said, want, strlen(want)) != 0 || strlen(said) < strlen(ends) ||
	    strcmp(said + strlen(said) - strlen(ends), ends) != 0)
		fail_msg("'%s' and not '%s...%s'", said, want, ends);
	assert_int_equal(got, code);
	assert_string_equal(strbuf_text(&w->asked), asked);
}

#define NODE "This machine is node n1 of the cluster test"

static void test_join(void **state)
{
	static const char asked[] = "{\"name\":\"n1\"}";
	struct world *w = *state;
	const char *const plain[] = {w->token, "--name", "n1", "--port", "0", "--no-start", NULL};
	const char *const renamed[] = {w->token, "--name", "n2", "--no-start", NULL};
	const char *const again[] = {w->token, "--no-start", NULL};
	char want[512], token[TOKEN_SIZE];
	int code;

	w->answer = "HTTP/1.1 401 No\r\nContent-Length: 69\r\n\r\n"
		    "{\"error\":{\"code\":\"no\",\"message\":\"That token is not valid (any more).\"}}";
	joining_is(w, plain, 1, "shunt-agent: %s: That token is not valid (any more).\n", "", asked);
	assert_false(there(w, "agent.json") || there(w, "node.key"));
	w->answer = NULL;
	joining_is(w, plain, 0, NODE " (", ", 2 GPUs).\n", asked);
	file_is(w, "node.key", 0600, NULL);
	file_is(w, "node.crt", 0644, NULL);
	file_is(w, "ca.crt", 0644, w->trust.authority_cert.text);
	snprintf(
		want, sizeof want,
		"{\n  \"name\": \"n1\",\n  \"cluster\": \"test\",\n  \"servers\": [\n    \"%s\"\n  ],\n  \"joined_by\": \"%s\",\n  \"cgroup\": \"auto\"\n}",
		w->where, w->where);
	file_is(w, "agent.json", 0644, want);
	assert_null(w->proof);
	joining_is(w, plain, 0, NODE " already.\n", "", "");
	joining_is(w, again, 0, NODE " already.\n", "", "");
	joining_is(w, renamed, 1,
		   "shunt-agent: this machine is node n1 of the cluster test already, and keeps that name. To call it "
		   "n2, run 'shunt nodes remove n1' on the server, then join again\n",
		   "", "");
	strcpy(token, w->token);
	token_spoil(w);
	snprintf(want, sizeof want,
		 "shunt-agent: this machine is node n1 of the cluster test: 'shunt nodes remove n1' there, then remove "
		 "%s here, and join again\n",
		 w->home);
	assert_string_equal(agent_join(w, &code), want);
	assert_int_equal(code, 1);
	strcpy(w->token, token);
}

/* A part of a machine, with a token in a file; and a machine that has keys already, with a token
 * for another node: it asks again without its name. */
static void test_join_options(void **state)
{
	static const char no[] = "HTTP/1.1 403 No\r\nContent-Length: 45\r\n\r\n"
				 "{\"error\":{\"message\":\"It names another node.\"}}";
	struct world *w = *state;
	char file[160], want[512], name[256];
	const char *const guest[] = {"--token-file", file,   "--name",	"n1",	      "--cpus", "1",
				     "--memory",     "4096", "--guest", "--no-start", NULL};
	const char *const owner[] = {w->token, "--leaves", "2000000000", "--workstation", "idle", "--no-start", NULL};

	snprintf(file, sizeof file, "%s/token", w->home);
	assert_int_equal(file_replace(file, 0600, w->token, strlen(w->token), 0), 0);
	joining_is(w, guest, 0, NODE " (1 CPU, 4 MB, 2 GPUs).\n", "", "{\"name\":\"n1\"}");
	assert_int_equal(json_integer_value(json_object_get(w->facts, "cpus")), 1);
	assert_int_equal(json_integer_value(json_object_get(w->facts, "memory")), 4096);
	snprintf(
		want, sizeof want,
		"{\n  \"name\": \"n1\",\n  \"cluster\": \"test\",\n  \"servers\": [\n    \"%s\"\n  ],\n  \"joined_by\": \"%s\",\n"
		"  \"port\": 7723,\n  \"cpus\": 1,\n  \"memory\": 4096,\n  \"guest\": true,\n  \"cgroup\": \"auto\",\n  \"root_jobs\": true\n}",
		w->where, w->where);
	file_is(w, "agent.json", 0644, want);

	snprintf(want, sizeof want, "%s/agent.json", w->home);
	unlink(want);
	gethostname(name, sizeof name - 1);
	name[strcspn(name, ".")] = '\0';
	w->answer = no;
	snprintf(want, sizeof want,
		 "{\"leaves\":2000000000,\"name\":\"%s\",\"workstation\":\"idle\"}"
		 "{\"leaves\":2000000000,\"workstation\":\"idle\"}",
		 name);
	joining_is(w, owner, 1, "shunt-agent: %s: It names another node.\n", "", want);
	assert_non_null(w->proof);
	assert_false(there(w, "agent.json"));
}

/* Answers that no server gives, or that stop in the middle. */
static void test_join_answers(void **state)
{
#define HEAD "HTTP/1.1 200 OK\r\n"
	static const struct {
		const char *answer, *said;
	} cases[] = {
		{"", "it hung up: Connection reset by peer"},
		{HEAD, "it hung up: Connection reset by peer"},
		{HEAD "Content-Length: 100\r\n\r\n{}", "it hung up: Connection reset by peer"},
		{HEAD "\r\n{}", "the server gave no certificate that this machine could use"},
		{HEAD "Content-Length: 2\r\n\r\n{}", "the server gave no certificate that this machine could use"},
		{HEAD "\r\n{\"certificate\":\"x\"}", "the server gave no certificate that this machine could use"},
		{HEAD "\r\n[]", "its answer is not one of a Shunt server (HTTP 200)"},
		{HEAD "content-length: 2\r\n\r\n[]", "its answer is not one of a Shunt server (HTTP 200)"},
		{"HTTP/1.1 500 No\r\n\r\n{}", "its answer is not one of a Shunt server (HTTP 500)"},
		{"SMTP 1. 200 OK\r\n\r\n{}", "its answer is not one of a Shunt server (HTTP 0)"},
		{"HTTP/1.1 500 No\r\n\r\n{\"error\":{\"message\":\"It is busy.\"}}", "It is busy."},
	};
	struct world *w = *state;
	const char *const args[] = {w->token, "--name", "n1", "--no-start", NULL};
	char want[160];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		w->answer = cases[i].answer;
		snprintf(want, sizeof want, "%s\n", cases[i].said);
		joining_is(w, args, 1, "shunt-agent: ", want, "{\"name\":\"n1\"}");
	}
	assert_false(there(w, "agent.json") || there(w, "node.key"));
}

/* In the background: the caller learns whether it is up, or why not. It logs to a file that may be
 * rotated, and shows no token. */
static void test_background(void **state)
{
	struct world *w = *state;
	const char *const join[] = {w->token, "--name", "n1", "--no-start", NULL}, *const start[] = {w->token, NULL};
	char busy[256], log[160], rotated[160];
	int code, port = 0;

	w->heartbeat = 60; /* no pongs are sent */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	joining_is(w, join, 0, NODE " (", ", 2 GPUs).\n", "{\"name\":\"n1\"}");
	for (int again = 0; again < 2; again++) {
		if (again)
			joining_is(w, start, 0, NODE " already. The agent runs.\n", "", "");
		else
			assert_string_equal(agent_run(w, &code, (const char *[]){"--port", "0", NULL}), "");
		w->pid = (pid_t)number_in(w, "run/agent.pid", "");
		w->asker = w->pid;
		command_line_check(w);
		json_t *hello = greet(w, (size_t)again + 1);
		if (!again)
			port = (int)json_integer_value(json_object_get(hello, "port"));
		assert_int_equal(json_integer_value(json_object_get(hello, "port")), port);
		json_decref(hello);
		file_is(w, "run/agent.pid", 0644, NULL);
		file_is(w, "log", 0640, NULL);
		assert_int_equal(number_in(w, "agent.json", "\"last_port\": "), port);
		assert_int_equal(number_in(w, "agent.json", "\"port\": "), 0);

		joining_is(w, start, 0, NODE " already. The agent runs.\n", "", "");
		snprintf(busy, sizeof busy, "an agent runs here already (process %d, %s/run/agent.pid)", w->pid,
			 w->home);
		assert_holds(agent_run(w, &code, (const char *[]){"--foreground", NULL}), busy);
		assert_int_equal(code, 1);
		assert_holds(agent_run(w, &code, (const char *[]){NULL}), busy);
		assert_int_equal(code, 1);

		snprintf(log, sizeof log, "%s/log", w->home);
		snprintf(rotated, sizeof rotated, "%s/log.%d", w->home, again);
		assert_int_equal(rename(log, rotated), 0);
		kill(w->pid, SIGHUP);
		TURN_UNTIL(&w->loop, there(w, "log"));
		assert_int_equal(agent_end(w, SIGTERM), 0);
		assert_true(file_holds(log, "stopping; jobs continue") && !file_holds(log, "connected to"));
		assert_true(file_holds(rotated, "connected to 127.0.0.1") && !file_holds(rotated, "stopping"));
		unlink(log);
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* The server must be the token's: another learns nothing. */
static void test_join_impostor(void **state)
{
	struct world *w = *state;
	int code;

	token_spoil(w);
	agent_join(w, &code);
	assert_int_equal(code, 1);
	assert_false(there(w, "agent.json"));
	assert_int_equal(w->text.n, 0);
	assert_holds(agent_run(w, &code, (const char *[]){"--foreground", NULL}), "has not joined a cluster");
	assert_int_equal(code, 1);
}

/* What only belongs to joining is refused without it, as are more words than a token. */
static void test_command_line(void **state)
{
	static const char *const bad[][7] = {
		{"word"},
		{"--name", "n1"},
		{"--cpus", "1"},
		{"--memory", "1"},
		{"--leaves", "1"},
		{"--guest"},
		{"--workstation", "share"},
		{"--no-start"},
		{"--token-file", "x"},
		{"--join", "127.0.0.1:1", "token", "word"},
		{"--join", "127.0.0.1:1", "--token-file", "x", "token"},
		{"--join", "127.0.0.1:1", "token", "--cpus", "65536"},
		{"--join", "127.0.0.1:1", "token", "--port", "65536"},
		{"--join", "127.0.0.1:1", "token", "--memory", "0"},
	};
	struct world *w = *state;
	int code;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_holds(agent_run(w, &code, bad[i]), "usage: shunt-agent");
		assert_int_equal(code, 2);
	}
	assert_holds(agent_run(w, &code, (const char *[]){"--help", NULL}), "usage: shunt-agent");
	assert_int_equal(code, 0);
	assert_holds(agent_run(w, &code, (const char *[]){"--version", NULL}), "shunt-agent ");
	assert_int_equal(code, 0);
	assert_false(there(w, "agent.json") || there(w, "live"));
}

/* ---- orders ---- */

static void test_order(void **state)
{
	struct world *w = *state;
	json_t *hello = greet(w, 1);

	assert_int_equal(json_integer_value(json_object_get(hello, "protocol")), PROTOCOL);
	assert_true(json_integer_value(json_object_get(hello, "port")) > 0);
	assert_true(json_string_length(json_object_get(hello, "boot")) > 10);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(hello, "facts"), "gpus")), 2);
	assert_int_equal(json_array_size(json_object_get(hello, "inventory")), 0);
	json_decref(hello);

	script_print_make(&order_print, "echo $SOCKET $USER; id -un; exit 3\n", 35);
	order_send(w, "7.1", w->user, "echo $SOCKET $USER; id -un; exit 3\n");
	TURN_UNTIL(&w->loop, frame_with(w, "ended", "\"7.1\""));
	assert_non_null(frame_with(w, "started", "\"7.1\""));
	assert_holds(frame_with(w, "ended", "\"7.1\""), "\"status\":3");
	assert_true(there(w, "live/7.1") && there(w, "scripts/7.1.job.sh"));
	char path[160], line[160] = "", want[160];
	snprintf(path, sizeof path, "%s/7.1.out", w->work);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof line, f));
	fclose(f);
	snprintf(want, sizeof want, "%s/run/agent.sock", w->home);
	assert_holds(line, want);

	order_send(w, "7.1", w->user, "true\n");
	TURN_UNTIL(&w->loop, frame_with(w, "refused", "\"7.1\""));
	assert_true(there(w, "scripts/7.1.job.sh"));
	tag_send(w, "forget", "7.1", 0);
	TURN_UNTIL(&w->loop, !there(w, "live/7.1") && !there(w, "scripts/7.1.job.sh"));
	for (int older = 0; older < 2; older++) {
		char tag[16], quoted[24];
		snprintf(tag, sizeof tag, "6.%d", older + 1);
		snprintf(quoted, sizeof quoted, "\"%s\"", tag);
		order_is_older = older;
		script_print_make(&order_print, "true\n", 5);
		order_send(w, tag, w->user, "tru\n"); /* not what was sent */
		TURN_UNTIL(&w->loop, frame_with(w, "refused", quoted));
		assert_holds(frame_with(w, "refused", quoted), "did not arrive as it was sent");
	}
	order_is_older = false;
	order_send(w, "8.1", "no-such-user-here", "true\n");
	TURN_UNTIL(&w->loop, frame_with(w, "refused", "\"8.1\""));
	assert_holds(frame_with(w, "refused", "\"8.1\""), "not known on this host");
	assert_false(there(w, "scripts/8.1.job.sh"));
}

/* Plays what a server of that protocol sent, but with this test's names, directories and script. */
static void older_server(struct world *w, const char *recorded)
{
	static const char script[] = "[ \"$(cat $PBS_NODEFILE)\" = n1 ] && exit 3\n";
	json_t *frames = json_load_file(recorded, 0, NULL);
	json_t *hello = json_array_get(frames, 0), *o = json_object_get(json_array_get(frames, 1), "order");
	char path[160];

	assert_non_null(o);
	json_decref(hello_await(w, 1));
	json_object_set_new(hello, "servers", json_pack("[s]", w->where));
	json_object_set_new(o, "user", json_string(w->user));
	json_object_set_new(o, "shell", json_string("/bin/sh"));
	json_object_set_new(o, "shell_given", json_true());
	json_object_set_new(o, "workdir", json_string(w->work));
	snprintf(path, sizeof path, "%s/older", w->work);
	json_object_set_new(o, "out", json_string(path));
	json_object_set_new(o, "err", json_string(path));
	if (json_object_get(o, "script_sha256")) {
		script_print_make(&order_print, script, strlen(script));
		json_object_set_new(o, "script_sha256", json_string(order_print.sha256));
		json_object_set_new(o, "script_hash", json_integer(order_print.hash));
		order_print.hash = 0;
	}
	link_pack(now(w)->link, NULL, 0, "O", hello);
	TURN_UNTIL(&w->loop, frame_with(w, "ping", ""));
	link_pack(now(w)->link, script, strlen(script), "O", json_array_get(frames, 1));
	TURN_UNTIL(&w->loop, frame_with(w, "ended", "\"1.1\"") || frame_with(w, "refused", "\"1.1\""));
	assert_holds(frame_with(w, "ended", "\"1.1\""), "\"status\":3");
	json_decref(frames);
}

static void test_order_of_protocol_1(void **state)
{
	older_server(*state, SHUNT_ROOT "/tests/fixtures/frames/server-1.json");
}

static void test_order_of_protocol_2(void **state)
{
	older_server(*state, SHUNT_ROOT "/tests/fixtures/frames/server-2.json");
}

/* A server without a version is too old: the agent leaves, and says why. */
static void test_server_too_old(void **state)
{
	struct world *w = *state;

	json_decref(hello_await(w, 1));
	link_pack(now(w)->link, NULL, 0, "{s:s,s:I,s:s}", "t", "welcome", "epoch", (json_int_t)1000, "name", "n1");
	TURN_UNTIL(&w->loop, w->ends.v[0]->closes);
	TURN_UNTIL(&w->loop, logged(w, "it has protocol 0, and this agent works with 1 or newer: upgrade the server"));
	assert_null(frame_with(w, "ping", ""));
}

static void test_signal_and_clean(void **state)
{
	struct world *w = *state;

	json_decref(greet(w, 1));
	order_send(w, "7.1", w->user, "exec sleep 1000\n");
	order_send(w, "8.1", w->user, "exec sleep 1000\n");
	TURN_UNTIL(&w->loop, frame_with(w, "started", "\"7.1\"") && frame_with(w, "started", "\"8.1\""));
	tag_send(w, "signal", "7.1", SIGKILL);
	TURN_UNTIL(&w->loop, frame_with(w, "ended", "\"7.1\""));
	tag_send(w, "clean", "8.1", 0);
	tag_send(w, "clean", "7.1", 0);
	TURN_UNTIL(&w->loop, !there(w, "live/7.1") && !there(w, "live/8.1"));
	assert_null(frame_with(w, "ended", "\"8.1\""));
	TURN_UNTIL(&w->loop, !there(w, "scripts/7.1.job.sh") && !there(w, "scripts/8.1.job.sh"));
}

static const char *state_in(const json_t *hello, const char *tag)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(hello, "inventory"), i, item)
	{
		if (strcmp(json_string_value(json_object_get(item, "tag")), tag) == 0)
			return json_string_value(json_object_get(item, "state"));
	}
	return "";
}

/* Killed or stopped: jobs keep running, ends in the meantime are reported, and an end is seen
 * by the next agent. */
static void test_restart(void **state)
{
	struct world *w = *state;
	char go[160];
	json_t *hello;

	json_decref(greet(w, 1));
	snprintf(go, sizeof go, "while ! test -e %s/go; do sleep 0.05; done; exit 4\n", w->home);
	order_send(w, "7.1", w->user, go);
	order_send(w, "8.1", w->user, "exec sleep 1000\n");
	TURN_UNTIL(&w->loop, frame_with(w, "started", "\"7.1\"") && frame_with(w, "started", "\"8.1\""));
	assert_int_equal(agent_end(w, SIGKILL), 128 + SIGKILL);
	agent_start(w);
	hello = greet(w, 2);
	assert_string_equal(state_in(hello, "7.1"), "runs");
	assert_string_equal(state_in(hello, "8.1"), "runs");
	json_decref(hello);

	assert_int_equal(agent_end(w, SIGTERM), 0);
	snprintf(go, sizeof go, "%s/go", w->home);
	close(open(go, O_CREAT | O_WRONLY, 0644));
	agent_start(w);
	hello = greet(w, 3);
	if (strcmp(state_in(hello, "7.1"), "ended") != 0) /* it had not seen the file yet */
		TURN_UNTIL(&w->loop, frame_with(w, "ended", "\"7.1\""));
	assert_string_equal(state_in(hello, "8.1"), "runs");
	json_decref(hello);
	tag_send(w, "signal", "8.1", SIGTERM);
	TURN_UNTIL(&w->loop, frame_with(w, "ended", "\"8.1\""));
	tag_send(w, "forget", "7.1", 0);
	tag_send(w, "forget", "8.1", 0);
	TURN_UNTIL(&w->loop, !there(w, "live/7.1") && !there(w, "live/8.1"));
}

/* A shepherd that is killed: told when nothing of it runs any more, and again by an agent that
 * comes later. */
static void test_lost(void **state)
{
	struct world *w = *state;
	json_t *hello;

	json_decref(greet(w, 1));
	order_send(w, "7.1", w->user, "sleep 1000 & echo up; sleep 1000\n");
	TURN_UNTIL(&w->loop, frame_with(w, "started", "\"7.1\"") && size_of(w, "work/7.1.out"));
	kill((pid_t)atoi(strstr(frame_with(w, "started", "\"7.1\""), "\"pid\":") + 6), SIGKILL);
	TURN_UNTIL(&w->loop, frame_with(w, "lost", "\"7.1\""));
	link_close(now(w)->link, "call again");
	hello = greet(w, 2);
	assert_string_equal(state_in(hello, "7.1"), "lost");
	json_decref(hello);
	assert_int_equal(agent_end(w, SIGKILL), 128 + SIGKILL);
	agent_start(w);
	hello = greet(w, 3);
	if (strcmp(state_in(hello, "7.1"), "lost") != 0) /* it is being cleaned up again */
		TURN_UNTIL(&w->loop, frame_with(w, "lost", "\"7.1\""));
	json_decref(hello);
	tag_send(w, "forget", "7.1", 0);
	TURN_UNTIL(&w->loop, !there(w, "live/7.1"));
}

/* ---- terminals ---- */

static void ended_and_forgotten(struct world *w, const char *tag)
{
	char name[32], quoted[32];

	snprintf(quoted, sizeof quoted, "\"%s\"", tag);
	snprintf(name, sizeof name, "live/%s", tag);
	TURN_UNTIL(&w->loop, frame_with(w, "ended", quoted));
	tag_send(w, "forget", tag, 0);
	TURN_UNTIL(&w->loop, !there(w, name));
}

static int descriptors(pid_t pid)
{
	char path[32];
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A terminal whose connection breaks calls again. With a server that is lost all are cut, and they
 * call the next one. Then nothing of them stays open. */
static void test_terminals(void **state)
{
	struct world *w = *state;
	int before;

	json_decref(greet(w, 1));
	before = descriptors(w->pid);
	order_is_interactive = true;
	order_send(w, "1.1", w->user, "");
	order_send(w, "2.1", w->user, "");
	order_is_interactive = false;
	TURN_UNTIL(&w->loop, w->terminals >= 3);
	w->keeps = true;
	w->terminals = 0;
	TURN_UNTIL(&w->loop, w->terminals == 2);
	w->keeps = false;
	link_close(now(w)->link, "the server stops");
	json_decref(greet(w, 2));
	w->terminals = 0;
	TURN_UNTIL(&w->loop, w->terminals >= 2);
	tag_send(w, "signal", "1.1", SIGKILL);
	tag_send(w, "signal", "2.1", SIGKILL);
	ended_and_forgotten(w, "1.1");
	ended_and_forgotten(w, "2.1");
	TURN_UNTIL(&w->loop, descriptors(w->pid) <= before);
}

/* ---- whom it obeys ---- */

static void test_epoch(void **state)
{
	struct world *w = *state;
	json_t *hello = hello_await(w, 1);

	assert_int_equal(json_integer_value(json_object_get(hello, "epoch")), 0);
	json_decref(hello);
	welcome(w, 5000, NULL);
	TURN_UNTIL(&w->loop, frame_with(w, "ping", ""));
	link_close(now(w)->link, "the leader is gone");
	hello = hello_await(w, 2);
	assert_int_equal(json_integer_value(json_object_get(hello, "epoch")), 5000);
	json_decref(hello);
	welcome(w, 4999, NULL);
	order_send(w, "7.1", w->user, "true\n");
	TURN_UNTIL(&w->loop, !w->ends.v[1]->link);
	json_decref(hello_await(w, 3));
	assert_false(there(w, "live/7.1"));
	welcome(w, 5001, NULL);
	TURN_UNTIL(&w->loop, frame_with(w, "ping", ""));
}

/* Asked to wait, and sent to another, who is the same. */
static void test_sorry(void **state)
{
	struct world *w = *state;

	json_decref(hello_await(w, 1));
	link_pack(now(w)->link, NULL, 0, "{s:s,s:s,s:i}", "t", "sorry", "reason", "not yet", "retry", 1);
	json_decref(hello_await(w, 2));
	link_pack(now(w)->link, NULL, 0, "{s:s,s:s,s:i,s:s}", "t", "sorry", "reason", "another leads", "retry", 5,
		  "leader", w->where);
	json_decref(greet(w, 3));
}

static void test_removed(void **state)
{
	struct world *w = *state;
	pid_t pid = w->pid;
	int code;

	json_decref(greet(w, 1));
	order_send(w, "7.1", w->user, "exec sleep 1000\n");
	TURN_UNTIL(&w->loop, frame_with(w, "started", "\"7.1\""));
	link_pack(now(w)->link, NULL, 0, "{s:s,s:s,s:i}", "t", "sorry", "reason", "it was removed", "retry", -1);
	w->pid = 0;
	assert_int_equal(agent_await(w, pid), 0);
	assert_false(there(w, "agent.json") || there(w, "node.key"));
	/* It can come again, and what ran is over. */
	agent_join(w, &code);
	assert_int_equal(code, 0);
	agent_start(w);
	json_t *hello = greet(w, 2);
	if (strcmp(state_in(hello, "7.1"), "ended") != 0)
		TURN_UNTIL(&w->loop, frame_with(w, "ended", "\"7.1\""));
	json_decref(hello);
	tag_send(w, "clean", "7.1", 0);
	TURN_UNTIL(&w->loop, !there(w, "live/7.1"));
}

/* ---- what continues ---- */

static void test_renewal(void **state)
{
	struct world *w = *state;
	struct cert_names who;
	struct strbuf cert = {0};

	json_decref(hello_await(w, 1));
	link_peer(now(w)->link, &who);
	assert_int_equal(who.join, 7);
	/* A third of this is more than is left of the hour that it was given. */
	welcome(w, 1000, json_pack("{s:i}", "certificate_life", 36000));
	TURN_UNTIL(&w->loop, frame_with(w, "renew", "csr"));
	json_t *renew = json_loads(frame_with(w, "renew", "csr"), 0, NULL);
	w->join = 8;
	certificate_make(w, json_string_value(json_object_get(renew, "csr")), &cert);
	link_pack(now(w)->link, NULL, 0, "{s:s,s:s}", "t", "certificate", "certificate", cert.text);
	link_close(now(w)->link, "call again");
	json_decref(hello_await(w, 2));
	link_peer(now(w)->link, &who);
	assert_int_equal(who.join, 8);
	assert_int_equal(agent_end(w, SIGTERM), 0); /* it is on the disk */
	agent_start(w);
	json_decref(hello_await(w, 3));
	link_peer(now(w)->link, &who);
	assert_int_equal(who.join, 8);
	json_decref(renew);
	strbuf_fini(&cert);
}

static const char *lease_text(struct world *w)
{
	static char text[128];
	char path[160];
	FILE *f;

	snprintf(path, sizeof path, "%s/live/.lease", w->home);
	f = fopen(path, "r");
	text[f ? fread(text, 1, sizeof text - 1, f) : 0] = '\0';
	if (f)
		fclose(f);
	return text;
}

/* Each pong renews; a server that says goodbye suspends; the next welcome ends that. */
static void test_lease(void **state)
{
	struct world *w = *state;
	char before[128];

	json_decref(greet(w, 1));
	snprintf(before, sizeof before, "%s", lease_text(w));
	assert_true(*before);
	json_t *ping = json_loads(frame_with(w, "ping", ""), 0, NULL);
	link_pack(now(w)->link, NULL, 0, "{s:s,s:O}", "t", "pong", "n", json_object_get(ping, "n"));
	json_decref(ping);
	TURN_UNTIL(&w->loop, strcmp(lease_text(w), before) != 0);
	link_pack(now(w)->link, NULL, 0, "{s:s}", "t", "bye");
	TURN_UNTIL(&w->loop, strstr(lease_text(w), "suspended"));
	link_close(now(w)->link, "stops");
	json_decref(greet(w, 2));
	TURN_UNTIL(&w->loop, !strstr(lease_text(w), "suspended"));
}

static void test_health(void **state)
{
	struct world *w = *state;
	char path[160];
	FILE *f;

	snprintf(path, sizeof path, "%s/check", w->home);
	f = fopen(path, "w");
	fputs("#!/bin/sh\nprintf 'no \\377 scratch\\n'\nexit 1\n", f); /* not even UTF-8 */
	fclose(f);
	chmod(path, 0755);
	json_decref(hello_await(w, 1));
	welcome(w, 1000, json_pack("{s:s,s:i,s:i}", "health_program", path, "health_every", 60, "health_seconds", 30));
	TURN_UNTIL(&w->loop, frame_with(w, "ping", "scratch"));
	link_pack(now(w)->link, NULL, 0, "{s:s,s:{s:s}}", "t", "settings", "settings", "health_program", "");
	size_t before = now(w)->frames.n;
	TURN_UNTIL(&w->loop,
		   now(w)->frames.n > before && strstr(now(w)->frames.v[now(w)->frames.n - 1].head, "\"health\":\"\""));
}

/* Another way to start jobs: the agent restarts as the same process. */
static void test_anew(void **state)
{
	struct world *w = *state;
	struct rlimit limit;

	json_decref(hello_await(w, 1));
	welcome(w, 1000, json_pack("{s:s,s:b}", "cgroup", "none", "root_jobs", true));
	json_t *hello = hello_await(w, 2);
	assert_string_equal(json_string_value(json_object_get(json_object_get(hello, "facts"), "cgroup")), "none");
	json_decref(hello);
	assert_int_equal(kill(w->pid, 0), 0);
	welcome(w, 1000, json_pack("{s:s,s:b}", "cgroup", "none", "root_jobs", true));
	TURN_UNTIL(&w->loop, frame_with(w, "ping", ""));
	order_send(w, "7.1", w->user, "ulimit -Sn\n"); /* not the agent's own limit */
	TURN_UNTIL(&w->loop, frame_with(w, "ended", "\"7.1\""));
	getrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(number_in(w, "work/7.1.out", ""), limit.rlim_cur);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define JOINED(test) cmocka_unit_test_setup_teardown(test, setup_joined, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WORLD(test_join),
		WORLD(test_join_options),
		WORLD(test_join_answers),
		WORLD(test_background),
		WORLD(test_join_impostor),
		WORLD(test_command_line),
		JOINED(test_order),
		JOINED(test_order_of_protocol_1),
		JOINED(test_order_of_protocol_2),
		JOINED(test_server_too_old),
		JOINED(test_signal_and_clean),
		JOINED(test_restart),
		JOINED(test_lost),
		JOINED(test_lease),
		JOINED(test_terminals),
		JOINED(test_epoch),
		JOINED(test_sorry),
		JOINED(test_removed),
		JOINED(test_renewal),
		JOINED(test_health),
		JOINED(test_anew),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: test_agent SHUNT-AGENT\n");
		return 2;
	}
	program = argv[1];
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
