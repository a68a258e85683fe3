/*
 * test_brokers.c - brokers of bags on a cluster that the test plays, with workers that it plays as
 * well: everything a broker requests, sends, warns of, answers and records, compared with
 * brokers.txt.
 *
 * A line "= TITLE" begins a run, "$ COMMAND" says what happens in it (command_take, event_run), and
 * the other lines are recorded: the run's virtual time in seconds, and what happened. The clocks
 * are the test's, so nothing waits. After an intended change `SHUNT_GOLDEN=write` records it: look
 * at the difference.
 */
#include <errno.h>
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
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/broker.h"
#include "bag/files.h"
#include "bag/link.h"
#include "bag/wire.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/timetext.h"
#include "base/unixsock.h"
#include "golden/recorded.h"
#include "support/closed.h"

#define RECORDED SHUNT_ROOT "/tests/golden/brokers.txt"
#define BEGIN INT64_C(1000000000) /* wall clock at the beginning of a run */

enum { WORKERS = 8, EVENTS = 64, RUN_MOST = 1000, FREE_MOST = 4 };

/* ---- the clocks ---- */

static int64_t now_us; /* since the run began */

static double now(void)
{
	return (double)now_us / 1e6;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	int64_t us = now_us + (id == CLOCK_REALTIME ? BEGIN : 1000) * 1000000;

	*ret = (struct timespec){us / 1000000, us % 1000000 * 1000};
	return 0;
}

time_t __wrap_time(time_t *ret);
time_t __wrap_time(time_t *ret)
{
	assert_null(ret);
	return BEGIN + now_us / 1000000;
}

int __wrap_usleep(useconds_t us);
int __wrap_usleep(useconds_t us)
{
	now_us += us;
	return 0;
}

int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	int rc = __real_poll(fds, n, 0);

	if (rc == 0)
		now_us += (int64_t)ms * 1000;
	return rc;
}

/* ---- the run ---- */

struct worker {
	char name[32], session[SECRET_SIZE];
	int fd;
	bool split;   /* its messages arrive in two parts */
	bool lingers; /* it does not end at END */
	struct strbuf in, held;
	int64_t cpus, serve; /* serve: microseconds of each task; -1: by command */
	VEC(struct {
		uint64_t task;
		int64_t since;
	}) tasks; /* begun in this order */
};

struct fake {
	struct provider base;
	struct provider_user user;
	struct provider_shape shape;
	VEC(struct provider_request) all;
};

static struct {
	char dir[64];
	struct strbuf out; /* what is recorded */
	struct strbuf bag;
	struct broker_options o;
	char *places[4];
	struct {
		int64_t at;
		char text[200];
		bool done;
	} event[EVENTS];
	int nevents;
	struct fake *fake[8];
	int nfakes;
	struct provider_limits limits;
	struct adapter_span free[FREE_MOST];
	struct provider_node nodes[FREE_MOST];
	struct provider_plan plan; /* processors 0: it is not known */
	struct filler_plan holes;
	struct worker w[WORKERS];
	int ask; /* connection of a command; -1: none */
	bool clear_fails;
	char *files[4]; /* in the directory where the broker runs */
	int nfiles;
} run;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;

	strbuf_printf(&run.out, "%.1f ", now());
	va_start(args, format);
	strbuf_vprintf(&run.out, format, args);
	va_end(args);
	strbuf_puts(&run.out, "\n");
}

/* ---- the cluster ---- */

static int64_t requests_out(const struct fake *f)
{
	int64_t out = 0;

	for (size_t i = 0; i < f->all.n; i++)
		out += f->all.v[i].state == REQUEST_PENDING || f->all.v[i].state == REQUEST_RUNNING;
	return out;
}

static void fake_limits(struct provider *p, struct provider_limits *ret)
{
	*ret = run.limits;
	ret->used = ret->elastic ? 0 : requests_out((struct fake *)p);
	ret->pending -= ret->used;
}

static int fake_request(struct provider *p, int64_t processors, int64_t seconds, struct err *err)
{
	struct fake *f = (struct fake *)p;
	struct provider_request r = {.id = (int)f->all.n + 1,
				     .processors = processors,
				     .seconds = seconds,
				     .submitted = BEGIN + now_us / 1000000};

	if (requests_out(f) >= run.limits.pending)
		return err_set(err, -EAGAIN, "no more");
	snprintf(r.name, sizeof r.name, "job-%d", r.id);
	if (!run.limits.elastic) { /* a host */
		r.state = REQUEST_RUNNING;
		r.started = r.submitted;
	}
	vec_push(&f->all, r);
	say("%s: request %d: %" PRId64 " CPUs for %" PRId64 " s", f->user.tag, r.id, processors, seconds);
	return r.id;
}

