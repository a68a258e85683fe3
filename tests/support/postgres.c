/*
 * postgres.c - a private PostgreSQL, and a relay in front of it.
 */
#include "support/postgres.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* In the child: changes the account, redirects output to the log, and ends with the parent. */
static void become(const struct postgres_server *server, const struct passwd *account)
{
	char path[128];

	if (account && (setgroups(0, NULL) < 0 || setgid(account->pw_gid) < 0 || setuid(account->pw_uid) < 0))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	snprintf(path, sizeof path, "%s/log", server->dir);
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (log < 0 || chdir(server->dir) < 0)
		_exit(126);
	dup2(log, 1);
	dup2(log, 2);
}

static pid_t spawn(const struct postgres_server *server, const struct passwd *account, char *const argv[])
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		become(server, account);
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static void find_program(const char *name, char *buf, size_t size)
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof pattern, "/usr/lib/postgresql/*/bin/%s", name);
	if (glob(pattern, 0, NULL, &found) != 0)
		fail_msg("%s: not there: install the package postgresql", pattern);
	snprintf(buf, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
}

static void wait_until_ready(const struct postgres_server *server)
{
	char url[256];

	postgres_url(server, 5432, url, sizeof url);
	for (int i = 0; i < 1200; i++) {
		if (PQping(url) == PQPING_OK)
			return;
		if (waitpid(server->pid, NULL, WNOHANG) != 0)
			break;
		usleep(50000);
	}
	fail_msg("PostgreSQL did not start: see %s/log", server->dir);
}

void postgres_start(struct postgres_server *server)
{
	const struct passwd *account = geteuid() == 0 ? getpwnam("postgres") : NULL;
	char initdb[256], postgres[256], data[128];
	int status;

	strcpy(server->dir, "/tmp/shunt-pg-XXXXXX");
	assert_non_null(mkdtemp(server->dir));
	assert_int_equal(chmod(server->dir, 0755), 0);
	assert_true(geteuid() != 0 || account);
	if (account)
		assert_int_equal(chown(server->dir, account->pw_uid, account->pw_gid), 0);
	find_program("initdb", initdb, sizeof initdb);
	find_program("postgres", postgres, sizeof postgres);
	snprintf(data, sizeof data, "%s/data", server->dir);

	char *const make[] = {initdb,	  "-D", data,	"-A",	      "trust", "-U",
			      "postgres", "-E", "UTF8", "--locale=C", "-N",    NULL};
	assert_int_equal(waitpid(spawn(server, account, make), &status, 0) > 0 ? status : -1, 0);
	char *const run[] = {postgres, "-D", data, "-k", server->dir, "-c", "listen_addresses=", NULL};
	server->pid = spawn(server, account, run);
	wait_until_ready(server);
}

void postgres_stop(struct postgres_server *server)
{
	char command[128];

	kill(server->pid, SIGINT);
	waitpid(server->pid, NULL, 0);
	snprintf(command, sizeof command, "rm -rf '%s'", server->dir);
	assert_int_equal(system(command), 0);
}

void postgres_url(const struct postgres_server *server, int port, char *buf, size_t size)
{
	snprintf(buf, size, "postgres:///postgres?host=%s&port=%d&user=postgres", server->dir, port);
}

/* ---- the relay ---- */

static struct sockaddr_un address_of(const struct postgres_server *server, int port)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof a.sun_path, "%s/.s.PGSQL.%d", server->dir, port);
	return a;
}

/* Copies available bytes; returns false at EOF. */
static bool move(int from, int to, char *buf, size_t size)
{
	ssize_t n = read(from, buf, size);

	return n > 0 && write(to, buf, (size_t)n) == n;
}

static bool is_commit(int fd, char *buf, size_t size)
{
	ssize_t n = recv(fd, buf, size, MSG_PEEK);

	return n > 0 && memmem(buf, (size_t)n, "COMMIT", 6);
}

/* Relays a connection; returns true if it was cut. */
static bool relay_connection(int client, int server, const enum relay_cut *cut)
{
	static char buf[65536];
	struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};

	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents && cut && is_commit(client, buf, sizeof buf)) {
			if (*cut == RELAY_CUT_AFTER && move(client, server, buf, sizeof buf))
				(void)!read(server, buf, sizeof buf);
			return true;
		}
		if (fds[0].revents && !move(client, server, buf, sizeof buf))
			return false;
		if (fds[1].revents && !move(server, client, buf, sizeof buf))
			return false;
	}
	return false;
}

static void relay_run(const struct postgres_server *server, int listener, enum relay_cut cut)
{
	struct sockaddr_un to = address_of(server, 5432);
	bool was_cut = false;

	for (int client; (client = accept(listener, NULL, NULL)) >= 0; close(client)) {
		int upstream = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(upstream, (struct sockaddr *)&to, sizeof to) == 0 &&
		    relay_connection(client, upstream, was_cut ? NULL : &cut))
			was_cut = true;
		close(upstream);
	}
}

pid_t relay_start(const struct postgres_server *server, int port, enum relay_cut cut)
{
	struct sockaddr_un at = address_of(server, port);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(at.sun_path);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(listener, 8), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		relay_run(server, listener, cut);
		_exit(0);
	}
	close(listener);
	return pid;
}
