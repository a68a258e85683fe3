/*
 * broker_peer.c - the broker's view of its workers: what they run, what they get next, what becomes
 * of their results.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag/broker_internal.h"
#include "base/map.h"

enum {
	AHEAD_US = 20000,  /* duration of the tasks that a worker has beyond those it runs, about */
	AHEAD_MOST = 128,  /* maximum number of these tasks */
	LONG_US = 1000000, /* longer tasks are sent one by one */
	/* a task that runs longer should have no others queued behind it while workers are idle */
	STUCK_US = 50000,
	PEERS_MOST = 10000,
	STRANGERS_MOST = 256, /* connections through the gate that have not identified themselves */
	READ_PIECE = 256 << 10,
	OUT_MOST = 64 << 20, /* bytes waiting to be sent, above which a worker gets no more tasks */
	HELLO_MOST = 4096,   /* bytes of a remote worker's first message */
};

static size_t strangers(const struct broker *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->peers.n; i++)
		n += b->peers.v[i] && b->peers.v[i]->remote && !b->peers.v[i]->worker;
	return n;
}

void peer_accept(struct broker *b, int listener)
{
	struct ucred cred;
	socklen_t n = sizeof cred;
	size_t at = 0;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || (cred.uid != geteuid() && cred.uid != 0)) {
		close(fd);
		return;
	}
	while (at < b->peers.n && b->peers.v[at])
		at++;
	if (at >= PEERS_MOST || (listener == b->remote_listener && strangers(b) >= STRANGERS_MOST)) {
		close(fd);
		return;
	}
	if (at == b->peers.n)
		vec_push(&b->peers, NULL);
	struct peer *p = mem_zalloc(sizeof *p);
	*p = (struct peer){.fd = fd, .number = (int)at, .usual = -1, .end = -1, .since = b->now};
	p->remote = listener == b->remote_listener;
	b->peers.v[at] = p;
}

static void flight_remove(struct broker *b, struct peer *p, size_t at)
{
	struct flight *f = &p->flights.v[at];
	const struct bag_need *need = broker_need(b, f->task);

	p->load -= need->cpus;
	p->gpu_load -= need->gpus;
	p->memory_load -= need->memory;
	p->alone = p->alone && p->flights.n > 1;
	task_files_drop(b, p, f);
	if (f->output) {
		strbuf_fini(&f->output->out);
		strbuf_fini(&f->output->err);
		free(f->output);
	}
	vec_remove(&p->flights, at);
}

static int result(struct broker *b, struct peer *p, const struct wire *m)
{
	size_t at;
	struct flight *f = flight_find(p, m->task, &at);

	if (!f)
		return -EPROTO;
	struct err lost;
	bool good = WIFEXITED(m->status) && WEXITSTATUS(m->status) == 0;
	bool missing = good && p->apart && task_files_settle(b, p, f, &lost) < 0;
	good = good && !missing;
	struct record r = {
		.kind = good ? RECORD_DONE : RECORD_FAILED,
		.task = m->task,
		.status = missing ? 1 << 8 : m->status,
		.attempt = f->attempt,
		.began = m->began,
		.took = m->took,
		.cut = m->cut,
		.worker = p->name,
		.nworker = strlen(p->name),
		.out = m->text,
		.nout = m->ntext,
		.err = m->err,
		.nerr = m->nerr,
	};
	if (f->output) {
		struct strbuf *out = &f->output->out, *err = &f->output->err;
		strbuf_add(out, m->text, m->ntext);
		strbuf_add(err, m->err, m->nerr);
		r.out = out->text, r.nout = out->n;
		r.err = err->text, r.nerr = err->n;
	}
	if (missing)
		r.err = lost.text, r.nerr = strlen(lost.text);
	int64_t took = m->took < 0 ? 0 : m->took;
	p->usual = p->usual < 0 ? took : (p->usual * 7 + took) / 8;
	p->results++;
	if (good) {
		cluster_done(b, p->request, took, broker_need(b, f->task)->cpus);
		b->usual += (double)took / 1e6;
		b->nusual++;
	}
	uint64_t hash = b->options->rules.agree > 1 ? hash_bytes(r.out, r.nout) : 0;
	verdict_apply(b, queue_result(b->queue, f->task, p->number, good, hash), &r);
	flight_remove(b, p, at);
	return 0;
}

