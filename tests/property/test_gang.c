/*
 * test_gang.c - attempts on several hosts, thousands of steps at random: links are cut and healed,
 * hosts lost, parts killed, the server restarted. Hosts are models here (what they have live files
 * of), links are real. After every step, and after every report:
 *
 * - the outcome of an attempt is reported once, and is true: refused: its script never ran; ended:
 *   it did, and that was its status
 * - nothing of the attempt runs any more then: a later attempt never runs beside an earlier one
 * - in the end all outcomes are reported, and no host keeps anything
 *
 * SHUNT_SEED=n tries that one again.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/vec.h"
#include "engine/engine.h"

#define HOSTS 4
#define JOBS 10
#define STEPS 3000
#define SEEDS 4

enum file_state { OPENING, OPEN, RUNS, ENDED, LOST };
static const char *const words[] = {"runs", "ready", "runs", "ended", "lost"};

struct file { /* an attempt's part at its host: a live file */
	char tag[32];
	enum file_state state;
	bool room;
	int status;
	const char *cause;
};

struct model;
struct wire {
	struct host *host;
	struct link *near, *away;
	bool cut;
	int closed;
};

struct host {
	struct model *m;
	char name[16];
	struct wire *wire;
	VEC(struct file) files;
};

enum job_state { JOB_WAITS, JOB_ORDERED, JOB_TOLD, JOB_STORED };

struct job { /* the server's view of it */
	int attempt;
	enum job_state state;
	bool ended;		  /* told and stored */
	const char *names[HOSTS]; /* names of its hosts */
	int n;
	int told;   /* what, since the server's start */
	int ran;    /* how often the script of this attempt was started */
	int status; /* what it ended with */
};

enum { TOLD_REFUSED = 1, TOLD_ENDED, TOLD_LOST };

struct model {
	struct rng r;
	uint64_t seed;
	int step;
	bool calm; /* nothing goes wrong any more */
	uv_loop_t *server, *agents;
	struct engine *e;
	bool swept;
	struct host host[HOSTS];
	struct job job[JOBS];
};

static VEC(uv_loop_t *) loops; /* loops of killed servers, until their links are closed */

#define check(m, condition, ...)                                                                                       \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			print_error("seed %llu, step %d: ", (unsigned long long)(m)->seed, (m)->step);                 \
			fail_msg(__VA_ARGS__);                                                                         \
		}                                                                                                      \
	} while (0)

static bool chance(struct model *m, int percent)
{
	return (int)rng_below(&m->r, 100) < percent;
}

static struct job *job_of(struct model *m, const char *tag, int *ret_attempt)
{
	int number;

	check(m, sscanf(tag, "%d.%d", &number, ret_attempt) == 2 && number < JOBS, "%s is no tag", tag);
	return &m->job[number];
}

static void job_tag(const struct model *m, const struct job *j, char tag[32])
{
	snprintf(tag, 32, "%d.%d", (int)(j - m->job), j->attempt);
}

static bool is_live(const struct file *f)
{
	return f->state <= RUNS;
}

/* ---- hosts ---- */

static struct file *file_find(struct host *h, const char *tag)
{
	for (size_t i = 0; i < h->files.n; i++)
		if (strcmp(h->files.v[i].tag, tag) == 0)
			return &h->files.v[i];
	return NULL;
}

static void file_remove(struct host *h, struct file *f)
{
	vec_remove(&h->files, (size_t)(f - h->files.v));
}

static json_t *file_result(const struct file *f)
{
	return json_pack("{s:s,s:s,s:i,s:s,s:i,s:i}", "tag", f->tag, "how", "exited", "status", f->status, "cause",
			 f->cause, "cpu_ms", 1, "memory_kib", 1);
}

static void file_say(struct host *h, const struct file *f, const char *type)
{
	if (!h->wire)
		return;
	if (f->state == ENDED)
		link_pack(h->wire->away, NULL, 0, "{s:s,s:o}", "t", type, "result", file_result(f));
	else
		link_pack(h->wire->away, NULL, 0, "{s:s,s:s,s:i}", "t", type, "tag", f->tag, "pid", 1);
}

static void file_end(struct host *h, struct file *f, const char *cause)
{
	int attempt;
	struct job *j = job_of(h->m, f->tag, &attempt);

	if (!is_live(f))
		return;
	f->state = ENDED;
	f->cause = cause;
	f->status = (int)rng_below(&h->m->r, 200);
	if (!f->room && attempt == j->attempt)
		j->status = f->status;
	file_say(h, f, "ended");
}

