/*
 * test_pools.c - the daemon of a pool's station, with other stations, commands, tasks, an owner and
 * clocks that the test plays: every frame that it sends and everything else it does, compared with
 * pools.txt.
 *
 * A line "= TITLE" begins with an empty directory, "$ COMMAND" says what happens (command_run),
 * and the other lines are recorded. A daemon runs from "$ shunt-pool ..." until it ends, in a
 * process of its own, since it has static state. After an intended change `SHUNT_GOLDEN=write`
 * records it: look at the difference.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/codec.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/unixsock.h"
#include "golden/desk.h"
#include "golden/played.h"
#include "station/pool_internal.h"
#include "support/closed.h"

#define RECORDED SHUNT_ROOT "/tests/golden/pools.txt"
#define KEEPER 5000000 /* number of the first task's keeper, less 1: above all processes */

enum { TASKS = 32, WORDS = 40, HEARD = 8 };

int pool_main(int argc, char **argv);

/* ---- the machine ---- */

int __wrap_uname(struct utsname *ret);
int __wrap_uname(struct utsname *ret)
{
	*ret = (struct utsname){.machine = "x86_64"};
	return 0;
}

pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void)
{
	return 4242;
}

int __wrap_cgroup_init(struct cgroup *c, const char *kind, const char *dir, struct err *err);
int __wrap_cgroup_init(struct cgroup *c, const char *kind, const char *dir, struct err *err)
{
	*c = (struct cgroup){.kind = CGROUP_NONE};
	return 0;
}

void __wrap_cgroup_fini(struct cgroup *c);
void __wrap_cgroup_fini(struct cgroup *c)
{
}

/* ---- the owner ---- */

static int interactive, batch; /* processes of the owner */

void __wrap_census_take(const pid_list *ours, int *ret_interactive, int *ret_batch);
void __wrap_census_take(const pid_list *ours, int *ret_interactive, int *ret_batch)
{
	*ret_interactive = interactive;
	*ret_batch = batch;
}

/* ---- tasks ---- */

static struct task {
	int in, out, err, control, result; /* our ends; -1: closed */
	const struct pool_lease *lease;
} tasks[TASKS];
static int ntasks;

static void words_put(const char *const *words)
{
	for (; *words; words++)
		printf(" %s", *words);
}

int __wrap_pool_task_start(const struct peer_start *s, const struct pool_user *user, const struct pool_lease *lease,
			   struct pool_task *ret, struct err *err);
int __wrap_pool_task_start(const struct peer_start *s, const struct pool_user *user, const struct pool_lease *lease,
			   struct pool_task *ret, struct err *err)
{
	int ends[5][2];
	struct task *t = &tasks[ntasks];

	if (strcmp(s->argv[0], "nothing") == 0)
		return err_set(err, -EMFILE, "no descriptor is left");
	for (int i = 0; i < 5; i++)
		if (pipe2(ends[i], O_CLOEXEC | O_NONBLOCK) < 0)
			die(strerror(errno), "pipe");
	*t = (struct task){ends[0][0], ends[1][1], ends[2][1], ends[3][0], ends[4][1], lease};
	*ret = (struct pool_task){.keeper = KEEPER + ++ntasks,
				  .in = ends[0][1],
				  .out = ends[1][0],
				  .err = ends[2][0],
				  .control = ends[3][1],
				  .result = ends[4][0]};
	printf("%.2f task %d starts in %s, %" PRId64 " KiB%s:", (double)played->now_us / 1e6, ntasks, s->dir, s->memory,
	       user->background ? ", in the background" : "");
	words_put(s->argv);
	printf(" |");
	words_put(s->env);
	printf(" | until %.2f\n", (double)lease->until / 1e6 - 1000);
	return 0;
}

