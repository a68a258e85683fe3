/*
 * pool_load.c - see pool_load.h. For the machine it reads /proc/stat and /proc/meminfo; for a
 * control group cpu.stat and cpu.max, or their counterparts of version 1.
 */
#include "station/pool_load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "run/capacity.h"

#define WINDOW_MS 60000.0
#define SPEED_ROUNDS 5
#define SPEED_STEPS 500000

struct pool_load {
	char *cgroup;
	char *beside; /* the same group of cpuacct, if that has a separate hierarchy */
	double speed; /* speed of one processor on an idle machine */
	int cpus;     /* number of processors */
	double share; /* processors that the quota leaves */
	double idle, free;
	double busy_ms; /* processor time used so far by all processes */
	int64_t looked, ours_ms;
};

/* Reads the number after a word at the beginning of a line, or of the whole file if the word is
 * "". */
static bool number_read(const char *dir, const char *name, const char *word, double *ret)
{
	char path[4200], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "%.4000s/%s", dir, name);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = strncmp(line, word, strlen(word)) == 0 && sscanf(line + strlen(word), "%lf", ret) == 1;
	if (f)
		fclose(f);
	return found;
}

/* Returns the processor time used so far, ms. */
static double busy_read(const struct pool_load *l)
{
	double v[8] = {0}, us;
	FILE *f;

	if (l->cgroup) {
		if (number_read(l->cgroup, "cpu.stat", "usage_usec ", &us))
			return us / 1e3;
		return number_read(l->cgroup, "cpuacct.usage", "", &us) ||
				       number_read(l->beside, "cpuacct.usage", "", &us)
			       ? us / 1e6
			       : 0;
	}
	f = fopen("/proc/stat", "re");
	if (!f || fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
			 &v[7]) != 8)
		memset(v, 0, sizeof v);
	if (f)
		fclose(f);
	return (v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

/* Returns the processors that the quota leaves; 0: no quota. */
static double quota_read(const char *cgroup)
{
	double quota = 0, period = 0;
	char path[4200];
	FILE *f;

	snprintf(path, sizeof path, "%.4000s/cpu.max", cgroup);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%lf %lf", &quota, &period) != 2)
			quota = 0;
		fclose(f);
	} else if (!number_read(cgroup, "cpu.cfs_quota_us", "", &quota) ||
		   !number_read(cgroup, "cpu.cfs_period_us", "", &period)) {
		quota = 0;
	}
	return quota > 0 && period > 0 ? quota / period : 0;
}

static char *beside_find(const char *cgroup)
{
	static const char cpu[] = "/cpu/";
	const char *at = strstr(cgroup, cpu);
	struct strbuf path = {0};

	strbuf_puts(&path, cgroup);
	if (at) {
		strbuf_clear(&path);
		strbuf_printf(&path, "%.*s/cpuacct/%s", (int)(at - cgroup), cgroup, at + strlen(cpu));
	}
	return path.text;
}

struct pool_load *pool_load_create(const char *cgroup, double speed, int cpus)
{
	struct pool_load *l = mem_zalloc(sizeof *l);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	double quota = cgroup ? quota_read(cgroup) : 0;

	l->cgroup = cgroup ? mem_strdup(cgroup) : NULL;
	l->beside = cgroup ? beside_find(cgroup) : NULL;
	l->speed = speed > 0 ? speed : fmax(capacity_speed(SPEED_ROUNDS, SPEED_STEPS) / 1e9, 0.001);
	l->share = quota > 0 && quota < (double)online ? quota : (double)(online > 0 ? online : 1);
	l->cpus = cpus > 0 ? cpus : (int)fmax(1, floor(l->share));
	if (speed <= 0 && l->share < 1) /* a part of a processor counts as a slower one */
		l->speed *= l->share;
	l->idle = l->free = 1;
	l->looked = -1;
	return l;
}

void pool_load_free(struct pool_load *l)
{
	if (!l)
		return;
	free(l->cgroup);
	free(l->beside);
	free(l);
}

void pool_load_look(struct pool_load *l, int64_t now_ms, int64_t ours_ms)
{
	double busy = busy_read(l), passed = (double)(now_ms - l->looked) * l->share;

	if (l->looked >= 0 && passed > 0) {
		double weight = 1 - exp(-(double)(now_ms - l->looked) / WINDOW_MS);
		double used = fmin(1, fmax(0, (busy - l->busy_ms) / passed));
		/* it shrinks when a task ends without a result */
		double ours = fmax(0, (double)(ours_ms - l->ours_ms));
		double others = fmin(1, fmax(0, (busy - l->busy_ms - ours) / passed));
		l->idle += weight * (1 - used - l->idle);
		l->free += weight * (1 - others - l->free);
	}
	l->busy_ms = busy;
	l->ours_ms = ours_ms;
	l->looked = now_ms;
}

void pool_load_report(const struct pool_load *l, struct peer_report *ret)
{
	double kib = 0, limit;
	struct utsname u;

	ret->load.speed = l->speed;
	ret->load.idle = l->idle;
	ret->load.free = l->free;
	ret->cpus = l->cpus;
	number_read("/proc", "meminfo", "MemAvailable:", &kib);
	if (l->cgroup && number_read(l->cgroup, "memory.max", "", &limit))
		kib = fmin(kib, limit / 1024);
	ret->memory = (int64_t)kib;
	snprintf(ret->arch, sizeof ret->arch, "%.*s", PEER_ARCH_SIZE - 1, uname(&u) == 0 ? u.machine : "unknown");
}
