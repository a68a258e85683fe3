/*
 * test_agents.c - an agent (src/agent) between a server, its jobs, users and other hosts that the
 * test plays: which server it calls when, what it sends, orders, stores, logs and answers, compared
 * with agents.txt (played.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent_internal.h"
#include "agent/facts.h"
#include "agent/guard.h"
#include "agent/health.h"
#include "base/file.h"
#include "base/logline.h"
#include "base/rng.h"
#include "client/tray.h"
#include "engine/files.h"
#include "engine/frames.h"
#include "engine/news.h"
#include "golden/played.h"
#include "run/live.h"
#include "run/nursery.h"

#define RECORDED SHUNT_ROOT "/tests/golden/agents.txt"

enum { WORDS = 8, ITEMS = 8 };

static char dir[64];
static uv_loop_t loop;
static struct agent agent;
static bool begun;

/* ---- links ---- */

static int64_t heard_at; /* uv_now() of the server's last byte */

int64_t link_heard(const struct link *l)
{
	return heard_at;
}

bool link_orphaned(const struct link *l)
{
	return false;
}

void link_share(struct link *l, struct link_share *share)
{
}

void link_expire(struct link *l, int64_t until)
{
}

int link_detach(struct link *l, struct link_detached *ret)
{
	die("no process is forked here", l->name);
}

struct link *link_attach(uv_loop_t *l, const struct link_detached *detached, const struct link_events *e, void *context)
{
	die("no process is forked here", "attach");
}

void link_abandon(struct link_detached *detached)
{
}

/* ---- jobs ---- */

static struct local_listener listener;
static int fake; /* what stands for objects that nobody looks into */
static int start_fails;

/* Attempts here, as the inventory has them. */
static struct {
	char tag[16], state[16];
	bool busy;
} item[ITEMS];
static int nitems;

int __wrap_errands_start(uv_loop_t *l, const struct local_options *o, const char *spool,
			 const struct local_listener *heard, struct errands **ret, struct err *err);
int __wrap_errands_start(uv_loop_t *l, const struct local_options *o, const char *spool,
			 const struct local_listener *heard, struct errands **ret, struct err *err)
{
	say("errands: start %s, live %s, socket %s, cgroup %s%s, spool %s", o->program, o->live, o->socket, o->cgroup,
	    o->root_jobs ? ", jobs of root" : "", spool);
	if (start_fails) {
		int code = start_fails;
		start_fails = 0;
		return err_set(err, code, "control groups can't be used");
	}
	listener = *heard;
	*ret = (struct errands *)&fake;
	return 0;
}

void __wrap_errands_stop(struct errands *e);
void __wrap_errands_stop(struct errands *e)
{
	say("errands: stop");
}

struct local *__wrap_errands_local(struct errands *e);
struct local *__wrap_errands_local(struct errands *e)
{
	return (struct local *)&fake;
}

struct files *__wrap_errands_files(struct errands *e);
struct files *__wrap_errands_files(struct errands *e)
{
	return (struct files *)&fake;
}

struct opener *__wrap_errands_opener(struct errands *e);
struct opener *__wrap_errands_opener(struct errands *e)
{
	return (struct opener *)&fake;
}

static enum attempt_state state_of(int i)
{
	return strcmp(item[i].state, "runs") == 0    ? ATTEMPT_RUNS
	       : strcmp(item[i].state, "ready") == 0 ? ATTEMPT_RUNS
	       : strcmp(item[i].state, "ended") == 0 ? ATTEMPT_ENDED
	       : strcmp(item[i].state, "lost") == 0  ? ATTEMPT_LOST
						     : ATTEMPT_NEVER;
}

enum attempt_state __wrap_errands_attach(struct errands *e, const char *tag);
enum attempt_state __wrap_errands_attach(struct errands *e, const char *tag)
{
	say("errands: attach %s", tag);
	for (int i = 0; i < nitems; i++)
		if (strcmp(item[i].tag, tag) == 0)
			return state_of(i);
	return ATTEMPT_NEVER;
}

void __wrap_errands_sweep(struct errands *e, bool (*known)(void *context, const char *tag), void *context);
void __wrap_errands_sweep(struct errands *e, bool (*known)(void *context, const char *tag), void *context)
{
	say("errands: sweep, 7.1 is %s", known(context, "7.1") ? "known" : "not known");
}