void __wrap_pool_task_end(const struct pool_task *t, const struct pool_user *user);
void __wrap_pool_task_end(const struct pool_task *t, const struct pool_user *user)
{
	say("task %d is ended", t->keeper - KEEPER);
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void controls_read(void)
{
	unsigned char order[16];
	ssize_t n;

	for (int i = 0; i < ntasks; i++)
		while (tasks[i].control >= 0 && (n = read(tasks[i].control, order, sizeof order)) >= 0) {
			for (ssize_t k = 0; k < n; k++)
				say("task %d: signal %d", i + 1, order[k]);
			if (n == 0)
				shut(&tasks[i].control);
		}
}

static char *csr; /* last request for a certificate that was sent */

static void on_sent(const json_t *head)
{
	const char *text = json_string_value(json_object_get(head, "csr"));

	if (text) {
		free(csr);
		csr = mem_strdup(text);
	}
}

/* ---- the port ---- */

static const struct listener_events *port_events;
static void *port_context;

int listener_open(uv_loop_t *loop, const char *where, struct tls_context *c, const struct listener_limits *limits,
		  const struct listener_events *e, void *context, struct listener **ret, struct err *err)
{
	bool taken = strstr(where, "7001") != NULL;

	say("listen at %s: %s; %d connections, %d and %d strangers, %d links, %d and %d s", where,
	    taken ? "in use" : "open", limits->connections, limits->strangers, limits->strangers_per_address,
	    limits->links_per_host, limits->handshake_seconds, limits->idle_seconds);
	if (taken)
		return err_set(err, -EADDRINUSE, "%s: in use", where);
	port_events = e;
	port_context = context;
	*ret = (struct listener *)&port_events;
	return 0;
}

int listener_port(const struct listener *l)
{
	return 7002;
}

void listener_close(struct listener *l)
{
	say("listen no more");
}

void listener_identity(struct listener *l, struct tls_context *c)
{
	say("listen with the new certificate");
}

void listener_revoke(struct listener *l, const struct revoked *r)
{
	say("refuse the removed");
}

/* ---- the network's other stations, by multicast ---- */

static struct {
	struct discover what[HEARD];
	int n, wake[2];
} air;

int __wrap_discover_open(bool listen);
int __wrap_discover_open(bool listen)
{
	return pipe2(air.wake, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : air.wake[0];
}

void __wrap_discover_send(int fd, const struct discover *d);
void __wrap_discover_send(int fd, const struct discover *d)
{
	char only[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &d->only, only, sizeof only);
	say("announce %s, port %d, %s %s", d->name, d->port, d->only.s_addr ? "from" : "all of", only);
}

void __wrap_discover_answer(int fd, const struct discover *d, const struct sockaddr_in *to);
void __wrap_discover_answer(int fd, const struct discover *d, const struct sockaddr_in *to)
{
	say("answer: %s, port %d", d->name, d->port);
}

int __wrap_discover_take(int fd, struct discover *ret, struct sockaddr_in *ret_from);
int __wrap_discover_take(int fd, struct discover *ret, struct sockaddr_in *ret_from)
{
	char byte;

	if (read(fd, &byte, 1) != 1 || !air.n)
		return 0;
	*ret = air.what[0];
	memmove(air.what, air.what + 1, (size_t)--air.n * sizeof *air.what);
	*ret_from = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000009)};
	return 1;
}

/* ---- commands ---- */

static char dir[64];
static uv_loop_t *loop;
static struct pool_home home;

static void path_put(const char *name, struct strbuf *ret)
{
	strbuf_clear(ret);
	strbuf_printf(ret, "%s/%s", dir, name);
}

static void client_connect(const char *name)
{
	struct strbuf path = {0};
	struct err err;

	path_put("socket", &path);
	played_name = name;
	if (unix_connect(path.text, 1000, &err) < 0)
		die(err.text, name);
	played_settle(loop, controls_read);
	strbuf_fini(&path);
}

static void read_file(const char *name, struct strbuf *ret)
{
	struct err err;

	if (pool_home_read(&home, name, ret, &err) < 0)
		die(err.text, name);
}

/* Makes a key and a request for a certificate, as a station that joins or renews. */
static void request_make(struct strbuf *key, struct strbuf *ret)
{
	struct err err;

	if (pki_key(key, &err) < 0 || pki_request(key->text, ret, &err) < 0)
		die(err.text, "request");
}

