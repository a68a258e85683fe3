/*
 * upload.c - checks an archive that a user uploads, and keeps it in the user's home, where an
 * ordinary job unpacks and builds it; and writes single files.
 *
 * Checking and writing take a while, so both run on libuv's threads. They may outlive the request,
 * which ends when the server stops, so the bytes are taken from it.
 *
 * A file is replaced by one that is written beside it, so that a crash leaves either version whole,
 * at most with a part of the new one in a file .NAME.new-NUMBER. Where a new file would not be the
 * same but for its contents (it has other links, an owner or a group that the user can't give it,
 * access lists), or can't be made because the directory is not writable, it is written in place: a
 * crash in the middle then leaves a part of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <uv.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tar.h"
#include "net/http.h"
#include "run/lease.h"
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
/* maximum uploads at once, each of which may keep one of libuv's threads (THREADS in main.c), and
 * of one user */
#define UPLOADS_MAX 4
#define UPLOADS_OF_ONE 2

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
	struct stat was;   /* the file that is replaced */
	char beside[4200]; /* the file that is to replace it; "": it is written in place */
	int fd, old, rc;   /* `fd` is written; `old`: the file to replace by it, or -1 */
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

static int uploads_of(const struct server *s, uid_t uid)
{
	int n = 0;

	for (size_t i = 0; i < s->audience->uploads.n; i++)
		n += s->audience->uploads.v[i]->who.uid == uid;
	return n;
}

