/*
 * test_failing.c - every system call of functions that keep something on disk fails in turn:
 * nothing that was there is lost, no descriptor is leaked, and the next try succeeds.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/home.h"
#include "bag/journal.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "client/tray.h"
#include "run/live.h"
#include "run/output.h"
#include "run/scribe.h"
#include "support/failing.h"
#include "tls/pki.h"

static char dir[64], path[160];

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-failing.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/file", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[100];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static int entries(const char *where)
{
	DIR *d = opendir(where);
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int descriptors(void)
{
	return entries("/proc/self/fd");
}

static void content_is(const char *text)
{
	struct strbuf out = {0};

	assert_int_equal(file_read(path, 0, 1 << 20, &out), 0);
	assert_string_equal(strbuf_text(&out), text);
	strbuf_fini(&out);
}

/* ---- files that are replaced ---- */

static void replaced(void **state)
{
	const char *failed;

	failing_begin(0, 0, false);
	assert_int_equal(file_replace(path, 0600, "new\n", 4, REPLACE_SYNC), 0);
	failing_end();
	/* the text is on disk before its name, and the name before the function returns */
	assert_string_equal(failing_calls(), "open64 write fsync rename open64 fsync ");
	for (int halved = 0; halved < 2; halved++)
		for (int at = 1;; at++) {
			int before = descriptors(), rc;
			assert_int_equal(file_replace(path, 0600, "old\n", 4, 0), 0);
			failing_begin(at, ENOSPC, halved);
			rc = file_replace(path, 0600, "new\n", 4, REPLACE_SYNC);
			failed = failing_end();
			assert_int_equal(descriptors(), before);
			if (!failed)
				break;
			bool helped = halved && strcmp(failed, "write") == 0; /* the rest is written */
			assert_int_equal(rc, helped ? 0 : -ENOSPC);
			content_is(helped || at > 4 ? "new\n" : "old\n");
			assert_int_equal(entries(dir), 3);
		}
}

/* ---- live files ---- */

static const struct identity nobody;

/* Creates a live file with two lines. Returns its descriptor or -errno. */
static int begun(int live, const char *tag)
{
	struct err err = {.text = ""};
	off_t at = 0;
	int fd = live_create(live, tag, &nobody, &err), rc;

	if (fd < 0) {
		assert_non_null(strstr(err.text, tag));
		return fd;
	}
	for (int i = 0; i < 2; i++) {
		off_t before = at;
		rc = live_add(fd, &at, "a line\n", 7);
		if (rc < 0) { /* it is written again, where it should have been */
			assert_int_equal(rc, -ENOSPC);
			assert_int_equal(at, before);
			assert_true(lseek(fd, 0, SEEK_END) <= before + 1); /* no part of it is left */
			assert_int_equal(live_add(fd, &at, "a line\n", 7), 0);
		}
	}
	return fd;
}

static void begun_anyway(void **state)
{
	int live = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *failed = "";

	for (int halved = 0; halved < 2; halved++, failed = "")
		for (int at = 1; failed; at++) {
			int before = descriptors(), fd;
			failing_begin(at, ENOSPC, halved);
			fd = begun(live, "file");
			failed = failing_end();
			if (fd < 0) { /* nothing says that it was started */
				assert_int_equal(fd, -ENOSPC);
				assert_int_equal(descriptors(), before);
				fd = begun(live, "file");
			}
			assert_true(fd >= 0);
			content_is("a line\na line\n");
			close(fd);
			assert_int_equal(descriptors(), before);
			unlink(path);
		}
	close(live);
}

/* ---- journals of bags ---- */

static const struct record first = {.kind = RECORD_BAG, .task = 9, .hash = 77};

static void sum(void *arg, const struct record *r)
{
	if (r->kind != RECORD_BAG)
		*(uint64_t *)arg += r->task;
}

static bool all(void *arg, const struct record *r)
{
	return true;
}

static uint64_t journal_sum(void)
{
	uint64_t n = 0;
	struct journal *j;
	struct err err;

	assert_int_equal(journal_open(path, &first, sum, &n, &j, &err), 0);
	journal_close(j);
	return n;
}