static void token_make(struct token *ret)
{
	char line[TOKEN_SIZE];
	struct err err;

	if (pool_token_create(&home, PLAYED_BEGIN, 86400, line, &err) < 0 || token_parse(line, ret, &err) < 0)
		die(err.text, "token");
}

/* Lets a machine request to join, with a token that is new, or `how` "wrong". */
static void join_ask(struct link *l, const char *name, const char *how)
{
	struct strbuf key = {0}, request = {0};
	struct token t;
	json_t *head;

	token_make(&t);
	request_make(&key, &request);
	if (strcmp(how, "wrong") == 0)
		t.secret[0] = t.secret[0] == '0' ? '1' : '0';
	head = json_pack("{s:s,s:s,s:s,s:s,s:s}", "t", "join", "id", t.id, "secret", t.secret, "name", name, "csr",
			 request.text);
	l->events->frame(l->context, l, head, NULL, 0);
	json_decref(head);
	strbuf_fini(&key);
	strbuf_fini(&request);
}

/* Makes the directory that of another station, which has joined with the next token; the
 * authority's files are moved to DIR/authority. */
static void station_become(const char *name)
{
	static const char *const files[] = {"ca.key", "ca.crt", "joins.json"};
	struct strbuf key = {0}, request = {0}, cert = {0}, from = {0};
	struct pool_home authority;
	struct pool_conf c;
	struct token t;
	struct err err;

	token_make(&t);
	request_make(&key, &request);
	if (pool_token_use(&home, t.id, t.secret, name, request.text, PLAYED_BEGIN, &cert, &err) < 0 ||
	    pool_home_write(&home, "node.key", 0600, key.text, &err) < 0 ||
	    pool_home_write(&home, "node.crt", 0644, cert.text, &err) < 0 || pool_conf_load(&home, &c, &err) < 0)
		die(err.text, name);
	snprintf(c.name, sizeof c.name, "%s", name);
	pool_conf_store(&home, &c, &err);
	snprintf(authority.dir, sizeof authority.dir, "%s/authority", dir);
	mkdir(authority.dir, 0700);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		read_file(files[i], &cert);
		pool_home_write(&authority, files[i], 0600, cert.text, &err);
		path_put(files[i], &from);
		if (strcmp(files[i], "ca.crt") != 0)
			unlink(from.text);
	}
	strbuf_fini(&key);
	strbuf_fini(&request);
	strbuf_fini(&cert);
	strbuf_fini(&from);
}

/* Answers the last request for a certificate as the authority does, with one for that name. */
static void certificate_grant(struct link *l, const char *name)
{
	struct cert_names who = {.role = CERT_NODE, .join = 2};
	struct strbuf cert = {0};
	struct pool_home authority;
	struct err err;

	snprintf(authority.dir, sizeof authority.dir, "%s/authority", dir);
	snprintf(who.name, sizeof who.name, "%s", name);
	if (pool_certificate_renew(&authority, &who, csr, &cert, &err) < 0)
		die(err.text, name);
	json_t *head = json_pack("{s:s,s:s}", "t", "renewed", "certificate", cert.text);
	l->events->frame(l->context, l, head, NULL, 0);
	json_decref(head);
	strbuf_fini(&cert);
}

/* Lets a station request another certificate. */
static void certificate_ask(struct link *l)
{
	struct strbuf key = {0}, request = {0};

	request_make(&key, &request);
	json_t *head = json_pack("{s:s,s:s}", "t", "renew", "csr", request.text);
	l->events->frame(l->context, l, head, NULL, 0);
	json_decref(head);
	strbuf_fini(&key);
	strbuf_fini(&request);
}

/* Delivers the authority's list of removed stations, with one more. */
static void removed_deliver(struct link *l, const char *name, int join)
{
	static struct removed list;
	struct strbuf key = {0}, ca = {0}, list_text = {0}, signature = {0};
	struct err err;

	if (pool_home_read(&home, "authority/ca.key", &key, &err) < 0)
		read_file("ca.key", &key);
	read_file("ca.crt", &ca);
	if (removed_next(&list, key.text, name, (uint64_t)join, &list_text, &signature, &err) < 0 ||
	    removed_take(&list, ca.text, list_text.text, signature.text, &err) < 0)
		die(err.text, name);
	json_t *head = json_pack("{s:s,s:s,s:s}", "t", "removed", "text", list_text.text, "signature", signature.text);
	l->events->frame(l->context, l, head, NULL, 0);
	json_decref(head);
	strbuf_fini(&key);
	strbuf_fini(&ca);
	strbuf_fini(&list_text);
	strbuf_fini(&signature);
}

