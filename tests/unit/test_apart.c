/*
 * test_apart.c - detached processes: what they keep of this one, how they are counted, found by
 * their titles and adopted; and which file systems count as network file systems.
 */
#include <fcntl.h>
#include <mntent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "engine/apart.h"
#include "engine/errands_internal.h"

static uv_loop_t loop;
static struct apart *apart;

/* ---- what a detached process says of itself ---- */

static int descriptors(char *ret, size_t size)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			n += snprintf(ret + n, size - (size_t)n, "%d ", fd);
	return n;
}

static _Noreturn void detached(int keep)
{
	char text[4096], open_[512] = "", title[200] = "", byte;
	struct sigaction act;
	sigset_t blocked;
	int n = 0;

	descriptors(open_, sizeof open_);
	FILE *f = fopen("/proc/self/cmdline", "r");
	size_t got = f ? fread(title, 1, sizeof title - 1, f) : 0;
	title[got] = '\0';
	if (f)
		fclose(f);
	f = fopen("/proc/self/comm", "r");
	char name[32] = "";
	if (f && fgets(name, sizeof name, f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigaction(SIGTERM, NULL, &act);
	n = snprintf(text, sizeof text, "open %s, kept %s, session %s, name %s, title %s, %s, SIGTERM %s%s, input %d",
		     strcmp(open_, "") ? "some" : "none",
		     strlen(open_) > 6 && atoi(open_ + 6) == keep && strncmp(open_, "0 1 2 ", 6) == 0 &&
				     !strchr(strchr(open_ + 6, ' ') + 1, ' ')
			     ? "alone"
			     : open_,
		     getsid(0) == getpid() ? "its own" : "another", name, title, getenv("HOME") ? "HOME" : "no HOME",
		     act.sa_handler == SIG_DFL ? "ends it" : "is handled",
		     sigismember(&blocked, SIGUSR1) ? ", SIGUSR1 blocked" : "", (int)read(STDIN_FILENO, &byte, 1));
	if (write(keep, text, (size_t)n) != n || read(keep, &byte, 1) < 0)
		_exit(9);
	_exit(0);
}

/* Forks one; returns the test's end of its connection. */
static int detach(uid_t uid, const char *title)
{
	struct err err;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	int rc = apart_fork(apart, uid, pair[1], title, &err);
	if (rc == 1)
		detached(pair[1]);
	assert_int_equal(rc, 0);
	close(pair[1]);
	return pair[0];
}

static void says(int fd, const char *title)
{
	char text[4096], wanted[4096];
	ssize_t n = read(fd, text, sizeof text - 1);

	text[n < 0 ? 0 : n] = '\0';
	snprintf(wanted, sizeof wanted,
		 "open some, kept alone, session its own, name shunt-task, title %s, no HOME, SIGTERM ends it, input 0",
		 title);
	assert_string_equal(text, wanted);
}

static void turn_until(int count)
{
	while (apart_count(apart) != count)
		uv_run(&loop, UV_RUN_ONCE);
}

static void on_term(int number)
{
}

static bool is_wanted(void *context, const char *title)
{
	return strcmp(title, context) == 0;
}

static void test_apart(void **state)
{
	sigset_t usr1;
	char before[512], after[512], byte;

	uv_loop_init(&loop); /* which opens descriptors for all loops */
	uv_loop_close(&loop);
	descriptors(before, sizeof before);
	signal(SIGTERM, on_term);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	uv_loop_init(&loop);
	apart = apart_create(&loop);
	assert_int_equal(apart_count(apart), 0);
	int one = detach(1000, "one of ann"), two = detach(1001, "one of bob"), three = detach(1000, "another of ann");
	says(one, "one of ann");
	says(two, "one of bob");
	says(three, "another of ann");
	assert_int_equal(apart_count(apart), 3);
	assert_int_equal(apart_count_of(apart, 1000), 2);
	assert_int_equal(apart_count_of(apart, 1001), 1);
	assert_int_equal(apart_count_of(apart, 1002), 0);
	close(two); /* it ends by itself */
	turn_until(2);
	assert_int_equal(apart_count_of(apart, 1001), 0);
	assert_int_equal(apart_count_of(apart, 1000), 2);

	apart_kill(apart, is_wanted, "nobody");
	apart_kill(apart, is_wanted, "one of ann");
	turn_until(1);
	assert_int_equal(read(one, &byte, 1), 0);
	assert_int_equal(recv(three, &byte, 1, MSG_DONTWAIT), -1); /* it lives */
	close(one);

	/* this program executes itself again: its children are adopted, and found by their titles */
	pid_t other = fork();
	if (other == 0)
		for (;;)
			pause();
	apart_free(apart);
	apart = apart_create(&loop);
	assert_int_equal(apart_count(apart), 1);
	assert_int_equal(apart_count_of(apart, (uid_t)-1), 1);
	assert_int_equal(recv(three, &byte, 1, MSG_DONTWAIT), -1);
	apart_kill(apart, is_wanted, "one of ann");
	assert_int_equal(recv(three, &byte, 1, MSG_DONTWAIT), -1);
	apart_kill(apart, is_wanted, "another of ann");
	turn_until(0);
	assert_int_equal(read(three, &byte, 1), 0);
	close(three);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing was left for anybody to wait for */

	apart_free(apart);
	apart_free(NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	descriptors(after, sizeof after);
	assert_string_equal(before, after);
}

/* A descriptor that is not open can't be kept. */
static void test_no_descriptor(void **state)
{
	struct err err;

	uv_loop_init(&loop);
	apart = apart_create(&loop);
	assert_int_equal(apart_fork(apart, 0, 1000, "title", &err), -EBADF);
	assert_string_equal(err.text, "no process could be made for it: Bad file descriptor");
	assert_int_equal(apart_count(apart), 0);
	apart_free(apart);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- network file systems ---- */

static const char *const (*mounts)[2];

FILE *__wrap_setmntent(const char *path, const char *mode);
FILE *__wrap_setmntent(const char *path, const char *mode)
{
	return fopen("/dev/null", mode);
}

struct mntent *__wrap_getmntent(FILE *f);
struct mntent *__wrap_getmntent(FILE *f)
{
	static struct mntent m;

	if (!(*mounts)[0])
		return NULL;
	m.mnt_dir = (char *)(*mounts)[0];
	m.mnt_type = (char *)(*mounts++)[1];
	return &m;
}

static bool fuse(const char *dir, const char *const (*table)[2])
{
	mounts = table;
	return network_is(0x65735546, dir);
}

static void test_network(void **state)
{
	static const uint64_t yes[] = {0x6969,	   0x517B,     0xFF534D42, 0xFE534D42, 0x0BD00BD0,
				       0x47504653, 0x19830326, 0x00C36400, 0x5346414F, 0x6B414653,
				       0x01021997, 0x20030528, 0xAAD7AAEA},
			      no[] = {0xEF53 /* ext4 */, 0x58465342 /* XFS */, 0x01021994 /* tmpfs */,
				      0x9123683E /* btrfs */, 0};
	static const char *const table[][2] = {{"/", "fuse.sshfs"},
					       {"/home", "fuse.ntfs"},
					       {"/home/ann", "fuse.sshfs"},
					       {"/srv", "fuse.glusterfs"},
					       {"/srv", "fuse.ntfs"},
					       {"/data/", "fuse.ceph"},
					       {"/a", "fuse.juicefs"},
					       {"/b", "fuse.moosefs"},
					       {"/c", "fuse.nfs"},
					       {"/b", "fuse.nfs"},
					       {NULL, NULL}};

	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(network_is(yes[i], "/"));
	assert_true(network_is(UINT64_C(0xFFFFFFFFFF534D42), "/")); /* its sign was extended */
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(network_is(no[i], "/"));
	assert_true(fuse("/", table));
	assert_true(fuse("/homes", table));
	assert_false(fuse("/home", table));
	assert_false(fuse("/home/bob", table));
	assert_true(fuse("/home/ann", table));
	assert_true(fuse("/home/ann/jobs", table));
	assert_false(fuse("/home/anna", table));
	assert_false(fuse("/srv/x", table)); /* mounted over the other one */
	assert_true(fuse("/data", table));
	assert_true(fuse("/a/x", table));
	assert_true(fuse("/b/x", table));
	assert_true(fuse("/c/x", table));
	assert_false(fuse("/", table + 10));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_apart), cmocka_unit_test(test_no_descriptor),
					   cmocka_unit_test(test_network)};

	setenv("HOME", "/home/of/this/test", 1);
	apart_titles(argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("apart", tests, NULL, NULL);
}
