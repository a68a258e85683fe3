/*
 * worker_slot.c - the threads of a worker, each running one task.
 *
 * They take tasks from a list in order, each as soon as its needs fit, and send results by
 * themselves, so that a short task wakes no other thread.
 */
#include "bag/worker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag/files.h"
#include "bag/journal.h"
#include "base/amount.h"
#include "base/ticks.h"
#include "run/tree.h"

/* makes the main thread look at everything again */
static void worker_wake(const struct worker *w)
{
	uint64_t one = 1;

	(void)!write(w->wake, &one, sizeof one); /* it fails only if it is awake already */
}

/* Call the functions from here to gpus_pick() with the lock held. */

void out_send(struct worker *w)
{
	while (w->sent < w->out.n && !w->broken) {
		ssize_t n = send(w->fd, w->out.text + w->sent, w->out.n - w->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			worker_wake(w);
			return;
		}
		if (n < 0)
			w->broken = true;
		else
			w->sent += (size_t)n;
	}
	strbuf_clear(&w->out);
	w->sent = 0;
	pthread_cond_broadcast(&w->drained);
}

void out_put(struct worker *w, const struct wire *m)
{
	bool first = w->out.n == 0;

	wire_add(&w->out, m);
	if (first)
		out_send(w);
}

static struct task *list_head(const struct worker *w)
{
	return w->first < w->list.n ? w->list.v[w->first] : NULL;
}

static bool head_fits(const struct worker *w)
{
	const struct task *t = list_head(w);

	return t && t->w.cpus <= w->cpus && t->w.gpus <= w->gpus && t->w.memory <= w->memory;
}

static struct task *list_take(struct worker *w)
{
	struct task *t = w->list.v[w->first++];

	if (w->first == w->list.n)
		w->first = w->list.n = 0;
	return t;
}

static uint64_t gpus_pick(struct worker *w, int64_t n)
{
	uint64_t mask = 0;

	for (int i = 0; i < GPUS_MOST && n > 0; i++)
		if (!(w->gpus_used >> i & 1)) {
			mask |= UINT64_C(1) << i;
			n--;
		}
	w->gpus_used |= mask;
	return mask;
}

/* Sends a file in chunks, except for its last piece, which is put into `last`; empties the file.
 * Takes the lock only to send. */
static void output_send(struct slot *s, int fd, bool to_err, struct strbuf *last, bool *cut)
{
	struct worker *w = s->worker;
	struct stat st;

	strbuf_clear(last);
	if (fstat(fd, &st) < 0 || st.st_size == 0)
		return;
	int64_t most = s->task->w.output;
	*cut = *cut || st.st_size > most;
	size_t left = (size_t)(st.st_size > most ? most : st.st_size);
	char *buffer = mem_alloc(left < WIRE_OUTPUT ? left : WIRE_OUTPUT);
	for (off_t at = 0; left > 0;) {
		size_t want = left < WIRE_OUTPUT ? left : WIRE_OUTPUT;
		ssize_t n = pread(fd, buffer, want, at);
		if (n <= 0)
			break;
		at += n;
		left -= (size_t)n;
		if (left == 0) {
			strbuf_add(last, buffer, (size_t)n);
			break;
		}
		pthread_mutex_lock(&w->lock);
		while (w->out.n - w->sent > OUT_MOST && !w->broken)
			pthread_cond_wait(&w->drained, &w->lock);
		out_put(w, &(struct wire){.kind = WIRE_CHUNK,
					  .task = s->task->w.task,
					  .to_err = to_err,
					  .text = buffer,
					  .ntext = (size_t)n});
		pthread_mutex_unlock(&w->lock);
	}
	free(buffer);
	if (ftruncate(fd, 0) < 0)
		*cut = true;
}

/* Appends the GPU at that position in our own environment's list, if there is one: an allocation
 * may have any GPUs. */
static void gpu_name(const char *inherited, int at, struct strbuf *out)
{
	const char *item = inherited ? strchr(inherited, '=') + 1 : "";

	strbuf_puts(out, out->n ? "," : "");
	for (int i = 0; i < at && item; i++)
		item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL;
	if (item && *item && *item != ',')
		strbuf_add(out, item, strcspn(item, ","));
	else
		strbuf_printf(out, "%d", at);
}

/* Sets the variables of a task. Returns the start of its environment. */
static char **environment(struct slot *s, const struct task *t)
{
	struct strbuf list = {0};

	for (int i = 0; i < GPUS_MOST; i++)
		if (s->gpus >> i & 1)
			gpu_name(s->inherited, i, &list);
	snprintf(s->own[0], sizeof s->own[0], "CUDA_VISIBLE_DEVICES=%s", strbuf_text(&list));
	snprintf(s->own[1], sizeof s->own[1], "SHUNT_TASK=%" PRIu64, t->w.task);
	snprintf(s->own[2], sizeof s->own[2], "SHUNT_ATTEMPT=%" PRIu32, t->w.attempt);
	snprintf(s->own[3], sizeof s->own[3], "SHUNT_CPUS=%" PRId64, t->w.cpus > 1000 ? t->w.cpus / 1000 : 1);
	strbuf_fini(&list);
	s->env[0] = t->w.gpus > 0 ? s->own[0] : s->inherited;
	return s->env + (s->env[0] == NULL);
}