static int chunk(const struct broker *b, struct peer *p, const struct wire *m)
{
	size_t at;
	struct flight *f = flight_find(p, m->task, &at);

	if (!f)
		return -EPROTO;
	if (!f->output)
		f->output = mem_zalloc(sizeof *f->output);
	struct strbuf *to = m->to_err ? &f->output->err : &f->output->out;
	if (to->n + m->ntext > (size_t)b->options->output)
		return -EPROTO;
	strbuf_add(to, m->text, m->ntext);
	return 0;
}

static int file(struct broker *b, struct peer *p, const struct wire *m)
{
	size_t at;
	struct flight *f = flight_find(p, m->task, &at);

	return f ? task_file_take(b, p, f, m) : -EPROTO;
}

static int returned(struct broker *b, struct peer *p, const struct wire *m)
{
	size_t at;

	if (!flight_find(p, m->task, &at))
		return -EPROTO;
	queue_return(b->queue, (uint32_t)m->task, p->number);
	flight_remove(b, p, at);
	return 0;
}

static int hello(struct broker *b, struct peer *p, const struct wire *m)
{
	if (p->worker || m->version != WIRE_VERSION || m->cpus < 1 || m->cpus > INT64_C(1000000000) || m->gpus < 0 ||
	    m->seconds > INT32_MAX)
		return -EPROTO;
	if (p->remote && !invitation_take(b, m->err, m->nerr, &p->request))
		return -EACCES;
	if (p->remote)
		loss_rejoined(b, m->err, m->died);
	p->worker = true;
	p->apart = p->remote && b->options->apart;
	if (p->remote)
		remote_begin(b, p);
	cluster_joined(b, p->request);
	p->cpus = m->cpus;
	p->gpus = m->gpus;
	p->memory = m->memory;
	p->end = m->seconds < 0 ? -1 : b->now + m->seconds * 1000000;
	p->pid = m->pid;
	snprintf(p->name, sizeof p->name, "%.*s", (int)m->ntext, m->text);
	b->summary.workers++;
	return 0;
}

static int handle(struct broker *b, struct peer *p, const struct wire *m)
{
	if (m->kind == WIRE_HELLO)
		return hello(b, p, m);
	if (m->kind == WIRE_ASK && !p->worker && !p->remote) {
		ask_answer(b, p, m->text, m->ntext);
		p->closing = true;
		return 0;
	}
	if (!p->worker)
		return -EPROTO;
	switch (m->kind) {
	case WIRE_RESULT:
		return result(b, p, m);
	case WIRE_CHUNK:
		return chunk(b, p, m);
	case WIRE_FILE:
		return file(b, p, m);
	case WIRE_RETURNED:
		return returned(b, p, m);
	default:
		return -EPROTO;
	}
}

/* Returns how many of its flights, from the first on, have begun: a worker begins them in order,
 * each as soon as it fits. */
static size_t running(const struct broker *b, const struct peer *p)
{
	int64_t cpus = p->cpus, gpus = p->gpus, memory = p->memory < 0 ? INT64_MAX / 2 : p->memory;
	size_t n = 0;

	for (; n < p->flights.n; n++) {
		const struct bag_need *need = broker_need(b, p->flights.v[n].task);
		cpus -= need->cpus;
		gpus -= need->gpus;
		memory -= need->memory;
		if (cpus < 0 || gpus < 0 || memory < 0)
			break;
	}
	return n;
}

uint32_t peers_running(const struct broker *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->peers.n; i++)
		n += b->peers.v[i] ? running(b, b->peers.v[i]) : 0;
	return (uint32_t)n;
}

/* Ends the flights of a worker that is gone. Those that were running are lost, or were cut off
 * by the end of its time; the others return to the queue. */