static void task_command(const char *what, char **w)
{
	int number = atoi(w[1]);
	struct task *t = &tasks[number - 1];
	char bytes[65536];
	ssize_t n;

	if (number < 1 || number > ntasks) {
		say("no such task");
		return;
	}
	if (strcmp(what, "out") == 0 || strcmp(what, "err") == 0) { /* TASK TEXT|*BYTES */
		size_t size = *w[2] == '*' ? strtoul(w[2] + 1, NULL, 10) : unescape(w[2]);
		memset(bytes, 'x', sizeof bytes);
		if (size > sizeof bytes ||
		    write(*what == 'o' ? t->out : t->err, *w[2] == '*' ? bytes : w[2], size) != (ssize_t)size)
			die("it can't be written", what);
	} else if (strcmp(what, "flood") == 0) { /* TASK N: writes full pipes until nobody reads, at most N */
		int full = 0;
		memset(bytes, 'x', sizeof bytes);
		for (; full < atoi(w[2]) && write(t->out, bytes, sizeof bytes) == sizeof bytes; full++)
			played_settle(loop, NULL);
		say("task %d has written %d times", number, full);
	} else if (strcmp(what, "read") == 0) { /* TASK: its input */
		while ((n = read(t->in, bytes, sizeof bytes)) > 0)
			say("task %d reads %zd bytes: %.*s", number, n, n < PLAYED_SHOWN ? (int)n : 0, bytes);
		say("task %d %s", number, n == 0 ? "is at the end of its input" : "waits for input");
	} else if (strcmp(what, "deaf") == 0) { /* TASK: it closes its input */
		shut(&t->in);
	} else if (strcmp(what, "quiet") == 0) { /* TASK: its output ends */
		shut(&t->out);
		shut(&t->err);
	} else if (strcmp(what, "result") == 0) { /* TASK STATUS MS */
		struct pool_result r = {.status = atoi(w[2]), .cpu_ms = atoi(w[3])};
		if (write(t->result, &r, sizeof r) != sizeof r)
			die("it can't be written", what);
		shut(&t->result);
	} else { /* killed TASK: its keeper is gone */
		shut(&t->out);
		shut(&t->err);
		shut(&t->result);
	}
}

static void link_command(const char *what, char **w, char *rest)
{
	struct link *l = played_find(w[1]);

	if (!l) {
		say("no such link");
		return;
	}
	if (strcmp(what, "up") == 0) { /* LABEL NAME JOIN: a host has answered */
		l->who = (struct cert_names){.role = CERT_NODE, .join = strtoull(w[3], NULL, 10)};
		snprintf(l->who.name, sizeof l->who.name, "%s", w[2]);
		l->events->ready(l->context, l);
	} else if (strcmp(what, "frame") == 0) { /* LABEL {HEAD} [DATA|*BYTES] */
		played_deliver(l, rest);
	} else if (strcmp(what, "gone") == 0) { /* LABEL REASON: the other end closes it */
		l->over = mem_strdup(rest);
	} else if (strcmp(what, "queued") == 0) { /* LABEL BYTES */
		l->queued = strtoul(w[2], NULL, 10);
		if (l->queued < LINK_LOW)
			l->events->drained(l->context, l);
	} else if (strcmp(what, "join") == 0) { /* LABEL NAME [wrong] */
		join_ask(l, w[2], w[3]);
	} else if (strcmp(what, "grant") == 0) { /* LABEL NAME */
		certificate_grant(l, w[2]);
	} else if (strcmp(what, "renew") == 0) { /* LABEL */
		certificate_ask(l);
	} else if (strcmp(what, "removed") == 0) { /* LABEL NAME JOIN */
		removed_deliver(l, w[2], atoi(w[3]));
	}
}

