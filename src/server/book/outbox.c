/*
 * outbox.c - see outbox.h.
 *
 * Rows are normally written from memory. After an error they are dropped here (`behind`) and read
 * again from the store, in batches, so a disk that is full for days costs no memory. After a
 * failure, and at the start, a batch is first compared with the files (`check`), since any part of
 * it may be in them. The files have the rows in order, so the comparison ends with the first
 * missing line.
 *
 * Files are synced outside the loop, a second after a write, and at once when UNSYNCED_MAX was
 * written, so that little has to be compared after a crash. A file that an administrator has
 * renamed is found again by its inode. If it is gone or was truncated, lines after the cursor are
 * written again: a duplicate line can be noticed, a lost one cannot.
 *
 * Invariants: stored <= synced <= written <= committed < next (by seq); rows have consecutive
 * numbers.
 */
#include "server/book/outbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/handle.h"
#include "server/book/outbox_text.h"
#include "store/fault.h"
#include "store/outbox.h"

#define UNSYNCED_MAX (4 << 20)
#define BATCH_BYTES (2 * UNSYNCED_MAX)
#define BATCH_ROWS 10000
#define PAUSE_MS 1000 /* delay between two syncs, and before a retry */

/* Position up to which the files are complete. */
struct cursor {
	uint64_t seq;	/* last row */
	int64_t day;	/* its file; 0: no row was ever written */
	uint64_t inode; /* inode of the file */
	int64_t size;	/* size of the file */
};
static const struct field cursor_rows[] = {
	{"seq", .is = IS_INT, .in = ALWAYS, MEMBER(struct cursor, seq)},
	{"day", .is = IS_INT, .in = ALWAYS, MEMBER(struct cursor, day)},
	{"inode", .is = IS_INT, .in = ALWAYS, MEMBER(struct cursor, inode)},
	{"size", .is = IS_INT, .in = ALWAYS, MEMBER(struct cursor, size)},
	{0},
};

struct row {
	uint64_t seq;
	int64_t day;
	struct strbuf lines;
};

/* Names for each kind. */
static const struct kind {
	const char *object; /* kind of the store's object with the cursor */
	const char *what, *file;
} kinds[] = {
	[OUTBOX_ACCOUNTING] = {"accounting", "accounting records", "an accounting file"},
	[OUTBOX_JOURNAL] = {"journal", "lines of the event log", "a file of the event log"},
};
#define ONE_FILE 1 /* day of all lines if days have no separate files */

struct outbox {
	struct store *store;
	enum outbox_kind kind;
	char *dir;
	char *name;	     /* name of the single file; NULL: one file per day */
	struct strbuf lines; /* lines of this turn; `day` is their day */
	int64_t day;
	int64_t instant;	  /* instant of the last lines */
	uint64_t next, committed; /* row numbers */
	VEC(struct row) rows;	  /* rows after `written`, unless `behind` */
	bool behind;		  /* the rows are in the store only */
	bool check;		  /* the rows may be in the files already */
	struct cursor written, synced, stored;
	int64_t unsynced; /* bytes written since the last sync was begun */
	bool waiting;	  /* waits for the timer before a retry */
	char *trouble;	  /* why the last write failed */
	uv_loop_t *loop;
	uv_timer_t timer; /* runs while there is anything to sync or to retry */
	uv_fs_t sync;	  /* sync of the file of the cursor `syncing` */
	struct cursor syncing;
	int fd; /* descriptor of that file; -1: no sync is running */
	bool closing;
	void (*wake)(void *context); /* asks for a turn */
	void *context;
};

static int64_t date_of(const struct outbox *o, int64_t instant)
{
	time_t t = (time_t)instant;
	struct tm tm;

	if (o->name)
		return ONE_FILE;
	localtime_r(&t, &tm);
	return (tm.tm_year + 1900) * INT64_C(10000) + (tm.tm_mon + 1) * 100 + tm.tm_mday;
}

static void day_path(const struct outbox *o, int64_t day, char *path, size_t size)
{
	if (o->name)
		snprintf(path, size, "%s/%s", o->dir, o->name);
	else
		snprintf(path, size, "%s/%" PRId64, o->dir, day);
}

/* ---- rows and cursor in the store ---- */

static int cursor_read(void *context, const char *name, const char *value)
{
	struct cursor *c = context, x;

	if (strcmp(name, "cursor") == 0 && record_read_text(cursor_rows, 0, value, strlen(value), &x, NULL, NULL) == 0)
		*c = x;
	return 0;
}

static void cursor_put(struct outbox *o)
{
	struct strbuf text = {0};

	record_store_text(cursor_rows, 0, &o->synced, NULL, &text);
	store_put_object(o->store, kinds[o->kind].object, "cursor", text.text);
	store_trim_outbox(o->store, o->kind, o->synced.seq);
	o->stored = o->synced;
	strbuf_fini(&text);
}

