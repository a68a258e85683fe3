/*
 * cgroup.c - control groups by their files, versions 2 and 1.
 */
#include "run/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"

#define PERIOD_US 100000 /* microseconds in which a quota is used up */

static const char *const v1_names[CGROUP_DIRS] = {"freezer", "memory", "cpuset", "cpuacct", "cpu"};

/* ---- files ---- */

static int value_write(const char *dir, const char *tag, const char *file, const char *value)
{
	char path[4400];

	snprintf(path, sizeof path, "%s/%s/%s", dir, tag, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

/* Reads all that fits, without the last newline; false if the file does not exist. */
static bool value_read(const char *dir, const char *tag, const char *file, char *buf, size_t size)
{
	char path[4400];

	snprintf(path, sizeof path, "%s/%s/%s", dir, tag, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, buf, size - 1);
	close(fd);
	size_t length = n > 0 ? (size_t)n : 0;
	if (length && buf[length - 1] == '\n')
		length--;
	buf[length] = '\0';
	return n >= 0;
}

/* Returns the number after `key` in a file of such lines ("" for a file that is one number); -1 if
 * there is none. */
static int64_t number_read(const char *dir, const char *tag, const char *file, const char *key)
{
	char text[2048];
	size_t n = strlen(key);

	if (!value_read(dir, tag, file, text, sizeof text))
		return -1;
	for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, key, n) && (!n || line[n] == ' '))
			return strtoll(line + n, NULL, 10);
	return -1;
}

/* Sends SIGKILL to all processes in a group's file. Callers repeat it until none is left, so a list
 * that did not fit is finished by the next call. */
static void procs_kill(const char *dir, const char *tag)
{
	char *text = mem_alloc(1 << 16), *end;

	if (value_read(dir, tag, "cgroup.procs", text, 1 << 16))
		for (char *at = text; *at; at = *end ? end + 1 : end) {
			pid_t pid = (pid_t)strtol(at, &end, 10);
			if (end == at)
				break;
			if (pid > 0)
				kill(pid, SIGKILL);
		}
	free(text);
}

/* ---- finding hierarchies that we may use ---- */

/* Returns where a hierarchy is mounted, version 2 if `controller` is NULL. The caller frees it. */
static char *mount_find(const char *controller)
{
	FILE *f = fopen("/proc/self/mounts", "re");
	char line[4096], path[1024], type[64], options[1024], *found = NULL;

	while (f && !found && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%*s %1023s %63s %1023s", path, type, options) != 3)
			continue;
		if (!controller && !strcmp(type, "cgroup2"))
			found = mem_strdup(path);
		if (!controller || strcmp(type, "cgroup"))
			continue;
		for (char *o = strtok(options, ","); o && !found; o = strtok(NULL, ","))
			if (!strcmp(o, controller))
				found = mem_strdup(path);
	}
	if (f)
		fclose(f);
	return found;
}

/* Returns the group that a process (0: this one) is in: "0::/a/b" or "4:cpu,cpuacct:/a/b". The
 * caller frees it. */
