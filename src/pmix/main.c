/*
 * main.c - shunt-pmix: runs the ranks of one program on one host, and the PMIx server through which
 * they find the others. `shunt launch` starts one on each host; protocol.h describes what they
 * exchange. It runs as the user, and keeps only a directory for PMIx's files while it runs.
 *
 * It never outlives its use: without the launcher it ends the ranks, and without ranks it ends
 * itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/text.h"
#include "base/ticks.h"
#include "pmix/cable.h"
#include "pmix/protocol.h"
#include "pmix/ranks.h"

#define RETRY_MS 100 /* ms until a signal is tried again on a rank without a handler */

struct fence {
	char *who;
	uint64_t id;
};

struct part {
	struct cable cable;
	struct layout l;
	struct ranks ranks;
	char dir[PATH_MAX];
	int signals;
	struct strbuf input; /* input for rank 0 */
	size_t input_sent;
	bool input_end;
	VEC(struct fence) fence; /* fences that wait for other hosts, oldest first */
	bool alone;		 /* the launcher is gone */
	int64_t kill_at;	 /* ms: when to kill the ranks; 0: not set */
};

/* Silences the library: its messages about ranks being ended are useless. */
static void library_hush(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
}

static void part_stop(struct part *p, int signal)
{
	if (!p->kill_at) {
		p->kill_at = clock_ms(CLOCK_MONOTONIC) + STOP_SECONDS * 1000;
		library_hush();
	}
	ranks_signal(&p->ranks, signal);
}

static void launcher_lost(struct part *p)
{
	if (p->alone)
		return;
	p->alone = true;
	p->cable.sent = p->cable.to.n; /* it will not be read */
	part_stop(p, SIGTERM);
}

/* Sends a rank's output to the launcher; `all`: everything available, otherwise one piece. */
static void output_read(struct part *p, const struct rank *r, int *fd, const char *type, bool all)
{
	char piece[65536];
	ssize_t n;

	while (*fd >= 0) {
		n = read(*fd, piece, sizeof piece);
		if (n > 0 && !p->alone)
			cable_pack(&p->cable, piece, (size_t)n, "{s:s,s:i}", "t", type, "rank", r->rank);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			close(*fd);
			*fd = -1;
		}
		if (n <= 0 || !all)
			return;
	}
}

static void abort_send(struct part *p, struct rank *r, int status)
{
	output_read(p, r, &r->err, "err", true); /* after the rank's own messages about it */
	cable_pack(&p->cable, NULL, 0, "{s:s,s:i,s:i}", "t", "abort", "rank", r->rank, "status", status);
}

/* ---- PMIx ---- */

static void fence_wait(struct part *p, struct meet_event *e)
{
	if (p->l.host.n == 1) {
		meet_answer(e->id, 0, e->data, e->n);
		return;
	}
	vec_push(&p->fence, (struct fence){mem_strdup(e->who), e->id});
	cable_pack(&p->cable, e->data, e->n, "{s:s,s:s}", "t", "fence", "who", e->who);
}

static void fence_pass(struct part *p, const char *who, const char *data, size_t n)
{
	for (size_t i = 0; who && i < p->fence.n; i++)
		if (strcmp(p->fence.v[i].who, who) == 0) {
			meet_answer(p->fence.v[i].id, 0, data, n);
			free(p->fence.v[i].who);
			vec_remove(&p->fence, i);
			return;
		}
}

static void meet_handle(struct part *p, struct meet_event *e)
{
	struct rank *r = rank_find(&p->ranks, e->rank);

	switch (e->type) {
	case MEET_FENCE:
		fence_wait(p, e);
		break;
	case MEET_ASK:
		cable_pack(&p->cable, NULL, 0, "{s:s,s:I,s:i}", "t", "ask", "id", (json_int_t)e->id, "rank", e->rank);
		break;
	case MEET_TOLD:
		cable_pack(&p->cable, e->data, e->n, "{s:s,s:I,s:i}", "t", "told", "id", (json_int_t)e->id, "status",
			   e->status);
		break;
	case MEET_ABORT: /* after the rank's own messages about it */
		if (r)
			abort_send(p, r, e->status);
		break;
	case MEET_SPAWN:
		cable_pack(&p->cable, NULL, 0, "{s:s,s:i}", "t", "spawn", "rank", e->rank);
		break;
	case MEET_CONNECTED:
		if (r)
			r->connected = true;
		break;
	case MEET_FINALIZED:
		if (r)
			r->finalized = true;
		break;
	}
}