static void request_over(struct fake *f, int id, enum request_state state, enum request_fate fate)
{
	struct provider_request *r = &f->all.v[id - 1];

	if (r->state == REQUEST_ENDED || r->state == REQUEST_FAILED)
		return;
	r->state = state;
	r->fate = fate;
	r->ended = BEGIN + now_us / 1000000;
	f->user.over(f->user.arg, id);
}

static void fake_cancel(struct provider *p, int id)
{
	struct fake *f = (struct fake *)p;

	say("%s: cancel %d", f->user.tag, id);
	request_over(f, id, REQUEST_ENDED, FATE_TAKEN);
}

static void fake_shrink(struct provider *p, int id, int64_t processors)
{
	struct fake *f = (struct fake *)p;

	say("%s: shrink %d to %" PRId64, f->user.tag, id, processors);
	f->all.v[id - 1].processors = processors;
}

static bool fake_look(struct provider *p, int id, struct provider_request *ret)
{
	struct fake *f = (struct fake *)p;

	if (id < 1 || (size_t)id > f->all.n)
		return false;
	*ret = f->all.v[id - 1];
	return true;
}

static void fake_poll(struct provider *p, int64_t at)
{
}

static int fake_plan(struct provider *p, struct provider_plan *ret, struct err *err)
{
	*ret = run.plan;
	ret->read = now_us / 1000000;
	ret->places = run.holes.nodes.n ? &run.holes : NULL;
	return run.plan.processors > 0 ? 0 : err_set(err, run.plan.processors < 0 ? -EAGAIN : -ENOTSUP, "no plan");
}

static void fake_joined(struct provider *p, int id)
{
	((struct fake *)p)->all.v[id - 1].joined = true;
}

static void fake_reshape(struct provider *p, const struct provider_shape *shape)
{
	struct fake *f = (struct fake *)p;

	if (f->shape.each != shape->each || f->shape.gpus != shape->gpus || f->shape.memory != shape->memory)
		say("%s: shape: %" PRId64 " CPUs, %" PRId64 " GPUs, %" PRId64 " KiB for each", f->user.tag, shape->each,
		    shape->gpus, shape->memory);
	f->shape = *shape;
}

static void fake_destroy(struct provider *p)
{
	struct fake *f = (struct fake *)p;

	for (int i = 0; i < run.nfakes; i++)
		if (run.fake[i] == f)
			run.fake[i] = NULL;
	vec_free(&f->all);
	free(f);
}

struct provider *__wrap_provider_create(const char *place, const struct provider_user *user,
					const struct provider_options *options, struct err *err);
struct provider *__wrap_provider_create(const char *place, const struct provider_user *user,
					const struct provider_options *options, struct err *err)
{
	static const struct provider_kind kind = {"fake",      fake_limits,  fake_request, fake_cancel,
						  fake_shrink, fake_look,    fake_poll,	   fake_plan,
						  fake_joined, fake_reshape, NULL,	   fake_destroy};
	struct fake *f = mem_zalloc(sizeof *f);

	*f = (struct fake){.base.kind = &kind, .user = *user};
	run.fake[run.nfakes++] = f;
	return &f->base;
}

void __wrap_provider_tag(const char *place, bool filler, char ret[TAG_SIZE]);
void __wrap_provider_tag(const char *place, bool filler, char ret[TAG_SIZE])
{
	snprintf(ret, TAG_SIZE, "%s:%d", place, run.nfakes + 1);
}

int __wrap_provider_clear(const char *tag, struct err *err);
int __wrap_provider_clear(const char *tag, struct err *err)
{
	say("clear %s", tag);
	return run.clear_fails ? err_set(err, -EIO, "scancel: no answer") : 0;
}

int __wrap_gate_open(const char *socket, struct gate_link *ret, struct err *err);
int __wrap_gate_open(const char *socket, struct gate_link *ret, struct err *err)
{
	*ret = (struct gate_link){.fd = -1, .at = {.where = {"here:1"}, .nwhere = 1}};
	memset(ret->at.fingerprint, 'f', 64);
	return 0;
}

