/*
 * test_reserve.c - space reserved for the store, on a disk whose free space the test sets: when it
 * is made, given away and made again, and when there is too little for new jobs.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/reserve.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "support/site.h"

#define MB (INT64_C(1) << 20)
#define RESERVE (16 * MB)
#define NOW INT64_C(1800000000)

static int64_t room;	     /* bytes that are free */
static int64_t holds;	     /* bytes by which a file can be extended */
static int failure;	     /* errno of what extends files; 0: by `holds` */
static struct strbuf called; /* what was asked of the disk */

static void call(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void call(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	strbuf_vprintf(&called, format, ap);
	va_end(ap);
}

int __wrap_statvfs64(const char *path, struct statvfs *ret)
{
	call("look %s;", strrchr(path, '/') ? strrchr(path, '/') : path);
	if (room < 0)
		return -1;
	*ret = (struct statvfs){.f_bavail = (fsblkcnt_t)(room / 512), .f_frsize = 512};
	return 0;
}

int __wrap_fallocate64(int fd, int mode, off_t from, off_t n)
{
	call("log %d %d+%lld;", mode == FALLOC_FL_KEEP_SIZE, (int)from, (long long)n / 512);
	errno = failure ? failure : ENOSPC;
	return failure || n > holds ? -1 : 0;
}

int __wrap_posix_fallocate64(int fd, off_t from, off_t n)
{
	call("file %d+%lldM;", (int)from, (long long)(n / MB));
	if (failure)
		return failure;
	assert_int_equal(ftruncate(fd, n), 0);
	return 0;
}

static int setup(void **state)
{
	return site_setup(state, "n1:cpus=1", NOW);
}

/* Compares what reserve_lacks() says, what it asks of the disk, and the reserve's size. */
static void lacks(struct site *f, bool expected, const char *calls, int64_t size)
{
	char path[100];
	struct stat st = {.st_size = -1};

	strbuf_clear(&called);
	assert_int_equal(reserve_lacks(f->s), expected);
	assert_string_equal(strbuf_text(&called), calls);
	snprintf(path, sizeof path, "%s/x.db-reserve", f->dir);
	if (stat(path, &st) == 0)
		assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, size);
}

static void reserve_at(struct site *f, const char *kind, const char *name)
{
	char url[100];

	snprintf(url, sizeof url, "%s%s/%s", kind, f->dir, name);
	reserve_open(f->s, url);
}

/* Lets the server look at the disk again. */
static void later(struct site *f)
{
	f->s->clock->boot_us += 100000;
}

static void file_put(struct site *f, const char *name, off_t size)
{
	char path[100];

	snprintf(path, sizeof path, "%s/%s", f->dir, name);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	assert_int_equal(truncate(path, size), 0);
}

static void of_other_stores(void **state)
{
	struct site *f = *state;

	room = 0;
	reserve_at(f, "postgres:", "x.db");
	lacks(f, false, "", -1);
	reserve_open(f->s, "sqlite:x.db"); /* not a path of ours */
	lacks(f, false, "", -1);
	assert_false(reserve_release(f->s));
}

static void beside_the_store(void **state)
{
	struct site *f = *state;
	const char *dir = strrchr(f->dir, '/');
	char look[100], both[100];

	snprintf(look, sizeof look, "look %s;", dir);
	snprintf(both, sizeof both, "look %s;file 0+16M;", dir);
	failure = 0;
	room = 32 * MB;
	reserve_at(f, "sqlite:", "x.db");
	lacks(f, false, both, RESERVE);
	lacks(f, false, "", RESERVE); /* there was plenty a moment ago */
	later(f);
	f->s->clock->boot_us--;
	lacks(f, false, "", RESERVE);
	f->s->clock->boot_us++;
	lacks(f, false, look, RESERVE);
	file_put(f, "x.db-reserve", RESERVE - 1);
	later(f);
	lacks(f, false, both, RESERVE);

	/* Too little for another reserve, for jobs, and the least that they need. */
	file_put(f, "x.db-reserve", 7);
	later(f);
	room = 32 * MB - 512;
	lacks(f, false, look, 7);
	room = 1 * MB - 512;
	lacks(f, true, look, 7);
	room = 1 * MB;
	lacks(f, false, look, 7);
	room = -1; /* the disk does not say */
	lacks(f, false, both, RESERVE);

	/* It is given to the store, once. */
	f->s->log = log_create(SEVERITY_DEBUG);
	assert_true(reserve_release(f->s));
	uint64_t at = 0;
	const struct log_kept *k = log_next(f->s->log, SEVERITY_DEBUG, &at);
	assert_non_null(k);
	assert_int_equal(k->severity, SEVERITY_ERROR);
	assert_string_equal(k->text, "the disk of the store is full: using the reserve of 16 MB");
	assert_false(reserve_release(f->s));
	assert_null(log_next(f->s->log, SEVERITY_DEBUG, &at));
	log_destroy(f->s->log);
	f->s->log = NULL;

	/* One that can't be made whole is removed. */
	later(f);
	failure = ENOSPC;
	room = 40 * MB;
	lacks(f, false, both, -1);
}

static void behind_the_log(void **state)
{
	struct site *f = *state;
	const char *dir = strrchr(f->dir, '/');
	char first[200], again[200];

	snprintf(first, sizeof first, "look %s;file 0+16M;log 1 0+65538;", dir);
	snprintf(again, sizeof again, "log 1 0+65538;log 1 0+32770;");
	failure = 0;
	room = 64 * MB;
	reserve_at(f, "sqlite:", "x.db");
	file_put(f, "x.db-wal", 1024);
	holds = 32 * MB + 1024;
	lacks(f, false, first, RESERVE);
	holds = 16 * MB + 1024;
	lacks(f, false, again, RESERVE);
	holds = 16 * MB + 1023;
	lacks(f, true, again, RESERVE);
	failure = EOPNOTSUPP; /* a file system without: jobs are taken */
	lacks(f, false, "log 1 0+65538;", RESERVE);
	failure = 0;
	room = 0;
	later(f);
	char look[100];
	snprintf(look, sizeof look, "look %s;", dir);
	lacks(f, true, look, RESERVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_other_stores, setup, site_teardown),
		cmocka_unit_test_setup_teardown(beside_the_store, setup, site_teardown),
		cmocka_unit_test_setup_teardown(behind_the_log, setup, site_teardown),
	};
	int rc = cmocka_run_group_tests_name("reserve", tests, NULL, NULL);

	strbuf_fini(&called);
	return rc;
}
