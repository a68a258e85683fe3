/*
 * test_launches.c - a job's first process and a task's, from fork to exec (run/launch.c,
 * run/script.c), with system calls that the test plays: what becomes of the streams, limits, CPUs,
 * directory and environment, which program is run how, and what a job reads when something fails;
 * and a job's scribes (run/scribe.c), in directories of the test: which steps they take in which
 * order, what is there afterwards, also when one of the steps fails. Compared with launches.txt
 * (played.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "golden/played.h"
#include "run/criu.h"
#include "run/hold.h"
#include "run/identity.h"
#include "run/launch.h"
#include "run/scribe.h"
#include "run/script.h"
#include "run/task.h"

#define RECORDED SHUNT_ROOT "/tests/golden/launches.txt"

enum { WORDS = 4, FAILS = 4, TTY = 60, OUT = 61, ERR = 62, LIVE = 63, PAUSES_MOST = 20 };

static char dir[64], trouble[TROUBLE_SIZE];
static jmp_buf over; /* the process has ended */
static struct {
	char call[32];
	int error;
} fail[FAILS];
static int nfails;
static bool inside;	/* the process */
static bool orphan;	/* the shepherd has ended already */
static pid_t shepherd;	/* process that has started a scribe; 0: no scribe is played */
static bool writes;	/* this process is a scribe, or what it has started */
static int pauses_left; /* pauses until the program has written its checkpoint */
static int saver_status;

/* What the process leaves allocated, its program replaces. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:launch_job\nleak:launch_task\nleak:script_exec\n";
}

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

static int fails(const char *call)
{
	for (int i = 0; i < nfails; i++)
		if (strcmp(fail[i].call, call) == 0) {
			errno = fail[i].error;
			fail[i] = fail[--nfails];
			return errno;
		}
	return 0;
}

/* ---- system calls ---- */

static void exec_say(const char *call, const char *path, char *const argv[], char *const env[])
{
	char at[300];

	say("%s %s in %s", call, path, getcwd(at, sizeof at));
	for (int i = 0; argv[i]; i++)
		say("  argument %s", argv[i]);
	for (int i = 0; env && env[i]; i++)
		say("  environment %s", env[i]);
}

_Noreturn void __real__exit(int status);

static bool blocks_signals(void)
{
	sigset_t blocked;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	return sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1);
}

/* Ends as the program that saves the job. */
static _Noreturn void saver_be(void)
{
	say("  it %s signals, has the mask %o, and holds %s live file", blocks_signals() ? "blocks" : "gets", umask(0),
	    fcntl(LIVE, F_GETFD) < 0 ? "no" : "the");
	if (saver_status > 0)
		__real__exit(saver_status);
	raise(-saver_status);
	__real__exit(0);
}

int __wrap_execve(const char *path, char *const argv[], char *const env[]);
int __wrap_execve(const char *path, char *const argv[], char *const env[])
{
	exec_say("execve", path, argv, env);
	if (fails("exec"))
		return -1;
	if (writes)
		saver_be();
	longjmp(over, 1);
}

int __wrap_execvp(const char *path, char *const argv[]);
int __wrap_execvp(const char *path, char *const argv[])
{
	exec_say("execvp", path, argv, environ);
	if (fails("exec"))
		return -1;
	longjmp(over, 1);
}

_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap__exit(int status)
{
	say("exit %d%s", status, writes && !blocks_signals() ? ", open to signals" : "");
	if (writes)
		__real__exit(status);
	longjmp(over, 1);
}

pid_t __wrap_setsid(void);
pid_t __wrap_setsid(void)
{
	say("a session of its own");
	return 1;
}

pid_t __wrap_getppid(void);
pid_t __wrap_getppid(void)
{
	return orphan ? 1 : shepherd ? shepherd : 77;
}

int __real_dup2(int from, int to);
int __wrap_dup2(int from, int to);
int __wrap_dup2(int from, int to)
{
	if (!inside)
		return __real_dup2(from, to);
	say("descriptor %d is the %s", to,
	    from == TTY	  ? "terminal"
	    : from == OUT ? "output"
	    : from == ERR ? "error output"
			  : "task's");
	return to;
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	va_start(args, request);
	const struct winsize *w = va_arg(args, const struct winsize *);
	va_end(args);
	if (request == TIOCSWINSZ)
		say("window of %d: %d x %d", fd, w->ws_row, w->ws_col);
	else
		say("%d controls the session", fd);
	return 0;
}

