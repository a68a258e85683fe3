/*
 * hosts.c - a server's engine with other hosts to test it.
 */
#include "support/hosts.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Both ends of a connection. It is freed when both have been closed. */
struct wire {
	struct far *far;
	struct link *near, *away;
	bool cut;
	int closed;
};

/* Abandoned loops, left as they are, as by a killed process: their content is no longer used. */
static VEC(uv_loop_t *) loops;

static uv_loop_t *loop_create(void)
{
	uv_loop_t *loop = mem_zalloc(sizeof *loop);

	uv_loop_init(loop);
	vec_push(&loops, loop);
	return loop;
}

/* ---- a host's agent: reports of its local engine ---- */

static struct link *far_link(struct far *f)
{
	return f->wire && !f->wire->cut ? f->wire->away : NULL;
}

/* Returns true if the attempt was to be cleaned, and forgets it. */
static bool far_cleaned(struct far *f, const char *tag)
{
	for (size_t i = 0; i < f->cleaning.n; i++)
		if (strcmp(f->cleaning.v[i], tag) == 0) {
			free(f->cleaning.v[i]);
			vec_remove(&f->cleaning, i);
			local_forget(f->local, tag);
			return true;
		}
	return false;
}

static void far_saved(struct link *l, const char *tag, const struct saves *v)
{
	struct strbuf text = {0};

	saves_write(v, &text);
	link_pack(l, NULL, 0, "{s:s,s:s,s:o}", "t", "saved", "tag", tag, "saves", json_loads(text.text, 0, NULL));
	strbuf_fini(&text);
}

/* Adds the usage of a result, which may be reported twice, once. */
static void far_count(struct far *f, const struct result *r)
{
	char *key = arena_printf(f->w->a, "%s ended %s", f->name, r->tag);

	if (hosts_logged(f->w, key))
		return;
	vec_push(&f->w->log, mem_strdup(key));
	f->w->cpu_ms += r->cpu_ms;
	f->w->memory_kib += r->memory_kib;
}

static void far_ended(struct link *l, const struct result *r)
{
	struct strbuf head = {0};

	strbuf_puts(&head, "{\"t\":\"ended\",\"result\":");
	result_write(r, &head);
	strbuf_puts(&head, "}");
	link_send(l, head.text, head.n, NULL, 0);
	strbuf_fini(&head);
}

static void on_far_news(void *context, const struct news *n)
{
	struct far *f = context;
	struct link *l = far_link(f);

	if ((n->report == SAYS_ENDED || n->report == SAYS_LOST) && far_cleaned(f, n->tag))
		return;
	if (n->report == SAYS_ENDED)
		far_count(f, n->r);
	if (!l)
		return;
	if (n->report == SAYS_STARTED)
		link_pack(l, NULL, 0, "{s:s,s:s,s:i}", "t", "started", "tag", n->tag, "pid", (int)n->pid);
	else if (n->report == SAYS_READY || n->report == SAYS_LOST)
		link_pack(l, NULL, 0, "{s:s,s:s}", "t", n->report == SAYS_READY ? "ready" : "lost", "tag", n->tag);
	else if (n->report == SAYS_SAVED)
		far_saved(l, n->tag, n->saves);
	else if (n->report == SAYS_USED)
		link_pack(l, NULL, 0, "{s:s,s:s,s:I,s:I}", "t", "used", "tag", n->tag, "cpu_ms",
			  (json_int_t)n->r->cpu_ms, "memory_kib", (json_int_t)n->r->memory_kib);
	else if (n->report == SAYS_REFUSED)
		link_pack(l, NULL, 0, "{s:s,s:s,s:s?,s:b}", "t", "refused", "tag", n->tag, "reason", n->reason,
			  "unclear", n->unclear);
	else
		far_ended(l, n->r);
}

static void on_far_failed(void *context, const char *reason)
{
	fail_msg("%s", reason);
}

