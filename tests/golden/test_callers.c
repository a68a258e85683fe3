/*
 * test_callers.c - the service for programs of jobs on other hosts (engine/tasks.h), with callers,
 * shepherds, other hosts and a clock that the test plays: every frame, order and refusal, compared
 * with callers.txt (played.h).
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
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/unixsock.h"
#include "engine/tasks.h"
#include "golden/played.h"
#include "run/message.h"
#include "run/task.h"
#include "tls/revoked.h"

#define RECORDED SHUNT_ROOT "/tests/golden/callers.txt"

enum { WORDS = 16, TALKS = 32, SHEPHERDS = 8 };

static char dir[64];
static uv_loop_t loop;
static struct tasks *tasks;

/* ---- links that the service treats in its own ways ---- */

void link_share(struct link *l, struct link_share *share)
{
}

void link_expire(struct link *l, int64_t until)
{
	say("%s: expires %s", l->name, until ? "later" : "never");
}

int link_detach(struct link *l, struct link_detached *ret)
{
	die("no process is forked here", l->name);
}

struct link *link_attach(uv_loop_t *l, const struct link_detached *detached, const struct link_events *e, void *context)
{
	die("no process is forked here", "attach");
}

void link_abandon(struct link_detached *detached)
{
}

struct tls_context *__wrap_tls_context_ref(struct tls_context *c);
struct tls_context *__wrap_tls_context_ref(struct tls_context *c)
{
	return c;
}

void __wrap_tls_context_free(struct tls_context *c);
void __wrap_tls_context_free(struct tls_context *c)
{
}

/* ---- shepherds ---- */

static struct {
	char tag[16];
	int fd;
} shepherd[SHEPHERDS];
static int nshepherds;

/* A connection to a shepherd; the newest of a tag is the one that commands mean. */
static struct talk_end {
	char tag[16];
	int fd, fds[3]; /* -1: closed */
} talk[TALKS];
static int ntalks;

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void talk_read(struct talk_end *t)
{
	static char bytes[65536];
	size_t nfds = 0, length;
	int fds[UNIX_FDS_MOST];
	const char *text;
	ssize_t n = t->fd < 0 ? -1 : unix_receive(t->fd, bytes, sizeof bytes, fds, 3, &nfds, MSG_DONTWAIT), step;
	char kind;

	for (size_t i = 0; n >= 0 && i < nfds; i++)
		t->fds[i] = fds[i];
	for (ssize_t at = 0; at < n; at += step) {
		step = message_next(bytes + at, (size_t)(n - at), &kind, &text, &length);
		if (step <= 0)
			die("not a message", t->tag);
		say("shepherd %s < %c %.*s%s", t->tag, kind, (int)length, text, nfds == 3 ? ", three files" : "");
	}
	if (n == 0) {
		say("shepherd %s: hung up", t->tag);
		shut(&t->fd);
	}
}