int __wrap_isatty(int fd);
int __wrap_isatty(int fd)
{
	return 1;
}

int __wrap_rights_give(const struct identity *who, int fd, mode_t mode);
int __wrap_rights_give(const struct identity *who, int fd, mode_t mode)
{
	say("the user gets %d, mode %o", fd, mode);
	return -fails("give");
}

int __wrap_setrlimit64(int which, const struct rlimit *limit);
int __wrap_setrlimit64(int which, const struct rlimit *limit)
{
	say("limit %s: %lld, %lld", which == RLIMIT_NOFILE ? "of files" : "of something", (long long)limit->rlim_cur,
	    (long long)limit->rlim_max);
	return fails("limit") ? -1 : 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	char text[200] = "";
	int n = 0;

	for (size_t cpu = 0; cpu < size * 8; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			n += snprintf(text + n, sizeof text - (size_t)n, " %zu", cpu);
	say("CPUs%s", text);
	return fails("cpus") ? -1 : 0;
}

bool __wrap_background_enter(void);
bool __wrap_background_enter(void)
{
	say("in the background");
	return !fails("background");
}

int __wrap_identity_become(const struct identity *who);
int __wrap_identity_become(const struct identity *who)
{
	say("becomes the user");
	return -fails("become");
}

int __wrap_prctl(int what, unsigned long value, ...);
int __wrap_prctl(int what, unsigned long value, ...)
{
	say("gets signal %lu when its shepherd ends", value);
	return 0;
}

char **__wrap_criu_init(const struct identity *who, const char *tag);
char **__wrap_criu_init(const struct identity *who, const char *tag)
{
	static char *init[] = {"/libexec/shunt-init", "7.1", NULL};

	return fails("init") ? NULL : init;
}

void __wrap_rights_begin(const struct identity *who);
void __wrap_rights_begin(const struct identity *who)
{
	say("with the user's rights");
}

/* ---- scribes ---- */

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	if (fails(writes ? "saver" : "fork"))
		return -1;
	pid_t pid = __real_fork();
	writes = writes || pid == 0;
	return pid;
}

/* Returns true for names that the program in the job reads, or whose order counts. */
static bool is_mark(const char *name)
{
	return strcmp(name, "new") == 0 || strcmp(name, "notice") == 0 || strcmp(name, "last") == 0;
}

int __real_unlinkat(int at, const char *name, int flags);
int __wrap_unlinkat(int at, const char *name, int flags);
int __wrap_unlinkat(int at, const char *name, int flags)
{
	int r = __real_unlinkat(at, name, flags);

	if (writes && r == 0 && is_mark(name))
		say("removes %s", name);
	return r;
}

int __real_renameat(int at, const char *from, int to_at, const char *to);
int __wrap_renameat(int at, const char *from, int to_at, const char *to);
int __wrap_renameat(int at, const char *from, int to_at, const char *to)
{
	char call[32];

	snprintf(call, sizeof call, "rename%s", to);
	if (writes && is_mark(to))
		say("renames %s to %s", from, to);
	return fails(call) ? -1 : __real_renameat(at, from, to_at, to);
}

int __real_symlinkat(const char *to, int at, const char *name);
int __wrap_symlinkat(const char *to, int at, const char *name);
int __wrap_symlinkat(const char *to, int at, const char *name)
{
	return fails("symlink") ? -1 : __real_symlinkat(to, at, name);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
	char call[64];

	snprintf(call, sizeof call, "mkdir%.40s", strrchr(path, '/') + 1);
	return writes && fails(call) ? -1 : __real_mkdir(path, mode);
}

int __real_mkdirat(int at, const char *name, mode_t mode);
int __wrap_mkdirat(int at, const char *name, mode_t mode);
int __wrap_mkdirat(int at, const char *name, mode_t mode)
{
	return fails("mkdirat") ? -1 : __real_mkdirat(at, name, mode);
}

ssize_t __real_readlinkat(int at, const char *name, char *ret, size_t size);
ssize_t __wrap_readlinkat(int at, const char *name, char *ret, size_t size);
ssize_t __wrap_readlinkat(int at, const char *name, char *ret, size_t size)
{
	return fails("readlink") ? -1 : __real_readlinkat(at, name, ret, size);
}

