/*
 * test_agent_facts.c - what an agent knows of its machine and keeps of its cluster: facts, health,
 * files; and whom it gives them to.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <utmpx.h>

#include <cmocka.h>

#include "agent/agent_internal.h"
#include "agent/ask.h"
#include "agent/facts.h"
#include "agent/health.h"
#include "agent/home.h"
#include "base/codec.h"
#include "client/tray.h"
#include "engine/frames.h"
#include "run/capacity.h"
#include "tls/pki.h"

static char dir[64];

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int setup(void **state)
{
	snprintf(dir, sizeof dir, "/tmp/shunt-agent-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return nftw(dir, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- facts ---- */

static json_int_t number(const json_t *facts, const char *key)
{
	return json_integer_value(json_object_get(facts, key));
}

static void file_make(const char *under, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, under);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/%s/%s", dir, under, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* What control groups leave of the memory: the least of a group and of those above it. */
static void test_limit(void **state)
{
	char groups[128], root[128];

	snprintf(groups, sizeof groups, "%s/groups/self", dir);
	snprintf(root, sizeof root, "%s/groups", dir);
	file_make("groups", "self", "0::/job/step\n");
	assert_int_equal(capacity_limit(groups, root), -1);
	file_make("groups/job", "memory.max", "8388608\n");
	file_make("groups/job/step", "memory.max", "max\n");
	assert_int_equal(capacity_limit(groups, root), 8192);
	file_make("groups/job/step", "memory.max", "4194304\n");
	assert_int_equal(capacity_limit(groups, root), 4096);
	file_make("groups", "self", "7:cpu,cpuacct:/\n5:memory:/job\n0::/\n");
	file_make("groups/memory", "memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(capacity_limit(groups, root), -1);
	file_make("groups/memory/job", "memory.limit_in_bytes", "1048576\n");
	assert_int_equal(capacity_limit(groups, root), 1024);
	file_make("groups", "self", "nonsense\n:\n0::relative\n");
	assert_int_equal(capacity_limit(groups, root), -1);
}

/* A part of a machine: of its processors, and of the memory as much as is known, or a part. */
static void test_part(void **state)
{
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024);
	struct facts whole = {.cpus = 8, .nos_cpus = 8, .nnuma_cpus = 8, .memory = all, .disk = 8000, .swap = 800},
		     part = whole;

	facts_limit(&part, 0, 0);
	assert_memory_equal(&part, &whole, sizeof part);
	facts_limit(&part, 2, 0);
	assert_int_equal(part.cpus, 2);
	assert_int_equal(part.nos_cpus, 0); /* which ones is not decided here */
	assert_int_equal(part.nnuma_cpus, 0);
	assert_int_equal(part.memory, all / 8 * 2);
	assert_int_equal(part.disk, 2000);
	assert_int_equal(part.swap, 200);
	part = whole;
	facts_limit(&part, 2, all / 2);
	assert_int_equal(part.memory, all / 2);
	whole.memory = 5000; /* from its control group */
	facts_limit(&whole, 2, 0);
	assert_int_equal(whole.memory, 5000);
	facts_limit(&whole, 2, 4000);
	assert_int_equal(whole.memory, 4000);
}

static json_t *facts_here(void)
{
	struct facts f;
	json_t *facts;

	assert_int_equal(facts_collect("none", "/", &f, NULL), 0);
	facts = schema_json(&facts_schema, &f);
	facts_fini(&f);
	return facts;
}

