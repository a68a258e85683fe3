/*
 * order.c - orders and results to JSON; order_read.c is the way back.
 *
 * One table for each struct says what its fields are called and how they look; reading and writing both follow it, so they
 * can't disagree.
 */
#include "run/order.h"

#include <stddef.h>

#include "base/json.h"
#include "base/utf8.h"
#include "run/order_internal.h"

#define FIELD(struct_, kind_, name)                                                                                    \
	{                                                                                                              \
#name, kind_, offsetof(struct struct_, name), NULL, 0                                                  \
	}
#define INSIDE(kind_, part, name)                                                                                      \
	{                                                                                                              \
#name, kind_, offsetof(struct order, part.name), NULL, 0                                               \
	}
#define INSIDE_LIST(kind_, part, name, number)                                                                         \
	{                                                                                                              \
#name, kind_, offsetof(struct order, part.name), NULL, offsetof(struct order, part.number)             \
	}
#define LIST(struct_, kind_, name, number)                                                                             \
	{                                                                                                              \
#name, kind_, offsetof(struct struct_, name), NULL, offsetof(struct struct_, number)                   \
	}

static const char *const method_words[] = {"none", "signal", "script", "criu", NULL};

const struct field order_fields[] = {
	FIELD(order, TEXT, id),
	FIELD(order, TEXT, tag),
	FIELD(order, ID, uid),
	FIELD(order, ID, gid),
	FIELD(order, TEXT, user),
	FIELD(order, TEXT, home),
	FIELD(order, TEXT, shell),
	INSIDE(FLAG, manner, shell_given),
	INSIDE(FLAG, manner, login),
	FIELD(order, TEXT, script),
	INSIDE(TEXT, print, script_sha256),
	INSIDE(INT64, print, script_hash),
	FIELD(order, TEXTS, argv),
	FIELD(order, TEXT, launcher),
	FIELD(order, TEXTS, env),
	FIELD(order, TEXT, workdir),
	FIELD(order, TEXT, out),
	FIELD(order, TEXT, err),
	FIELD(order, FLAG, append),
	FIELD(order, TEXT, spare),
	FIELD(order, INT, umask),
	FIELD(order, TEXT, nodefile),
	FIELD(order, TEXT, nodefile_path),
	FIELD(order, TEXT, tmpdir),
	FIELD(order, INT64, walltime),
	FIELD(order, INT64, grace),
	FIELD(order, INT64, memory),
	FIELD(order, INT64, swap),
	FIELD(order, INT64, files),
	LIST(order, INTS, cpus, ncpus),
	INSIDE(INT64, share, share),
	INSIDE(INT64, share, share_most),
	INSIDE(INT64, share, share_work),
	INSIDE(INT64, share, share_time),
	INSIDE(FLAG, share, background),
	INSIDE(TEXT, terminal, pty),
	INSIDE(INT64, terminal, patience),
	INSIDE(INT64, terminal, warning),
	INSIDE(TEXT, site, prologue),
	INSIDE(TEXT, site, epilogue),
	INSIDE(INT64, site, site_seconds),
	INSIDE(TEXT, site, name),
	INSIDE(TEXT, site, queue),
	INSIDE(TEXT, site, resources),
	INSIDE(TEXT, site, account),
	FIELD(order, INT, part),
	FIELD(order, FLAG, room),
	LIST(order, HOSTS, hosts, nhosts),
	INSIDE_LIST(INTS, gpu, gpus, ngpus),
	INSIDE(FLAG, gpu, hide_gpus),
	INSIDE(TEXT, gpu, gpufile),
	FIELD(order, INT64, lease),
	INSIDE(FLAG, foreign, by_name),
	INSIDE(FLAG, foreign, look_up),
	INSIDE(INT, foreign, nplaced),
	INSIDE_LIST(FILES, carry, carried, ncarried),
	INSIDE(TEXT, carry, ticket),
	INSIDE(TEXT, carry, signature),
	INSIDE(INT64, carry, deliver_for),
	INSIDE(INT, carry, spool),
	{"checkpoint", WORD, offsetof(struct order, checkpoint.method), method_words, 0},
	INSIDE(TEXT, checkpoint, saves_in),
	INSIDE(INT, checkpoint, periodic_signal),
	INSIDE(INT, checkpoint, preempt_signal),
	INSIDE(INT64, checkpoint, interval),
	INSIDE(INT64, checkpoint, duration),
	INSIDE(INT, checkpoint, keep),
	INSIDE(FLAG, checkpoint, exit_saves),
	INSIDE(FLAG, checkpoint, restart_argument),
	INSIDE(FLAG, checkpoint, from_start),
	INSIDE(TEXT, checkpoint, restart_of),
	INSIDE(TEXT, checkpoint, saver),
	INSIDE(TEXT, checkpoint, restarter),
	{0},
};

static const char *const how_words[] = {"exited", "signaled", "not_started", "runs", NULL};
static const char *const cause_words[] = {"itself",  "walltime", "memory",   "ordered",
					  "hung_up", "lease",	 "shutdown", NULL};