void __wrap_errands_order(struct errands *e, const struct order *o);
void __wrap_errands_order(struct errands *e, const struct order *o)
{
	struct strbuf text = {0};

	order_write(o, &text);
	say("errands: order %s", text.text);
	strbuf_fini(&text);
}

void __wrap_errands_save(struct errands *e, const char *tag, enum checkpoint_cause cause, int64_t seconds);
void __wrap_errands_save(struct errands *e, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	say("errands: save %s, %s, %lld s", tag, save_words[cause], (long long)seconds);
}

void __wrap_errands_limit(struct errands *e, const char *tag, int64_t walltime);
void __wrap_errands_limit(struct errands *e, const char *tag, int64_t walltime)
{
	say("errands: limit %s, %lld s", tag, (long long)walltime);
}

void __wrap_errands_signal(struct errands *e, const char *tag, int number);
void __wrap_errands_signal(struct errands *e, const char *tag, int number)
{
	say("errands: signal %s, %d", tag, number);
}

void __wrap_errands_list(struct errands *e, void (*one)(void *context, const struct local_item *i), void *context);
void __wrap_errands_list(struct errands *e, void (*one)(void *context, const struct local_item *i), void *context)
{
	static const struct result r = {.tag = "of it", .how = RESULT_EXITED, .status = 3};
	static const struct saves saves = {.state = SAVE_GOOD, .good = 2, .number = 2};

	for (int i = 0; i < nitems; i++)
		one(context, &(struct local_item){.tag = item[i].tag,
						  .state = state_of(i),
						  .ready = strcmp(item[i].state, "ready") == 0,
						  .result = state_of(i) == ATTEMPT_ENDED ? &r : NULL,
						  .saves = strcmp(item[i].tag, "5.1") == 0 ? &saves : NULL});
}

void __wrap_errands_forget(struct errands *e, const char *tag);
void __wrap_errands_forget(struct errands *e, const char *tag)
{
	say("errands: forget %s", tag);
}

bool __wrap_errands_busy(struct errands *e, const char *tag);
bool __wrap_errands_busy(struct errands *e, const char *tag)
{
	for (int i = 0; i < nitems; i++)
		if (strcmp(item[i].tag, tag) == 0)
			return item[i].busy;
	return false;
}

bool __wrap_errands_spooled(const struct errands *e, const char *tag, const char *which, char *ret, size_t size);
bool __wrap_errands_spooled(const struct errands *e, const char *tag, const char *which, char *ret, size_t size)
{
	if (strcmp(tag, "5.1") != 0)
		return false;
	snprintf(ret, size, "/spool/%s.%s", tag, which);
	return true;
}

void __wrap_local_lease(struct local *e, int64_t asked, bool suspend);
void __wrap_local_lease(struct local *e, int64_t asked, bool suspend)
{
	say("lease: word of %.2f%s", (double)(asked - 1000000000) / 1e6, suspend ? ", suspended" : "");
}

void __wrap_local_flush(struct local *e);
void __wrap_local_flush(struct local *e)
{
}

enum live_state __wrap_live_look(const char *live, const char *tag, struct arena *a, struct result *ret,
				 pid_t *ret_pid);
enum live_state __wrap_live_look(const char *live, const char *tag, struct arena *a, struct result *ret, pid_t *ret_pid)
{
	for (int i = 0; i < nitems; i++)
		if (strcmp(item[i].tag, tag) == 0)
			return state_of(i) == ATTEMPT_RUNS    ? LIVE_RUNNING
			       : state_of(i) == ATTEMPT_LOST  ? LIVE_LOST
			       : state_of(i) == ATTEMPT_ENDED ? LIVE_ENDED
							      : LIVE_NONE;
	return LIVE_NONE;
}

const char *__wrap_live_boot(void);
const char *__wrap_live_boot(void)
{
	return "boot-id";
}

/* ---- files ---- */

static void (*opened)(void *context, int fd, const char *reason);
static void *opened_for;

struct opening *__wrap_opener_ask(struct opener *o, const struct opener_user *who, const char *path, int flags,
				  int mode, void (*done)(void *context, int fd, const char *reason), void *context);
