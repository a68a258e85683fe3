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

#include "base/hostlist.h"
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

static json_t *count_of(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);

	return json_integer(n > 0 ? n : 1);
}

/* Adds the processors that this process may use. Leaves out hwloc's plugins, which would load and
 * keep GPU drivers and display libraries. */
static int processors(json_t *facts, struct err *err)
{
	hwloc_topology_t t;
	json_t *os = json_array(), *numa = json_array();
	char model[256];

	setenv("HWLOC_PLUGINS_PATH", "", 0);
	if (hwloc_topology_init(&t) < 0 || hwloc_topology_load(t) < 0) {
		json_decref(os);
		json_decref(numa);
		return err_set(err, -EIO, "hwloc can't read this machine's processors");
	}
	for (int i = 0, n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU); i < n; i++) {
		hwloc_obj_t cpu = hwloc_get_obj_by_type(t, HWLOC_OBJ_PU, (unsigned)i);
		json_array_append_new(os, json_integer(cpu->os_index));
		json_array_append_new(numa, json_integer(cpu->nodeset ? hwloc_bitmap_first(cpu->nodeset) : -1));
	}
	json_object_set_new(facts, "cpus", json_integer((json_int_t)json_array_size(os)));
	json_object_set_new(facts, "os_cpus", os);
	json_object_set_new(facts, "numa_cpus", numa);
	json_object_set_new(facts, "sockets", count_of(t, HWLOC_OBJ_PACKAGE));
	json_object_set_new(facts, "cores", count_of(t, HWLOC_OBJ_CORE));
	json_object_set_new(facts, "numa", count_of(t, HWLOC_OBJ_NUMANODE));
	model_of(t, model, sizeof model);
	json_object_set_new(facts, "model", json_string(model));
	hwloc_topology_destroy(t);
	return 0;
}

/* ---- GPUs ---- */

static void gpus(json_t *facts)
{
	name_list names = {0};
	json_t *list = json_array();

	capacity_gpus(&names);
	for (size_t i = 0; i < names.n; i++)
		json_array_append_new(list, json_string(names.v[i]));
	json_object_set_new(facts, "gpus", json_integer((json_int_t)names.n));
	json_object_set_new(facts, "gpu_names", list);
	name_list_free(&names);
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

int facts_collect(const char *cgroup, const char *directory, json_t **ret, struct err *err)
{
	json_t *facts = json_object();
	struct utsname u;
	char os[256], host[256] = "";
	int rc = processors(facts, err);

	if (rc < 0) {
		json_decref(facts);
		return rc;
	}
	uname(&u);
	gethostname(host, sizeof host - 1);
	line_of("/etc/os-release", "PRETTY_NAME", os, sizeof os);
	gpus(facts);
	int64_t there = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024),
		limit = capacity_limit("/proc/self/cgroup", "/sys/fs/cgroup");
	json_object_set_new(facts, "memory", json_integer((json_int_t)(limit >= 0 && limit < there ? limit : there)));
	json_object_set_new(facts, "disk", json_integer((json_int_t)capacity_disk(directory)));
	json_object_set_new(facts, "swap", json_integer((json_int_t)capacity_swap()));
	json_object_set_new(facts, "speed",
			    json_integer((json_int_t)(capacity_speed(SPEED_ROUNDS, SPEED_STEPS) / 1e6)));
	json_object_set_new(facts, "kernel", json_string(u.release));
	json_object_set_new(facts, "os", json_string(os));
	json_object_set_new(facts, "hostname", json_string(host));
	json_object_set_new(facts, "cgroup", json_string(cgroup_found(cgroup)));
	*ret = facts;
	return 0;
}

/* Reduces a value that all processors of the machine share to this node's part. */
static void part_set(json_t *facts, const char *key, json_int_t cpus, json_int_t there)
{
	json_int_t all = json_integer_value(json_object_get(facts, key));

	if (cpus < there)
		json_object_set_new(facts, key, json_integer(all / there * cpus));
}

void facts_limit(json_t *facts, int cpus, int64_t memory)
{
	json_int_t there = json_integer_value(json_object_get(facts, "cpus")),
		   limit = json_integer_value(json_object_get(facts, "memory"));
	bool whole = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024) == limit;

	if (cpus > 0 && cpus != there) {
		json_object_set_new(facts, "cpus", json_integer(cpus));
		json_object_del(facts, "os_cpus");
		json_object_del(facts, "numa_cpus");
		if (whole && memory <= 0) /* otherwise its size is known */
			part_set(facts, "memory", cpus, there);
		part_set(facts, "disk", cpus, there);
		part_set(facts, "swap", cpus, there);
	}
	if (memory > 0 && memory < limit)
		json_object_set_new(facts, "memory", json_integer((json_int_t)memory));
}

void facts_say(const json_t *facts, char *ret, size_t size)
{
	json_int_t cpus = json_integer_value(json_object_get(facts, "cpus"));
	json_int_t number = json_integer_value(json_object_get(facts, "gpus"));
	json_int_t kib = json_integer_value(json_object_get(facts, "memory"));
	bool small = kib < 2 << 20;
	char count[32] = "no";

	if (number)
		snprintf(count, sizeof count, "%lld", (long long)number);
	snprintf(ret, size, "%lld CPU%s, %lld %s, %s GPU%s", (long long)cpus, cpus == 1 ? "" : "s",
		 (long long)(kib >> (small ? 10 : 20)), small ? "MiB" : "GiB", count, number == 1 ? "" : "s");
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
