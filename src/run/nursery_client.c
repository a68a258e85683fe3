/*
 * nursery_client.c - the server's side: starts the nursery and reads from it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/program.h"
#include "base/vec.h"
#include "run/message.h"
#include "run/nursery.h"

#define NURSERY_FD 3 /* descriptor of the new process's end of the socket; the lock follows */
#define NURSERY_LOCK 4
#define READY_MS 60000 /* milliseconds; sweeping leftovers of an earlier nursery may take a while */

extern char **environ;

/* ---- starting it ---- */

/* Takes the lock, which the new nursery inherits: it stays held without a gap until that nursery
 * ends. */
static int lock_wait(const char *live, int wait_ms, struct err *err)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/.nursery", live);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(err, -errno, "%s: can't be opened: %s", path, strerror(errno));
	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB); waited += 5) {
		if (errno != EWOULDBLOCK || waited >= wait_ms) {
			int r = errno == EWOULDBLOCK ? -ETIMEDOUT : -errno;
			close(fd);
			return err_set(err, r, "%s: an earlier nursery still holds it: is another server running here?",
				       path);
		}
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	return fd;
}

static int nursery_spawn(const char *program, const struct nursery_options *o, int fd, int lock, pid_t *ret_pid)
{
	char *argv[] = {(char *)program,
			"--nursery",
			(char *)o->live,
			(char *)o->socket,
			(char *)(o->cgroup ? o->cgroup : "auto"),
			o->root_jobs ? "root-jobs" : "no-root-jobs",
			NULL};
	VEC(char *) env = {0};
	const int fds[] = {PROGRAM_SHARE, PROGRAM_SHARE, PROGRAM_SHARE, [NURSERY_FD] = fd, [NURSERY_LOCK] = lock};

	/* Resolve symbols before the first fork, once, rather than in every shepherd. */
	vec_push(&env, "LD_BIND_NOW=1");
	for (char **e = environ; *e; e++)
		vec_push(&env, *e);
	vec_push(&env, NULL);
	bool lower = descriptors_lower(); /* jobs get the limit that the server was started with */
	int r = program_start(program, argv, env.v, fds, NURSERY_LOCK + 1, 0, ret_pid);
	if (lower)
		descriptors_raise();
	vec_free(&env);
	return r;
}

/* Moves a descriptor out of the range that the new process uses. */
static int fd_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);

	close(fd);
	return high;
}

/* Reads the first byte, which says whether the nursery can work here; NURSERY_FAILED is followed by
 * the reason. -EPIPE: it ended before. */
static int nursery_await(int fd, pid_t pid, struct err *err)
{
	char said[sizeof err->text] = "";
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0 && n < sizeof said - 1 && !(n && said[0] == NURSERY_READY)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int rc = poll(&p, 1, READY_MS);
		if (rc < 0 && errno == EINTR)
			continue;
		got = rc > 0 ? recv(fd, said + n, n ? sizeof said - 1 - n : 1, 0) : -1;
		n += got > 0 ? (size_t)got : 0;
	}
	if (said[0] == NURSERY_READY)
		return 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err_set(err, n == 0 && got == 0 ? -EPIPE : -ECANCELED, "jobs can't be started here: %s",
		       n > 1 ? said + 1 : "the nursery ended without a message");
}

int nursery_start(const char *program, const struct nursery_options *o, int wait_ms, struct nursery *ret,
		  struct err *err)
{
	int pair[2] = {-1, -1}, lock = lock_wait(o->live, wait_ms, err), r = 0;
	pid_t pid;

	if (lock < 0)
		return lock;
	lock = fd_raise(lock);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		r = err_set(err, -errno, "the nursery can't be started: %s", strerror(errno));
	if (!r) {
		pair[1] = fd_raise(pair[1]);
		r = nursery_spawn(program, o, pair[1], lock, &pid);
		if (r)
			err_set(err, r, "%s: the nursery can't be started: %s", program, strerror(-r));
		close(pair[1]);
	}
	close(lock);
	if (!r)
		r = nursery_await(pair[0], pid, err);
	if (r) {
		if (pair[0] >= 0)
			close(pair[0]);
		return r;
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	*ret = (struct nursery){.fd = pair[0], .pid = pid};
	return 0;
}

int nursery_command(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "shuntd: --nursery is for shuntd itself\n");
		return 2;
	}
	close_range(NURSERY_LOCK + 1, ~0U, 0);
	struct nursery_options o = {.fd = NURSERY_FD,
				    .lock = NURSERY_LOCK,
				    .live = argv[2],
				    .socket = argv[3],
				    .cgroup = argv[4],
				    .root_jobs = !strcmp(argv[5], "root-jobs")};
	return nursery_main(&o);
}

/* ---- answers ---- */

ssize_t nursery_frame(const char *buf, size_t n, const char **ret_text, size_t *ret_length)
{
	char kind;

	return message_next(buf, n, &kind, ret_text, ret_length);
}
