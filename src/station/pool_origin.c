/*
 * pool_origin.c - tasks started by commands on this machine, kept until their result is known,
 * wherever they run.
 *
 *	WAITING --place--> PLACED --done--> FINISHED --output delivered--> gone
 *	   ^                 |  link closed
 *	   +---- lost -------+----> LIMBO: it may still run until its lease ends
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "station/pool_internal.h"

#define INPUT_WINDOW (256 << 10) /* maximum bytes of input in transit */
/* bytes of input kept per task; one that had more cannot be restarted */
#define INPUT_KEPT (16 << 20)
#define OUTPUT_KEPT (256 << 20)
#define ATTEMPTS_MOST 20
#define START_MAX (1u << 20) /* largest arguments and environment, bytes */

enum stage {
	WAITING,
	RESERVED, /* its host is chosen, but the link is not open yet */
	PLACED,
	LIMBO,
	FINISHED
};

struct errand {
	struct pool *pool;
	struct errand *next, *prev; /* list of all tasks */
	struct waiting waits;
	struct client *client;
	int number;
	struct arena *arena;
	struct peer_start start;
	struct pool_need need;
	enum stage stage;
	struct host *host;
	char where[PEER_NAME_SIZE];
	int64_t free_at; /* LIMBO: when none of its processes can be running any more */
	int attempts, killed;
	bool live, shown; /* output is delivered as it arrives; some has been */
	int64_t owed;	  /* bytes of output that its host may send once the client has taken as many */
	struct strbuf out[2];
	size_t out_at[2];
	struct strbuf input;
	int64_t dropped, sent, taken; /* bytes of input: no longer kept; sent; read by the task */
	bool input_end, end_sent;
	struct peer_done done;
};

/* ---- lists ---- */

/* Sends a frame about a placed task to its host. */
static void note_send(const struct errand *e, const char *type, int64_t number, const void *data, size_t n)
{
	link_record_data(e->host->link, type, &peer_note_frame, &(struct peer_note){.id = e->start.id, .n = number},
			 data, n);
}

/* Counts a task that comes to a station, which pool_table_choose() has chosen, or leaves it. */
static void host_count(struct host *h, int change)
{
	struct pool_entry *entry = pool_table_find(&h->pool->table, h->name);

	h->tasks += change;
	entry->own = h->tasks;
	if (change < 0)
		pool_table_ended(&h->pool->table, entry);
}

static void stage_set(struct errand *e, enum stage stage, struct host *h)
{
	struct errands *all = &e->pool->errands;

	if (e->host && e->host != h)
		host_count(e->host, -1);
	if (h && e->host != h)
		host_count(h, 1);
	if (e->stage == PLACED)
		map_remove(&all->placed, e->start.id);
	all->limbo += (stage == LIMBO) - (e->stage == LIMBO);
	all->finished += (stage == FINISHED) - (e->stage == FINISHED);
	e->stage = stage;
	e->host = h;
}

/* A job that has no waiting task comes after all that have one. */
static void task_wait(struct errand *e)
{
	struct errands *all = &e->pool->errands;

	if (!e->client->waiting++)
		e->client->turn = ++all->turns;
	e->waits = (struct waiting){
		.task = e, .priority = e->start.priority, .path = e->start.path, .job = e->client->turn};
	waiting_add(&all->waiting, &e->waits);
	stage_set(e, WAITING, NULL);
}

static void task_unwait(struct errand *e)
{
	waiting_remove(&e->pool->errands.waiting, &e->waits);
	e->client->waiting--;
}

static void all_add(struct errand *e)
{
	struct errands *all = &e->pool->errands;

	e->prev = all->last;
	*(e->prev ? &e->prev->next : &all->first) = e;
	all->last = e;
}

static void errand_drop(struct errand *e)
{
	arena_destroy(e->arena);
	strbuf_fini(&e->out[0]);
	strbuf_fini(&e->out[1]);
	strbuf_fini(&e->input);
	free(e);
}