/* ---- workers and commands ---- */

static void frame_send(int fd, const struct wire *m)
{
	struct strbuf out = {0};

	wire_add(&out, m);
	assert_int_equal(send(fd, out.text, out.n, MSG_NOSIGNAL), out.n);
	strbuf_fini(&out);
}

static void worker_send(struct worker *w, const struct wire *m)
{
	size_t first;

	wire_add(&w->held, m);
	first = w->split ? 5 : w->held.n;
	assert_int_equal(send(w->fd, w->held.text, first, MSG_NOSIGNAL), first);
	w->held.n -= first;
	memmove(w->held.text, w->held.text + first, w->held.n);
}

static struct worker *worker_of(const char *name)
{
	for (int i = 0; i < WORKERS; i++)
		if (strcmp(run.w[i].name, name) == 0)
			return &run.w[i];
	return NULL;
}

static void worker_gone(struct worker *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	vec_free(&w->tasks);
	strbuf_fini(&w->in);
	strbuf_fini(&w->held);
}

/* Connects a worker; `secret`: of its request, or of its session; "": a local one. */
static void worker_join(struct worker *w, const char *secret, int64_t seconds, int64_t memory, bool died)
{
	char path[100];
	struct err err;

	snprintf(path, sizeof path, "%s/%s", run.dir, *secret ? "gate" : "socket");
	w->fd = unix_connect(path, 1000, &err);
	assert_true(w->fd >= 0);
	frame_send(w->fd, &(struct wire){.kind = WIRE_HELLO,
					 .version = WIRE_VERSION,
					 .cpus = w->cpus,
					 .memory = memory,
					 .seconds = seconds,
					 .died = died,
					 .pid = 4242,
					 .text = w->name,
					 .ntext = strlen(w->name),
					 .err = secret,
					 .nerr = strlen(secret)});
}

static void result_send(struct worker *w, int status)
{
	if (w->tasks.n == 0) {
		say("%s: it has no task", w->name);
		return;
	}
	worker_send(w, &(struct wire){.kind = WIRE_RESULT,
				      .task = w->tasks.v[0].task,
				      .status = status,
				      .began = BEGIN * 1000000 + w->tasks.v[0].since,
				      .took = now_us - w->tasks.v[0].since,
				      .text = "out\n",
				      .ntext = 4,
				      .err = status ? "err\n" : "",
				      .nerr = status ? 4 : 0});
	vec_remove(&w->tasks, 0);
}

/* Handles a message to a worker; returns false at its end. */
static bool worker_take(struct worker *w, const struct wire *m)
{
	switch (m->kind) {
	case WIRE_ANSWER:
		snprintf(w->session, sizeof w->session, "%.*s", (int)m->ntext, m->text);
		break;
	case WIRE_TASK:
		say("%s: task %" PRIu64 ", attempt %u: %.*s (%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 ", %" PRId64
		    " %" PRId64 ")",
		    w->name, m->task, m->attempt, (int)m->ntext, m->text, m->cpus, m->gpus, m->memory, m->seconds,
		    m->grace, m->output);
		vec_push(&w->tasks, (__typeof__(*w->tasks.v)){m->task, now_us});
		break;
	case WIRE_DROP:
		say("%s: drop %" PRIu64, w->name, m->task);
		break;
	case WIRE_RECALL:
		say("%s: recall", w->name);
		for (; w->tasks.n > 1; w->tasks.n--)
			frame_send(w->fd,
				   &(struct wire){.kind = WIRE_RETURNED, .task = w->tasks.v[w->tasks.n - 1].task});
		break;
	case WIRE_APART:
		say("%s: task %" PRIu64 " brings back %.*s", w->name, m->task, (int)m->ntext, m->text);
		break;
	case WIRE_FILE:
		say("%s: task %" PRIu64 " gets %.*s: %.*s", w->name, m->task, (int)m->ntext, m->text, (int)m->nerr,
		    m->err);
		break;
	default:
		say("%s: end", w->name);
		return w->lingers;
	}
	return true;
}

