/*
 * test_run_parts.c - parts of src/run, each by itself in this process: who a user is, leases, live
 * files, what an attempt gets and leaves, messages to shepherds, the site's programs. The clock and
 * the user database are the test's.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "base/file.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "run/capacity.h"
#include "run/cgroup.h"
#include "run/handover.h"
#include "run/identity.h"
#include "run/lease.h"
#include "run/listing.h"
#include "run/live.h"
#include "run/nursery.h"
#include "run/room.h"
#include "run/site.h"
#include "run/spare.h"
#include "run/tree.h"

static int64_t now = 1000; /* seconds on all clocks */

int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	*ret = (struct timespec){.tv_sec = now + (id == CLOCK_REALTIME ? 1000000000 : 0)};
	return 0;
}

/* ---- users ---- */

static struct {
	int error;
	bool found;
	const char *home, *shell;
	int groups; /* number of the user's groups */
	bool mute;  /* the library does not return their number */
	int calls;
	uid_t euid;
} base = {.found = true, .home = "/home/ana", .shell = "/bin/zsh", .groups = 3};

int __wrap_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret);
int __wrap_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
	*pw = (struct passwd){
		.pw_uid = 1000, .pw_gid = 100, .pw_dir = (char *)base.home, .pw_shell = (char *)base.shell};
	*ret = base.found ? pw : NULL;
	return base.error;
}

int __wrap_getgrouplist(const char *user, gid_t gid, gid_t *groups, int *n);
int __wrap_getgrouplist(const char *user, gid_t gid, gid_t *groups, int *n)
{
	bool fits = base.groups <= *n;

	assert_int_equal(gid, 100);
	base.calls++;
	for (int i = 0; fits && i < base.groups; i++)
		groups[i] = (gid_t)(100 + i);
	if (fits || !base.mute)
		*n = base.groups;
	return fits ? base.groups : -1;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return base.euid;
}

gid_t __wrap_getegid(void);
gid_t __wrap_getegid(void)
{
	return 55;
}

static void look(const char *user)
{
	struct strbuf answer = {0};

	identity_look(user, &answer);
	identity_keep(user, answer.text, answer.n);
	strbuf_fini(&answer);
}

static void get_fails(uid_t uid, gid_t gid, const char *user, bool root_jobs, const char *why)
{
	struct identity who;
	struct err err = {.text = ""};

	assert_int_equal(identity_get(uid, gid, user, root_jobs, &who, &err), -EPERM);
	assert_string_equal(err.text, why);
}

static void test_user(void **state)
{
	struct identity who;
	struct err err;

	get_fails(1000, 100, "ana", false, "the user ana has not been looked up on this host");
	look("ana");
	assert_int_equal(identity_get(1000, 102, "ana", false, &who, &err), 0);
	assert_true(who.uid == 1000 && who.gid == 102 && who.change && who.ngroups == 3);
	assert_true(who.groups[0] == 100 && who.groups[1] == 101 && who.groups[2] == 102);
	assert_string_equal(who.home, "/home/ana");
	assert_string_equal(who.shell, "/bin/zsh");
	assert_int_equal(identity_get(BY_NAME, 7, "ana", false, &who, &err), 0);
	assert_true(who.uid == 1000 && who.gid == 100);
	get_fails(1001, 100, "ana", false, "the user ana has uid 1000 on this host, not 1001");
	get_fails(1000, 103, "ana", false, "the user ana is not in the group 103 on this host");
	get_fails(0, 0, "root", false, "root may not have jobs here (the server's attribute root_jobs allows it)");
	get_fails(0, 0, "root", true, "the user root has not been looked up on this host");
	base.euid = 1000;
	assert_int_equal(identity_get(1000, 7, "who", false, &who, &err), 0);
	assert_true(who.uid == 1000 && who.gid == 55 && !who.change && who.ngroups == 0 && !who.home);
	assert_int_equal(identity_get(BY_NAME, 7, "ana", false, &who, &err), 0);
	get_fails(
		1001, 7, "bo", false,
		"jobs of user bo (uid 1001) can't run here: this server is not root, and runs those of uid 1000 only");
	base.euid = 0;
	base.home = base.shell = "";
	look("ana");
	assert_int_equal(identity_get(1000, 100, "ana", false, &who, &err), 0);
	assert_string_equal(who.home, "/");
	assert_string_equal(who.shell, "/bin/sh");
	base.home = "/home/ana";
	base.shell = "/bin/zsh";
	base.groups = 0;
	look("ana"); /* the primary group counts all the same */
	assert_int_equal(identity_get(1000, 100, "ana", false, &who, &err), 0);
	get_fails(1000, 101, "ana", false, "the user ana is not in the group 101 on this host");
	base.groups = 3;
}

