/*
 * launch_hub.c - the hub of `shunt launch`: the center of a star with a shunt-pmix on each host,
 * whose frames (pmix/protocol.h) it relays or acts on.
 *
 * The first failure counts: it is reported, all ranks are ended, and its code is ours. After that
 * the hub only waits for ranks to end.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/members.h"
#include "base/ticks.h"
#include "cmd/launch/launch.h"
#include "cmd/launch/launch_peer.h"
#include "pmix/cable.h"
#include "pmix/protocol.h"

#define EXIT_TIMEOUT 124 /* like timeout(1) */
#define GIVE_UP_MS 8000	 /* time after SIGKILL was due on a host that does not report */

struct fence {
	char *who;
	struct strbuf *part; /* by host */
	bool *takes_part, *has;
	size_t missing;
};

struct hub {
	const struct layout *l;
	struct launch_output *output;
	VEC(struct peer) peer; /* by host */
	VEC(struct fence) fence;
	int signals, in; /* `in` -1: the input has ended */
	sigset_t passed; /* signals passed to ranks */
	bool in_sent;	 /* input was sent that rank 0's host has not taken yet */
	bool ending;
	int code;
	int64_t timeout_at, give_up_at; /* ms; 0: none */
	int64_t seconds;
};

static const char *node_of(const struct hub *h, uint32_t rank)
{
	return h->l->node.v[h->l->rank[rank].node];
}

/* Ends all ranks with this code. Only the first call counts. */
static void hub_end(struct hub *h, int code, int signal)
{
	if (h->ending)
		return;
	h->ending = true;
	h->code = code;
	h->give_up_at = clock_ms(CLOCK_MONOTONIC) + STOP_SECONDS * 1000 + GIVE_UP_MS;
	for (size_t i = 0; i < h->peer.n; i++)
		if (!h->peer.v[i].closed)
			cable_pack(&h->peer.v[i].cable, NULL, 0, "{s:s,s:i}", "t", "stop", "signal", signal);
}

/* ---- fences ---- */

static void fence_fini(struct hub *h, struct fence *f)
{
	for (size_t i = 0; i < h->l->host.n; i++)
		strbuf_fini(&f->part[i]);
	free(f->who);
	free(f->part);
	free(f->takes_part);
	free(f->has);
}

/* Finds the hosts of "0,2,3", or all. */
static void fence_hosts(const struct hub *h, struct fence *f)
{
	for (size_t i = 0; i < h->l->host.n; i++)
		f->takes_part[i] = f->who[0] == '*';
	for (const char *p = f->who; *p && *p != '*'; p += strcspn(p, ","), p += *p == ',') {
		unsigned long rank = strtoul(p, NULL, 10);
		if (rank < h->l->size)
			f->takes_part[h->l->rank[rank].host] = true;
	}
	for (size_t i = 0; i < h->l->host.n; i++)
		f->missing += f->takes_part[i];
}

/* Returns the oldest fence of these ranks that this host has not entered yet; adds one if
 * needed. */
static size_t fence_find(struct hub *h, const char *who, uint32_t host)
{
	for (size_t i = 0; i < h->fence.n; i++)
		if (strcmp(h->fence.v[i].who, who) == 0 && !h->fence.v[i].has[host])
			return i;
	size_t n = h->l->host.n;
	struct fence f = {.who = mem_strdup(who),
			  .part = mem_zalloc(n * sizeof *f.part),
			  .takes_part = mem_zalloc(n),
			  .has = mem_zalloc(n)};
	fence_hosts(h, &f);
	vec_push(&h->fence, f);
	return h->fence.n - 1;
}

static void fence_add(struct hub *h, uint32_t host, const char *who, const char *data, size_t n)
{
	struct strbuf all = {0};

	if (!who)
		return;
	size_t at = fence_find(h, who, host);
	struct fence *f = &h->fence.v[at];
	f->has[host] = true;
	strbuf_add(&f->part[host], n ? data : "", n);
	if (f->takes_part[host] && --f->missing > 0)
		return;
	for (size_t i = 0; i < h->l->host.n; i++)
		if (f->part[i].n)
			strbuf_add(&all, f->part[i].text, f->part[i].n);
	for (size_t i = 0; i < h->l->host.n; i++)
		if (f->takes_part[i])
			cable_pack(&h->peer.v[i].cable, all.text, all.n, "{s:s,s:s}", "t", "fence", "who", f->who);
	strbuf_fini(&all);
	fence_fini(h, f);
	vec_remove(&h->fence, at);
}

