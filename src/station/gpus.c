/*
 * gpus.c - see gpus.h.
 */
#include "station/gpus.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RENDER_FIRST 128

/* Device numbers of the GPUs, by index. */
struct gpus {
	char path[OWNER_GPUS_MOST][64];
	int n;
};

static void gpu_add(struct gpus *g, const char *dev, const char *name, int number)
{
	struct stat st;

	snprintf(g->path[g->n], sizeof g->path[0], "%.40s/%s%d", dev, name, number);
	if (stat(g->path[g->n], &st) == 0)
		g->n++;
}

static bool is_amd(int number)
{
	char path[80], driver[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof path, "/sys/class/drm/renderD%d/device/driver", number);
	n = readlink(path, driver, sizeof driver - 1);
	driver[n > 0 ? n : 0] = '\0';
	return strrchr(driver, '/') && strcmp(strrchr(driver, '/') + 1, "amdgpu") == 0;
}

static void gpus_find(struct gpus *g, const char *dev)
{
	g->n = 0;
	for (int i = 0; i < OWNER_GPUS_MOST && g->n < OWNER_GPUS_MOST; i++)
		gpu_add(g, dev, "nvidia", i);
	for (int i = RENDER_FIRST; i < RENDER_FIRST + OWNER_GPUS_MOST && g->n < OWNER_GPUS_MOST; i++)
		if (is_amd(i))
			gpu_add(g, dev, "dri/renderD", i);
}

static uint64_t process_gpus(const struct gpus *g, const char *pid)
{
	char path[PATH_MAX], target[64];
	uint64_t found = 0;

	snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof target - 1);
		target[n > 0 ? n : 0] = '\0';
		for (int i = 0; i < g->n && n > 0; i++)
			if (strcmp(target, g->path[i]) == 0)
				found |= UINT64_C(1) << i;
	}
	if (d)
		closedir(d);
	return found;
}

uint64_t owner_gpus(const char *dev, const pid_list *ours)
{
	struct gpus g;
	uint64_t found = 0;

	gpus_find(&g, dev);
	DIR *d = g.n ? opendir("/proc") : NULL;
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t pid = (pid_t)atoi(e->d_name);
		if (pid > 0 && pid != getpid() && !pid_list_has(ours, pid))
			found |= process_gpus(&g, e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

int gpus_count(const char *dev)
{
	struct gpus g;

	gpus_find(&g, dev);
	return g.n;
}
