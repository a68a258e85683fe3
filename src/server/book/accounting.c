/*
 * accounting.c - the files of accounting records.
 *
 * Lines that could not be written are kept and come first the next time. The file is opened for each write: a day's
 * file may be moved away or compressed at any time, and a turn of the loop writes at most once.
 */
#include "server/book/accounting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/vec.h"

#define KEPT_MAX ((size_t)16 << 20)
#define DAY 86400

struct accounting {
	char *dir;
	struct strbuf kept; /* whole lines, to be written */
	int64_t dropped;    /* bytes, since it was last said */
};

int accounting_open(const char *dir, struct accounting **ret, struct err *err)
{
	struct stat st;

	if (mkdir(dir, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "can't make the directory of accounting records, %s: %s", dir,
			       strerror(errno));
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "%s, where accounting records go, is no directory", dir);
	*ret = mem_zalloc(sizeof **ret);
	(*ret)->dir = mem_strdup(dir);
	return 0;
}

void accounting_close(struct accounting *a)
{
	if (!a)
		return;
	free(a->dir);
	strbuf_fini(&a->kept);
	free(a);
}

static void day_path(const char *dir, int64_t instant, struct strbuf *out)
{
	time_t t = (time_t)instant;
	struct tm tm;
	char day[16];

	localtime_r(&t, &tm);
	strftime(day, sizeof day, "%Y%m%d", &tm);
	strbuf_clear(out);
	strbuf_printf(out, "%s/%s", dir, day);
}

/* Whether the file ends inside a line: a crash, or a full disk, cut it there. */
static bool torn(int fd)
{
	struct stat st;
	char last;

	return fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

/* What does not fit is dropped: the oldest lines are in the file already, or about to be. */
static void lines_keep(struct accounting *a, const char *lines, size_t n)
{
	if (a->kept.n + n > KEPT_MAX) {
		a->dropped += (int64_t)n;
		return;
	}
	strbuf_add(&a->kept, lines, n);
}

static int kept_write(struct accounting *a, int fd)
{
	struct strbuf rest = {0};
	ssize_t n;

	if (torn(fd) && (n = write(fd, "\n", 1)) != 1)
		return n < 0 ? -errno : -ENOSPC;
	n = write(fd, a->kept.text, a->kept.n);
	if (n < 0)
		return -errno;
	if ((size_t)n == a->kept.n) {
		strbuf_clear(&a->kept);
		return 0;
	}
	/* A line that was cut is written again, whole: readers pass over the torn one. */
	const char *line = n ? memrchr(a->kept.text, '\n', (size_t)n) : NULL;
	size_t done = line ? (size_t)(line - a->kept.text) + 1 : 0;
	strbuf_add(&rest, a->kept.text + done, a->kept.n - done);
	strbuf_fini(&a->kept);
	a->kept = rest;
	return -ENOSPC;
}

int accounting_write(struct accounting *a, int64_t now, const char *lines, size_t n, struct err *err)
{
	struct strbuf path = {0};
	int rc = 0;

	lines_keep(a, lines, n);
	if (a->kept.n == 0)
		return 0;
	day_path(a->dir, now, &path);
	int fd = open(path.text, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		rc = -errno;
	else
		rc = kept_write(a, fd);
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		err_set(err, rc, "can't write accounting records to %s: %s; %zu bytes are kept and tried again%s",
			path.text, strerror(-rc), a->kept.n, a->dropped ? ", and some records were dropped" : "");
	else if (a->dropped)
		rc = err_set(err, -ENOSPC,
			     "%lld bytes of accounting records were dropped while %s could not be written",
			     (long long)a->dropped, a->dir);
	if (rc == 0 || a->kept.n == 0)
		a->dropped = 0;
	strbuf_fini(&path);
	return rc;
}

/* ---- reading ---- */

struct accounting_reader {
	char *dir;
	int64_t day; /* an instant of it: noon, so that a day of 23 or 25 hours is neither missed nor read twice */
	struct strbuf end; /* the path of the last one */
	struct lines *in;  /* of the present one; NULL: none is open */
	bool over;
};

struct accounting_reader *accounting_open_days(const char *dir, int64_t from, int64_t to)
{
	struct accounting_reader *r = mem_zalloc(sizeof *r);
	time_t t = (time_t)from;
	struct tm noon;

	localtime_r(&t, &noon);
	noon.tm_hour = 12;
	noon.tm_min = noon.tm_sec = 0;
	noon.tm_isdst = -1;
	r->dir = mem_strdup(dir);
	r->day = mktime(&noon);
	day_path(dir, to, &r->end);
	r->over = from > to;
	return r;
}

/* Opens the file of the present day, if there is one, and goes on to the next day. */
static int day_open(struct accounting_reader *r, struct err *err)
{
	struct strbuf path = {0};
	int rc;

	day_path(r->dir, r->day, &path);
	rc = access(path.text, F_OK) < 0 ? -ENOENT : lines_open(path.text, &r->in, err);
	r->day += DAY;
	r->over = strcmp(path.text, r->end.text) >= 0;
	strbuf_fini(&path);
	return rc == -ENOENT ? 0 : rc;
}

int accounting_next(struct accounting_reader *r, char **ret, struct err *err)
{
	int rc;

	*ret = NULL;
	if (!r->in)
		return r->over ? 0 : (rc = day_open(r, err)) < 0 ? rc : 1;
	rc = lines_next(r->in, ret, err);
	if (rc == 0) {
		lines_close(r->in);
		r->in = NULL;
		*ret = NULL;
	}
	return rc < 0 ? rc : 1;
}

void accounting_close_days(struct accounting_reader *r)
{
	if (!r)
		return;
	if (r->in)
		lines_close(r->in);
	strbuf_fini(&r->end);
	free(r->dir);
	free(r);
}

int accounting_scan(const char *dir, int64_t from, int64_t to, bool (*one)(void *context, const char *line),
		    void *context, struct err *err)
{
	struct accounting_reader *r = accounting_open_days(dir, from, to);
	bool more = true;
	char *line;
	int rc = 0;

	while (more && (rc = accounting_next(r, &line, err)) == 1)
		more = !line || one(context, line);
	accounting_close_days(r);
	return rc < 0 ? rc : 0;
}
