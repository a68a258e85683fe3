/*
 * worker.c - the main thread of a worker: reads messages, kills tasks that must end, and sends what
 * could not be sent at once.
 */
#include "bag/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag/bagfile.h"
#include "bag/credential.h"
#include "bag/files.h"
#include "bag/journal.h"
#include "bag/worker_internal.h"
#include "base/descriptors.h"
#include "base/ticks.h"
#include "run/tree.h"

/* Returns true for `:` with any arguments, the shell's no-op. */
static bool is_noop(struct spawner *s, const struct wire *m)
{
	if (m->ntext == 0 || m->text[0] != ':')
		return false;
	return m->ntext == 1 || (spawner_split(s, m->text, m->ntext) > 0 && strcmp(s->words[0], ":") == 0);
}

void task_dir(const struct worker *w, uint64_t task, struct strbuf *ret)
{
	strbuf_printf(ret, "%s/%" PRIu64, w->scratch, task);
}

void task_free(struct worker *w, struct task *t)
{
	struct strbuf dir = {0};

	if (t->apart) {
		task_dir(w, t->w.task, &dir);
		files_remove(dir.text);
	}
	strbuf_fini(&dir);
	free(t->apart);
	free(t);
}

/* Prepares a directory for the next task. */
static int apart_begin(struct worker *w, const struct wire *m)
{
	struct strbuf dir = {0};

	if (!w->scratch || w->next.task || m->task == 0)
		return -EPROTO;
	w->next = (struct apart){.task = m->task, .patterns = mem_zalloc(m->ntext + 1)};
	memcpy(w->next.patterns, m->text, m->ntext);
	task_dir(w, m->task, &dir);
	/* fails if it exists: it must not be someone else's */
	if (!w->scratched && mkdir(w->scratch, 0700) < 0)
		w->next.broken = -errno;
	w->scratched = w->scratched || !w->next.broken;
	files_remove(dir.text);
	if (mkdir(dir.text, 0700) < 0 && !w->next.broken)
		w->next.broken = -errno;
	strbuf_fini(&dir);
	return 0;
}

static int apart_file(struct worker *w, const struct wire *m)
{
	struct strbuf dir = {0};

	if (m->task == 0 || m->task != w->next.task)
		return -EPROTO;
	task_dir(w, m->task, &dir);
	int rc = w->next.broken ? 0 : files_write(dir.text, m);
	strbuf_fini(&dir);
	if (rc < 0 && rc != -EPROTO)
		w->next.broken = rc;
	return rc == -EPROTO ? rc : 0;
}

static void task_add(struct worker *w, struct spawner *s, const struct wire *m)
{
	if (!w->next.task && is_noop(s, m)) {
		wire_add(&w->out, &(struct wire){.kind = WIRE_RESULT,
						 .task = m->task,
						 .attempt = m->attempt,
						 .began = clock_us(CLOCK_REALTIME)});
		return;
	}
	struct task *t = mem_alloc(sizeof *t + m->ntext);
	*t = (struct task){.w = *m, .apart = w->next.patterns, .broken = w->next.broken};
	w->next = (struct apart){0};
	memcpy(t->command, m->text, m->ntext);
	t->w.text = t->command;
	vec_push(&w->list, t);
}

/* Returns tasks to the broker that have not begun: all (0), or one. */
static bool list_return(struct worker *w, uint64_t task)
{
	size_t to = w->first;
	bool any = false;

	for (size_t i = w->first; i < w->list.n; i++) {
		struct task *t = w->list.v[i];
		if (task && t->w.task != task) {
			w->list.v[to++] = t;
			continue;
		}
		wire_add(&w->out, &(struct wire){.kind = WIRE_RETURNED, .task = t->w.task});
		task_free(w, t);
		any = true;
	}
	w->list.n = to;
	return any;
}

static void slot_kill(struct slot *s)
{
	if (s->pid)
		kill(-s->pid, SIGKILL);
}

static void drop(struct worker *w, uint64_t task)
{
	if (list_return(w, task))
		return;
	for (size_t i = 0; i < w->slots.n; i++) {
		struct slot *s = w->slots.v[i];
		if (s->task && s->task->w.task == task && !s->dropped) {
			s->dropped = true;
			slot_end(s);
		}
	}
}