/* Carries a command out; returns false if it is unknown. */
static bool command_run(const char *line)
{
	static const char *const of_links[] = {"up", "frame", "gone", "queued", "join", "grant", "renew", "removed"},
				 *const of_tasks[] = {"out",  "err",   "flood",	 "read",
						      "deaf", "quiet", "result", "killed"};
	static char copy[4096], again[4096];
	char *w[WORDS] = {0}, *two[4] = {0};
	struct strbuf bytes = {0};
	int n;

	snprintf(copy, sizeof copy, "%s", line);
	snprintf(again, sizeof again, "%s", line);
	n = words_split(copy, w, WORDS);
	words_split(again, two, 3); /* word, label, rest */
	for (int i = n; i < WORDS; i++)
		w[i] = copy + strlen(line); /* "" */
	const char *what = w[0];
	char *rest = two[2] ? two[2] : w[WORDS - 1];

	for (size_t i = 0; i < sizeof of_links / sizeof *of_links; i++)
		if (strcmp(what, of_links[i]) == 0) {
			link_command(what, w, rest);
			return true;
		}
	for (size_t i = 0; i < sizeof of_tasks / sizeof *of_tasks; i++)
		if (strcmp(what, of_tasks[i]) == 0) {
			task_command(what, w);
			return true;
		}
	if (desk_command(w, dir))
		return true;
	if (strcmp(what, "wait") == 0) { /* MS */
		played_wait(loop, atoi(w[1]), controls_read);
	} else if (strcmp(what, "later") == 0) { /* SECONDS: the wall clock is set ahead */
		played->ahead += atoi(w[1]);
	} else if (strcmp(what, "guest") == 0) { /* LABEL NAME JOIN [server]: a station connects */
		struct link *l = played_link(w[1], NULL, NULL, -1);
		l->who = (struct cert_names){.role = *w[4] ? CERT_SERVER : CERT_NODE, .join = strtoull(w[3], NULL, 10)};
		snprintf(l->who.name, sizeof l->who.name, "%s", w[2]);
		port_events->link(port_context, l);
	} else if (strcmp(what, "stranger") == 0) { /* LABEL: a machine without a certificate connects */
		played_name = w[1];
		port_events->spool(port_context, open("/dev/null", O_RDONLY | O_CLOEXEC), "10.0.0.9");
	} else if (strcmp(what, "client") == 0) { /* LABEL */
		client_connect(w[1]);
	} else if (strcmp(what, "owner") == 0) { /* LINE */
		path_put(POOL_DOOR, &bytes);
		desk_ask(bytes.text, line + 6, loop, controls_read);
	} else if (strcmp(what, "census") == 0) { /* INTERACTIVE BATCH: the owner's processes */
		interactive = atoi(w[1]);
		batch = atoi(w[2]);
	} else if (strcmp(what, "busy") == 0) { /* MS: processor time that all have used */
		char path[128], usage[64];
		snprintf(path, sizeof path, "%s/cpu.stat", dir);
		snprintf(usage, sizeof usage, "usage_usec %d000\n", atoi(w[1]));
		assert_int_equal(file_replace(path, 0600, usage, strlen(usage), 0), 0);
	} else if (strcmp(what, "hear") == 0 || strcmp(what, "sought") == 0) { /* NAME PORT, or NAME of a newcomer */
		struct discover d = {.asks = *what == 's', .port = atoi(w[2])};
		char print[FINGERPRINT_SIZE];
		read_file("ca.crt", &bytes);
		pki_fingerprint(bytes.text, print, NULL);
		snprintf(d.name, sizeof d.name, "%s", w[1]);
		snprintf(d.print, sizeof d.print, "%.*s", DISCOVER_PRINT, strcmp(w[3], "other") == 0 ? "0" : print);
		air.what[air.n++] = d;
		if (write(air.wake[1], "!", 1) != 1)
			die(strerror(errno), what);
	} else if (strcmp(what, "cat") == 0) { /* FILE */
		if (pool_home_read(&home, w[1], &bytes, NULL) < 0)
			strbuf_puts(&bytes, "missing");
		printf("%s%s", bytes.text, bytes.text[bytes.n - 1] == '\n' ? "" : "\n");
	} else if (strcmp(what, "put") == 0) { /* FILE TEXT */
		path_put(w[1], &bytes);
		assert_int_equal(file_replace(bytes.text, 0600, rest, unescape(rest), 0), 0);
	} else if (strcmp(what, "become") == 0) { /* NAME */
		station_become(w[1]);
	} else if (strcmp(what, "strangers") == 0) { /* LABEL N: as many at once; those accepted hang up */
		int accepted = 0;
		played_name = w[1];
		for (int i = 0; i < atoi(w[2]); i++)
			port_events->spool(port_context, open("/dev/null", O_RDONLY | O_CLOEXEC), "10.0.0.9");
		for (struct link *l; (l = played_find(w[1])) != NULL; accepted++)
			l->over = mem_strdup("hung up");
		say("%d accepted", accepted);
	} else if (strcmp(what, "lose") == 0) { /* LABEL ID N CLIENT: a task, as often as it is placed again */
		for (int i = 0; i < atoi(w[3]); i++) {
			char lost[64], go[] = "{\"t\":\"go\"}";
			snprintf(lost, sizeof lost, "{\"t\":\"lost\",\"id\":%d}", atoi(w[2]) + i);
			played_deliver(played_find(w[1]), lost);
			played_deliver(played_find(w[4]), go);
		}
	} else if (strcmp(what, "term") == 0) {
		raise(SIGTERM);
	} else if (strcmp(what, "int") == 0) {
		raise(SIGINT);
	} else {
		return false;
	}
	strbuf_fini(&bytes);
	return true;
}