static void worker_read(struct worker *w)
{
	char bytes[65536];
	struct wire m;
	ssize_t step, n;
	bool over = false;

	while (w->fd >= 0 && (n = recv(w->fd, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0) {
		strbuf_add(&w->in, bytes, (size_t)n);
		size_t at = 0;
		for (; (step = wire_next(w->in.text + at, w->in.n - at, &m)) > 0; at += (size_t)step)
			over = !worker_take(w, &m) || over;
		assert_true(step == 0);
		memmove(w->in.text, w->in.text + at, w->in.n - at);
		w->in.n -= at;
		if (n == 0)
			say("%s: its connection was closed", w->name);
		if (n == 0 || over)
			worker_gone(w);
	}
	if (w->fd >= 0 && w->held.n) {
		assert_int_equal(send(w->fd, w->held.text, w->held.n, MSG_NOSIGNAL), w->held.n);
		strbuf_clear(&w->held);
	}
	while (w->fd >= 0 && w->serve >= 0 && w->tasks.n && now_us - w->tasks.v[0].since >= w->serve)
		result_send(w, 0);
}

/* Appends JSON, with one digit after a point, and without the number of the process. */
static void json_put(const char *text, size_t n)
{
	const char *end = text + n, *pid = n ? memmem(text, n, "\"pid\":", 6) : NULL;

	for (const char *at = text; at < end; at++) {
		if (at == pid)
			at += strcspn(at, ",}") + 1;
		strbuf_add(&run.out, at, 1);
		if (*at == '.' && at > text && at[-1] >= '0' && at[-1] <= '9' && at[1] >= '0' && at[1] <= '9') {
			strbuf_add(&run.out, at + 1, 1);
			at += strspn(at + 1, "0123456789");
		}
	}
}

static void answer_read(void)
{
	char bytes[65536];
	struct wire m;
	ssize_t n = run.ask < 0 ? -1 : recv(run.ask, bytes, sizeof bytes, MSG_DONTWAIT);

	if (n == 0) { /* it was answered */
		close(run.ask);
		run.ask = -1;
	}
	if (n <= 0)
		return;
	assert_true(wire_next(bytes, (size_t)n, &m) > 0 && m.kind == WIRE_ANSWER);
	strbuf_printf(&run.out, "%.1f answer: ", now());
	json_put(m.text, m.ntext);
	strbuf_puts(&run.out, "\n");
}

/* ---- what happens ---- */

/* "C.N": request N of cluster C, both from 1. NULL: there is none. */
static struct provider_request *request_named(const char *text, struct fake **ret)
{
	int c = 0, n = 0;

	if (sscanf(text, "%d.%d", &c, &n) != 2 || c < 1 || c > run.nfakes || !run.fake[c - 1] || n < 1 ||
	    (size_t)n > run.fake[c - 1]->all.n)
		return NULL;
	*ret = run.fake[c - 1];
	return &run.fake[c - 1]->all.v[n - 1];
}

static void event_run(const char *text, const struct broker_summary *s)
{
	static char *words[8];
	static char copy[200];
	char *rest = copy, *word;
	struct credential key;
	struct strbuf command = {0};
	struct fake *f = NULL;
	struct err err;
	int n = 0;

	snprintf(copy, sizeof copy, "%s", text);
	for (; n < 7 && (word = strsep(&rest, " ")) != NULL; n++)
		words[n] = word;
	const char *what = words[0], *a = n > 1 ? words[1] : "", *b = n > 2 ? words[2] : "", *c = n > 3 ? words[3] : "";
	struct provider_request *r = request_named(strcmp(what, "join") == 0 ? b : a, &f);
	bool of_request = strcmp(what, "run") == 0 || strcmp(what, "end") == 0 || strcmp(what, "fail") == 0 ||
			  strcmp(what, "join") == 0;
	bool of_worker = strcmp(what, "back") == 0 || strcmp(what, "split") == 0 || strcmp(what, "linger") == 0 ||
			 strcmp(what, "forge") == 0 || strcmp(what, "chunk") == 0 || strcmp(what, "file") == 0 ||
			 strcmp(what, "serve") == 0 || strcmp(what, "done") == 0 || strcmp(what, "leave") == 0;
	struct worker *w = worker_of(of_worker ? a : ""); /* else a new one */
	say("%s%s", text,
	    of_request && !r				     ? ": no such request"
	    : !w || (of_worker && w->fd < 0 && *what != 'b') ? ": no such worker"
							     : "");
	if ((of_request && !r) || !w || (of_worker && w->fd < 0 && *what != 'b'))
		return;
	if (strcmp(what, "run") == 0) { /* REQUEST */
		r->state = REQUEST_RUNNING;
		r->started = BEGIN + now_us / 1000000;
	} else if (strcmp(what, "end") == 0) { /* REQUEST taken|ended|unknown WORD */
		snprintf(r->outcome, sizeof r->outcome, "%s", c);
		request_over(f, r->id, REQUEST_ENDED, *b == 't' ? FATE_TAKEN : *b == 'e' ? FATE_ENDED : FATE_UNKNOWN);
	} else if (strcmp(what, "fail") == 0) { /* REQUEST WORD */
		snprintf(r->failure, sizeof r->failure, "sbatch: %s", b);
		request_over(f, r->id, REQUEST_FAILED, FATE_UNKNOWN);
	} else if (strcmp(what, "refuse") == 0) { /* CLUSTER */
		say("refused: %s", run.fake[atoi(a) - 1]->user.refused(run.fake[atoi(a) - 1]->user.arg, "cpus")
					   ? "another shape"
					   : "nothing else");
	} else if (strcmp(what, "show") == 0) { /* CLUSTER: what a request's job shows, and who is alive */
		char label[PROGRESS_SIZE];
		f = run.fake[atoi(a) - 1];
		f->user.progress(f->user.arg, label);
		say("label: %s; request 1 is %s", label, f->user.alive(f->user.arg, 1) ? "alive" : "gone");
	} else if (strcmp(what, "join") == 0) { /* WORKER REQUEST CPUS SECONDS; all joined before it: the next key */
		char path[100];
		snprintf(w->name, sizeof w->name, "%s", a);
		w->cpus = atoi(c) * BAG_CPU;
		w->serve = -1;
		snprintf(path, sizeof path, "%s/key", run.dir);
		assert_int_equal(f->user.prepare(f->user.arg, r, 1, path, &command, &err), 0);
		assert_int_equal(credential_read(path, 0, &key, &err), 0);
		unlink(path);
		worker_join(w, key.secret, n > 4 ? atoi(words[4]) : -1, n > 5 ? atoi(words[5]) : -1, false);
	} else if (strcmp(what, "local") == 0) { /* WORKER CPUS */
		snprintf(w->name, sizeof w->name, "%s", a);
		w->cpus = atoi(b) * BAG_CPU;
		w->serve = -1;
		worker_join(w, "", -1, -1, false);
	} else if (strcmp(what, "back") == 0) { /* WORKER died|alive: it comes back with its session */
		worker_join(w, w->session, -1, -1, *b == 'd');
	} else if (strcmp(what, "serve") == 0) { /* WORKER SECONDS */
		w->serve = (int64_t)(atof(b) * 1e6);
	} else if (strcmp(what, "done") == 0) { /* WORKER EXIT */
		result_send(w, atoi(b) << 8);
	} else if (strcmp(what, "leave") == 0) { /* WORKER */
		worker_gone(w);
	} else if (strcmp(what, "split") == 0) { /* WORKER */
		w->split = true;
	} else if (strcmp(what, "linger") == 0) { /* WORKER */
		w->lingers = true;
	} else if (strcmp(what, "forge") == 0) { /* WORKER NAME: another one guesses its key, almost */
		char guess[SECRET_SIZE];
		struct worker *other = worker_of("");
		strcpy(guess, w->session);
		guess[0] = guess[0] == '0' ? '1' : '0';
		snprintf(other->name, sizeof other->name, "%s", b);
		other->cpus = BAG_CPU;
		other->serve = -1;
		worker_join(other, guess, -1, -1, false);
	} else if (strcmp(what, "chunk") == 0) { /* WORKER BYTES TASK: output of a task */
		char *bytes = mem_zalloc((size_t)atoi(b) + 1);
		memset(bytes, 'x', (size_t)atoi(b));
		worker_send(w, &(struct wire){.kind = WIRE_CHUNK,
					      .task = (uint64_t)atoi(c),
					      .text = bytes,
					      .ntext = strlen(bytes)});
		free(bytes);
	} else if (strcmp(what, "file") == 0) { /* WORKER TASK PATH TEXT: a file comes back */
		worker_send(w, &(struct wire){.kind = WIRE_FILE,
					      .task = (uint64_t)atoi(b),
					      .attempt = 0600,
					      .text = c,
					      .ntext = strlen(c),
					      .err = words[4],
					      .nerr = strlen(words[4])});
	} else if (strcmp(what, "stranger") == 0) { /* WORKER PATH: connects, and says nothing; SECRET: says it */
		snprintf(w->name, sizeof w->name, "%s", a);
		w->cpus = BAG_CPU;
		w->serve = -1;
		if (n > 3) {
			worker_join(w, c, -1, -1, false);
		} else {
			char path[100];
			snprintf(path, sizeof path, "%s/%s", run.dir, b);
			w->fd = unix_connect(path, 1000, &err);
		}
	} else if (strcmp(what, "summary") == 0) {
		say("summary: %u done, %d workers, %u running, %.1f/s, %" PRId64 " s left%s", s->counts.done,
		    s->workers, s->running, s->rate, s->left, s->ending ? ", ending" : "");
	} else if (strcmp(what, "limits") == 0) { /* REQUESTS CPUS SECONDS */
		run.limits = (struct provider_limits){true, atoi(a), atoi(b), atoi(c), 0, 0};
	} else if (strcmp(what, "ask") == 0) { /* WORD */
		char path[100];
		snprintf(path, sizeof path, "%s/socket", run.dir);
		if (run.ask >= 0)
			fail_msg("%.1f: a command's connection was not closed", now());
		run.ask = unix_connect(path, 1000, &err);
		frame_send(run.ask, &(struct wire){.kind = WIRE_ASK, .text = a, .ntext = strlen(a)});
	} else if (strcmp(what, "piece") == 0) { /* NODE JOB CPUS START END STATE: of a server's plan */
		vec_push(&run.holes.pieces, (struct filler_piece){.node = (uint32_t)atoi(a),
								  .job = (uint32_t)atoi(b),
								  .cpus = atoi(c),
								  .start = BEGIN + atoi(words[4]),
								  .end = BEGIN + atoi(words[5]),
								  .running = *words[6] == 'r',
								  .own = *words[6] == 'o',
								  .ours = *words[6] == 'o'});
	} else if (strcmp(what, "no-pieces") == 0) {
		vec_clear(&run.holes.pieces);
	} else if (strcmp(what, "clear-fails") == 0) {
		run.clear_fails = true;
	} else if (strcmp(what, "term") == 0) {
		kill(getpid(), SIGTERM);
	} else {
		fail_msg("%s: no such event", text);
	}
	strbuf_fini(&command);
}

static void on_progress(void *arg, const struct broker_summary *s)
{
	for (int i = 0; i < run.nevents; i++)
		if (!run.event[i].done && now_us >= run.event[i].at) {
			run.event[i].done = true;
			event_run(run.event[i].text, s);
		}
	for (int i = 0; i < WORKERS; i++)
		worker_read(&run.w[i]);
	answer_read();
	if (now() > RUN_MOST && !s->interrupted && !s->ending)
		kill(getpid(), SIGTERM);
}

static void record_say(const char *what, const struct record *r)
{
	static const char *const kinds[] = {"?",      "bag", "done",	 "failed",    "retry",
					    "cancel", "run", "requests", "allocation"};

	strbuf_printf(&run.out, "%s: %s%s", what, kinds[r->kind], r->last ? " last" : "");
	if (r->task)
		strbuf_printf(&run.out, " task=%" PRIu64 " status=%d attempt=%u", r->task, r->status, r->attempt);
	if (r->took)
		strbuf_printf(&run.out, " took=%.1f", (double)r->took / 1e6);
	if (r->nworker)
		strbuf_printf(&run.out, " by %.*s", (int)r->nworker, r->worker);
	strbuf_puts(&run.out, r->nout ? " | " : "");
	json_put(r->out, r->nout);
	strbuf_printf(&run.out, "%s%.*s", r->nerr ? " | " : "", (int)r->nerr, r->err ? r->err : "");
	if (run.out.text[run.out.n - 1] != '\n')
		strbuf_puts(&run.out, "\n");
}

static void on_finished(void *arg, const struct record *r)
{
	strbuf_printf(&run.out, "%.1f ", now());
	record_say("finished", r);
}

static void on_warning(void *arg, const char *text)
{
	say("warning: %s", text);
}

/* ---- runs ---- */

static void journal_say(void)
{
	char path[100];
	struct journal_view v;
	struct record r;
	struct err err;
	size_t step;

	snprintf(path, sizeof path, "%s/journal", run.dir);
	assert_int_equal(journal_view(path, &v, &err), 0);
	assert_false(v.held);
	for (size_t at = 0; (step = record_next(v.bytes + at, v.n - at, &r)) > 0; at += step)
		record_say("journal", &r);
	journal_view_close(&v);
}

static void brokers_run(bool cancel)
{
	char path[100];
	struct broker_summary s = {0};
	struct err err = {.text = ""};

	if (run.bag.n) {
		if (*run.dir)
			files_remove(run.dir);
		strcpy(run.dir, "/tmp/shunt-test-XXXXXX");
		assert_non_null(mkdtemp(run.dir));
		snprintf(path, sizeof path, "%s/tasks", run.dir);
		assert_int_equal(file_replace(path, 0600, run.bag.text, run.bag.n, 0), 0);
	}
	run.ask = -1;
	now_us = 0;
	char here[4096];
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(run.dir), 0);
	for (int i = 0; i < run.nfiles; i++)
		assert_int_equal(file_replace(run.files[i], 0640, run.files[i], strlen(run.files[i]), 0), 0);
	run.o.dir = run.dir;
	run.o.places = (const char *const *)run.places;
	int rc = cancel ? broker_cancel(run.dir, on_warning, NULL, &err) : broker_run(&run.o, &s, &err);
	for (int i = 0; i < WORKERS; i++) {
		worker_read(&run.w[i]);
		worker_gone(&run.w[i]);
	}
	for (int i = 0; i < 3 && run.ask >= 0; i++)
		answer_read();
	assert_int_equal(run.ask, -1);
	for (int i = 0; i < run.nevents; i++)
		if (!run.event[i].done)
			say("never: %s", run.event[i].text);
	char back[64] = "";
	FILE *f = fopen("back", "r");
	if (f) {
		say("file back: %s", fgets(back, sizeof back, f) ? back : "");
		fclose(f);
	}
	assert_int_equal(chdir(here), 0);
	if (rc < 0)
		say("error %d: %s", rc,
		    strncmp(err.text, run.dir, strlen(run.dir)) == 0 ? err.text + strlen(run.dir) : err.text);
	else if (!cancel)
		say("over: %u done, %u failed, %u waiting of %u, %u before; took %.1f%s%s", s.counts.done,
		    s.counts.aside, s.counts.waiting, s.tasks, s.before, (double)s.took / 1e6,
		    s.cancelled ? ", cancelled" : "", s.interrupted ? ", interrupted" : "");
	journal_say();
}

static void run_begin(void)
{
	for (int i = 0; i < 4; i++)
		free(run.places[i]);
	memset(run.places, 0, sizeof run.places);
	while (run.nfiles)
		free(run.files[--run.nfiles]);
	memset(run.w, 0, sizeof run.w);
	for (int i = 0; i < WORKERS; i++)
		run.w[i].fd = -1;
	strbuf_clear(&run.bag);
	run.nevents = run.nfakes = 0;
	run.clear_fails = false;
	run.plan = (struct provider_plan){0};
	vec_free(&run.holes.nodes);
	vec_free(&run.holes.pieces);
	run.limits = (struct provider_limits){true, 1, 4, 3600, 0, 0};
	run.o = (struct broker_options){.program = "shunt",
					.grace = 5,
					.output = 1000,
					.memory = -1,
					.rules = {.attempts = 2, .losses = 2, .replicas = 1, .agree = 1},
					.request = {.requests = 2, .processors = 4, .seconds = 3600},
					.adapter = ADAPTER_STATIC,
					.finished = on_finished,
					.progress = on_progress,
					.warn = on_warning};
}

static void number_set(char *text)
{
	static const struct {
		const char *key;
		void *at;
		bool wide;
	} keys[] = {
		{"requests", &run.o.request.requests, true}, {"cpus", &run.o.request.processors, true},
		{"seconds", &run.o.request.seconds, true},   {"attempts", &run.o.rules.attempts, false},
		{"losses", &run.o.rules.losses, false},	     {"replicas", &run.o.rules.replicas, false},
		{"agree", &run.o.rules.agree, false},	     {"invite", &run.o.invite, false},
	};
	char *value = strchr(text, '=');

	assert_non_null(value);
	*value++ = '\0';
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(text, keys[i].key) == 0) {
			if (keys[i].wide)
				*(int64_t *)keys[i].at = atoll(value);
			else
				*(int *)keys[i].at = atoi(value);
			return;
		}
	fail_msg("%s: no such option", text);
}