enum {
	MEMORY_MS = 250,   /* interval of checking the memory of tasks that state it */
	OUTPUT_MS = 500,   /* interval of checking the output of tasks */
	KILL_US = 1000000, /* time for killed tasks to vanish */
};
enum {
	TOLD = 1, /* it ends because of a message, SIGTERM, or the end of its time */
	CUT = 2,  /* its connection has ended */
};

/* Handles a message. Returns TOLD if the broker wants us to end, 0, or -EPROTO. */
static int handle(struct worker *w, struct spawner *s, const struct wire *m)
{
	switch (m->kind) {
	case WIRE_TASK:
		if (m->cpus < 0 || m->gpus < 0 || m->memory < 0 || m->seconds < 0 || m->grace < 0 ||
		    m->grace > BAG_GRACE_MOST || m->output < 0 || m->output > RECORD_OUTPUT_MOST || m->ntext == 0 ||
		    (w->next.task && w->next.task != m->task))
			return -EPROTO;
		task_add(w, s, m);
		return 0;
	case WIRE_APART:
		return apart_begin(w, m);
	case WIRE_FILE:
		return apart_file(w, m);
	case WIRE_DROP:
		drop(w, m->task);
		return 0;
	case WIRE_RECALL:
		list_return(w, 0);
		return 0;
	case WIRE_END:
		return TOLD;
	case WIRE_ANSWER: /* to our HELLO */
		if (!w->session || m->ntext != SECRET_SIZE - 1)
			return -EPROTO;
		memcpy(w->session, m->text, m->ntext);
		return 0;
	default:
		return -EPROTO;
	}
}

/* Reads and handles available messages. Returns TOLD or CUT at the end, 0, or -errno. */
static int take_in(struct worker *w, struct spawner *s, struct strbuf *in)
{
	static const size_t piece = 256 << 10;
	struct wire m;
	size_t at = 0;
	ssize_t step = 0;
	int rc = 0;
	char *buffer = mem_alloc(piece);

	ssize_t n = recv(w->fd, buffer, piece, MSG_DONTWAIT);
	if (n > 0)
		strbuf_add(in, buffer, (size_t)n);
	free(buffer);
	if (n == 0)
		return CUT;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	pthread_mutex_lock(&w->lock);
	while (rc == 0 && (step = wire_next(in->text + at, in->n - at, &m)) > 0) {
		rc = handle(w, s, &m);
		at += (size_t)step;
	}
	slots_wake(w);
	out_send(w);
	pthread_mutex_unlock(&w->lock);
	memmove(in->text, in->text + at, in->n - at);
	in->n -= at;
	return step < 0 ? (int)step : rc;
}

/* Ends tasks past their time limit, and kills those past their grace; returns the milliseconds
 * until the next of these, -1: none. */
static int limits(struct worker *w)
{
	int64_t now = clock_us(CLOCK_MONOTONIC), next = INT64_MAX;

	for (size_t i = 0; i < w->slots.n; i++) {
		struct slot *s = w->slots.v[i];
		if (!s->pid)
			continue;
		if (s->deadline && s->deadline <= now) {
			s->late = !s->kill_at;
			s->deadline = 0;
			slot_end(s);
		}
		if (s->kill_at && s->kill_at <= now && !s->killed) {
			s->killed = true;
			slot_kill(s);
		}
		int64_t at = !s->kill_at ? s->deadline : s->killed ? 0 : s->kill_at;
		next = at && at < next ? at : next;
	}
	return next == INT64_MAX ? -1 : (int)((next - now) / 1000 > 60000 ? 60000 : (next - now) / 1000 + 1);
}

/* Returns the KiB of a process and all its descendants. */
static int64_t memory_of(pid_t pid)
{
	char path[48];
	int64_t pages = 0;

	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f || fscanf(f, "%*s %" SCNd64, &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024) + tree_memory(pid, false);
}

/* Kills tasks that use more memory than they stated; returns true if some state it. The lock is
 * not held while /proc is read. */
