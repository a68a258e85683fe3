/*
 * test_shepherds.c - a shepherd (run/shepherd.c, watch.c, saving.c), with processes, scribes,
 * memory, control groups, signals and clocks that the test plays: what it does at which instant,
 * what it sends to the server, and its live file, compared with shepherds.txt (played.h).
 *
 * "$ attempt {ORDER}" runs it; whenever it waits, the next commands say what happens.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
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
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "golden/played.h"
#include "run/handover.h"
#include "run/live.h"
#include "run/scribe.h"
#include "run/shepherd.h"
#include "run/spare.h"
#include "run/task.h"
#include "run/tmpwatch.h"
#include "run/tree.h"

#define RECORDED SHUNT_ROOT "/tests/golden/shepherds.txt"

enum { WORDS = 8, CHILDREN = 16, SIGNALS = 16, JOB = 100, SCRIBE = 200 };

static char dir[64];
static jmp_buf over; /* the shepherd has ended */
static bool running;

static void command(char *line);

/* A shepherd frees little at its end. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:vasprintf\nleak:saving_open\n";
}

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

/* The disk of every machine: its reserve is a gigabyte. */
int __wrap_spare_look(int fd, struct spare_room *ret);
int __wrap_spare_look(int fd, struct spare_room *ret)
{
	*ret = (struct spare_room){INT64_C(1) << 40, INT64_C(1) << 39, SPARE_KEPT_FREE, 1000000, SPARE_KEPT_FILES};
	return 0;
}

/* ---- children ---- */

static struct {
	pid_t pid;
	int status;
	long kib;
	bool ended;
} child[CHILDREN];
static int nchildren;
static pid_t last_scribe;
static struct scribe_page *page;

static struct {
	int number, value;
	bool queued;
} pending[SIGNALS];
static int npending;

static void signal_put(int number, int value, bool queued)
{
	pending[npending].number = number;
	pending[npending].queued = queued;
	pending[npending++].value = value;
}

static void child_put(pid_t pid)
{
	child[nchildren].pid = pid;
	child[nchildren].ended = false;
	child[nchildren++].kib = 0;
}

static void child_end(pid_t pid, int status, long kib)
{
	for (int i = 0; i < nchildren; i++)
		if (child[i].pid == pid && !child[i].ended) {
			child[i].ended = true;
			child[i].status = status;
			child[i].kib = kib;
			signal_put(SIGCHLD, 0, false);
			return;
		}
	say("there is no process %d", pid);
}

pid_t __wrap_wait4(pid_t pid, int *ret, int options, struct rusage *used);
pid_t __wrap_wait4(pid_t pid, int *ret, int options, struct rusage *used)
{
	for (int i = 0; i < nchildren; i++) {
		if (!child[i].ended || (pid > 0 && child[i].pid != pid))
			continue;
		pid = child[i].pid;
		if (ret)
			*ret = child[i].status;
		if (used)
			*used = (struct rusage){.ru_maxrss = child[i].kib};
		memmove(child + i, child + i + 1, (size_t)(--nchildren - i) * sizeof *child);
		return pid;
	}
	errno = ECHILD;
	return nchildren && options & WNOHANG ? 0 : -1;
}

pid_t __wrap_waitpid(pid_t pid, int *ret, int options);
pid_t __wrap_waitpid(pid_t pid, int *ret, int options)
{
	return __wrap_wait4(pid, ret, options, NULL);
}

int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
	say("kills scribe %d with %d", pid - SCRIBE, number);
	child_end(pid, number, 0);
	return 0;
}

pid_t __wrap_vfork(void);
pid_t __wrap_vfork(void)
{
	say("starts the job");
	child_put(JOB);
	return JOB;
}

/* A job that has a namespace of its own is not forked by vfork(). */
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const struct clone_args *args = (const struct clone_args *)a;

	if (number != SYS_clone3)
		return __real_syscall(number, a, b, c, d, e, f);
	say("starts the job%s", args->flags == CLONE_NEWPID ? " with processes of its own" : "");
	child_put(JOB);
	return JOB;
}