static void errand_free(struct errand *e)
{
	struct errands *all = &e->pool->errands;

	if (e->stage == WAITING)
		task_unwait(e);
	stage_set(e, RESERVED, NULL);
	*(e->prev ? &e->prev->next : &all->first) = e->next;
	*(e->next ? &e->next->prev : &all->last) = e->prev;
	if (e->client->reader == e)
		e->client->reader = NULL;
	errand_drop(e);
}

size_t origin_waiting(const struct pool *p)
{
	return p->errands.waiting.n;
}

/* ---- its end ---- */

static void output_send(const struct errand *e, int fd, const void *data, size_t n)
{
	link_record_data(e->client->link, "out", &peer_outcome_frame,
			 &(struct peer_outcome){.task = e->number, .fd = fd}, data, n);
}

/* Sends output in pieces, as fast as the client accepts it, then the result. */
static void deliver(struct errand *e)
{
	struct link *l = e->client->link;

	for (int i = 0; i < 2; i++)
		while (e->out_at[i] < e->out[i].n) {
			size_t n = e->out[i].n - e->out_at[i];
			if (link_queued(l) >= LINK_LOW)
				return;
			n = n < PEER_PIECE ? n : PEER_PIECE;
			output_send(e, i + 1, e->out[i].text + e->out_at[i], n);
			e->out_at[i] += n;
		}
	link_record(l, "done", &peer_outcome_frame,
		    &(struct peer_outcome){.task = e->number,
					   .status = e->done.status,
					   .cpu_ms = e->done.cpu_ms,
					   .where = e->where,
					   .attempts = e->attempts});
	errand_free(e);
}

static void finish(struct errand *e, const struct peer_done *done)
{
	if (e->stage == WAITING)
		task_unwait(e);
	stage_set(e, FINISHED, NULL);
	e->done = *done;
	deliver(e);
}

static void fail_tell(const struct errand *e, const char *why)
{
	link_record(e->client->link, "failed", &peer_outcome_frame,
		    &(struct peer_outcome){.task = e->number, .why = why, .where = e->where});
}

static void fail(struct errand *e, const char *why)
{
	fail_tell(e, why);
	errand_free(e);
}

/* Requeues a task that has no result and is not running anywhere. */
static void again(struct errand *e)
{
	if (e->killed)
		finish(e, &(struct peer_done){.status = e->killed});
	else if (e->shown)
		fail(e, "its station was lost, and it can't be started again since some of its output was shown");
	else if (e->dropped)
		fail(e, "its station was lost, and it can't be started again since its input was too large to be kept");
	else if (e->attempts >= ATTEMPTS_MOST)
		fail(e, "its stations were lost again and again");
	else {
		strbuf_clear(&e->out[0]);
		strbuf_clear(&e->out[1]);
		e->sent = e->taken = e->owed = 0;
		e->end_sent = false;
		task_wait(e);
	}
}

/* ---- input ---- */

static void input_send(struct errand *e)
{
	int64_t have = e->dropped + (int64_t)e->input.n;

	if (e->stage != PLACED)
		return;
	while (e->sent < have && e->sent - e->taken < INPUT_WINDOW) {
		size_t n = (size_t)(have - e->sent) < PEER_PIECE ? (size_t)(have - e->sent) : PEER_PIECE;
		note_send(e, "input", 0, e->input.text + (e->sent - e->dropped), n);
		e->sent += (int64_t)n;
	}
	if (e->sent == have && e->input_end && !e->end_sent) {
		e->end_sent = true;
		note_send(e, "input", 0, NULL, 0);
	}
	if (e->input.n > INPUT_KEPT && e->sent > e->dropped) {
		size_t gone = (size_t)(e->sent - e->dropped);
		memmove(e->input.text, e->input.text + gone, e->input.n - gone);
		e->input.n -= gone;
		e->dropped = e->sent;
	}
}

