/*
 * test_peers.c - the whole server with hosts, their agents and what users leave there, played by
 * the test: every answer, every frame to an agent, every order, mail and line of the log, and the
 * files for the time without a server, compared with peers.txt. asked.txt has what is rarely asked
 * of one machine, streams.txt output of jobs and programs in them (clients.h), standby.txt servers
 * that share a store (leaders.h), damaged.txt stores that fail or are damaged.
 *
 * A line "= TITLE" of a file begins a run with a new site, and "$ COMMAND" says what happens; the
 * other lines are recorded by
 *	SHUNT_GOLDEN=write meson test -C build peers
 */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "client/tray.h"
#include "core/cluster.h"
#include "golden/clients.h"
#include "golden/leaders.h"
#include "golden/peers.h"
#include "golden/recorded.h"
#include "server/api/stream/events.h"
#include "server/api/stream/output.h"
#include "server/api/stream/terminal.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/book/mail.h"
#include "server/life/world/dispatch.h"
#include "server/link/agents.h"
#include "server/link/nodes.h"
#include "server/link/standby.h"
#include "server/loop.h"
#include "server/node/nodes.h"
#include "server/offline/offline.h"
#include "server/offline/spool.h"
#include "server/offline/view.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "store/store.h"
#include "support/site.h"
#include "support/skip.h"
#include "tls/pki.h"

#define FOLDER SHUNT_ROOT "/tests/golden/"
#define NOW INT64_C(3000000000) /* in 2065: later than the real times of files that users leave */

struct site *site;
static struct strbuf shown;
static uint64_t log_at;
int64_t now_us;
bool quiet;

/* ---- what differs from run to run ---- */

/* Texts that differ, each with what is shown instead. */
static struct {
	char *text;
	const char *shown;
} known[64];
static size_t nknown;

static void known_add(const char *text, const char *instead)
{
	if (!text || !*text || nknown == sizeof known / sizeof *known)
		return;
	known[nknown].text = mem_strdup(text);
	known[nknown++].shown = instead;
}

static size_t is_known(const char *p, const char **ret)
{
	for (size_t i = 0; i < nknown; i++)
		if (strncmp(p, known[i].text, strlen(known[i].text)) == 0) {
			*ret = known[i].shown;
			return strlen(known[i].text);
		}
	return 0;
}

/* Returns the length of a PEM text. */
static size_t is_pem(const char *p)
{
	const char *end = strncmp(p, "-----BEGIN", 10) == 0 ? strstr(p, "-----END") : NULL, *last;

	return end && (last = strstr(end + 8, "-----")) ? (size_t)(last + 5 - p) : 0;
}

/* Returns the length of a long word of digits and letters, which is a secret or a hash. */
static size_t is_secret(const char *p)
{
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+="), digits = 0;

	for (size_t i = 0; i < n; i++)
		digits += p[i] >= '0' && p[i] <= '9';
	return n >= 43 || (n >= 22 && digits > 2) ? n : 0; /* 43: 32 bytes in base64 */
}

static void text_show(const char *text)
{
	struct strbuf out = {0};
	const char *instead;
	bool word = false;

	for (size_t n; *text; text += n) {
		if ((n = is_known(text, &instead)))
			strbuf_puts(&out, instead);
		else if ((n = is_pem(text)))
			strbuf_puts(&out, "(PEM)");
		else if (!word && (n = is_secret(text)))
			strbuf_puts(&out, "(secret)");
		else {
			n = 1;
			strbuf_add(&out, text, 1);
		}
		word = (text[n - 1] >= '0' && text[n - 1] <= '9') || (text[n - 1] >= 'a' && text[n - 1] <= 'z') ||
		       (text[n - 1] >= 'A' && text[n - 1] <= 'Z');
	}
	recorded_put(&shown, site, strbuf_text(&out));
	strbuf_fini(&out);
}

