/*
 * api_site.c - state of the server's own machine that only the server can see: directories,
 * programs, certificates. `shunt doctor` evaluates it.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/strbuf.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/reader.h"
#include "server/base/stats.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/backup.h"
#include "server/site/realm.h"
#include "store/store.h"
#include "tls/pki.h"

struct place {
	const char *name, *path, *problem;
	int64_t free, size; /* KiB */
	char mode[16];
	int64_t owner;
};
static const struct schema place = {FIELDS(
	{"name", .is = REQUIRED | IS_TEXT, .words = "state|store|accounting|spool|undelivered|log",
	 MEMBER(struct place, name)},
	{"path", .is = REQUIRED | IS_TEXT, MEMBER(struct place, path)},
	{"problem", .is = REQUIRED | IS_TEXT | IS_NULL, "why it can't be looked at or written",
	 MEMBER(struct place, problem)},
	{"free", .is = REQUIRED | IS_INT | IS_NULL, "KiB that can still be written on its file system", .missing = -1,
	 MEMBER(struct place, free)},
	{"size", .is = REQUIRED | IS_INT | IS_NULL, "KiB of that file system", .missing = -1,
	 MEMBER(struct place, size)},
	{"mode", .is = REQUIRED | IS_TEXT | IS_NULL, "permissions, octal", MEMBER_AS(FORM_INLINE, struct place, mode)},
	{"owner", .is = REQUIRED | IS_INT | IS_NULL, "user id", .missing = -1, MEMBER(struct place, owner)})};

struct program {
	const char *name, *path, *problem;
};
static const struct schema program = {FIELDS(
	{"name", .is = REQUIRED | IS_TEXT, .words = "mail|prologue|epilogue", MEMBER(struct program, name)},
	{"path", .is = REQUIRED | IS_TEXT, MEMBER(struct program, path)},
	{"problem", .is = REQUIRED | IS_TEXT | IS_NULL, "why it can't be run", MEMBER(struct program, problem)})};

struct certificate {
	const char *name;
	int64_t until;
};
static const struct schema certificate = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT, .words = "authority|server", MEMBER(struct certificate, name)},
	       {"until", .is = REQUIRED | IS_INSTANT, "when it expires", MEMBER(struct certificate, until)})};

static void place_show(struct json *j, const char *name, const char *path)
{
	struct place x = {.name = name, .path = path, .free = -1, .size = -1, .owner = -1};
	struct statvfs disk;
	struct stat st;
	bool there = stat(path, &st) == 0;

	if (!there || access(path, W_OK) < 0)
		x.problem = strerror(errno);
	if (there) {
		snprintf(x.mode, sizeof x.mode, "%04o", (unsigned)(st.st_mode & 07777));
		x.owner = st.st_uid;
	}
	if (there && statvfs(path, &disk) == 0) {
		x.free = (int64_t)((double)disk.f_bavail * (double)disk.f_frsize / 1024);
		x.size = (int64_t)((double)disk.f_blocks * (double)disk.f_frsize / 1024);
	}
	schema_show(&place, NULL, &x, NULL, j);
}

struct subject {
	const struct server *s;
	/* certificate_life: seconds */
	int64_t now, uid, committed, commits_failed, certificate_life, backup;
	const char *store, *tmpdir;
};

static void places_show(const struct subject *x, struct json *j)
{
	const struct server *s = x->s;
	const struct where *w = &s->instance->where;
	const char *url = s->reader->url;
	struct strbuf path = {0};

	place_show(j, "state", w->state);
	if (url && strncmp(url, "sqlite:", 7) == 0)
		place_show(j, "store", url + 7);
	strbuf_printf(&path, "%s/accounting", w->state);
	place_show(j, "accounting", *s->conf->accounting ? s->conf->accounting : path.text);
	strbuf_clear(&path);
	strbuf_printf(&path, "%s/offline", w->state);
	place_show(j, "spool", path.text);
	strbuf_clear(&path);
	strbuf_printf(&path, "%s/undelivered", w->state);
	place_show(j, "undelivered", path.text);
	place_show(j, "log", w->log);
	strbuf_fini(&path);
}

static void program_show(struct json *j, const char *name, const char *path)
{
	struct program x = {.name = name, .path = path};
	struct stat st;

	if (!*path)
		return;
	x.problem = stat(path, &st) < 0	   ? strerror(errno)
		    : !S_ISREG(st.st_mode) ? "not a file"
		    : !(st.st_mode & 0111) ? "not executable"
					   : NULL;
	schema_show(&program, NULL, &x, NULL, j);
}

