/*
 * broker.c - the loop of a broker. Each turn: read; judge results; write the journal; only then
 * report and send.
 */
#include "bag/broker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bag/broker_internal.h"
#include "bag/results.h"
#include "base/amount.h"
#include "base/descriptors.h"
#include "base/ticks.h"
#include "base/unixsock.h"

enum {
	TICK_US = 100000, /* interval of polling providers and of progress reports */
	/* interval of syncing the disk; a machine crash loses at most the results of that time */
	SYNC_US = 1000000,
	/* pause after a turn that found something, so that many results share a turn */
	REST_US = 1000,
	MEASURE_US = 500000,	 /* interval of measuring the rate */
	ALLOCATIONS_KEPT = 1000, /* allocation records kept in the journal of a complete bag */
	NEEDS_US = 1000000,	 /* interval of looking for tasks that no worker can run */
	LEAVE_SECONDS = 2,	 /* time for workers to leave after the grace of their tasks */
};

struct known {
	struct broker *broker;
	struct fold fold;
};

static void known_record(void *arg, const struct record *r)
{
	struct known *k = arg;

	fold_record(&k->fold, r, 0);
	if (r->kind == RECORD_REQUESTS)
		cluster_known(k->broker, r);
	k->broker->allocations += r->kind == RECORD_ALLOCATION;
}

static int journal_begin(struct broker *b, const char *path, struct err *err)
{
	struct known k = {.broker = b};

	fold_init(&k.fold, &b->bag, false);
	struct record first = {.kind = RECORD_BAG, .task = k.fold.tasks, .hash = k.fold.hash};
	int rc = journal_open(path, &first, known_record, &k, &b->journal, err);
	struct fold f = k.fold;
	if (rc == 0 && f.other)
		rc = err_set(err, -EINVAL, "%s belongs to another list of tasks", path);
	for (uint32_t i = 1; rc == 0 && i <= f.tasks; i++) {
		if (f.state[i] == TASK_WAITING && f.failures[i] >= b->options->rules.attempts)
			/* fewer attempts are allowed than last time */
			f.failures[i] = (uint8_t)(b->options->rules.attempts - 1);
		if (f.state[i] != TASK_WAITING || f.failures[i])
			queue_restore(b->queue, i, (enum task_state)f.state[i], f.failures[i]);
	}
	fold_fini(&k.fold);
	if (rc < 0)
		return rc;
	b->summary.before = queue_counts(b->queue).done;
	journal_add(b->journal, &(struct record){.kind = RECORD_RUN, .began = (int64_t)time(NULL) * 1000000});
	if (b->options->retry && queue_retry(b->queue) > 0)
		journal_add(b->journal, &(struct record){.kind = RECORD_RETRY});
	return journal_flush(b->journal, err);
}

/* Returns true if a worker of this host can hold tasks with that need; else appends why not. */
static bool here_holds(const struct broker_options *o, const struct bag_need *need, struct strbuf *why)
{
	char part[32];

	if (o->workers == 0)
		return false;
	int64_t cpus = o->cpus / o->workers, gpus = o->gpus / o->workers, memory = o->memory / o->workers;
	if (need->cpus <= cpus && need->gpus <= gpus && (o->memory < 0 || need->memory <= memory))
		return true;
	strbuf_printf(why, "; a worker here has %g CPU%s, %" PRId64 " GPU%s", (double)cpus / BAG_CPU,
		      cpus == BAG_CPU ? "" : "s", gpus, gpus == 1 ? "" : "s");
	if (o->memory >= 0)
		strbuf_printf(why, " and %s of memory", memory_human(memory, part, sizeof part));
	strbuf_puts(why, " (see --cpus, --gpus, --memory and --workers)");
	return false;
}

/* Sets tasks aside that no worker can ever run. */
static void needs_look(struct broker *b)
{
	struct strbuf why = {0};
	uint32_t task;

	if (b->options->invite > 0) /* a worker that is large enough may join */
		return;
	for (uint32_t i = 0; i < b->bag.needs.n; i++) {
		if (queue_waits(b->queue, i) == 0)
			continue;
		strbuf_clear(&why);
		strbuf_puts(&why, "shunt: it needs ");
		need_format(&b->bag.needs.v[i], &why);
		if (here_holds(b->options, &b->bag.needs.v[i], &why) || cluster_holds(b, i, &why))
			continue;
		strbuf_puts(&why, "\n");
		while ((task = queue_refuse(b->queue, i)) != 0)
			verdict_apply(b, VERDICT_ASIDE,
				      &(struct record){.task = task,
						       .status = RECORD_TOO_LARGE,
						       .attempt = (uint32_t)queue_failures(b->queue, task),
						       .err = why.text,
						       .nerr = why.n});
	}
	strbuf_fini(&why);
}

