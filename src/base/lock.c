/*
 * lock.c - see lock.h.
 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 20
/* Time allowed to a child just forked by the holder, or to a holder whose SIGKILL is pending. */
#define BRIEF_MS 2000
#define ENDING_MS 60000 /* time allowed to a holder that frees much memory or dumps core */

static void holder_read(int fd, char pid[LOCK_PID_SIZE])
{
	ssize_t n = pread(fd, pid, LOCK_PID_SIZE - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
	if (!*pid)
		strcpy(pid, "?");
}

/* Returns true if a process has ended or can no longer return: it has no memory left, is writing
 * its core file, or has received SIGKILL. Its state alone is R or D until the memory is freed. */
static bool is_ending(const char *pid)
{
	char path[64], text[4096];
	const char *state, *pending;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%s/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return *pid != '?' && errno == ENOENT;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	state = strstr(text, "\nState:\t");
	pending = strstr(text, "\nSigPnd:\t");
	return !state || strchr("ZX", state[8]) || !strstr(text, "\nVmSize:") || strstr(text, "\nCoreDumping:\t1") ||
	       (pending && strtoull(pending + 9, NULL, 16) >> (SIGKILL - 1) & 1);
}

int lock_take(int fd, char pid[LOCK_PID_SIZE])
{
	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOOK_MS) {
		if (errno != EWOULDBLOCK)
			return -errno;
		holder_read(fd, pid);
		if (waited >= BRIEF_MS && (waited >= ENDING_MS || !is_ending(pid)))
			return -EBUSY;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
	}
	return 0;
}