static void programs_show(const struct subject *x, struct json *j)
{
	const struct conf *conf = x->s->conf;

	program_show(j, "mail", conf->mail_program);
	if (x->s->hosts->here) { /* otherwise they run only on other machines */
		program_show(j, "prologue", conf->prologue);
		program_show(j, "epilogue", conf->epilogue);
	}
}

static void certificates_show(const struct subject *x, struct json *j)
{
	const struct server *s = x->s;
	struct certificate authority = {.name = "authority"}, own = {"server", realm_certified(s)};
	int64_t from;

	if (s->realm->authority.cert && pki_validity(s->realm->authority.cert, &from, &authority.until, NULL) == 0)
		schema_show(&certificate, NULL, &authority, NULL, j);
	if (own.until)
		schema_show(&certificate, NULL, &own, NULL, j);
}

#define HAS(member) MEMBER(struct subject, member)

const struct schema site_answer = {
	"Site",
	FIELDS({"now", .is = REQUIRED | IS_INSTANT, HAS(now)},
	       {"uid", .is = REQUIRED | IS_INT, "user id that the server runs as", HAS(uid)},
	       {"store", .is = REQUIRED | IS_TEXT, "sqlite or postgres", HAS(store)},
	       {"committed", .is = REQUIRED | IS_INSTANT | IS_NULL, "when it last wrote its store", HAS(committed)},
	       {"commits_failed", .is = REQUIRED | IS_INT, "since the server started", HAS(commits_failed)},
	       {"backup", .is = REQUIRED | IS_INSTANT | IS_NULL, "when `shunt backup` last made one", HAS(backup)},
	       {"certificate_life", .is = REQUIRED | IS_INT, "of nodes' certificates, in seconds",
		HAS(certificate_life)},
	       {"tmpdir", .is = REQUIRED | IS_TEXT | IS_NULL,
		"where jobs on this machine have $TMPDIR, if any of them can fill the file system of the store there",
		HAS(tmpdir)},
	       {"places", .is = REQUIRED | IS_LIST, "directories and files", .of = &place, .item = IS_OBJECT,
		.inside = places_show},
	       {"programs", .is = REQUIRED | IS_LIST, "configured ones that run on this machine", .of = &program,
		.item = IS_OBJECT, .inside = programs_show},
	       {"certificates", .is = REQUIRED | IS_LIST, .of = &certificate, .item = IS_OBJECT,
		.inside = certificates_show})};

/* Writes where jobs have $TMPDIR, and returns true, if that is on the file system of the store. */
static bool tmpdir_shared(const struct server *s, char ret[PATH_MAX])
{
	const char *url = s->reader->url;
	struct stat store, tmp;

	if (!s->instance->multi || !s->hosts->here || !url || strncmp(url, "sqlite:", 7) != 0 ||
	    stat(url + 7, &store) < 0)
		return false;
	/* the first job makes the directory */
	return snprintf(ret, PATH_MAX, "%s/tmp", s->instance->where.state) < PATH_MAX &&
	       (stat(ret, &tmp) == 0 || stat(s->instance->where.state, &tmp) == 0) && tmp.st_dev == store.st_dev;
}

/* Returns when the last backup was made; 0: never. */
static int64_t backed_up(const struct server *s)
{
	char mark[sizeof s->instance->where.state + sizeof BACKUP_MARK];
	struct stat st;

	snprintf(mark, sizeof mark, "%s" BACKUP_MARK, s->instance->where.state);
	return stat(mark, &st) == 0 ? (int64_t)st.st_mtime : 0;
}

void api_site(struct server *s, const struct call *c)
{
	char tmpdir[PATH_MAX];
	struct subject x = {.s = s,
			    .tmpdir = tmpdir_shared(s, tmpdir) ? tmpdir : NULL,
			    .now = s->clock->now,
			    .uid = geteuid(),
			    .store = store_kind(s->store),
			    .committed = s->stats->committed,
			    .backup = backed_up(s),
			    .commits_failed = (int64_t)s->stats->failed_commits,
			    .certificate_life = s->conf->certificate_life};

	api_show(s, c->r, &site_answer, &x);
}