struct opening *__wrap_opener_ask(struct opener *o, const struct opener_user *who, const char *path, int flags,
				  int mode, void (*done)(void *context, int fd, const char *reason), void *context)
{
	say("opener: %s for %s%s, flags %d, mode %d", path, who->name, who->uid == BY_NAME ? "" : " by number", flags,
	    mode);
	opened = done;
	opened_for = context;
	return (struct opening *)&fake;
}

void __wrap_opening_cancel(struct opening *q);
void __wrap_opening_cancel(struct opening *q)
{
	if (q)
		say("opener: never mind");
}

void __wrap_files_identify(struct files *f, const struct files_identity *i);
void __wrap_files_identify(struct files *f, const struct files_identity *i)
{
	say("files: this is %s", i->name);
}

void __wrap_files_trust(struct files *f, int64_t seconds);
void __wrap_files_trust(struct files *f, int64_t seconds)
{
	say("files: trust for %lld s", (long long)seconds);
}

void __wrap_files_clock(struct files *f, int64_t now);
void __wrap_files_clock(struct files *f, int64_t now)
{
	say("files: the server's clock is %lld", (long long)now);
}

void __wrap_files_revoke(struct files *f);
void __wrap_files_revoke(struct files *f)
{
	say("files: revoke");
}

void __wrap_files_serve(struct files *f, struct link *l, json_t *first);
void __wrap_files_serve(struct files *f, struct link *l, json_t *first)
{
	say("files: serve %s", l->name);
}

/* ---- other hosts ---- */

static struct listener_events calls;
static int port_fails;

int __wrap_listener_open(uv_loop_t *l, const char *where, struct tls_context *c, const struct listener_limits *limits,
			 const struct listener_events *e, void *context, struct listener **ret, struct err *err);
int __wrap_listener_open(uv_loop_t *l, const char *where, struct tls_context *c, const struct listener_limits *limits,
			 const struct listener_events *e, void *context, struct listener **ret, struct err *err)
{
	say("listener: port %s, at most %d, %d strangers, %d of an address, %d links of a host, %d s, %d s", where,
	    (int)limits->connections, (int)limits->strangers, (int)limits->strangers_per_address,
	    (int)limits->links_per_host, (int)limits->handshake_seconds, (int)limits->idle_seconds);
	if (port_fails && port_fails--)
		return err_set(err, -EADDRINUSE, "port %s is in use", where);
	calls = *e;
	*ret = (struct listener *)&fake;
	return 0;
}

int __wrap_listener_port(const struct listener *l);
int __wrap_listener_port(const struct listener *l)
{
	return 7723;
}

void __wrap_listener_revoke(struct listener *l, const struct revoked *r);
void __wrap_listener_revoke(struct listener *l, const struct revoked *r)
{
	say("listener: revoke %zu", r->joins.n);
}

void __wrap_listener_identity(struct listener *l, struct tls_context *c);
void __wrap_listener_identity(struct listener *l, struct tls_context *c)
{
	say("listener: another identity");
}

void __wrap_listener_close(struct listener *l);
void __wrap_listener_close(struct listener *l)
{
	say("listener: close");
}

int __wrap_tasks_start(uv_loop_t *l, const struct tasks_options *o, struct tasks **ret, struct err *err);
int __wrap_tasks_start(uv_loop_t *l, const struct tasks_options *o, struct tasks **ret, struct err *err)
{
	say("tasks: start at %s, live %s, %s%s", o->socket, o->live, o->name, o->apart ? ", apart" : "");
	*ret = (struct tasks *)&fake;
	return 0;
}

void __wrap_tasks_stop(struct tasks *t);
void __wrap_tasks_stop(struct tasks *t)
{
	say("tasks: stop");
}

void __wrap_tasks_revoke(struct tasks *t, const struct revoked *r);
void __wrap_tasks_revoke(struct tasks *t, const struct revoked *r)
{
	say("tasks: revoke %zu", r->joins.n);
}

void __wrap_tasks_serve(struct tasks *t, struct link *l, json_t *first);
void __wrap_tasks_serve(struct tasks *t, struct link *l, json_t *first)
{
	say("tasks: serve %s", l->name);
}

/* ---- the machine ---- */

static bool background;

bool __wrap_guard_background(const struct agent *a);
bool __wrap_guard_background(const struct agent *a)
{
	return background;
}

