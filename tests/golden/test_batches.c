/*
 * test_batches.c - requests to batch systems whose commands the test plays: what is called and
 * when, what becomes of requests and limits, and which warnings there are, compared with
 * batches.txt.
 *
 * A line "= TITLE" begins a run, "$ COMMAND" says what happens in it (command_take, event_run), and
 * the other lines are recorded, with the run's time in seconds. No time passes in reality. After an
 * intended change `SHUNT_GOLDEN=write` records it: look at the difference.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/files.h"
#include "bag/own.h"
#include "bag/provider.h"
#include "base/file.h"
#include "golden/recorded.h"
#include "support/closed.h"

#define RECORDED SHUNT_ROOT "/tests/golden/batches.txt"
#define BEGIN INT64_C(1000000000) /* wall clock at the beginning of a run */
#define PID 1000000000		  /* id of the running command, not of a process */

enum { EVENTS = 64, ANSWERS = 8, REQUESTS = 16 };

struct answer {
	char to[32]; /* a word of the command */
	int status;  /* status of waitpid(); -1: the command hangs until it is killed */
	char text[400];
};

static struct {
	char dir[64], place[64], tag[64];
	struct strbuf out;
	struct provider_user user;
	struct provider_options o;
	int64_t now, until;
	struct {
		int64_t at;
		char text[500];
	} event[EVENTS];
	int nevents;
	struct answer answer[ANSWERS];
	const struct answer *running; /* NULL: no command runs */
	bool killed;
	struct provider_request known[REQUESTS];
	struct provider_limits limits;
	int alive;   /* number of the request that has a worker; 0: none */
	bool script; /* scripts are shown */
	bool unprepared;
	bool shapes; /* another shape is tried when one is refused */
	char label[PROGRESS_SIZE];
} run;

/* Appends text without the test's directory and without its program. */
static void put(const char *text)
{
	static char self[4096];

	if (!*self) {
		ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
		assert_true(n > 0);
		self[n] = '\0';
	}
	while (*text) {
		const char *mark = strncmp(text, run.dir, strlen(run.dir)) == 0 ? run.dir
				   : strncmp(text, self, strlen(self)) == 0	? self
										: NULL;
		if (mark)
			strbuf_puts(&run.out, mark == self ? "SHUNT" : "DIR");
		else
			strbuf_add(&run.out, *text == '\n' ? " " : text, 1);
		text += mark ? strlen(mark) : 1;
	}
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	struct strbuf text = {0};
	va_list args;

	strbuf_printf(&run.out, "%" PRId64 " ", run.now);
	va_start(args, format);
	strbuf_vprintf(&text, format, args);
	va_end(args);
	put(strbuf_text(&text));
	strbuf_puts(&run.out, "\n");
	strbuf_fini(&text);
}

/* ---- the commands ---- */

time_t __wrap_time(time_t *ret);
time_t __wrap_time(time_t *ret)
{
	assert_null(ret);
	return BEGIN + run.now;
}

int __wrap_usleep(useconds_t us);
int __wrap_usleep(useconds_t us)
{
	return 0;
}

static struct answer *answer_to(const char *word)
{
	for (int i = 0; i < ANSWERS; i++)
		if (strcmp(run.answer[i].to, word) == 0)
			return &run.answer[i];
	return NULL;
}

pid_t __wrap_own_start(const char *program, char *const *words, int in, int out);
pid_t __wrap_own_start(const char *program, char *const *words, int in, int out)
{
	static const struct answer none = {.status = 0};
	const struct answer *a = NULL;

	assert_null(run.running); /* one at a time */
	strbuf_printf(&run.out, "%" PRId64 " runs", run.now);
	for (int i = 0; words[i]; i++) {
		strbuf_puts(&run.out, " ");
		put(strlen(words[i]) > 200 ? "SCRIPT" : strncmp(words[i], "--user=", 7) == 0 ? "--user=ME" : words[i]);
		a = a ? a : answer_to(words[i]);
	}
	strbuf_puts(&run.out, "\n");
	if (run.script) {
		struct strbuf text = {0};
		char path[100];
		snprintf(path, sizeof path, "%s/%s-1.sh", run.dir, strchr(run.tag, ':') + 1);
		if (file_read(path, 0, 1 << 20, &text) == 0)
			say("script: %s", strbuf_text(&text));
		strbuf_fini(&text);
		run.script = false;
	}
	if (a && a->status == -2)
		return -ENOENT;
	run.running = a ? a : &none;
	run.killed = false;
	assert_int_equal(write(out, run.running->text, strlen(run.running->text)), strlen(run.running->text));
	return PID;
}

bool __wrap_own_ended(pid_t pid, int *ret_status);
bool __wrap_own_ended(pid_t pid, int *ret_status)
{
	assert_int_equal(pid, PID);
	if (!run.running)
		return true;
	if (run.running->status == -1 && !run.killed)
		return false;
	*ret_status = run.killed ? SIGKILL : run.running->status;
	run.running = NULL;
	return true;
}