static void test_facts(void **state)
{
	json_t *facts, *again;
	size_t i;
	json_t *v;

	setenv("SHUNT_FAKE_GPUS", "2", 1);
	facts = facts_here();
	assert_in_range(number(facts, "cpus"), 1, 1 << 20);
	assert_int_equal(json_array_size(json_object_get(facts, "os_cpus")), number(facts, "cpus"));
	json_array_foreach(json_object_get(facts, "os_cpus"), i, v) assert_true(json_is_integer(v));
	assert_true(number(facts, "memory") > 1024);
	assert_true(number(facts, "speed") > 0);
	assert_in_range(number(facts, "sockets"), 1, number(facts, "cpus"));
	assert_in_range(number(facts, "cores"), 1, number(facts, "cpus"));
	assert_true(number(facts, "numa") >= 1);
	assert_int_equal(number(facts, "gpus"), 2);
	assert_int_equal(json_array_size(json_object_get(facts, "gpu_names")), 2);
	assert_string_equal(json_string_value(json_object_get(facts, "cgroup")), "none");
	for (const char *const *key = (const char *const[]){"model", "kernel", "os", "hostname", NULL}; *key; key++)
		assert_true(json_is_string(json_object_get(facts, *key)));

	again = json_deep_copy(facts);
	json_object_set_new(again, "speed", json_integer(number(facts, "speed") + 1));
	assert_false(facts_differ(facts, again));
	json_object_set_new(again, "memory", json_integer(1));
	assert_true(facts_differ(facts, again));
	json_decref(again);
	json_decref(facts);
	setenv("SHUNT_FAKE_GPUS", "0", 1);
	facts = facts_here();
	assert_true(json_is_integer(json_object_get(facts, "gpus")));
	assert_int_equal(number(facts, "gpus"), 0);
	json_decref(facts);
	unsetenv("SHUNT_FAKE_GPUS");
}

/* What a command prints. */
static void printed_by(const char *command, char ret[256])
{
	FILE *f = popen(command, "r");

	assert_non_null(f);
	ret[fread(ret, 1, 255, f)] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	pclose(f);
}

/* A machine that hwloc makes up: two sockets of two NUMA nodes each, with processors whose numbers
 * are not in the order of their places. */
static void test_facts_machine(void **state)
{
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024),
		limit = capacity_limit("/proc/self/cgroup", "/sys/fs/cgroup");
	char kernel[256], hostname[256], os[256], model[256];
	struct facts f;
	json_t *facts;

	printed_by("uname -r", kernel);
	printed_by("uname -n", hostname);
	printed_by(". /etc/os-release; echo \"$PRETTY_NAME\"", os);
	printed_by("sed -n 's/^model name[[:blank:]]*:[[:blank:]]*//p' /proc/cpuinfo", model);
	setenv("HWLOC_SYNTHETIC", "pack:2 node:2 core:1 pu:2(indexes=0,4,1,5,2,6,3,7)", 1);
	setenv("SHUNT_FAKE_GPUS", "1", 1);
	assert_int_equal(facts_collect("none", "/", &f, NULL), 0);
	unsetenv("SHUNT_FAKE_GPUS");
	unsetenv("HWLOC_SYNTHETIC");
	assert_string_equal(f.kernel, kernel);
	assert_string_equal(f.hostname, hostname);
	assert_string_equal(f.os, os);
	assert_string_equal(f.model, model);
	assert_int_equal(f.memory, limit >= 0 && limit < all ? limit : all);
	assert_in_range(f.disk, capacity_disk("/") / 2, 2 * capacity_disk("/"));
	assert_int_equal(f.swap, capacity_swap());
	assert_true(f.speed > 0);
	*f.kernel = *f.hostname = *f.os = *f.model = '\0';
	f.memory = f.disk = f.swap = f.speed = 1;
	facts = schema_json(&facts_schema, &f);
	char *text = json_dumps(facts, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		text,
		"{\"cgroup\":\"none\",\"cores\":4,\"cpus\":8,\"disk\":1,\"gpu_names\":[\"fake GPU\"],\"gpus\":1,"
		"\"hostname\":\"\",\"kernel\":\"\",\"memory\":1,\"model\":\"\",\"numa\":4,\"numa_cpus\":[0,0,1,1,2,2,3,3],"
		"\"os\":\"\",\"os_cpus\":[0,4,1,5,2,6,3,7],\"sockets\":2,\"speed\":1,\"swap\":1}");
	free(text);
	json_decref(facts);
	facts_fini(&f);
}

static void test_facts_say(void **state)
{
	char text[128];

	facts_say(&(struct facts){.cpus = 8, .memory = INT64_C(31) << 20}, text, sizeof text);
	assert_string_equal(text, "8 CPUs, 31 GB, no GPUs");
	facts_say(&(struct facts){.cpus = 1, .memory = 512 << 10, .gpus = 1}, text, sizeof text);
	assert_string_equal(text, "1 CPU, 512 MB, 1 GPU");
}