void say(const char *format, ...)
{
	struct strbuf text = {0};
	va_list ap;

	if (quiet)
		return;
	va_start(ap, format);
	strbuf_vprintf(&text, format, ap);
	va_end(ap);
	text_show(strbuf_text(&text));
	strbuf_puts(&shown, "\n");
	strbuf_fini(&text);
}

/* ---- mail, time ---- */

int mailer_send(struct mailer *m, const char *program, const struct mail *mail, struct err *err)
{
	say("mail to %s: %s\n%s", mail->to, mail->name, mail->text ? mail->text : "");
	return 0;
}

time_t __wrap_time(time_t *ret);
time_t __wrap_time(time_t *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}

/* ---- what newcomers and users have ---- */

static struct {
	struct strbuf key, csr, cert, before, before_key;
	char token[TOKEN_SIZE];
	struct offer offer; /* what the last lease allows */
} own;

/* Appends a text as it is inside a JSON string. */
static void escaped(struct strbuf *out, const char *text)
{
	for (; *text; text++)
		strbuf_printf(out, *text == '\n' ? "\\n" : "%c", *text);
}

/* Makes a key; the last one stays, with its certificate, for those who join again. */
static void key_make(void)
{
	struct err err;

	strbuf_clear(&own.before_key);
	strbuf_add(&own.before_key, strbuf_text(&own.key), own.key.n);
	strbuf_clear(&own.before);
	strbuf_add(&own.before, strbuf_text(&own.cert), own.cert.n);
	strbuf_clear(&own.key);
	strbuf_clear(&own.csr);
	assert_int_equal(pki_key(&own.key, &err), 0);
	assert_int_equal(pki_request(own.key.text, &own.csr, &err), 0);
}

/* Replaces @token, @csr, @before, @proof, @dir and @lease. */
static void fill_in(const char *line, struct strbuf *out)
{
	struct err err;

	for (; *line; line++) {
		struct strbuf proof = {0};
		if (strncmp(line, "@token", 6) == 0) {
			strbuf_puts(out, own.token);
			line += 5;
		} else if (strncmp(line, "@csr", 4) == 0) {
			escaped(out, strbuf_text(&own.csr));
			line += 3;
		} else if (strncmp(line, "@before", 7) == 0) {
			escaped(out, strbuf_text(&own.before));
			line += 6;
		} else if (strncmp(line, "@proof", 6) == 0) {
			assert_int_equal(pki_sign(own.before_key.text, own.csr.text, own.csr.n, &proof, &err), 0);
			escaped(out, proof.text);
			line += 5;
		} else if (strncmp(line, "@dir", 4) == 0) {
			strbuf_puts(out, site->dir);
			line += 3;
		} else if (strncmp(line, "@lease", 6) == 0) {
			strbuf_puts(out, own.offer.lease);
			line += 5;
		} else
			strbuf_add(out, line, 1);
		strbuf_fini(&proof);
	}
}

/* Keeps a token or a certificate of an answer. */
static void answer_keep(const json_t *o)
{
	const char *token = json_string_value(json_object_get(o, "token"));
	const char *cert = json_string_value(json_object_get(o, "certificate"));

	const json_t *more;
	size_t i;

	json_array_foreach(json_object_get(o, "tokens"), i, more) if (json_is_string(more))
	{
		known_add(json_string_value(more), "(token)");
		token = i == 0 ? json_string_value(more) : token;
	}
	known_add(token, "(token)");
	known_add(json_string_value(json_object_get(json_object_get(o, "error"), "pass")), "(pass)");
	if (token)
		snprintf(own.token, sizeof own.token, "%s", token);
	if (cert) {
		strbuf_clear(&own.cert);
		strbuf_puts(&own.cert, cert);
	}
}

static void answer_show(int status)
{
	json_t *o = json_loads(strbuf_text(&site->a.body), JSON_DECODE_ANY, NULL);
	char *text =
		o ? json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;

	answer_keep(o);
	/* the process, and a file that was written by the real clock */
	json_int_t modified = json_integer_value(json_object_get(o, "modified"));
	if (json_object_get(o, "pid") || (modified && modified < NOW / 2 + 500000000)) {
		free(text);
		json_object_set_new(o, json_object_get(o, "pid") ? "pid" : "modified", json_integer(1));
		text = json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	}
	say("%d %s", status, text ? text : strbuf_text(&site->a.body));
	free(text);
	json_decref(o);
}

