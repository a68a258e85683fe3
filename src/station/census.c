/*
 * census.c - see census.h.
 */
#include "station/census.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

void census_sort(pid_list *list)
{
	if (list->n)
		qsort(list->v, list->n, sizeof *list->v, by_pid);
}

static bool text_read(int proc, const char *pid, const char *file, char *ret, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%.20s/%s", pid, file);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, ret, size - 1) : -1;
	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool in_session(int proc, const char *pid)
{
	char text[2048];

	return text_read(proc, pid, "cgroup", text, sizeof text) &&
	       (strstr(text, "/session-") || strstr(text, "/app-"));
}

static void one_count(int proc, const char *pid, int *interactive, int *batch)
{
	char text[1024], state, *end;
	struct stat st;
	long nice;
	int tty;

	if (!text_read(proc, pid, "stat", text, sizeof text) || !(end = strrchr(text, ')')) ||
	    sscanf(end + 1, " %c %*d %*d %*d %d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %ld", &state, &tty,
		   &nice) != 3 ||
	    state != 'R' || fstatat(proc, pid, &st, 0) < 0)
		return;
	if (nice > 0)
		++*batch;
	else if (tty || in_session(proc, pid))
		++*interactive;
	else if (st.st_uid != 0)
		++*batch;
}

void census_take(const pid_list *ours, int *ret_interactive, int *ret_batch)
{
	DIR *d = opendir("/proc");
	pid_t self = getpid();

	*ret_interactive = *ret_batch = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid > 0 && pid != self && !(ours->n && bsearch(&pid, ours->v, ours->n, sizeof pid, by_pid)))
			one_count(dirfd(d), e->d_name, ret_interactive, ret_batch);
	}
	if (d)
		closedir(d);
}