static void login(const char *user, const char *terminal, int type)
{
	struct utmpx u = {.ut_type = (short)type};

	strncpy(u.ut_user, user, sizeof u.ut_user);
	strncpy(u.ut_line, terminal, sizeof u.ut_line);
	strncpy(u.ut_id, terminal, sizeof u.ut_id);
	assert_non_null(pututxline(&u));
}

static void test_facts_now(void **state)
{
	char utmp[128], text[256];
	struct host_state now;
	struct statvfs disk;
	double load, after;

	snprintf(utmp, sizeof utmp, "%s/utmp", dir);
	close(open(utmp, O_CREAT | O_WRONLY, 0600));
	utmpxname(utmp);
	login("ana", "p1", USER_PROCESS);
	login("ana", "p2", USER_PROCESS);
	login("bo", "p3", USER_PROCESS);
	login("cy", "p4", DEAD_PROCESS);
	login("", "p5", USER_PROCESS);
	endutxent();
	do { /* it may change in between */
		getloadavg(&load, 1);
		facts_now("/", &now);
		getloadavg(&after, 1);
	} while (load != after);
	assert_true(now.load == load);
	assert_int_equal(now.users, 2);
	utmpxname(UTMPX_FILE);
	printed_by("sed -n 's/^MemAvailable:[[:blank:]]*//p' /proc/meminfo", text);
	assert_in_range(now.memory_free, atoll(text) / 2, 2 * atoll(text));
	assert_int_equal(statvfs("/", &disk), 0);
	int64_t left = (int64_t)(disk.f_bavail * disk.f_frsize / 1024);
	assert_in_range(now.disk_free, left / 2, left * 2);
	facts_now("/nowhere/at/all", &now);
	assert_int_equal(now.disk_free, -1);
}

/* ---- health ---- */

