/*
 * still.c - linked into a program of Shunt: the clock that it reads stands still at SHUNT_STILL
 * seconds, and the machine's name is "pine". Durations are measured as always.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

time_t __wrap_time(time_t *ret);
int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __real_uname(struct utsname *ret);
int __wrap_uname(struct utsname *ret);

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

int __wrap_uname(struct utsname *ret)
{
	int rc = __real_uname(ret);

	strcpy(ret->nodename, "pine");
	return rc;
}
