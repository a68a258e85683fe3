/*
 * files.c - see files.h.
 */
#include "server/api/page/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tar.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "net/http.h"
#include "run/nursery.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/base/asker.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/server.h"

/* bit that marks our request numbers to the engine; the others belong to output.c */
#define OURS (UINT64_C(1) << 62)
#define ASKED_MAX 256	     /* maximum pending requests */
#define ASKED_OF_ONE 32	     /* maximum of one user: a file system that does not answer keeps them */
#define LIST_MOST (16 << 20) /* bytes of a list, at most; 5000 names take less */

struct asked {
	uint64_t id;
	uid_t uid;
	file_done done;
	void *context;
};

/* Owned by the server. */
struct files {
	VEC(struct asked) asked;
	uint64_t last;
};

/* A request that waits for its file, or is being sent it. */
struct reading {
	struct server *s;
	struct http_request *r;
	char path[4096];
	int fd;
	int64_t at;
};

/* ---- opening ---- */

/* Returns the number of a new request; 0 if there are too many, which `done` was notified of. */
static uint64_t asked_add(struct server *s, uid_t uid, file_done done, void *context)
{
	struct files *f = s->audience->files;
	size_t own = 0;

	if (!f)
		f = s->audience->files = mem_zalloc(sizeof *f);
	for (size_t i = 0; i < f->asked.n; i++)
		own += f->asked.v[i].uid == uid;
	if (f->asked.n >= ASKED_MAX || own >= ASKED_OF_ONE) {
		done(context, -1, "too many files are being opened: try again in a moment");
		return 0;
	}
	vec_push(&f->asked, ((struct asked){++f->last | OURS, uid, done, context}));
	return f->last | OURS;
}

void file_ask(struct server *s, const struct asker *w, const char *path, int flags, int mode, file_done done,
	      void *context)
{
	uint64_t id = asked_add(s, w->uid, done, context);

	if (id) {
		engine_open(s->engine, id, &(struct nursery_user){w->uid, w->gid, w->user}, path, flags, mode);
		engine_flush(s->engine);
	}
}

void file_rename_ask(struct server *s, const struct asker *w, const char *from, const char *path, file_done done,
		     void *context)
{
	uint64_t id = asked_add(s, w->uid, done, context);

	if (id) {
		engine_rename(s->engine, id, &(struct nursery_user){w->uid, w->gid, w->user}, from, path);
		engine_flush(s->engine);
	}
}

bool files_opened(struct server *s, uint64_t id, int fd, const char *reason)
{
	struct files *f = s->audience->files;

	if (!(id & OURS))
		return false;
	for (size_t i = 0; f && i < f->asked.n; i++) {
		struct asked x = f->asked.v[i];
		if (x.id != id)
			continue;
		vec_remove(&f->asked, i);
		if (s->turn->stopped) { /* the request has ended */
			if (fd >= 0)
				close(fd);
			return true;
		}
		turn_wake(s);
		x.done(x.context, fd, fd < 0 && !reason ? "no reason was given" : reason);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return true;
}

int file_path(struct server *s, const struct asker *w, const char *text, char ret[4096], struct err *err)
{
	const struct user *u = user_known(s, w->uid);
	const char *home = u && u->home ? u->home : "/";
	const char *inside = text[0] == '/' ? text + strspn(text, "/") : text;
	int n = text[0] == '/' ? snprintf(ret, 4096, "/%s", inside)
			       : snprintf(ret, 4096, "%s%s%s", home, *text ? "/" : "", text);

	if (n >= 4096 || (*inside && !tar_path_stays(inside)))
		return err_code(err, CODE_BAD_REQUEST,
				"A path has no \"..\", no control characters, and less than 4096 bytes.");
	return 0;
}

static bool reading_begin(struct server *s, const struct call *c, int flags, file_done done)
{
	const char *path = request_query(c->r, "path");
	struct reading *x = mem_zalloc(sizeof *x);
	struct err err;

	*x = (struct reading){.s = s, .r = c->r, .fd = -1};
	if (c->w->by == BY_JOB)
		err_code(&err, CODE_FORBIDDEN, "A job's own token is not for files: the job reads them itself.");
	else if (file_path(s, c->w, path ? path : "", x->path, &err) == 0) {
		file_ask(s, c->w, x->path, flags, 0, done, x);
		return true;
	}
	api_refuse(c->r, &err);
	free(x);
	return false;
}

static void reading_refuse(struct reading *x, const char *reason)
{
	http_error(x->r, CODE_NOT_FOUND, "%.600s", reason);
	free(x);
}

/* ---- directories ---- */

static const struct schema entry_schema = {
	"File", FIELDS({"name", .is = REQUIRED | IS_TEXT},
		       {"kind", .is = REQUIRED | IS_TEXT, .words = "file|directory|link|other"},
		       {"size", .is = REQUIRED | IS_INT, "bytes"}, {"modified", .is = REQUIRED | IS_INSTANT})};
const struct schema files_answer = {
	FIELDS({"path", .is = REQUIRED | IS_TEXT},
	       {"entries", .is = REQUIRED | IS_LIST, "in no order; names that are not UTF-8 are left out",
		.of = &entry_schema, .item = IS_OBJECT},
	       {"more", .is = REQUIRED | IS_BOOL, "there are more than the 5000 that are listed"})};

/* Reads the list that the user's process wrote. NULL: incomplete, or implausibly long. */
static char *list_read(int fd)
{
	struct stat st;
	char *text = NULL;

	if (fstat(fd, &st) == 0 && st.st_size > 2 && st.st_size <= LIST_MOST) {
		text = mem_zalloc((size_t)st.st_size + 1);
		if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size) {
			free(text);
			text = NULL;
		}
	}
	close(fd);
	return text;
}

static void on_listed(void *context, int fd, const char *reason)
{
	struct reading *x = context;
	char *list = fd < 0 ? NULL : list_read(fd);
	struct strbuf out = {0};
	struct json j;

	if (!list) {
		reading_refuse(x, fd < 0 ? reason : "the list could not be read");
		return;
	}
	json_begin(&j, &out);
	json_text(&j, "path", x->path);
	json_close_object(&j);
	out.n--; /* both are objects: splice the list's members in here */
	strbuf_printf(&out, ",%s", list + 1);
	http_reply_strbuf(x->r, 200, "application/json", &out);
	free(list);
	free(x);
}

void api_files_list(struct server *s, const struct call *c)
{
	reading_begin(s, c, O_DIRECTORY, on_listed);
}

/* ---- files ---- */

static int fill(void *context, struct strbuf *out, size_t want)
{
	struct reading *x = context;
	char data[65536];
	ssize_t n = pread(x->fd, data, want < sizeof data ? want : sizeof data, x->at);

	if (n <= 0)
		return -1;
	strbuf_add(out, data, (size_t)n);
	x->at += n;
	return 1;
}

static void closed(void *context)
{
	struct reading *x = context;

	close(x->fd);
	free(x);
}

/* Sends a file so that browsers save it and never show it as a page. */
static void on_opened(void *context, int fd, const char *reason)
{
	struct reading *x = context;

	if (fd < 0) {
		reading_refuse(x, reason);
		return;
	}
	x->fd = fd;
	http_header(x->r, "Content-Disposition", "attachment");
	http_stream(x->r, 200, "application/octet-stream", &(struct stream_source){fill, closed, x});
}

void api_files_read(struct server *s, const struct call *c)
{
	reading_begin(s, c, O_RDONLY, on_opened);
}
