/*
 * capacity.c - see capacity.h.
 */
#include "run/capacity.h"

#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <time.h>

int64_t capacity_disk(const char *directory)
{
	struct statvfs fs;

	if (statvfs(directory, &fs) != 0)
		return 0;
	return (int64_t)((double)(fs.f_blocks - fs.f_bfree + fs.f_bavail) * (double)fs.f_frsize / 1024);
}

int64_t capacity_swap(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? (int64_t)((double)info.totalswap * (double)info.mem_unit / 1024) : 0;
}

double capacity_speed(int rounds, int steps)
{
	struct timespec from, to;
	volatile uint64_t sink;
	double best = 0;

	for (int round = 0; round < rounds; round++) {
		uint64_t x = 88172645463325252u + (uint64_t)round;
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < steps; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		sink = x;
		double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
		double speed = seconds > 0 ? 6.0 * steps / seconds : 0;
		best = speed > best ? speed : best;
	}
	(void)sink;
	return best;
}