static int row_count(void *context, const struct outbox_row *row)
{
	struct outbox *o = context;

	o->committed = row->seq;
	return 0;
}

static void on_timer(uv_timer_t *t);

int outbox_open(struct store *store, const struct outbox_place *place, const struct outbox_host *host,
		struct outbox **ret, struct err *err)
{
	const char *dir = place->dir, *what = kinds[place->kind].what;
	struct outbox *o;
	struct stat st;
	int rc;

	if (mkdir(dir, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "can't make the directory of %s, %s: %s", what, dir, strerror(errno));
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "%s, where %s go, is not a directory", dir, what);
	o = mem_zalloc(sizeof *o);
	o->store = store;
	o->kind = place->kind;
	o->dir = mem_strdup(dir);
	o->name = place->name ? mem_strdup(place->name) : NULL;
	o->loop = host->loop;
	o->wake = host->wake;
	o->context = host->context;
	o->fd = -1;
	if (o->loop) {
		uv_timer_init(o->loop, &o->timer);
		o->timer.data = o->sync.data = o;
	}
	rc = store_get_objects(store, kinds[o->kind].object, cursor_read, &o->stored, err);
	o->synced = o->written = o->stored;
	o->committed = o->stored.seq;
	if (rc == 0)
		rc = store_get_outbox(store, o->kind, o->stored.seq, INT64_MAX, row_count, o, err);
	o->next = o->committed + 1;
	o->behind = o->check = o->committed > o->stored.seq;
	if (rc < 0)
		outbox_close(o);
	else
		*ret = o;
	return rc;
}

static void rows_forget(struct outbox *o)
{
	for (size_t i = 0; i < o->rows.n; i++)
		strbuf_fini(&o->rows.v[i].lines);
	vec_clear(&o->rows);
}

void outbox_close(struct outbox *o)
{
	if (!o)
		return;
	rows_forget(o);
	vec_free(&o->rows);
	strbuf_fini(&o->lines);
	free(o->trouble);
	free(o->dir);
	free(o->name);
	o->closing = true;
	if (!o->loop)
		free(o);
	else if (o->fd < 0) /* else on_synced() closes it */
		uv_close((uv_handle_t *)&o->timer, handle_data_free);
}

/* ---- adding lines ---- */

static void seal(struct outbox *o)
{
	struct row row = {o->next++, o->day, o->lines};

	store_put_outbox(o->store, o->kind, &(struct outbox_row){row.seq, row.day, row.lines.text, row.lines.n});
	o->lines = (struct strbuf){0};
	if (o->behind)
		strbuf_fini(&row.lines);
	else
		vec_push(&o->rows, row);
}

void outbox_add(struct outbox *o, int64_t instant, const char *lines, size_t n)
{
	bool same = o->lines.n && o->instant == instant;
	int64_t day = same ? o->day : date_of(o, instant);

	if (o->lines.n && o->day != day)
		seal(o);
	o->day = day;
	o->instant = instant;
	strbuf_add(&o->lines, lines, n);
}

void outbox_commit(struct outbox *o)
{
	if (o->lines.n)
		seal(o);
	o->committed = o->next - 1;
	if (o->synced.seq != o->stored.seq)
		cursor_put(o);
}

/* ---- writing ---- */

static void timer_start(struct outbox *o)
{
	bool full = o->unsynced >= UNSYNCED_MAX && !o->trouble;

	if (o->loop && o->fd < 0 && !o->closing && (full || !uv_is_active((uv_handle_t *)&o->timer)))
		uv_timer_start(&o->timer, on_timer, full ? 0 : PAUSE_MS, 0);
}

/* Finds the file with that inode, whatever its name. */
static bool file_find(const struct outbox *o, uint64_t inode, char *path, size_t size)
{
	DIR *d = opendir(o->dir);
	const struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		if (e->d_ino == inode && inode) {
			snprintf(path, size, "%s/%s", o->dir, e->d_name);
			found = true;
		}
	if (d)
		closedir(d);
	return found;
}

