/*
 * ready.c - linked into a program: with READY in its environment it runs itself as often as it is
 * asked, each time in a fork, so that loading it and starting its sanitizers is done once. All of
 * it ends with the test that asks.
 */
#include "support/ready.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unixsock.h"

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

/* Reads a number and as many texts; returns the end of them. */
static char *texts_read(char *at, char **ret, int *ret_n)
{
	int n = atoi(at);

	at += strlen(at) + 1;
	for (int i = 0; i < n; i++, at += strlen(at) + 1)
		ret[i] = at;
	ret[n] = NULL;
	*ret_n = n;
	return at;
}

/* Becomes the program that was asked for, and ends without the sanitizer's farewell to each of its
 * variables, for which most of the memory would be copied. Runs in the child. */
static void become(char *request, const int *fd, int nfd)
{
	static char *argv[READY_TEXTS], *env[READY_TEXTS];
	int argc, n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < nfd; i++) { /* one takes the place of our socket */
		dup2(fd[i], i);
		close(fd[i]);
	}
	texts_read(texts_read(request, argv, &argc), env, &n);
	environ = env;
	int status = __real_main(argc, argv);
	fflush(NULL);
	_exit(status);
}

int __wrap_main(int argc, char **argv)
{
	static char request[READY_BYTES];
	int fd[READY_FDS], status;
	size_t n;

	if (!getenv("READY"))
		return __real_main(argc, argv);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (unix_receive(READY_FD, request, sizeof request, fd, READY_FDS, &n, 0) > 0) {
		pid_t pid = fork();
		if (pid == 0)
			become(request, fd, (int)n);
		for (size_t i = 0; i < n; i++)
			close(fd[i]);
		if (pid < 0 || waitpid(pid, &status, 0) != pid ||
		    write(READY_FD, &status, sizeof status) != sizeof status)
			abort();
	}
	return 0;
}