static void flights_lose(struct broker *b, struct peer *p)
{
	size_t begun = running(b, p);
	bool alone = begun == 1;
	char why[160];

	for (; p->flights.n; begun -= begun > 0) {
		struct flight *f = &p->flights.v[0];
		struct record r = {.kind = RECORD_DONE,
				   .task = f->task,
				   .status = RECORD_LOST,
				   .attempt = f->attempt,
				   .worker = p->name,
				   .nworker = strlen(p->name)};
		int64_t stay = b->now - f->since;
		if (b->ending || (begun && cluster_dropped(b, p))) {
			queue_return(b->queue, f->task, p->number);
		} else if (begun && !f->dropped && cluster_cut(b, p, stay)) {
			snprintf(why, sizeof why,
				 "shunt: cut off after %" PRId64
				 " s by the end of its allocation; none lasts longer than %" PRId64
				 " s (see --request-time)\n",
				 stay / 1000000, cluster_longest(b));
			r.err = why;
			r.nerr = strlen(why);
			verdict_apply(b, queue_cut(b->queue, f->task, stay / 1000000, cluster_longest(b)), &r);
		} else if (begun && !f->dropped) {
			loss_record(b, f->task, f->attempt, p->name,
				    queue_lost(b->queue, f->task, p->number, !p->remote, alone));
			if (p->remote)
				loss_doubt(b, p, f->task, f->attempt, alone);
		} else
			queue_return(b->queue, f->task, p->number);
		flight_remove(b, p, 0);
	}
}

void peer_close(struct broker *b, struct peer *p)
{
	if (p->worker) {
		b->summary.workers--;
		remote_end(b, p);
		if (!p->remote && b->provider && (p->results || p->flights.n))
			b->provider->kind->joined(b->provider, 1);
		flights_lose(b, p);
		queue_gone(b->queue, p->number);
	}
	b->peers.v[p->number] = NULL;
	close(p->fd);
	vec_free(&p->flights);
	strbuf_fini(&p->in);
	strbuf_fini(&p->out);
	free(p);
}

void peer_read(struct broker *b, struct peer *p)
{
	static char buffer[READ_PIECE]; /* there is one loop in one thread */
	struct wire m;
	size_t at = 0;
	ssize_t step = 0;
	int rc = 0;

	ssize_t n = recv(p->fd, buffer, sizeof buffer, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		peer_close(b, p);
		return;
	}
	strbuf_add(&p->in, buffer, (size_t)n);
	while (rc == 0 && (step = wire_next(p->in.text + at, p->in.n - at, &m)) > 0) {
		rc = handle(b, p, &m);
		at += (size_t)step;
	}
	memmove(p->in.text, p->in.text + at, p->in.n - at);
	p->in.n -= at;
	if (step < 0 || rc < 0 || (p->remote && !p->worker && p->in.n > HELLO_MOST))
		peer_close(b, p);
}

void peer_write(struct broker *b, struct peer *p)
{
	while (p->sent < p->out.n) {
		ssize_t n = send(p->fd, p->out.text + p->sent, p->out.n - p->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			peer_close(b, p);
			return;
		}
		p->sent += (size_t)n;
	}
	strbuf_clear(&p->out);
	p->sent = 0;
	if (p->closing)
		peer_close(b, p);
}

/* Fails a task whose files can't be read. */
static void give_fails(struct broker *b, const struct peer *p, const struct flight *f, struct err *why)
{
	struct record r = {.kind = RECORD_FAILED,
			   .task = f->task,
			   .status = 126 << 8,
			   .attempt = f->attempt,
			   .worker = p->name,
			   .nworker = strlen(p->name),
			   .err = why->text,
			   .nerr = strlen(why->text)};

	verdict_apply(b, queue_result(b->queue, f->task, p->number, false, 0), &r);
}

static void give(struct broker *b, struct peer *p, uint32_t task)
{
	const struct bag_task *t = &b->bag.tasks.v[task - 1];
	const struct bag_need *need = broker_need(b, task);
	struct flight f = {.task = task, .attempt = (uint32_t)queue_failures(b->queue, task) + 1, .since = b->now};
	struct err err;

	if (p->apart && task_files_send(b, p, task, &err) < 0) {
		give_fails(b, p, &f, &err);
		return;
	}
	p->load += need->cpus;
	p->gpu_load += need->gpus;
	p->memory_load += need->memory;
	p->recalled = false;
	vec_push(&p->flights, f);
	wire_add(&p->out, &(struct wire){.kind = WIRE_TASK,
					 .task = task,
					 .attempt = f.attempt,
					 .cpus = need->cpus,
					 .gpus = need->gpus,
					 .memory = need->memory,
					 .seconds = need->seconds,
					 .grace = b->options->grace,
					 .output = b->options->output,
					 .text = b->bag.text + t->at,
					 .ntext = t->n});
}