/* ---- requests between hosts: the requesting host's number makes an id unique ---- */

#define ID_BITS 40

static void ask_pass(struct hub *h, uint32_t host, int64_t id, uint32_t rank)
{
	if (rank < h->l->size)
		cable_pack(&h->peer.v[h->l->rank[rank].host].cable, NULL, 0, "{s:s,s:I,s:i}", "t", "ask", "id",
			   (json_int_t)((int64_t)host << ID_BITS | id), "rank", rank);
}

static void told_pass(struct hub *h, int64_t id, int status, const char *data, size_t n)
{
	uint64_t host = (uint64_t)id >> ID_BITS;

	if (host < h->peer.n)
		cable_pack(&h->peer.v[host].cable, data, n, "{s:s,s:I,s:i}", "t", "told", "id",
			   (json_int_t)(id & ((INT64_C(1) << ID_BITS) - 1)), "status", status);
}

/* ---- ends ---- */

static int code_of(int status)
{
	return status == 0 || (status & 0xff) ? status & 0xff : EXIT_FAILED;
}

static void rank_aborted(struct hub *h, uint32_t rank, int status)
{
	if (!h->ending)
		output_note(h->output, "rank %u on %s aborted the program with code %d", rank, node_of(h, rank),
			    status);
	hub_end(h, code_of(status), SIGTERM);
}

static void rank_spawns(struct hub *h, uint32_t rank)
{
	if (!h->ending)
		output_note(h->output,
			    "rank %u on %s called MPI_Comm_spawn, which is not possible here: start all ranks "
			    "at once (-n), or use mpirun",
			    rank, node_of(h, rank));
	hub_end(h, EXIT_FAILED, SIGTERM);
}

static void rank_unfit(struct hub *h, uint32_t rank, const char *reason)
{
	if (!h->ending)
		output_note(h->output, "rank %u on %s can't take part: %s", rank, node_of(h, rank),
			    reason ? reason : "?");
	hub_end(h, EXIT_FAILED, SIGTERM);
}

/* Handles the end of a rank. One that has finalized may exit with any code. */
static void rank_ended(struct hub *h, uint32_t rank, int code, int signal, bool left, bool finalized)
{
	const char *node = node_of(h, rank);

	if (h->ending)
		return;
	if (signal) {
		output_note(h->output, "rank %u on %s was killed by signal %d (%s)", rank, node, signal,
			    strsignal(signal));
		hub_end(h, 128 + signal, SIGTERM);
	} else if (code && !finalized) {
		output_note(h->output, "rank %u on %s ended with exit code %d", rank, node, code);
		hub_end(h, code, SIGTERM);
	} else if (left) {
		output_note(h->output, "rank %u on %s ended without MPI_Finalize", rank, node);
		hub_end(h, EXIT_FAILED, SIGTERM);
	} else if (code > h->code) {
		h->code = code;
	}
}

static void peer_failed(struct hub *h, struct peer *p, const char *reason, int code)
{
	if (!h->ending)
		output_note(h->output, "%s: %s", h->l->host.v[p->host].name, reason);
	hub_end(h, code ? code : EXIT_FAILED, SIGTERM);
	p->left = 0;
}

/* ---- frames ---- */

static void exit_handle(struct hub *h, struct peer *p, const json_t *head, uint32_t rank)
{
	bool finalized = json_is_true(json_object_get(head, "finalized"));

	if (p->left > 0)
		p->left--;
	rank_ended(h, rank, (int)member_number(head, "code"), (int)member_number(head, "signal"),
		   json_is_true(json_object_get(head, "connected")) && !finalized, finalized);
}