/* Opens the file that was last written to, wherever it is now. */
static int written_open(const struct outbox *o)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	day_path(o, o->written.day, path, sizeof path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == o->written.inode)
		return fd;
	if (fd >= 0)
		close(fd);
	return file_find(o, o->written.inode, path, sizeof path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

static void synced(struct outbox *o, const struct cursor *c)
{
	fault_lines(FAULT_SYNCED, -1, NULL, 0);
	if (c->seq > o->synced.seq)
		o->synced = *c;
}

/* Syncs at once. A file that was removed in the meantime is skipped. */
static int written_sync(struct outbox *o)
{
	int fd = written_open(o), rc = fd >= 0 && fdatasync(fd) < 0 && errno != EINVAL ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (rc == 0)
		synced(o, &o->written);
	return rc;
}

/* Opens the file of a day; a new file's name is on disk before anything in it counts as written. */
static int day_open(const struct outbox *o, int64_t day, bool create, char *path, size_t size)
{
	int fd, dir;

	day_path(o, day, path, size);
	fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT || !create)
		return fd < 0 ? -errno : fd;
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return -errno;
	dir = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0) {
		fsync(dir);
		close(dir);
	}
	return fd;
}

/* Returns true if the file may end inside a line, because another program or an older version
 * wrote to it last. */
static bool torn(const struct outbox *o, int fd, const struct stat *st)
{
	char last;

	if (st->st_ino == o->written.inode && st->st_size == o->written.size)
		return false;
	return st->st_size > 0 && pread(fd, &last, 1, st->st_size - 1) == 1 && last != '\n';
}

static int text_write(int fd, const char *text, size_t n)
{
	ssize_t written;

	fault_lines(FAULT_BEFORE, fd, text, n);
	fault_lines(FAULT_DURING, fd, text, n);
	written = write(fd, text, n);
	if (written < 0)
		return -errno;
	fault_lines(FAULT_AFTER, fd, text, n);
	return (size_t)written == n ? 0 : -ENOSPC;
}