static bool memory_look(struct worker *w)
{
	bool any = false;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->slots.n; i++) {
		struct slot *s = w->slots.v[i];
		pid_t pid = s->pid;
		int64_t most = s->task ? s->task->w.memory : 0;
		if (!pid || most <= 0)
			continue;
		any = true;
		pthread_mutex_unlock(&w->lock);
		int64_t has = memory_of(pid);
		pthread_mutex_lock(&w->lock);
		if (has > most && s->pid == pid && s->task && s->task->w.memory == most) {
			s->large = has;
			slot_kill(s);
		}
	}
	pthread_mutex_unlock(&w->lock);
	return any;
}

/* Cuts a task's output to what is kept, lest it fill the disk. Output is appended, so cutting
 * the file is safe. */
static void output_trim(int fd, int64_t most)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size > most + 1)
		/* one byte more shows that some is missing */
		(void)!ftruncate(fd, most + 1);
}

/* Trims outputs, but not at each message, as there may be thousands per second. Returns true if
 * some task runs or waits. */
static bool outputs_trim(struct worker *w)
{
	int64_t now = clock_us(CLOCK_MONOTONIC);
	bool busy = w->first < w->list.n, due = now - w->trimmed >= OUTPUT_MS * 1000;

	w->trimmed = due ? now : w->trimmed;
	for (size_t i = 0; i < w->slots.n; i++) {
		const struct slot *s = w->slots.v[i];
		busy = busy || s->task;
		if (due && s->pid) {
			output_trim(s->out, s->task->w.output);
			output_trim(s->err, s->task->w.output);
		}
	}
	return busy;
}

/* Set by SIGTERM, with which a cluster or an administrator ends a worker. */
static volatile sig_atomic_t terminated;
static volatile sig_atomic_t terminated_wake = -1;

static void on_terminate(int number)
{
	uint64_t one = 1;
	int saved = errno;

	(void)number;
	terminated = 1;
	(void)!write(terminated_wake, &one, sizeof one);
	errno = saved;
}

static int loop(struct worker *w, struct spawner *s, struct strbuf *in, int64_t end)
{
	for (;;) {
		int64_t left = end < 0 ? INT64_MAX : end - clock_us(CLOCK_MONOTONIC);
		if (left <= 0 || terminated)
			return TOLD;
		bool watched = memory_look(w);
		pthread_mutex_lock(&w->lock);
		int timeout = limits(w);
		if (outputs_trim(w) && (timeout < 0 || timeout > OUTPUT_MS))
			timeout = OUTPUT_MS;
		if (watched && (timeout < 0 || timeout > MEMORY_MS))
			timeout = MEMORY_MS;
		if (left < INT64_C(60000000) && (timeout < 0 || left / 1000 < timeout))
			timeout = (int)(left / 1000) + 1;
		else if (timeout < 0 && end >= 0)
			timeout = 60000;
		bool more = w->out.n > 0, broken = w->broken;
		pthread_mutex_unlock(&w->lock);
		if (broken)
			return CUT;
		struct pollfd p[2] = {{.fd = w->fd, .events = (short)(POLLIN | (more ? POLLOUT : 0))},
				      {.fd = w->wake, .events = POLLIN}};
		if (poll(p, 2, timeout) < 0 && errno != EINTR)
			return -errno;
		/* Reap orphans of tasks; threads wait for their own children. */
		while (waitpid(-1, NULL, WNOHANG | __WNOTHREAD) > 0)
			;
		uint64_t count;
		if (p[1].revents && read(w->wake, &count, sizeof count) < 0 && errno != EAGAIN)
			return -errno;
		if (p[0].revents & POLLOUT) {
			pthread_mutex_lock(&w->lock);
			out_send(w);
			pthread_mutex_unlock(&w->lock);
		}
		int rc = p[0].revents & (POLLIN | POLLHUP | POLLERR) ? take_in(w, s, in) : 0;
		if (rc != 0)
			return rc;
	}
}

/* Begins the end of all tasks; those that are being started begin theirs as soon as they run. */
static void tasks_end(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	vec_clear(&w->list);
	w->first = 0;
	for (size_t i = 0; i < w->slots.n; i++)
		slot_end(w->slots.v[i]);
	pthread_mutex_unlock(&w->lock);
}

/* Returns the microseconds until the last of the ending tasks must have vanished; 0: none is
 * left. */
