/*
 * pool_host.c - runs tasks of other stations and our own on this machine: they wait for a free
 * processor, run under their keepers, and their output and result go to their origin.
 *
 * A task's end is reported after its whole output has been sent. When the link of its origin is
 * closed, the task is killed without a report: the origin relies on that.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/logline.h"
#include "run/hold.h"
#include "run/lease.h"
#include "station/pool_internal.h"

#define WINDOW (1 << 20) /* maximum bytes of output in transit */
#define INPUT_MOST (4 << 20)
#define KEEPER_US 200000 /* microseconds from the end of a lease until a keeper must have ended its task */

enum stage {
	QUEUED,
	RUNNING,
	LEAVING, /* killed for our own reasons: its origin may start it elsewhere */
	DROPPED	 /* killed because its result is not needed */
};

struct host_task {
	struct pool *pool;
	struct host_task *next;
	struct guest *guest;
	struct arena *arena; /* owns `start` */
	struct peer_start start;
	enum stage stage;
	struct pool_task task;
	uv_poll_t in, out, err, result;
	int open;	     /* open handles of these four */
	int64_t window;	     /* bytes of output that may still be sent */
	bool out_on, err_on; /* true until EOF */
	struct strbuf input; /* input that the task has not read yet */
	size_t input_at;
	bool input_end;
	struct pool_result got;
	size_t ngot;
};

int host_tasks(const struct pool *p, int64_t *ret_cpu_ms)
{
	int n = 0;

	*ret_cpu_ms = p->spent_ms;
	for (const struct host_task *t = p->tasks; t; t = t->next, n++)
		if (t->stage != QUEUED) { /* until its end is counted in spent_ms */
			int64_t ms;
			hold_running(t->task.keeper, &ms);
			*ret_cpu_ms += ms;
		}
	return n;
}

static struct host_task *task_of(struct guest *g, uint64_t id)
{
	struct host_task *t = g->pool->tasks;

	while (t && (t->guest != g || t->start.id != id))
		t = t->next;
	return t;
}

/* Sends a frame without data. */
static void note_send(const struct host_task *t, const char *type, int64_t number)
{
	struct peer_note note = {.id = t->start.id, .n = number};

	link_record(t->guest->link, type, &peer_note_frame, &note);
}

static void task_free(struct host_task *t)
{
	struct guest *g = t->guest;

	for (struct host_task **at = &t->pool->tasks; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	g->tasks--;
	guest_release(g);
	if (t->pool->stopping && !t->pool->tasks)
		guests_stop(t->pool);
	arena_destroy(t->arena);
	strbuf_fini(&t->input);
	free(t);
}

/* ---- its end ---- */

static void end_tell(struct host_task *t)
{
	struct guest *g = t->guest;

	if (g->gone || t->stage == DROPPED)
		return;
	if (t->ngot == sizeof t->got && t->stage != LEAVING) {
		struct peer_done done = {.id = t->start.id, .status = t->got.status & 0xffff, .cpu_ms = t->got.cpu_ms};
		link_record(g->link, "done", &peer_done_frame, &done);
	} else {
		note_send(t, "lost", 0);
	}
}

static void on_poll_closed(uv_handle_t *h)
{
	struct host_task *t = h->data;
	struct pool *p = t->pool;

	if (--t->open)
		return;
	close(t->task.control);
	waitpid(t->task.keeper, NULL, 0);
	p->spent_ms += t->got.cpu_ms;
	end_tell(t);
	task_free(t);
	host_go(p);
}

static void poll_end(uv_poll_t *u, int fd)
{
	if (uv_is_closing((uv_handle_t *)u))
		return;
	uv_close((uv_handle_t *)u, on_poll_closed);
	close(fd);
}

/* Finishes the task once its keeper has ended and its output is at EOF; pending input is then
 * useless. */
static void task_check(struct host_task *t)
{
	if (!t->out_on && !t->err_on && uv_is_closing((uv_handle_t *)&t->result))
		poll_end(&t->in, t->task.in);
}

static void on_result(uv_poll_t *u, int status, int events)
{
	struct host_task *t = u->data;
	ssize_t n = read(t->task.result, (char *)&t->got + t->ngot, sizeof t->got - t->ngot);

	if (n > 0) {
		t->ngot += (size_t)n;
		if (t->ngot < sizeof t->got)
			return;
	} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	poll_end(u, t->task.result);
	task_check(t);
}

/* ---- output ---- */

static void on_output(uv_poll_t *u, int status, int events);

static void output_watch(struct host_task *t)
{
	bool room = t->window > 0 && (t->guest->gone || link_queued(t->guest->link) < LINK_LOW);

	if (t->out_on && room)
		uv_poll_start(&t->out, UV_READABLE, on_output);
	else if (t->out_on)
		uv_poll_stop(&t->out);
	if (t->err_on && room)
		uv_poll_start(&t->err, UV_READABLE, on_output);
	else if (t->err_on)
		uv_poll_stop(&t->err);
}

static void on_output(uv_poll_t *u, int status, int events)
{
	static char buf[PEER_PIECE];
	struct host_task *t = u->data;
	bool err = u == &t->err;
	ssize_t n = read(err ? t->task.err : t->task.out, buf, sizeof buf);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		*(err ? &t->err_on : &t->out_on) = false;
		poll_end(u, err ? t->task.err : t->task.out);
		task_check(t);
		return;
	}
	if (t->guest->gone || t->stage != RUNNING)
		return;
	t->window -= n;
	link_record_data(t->guest->link, "out", &peer_note_frame,
			 &(struct peer_note){.id = t->start.id, .fd = err ? 2 : 1}, buf, (size_t)n);
	output_watch(t);
}