/* Appends the lines of rows up to `last`, all of one day. */
static int day_write(struct outbox *o, int64_t day, uint64_t last, const char *text, size_t n, struct err *err)
{
	char path[PATH_MAX];
	struct stat st = {0};
	int fd = day_open(o, day, n > 0, path, sizeof path), rc;

	if (fd == -ENOENT && n == 0) { /* a renamed file has all of it */
		o->written.seq = last;
		return 0;
	}
	if (fd < 0)
		return err_set(err, fd, "%s: %s", path, strerror(-fd));
	rc = fstat(fd, &st) < 0 ? -errno : 0;
	if (rc == 0 && st.st_ino != o->written.inode &&
	    o->written.seq != o->synced.seq) /* the previous file is complete */
		rc = written_sync(o);
	if (rc == 0 && !o->check && torn(o, fd, &st))
		rc = text_write(fd, "\n", 1);
	if (rc == 0 && n)
		rc = text_write(fd, text, n);
	if (rc == 0 && fstat(fd, &st) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	o->written = (struct cursor){last, day, st.st_ino, st.st_size};
	o->unsynced += (int64_t)n;
	return 0;
}

/* ---- comparing with the files ---- */

/* Removes from `t` the lines that the day's file has after the cursor, even if it was renamed.
 * Returns false if the file of the cursor is gone. */
static bool day_compare(const struct outbox *o, int64_t day, struct outbox_text *t)
{
	char path[PATH_MAX], other[PATH_MAX];
	const struct cursor *c = &o->written;
	bool same = false, known = c->day == day;
	struct stat st;

	day_path(o, day, path, sizeof path);
	if (stat(path, &st) < 0)
		st = (struct stat){0};
	if (known && st.st_ino == c->inode && st.st_size >= c->size)
		same = true;
	else if (known && st.st_ino != c->inode && file_find(o, c->inode, other, sizeof other)) {
		outbox_text_compare(t, other, c->size, false);
		same = true;
	}
	if (S_ISREG(st.st_mode))
		outbox_text_compare(t, path, known && st.st_ino == c->inode && same ? c->size : 0, true);
	outbox_text_finish(t);
	return same || !known || !c->size;
}

/* ---- rows of the store ---- */

struct batch {
	struct outbox *o;
	size_t bytes;
};

static int row_take(void *context, const struct outbox_row *row)
{
	struct batch *b = context;
	struct row x = {.seq = row->seq, .day = row->day};

	if (row->seq > b->o->committed || b->bytes >= BATCH_BYTES)
		return 1;
	strbuf_add(&x.lines, row->lines, row->n);
	vec_push(&b->o->rows, x);
	b->bytes += row->n;
	return 0;
}

static int batch_read(struct outbox *o, struct err *err)
{
	struct batch b = {.o = o};
	int rc;

	rows_forget(o);
	rc = store_get_outbox(o->store, o->kind, o->written.seq, BATCH_ROWS, row_take, &b, err);
	return rc < 0 ? rc : 0;
}

/* ---- writing all rows ---- */

/* Writes the rows in memory that have the first one's day, as one text. */
static int first_write(struct outbox *o, bool *ret_again, struct err *err)
{
	struct outbox_text t = {0};
	size_t n = 0, bytes = 0;
	int rc;

	for (; n < o->rows.n && o->rows.v[n].day == o->rows.v[0].day && o->rows.v[n].seq <= o->committed; n++)
		if ((bytes += o->rows.v[n].lines.n) > UNSYNCED_MAX && n > 0)
			break;
	if (n == 1 && !o->check) {
		const struct row *r = &o->rows.v[0];
		rc = day_write(o, r->day, r->seq, r->lines.text, r->lines.n, err);
	} else {
		for (size_t i = 0; i < n; i++)
			strbuf_add(&t.text, strbuf_text(&o->rows.v[i].lines), o->rows.v[i].lines.n);
		if (o->check && !day_compare(o, o->rows.v[0].day, &t) && t.text.n)
			*ret_again = true;
		rc = day_write(o, o->rows.v[0].day, o->rows.v[n - 1].seq, strbuf_text(&t.text), t.text.n, err);
		if (rc == 0 && t.text.n) /* so no later line is in the files */
			o->check = false;
	}
	outbox_text_fini(&t);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		strbuf_fini(&o->rows.v[i].lines);
	o->rows.n -= n;
	memmove(o->rows.v, o->rows.v + n, o->rows.n * sizeof *o->rows.v);
	return 0;
}

static int rows_write(struct outbox *o, bool *ret_again, struct err *err)
{
	int rc = 0;

	if (o->behind && (rc = batch_read(o, err)) == 0 && !o->rows.n)
		o->written.seq = o->committed; /* they were removed from the store */
	while (rc == 0 && o->rows.n && o->rows.v[0].seq <= o->committed && o->unsynced < UNSYNCED_MAX)
		rc = first_write(o, ret_again, err);
	if (rc < 0)
		o->check = true;
	if (rc < 0 || o->behind || o->unsynced >= UNSYNCED_MAX) {
		rows_forget(o);
		o->behind = o->written.seq + 1 != o->next;
		o->check = o->check && o->behind;
	}
	return rc;
}

/* Writes what has changed to the log. */
static int report(struct outbox *o, int rc, bool again, struct err *err)
{
	struct err why = *err;

	if (rc < 0 && (!o->trouble || strcmp(o->trouble, why.text) != 0)) {
		free(o->trouble);
		o->trouble = mem_strdup(why.text);
		return err_set(err, rc, "can't write %s, they wait in the store: %s", kinds[o->kind].what, why.text);
	}
	if (rc == 0 && o->trouble) {
		free(o->trouble);
		o->trouble = NULL;
		err_set(err, 0, "%s can be written again", kinds[o->kind].what);
		return 1;
	}
	if (rc == 0 && again) {
		err_set(err, 0,
			"%s in %s was removed, replaced or shortened while the server did not run: what may have been in it is written again",
			kinds[o->kind].file, o->dir);
		return 1;
	}
	return 0;
}

int outbox_turn(struct outbox *o, struct err *err)
{
	struct err own = {.text = ""};
	bool again = false;
	int rc;

	if (o->written.seq == o->committed || !store_leads(o->store))
		return 0;
	if (o->waiting || (o->loop && o->unsynced >= UNSYNCED_MAX))
		return 0;
	rc = rows_write(o, &again, &own);
	o->waiting = rc < 0 && o->loop;
	timer_start(o);
	*err = own;
	return report(o, rc, again, err);
}

/* ---- syncing ---- */

static void on_synced(uv_fs_t *req)
{
	struct outbox *o = req->data;
	int64_t result = (int64_t)req->result;

	uv_fs_req_cleanup(req);
	close(o->fd);
	o->fd = -1;
	if (o->closing) {
		uv_close((uv_handle_t *)&o->timer, handle_data_free);
		return;
	}
	if (result == 0 || result == UV_EINVAL) /* pipes and the like need not be synced */
		synced(o, &o->syncing);
	if (o->written.seq != o->synced.seq || o->behind)
		timer_start(o);
}

static void on_timer(uv_timer_t *t)
{
	struct outbox *o = t->data;

	if (o->waiting)
		o->wake(o->context);
	o->waiting = false;
	if (o->fd >= 0 || o->written.seq == o->synced.seq)
		return;
	o->unsynced = 0;
	o->syncing = o->written;
	o->fd = written_open(o);
	if (o->fd < 0) {
		synced(o, &o->written); /* the file is gone */
		return;
	}
	o->sync.data = o;
	if (uv_fs_fdatasync(o->loop, &o->sync, o->fd, on_synced) < 0) {
		close(o->fd);
		o->fd = -1;
		timer_start(o);
	}
}

bool outbox_settle(struct outbox *o)
{
	if (o->written.seq == o->stored.seq || written_sync(o) < 0)
		return false;
	o->unsynced = 0;
	cursor_put(o);
	return true;
}
