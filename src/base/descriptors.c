/*
 * descriptors.c - the soft limit of open files.
 */
#include "base/descriptors.h"

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

bool descriptors_lower(void)
{
	return raised && setrlimit(RLIMIT_NOFILE, &given) == 0;
}