static void test_user_unknown(void **state)
{
	static const int unknown[] = {0, ESRCH, EBADF, EPERM, ENOENT};

	base.found = false;
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		base.error = unknown[i];
		look("nobody1");
		get_fails(7, 7, "nobody1", false, "the user nobody1 is not known on this host");
		assert_int_equal(identity_age("nobody1", false), IDENTITY_NONE);
	}
	base.error = EIO;
	look("cy");
	get_fails(7, 7, "cy", false, "the user cy can't be looked up on this host: Input/output error");
	identity_keep("cy", "", 0);
	get_fails(7, 7, "cy", false, "the user cy can't be looked up on this host: the user database does not answer");
	identity_keep("dee", "short", 5);
	get_fails(7, 7, "dee", false,
		  "the user dee can't be looked up on this host: the user database does not answer");
	base.found = true;
	base.error = 0;
}

static void test_user_groups(void **state)
{
	static const struct {
		int groups, calls;
		bool mute;
	} cases[] = {{64, 1, false}, {65, 2, false}, {65, 2, true}, {129, 3, true}, {65536, 2, false}};
	struct identity who;
	struct err err;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		base.groups = cases[i].groups;
		base.mute = cases[i].mute;
		base.calls = 0;
		look("eve");
		assert_int_equal(base.calls, cases[i].calls);
		assert_int_equal(identity_get(1000, 100, "eve", false, &who, &err), 0);
		assert_int_equal(who.ngroups, cases[i].groups);
		assert_int_equal(who.groups[who.ngroups - 1], 100 + who.ngroups - 1);
	}
	base.mute = false;
	base.groups = 65537;
	now += 300;
	look("eve");
	get_fails(1000, 100, "eve", false, "the user eve is in too many groups");
	base.groups = 3;
}

static void test_user_age(void **state)
{
	struct identity who;
	struct err err;

	assert_int_equal(identity_age("fay", false), IDENTITY_NONE);
	look("fay");
	assert_int_equal(identity_age("fay", false), IDENTITY_FRESH);
	now += 59;
	assert_int_equal(identity_age("fay", false), IDENTITY_FRESH);
	now += 1;
	assert_int_equal(identity_age("fay", false), IDENTITY_STALE);
	base.error = EIO;
	base.found = false;
	look("fay"); /* what is known stays */
	assert_int_equal(identity_age("fay", false), IDENTITY_STALE);
	assert_int_equal(identity_get(1000, 100, "fay", false, &who, &err), 0);
	now += 239;
	assert_int_equal(identity_age("fay", false), IDENTITY_STALE);
	now += 1;
	assert_int_equal(identity_age("fay", false), IDENTITY_NONE);
	get_fails(1000, 100, "fay", false, "the user fay has not been looked up on this host");
	base.euid = 1000;
	assert_int_equal(identity_age("fay", false), IDENTITY_FRESH);
	assert_int_equal(identity_age("fay", true), IDENTITY_NONE);
	base.euid = 0;
	base.found = true;
	base.error = 0;
	look("fay");
	base.found = false;
	look("fay"); /* it was removed */
	get_fails(1000, 100, "fay", false, "the user fay is not known on this host");
	base.found = true;
}

/* ---- files ---- */

struct place {
	char dir[64];
	int fd;
};

static int place_setup(void **state)
{
	static struct place p;

	strcpy(p.dir, "/tmp/shunt-test-XXXXXX");
	assert_non_null(mkdtemp(p.dir));
	p.fd = open(p.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;
	char command[100];

	close(p->fd);
	snprintf(command, sizeof command, "rm -rf %s", p->dir);
	return system(command);
}

static void write_file(const struct place *p, const char *name, const char *text)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", p->dir, name);
	assert_int_equal(file_replace(path, 0644, text, strlen(text), 0), 0);
}

