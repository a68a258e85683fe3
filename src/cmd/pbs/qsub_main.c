/*
 * qsub_main.c - the program `qsub`: scripts call it thousands of times, so it is a program of its
 * own and linked statically where that is possible, which halves its processor time (qsub_musl.c).
 *
 * The C library's name service can't be linked statically: it loads modules at run time. The
 * linker (--wrap) puts the functions below in its place, which ask getent(1); only a few options
 * need them.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/program.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/screen.h"

/* `used`, because only the linker knows the calls */
#define WRAPPER __attribute__((used))
WRAPPER struct passwd *__wrap_getpwuid(uid_t uid);
WRAPPER struct passwd *__wrap_getpwnam(const char *name);
WRAPPER struct group *__wrap_getgrnam(const char *name);

/* Reads the first `n` fields of getent's line, which stay until the next call. Returns false if
 * there are fewer. */
static bool entry_find(const char *database, const char *key, char **fields, int n)
{
	static struct strbuf line;
	char *const argv[] = {"getent", (char *)database, "--", (char *)key, NULL};
	int fd[2], found = 0;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return false;
	bool began = program_start(argv[0], argv, NULL, (int[]){PROGRAM_SHARE, fd[1]}, 2, 0, &pid) == 0;
	close(fd[1]);
	strbuf_clear(&line);
	if (began)
		fd_read(fd[0], LINE_MAX, &line);
	close(fd[0]);
	while (began && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	char *next = line.n ? line.text : NULL;
	if (next)
		next[strcspn(next, "\n")] = '\0';
	while (found < n && next)
		fields[found++] = strsep(&next, ":");
	return found == n;
}

static struct passwd *user_find(const char *key)
{
	static struct passwd user;
	char *f[7];

	if (!entry_find("passwd", key, f, 7))
		return NULL;
	user = (struct passwd){f[0], f[1], (uid_t)strtoul(f[2], NULL, 10), (gid_t)strtoul(f[3], NULL, 10), f[4],
			       f[5], f[6]};
	return &user;
}

struct passwd *__wrap_getpwuid(uid_t uid)
{
	char key[16];

	snprintf(key, sizeof key, "%u", uid);
	return user_find(key);
}

struct passwd *__wrap_getpwnam(const char *name)
{
	return user_find(name);
}

struct group *__wrap_getgrnam(const char *name)
{
	static struct group group;
	char *f[3];

	if (!entry_find("group", name, f, 3))
		return NULL;
	group = (struct group){.gr_name = f[0], .gr_gid = (gid_t)strtoul(f[2], NULL, 10)};
	return &group;
}

/* Seeds jansson's tables with the random bytes that the kernel gives every program, so that jansson
 * does not read /dev/urandom. */
static void tables_seed(void)
{
	const char *random = (const char *)getauxval(AT_RANDOM);
	uint32_t seed = 0;

	if (random)
		memcpy(&seed, random, sizeof seed);
	json_object_seed(seed); /* 0: by jansson */
}

int main(int argc, char **argv)
{
	tables_seed();
	screen_begin();
	return screen_end(command_run(&command_qsub, argc - 1, argv + 1));
}
