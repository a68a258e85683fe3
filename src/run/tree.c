/*
 * tree.c - finds descendants by /proc/PID/task/TID/children if the kernel has it, else by the
 * parent of every process.
 */
#include "run/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

/* Reads up to size - 1 bytes of a file and adds a NUL; -1 if it does not exist. */
static ssize_t proc_file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return -1;
	for (ssize_t n; done < size - 1 && (n = read(fd, buf + done, size - 1 - done)) > 0;)
		done += (size_t)n;
	close(fd);
	buf[done] = '\0';
	return (ssize_t)done;
}

/* Lists the numbers in `dir`, which are processes or threads. */
static void numbers_list(const char *dir, pid_list *ret)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid > 0)
			vec_push(ret, pid);
	}
	if (d)
		closedir(d);
}

static void children_add(pid_t pid, pid_list *ret)
{
	char path[64], text[16384], *end;
	pid_list threads = {0};

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	numbers_list(path, &threads);
	for (size_t i = 0; i < threads.n; i++) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, threads.v[i]);
		if (proc_file_read(path, text, sizeof text) <= 0)
			continue;
		for (char *at = text; *at; at = end) {
			pid_t child = (pid_t)strtol(at, &end, 10);
			if (end == at || *end != ' ') /* the end, or a number that was cut off */
				break;
			vec_push(ret, child);
		}
	}
	vec_free(&threads);
}

struct ties {
	pid_t parent, group, session;
};

/* Reads them from /proc/PID/stat; false if the process is gone or a zombie. The name before them
 * may contain anything. */
static bool stat_read(pid_t pid, struct ties *ret)
{
	char path[32], text[1024], state, *name_end;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (proc_file_read(path, text, sizeof text) <= 0 || !(name_end = strrchr(text, ')')))
		return false;
	return sscanf(name_end + 1, " %c %d %d %d", &state, &ret->parent, &ret->group, &ret->session) == 4 &&
	       state != 'Z' && state != 'X';
}

/* Without the children files: passes over all processes until a pass finds nothing new. */
static void tree_scan(pid_t root, pid_list *ret)
{
	pid_list all = {0};
	struct ties t;
	size_t before;

	numbers_list("/proc", &all);
	do {
		before = ret->n;
		for (size_t i = 0; i < all.n; i++)
			if (!pid_list_has(ret, all.v[i]) && stat_read(all.v[i], &t) &&
			    (t.parent == root || pid_list_has(ret, t.parent)))
				vec_push(ret, all.v[i]);
	} while (ret->n > before);
	vec_free(&all);
}

void tree_list(pid_t root, pid_list *ret)
{
	char path[64];

	vec_clear(ret);
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", root, root);
	if (access(path, R_OK)) {
		tree_scan(root, ret);
		return;
	}
	children_add(root, ret);
	for (size_t i = 0; i < ret->n && i < 1000000; i++)
		children_add(ret->v[i], ret);
}

void tree_signal(pid_t root, int signal)
{
	pid_list l = {0};

	tree_list(root, &l);
	for (size_t i = 0; i < l.n; i++)
		kill(l.v[i], signal);
	vec_free(&l);
}

struct signals {
	char state; /* 'S': it sleeps */
	unsigned long long blocked, caught;
};

/* Reads "State:", "SigBlk:" and "SigCgt:" in a status file. The sets have a bit for each signal. */
static bool signals_read(const char *path, struct signals *ret)
{
	char text[4096];
	const char *at;

	*ret = (struct signals){0};
	if (proc_file_read(path, text, sizeof text) <= 0)
		return false;
	if ((at = strstr(text, "\nState:")))
		sscanf(at + 7, " %c", &ret->state);
	if ((at = strstr(text, "\nSigBlk:")))
		ret->blocked = strtoull(at + 8, NULL, 16);
	if ((at = strstr(text, "\nSigCgt:")))
		ret->caught = strtoull(at + 8, NULL, 16);
	return true;
}

static bool has_signal(unsigned long long set, int signal)
{
	return set >> (signal - 1) & 1;
}

/* Returns true if a thread of the process sleeps. In sigwait() it does not show as blocked what it
 * waits for. */
static bool thread_sleeps(pid_t pid)
{
	pid_list threads = {0};
	struct signals t;
	char path[64];
	bool any = false;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	numbers_list(path, &threads);
	for (size_t i = 0; i < threads.n && !any; i++) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, threads.v[i]);
		any = signals_read(path, &t) && t.state == 'S';
	}
	vec_free(&threads);
	return any;
}

/* A shell blocks all signals while it starts a program, and dies of one that comes then: with all
 * of them blocked, even those of faults, only a process that sleeps is waiting for one. */
static bool is_heard(pid_t pid, int signal)
{
	struct signals p;
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	if (!signals_read(path, &p))
		return false;
	return has_signal(p.caught, signal) ||
	       (has_signal(p.blocked, signal) && (!has_signal(p.blocked, SIGSEGV) || thread_sleeps(pid)));
}

int process_signal_heard(pid_t pid, int signal)
{
	return is_heard(pid, signal) && kill(pid, signal) == 0;
}

int tree_signal_heard(pid_t root, pid_t but, int signal)
{
	pid_list l = {0};
	int n = 0;

	tree_list(root, &l);
	for (size_t i = 0; i < l.n; i++)
		n += l.v[i] != but && process_signal_heard(l.v[i], signal);
	vec_free(&l);
	return n;
}

