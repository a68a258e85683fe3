/*
 * test_lived.c - what a server does turn by turn: what it answers, commits, orders, mails, logs and
 * writes into its files while lived.txt says what happens to it. Its clock moves only by commands.
 *
 * A line "= TITLE" begins a run with a server of its own, "$ COMMAND" says what happens, and the
 * other lines are recorded: what came of it, each with the seconds since the run began. If a change
 * of them is intended, run
 *	SHUNT_GOLDEN=write meson test -C build lived
 * and look at the difference.
 *
 *	site NODES			opens the server; the first command of each run
 *	ask USER METHOD PATH [BODY]	sends a request and shows the answer
 *	show PATH			the same by root, a member a line
 *	job USER MEMBERS		submits a job with a script, in /tmp
 *	keyed KEY USER [PATH] BODY	submits, or changes jobs, with a key
 *	steps N				pauses changes of many jobs after that many steps
 *	set NAME VALUE			sets an attribute of the server
 *	conf NAME VALUE			sets an option of the configuration
 *	wait N				lets N seconds pass, a turn each
 *	skip N				lets N seconds pass at once
 *	ahead N				sets the wall clock that many seconds ahead
 *	start [ID]			reports the start of what was ordered
 *	end ID [RESULT]			reports the end of a job, or of an element, as 3-1
 *	refuse ID [HOST REASON]		reports that an attempt did not start
 *	lose ID HOST [WHY]		reports that an attempt is lost
 *	use ID CPU_MS KIB		reports usage
 *	save ID SAVES			reports checkpoints
 *	erased NAME [REASON]		reports that a directory was deleted
 *	join NAME FACTS			adds a host with an agent, which connects
 *	hear NAME FACTS			lets it connect again
 *	away				ends its connection
 *	overlay NAME SECONDS CPUS	adds an overlay for two nodes with that many CPUs
 *	again				restarts the server
 *	hook [LUA]			sets the site's hook
 *	orders MEMBERS			shows these members of orders too
 */
#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "golden/recorded.h"
#include "run/checkpoint.h"
#include "run/order.h"
#include "server/api/stream/journal.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/mail.h"
#include "server/life/enter/submit.h"
#include "server/life/state.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/world.h"
#include "server/link/nodes.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/overlays.h"
#include "server/site/realm.h"
#include "store/store.h"
#include "support/lua.h"
#include "support/site.h"
#include "support/skip.h"

#define FILE_NAME SHUNT_ROOT "/tests/golden/lived.txt"
#define BEGAN INT64_C(1800000000)
#define ROWS_MOST 4096

static struct site *site;
static struct strbuf lived;
static int64_t ahead; /* seconds */

/* Replaces those characters after each `before`, which differ from run to run. */
static void random_hide(struct strbuf *text, const char *before, const char *set)
{
	for (char *at = text->n ? strstr(text->text, before) : NULL; at; at = strstr(at, before)) {
		at += strlen(before);
		size_t n = strspn(at, set);
		memmove(at + 1, at + n, strlen(at + n) + 1);
		*at = '.';
	}
	text->n = strlen(strbuf_text(text));
}

/* Appends a line with the time. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	struct strbuf text = {0};
	va_list ap;

	va_start(ap, format);
	strbuf_vprintf(&text, format, ap);
	va_end(ap);
	for (char *c = text.text; c && *c; c++)
		*c = *c == '\n' && c[1] ? '\t' : *c & 0x80 ? '?' : *c;
	strbuf_printf(&lived, "%" PRId64 ": ", site->now - BEGAN);
	random_hide(&text, "\"inode\":", "0123456789");
	random_hide(&text, "\"hash\":\"", "0123456789abcdef");
	random_hide(&text, "{\"tokens\":[", "\"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz.-");
	recorded_put(&lived, site, strbuf_text(&text));
	strbuf_puts(&lived, text.n && text.text[text.n - 1] == '\n' ? "" : "\n");
	strbuf_fini(&text);
}

/* ---- what leaves the server ---- */

