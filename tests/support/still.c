/*
 * still.c - linked into a program of Shunt: the clock that it reads stands still at SHUNT_STILL
 * seconds, and the machine's name is "pine". Durations are measured as always, but with SHUNT_HURRY
 * in its environment it waits for nothing longer than a moment.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define MOMENT_MS 20
#define LONG_MS 4000 /* an answer may take this long: not a pause */

time_t __wrap_time(time_t *ret);
int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __real_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret);
int __real_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret);
int __real_uname(struct utsname *ret);
int __wrap_uname(struct utsname *ret);
int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);
unsigned __real_sleep(unsigned seconds);
unsigned __wrap_sleep(unsigned seconds);
int __real_usleep(useconds_t us);
int __wrap_usleep(useconds_t us);

time_t __wrap_time(time_t *ret)
{
	const char *text = getenv("SHUNT_STILL");
	time_t now = text ? (time_t)atoll(text) : 0;

	if (ret)
		*ret = now;
	return now;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	if (id != CLOCK_REALTIME)
		return __real_clock_gettime(id, ret);
	*ret = (struct timespec){.tv_sec = __wrap_time(NULL)};
	return 0;
}

/* What is opened was changed just now: the time of a change that is kept for a server. */
static int changed_now(int rc, struct stat *ret)
{
	if (getenv("SHUNT_STILL"))
		ret->st_ctim = (struct timespec){.tv_sec = __wrap_time(NULL)};
	return rc;
}

int __wrap_fstat(int fd, struct stat *ret)
{
	return changed_now(__real_fstat(fd, ret), ret);
}

/* The same by its name in a 64-bit C library. */
int __wrap_fstat64(int fd, struct stat *ret)
{
	return changed_now(__real_fstat64(fd, ret), ret);
}

int __wrap_uname(struct utsname *ret)
{
	int rc = __real_uname(ret);

	strcpy(ret->nodename, "pine");
	return rc;
}

/* A pause takes no time in a hurry; what else is waited for may have ended or not. */
int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
	if (ms > 0 && ms < LONG_MS && getenv("SHUNT_HURRY"))
		ms = !n ? 0 : ms < MOMENT_MS ? ms : MOMENT_MS;
	return __real_poll(p, n, ms);
}

unsigned __wrap_sleep(unsigned seconds)
{
	return getenv("SHUNT_HURRY") ? 0 : __real_sleep(seconds);
}

int __wrap_usleep(useconds_t us)
{
	return getenv("SHUNT_HURRY") ? 0 : __real_usleep(us);
}
