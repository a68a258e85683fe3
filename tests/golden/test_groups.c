/*
 * test_groups.c - control groups (run/cgroup.c) and holding attempts (run/hold.c), with a directory
 * of files as the kernel's: what is made, written and removed in which order, and what is found,
 * compared with groups.txt (played.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/vec.h"
#include "golden/played.h"
#include "run/cgroup.h"
#include "run/hold.h"
#include "run/tree.h"

#define RECORDED SHUNT_ROOT "/tests/golden/groups.txt"

enum { WORDS = 8, FAILS = 8, PIDS = 8 };

static char dir[64], sys[80]; /* directory of the run; SYS, where the hierarchies are mounted */
static struct cgroup group;
static char delegated[200], lacks[100]; /* SYS-relative directories; files that new groups lack */
static int stubborn;			/* how often a group can't be removed yet */
static pid_t pids[PIDS];
static int npids;
static struct {
	char file[64];
	int error;
} fail[FAILS];
static int nfails;

/* Returns what follows SYS, or NULL. */
static const char *below(const char *path)
{
	size_t n = strlen(sys);

	return strncmp(path, sys, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static void file_make(const char *in, const char *name, const char *text)
{
	char path[400];

	snprintf(path, sizeof path, "%s/%s", in, name);
	if (!strstr(lacks, name) && file_replace(path, 0600, text, strlen(text), 0) < 0)
		die("it can't be made", path);
}

/* ---- the kernel ---- */

/* Makes the files of a new group; SYS/v2 is version 2, SYS/NAME the hierarchy of a controller. */
static void files_make(const char *in)
{
	static const char *const v2[] = {"cgroup.procs",
					 "cgroup.kill",
					 "cgroup.freeze",
					 "cgroup.subtree_control",
					 "memory.max",
					 "memory.swap.max",
					 "memory.high",
					 "memory.oom.group",
					 "memory.reclaim",
					 "cpu.max",
					 "cpu.weight",
					 "cpu.idle",
					 "io.weight",
					 "cpuset.cpus",
					 "memory.current",
					 "cgroup.events",
					 NULL},
				 *const v1[] = {"cgroup.procs",
						"tasks",
						"freezer.state",
						"memory.limit_in_bytes",
						"memory.memsw.limit_in_bytes",
						"cpuset.cpus",
						"cpuset.mems",
						"cpu.shares",
						"cpu.cfs_period_us",
						"cpu.cfs_quota_us",
						"cpu.idle",
						NULL};

	for (const char *const *f = strncmp(below(in), "v2", 2) == 0 ? v2 : v1; *f; f++)
		file_make(in, *f, "");
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
	int r = __real_mkdir(path, mode);

	if (!below(path))
		return r;
	say("mkdir %s%s", below(path), r < 0 ? errno == EEXIST ? ": it exists" : ": no" : "");
	if (r == 0)
		files_make(path);
	return r;
}

int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_rmdir(const char *path)
{
	char line[300];

	if (!below(path))
		return __real_rmdir(path);
	if (stubborn && stubborn--) {
		say("rmdir %s: busy", below(path));
		errno = EBUSY;
		return -1;
	}
	bool there = access(path, F_OK) == 0;
	say("rmdir %s%s", below(path), there ? "" : ": it is not there");
	snprintf(line, sizeof line, "rm -rf '%s'", path);
	errno = ENOENT;
	return there ? system(line) : -1;
}

ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n)
{
	char link[64], path[400];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof path - 1);
	path[length < 0 ? 0 : length] = '\0';
	if (!below(path) || fcntl(fd, F_GETFL) & O_EXCL || strstr(path, ".tmp") || played_quiet)
		return __real_write(fd, data, n);
	for (int i = 0; i < nfails; i++)
		if (strlen(path) >= strlen(fail[i].file) &&
		    strcmp(path + strlen(path) - strlen(fail[i].file), fail[i].file) == 0) {
			say("%s: %.*s: refused", below(path), (int)n, (const char *)data);
			errno = fail[i].error;
			fail[i] = fail[--nfails];
			return -1;
		}
	say("%s: %.*s", below(path), (int)n, (const char *)data);
	if (ftruncate(fd, 0) < 0)
		return -1;
	ssize_t r = __real_write(fd, data, n);
	char *name = strstr(path, "cgroup.freeze");
	if (name) {
		strcpy(name, "cgroup.events");
		const char *events = *(const char *)data == '1' ? "populated 1\nfrozen 1\n" : "populated 1\nfrozen 0\n";
		int to = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		if (to >= 0 && __real_write(to, events, strlen(events)) >= 0)
			close(to);
	}
	return r;
}

FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
	char own[32], other[200];
	int pid;

	snprintf(own, sizeof own, "/proc/%d/cgroup", getpid());
	if (strcmp(path, "/proc/self/mounts") == 0)
		snprintf(other, sizeof other, "%s/mounts", dir);
	else if (strcmp(path, own) == 0)
		snprintf(other, sizeof other, "%s/own", dir);
	else if (sscanf(path, "/proc/%d/cgroup", &pid) == 1)
		snprintf(other, sizeof other, "%s/of%d", dir, pid);
	else
		return __real_fopen64(path, mode);
	return __real_fopen64(other, mode);
}

ssize_t __wrap_getxattr(const char *path, const char *name, void *ret, size_t size);
ssize_t __wrap_getxattr(const char *path, const char *name, void *ret, size_t size)
{
	const char *at = below(path);
	size_t n = at ? strlen(at) : 0;
	bool user = strcmp(name, "user.delegate") == 0;

	/* "DIR=user" or "DIR=trusted" or "DIR=no" */
	for (const char *d = delegated; at && *d; d += strcspn(d, " "), d += *d == ' ')
		if (strncmp(d, at, n) == 0 && d[n] == '=' && (d[n + 1] == 'u') == user) {
			*(char *)ret = d[n + 1] == 'n' ? '0' : '1';
			return 1;
		}
	errno = ENODATA;
	return -1;
}

int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
	say("kill %d, %d", pid, number);
	return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	played->now_us += t->tv_sec * 1000000 + t->tv_nsec / 1000;
	return 0;
}

void __wrap_tree_list(pid_t root, pid_list *ret);
void __wrap_tree_list(pid_t root, pid_list *ret)
{
	vec_clear(ret);
	for (int i = 0; i < npids; i++)
		vec_push(ret, pids[i]);
}

/* ---- commands ---- */

static void text_put(const char *name, char *text)
{
	char path[400], whole[4096];
	size_t n = 0;

	for (; *text && n < sizeof whole - 100; text++)
		if (strncmp(text, "SYS", 3) == 0) {
			n += (size_t)snprintf(whole + n, 100, "%s", sys);
			text += 2;
		} else {
			whole[n++] = *text;
		}
	whole[n] = '\0';
	n = unescape(whole);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	played_quiet = true;
	if (file_replace(path, 0600, whole, n, 0) < 0)
		die("it can't be written", path);
	played_quiet = false;
}

static void create(char *text)
{
	struct arena *a = arena_create();
	struct strbuf whole = {0};
	struct order o;
	struct err err;

	json_t *base = json_loads("{\"id\":\"7.host\",\"tag\":\"7.1\",\"uid\":1,\"gid\":1,\"user\":\"ann\","
				  "\"script\":\"/s\",\"out\":\"/o\"}",
				  0, NULL),
	       *more = json_loads(text, 0, NULL);
	json_object_update(base, more);
	char *dumped = json_dumps(base, 0);
	if (order_read(dumped, strlen(dumped), a, &o, &err) < 0)
		die(err.text, text);
	mode_t old = umask(077);
	int r = cgroup_create(&group, &o, &err);
	umask(old);
	if (r < 0)
		say("error %d: %s", r, err.text);
	free(dumped);
	json_decref(base);
	json_decref(more);
	strbuf_fini(&whole);
	arena_destroy(a);
}

static void group_say(void)
{
	static const char *const kinds[] = {"none", "v1", "v2"};

	say("%s%s%s", kinds[group.kind], group.memory ? ", memory" : "", group.cpuset ? ", cpuset" : "");
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (group.dir[i])
			say("group %d: %s", i, below(group.dir[i]));
}