static void shepherds_read(void)
{
	for (int i = 0; i < nshepherds; i++) {
		int fd = accept4(shepherd[i].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			continue;
		talk[ntalks] = (struct talk_end){.fd = fd, .fds = {-1, -1, -1}};
		strcpy(talk[ntalks++].tag, shepherd[i].tag);
	}
	for (int i = 0; i < ntalks; i++)
		talk_read(&talk[i]);
}

static struct talk_end *talk_of(const char *tag)
{
	for (int i = ntalks; i--;)
		if (strcmp(talk[i].tag, tag) == 0 && talk[i].fd >= 0)
			return &talk[i];
	die("nobody talks to that shepherd", tag);
}

/* ---- commands ---- */

static void settle(void)
{
	played_settle(&loop, shepherds_read);
}

static void service_end(void)
{
	if (tasks)
		tasks_stop(tasks);
	tasks = NULL;
	played_settle(&loop, NULL);
	for (int i = 0; i < ntalks; i++) {
		shut(&talk[i].fd);
		for (int k = 0; k < 3; k++)
			shut(&talk[i].fds[k]);
	}
	for (int i = 0; i < nshepherds; i++)
		close(shepherd[i].fd);
	ntalks = nshepherds = 0;
}

static void service_begin(char **w)
{
	char socket[100];
	struct tasks_options o = {.socket = socket,
				  .live = dir,
				  .name = "oak",
				  .tls = (struct tls_context *)&loop,
				  .most = atoi(w[1]),
				  .most_of_one = atoi(w[2]),
				  .patience = atoi(w[3])};
	struct err err;

	snprintf(socket, sizeof socket, "%s/socket", dir);
	assert_int_equal(tasks_start(&loop, &o, &tasks, &err), 0);
}

static void user_connect(const char *name)
{
	char path[100];
	struct err err;

	snprintf(path, sizeof path, "%s/socket", dir);
	played_name = name;
	int fd = unix_connect(path, 1000, &err);
	settle();
	close(fd);
}

static struct link *link_of(const char *name)
{
	struct link *l = played_find(name);

	if (!l)
		say("no such link");
	return l;
}

/* "{...}" with this process's user in place of UID */
static char *braces(char *line)
{
	static char text[4096];
	char *from = strchr(line, '{'), *uid = from ? strstr(from, "UID") : NULL;

	if (!from)
		return line + strlen(line);
	if (!uid)
		return from;
	snprintf(text, sizeof text, "%.*s%u%s", (int)(uid - from), from, (unsigned)getuid(), uid + 3);
	return text;
}

static void peer_connect(char **w, const char *text)
{
	static const struct link_events none = {0};
	struct link *l = played_link(w[1], &none, NULL, -1);
	json_t *head = json_loads(text, 0, NULL);

	l->who = (struct cert_names){.role = strcmp(w[3], "server") == 0 ? CERT_SERVER : CERT_NODE,
				     .join = strtoull(w[4], NULL, 10)};
	snprintf(l->who.name, sizeof l->who.name, "%s", w[2]);
	tasks_serve(tasks, l, head);
	json_decref(head);
}

/* Uses the files of a task as its program does. */
static void file_command(char **w)
{
	struct talk_end *t = talk_of(w[1]);
	static char bytes[70000];
	struct winsize size;
	ssize_t n;

	if (strcmp(w[0], "read") == 0) { /* TAG: its input */
		size_t all = 0;
		fcntl(t->fds[0], F_SETFL, O_NONBLOCK);
		while ((n = read(t->fds[0], bytes, sizeof bytes)) > 0) {
			all += (size_t)n;
			if (n < PLAYED_SHOWN)
				say("reads: %.*s", (int)n, bytes);
			settle();
		}
		say("has read %zu bytes%s", all, n == 0 ? ", and is at the end" : "");
	} else if (strcmp(w[0], "window") == 0) { /* TAG */
		ioctl(t->fds[0], TIOCGWINSZ, &size);
		say("window: %d x %d", size.ws_row, size.ws_col);
	} else if (strcmp(w[0], "close") == 0) { /* TAG in|out|err|all */
		for (int i = 0; i < 3; i++)
			if (strcmp(w[2], "all") == 0 || strcmp(w[2], (const char *const[]){"in", "out", "err"}[i]) == 0)
				shut(&t->fds[i]);
	} else { /* out|err TAG TEXT */
		size_t size_of = unescape(w[2]);
		if (write(t->fds[*w[0] == 'o' ? 1 : 2], w[2], size_of) != (ssize_t)size_of)
			die("it can't be written", w[1]);
	}
}

static void command(char *line)
{
	static char copy[4096];
	char *w[WORDS] = {0}, *text = braces(line);
	struct strbuf bytes = {0};
	struct link *l;
	struct err err;
	int pair[2];

	snprintf(copy, sizeof copy, "%s", line);
	for (int i = words_split(copy, w, WORDS); i < WORDS; i++)
		w[i] = copy + strlen(line);
	const char *what = w[0];
	if (strcmp(what, "service") == 0) { /* MOST MOST-OF-ONE PATIENCE */
		service_begin(w);
	} else if (strcmp(what, "shepherd") == 0) { /* TAG */
		strbuf_printf(&bytes, "%s/.task-%s", dir, w[1]);
		strcpy(shepherd[nshepherds].tag, w[1]);
		shepherd[nshepherds].fd = unix_listen(bytes.text, 0600, &err);
		fcntl(shepherd[nshepherds++].fd, F_SETFL, O_NONBLOCK);
	} else if (strcmp(what, "user") == 0) { /* LABEL */
		user_connect(w[1]);
	} else if (strcmp(what, "users") == 0) { /* N: one after the other; each leaves */
		played_quiet = true;
		for (int i = 0; i < atoi(w[1]); i++) {
			user_connect("visitor");
			if ((l = played_find("visitor")) != NULL)
				l->over = mem_strdup("gone");
			settle();
		}
		played_quiet = false;
	} else if (strcmp(what, "peer") == 0) { /* LABEL NAME node|server JOIN {FIRST} */
		peer_connect(w, text);
	} else if (strcmp(what, "enter") == 0) { /* LABEL TAG NODE ADDRESS JOIN */
		played_name = w[1];
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		close(pair[1]);
		tasks_enter(tasks, pair[0], getuid(), w[2],
			    &(struct order_host){.name = w[3],
						 .address = strcmp(w[4], "-") == 0 ? "" : w[4],
						 .join = strtoull(w[5], NULL, 10)});
	} else if (strcmp(what, "frame") == 0) { /* LABEL {HEAD} [DATA] */
		if ((l = link_of(w[1])) != NULL)
			played_deliver(l, text);
	} else if (strcmp(what, "up") == 0) { /* LABEL NAME node|server JOIN: another host has answered */
		if ((l = link_of(w[1])) != NULL) {
			l->who = (struct cert_names){.role = strcmp(w[3], "server") == 0 ? CERT_SERVER : CERT_NODE,
						     .join = strtoull(w[4], NULL, 10)};
			snprintf(l->who.name, sizeof l->who.name, "%s", w[2]);
			l->events->ready(l->context, l);
		}
	} else if (strcmp(what, "gone") == 0) { /* LABEL REASON */
		if ((l = link_of(w[1])) != NULL)
			l->over = mem_strdup(w[2]);
	} else if (strcmp(what, "queued") == 0) { /* LABEL BYTES */
		if ((l = link_of(w[1])) != NULL) {
			l->queued = strtoul(w[2], NULL, 10);
			if (l->queued < LINK_LOW)
				l->events->drained(l->context, l);
		}
	} else if (strcmp(what, "answer") == 0) { /* TAG LETTER {ANSWER} */
		size_t at = message_begin(&bytes, *w[2]);
		strbuf_puts(&bytes, text);
		message_end(&bytes, at);
		if (send(talk_of(w[1])->fd, bytes.text, bytes.n, MSG_NOSIGNAL) != (ssize_t)bytes.n)
			die("it can't be sent", line);
	} else if (strcmp(what, "hangup") == 0) { /* TAG: the shepherd ends */
		shut(&talk_of(w[1])->fd);
	} else if (strcmp(what, "revoke") == 0) { /* NAME JOIN */
		struct revoked r = {0};
		revoked_add(&r, w[1], strtoull(w[2], NULL, 10));
		tasks_revoke(tasks, &r);
		revoked_fini(&r);
	} else if (strcmp(what, "identity") == 0) { /* none|some */
		tasks_identity(tasks, *w[1] == 'n' ? NULL : (struct tls_context *)&loop);
	} else if (strcmp(what, "wait") == 0) { /* MS */
		played_wait(&loop, atoi(w[1]), shepherds_read);
	} else {
		file_command(w);
	}
	settle();
	strbuf_fini(&bytes);
}

static void run_begin(const char *base, int number)
{
	service_end();
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void callers(void **state)
{
	uv_loop_init(&loop);
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(callers)};

	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("callers", tests, NULL, NULL);
}