/* Nothing of an earlier attempt may run anywhere. */
static void check_alone(struct model *m, const char *tag)
{
	int attempt, other;
	struct job *j = job_of(m, tag, &attempt);

	check(m, attempt == j->attempt, "%s is started, but attempt %d is under way", tag, j->attempt);
	for (int i = 0; i < HOSTS; i++)
		for (size_t k = 0; k < m->host[i].files.n; k++) {
			struct file *f = &m->host[i].files.v[k];
			check(m, job_of(m, f->tag, &other) != j || other == attempt || !is_live(f),
			      "%s is started while %s runs on %s", tag, f->tag, m->host[i].name);
		}
}

static void file_start(struct host *h, const char *tag, bool room)
{
	struct file f = {.room = room, .state = room ? OPENING : RUNS};
	int attempt;

	snprintf(f.tag, sizeof f.tag, "%s", tag);
	if (file_find(h, tag) || (!h->m->calm && chance(h->m, 5))) {
		if (h->wire)
			link_pack(h->wire->away, NULL, 0, "{s:s,s:s,s:s}", "t", "refused", "tag", tag, "reason", "no");
		return;
	}
	check_alone(h->m, tag);
	if (!room) {
		struct job *j = job_of(h->m, tag, &attempt);
		check(h->m, ++j->ran == 1, "%s is started twice", tag);
		for (int i = 1; i < j->n; i++) {
			struct host *other = &h->m->host[j->names[i][1] - '0'];
			struct file *r = file_find(other, tag);
			check(h->m, r && r->state != OPENING, "%s is started before its room on %s", tag, other->name);
		}
	}
	vec_push(&h->files, f);
	file_say(h, &f, "started");
}

static void on_away_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct wire *wire = context;
	struct host *h = wire->host;
	const char *t = json_string_value(json_object_get(head, "t"));
	const json_t *order = json_object_get(head, "order");
	const char *tag = json_string_value(json_object_get(order ? order : head, "tag"));
	int signal = (int)json_integer_value(json_object_get(head, "signal"));
	struct file *f;

	if (wire->cut)
		return;
	f = file_find(h, tag);
	if (strcmp(t, "order") == 0)
		file_start(h, tag, json_is_true(json_object_get(order, "room")));
	else if (strcmp(t, "signal") == 0 && f && (f->room || signal == SIGKILL || chance(h->m, 50)))
		file_end(h, f, "ordered");
	else if ((strcmp(t, "forget") == 0 || strcmp(t, "clean") == 0) && f) {
		check(h->m, *t == 'c' || !is_live(f), "%s is forgotten, and runs", tag);
		file_remove(h, f);
	}
}

/* ---- connections ---- */

static void on_near_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct wire *wire = context;

	if (wire->cut)
		return;
	if (strcmp(json_string_value(json_object_get(head, "t")), "hello") == 0)
		engine_host_up(wire->host->m->e, wire->host->name, l, json_object_get(head, "inventory"));
	else
		engine_frame(wire->host->m->e, wire->host->name, head, data, n);
}

static void on_wire_closed(void *context, struct link *l, const char *reason)
{
	struct wire *wire = context;

	if (++wire->closed == 2)
		free(wire);
}

static void host_cut(struct host *h)
{
	struct wire *wire = h->wire;

	if (!wire)
		return;
	wire->cut = true;
	h->wire = NULL;
	engine_host_down(h->m->e, h->name);
	link_close(wire->near, "cut");
	link_close(wire->away, "cut");
}

static void host_heal(struct host *h)
{
	static const struct link_events near = {.frame = on_near_frame, .closed = on_wire_closed};
	static const struct link_events away = {.frame = on_away_frame, .closed = on_wire_closed};
	json_t *inventory, *item;
	int fds[2];

	if (h->wire)
		return;
	inventory = json_array();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	h->wire = mem_zalloc(sizeof *h->wire);
	h->wire->host = h;
	h->wire->near = link_open(h->m->server, fds[0], NULL, &near, h->wire);
	h->wire->away = link_open(h->m->agents, fds[1], NULL, &away, h->wire);
	link_trust(h->wire->near);
	link_trust(h->wire->away);
	for (size_t i = 0; i < h->files.n; i++) {
		item = json_pack("{s:s,s:s}", "tag", h->files.v[i].tag, "state", words[h->files.v[i].state]);
		if (h->files.v[i].state == ENDED)
			json_object_set_new(item, "result", file_result(&h->files.v[i]));
		json_array_append_new(inventory, item);
	}
	link_pack(h->wire->away, NULL, 0, "{s:s,s:o}", "t", "hello", "inventory", inventory);
}

/* ---- the server ---- */

/* Checks the last report about an attempt: nothing of it runs, and the report came once. */
static struct job *tale_check(struct model *m, const char *tag, int told)
{
	int attempt;
	struct job *j = job_of(m, tag, &attempt);

