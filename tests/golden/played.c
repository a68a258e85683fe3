/*
 * played.c - see played.h.
 */
#include "golden/played.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/codec.h"
#include "base/file.h"
#include "golden/recorded.h"

enum { LINKS = 64 };

/* ---- the clocks ---- */

struct played *played;

int clock_gettime(clockid_t id, struct timespec *ret)
{
	int64_t us = (played ? played->now_us + (id == CLOCK_REALTIME ? played->ahead * 1000000 : 0) : 0) +
		     (id == CLOCK_REALTIME ? PLAYED_BEGIN : 1000) * 1000000;

	*ret = (struct timespec){us / 1000000, us % 1000000 * 1000};
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}

bool played_quiet;

void say(const char *format, ...)
{
	va_list args;

	if (played_quiet)
		return;
	printf("%.2f ", (double)played->now_us / 1e6);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static int screen[2]; /* the test's own standard output and error */

_Noreturn void die(const char *what, const char *text)
{
	dprintf(screen[1], "%s: %s\n", text, what);
	exit(3);
}

/* ---- links ---- */

static struct link *links[LINKS];
static int nlinks;
const char *played_name;
void (*played_sent)(const json_t *head);

struct link *played_link(const char *name, const struct link_events *e, void *context, int fd)
{
	struct link *l = mem_zalloc(sizeof *l);

	*l = (struct link){.fd = fd, .events = e, .context = context};
	snprintf(l->name, sizeof l->name, "%s", name);
	if (nlinks == LINKS)
		die(name, "too many links");
	return links[nlinks++] = l;
}

struct link *link_open(uv_loop_t *loop, int fd, struct tls *tls, const struct link_events *e, void *context)
{
	return played_link(played_name, e, context, fd);
}

struct link *link_connect(uv_loop_t *loop, struct tls_context *c, const char *where, enum cert_role expect,
			  const struct link_events *e, void *context)
{
	char name[64];

	snprintf(name, sizeof name, ">%.*s", (int)strcspn(where, ":"), where);
	say("connect to %s, %s", where, expect == CERT_NODE ? "a station" : "?");
	return played_link(name, e, context, -1);
}

void link_events_set(struct link *l, const struct link_events *e, void *context)
{
	l->events = e;
	l->context = context;
}

void link_trust(struct link *l)
{
	say("%s: trusted", l->name);
}

void link_notice_end(struct link *l)
{
}

void link_peer(const struct link *l, struct cert_names *ret)
{
	*ret = l->who;
}

void link_address(const struct link *l, char *ret, size_t size)
{
	snprintf(ret, size, "%s", strcmp(l->who.name, "six") == 0 ? "fd00::6" : l->who.name);
}

size_t link_queued(const struct link *l)
{
	return l->queued;
}

void link_pause(struct link *l, bool pause)
{
	say("%s: %s", l->name, pause ? "paused" : "read again");
}

static void link_over(struct link *l, const char *how, const char *reason)
{
	if (l->over)
		return;
	say("%s: %s: %s", l->name, how, reason);
	l->over = mem_strdup(reason);
}

void link_close(struct link *l, const char *reason)
{
	link_over(l, "close", reason);
}

void link_abort(struct link *l, const char *reason)
{
	link_over(l, "abort", reason);
}

void link_send(struct link *l, const char *head, size_t nhead, const void *data, size_t n)
{
	const char *bytes = data;
	json_t *o = l->over ? NULL : json_loadb(head, nhead, 0, NULL);

	if (l->over)
		return;
	if (played_sent)
		played_sent(o);
	json_decref(o);
	printf("%.2f %s < %.*s", (double)played->now_us / 1e6, l->name, (int)nhead, head);
	if (n > PLAYED_SHOWN)
		printf(" %zu bytes", n);
	else if (n)
		putchar(' ');
	for (size_t i = 0; n <= PLAYED_SHOWN && i < n; i++)
		if (bytes[i] == '\0' || bytes[i] == '\n')
			fputs(bytes[i] ? "\\n" : "\\0", stdout);
		else
			putchar(bytes[i]);
	putchar('\n');
}

void link_pack(struct link *l, const void *data, size_t n, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	json_t *head = json_vpack_ex(NULL, 0, fmt, args);
	va_end(args);
	char *text = json_dumps(head, JSON_COMPACT | JSON_REAL_PRECISION(5));
	link_send(l, text, strlen(text), data, n);
	free(text);
	json_decref(head);
}

void link_record(struct link *l, const char *type, const struct schema *t, const void *record)
{
	link_record_data(l, type, t, record, NULL, 0);
}

void link_record_data(struct link *l, const char *type, const struct schema *t, const void *record, const void *data,
		      size_t n)
{
	struct strbuf head = {0};
	struct json j;

	json_begin(&j, &head);
	json_text(&j, "t", type);
	record_show(t->fields, t->in, record, NULL, &j);
	json_close_object(&j);
	link_send(l, head.text, head.n, data, n);
	strbuf_fini(&head);
}

bool played_ends(void)
{
	bool any = false;

	for (int i = 0; i < nlinks;) {
		struct link *l = links[i];
		if (!l->over) {
			i++;
			continue;
		}
		memmove(links + i, links + i + 1, (size_t)(--nlinks - i) * sizeof *links);
		any = true;
		if (l->events->closed)
			l->events->closed(l->context, l, l->over);
		if (l->fd >= 0)
			close(l->fd);
		free(l->over);
		free(l);
	}
	return any;
}

struct link *played_find(const char *name)
{
	for (int i = nlinks; i--;)
		if (!links[i]->over && strcmp(links[i]->name, name) == 0)
			return links[i];
	return NULL;
}

void played_deliver(struct link *l, char *rest)
{
	json_error_t e;
	json_t *head = json_loads(rest, JSON_DISABLE_EOF_CHECK, &e);
	char *data = rest + (head ? e.position : 0), *bulk = NULL;
	size_t n;

	if (!head)
		die(rest, "no JSON");
	data += *data == ' ';
	if (*data == '*') {
		n = strtoul(data + 1, NULL, 10);
		data = bulk = mem_zalloc(n + 1);
	} else {
		n = unescape(data);
	}
	l->events->frame(l->context, l, head, data, n);
	free(bulk);
	json_decref(head);
}

/* ---- the loop ---- */

void played_settle(uv_loop_t *loop, void (*each)(void))
{
	for (int i = 0; i < 6 || played_ends(); i++) {
		uv_run(loop, UV_RUN_NOWAIT);
		if (each)
			each();
	}
	fflush(stdout);
}

void played_wait(uv_loop_t *loop, int64_t ms, void (*each)(void))
{
	int64_t end = played->now_us + ms * 1000;

	while (played->now_us < end) {
		uv_update_time(loop);
		int64_t left = (end - played->now_us) / 1000, due = uv_backend_timeout(loop);
		played->now_us += (due < 0 || due > left ? left : due ? due : 1) * 1000;
		played_settle(loop, each);
	}
}

/* ---- the text ---- */

static const char *text; /* the recorded file */

int words_split(char *line, char **words, int most)
{
	int n = 0;

	while (line && n < most - 1)
		words[n++] = strsep(&line, " ");
	if (line)
		words[n++] = line;
	return n;
}

size_t unescape(char *s)
{
	size_t n = 0;

	for (char *from = s; *from; from++) {
		bool escaped = *from == '\\' && (from[1] == '0' || from[1] == 'n');
		from += escaped;
		s[n++] = !escaped ? *from : *from == 'n' ? '\n' : '\0';
	}
	return n;
}

bool played_next(char *ret, size_t size)
{
	for (;;) {
		const char *line = text + played->at;
		size_t n = strcspn(line, "\n");
		if (!*line || *line == '=')
			return false;
		played->at += n + (line[n] == '\n');
		if (*line == '#' || *line == '$')
			printf("%.*s\n", (int)n, line);
		fflush(stdout);
		if (*line == '$' && n > 2) {
			snprintf(ret, size, "%.*s", (int)n - 2, line + 2);
			return true;
		}
	}
}

/* Appends what was printed, with six digits after a point, and without what differs from run to
 * run. */
static void output_put(const char *from, const char *dir, struct strbuf *out)
{
	static const char version[] = "\"version\":\"" SHUNT_VERSION "\"";
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	while (*from) {
		size_t n = strspn(from, base64);
		const char *end;
		if (strncmp(from, "-----BEGIN ", 11) == 0 && (end = strstr(from, "-----END ")) != NULL) {
			n = strcspn(from + 11, "-");
			strbuf_printf(out, "[%.*s]", (int)n, from + 11);
			from = end + 9 + n + 5;
		} else if (strncmp(from, dir, strlen(dir)) == 0) {
			strbuf_puts(out, "DIR");
			from += strlen(dir);
		} else if (strncmp(from, version, sizeof version - 1) == 0) {
			strbuf_puts(out, "\"version\":\"VERSION\"");
			from += sizeof version - 1;
		} else if (n >= 40) {
			strbuf_puts(out, "...");
			from += n + strspn(from + n, "=");
		} else {
			size_t most = *from == '.' ? strspn(from + 1, "0123456789") : 0;
			n = most > 6 ? 7 : n ? n : 1;
			strbuf_add(out, from, n);
			from += most > 6 ? most + 1 : n;
		}
	}
}

static void runs_do(const char *base, void (*begin)(const char *dir, int number), void (*command)(char *line))
{
	char line[4096];
	int number = 0;

	while (text[played->at]) {
		size_t n = strcspn(text + played->at, "\n");
		if (text[played->at] != '=')
			die("a run begins with =", text + played->at);
		*played = (struct played){.at = played->at + n + 1};
		begin(base, ++number);
		printf("%s%.*s\n", number > 1 ? "\n" : "", (int)n, text + played->at - n - 1);
		while (played_next(line, sizeof line))
			command(line);
	}
	begin(NULL, 0);
	fflush(stdout);
}

void played_record(const char *path, void (*begin)(const char *dir, int number), void (*command)(char *line))
{
	struct strbuf recorded = {0}, printed = {0}, out = {0};
	char base[] = "/tmp/shunt-test-XXXXXX", file[64];

	assert_non_null(mkdtemp(base));
	played = mmap(NULL, sizeof *played, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(played != MAP_FAILED);
	assert_int_equal(file_read(path, 0, 4 << 20, &recorded), 0);
	text = recorded.text;
	snprintf(file, sizeof file, "%s/printed", base);
	int fd = open(file, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		screen[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 3);
		dup2(fd, 1 + i);
	}
	runs_do(base, begin, command);
	for (int i = 0; i < 2; i++) {
		dup2(screen[i], 1 + i);
		close(screen[i]);
	}
	close(fd);
	assert_int_equal(file_read(file, 0, 4 << 20, &printed), 0);
	snprintf(file, sizeof file, "rm -rf %s", base);
	output_put(strbuf_text(&printed), base, &out);
	assert_int_equal(system(file), 0);
	if (strstr(strbuf_text(&out), "ERROR"))
		fail_msg("%s", strstr(out.text, "ERROR"));
	recorded_compare(path, "=", &out);
	munmap(played, sizeof *played);
	played = NULL;
	strbuf_fini(&recorded);
	strbuf_fini(&printed);
	strbuf_fini(&out);
}