void tree_kill(pid_t root)
{
	pid_list l = {0};
	size_t before;

	tree_list(root, &l);
	for (int turn = 0; turn < 20; turn++) {
		before = l.n;
		for (size_t i = 0; i < l.n; i++)
			kill(l.v[i], SIGSTOP);
		tree_list(root, &l);
		if (l.n <= before)
			break;
	}
	for (size_t i = 0; i < l.n; i++)
		kill(l.v[i], SIGKILL);
	vec_free(&l);
}

bool tree_group(pid_t root, pid_t group)
{
	pid_list l = {0};
	struct ties t;
	bool any = false;

	tree_list(root, &l);
	for (size_t i = 0; i < l.n && !any; i++)
		any = l.v[i] != group && stat_read(l.v[i], &t) && t.group == group;
	vec_free(&l);
	return any;
}

static int64_t rss_of(pid_t pid, int64_t *ret_shared)
{
	char path[48], text[256];
	long long resident, shared;

	snprintf(path, sizeof path, "/proc/%d/statm", pid);
	if (proc_file_read(path, text, sizeof text) <= 0 || sscanf(text, "%*d %lld %lld", &resident, &shared) != 2)
		return 0;
	long page = sysconf(_SC_PAGESIZE) / 1024;
	*ret_shared = shared * page;
	return (resident - shared) * page;
}

static int64_t pss_of(pid_t pid)
{
	char path[48], text[4096], *at;
	long long kib;

	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	if (proc_file_read(path, text, sizeof text) <= 0 || !(at = strstr(text, "\nPss:")) ||
	    sscanf(at + 5, "%lld", &kib) != 1)
		return 0;
	return kib;
}

/* Returns the user and system ticks in /proc/PID/stat, including children that it has waited
 * for. */
static int64_t ticks_of(pid_t pid)
{
	char path[32], text[1024], *name_end;
	long long user, system, waited_user, waited_system;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (proc_file_read(path, text, sizeof text) <= 0 || !(name_end = strrchr(text, ')')) ||
	    sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &user, &system,
		   &waited_user, &waited_system) != 4)
		return 0;
	return user + system + waited_user + waited_system;
}

int64_t tree_cpu(pid_t root)
{
	pid_list l = {0};
	int64_t ticks = 0;

	tree_list(root, &l);
	for (size_t i = 0; i < l.n; i++)
		ticks += ticks_of(l.v[i]);
	vec_free(&l);
	return ticks * 1000 / sysconf(_SC_CLK_TCK);
}

int64_t tree_memory(pid_t root, bool exact)
{
	pid_list l = {0};
	int64_t sum = 0, shared_most = 0;

	tree_list(root, &l);
	for (size_t i = 0; i < l.n; i++) {
		int64_t shared = 0;
		sum += exact ? pss_of(l.v[i]) : rss_of(l.v[i], &shared);
		if (shared > shared_most)
			shared_most = shared;
	}
	vec_free(&l);
	return sum + shared_most;
}

enum tagged { UNTAGGED, TAGGED, TAGGED_OTHERWISE, EXECUTES };

/* Returns true in the middle of an exec: the process has memory, unlike kernel threads, but no
 * arguments yet. On a busy machine that takes a while. */
static bool is_between(pid_t pid)
{
	char path[48], text[64];
	long long pages;

	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	if (proc_file_read(path, text, sizeof text) != 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/statm", pid);
	return proc_file_read(path, text, sizeof text) > 0 && sscanf(text, "%lld", &pages) == 1 && pages > 0;
}

/* Checks the environment with which a process was started for the label. */
static enum tagged tag_look(pid_t pid, const char *label, struct strbuf *buf)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/environ", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	strbuf_clear(buf);
	for (char part[65536]; fd >= 0 && (n = read(fd, part, sizeof part)) > 0;)
		strbuf_add(buf, part, (size_t)n);
	if (fd >= 0)
		close(fd);
	for (size_t at = 0; at < buf->n; at += strlen(buf->text + at) + 1)
		if (!strncmp(buf->text + at, "SHUNT_TAG=", 10))
			return strcmp(buf->text + at + 10, label) ? TAGGED_OTHERWISE : TAGGED;
	return buf->n || !is_between(pid) ? UNTAGGED : EXECUTES;
}

int tree_kill_tagged(const char *tag, const char *instance, pid_t session)
{
	struct strbuf buf = {0}, label = {0};
	pid_list all = {0};
	struct ties ties;
	int found = 0;

	strbuf_printf(&label, "%s@%s", tag, instance);
	/* The session's leader died with its shepherd: a live process with that pid and no tag is a
	 * later one. */
	if (session > 0 && stat_read(session, &ties) && tag_look(session, label.text, &buf) != TAGGED)
		session = 0;
	numbers_list("/proc", &all);
	for (size_t i = 0; i < all.n; i++) {
		if (all.v[i] == getpid() || !stat_read(all.v[i], &ties))
			continue;
		enum tagged t = tag_look(all.v[i], label.text, &buf);
		if (t == EXECUTES) /* its tag will be visible in a moment */
			found++;
		if ((t == TAGGED || (t == UNTAGGED && session > 0 && ties.session == session)) &&
		    !kill(all.v[i], SIGKILL))
			found++;
	}
	vec_free(&all);
	strbuf_fini(&buf);
	strbuf_fini(&label);
	return found;
}