static char *program(const char *name, const char *text)
{
	static char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static void on_changed(void *context)
{
	++*(int *)context;
}

static void on_late(uv_timer_t *t)
{
	fail_msg("the health check does not answer");
}

static void timer_stop(uv_timer_t *t)
{
	uv_close((uv_handle_t *)t, NULL);
}

/* Until the answer has changed. */
static void await(uv_loop_t *loop, const int *changes, int count)
{
	uv_timer_t limit;

	uv_timer_init(loop, &limit);
	uv_timer_start(&limit, on_late, 30000, 0);
	while (*changes < count)
		uv_run(loop, UV_RUN_ONCE);
	timer_stop(&limit);
	uv_run(loop, UV_RUN_NOWAIT);
}

static void test_health(void **state)
{
	uv_loop_t loop;
	int n = 0;
	struct health *h;

	uv_loop_init(&loop);
	h = health_create(&loop, on_changed, &n);
	assert_string_equal(health_text(h), "");
	health_set(h, program("sick", "#!/bin/sh\necho the disk is full\necho and more\nexit 3\n"), 60, 30);
	await(&loop, &n, 1);
	assert_string_equal(health_text(h), "the disk is full");
	health_set(h, program("long", "#!/bin/sh\nprintf '\\033[1mfull%0300d\\n' 7\nexit 3\n"), 60, 30);
	await(&loop, &n, 2);
	assert_int_equal(strlen(health_text(h)), 255);
	assert_int_equal(strncmp(health_text(h), "[1mfull000", 10), 0);
	n = 1;
	health_set(h, program("silent", "#!/bin/sh\nexit 3\n"), 60, 30);
	await(&loop, &n, 2);
	assert_string_equal(health_text(h), "the health check ended with 3");
	health_set(h, program("well", "#!/bin/sh\necho all is well\n"), 60, 30);
	await(&loop, &n, 3);
	assert_string_equal(health_text(h), "");
	health_set(h, program("dead", "#!/bin/sh\nkill -9 $$\n"), 60, 30);
	await(&loop, &n, 4);
	assert_string_equal(health_text(h), "the health check was ended by signal 9");
	health_set(h, program("well", "#!/bin/sh\nsleep 0.1\n"), 0, 0); /* a server that sends no numbers */
	await(&loop, &n, 5);
	assert_string_equal(health_text(h), "");
	health_set(h, "/nowhere/check", 60, 30);
	await(&loop, &n, 6);
	assert_non_null(strstr(health_text(h), "/nowhere/check can't be run"));
	if (geteuid() == 0) { /* what others may write is not run by root */
		const char *open_to_all = program("open", "#!/bin/sh\nexit 0\n");
		assert_int_equal(chmod(open_to_all, 0777), 0);
		health_set(h, open_to_all, 60, 30);
		await(&loop, &n, 7);
		assert_non_null(strstr(health_text(h), "open is not run: it must be root's"));
	}
	health_set(h, NULL, 60, 30);
	assert_string_equal(health_text(h), "");
	health_stop(h);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* Neither a check that hangs nor what it leaves behind stays; and the next comes. */
static void test_health_late(void **state)
{
	uv_loop_t loop;
	int n = 0;
	struct health *h;

	uv_loop_init(&loop);
	h = health_create(&loop, on_changed, &n);
	health_set(h, program("hangs", "#!/bin/sh\necho busy\nsleep 1000 & wait\n"), 60, 1);
	await(&loop, &n, 1);
	assert_string_equal(health_text(h), "the health check did not end within 1 s");
	health_set(h, program("leaves", "#!/bin/sh\nsleep 1000 &\nexit 0\n"), 60, 1); /* its output stays open */
	health_set(h, program("then", "#!/bin/sh\necho other; exit 1\n"), 1, 1);
	await(&loop, &n, 2);
	assert_string_equal(health_text(h), "other");
	program("then", "#!/bin/sh\nexit 0\n");
	await(&loop, &n, 3);
	assert_string_equal(health_text(h), "");
	health_set(h, program("stops", "#!/bin/sh\nsleep 1000\n"), 60, 60);
	uv_run(&loop, UV_RUN_NOWAIT);
	health_stop(h);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- files ---- */

static struct home home_here(void)
{
	struct home h;
	struct err err;

	setenv("SHUNT_AGENT_HOME", dir, 1);
	if (home_find(&h, &err) < 0 || home_make(&h, &err) < 0)
		fail_msg("%s", err.text);
	unsetenv("SHUNT_AGENT_HOME");
	return h;
}

static void test_home(void **state)
{
	struct home h = home_here();
	struct stat st;
	char path[128];
	struct err err;
	int lock;

	assert_string_equal(h.state, dir);
	assert_string_equal(h.bin, "/usr/bin"); /* the commands are not next to this program */
	assert_string_equal(h.nursery, h.program);
	snprintf(path, sizeof path, "%s/live", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	lock = home_lock(&h, &err);
	assert_true(lock >= 0);
	assert_int_equal(home_lock(&h, &err), -EBUSY);
	assert_non_null(strstr(err.text, "an agent runs here already"));
	close(lock);
	setenv("SHUNT_AGENT_HOME", "somewhere", 1);
	assert_int_equal(home_find(&h, &err), -EINVAL);
	assert_string_equal(err.text, "SHUNT_AGENT_HOME=somewhere: it must be an absolute path");
	for (int given = 1; given >= 0; given--) { /* empty, or not given: the system's */
		if (given)
			setenv("SHUNT_AGENT_HOME", "", 1);
		else
			unsetenv("SHUNT_AGENT_HOME");
		assert_int_equal(home_find(&h, &err), geteuid() == 0 ? 0 : -EPERM);
		assert_false(h.given);
		if (geteuid() == 0) {
			assert_string_equal(h.state, "/var/lib/shunt-agent");
			assert_string_equal(h.run, "/run/shunt-agent");
		}
	}
}

static void test_member(void **state)
{
	struct home h = home_here();
	struct member m = {.name = "n2",
			   .cluster = "pine",
			   .joined_by = "head:7722",
			   .cgroup = "v2",
			   .epoch = 1731664000123,
			   .port = 0,
			   .last_port = 40000,
			   .root_jobs = true,
			   .certificate_life = 2592000};
	struct member back;
	struct err err;

	assert_int_equal(member_load(&h, &back, &err), -ENOENT);
	assert_non_null(strstr(err.text, "has not joined"));
	vec_push(&m.servers, mem_strdup("a:7722"));
	vec_push(&m.servers, mem_strdup("[::1]:7722"));
	assert_int_equal(member_store(&h, &m, &err), 0);
	assert_int_equal(member_load(&h, &back, &err), 0);
	assert_string_equal(back.name, "n2");
	assert_string_equal(back.cluster, "pine");
	assert_string_equal(back.joined_by, "head:7722");
	assert_string_equal(back.cgroup, "v2");
	assert_int_equal(back.servers.n, 2);
	assert_string_equal(back.servers.v[1], "[::1]:7722");
	assert_int_equal(back.epoch, m.epoch);
	assert_int_equal(back.port, 0);
	assert_int_equal(back.last_port, 40000);
	assert_true(back.root_jobs);
	assert_int_equal(back.certificate_life, 2592000);
	member_fini(&m);
	member_fini(&back);
	assert_int_equal(home_write(&h, "agent.json", 0644, "{\"name\":", 8, &err), 0);
	assert_int_equal(member_load(&h, &back, &err), -EINVAL);
}

static void issue(const char *ca_key, const char *ca, struct strbuf *key, struct strbuf *cert)
{
	struct cert_names who = {.role = CERT_NODE, .name = "n2", .join = 1};
	struct strbuf csr = {0};

	assert_int_equal(pki_key(key, NULL), 0);
	assert_int_equal(pki_request(key->text, &csr, NULL), 0);
	assert_int_equal(pki_issue(ca_key, ca, csr.text, csr.n, &who, NULL, 3600, cert, NULL), 0);
	strbuf_fini(&csr);
}

/* A renewal that is cut off between the two files leaves the old pair in use. */
static void test_keys(void **state)
{
	struct home h = home_here();
	struct strbuf ca_key = {0}, ca = {0}, key[2] = {{0}}, cert[2] = {{0}};
	char path[128], old[128];
	struct keys k;
	struct stat st;
	struct err err;

	assert_int_equal(pki_authority("pine", &ca_key, &ca, &err), 0);
	for (int i = 0; i < 2; i++)
		issue(ca_key.text, ca.text, &key[i], &cert[i]);
	assert_int_equal(keys_load(&h, &k, &err), -EINVAL);
	assert_int_equal(home_write(&h, "ca.crt", 0644, ca.text, ca.n, &err), 0);
	assert_int_equal(keys_store(&h, key[0].text, cert[0].text, &err), 0);
	snprintf(path, sizeof path, "%s/node.key", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(keys_load(&h, &k, &err), 0);
	assert_string_equal(k.cert, cert[0].text);
	keys_fini(&k);

	snprintf(old, sizeof old, "%s/node.key.old", dir);
	assert_int_equal(link(path, old), 0);
	assert_int_equal(home_write(&h, "node.key", 0600, key[1].text, key[1].n, &err), 0);
	assert_int_equal(keys_load(&h, &k, &err), 0);
	assert_string_equal(k.key, key[0].text);
	keys_fini(&k);
	assert_int_equal(keys_store(&h, key[1].text, cert[1].text, &err), 0);
	assert_int_equal(keys_load(&h, &k, &err), 0);
	assert_string_equal(k.key, key[1].text);
	assert_string_equal(k.cert, cert[1].text);
	keys_fini(&k);
	assert_int_equal(stat(old, &st), -1);
	for (int i = 0; i < 2; i++) {
		strbuf_fini(&key[i]);
		strbuf_fini(&cert[i]);
	}
	strbuf_fini(&ca_key);
	strbuf_fini(&ca);
}

static void test_where(void **state)
{
	static const struct {
		const char *text, *where;
	} cases[] = {{"head", "head:7722"},
		     {"head:99", "head:99"},
		     {"10.0.0.1", "10.0.0.1:7722"},
		     {"[::1]", "[::1]:7722"},
		     {"[::1]:80", "[::1]:80"},
		     {"fe80::1", "[fe80::1]:7722"},
		     {"head:", NULL},
		     {":80", NULL},
		     {"", NULL},
		     {"head:70000", NULL},
		     {"[::1", NULL},
		     {"head:x", NULL}};
	char where[64];
	struct err err;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int rc = ask_where(cases[i].text, 7722, where, sizeof where, &err);
		assert_int_equal(rc, cases[i].where ? 0 : -EINVAL);
		if (cases[i].where)
			assert_string_equal(where, cases[i].where);
	}
}

/* ---- views of the queue ---- */

static void view_piece(struct agent *a, const char *name, int64_t size, int64_t at, const char *data)
{
	json_t *head = json_object();

	if (name)
		json_object_set_new(head, "name", json_string(name));
	json_object_set_new(head, "size", json_integer(size));
	json_object_set_new(head, "at", json_integer(at));
	views_frame(a, head, data, strlen(data));
	json_decref(head);
}

static void view_is(const struct agent *a, const char *name, const char *text)
{
	struct strbuf got = {0};

	assert_int_equal(views_has(a, name), text != NULL);
	assert_int_equal(views_read(a, name, &got), text ? 0 : -ENOENT);
	assert_string_equal(strbuf_text(&got), text ? text : "");
	strbuf_fini(&got);
}

/* A view is shown once all pieces came, in their order; until then the previous one is shown. */
static void test_views(void **state)
{
	struct agent *a = mem_zalloc(sizeof *a);
	char path[300], other[300], name[80];
	int left = 0;

	snprintf(a->home.state, sizeof a->home.state, "%s", dir);
	file_make("offline", "x", "");
	file_make("offline/views", "leftover", "text");
	views_start(a);
	view_is(a, "leftover", "text");
	view_piece(a, "abc", 10, 0, "01234");
	view_is(a, "abc", NULL);
	view_piece(a, "abc", 10, 6, "6789");   /* a gap */
	view_piece(a, "abc", 10, 5, "56789a"); /* too much */
	view_piece(a, "abd", 10, 5, "56789");  /* another's */
	view_is(a, "abc", NULL);
	view_piece(a, "abc", 10, 5, "56789");
	view_is(a, "abc", "0123456789");
	view_piece(a, "abc", 10, 5, "xxxxx"); /* it was complete */
	view_is(a, "abc", "0123456789");
	view_piece(a, "abc", 4, 0, "ab");
	view_is(a, "abc", "0123456789");
	view_piece(a, "abe", 2, 0, "cd"); /* takes the place of one that is not complete */
	view_is(a, "abe", "cd");
	view_is(a, "abc", "0123456789");
	view_piece(a, "abc", 4, 2, "cd");
	view_is(a, "abc", "0123456789");
	view_piece(a, "abc", 0, 0, "");
	view_is(a, "abc", NULL);
	static const char *const bad[] = {"ab", "../x", "a/b", "", "a b", NULL};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		view_piece(a, bad[i], 1, 0, "x");
		if (bad[i])
			view_is(a, bad[i], NULL);
	}
	for (int n = 63; n <= 64; n++) {
		snprintf(name, sizeof name, "%0*d", n, 7);
		view_piece(a, name, 1, 0, "x");
		view_is(a, name, n == 63 ? "x" : NULL);
	}
	view_piece(a, "neg", -1, 0, "");
	snprintf(path, sizeof path, "%s/offline/views/link", dir);
	snprintf(other, sizeof other, "%s/offline/x", dir);
	assert_int_equal(symlink(other, path), 0);
	assert_false(views_has(a, "link"));
	unlink(path);
	view_piece(a, "abf", 9, 0, "half");
	views_stop(a);
	views_stop(a);
	snprintf(path, sizeof path, "%s/offline/views", dir);
	DIR *d = opendir(path);
	for (const struct dirent *e; (e = readdir(d));)
		left += e->d_name[0] != '.' || e->d_name[1] > '.';
	closedir(d);
	assert_int_equal(left, 3); /* leftover, abe and the long name: nothing of what was not complete */
	free(a);
}

/* Views of those who stay away for a month go, but not because no server came for as long. */
static void test_views_age(void **state)
{
	struct agent *a = mem_zalloc(sizeof *a);
	const time_t month = 31 * 86400, now = time(NULL);
	char path[300];

	snprintf(a->home.state, sizeof a->home.state, "%s", dir);
	file_make("offline", "x", "");
	for (int round = 0; round < 2; round++) {
		static const char *const names[] = {"newest", "younger", "older"};
		time_t base = round ? now - 10 * month : now;
		const time_t ages[] = {0, month - 100, month + 100};
		for (int i = 0; i < 3; i++) {
			file_make("offline/views", names[i], "x");
			snprintf(path, sizeof path, "%s/offline/views/%s", dir, names[i]);
			struct utimbuf t = {base - ages[i], base - ages[i]};
			assert_int_equal(utime(path, &t), 0);
		}
		views_start(a);
		for (int i = 0; i < 3; i++)
			assert_int_equal(views_has(a, names[i]), i < 2);
		views_stop(a);
	}
	free(a);
}

/* ---- users of machines without an agent ---- */

/* A caller's end. */
struct far {
	struct link *link;
	struct strbuf log;  /* "[view all][refused: REASON](closed)" */
	struct strbuf data; /* the data of all frames, one after another */
};

static void on_far_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct far *f = context;
	struct spool_frame x;

	spool_frame_read(head, &x);
	strbuf_printf(&f->log, "[%s", json_string_value(json_object_get(head, "t")));
	strbuf_printf(&f->log, "%s%s", x.name ? " " : "", x.name ? x.name : "");
	strbuf_printf(&f->log, "%s%s%s]", x.stale ? " stale" : "", x.why ? ": " : "", x.why ? x.why : "");
	strbuf_add(&f->data, data, n);
}

static void on_far_closed(void *context, struct link *l, const char *reason)
{
	struct far *f = context;

	f->link = NULL;
	strbuf_puts(&f->log, "(closed)");
}

static void far_call(struct agent *a, struct far *f)
{
	static const struct link_events events = {.frame = on_far_frame, .closed = on_far_closed};
	int fds[2];

	*f = (struct far){0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	f->link = link_open(a->loop, fds[0], NULL, &events, f);
	link_trust(f->link);
	caller_serve(a, fds[1]);
}

/* Turns the loop until that is the log, which begins again then. */
static void far_hears(struct agent *a, struct far *f, const char *wanted)
{
	uint64_t end = uv_hrtime() + 30 * (uint64_t)1000000000;

	while (strcmp(strbuf_text(&f->log), wanted) != 0) {
		if (uv_hrtime() > end)
			fail_msg("'%s' and not '%s'", strbuf_text(&f->log), wanted);
		uv_run(a->loop, UV_RUN_NOWAIT);
	}
	strbuf_clear(&f->log);
}

static void far_keep(struct far *f, const char *text, size_t n, size_t size)
{
	link_pack(f->link, text, n, "{s:s,s:I}", "t", "keep", "size", (json_int_t)size);
}

static void far_end(struct agent *a, struct far *f)
{
	if (f->link) {
		link_close(f->link, "it is done");
		far_hears(a, f, "(closed)");
	}
	strbuf_fini(&f->log);
	strbuf_fini(&f->data);
}

/* An agent with two views, one of which needs two frames. */
static struct agent *agent_with_views(uv_loop_t *loop, struct strbuf *ret_mine)
{
	struct agent *a = mem_zalloc(sizeof *a);

	uv_loop_init(loop);
	a->loop = loop;
	snprintf(a->home.state, sizeof a->home.state, "%s", dir);
	for (int i = 0; ret_mine->n <= SPOOL_PIECE; i++)
		strbuf_printf(ret_mine, "%d\n", i);
	file_make("offline", "x", "");
	file_make("offline/views", "all", "everyone's\n");
	file_make("offline/views", "abc", ret_mine->text);
	views_start(a);
	return a;
}

static void agent_end(struct agent *a)
{
	spool_stop(a);
	views_stop(a);
	for (int i = 0; i < 1000 && uv_loop_alive(a->loop); i++)
		uv_run(a->loop, UV_RUN_NOWAIT);
	assert_int_equal(a->ncallers, 0);
	assert_null(a->callers);
	assert_int_equal(uv_loop_close(a->loop), 0);
	free(a);
}

/* Only who knows the name of a view gets it, and may leave changes, which must be sealed. */
static void test_callers(void **state)
{
	static const char unknown[] = "[refused: the server has told this host nothing of you](closed)";
	struct offer offer = {.next = 5, .end = 100, .server = "pine", .lease = "L1", .cluster = "c1"}, other = offer;
	struct change c = {.path = "/v1/jobs", .body = "{}", .nonce = "n", .token = "t", .seal = "s"};
	struct strbuf mine = {0}, change = {0}, stale = {0};
	tray_names names = {0};
	uv_loop_t loop;
	struct agent *a = agent_with_views(&loop, &mine);
	char path[128];
	struct err err;
	struct far f;

	snprintf(path, sizeof path, "%s/offline", dir);
	assert_int_equal(tray_make(path, false, offer.tray, &err), 0);
	assert_int_equal(offer_write(path, &offer, &err), 0);
	assert_int_equal(spool_start(a, &err), 0);
	change_format(&offer, &c, &change);
	strcpy(other.lease, "L2");
	change_format(&other, &c, &stale);
	for (const char *const *view = (const char *const[]){"all", "abd", "", NULL}; *view; view++) {
		far_call(a, &f);
		link_pack(f.link, NULL, 0, "{s:s,s:s}", "t", "spool", "view", *view);
		far_hears(a, &f, unknown);
		far_end(a, &f);
	}
	far_call(a, &f);
	far_keep(&f, change.text, change.n, change.n); /* before it is known */
	far_hears(a, &f, "(closed)");
	far_end(a, &f);

	far_call(a, &f);
	link_pack(f.link, NULL, 0, "{s:s,s:s}", "t", "spool", "view", "abc");
	far_hears(a, &f, "[offer][view all][view abc][view abc][ready]");
	assert_int_equal(f.data.n, 11 + mine.n);
	assert_memory_equal(f.data.text, "everyone's\n", 11);
	assert_memory_equal(f.data.text + 11, mine.text, mine.n);
	far_keep(&f, stale.text, stale.n, stale.n);
	far_hears(a, &f, "[refused stale: it is not sealed for the present lease of this host]");
	far_keep(&f, "{}", 2, 2);
	far_hears(a, &f, "[refused: it must be an object with path (\"/v1/jobs\", or that with an action) and body]");
	far_keep(&f, change.text, 10, change.n); /* in two pieces */
	far_keep(&f, change.text + 10, change.n - 10, change.n);
	far_hears(a, &f, "[kept]");
	far_keep(&f, change.text, change.n, change.n - 1); /* more than it says */
	far_hears(a, &f, "(closed)");
	far_end(a, &f);
	assert_int_equal(tray_list(path, offer.tray, &names, &err), 0);
	assert_int_equal(names.n, 1);
	assert_int_equal(names.v[0].number, 5);
	vec_free(&names);

	spool_stop(a);
	far_call(a, &f);
	link_pack(f.link, NULL, 0, "{s:s,s:s}", "t", "spool", "view", "abc");
	while (f.link)
		uv_run(a->loop, UV_RUN_NOWAIT);
	assert_null(strstr(f.log.text, "[offer]")); /* there is none */
	far_end(a, &f);
	agent_end(a);
	strbuf_fini(&mine);
	strbuf_fini(&change);
	strbuf_fini(&stale);
}

/* There are 64 of them at most, who leave with the agent. */
static void test_callers_many(void **state)
{
	struct strbuf mine = {0};
	uv_loop_t loop;
	struct agent *a = agent_with_views(&loop, &mine);
	struct far many[65];

	for (int i = 0; i < 65; i++)
		far_call(a, &many[i]);
	far_hears(a, &many[64], "(closed)");
	far_end(a, &many[64]);
	assert_int_equal(a->ncallers, 64);
	far_end(a, &many[0]);
	for (int i = 1; i < 64; i++)
		assert_int_equal(many[i].log.n, 0);
	callers_stop(a);
	for (int i = 1; i < 64; i++) {
		far_hears(a, &many[i], "(closed)");
		far_end(a, &many[i]);
	}
	agent_end(a);
	strbuf_fini(&mine);
}

#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIRECTORY(test_views),	WITH_DIRECTORY(test_views_age),
		WITH_DIRECTORY(test_limit),	cmocka_unit_test(test_part),
		cmocka_unit_test(test_facts),	cmocka_unit_test(test_facts_say),
		WITH_DIRECTORY(test_facts_now), cmocka_unit_test(test_facts_machine),
		WITH_DIRECTORY(test_health),	WITH_DIRECTORY(test_health_late),
		WITH_DIRECTORY(test_home),	WITH_DIRECTORY(test_member),
		WITH_DIRECTORY(test_keys),	cmocka_unit_test(test_where),
		WITH_DIRECTORY(test_callers),	WITH_DIRECTORY(test_callers_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