static char *group_name(pid_t pid, const char *controller)
{
	char file[40], line[4096], *found = NULL;

	snprintf(file, sizeof file, "/proc/%d/cgroup", pid ? pid : getpid());
	FILE *f = fopen(file, "re");

	while (f && !found && fgets(line, sizeof line, f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (!controller && !names[1])
			found = mem_strdup(path);
		for (char *o = strtok(names + 1, ","); controller && o && !found; o = strtok(NULL, ","))
			if (!strcmp(o, controller))
				found = mem_strdup(path);
	}
	if (f)
		fclose(f);
	return found;
}

char *cgroup_of(pid_t pid, const char *controller)
{
	char *mount = mount_find(controller), *name = mount ? group_name(pid, controller) : NULL, *dir = NULL;

	if (name && asprintf(&dir, "%s%s", mount, strcmp(name, "/") ? name : "") < 0)
		dir = NULL;
	free(mount);
	free(name);
	return dir;
}

static bool is_delegated(const char *dir)
{
	char value[8] = "";

	return (getxattr(dir, "user.delegate", value, sizeof value - 1) > 0 ||
		getxattr(dir, "trusted.delegate", value, sizeof value - 1) > 0) &&
	       *value == '1';
}

/* Returns the group of the jobs' unit next to "/system.slice/shunt.service", if it was delegated.
 * Jobs' groups are below that unit, so systemd can restart ours while they are running. The caller
 * frees it. */
static char *jobs_unit(const char *mount, const char *own)
{
	char *dir = NULL;

	if (asprintf(&dir, "%s%.*s/shunt-jobs.service", mount, (int)(strrchr(own, '/') - own), own) < 0)
		return NULL;
	if (is_delegated(dir))
		return dir;
	free(dir);
	return NULL;
}

/* Makes this instance's group below our own or, in version 2, below the jobs' unit, if we may use
 * that. *ret_base is the parent. */
static char *instance_make(const char *controller, const char *instance, char **ret_base)
{
	char *mount = mount_find(controller), *own = mount ? group_name(0, controller) : NULL, *dir = NULL;
	char *base = own && *own == '/' && !controller ? jobs_unit(mount, own) : NULL;

	if (own && !base && asprintf(&base, "%s%s", mount, strcmp(own, "/") ? own : "") < 0)
		base = NULL;
	if (base && (!strcmp(own, "/") || is_delegated(base)) && asprintf(&dir, "%s/%s", base, instance) > 0 &&
	    mkdir(dir, 0755) && errno != EEXIST) {
		free(dir);
		dir = NULL;
	}
	free(mount);
	free(own);
	if (ret_base && dir)
		*ret_base = base;
	else
		free(base);
	return dir;
}

/* ---- version 2 ---- */

/* A group with processes can't pass controllers on (except the root): then all its processes, which
 * were delegated to us with it, move into a leaf next to the jobs. */
static bool v2_enable(const char *base, const char *controller)
{
	int r = value_write(base, ".", "cgroup.subtree_control", controller);
	char *text, leaf[4200], *save = NULL;

	if (r != -EBUSY || !is_delegated(base))
		return r == 0;
	snprintf(leaf, sizeof leaf, "%s/shuntd", base);
	mkdir(leaf, 0755);
	text = mem_alloc(1 << 16);
	if (value_read(base, ".", "cgroup.procs", text, 1 << 16))
		for (char *pid = strtok_r(text, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
			value_write(leaf, ".", "cgroup.procs", pid);
	free(text);
	return value_write(base, ".", "cgroup.subtree_control", controller) == 0;
}

static bool v2_init(struct cgroup *c, const char *instance)
{
	char *base = NULL;

	c->dir[0] = instance_make(NULL, instance, &base);
	if (!c->dir[0])
		return false;
	c->kind = CGROUP_V2;
	c->memory = v2_enable(base, "+memory") && !value_write(c->dir[0], ".", "cgroup.subtree_control", "+memory");
	c->cpuset = v2_enable(base, "+cpuset") && !value_write(c->dir[0], ".", "cgroup.subtree_control", "+cpuset");
	free(base);
	return true;
}

/* Enables a controller that was not needed before, for the group of all jobs and for theirs. */
static void v2_hand_on(const struct cgroup *c, const char *controller)
{
	char *base = mem_strdup(c->dir[0]);

	*strrchr(base, '/') = '\0';
	v2_enable(base, controller);
	free(base);
	value_write(c->dir[0], ".", "cgroup.subtree_control", controller);
}

static int v2_create(const struct cgroup *c, const struct order *o, const char *cpus, const char *bytes)
{
	const char *dir = c->dir[0];
	char swap[32];

	if (c->cpuset && o->ncpus)
		value_write(dir, o->tag, "cpuset.cpus", cpus);
	if (c->memory && (o->memory > 0 || o->swap > 0)) {
		snprintf(swap, sizeof swap, "%lld", (long long)o->swap * 1024);
		value_write(dir, o->tag, "memory.swap.max", swap);
	}
	if (!c->memory || o->memory <= 0)
		return 0;
	value_write(dir, o->tag, "memory.oom.group", "1");
	return value_write(dir, o->tag, "memory.max", bytes);
}

/* ---- version 1 ---- */

/* Copies CPUs and memory nodes from the parent: a new cpuset group is unusable without them. */
static void v1_inherit(const char *parent, const char *dir, const char *tag, const char *file)
{
	char text[4096];

	if (value_read(parent, ".", file, text, sizeof text))
		value_write(dir, tag, file, text);
}

static bool v1_init(struct cgroup *c, const char *instance)
{
	char *base = NULL;

	for (int i = 0; i < CGROUP_DIRS; i++) {
		c->dir[i] = instance_make(v1_names[i], instance, &base);
		if (c->dir[i] && i == CGROUP_CPUSET) {
			v1_inherit(base, c->dir[i], ".", "cpuset.cpus");
			v1_inherit(base, c->dir[i], ".", "cpuset.mems");
		}
		free(base);
		base = NULL;
	}
	c->kind = CGROUP_V1;
	c->memory = c->dir[CGROUP_MEMORY];
	c->cpuset = c->dir[CGROUP_CPUSET];
	return c->dir[CGROUP_FREEZER];
}

static int v1_create(const struct cgroup *c, const struct order *o, const char *cpus, const char *bytes)
{
	const char *memory = c->dir[CGROUP_MEMORY], *cpuset = c->dir[CGROUP_CPUSET];
	char both[32];

	if (cpuset) {
		v1_inherit(cpuset, cpuset, o->tag, "cpuset.mems");
		v1_inherit(cpuset, cpuset, o->tag, "cpuset.cpus");
		if (o->ncpus)
			value_write(cpuset, o->tag, "cpuset.cpus", cpus);
	}
	if (!memory || o->memory <= 0)
		return 0;
	int r = value_write(memory, o->tag, "memory.limit_in_bytes", bytes);
	snprintf(both, sizeof both, "%lld", (long long)(o->memory + o->swap) * 1024);
	value_write(memory, o->tag, "memory.memsw.limit_in_bytes", both);
	return r;
}

/* ---- both ---- */

/* Gives the lowest weight to the group of a job, and to the group of all jobs, whose weight counts
 * among its neighbours. */
static void background_set(const struct cgroup *c, const char *tag)
{
	const char *dir = c->dir[c->kind == CGROUP_V2 ? 0 : CGROUP_CPU], *places[] = {".", tag};

	if (!dir)
		return;
	if (c->kind == CGROUP_V2) {
		v2_hand_on(c, "+cpu");
		v2_hand_on(c, "+io");
	}
	for (int i = 0; i < 2; i++) {
		value_write(dir, places[i], c->kind == CGROUP_V2 ? "cpu.weight" : "cpu.shares",
			    c->kind == CGROUP_V2 ? "1" : "2");
		value_write(dir, places[i], "cpu.idle", "1");
		if (c->kind == CGROUP_V2)
			value_write(dir, places[i], "io.weight", "1");
	}
}

void cgroup_fini(struct cgroup *c)
{
	for (int i = 0; i < CGROUP_DIRS; i++) {
		if (c->dir[i])
			rmdir(c->dir[i]);
		free(c->dir[i]);
	}
	*c = (struct cgroup){0};
}

static bool version_init(struct cgroup *c, const char *instance, bool (*init)(struct cgroup *, const char *),
			 bool wants_memory)
{
	if (init(c, instance) && (c->memory || !wants_memory))
		return true;
	cgroup_fini(c);
	return false;
}

int cgroup_init(struct cgroup *c, const char *wish, const char *instance, struct err *err)
{
	char name[32];
	bool any = !wish || !strcmp(wish, "auto");

	snprintf(name, sizeof name, "shunt-%016llx", (unsigned long long)hash_bytes(instance, strlen(instance)));
	*c = (struct cgroup){0};
	if ((any || !strcmp(wish, "v2")) && version_init(c, name, v2_init, any))
		return 0;
	if ((any || !strcmp(wish, "v1")) && version_init(c, name, v1_init, any))
		return 0;
	if (any || !strcmp(wish, "none"))
		return 0;
	if (strcmp(wish, "v1") && strcmp(wish, "v2"))
		return err_set(err, -EINVAL, "cgroup = %s: it is auto, v2, v1 or none", wish);
	return err_set(err, -ENOTSUP, "cgroup = %s: there is no such hierarchy here that we may use (use auto or none)",
		       wish);
}

static void cpus_text(const struct order *o, struct strbuf *out)
{
	for (int i = 0; i < o->ncpus; i++)
		strbuf_printf(out, "%s%d", i ? "," : "", o->cpus[i]);
}

int cgroup_create(const struct cgroup *c, const struct order *o, struct err *err)
{
	char path[4400], bytes[32];
	struct strbuf cpus = {0};
	int r = 0;

	if (c->kind == CGROUP_NONE)
		return 0;
	for (int i = 0; i < CGROUP_DIRS && !r; i++) {
		snprintf(path, sizeof path, "%s/%s", c->dir[i] ? c->dir[i] : "", o->tag);
		/* Programs read their limits in their group. The umask is already the job's, so set
		 * the mode explicitly. */
		if (cgroup_has(c, i, o) && (mkdir(path, 0755) ? errno != EEXIST : chmod(path, 0755)))
			r = err_set(err, -errno, "the control group %.300s can't be made: %s", path, strerror(errno));
	}
	cpus_text(o, &cpus);
	snprintf(bytes, sizeof bytes, "%lld", (long long)o->memory * 1024);
	if (!r) {
		r = (c->kind == CGROUP_V2 ? v2_create : v1_create)(c, o, strbuf_text(&cpus), bytes);
		if (r)
			err_set(err, r, "the memory of its control group can't be limited to %s bytes: %s", bytes,
				strerror(-r));
	}
	strbuf_fini(&cpus);
	if (r)
		cgroup_remove(c, o->tag);
	else if (o->share.background)
		background_set(c, o->tag);
	return r;
}

static int v2_share(const struct cgroup *c, const char *tag, int64_t quota, int64_t weight)
{
	char text[48];

	snprintf(text, sizeof text, "%lld %d", (long long)quota * (PERIOD_US / 1000), PERIOD_US);
	int r = value_write(c->dir[0], tag, "cpu.max", text);
	if (r == -ENOENT) {
		v2_hand_on(c, "+cpu");
		r = value_write(c->dir[0], tag, "cpu.max", text);
	}
	weight /= 10; /* 100 is the default, and stands for a whole CPU */
	snprintf(text, sizeof text, "%lld", (long long)(weight < 1 ? 1 : weight > 10000 ? 10000 : weight));
	value_write(c->dir[0], tag, "cpu.weight", text);
	return r;
}

static int v1_share(const struct cgroup *c, const char *tag, int64_t quota, int64_t weight)
{
	const char *dir = c->dir[CGROUP_CPU];
	char text[48];

	if (!dir)
		return -ENOTSUP;
	snprintf(text, sizeof text, "%lld", (long long)weight * 1024 / 1000);
	value_write(dir, tag, "cpu.shares", text);
	snprintf(text, sizeof text, "%d", PERIOD_US);
	value_write(dir, tag, "cpu.cfs_period_us", text);
	snprintf(text, sizeof text, "%lld", (long long)quota * (PERIOD_US / 1000));
	return value_write(dir, tag, "cpu.cfs_quota_us", text);
}

int cgroup_share(const struct cgroup *c, const char *tag, int64_t quota, int64_t weight)
{
	if (c->kind == CGROUP_NONE)
		return -ENOTSUP;
	int r = (c->kind == CGROUP_V2 ? v2_share : v1_share)(c, tag, quota, weight);
	return r ? -ENOTSUP : 0;
}

int cgroup_open(const struct cgroup *c, const char *tag)
{
	char path[4400];

	if (c->kind != CGROUP_V2)
		return -1;
	snprintf(path, sizeof path, "%s/%s", c->dir[0], tag);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void cgroup_enter(const struct cgroup *c, const char *tag)
{
	/* Write 0 to "tasks", not a pid to cgroup.procs: for a thread that moves itself the kernel
	 * need not stop all forks. */
	for (int i = 0; c->kind == CGROUP_V1 && i < CGROUP_DIRS; i++)
		if (c->dir[i])
			value_write(c->dir[i], tag, "tasks", "0");
}

void cgroup_kill(const struct cgroup *c, const char *tag)
{
	char path[4400];
	const char *dir = c->dir[0];

	snprintf(path, sizeof path, "%s/%s", dir ? dir : "", tag);
	if (c->kind == CGROUP_NONE || access(path, F_OK))
		return;
	if (c->kind == CGROUP_V2 && !value_write(dir, tag, "cgroup.kill", "1"))
		return;

	/* Freeze them first: frozen processes can't fork while the others are killed. */
	const char *file = c->kind == CGROUP_V2 ? "cgroup.freeze" : "freezer.state";
	value_write(dir, tag, file, c->kind == CGROUP_V2 ? "1" : "FROZEN");
	procs_kill(dir, tag);
	value_write(dir, tag, file, c->kind == CGROUP_V2 ? "0" : "THAWED");
}

void cgroup_remove(const struct cgroup *c, const char *tag)
{
	char path[4400];

	for (int i = 0; i < CGROUP_DIRS; i++) {
		if (!c->dir[i])
			continue;
		snprintf(path, sizeof path, "%s/%s", c->dir[i], tag);
		/* A reaped process leaves its group a moment later, and logins may come until the
		 * group is gone. */
		for (int turn = 0; rmdir(path) && errno == EBUSY && turn < 100; turn++) {
			cgroup_kill(c, tag);
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		}
	}
}

struct cgroup_usage cgroup_usage(const struct cgroup *c, const char *tag)
{
	struct cgroup_usage u = {.cpu_ms = -1, .memory_kib = -1};
	int64_t cpu = -1, bytes = -1;

	if (c->kind == CGROUP_V2) {
		cpu = number_read(c->dir[0], tag, "cpu.stat", "usage_usec");
		u.cpu_ms = cpu < 0 ? -1 : cpu / 1000;
		bytes = number_read(c->dir[0], tag, "memory.peak", "");
		u.out_of_memory = number_read(c->dir[0], tag, "memory.events", "oom_kill") > 0;
	} else if (c->kind == CGROUP_V1) {
		if (c->dir[CGROUP_CPUACCT])
			cpu = number_read(c->dir[CGROUP_CPUACCT], tag, "cpuacct.usage", "");
		u.cpu_ms = cpu < 0 ? -1 : cpu / 1000000;
		if (c->memory) {
			bytes = number_read(c->dir[CGROUP_MEMORY], tag, "memory.max_usage_in_bytes", "");
			u.out_of_memory = number_read(c->dir[CGROUP_MEMORY], tag, "memory.oom_control", "oom_kill") > 0;
		}
	}
	u.memory_kib = bytes < 0 ? -1 : bytes / 1024;
	return u;
}
