/*
 * test_bag_journal.c - the journal of a bag: what was written is read, whatever happened to its
 * end.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/journal.h"
#include "support/closed.h"

static char dir[64], path[96];

static int begin(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/bag-journal.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/journal", dir);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static const struct record first = {.kind = RECORD_BAG, .task = 9, .hash = 77};

struct seen {
	int n;
	uint64_t sum, hash;
	char out[32];
};

static void see(void *arg, const struct record *r)
{
	struct seen *s = arg;

	s->n++;
	if (r->kind == RECORD_BAG) {
		s->hash = r->hash;
		return;
	}
	s->sum += r->task;
	snprintf(s->out, sizeof s->out, "%.*s|%.*s|%.*s", (int)r->nworker, r->worker, (int)r->nout, r->out,
		 (int)r->nerr, r->err);
}

static struct journal *opened(struct seen *s)
{
	struct journal *j;
	struct err err;

	*s = (struct seen){0};
	assert_int_equal(journal_open(path, &first, see, s, &j, &err), 0);
	return j;
}

static void add(struct journal *j, uint64_t task)
{
	journal_add(j, &(struct record){.kind = RECORD_DONE,
					.task = task,
					.attempt = 1,
					.worker = "w",
					.nworker = 1,
					.out = "out",
					.nout = 3,
					.err = "er",
					.nerr = 2});
}

static void kept(void **state)
{
	(void)state;
	struct seen s;
	struct err err;
	struct journal *j = opened(&s);

	assert_int_equal(s.n, 0);
	add(j, 3);
	add(j, 4);
	assert_int_equal(journal_flush(j, &err), 0);
	add(j, 100); /* never flushed */
	journal_close(j);
	j = opened(&s);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.sum, 7);
	assert_int_equal(s.hash, 77);
	assert_string_equal(s.out, "w|out|er");
	journal_close(j);
}

/* Every field of a record; what can't be one. */
static void fields(void **state)
{
	static char name[300];
	struct record a = {.kind = RECORD_ALLOCATION,
			   .task = UINT64_MAX,
			   .hash = UINT64_MAX - 1,
			   .status = RECORD_TOO_LARGE,
			   .attempt = UINT32_MAX,
			   .began = INT64_MAX,
			   .took = INT64_MIN,
			   .worker = name,
			   .nworker = sizeof name,
			   .out = "o\0",
			   .nout = 2},
		      b;
	struct strbuf out = {0};

	(void)state;
	memset(name, 'n', sizeof name);
	for (int flags = 0; flags < 4; flags++) {
		a.last = flags & 1;
		a.cut = flags & 2;
		strbuf_clear(&out);
		journal_record_put(&out, &a);
		assert_int_equal(record_next(out.text, out.n, &b), out.n);
		assert_true(a.kind == b.kind && a.last == b.last && a.cut == b.cut && a.task == b.task);
		assert_true(a.hash == b.hash && a.status == b.status && a.attempt == b.attempt);
		assert_true(a.began == b.began && a.took == b.took);
		assert_int_equal(b.nworker, 255); /* as long as it may be */
		assert_memory_equal(b.worker, name, 255);
		assert_int_equal(b.nerr, 0);
		assert_int_equal(b.nout, 2);
		assert_memory_equal(b.out, "o", 2);
	}
	strbuf_clear(&out);
	journal_record_put(&out, &(struct record){.kind = RECORD_RUN}); /* the shortest */
	assert_int_equal(record_next(out.text, out.n, &b), 56);
	for (int kind = 0; kind <= RECORD_ALLOCATION + 1; kind++) {
		strbuf_clear(&out);
		journal_record_put(&out, &(struct record){.kind = (enum record_kind)kind});
		assert_int_equal(record_next(out.text, out.n, &b) > 0, kind >= RECORD_BAG && kind <= RECORD_ALLOCATION);
	}
	strbuf_fini(&out);
}