/* ---- what users leave ---- */

static char wrong[32]; /* what is wrong with the next change that is brought */

/* Delivers "LINK NUMBER AGE NONCE PATH BODY", sealed with the token of a login. */
static void bring(char *args)
{
	struct strbuf sealed = {0}, text = {0};
	char name[32], nonce[32], path[64], hash[FINGERPRINT_SIZE], seal[64];
	int number, used;
	long long age;
	struct token token;
	struct err err;

	if (sscanf(args, "%31s %d %lld %31s %63s %n", name, &number, &age, nonce, path, &used) != 5 || !link_at(name))
		fail_msg("bring %s", args);
	assert_int_equal(token_parse(own.token, &token, &err), 0);
	char *last = own.offer.lease + strlen(own.offer.lease) - 1, right = *last;
	if (strcmp(wrong, "lease") == 0)
		*last = right == 'a' ? 'b' : 'a';
	seal_text(own.offer.lease, nonce, path, args + used, &sealed);
	secret_hash(token.secret, hash);
	secret_mac(hash, sealed.text, seal);
	if (strcmp(wrong, "seal") == 0)
		seal[0] = seal[0] == 'a' ? 'b' : 'a';
	change_format(&own.offer, &(struct change){path, args + used, nonce, token.id, seal}, &text);
	if (strcmp(wrong, "text") == 0)
		text.text[0] = '[';
	*last = right;
	size_t size = strcmp(wrong, "size") == 0 ? text.n - 1 : text.n, half = strcmp(wrong, "half") == 0 ? 20 : 0;
	json_t *head = json_pack("{s:s,s:I,s:I,s:I}", "t", "kept", "number", (json_int_t)own.offer.next + number,
				 "size", (json_int_t)size, "age", (json_int_t)age);
	struct link *l = *link_at(name);
	if (half)
		l->events->frame(l->context, l, head, text.text, half);
	l->events->frame(l->context, l, head, text.text + half, text.n - half);
	json_decref(head);
	strbuf_fini(&sealed);
	strbuf_fini(&text);
	*wrong = '\0';
}