static char wanted[100]; /* members of orders that are shown as well */

static void ordered(const struct part_order *parts, int n)
{
	static const char *const usual[] = {"account", "append",       "argv",		"by_name",     "deliver_for",
					    "env",     "err",	       "gid",		"home",	       "id",
					    "name",    "nodefile",     "nodefile_path", "nplaced",     "out",
					    "queue",   "resources",    "script",	"script_hash", "script_sha256",
					    "shell",   "site_seconds", "spare",		"tag",	       "tmpdir",
					    "uid",     "umask",	       "user",		"workdir"};

	for (int i = 0; i < n; i++) {
		struct strbuf text = {0};
		order_write(&parts[i].order, &text);
		json_t *o = json_loads(text.text, 0, NULL);
		for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
			if (!strstr(wanted, usual[k]))
				json_object_del(o, usual[k]);
		char *members = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
		say("order %s, part %d of %d on \"%s\": %s", parts[i].order.tag, i, n, parts[i].host, members);
		free(members);
		json_decref(o);
		strbuf_fini(&text);
	}
}

void __real_engine_signal(struct engine *e, const char *tag, int signal);
void __wrap_engine_signal(struct engine *e, const char *tag, int signal)
{
	say("signal %s %d", tag, signal);
	__real_engine_signal(e, tag, signal);
}

void __real_engine_limit(struct engine *e, const char *tag, int64_t walltime);
void __wrap_engine_limit(struct engine *e, const char *tag, int64_t walltime)
{
	say("limit %s %" PRId64, tag, walltime);
	__real_engine_limit(e, tag, walltime);
}

void __real_engine_save(struct engine *e, const char *tag, enum checkpoint_cause cause, int64_t seconds);
void __wrap_engine_save(struct engine *e, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	say("save %s %s within %" PRId64, tag, save_words[cause], seconds);
	__real_engine_save(e, tag, cause, seconds);
}

void __wrap_engine_forget(struct engine *e, const char *tag)
{
	say("forget %s", tag);
}

void __wrap_engine_erase(struct engine *e, const char *name, const struct nursery_user *who, const char *path)
{
	say("erase %s of %s: %s", name, who->name, path);
}

int __wrap_mailer_send(struct mailer *m, const char *program, const struct mail *mail, struct err *err)
{
	struct strbuf text = {0};
	int rc = mail_format(mail, &text, err);

	if (rc == 0)
		say("mail by %s: %s", program, text.text);
	strbuf_fini(&text);
	return rc;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	*ret = (struct timespec){.tv_sec =
					 site->now + (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? ahead : 0)};
	return 0;
}

/* ---- what it has written ---- */

/* Tables, and the number of columns by which a row is known. What is on its way to a file is shown
 * when it is there. */
static const struct {
	const char *name;
	int key;
} tables[] = {
	{"audit", 1},  {"body", 1}, {"damaged", 1}, {"event", 1}, {"history", 2},    {"job", 1},
	{"ledger", 5}, {"life", 1}, {"object", 2},  {"quota", 1}, {"quota_move", 1}, {"script", 1},
};

struct row {
	char *text;
	size_t key; /* length of the part by which it is known */
};
static struct row rows[ROWS_MOST];
static int nrows;
static uint64_t logged;		    /* number of the next line of the log */
static struct strbuf files, events; /* what was in the files of accounting and of events */

static void dump_free(struct row *v, int n)
{
	while (n > 0)
		free(v[--n].text);
}

/* Returns true if a row that is known by the same key, or is the same, is among those. */
static bool row_among(const struct row *x, const struct row *v, int n, bool same)
{
	for (int i = 0; i < n; i++)
		if (same ? strcmp(x->text, v[i].text) == 0
			 : x->key == v[i].key && strncmp(x->text, v[i].text, x->key) == 0)
			return true;
	return false;
}

static sqlite3 *db; /* the store, read beside the server */
static int version; /* changes with each commit */

