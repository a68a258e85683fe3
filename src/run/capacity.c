/*
 * capacity.c - see capacity.h.
 */
#include "run/capacity.h"

#include <sys/statvfs.h>
#include <sys/sysinfo.h>

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