void errand_input(struct pool *p, struct client *c, int number, const char *data, size_t n)
{
	struct errand *e = c->reader;

	if (!e || e->number != number)
		return;
	if (n)
		strbuf_add(&e->input, data, n);
	else
		e->input_end = true;
	input_send(e);
}

bool errands_flooded(const struct pool *p, const struct client *c)
{
	const struct errand *e = c->reader;

	return e && e->dropped + (int64_t)e->input.n - e->sent > 4 * INPUT_WINDOW;
}

/* ---- its way to a host ---- */

static void place_at(struct errand *e, struct host *h)
{
	struct strbuf data = {0};
	char *text;

	if (e->stage == WAITING)
		task_unwait(e);
	stage_set(e, h->welcome ? PLACED : RESERVED, h);
	if (!h->welcome)
		return;
	e->attempts++;
	e->start.id = ++e->pool->next_id;
	map_set(&e->pool->errands.placed, e->start.id, (uintptr_t)e);
	strcpy(e->where, h->name);
	text = peer_start_write(&e->start, &data);
	link_send(h->link, text, strlen(text), data.text, data.n);
	free(text);
	strbuf_fini(&data);
	input_send(e);
}

static bool same_need(const struct pool_need *a, const struct pool_need *b)
{
	return a && a->memory == b->memory && strcmp(a->arch, b->arch) == 0;
}

void origin_place(struct pool *p)
{
	const struct pool_need *refused = NULL; /* most tasks need what the previous one needs */
	int64_t now = pool_now();
	struct errand *next;

	for (struct errand *e = p->errands.limbo ? p->errands.first : NULL; e; e = next) {
		next = e->next;
		if (e->stage == LIMBO && now >= e->free_at)
			again(e);
	}
	for (struct waiting *w = p->errands.waiting.first[0], *after; w && !p->stopping; w = after) {
		struct errand *e = w->task;
		after = w->after[0];
		if (same_need(refused, &e->need))
			continue;
		struct pool_entry *entry = pool_table_choose(&p->table, &e->need, now, pool_interval(p));
		if (entry)
			place_at(e, host_want(p, entry->member.name));
		else if (!e->need.arch[0] && !e->need.memory)
			break; /* no station accepts tasks */
		else
			refused = &e->need;
	}
}

void errand_add(struct pool *p, struct client *c, int number, const struct peer_start *start,
		const struct pool_need *need, bool live, bool input)
{
	struct errand *e = mem_zalloc(sizeof *e);
	struct strbuf data = {0};
	char *text = peer_start_write(start, &data);
	json_t *head = json_loads(text, 0, NULL);
	const char *why = NULL;
	struct err err;

	*e = (struct errand){.pool = p,
			     .client = c,
			     .number = number,
			     .arena = arena_create(),
			     .need = *need,
			     .live = live,
			     .stage = RESERVED,
			     .input_end = !input};
	if (!pool_table_has(&p->table, need))
		why = "no station of the pool has what it needs: see 'shunt pool status'";
	else if (data.n > START_MAX)
		why = "its arguments and its environment are longer than 1 MB";
	else if (peer_start_read(head, data.text, data.n, e->arena, &e->start, &err) < 0)
		why = err.text;
	if (why) {
		fail_tell(e, why);
		errand_drop(e);
	} else {
		e->start.memory = need->memory; /* it gets as much as it requested, not more */
		e->start.job = c->number;
		all_add(e);
		task_wait(e);
		if (input)
			c->reader = e;
	}
	json_decref(head);
	free(text);
	strbuf_fini(&data);
}

/* ---- frames from hosts ---- */

static void owed_pay(struct errand *e)
{
	if (e->stage == PLACED && e->owed && (!e->live || link_queued(e->client->link) < LINK_LOW)) {
		note_send(e, "more", e->owed, NULL, 0);
		e->owed = 0;
	}
}