/* Returns how many tasks a worker may have beyond those it runs: none while nothing is known or
 * tasks are long, many if they are short. */
static size_t ahead(const struct peer *p)
{
	if (p->usual < 0 || p->usual > LONG_US)
		return 0;
	int64_t slots = p->cpus / BAG_CPU > 0 ? p->cpus / BAG_CPU : 1;
	int64_t n = AHEAD_US * slots / (p->usual + 1);
	return n > AHEAD_MOST ? AHEAD_MOST : n < 1 ? 1 : (size_t)n;
}

static struct offer offer_of(const struct broker *b, const struct peer *p)
{
	return (struct offer){
		.cpus = p->cpus - p->load,
		.gpus = p->gpus - p->gpu_load,
		.memory = p->memory < 0		       ? -1
			  : p->memory > p->memory_load ? p->memory - p->memory_load
						       : 0,
		.seconds = p->end < 0	     ? -1
			   : p->end > b->now ? (p->end - b->now) / 1000000
					     : 0,
		.usual = b->nusual ? (int64_t)(b->usual / (double)b->nusual) : 0,
		.all_cpus = p->cpus,
		.all_gpus = p->gpus,
		.worker = p->number,
		.workers = b->summary.workers,
	};
}

static void peer_fill(struct broker *b, struct peer *p)
{
	struct offer o;
	uint32_t task;
	size_t waiting = 0, most = ahead(p);

	if (p->alone)
		return;
	while (o = offer_of(b, p), o.cpus > 0 && p->out.n < OUT_MOST && (task = queue_take(b->queue, &o)) != 0)
		give(b, p, task);
	/* beyond what it runs: offer its total size */
	o.cpus = p->cpus;
	o.gpus = p->gpus;
	o.memory = p->memory;
	waiting = p->flights.n - running(b, p);
	for (; waiting < most && p->out.n < OUT_MOST && (task = queue_take(b->queue, &o)) != 0; waiting++)
		give(b, p, task);
	if (p->flights.n == 0 && (task = queue_take_alone(b->queue, &o)) != 0) {
		give(b, p, task);
		p->alone = p->flights.n > 0;
	}
}

/* Gives an idle worker a copy of the oldest task that may have one, when nothing waits. */
static void peer_copy(struct broker *b, struct peer *p)
{
	struct offer o = offer_of(b, p);
	const struct flight *best = NULL;
	size_t at;

	for (size_t i = 0; i < b->peers.n; i++) {
		struct peer *other = b->peers.v[i];
		for (size_t k = 0; other && other != p && k < other->flights.n; k++) {
			const struct flight *f = &other->flights.v[k];
			if (!f->dropped && (!best || f->since < best->since) && !flight_find(p, f->task, &at) &&
			    queue_copies(b->queue, f->task) < b->options->rules.replicas)
				best = f;
		}
	}
	if (best && queue_copy(b->queue, best->task, &o))
		give(b, p, best->task);
}

/* Makes a worker that is held up by a long task return what it has not begun, while others are
 * idle. */
static void peer_recall(struct broker *b, struct peer *p)
{
	if (p->recalled || p->flights.n < 2 || p->load <= p->cpus || b->now - p->flights.v[0].since < STUCK_US)
		return;
	p->recalled = true;
	p->usual = LONG_US + 1;
	wire_add(&p->out, &(struct wire){.kind = WIRE_RECALL});
}

void peers_fill(struct broker *b)
{
	bool idle = false;

	for (size_t i = 0; i < b->peers.n && queue_counts(b->queue).waiting > 0; i++)
		if (b->peers.v[i] && b->peers.v[i]->worker)
			peer_fill(b, b->peers.v[i]);
	if (queue_counts(b->queue).waiting > 0 || queue_counts(b->queue).flying == 0)
		return;
	for (size_t i = 0; i < b->peers.n; i++) {
		struct peer *p = b->peers.v[i];
		if (!p || !p->worker || p->alone || p->load >= p->cpus)
			continue;
		idle = true;
		if (b->options->rules.replicas > 1)
			peer_copy(b, p);
	}
	for (size_t i = 0; idle && i < b->peers.n; i++)
		if (b->peers.v[i] && b->peers.v[i]->worker)
			peer_recall(b, b->peers.v[i]);
}
