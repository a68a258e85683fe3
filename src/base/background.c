/*
 * background.c - a daemon's way into the background.
 */
#include "base/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int child_await(int ready, const char *log, struct err *err)
{
	char text[1024];
	ssize_t n = read(ready, text, sizeof text - 1);

	close(ready);
	if (n <= 0)
		return err_set(err, -ECANCELED, "it ended before it was up: see %s", log);
	text[n] = '\0';
	return text[0] == '+' ? 1 : err_set(err, -ECANCELED, "%s", text + 1);
}

int background_begin(const char *log, mode_t mode, int *ret_ready, struct err *err)
{
	int fds[2];
	pid_t pid;

	fflush(stdout);
	if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	close(fds[pid > 0]);
	if (pid > 0)
		return child_await(fds[0], log, err);
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC),
	    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
	*ret_ready = fds[1];
	return chdir("/") < 0 ? err_set(err, -errno, "/: %s", strerror(errno)) : 0;
}