static void table_read(int table, struct row *ret, int *n)
{
	static const char next[] = "object kind=meta name=next "; /* changes with everything else */
	char sql[80];
	sqlite3_stmt *q;

	snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1, 2", tables[table].name);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
	while (sqlite3_step(q) == SQLITE_ROW) {
		struct strbuf text = {0};
		struct row *x = &ret[*n];
		assert_true(*n < ROWS_MOST);
		strbuf_puts(&text, tables[table].name);
		for (int i = 0; i < sqlite3_column_count(q); i++) {
			const char *value = (const char *)sqlite3_column_text(q, i);
			strbuf_printf(&text, " %s=%s", sqlite3_column_name(q, i), value ? value : "-");
			if (i + 1 == tables[table].key)
				x->key = text.n;
		}
		x->text = text.text;
		*n += strncmp(x->text, next, sizeof next - 1) != 0;
		if (strncmp(x->text, next, sizeof next - 1) == 0)
			free(x->text);
	}
	sqlite3_finalize(q);
}

/* Returns true if the server has committed something since the last call. */
static bool committed(void)
{
	sqlite3_stmt *q;
	char path[100];
	int before = version;

	snprintf(path, sizeof path, "%s/shunt.db", site->dir);
	if (!db)
		assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA data_version", -1, &q, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	version = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	return version != before;
}

/* Says which rows of the store have come, changed (=) and gone since the last time. */
static void store_say(void)
{
	static struct row now[ROWS_MOST];
	int n = 0;

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		table_read((int)i, now, &n);
	for (int i = 0; i < n; i++)
		if (!row_among(&now[i], rows, nrows, true))
			say("%c %s", row_among(&now[i], rows, nrows, false) ? '=' : '+', now[i].text);
	for (int i = 0; i < nrows; i++)
		if (!row_among(&rows[i], now, n, false))
			say("- %.*s", (int)rows[i].key, rows[i].text);
	dump_free(rows, nrows);
	memcpy(rows, now, (size_t)n * sizeof *now);
	nrows = n;
}

/* Says what was added to a text since `before`, which becomes that text. */
static void added_say(const char *what, struct strbuf *before, struct strbuf *now)
{
	for (size_t at = before->n; at < now->n; at += strcspn(now->text + at, "\n") + 1)
		say("%s %.*s", what, (int)strcspn(now->text + at, "\n"), now->text + at);
	strbuf_fini(before);
	*before = *now;
}

/* Says what was added to the files of accounting and of events. */
static void files_say(void)
{
	struct strbuf accounts = {0}, log = {0};
	struct dirent **list = NULL;
	char path[400];

	snprintf(path, sizeof path, "%s/accounting", site->dir);
	int n = scandir(path, &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/accounting/%s", site->dir, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			assert_int_equal(file_read(path, 0, 1 << 20, &accounts), 0);
		free(list[i]);
	}
	free(list);
	added_say("accounting", &files, &accounts);
	snprintf(path, sizeof path, "%s/events.log", site->dir);
	if (access(path, R_OK) == 0)
		assert_int_equal(file_read(path, 0, 1 << 20, &log), 0);
	added_say("event", &events, &log);
}

/* Lets the server do what it can now, and says what came of it. */
static void settle(void)
{
	const struct log_kept *k;

	for (int i = 0; i < 5; i++) {
		site->s->turn->asked = true; /* it commits at once */
		lua_answer(site->s, 99);
		server_turn(site->s);
	}
	if (committed()) {
		store_say();
		files_say();
	}
	while ((k = log_next(site->s->log, SEVERITY_DEBUG, &logged)))
		say("log %s: %s", severity_names[k->severity], k->text ? k->text : "");
}

/* ---- commands ---- */

/* Takes the next word off a line. */
static char *word(char **line)
{
	char *w = *line ? strsep(line, " ") : NULL;

	return w ? w : "";
}