static void meet_drain(struct part *p)
{
	struct meet_event e;

	while (meet_next(&e)) {
		meet_handle(p, &e);
		meet_event_fini(&e);
	}
}

/* ---- PMI-1 ---- */

static void pmi1_fence(struct part *p)
{
	struct pmi1 *m = &p->ranks.pmi1;

	if (p->l.host.n == 1)
		pmi1_pass(m, "", 0);
	else
		cable_pack(&p->cable, m->fresh.text, m->fresh.n, "{s:s,s:s}", "t", "fence", "who", PMI1_WHO);
}

static void pmi1_do(struct part *p, struct rank *r, enum pmi1_deed deed)
{
	switch (deed) {
	case PMI1_NOTHING:
		break;
	case PMI1_CONNECTED:
		r->connected = true;
		break;
	case PMI1_FINALIZED:
		r->finalized = true;
		break;
	case PMI1_FENCE:
		pmi1_fence(p);
		break;
	case PMI1_ABORT:
		abort_send(p, r, p->ranks.pmi1.status);
		break;
	case PMI1_SPAWN:
		cable_pack(&p->cable, NULL, 0, "{s:s,s:i}", "t", "spawn", "rank", r->rank);
		break;
	case PMI1_UNFIT:
		cable_pack(&p->cable, NULL, 0, "{s:s,s:i,s:s}", "t", "unfit", "rank", r->rank, "reason",
			   p->ranks.pmi1.reason);
		break;
	}
}

static void pmi1_handle(struct part *p, size_t local)
{
	enum pmi1_deed deed;

	pmi1_read(&p->ranks.pmi1, local);
	while (pmi1_next(&p->ranks.pmi1, local, &deed))
		pmi1_do(p, &p->ranks.rank.v[local], deed);
}

/* ---- the ranks ---- */

static void input_push(struct part *p)
{
	struct strbuf *b = &p->input;

	while (p->ranks.in >= 0 && p->input_sent < b->n) {
		ssize_t n = write(p->ranks.in, b->text + p->input_sent, b->n - p->input_sent);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) { /* it no longer reads: close our end */
			close(p->ranks.in);
			p->ranks.in = -1;
			break;
		}
		p->input_sent += (size_t)n;
	}
	if (b->n > 0 && p->ranks.in >= 0)
		cable_pack(&p->cable, NULL, 0, "{s:s}", "t", "in_ok");
	strbuf_clear(b);
	p->input_sent = 0;
	if (p->input_end && p->ranks.in >= 0) {
		close(p->ranks.in);
		p->ranks.in = -1;
	}
}

/* Collects ranks that have ended. Their output and PMIx events come first. */
static void ranks_collect(struct part *p)
{
	struct rank *r;

	while ((r = ranks_reap(&p->ranks))) {
		meet_drain(p);
		if (p->ranks.pmi1.rank.v[p->l.rank[r->rank].local].fd >= 0)
			pmi1_handle(p, p->l.rank[r->rank].local);
		output_read(p, r, &r->out, "out", true);
		output_read(p, r, &r->err, "err", true);
		cable_pack(&p->cable, NULL, 0, "{s:s,s:i,s:i,s:i,s:b,s:b}", "t", "exit", "rank", r->rank, "code",
			   r->code, "signal", r->signal, "connected", r->connected, "finalized", r->finalized);
	}
}

static void signals_read(struct part *p)
{
	struct signalfd_siginfo s;

	while (read(p->signals, &s, sizeof s) == sizeof s)
		if (s.ssi_signo == SIGTERM || s.ssi_signo == SIGHUP)
			part_stop(p, (int)s.ssi_signo);
	ranks_collect(p);
}

/* ---- the launcher ---- */