void __wrap_guard_set(struct agent *a, const char *policy);
void __wrap_guard_set(struct agent *a, const char *policy)
{
	say("guard: policy %s", policy);
}

void __wrap_guard_leaves(struct agent *a, const char *tag);
void __wrap_guard_leaves(struct agent *a, const char *tag)
{
	say("guard: %s is to end", tag);
}

void __wrap_guard_suspends(struct agent *a, const char *tag, bool suspended);
void __wrap_guard_suspends(struct agent *a, const char *tag, bool suspended)
{
	say("guard: %s is %s", tag, suspended ? "suspended" : "continued");
}

void __wrap_guard_ended(struct agent *a, const struct result *r);
void __wrap_guard_ended(struct agent *a, const struct result *r)
{
	say("guard: %s has ended", r->tag);
}

json_t *__wrap_guard_news(const struct agent *a);
json_t *__wrap_guard_news(const struct agent *a)
{
	return NULL;
}

void __wrap_health_set(struct health *h, const char *program, int every, int seconds);
void __wrap_health_set(struct health *h, const char *program, int every, int seconds)
{
	say("health: \"%s\" every %d s, for %d s", program, every, seconds);
}

const char *__wrap_health_text(const struct health *h);
const char *__wrap_health_text(const struct health *h)
{
	return "a fan is slow";
}

void __wrap_facts_now(const char *directory, struct host_state *ret);
void __wrap_facts_now(const char *directory, struct host_state *ret)
{
	*ret = (struct host_state){.load = 0.5, .memory_free = 1000, .users = 2, .disk_free = 3000};
}

uint64_t __wrap_rng_below(struct rng *r, uint64_t n);
uint64_t __wrap_rng_below(struct rng *r, uint64_t n)
{
	return n - 1;
}

void __wrap_terminal_cut(struct agent *a);
void __wrap_terminal_cut(struct agent *a)
{
	say("terminals: cut");
}

void __wrap_uv_stop(uv_loop_t *l);
void __wrap_uv_stop(uv_loop_t *l)
{
	say("the agent %s", agent.again ? "starts again" : "ends");
}

static const char *const severities[] = {"error", "warning", "notice", "info"};

void __wrap_log_line(enum severity severity, const char *format, ...) __attribute__((format(printf, 2, 3)));
void __wrap_log_line(enum severity severity, const char *format, ...)
{
	char text[2000];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	say("log %s: %s", severities[severity], text);
}

/* ---- commands ---- */

static void settle(void)
{
	played_settle(&loop, NULL);
}

static void agent_end(void)
{
	if (!begun)
		return;
	session_stop(&agent);
	streams_stop(&agent);
	peers_stop(&agent);
	spool_stop(&agent);
	views_stop(&agent);
	if (agent.turn.data)
		orders_stop(&agent);
	if (agent.turn.data)
		uv_close((uv_handle_t *)&agent.turn, NULL);
	settle();
	credential_fini(&agent);
	member_fini(&agent.member);
	json_decref(agent.facts);
	free(agent.trouble);
	begun = false;
}

static void agent_begin(char **w)
{
	struct err err;
	char *server;

	agent = (struct agent){.loop = &loop};
	begun = true;
	heard_at = 0;
	uv_update_time(&loop);
	agent.home.given = true;
	snprintf(agent.home.state, sizeof agent.home.state, "%s/state", dir);
	snprintf(agent.home.run, sizeof agent.home.run, "%s/run", dir);
	snprintf(agent.home.nursery, sizeof agent.home.nursery, "/nursery");
	snprintf(agent.home.bin, sizeof agent.home.bin, "/bin");
	assert_int_equal(home_make(&agent.home, &err), 0);
	if (member_load(&agent.home, &agent.member, &err) < 0) {
		agent.member = (struct member){.port = 7700};
		snprintf(agent.member.name, sizeof agent.member.name, "oak");
		snprintf(agent.member.cluster, sizeof agent.member.cluster, "lab");
		snprintf(agent.member.cgroup, sizeof agent.member.cgroup, "auto");
		snprintf(agent.member.joined_by, sizeof agent.member.joined_by, "%s", *w[2] == '-' ? "" : w[2]);
		agent.member.guest = strcmp(w[3], "guest") == 0;
		for (char *rest = w[1]; (server = strsep(&rest, ","));)
			if (*server != '-')
				vec_push(&agent.member.servers, mem_strdup(server));
	}
	agent.keys.cert = mem_strdup("certificate");
	agent.facts = json_pack("{s:i}", "cpus", 8);
	if (orders_start(&agent, &err) < 0 || peers_start(&agent, &err) < 0 || spool_start(&agent, &err) < 0) {
		say("it can't start: %s", err.text);
		agent_end();
		return;
	}
	views_start(&agent);
	session_start(&agent);
}