void host_drained(struct guest *g)
{
	for (struct host_task *t = g->pool->tasks; t; t = t->next)
		if (t->guest == g && t->stage == RUNNING)
			output_watch(t);
}

/* ---- input ---- */

static void on_input(uv_poll_t *u, int status, int events)
{
	struct host_task *t = u->data;
	ssize_t n = 0;

	if (t->input_at < t->input.n) {
		n = write(t->task.in, t->input.text + t->input_at, t->input.n - t->input_at);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) /* the task does not read: drop the rest */
			n = (ssize_t)(t->input.n - t->input_at);
		t->input_at += (size_t)n;
	}
	if (!t->guest->gone && n)
		note_send(t, "took", n);
	if (t->input_at < t->input.n)
		return;
	strbuf_clear(&t->input);
	t->input_at = 0;
	uv_poll_stop(u);
	if (t->input_end)
		poll_end(u, t->task.in);
}

static void input_add(struct host_task *t, const char *data, size_t n)
{
	if (t->input.n + n > INPUT_MOST) {
		link_close(t->guest->link, "it sends more input than was asked for");
		return;
	}
	if (n)
		strbuf_add(&t->input, data, n);
	else
		t->input_end = true;
	if (t->stage == RUNNING && !uv_is_closing((uv_handle_t *)&t->in))
		uv_poll_start(&t->in, UV_WRITABLE, on_input);
}

/* ---- leases ---- */

static void on_leases(uv_timer_t *timer);

/* Sets the timer to the instant in microseconds, unless it runs out earlier. */
static void leases_watch(struct pool *p, int64_t at)
{
	int64_t ms = at > boot_us() ? (at - boot_us()) / 1000 + 1 : 0;

	if (uv_is_closing((uv_handle_t *)&p->leases) ||
	    (uv_is_active((uv_handle_t *)&p->leases) && uv_timer_get_due_in(&p->leases) <= (uint64_t)ms))
		return;
	p->leases.data = p;
	uv_timer_start(&p->leases, on_leases, (uint64_t)ms, 0);
}

/* Ends tasks whose keepers have not done so: one that is stopped does not notice the end of its
 * lease, and the origin starts the task elsewhere. */
static void on_leases(uv_timer_t *timer)
{
	struct pool *p = timer->data;

	for (struct host_task *t = p->tasks; t; t = t->next)
		if (t->stage != QUEUED && t->guest->lease->until + KEEPER_US > boot_us())
			leases_watch(p, t->guest->lease->until + KEEPER_US);
		else if (t->stage != QUEUED)
			pool_task_end(&t->task, &p->user);
}

/* ---- its beginning ---- */