static int job_memory, exact_memory, cpu_ms, heard, group_kib, share_fails;
static bool group_oom;
static int kills, group_kills; /* since the last command; only the first is said at once */

void __wrap_tree_signal(pid_t root, int number);
void __wrap_tree_signal(pid_t root, int number)
{
	say("signal %d to all", number);
}

int __wrap_tree_signal_heard(pid_t root, pid_t but, int number);
int __wrap_tree_signal_heard(pid_t root, pid_t but, int number)
{
	say("signal %d to those that have a handler%s: %d", number, but ? ", not to the scribe" : "", heard);
	return heard;
}

void __wrap_tree_kill(pid_t root);
void __wrap_tree_kill(pid_t root)
{
	if (!kills++)
		say("kills all");
}

int64_t __wrap_tree_memory(pid_t root, bool exact);
int64_t __wrap_tree_memory(pid_t root, bool exact)
{
	if (exact)
		say("measures exactly");
	return exact ? exact_memory : job_memory;
}

int64_t __wrap_tree_cpu(pid_t root);
int64_t __wrap_tree_cpu(pid_t root)
{
	return cpu_ms;
}

int __wrap_getrusage(int who, struct rusage *ret);
int __wrap_getrusage(int who, struct rusage *ret)
{
	*ret = (struct rusage){.ru_utime = {.tv_sec = 1 + cpu_ms / 1000, .tv_usec = cpu_ms % 1000 * 1000},
			       .ru_stime = {.tv_sec = 2, .tv_usec = 5000}};
	return 0;
}

struct cgroup_usage __wrap_cgroup_usage(const struct cgroup *c, const char *tag);
struct cgroup_usage __wrap_cgroup_usage(const struct cgroup *c, const char *tag)
{
	return (struct cgroup_usage){
		.cpu_ms = group_kib >= 0 ? 7 * cpu_ms : -1, .memory_kib = group_kib, .out_of_memory = group_oom};
}

int __wrap_cgroup_share(const struct cgroup *c, const char *tag, int64_t quota, int64_t weight);
int __wrap_cgroup_share(const struct cgroup *c, const char *tag, int64_t quota, int64_t weight)
{
	say("group of %s: quota %lld, weight %lld", tag, (long long)quota, (long long)weight);
	return share_fails ? -ENOTSUP : 0;
}

int __wrap_cgroup_create(const struct cgroup *c, const struct order *o, struct err *err);
int __wrap_cgroup_create(const struct cgroup *c, const struct order *o, struct err *err)
{
	say("makes the group of %s", o->tag);
	return 0;
}

void __wrap_cgroup_kill(const struct cgroup *c, const char *tag);
void __wrap_cgroup_kill(const struct cgroup *c, const char *tag)
{
	if (!group_kills++)
		say("kills the group of %s", tag);
}

void __wrap_cgroup_remove(const struct cgroup *c, const char *tag);
void __wrap_cgroup_remove(const struct cgroup *c, const char *tag)
{
	say("removes the group of %s", tag);
}

pid_t __wrap_scribe_start(const struct scribe_order *s);
pid_t __wrap_scribe_start(const struct scribe_order *s)
{
	static const char *const tasks[] = {"find", "prepare", "await", "look", "erase"};

	say("scribe %d: %s in %s, number %lld, cause %s, %lld s until %lld, session %d%s%s%s", nchildren,
	    tasks[s->task], s->dir, (long long)s->number, save_words[s->cause], (long long)s->seconds,
	    (long long)s->until, s->session, s->done ? ", done by its exit" : "", s->other ? ", other " : "",
	    s->other ? s->other : "");
	for (char **e = s->env; e && *e; e++)
		if (strncmp(*e, "SHUNT_CHECK", 11) == 0 || strncmp(*e, "SHUNT_REST", 10) == 0)
			say("with %s", *e);
	page = s->page;
	child_put(last_scribe = SCRIBE + nchildren);
	return last_scribe;
}

/* ---- CRIU ---- */

static int criu_fails;
static pid_t restored; /* the process that is restored; 0: none */

