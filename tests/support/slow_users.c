/*
 * slow_users.c - a user database that does not answer, for LD_PRELOAD: a lookup of user 1000 waits
 * while there is a file 1000.hangs in $SHUNT_TEST_USERS, and fails if there is a file 1000.fails;
 * with either it creates 1000.asked. Lookups by name use the name instead.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define LIMIT 6000 /* checks, 10 ms apart: a killed test leaves nothing behind */

static int file_is(const char *who, const char *what)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s.%s", getenv("SHUNT_TEST_USERS"), who, what);
	return access(path, F_OK) == 0;
}

/* Waits as long as needed; returns true if the lookup fails. */
static int look(const char *who)
{
	char path[512];
	int fd;

	if (!getenv("SHUNT_TEST_USERS") || (!file_is(who, "hangs") && !file_is(who, "fails")))
		return 0;
	snprintf(path, sizeof path, "%s/%s.asked", getenv("SHUNT_TEST_USERS"), who);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	for (int i = 0; i < LIMIT && file_is(who, "hangs"); i++)
		usleep(10000);
	return file_is(who, "fails");
}

static int look_id(uid_t uid)
{
	char who[32];

	snprintf(who, sizeof who, "%u", (unsigned)uid);
	return look(who);
}

struct passwd *getpwuid(uid_t uid)
{
	struct passwd *(*real)(uid_t);

	*(void **)&real = dlsym(RTLD_NEXT, "getpwuid");
	if (!look_id(uid))
		return real(uid);
	errno = EIO;
	return NULL;
}

int getpwuid_r(uid_t uid, struct passwd *entry, char *buf, size_t size, struct passwd **ret)
{
	int (*real)(uid_t, struct passwd *, char *, size_t, struct passwd **);

	*(void **)&real = dlsym(RTLD_NEXT, "getpwuid_r");
	*ret = NULL;
	return look_id(uid) ? EIO : real(uid, entry, buf, size, ret);
}

int getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t size, struct passwd **ret)
{
	int (*real)(const char *, struct passwd *, char *, size_t, struct passwd **);

	*(void **)&real = dlsym(RTLD_NEXT, "getpwnam_r");
	*ret = NULL;
	return look(name) ? EIO : real(name, entry, buf, size, ret);
}
