/*
 * bag_worker.c - `shunt bag worker`: runs a broker's tasks, on its host or on another.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag/bagfile.h"
#include "bag/files.h"
#include "bag/link.h"
#include "bag/own.h"
#include "bag/workdir.h"
#include "bag/worker.h"
#include "base/ticks.h"
#include "base/unixsock.h"
#include "cmd/bag/bag.h"
#include "cmd/lib/commands.h"
#include "run/tree.h"

enum {
	RETURN_SECONDS = 600, /* lifetime of a session key */
	REFUSED_PART = 20,    /* fraction of --patience after which a closed port means that the broker has ended */
	CODE_CUT = 77,	      /* exit code of the working process if its connection ended */
};

struct worker_arguments {
	const char *socket, *credential, *name;
	int64_t number, cpus, gpus, memory, seconds, end, patience;
};

#define WORKER_AT(field) offsetof(struct worker_arguments, field)
static const struct option worker_options[] = {
	OPTION_ROW(
		FILE, 0, "credential", WORKER_AT(credential), "FILE",
		"join a broker on another host with a credential that it wrote (see 'shunt bag run --invite'); - is standard input"),
	OPTION_ROW(NUMBER, 0, "number", WORKER_AT(number), "N",
		   "use the credential's secret N, counted from 0, if it has several", .initial = "0", .max = 1000000),
	OPTION_ROW(FILE, 0, "socket", WORKER_AT(socket), "PATH", "the broker's socket, on its own host"),
	OPTION_ROW(TEXT, 0, "name", WORKER_AT(name), "NAME",
		   "what the broker calls this worker; otherwise the host's name and a number"),
	OPTION_ROW(NUMBER, 0, "milli-cpus", WORKER_AT(cpus), "N",
		   "thousandths of CPUs; otherwise all that this process may use", .min = 1, .max = 1000000000),
	OPTION_ROW(NUMBER, 0, "gpus", WORKER_AT(gpus), "N", "GPUs.", .initial = "0", .max = 64),
	OPTION_ROW(NUMBER, 0, "memory", WORKER_AT(memory), "N", "KB of memory", .min = 1, .max = INT64_MAX / 4),
	OPTION_ROW(NUMBER, 0, "seconds", WORKER_AT(seconds), "N", "end after N seconds", .min = 1, .max = INT32_MAX),
	OPTION_ROW(NUMBER, 0, "end", WORKER_AT(end), "TIME", "end at TIME, in seconds since 1970", .min = 1,
		   .max = INT64_MAX / 4),
	OPTION_ROW(
		NUMBER, 0, "patience", WORKER_AT(patience), "N",
		"if the connection breaks, try to come back for N seconds; for a twentieth of that if the broker's host refuses connections",
		.initial = "600", .max = RETURN_SECONDS),
	{0},
};

/* A process that waits for another passes SIGTERM on to it, and ends after it. */
static volatile sig_atomic_t below, terminated;

static void on_terminate(int number)
{
	terminated = 1;
	if (below > 0)
		kill(below, number);
}

/* Starts to pass SIGTERM on to a child. */
static void below_set(pid_t pid)
{
	below = pid;
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_terminate}, NULL);
	if (terminated && below > 0)
		kill(below, SIGTERM);
}

/* Kills all processes that tasks left behind, which this process has inherited
 * (PR_SET_CHILD_SUBREAPER), and removes their files. */
static void clean(const char *dir)
{
	tree_kill(getpid());
	if (dir)
		files_remove(dir);
}