int __wrap_criu_check(const struct identity *who, struct err *err);
int __wrap_criu_check(const struct identity *who, struct err *err)
{
	return criu_fails ? err_set(err, -ENOTSUP, "CRIU does not work here") : 0;
}

int __wrap_images_path(const char *named, char *ret, size_t size, struct err *err);
int __wrap_images_path(const char *named, char *ret, size_t size, struct err *err)
{
	snprintf(ret, size, "/images/%s", strrchr(named, '/') + 1);
	return 0;
}

pid_t __wrap_criu_restored(const char *from, char *why);
pid_t __wrap_criu_restored(const char *from, char *why)
{
	say("restored from %s: %s", from, restored ? "yes" : "no");
	if (restored)
		child_put(restored);
	else
		snprintf(why, CRIU_WHY, "its files have changed");
	return restored ? restored : -1;
}

pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	say("CRIU restores");
	child_put(last_scribe = SCRIBE + nchildren);
	return last_scribe;
}

/* ---- waiting ---- */

static int64_t timer_at, wait_end; /* boot_us(); of the test's last "wait" */

static void kills_say(void)
{
	if (kills > 1 || group_kills > 1)
		say("has killed all %d times, the group %d times", kills, group_kills);
	kills = group_kills = 0;
}

/* Lets time pass until then, or until there is a signal. Returns false in that case. */
static bool pass(int64_t until)
{
	char line[4096];

	for (;;) {
		int64_t now = boot_us();
		if (npending)
			return false;
		if (now >= until)
			return true;
		if (now < wait_end) {
			played->now_us += (wait_end < until ? wait_end : until) - now;
			continue;
		}
		kills_say();
		if (played_next(line, sizeof line)) {
			command(line);
		} else {
			say("waits for ever");
			longjmp(over, 1);
		}
	}
}

static int signal_take(int64_t until, siginfo_t *ret)
{
	if (pass(until)) {
		errno = EAGAIN;
		return -1;
	}
	int number = pending[0].number;
	*ret = (siginfo_t){.si_signo = number, .si_code = pending[0].queued ? SI_QUEUE : SI_USER};
	ret->si_value.sival_int = pending[0].value;
	memmove(pending, pending + 1, (size_t)--npending * sizeof *pending);
	return number;
}

int __wrap_sigwaitinfo(const sigset_t *set, siginfo_t *ret);
int __wrap_sigwaitinfo(const sigset_t *set, siginfo_t *ret)
{
	return signal_take(INT64_MAX, ret);
}

int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *ret, const struct timespec *t);
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *ret, const struct timespec *t)
{
	return signal_take(boot_us() + t->tv_sec * 1000000 + t->tv_nsec / 1000, ret);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *t, struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *t, struct itimerspec *old)
{
	timer_at = t->it_value.tv_sec * INT64_C(1000000) + t->it_value.tv_nsec / 1000;
	if (!timer_at)
		timer_at = INT64_MAX;
	return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	for (nfds_t i = 0; i < n; i++)
		fds[i].revents = timeout ? 0 : fds[i].events;
	if (timeout)
		pass(timer_at);
	return 1;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	pass(boot_us() + t->tv_sec * 1000000);
	return 0;
}

/* ---- the nursery and the server ---- */

_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap__exit(int status)
{
	say("exit %d", status);
	longjmp(over, 1);
}

int __wrap_setpgid(pid_t pid, pid_t group);
int __wrap_setpgid(pid_t pid, pid_t group)
{
	return 0;
}

static int sends_fail;
static char reported[4096]; /* the last report */

ssize_t __wrap_sendto(int fd, const void *data, size_t n, int flags, const struct sockaddr *to, socklen_t nto);
ssize_t __wrap_sendto(int fd, const void *data, size_t n, int flags, const struct sockaddr *to, socklen_t nto)
{
	say("to the server: %.*s", (int)n, (const char *)data);
	return (ssize_t)n;
}