static void assert_file(const char *path, const char *text, mode_t mode)
{
	struct strbuf all = {0};
	struct stat st;

	assert_int_equal(file_read(path, 0, 65536, &all), 0);
	assert_string_equal(strbuf_text(&all), text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	strbuf_fini(&all);
}

static void test_lease(void **state)
{
	const struct place *p = *state;
	struct lease l;
	struct err err;

	assert_true(lease_word(p->dir) == INT64_MIN);
	lease_begin(&l, 0, 5000000);
	assert_false(lease_over(&l, p->fd, INT64_MAX - 1));
	assert_true(lease_early(&l, 0) == INT64_MAX);
	/* without a word it counts from the beginning */
	lease_begin(&l, 10, 5000000);
	assert_false(lease_over(&l, p->fd, 5000000));
	assert_true(lease_early(&l, 1000000) == 14000000);
	assert_false(lease_ends(&l, p->fd, 13999999, 1000000));
	assert_true(lease_ends(&l, p->fd, 14000000, 1000000));
	assert_false(lease_over(&l, p->fd, 14999999));
	assert_true(lease_over(&l, p->fd, 15000000));
	/* a word moves the end, but not beyond what was asked */
	assert_int_equal(lease_write(p->dir, 7000000, false, &err), 0);
	assert_true(lease_word(p->dir) == 7000000);
	assert_false(lease_over(&l, p->fd, 15000000));
	assert_false(lease_over(&l, p->fd, 16999999));
	assert_true(lease_over(&l, p->fd, 17000000));
	assert_int_equal(lease_write(p->dir, 90000000, false, &err), 0); /* its clock is ahead */
	assert_false(lease_over(&l, p->fd, 20000000));
	assert_true(l.since == 20000000 && l.look_at == 30000000);
	/* suspended: it is read again after an eighth, at least 0.2 s */
	assert_int_equal(lease_write(p->dir, 0, true, &err), 0);
	assert_true(lease_word(p->dir) == INT64_MAX);
	assert_false(lease_over(&l, p->fd, 30000000));
	assert_true(l.suspended && l.look_at == 31250000 && lease_early(&l, 5) == INT64_MAX);
	lease_begin(&l, 1, 0);
	assert_false(lease_over(&l, p->fd, 1000000));
	assert_true(l.look_at == 1200000);
	/* another boot's, and nonsense: as if there were none */
	write_file(p, ".lease", "7000000 another\n");
	assert_true(lease_word(p->dir) == INT64_MIN);
	write_file(p, ".lease", "suspended another\n");
	assert_true(lease_word(p->dir) == INT64_MIN);
	write_file(p, ".lease", "x\n");
	assert_true(lease_word(p->dir) == INT64_MIN);
	assert_int_equal(lease_write("/nonexistent", 0, false, &err), -ENOENT);
	assert_string_equal(err.text, "/nonexistent/.lease can't be written: No such file or directory");
}

static void test_live(void **state)
{
	static const struct identity own = {0};
	static const struct cgroup none = {.kind = CGROUP_NONE};
	const struct place *p = *state;
	struct order o = {.id = "12.oak\nx", .tag = "12.1", .disk = 20, .lease = 600, .grace = 10};
	struct arena *a = arena_create();
	char text[400], job[16], path[100];
	struct result r;
	struct err err;
	off_t at = 0;
	pid_t pid = -1;

	int fd = live_create(p->fd, "12.1", &own, &err);
	assert_true(fd >= 0);
	assert_int_equal(live_create(p->fd, "12.1", &own, &err), -EEXIST);
	assert_string_equal(err.text, "12.1 was started already");
	assert_int_equal(live_look(p->dir, "12.1", a, &r, &pid), LIVE_RUNNING);
	assert_int_equal(pid, 0);
	assert_false(live_job(p->fd, "12.1", job, sizeof job));
	assert_int_equal(live_begin(fd, &at, &o, 1000, &none), 0);
	snprintf(path, sizeof path, "%s/12.1", p->dir);
	snprintf(text, sizeof text, "pid %d %s\nuser 1000 %lld 12.oak\ndisk 20\nlease 610 %lld\n", getpid(),
		 live_boot(), (long long)(now + 1000000000) * 1000000, (long long)now * 1000000);
	assert_int_equal(at, strlen(text));
	assert_file(path, text, 0600);
	assert_int_equal(live_pid(p->fd, "12.1"), getpid());
	assert_int_equal(live_disk(p->fd, "12.1"), 20);
	assert_int_equal(live_session(p->fd, "12.1"), 0);
	assert_true(live_job(p->fd, "12.1", job, 7));
	assert_string_equal(job, "12.oak");
	assert_false(live_job(p->fd, "12.1", job, 6));
	assert_true(live_lease_end(p->fd, "12.1", INT64_MIN) == (now + 610) * 1000000);
	assert_true(live_lease_end(p->fd, "12.1", 5000000) == INT64_C(615000000));
	assert_int_equal(live_session_say(fd, &at, 77), 0);
	assert_int_equal(live_session(p->fd, "12.1"), 77);
	assert_int_equal(live_add(fd, &at, "ready\n", 6), 0);
	assert_int_equal(live_look(p->dir, "12.1", a, &r, &pid), LIVE_RUNNING);
	assert_true(pid == getpid() && r.session == 77 && r.ready && strcmp(r.tag, "12.1") == 0);
	fd = (close(live_shepherd(p->fd, "12.1")), fd);
	assert_int_equal(live_add(fd, &at, "session 78 another\n", 19), 0);
	assert_int_equal(live_session(p->fd, "12.1"), 0);
	assert_int_equal(live_add(fd, &at, "gone\n", 5), 0);
	assert_true(live_lease_end(p->fd, "12.1", 5000000) == INT64_MAX);
	assert_false(live_removed(fd));
	close(fd); /* its shepherd is killed */
	assert_int_equal(live_shepherd(p->fd, "12.1"), -ESRCH);
	assert_int_equal(live_shepherd(p->fd, "13.1"), -ENOENT);
	assert_int_equal(live_look(p->dir, "12.1", a, &r, &pid), LIVE_LOST);
	assert_int_equal(live_look(p->dir, "13.1", a, &r, &pid), LIVE_NONE);
	assert_int_equal(live_look("/nonexistent/x", "13.1", a, &r, &pid), LIVE_NONE);
	write_file(p, "14.1", "");
	assert_int_equal(live_look(p->dir, "14.1", a, &r, &pid), LIVE_NEVER);
	/* a result counts; the file is kept for another attempt, one without a result is not */
	write_file(p, "15.1", "pid 9 x\n{\"tag\":\"15.1\",\"how\":\"exited\",\"status\":3}\n");
	assert_int_equal(live_look(p->dir, "15.1", a, &r, &pid), LIVE_ENDED);
	assert_true(r.status == 3 && r.how == RESULT_EXITED);
	live_remove(p->dir, "15.1");
	live_remove(p->dir, "12.1");
	snprintf(path, sizeof path, "%s/.free.0", p->dir);
	assert_int_equal(access(path, F_OK), 0);
	fd = live_create(p->fd, "16.1", &own, &err);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(live_look(p->dir, "16.1", a, &r, &pid), LIVE_RUNNING);
	live_remove(p->dir, "16.1");
	assert_true(live_removed(fd));
	close(fd);
	arena_destroy(a);
}

static void test_environment(void **state)
{
	static char *env[] = {"A=1",
			      "SHUNT_TAG=x",
			      "PBS_NODEFILE=x",
			      "PBS_GPUFILE=x",
			      "TMPDIR=x",
			      "TMPDIRS=x",
			      "CUDA_VISIBLE_DEVICES=x",
			      "ROCR_VISIBLE_DEVICES=x",
			      "TMPDIR",
			      "SHUNT_RESTART=x",
			      "SHUNT_CHECKPOINT_DIR=x",
			      "GPU_DEVICE_ORDINAL=x",
			      "SHUNT_TA=x",
			      NULL};
	const struct {
		struct order o;
		const char *expected;
	} cases[] = {
		{{.tag = "1.1"},
		 "A=1 PBS_NODEFILE=x TMPDIR=x TMPDIRS=x CUDA_VISIBLE_DEVICES=x ROCR_VISIBLE_DEVICES=x TMPDIR "
		 "GPU_DEVICE_ORDINAL=x SHUNT_TA=x SHUNT_TAG=1.1@oak "},
		{{.tag = "1.1", .nodefile_path = "/n/f", .tmpdir = "/t", .gpu.hide_gpus = true},
		 "A=1 TMPDIRS=x TMPDIR SHUNT_TA=x SHUNT_TAG=1.1@oak PBS_NODEFILE=/n/f TMPDIR=/t CUDA_VISIBLE_DEVICES= "
		 "ROCR_VISIBLE_DEVICES= GPU_DEVICE_ORDINAL= "},
		{{.tag = "1.1",
		  .nodefile_path = "/n/f",
		  .gpu = {.gpus = (int[]){0, 2}, .ngpus = 2, .gpufile = "oak-gpu0\n"}},
		 "A=1 TMPDIR=x TMPDIRS=x TMPDIR SHUNT_TA=x SHUNT_TAG=1.1@oak PBS_NODEFILE=/n/f PBS_GPUFILE=/n/fgpu "
		 "CUDA_VISIBLE_DEVICES=0,2 ROCR_VISIBLE_DEVICES=0,2 GPU_DEVICE_ORDINAL=0,2 "},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *a = arena_create();
		struct strbuf all = {0};
		struct order o = cases[i].o;
		o.env = env;
		for (char **e = room_environment(&o, "oak", a); *e; e++)
			strbuf_printf(&all, "%s ", *e);
		assert_string_equal(all.text, cases[i].expected);
		strbuf_fini(&all);
		arena_destroy(a);
	}
}

static void test_node_file(void **state)
{
	static const struct identity server = {0}, who = {.server = &server};
	const struct place *p = *state;
	char path[100], gpu[104], own[100], kept[100];
	struct order o = {.tag = "1.1", .nodefile = "n1\nn2\n", .nodefile_path = path, .gpu.gpufile = "n1-gpu0\n"};
	struct order other = {.tag = "2.1", .nodefile = "n1\nn2\n", .nodefile_path = own};
	struct rlimit limit, most;
	struct stat st;
	struct err err;

	/* in a shared directory, which is made: a link to a text that others share */
	umask(022);
	snprintf(path, sizeof path, "%s/shared/1.oak", p->dir);
	snprintf(gpu, sizeof gpu, "%sgpu", path);
	assert_int_equal(room_make(&o, &who, &err), 0);
	assert_file(path, "n1\nn2\n", 0644);
	assert_file(gpu, "n1-gpu0\n", 0644);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_nlink, 2);
	o.nodefile = "n9\n"; /* another attempt: what others have of the first text stays */
	assert_int_equal(room_make(&o, &who, &err), 0);
	assert_file(path, "n9\n", 0644);
	o.nodefile = "n1\nn2\n";
	assert_int_equal(room_make(&o, &who, &err), 0);
	assert_file(path, "n1\nn2\n", 0644);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_nlink, 2);
	/* in a directory of the attempt's own, which is kept for the next one */
	snprintf(own, sizeof own, "%s/shared/2.1/2.oak", p->dir);
	assert_int_equal(room_make(&other, &who, &err), 0);
	assert_file(own, "n1\nn2\n", 0644);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_nlink, 3);
	room_clear(&other, &who, true);
	assert_int_equal(access(own, F_OK), -1);
	snprintf(kept, sizeof kept, "%s/shared/" ROOM_KEPT "%d", p->dir, getpid());
	assert_int_equal(access(kept, F_OK), 0);
	assert_int_equal(room_make(&other, &who, &err), 0);
	assert_int_equal(access(kept, F_OK), -1);
	room_clear(&other, &who, false);
	assert_int_equal(access(kept, F_OK), -1);
	*strrchr(own, '/') = '\0';
	assert_int_equal(access(own, F_OK), -1);
	*(own + strlen(own)) = '/';
	room_clear(&o, &who, false);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(gpu, F_OK), -1);
	/* one that can't be written is not left behind */
	o.nodefile = "other\n";
	getrlimit(RLIMIT_FSIZE, &limit);
	most = (struct rlimit){3, limit.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &most);
	int rc = room_make(&o, &who, &err);
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(err.text, "/shared/1.oak can't be written: No space left on device"));
	assert_int_equal(access(path, F_OK), -1);
	snprintf(kept, sizeof kept, "%s/shared/.new.1.1", p->dir);
	assert_int_equal(access(kept, F_OK), -1);
	room_leave(&server);
}

