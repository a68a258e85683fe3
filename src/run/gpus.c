/*
 * gpus.c - the GPUs of this machine as shown by their drivers, without any vendor's library.
 */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "run/capacity.h"

#define GPUS_MOST 256

/* Returns the directory whose dev, proc and sys are read. */
static const char *root(void)
{
	const char *dir = getenv("SHUNT_GPU_ROOT");

	return dir ? dir : "";
}

/* Reads the rest of the first line that begins with `key`; "" if there is none. */
static void line_read(const char *path, const char *key, char *ret, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[512];
	size_t n = strlen(key);

	*ret = '\0';
	while (f && !*ret && fgets(line, sizeof line, f)) {
		const char *at = line + n;
		if (strncmp(line, key, n) != 0)
			continue;
		at += strspn(at, " \t:");
		snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
	}
	if (f)
		fclose(f);
}

/* Marks the numbers that follow a prefix in the names of a directory. */
static void numbers_find(const char *where, const char *prefix, bool ret[GPUS_MOST])
{
	char path[PATH_MAX];
	size_t n = strlen(prefix);

	snprintf(path, sizeof path, "%s%s", root(), where);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		char *end;
		if (strncmp(e->d_name, prefix, n) != 0 || !isdigit((unsigned char)e->d_name[n]))
			continue;
		long number = strtol(e->d_name + n, &end, 10);
		if (!*end && number >= 0 && number < GPUS_MOST)
			ret[number] = true;
	}
	if (d)
		closedir(d);
}

static void nvidia_name(int number, char *ret, size_t size)
{
	char dir[PATH_MAX], path[PATH_MAX + 300], text[64];

	*ret = '\0';
	snprintf(dir, sizeof dir, "%s/proc/driver/nvidia/gpus", root());
	DIR *d = opendir(dir);
	for (struct dirent *e; d && !*ret && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s/information", dir, e->d_name);
		line_read(path, "Device Minor", text, sizeof text);
		if (*text && atoi(text) == number)
			line_read(path, "Model", ret, size);
	}
	if (d)
		closedir(d);
	if (!*ret)
		snprintf(ret, size, "NVIDIA GPU");
}

static void nvidia_list(name_list *names)
{
	bool there[GPUS_MOST] = {false};
	char name[128];

	numbers_find("/dev", "nvidia", there);
	for (int i = 0; i < GPUS_MOST; i++) {
		if (!there[i])
			continue;
		nvidia_name(i, name, sizeof name);
		vec_push(names, mem_strdup(name));
	}
}

static void amd_list(name_list *names)
{
	bool there[GPUS_MOST] = {false};
	char path[PATH_MAX], driver[PATH_MAX], name[128];

	numbers_find("/sys/class/drm", "renderD", there);
	for (int i = 0; i < GPUS_MOST; i++) {
		if (!there[i])
			continue;
		snprintf(path, sizeof path, "%s/sys/class/drm/renderD%d/device/driver", root(), i);
		ssize_t n = readlink(path, driver, sizeof driver - 1);
		driver[n > 0 ? n : 0] = '\0';
		const char *slash = strrchr(driver, '/');
		if (!slash || strcmp(slash + 1, "amdgpu") != 0)
			continue;
		snprintf(path, sizeof path, "%s/sys/class/drm/renderD%d/device/product_name", root(), i);
		line_read(path, "", name, sizeof name);
		vec_push(names, mem_strdup(*name ? name : "AMD GPU"));
	}
}

void capacity_gpus(name_list *ret)
{
	const char *fake = getenv("SHUNT_FAKE_GPUS");

	for (int i = 0; fake && i < atoi(fake) && i < GPUS_MOST; i++)
		vec_push(ret, mem_strdup("fake GPU"));
	if (fake)
		return;
	nvidia_list(ret);
	amd_list(ret);
}