int __real_openat64(int at, const char *name, int flags, ...);
int __wrap_openat64(int at, const char *name, int flags, ...);
int __wrap_openat64(int at, const char *name, int flags, ...)
{
	char call[32];

	snprintf(call, sizeof call, "open%s", name);
	return fails(call) ? -1 : __real_openat64(at, name, flags, 0600);
}

ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n)
{
	int error = fails("write"); /* -1: half of it is written */

	return error > 0 ? -1 : __real_write(fd, data, error ? n / 2 : n);
}

int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
	say("syncs the file system");
	return fails("syncfs") ? -1 : 0;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	say("syncs the directory");
	return fails("fsync") ? -1 : 0;
}

int __wrap_criu_dump(pid_t first, const char *to, const struct stat output[2], char *why);
int __wrap_criu_dump(pid_t first, const char *to, const struct stat output[2], char *why)
{
	int error = fails("dump");

	say("CRIU saves %d and below in %s, output %lld and %lld", first, to, (long long)output[0].st_ino,
	    (long long)output[1].st_ino);
	if (error)
		snprintf(why, CRIU_WHY, "a socket is open");
	return -error;
}

static char *places_put(const char *line);

/* Time passes, in which the program may complete its checkpoint. */
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	static int pauses;

	say("waits %ld ms", t->tv_nsec / 1000000);
	if (++pauses == pauses_left)
		assert_int_equal(file_replace(places_put("HERE/saves/job/new/done"), 0600, "", 0, 0), 0);
	if (pauses == PAUSES_MOST)
		__wrap__exit(99);
	return 0;
}

/* Prints what is below a directory. */
static void tree_show(const char *name)
{
	char path[600], text[400];
	struct dirent **found;
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	int n = scandir(path, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		struct strbuf content = {0};
		snprintf(text, sizeof text, "%s/%s", name, found[i]->d_name);
		snprintf(path, sizeof path, "%s/%s", dir, text);
		char to[64] = "";
		bool own = strcmp(found[i]->d_name, ".") != 0 && strcmp(found[i]->d_name, "..") != 0;
		free(found[i]);
		if (!own || lstat(path, &st) < 0)
			continue;
		if (readlink(path, to, sizeof to - 1) >= 0) {
			say("  %s -> %s", text, to);
		} else if (S_ISREG(st.st_mode) && file_read(path, 0, 1000, &content) == 0) {
			for (size_t at = 0; at < content.n; at++)
				content.text[at] = content.text[at] == '\n' ? ';' : content.text[at];
			say("  %s, %o: %s", text, st.st_mode & 07777, strbuf_text(&content));
		} else {
			say("  %s, %s%o", text, S_ISDIR(st.st_mode) ? "directory, " : "", st.st_mode & 07777);
			tree_show(text);
		}
		strbuf_fini(&content);
	}
	if (n >= 0)
		free(found);
}

static void order_make(char *members, struct arena *a, struct order *ret);

static int64_t number_take(json_t *from, const char *name)
{
	int64_t number = json_integer_value(json_object_get(from, name));

	json_object_del(from, name);
	return number;
}

/* `members`: of the order, and of the task: "cause", "seconds", "until", "number", "session",
 * "done", "other" */
static void scribe(const char *name, char *members)
{
	static const char *const tasks[] = {"find", "prepare", "await", "look", "erase"};
	static char *env[] = {"A=1", NULL};
	static const struct stat output[2] = {{.st_ino = 11}, {.st_ino = 12}};
	struct arena *a = arena_create();
	struct identity who = {.uid = getuid(), .gid = getgid()};
	struct order o;
	int status;

	json_t *x = json_loads(places_put(members), 0, NULL);
	if (!x)
		die("no JSON", members);
	struct scribe_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct scribe_order s = {.o = &o,
				 .who = &who,
				 .dir = arena_printf(a, "%s/saves/job", dir),
				 .env = env,
				 .cause = (enum checkpoint_cause)number_take(x, "cause"),
				 .until = number_take(x, "until") * 1000000,
				 .seconds = number_take(x, "seconds"),
				 .number = number_take(x, "number"),
				 .session = (pid_t)number_take(x, "session"),
				 .done = number_take(x, "done"),
				 .other = arena_printf(a, "%s/saves/other", dir),
				 .output = output,
				 .page = page};
	for (int i = 0; i < 5; i++)
		if (strcmp(name, tasks[i]) == 0)
			s.task = (enum scribe_task)i;
	json_object_set_new(x, "saves_in", json_string(IMAGES "7"));
	json_object_set_new(x, "duration", json_integer(20));
	char *text = json_dumps(x, 0);
	order_make(text, a, &o);
	shepherd = getpid();
	int live = dup2(0, LIVE);
	errno = EIO; /* from an earlier call */
	pid_t pid = scribe_start(&s);
	shepherd = 0;
	close(live);
	if (pid < 0)
		say("it is not started: %d", pid);
	else if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		say("it ends by signal %d", WTERMSIG(status));
	say("page: number %lld%s, good %lld%s%s", (long long)page->number, page->other ? ", of the other" : "",
	    (long long)page->good, *page->why ? ": " : "", page->why);
	tree_show("saves");
	nfails = pauses_left = saver_status = 0;
	munmap(page, sizeof *page);
	free(text);
	json_decref(x);
	arena_destroy(a);
}