static void news_hear(char **w)
{
	static const char *const words[] = {"started", "ready", "saved", "used", "refused", "ended", "lost"};
	struct result r = {.tag = w[2], .how = RESULT_EXITED, .status = 1, .cpu_ms = 70, .memory_kib = 80};
	struct saves saves = {.state = SAVE_GOOD, .good = 1};
	struct news n = {.tag = w[2], .r = &r, .saves = &saves, .pid = 44, .reason = *w[3] ? w[3] : NULL};

	for (n.report = 0; n.report < SAYS_NOTHING && strcmp(words[n.report], w[1]) != 0;)
		n.report++;
	listener.heard(listener.context, &n);
}

/* Leaves out the random name of a tray. */
static const char *tray_hide(struct strbuf *text)
{
	char *at = strstr(strbuf_text(text), "\"tray\":\"g");

	if (at)
		memmove(at + 9, at + 9 + strcspn(at + 9, "\""), strlen(at + 9 + strcspn(at + 9, "\"")) + 1);
	return strbuf_text(text);
}

/* Shows the files of a directory below STATE: names, modes and texts. */
static void files_show(const char *name)
{
	char path[600];
	struct dirent **found;
	struct stat st;

	snprintf(path, sizeof path, "%s/state/%s", dir, name);
	int n = scandir(path, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		struct strbuf text = {0};
		snprintf(path, sizeof path, "%s/state/%s/%s", dir, name, found[i]->d_name);
		bool tray = found[i]->d_name[0] == 'g'; /* with a random name */
		if (*found[i]->d_name != '.' && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    file_read(path, 0, 1 << 20, &text) == 0)
			say("file %s/%s, %o: %s", name, found[i]->d_name, st.st_mode & 07777, tray_hide(&text));
		else if (*found[i]->d_name != '.')
			say("directory %s/%s", name, tray ? "of changes" : found[i]->d_name);
		strbuf_fini(&text);
		free(found[i]);
	}
	if (n >= 0)
		free(found);
}

/* Leaves a change as a command does while the server is down. */
static void change_put(char **w)
{
	struct change c = {.path = w[1], .body = w[2], .nonce = "nonce", .token = "token", .seal = "seal"};
	struct offer o;
	uint64_t number;
	char path[100];
	struct err err;

	snprintf(path, sizeof path, "%s/state/offline", dir);
	if (offer_read(path, &o, &err) < 0 || tray_put(path, &o, &c, &number, &err) < 0)
		say("no change: %s", err.text);
	else
		say("change %llu", (unsigned long long)number);
}

/* Spoils a change, as only its user can: takes its request away, or puts a file in its place. */
static void change_spoil(const char *number, bool file)
{
	char path[200];
	glob_t g;

	snprintf(path, sizeof path, "%s/state/offline/g*/%s/request", dir, number);
	if (glob(path, 0, NULL, &g) || unlink(g.gl_pathv[0]))
		die("no change has this number", number);
	*strrchr(g.gl_pathv[0], '/') = '\0';
	if (file && (rmdir(g.gl_pathv[0]) || file_replace(g.gl_pathv[0], 0600, "", 0, 0)))
		die("it can't be changed", number);
	globfree(&g);
}

static struct link *link_of(const char *name)
{
	struct link *l = played_find(name);

	if (!l)
		say("no such link");
	return l;
}

static void link_command(char **w, char *line)
{
	struct link *l = link_of(w[1]);

	if (!l)
		return;
	heard_at = (int64_t)uv_now(&loop);
	if (strcmp(w[0], "up") == 0) { /* LABEL */
		l->events->ready(l->context, l);
	} else if (strcmp(w[0], "gone") == 0) { /* LABEL REASON */
		l->over = mem_strdup(w[2]);
	} else if (strcmp(w[0], "queued") == 0) { /* LABEL BYTES */
		l->queued = strtoul(w[2], NULL, 10);
		if (l->queued < LINK_LOW && l->events->drained)
			l->events->drained(l->context, l);
	} else { /* frame LABEL {HEAD} [DATA] */
		played_deliver(l, strchr(line, '{'));
	}
}