static void test_tmpdir(void **state)
{
	const struct identity own = {0}, who = {.uid = getuid(), .server = &own},
			      other = {.uid = getuid() + 1, .server = &own};
	const struct place *p = *state;
	char path[100], name[128], why[200];
	struct order o = {.user = "ana", .tmpdir = path};
	struct stat st;
	struct err err;

	snprintf(path, sizeof path, "%s/tmp", p->dir);
	assert_int_equal(tmpdir_make(&o, &who, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(tmpdir_make(&o, &who, &err), 0); /* it is the user's own */
	assert_int_equal(tmpdir_make(&o, &other, &err), -EPERM);
	snprintf(why, sizeof why, "the directory for temporary files %s can't be made for user ana: %s", path,
		 strerror(EPERM));
	assert_string_equal(err.text, why);
	/* what it holds is removed, also where permissions are missing; what a link leads to is not */
	write_file(p, "kept", "");
	for (int i = 0; i < 3; i++) {
		strcpy(name, path);
		for (int depth = 0; depth <= i; depth++)
			sprintf(name + strlen(name), "/d%d", i);
		for (char *slash = name + strlen(path); (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
			*slash = '\0';
			mkdir(name, 0700);
		}
		assert_int_equal(mkdir(name, i == 2 ? 0 : 0700), 0);
	}
	snprintf(name, sizeof name, "%s/link", path);
	assert_int_equal(symlink("../kept", name), 0);
	tmpdir_clear(AT_FDCWD, path, &other);
	assert_int_equal(access(name, F_OK), 0);
	tmpdir_clear(AT_FDCWD, path, &who);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(name, sizeof name, "%s/kept", p->dir);
	tmpdir_clear(AT_FDCWD, name, &who); /* not a directory */
	assert_int_equal(access(name, F_OK), 0);
}

static void assert_listing(const struct place *p, const char *text)
{
	char got[400] = "";
	int dir = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = listing_make(dir);

	assert_true(fd >= 0);
	close(dir);
	assert_true(pread(fd, got, sizeof got - 1, 0) > 0);
	assert_string_equal(got, text);
	close(fd);
}

static void test_listing(void **state)
{
	static const struct timespec then[] = {{.tv_sec = 77}, {.tv_sec = 77}};
	const struct place *p = *state;
	char path[100];

	assert_listing(p, "{\"entries\":[],\"more\":false}");
	write_file(p, "\xff", "not text");
	assert_listing(p, "{\"entries\":[],\"more\":false}");
	write_file(p, "a", "abc");
	assert_int_equal(utimensat(p->fd, "a", then, 0), 0);
	assert_listing(p,
		       "{\"entries\":[{\"name\":\"a\",\"kind\":\"file\",\"size\":3,\"modified\":77}],\"more\":false}");
	unlinkat(p->fd, "a", 0);
	snprintf(path, sizeof path, "%s/b", p->dir);
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(utimensat(p->fd, "b", then, AT_SYMLINK_NOFOLLOW), 0);
	assert_listing(p,
		       "{\"entries\":[{\"name\":\"b\",\"kind\":\"link\",\"size\":7,\"modified\":77}],\"more\":false}");
	unlinkat(p->fd, "b", 0);
	assert_int_equal(mkfifoat(p->fd, "c", 0600), 0);
	assert_int_equal(utimensat(p->fd, "c", then, 0), 0);
	assert_listing(p,
		       "{\"entries\":[{\"name\":\"c\",\"kind\":\"other\",\"size\":0,\"modified\":77}],\"more\":false}");
	assert_int_equal(listing_make(-1), -EBADF);
	/* exactly the most that is listed, and one more */
	for (int i = 1; i <= LISTING_MOST; i++) {
		struct strbuf all = {0};
		snprintf(path, sizeof path, "%d", i);
		close(openat(p->fd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		if (i < LISTING_MOST - 1)
			continue;
		int dir = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = listing_make(dir);
		lseek(fd, 0, SEEK_SET);
		assert_int_equal(fd_read(fd, 4 << 20, &all), 0);
		assert_string_equal(strstr(all.text, "],\"more\""),
				    i == LISTING_MOST ? "],\"more\":true}" : "],\"more\":false}");
		strbuf_fini(&all);
		close(fd);
		close(dir);
	}
}

static void test_gpus(void **state)
{
	static const char *const dirs[] = {"dev",
					   "proc",
					   "proc/driver",
					   "proc/driver/nvidia",
					   "proc/driver/nvidia/gpus",
					   "proc/driver/nvidia/gpus/x",
					   "proc/driver/nvidia/gpus/y",
					   "sys",
					   "sys/class",
					   "sys/class/drm",
					   "sys/class/drm/renderD128",
					   "sys/class/drm/renderD128/device",
					   "sys/class/drm/renderD129",
					   "sys/class/drm/renderD129/device",
					   "sys/class/drm/renderD130",
					   "sys/class/drm/renderD130/device"};
	static const char *const names[] = {"Model X", "NVIDIA GPU", "AMD GPU", "Instinct"};
	const struct place *p = *state;
	name_list gpus = {0};

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		assert_int_equal(mkdirat(p->fd, dirs[i], 0700), 0);
	write_file(p, "dev/nvidia2", "");
	write_file(p, "dev/nvidia10", "");
	write_file(p, "dev/nvidiactl", "");
	write_file(p, "dev/nvidia3x", "");
	write_file(p, "dev/nvidia256", "");
	write_file(p, "proc/driver/nvidia/gpus/x/information", "Model: \t Other\nDevice Minor: \t 20\n");
	write_file(p, "proc/driver/nvidia/gpus/y/information", "Model: \t Model X\nDevice Minor: \t 2\n");
	assert_int_equal(symlinkat("../../amdgpu", p->fd, "sys/class/drm/renderD128/device/driver"), 0);
	assert_int_equal(symlinkat("../../i915", p->fd, "sys/class/drm/renderD129/device/driver"), 0);
	assert_int_equal(symlinkat("../../amdgpu", p->fd, "sys/class/drm/renderD130/device/driver"), 0);
	write_file(p, "sys/class/drm/renderD130/device/product_name", "Instinct\n");
	setenv("SHUNT_GPU_ROOT", p->dir, 1);
	unsetenv("SHUNT_FAKE_GPUS");
	capacity_gpus(&gpus);
	assert_int_equal(gpus.n, 4);
	for (size_t i = 0; i < gpus.n; i++)
		assert_string_equal(gpus.v[i], names[i]);
	name_list_free(&gpus);
	setenv("SHUNT_FAKE_GPUS", "2", 1);
	capacity_gpus(&gpus);
	assert_int_equal(gpus.n, 2);
	assert_string_equal(gpus.v[1], "fake GPU");
	name_list_free(&gpus);
	unsetenv("SHUNT_FAKE_GPUS");
	unsetenv("SHUNT_GPU_ROOT");
}

static void test_save_word(void **state)
{
	enum checkpoint_cause cause;
	int64_t seconds;

	for (int i = 0; i < SAVE_CAUSES; i++) {
		assert_true(save_word_read(save_word(i, i * 100), &cause, &seconds));
		assert_true((int)cause == i && seconds == i * 100);
		assert_int_equal(cause_is_final(i), i >= SAVE_PREEMPTED);
	}
	assert_true(save_word_read(save_word(SAVE_MOVE, -1), &cause, &seconds) && seconds == 0);
	assert_true(save_word_read(save_word(SAVE_MOVE, 1 << 24), &cause, &seconds) && seconds == (1 << 24) - 1);
	assert_false(save_word_read(save_word(SAVE_CAUSES, 1), &cause, &seconds));
	assert_false(save_word_read(-90, &cause, &seconds));
	assert_false(save_word_read(15, &cause, &seconds));
	assert_false(saves_any(&(struct saves){.good = 1}));
	assert_true(saves_any(&(struct saves){.restarted = 1}));
	assert_true(saves_any(&(struct saves){.state = SAVE_BEGUN}));
}

static void test_spare(void **state)
{
	const struct place *p = *state;
	struct spare_room room;
	struct stat st;
	char path[100];

	assert_int_equal(spare_look(-1, &room), -EBADF);
	assert_true(spare_most(-1, 5) == INT64_MAX);
	assert_int_equal(spare_look(p->fd, &room), 0);
	assert_true(room.keep_bytes == (room.size / 10 < SPARE_KEPT_FREE ? room.size / 10 : SPARE_KEPT_FREE));
	assert_true(spare_most(p->fd, INT64_C(1) << 50) > INT64_C(1) << 49);
	assert_true(spare_most(p->fd, -(INT64_C(1) << 60)) == SPARE_ALWAYS);
	write_file(p, "a", "a");
	write_file(p, "b", "b");
	snprintf(path, sizeof path, "%s/c", p->dir);
	assert_int_equal(symlink("a", path), 0);
	snprintf(path, sizeof path, "%s/a", p->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(spare_used(p->fd, getuid(), 0) == 2 * st.st_blocks * 512);
	assert_true(spare_used(p->fd, getuid(), st.st_ino) == st.st_blocks * 512);
	assert_true(spare_used(p->fd, getuid() + 1, 0) == 0);
	assert_true(spare_used(-1, getuid(), 0) == 0);
}

/* ---- processes ---- */

static void on_nothing(int signal)
{
}

/* Starts a process that has a handler, waits for the signal, or does neither. */
static pid_t process_start(bool handles, bool blocks)
{
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		if (handles)
			signal(SIGUSR1, on_nothing);
		sigprocmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
		if (write(ready[1], "!", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &(char){0}, 1), 1);
	close(ready[0]);
	return pid;
}

static void test_tree(void **state)
{
	pid_t pids[] = {process_start(true, false), process_start(false, true), process_start(false, false)};
	pid_list all = {0};

	tree_list(getpid(), &all);
	assert_int_equal(all.n, 3);
	for (int i = 0; i < 3; i++)
		assert_true(pid_list_has(&all, pids[i]));
	assert_false(pid_list_has(&all, getpid()));
	assert_int_equal(tree_signal_heard(getpid(), 0, SIGUSR1), 2);
	assert_int_equal(tree_signal_heard(getpid(), pids[0], SIGUSR1), 1);
	assert_int_equal(process_signal_heard(pids[2], SIGUSR1), 0);
	assert_int_equal(tree_signal_heard(getpid(), 0, SIGUSR2), 0);
	assert_true(tree_group(getpid(), getpgrp()));
	assert_false(tree_group(getpid(), pids[0]));
	tree_kill(getpid());
	for (int status, i = 0; i < 3; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	vec_free(&all);
}

static void test_handover(void **state)
{
	gid_t groups[] = {7, 8};
	struct handover
		sent = {.tag = "1.1",
			.user = "ana",
			.who = {.uid = 5, .gid = 6, .groups = groups, .ngroups = 2, .change = true, .home = "/h"},
			.text = "{}",
			.n = 2,
			.live = -1},
		got;
	int pair[2], number = 0;
	char text[8];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(handover_receive(pair[1], "1.1", &got, &number), HANDOVER_NONE);
	assert_int_equal(handover_order(pair[0], &sent), 0);
	assert_int_equal(handover_signal(pair[0], "2.1", 9), 0);
	assert_int_equal(handover_signal(pair[0], "1.1", 10), 0);
	assert_int_equal(handover_receive(pair[1], "1.1", &got, &number), HANDOVER_ORDER);
	assert_true(got.who.uid == 5 && got.who.gid == 6 && got.who.change && got.who.ngroups == 2);
	assert_memory_equal(got.who.groups, groups, sizeof groups);
	assert_string_equal(got.who.home, "/h");
	assert_null(got.who.shell);
	assert_string_equal(got.tag, "1.1");
	assert_string_equal(got.user, "ana");
	assert_true(got.n == 2 && memcmp(got.text, "{}", 2) == 0 && got.live == -1);
	assert_int_equal(handover_receive(pair[1], "1.1", &got, &number), HANDOVER_SIGNAL);
	assert_int_equal(number, 10);
	/* with a live file; between two attempts signals are for none */
	sent.live = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sent.who = (struct identity){0};
	assert_int_equal(handover_signal(pair[0], "1.1", 10), 0);
	assert_int_equal(handover_order(pair[0], &sent), 0);
	close(sent.live);
	assert_true(handover_wait(pair[1], &got));
	assert_true(got.live >= 0 && !got.who.change && got.who.ngroups == 0);
	close(got.live);
	sent.live = -1;
	sent.text = memset(malloc(HANDOVER_MAX), 'x', HANDOVER_MAX);
	sent.n = HANDOVER_MAX;
	assert_int_equal(handover_order(pair[0], &sent), -EMSGSIZE);
	free((char *)sent.text);
	/* reports */
	struct handover_head head = {.slot = 3, .pid = 4, .report = REPORT_WAITS};
	assert_int_equal(handover_report_read(pair[0], &head, text, sizeof text), -EAGAIN);
	assert_int_equal(handover_report(pair[1], &head, "result", 6), 0);
	assert_int_equal(handover_report(pair[1], &head, "", 0), 0);
	head = (struct handover_head){0};
	assert_int_equal(handover_report_read(pair[0], &head, text, sizeof text), 6);
	assert_true(head.slot == 3 && head.pid == 4 && head.report == REPORT_WAITS && strcmp(text, "result") == 0);
	assert_int_equal(handover_report_read(pair[0], &head, text, sizeof text), 0);
	close(pair[0]);
	assert_false(handover_wait(pair[1], &got));
	assert_int_equal(handover_receive(pair[1], "1.1", &got, &number), HANDOVER_CLOSED);
	assert_int_equal(handover_report(pair[1], &head, "", 0), -EPIPE);
	close(pair[1]);
}

static void test_site(void **state)
{
	const struct place *p = *state;
	char path[100], out[100], text[200];
	struct order o = {
		.id = "1.oak", .user = "ana", .gid = 4000000001, .site = {.prologue = path, .epilogue = path}};
	struct order full = o;
	struct result r = {.how = RESULT_SIGNALED,
			   .status = 9,
			   .session = 77,
			   .cpu_ms = 61999,
			   .memory_kib = 5,
			   .ran_ms = 3600000};
	struct err err;

	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	base.euid = getuid();
	snprintf(path, sizeof path, "%s/program", p->dir);
	snprintf(out, sizeof out, "%s/out", p->dir);
	assert_int_equal(site_prologue(&o, -1, -1, &err), -EIO);
	snprintf(text, sizeof text, "the prologue %s can't be run: No such file or directory", path);
	assert_string_equal(err.text, text);
	snprintf(text, sizeof text, "#!/bin/sh\nfor x; do printf '[%%s]' \"$x\"; done >>%s\nexit 3\n", out);
	assert_int_equal(file_replace(path, 0755, text, strlen(text), 0), 0);
	assert_int_equal(site_prologue(&o, -1, -1, &err), -EIO);
	snprintf(text, sizeof text, "the prologue %s left with exit code 3", path);
	assert_string_equal(err.text, text);
	full.site.name = "name";
	full.site.queue = "batch";
	full.site.resources = "nodes=1";
	full.site.account = "acc";
	assert_int_equal(site_epilogue(&full, &r, -1, -1, &err), -EIO);
	r.how = RESULT_EXITED;
	assert_int_equal(site_epilogue(&o, &r, -1, -1, &err), -EIO);
	assert_file(
		out,
		"[1.oak][ana][4000000001][][][][]"
		"[1.oak][ana][4000000001][name][77][nodes=1][cput=00:01:01,mem=5kb,walltime=01:00:00][batch][acc][265]"
		"[1.oak][ana][4000000001][][77][][cput=00:01:01,mem=5kb,walltime=01:00:00][][][9]",
		0644);
	assert_int_equal(file_replace(path, 0755, "#!/bin/sh\nkill -9 $$\n", 21, 0), 0);
	assert_int_equal(site_prologue(&o, -1, -1, &err), -EIO);
	snprintf(text, sizeof text, "the prologue %s was ended by signal 9", path);
	assert_string_equal(err.text, text);
	base.euid = 0; /* only root's programs, which only root can write */
	chmod(path, 0775);
	assert_int_equal(site_prologue(&o, -1, -1, &err), -EIO);
	snprintf(text, sizeof text, "the prologue %s is not run: it must be root's, and not writable by others", path);
	assert_string_equal(err.text, text);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_user),
					   cmocka_unit_test(test_user_unknown),
					   cmocka_unit_test(test_user_groups),
					   cmocka_unit_test(test_user_age),
					   TEST(test_lease),
					   TEST(test_live),
					   cmocka_unit_test(test_environment),
					   TEST(test_node_file),
					   TEST(test_tmpdir),
					   TEST(test_listing),
					   TEST(test_gpus),
					   cmocka_unit_test(test_save_word),
					   TEST(test_spare),
					   cmocka_unit_test(test_tree),
					   cmocka_unit_test(test_handover),
					   TEST(test_site)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("run_parts", tests, NULL, NULL);
}
