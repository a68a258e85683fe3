/*
 * api_site.c - what only the server can see of its own machine: directories, programs, certificates. `shunt doctor` judges it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/api/schemas.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/reader.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "store/store.h"
#include "tls/pki.h"

static const struct field place_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT, .words = "state|store|accounting|spool|undelivered|log"},
	{"path", .is = REQUIRED | IS_TEXT},
	{"problem", .is = REQUIRED | IS_TEXT | IS_NULL, "why it can't be looked at or written"},
	{"free", .is = REQUIRED | IS_INT | IS_NULL, "KiB that can still be written on its file system"},
	{"size", .is = REQUIRED | IS_INT | IS_NULL, "KiB of that file system"},
	{"mode", .is = REQUIRED | IS_TEXT | IS_NULL, "permissions, octal"},
	{"owner", .is = REQUIRED | IS_INT | IS_NULL, "user id"},
	{0},
};
static const struct schema place = {.fields = place_fields};
static const struct field program_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT, .words = "mail|prologue|epilogue"},
	{"path", .is = REQUIRED | IS_TEXT},
	{"problem", .is = REQUIRED | IS_TEXT | IS_NULL, "why it can't be run"},
	{0},
};
static const struct schema program = {.fields = program_fields};
static const struct field certificate_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT, .words = "authority|server"},
	{"until", .is = REQUIRED | IS_INSTANT, "when it expires"},
	{0},
};
static const struct schema certificate = {.fields = certificate_fields};
static const struct field site_fields[] = {
	{"now", .is = REQUIRED | IS_INSTANT},
	{"uid", .is = REQUIRED | IS_INT, "user id that the server runs as"},
	{"store", .is = REQUIRED | IS_TEXT, "sqlite or postgres"},
	{"committed", .is = REQUIRED | IS_INSTANT | IS_NULL, "when it last wrote its store"},
	{"commits_failed", .is = REQUIRED | IS_INT, "since the server started"},
	{"certificate_life", .is = REQUIRED | IS_INT, "of nodes' certificates, in seconds"},
	{"places", .is = REQUIRED | IS_LIST, "directories and files", .of = &place, .item = IS_OBJECT},
	{"programs", .is = REQUIRED | IS_LIST, "configured ones that run on this machine", .of = &program,
	 .item = IS_OBJECT},
	{"certificates", .is = REQUIRED | IS_LIST, .of = &certificate, .item = IS_OBJECT},
	{0},
};
const struct schema site_answer = {"Site", .fields = site_fields};

static void amount_write(struct json *j, const char *key, bool known, double bytes)
{
	if (known)
		json_int(j, key, (int64_t)(bytes / 1024));
	else
		json_text(j, key, NULL);
}

static void place_write(struct json *j, const char *name, const char *path)
{
	struct statvfs disk;
	struct stat st;
	char mode[16] = "";
	bool there = stat(path, &st) == 0;
	const char *problem = !there ? strerror(errno) : access(path, W_OK) < 0 ? strerror(errno) : NULL;
	bool known = there && statvfs(path, &disk) == 0;

	if (there)
		snprintf(mode, sizeof mode, "%04o", (unsigned)(st.st_mode & 07777));
	json_open_object(j, NULL);
	json_text(j, "name", name);
	json_text(j, "path", path);
	json_text(j, "problem", problem);
	amount_write(j, "free", known, known ? (double)disk.f_bavail * (double)disk.f_frsize : 0);
	amount_write(j, "size", known, known ? (double)disk.f_blocks * (double)disk.f_frsize : 0);
	json_text(j, "mode", there ? mode : NULL);
	if (there)
		json_int(j, "owner", st.st_uid);
	else
		json_text(j, "owner", NULL);
	json_close_object(j);
}

static void places_write(const struct server *s, struct json *j)
{
	const struct where *w = &s->instance->where;
	const char *url = s->reader->url;
	struct strbuf path = {0};

	json_open_array(j, "places");
	place_write(j, "state", w->state);
	if (url && strncmp(url, "sqlite:", 7) == 0)
		place_write(j, "store", url + 7);
	strbuf_printf(&path, "%s/accounting", w->state);
	place_write(j, "accounting", *s->conf->accounting ? s->conf->accounting : path.text);
	strbuf_clear(&path);
	strbuf_printf(&path, "%s/offline", w->state);
	place_write(j, "spool", path.text);
	strbuf_clear(&path);
	strbuf_printf(&path, "%s/undelivered", w->state);
	place_write(j, "undelivered", path.text);
	place_write(j, "log", w->log);
	json_close_array(j);
	strbuf_fini(&path);
}

static void program_write(struct json *j, const char *name, const char *path)
{
	struct stat st;
	const char *problem = stat(path, &st) < 0    ? strerror(errno)
			      : !S_ISREG(st.st_mode) ? "not a file"
			      : !(st.st_mode & 0111) ? "not executable"
						     : NULL;

	if (!*path)
		return;
	json_open_object(j, NULL);
	json_text(j, "name", name);
	json_text(j, "path", path);
	json_text(j, "problem", problem);
	json_close_object(j);
}

static void certificates_write(const struct server *s, struct json *j)
{
	int64_t from, until;
	struct err err;

	json_open_array(j, "certificates");
	if (s->realm->authority.cert && pki_validity(s->realm->authority.cert, &from, &until, &err) == 0) {
		json_open_object(j, NULL);
		json_text(j, "name", "authority");
		json_int(j, "until", until);
		json_close_object(j);
	}
	if (realm_certified(s)) {
		json_open_object(j, NULL);
		json_text(j, "name", "server");
		json_int(j, "until", realm_certified(s));
		json_close_object(j);
	}
	json_close_array(j);
}

void api_site(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_int(&j, "now", s->clock->now);
	json_int(&j, "uid", geteuid());
	json_text(&j, "store", store_kind(s->store));
	if (s->stats->committed)
		json_int(&j, "committed", s->stats->committed);
	else
		json_text(&j, "committed", NULL);
	json_int(&j, "commits_failed", (int64_t)s->stats->failed_commits);
	json_int(&j, "certificate_life", s->conf->certificate_life);
	places_write(s, &j);
	json_open_array(&j, "programs");
	program_write(&j, "mail", s->conf->mail_program);
	if (s->hosts->here) { /* else they run on other machines alone */
		program_write(&j, "prologue", s->conf->prologue);
		program_write(&j, "epilogue", s->conf->epilogue);
	}
	json_close_array(&j);
	certificates_write(s, &j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}