static void frame_handle(struct part *p, const json_t *head, const char *data, size_t n)
{
	const char *t = json_string_value(json_object_get(head, "t"));
	int64_t id = json_integer_value(json_object_get(head, "id"));
	int signal = (int)json_integer_value(json_object_get(head, "signal"));

	if (!t)
		return;
	if (strcmp(t, "in") == 0) {
		strbuf_add(&p->input, data, n);
		input_push(p);
	} else if (strcmp(t, "in_end") == 0) {
		p->input_end = true;
		input_push(p);
	} else if (strcmp(t, "signal") == 0) {
		if (signal > 0 && signal < NSIG)
			ranks_pass(&p->ranks, signal);
	} else if (strcmp(t, "stop") == 0) {
		part_stop(p, signal);
	} else if (strcmp(t, "fence") == 0 &&
		   strcmp(PMI1_WHO, json_string_value(json_object_get(head, "who")) ?: "") == 0) {
		pmi1_pass(&p->ranks.pmi1, data, n);
	} else if (strcmp(t, "fence") == 0) {
		fence_pass(p, json_string_value(json_object_get(head, "who")), data, n);
	} else if (strcmp(t, "ask") == 0) {
		meet_tell((uint64_t)id, &p->l, (uint32_t)json_integer_value(json_object_get(head, "rank")));
	} else if (strcmp(t, "told") == 0) {
		meet_answer((uint64_t)id, (int)json_integer_value(json_object_get(head, "status")), data, n);
	}
}

static void frames_handle(struct part *p)
{
	const char *data;
	json_t *head;
	size_t n;
	int rc;

	while ((rc = cable_next(&p->cable, &head, &data, &n)) > 0) {
		frame_handle(p, head, data, n);
		json_decref(head);
	}
	if (rc < 0)
		launcher_lost(p);
}

static void launcher_read(struct part *p)
{
	bool lost = cable_fill(&p->cable) < 0;

	frames_handle(p);
	if (lost)
		launcher_lost(p);
}

/* ---- start, loop, end ---- */

/* Waits for the first frame, which describes the work. */
static int setup_read(struct part *p, struct err *err)
{
	const char *data;
	json_t *head;
	size_t n;
	int rc;

	while ((rc = cable_next(&p->cable, &head, &data, &n)) == 0) {
		struct pollfd in = {.fd = p->cable.in, .events = POLLIN};
		if (poll(&in, 1, -1) > 0 && cable_fill(&p->cable) < 0)
			return err_set(err, -EPIPE, "it is started by 'shunt launch', which gives it its instructions");
	}
	if (rc < 0)
		return err_set(err, rc, "it is started by 'shunt launch', which gives it its instructions");
	rc = layout_read(head, data, n, &p->l, err);
	json_decref(head);
	return rc;
}

static int dir_make(struct part *p, struct err *err)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(p->dir, sizeof p->dir, "%s/shunt-pmix-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (mkdtemp(p->dir))
		return 0;
	int code = -errno;
	err_set(err, code, "no directory %s for files of PMIx: %s", p->dir, strerror(-code));
	p->dir[0] = '\0';
	return code;
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	remove(path);
	return 0;
}

/* Sets directory and environment, starts the server and then the ranks. */
static int part_start(struct part *p, int *ret_code, struct err *err)
{
	*ret_code = 1;
	for (char **e = p->l.env; *e; e++)
		putenv(*e); /* the string lives as long as the layout */
	if (chdir(p->l.workdir) < 0)
		return err_set(err, -errno, "it can't run in %s there: %s", p->l.workdir, strerror(errno));
	int rc = dir_make(p, err);
	if (rc == 0)
		rc = meet_start(&p->l, p->dir, err);
	if (rc == 0)
		rc = ranks_start(&p->l, &p->ranks, ret_code, err);
	if (rc == 0)
		cable_pack(&p->cable, NULL, 0, "{s:s}", "t", "started");
	return rc;
}

typedef VEC(struct pollfd) poll_vec;