/* Adds a task to the journal, and compacts it; returns 0 or the first error. */
static int journal_work(uint64_t task, bool *ret_durable)
{
	struct err err = {.text = ""};
	struct journal *j;
	uint64_t n = 0;
	int rc = journal_open(path, &first, sum, &n, &j, &err);

	*ret_durable = false;
	if (rc == 0) {
		journal_add(j, &(struct record){.kind = RECORD_DONE, .task = task, .attempt = 1});
		rc = journal_sync(j, &err);
		*ret_durable = rc == 0;
		if (rc == 0)
			rc = journal_compact(j, all, NULL, &err);
		journal_close(j);
	}
	assert_true(rc == 0 || strstr(err.text, path));
	return rc;
}

static void journals(void **state)
{
	uint64_t kept = journal_sum(), task = 1;
	const char *failed = "";

	for (int halved = 0; halved < 2; halved++, failed = "")
		for (int at = 1; failed; at++, task *= 2) {
			int before = descriptors();
			bool durable;
			failing_begin(at, ENOSPC, halved);
			int rc = journal_work(task, &durable);
			failed = failing_end();
			assert_int_equal(descriptors(), before);
			if (!failed) {
				assert_int_equal(rc, 0);
				assert_non_null(strstr(failing_calls(), "fdatasync rename "));
			}
			kept += durable ? task : 0;
			uint64_t found = journal_sum();
			if (!durable && found == kept + task)
				kept = found; /* written, but not synced */
			assert_int_equal(found, kept);
		}
}

/* ---- keys of a node ---- */

/* Makes a key, and a certificate for it. */
static void pair_make(const struct strbuf *authority, struct strbuf *ret_key, struct strbuf *ret_cert)
{
	struct cert_names who = {.role = CERT_NODE, .name = "n1", .join = 1};
	struct strbuf csr = {0};
	struct err err;

	assert_int_equal(pki_key(ret_key, &err), 0);
	assert_int_equal(pki_request(ret_key->text, &csr, &err), 0);
	assert_int_equal(pki_issue(authority[0].text, authority[1].text, csr.text, csr.n, &who, "localhost", 3600,
				   ret_cert, &err),
			 0);
	strbuf_fini(&csr);
}

/* A renewal of the certificate: the node has its old key or its new one, and the certificate that
 * belongs to it. */
static void keys_renewed(void **state)
{
	struct strbuf authority[2] = {{0}}, key[2] = {{0}}, cert[2] = {{0}};
	struct home h = {.given = true};
	const char *failed = "";
	struct keys k;
	struct err err;

	snprintf(h.state, sizeof h.state, "%s", dir);
	assert_int_equal(pki_authority("oak", &authority[0], &authority[1], &err), 0);
	for (int i = 0; i < 2; i++)
		pair_make(authority, &key[i], &cert[i]);
	assert_int_equal(home_write(&h, "ca.crt", 0644, authority[1].text, authority[1].n, &err), 0);
	for (int halved = 0; halved < 2; halved++, failed = "")
		for (int at = 1; failed; at++) {
			assert_int_equal(keys_store(&h, key[0].text, cert[0].text, &err), 0);
			int before = descriptors();
			failing_begin(at, ENOSPC, halved);
			int rc = keys_store(&h, key[1].text, cert[1].text, &err);
			failed = failing_end();
			assert_int_equal(descriptors(), before);
			if (rc < 0) {
				assert_int_equal(rc, -ENOSPC);
				assert_non_null(strstr(err.text, dir));
			}
			assert_int_equal(keys_load(&h, &k, &err), 0);
			bool new = strcmp(k.key, key[1].text) == 0;
			assert_true(new || rc < 0);
			assert_string_equal(k.key, key[new].text);
			assert_string_equal(k.cert, cert[new].text);
			keys_fini(&k);
		}
	for (int i = 0; i < 2; i++) {
		strbuf_fini(&authority[i]);
		strbuf_fini(&key[i]);
		strbuf_fini(&cert[i]);
	}
}

/* ---- changes for a server that is down ---- */