static uid_t user_of(const char *name)
{
	static const char *const names[] = {"root", "daemon", "bin"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return (uid_t)i;
	fail_msg("user \"%s\"", name);
	return 0;
}

static void answer_say(int status, size_t flags)
{
	json_t *o = json_loads(strbuf_text(&site->a.body), JSON_DECODE_ANY, NULL);
	char *text = o ? json_dumps(o, JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6) | flags) : NULL;

	if (flags & JSON_COMPACT)
		say("%d %s", status, text ? text : strbuf_text(&site->a.body));
	else {
		strbuf_printf(&lived, "%d ", status);
		recorded_put(&lived, site, text ? text : strbuf_text(&site->a.body));
		strbuf_puts(&lived, "\n");
	}
	free(text);
	json_decref(o);
}

static void command_ask(char *rest)
{
	uid_t uid = user_of(word(&rest));
	const char *method = word(&rest), *path = word(&rest);

	answer_say(site_ask(site, uid, method, path, rest), JSON_COMPACT);
}

/* Sends a request that may be repeated with the same key. */
static void command_keyed(char *rest)
{
	const char *key = word(&rest);
	uid_t uid = user_of(word(&rest));
	const char *path = *rest == '/' ? word(&rest) : "/v1/jobs";
	struct bare_client from = {0};

	strbuf_fini(&site->a.body);
	site->a = (struct bare_answer){0};
	int status = bare_call(site->s, uid, &from, "POST", path, key, rest, &site->a);
	say("%s", site->a.replayed ? "replayed" : "not replayed");
	answer_say(status, JSON_COMPACT);
}

static void command_steps(char *rest)
{
	site->s->slices->slice_steps = atoi(rest);
}

static void command_show(char *rest)
{
	answer_say(site_ask(site, 0, "GET", rest, NULL), JSON_INDENT(1));
}

static void command_job(char *rest)
{
	struct strbuf body = {0};
	uid_t uid = user_of(word(&rest));

	strbuf_printf(&body, "{\"script\":\"true\\n\",\"workdir\":\"/tmp\"%s%s}", rest ? "," : "", rest ? rest : "");
	answer_say(site_ask(site, uid, "POST", "/v1/jobs", body.text), JSON_COMPACT);
	strbuf_fini(&body);
}

static void command_set(char *rest)
{
	const char *name = word(&rest);
	int status = site_set(site, name, rest ? rest : "");

	if (status != 200)
		answer_say(status, JSON_COMPACT);
}

/* Options that the run has set, NAME and VALUE in turn. */
static VEC(char *) options;

static void options_set(void)
{
	struct err err;

	for (size_t i = 0; i < options.n; i += 2)
		if (conf_set(site->s->conf, options.v[i], options.v[i + 1], &err) < 0)
			fail_msg("%s: %s", options.v[i], err.text);
}

static void command_conf(char *rest)
{
	vec_push(&options, mem_strdup(word(&rest)));
	vec_push(&options, mem_strdup(rest ? rest : ""));
	options_set();
}

static void pass(int64_t seconds)
{
	site->now += seconds;
	bare_clock(site->now * 1000000);
	settle();
}

static void command_wait(char *rest)
{
	for (int64_t n = atoll(rest); n > 0; n--)
		pass(1);
}

static void command_skip(char *rest)
{
	pass(atoll(rest));
}

static void command_ahead(char *rest)
{
	ahead += atoll(rest);
}

/* Returns the tag of the newest attempt of a job. */
static const char *tag_of(const char *id)
{
	const struct bare_attempt *all;
	static char tag[64];
	size_t n = strlen(id);

	for (size_t i = bare_attempts(&all); i-- > 0;)
		if (strncmp(all[i].tag, id, n) == 0 &&
		    (all[i].tag[n] == '.' || strncmp(all[i].tag + n, "-x", 2) == 0)) {
			snprintf(tag, sizeof tag, "%s", all[i].tag);
			return tag;
		}
	say("no attempt of %s was ordered", id);
	return NULL;
}

static void command_start(char *rest)
{
	const struct bare_attempt *all;

	if (rest && tag_of(rest))
		bare_started(site->s, tag_of(rest));
	for (size_t i = 0; !rest && i < bare_attempts(&all); i++)
		if (!all[i].started)
			bare_started(site->s, all[i].tag);
}