	check(m, attempt == j->attempt && j->state == JOB_ORDERED && !j->told, "%s: told %d of another, or twice", tag,
	      told);
	for (int i = 0; i < HOSTS; i++) {
		struct file *f = file_find(&m->host[i], tag);
		check(m, !f || !is_live(f), "%s: told %d while it runs on %s", tag, told, m->host[i].name);
	}
	j->told = told;
	j->state = JOB_TOLD;
	return j;
}

static void on_started(void *context, const char *tag, pid_t pid)
{
	struct model *m = context;
	int attempt;
	struct job *j = job_of(m, tag, &attempt);

	check(m, attempt == j->attempt && j->ran == 1, "%s: told to run, and did not", tag);
}

static void on_refused(void *context, const struct refusal *r)
{
	struct model *m = context;

	check(m, tale_check(m, r->tag, TOLD_REFUSED)->ran == 0, "%s: refused, and ran", r->tag);
}

static void on_ended(void *context, const struct result *r)
{
	struct model *m = context;
	struct job *j = tale_check(m, r->tag, TOLD_ENDED);

	check(m, j->ran == 1 && r->status == j->status, "%s: ended with %d, not %d", r->tag, j->status, r->status);
	check(m, r->cause != CAUSE_LEASE, "%s: its lease is told as its end", r->tag);
	check(m, r->cpu_ms <= j->n && r->cpu_ms >= 1, "%s: used %d", r->tag, (int)r->cpu_ms);
}

static void on_lost(void *context, const char *tag, const char *host, const char *why)
{
	tale_check(context, tag, TOLD_LOST);
}

static bool tag_known(void *context, const char *tag)
{
	struct model *m = context;
	int attempt;
	struct job *j = job_of(m, tag, &attempt);

	return attempt == j->attempt && (j->state == JOB_ORDERED || j->state == JOB_TOLD);
}

/* Lets links that are being closed come to their end, and frees the loops that have none left. */
static void loops_sweep(void)
{
	for (size_t i = 0; i < loops.n;) {
		uv_run(loops.v[i], UV_RUN_NOWAIT);
		if (uv_loop_close(loops.v[i]) == 0) {
			free(loops.v[i]);
			vec_remove(&loops, i);
		} else {
			i++;
		}
	}
}

static void engine_begin(struct model *m)
{
	struct engine_listener l = {.attempt_started = on_started,
				    .attempt_refused = on_refused,
				    .attempt_ended = on_ended,
				    .attempt_lost = on_lost,
				    .context = m};

	m->server = mem_zalloc(sizeof *m->server);
	uv_loop_init(m->server);
	assert_int_equal(engine_create(m->server, NULL, &l, &m->e, NULL), 0);
	m->swept = false;
}

static void job_start(struct model *m, struct job *j)
{
	struct part_order parts[HOSTS] = {{0}};
	char tag[32];
	int first = (int)rng_below(&m->r, HOSTS);

	j->attempt++;
	j->n = 1 + (int)rng_below(&m->r, HOSTS);
	j->state = JOB_ORDERED;
	j->told = j->ran = 0;
	job_tag(m, j, tag);
	for (int i = 0; i < j->n; i++) {
		j->names[i] = m->host[(first + i) % HOSTS].name;
		parts[i].host = j->names[i];
		parts[i].order = (struct order){.id = "x", .tag = tag, .user = "u", .walltime = -1, .room = i > 0};
	}
	engine_start(m->e, parts, j->n);
	if (chance(m, 80))
		engine_flush(m->e);
}

static void server_restart(struct model *m)
{
	for (int i = 0; i < HOSTS; i++)
		host_cut(&m->host[i]);
	engine_stop(m->e);
	vec_push(&loops, m->server);
	loops_sweep();
	engine_begin(m);
	for (int i = 0; i < JOBS; i++) {
		struct job *j = &m->job[i];
		char tag[32];
		if (j->state != JOB_ORDERED && j->state != JOB_TOLD)
			continue;
		j->state = JOB_ORDERED;
		j->told = 0;
		job_tag(m, j, tag);
		if (engine_attach(m->e, tag, j->names, j->n) == ATTEMPT_NEVER)
			tale_check(m, tag, TOLD_REFUSED);
	}
}

/* Stores what was reported; unless the server is killed in between, it is forgotten then. */
static void job_store(struct model *m, struct job *j)
{
	char tag[32];

	job_tag(m, j, tag);
	j->state = JOB_STORED;
	j->ended = j->told == TOLD_ENDED;
	if (chance(m, 5)) {
		server_restart(m);
	} else if (j->told != TOLD_REFUSED) {
		engine_forget(m->e, tag);
		engine_flush(m->e);
	}
}

/* Its leases have run out: what it had has ended without a report. */
static void host_lose(struct host *h)
{
	host_cut(h);
	for (size_t i = 0; i < h->files.n; i++)
		file_end(h, &h->files.v[i], "lease");
	engine_host_lost(h->m->e, h->name);
}

