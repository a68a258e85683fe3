/*
 * upload.c - checks an archive that a user uploads, and keeps it in the user's home, where an
 * ordinary job unpacks and builds it; and writes single files.
 *
 * Checking and writing take a while, so both run on libuv's threads. They may outlive the request,
 * which ends when the server stops, so the bytes are taken from it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tar.h"
#include "net/http.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/page/files.h"
#include "server/base/asker.h"
#include "server/base/turn.h"
#include "server/server.h"

#define BYTES_MOST (64u << 20)
#define UNPACKED_MOST (INT64_C(1) << 30)
#define MEMBERS_MOST 100000
#define UPLOADS_MAX 4 /* maximum uploads at once */

struct upload {
	uv_work_t work;
	struct server *s;
	struct http_request *r;
	struct asker who;
	struct strbuf data, before;	     /* `before`: the file that is replaced */
	char directory[4096], archive[4104]; /* `archive`: also the path of a single file */
	struct tar_facts facts;
	bool single;
	/* a single file's; until it is written, `modified` is the version to replace, or -1 */
	int64_t modified, size;
	int fd, rc;
	struct err err;
};

const struct schema upload_answer = {
	FIELDS({"archive", .is = REQUIRED | IS_TEXT, "where it is now", MEMBER_AS(FORM_INLINE, struct upload, archive)},
	       {"directory", .is = REQUIRED | IS_TEXT, "for which it is meant; nothing has made it yet",
		MEMBER_AS(FORM_INLINE, struct upload, directory)},
	       {"members", .is = REQUIRED | IS_INT, MEMBER(struct upload, facts.members)},
	       {"bytes", .is = REQUIRED | IS_INT, "that it unpacks to", MEMBER(struct upload, facts.bytes)})};

const struct schema written_answer = {
	FIELDS({"path", .is = REQUIRED | IS_TEXT, MEMBER_AS(FORM_INLINE, struct upload, archive)},
	       {"size", .is = REQUIRED | IS_INT, "bytes", MEMBER(struct upload, size)},
	       {"modified", .is = REQUIRED | IS_INSTANT, MEMBER(struct upload, modified)})};

static void upload_end(struct upload *u)
{
	u->s->audience->uploads--;
	strbuf_fini(&u->data);
	strbuf_fini(&u->before);
	free(u);
}

/* Returns true if the server is stopping: the request has ended, and so does the upload. */
static bool upload_left(struct upload *u)
{
	bool left = u->s->turn->stopped;

	if (left)
		upload_end(u);
	return left;
}

static void upload_refuse(struct upload *u, enum code code)
{
	http_error(u->r, code, "%c%s.",
		   u->err.text[0] >= 'a' && u->err.text[0] <= 'z' ? u->err.text[0] - 32 : u->err.text[0],
		   *u->err.text ? u->err.text + 1 : "");
	upload_end(u);
}

/* ---- writing ---- */

/* Reads a file that is to be replaced, which must be the version that the client has read. */
static int replace_begin(struct upload *u, const struct stat *st)
{
	if (st->st_mtim.tv_sec != u->modified)
		return err_set(&u->err, -ESTALE, "%.400s has been changed since it was read: look at it again first",
			       u->archive);
	int rc = fd_read(u->fd, BYTES_MOST, &u->before);
	if (rc == 0 && lseek(u->fd, 0, SEEK_SET) < 0)
		rc = -errno;
	return rc < 0 ? err_set(&u->err, rc, "%.400s can't be read: %s", u->archive, strerror(-rc)) : 0;
}

/* Takes back what was written: a file that was to be replaced is as before, a new one empty. */
static void write_undo(struct upload *u)
{
	bool undone = ftruncate(u->fd, (off_t)u->before.n) == 0 && lseek(u->fd, 0, SEEK_SET) == 0 &&
		      fd_write(u->fd, strbuf_text(&u->before), u->before.n) == 0;

	err_set(&u->err, u->rc, "%.500s can't be written: %s%s", u->archive, strerror(-u->rc),
		undone ? "" : " (a part of it is left)");
}

static void write_all(uv_work_t *work)
{
	struct upload *u = work->data;
	struct stat st;

	u->rc = fstat(u->fd, &st) < 0 ? -errno : 0;
	if (u->rc == 0 && u->single && u->modified >= 0 && (u->rc = replace_begin(u, &st)) < 0) {
		close(u->fd);
		return;
	}
	if (u->rc == 0)
		u->rc = fd_write(u->fd, strbuf_text(&u->data), u->data.n);
	if (u->rc == 0 && (ftruncate(u->fd, (off_t)u->data.n) < 0 || fsync(u->fd) < 0 || fstat(u->fd, &st) < 0))
		u->rc = -errno;
	u->modified = st.st_mtim.tv_sec;
	u->size = st.st_size;
	if (u->rc < 0)
		write_undo(u);
	close(u->fd);
}

