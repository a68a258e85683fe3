/*
 * facts.c - what this machine has: processors in hwloc's order (neighbours first), memory, GPUs,
 * and how fast it is.
 */
#include "agent/facts.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <utmpx.h>

#include "base/amount.h"
#include "base/codec.h"
#include "base/mem.h"
#include "base/names.h"
#include "engine/frames.h"
#include "run/capacity.h"
#include "run/cgroup.h"

#define SPEED_ROUNDS 3
#define SPEED_STEPS 4000000 /* takes some milliseconds */

/* Reads the rest of the first line that begins with `key`, without quotes; "" if there is none. */
static void line_of(const char *path, const char *key, char *ret, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[512];
	size_t n = strlen(key);

	*ret = '\0';
	while (f && fgets(line, sizeof line, f)) {
		if (strncmp(line, key, n) != 0)
			continue;
		const char *at = line + n + strspn(line + n, " \t:=\"");
		snprintf(ret, size, "%.*s", (int)strcspn(at, "\"\n"), at);
		break;
	}
	if (f)
		fclose(f);
}

/* ---- processors ---- */

static void model_of(hwloc_topology_t t, char *ret, size_t size)
{
	hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
	const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

	if (model)
		snprintf(ret, size, "%s", model);
	else
		line_of("/proc/cpuinfo", "model name", ret, size);
}

static int count_of(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);

	return n > 0 ? n : 1;
}

/* Adds the processors that this process may use. Leaves out hwloc's plugins, which would load and
 * keep GPU drivers and display libraries. */
static int processors(struct facts *f, struct err *err)
{
	hwloc_topology_t t;

	setenv("HWLOC_PLUGINS_PATH", "", 0);
	if (hwloc_topology_init(&t) < 0 || hwloc_topology_load(t) < 0)
		return err_set(err, -EIO, "hwloc can't read this machine's processors");
	f->cpus = f->nos_cpus = f->nnuma_cpus = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
	f->os_cpus = mem_zalloc(((size_t)f->cpus + 1) * sizeof *f->os_cpus);
	f->numa_cpus = mem_zalloc(((size_t)f->cpus + 1) * sizeof *f->numa_cpus);
	for (int i = 0; i < f->cpus; i++) {
		hwloc_obj_t cpu = hwloc_get_obj_by_type(t, HWLOC_OBJ_PU, (unsigned)i);
		f->os_cpus[i] = (int)cpu->os_index;
		f->numa_cpus[i] = cpu->nodeset ? hwloc_bitmap_first(cpu->nodeset) : -1;
	}
	f->sockets = count_of(t, HWLOC_OBJ_PACKAGE);
	f->cores = count_of(t, HWLOC_OBJ_CORE);
	f->numa = count_of(t, HWLOC_OBJ_NUMANODE);
	model_of(t, f->model, sizeof f->model);
	hwloc_topology_destroy(t);
	return 0;
}

/* ---- the rest ---- */

/* Uses another name than the nursery's, so that the two don't interfere. */
static const char *cgroup_found(const char *wish)
{
	static const char *const kinds[] = {[CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_V2] = "v2"};
	struct cgroup c;
	char name[64];
	const char *kind = "none";

	snprintf(name, sizeof name, "facts-%d", getpid());
	if (cgroup_init(&c, wish, name, NULL) == 0) {
		kind = kinds[c.kind];
		cgroup_fini(&c);
	}
	return kind;
}

static int64_t memory_kib(void)
{
	return (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024);
}

int facts_collect(const char *cgroup, const char *directory, struct facts *ret, struct err *err)
{
	int64_t limit = capacity_limit("/proc/self/cgroup", "/sys/fs/cgroup");
	struct utsname u;
	int rc;

	*ret = (struct facts){.memory = memory_kib(),
			      .disk = capacity_disk(directory),
			      .swap = capacity_swap(),
			      .speed = (int64_t)(capacity_speed(SPEED_ROUNDS, SPEED_STEPS) / 1e6)};
	rc = processors(ret, err);
	if (rc < 0)
		return rc;
	if (limit >= 0 && limit < ret->memory)
		ret->memory = limit;
	capacity_gpus(&ret->gpu_names);
	ret->gpus = (int)ret->gpu_names.n;
	uname(&u);
	snprintf(ret->kernel, sizeof ret->kernel, "%s", u.release);
	gethostname(ret->hostname, sizeof ret->hostname - 1);
	line_of("/etc/os-release", "PRETTY_NAME", ret->os, sizeof ret->os);
	snprintf(ret->cgroup, sizeof ret->cgroup, "%s", cgroup_found(cgroup));
	return 0;
}

void facts_fini(struct facts *f)
{
	free(f->os_cpus);
	free(f->numa_cpus);
	name_list_free(&f->gpu_names);
}

/* Returns this node's part of a value that all processors of the machine share. */
static int64_t part_of(int64_t all, int cpus, int there)
{
	return cpus < there ? all / there * cpus : all;
}

void facts_limit(struct facts *f, int cpus, int64_t memory)
{
	int64_t limit = f->memory;

	if (cpus > 0 && cpus != f->cpus) {
		if (limit == memory_kib() && memory <= 0) /* otherwise its size is known */
			f->memory = part_of(limit, cpus, f->cpus);
		f->disk = part_of(f->disk, cpus, f->cpus);
		f->swap = part_of(f->swap, cpus, f->cpus);
		f->cpus = cpus;
		f->nos_cpus = f->nnuma_cpus = 0;
	}
	if (memory > 0 && memory < limit)
		f->memory = memory;
}

void facts_say(const struct facts *f, char *ret, size_t size)
{
	char count[32] = "no", memory[32];

	if (f->gpus)
		snprintf(count, sizeof count, "%d", f->gpus);
	snprintf(ret, size, "%d CPU%s, %s, %s GPU%s", f->cpus, f->cpus == 1 ? "" : "s",
		 memory_human(f->memory, memory, sizeof memory), count, f->gpus == 1 ? "" : "s");
}

bool facts_differ(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)a, key, value)
	{
		if (strcmp(key, "speed") != 0 && !json_equal(value, json_object_get(b, key)))
			return true;
	}
	return false;
}

static int users_count(void)
{
	struct names seen = {0};
	int n;

	setutxent();
	for (struct utmpx *u; (u = getutxent());) {
		char name[sizeof u->ut_user + 1] = "";
		memcpy(name, u->ut_user, sizeof u->ut_user);
		if (u->ut_type == USER_PROCESS && *name)
			names_add(&seen, name);
	}
	endutxent();
	n = (int)seen.n;
	names_fini(&seen);
	return n;
}

void facts_now(const char *directory, struct host_state *ret)
{
	struct statvfs disk;
	char text[64];

	*ret = (struct host_state){.users = users_count(), .disk_free = -1};
	if (statvfs(directory, &disk) == 0)
		ret->disk_free = (int64_t)((double)disk.f_bavail * (double)disk.f_frsize / 1024);
	getloadavg(&ret->load, 1);
	line_of("/proc/meminfo", "MemAvailable", text, sizeof text);
	ret->memory_free = strtoll(text, NULL, 10);
}