/* What was promised is there and on disk; of the rest nothing is left. */
static void left_for_later(void **state)
{
	static const struct change submission = {.path = "/v1/jobs", .body = "{\"script\":\"true\"}"};
	struct offer offer = {.next = 13, .server = "pine"};
	const char *failed = "";
	struct err err = {.text = ""};
	int kept = 0;

	assert_int_equal(tray_make(dir, false, offer.tray, &err), 0);
	assert_int_equal(offer_write(dir, &offer, &err), 0);
	snprintf(path, sizeof path, "%s/%s", dir, offer.tray);
	int tray = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int halved = 0; halved < 2; halved++, failed = "")
		for (int at = 1; failed; at++) {
			int before = descriptors();
			uint64_t number = 0;
			failing_begin(at, ENOSPC, halved);
			int rc = tray_put(dir, &offer, &submission, &number, &err);
			failed = failing_end();
			assert_int_equal(descriptors(), before);
			if (rc == 0) {
				struct kept x;
				struct tray_name name = {.number = number};
				assert_int_equal(number, 13 + kept++);
				assert_int_equal(tray_read(tray, &name, getegid(), &x, &err), 0);
				kept_fini(&x);
			} else {
				if (rc != -ENOSPC && rc != -ESTALE)
					fail_msg("%s: %d, %s", failed, rc, err.text);
			}
			assert_int_equal(entries(path), 2 + kept);
		}
	/* the request before its name, both before the number, and that before the answer; reading
	 * the offer again, the last call, has another name with _FORTIFY_SOURCE */
	static const char calls[] = "open64 mkdirat openat64 openat64 write fsync fsync renameat fsync fsync ";
	assert_memory_equal(failing_calls(), calls, strlen(calls));
	close(tray);
}

/* An offer is the old one or the new one; on a full disk there may be none. */
static void offered(void **state)
{
	struct offer old = {.tray = "g1", .next = 13, .server = "pine"}, new = old, now;
	const char *failed = "";
	struct err err;

	new.next = 99;
	for (int error = ENOSPC; error; error = error == ENOSPC ? EIO : 0, failed = "")
		for (int at = 1; failed; at++) {
			assert_int_equal(offer_write(dir, &old, &err), 0);
			int before = descriptors();
			failing_begin(at, error, false);
			int rc = offer_write(dir, &new, &err);
			failed = failing_end();
			assert_int_equal(descriptors(), before);
			assert_int_equal(offer_read(dir, &now, &err), 0);
			assert_true(now.next == 99 || (rc < 0 && now.next == 13));
			assert_true(rc == 0 || rc == -error);
		}
}

/* ---- checkpoints ---- */

