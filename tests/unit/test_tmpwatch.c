/*
 * test_tmpwatch.c - $TMPDIR on a small file system that Shunt itself needs: which attempts are
 * ended when it is almost full, and which are not. It is a tmpfs of this process alone.
 */
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/spare.h"
#include "run/tmpwatch.h"
#include "support/nest.h"
#include "support/skip.h"

/* A tenth of it is 4 MB, and 400 files. */
#define DISK "size=40m,nr_inodes=4000"
#define STAY "while [ ! -e $HOME/go ]; do sleep 0.05; done"

static struct nest *disk_create(void)
{
	if (geteuid() != 0)
		skip_because("needs root, to mount a file system");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, DISK ",mode=1777"))
		skip_because("file systems can't be mounted here");
	struct nest *n = nest_create("none");
	assert_int_equal(mkdir(arena_printf(n->a, "%s/tmp", n->dir), 0711), 0);
	return n;
}

static void disk_destroy(struct nest *n)
{
	nest_write(n, nest_path(n, "go"), "", 0, 0644);
	void *state = n;
	assert_int_equal(nest_teardown(&state), 0);
	assert_int_equal(umount2("/tmp", MNT_DETACH), 0);
}

static struct order order_of(struct nest *n, const char *tag, const char *script)
{
	struct order o = nest_order(n, tag, script);
	char *env[] = {"PATH=/usr/bin:/bin", arena_printf(n->a, "HOME=%s", n->work), NULL};

	o.env = arena_alloc(n->a, sizeof env);
	memcpy(o.env, env, sizeof env);
	o.tmpdir = arena_printf(n->a, "%s/tmp/%s", n->dir, tag);
	return o;
}

/* Makes the order of a job that makes WORK/TAG.done, without a byte, and stays. */
static struct order order_stay(struct nest *n, const char *tag, const char *script)
{
	return order_of(n, tag, arena_printf(n->a, "cd $TMPDIR; %s; true >$HOME/%s.done; " STAY, script, tag));
}

static void stay(struct nest *n, const char *tag, const char *script)
{
	struct order o = order_stay(n, tag, script);

	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, tag);
}

static bool is_done(struct nest *n, const char *tag)
{
	return access(nest_path(n, arena_printf(n->a, "%s.done", tag)), F_OK) == 0;
}

static void done_await(struct nest *n, const char *tag)
{
	for (int i = 0; i < 6000 && !is_done(n, tag); i++)
		usleep(5000);
	assert_true(is_done(n, tag));
}

static void stays(struct nest *n, const char *tag)
{
	struct result r;
	pid_t pid;

	assert_int_equal(live_look(n->live, tag, n->a, &r, &pid), LIVE_RUNNING);
}

static void is_ended(struct nest *n, const char *tag, const char *held)
{
	struct result r = nest_result(n, tag);

	ends(r, RESULT_SIGNALED, 9, CAUSE_MEMORY);
	assert_true(r.disk);
	contains(r.reason, held);
	contains(r.reason, "almost full: the jobs of a user may together hold ");
}

static void has_room(struct nest *n)
{
	struct statvfs fs;

	assert_int_equal(statvfs(n->dir, &fs), 0);
	assert_true(fs.f_bavail * fs.f_frsize > 4 << 19 && fs.f_favail > 200);
}

#define FILL "head -c 100m /dev/zero >big 2>/dev/null"

/* One user's job fills the disk: it ends; those of another user, and small ones of the same user,
 * don't. What is behind a link does not count. */
static void test_filler(void **state)
{
	struct nest *n = disk_create();
	struct passwd *pw = getpwnam("daemon");

	assert_non_null(pw);
	nest_write(n, nest_path(n, "large"), "", 0, 0666);
	assert_int_equal(truncate(nest_path(n, "large"), 0), 0);
	stay(n, "1.1",
	     "head -c 5m /dev/zero >$HOME/large; ln -s $HOME links; ln -s $HOME/large x; truncate -s 1t hole");
	done_await(n, "1.1");
	struct order o = order_of(n, "2.1", "head -c 3m /dev/zero >$TMPDIR/x; " STAY);
	o.uid = pw->pw_uid;
	o.gid = pw->pw_gid;
	o.user = "daemon";
	o.out = o.err = "/dev/null";
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "2.1");
	stay(n, "3.1", FILL);
	is_ended(n, "3.1", "its $TMPDIR held ");
	assert_int_equal(access(arena_printf(n->a, "%s/tmp/3.1", n->dir), F_OK), -1);
	has_room(n);
	stays(n, "1.1");
	stays(n, "2.1");
	disk_destroy(n);
}

/* What users do so that it is not found. */
static void hidden_try(const char *script, const char *held)
{
	struct nest *n = disk_create();

	stay(n, "1.1", script);
	is_ended(n, "1.1", held);
	has_room(n);
	disk_destroy(n);
}

static void test_closed(void **state)
{
	hidden_try("mkdir -p a/b; cd a/b; exec 7>big; chmod 0 big . .. $TMPDIR; head -c 100m /dev/zero >&7 2>/dev/null",
		   "3");
}

static void test_nameless(void **state)
{
	hidden_try("exec 7>big; rm big; head -c 100m /dev/zero >&7 2>/dev/null", "3");
}

static void test_links(void **state)
{
	hidden_try("mkdir b; for i in 1 2 3 4 5 6 7 8 9; do echo >$i; ln $i b/$i; done; "
		   "head -c 100m /dev/zero >1 2>/dev/null",
		   "3");
}