static void polls_fill(struct part *p, poll_vec *v)
{
	short more = cable_full(&p->cable) ? 0 : POLLIN;

	vec_clear(v);
	vec_push(v, (struct pollfd){.fd = p->alone ? -1 : p->cable.in, .events = POLLIN});
	vec_push(v, (struct pollfd){.fd = cable_waits(&p->cable) ? p->cable.out : -1, .events = POLLOUT});
	vec_push(v, (struct pollfd){.fd = p->signals, .events = POLLIN});
	vec_push(v, (struct pollfd){.fd = meet_fd(), .events = POLLIN});
	vec_push(v, (struct pollfd){.fd = p->input.n ? p->ranks.in : -1, .events = POLLOUT});
	for (size_t i = 0; i < p->ranks.rank.n; i++) {
		vec_push(v, (struct pollfd){.fd = more ? p->ranks.rank.v[i].out : -1, .events = more});
		vec_push(v, (struct pollfd){.fd = more ? p->ranks.rank.v[i].err : -1, .events = more});
		vec_push(v, (struct pollfd){.fd = p->ranks.pmi1.rank.v[i].fd, .events = POLLIN});
	}
}

static void part_step(struct part *p, poll_vec *v)
{
	polls_fill(p, v);
	int64_t wait = p->kill_at ? p->kill_at - clock_ms(CLOCK_MONOTONIC) : -1;
	wait = p->kill_at && wait < 0 ? 0 : wait;
	if (ranks_retry(&p->ranks) && (wait < 0 || wait > RETRY_MS))
		wait = RETRY_MS;
	if (poll(v->v, v->n, (int)wait) < 0 && errno != EINTR)
		return;
	if (v->v[0].revents)
		launcher_read(p);
	if (v->v[3].revents)
		meet_drain(p);
	if (v->v[4].revents)
		input_push(p);
	for (size_t i = 0; i < p->ranks.rank.n; i++) {
		struct rank *r = &p->ranks.rank.v[i];
		if (v->v[5 + 3 * i].revents)
			output_read(p, r, &r->out, "out", false);
		if (v->v[6 + 3 * i].revents)
			output_read(p, r, &r->err, "err", false);
		if (v->v[7 + 3 * i].revents && p->ranks.pmi1.rank.v[i].fd >= 0)
			pmi1_handle(p, i);
	}
	if (v->v[2].revents)
		signals_read(p);
	if (p->kill_at && clock_ms(CLOCK_MONOTONIC) >= p->kill_at)
		ranks_signal(&p->ranks, SIGKILL);
	if (!p->alone && cable_push(&p->cable) < 0)
		launcher_lost(p);
}

/* Sends the remaining output before we exit, however slow the reader is. */
static void part_finish(struct part *p)
{
	while (!p->alone && cable_waits(&p->cable)) {
		struct pollfd out = {.fd = p->cable.out, .events = POLLOUT};
		if ((poll(&out, 1, -1) < 0 && errno != EINTR) || cable_push(&p->cable) < 0)
			break;
	}
	if (p->dir[0])
		nftw(p->dir, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Blocks signals before PMIx starts its thread, which must not get them. The launcher passes on
 * those of a terminal and those sent to all processes of a job. */
static int signals_open(void)
{
	static const int taken[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Moves the frames to descriptors of their own: what libraries print on standard output would
 * corrupt them. */
static void wire_take(struct part *p)
{
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	cable_init(&p->cable, in, out);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	in = open("/dev/null", O_RDONLY);
	dup2(in, STDIN_FILENO);
	close(in);
}

int main(void)
{
	struct part p = {.signals = signals_open(), .ranks = {.in = -1}};
	poll_vec polls = {0};
	struct err err;
	int code = 1;

	wire_take(&p);
	if (setup_read(&p, &err) < 0) {
		text_print(stderr, "shunt-pmix: ", "%s", err.text);
		return 2;
	}
	if (part_start(&p, &code, &err) < 0)
		cable_pack(&p.cable, NULL, 0, "{s:s,s:s,s:i}", "t", "failed", "reason", err.text, "code", code);
	frames_handle(&p); /* frames that came with the first */
	while (p.ranks.alive > 0)
		part_step(&p, &polls);
	part_finish(&p);
	/* the ranks are gone, and the library's cleanup would take longer than all the rest */
	_exit(0);
}