bool __wrap_own_has(pid_t pid);
bool __wrap_own_has(pid_t pid)
{
	return run.running != NULL;
}

int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
	assert_int_equal(pid, -PID);
	say("signal %d", number);
	run.killed = true;
	return 0;
}

/* ---- the user ---- */

static int prepare(void *arg, const struct provider_request *r, int64_t nodes, const char *key, struct strbuf *command,
		   struct err *err)
{
	say("prepare %d for %" PRId64 " nodes", r->id, nodes);
	if (run.unprepared)
		return err_set(err, -ENOSPC, "the disk is full");
	strbuf_puts(command, "worker");
	return file_replace(key, 0600, "key", 3, 0);
}

static void over(void *arg, int id)
{
	say("over: %d", id);
}

static bool alive(void *arg, int id)
{
	return id == run.alive;
}

static bool refused(void *arg, const char *why)
{
	say("refused: %s", why);
	return run.shapes;
}

static void progress(void *arg, char ret[PROGRESS_SIZE])
{
	strcpy(ret, run.label);
}

static void warn(void *arg, const char *text)
{
	say("warning: %s", text);
}

/* ---- runs ---- */

static void requests_say(struct provider *p)
{
	static const char *const states[] = {"waits", "runs", "ended", "failed"}, *const fates[] = {"open", "unknown",
												    "taken", "ended"};
	struct provider_limits l;
	struct provider_request r;

	for (int id = 1; p->kind->look(p, id, &r) && id < REQUESTS; id++) {
		struct provider_request *k = &run.known[id];
		if (memcmp(&r, k, sizeof r) != 0)
			say("%d %s: %s %s, %" PRId64 " CPUs, %" PRId64 " s, submitted %" PRId64 ", started %" PRId64
			    ", ended %" PRId64 ", planned %" PRId64 "%s%s%s | %s",
			    id, states[r.state], r.name, fates[r.fate], r.processors, r.seconds,
			    r.submitted ? r.submitted - BEGIN : -1, r.started ? r.started - BEGIN : -1,
			    r.ended ? r.ended - BEGIN : -1, r.planned ? r.planned - BEGIN : -1,
			    r.joined ? ", joined" : "", *r.outcome ? ", " : "", r.outcome, r.failure);
		*k = r;
	}
	p->kind->limits(p, &l);
	if (l.pending != run.limits.pending || l.processors != run.limits.processors || l.seconds != run.limits.seconds)
		say("limits: %" PRId64 " requests, %" PRId64 " CPUs, %" PRId64 " s", l.pending, l.processors,
		    l.seconds);
	run.limits = l;
}

static void answer_set(char *words)
{
	char *to = strsep(&words, " "), *status = strsep(&words, " ");
	struct answer *a = answer_to(to);

	a = a ? a : answer_to("");
	assert_non_null(a);
	snprintf(a->to, sizeof a->to, "%s", to);
	a->status = strcmp(status, "hangs") == 0 ? -1 : strcmp(status, "absent") == 0 ? -2 : atoi(status) << 8;
	a->text[0] = '\0';
	for (char *line; (line = strsep(&words, "~")) != NULL;)
		snprintf(a->text + strlen(a->text), sizeof a->text - strlen(a->text), "%s\n", line);
}

static void plan_say(struct provider *p)
{
	struct provider_plan plan;
	struct err err;
	int rc = p->kind->plan(p, &plan, &err);

	if (rc < 0) {
		say("plan: %s", err.text);
		return;
	}
	say("plan of %" PRId64 ": %" PRId64 " CPUs, %" PRId64 " queued", plan.read, plan.processors, plan.queued);
	for (size_t i = 0; i < plan.nfree; i++)
		say("free from %" PRId64 ": %" PRId64, plan.free[i].start - BEGIN, plan.free[i].procs);
	for (size_t i = 0; i < plan.nnodes; i++)
		say("node: %" PRId64 " CPUs, %" PRId64 " GPUs, %" PRId64 " KiB", plan.nodes[i].cpus, plan.nodes[i].gpus,
		    plan.nodes[i].memory);
}