static void test_deep(void **state)
{
	hidden_try("i=0; while [ $i -lt 600 ]; do mkdir d && cd -P d || break; i=$((i+1)); done; " FILL,
		   "1000000 files");
}

static void test_files(void **state)
{
	hidden_try("i=0; while [ $i -lt 4000 ]; do echo >$i; i=$((i+1)); done 2>/dev/null", " files while");
}

/* Many attempts of a user hold little each: as many of them end as are needed. */
static void test_together(void **state)
{
	struct nest *n = disk_create();
	int left = 0;
	struct result r;
	pid_t pid;

	struct order o[12];
	for (int i = 0; i < 12; i++) /* the scripts come first: later the disk is full */
		o[i] = order_stay(n, arena_printf(n->a, "%d.1", i + 1),
				  "head -c 3m /dev/zero >x 2>/dev/null; head -c 3m /dev/zero >y 2>/dev/null");
	for (int i = 0; i < 12; i++)
		nest_send(n, &o[i]);
	for (int turn = 0; turn < 600; turn++, usleep(100000)) {
		struct statvfs fs;
		left = 0;
		for (int i = 0; i < 12; i++)
			left += live_look(n->live, o[i].tag, n->a, &r, &pid) == LIVE_RUNNING && is_done(n, o[i].tag);
		if (left && left < 12 && statvfs(n->dir, &fs) == 0 && fs.f_bavail * fs.f_frsize > 4 << 19)
			break;
	}
	assert_true(left > 0 && left < 12);
	has_room(n);
	disk_destroy(n);
}

/* Nursery and server were killed meanwhile: the next ones find it. */
static void test_later(void **state)
{
	struct nest *n = disk_create();
	struct order room = order_of(n, "2.1", NULL);

	stay(n, "1.1", "while [ ! -e $HOME/fill ]; do sleep 0.05; done; " FILL);
	room.room = true;
	nest_send(n, &room);
	nest_ready(n, "2.1");
	nest_kill(n);
	nest_write(n, arena_printf(n->a, "%s/tmp/2.1/x", n->dir), "x", 1, 0644);
	nest_write(n, nest_path(n, "fill"), "", 0, 0644);
	done_await(n, "1.1");
	nest_start(n);
	is_ended(n, "1.1", "its $TMPDIR held 3");
	stays(n, "2.1");

	/* a part without a script */
	int fd = open(arena_printf(n->a, "%s/tmp/2.1/x", n->dir), O_WRONLY | O_CLOEXEC);
	assert_int_equal(fchown(fd, n->uid, n->gid), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	static char zeros[1 << 20];
	while (write(fd, zeros, sizeof zeros) > 0)
		;
	close(fd);
	struct result r = nest_result(n, "2.1");
	assert_true(r.cause == CAUSE_MEMORY && r.disk);
	disk_destroy(n);
}

/* What was requested of the disk is left to a job as long as others have more than the bound. */
static void test_requested(void **state)
{
	struct nest *n = disk_create();
	struct order o = order_stay(n, "1.1", "head -c 20m /dev/zero >x");
	struct order more = order_stay(n, "2.1", "head -c 14m /dev/zero >x; sleep 0.2; head -c 9m /dev/zero >y");

	o.disk = 20 << 10;
	more.disk = 2 << 10;
	nest_send(n, &o);
	nest_send(n, &more);
	is_ended(n, "2.1", "its $TMPDIR held ");
	has_room(n);
	done_await(n, "1.1");
	stays(n, "1.1");
	disk_destroy(n);
}

/* A disk of its own: who fills it gets an error from it, and nothing else. */
static void test_apart(void **state)
{
	struct nest *n = disk_create();
	char *tmp = arena_printf(n->a, "%s/tmp", n->dir);

	assert_int_equal(mount("tmpfs", tmp, "tmpfs", 0, DISK ",mode=711"), 0);
	stay(n, "1.1", FILL);
	done_await(n, "1.1");
	sleep(3);
	stays(n, "1.1");
	nest_write(n, nest_path(n, "go"), "", 0, 0644);
	ends(nest_result(n, "1.1"), RESULT_EXITED, 0, CAUSE_ITSELF);
	assert_int_equal(umount2(tmp, MNT_DETACH), 0);
	disk_destroy(n);
}

static void test_words(void **state)
{
	struct strbuf say = {0};
	int word = TMPDIR_WORD | 3000;

	assert_true(is_tmpdir_word(word) && is_tmpdir_word(TMPDIR_WORD | TMPDIR_FILES | TMPDIR_MOST));
	assert_false(is_tmpdir_word(9) || is_tmpdir_word(-5) || is_tmpdir_word(walltime_word(INT32_MAX)) ||
		     is_tmpdir_word(save_word(SAVE_ASKED, 10)) || is_tmpdir_word(1 << 29));
	tmpwatch_say(word, "/", &say);
	contains(say.text,
		 "its $TMPDIR held 2.9 GB while the disk, which Shunt itself needs, was almost full: the jobs");
	strbuf_clear(&say);
	tmpwatch_say(TMPDIR_WORD | TMPDIR_FILES | 12, "/no/such/directory", &say);
	contains(say.text, "its $TMPDIR held 12 files while");
	strbuf_fini(&say);
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_words),	  cmocka_unit_test(test_filler),   cmocka_unit_test(test_closed),
		cmocka_unit_test(test_nameless),  cmocka_unit_test(test_links),	   cmocka_unit_test(test_deep),
		cmocka_unit_test(test_files),	  cmocka_unit_test(test_together), cmocka_unit_test(test_later),
		cmocka_unit_test(test_requested), cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests_name("tmpwatch", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