static void task_run(struct host_task *t)
{
	struct pool *p = t->pool;
	struct err err;

	t->start.env = station_gpus_environment(p, t->arena, t->start.env);
	if (pool_task_start(&t->start, &p->user, t->guest->lease, &t->task, &err) < 0) {
		log_line(SEVERITY_ERROR, "a task can't be started: %s", err.text);
		end_tell(t);
		task_free(t);
		return;
	}
	t->stage = RUNNING;
	leases_watch(p, t->guest->lease->until + KEEPER_US);
	t->out_on = t->err_on = true;
	t->open = 4;
	uv_poll_init(p->loop, &t->in, t->task.in);
	uv_poll_init(p->loop, &t->out, t->task.out);
	uv_poll_init(p->loop, &t->err, t->task.err);
	uv_poll_init(p->loop, &t->result, t->task.result);
	t->in.data = t->out.data = t->err.data = t->result.data = t;
	uv_poll_start(&t->result, UV_READABLE, on_result);
	output_watch(t);
	if (t->input.n || t->input_end)
		uv_poll_start(&t->in, UV_WRITABLE, on_input);
	note_send(t, "began", 0);
}

static bool same_job(const struct host_task *a, const struct host_task *b)
{
	return a->guest == b->guest && a->start.job == b->start.job && a->start.priority == b->start.priority;
}

/* Returns the task to start next: the oldest or, where the policy has priorities, of the job of the
 * oldest task of the highest priority the one with the longest path. Paths of different jobs are
 * not compared: that would start the longest job first. The list begins with the newest. */
static struct host_task *next_find(const struct pool *p, int *ret_running)
{
	bool priorities = place_priorities(p->conf.rule.policy);
	struct host_task *first = NULL, *best;

	*ret_running = 0;
	for (struct host_task *t = p->tasks; t; t = t->next)
		if (t->stage != QUEUED)
			++*ret_running;
		else if (!first || !priorities || t->start.priority >= first->start.priority)
			first = t;
	best = first;
	for (struct host_task *t = priorities && first ? p->tasks : NULL; t; t = t->next)
		if (t->stage == QUEUED && same_job(t, first) && t->start.path >= best->start.path)
			best = t;
	return best;
}

void host_go(struct pool *p)
{
	for (;;) {
		int running;
		struct host_task *t = next_find(p, &running);
		if (!t || running >= p->mine.cpus || p->mine.closed || p->stopping)
			return;
		task_run(t);
	}
}

static void on_start(struct guest *g, const json_t *head, const char *data, size_t n)
{
	struct host_task *t = mem_zalloc(sizeof *t);
	struct err err;

	*t = (struct host_task){.pool = g->pool, .guest = g, .arena = arena_create(), .window = WINDOW};
	if (peer_start_read(head, data, n, t->arena, &t->start, &err) < 0) {
		link_close(g->link, err.text);
		arena_destroy(t->arena);
		free(t);
		return;
	}
	t->next = g->pool->tasks;
	g->pool->tasks = t;
	g->tasks++;
	host_go(g->pool);
}

static void task_end(struct host_task *t, enum stage why)
{
	char tag[POOL_TAG_SIZE];

	t->stage = why;
	t->window = INT64_MAX;
	if (write(t->task.control, &(char){SIGKILL}, 1) != 1)
		kill(t->task.keeper, SIGKILL);
	if (t->pool->mine.closed) /* frozen processes in a version 1 group do not die */
		hold_continue(t->task.keeper, pool_task_tag(t->task.keeper, tag), false);
	output_watch(t);
}

static void task_drop(struct host_task *t)
{
	if (t->stage == QUEUED)
		task_free(t);
	else
		task_end(t, DROPPED);
}

static void task_signal(struct host_task *t, int64_t number)
{
	if (number < 1 || number > 64)
		return;
	if (t->stage == RUNNING) {
		if (write(t->task.control, &(char){(char)number}, 1) != 1)
			log_line(SEVERITY_WARNING, "a signal can't be passed on: %s", strerror(errno));
	} else if (t->stage == QUEUED && (number == SIGKILL || number == SIGTERM || number == SIGINT)) {
		t->got.status = (int)number;
		t->ngot = sizeof t->got;
		end_tell(t);
		task_free(t);
	}
}

