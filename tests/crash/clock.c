/*
 * clock.c - a wall clock that the test sets: preloaded, it adds the seconds in $SHUNT_TEST_CLOCK to
 * CLOCK_REALTIME. With SHUNT_TEST_CLOCK_SLOW=N it goes N times as slowly from the first look at it:
 * on a busy machine nothing becomes due meanwhile.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t step(void)
{
	static const volatile int64_t *seconds;
	static const int64_t none;

	if (!seconds) {
		const char *path = getenv("SHUNT_TEST_CLOCK");
		int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, fd, 0);
		seconds = at == MAP_FAILED ? &none : at;
		if (fd >= 0)
			close(fd);
	}
	return *seconds;
}

static void slow_down(struct timespec *ts)
{
	static struct timespec first;
	static int64_t factor;
	int64_t passed;

	if (factor == 0) {
		const char *text = getenv("SHUNT_TEST_CLOCK_SLOW");
		first = *ts;
		factor = text && atoll(text) > 1 ? atoll(text) : 1;
	}
	passed = ((int64_t)(ts->tv_sec - first.tv_sec) * 1000000000 + (ts->tv_nsec - first.tv_nsec)) / factor;
	ts->tv_sec = first.tv_sec + (time_t)((first.tv_nsec + passed) / 1000000000);
	ts->tv_nsec = (long)((first.tv_nsec + passed) % 1000000000);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);

	if (r == 0 && id == CLOCK_REALTIME) {
		slow_down(ts);
		ts->tv_sec += step();
	}
	return r;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

int gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
	return 0;
}