static void far_begin(struct hosts *w, int i)
{
	struct far *f = &w->far[i];
	struct local_listener l = {.heard = on_far_news, .failed = on_far_failed, .context = f};
	struct local_options o = {.program = "/proc/self/exe", .cgroup = "none"};
	struct err err;

	f->w = w;
	snprintf(f->name, sizeof f->name, "n%d", i);
	f->nest = nest_create("none");
	nest_stop(f->nest); /* the local engine starts its own */
	nest_deafen(f->nest);
	o.live = f->nest->live;
	o.socket = f->nest->socket;
	if (i > 0 && local_start(w->agents, &o, &l, &f->local, &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- a host's agent: requests of the server ---- */

static void far_order(struct far *f, const json_t *head, const char *data, size_t n)
{
	struct arena *a = arena_create();
	char *text = json_dumps(json_object_get(head, "order"), 0);
	struct order o;
	struct err err;

	if (order_read(text, strlen(text), a, &o, &err) < 0) {
		on_far_news(f, &(struct news){
				       .report = SAYS_REFUSED,
				       .tag = json_string_value(json_object_get(json_object_get(head, "order"), "tag")),
				       .reason = err.text});
	} else {
		if (n) {
			o.script = arena_printf(a, "%s/%s.SC", f->nest->work, o.tag);
			nest_write(f->nest, o.script, data, n, 0644);
		}
		local_order(f->local, &o);
	}
	free(text);
	arena_destroy(a);
}

static void far_clean(struct far *f, const char *tag)
{
	switch (hosts_live(f->w, (int)(f - f->w->far), tag)) {
	case LIVE_RUNNING:
		vec_push(&f->cleaning, mem_strdup(tag));
		local_signal(f->local, tag, SIGKILL);
		break;
	case LIVE_LOST:
		vec_push(&f->cleaning, mem_strdup(tag));
		local_attach(f->local, tag);
		break;
	default:
		local_forget(f->local, tag);
	}
}

static enum checkpoint_cause far_cause(const char *word)
{
	int cause = 0;

	while (strcmp(save_words[cause], word) != 0)
		cause++;
	return (enum checkpoint_cause)cause;
}

static void on_away_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct wire *wire = context;
	struct far *f = wire->far;
	const char *t = json_string_value(json_object_get(head, "t")), *tag;

	if (wire->cut)
		return;
	tag = json_string_value(
		json_object_get(strcmp(t, "order") == 0 ? json_object_get(head, "order") : head, "tag"));
	vec_push(&f->w->log, mem_strdup(arena_printf(f->w->a, "%s %s %s", f->name, t, tag)));
	if (strcmp(t, "order") == 0)
		far_order(f, head, data, n);
	else if (strcmp(t, "signal") == 0)
		local_signal(f->local, tag, (int)json_integer_value(json_object_get(head, "signal")));
	else if (strcmp(t, "save") == 0)
		local_save(f->local, tag, far_cause(json_string_value(json_object_get(head, "cause"))),
			   json_integer_value(json_object_get(head, "seconds")));
	else if (strcmp(t, "forget") == 0)
		local_forget(f->local, tag);
	else if (strcmp(t, "clean") == 0)
		far_clean(f, tag);
	else
		fail_msg("what is %s?", t);
	local_flush(f->local);
}

/* ---- connections ---- */

static void on_near_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct wire *wire = context;

	if (wire->cut)
		return;
	if (strcmp(json_string_value(json_object_get(head, "t")), "hello") == 0)
		engine_host_up(wire->far->w->e, wire->far->name, l, json_object_get(head, "inventory"));
	else
		assert_true(engine_frame(wire->far->w->e, wire->far->name, head, data, n));
}

static void on_wire_closed(void *context, struct link *l, const char *reason)
{
	struct wire *wire = context;

	assert_true(wire->cut);
	if (++wire->closed == 2)
		free(wire);
}

void host_cut(struct hosts *w, int i)
{
	struct wire *wire = w->far[i].wire;

	if (!wire)
		return;
	wire->cut = true;
	w->far[i].wire = NULL;
	link_close(wire->near, "cut");
	link_close(wire->away, "cut");
	engine_host_down(w->e, w->far[i].name);
}

static void inventory_add(void *context, const struct local_item *i)
{
	static const char *const words[] = {
		[ATTEMPT_RUNS] = "runs", [ATTEMPT_ENDED] = "ended", [ATTEMPT_LOST] = "lost"};
	struct strbuf text = {0};
	json_t *result = NULL, *saves = NULL;

	if (i->state == ATTEMPT_NEVER)
		return;
	if (i->result) {
		result_write(i->result, &text);
		result = json_loads(text.text, 0, NULL);
	}
	strbuf_clear(&text);
	if (i->saves) {
		saves_write(i->saves, &text);
		saves = json_loads(text.text, 0, NULL);
	}
	json_array_append_new(context,
			      json_pack("{s:s,s:s,s:o*,s:o*}", "tag", i->tag, "state",
					i->ready ? "ready" : words[i->state], "result", result, "saves", saves));
	strbuf_fini(&text);
}

void host_heal(struct hosts *w, int i)
{
	static const struct link_events near = {.frame = on_near_frame, .closed = on_wire_closed};
	static const struct link_events away = {.frame = on_away_frame, .closed = on_wire_closed};
	struct far *f = &w->far[i];
	struct wire *wire = mem_zalloc(sizeof *wire);
	json_t *inventory = json_array();
	int fds[2];

	assert_null(f->wire);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	wire->far = f;
	wire->near = link_open(w->server, fds[0], NULL, &near, wire);
	wire->away = link_open(w->agents, fds[1], NULL, &away, wire);
	link_trust(wire->near);
	link_trust(wire->away);
	f->wire = wire;
	local_list(f->local, inventory_add, inventory);
	link_pack(wire->away, NULL, 0, "{s:s,s:o}", "t", "hello", "inventory", inventory);
	hosts_await(w, engine_link(w->e, f->name) == wire->near);
}

void hosts_turn(struct hosts *w)
{
	uv_run(w->server, UV_RUN_NOWAIT);
	uv_run(w->agents, UV_RUN_NOWAIT);
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ---- the server ---- */

static void tale_add(struct hosts *w, enum told what, const char *tag, const char *text, const struct result *r)
{
	struct tale t = {.what = what, .tag = arena_strndup(w->a, tag, strlen(tag))};

	if (text)
		t.text = arena_strndup(w->a, text, strlen(text));
	if (r)
		t.r = *r;
	t.r.tag = t.tag;
	t.r.reason = t.text;
	vec_push(&w->tales, t);
}

static void on_started(void *context, const char *tag, pid_t pid)
{
	tale_add(context, TOLD_STARTED, tag, NULL, NULL);
}

static void on_refused(void *context, const struct refusal *r)
{
	struct hosts *w = context;

	tale_add(w, TOLD_REFUSED, r->tag, r->reason, &(struct result){.unclear = r->unclear});
	w->tales.v[w->tales.n - 1].host = r->host ? arena_strndup(w->a, r->host, strlen(r->host)) : NULL;
}

static void on_ended(void *context, const struct result *r)
{
	tale_add(context, TOLD_ENDED, r->tag, r->reason, r);
}

static void on_lost(void *context, const char *tag, const char *host, const char *why)
{
	struct hosts *w = context;

	tale_add(w, TOLD_LOST, tag, why, NULL);
	w->tales.v[w->tales.n - 1].host = host ? arena_strndup(w->a, host, strlen(host)) : NULL;
}

static void on_saved(void *context, const char *tag, const struct saves *v)
{
	((struct hosts *)context)->saves = *v;
}

static void server_begin(struct hosts *w)
{
	struct engine_listener l = {.attempt_started = on_started,
				    .attempt_refused = on_refused,
				    .attempt_ended = on_ended,
				    .attempt_lost = on_lost,
				    .attempt_saved = on_saved,
				    .failed = on_far_failed,
				    .context = w};
	struct local_options o = {.program = "/proc/self/exe", .cgroup = "none"};
	struct err err;

	w->server = loop_create();
	o.live = w->far[0].nest->live;
	o.socket = w->far[0].nest->socket;
	if (engine_create(w->server, w->here ? &o : NULL, &l, &w->e, &err) < 0)
		fail_msg("%s", err.text);
}

void hosts_restart(struct hosts *w)
{
	for (int i = 1; i <= HOSTS; i++)
		host_cut(w, i);
	engine_stop(w->e);
	vec_clear(&w->tales);
	server_begin(w);
}

static struct hosts *hosts_create(bool here)
{
	struct hosts *w = mem_zalloc(sizeof *w);

	w->a = arena_create();
	w->here = here;
	w->agents = loop_create();
	for (int i = 0; i <= HOSTS; i++)
		far_begin(w, i);
	server_begin(w);
	for (int i = 1; i <= HOSTS; i++)
		host_heal(w, i);
	return w;
}

int hosts_setup(void **state)
{
	*state = hosts_create(false);
	return 0;
}

int hosts_setup_here(void **state)
{
	*state = hosts_create(true);
	return 0;
}

static bool nobody_knows(void *context, const char *tag)
{
	return false;
}

static void hosts_end_all(struct hosts *w)
{
	if (w->here)
		local_sweep(engine_here(w->e), nobody_knows, NULL);
	for (int i = 1; i <= HOSTS; i++)
		local_sweep(w->far[i].local, nobody_knows, NULL);
	for (int i = 0; i < 1000; i++)
		hosts_turn(w);
}

int hosts_teardown(void **state)
{
	struct hosts *w = *state;
	bool empty = true;

	for (int i = 0; i < 10000 && !(empty = hosts_empty(w)); i++)
		hosts_turn(w);
	for (int i = 1; i <= HOSTS; i++)
		host_cut(w, i);
	if (!empty) /* the test has failed: still leave nothing behind */
		hosts_end_all(w);
	engine_stop(w->e);
	for (int i = 1; i <= HOSTS; i++)
		local_stop(w->far[i].local);
	for (int i = 0; i < 10; i++)
		hosts_turn(w);
	for (int i = 0; i <= HOSTS; i++) {
		void *nest = w->far[i].nest;
		nest_teardown(&nest);
		name_list_free(&w->far[i].cleaning);
	}
	name_list_free(&w->log);
	vec_free(&w->tales);
	arena_destroy(w->a);
	free(w);
	if (!empty)
		fail_msg("live files were left");
	return 0;
}

/* ---- jobs ---- */

struct gang_parts hosts_parts(struct hosts *w, const char *tag, const char *script, const char *hosts)
{
	struct gang_parts g = {.n = (int)strlen(hosts)};

	for (int i = 0; i < g.n; i++) {
		struct far *f = &w->far[hosts[i] - '0'];
		struct part_order *p = &g.part[i];
		p->host = hosts[i] == '0' ? HOST_HERE : f->name;
		p->order = nest_order(f->nest, arena_strndup(w->a, tag, strlen(tag)), i ? NULL : script);
		p->order.part = i;
		p->order.grace = 5;
		p->order.room = i > 0;
		if (i == 0 && *p->host) {
			p->script = script;
			p->nscript = strlen(script);
		}
	}
	return g;
}

void hosts_start(struct hosts *w, const char *tag, const char *script, const char *hosts)
{
	struct gang_parts g = hosts_parts(w, tag, script, hosts);

	engine_start(w->e, g.part, g.n);
	engine_flush(w->e);
}

enum attempt_state hosts_attach(struct hosts *w, const char *tag, const char *hosts)
{
	const char *names[HOSTS + 1];

	for (int i = 0; hosts[i]; i++)
		names[i] = hosts[i] == '0' ? HOST_HERE : w->far[hosts[i] - '0'].name;
	return engine_attach(w->e, tag, names, (int)strlen(hosts));
}

/* ---- inspection ---- */

int hosts_told(struct hosts *w, enum told what, const char *tag)
{
	int n = 0;

	for (size_t i = 0; i < w->tales.n; i++)
		n += w->tales.v[i].what == what && strcmp(w->tales.v[i].tag, tag) == 0;
	return n;
}

struct tale hosts_tale(struct hosts *w, const char *tag)
{
	hosts_await(w,
		    hosts_told(w, TOLD_REFUSED, tag) + hosts_told(w, TOLD_ENDED, tag) + hosts_told(w, TOLD_LOST, tag));
	for (size_t i = 0; i < w->tales.n; i++)
		if (w->tales.v[i].what != TOLD_STARTED && strcmp(w->tales.v[i].tag, tag) == 0) {
			if (w->tales.v[i].what != TOLD_REFUSED)
				engine_forget(w->e, tag);
			engine_flush(w->e);
			return w->tales.v[i];
		}
	abort();
}

int hosts_logged(struct hosts *w, const char *line)
{
	for (size_t i = 0; i < w->log.n; i++)
		if (strcmp(w->log.v[i], line) == 0)
			return (int)i + 1;
	return 0;
}

static enum live_state look(struct hosts *w, int i, const char *tag, pid_t *ret_pid)
{
	struct result r;

	*ret_pid = 0;
	return live_look(w->far[i].nest->live, tag, w->a, &r, ret_pid);
}

enum live_state hosts_live(struct hosts *w, int i, const char *tag)
{
	pid_t pid;

	return look(w, i, tag, &pid);
}

pid_t hosts_shepherd(struct hosts *w, int i, const char *tag)
{
	pid_t pid;

	assert_int_equal(look(w, i, tag, &pid), LIVE_RUNNING);
	return pid;
}

static void count_one(void *context, const char *tag)
{
	++*(int *)context;
}

bool hosts_empty(struct hosts *w)
{
	int n = 0;

	for (int i = 0; i <= HOSTS; i++)
		live_list(w->far[i].nest->live, count_one, &n, NULL);
	return n == 0;
}

char *hosts_file(struct hosts *w, int i, const char *name)
{
	return nest_read(w->far[i].nest, nest_path(w->far[i].nest, name));
}

void hosts_touch(struct hosts *w, int i, const char *name)
{
	nest_write(w->far[i].nest, nest_path(w->far[i].nest, name), "", 0, 0644);
}