static void on_out(struct errand *e, int fd, const char *data, size_t n)
{
	e->owed += (int64_t)n;
	if (e->live) {
		e->client->live = e->shown = true;
		output_send(e, fd, data, n);
	} else {
		strbuf_add(&e->out[fd - 1], data, n);
	}
	owed_pay(e);
	if (e->out[fd - 1].n > OUTPUT_KEPT) {
		note_send(e, "forget", 0, NULL, 0);
		fail(e, "it writes more than 256 MB: use --live, which keeps nothing");
	}
}

/* Returns true if the end of a task lets others of its graph start: the command sends them, then
 * `go`. They may be more urgent than those that wait already, so the place is left to them until
 * then, or until the next tick. */
static bool releases(const struct errand *e, const struct peer_done *done)
{
	return e->start.path > 0 && done->status == 0;
}

void origin_frame(struct host *h, const char *t, json_t *head, const char *data, size_t n)
{
	struct pool *p = h->pool;
	struct peer_note note;
	struct peer_done done;
	struct errand *e;
	uint64_t found;

	if (record_load(peer_note_frame.fields, 0, head, &note, NULL, NULL) < 0 ||
	    !map_get(&p->errands.placed, note.id, &found))
		return;
	e = (struct errand *)(uintptr_t)found;
	if (e->host != h)
		return; /* from an abandoned attempt */
	if (strcmp(t, "out") == 0 && (note.fd == 1 || note.fd == 2)) {
		on_out(e, note.fd, data, n);
	} else if (strcmp(t, "took") == 0) {
		e->taken += note.n;
		input_send(e);
	} else if (strcmp(t, "done") == 0 && record_load(peer_done_frame.fields, 0, head, &done, NULL, NULL) == 0) {
		bool first = releases(e, &done);
		finish(e, &done);
		if (!first)
			origin_place(p);
	} else if (strcmp(t, "lost") == 0) {
		again(e);
	}
}

void origin_welcome(struct host *h)
{
	for (struct errand *e = h->tasks ? h->pool->errands.first : NULL; e; e = e->next)
		if (e->stage == RESERVED && e->host == h)
			place_at(e, h);
}

void origin_lost(struct host *h)
{
	for (struct errand *e = h->tasks ? h->pool->errands.first : NULL; e; e = e->next)
		if (e->stage == RESERVED && e->host == h) {
			task_wait(e);
		} else if (e->stage == PLACED && e->host == h) {
			stage_set(e, LIMBO, NULL);
			e->free_at = pool_lease_end(h->pool, h);
		}
}

/* ---- requests of clients ---- */

void errands_drained(struct pool *p, struct client *c)
{
	struct errand *next;

	for (struct errand *e = p->errands.finished || c->live ? p->errands.first : NULL; e; e = next) {
		next = e->next;
		if (e->client == c && e->stage == FINISHED)
			deliver(e);
		else if (e->client == c)
			owed_pay(e);
	}
}

void origin_signal(struct pool *p, struct client *c, int signal)
{
	bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGKILL;
	struct errand *next;

	for (struct errand *e = p->errands.first; e; e = next) {
		next = e->next;
		if (e->client != c || e->stage == FINISHED)
			continue;
		if (ends)
			e->killed = signal;
		if (e->stage == PLACED)
			note_send(e, "signal", signal, NULL, 0);
		else if ((e->stage == WAITING || e->stage == RESERVED) && ends)
			again(e);
	}
}

void errands_drop(struct pool *p, struct client *c)
{
	struct errand *next;

	for (struct errand *e = p->errands.first; e; e = next) {
		next = e->next;
		if (e->client != c)
			continue;
		if (e->stage == PLACED)
			note_send(e, "forget", 0, NULL, 0);
		errand_free(e);
	}
}

void origin_stop(struct pool *p)
{
	while (p->errands.first)
		errand_free(p->errands.first);
	map_fini(&p->errands.placed);
}