/* Does one task of a scribe, of which the call `at` fails; returns its errno. */
static int scribed(struct scribe_order *s, int at)
{
	int status;

	failing_begin(at, ENOSPC, false);
	pid_t pid = scribe_start(s);
	failing_end();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The link `last` always names the checkpoint that was good before, or the new one. */
static void checkpointed(void **state)
{
	const struct identity self = {.uid = geteuid(), .gid = getegid()};
	struct order o = {.checkpoint = {.method = CHECKPOINT_SIGNAL, .keep = 1}};
	struct scribe_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct scribe_order s = {.o = &o, .who = &self, .dir = path, .page = page};
	char name[200], last[32];
	int64_t good = 0;
	int rc = -1;

	assert_true(page != MAP_FAILED);
	s.task = SCRIBE_FIND;
	assert_int_equal(scribed(&s, 0), 0);
	assert_int_equal(page->number, 0);
	for (int at = 1; rc != 0 || at < 8; at++) {
		assert_true(at < 30);
		s.task = SCRIBE_PREPARE;
		assert_int_equal(scribed(&s, 0), 0);
		s.number = page->number;
		assert_true(s.number > good);
		snprintf(name, sizeof name, "%s/new/done", path);
		close(creat(name, 0600));
		s.task = SCRIBE_LOOK;
		page->good = 0;
		rc = scribed(&s, at);
		assert_true(rc == 0 || rc == ENOSPC);
		snprintf(name, sizeof name, "%s/last", path);
		ssize_t n = readlink(name, last, sizeof last - 1);
		last[n > 0 ? n : 0] = '\0';
		if (page->good) { /* from then on it is good, whatever else failed */
			assert_int_equal(page->good, s.number);
			good = s.number;
		}
		assert_true(atoll(last) == good || (rc != 0 && atoll(last) == s.number));
		good = atoll(last);
		if (good) {
			snprintf(name, sizeof name, "%s/%s/done", path, last);
			assert_int_equal(access(name, F_OK), 0);
		}
	}
	munmap(page, sizeof *page);
}

/* ---- output of jobs ---- */

/* An order whose output goes to DIR/file and DIR/wrong, else below DIR/spare. */
static struct order output_order(void)
{
	static char wrong[200], spare[200];

	snprintf(wrong, sizeof wrong, "%s/wrong", dir);
	snprintf(spare, sizeof spare, "%s/spare", dir);
	return (struct order){.tag = "1.1", .out = path, .err = wrong, .spare = spare};
}

static void output_opened(struct order o)
{
	const struct identity who = {.server = &nobody};
	const char *failed = "";

	for (int at = 1; failed; at++) {
		struct strbuf say = {0};
		struct err err = {.text = ""};
		struct output out;
		int before = descriptors();
		failing_begin(at, ENOSPC, false);
		int rc = output_open(&o, &who, &out, &say, &err);
		failed = failing_end();
		if (rc < 0) {
			assert_int_equal(rc, -ENOSPC);
			assert_non_null(strstr(err.text, at == 1 ? "the output " : "the error output "));
			assert_non_null(strstr(err.text, o.carry.spool ? o.spare : at == 1 ? o.out : o.err));
			assert_true(out.fd[0] < 0 && out.fd[1] < 0);
		} else if (failed) {
			assert_non_null(
				strstr(strbuf_text(&say), at == 1 ? "the output could not be written to"
								  : "the error output could not be written to"));
			assert_true(out.spare[at - 1] && !out.spare[2 - at] && output_is_spare(&out));
		} else {
			assert_int_equal(say.n, 0);
		}
		assert_true(!failed == (at == 3)); /* one call opens each */
		assert_int_equal(rc < 0, failed && (!o.spare || o.carry.spool));
		assert_int_equal(descriptors() - before, rc < 0 ? 0 : 2);
		output_close(&o, &who, &out, &say);
		assert_int_equal(descriptors(), before);
		strbuf_fini(&say);
	}
}

/* A file that can't be opened is replaced by one in the spare directory; if that can't be either,
 * nothing stays open. */
static void outputs_opened(void **state)
{
	struct order o = output_order();

	assert_int_equal(mkdir(o.spare, 0700), 0);
	output_opened(o);
	o.carry.spool = 3;
	output_opened(o);
	o.carry.spool = 0;
	o.spare = NULL;
	output_opened(o);
}

#define TEXT "text"
#define TEXT_SIZE 100000 /* bytes, of which the last are a hole */

/* Returns true if the spare directory has the whole text, and removes that file. */
static bool text_saved(const struct order *o, const char *suffix)
{
	struct strbuf got = {0};
	char name[240];

	snprintf(name, sizeof name, "%s/%s.%s", o->spare, o->tag, suffix);
	bool whole = file_read(name, 0, 1 << 20, &got) == 0 && got.n == TEXT_SIZE &&
		     memcmp(got.text, TEXT, sizeof TEXT - 1) == 0;
	unlink(name);
	strbuf_fini(&got);
	return whole;
}

/* Closes output whose files are gone, while the call `at` fails. Returns its name; NULL: none
 * failed. */
static const char *deleted_close(struct order *o, int at)
{
	static const struct {
		const char *suffix, *kept, *lost;
	} streams[] = {{"out", "the output could not be kept where it was", "the output is lost: "},
		       {"err", "the error output could not be kept where it was", "the error output is lost: "}};
	const struct identity who = {.server = &nobody};
	struct strbuf say = {0};
	struct output out;
	int before = descriptors();

	assert_int_equal(output_open(o, &who, &out, &say, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(write(out.fd[i], TEXT, sizeof TEXT - 1), sizeof TEXT - 1);
		assert_int_equal(ftruncate(out.fd[i], TEXT_SIZE), 0);
		unlink(i ? o->err : o->out);
	}
	failing_begin(at, EIO, false);
	output_close(o, &who, &out, &say);
	const char *failed = failing_end();
	assert_int_equal(descriptors(), before);
	for (int i = 0; i < 2; i++) {
		bool kept = strstr(strbuf_text(&say), streams[i].kept), saved = text_saved(o, streams[i].suffix);
		assert_true(kept ? saved : strstr(say.text, streams[i].lost) && failed);
	}
	strbuf_fini(&say);
	return failed;
}

/* Output whose file is gone is in the spare directory, or it is said that it is lost. */
static void outputs_deleted(void **state)
{
	struct order o = output_order();
	int at = 1;

	assert_int_equal(mkdir(o.spare, 0700), 0);
	while (deleted_close(&o, at))
		at++;
	assert_true(at > 8); /* each file: one to write, one to read, a copy and its size */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(replaced),     TEST(begun_anyway),   TEST(journals),
					   TEST(keys_renewed), TEST(left_for_later), TEST(offered),
					   TEST(checkpointed), TEST(outputs_opened), TEST(outputs_deleted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