static void event_run(struct provider *p, char *text)
{
	char word[32] = "";
	long long a = 0, b = 0, c = 0;
	struct err err = {.text = ""};
	int used = 0;

	sscanf(text, "%31s %n", word, &used);
	sscanf(text + used, "%lld %lld %lld", &a, &b, &c);
	say("%s", text);
	if (strcmp(word, "request") == 0) { /* CPUS SECONDS */
		int id = p->kind->request(p, a, b, &err);
		if (id < 0)
			say("error %d: %s", id, err.text);
	} else if (strcmp(word, "cancel") == 0) { /* NUMBER */
		p->kind->cancel(p, (int)a);
	} else if (strcmp(word, "shrink") == 0) { /* NUMBER CPUS */
		p->kind->shrink(p, (int)a, b);
	} else if (strcmp(word, "joined") == 0) { /* NUMBER */
		p->kind->joined(p, (int)a);
	} else if (strcmp(word, "alive") == 0) { /* NUMBER */
		run.alive = (int)a;
	} else if (strcmp(word, "reshape") == 0) { /* CPUS GPUS KIB */
		p->kind->reshape(p, &(struct provider_shape){a, b, c});
	} else if (strcmp(word, "resume") == 0) {
		p->kind->resume(p);
	} else if (strcmp(word, "plan") == 0) {
		plan_say(p);
	} else if (strcmp(word, "script") == 0) {
		run.script = true;
	} else if (strcmp(word, "unprepared") == 0) {
		run.unprepared = true;
	} else if (strcmp(word, "shapes") == 0) {
		run.shapes = true;
	} else if (strcmp(word, "label") == 0) { /* TEXT */
		snprintf(run.label, sizeof run.label, "%s", text + used);
	} else if (strcmp(word, "answer") == 0) { /* WORD STATUS TEXT, lines divided by ~ */
		answer_set(text + used);
	} else {
		fail_msg("%s: no such event", text);
	}
}

static void batches_run(void)
{
	struct err err;

	strcpy(run.dir, "/tmp/shunt-test-XXXXXX");
	assert_non_null(mkdtemp(run.dir));
	char *real = realpath(run.dir, NULL); /* paths in the form that the commands get */
	snprintf(run.dir, sizeof run.dir, "%s", real);
	free(real);
	run.user.dir = run.dir;
	run.user.tag = run.tag;
	struct provider *p = provider_create(run.place, &run.user, &run.o, &err);
	assert_non_null(p);
	for (run.now = 0; run.now <= run.until; run.now++) {
		for (int i = 0; i < run.nevents; i++)
			if (run.event[i].at == run.now)
				event_run(p, run.event[i].text);
		p->kind->poll(p, run.now);
		requests_say(p);
	}
	p->kind->destroy(p);
	run.running = NULL;
	int rc = provider_clear(run.tag, &err);
	say("cleared: %s", rc == 0 ? "all" : err.text);
	assert_int_equal(rmdir(run.dir), 0); /* no file is left */
}

static void run_begin(void)
{
	struct strbuf out = run.out;

	memset(&run, 0, sizeof run);
	run.out = out;
	strcpy(run.place, "slurm");
	strcpy(run.tag, "slurm:shunt-bag-1");
	run.user = (struct provider_user){
		.pace = 10, .prepare = prepare, .over = over, .refused = refused, .progress = progress, .warn = warn};
	run.o = (struct provider_options){.requests = 2, .processors = 8, .seconds = 3600, .shape.each = 1};
	run.until = 60;
}

/* Takes a line "$ ..." of a run. */
static void command_take(char *line)
{
	char *rest = line, *what = strsep(&rest, " ");

	if (strcmp(what, "at") == 0) { /* SECONDS EVENT */
		run.event[run.nevents].at = strtol(rest, &rest, 10);
		snprintf(run.event[run.nevents].text, sizeof run.event[0].text, "%s", rest + 1);
		assert_true(++run.nevents < EVENTS);
	} else if (strcmp(what, "place") == 0) { /* KIND */
		snprintf(run.place, sizeof run.place, "%s", rest);
	} else if (strcmp(what, "tag") == 0) { /* TAG */
		snprintf(run.tag, sizeof run.tag, "%s", rest);
	} else if (strcmp(what, "until") == 0) { /* SECONDS */
		run.until = atoi(rest);
	} else if (strcmp(what, "once") == 0) {
		run.user.once = true;
	} else if (strcmp(what, "looks") == 0) { /* the user knows who is alive */
		run.user.alive = alive;
	} else if (strcmp(what, "filler") == 0) {
		run.o.filler = true;
	} else if (strcmp(what, "limits") == 0) { /* REQUESTS CPUS SECONDS EACH */
		assert_int_equal(sscanf(rest, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &run.o.requests,
					&run.o.processors, &run.o.seconds, &run.o.shape.each),
				 4);
	} else {
		fail_msg("%s: no such command", what);
	}
}

static void batches(void **state)
{
	struct strbuf text = {0};
	bool begun = false;

	assert_int_equal(file_read(RECORDED, 0, 1 << 20, &text), 0);
	char *rest = text.text, *line;
	while ((line = strsep(&rest, "\n")) != NULL || begun) {
		if (begun && (!line || *line == '=')) {
			batches_run();
			begun = false;
		}
		if (!line)
			break;
		if (*line == '=') {
			run_begin();
			begun = true;
			strbuf_printf(&run.out, "%s%s\n", run.out.n ? "\n" : "", line);
		} else if (*line == '$') {
			strbuf_printf(&run.out, "%s\n", line);
			command_take(line + 2);
		}
	}
	recorded_compare(RECORDED, "=", &run.out);
	strbuf_fini(&run.out);
	strbuf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(batches), CLOSED_TEST};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("batches", tests, closed_begin, NULL);
}
