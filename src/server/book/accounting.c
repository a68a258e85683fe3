/* accounting.c - reads the files of accounting records, day by day. outbox.c writes them. */
#include "server/book/accounting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/mem.h"
#include "base/vec.h"

#define DAY 86400

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

struct accounting_reader {
	char *dir;
	/* instant in the day: noon, so that a day of 23 or 25 hours is neither missed nor read
	 * twice */
	int64_t day;
	struct strbuf end; /* path of the last day's file */
	struct lines *in;  /* file of the present day; NULL: none is open */
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

/* Opens the file of the present day, if there is one, and advances to the next day. */
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