void host_frame(struct guest *g, const char *type, json_t *head, const char *data, size_t n)
{
	struct peer_note note;
	bool good = record_load(peer_note_frame.fields, 0, head, &note, NULL, NULL) == 0;
	struct host_task *t = good ? task_of(g, note.id) : NULL;

	if (strcmp(type, "start") == 0 && !t)
		on_start(g, head, data, n);
	else if (!t)
		return; /* it has ended, and the origin does not know yet */
	else if (strcmp(type, "input") == 0)
		input_add(t, data, n);
	else if (strcmp(type, "signal") == 0)
		task_signal(t, note.n);
	else if (strcmp(type, "forget") == 0)
		task_drop(t);
	else if (strcmp(type, "more") == 0 && note.n > 0 && t->window < WINDOW) {
		t->window += note.n;
		if (t->stage == RUNNING)
			output_watch(t);
	}
}

void host_drop(struct guest *g)
{
	struct pool *p = g->pool;
	struct host_task *next;

	for (struct host_task *t = p->tasks; t; t = next) {
		next = t->next;
		if (t->guest == g)
			task_drop(t);
	}
	leases_watch(p, boot_us() + KEEPER_US);
}

void host_hold(struct pool *p, bool hold)
{
	char tag[POOL_TAG_SIZE];

	for (struct host_task *t = p->tasks; t; t = t->next)
		if (t->stage == RUNNING && hold)
			hold_stop(t->task.keeper, pool_task_tag(t->task.keeper, tag));
		else if (t->stage == RUNNING)
			hold_continue(t->task.keeper, pool_task_tag(t->task.keeper, tag), false);
}

void host_memory(struct pool *p, int64_t spare)
{
	char tag[POOL_TAG_SIZE];
	bool first = true;

	for (struct host_task *t = p->tasks; t; t = t->next) {
		if (t->stage != RUNNING)
			continue;
		pool_task_tag(t->task.keeper, tag);
		if (first)
			hold_memory(t->task.keeper, tag, spare);
		if (p->guard.sentry.act != OWNER_RUN)
			hold_reclaim(t->task.keeper, tag);
		first = false;
	}
}

void host_pids(const struct pool *p, pid_list *ret)
{
	pid_list below = {0};

	for (const struct host_task *t = p->tasks; t; t = t->next) {
		if (t->stage == QUEUED)
			continue;
		vec_push(ret, t->task.keeper);
		below.n = 0;
		tree_list(t->task.keeper, &below);
		for (size_t i = 0; i < below.n; i++)
			vec_push(ret, below.v[i]);
	}
	vec_free(&below);
	census_sort(ret);
}

int host_running(const struct pool *p)
{
	int64_t cpu_ms;
	int n = 0;

	for (const struct host_task *t = p->tasks; t; t = t->next)
		if (t->stage == RUNNING)
			n += hold_running(t->task.keeper, &cpu_ms);
	return n;
}

int host_leave(struct pool *p, int64_t *ret_cpu_ms)
{
	struct host_task *next;
	int n = 0;

	*ret_cpu_ms = 0;
	for (struct host_task *t = p->tasks; t; t = next) {
		next = t->next;
		if (t->stage == QUEUED) {
			end_tell(t);
			task_free(t);
		} else if (t->stage == RUNNING) {
			int64_t ms;
			hold_running(t->task.keeper, &ms);
			*ret_cpu_ms += ms;
			n++;
			task_end(t, LEAVING);
		}
	}
	return n;
}

json_t *host_list(const struct pool *p)
{
	json_t *all = json_object(), *list = json_array(), *n;
	const char *name;

	for (const struct host_task *t = p->tasks; t; t = t->next)
		if (t->stage != QUEUED)
			json_object_set_new(all, t->guest->name,
					    json_integer(1 + json_integer_value(json_object_get(all, t->guest->name))));
	json_object_foreach(all, name, n)
	{
		json_array_append_new(list, json_pack("{s:s,s:O}", "from", name, "tasks", n));
	}
	json_decref(all);
	return list;
}

/* Stops all tasks. The origins must learn that their tasks are lost before their links are
 * closed. */
void host_stop(struct pool *p)
{
	int64_t ms;

	host_leave(p, &ms);
	if (!p->tasks)
		guests_stop(p);
}