/* Takes a line "$ ..." of a run. */
static void command_take(char *line)
{
	struct err err;

	if (strncmp(line, "task ", 5) == 0) { /* LINE of the bag */
		strbuf_printf(&run.bag, "%s\n", line + 5);
	} else if (strncmp(line, "place ", 6) == 0) { /* NAME */
		run.places[run.o.nplaces++] = mem_strdup(line + 6);
	} else if (strncmp(line, "set ", 4) == 0) { /* OPTION=NUMBER */
		number_set(line + 4);
	} else if (strncmp(line, "adapter ", 8) == 0) { /* NAME */
		assert_int_equal(adapter_find(line + 8, &run.o.adapter, &err), 0);
	} else if (strcmp(line, "retry") == 0) {
		run.o.retry = true;
	} else if (strcmp(line, "clear-fails") == 0) {
		run.clear_fails = true;
	} else if (strcmp(line, "apart") == 0) {
		run.o.apart = true;
	} else if (strncmp(line, "hosts ", 6) == 0) { /* NUMBER */
		run.limits = (struct provider_limits){false, atoi(line + 6), 1, -1, atoi(line + 6), 0};
	} else if (strncmp(line, "file ", 5) == 0) { /* NAME, which is also its text */
		run.files[run.nfiles++] = mem_strdup(line + 5);
		assert_true(run.nfiles < 4);
	} else if (strncmp(line, "filler ", 7) == 0) { /* CPUS of two nodes of a server's plan */
		run.o.filler = true;
		run.plan.processors = run.plan.processors ? run.plan.processors : 1;
		run.holes.whole = true;
		for (int i = 0; i < 2; i++)
			vec_push(&run.holes.nodes, (struct filler_node){atoi(line + 7), TIME_NEVER});
	} else if (strncmp(line, "node ", 5) == 0) { /* CPUS GPUS KIB, of the plan */
		struct provider_node *n = &run.nodes[run.plan.nnodes++];
		assert_int_equal(sscanf(line + 5, "%" SCNd64 " %" SCNd64 " %" SCNd64, &n->cpus, &n->gpus, &n->memory),
				 3);
		run.plan.nodes = run.nodes;
	} else if (strncmp(line, "plan ", 5) == 0) { /* CPUS QUEUED; all of them are free */
		run.free[0] = (struct adapter_span){0, TIME_NEVER, atoi(line + 5)};
		run.plan.processors = atoi(line + 5);
		run.plan.queued = atoi(strrchr(line, ' '));
		run.plan.free = run.free;
		run.plan.nfree = 1;
	} else if (strncmp(line, "at ", 3) == 0) { /* SECONDS EVENT */
		char *rest;
		run.event[run.nevents].at = (int64_t)(strtod(line + 3, &rest) * 1e6);
		run.event[run.nevents].done = false;
		snprintf(run.event[run.nevents++].text, sizeof run.event[0].text, "%s", rest + 1);
		assert_true(run.nevents < EVENTS);
	} else {
		fail_msg("%s: no such command", line);
	}
}