static void on_written(uv_work_t *work, int status)
{
	struct upload *u = work->data;
	struct strbuf out = {0};

	if (upload_left(u))
		return;
	turn_wake(u->s);
	if (u->rc < 0 || status < 0) {
		upload_refuse(u, CODE_BAD_STATE);
		return;
	}
	record_show_text((u->single ? &written_answer : &upload_answer)->fields, 0, u, NULL, &out);
	http_reply_strbuf(u->r, u->single ? 200 : 201, "application/json", &out);
	upload_end(u);
}

static void on_opened(void *context, int fd, const char *reason)
{
	struct upload *u = context;

	if (fd < 0) {
		err_set(&u->err, -EACCES, "%.500s", reason);
		upload_refuse(u, CODE_BAD_STATE);
		return;
	}
	u->fd = fd;
	uv_queue_work(u->s->loop, &u->work, write_all, on_written);
}

/* ---- checking ---- */

static void check(uv_work_t *work)
{
	struct upload *u = work->data;
	const struct tar_limits limits = {UNPACKED_MOST, MEMBERS_MOST};

	u->rc = tar_check(strbuf_text(&u->data), u->data.n, &limits, &u->facts, &u->err);
}

static void on_checked(uv_work_t *work, int status)
{
	struct upload *u = work->data;

	if (upload_left(u))
		return;
	turn_wake(u->s);
	if (u->rc < 0 || status < 0) {
		upload_refuse(u, u->rc == -E2BIG ? CODE_TOO_LARGE : CODE_BAD_REQUEST);
		return;
	}
	snprintf(u->archive, sizeof u->archive, "%.4090s.tar%s", u->directory, u->facts.gzip ? ".gz" : "");
	file_ask(u->s, &u->who, u->archive, O_WRONLY | O_CREAT | O_EXCL, 0600, on_opened, u);
}

static int name_check(const char *name, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (!name || !*name || strlen(name) > 64 || strspn(name, letters) < strlen(name) || *name == '.' ||
	    *name == '-')
		return err_code(
			err, CODE_BAD_REQUEST,
			"The name of the directory has 1 to 64 letters, digits, \".\", \"_\" or \"-\", and begins with a letter or a digit.");
	return 0;
}

/* Takes the body that is meant for a path. Returns NULL after an error was sent; if the path is
 * NULL, `err` has the error. */
static struct upload *upload_begin(struct server *s, const struct call *c, const char *path, struct err *err)
{
	struct upload *u = mem_zalloc(sizeof *u);
	size_t n;
	int rc = path ? 0 : -EINVAL;

	*u = (struct upload){.s = s, .r = c->r, .who = *c->w, .fd = -1};
	u->work.data = u;
	request_body(c->r, &n);
	if (rc == 0 && c->w->by == BY_JOB)
		rc = err_code(err, CODE_FORBIDDEN, "A job's own token uploads nothing: the job writes files itself.");
	if (rc == 0 && n > BYTES_MOST)
		rc = err_code(err, CODE_TOO_LARGE, "An upload has at most %u MB.", BYTES_MOST >> 20);
	if (rc == 0 && s->audience->uploads >= UPLOADS_MAX)
		rc = err_code(err, CODE_TOO_MANY, "Too many files are being uploaded: try again in a moment.");
	if (rc == 0)
		rc = file_path(s, c->w, path, u->directory, err);
	if (rc < 0) {
		api_refuse(c->r, err);
		free(u);
		return NULL;
	}
	s->audience->uploads++;
	u->data = request_take_body(c->r);
	return u;
}

void api_upload(struct server *s, const struct call *c)
{
	const char *name = request_query(c->r, "name");
	struct err err;
	struct upload *u = upload_begin(s, c, name_check(name, &err) == 0 ? name : NULL, &err);

	if (u)
		uv_queue_work(s->loop, &u->work, check, on_checked);
}

void api_files_write(struct server *s, const struct call *c)
{
	const char *path = request_query(c->r, "path");
	struct err err;
	struct upload *u = upload_begin(s, c, path ? path : "", &err);

	if (!u)
		return;
	u->single = true;
	u->modified = query_number(c, "modified", -1);
	snprintf(u->archive, sizeof u->archive, "%s", u->directory);
	file_ask(s, &u->who, u->archive, u->modified < 0 ? O_WRONLY | O_CREAT | O_EXCL : O_RDWR, 0600, on_opened, u);
}