static json_t *object_of(const char *text)
{
	json_t *o = json_loads(text ? text : "{}", 0, NULL);

	if (!o)
		fail_msg("no object: %s", text);
	return o;
}

static void command_end(char *rest)
{
	const char *tag = tag_of(word(&rest));

	if (!tag)
		return;
	struct arena *a = arena_create();
	json_t *o = json_pack("{s:s,s:s,s:I,s:i,s:i}", "tag", tag, "how", "exited", "ended_us",
			      (json_int_t)((site->now + ahead) * 1000000), "session", 77, "ran_ms", 1000);
	json_t *more = object_of(rest);
	struct result r = {0};
	struct err err;

	json_object_update(o, more);
	if (result_load(o, a, &r, &err) < 0)
		fail_msg("%s", err.text);
	r.tag = tag;
	bare_forget(tag);
	dispatch_engine.attempt_ended(site->s, &r);
	json_decref(more);
	json_decref(o);
	arena_destroy(a);
}

static void command_refuse(char *rest)
{
	const char *tag = tag_of(word(&rest)), *host = word(&rest);

	if (!tag)
		return;
	bare_forget(tag);
	dispatch_engine.attempt_refused(site->s,
					&(struct refusal){.tag = tag, .host = *host ? host : NULL, .reason = rest});
}

static void command_lose(char *rest)
{
	const char *tag = tag_of(word(&rest)), *host = word(&rest);

	if (!tag)
		return;
	bare_forget(tag);
	dispatch_engine.attempt_lost(site->s, tag, host, rest);
}

static void command_use(char *rest)
{
	const char *tag = tag_of(word(&rest)), *cpu = word(&rest);

	if (!tag)
		return;
	dispatch_engine.attempt_used(site->s, tag, atoll(cpu), atoll(rest));
}

static void command_save(char *rest)
{
	const char *tag = tag_of(word(&rest));
	struct saves saves;

	if (!tag)
		return;
	if (saves_read(rest, strlen(rest), &saves) < 0)
		fail_msg("no checkpoints: %s", rest);
	dispatch_engine.attempt_saved(site->s, tag, &saves);
}

static void command_erased(char *rest)
{
	const char *name = word(&rest);

	dispatch_engine.erased(site->s, name, rest);
}

static void hear(const char *name, uint64_t join, const char *facts)
{
	struct cert_names who = {.role = CERT_NODE, .join = join};

	snprintf(who.name, sizeof who.name, "%s", name);
	bare_agent_hear(site->s, &who, facts, NULL);
}

static uint64_t join;

static void command_join(char *rest)
{
	const char *name = word(&rest);
	json_t *known = object_of(rest);
	struct err err;

	if (nodes_join(site->s, name, known, "root", &join, &err) < 0)
		fail_msg("%s", err.text);
	hear(name, join, rest);
	json_decref(known);
}

static void command_hear(char *rest)
{
	const char *name = word(&rest);

	hear(name, join, rest);
}

/* Not by a request, which would need a port. */
static void command_overlay(char *rest)
{
	const char *name = word(&rest);
	struct overlay given = {.place = mem_strdup("slurm"),
				.words = mem_strdup("-p long"),
				.tag = mem_strdup("slurm:shunt-bag-0123456789ab"),
				.nodes = 2,
				.seconds = atoll(word(&rest)),
				.cpus = atoll(rest),
				.idle = 60};

	overlay_store(site->s, overlay_add(site->s, name, &given));
	world_changed(site->s);
}

static void command_away(char *rest)
{
	bare_agent_go(false);
}

static void command_hook(char *rest)
{
	static char text[1000];

	snprintf(text, sizeof text, "%s", rest ? rest : "");
	lua_set(*text ? text : NULL);
}

static void command_orders(char *rest)
{
	snprintf(wanted, sizeof wanted, "%s", rest ? rest : "");
}

