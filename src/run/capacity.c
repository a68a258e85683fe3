/*
 * capacity.c - see capacity.h.
 */
#include "run/capacity.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <time.h>

/* bytes: version 1 of control groups uses a number of this size for "no limit" */
#define LIMIT_NONE (INT64_C(1) << 60)

int64_t capacity_disk(const char *directory)
{
	struct statvfs fs;

	if (statvfs(directory, &fs) != 0)
		return 0;
	return (int64_t)((double)(fs.f_blocks - fs.f_bfree + fs.f_bavail) * (double)fs.f_frsize / 1024);
}

/* Reads the number in a group's file; -1 if there is none, such as "max". */
static int64_t limit_read(const char *root, const char *group, const char *name)
{
	char path[4096 + 256];
	long long bytes = -1;

	snprintf(path, sizeof path, "%s%s/%s", root, group, name);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%lld", &bytes) != 1)
		bytes = -1;
	if (f)
		fclose(f);
	return bytes < 0 || bytes >= LIMIT_NONE ? -1 : bytes / 1024;
}

/* Returns the smallest limit of a group and the groups above it. */
static int64_t limit_least(const char *root, char *group, const char *name)
{
	int64_t least = -1, here;

	for (char *end; *group; *end = '\0') {
		here = limit_read(root, group, name);
		least = here >= 0 && (least < 0 || here < least) ? here : least;
		end = strrchr(group, '/');
		if (!end)
			break;
	}
	return least;
}

int64_t capacity_limit(const char *groups, const char *root)
{
	char line[4096], old[512];
	int64_t least = -1, here;
	FILE *f = fopen(groups, "re");

	snprintf(old, sizeof old, "%s/memory", root);
	while (f && fgets(line, sizeof line, f)) {
		char *kind = strchr(line, ':'), *group = kind ? strchr(kind + 1, ':') : NULL;
		line[strcspn(line, "\n")] = '\0';
		if (!group || group[1] != '/')
			continue;
		*group++ = '\0';
		here = !kind[1]				 ? limit_least(root, group, "memory.max")
		       : strcmp(kind + 1, "memory") == 0 ? limit_least(old, group, "memory.limit_in_bytes")
							 : -1;
		least = here >= 0 && (least < 0 || here < least) ? here : least;
	}
	if (f)
		fclose(f);
	return least;
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