/* Waits for the rest of a group that was asked to end: a shell ends at SIGTERM before the program
 * that it runs. */
static void group_wait(const struct slot *s)
{
	for (;; usleep(20000)) {
		pthread_mutex_lock(&s->worker->lock);
		bool wait = s->kill_at && !s->killed && !s->worker->broken;
		pthread_mutex_unlock(&s->worker->lock);
		if (!wait || !tree_group(getpid(), s->pid))
			return;
	}
}

/* Waits until the started process has ended, then kills the rest of its group. The pid stays
 * reserved until then. */
static int reap(struct slot *s)
{
	siginfo_t info;
	int status = 0;

	while (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	group_wait(s);
	pthread_mutex_lock(&s->worker->lock);
	kill(-s->pid, SIGKILL);
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	pthread_mutex_unlock(&s->worker->lock);
	return status;
}

/* Sends a piece of a file back to the broker; waits until there is room. */
static void file_put(void *arg, const struct wire *m)
{
	struct worker *w = arg;

	pthread_mutex_lock(&w->lock);
	while (w->out.n - w->sent > OUT_MOST && !w->broken)
		pthread_cond_wait(&w->drained, &w->lock);
	out_put(w, m);
	pthread_mutex_unlock(&w->lock);
}

/* Sends back the files that a task that runs apart has made. Returns 0, or a status with the
 * reason in `note`. */
static int files_return(struct slot *s, const struct task *t, const char *dir, struct strbuf *note)
{
	name_list list = {0};
	int64_t left = FILES_BYTES;
	struct err err;
	int rc = files_find(dir, t->apart, &list, &err);

	for (size_t i = 0; rc == 0 && i < list.n; i++)
		rc = files_send(dir, list.v[i], t->w.task, &left, file_put, s->worker, &err);
	name_list_free(&list);
	if (rc < 0)
		strbuf_printf(note, "shunt: out=%s\n", err.text);
	return rc < 0 ? 1 << 8 : 0;
}

void slot_end(struct slot *s)
{
	if (!s->pid || s->kill_at)
		return;
	s->kill_at = clock_us(CLOCK_MONOTONIC) + s->task->w.grace * 1000000;
	kill(-s->pid, SIGTERM);
	kill(-s->pid, SIGCONT);
}

static int start(struct slot *s, const struct task *t, const char *dir, char *const *env, struct strbuf *err)
{
	struct worker *w = s->worker;
	struct spawn_files files = {.in = 0, .out = s->out, .err = s->err, .dir = dir};
	pid_t pid;

	if (t->broken) {
		strbuf_printf(err, "shunt: its files can't be written on its worker: %s\n", strerror(-t->broken));
		return 126 << 8;
	}
	/* without a free process slot, wait: other tasks end soon */
	for (int tries = 0;
	     (pid = spawner_start(&s->spawner, t->w.text, t->w.ntext, &files, env)) == -EAGAIN && tries < 50; tries++)
		usleep(20000);
	if (pid < 0) {
		strbuf_printf(err, "shunt: the command can't be started: %s\n", strerror(-pid));
		return 126 << 8;
	}
	pthread_mutex_lock(&w->lock);
	s->pid = pid;
	if (w->broken)
		kill(-pid, SIGKILL);
	else if (s->dropped || w->ending) /* it may have begun to work already */
		slot_end(s);
	s->deadline = t->w.seconds ? clock_us(CLOCK_MONOTONIC) + t->w.seconds * 1000000 : 0;
	if (s->deadline || s->kill_at || t->w.memory)
		worker_wake(w);
	pthread_mutex_unlock(&w->lock);
	return reap(s);
}

static void run(struct slot *s, struct task *t)
{
	struct worker *w = s->worker;
	struct strbuf out = {0}, err = {0}, note = {0}, dir = {0};
	char used[32], limit[32];
	bool cut = false;
	int64_t began = clock_us(CLOCK_REALTIME), since = clock_us(CLOCK_MONOTONIC);

	if (t->apart)
		task_dir(w, t->w.task, &dir);
	int status = start(s, t, t->apart ? dir.text : NULL, environment(s, t), &note);
	int64_t took = clock_us(CLOCK_MONOTONIC) - since;
	if (s->late && status == 0) /* it has ended because of SIGTERM, not because it was done */
		status = SIGTERM;
	if (t->apart && status == 0)
		status = files_return(s, t, dir.text, &note);
	if (t->apart) { /* before the result, because the task may be sent again */
		files_remove(dir.text);
		free(t->apart);
		t->apart = NULL;
	}
	output_send(s, s->out, false, &out, &cut);
	output_send(s, s->err, true, &err, &cut);
	if (s->late)
		strbuf_printf(&note, "shunt: %s at its limit, time=%" PRId64 "s\n",
			      s->killed ? "killed, as it did not end after SIGTERM," : "ended by SIGTERM",
			      t->w.seconds);
	if (s->large)
		strbuf_printf(&note, "shunt: killed with %s of memory, its limit is mem=%s\n",
			      memory_human(s->large, used, sizeof used),
			      memory_format(t->w.memory, limit, sizeof limit));
	strbuf_add(&err, strbuf_text(&note), note.n);

	pthread_mutex_lock(&w->lock);
	if (w->ending)
		worker_wake(w);
	else if (s->dropped)
		out_put(w, &(struct wire){.kind = WIRE_RETURNED, .task = t->w.task});
	else
		out_put(w, &(struct wire){.kind = WIRE_RESULT,
					  .task = t->w.task,
					  .attempt = t->w.attempt,
					  .status = status,
					  .began = began,
					  .took = took,
					  .cut = cut,
					  .text = strbuf_text(&out),
					  .ntext = out.n,
					  .err = strbuf_text(&err),
					  .nerr = err.n});
	w->cpus += t->w.cpus;
	w->gpus += t->w.gpus;
	w->memory += t->w.memory;
	w->gpus_used &= ~s->gpus;
	s->task = NULL;
	s->dropped = s->late = s->killed = false;
	s->large = 0;
	s->deadline = s->kill_at = 0;
	pthread_mutex_unlock(&w->lock);
	strbuf_fini(&out);
	strbuf_fini(&err);
	strbuf_fini(&note);
	strbuf_fini(&dir);
	task_free(w, t);
}

static void *slot_main(void *arg)
{
	struct slot *s = arg;
	struct worker *w = s->worker;

	for (bool first = true;; first = false) {
		pthread_mutex_lock(&w->lock);
		w->starting -= first;
		w->idle++;
		while (!head_fits(w))
			pthread_cond_wait(&w->work, &w->lock);
		w->idle--;
		struct task *t = list_take(w);
		w->cpus -= t->w.cpus;
		w->gpus -= t->w.gpus;
		w->memory -= t->w.memory;
		s->gpus = gpus_pick(w, t->w.gpus);
		s->task = t;
		slots_wake(w);
		pthread_mutex_unlock(&w->lock);
		run(s, t);
	}
	return NULL;
}

/* Opens an unnamed file on disk; in memory only if that is not possible. */
static int output_file(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0) {
		fd = memfd_create("output", MFD_CLOEXEC);
		if (fd >= 0)
			fcntl(fd, F_SETFL, O_APPEND);
	}
	return fd;
}