/* Makes the server log from its start on. */
static void logs(struct server *s)
{
	s->log = log_create(SEVERITY_DEBUG);
	logged = 0;
}

static void opened(void)
{
	site->s->instance->origin = 0x5f3a9c01;
	site->s->realm->authority.secret = mem_strdup("secret");
	site->s->post->show_move = journal_move;
	site->s->post->heard = journal_heard;
	site->s->world->grow = job_grow;
	options_set();
}

static void command_again(char *rest)
{
	log_destroy(site->s->log);
	site->s->log = NULL;
	lua_forget();
	site_reopen(site);
	opened();
}

static void close_site(void)
{
	void *state = site;

	if (!site)
		return;
	log_destroy(site->s->log);
	site->s->log = NULL;
	lua_forget();
	command_hook(NULL);
	command_orders(NULL);
	sqlite3_close(db);
	db = NULL;
	version = 0;
	dump_free(rows, nrows);
	nrows = 0;
	strbuf_fini(&files);
	strbuf_fini(&events);
	while (options.n)
		free(options.v[--options.n]);
	vec_free(&options);
	site_teardown(&state);
	site = NULL;
}

/* Opens a run's server. What a new store has is not recorded. */
static void command_site(char *rest)
{
	static struct strbuf nodes;
	void *state;

	close_site();
	ahead = 0;
	strbuf_clear(&nodes);
	strbuf_puts(&nodes, rest);
	static struct site before = {.now = BEGAN};
	site = &before;
	assert_int_equal(site_setup(&state, nodes.text, BEGAN), 0);
	site = state;
	opened();
	size_t n = lived.n;
	settle();
	lived.text[lived.n = n] = '\0';
}

static const struct {
	const char *name;
	void (*call)(char *rest);
} commands[] = {
	{"again", command_again}, {"ahead", command_ahead}, {"ask", command_ask},	{"away", command_away},
	{"conf", command_conf},	  {"end", command_end},	    {"erased", command_erased}, {"hear", command_hear},
	{"job", command_job},	  {"hook", command_hook},   {"join", command_join},	{"orders", command_orders},
	{"keyed", command_keyed}, {"lose", command_lose},   {"refuse", command_refuse}, {"overlay", command_overlay},
	{"save", command_save},	  {"set", command_set},	    {"show", command_show},	{"site", command_site},
	{"skip", command_skip},	  {"start", command_start}, {"steps", command_steps},	{"use", command_use},
	{"wait", command_wait},
};

static void command(char *line)
{
	const char *name = word(&line);

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, name) == 0) {
			commands[i].call(line);
			if (commands[i].call != command_wait && commands[i].call != command_skip &&
			    commands[i].call != command_site)
				settle();
			return;
		}
	fail_msg("unknown command: %s", name);
}

static void test_lived(void **state)
{
	struct strbuf text = {0};

	const struct passwd *user = getpwuid(1);

	if (getuid() != 0)
		skip_because("users other than root can't start jobs of others");
	if (!user || strcmp(user->pw_name, "daemon") != 0 || strcmp(user->pw_dir, "/usr/sbin") != 0)
		skip_because("the user daemon has another home than what was recorded");
	setenv("TZ", "UTC", 1);
	tzset();
	bare_ordered = ordered;
	bare_created = logs;
	bare_port = 7722;
	assert_int_equal(file_read(FILE_NAME, 0, 4 << 20, &text), 0);
	for (char *rest = text.text, *line; (line = strsep(&rest, "\n"));) {
		if (*line == '=' && lived.n)
			strbuf_puts(&lived, "\n");
		if (*line == '=' || *line == '$' || *line == '#')
			strbuf_printf(&lived, "%s\n", line);
		if (*line == '$')
			command(line + 2);
	}
	recorded_compare(FILE_NAME, "$ ", &lived);
	close_site();
	bare_ordered = NULL;
	bare_created = NULL;
	strbuf_fini(&lived);
	strbuf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lived)};

	return cmocka_run_group_tests_name("lived", tests, NULL, NULL);
}
