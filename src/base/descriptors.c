/*
 * descriptors.c - the soft limit on open files.
 */
#include "base/descriptors.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>

#define WANTED 65536

static struct rlimit given;
static bool raised;

void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= WANTED)
		return;
	if (!raised)
		given = limit;
	limit.rlim_cur = limit.rlim_max < WANTED ? limit.rlim_max : WANTED;
	raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int descriptors_left(void)
{
	struct rlimit limit;
	rlim_t open = 0;
	DIR *d = opendir("/proc/self/fd");

	while (d && readdir(d)) /* includes ".", ".." and the directory itself */
		open++;
	if (d)
		closedir(d);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= INT_MAX)
		return INT_MAX;
	return limit.rlim_cur > open ? (int)(limit.rlim_cur - open) : 0;
}

bool descriptors_lower(void)
{
	return raised && setrlimit(RLIMIT_NOFILE, &given) == 0;
}