/* Makes a file, directory or link below the run's directory. */
static void entry_make(const char *kind, char *path, const char *content)
{
	const char *at = places_put(path);
	int rc = strcmp(kind, "file") == 0   ? file_replace(at, 0600, content, strlen(content), 0)
		 : strcmp(kind, "link") == 0 ? symlink(content, at)
					     : mkdir(at, 0700);

	if (rc)
		die("it can't be made", path);
}

/* ---- commands ---- */

static char *places_put(const char *line)
{
	static char text[8192];
	size_t n = 0;

	for (; *line && n < sizeof text - 100; line++)
		if (strncmp(line, "HERE", 4) == 0) {
			n += (size_t)snprintf(text + n, 100, "%s", dir);
			line += 3;
		} else {
			text[n++] = *line;
		}
	text[n] = '\0';
	return text;
}

static void order_make(char *members, struct arena *a, struct order *ret)
{
	json_t *base = json_loads(places_put("{\"id\":\"7.host\",\"tag\":\"7.1\",\"uid\":1,\"gid\":1,\"user\":\"ann\","
					     "\"script\":\"HERE/script\",\"out\":\"/o\",\"home\":\"HERE/home\","
					     "\"workdir\":\"HERE/work\"}"),
				  0, NULL),
	       *more = json_loads(places_put(members), 0, NULL);
	struct err err;

	if (!more)
		die("no JSON", members);
	json_object_update(base, more);
	char *text = json_dumps(base, 0);
	if (order_read(text, strlen(text), a, ret, &err) < 0)
		die(err.text, members);
	free(text);
	json_decref(base);
	json_decref(more);
}

static void launch_end(void)
{
	char path[100], text[200];
	int fd;

	if (chdir("/") < 0)
		die("it is gone", "/");
	if (*trouble)
		say("trouble: %s", trouble);
	trouble[0] = '\0';
	snprintf(path, sizeof path, "%s/trouble", dir);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
		ssize_t n = read(fd, text, sizeof text);
		if (n > 0)
			say("trouble: %.*s", (int)n, text);
		close(fd);
		unlink(path);
	}
}

/* `manner`: "tty", "known" (the script's head was read by the shepherd) or "" */
static void job(const char *manner, char *members)
{
	static const struct cgroup none = {0};
	static char *env[] = {"A=1", "B=2", NULL};
	struct arena *a = arena_create();
	struct identity who = {.uid = getuid(), .gid = getgid()};
	struct script_head head = {.known = false};
	char path[100];
	off_t said = 0;
	struct order o;

	order_make(members, a, &o);
	if (strcmp(manner, "known") == 0) {
		snprintf(head.text, sizeof head.text, "#!/bin/known -x\n");
		head.n = strlen(head.text);
		head.known = true;
	}
	snprintf(path, sizeof path, "%s/live", dir);
	struct launch l = {.o = &o,
			   .who = &who,
			   .cgroup = &none,
			   .env = env,
			   .head = &head,
			   .out = OUT,
			   .err = ERR,
			   .tty = strcmp(manner, "tty") == 0 ? TTY : -1,
			   .parent = 77,
			   .trouble = trouble,
			   .live = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
			   .said_at = &said};
	inside = true;
	if (!setjmp(over))
		launch_job(&l);
	inside = false;
	say("its session is %s", said > 0 ? "noted" : "not noted");
	close(l.live);
	launch_end();
	arena_destroy(a);
}