const struct field result_fields[] = {
	FIELD(result, TEXT, tag),	  {"how", WORD, offsetof(struct result, how), how_words, 0},
	FIELD(result, INT, status),	  {"cause", WORD, offsetof(struct result, cause), cause_words, 0},
	FIELD(result, INT64, started_us), FIELD(result, INT64, ended_us),
	FIELD(result, INT64, ran_ms),	  FIELD(result, INT64, cpu_ms),
	FIELD(result, INT64, memory_kib), FIELD(result, INT, session),
	FIELD(result, TEXT, reason),	  FIELD(result, FLAG, ready),
	FIELD(result, FLAG, unclear),	  FIELD(result, FLAG, saved),
	FIELD(result, SAVES, saves),	  {0},
};

static const char *const state_words[] = {"none", "begun", "good", "failed", NULL};

const struct field saves_fields[] = {
	{"state", WORD, offsetof(struct saves, state), state_words, 0},
	{"cause", WORD, offsetof(struct saves, cause), save_words, 0},
	FIELD(saves, INT, good),
	FIELD(saves, INT, failed),
	FIELD(saves, INT64, number),
	FIELD(saves, INT64, covers_ms),
	FIELD(saves, INT64, saved_us),
	FIELD(saves, INT64, took_ms),
	FIELD(saves, INT64, restarted),
	{0},
};

static bool is_utf8(const char *s)
{
	int32_t c;

	for (int n; (n = utf8_next(s, &c)) > 0; s += n)
		if (c == -1)
			return false;
	return true;
}

void text_write(struct json *j, const char *key, const char *s)
{
	struct strbuf hex = {0};

	if (!s || is_utf8(s)) {
		json_text(j, key, s);
		return;
	}
	for (const char *p = s; *p; p++)
		strbuf_printf(&hex, "%02x", (unsigned char)*p);
	json_open_object(j, key);
	json_text(j, "hex", strbuf_text(&hex));
	json_close_object(j);
	strbuf_fini(&hex);
}

static void texts_write(struct json *j, const char *key, char *const *list)
{
	json_open_array(j, key);
	for (; list && *list; list++)
		text_write(j, NULL, *list);
	json_close_array(j);
}

static void ints_write(struct json *j, const char *key, const int *list, int n)
{
	json_open_array(j, key);
	for (int i = 0; i < n; i++)
		json_int(j, NULL, list[i]);
	json_close_array(j);
}

void hosts_write(struct json *j, const char *key, const struct order_host *hosts, int n)
{
	json_open_array(j, key);
	for (int i = 0; i < n; i++) {
		json_open_object(j, NULL);
		json_text(j, "name", hosts[i].name);
		json_text(j, "address", hosts[i].address ? hosts[i].address : "");
		json_int(j, "part", hosts[i].part);
		json_int(j, "join", (int64_t)hosts[i].join); /* all 64 bits come back so */
		json_close_object(j);
	}
	json_close_array(j);
}

const char *const file_words[] = {"out", "err", "in", "back", NULL};

static void files_write(struct json *j, const char *key, const struct order_file *files, int n)
{
	json_open_array(j, key);
	for (int i = 0; i < n; i++) {
		const struct order_file *f = &files[i];
		json_open_object(j, NULL);
		json_text(j, "use", file_words[f->use]);
		if (f->here)
			text_write(j, "here", f->here);
		text_write(j, "path", f->path);
		json_text(j, "host", f->host);
		json_text(j, "title", f->title);
		json_text(j, "address", f->address);
		json_int(j, "join", (int64_t)f->join);
		json_close_object(j);
	}
	json_close_array(j);
}

static int count(const void *from, const struct field *f)
{
	return *(const int *)((const char *)from + f->count);
}

static void field_write(struct json *j, const struct field *f, const void *from)
{
	const void *at = (const char *)from + f->at;

	switch (f->kind) {
	case TEXT:
		if (*(const char *const *)at)
			text_write(j, f->key, *(const char *const *)at);
		break;
	case TEXTS:
		texts_write(j, f->key, *(char *const *const *)at);
		break;
	case INT:
		json_int(j, f->key, *(const int *)at);
		break;
	case INT64:
		json_int(j, f->key, *(const int64_t *)at);
		break;
	case ID:
		json_int(j, f->key, *(const uid_t *)at);
		break;
	case FLAG:
		if (*(const bool *)at)
			json_bool(j, f->key, true);
		break;
	case INTS:
		if (count(from, f))
			ints_write(j, f->key, *(int *const *)at, count(from, f));
		break;
	case HOSTS:
		if (count(from, f))
			hosts_write(j, f->key, *(struct order_host *const *)at, count(from, f));
		break;
	case FILES:
		if (count(from, f))
			files_write(j, f->key, *(struct order_file *const *)at, count(from, f));
		break;
	case WORD:
		json_text(j, f->key, f->words[*(const int *)at]);
		break;
	case SAVES:
		if (!saves_any(at))
			break;
		json_open_object(j, f->key);
		for (const struct field *inner = saves_fields; inner->key; inner++)
			field_write(j, inner, at);
		json_close_object(j);
		break;
	}
}

static void fields_write(const struct field *f, const void *from, struct strbuf *out)
{
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	for (; f->key; f++)
		field_write(&j, f, from);
	json_close_object(&j);
}

void order_write(const struct order *o, struct strbuf *out)
{
	fields_write(order_fields, o, out);
}

void saves_write(const struct saves *v, struct strbuf *out)
{
	fields_write(saves_fields, v, out);
}

void result_write(const struct result *r, struct strbuf *out)
{
	fields_write(result_fields, r, out);
}
