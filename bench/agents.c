/*
 * agents.c - many agents in one process, to measure a server: each joins with its own key, has its
 * own link, and handles orders like an agent, except that nothing runs: a job starts when its order
 * arrives, and ends by itself.
 *
 *	bench_agents SERVER TOKEN N CPUS MS
 *
 * There are N nodes a1, a2, ... with CPUS processors each; every job takes MS milliseconds.
 *
 * Prints "joined", "connected" (all of them, again after each loss) and "lost" (the first of them),
 * each with the seconds since the previous one. Ends when its input ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/ask.h"
#include "base/descriptors.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bench.h"
#include "net/link.h"
#include "run/order.h"

#define PROTOCOL 1
#define WAIT_LEAST 200 /* ms between two attempts to connect, as in agent/session.c */
#define WAIT_MOST 15000

struct job {
	char tag[64];
	struct agent *agent;
	int64_t started_us, ended_us; /* ended_us 0: it is running */
	bool told;		      /* true if its end was reported on the current link */
	uint64_t due;		      /* uv_now() of its end */
};

struct agent {
	struct fleet *fleet;
	char name[16];
	char *cert, *key;
	struct tls_context *tls;
	struct link *link;
	uv_timer_t timer; /* next attempt to connect; next ping */
	uint64_t heartbeat;
	int failures;
	bool welcome;
	uint64_t n;		/* number of the last ping */
	VEC(struct job *) jobs; /* jobs that the server has not asked to forget */
};

struct fleet {
	uv_loop_t *loop;
	const char *where;
	char *ca;
	struct agent *agents;
	int n, connected;
	bool whole; /* all were connected, and "lost" was not printed since */
	uint64_t takes;
	json_t *facts;
	uint64_t epoch;
	struct rng rng;
	double spoke;
	uv_timer_t ends;	/* end of the first job of the line */
	VEC(struct job *) line; /* running jobs in the order of their ends, from `first` on */
	size_t first;
};

static void say(struct fleet *f, const char *word)
{
	double now = bench_seconds();

	printf("%s %.3f\n", word, now - f->spoke);
	fflush(stdout);
	f->spoke = now;
}

static int64_t wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- joining ---- */

static json_t *facts_make(int cpus)
{
	json_t *os = json_array();

	for (int i = 0; i < cpus; i++)
		json_array_append_new(os, json_integer(i));
	return json_pack("{s:i,s:o,s:i,s:i,s:[],s:i,s:i,s:i,s:s,s:i,s:s,s:s,s:s,s:s}", "cpus", cpus, "os_cpus", os,
			 "memory", 64 << 20, "gpus", 0, "gpu_names", "sockets", 1, "cores", cpus, "numa", 1, "model",
			 "simulated", "speed", 1000, "kernel", "none", "os", "none", "hostname", "simulated", "cgroup",
			 "none");
}

static void agent_join(struct agent *a, const char *token, const char *fingerprint)
{
	struct fleet *f = a->fleet;
	struct strbuf key = {0}, csr = {0};
	struct ask_answer answer;
	struct err err;
	json_t *body;

	if (pki_key(&key, &err) < 0 || pki_request(key.text, &csr, &err) < 0)
		bench_fail("%s: %s", a->name, err.text);
	body = json_pack("{s:s,s:s,s:s,s:O}", "token", token, "csr", csr.text, "name", a->name, "facts", f->facts);
	if (ask_post(f->where, fingerprint, "/v1/join", body, &answer, &err) < 0)
		bench_fail("%s: %s", a->name, err.text);
	a->key = key.text;
	a->cert = mem_strdup(json_string_value(json_object_get(answer.body, "certificate")));
	if (!f->ca)
		f->ca = mem_strdup(answer.ca.text);
	strbuf_fini(&answer.ca);
	strbuf_fini(&csr);
	json_decref(answer.body);
	json_decref(body);
}

/* ---- jobs ---- */