static void frame_handle(struct hub *h, struct peer *p, const json_t *head, const char *data, size_t n)
{
	const char *t = json_string_value(json_object_get(head, "t"));
	int64_t rank = member_number(head, "rank");

	if (!t || rank < 0 || rank >= h->l->size)
		return;
	if (strcmp(t, "out") == 0 || strcmp(t, "err") == 0)
		output_write(h->output, (uint32_t)rank, t[0] == 'o' ? OUTPUT_OUT : OUTPUT_ERR, data, n);
	else if (strcmp(t, "in_ok") == 0)
		h->in_sent = false;
	else if (strcmp(t, "exit") == 0)
		exit_handle(h, p, head, (uint32_t)rank);
	else if (strcmp(t, "abort") == 0)
		rank_aborted(h, (uint32_t)rank, (int)member_number(head, "status"));
	else if (strcmp(t, "spawn") == 0)
		rank_spawns(h, (uint32_t)rank);
	else if (strcmp(t, "unfit") == 0)
		rank_unfit(h, (uint32_t)rank, json_string_value(json_object_get(head, "reason")));
	else if (strcmp(t, "fence") == 0)
		fence_add(h, p->host, json_string_value(json_object_get(head, "who")), data, n);
	else if (strcmp(t, "ask") == 0)
		ask_pass(h, p->host, member_number(head, "id"), (uint32_t)rank);
	else if (strcmp(t, "told") == 0)
		told_pass(h, member_number(head, "id"), (int)member_number(head, "status"), data, n);
	else if (strcmp(t, "failed") == 0)
		peer_failed(h, p, json_string_value(json_object_get(head, "reason")), (int)member_number(head, "code"));
}

static void peer_close(struct hub *h, struct peer *p)
{
	p->closed = true;
	if (p->left > 0)
		peer_failed(h, p, "the connection was lost, and with it the ranks there", TASKCLIENT_LOST);
}

static void peer_read(struct hub *h, struct peer *p)
{
	bool closed = cable_fill(&p->cable) < 0;
	const char *data;
	json_t *head;
	size_t n;
	int rc;

	while ((rc = cable_next(&p->cable, &head, &data, &n)) > 0) {
		frame_handle(h, p, head, data, n);
		json_decref(head);
	}
	if (closed || rc < 0)
		peer_close(h, p);
}

/* ---- our own input and signals ---- */

static struct peer *peer_of_input(struct hub *h)
{
	return &h->peer.v[h->l->rank[0].host];
}

static void input_read(struct hub *h)
{
	struct cable *w = &peer_of_input(h)->cable;
	char piece[32768];
	ssize_t n = read(h->in, piece, sizeof piece);

	if (n > 0) {
		cable_pack(w, piece, (size_t)n, "{s:s}", "t", "in");
		h->in_sent = true;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		cable_pack(w, NULL, 0, "{s:s}", "t", "in_end");
		h->in = -1;
	}
}

static void signals_read(struct hub *h)
{
	struct signalfd_siginfo s;

	while (read(h->signals, &s, sizeof s) == sizeof s) {
		int signal = (int)s.ssi_signo;
		if (!sigismember(&h->passed, signal)) {
			hub_end(h, 128 + signal, signal);
			continue;
		}
		for (size_t i = 0; i < h->peer.n; i++)
			cable_pack(&h->peer.v[i].cable, NULL, 0, "{s:s,s:i}", "t", "signal", "signal", signal);
	}
}

/* Parses "10,12". Returns -EINVAL if a signal does not exist or cannot be handled. */
static int signals_parse(const char *text, sigset_t *ret, struct err *err)
{
	sigemptyset(ret);
	for (const char *p = text; *p;) {
		char *end;
		long n = strtol(p, &end, 10);
		if (end == p || (*end && *end != ',') || n < 1 || n > SIGRTMAX || n == SIGKILL || n == SIGSTOP ||
		    n == SIGCHLD || n == SIGPIPE)
			return err_set(
				err, -EINVAL,
				"--pass %.100s: signals are numbers from 1 to %d, joined by commas (not KILL, STOP, CHLD, PIPE)",
				text, SIGRTMAX);
		sigaddset(ret, (int)n);
		p = *end ? end + 1 : end;
	}
	return 0;
}

