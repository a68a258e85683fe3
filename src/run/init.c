/*
 * init.c - shunt-init: the first process of a job that CRIU saves, in a PID namespace of its own. It starts the job's program, reaps orphans, and ends with the program.
 *
 * It is saved and restored together with the job, so it is as small as can be: no library of ours, no descriptor but the standard ones. What the program leaves behind
 * ends with the namespace. A first process can't be killed by its own signals, so a program that was killed is reported as shells do, by 128 and the signal's number.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status;
	pid_t job, pid;

	if (argc < 2) {
		fprintf(stderr, "shunt-init: it is started by Shunt, with a program and its arguments\n");
		return 2;
	}
	job = fork();
	if (job == 0) {
		setsid();
		execv(argv[1], argv + 1);
		fprintf(stderr, "shunt: %s can't be run: %s\n", argv[1], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (job < 0)
		return 126;
	do
		pid = wait(&status);
	while (pid != job && (pid > 0 || errno == EINTR));
	return pid != job ? 126 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