static void job_drop(struct agent *a, const char *tag)
{
	for (size_t i = 0; i < a->jobs.n; i++)
		if (strcmp(a->jobs.v[i]->tag, tag) == 0 && a->jobs.v[i]->ended_us) {
			free(a->jobs.v[i]);
			vec_remove(&a->jobs, i);
			return;
		}
}

static json_t *job_result(const struct job *j)
{
	struct result r = {.tag = j->tag,
			   .started_us = j->started_us,
			   .ended_us = j->ended_us,
			   .cpu_ms = 1,
			   .memory_kib = 1024,
			   .session = 1};
	struct strbuf text = {0};
	json_t *o;

	result_write(&r, &text);
	o = json_loads(text.text, 0, NULL);
	strbuf_fini(&text);
	return o;
}

static void job_tell(struct job *j)
{
	link_pack(j->agent->link, NULL, 0, "{s:s,s:o}", "t", "ended", "result", job_result(j));
	j->told = true;
}

static void job_end(struct job *j)
{
	j->ended_us = wall_us();
	j->told = false;
	if (j->agent->welcome)
		job_tell(j);
}

static void on_due(uv_timer_t *timer)
{
	struct fleet *f = timer->data;
	uint64_t now = uv_now(f->loop);

	while (f->first < f->line.n && f->line.v[f->first]->due <= now)
		job_end(f->line.v[f->first++]);
	if (f->first == f->line.n)
		f->first = f->line.n = 0;
	else
		uv_timer_start(timer, on_due, f->line.v[f->first]->due - now, 0);
}

static void on_order(struct agent *a, const json_t *head)
{
	struct fleet *f = a->fleet;
	const char *tag = json_string_value(json_object_get(json_object_get(head, "order"), "tag"));
	struct job *j = mem_zalloc(sizeof *j);

	snprintf(j->tag, sizeof j->tag, "%s", tag ? tag : "");
	j->agent = a;
	j->started_us = wall_us();
	j->due = uv_now(f->loop) + f->takes;
	vec_push(&a->jobs, j);
	link_pack(a->link, NULL, 0, "{s:s,s:s,s:i}", "t", "started", "tag", j->tag, "pid", 1);
	if (!f->takes) {
		job_end(j);
		return;
	}
	vec_push(&f->line, j);
	if (!uv_is_active((uv_handle_t *)&f->ends))
		uv_timer_start(&f->ends, on_due, f->takes, 0);
}

static json_t *inventory(const struct agent *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->jobs.n; i++) {
		struct job *j = a->jobs.v[i];
		json_t *item = json_pack("{s:s,s:s}", "tag", j->tag, "state", j->ended_us ? "ended" : "runs");
		j->told = j->ended_us;
		if (j->told)
			json_object_set_new(item, "result", job_result(j));
		json_array_append_new(list, item);
	}
	return list;
}

/* ---- the link ---- */

static void agent_call(struct agent *a);

static void on_call(uv_timer_t *timer)
{
	agent_call(timer->data);
}

static void on_heartbeat(uv_timer_t *timer)
{
	struct agent *a = timer->data;

	link_pack(a->link, NULL, 0, "{s:s,s:I,s:f,s:I,s:i,s:s}", "t", "ping", "n", (json_int_t)++a->n, "load", 0.5,
		  "memory_free", (json_int_t)60 << 20, "users", 0, "health", "");
}

static void on_ready(void *context, struct link *l)
{
	struct agent *a = context;

	link_trust(l);
	link_pack(l, NULL, 0, "{s:s,s:i,s:s,s:s,s:i,s:I,s:O,s:o}", "t", "hello", "protocol", PROTOCOL, "version",
		  "simulated", "boot", "simulated", "port", 1, "epoch", (json_int_t)a->fleet->epoch, "facts",
		  a->fleet->facts, "inventory", inventory(a));
}