/* ---- at random ---- */

static void part_step(struct model *m, struct host *h, struct file *f)
{
	if (f->state == OPENING) {
		f->state = OPEN;
		file_say(h, f, "ready");
	} else if (f->state == RUNS && chance(m, m->calm ? 100 : 40)) {
		file_end(h, f, "itself");
	} else if (is_live(f) && !m->calm && chance(m, 5)) {
		f->state = LOST;
		file_say(h, f, "lost");
	} else if (f->state == OPEN && !m->calm && chance(m, 3)) {
		file_end(h, f, "memory");
	}
}

static void job_step(struct model *m, struct job *j)
{
	char tag[32];

	job_tag(m, j, tag);
	if (j->state == JOB_TOLD)
		job_store(m, j);
	else if (j->state == JOB_ORDERED && !m->calm && chance(m, 10))
		engine_signal(m->e, tag, (const int[]){SIGTERM, SIGKILL, SIGUSR1}[rng_below(&m->r, 3)]);
	else if (j->state == JOB_WAITS || (j->state == JOB_STORED && (!j->ended || !m->calm)))
		job_start(m, j);
}

static void step(struct model *m)
{
	struct host *h = &m->host[rng_below(&m->r, HOSTS)];
	int dice = (int)rng_below(&m->r, 1000);

	m->step++;
	if (h->files.n)
		part_step(m, h, &h->files.v[rng_below(&m->r, h->files.n)]);
	job_step(m, &m->job[rng_below(&m->r, JOBS)]);
	if (m->calm || dice < 100)
		host_heal(h);
	else if (dice < 130)
		host_cut(h);
	else if (dice < 140)
		host_lose(h);
	else if (dice < 145)
		server_restart(m);
	if (!m->swept && (m->calm || chance(m, 10))) {
		engine_sweep(m->e, tag_known, m);
		m->swept = true;
	}
	engine_flush(m->e);
	if (m->calm || chance(m, 60))
		uv_run(m->server, UV_RUN_NOWAIT);
	if (m->calm || chance(m, 60))
		uv_run(m->agents, UV_RUN_NOWAIT);
}

static bool all_is_over(const struct model *m)
{
	for (int i = 0; i < JOBS; i++)
		if (m->job[i].state != JOB_STORED || !m->job[i].ended)
			return false;
	return true;
}

static bool nothing_is_left(const struct model *m)
{
	for (int i = 0; i < HOSTS; i++)
		if (m->host[i].files.n)
			return false;
	return true;
}

static void reconnect_all(struct model *m)
{
	for (int i = 0; i < HOSTS; i++) {
		host_cut(&m->host[i]);
		host_heal(&m->host[i]);
	}
}

static void run(uint64_t seed)
{
	struct model *m = mem_zalloc(sizeof *m);

	rng_seed(&m->r, seed);
	m->seed = seed;
	m->agents = mem_zalloc(sizeof *m->agents);
	uv_loop_init(m->agents);
	engine_begin(m);
	for (int i = 0; i < HOSTS; i++) {
		m->host[i].m = m;
		snprintf(m->host[i].name, sizeof m->host[i].name, "n%d", i);
		host_heal(&m->host[i]);
	}
	while (m->step < STEPS)
		step(m);
	m->calm = true;
	while (!all_is_over(m)) {
		step(m);
		check(m, m->step < 20 * STEPS, "some are never told");
		if (m->step % 100 == 0) /* the time from SIGTERM to SIGKILL passes */
			usleep(1000);
	}
	reconnect_all(m); /* results that were stored and not forgotten are nobody's */
	for (int i = 0; i < 20000 && !nothing_is_left(m); i++) {
		uv_run(m->server, UV_RUN_NOWAIT);
		uv_run(m->agents, UV_RUN_NOWAIT);
	}
	check(m, nothing_is_left(m), "something is left");
	for (int i = 0; i < HOSTS; i++) {
		host_cut(&m->host[i]);
		vec_free(&m->host[i].files);
	}
	engine_stop(m->e);
	vec_push(&loops, m->server);
	vec_push(&loops, m->agents);
	for (int i = 0; i < 10000 && loops.n; i++) {
		loops_sweep();
		usleep(1000);
	}
	assert_int_equal(loops.n, 0);
	free(m);
}

static void test_random(void **state)
{
	const char *seed = getenv("SHUNT_SEED");

	if (seed)
		run(strtoull(seed, NULL, 10));
	for (uint64_t i = 1; !seed && i <= SEEDS; i++)
		run(i);
}

int main(void)
{
	const struct CMUnitTest all[] = {cmocka_unit_test(test_random)};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("property-gang", all, NULL, NULL);
}