/* Runs a daemon's loop by the commands of the run. */
int __real_uv_run(uv_loop_t *l, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *l, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *l, uv_run_mode mode)
{
	char line[4096];

	if (mode != UV_RUN_DEFAULT)
		return __real_uv_run(l, mode);
	loop = l;
	played_settle(loop, controls_read);
	while (uv_loop_alive(l) && played_next(line, sizeof line)) {
		if (!command_run(line))
			die(line, "no such command");
		played_settle(loop, controls_read);
	}
	if (uv_loop_alive(l))
		die("the daemon has not ended", "end of the run");
	return 0;
}

/* Runs the program in a process of its own, up to its end. */
static void program_run(char *line)
{
	char *argv[WORDS] = {0};
	int argc = words_split(line, argv, WORDS), status;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "DIR") == 0)
			argv[i] = dir;
	fflush(stdout);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int rc = pool_main(argc, argv);
		fflush(stderr);
		say("exit %d", rc);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		printf("ERROR: status %d\n", status);
}

/* Begins a run with a directory of its own, which is also that of the devices and of the control
 * group whose processors the station has. */
static void run_begin(const char *base, int number)
{
	struct strbuf path = {0};

	desk_begin();
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(home.dir, sizeof home.dir, "%s", dir);
	setenv("SHUNT_POOL_HOME", dir, 1);
	setenv("SHUNT_OWNER_DEV", dir, 1);
	path_put("cpu.stat", &path);
	assert_int_equal(file_replace(path.text, 0600, "usage_usec 0\n", 13, 0), 0);
	path_put("cpu.max", &path);
	assert_int_equal(file_replace(path.text, 0600, "200000 100000\n", 14, 0), 0);
	path_put("memory.max", &path);
	assert_int_equal(file_replace(path.text, 0600, "67108864\n", 9, 0), 0);
	strbuf_fini(&path);
}

static void program_or_command(char *line)
{
	if (strncmp(line, "shunt-pool", 10) == 0)
		program_run(line);
	else if (!command_run(line))
		die("no such command", line);
}

static void pools(void **state)
{
	played_record(RECORDED, run_begin, program_or_command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pools), CLOSED_TEST};

	signal(SIGPIPE, SIG_IGN);
	setenv("TZ", "UTC", 1);
	played_sent = on_sent;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pools", tests, closed_begin, NULL);
}