static void on_welcome(struct agent *a, const json_t *head)
{
	struct fleet *f = a->fleet;

	f->epoch = (uint64_t)json_integer_value(json_object_get(head, "epoch"));
	a->heartbeat = 1000 * (uint64_t)json_integer_value(json_object_get(head, "heartbeat"));
	a->failures = 0;
	a->welcome = true;
	for (size_t i = 0; i < a->jobs.n; i++) /* after the hello and its inventory */
		if (a->jobs.v[i]->ended_us && !a->jobs.v[i]->told)
			job_tell(a->jobs.v[i]);
	on_heartbeat(&a->timer);
	uv_timer_start(&a->timer, on_heartbeat, a->heartbeat, a->heartbeat);
	if (++f->connected < f->n)
		return;
	f->whole = true;
	say(f, "connected");
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct agent *a = context;
	const char *type = json_string_value(json_object_get(head, "t"));
	const char *tag = json_string_value(json_object_get(head, "tag"));

	if (!type)
		return;
	if (strcmp(type, "welcome") == 0)
		on_welcome(a, head);
	else if (strcmp(type, "order") == 0)
		on_order(a, head);
	else if ((strcmp(type, "forget") == 0 || strcmp(type, "clean") == 0) && tag)
		job_drop(a, tag);
	else if (strcmp(type, "sorry") == 0)
		bench_fail("%s: %s", a->name, json_string_value(json_object_get(head, "reason")));
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct agent *a = context;
	struct fleet *f = a->fleet;
	uint64_t wait = a->failures > 7 ? WAIT_MOST : (uint64_t)WAIT_LEAST << a->failures;

	if (a->welcome && f->whole) {
		f->whole = false;
		say(f, "lost");
	}
	f->connected -= a->welcome;
	a->welcome = false;
	a->link = NULL;
	a->failures++;
	wait = wait > WAIT_MOST ? WAIT_MOST : wait;
	uv_timer_start(&a->timer, on_call, wait / 2 + rng_below(&f->rng, wait / 2 + 1), 0);
}

static void agent_call(struct agent *a)
{
	static const struct link_events events = {.ready = on_ready, .frame = on_frame, .closed = on_closed};

	a->link = link_connect(a->fleet->loop, a->tls, a->fleet->where, CERT_SERVER, &events, a);
}

static void agent_start(struct agent *a)
{
	struct tls_options o = {.cert = a->cert, .key = a->key, .ca = a->fleet->ca};
	struct err err;

	if (tls_context_create(&o, false, &a->tls, &err) < 0)
		bench_fail("%s: %s", a->name, err.text);
	uv_timer_init(a->fleet->loop, &a->timer);
	a->timer.data = a;
	agent_call(a);
}

/* ---- all agents ---- */

static void on_input(uv_poll_t *poll, int status, int events)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) <= 0)
		_exit(0);
}

static void fleet_join(struct fleet *f, const char *token)
{
	struct token t;
	struct err err;

	if (token_parse(token, &t, &err) < 0)
		bench_fail("%s", err.text);
	f->agents = mem_zalloc((size_t)f->n * sizeof *f->agents);
	for (int i = 0; i < f->n; i++) {
		f->agents[i].fleet = f;
		snprintf(f->agents[i].name, sizeof f->agents[i].name, "a%d", i + 1);
		agent_join(&f->agents[i], token, t.fingerprint);
	}
	say(f, "joined");
}

int main(int argc, char **argv)
{
	struct fleet f = {.loop = uv_default_loop(), .spoke = bench_seconds()};
	uv_poll_t input;

	if (argc != 6)
		bench_fail("usage: bench_agents SERVER TOKEN N CPUS MS");
	signal(SIGPIPE, SIG_IGN);
	descriptors_raise();
	f.where = argv[1];
	f.n = (int)bench_number(argv[3]);
	f.facts = facts_make((int)bench_number(argv[4]));
	f.takes = (uint64_t)bench_number(argv[5]);
	rng_seed(&f.rng, 1);
	uv_timer_init(f.loop, &f.ends);
	f.ends.data = &f;
	fleet_join(&f, argv[2]);
	for (int i = 0; i < f.n; i++)
		agent_start(&f.agents[i]);
	uv_poll_init(f.loop, &input, STDIN_FILENO);
	uv_poll_start(&input, UV_READABLE, on_input);
	return uv_run(f.loop, UV_RUN_DEFAULT);
}