/* "ROWS COLUMNS WORKDIR|- PROGRAM [NAME[=VALUE] ...]" */
static void task(char *line)
{
	static const struct cgroup none = {0};
	static char *env[] = {"A=1", "SHUNT_TAG=7.1@x", "AB=2", "LAST=3", NULL};
	struct arena *a = arena_create();
	struct identity who = {.uid = getuid(), .gid = getgid()};
	char *w[16] = {0}, path[100], order[] = "{\"files\":64,\"cpus\":[1]}";
	struct order o;

	order_make(order, a, &o);
	words_split(line, w, 16);
	char *argv[] = {w[3], "argument", NULL};
	struct task t = {.rows = atoi(w[0]), .columns = atoi(w[1]), .argv = argv, .env = w + 4};
	t.workdir = *w[2] == '-' ? NULL : arena_printf(a, "%s", places_put(w[2]));
	struct launch l = {.o = &o, .who = &who, .cgroup = &none, .env = env, .parent = 77, .trouble = trouble};
	snprintf(path, sizeof path, "%s/trouble", dir);
	int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), fds[] = {50, 51, 52};
	char **before = environ;
	inside = true;
	if (!setjmp(over))
		launch_task(&l, &t, fds, to);
	inside = false;
	if (environ != before)
		free(environ);
	environ = before;
	close(to);
	launch_end();
	arena_destroy(a);
}

static void command(char *line)
{
	char copy[4096], *w[WORDS] = {0}, path[200];

	snprintf(copy, sizeof copy, "%s", line);
	int most = strncmp(line, "job", 3) == 0 || strncmp(line, "task", 4) == 0 || strncmp(line, "script", 6) == 0 ? 2
														    : 3;
	for (int i = words_split(copy, w, most); i < WORDS; i++)
		w[i] = copy + strlen(line);
	if (strcmp(w[0], "script") == 0) { /* TEXT */
		size_t n = unescape(w[1]);
		for (size_t i = 0; i < n; i++)
			w[1][i] = w[1][i] == '~' ? '\r' : w[1][i] == '^' ? '\177' : w[1][i];
		snprintf(path, sizeof path, "%s/script", dir);
		assert_int_equal(file_replace(path, 0600, w[1], n, 0), 0);
	} else if (strcmp(w[0], "no") == 0) { /* FILE OR DIRECTORY */
		snprintf(path, sizeof path, "%s/%s", dir, w[1]);
		if (remove(path))
			die("it can't be removed", path);
	} else if (strcmp(w[0], "fail") == 0) { /* CALL ERROR */
		snprintf(fail[nfails].call, sizeof fail[0].call, "%s", w[1]);
		fail[nfails++].error = atoi(w[2]);
	} else if (strcmp(w[0], "orphan") == 0) { /* 0|1 */
		orphan = atoi(w[1]);
	} else if (strncmp(w[0], "job", 3) == 0) { /* job|job-tty|job-known {ORDER} */
		job(w[0][3] ? w[0] + 4 : "", w[1]);
	} else if (strcmp(w[0], "task") == 0) {
		task(w[1]);
	} else if (strcmp(w[0], "scribe") == 0) { /* TASK {MEMBERS} */
		scribe(w[1], w[2]);
	} else if (strcmp(w[0], "erase") == 0) { /* DIRECTORY */
		say("%d", scribe_erase(places_put(w[1])));
		tree_show("saves");
	} else if (strcmp(w[0], "pauses") == 0) { /* N: the program then completes its checkpoint */
		pauses_left = atoi(w[1]);
	} else if (strcmp(w[0], "saver") == 0) { /* STATUS, or below 0 a signal: how the saver ends */
		saver_status = atoi(w[1]);
	} else if (strcmp(w[0], "file") == 0 || strcmp(w[0], "dir") == 0 || strcmp(w[0], "link") == 0) {
		entry_make(w[0], w[1], w[2]); /* PATH [CONTENT] */
	} else {
		die("what is that?", line);
	}
}

static void run_begin(const char *base, int number)
{
	char path[100];

	nfails = pauses_left = saver_status = 0;
	orphan = false;
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
	for (const char *const *d = (const char *const[]){"home", "work", NULL}; *d; d++) {
		snprintf(path, sizeof path, "%s/%s", dir, *d);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

static void launches(void **state)
{
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(launches)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("launches", tests, NULL, NULL);
}