/* Leaves "UID PATH BODY" on the server's machine, as a command of that user does. */
static void leave(char *args)
{
	char path[64], dir[128];
	struct offer o;
	struct err err;
	int uid, used;
	uint64_t number;

	if (sscanf(args, "%d %63s %n", &uid, path, &used) != 2)
		fail_msg("leave %s", args);
	snprintf(dir, sizeof dir, "%s/offline", site->dir);
	if (offer_read(dir, &o, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(seteuid((uid_t)uid), 0);
	int rc = tray_put(dir, &o, &(struct change){.path = path, .body = args + used}, &number, &err);
	assert_int_equal(seteuid(0), 0);
	if (rc < 0)
		fail_msg("%s", err.text);
	say("left as %llu", (unsigned long long)number);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Shows the files below a directory. */
static void files_show(const char *below)
{
	struct dirent **all;
	char path[512];
	struct stat st;

	int n = scandir(below, &all, NULL, by_name);
	for (int i = 0; i < n; i++) {
		struct strbuf text = {0};
		snprintf(path, sizeof path, "%s/%s", below, all[i]->d_name);
		if (all[i]->d_name[0] != '.' && lstat(path, &st) == 0) {
			bool acl = strncmp(all[i]->d_name, "view.", 5) == 0; /* the mode has what the ACL allows */
			say("file %s %o%s", path, acl ? 0 : (unsigned)st.st_mode & 07777,
			    S_ISDIR(st.st_mode) ? "/" : "");
			if (S_ISDIR(st.st_mode))
				files_show(path);
			else if (file_read(path, 0, 1 << 20, &text) == 0)
				say("%s", strbuf_text(&text));
		}
		strbuf_fini(&text);
		free(all[i]);
	}
	free(all);
}

/* ---- the server ---- */

static void log_show(void)
{
	const struct log_kept *k;

	while ((k = log_next(site->s->log, SEVERITY_DEBUG, &log_at)))
		say("log: %s: %s", severity_names[k->severity], k->text);
}

/* Opens a file in place of the nursery. */
static int opens(const char *path, int flags, int mode)
{
	return open(path, flags | O_CLOEXEC, mode);
}

static void server_prepare(void)
{
	struct server *s = site->s;
	struct err err;

	conf_set(s->conf, "cluster.listen", "7722", &err);
	conf_set(s->conf, "cluster.address", "head.example.org:7722", &err);
	conf_set(s->conf, "mail.program", "/bin/mail", &err);
	s->conf->offline = true;
	s->realm->epoch = 3;
	s->hosts->lease = spool_lease;
	s->hosts->kept = spool_frame;
	s->hosts->stream = stream_taken;
	s->realm->tasks = (struct tasks *)&opens; /* only passed on */
	bare_opens = opens;
	s->log = log_create(SEVERITY_DEBUG);
	log_at = 0;
	assert_int_equal(realm_begin(s, &err), 0);
	realm_locate(s);
}

/* Waits for what is done in other threads. */
static void threads_wait(struct server *s)
{
	while (s->loop->active_reqs.count > 0)
		uv_run(s->loop, UV_RUN_ONCE);
}

static void settle(void)
{
	for (int i = 0; i < 4; i++) {
		bare_clock(now_us += 3000); /* changes wait for company before they are stored */
		if (!leaders_standing()) {
			server_turn(site->s);
			stream_tick(site->s);
			entered_tick(site->s);
		}
		threads_wait(site->s);
		uv_run(site->s->loop, UV_RUN_NOWAIT);
		links_end();
		clients_settle();
	}
	log_show();
}

/* The server takes a pause of half a minute for one in which it was stopped. */
static void time_pass(int seconds)
{
	for (int step; seconds > 0; seconds -= step) {
		step = seconds < 10 ? seconds : 10;
		now_us += step * INT64_C(1000000);
		settle();
	}
}

/* Many seconds pass at once. */
static void time_skip(int seconds)
{
	now_us += seconds * INT64_C(1000000);
	settle();
}

/* SQL for the store while no server has it open, at the next restart. */
static struct strbuf changes;

static int row_show(void *context, int n, char **values, char **names)
{
	struct strbuf text = {0};

	for (int i = 0; i < n; i++)
		strbuf_printf(&text, " %s=%s", names[i], values[i] ? values[i] : "NULL");
	say("row:%s", strbuf_text(&text));
	strbuf_fini(&text);
	return 0;
}

static void store_change(void)
{
	char path[128], *error = NULL;
	sqlite3 *db = NULL;

	snprintf(path, sizeof path, "%s/shunt.db", site->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, strbuf_text(&changes), row_show, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", strbuf_text(&changes), error);
	sqlite3_close(db);
	strbuf_fini(&changes);
}

static void restart(void)
{
	links_forget();
	log_destroy(site->s->log);
	store_close(site->s->store);
	if (changes.n)
		store_change();
	site->s = bare_open(site->dir, site->nodes);
	server_prepare();
}

/* Makes the offer for the time without a server, as at a start. */
static void offer_open(void)
{
	struct err err = {.text = ""};

	if (offline_begin(site->s, &err) < 0 || offline_open(site->s, &err) < 0)
		say("no offer: %s", err.text);
	for (int i = 0; i < 20 && site->s->turn->merging; i++)
		settle();
}

/* Shows a number for each operation and schema of the API's description: docs/openapi.yaml has them
 * in full. */
static void description_show(void)
{
	static const char *const parts[] = {"paths", "schemas", "parameters", "responses"};
	const char *name;
	json_t *part;

	assert_int_equal(site_ask(site, getuid(), "GET", "/openapi.json", NULL), 200);
	json_t *all = json_loads(site->a.body.text, 0, NULL);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		json_object_foreach(json_object_get(i ? json_object_get(all, "components") : all, parts[i]), name, part)
		{
			char *text = json_dumps(part, JSON_COMPACT);
			say("%s %s: %08x", parts[i], name, (unsigned)hash_bytes(text, strlen(text)));
			free(text);
		}
	json_decref(all);
}

static bool command_next(void);
static const struct leaders_test leaders = {.say = say, .next = command_next, .now_us = &now_us};

static void commands_of_agents(const char *what)
{
	if (strcmp(what, "bye") == 0)
		agents_bye(site->s);
	else if (strcmp(what, "farewell") == 0)
		nodes_farewell(site->s);
	else if (strcmp(what, "settings") == 0)
		agents_settings(site->s);
	else if (strcmp(what, "revoke") == 0)
		revoke_turn(site->s);
	else if (strcmp(what, "unsent") == 0)
		say("%s", agents_unsent(site->s) ? "yes" : "no");
	else if (strcmp(what, "emptied") == 0)
		say("%s", nodes_emptied(site->s) ? "yes" : "no");
	else if (strcmp(what, "view") == 0)
		view_end(site->s);
	else if (strcmp(what, "open") == 0)
		offer_open();
	else if (strcmp(what, "end") == 0)
		offline_end(site->s);
	else if (strcmp(what, "describe") == 0)
		description_show();
	else if (strcmp(what, "restart") == 0)
		restart();
	else if (strcmp(what, "leased") == 0)
		leaders_begin(&leaders);
	else if (strcmp(what, "files") == 0) {
		char path[128];
		snprintf(path, sizeof path, "%s/offline", site->dir);
		files_show(path);
	} else
		fail_msg("$ %s", what);
}

/* Keeps what a node may do while the server is down. */
static void lease_take(const char *node)
{
	json_t *o = NULL;
	struct err err;

	for (uint32_t i = 0; i < site->s->hosts->nodes.n; i++)
		if (strcmp(names_get(&site->s->cluster->node_names, i), node) == 0)
			o = spool_lease(site->s, i);
	if (offer_load(o, &own.offer, &err) < 0)
		say("no lease: %s", err.text);
	known_add(own.offer.lease, "(lease)");
	json_decref(o);
}

static void command(char *line)
{
	struct strbuf full = {0};
	char word[32] = "", method[16], path[256];
	int used = 0, uid;

	fill_in(line, &full);
	sscanf(full.text, "%31s %n", word, &used);
	char *args = full.text + used;
	if (strcmp(word, "ask") == 0 || strcmp(word, "far") == 0 || strcmp(word, "signed") == 0 ||
	    strcmp(word, "visit") == 0) {
		bool far = strcmp(word, "ask") != 0;
		struct strbuf bearer = {0};
		struct bare_client from = {.header = {{"Authorization", NULL}, {"Shunt-User", NULL}}};
		strbuf_printf(&bearer, "Bearer %s", own.token);
		if (*word == 's' || *word == 'v')
			from.header[0].value = bearer.text;
		if (*word == 'v')
			from.header[1].value = "daemon";
		used = 0;
		if (sscanf(args, far ? "%15s %255s %n" : "%*d %15s %255s %n", method, path, &used) != 2)
			fail_msg("%s", line);
		uid = far ? 0 : atoi(args);
		const char *body = args[used] ? args + used : NULL;
		strbuf_fini(&site->a.body);
		site->a = (struct bare_answer){0};
		answer_show(far ? bare_remote(site->s, &from, method, path, body, &site->a)
				: bare_ask(site->s, (uid_t)uid, method, path, body, &site->a));
		strbuf_fini(&bearer);
	} else if (strcmp(word, "put") == 0) {
		char *text = strchr(args, ' ');
		*text++ = '\0';
		FILE *f = fopen(args, "a");
		assert_non_null(f);
		fprintf(f, "%s\n", text);
		fclose(f);
		chmod(args, 0644);
	} else if (strcmp(word, "show") == 0) {
		struct strbuf text = {0};
		int rc = file_read(args, 0, SHOWN, &text);
		say("%s", rc < 0 ? strerror(-rc) : strbuf_text(&text));
		strbuf_fini(&text);
	} else if (strcmp(word, "conf") == 0) {
		struct err err = {.text = ""};
		char *value = strchr(args, ' ');
		*value++ = '\0';
		if (conf_set(site->s->conf, args, value, &err) < 0)
			fail_msg("%s", err.text);
	} else if (strcmp(word, "key") == 0)
		key_make();
	else if (strcmp(word, "link") == 0)
		link_begin(args);
	else if (strcmp(word, "lease") == 0)
		lease_take(args);
	else if (strcmp(word, "pass") == 0)
		time_pass(atoi(args));
	else if (strcmp(word, "skip") == 0)
		time_skip(atoi(args));
	else if (strcmp(word, "fate") == 0) {
		char *fate = strchr(args, ' ');
		*fate++ = '\0';
		life_fate(args, fate);
	} else if (strcmp(word, "nodes") == 0) {
		static char nodes[256];
		snprintf(nodes, sizeof nodes, "%s", args);
		site->nodes = nodes;
	} else if (strcmp(word, "used") == 0) {
		char tag[64];
		long long cpu_ms, memory;
		if (sscanf(args, "%63s %lld %lld", tag, &cpu_ms, &memory) != 3 || !life_uses(tag, cpu_ms, memory))
			fail_msg("used %s", args);
	} else if (strcmp(word, "dated") == 0) {
		const struct timespec when[2] = {{.tv_sec = NOW}, {.tv_sec = NOW}};
		assert_int_equal(utimensat(AT_FDCWD, args, when, 0), 0);
	} else if (strcmp(word, "linked") == 0) {
		char *to = strchr(args, ' ');
		*to++ = '\0';
		assert_int_equal(link(args, to), 0);
	} else if (strcmp(word, "keyed") == 0) {
		char key[32];
		used = 0;
		if (sscanf(args, "%31s %d %15s %255s %n", key, &uid, method, path, &used) != 4)
			fail_msg("keyed %s", args);
		strbuf_fini(&site->a.body);
		site->a = (struct bare_answer){0};
		answer_show(bare_call(site->s, (uid_t)uid, &(struct bare_client){0}, method, path, key, args + used,
				      &site->a));
		say("%s", site->a.replayed ? "it was answered again" : "it is new");
	} else if (strcmp(word, "unwritten") == 0)
		store_fails(args);
	else if (strcmp(word, "sql") == 0)
		strbuf_printf(&changes, "%s;", args);
	else if (strcmp(word, "wrong") == 0)
		snprintf(wrong, sizeof wrong, "%s", args);
	else if (strcmp(word, "bring") == 0)
		bring(args);
	else if (strcmp(word, "leave") == 0)
		leave(args);
	else if (strcmp(word, "started") == 0)
		life_starts(args);
	else if (strcmp(word, "ended") == 0 || strcmp(word, "lost") == 0) {
		char *rest = strchr(args, ' ');
		*rest++ = '\0';
		life_ends(args, atoi(rest), *word == 'l' ? rest : NULL);
	} else if (strcmp(word, "lose") == 0 || strcmp(word, "orphan") == 0 || strcmp(word, "queued") == 0) {
		char *rest = strchr(args, ' ');
		*rest++ = '\0';
		struct link **l = link_at(args);
		if (!l)
			say("*** there is no such link");
		else if (*word == 'q')
			(*l)->queued = strtoul(rest, NULL, 10);
		else {
			(*l)->orphaned = *word == 'o';
			link_free(l, rest);
		}
	} else if (strncmp(args, "> ", 2) == 0 && link_at(word))
		frame_deliver(*link_at(word), args + 2);
	else if (strncmp(args, "> ", 2) == 0)
		say("*** there is no such link");
	else if (!leaders_command(site->s, word, args) && !clients_command(site->s, word, args))
		commands_of_agents(word);
	settle();
	strbuf_fini(&full);
}

/* Begins a run, "= TITLE" or "= TITLE | NODES". */
static void site_begin(void **state, const char *line)
{
	static char nodes[256]; /* a restart needs them */
	const char *given = strstr(line, " | ");
	char path[128];

	snprintf(nodes, sizeof nodes, "%s", given ? given + 3 : "n[1-2]:cpus=4");
	site_setup(state, nodes, NOW);
	site = *state;
	now_us = NOW * 1000000;
	chmod(site->dir, 0755);
	snprintf(path, sizeof path, "%s/offline", site->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	lives_begin();
	clients_begin(say);
	bare_between = threads_wait;
	server_prepare();
	known_add(site->s->realm->authority.fingerprint, "(fingerprint)");
	char *digits = mem_strdup(site->s->realm->authority.fingerprint);
	digits[32] = '\0';
	known_add(digits, "(cluster)");
	free(digits);
}

static void site_end(void **state)
{
	quiet = true;
	clients_end();
	quiet = false;
	links_forget();
	leaders_begin(NULL);
	store_fails("");
	bare_between = NULL;
	log_destroy(site->s->log);
	site->s->log = NULL;
	site_teardown(state);
	site = NULL;
	for (size_t i = 0; i < nknown; i++)
		free(known[i].text);
	nknown = 0;
}

/* ---- the text ---- */

static char *script_rest; /* what is still to be played */

/* Plays the next command of the run; returns false at its end. */
static bool command_next(void)
{
	char *line;

	while (script_rest && strncmp(script_rest, "= ", 2) != 0) {
		line = strsep(&script_rest, "\n");
		if (strncmp(line, "$ ", 2) != 0)
			continue;
		strbuf_printf(&shown, "\n%s\n", line);
		command(line + 2);
		return true;
	}
	return false;
}

static void played_text(void **state, const char *file)
{
	struct strbuf script = {0};
	char *line;

	static const char *const users[][2] = {{"daemon", "/usr/sbin"}, {"bin", "/bin"}};

	if (getuid() != 0)
		skip_because("changes of several users are left, which takes root");
	for (uid_t uid = 1; uid <= 2; uid++) {
		const struct passwd *user = getpwuid(uid);
		if (!user || strcmp(user->pw_name, users[uid - 1][0]) != 0 ||
		    strcmp(user->pw_dir, users[uid - 1][1]) != 0)
			skip_because("the users daemon and bin have other names or homes than what was recorded");
	}
	setenv("TZ", "UTC", 1);
	tzset();
	umask(022);
	assert_int_equal(file_read(file, 0, 4 << 20, &script), 0);
	script_rest = script.text;
	while (script_rest) {
		line = strsep(&script_rest, "\n");
		if (strncmp(line, "= ", 2) != 0)
			continue;
		if (site)
			site_end(state);
		strbuf_printf(&shown, "%s%s\n", shown.n ? "\n" : "", line);
		site_begin(state, line);
		while (command_next())
			;
	}
	site_end(state);
	recorded_compare(file, "$ ", &shown);
	strbuf_fini(&shown);
	strbuf_fini(&script);
	strbuf_fini(&own.key);
	strbuf_fini(&own.csr);
	strbuf_fini(&own.cert);
	strbuf_fini(&own.before);
	strbuf_fini(&own.before_key);
	memset(&own, 0, sizeof own);
}

static void test_peers(void **state)
{
	played_text(state, FOLDER "peers.txt");
}

static void test_asked(void **state)
{
	played_text(state, FOLDER "asked.txt");
}

static void test_streams(void **state)
{
	played_text(state, FOLDER "streams.txt");
}

static void test_stores(void **state)
{
	played_text(state, FOLDER "damaged.txt");
}

static void test_standby(void **state)
{
	played_text(state, FOLDER "standby.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_peers), cmocka_unit_test(test_asked),
					   cmocka_unit_test(test_streams), cmocka_unit_test(test_stores),
					   cmocka_unit_test(test_standby)};

	return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