static int signals_open(sigset_t *ret_before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, ret_before);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Reads pending signals; returns true if a child ended. */
static bool signals_read(struct broker *b)
{
	struct signalfd_siginfo info;
	bool child = false;

	while (read(b->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			child = true;
		else
			b->summary.interrupted = true;
	}
	return child;
}

static void measure(struct broker *b)
{
	struct broker_summary *s = &b->summary;

	s->counts = queue_counts(b->queue);
	s->took = b->now - b->began;
	s->running = peers_running(b);
	if (b->now - b->measured < MEASURE_US)
		return;
	double rate = (double)(s->counts.done - b->measured_done) * 1e6 / (double)(b->now - b->measured);
	s->rate = s->rate > 0 ? s->rate * 0.8 + rate * 0.2 : rate;
	/* Where tasks are long, the rate of the whole run is more reliable than the recent one. */
	double whole = (double)(s->counts.done - s->before) * 1e6 / (double)(s->took > 0 ? s->took : 1);
	double best = s->rate > 10 ? s->rate : whole;
	double rest = (double)s->counts.waiting + (double)s->counts.flying;
	s->left = best > 0 ? (int64_t)(rest / best) : -1;
	b->measured = b->now;
	b->measured_done = s->counts.done;
}

static void report(struct broker *b)
{
	struct record r;

	for (size_t at = 0, step; (step = record_next(b->finished.text + at, b->finished.n - at, &r)) > 0; at += step)
		b->options->finished(b->options->arg, &r);
	strbuf_clear(&b->finished);
}

/* Waits for something to read. Returns how many descriptors have something, or -errno. */
static int listen_all(struct broker *b, bool *ret_child)
{
	VEC(struct pollfd) fds = {0};

	vec_push(&fds, (struct pollfd){.fd = b->signals, .events = POLLIN});
	vec_push(&fds, (struct pollfd){.fd = b->listener, .events = POLLIN});
	vec_push(&fds, (struct pollfd){.fd = b->remote_listener, .events = POLLIN});
	for (size_t i = 0; i < b->peers.n; i++) {
		const struct peer *p = b->peers.v[i];
		vec_push(&fds, (struct pollfd){.fd = p ? p->fd : -1,
					       .events = (short)(POLLIN | (p && p->out.n ? POLLOUT : 0))});
	}
	int n = poll(fds.v, fds.n, TICK_US / 1000);
	b->now = clock_us(CLOCK_MONOTONIC);
	size_t known = b->peers.n;
	if (n > 0 && fds.v[1].revents)
		peer_accept(b, b->listener);
	if (n > 0 && fds.v[2].revents)
		peer_accept(b, b->remote_listener);
	*ret_child = n > 0 && fds.v[0].revents && signals_read(b);
	for (size_t i = 0; n > 0 && i < known; i++)
		if (b->peers.v[i] && b->peers.v[i]->fd == fds.v[i + 3].fd &&
		    (fds.v[i + 3].revents & (POLLIN | POLLHUP | POLLERR)))
			peer_read(b, b->peers.v[i]);
	vec_free(&fds);
	return n < 0 && errno != EINTR ? -errno : n < 0 ? 0 : n;
}

static bool over(const struct broker *b)
{
	struct queue_counts c = queue_counts(b->queue);

	return b->summary.cancelled || b->summary.interrupted || c.waiting + c.flying == 0;
}

static int provider_look(struct broker *b, struct err *err)
{
	struct provider_request r;
	int rc = remote_look(b, err);

	cluster_look(b);
	for (size_t i = b->doubts.n; i-- > 0;)
		loss_judge(b, i, cluster_fate(b, b->doubts.v[i].request));
	if (b->clusters.n && b->now - b->looked >= NEEDS_US) {
		needs_look(b);
		b->looked = b->now;
	}
	if (rc < 0 || !b->provider || over(b)) /* workers that died with the last task are not replaced */
		return rc;
	b->provider->kind->poll(b->provider, provider_now());
	b->provider->kind->look(b->provider, 1, &r);
	return r.state == REQUEST_FAILED ? err_set(err, -ECHILD, "%s", r.failure) : 0;
}

static void peers_write(struct broker *b)
{
	for (size_t i = 0; i < b->peers.n; i++)
		if (b->peers.v[i] && b->peers.v[i]->out.n)
			peer_write(b, b->peers.v[i]);
}

static int loop(struct broker *b, struct err *err)
{
	int64_t ticked = 0, synced = b->now;
	bool child;

	while (!over(b)) {
		int n = listen_all(b, &child), rc = n;
		if (rc < 0)
			return err_set(err, rc, "poll: %s", strerror(-rc));
		if (child || b->now - ticked >= TICK_US) {
			rc = provider_look(b, err);
			if (rc < 0)
				return rc;
			measure(b);
			if (b->options->progress)
				b->options->progress(b->options->arg, &b->summary);
			ticked = b->now;
		}
		rc = journal_flush(b->journal, err);
		if (rc == 0 && b->now - synced >= SYNC_US) {
			rc = journal_sync(b->journal, err);
			synced = b->now;
		}
		if (rc < 0)
			return rc;
		report(b);
		peers_fill(b);
		peers_write(b);
		if (n > 0 && b->summary.workers > 0)
			usleep(REST_US);
	}
	return 0;
}

static bool peers_busy(const struct broker *b)
{
	for (size_t i = 0; i < b->peers.n; i++)
		if (b->peers.v[i] && b->peers.v[i]->flights.n)
			return true;
	return false;
}

/* Ends the workers that have tasks, and waits while these have their grace. A second signal ends
 * the wait: then their connections are closed, which kills what still runs. */
static void farewell(struct broker *b)
{
	int64_t until = b->now + (b->options->grace + LEAVE_SECONDS) * 1000000;
	bool before = b->summary.interrupted, child;

	b->ending = true;
	b->summary.interrupted = false;
	for (size_t i = 0; i < b->peers.n; i++)
		if (b->peers.v[i] && b->peers.v[i]->flights.n)
			wire_add(&b->peers.v[i]->out, &(struct wire){.kind = WIRE_END});
	for (peers_write(b); peers_busy(b) && b->now < until && !b->summary.interrupted; peers_write(b)) {
		if (listen_all(b, &child) < 0)
			break;
		b->summary.running = peers_running(b);
		b->summary.ending = true;
		if (b->options->progress)
			b->options->progress(b->options->arg, &b->summary);
	}
	b->summary.interrupted = before;
}

/* Selects the records that a complete bag needs: one for each task, and the last failure of
 * those set aside. */
struct keeper {
	const struct queue *queue;
	uint8_t *kept;
	uint32_t tasks;
	bool requests; /* some requests may still be at a cluster */
	int64_t past;  /* number of oldest allocations to drop */
};

static bool keep(void *arg, const struct record *r)
{
	struct keeper *k = arg;

	if (r->kind == RECORD_ALLOCATION)
		return k->past-- <= 0;
	if (r->kind == RECORD_BAG || (r->kind == RECORD_REQUESTS && k->requests))
		return true;
	if ((r->kind != RECORD_DONE && !(r->kind == RECORD_FAILED && r->last)) || r->task < 1 || r->task > k->tasks)
		return false;
	enum task_state wanted = r->kind == RECORD_DONE ? TASK_DONE : TASK_ASIDE;
	if (queue_state(k->queue, (uint32_t)r->task) != wanted || k->kept[r->task])
		return false;
	k->kept[r->task] = 1;
	return true;
}

static int finish(struct broker *b, struct err *err)
{
	struct queue_counts c = queue_counts(b->queue);

	b->summary.cancelled = b->summary.cancelled && c.waiting + c.flying > 0;
	if (b->summary.cancelled)
		journal_add(b->journal, &(struct record){.kind = RECORD_CANCEL});
	int rc = journal_sync(b->journal, err);
	report(b);
	if (rc == 0 && c.waiting + c.flying == 0) {
		struct keeper k = {.queue = b->queue,
				   .tasks = (uint32_t)b->bag.tasks.n,
				   .requests = b->tags.n > 0,
				   .past = b->allocations - ALLOCATIONS_KEPT};
		k.kept = mem_zalloc(b->bag.tasks.n + 1);
		rc = journal_compact(b->journal, keep, &k, err);
		free(k.kept);
	}
	return rc;
}

static int run(struct broker *b, const char *socket, struct err *err)
{
	struct local_options local = {.program = b->options->program,
				      .socket = socket,
				      .workers = b->options->workers,
				      .cpus = b->options->cpus,
				      .gpus = b->options->gpus,
				      .memory = b->options->memory};
	sigset_t before;

	b->now = b->began = b->measured = clock_us(CLOCK_MONOTONIC);
	b->measured_done = b->summary.before;
	b->summary.left = -1;
	if (over(b) && b->tags.n == 0)
		return finish(b, err);
	b->listener = unix_listen(socket, 0600, err);
	if (b->listener < 0)
		return b->listener;
	descriptors_raise();
	b->signals = signals_open(&before);
	task_files_clear(b);
	int rc = b->options->invite > 0 || b->options->nplaces > 0 ? remote_open(b, err) : 0;
	if (rc == 0)
		rc = cluster_open(b, err);
	if (rc == 0)
		needs_look(b);
	if (rc == 0 && !over(b) && local.workers > 0) {
		b->provider = provider_local(&local);
		rc = b->provider->kind->request(b->provider, local.cpus / BAG_CPU, -1, err);
	}
	rc = rc < 0 ? rc : loop(b, err);
	if (rc == 0)
		farewell(b);
	cluster_close(b);
	struct err other;
	if (rc < 0) /* keep the outcome of requests even after an error */
		journal_sync(b->journal, &other);
	int last = rc < 0 ? 0 : finish(b, err);
	for (size_t i = 0; i < b->peers.n; i++)
		/* without END, a worker behind the gate would take this for a broken connection */
		if (b->peers.v[i] && b->peers.v[i]->remote && b->peers.v[i]->worker)
			wire_add(&b->peers.v[i]->out, &(struct wire){.kind = WIRE_END});
	peers_write(b);
	for (size_t i = 0; i < b->peers.n; i++)
		if (b->peers.v[i])
			peer_close(b, b->peers.v[i]);
	close(b->listener);
	unlink(socket);
	task_files_clear(b);
	remote_close(b);
	if (b->provider) {
		b->provider->kind->cancel(b->provider, 1);
		b->provider->kind->destroy(b->provider);
	}
	b->now = clock_us(CLOCK_MONOTONIC);
	measure(b);
	close(b->signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc < 0 ? rc : last;
}

int broker_run(const struct broker_options *options, struct broker_summary *ret, struct err *err)
{
	struct broker b = {.options = options, .listener = -1, .signals = -1, .remote_listener = -1, .gate.fd = -1};
	struct strbuf journal = {0}, socket = {0};

	strbuf_printf(&journal, "%s/journal", options->dir);
	strbuf_printf(&socket, "%s/socket", options->dir);
	int rc = bag_open_in(options->dir, &b.bag, err);
	if (rc == 0) {
		b.queue = task_queue_create(&b.bag, &options->rules);
		rc = journal_begin(&b, journal.text, err);
	}
	b.summary.tasks = (uint32_t)b.bag.tasks.n;
	if (rc == 0)
		rc = run(&b, socket.text, err);
	if (rc == 0) {
		if (!b.summary.took)
			b.summary.counts = queue_counts(b.queue);
		*ret = b.summary;
	}
	journal_close(b.journal);
	task_queue_destroy(b.queue);
	bag_fini(&b.bag);
	vec_free(&b.peers);
	vec_free(&b.doubts);
	for (size_t i = 0; i < b.tags.n; i++)
		free(b.tags.v[i]);
	vec_free(&b.tags);
	strbuf_fini(&b.finished);
	strbuf_fini(&journal);
	strbuf_fini(&socket);
	return rc;
}

/* Cancels a bag through its journal, which no other process writes now. */
static int cancel(struct broker *b, const char *path, struct err *err)
{
	struct known k = {.broker = b};
	uint32_t over = 0;

	fold_init(&k.fold, &b->bag, false);
	struct record first = {.kind = RECORD_BAG, .task = k.fold.tasks, .hash = k.fold.hash};
	int rc = journal_open(path, &first, known_record, &k, &b->journal, err);
	for (uint32_t i = 1; rc == 0 && i <= k.fold.tasks; i++)
		over += k.fold.state[i] != TASK_WAITING;
	bool complete = over == k.fold.tasks;
	fold_fini(&k.fold);
	if (rc == 0 && complete && b->tags.n == 0)
		rc = err_set(err, -EINVAL, "%s is complete", b->options->dir);
	if (rc < 0)
		return rc;
	cluster_clear(b);
	if (!complete)
		journal_add(b->journal, &(struct record){.kind = RECORD_CANCEL});
	rc = journal_sync(b->journal, err);
	return rc < 0 || b->tags.n == 0 ? rc : err_set(err, -EIO, "its requests could not be cancelled: try again");
}

int broker_cancel(const char *dir, void (*warn)(void *arg, const char *text), void *arg, struct err *err)
{
	struct broker_options options = {.dir = dir, .warn = warn, .arg = arg};
	struct broker b = {.options = &options, .listener = -1, .signals = -1, .remote_listener = -1, .gate.fd = -1};
	struct strbuf journal = {0};

	strbuf_printf(&journal, "%s/journal", dir);
	int rc = bag_open_in(dir, &b.bag, err);
	rc = rc < 0 ? rc : cancel(&b, journal.text, err);
	journal_close(b.journal);
	bag_fini(&b.bag);
	for (size_t i = 0; i < b.tags.n; i++)
		free(b.tags.v[i]);
	vec_free(&b.tags);
	strbuf_fini(&journal);
	return rc;
}