static void command(char *line)
{
	static char copy[8192];
	char *w[WORDS] = {0}, path[200];

	snprintf(copy, sizeof copy, "%s", line);
	int most = strncmp(line, "news", 4) == 0 || strncmp(line, "file ", 5) == 0 || strncmp(line, "begin", 5) == 0
			   ? 4
			   : 3;
	for (int i = words_split(copy, w, most); i < WORDS; i++)
		w[i] = copy + strlen(line);
	if (strcmp(w[0], "begin") == 0) { /* SERVER,...|- JOINED-BY [guest] */
		agent_begin(w);
	} else if (strcmp(w[0], "end") == 0) {
		agent_end();
	} else if (strcmp(w[0], "wait") == 0) { /* MS */
		played_wait(&loop, atoi(w[1]), NULL);
	} else if (strcmp(w[0], "item") == 0) { /* TAG STATE: never: it is not here */
		int i = 0;
		while (i < nitems && strcmp(item[i].tag, w[1]) != 0)
			i++;
		snprintf(item[i].tag, sizeof item[i].tag, "%s", w[1]);
		snprintf(item[i].state, sizeof item[i].state, "%s", w[2]);
		item[i].busy = strcmp(w[2], "runs") == 0;
		nitems += i == nitems;
	} else if (strcmp(w[0], "news") == 0) { /* WORD TAG [REASON] */
		news_hear(w);
	} else if (strcmp(w[0], "failed") == 0) { /* REASON */
		listener.failed(listener.context, line + 7);
	} else if (strcmp(w[0], "opened") == 0) { /* -|TEXT [REASON] */
		snprintf(path, sizeof path, "%s/opened", dir);
		if (*w[1] != '-')
			file_replace(path, 0600, w[1], strlen(w[1]), 0);
		opened(opened_for, *w[1] == '-' ? -1 : open(path, O_RDONLY | O_CLOEXEC), w[2]);
	} else if (strcmp(w[0], "append") == 0) { /* BYTES: to the file that was opened */
		snprintf(path, sizeof path, "%s/opened", dir);
		int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		for (int i = 0; i < atoi(w[1]); i++)
			if (write(fd, "z", 1) != 1)
				die("it can't be written", path);
		close(fd);
	} else if (strcmp(w[0], "show") == 0) { /* DIRECTORY */
		files_show(w[1]);
	} else if (strcmp(w[0], "file") == 0) { /* NAME MODE TEXT: below STATE */
		snprintf(path, sizeof path, "%s/state/%s", dir, w[1]);
		assert_int_equal(file_replace(path, (mode_t)strtoul(w[2], NULL, 8), w[3], strlen(w[3]), 0), 0);
	} else if (strcmp(w[0], "change") == 0) { /* PATH BODY */
		change_put(w);
	} else if (strcmp(w[0], "spoil") == 0) { /* NUMBER [file] */
		change_spoil(w[1], *w[2]);
	} else if (strcmp(w[0], "peer") == 0) { /* LABEL: another host calls */
		calls.link(&agent, played_link(w[1], NULL, NULL, -1));
	} else if (strcmp(w[0], "set") == 0) { /* NAME NUMBER */
		if (strcmp(w[1], "background") == 0)
			background = atoi(w[2]);
		else if (strcmp(w[1], "nogroups") == 0)
			start_fails = atoi(w[2]);
		else if (strcmp(w[1], "noport") == 0)
			port_fails = atoi(w[2]);
		else if (strcmp(w[1], "expires") == 0)
			agent.valid_until = atoll(w[2]);
		else if (strcmp(w[1], "last_port") == 0)
			agent.member.last_port = atoi(w[2]);
	} else {
		link_command(w, line);
	}
	settle();
}

static void run_begin(const char *base, int number)
{
	agent_end();
	nitems = 0;
	start_fails = port_fails = 0;
	background = false;
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void agents(void **state)
{
	umask(022);
	uv_loop_init(&loop);
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(agents)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("agents", tests, NULL, NULL);
}