int __wrap_handover_report(int fd, const struct handover_head *head, const char *text, size_t n);
int __wrap_handover_report(int fd, const struct handover_head *head, const char *text, size_t n)
{
	say("report %c of slot %zu: %.*s", head->report, head->slot, (int)n, text);
	snprintf(reported, sizeof reported, "%.*s", (int)n, text);
	return sends_fail ? -EPIPE : 0;
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

/* Prints a file, without what differs from machine to machine. */
static void file_show(const char *name)
{
	struct strbuf text = {0};
	char path[200];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (file_read(path, 0, 1 << 20, &text) < 0)
		return;
	for (char *line = text.text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (strncmp(line, "pid ", 4) == 0)
			say("%s: pid %s", name, atoi(line + 4) == getpid() ? "ours" : "another");
		else if (strncmp(line, "user ", 5) == 0)
			say("%s: user %s%s", name, strtoul(line + 5, NULL, 10) == getuid() ? "ours" : "another",
			    strchr(line + 5, ' '));
		else if (strncmp(line, "session ", 8) == 0)
			say("%s: session %d, boot %s", name, atoi(line + 8),
			    strstr(line, live_boot()) ? "this" : "another");
		else if (strcmp(line, reported) == 0)
			say("%s: the same", name);
		else {
			size_t n = strlen(line), spaces = 0;
			for (; n && line[n - 1] == ' '; spaces++)
				n--;
			say("%s: %.*s%s", name, (int)n, line, n + spaces == 319 ? ", and spaces" : "");
		}
	}
	strbuf_fini(&text);
}

static void attempt(char *members)
{
	static const struct cgroup none = {0};
	char base[2000], path[200];
	struct identity who = {.uid = getuid(), .gid = getgid()};
	struct shepherd_place place = {.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				       .live_path = dir,
				       .socket = "/server",
				       .cgroup = &none,
				       .server = &who,
				       .orders = -1,
				       .slot = 3};

	snprintf(base, sizeof base,
		 "{\"id\":\"7.host\",\"tag\":\"7.1\",\"uid\":%u,\"gid\":%u,\"user\":\"ann\",\"home\":\"HERE\","
		 "\"script\":\"HERE/script\",\"workdir\":\"HERE\",\"out\":\"HERE/out\",\"grace\":5,"
		 "\"argv\":[\"one\"],\"env\":[\"A=1\"]}",
		 (unsigned)getuid(), (unsigned)getgid());
	json_t *order = json_loads(places_put(base), 0, NULL), *more = json_loads(places_put(members), 0, NULL);
	if (!order || !more)
		die("no JSON", members);
	json_object_update(order, more);
	char *text = json_dumps(order, JSON_COMPACT);
	json_decref(order);
	json_decref(more);
	snprintf(path, sizeof path, "%s/7.1", dir);
	struct handover h = {.tag = "7.1",
			     .user = "ann",
			     .who = who,
			     .text = text,
			     .n = strlen(text),
			     .live = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
	running = true;
	wait_end = 0;
	if (!setjmp(over))
		shepherd_main(&h, &place);
	running = false;
	kills_say();
	for (int i = 0; i < nchildren; i++)
		say("process %d is left", child[i].pid);
	nchildren = npending = 0;
	close(place.dir);
	free(text);
	file_show("7.1");
	unlink(path);
	file_show("out");
}

static int status_of(const char *how, const char *number)
{
	return strcmp(how, "exit") == 0 ? atoi(number) << 8 : atoi(number);
}

static void word_put(char **w)
{
	static const char *const names[SAVE_CAUSES] = {"periodic", "asked", "preempted", "limit", "shutdown", "move"};

	for (int i = 0; i < SAVE_CAUSES; i++)
		if (strcmp(w[1], names[i]) == 0)
			signal_put(SHEPHERD_SIGNAL, save_word((enum checkpoint_cause)i, atoi(w[2])), true);
}

static void command(char *line)
{
	char copy[4096], *w[WORDS] = {0};
	struct err err;

	snprintf(copy, sizeof copy, "%s", line);
	for (int i = words_split(copy, w, strncmp(line, "attempt", 7) == 0 ? 2 : WORDS); i < WORDS; i++)
		w[i] = copy + strlen(line);
	if (strcmp(w[0], "attempt") == 0 && running) { /* {ORDER} */
		say("the last one has not ended");
	} else if (strcmp(w[0], "attempt") == 0) {
		attempt(w[1]);
	} else if (!running && strcmp(w[0], "wait") != 0 && strcmp(w[0], "set") != 0 && strcmp(w[0], "lease") != 0) {
		say("there is no attempt");
	} else if (strcmp(w[0], "wait") == 0) { /* SECONDS */
		if (running)
			wait_end = boot_us() + (int64_t)(strtod(w[1], NULL) * 1e6);
		else
			played->now_us += (int64_t)(strtod(w[1], NULL) * 1e6);
	} else if (strcmp(w[0], "job") == 0) { /* exit|signal N [KIB] */
		child_end(JOB, status_of(w[1], w[2]), atol(w[3]));
	} else if (strcmp(w[0], "orphan") == 0) { /* [exit|signal N [KIB]] */
		if (*w[1])
			child_end(JOB + 1, status_of(w[1], w[2]), atol(w[3]));
		else
			child_put(JOB + 1);
	} else if (strcmp(w[0], "scribe") == 0) { /* exit|signal N [number N] [good N] [other] */
		for (int i = 3; i < WORDS; i++) {
			if (strcmp(w[i], "why") == 0)
				snprintf(page->why, sizeof page->why, "the disk is full");
			if (strcmp(w[i], "number") == 0)
				page->number = atoi(w[i + 1]);
			if (strcmp(w[i], "good") == 0)
				page->good = atoi(w[i + 1]);
			if (strcmp(w[i], "other") == 0)
				page->other = true;
		}
		child_end(last_scribe, status_of(w[1], w[2]), 0);
	} else if (strcmp(w[0], "order") == 0) { /* NUMBER: a signal, or what is below 0: the walltime */
		signal_put(SHEPHERD_SIGNAL, atoi(w[1]), true);
	} else if (strcmp(w[0], "tasks") == 0) {
		signal_put(SHEPHERD_SIGNAL, TASKS_WORD, true);
	} else if (strcmp(w[0], "disk") == 0) { /* MIB: its $TMPDIR is too large */
		signal_put(SHEPHERD_SIGNAL, TMPDIR_WORD | atoi(w[1]), true);
	} else if (strcmp(w[0], "stranger") == 0) { /* NUMBER: a signal that was not queued */
		signal_put(atoi(w[1]) ? atoi(w[1]) : SHEPHERD_SIGNAL, 0, false);
	} else if (strcmp(w[0], "save") == 0) { /* CAUSE [SECONDS] */
		word_put(w);
	} else if (strcmp(w[0], "lease") == 0) { /* now|suspended */
		assert_int_equal(lease_write(dir, boot_us(), *w[1] == 's', &err), 0);
	} else if (strcmp(w[0], "set") == 0) { /* NAME NUMBER */
		static const struct {
			const char *name;
			int *value;
		} values[] = {{"memory", &job_memory}, {"exact", &exact_memory}, {"cpu", &cpu_ms},
			      {"heard", &heard},       {"group", &group_kib},	 {"unshared", &share_fails},
			      {"deaf", &sends_fail},   {"nocriu", &criu_fails},	 {"restored", &restored}};
		for (size_t i = 0; i < sizeof values / sizeof *values; i++)
			if (strcmp(w[1], values[i].name) == 0)
				*values[i].value = atoi(w[2]);
		if (strcmp(w[1], "oom") == 0)
			group_oom = atoi(w[2]);
	} else {
		die("what is that?", line);
	}
}

static void run_begin(const char *base, int number)
{
	char path[100];

	job_memory = exact_memory = 1000;
	cpu_ms = heard = share_fails = sends_fail = criu_fails = restored = 0;
	group_kib = -1;
	group_oom = false;
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(path, sizeof path, "%s/script", dir);
	assert_int_equal(file_replace(path, 0600, "echo\n", 5, 0), 0);
}

static void shepherds(void **state)
{
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(shepherds)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("shepherds", tests, NULL, NULL);
}