static int signals_open(const sigset_t *passed, sigset_t *before)
{
	static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set = *passed;

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
		sigaddset(&set, handled[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the loop ---- */

static void times_check(struct hub *h)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC);

	if (h->timeout_at && now >= h->timeout_at && !h->ending) {
		output_note(h->output, "the program was ended after %lld s (--timeout)", (long long)h->seconds);
		hub_end(h, EXIT_TIMEOUT, SIGTERM);
	}
	if (!h->ending || now < h->give_up_at)
		return;
	for (size_t i = 0; i < h->peer.n; i++)
		if (!h->peer.v[i].closed) {
			output_note(h->output, "%s does not answer: it is left alone",
				    h->l->host.v[h->peer.v[i].host].name);
			kill(h->peer.v[i].pid, SIGKILL);
			h->peer.v[i].closed = true;
		}
}

static int wait_ms(const struct hub *h)
{
	int64_t at = h->ending ? h->give_up_at : h->timeout_at, left = at - clock_ms(CLOCK_MONOTONIC);

	return !at ? -1 : left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

static void hub_step(struct hub *h, struct pollfd *p)
{
	size_t n = h->peer.n;
	bool room = !output_full(h->output), feeds = !h->in_sent && !peer_of_input(h)->closed && !h->ending;

	for (size_t i = 0; i < n; i++) {
		struct peer *peer = &h->peer.v[i];
		short events = (short)((room ? POLLIN : 0) | (cable_waits(&peer->cable) ? POLLOUT : 0));
		p[i] = (struct pollfd){.fd = peer->closed || !events ? -1 : peer->cable.in, .events = events};
	}
	p[n] = (struct pollfd){.fd = h->signals, .events = POLLIN};
	p[n + 1] = (struct pollfd){.fd = feeds ? h->in : -1, .events = POLLIN};
	for (size_t i = 0; i < 2; i++) {
		struct sink *s = &h->output->sink[i];
		p[n + 2 + i] = (struct pollfd){.fd = sink_waits(s) ? s->fd : -1, .events = POLLOUT};
	}
	if (poll(p, n + 4, wait_ms(h)) < 0)
		return;
	if (p[n].revents)
		signals_read(h);
	if (p[n + 1].revents)
		input_read(h);
	for (size_t i = 0; i < n; i++)
		if (p[i].revents & (POLLIN | POLLHUP | POLLERR))
			peer_read(h, &h->peer.v[i]);
	times_check(h);
	output_push(h->output);
	if (h->output->broken)
		hub_end(h, 128 + SIGPIPE, SIGTERM);
	for (size_t i = 0; i < n; i++) /* reading detects those that are gone */
		if (!h->peer.v[i].closed)
			cable_push(&h->peer.v[i].cable);
}

static bool hub_busy(const struct hub *h)
{
	for (size_t i = 0; i < h->peer.n; i++)
		if (!h->peer.v[i].closed)
			return true;
	return false;
}

static void peers_start(struct hub *h, const sigset_t *before)
{
	struct strbuf texts = {0};
	struct layout l = *h->l;
	struct peer *failed = NULL; /* the first one */
	struct err err, why;

	layout_data(h->l, &texts);
	for (uint32_t i = 0; i < l.host.n; i++)
		vec_push(&h->peer,
			 (struct peer){.host = i, .left = l.host.v[i].rank.n, .cable = {.in = -1, .out = -1}});
	for (uint32_t i = 0; i < l.host.n; i++) {
		struct peer *p = &h->peer.v[i];
		p->closed = peer_start(p, h->peer.v, i, l.host.v[i].name, before, &err) < 0;
		if (p->closed && !failed) {
			failed = p;
			why = err;
		}
	}
	for (uint32_t i = 0; i < l.host.n; i++) {
		l.here = i;
		if (h->peer.v[i].closed)
			continue;
		cable_put(&h->peer.v[i].cable, layout_head(&l), texts.text, texts.n);
		cable_push(&h->peer.v[i].cable);
	}
	if (failed) /* now, since `stop` must reach all of them, and after `setup` */
		peer_failed(h, failed, why.text, EXIT_FAILED);
	strbuf_fini(&texts);
}

int hub_run(const struct layout *l, const struct launch_arguments *a, struct launch_output *output)
{
	struct hub h = {.l = l, .output = output, .in = STDIN_FILENO, .seconds = a->timeout};
	sigset_t before;
	struct err err;

	if (signals_parse(a->pass, &h.passed, &err) < 0) {
		output_note(output, "%s", err.text);
		return EXIT_USAGE;
	}
	if (a->timeout > 0)
		h.timeout_at = clock_ms(CLOCK_MONOTONIC) + a->timeout * 1000;
	h.signals = signals_open(&h.passed, &before);
	peers_start(&h, &before);
	struct pollfd *polls = mem_alloc((h.peer.n + 4) * sizeof *polls);
	while (hub_busy(&h))
		hub_step(&h, polls);
	for (size_t i = 0; i < h.peer.n; i++) {
		cable_fini(&h.peer.v[i].cable);
		if (h.peer.v[i].pid > 0)
			waitpid(h.peer.v[i].pid, NULL, 0);
	}
	for (size_t i = 0; i < h.fence.n; i++)
		fence_fini(&h, &h.fence.v[i]);
	vec_free(&h.fence);
	vec_free(&h.peer);
	free(polls);
	close(h.signals);
	return h.code;
}