static void brokers(void **state)
{
	struct strbuf text = {0};
	bool begun = false, cancel = false;

	setenv("SHUNT_BAG_PACE", "10", 1);
	assert_int_equal(file_read(RECORDED, 0, 1 << 20, &text), 0);
	char *rest = text.text, *line;
	while ((line = strsep(&rest, "\n")) != NULL || begun) {
		if (begun && (!line || *line == '=')) {
			brokers_run(cancel);
			begun = false;
		}
		if (!line)
			break;
		if (*line == '=') {
			run_begin();
			begun = true;
			cancel = false;
			strbuf_printf(&run.out, "%s%s\n", run.out.n ? "\n" : "", line);
		} else if (strcmp(line, "$ cancel") == 0) { /* without a broker */
			strbuf_printf(&run.out, "%s\n", line);
			cancel = true;
		} else if (*line == '$') {
			strbuf_printf(&run.out, "%s\n", line);
			command_take(line + 2);
		} else if (*line == '#') {
			strbuf_printf(&run.out, "%s\n", line);
		}
	}
	files_remove(run.dir);
	recorded_compare(RECORDED, "=", &run.out);
	run_begin();
	strbuf_fini(&run.bag);
	strbuf_fini(&run.out);
	strbuf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(brokers), CLOSED_TEST};

	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("brokers", tests, closed_begin, NULL);
}