/* A journal in use is not removed, nor is another file; a removed one keeps nothing. */
static void removed(void **state)
{
	struct seen s;
	struct err err;
	struct journal_view view;
	struct journal *j = opened(&s);
	char text[256];

	(void)state;
	assert_int_equal(journal_view(path, &view, &err), 0);
	assert_true(view.held);
	journal_view_close(&view);
	assert_int_equal(journal_remove(path, &err), -EBUSY);
	assert_int_equal(journal_sync(j, &err), 0);
	assert_int_equal(unlink(path), 0);
	add(j, 1);
	assert_int_equal(journal_sync(j, &err), -ENOENT);
	snprintf(text, sizeof text, "%s was removed: nothing can be kept any more", path);
	assert_string_equal(err.text, text);
	journal_close(j);
	assert_int_equal(journal_remove(path, &err), 0); /* there is none */
	assert_int_equal(journal_view(path, &view, &err), -ENOENT);
	j = opened(&s);
	journal_close(j);
	assert_int_equal(journal_view(path, &view, &err), 0);
	assert_false(view.held);
	journal_view_close(&view);
	assert_int_equal(journal_remove(path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	FILE *f = fopen(path, "w");
	fputs("mine", f);
	fclose(f);
	assert_int_equal(journal_remove(path, &err), -EINVAL);
	assert_int_equal(journal_view(path, &view, &err), -EINVAL);
	assert_int_equal(access(path, F_OK), 0);
	f = fopen(path, "w"); /* begun, and then the machine went down */
	fputs("SHB", f);
	fclose(f);
	j = opened(&s);
	assert_int_equal(s.n, 0);
	add(j, 4);
	assert_int_equal(journal_sync(j, &err), 0);
	journal_close(j);
	j = opened(&s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.hash, 77);
	journal_close(j);
}

static void alone(void **state)
{
	(void)state;
	struct seen s;
	struct err err;
	struct journal *j = opened(&s), *other;

	assert_int_equal(journal_open(path, &first, NULL, NULL, &other, &err), -EBUSY);
	struct journal_view view;
	struct record r;
	assert_int_equal(journal_view(path, &view, &err), 0);
	assert_int_equal(record_next(view.bytes, view.n, &r), view.n);
	assert_int_equal(r.kind, RECORD_BAG);
	journal_view_close(&view);
	journal_close(j);
}

/* Every length that a crash may leave, and every byte that a disk may spoil: what was before it
 * is there. */
static void torn(void **state)
{
	(void)state;
	struct seen s;
	struct err err;
	struct stat st;
	struct journal *j = opened(&s);
	char bytes[512];

	add(j, 1);
	add(j, 2);
	assert_int_equal(journal_flush(j, &err), 0);
	journal_close(j);
	assert_int_equal(stat(path, &st), 0);
	FILE *f = fopen(path, "r");
	size_t n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	assert_int_equal(n, st.st_size);
	size_t one = 8 + 48 + 6, begin_2 = n - one;

	for (size_t at = begin_2; at < n; at++)
		for (int flip = 0; flip < 2; flip++) {
			f = fopen(path, "w");
			bytes[at] ^= flip ? 0x10 : 0;
			fwrite(bytes, 1, flip ? n : at, f);
			bytes[at] ^= flip ? 0x10 : 0;
			fclose(f);
			j = opened(&s);
			assert_int_equal(s.n, 2);
			assert_int_equal(s.sum, 1);
			add(j, 5); /* what is added now follows the last good one */
			assert_int_equal(journal_flush(j, &err), 0);
			journal_close(j);
			j = opened(&s);
			assert_int_equal(s.sum, 6);
			journal_close(j);
		}
	f = fopen(path, "w");
	fputs("not a journal", f);
	fclose(f);
	assert_int_equal(journal_open(path, &first, NULL, NULL, &j, &err), -EINVAL);
}

static bool odd(void *arg, const struct record *r)
{
	(void)arg;
	return r->kind == RECORD_BAG || r->task % 2;
}

static void compacted(void **state)
{
	(void)state;
	struct seen s;
	struct err err;
	struct stat before, after;
	struct journal *j = opened(&s), *other;
	char left[128];

	for (uint64_t i = 1; i <= 1000; i++)
		add(j, i);
	assert_int_equal(journal_flush(j, &err), 0);
	assert_int_equal(stat(path, &before), 0);
	snprintf(left, sizeof left, "%s.new", path); /* an earlier compaction was killed */
	FILE *f = fopen(left, "w");
	fputs("rest", f);
	fclose(f);
	assert_int_equal(journal_compact(j, odd, NULL, &err), 0);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(stat(path, &after), 0);
	assert_true(after.st_size < before.st_size * 6 / 10);
	assert_int_equal(journal_open(path, &first, NULL, NULL, &other, &err), -EBUSY);
	add(j, 2001);
	assert_int_equal(journal_flush(j, &err), 0);
	journal_close(j);
	j = opened(&s);
	assert_int_equal(s.n, 502);
	assert_int_equal(s.sum, 500 * 500 + 2001);
	journal_close(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(kept, begin, end),
					   cmocka_unit_test(fields),
					   cmocka_unit_test_setup_teardown(removed, begin, end),
					   cmocka_unit_test_setup_teardown(alone, begin, end),
					   cmocka_unit_test_setup_teardown(torn, begin, end),
					   cmocka_unit_test_setup_teardown(compacted, begin, end),
					   CLOSED_TEST};
	return cmocka_run_group_tests_name("bag_journal", tests, closed_begin, NULL);
}
