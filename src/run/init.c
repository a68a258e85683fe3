/*
 * init.c - shunt-init: the first process of a job that CRIU saves, in its own PID namespace. It
 * starts the job's program, reaps orphans, and ends with the program.
 *
 * It is saved and restored together with the job, so it is as small as possible: no library of
 * ours, only the standard descriptors. It runs as root, as the CRIU of Debian 12 requires (criu.h);
 * the program runs as the user, whose groups this process already has. What the program leaves
 * behind ends with the namespace. A first process can't be killed by its own signals, so a program
 * that was killed is reported as shells do: 128 plus the signal number.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void program_run(uid_t uid, gid_t gid, char **argv)
{
	setsid();
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid)) {
		fprintf(stderr, "shunt: the job can't become user %u: %s\n", (unsigned)uid, strerror(errno));
		_exit(126);
	}
	execv(argv[0], argv);
	fprintf(stderr, "shunt: %s can't be run: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int main(int argc, char **argv)
{
	int status;
	pid_t job, pid;

	if (argc < 5) {
		fprintf(stderr,
			"shunt-init: it is started by Shunt, with a user, a group, a directory, a program and its arguments\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* die with the shepherd */
	job = fork();
	if (job == 0)
		program_run((uid_t)strtoul(argv[1], NULL, 10), (gid_t)strtoul(argv[2], NULL, 10), argv + 4);
	if (job < 0)
		return 126;
	if (chdir(argv[3])) { /* CRIU could not save the old directory */
		fprintf(stderr, "shunt: %s can't be entered, so the job can't be saved: %s\n", argv[3],
			strerror(errno));
		kill(-1, SIGKILL);
		return 126;
	}
	do
		pid = wait(&status);
	while (pid != job && (pid > 0 || errno == EINTR));
	return pid != job ? 126 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