static void upload_end(struct upload *u)
{
	size_t at = 0;

	while (u->s->audience->uploads.v[at] != u)
		at++;
	vec_remove(&u->s->audience->uploads, at);
	if (u->s->audience->uploads.n == 0)
		vec_free(&u->s->audience->uploads);
	if (u->fd >= 0)
		close(u->fd);
	if (u->old >= 0)
		close(u->old);
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

/* Reads a file that is to be replaced in place. */
static int before_read(struct upload *u)
{
	int rc = fd_read(u->fd, BYTES_MOST, &u->before);

	if (rc == 0 && lseek(u->fd, 0, SEEK_SET) < 0)
		rc = -errno;
	return rc;
}

/* Takes back what was written in place: a file that was to be replaced is as before, a new one
 * empty. */
static bool write_undo(struct upload *u)
{
	return ftruncate(u->fd, (off_t)u->before.n) == 0 && lseek(u->fd, 0, SEEK_SET) == 0 &&
	       fd_write(u->fd, strbuf_text(&u->before), u->before.n) == 0;
}

static void write_all(uv_work_t *work)
{
	struct upload *u = work->data;
	struct stat st;
	bool undone = true;

	u->rc = u->single && u->modified >= 0 && u->old < 0 ? before_read(u) : 0;
	if (u->rc == 0) {
		u->rc = fd_write(u->fd, strbuf_text(&u->data), u->data.n);
		if (u->rc == 0 && (ftruncate(u->fd, (off_t)u->data.n) < 0 || fsync(u->fd) < 0 || fstat(u->fd, &st) < 0))
			u->rc = -errno;
		if (u->rc < 0 && u->old < 0)
			undone = write_undo(u);
	}
	if (u->rc < 0) {
		err_set(&u->err, u->rc, "%.500s can't be written: %s%s", u->archive, strerror(-u->rc),
			undone ? "" : " (a part of it is left)");
		return;
	}
	u->modified = st.st_mtim.tv_sec;
	u->size = st.st_size;
}

static void upload_done(struct upload *u)
{
	struct strbuf out = {0};

	record_show_text((u->single ? &written_answer : &upload_answer)->fields, 0, u, NULL, &out);
	http_reply_strbuf(u->r, u->single ? 200 : 201, "application/json", &out);
	upload_end(u);
}

static void write_begin(struct upload *u);

static void on_replaced(void *context, int fd, const char *reason)
{
	struct upload *u = context;
	struct stat now, made;
	bool same = fd >= 0 && fstat(fd, &now) == 0 && fstat(u->fd, &made) == 0 && now.st_ino == made.st_ino;

	if (fd >= 0)
		close(fd);
	if (same) {
		upload_done(u);
		return;
	}
	close(u->fd);
	u->fd = u->old;
	u->old = -1;
	write_begin(u);
}

/* The file beside it is gone. */
static void on_given_up(void *context, int fd, const char *reason)
{
	upload_refuse(context, CODE_BAD_STATE);
}

static void on_written(uv_work_t *work, int status)
{
	struct upload *u = work->data;
	bool failed = u->rc < 0 || status < 0;

	if (upload_left(u))
		return;
	turn_wake(u->s);
	if (u->old >= 0)
		file_rename_ask(u->s, &u->who, u->beside, failed ? "" : u->archive, failed ? on_given_up : on_replaced,
				u);
	else if (failed)
		upload_refuse(u, CODE_BAD_STATE);
	else
		upload_done(u);
}

static void write_begin(struct upload *u)
{
	uv_queue_work(u->s->loop, &u->work, write_all, on_written);
}

/* ---- replacing ---- */

/* Returns true if a file has attributes that the system does not give to every file. */
static bool has_attributes(int fd)
{
	char names[1024] = "";
	ssize_t n = flistxattr(fd, names, sizeof names - 1);

	for (const char *p = names; n > 0 && p < names + n; p += strlen(p) + 1)
		if (strncmp(p, "security.", 9) != 0)
			return true;
	return n < 0 && errno == ERANGE;
}

/* Checks that a file is the version that the client has read, and names the file that is to replace
 * it, unless that would not be the same. */
static void version_check(uv_work_t *work)
{
	struct upload *u = work->data;
	const char *name = strrchr(u->archive, '/') + 1;

	u->rc = fstat(u->fd, &u->was) < 0 ? err_set(&u->err, -errno, "%.500s: %s", u->archive, strerror(errno)) : 0;
	if (u->rc == 0 && u->was.st_mtim.tv_sec != u->modified)
		u->rc = err_set(&u->err, -ESTALE, "%.400s has been changed since it was read: look at it again first",
				u->archive);
	if (u->rc == 0 && u->was.st_nlink == 1 && !(u->was.st_mode & 07000) && !has_attributes(u->fd))
		snprintf(u->beside, sizeof u->beside, "%.*s.%s.new-%llx", (int)(name - u->archive), u->archive, name,
			 (unsigned long long)boot_us());
}

static void on_unfit(void *context, int fd, const char *reason)
{
	write_begin(context);
}

static void on_beside(void *context, int fd, const char *reason)
{
	struct upload *u = context;
	struct stat st;
	bool fits = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == u->was.st_uid && st.st_gid == u->was.st_gid;

	if (fits) {
		u->old = u->fd;
		u->fd = fd;
	} else if (fd >= 0) {
		close(fd);
		file_rename_ask(u->s, &u->who, u->beside, "", on_unfit, u);
		return;
	}
	write_begin(u);
}

static void on_version(uv_work_t *work, int status)
{
	struct upload *u = work->data;

	if (upload_left(u))
		return;
	turn_wake(u->s);
	if (u->rc < 0 || status < 0)
		upload_refuse(u, CODE_BAD_STATE);
	else if (*u->beside)
		file_ask(u->s, &u->who, u->beside, O_WRONLY | O_CREAT | O_EXCL, (int)(u->was.st_mode & 0777), on_beside,
			 u);
	else
		write_begin(u);
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
	if (u->single && u->modified >= 0)
		uv_queue_work(u->s->loop, &u->work, version_check, on_version);
	else
		write_begin(u);
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

	*u = (struct upload){.s = s, .r = c->r, .who = *c->w, .fd = -1, .old = -1};
	u->work.data = u;
	request_body(c->r, &n);
	if (rc == 0 && c->w->by == BY_JOB)
		rc = err_code(err, CODE_FORBIDDEN, "A job's own token uploads nothing: the job writes files itself.");
	if (rc == 0 && n > BYTES_MOST)
		rc = err_code(err, CODE_TOO_LARGE, "An upload has at most %u MB.", BYTES_MOST >> 20);
	if (rc == 0 && (s->audience->uploads.n >= UPLOADS_MAX || uploads_of(s, c->w->uid) >= UPLOADS_OF_ONE))
		rc = err_code(err, CODE_TOO_MANY, "Too many files are being uploaded: try again in a moment.");
	if (rc == 0)
		rc = file_path(s, c->w, path, u->directory, err);
	if (rc < 0) {
		api_refuse(c->r, err);
		free(u);
		return NULL;
	}
	vec_push(&s->audience->uploads, u);
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