static void command(char *line)
{
	char copy[4096], *w[WORDS] = {0}, path[400];
	struct stat st;
	struct err err;

	snprintf(copy, sizeof copy, "%s", line);
	bool whole =
		strncmp(line, "create", 6) == 0 || strncmp(line, "delegated", 9) == 0 || strncmp(line, "lacks", 5) == 0;
	for (int i = words_split(copy, w, whole ? 2 : strncmp(line, "put", 3) == 0 ? 3 : WORDS); i < WORDS; i++)
		w[i] = copy + strlen(line);
	if (strcmp(w[0], "put") == 0) { /* FILE TEXT: mounts, own, ofPID, sys/... */
		text_put(w[1], w[2]);
	} else if (strcmp(w[0], "dir") == 0) { /* DIR: a group that is there already */
		snprintf(path, sizeof path, "%s/%s", sys, w[1]);
		if (__real_mkdir(path, 0755) < 0)
			die(strerror(errno), path);
		played_quiet = true;
		files_make(path);
		played_quiet = false;
	} else if (strcmp(w[0], "delegated") == 0) {
		snprintf(delegated, sizeof delegated, "%s", w[1]);
	} else if (strcmp(w[0], "lacks") == 0) { /* FILE ... */
		snprintf(lacks, sizeof lacks, "%s", w[1]);
	} else if (strcmp(w[0], "fail") == 0) { /* FILE ERROR: the next write */
		snprintf(fail[nfails].file, sizeof fail[0].file, "%s", w[1]);
		fail[nfails++].error = atoi(w[2]);
	} else if (strcmp(w[0], "stubborn") == 0) { /* TIMES */
		stubborn = atoi(w[1]);
	} else if (strcmp(w[0], "pids") == 0) { /* PID ... */
		for (npids = 0; *w[npids + 1]; npids++)
			pids[npids] = atoi(w[npids + 1]);
	} else if (strcmp(w[0], "init") == 0) { /* WISH INSTANCE */
		for (int i = 0; i < CGROUP_DIRS; i++)
			free(group.dir[i]);
		int r = cgroup_init(&group, *w[1] == '-' ? NULL : w[1], w[2], &err);
		if (r < 0)
			say("error %d: %s", r, err.text);
		group_say();
	} else if (strcmp(w[0], "fini") == 0) {
		cgroup_fini(&group);
		group_say();
	} else if (strcmp(w[0], "create") == 0) { /* {ORDER} */
		create(w[1]);
	} else if (strcmp(w[0], "mode") == 0) { /* DIR */
		snprintf(path, sizeof path, "%s/%s", sys, w[1]);
		if (stat(path, &st) == 0)
			say("mode %o", st.st_mode & 07777);
	} else if (strcmp(w[0], "share") == 0) { /* QUOTA WEIGHT */
		int r = cgroup_share(&group, "7.1", atoll(w[1]), atoll(w[2]));
		say("share: %s", r == 0 ? "set" : r == -ENOTSUP ? "not supported" : "?");
	} else if (strcmp(w[0], "open") == 0) {
		int fd = cgroup_open(&group, "7.1");
		say("open: %s", fd < 0 ? "no" : "yes");
		if (fd >= 0)
			close(fd);
	} else if (strcmp(w[0], "enter") == 0) {
		cgroup_enter(&group, "7.1");
	} else if (strcmp(w[0], "kill") == 0) {
		cgroup_kill(&group, "7.1");
	} else if (strcmp(w[0], "remove") == 0) {
		cgroup_remove(&group, "7.1");
	} else if (strcmp(w[0], "usage") == 0) {
		struct cgroup_usage u = cgroup_usage(&group, "7.1");
		say("usage: %lld ms, %lld KiB%s", (long long)u.cpu_ms, (long long)u.memory_kib,
		    u.out_of_memory ? ", out of memory" : "");
	} else if (strcmp(w[0], "of") == 0) { /* PID [CONTROLLER] */
		char *at = cgroup_of(atoi(w[1]), *w[2] ? w[2] : NULL);
		say("group of %s: %s", w[1], at ? below(at) ? below(at) : "SYS" : "none");
		free(at);
	} else if (strcmp(w[0], "stop") == 0) { /* TAG */
		say("stop: %s", hold_stop(1, w[1]) ? "all is still" : "not yet");
	} else if (strcmp(w[0], "continue") == 0) { /* TAG [stopped] */
		hold_continue(1, w[1], *w[2]);
	} else if (strcmp(w[0], "reclaim") == 0) { /* TAG */
		hold_reclaim(1, w[1]);
	} else if (strcmp(w[0], "memory") == 0) { /* TAG SPARE */
		hold_memory(1, w[1], atoll(w[2]));
	} else {
		die("what is that?", line);
	}
}

static void run_begin(const char *base, int number)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		free(group.dir[i]);
	group = (struct cgroup){0};
	delegated[0] = lacks[0] = '\0';
	stubborn = npids = nfails = 0;
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	snprintf(sys, sizeof sys, "%s/sys", dir);
	assert_int_equal(__real_mkdir(dir, 0700), 0);
	assert_int_equal(__real_mkdir(sys, 0700), 0);
}

static void groups(void **state)
{
	umask(022);
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(groups)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