extern char **environ;

static bool names(const char *variable, const char *name)
{
	size_t n = strlen(name);

	return strncmp(variable, name, n) == 0 && variable[n] == '=';
}

static char **environment_base(struct slot *s)
{
	size_t n = 0, to = 0;

	while (environ[n])
		n++;
	char **env = mem_alloc((n + OWN_VARIABLES + 1) * sizeof *env);
	for (; to < OWN_VARIABLES; to++)
		env[to] = s->own[to];
	for (size_t i = 0; i < n; i++)
		if (names(environ[i], "CUDA_VISIBLE_DEVICES"))
			s->inherited = environ[i];
		else if (!names(environ[i], "SHUNT_TASK") && !names(environ[i], "SHUNT_ATTEMPT") &&
			 !names(environ[i], "SHUNT_CPUS"))
			env[to++] = environ[i];
	env[to] = NULL;
	return env;
}

/* Starts one more thread. If descriptors or memory are lacking, tasks wait for the existing
 * threads. */
static void slot_add(struct worker *w)
{
	pthread_attr_t attr;
	pthread_t thread;
	struct slot *s = mem_zalloc(sizeof *s);

	s->worker = w;
	s->out = output_file();
	s->err = output_file();
	s->env = environment_base(s);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (s->out < 0 || s->err < 0 || w->slots.n >= THREADS_MOST ||
	    pthread_create(&thread, &attr, slot_main, s) != 0) {
		if (s->out >= 0)
			close(s->out);
		if (s->err >= 0)
			close(s->err);
		free(s->env);
		free(s);
	} else {
		vec_push(&w->slots, s);
		w->starting++;
	}
	pthread_attr_destroy(&attr);
}

/* Wakes one thread at a time: a thread that takes a task wakes the next one. */
void slots_wake(struct worker *w)
{
	if (!head_fits(w))
		return;
	if (w->idle)
		pthread_cond_signal(&w->work);
	else if (!w->starting)
		slot_add(w);
}
