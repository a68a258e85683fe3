/*
 * launch_peer.c - starts a shunt-pmix on a host.
 *
 * SHUNT_LAUNCH_TRANSPORT is a command line that runs the words appended to it on {node}, with its
 * input and output: "ssh {node}". It is for tests, and for nodes that have no agent.
 */
#include "cmd/launch/launch_peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/launch/jobhosts.h"
#include "cmd/launch/launch.h"
#include "cmd/lib/instance.h"

const char *launch_program(void)
{
	static struct strbuf path;

	return path.text || program_find("shunt-pmix", &path) ? path.text : NULL;
}

/* Runs in the child. */
static void transport_run(const char *transport, const char *node)
{
	struct strbuf line = {0};
	const char *at;

	strbuf_puts(&line, "exec ");
	while ((at = strstr(transport, "{node}"))) {
		strbuf_add(&line, transport, (size_t)(at - transport));
		strbuf_puts(&line, node);
		transport = at + strlen("{node}");
	}
	strbuf_printf(&line, "%s %s", transport, launch_program());
	execl("/bin/sh", "sh", "-c", line.text, NULL);
	fprintf(stderr, "shunt launch: /bin/sh: %s\n", strerror(errno));
}

/* Runs in the child. The job's environment on the node knows where Shunt, and so shunt-pmix, is
 * installed there. */
static void task_run(const char *node)
{
	char *argv[] = {"/bin/sh", "-c", "PATH=\"${PBS_RSH%/*}:$PATH\"; exec shunt pmix", NULL};
	struct taskclient t = {.node = node, .argv = argv, .workdir = "/", .out = STDOUT_FILENO, .err = STDERR_FILENO};
	struct err err;
	int code;

	if (taskclient_run(&t, &code, &err) < 0)
		fprintf(stderr, "shunt launch: %s\n", err.text);
}

static void child_run(int fd, const char *node)
{
	const char *transport = getenv("SHUNT_LAUNCH_TRANSPORT");

	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	if (jobhosts_here(node)) {
		execl(launch_program(), "shunt-pmix", NULL);
		fprintf(stderr, "shunt launch: %s: %s\n", launch_program(), strerror(errno));
	} else if (transport && *transport) {
		transport_run(transport, node);
	} else {
		task_run(node);
	}
	_exit(TASKCLIENT_LOST);
}

int peer_start(struct peer *p, const struct peer *others, size_t n, const char *node, const sigset_t *mask,
	       struct err *err)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return err_set(err, -errno, "no socket: %s", strerror(errno));
	fflush(NULL);
	p->pid = fork();
	if (p->pid == 0) {
		for (size_t i = 0; i < n; i++)
			close(others[i].cable.in);
		close(fd[0]);
		sigprocmask(SIG_SETMASK, mask, NULL);
		child_run(fd[1], node);
	}
	close(fd[1]);
	cable_init(&p->cable, fd[0], fd[0]);
	return p->pid < 0 ? err_set(err, -errno, "no process: %s", strerror(errno)) : 0;
}