static int64_t tasks_left(const struct worker *w)
{
	int64_t now = clock_us(CLOCK_MONOTONIC), left = 0;

	for (size_t i = 0; i < w->slots.n; i++) {
		const struct slot *s = w->slots.v[i];
		if (!s->task)
			continue;
		int64_t grace = s->kill_at ? s->kill_at - now : s->task->w.grace * 1000000;
		left = grace + KILL_US > left ? grace + KILL_US : left;
	}
	return left;
}

/* Ends all tasks, and waits for that. A connection that breaks ends the wait: the broker is gone,
 * or in a hurry. */
static void farewell(struct worker *w)
{
	int64_t flushed = clock_us(CLOCK_MONOTONIC) + KILL_US;
	char buffer[4096];

	tasks_end(w);
	for (;;) {
		pthread_mutex_lock(&w->lock);
		int64_t left = tasks_left(w), flush = flushed - clock_us(CLOCK_MONOTONIC);
		out_send(w);
		bool more = w->out.n > 0;
		if (more && flush > left)
			left = flush;
		int timeout = limits(w), most = (int)(left / 1000) + 1;
		bool done = left <= 0 || w->broken;
		pthread_mutex_unlock(&w->lock);
		if (done)
			return;
		struct pollfd p[2] = {{.fd = w->fd, .events = (short)(POLLIN | (more ? POLLOUT : 0))},
				      {.fd = w->wake, .events = POLLIN}};
		uint64_t count;
		poll(p, 2, timeout < 0 || timeout > most ? most : timeout);
		if (p[1].revents && read(w->wake, &count, sizeof count) < 0 && errno != EAGAIN)
			return;
		if ((p[0].revents & (POLLIN | POLLHUP | POLLERR)) &&
		    recv(w->fd, buffer, sizeof buffer, MSG_DONTWAIT) <= 0)
			return;
	}
}

/* The threads keep running until the process ends, which is soon, so nothing that they use is
 * freed. */
int worker_run(int fd, const struct worker_offer *offer, struct err *err)
{
	struct worker *w = mem_zalloc(sizeof *w);
	struct spawner s = {0};
	struct strbuf in = {0};
	char name[128] = "";
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0)
		return err_set(err, -errno, "/dev/null: %s", strerror(errno));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	descriptors_raise();
	*w = (struct worker){.fd = fd,
			     .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			     .cpus = offer->cpus,
			     .gpus = offer->gpus,
			     .session = offer->session,
			     .scratch = offer->scratch,
			     .memory = offer->memory < 0 ? INT64_MAX / 2 : offer->memory};
	terminated_wake = w->wake;
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_terminate, .sa_flags = SA_RESTART}, NULL);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	pthread_cond_init(&w->drained, NULL);
	if (!offer->name) {
		gethostname(name, sizeof name - 1);
		snprintf(name + strlen(name), sizeof name - strlen(name), ":%d", (int)getpid());
	}
	const char *shown = offer->name ? offer->name : name, *key = offer->credential ? offer->credential : "";
	pthread_mutex_lock(&w->lock);
	out_put(w, &(struct wire){.kind = WIRE_HELLO,
				  .version = WIRE_VERSION,
				  .pid = (uint32_t)getpid(),
				  .cpus = offer->cpus,
				  .gpus = offer->gpus,
				  .memory = offer->memory,
				  .seconds = offer->seconds,
				  .died = offer->died,
				  .text = shown,
				  .ntext = strlen(shown),
				  .err = key,
				  .nerr = strlen(key)});
	pthread_mutex_unlock(&w->lock);
	int rc = loop(w, &s, &in, offer->seconds < 0 ? -1 : clock_us(CLOCK_MONOTONIC) + offer->seconds * 1000000);
	if (rc == TOLD)
		farewell(w);
	pthread_mutex_lock(&w->lock);
	w->broken = true;
	vec_clear(&w->list);
	for (size_t i = 0; i < w->slots.n; i++)
		slot_kill(w->slots.v[i]);
	pthread_mutex_unlock(&w->lock);
	tree_kill(getpid());
	strbuf_fini(&in);
	spawner_fini(&s);
	return rc < 0 ? err_set(err, rc, "the broker sent something that is not a message, or can't be read: %s",
				strerror(-rc))
		      : rc == CUT;
}