/* Forks the process that works on a connection; it ends with this one. Returns how it ended. */
static int worker_fork(const struct command *c, int fd, struct worker_offer *offer)
{
	struct err err;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return command_fail(c, "fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int rc = worker_run(fd, offer, &err);
		_exit(rc == 1 || rc == -ECONNRESET ? CODE_CUT : rc < 0 ? command_fail(c, "%s", err.text) : EXIT_OK);
	}
	close(fd);
	below_set(pid);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	below_set(0);
	clean(offer->scratch);
	offer->died = !WIFEXITED(status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : CODE_CUT;
}

/* Connects to the broker again. -ECONNREFUSED: the machine where it was answers that nothing
 * listens there; what other addresses answer proves nothing, they may be those of other
 * machines. */
static int link_again(struct credential *where, pid_t *ret_pid, struct err *err)
{
	struct credential known = *where;

	known.nwhere = 1;
	int rc = bag_link_open(&known, ret_pid, err), fd = rc;
	if (rc < 0)
		fd = bag_link_open(where, ret_pid, err);
	return fd < 0 && rc == -ECONNREFUSED ? rc : fd;
}

/* Joins with the credential's secret, and reconnects with its session key for at most the given
 * seconds. A broker that was killed never listens there again: the next one has another port and
 * key. A relay or a router in between may refuse for a moment. */
static int worker_remote(const struct command *c, struct credential *where, struct worker_offer *offer,
			 int64_t patience)
{
	int64_t last = clock_seconds(CLOCK_MONOTONIC), end = offer->seconds < 0 ? -1 : last + offer->seconds;
	int64_t heard = last; /* when it was last connected, or not refused */
	struct err err;
	bool joined = false;

	/* The working process writes the key; this one, which has no threads, keeps it. */
	offer->session = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (offer->session == MAP_FAILED)
		return command_fail(c, "mmap: %s", strerror(errno));
	for (;; sleep(1)) {
		pid_t pid;
		int fd = joined ? link_again(where, &pid, &err) : bag_link_open(where, &pid, &err);
		if (fd < 0 && !joined)
			return command_fail(c, "%s", err.text);
		if (fd >= 0) {
			offer->credential = where->secret;
			if (end >= 0) /* it may have reconnected */
				offer->seconds =
					end > clock_seconds(CLOCK_MONOTONIC) ? end - clock_seconds(CLOCK_MONOTONIC) : 0;
			int code = worker_fork(c, fd, offer);
			own_kill(pid);
			/* reap what tasks left and clean() killed */
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
			if (code != CODE_CUT)
				return code;
			if (!offer->session[0] || strcmp(offer->session, where->secret) == 0)
				return command_fail(
					c,
					"the broker refuses this worker: its credential is unknown or was used, or it has another version of Shunt");
			snprintf(where->secret, sizeof where->secret, "%s", offer->session);
			last = clock_seconds(CLOCK_MONOTONIC);
			joined = true;
		}
		if (fd != -ECONNREFUSED)
			heard = clock_seconds(CLOCK_MONOTONIC);
		if (terminated || (end >= 0 && clock_seconds(CLOCK_MONOTONIC) >= end))
			return EXIT_OK;
		if (clock_seconds(CLOCK_MONOTONIC) - last >= patience)
			return command_fail(c, "the connection to the broker ended, and it did not come back");
		if (fd == -ECONNREFUSED && clock_seconds(CLOCK_MONOTONIC) - heard >= patience / REFUSED_PART)
			return command_fail(c, "the broker has ended: its host refuses connections");
	}
}

/* Waits until a process ends; kills it once the other end of `alive` is closed. Returns its exit
 * code. */
static int attend(pid_t pid, int alive)
{
	struct pollfd either[] = {{.fd = alive}, {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN}};
	int status, n;

	below_set(pid);
	while (either[1].fd >= 0 && poll(either, 2, -1) < 0 && errno == EINTR)
		;
	if (either[0].revents)
		kill(pid, SIGKILL);
	while ((n = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	return n == pid && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Works for a broker on this host. */
static int worker_local(const struct command *c, const char *socket, const struct worker_offer *offer)
{
	struct err err;
	int fd = unix_connect(socket, 10000, &err);

	if (fd < 0 || worker_run(fd, offer, &err) < 0)
		return command_fail(c, "%s", err.text);
	return EXIT_OK;
}

/*
 * Runs three processes: this one, which others know and may kill; one in its own session that
 * cleans up after both others; and the one that works. Whichever is killed, the others end, and no
 * files or processes of tasks stay. If all are killed at once, as at the end of a cluster's job,
 * the next worker there removes the files.
 */
static int worker_guarded(const struct command *c, struct credential *where, struct worker_offer *offer,
			  const struct worker_arguments *a)
{
	struct strbuf dir = {0}, scratch = {0};
	struct err err;
	int alive[2], status, n;
	bool made = where && workdir_make("shunt-bag", &dir, &err) == 0;

	if (where && !made)
		command_warn(c, "no task can run in a directory of its own: %s", err.text);
	if (where) {
		strbuf_printf(&scratch, "%s/tasks", dir.text);
		offer->scratch = scratch.text;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe2(alive, O_CLOEXEC) < 0)
		return command_fail(c, "pipe: %s", strerror(errno));
	pid_t guard = fork(), pid;
	if (guard == 0) {
		close(alive[1]);
		setsid();
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		pid = fork();
		if (pid == 0) {
			close(alive[0]);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_CHILD_SUBREAPER, 1);
			_exit(where ? worker_remote(c, where, offer, a->patience) : worker_local(c, a->socket, offer));
		}
		int code = pid > 0 ? attend(pid, alive[0]) : EXIT_FAILED;
		clean(made ? dir.text : NULL);
		_exit(code);
	}
	close(alive[0]);
	below_set(guard);
	while ((n = waitpid(guard, &status, 0)) < 0 && errno == EINTR)
		;
	clean(made ? dir.text : NULL);
	strbuf_fini(&dir);
	strbuf_fini(&scratch);
	return n > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int worker(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct worker_arguments *a = arguments;
	struct worker_offer offer = {.name = a->name,
				     .cpus = a->cpus < 0 ? bag_cpus_here() * BAG_CPU : a->cpus,
				     .gpus = a->gpus,
				     .memory = a->memory,
				     .seconds = a->seconds};
	struct credential where;
	struct err err;

	if (a->end > 0) {
		int64_t left = a->end - clock_seconds(CLOCK_REALTIME);
		offer.seconds = left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : left;
	}
	if (!a->socket == !a->credential)
		return command_misused(c, "give a --credential, or the --socket of a broker on this host");
	if (a->credential) {
		int rc = credential_read(a->credential, a->number, &where, &err);
		return rc < 0 ? command_fail(c, "%s", err.text) : worker_guarded(c, &where, &offer, a);
	}
	return worker_guarded(c, NULL, &offer, a);
}

const struct command command_bag_worker = {
	.name = "bag worker",
	.about = "Run tasks for a broker on this or another host.",
	.details =
		"Brokers start it by themselves on their own host. On other hosts, give it a credential from 'shunt bag run --invite'. It connects to the broker, so no port needs to be open here. "
		"If the connection breaks, its tasks are killed, and it tries to come back, for ten minutes unless --patience says otherwise. It ends with the bag, and half a minute after its broker was killed.",
	.examples = EXAMPLES({"shunt bag worker --credential tasks.bag/worker-1.key",
			      "Run tasks of the broker that wrote this file, on all CPUs."}),
	OPTIONS(struct worker_arguments, worker_options),
	.run = worker,
	.alone = true,
};
