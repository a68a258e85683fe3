/*
 * test_hooks.c - a server with hooks in processes of their own (shunt-hook), as it is in operation:
 * answers, processes that end, hang or can't be started, and files that change. What Lua does is
 * tested by test_hook.c.
 */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/file.h"
#include "hooks/hook.h"
#include "hooks/worker.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/hookfiles.h"
#include "server/site/hooks.h"
#include "support/bare.h"
#include "support/site.h"
#include "support/skip.h"

#define USER 1 /* daemon, whom every system has */

static struct site *now; /* the site of the test that runs */

/* ---- the site ---- */

/* Returns the path of a file in the test's directory. Valid until the fourth call after it. */
static const char *path_of(const char *name)
{
	static char text[4][200];
	static int turn;

	snprintf(text[turn %= 4], sizeof *text, "%s/%s", now->dir, name);
	return text[turn++];
}

static void put(const char *name, int mode, const char *text)
{
	assert_int_equal(file_replace(path_of(name), (mode_t)mode, text, strlen(text), 0), 0);
}

static int setup(void **state)
{
	struct err err;
	int rc = site_setup(state, "n1:cpus=4", 0);

	now = *state;
	site_program(now, "shunt-hook");
	assert_int_equal(mkdir(path_of("hooks"), 0755), 0);
	assert_int_equal(conf_set(now->s->conf, "hooks.directory", path_of("hooks"), &err), 0);
	now->s->log = log_create(SEVERITY_DEBUG);
	site_waits(now);
	return rc;
}

static int teardown(void **state)
{
	hooks_end(now->s);
	return site_teardown(state);
}

static void on_handle(uv_handle_t *handle, void *hooks)
{
	if (handle->data != hooks || handle->type != UV_TIMER || !uv_timer_get_repeat((uv_timer_t *)handle))
		return;
	uv_timer_set_repeat((uv_timer_t *)handle, 100);
	uv_timer_again((uv_timer_t *)handle);
}

/* Starts the hooks. The directory is read again every 100 ms. */
static void begin(void)
{
	hooks_begin(now->s);
	uv_walk(now->s->loop, on_handle, now->s->hooks);
}

static void says(const char *text)
{
	if (!strstr(strbuf_text(&now->a.body), text))
		fail_msg("%s is not in %s", text, strbuf_text(&now->a.body));
}

static void ask(uid_t uid, const char *method, const char *path, const char *body, int status, const char *text)
{
	int got = site_ask(now, uid, method, path, body);

	if (got != status)
		fail_msg("%s %s: %d %s", method, path, got, strbuf_text(&now->a.body));
	says(text);
}

static bool logged(const char *text)
{
	const struct log_kept *k;
	uint64_t at = 0;

	while ((k = log_next(now->s->log, SEVERITY_DEBUG, &at)))
		if (strstr(k->text, text))
			return true;
	return false;
}

/* Waits for a line of the log. */
static void awaits(const char *text)
{
	for (int i = 0; i < 1000 && !logged(text); i++) {
		site_pause(now);
		server_turn(now->s);
	}
	if (!logged(text))
		fail_msg("not logged: %s", text);
}

/* Submits a held job, and compares its account. */
static void account_is(const char *name, const char *account)
{
	char body[200], text[100], path[100];
	json_t *o;

	snprintf(body, sizeof body, "{\"script\":\"true\",\"hold\":\"u\",\"name\":\"%s\"}", name);
	ask(USER, "POST", "/v1/jobs", body, 201, "\"id\"");
	o = json_loads(strbuf_text(&now->a.body), 0, NULL);
	snprintf(path, sizeof path, "/v1/jobs/%s", json_string_value(json_object_get(o, "id")));
	json_decref(o);
	snprintf(text, sizeof text, account ? "\"account\":\"%s\"" : "\"account\":null", account);
	ask(USER, "GET", path, NULL, 200, text);
}

static void refused(const char *name, const char *why)
{
	char body[200];

	snprintf(body, sizeof body, "{\"script\":\"true\",\"hold\":\"u\",\"name\":\"%s\"}", name);
	ask(USER, "POST", "/v1/jobs", body, 422, why);
}

/* Compares the list of the hooks. */
static void hooks_are(const char *text)
{
	ask(getuid(), "GET", "/v1/hooks", NULL, 200, text);
}

/* Returns true if an answer contains a text. */
static bool noted(const char *path, const char *text)
{
	ask(USER, "GET", path, NULL, 200, "");
	return strstr(strbuf_text(&now->a.body), text);
}

/* ---- answers ---- */

#define SEEN "function on_submit(job) job.account = 'seen' end"

static void jobs_are_changed(void **state)
{
	put("hooks/a.lua", 0644,
	    "function on_submit(job)\n"
	    "  if job.name == 'bad' then refuse('not ' .. job.user) end\n"
	    "  job.account = 'a' log('an account for ' .. tostring(job.name))\n"
	    "end\n"
	    "function on_modify(job, changes) if changes.name == 'bad' then refuse('never') end changes.priority = 7 end");
	put("hooks/b.lua", 0644,
	    "function on_submit(job) job.account = job.account .. '-' .. site.name .. '-' .. tostring(site.queues.batch.enabled) end");
	begin();
	account_is("x", "a-bare-true");
	ask(USER, "GET", "/v1/jobs/1/events", NULL, 200, "hook a.lua: an account for x");
	says("changed by hooks: account");
	refused("bad", "\"message\":\"not daemon\"");
	ask(USER, "POST", "/v1/jobs", "{\"jobs\":[{\"script\":\"true\"},{\"script\":\"true\",\"name\":\"bad\"}]}", 422,
	    "jobs[1]: not daemon");
	ask(USER, "POST", "/v1/jobs/alter", "{\"ids\":[\"1\"],\"name\":\"y\"}", 200, "\"results\"");
	ask(USER, "GET", "/v1/jobs/1", NULL, 200, "\"priority\":7");
	ask(USER, "POST", "/v1/jobs/alter", "{\"ids\":[\"1\"],\"name\":\"bad\"}", 200, "never");
	ask(USER, "GET", "/v1/jobs/1", NULL, 200, "\"name\":\"y\"");
	hooks_are(
		"{\"name\":\"a.lua\",\"state\":\"in_force\",\"problem\":null,\"events\":[\"submit\",\"modify\"],\"calls\":6,\"failures\":0,\"last_failure\":null");
	hooks_are("\"name\":\"b.lua\",\"state\":\"in_force\",\"problem\":null,\"events\":[\"submit\"],\"calls\":2,");
	assert_true(hooks_want(now->s, HOOK_SUBMIT));
	assert_false(hooks_want(now->s, HOOK_START));
}

/* Starts and ends are passed on, and an error in them leaves the job alone. */
static void jobs_run(void **state)
{
	const struct bare_attempt *all;
	char tag[64];

	put("hooks/a.lua", 0644,
	    "function on_start(job) log('on ' .. job.exec_host) end\n"
	    "function on_end(job) log('status ' .. job.exit_status) error('oh') end");
	begin();
	account_is("x", NULL);
	ask(USER, "POST", "/v1/jobs", "{\"script\":\"true\"}", 201, "");
	for (int i = 0; i < 3; i++)
		server_turn(now->s);
	assert_int_equal(bare_attempts(&all), 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_started(now->s, tag);
	server_turn(now->s);
	bare_forget(tag);
	dispatch_engine.attempt_ended(
		now->s, &(struct result){.tag = tag, .how = RESULT_EXITED, .status = 3, .ended_us = 1, .session = 1});
	awaits("hook a.lua failed: a.lua:2: oh");
	for (int i = 0; i < 1000 && !noted("/v1/jobs/2/events", "hook a.lua failed: a.lua:2: oh"); i++) {
		site_pause(now);
		server_turn(now->s);
	}
	says("hook a.lua: on n1/0");
	says("hook a.lua failed: a.lua:2: oh");
	hooks_are("\"calls\":2,\"failures\":1,\"last_failure\":\"a.lua:2: oh\"");
}

static const char *hook_value(void)
{
	static char text[100];
	const char *at;

	ask(getuid(), "GET", "/v1/priority", NULL, 200, "");
	at = strstr(strbuf_text(&now->a.body), "\"name\":\"hook\",\"value\":");
	snprintf(text, sizeof text, "%.*s", at ? (int)strcspn(at + 22, ",}") : 0, at ? at + 22 : "");
	return text;
}

static void priorities_are_given(void **state)
{
	put("hooks/a.lua", 0644,
	    "function priority_factor(job) return job.name == 'bad' and error('no') or #job.name end");
	begin();
	ask(USER, "POST", "/v1/jobs", "{\"script\":\"true\",\"name\":\"four\",\"resources\":[\"procs=4\"]}", 201, "");
	ask(USER, "POST", "/v1/jobs", "{\"script\":\"true\",\"name\":\"seven..\",\"resources\":[\"procs=4\"]}", 201,
	    "");
	site_set(now, "priority_order", "sum");
	site_set(now, "priority_weight.hook", "1000");
	for (int i = 0; i < 1000 && strtod(hook_value(), NULL) != 7; i++)
		site_pause(now);
	assert_int_equal(strtod(hook_value(), NULL), 7);
	ask(USER, "POST", "/v1/jobs", "{\"script\":\"true\",\"name\":\"bad\",\"resources\":[\"procs=4\"]}", 201, "");
	awaits("hook a.lua failed: a.lua:1: no");
}

/* ---- failures ---- */

#define FAILING                                                                                                        \
	"function on_submit(job)\n"                                                                                    \
	"  if job.name == 'wrong' then error('not today') end\n"                                                       \
	"  if job.name == 'endless' then while true do end end\n"                                                      \
	"  if job.name == 'stuck' then string.find(string.rep('a', 30000), string.rep('a*', 40) .. 'b') end\n"         \
	"  job.account = 'seen'\n"                                                                                     \
	"end"
#define FAILED "the site's hook a.lua failed, so nothing is accepted now; inform the administrator: "

static void hooks_fail(void **state)
{
	put("hooks/a.lua", 0644, FAILING);
	begin();
	site_set(now, "hook_time", "100");
	refused("wrong", FAILED "a.lua:2: not today");
	refused("endless", FAILED "it ran for too long");
	account_is("good", "seen");
	hooks_are("\"calls\":3,\"failures\":2,\"last_failure\":\"it ran for too long");
	site_set(now, "hook_failure", "accept");
	account_is("wrong", NULL);
	ask(USER, "GET", "/v1/jobs/2/events", NULL, 200, "hook a.lua failed: a.lua:2: not today");
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIGNALS_WAIT 1
#endif
#endif
#ifndef SIGNALS_WAIT
#define SIGNALS_WAIT 0
#endif

/* A hook hangs where no code of ours runs: a signal lets its process say which one it is. */
static void hooks_hang(void **state)
{
	if (SIGNALS_WAIT)
		skip_because("the thread sanitizer delivers no signal to code that makes no calls");
	put("hooks/a.lua", 0644, FAILING);
	begin();
	site_set(now, "hook_time", "100");
	refused("stuck", FAILED "it did not end within the 100 ms of hook_time, and its process was ended");
	account_is("good", "seen");
	hooks_are("\"calls\":2,\"failures\":1,\"last_failure\":\"it did not end within");
	site_set(now, "hook_failure", "accept");
	account_is("stuck", NULL);
	ask(USER, "GET", "/v1/jobs/2/events", NULL, 200, "hook a.lua failed: it did not end within");
}

/* A process that ends is replaced, and its question asked again; once. */
static void processes_end(void **state)
{
	char script[1000], real[200];

	snprintf(real, sizeof real, "%s", path_of("real/shunt-hook"));
	assert_int_equal(mkdir(path_of("real"), 0755), 0);
	assert_int_equal(rename(path_of("shunt-hook"), real), 0);
	/* an answer that is incomplete, or not a frame, and the end; the third time all is well */
	snprintf(script, sizeof script,
		 "#!/bin/sh\n"
		 "[ -e %s/1 ] || { : >%s/1; printf '\\000\\000' >&0; exit 1; }\n"
		 "[ -e %s/2 ] || exec %s\n"
		 "[ -e %s/3 ] && { rm %s/3; exec %s; }\n"
		 ": >%s/3; printf 'no frame' >&0; exec sleep 60\n",
		 now->dir, now->dir, now->dir, real, now->dir, now->dir, real, now->dir);
	put("shunt-hook", 0755, script);
	put("hooks/a.lua", 0644, SEEN);
	begin();
	account_is("x", "seen"); /* the check of the file was asked again */
	assert_true(logged("a hook process ended unexpectedly; running its request again"));
	hooks_are("\"calls\":1,\"failures\":0");
	hooks_end(now->s);
	put("2", 0644, "");
	begin();
	account_is("x", "seen");
	hooks_are("\"state\":\"in_force\"");
	hooks_end(now->s);
	put("shunt-hook", 0755, "#!/bin/sh\nexit 1\n");
	begin();
	refused("x", "the site's hooks failed, so nothing is accepted now; inform the administrator: "
		     "its process ended unexpectedly, twice");
	hooks_are("\"state\":\"broken\",\"problem\":\"its process ended unexpectedly, twice\"");
}

/* Returns the process id of a child of this process. */
static int child_find(void)
{
	DIR *d = opendir("/proc");
	int child = 0, parent;

	assert_non_null(d);
	for (const struct dirent *e; !child && (e = readdir(d));) {
		struct strbuf text = {0};
		char path[300];
		snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
		if (atoi(e->d_name) && file_read(path, 0, 4096, &text) == 0 && strrchr(text.text, ')') &&
		    sscanf(strrchr(text.text, ')') + 1, " %*c %d", &parent) == 1 && parent == getpid())
			child = atoi(e->d_name);
		strbuf_fini(&text);
	}
	closedir(d);
	assert_true(child > 0);
	return child;
}

static void proc_has(int pid, const char *file, const char *line)
{
	struct strbuf text = {0};
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	assert_int_equal(file_read(path, 0, 65536, &text), 0);
	if (!strstr(text.text, line))
		fail_msg("%s: no \"%s\" in %s", path, line, text.text);
	strbuf_fini(&text);
}

/* A hook that breaks out of Lua can't open files, start programs or gain rights, and what computes
 * for long does not slow down the server. */
static void processes_have_no_rights(void **state)
{
	int own = getpriority(PRIO_PROCESS, 0), pid;

	put("hooks/a.lua", 0644, SEEN);
	begin();
	account_is("x", "seen");
	pid = child_find();
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), own + 5 < 19 ? own + 5 : 19);
	proc_has(pid, "status", "\nNoNewPrivs:\t1\n");
	proc_has(pid, "limits", "\nMax file size             0                    0  ");
	proc_has(pid, "limits", "\nMax core file size        0                    0  ");
	proc_has(pid, "limits", "\nMax processes             0                    0  ");
	proc_has(pid, "limits", "\nMax open files            0                    0  ");
}

static void program_is_missing(void **state)
{
	char program[200];

	snprintf(program, sizeof program, "%s", path_of("shuntd"));
	assert_int_equal(rename(path_of("shunt-hook"), program), 0);
	put("hooks/a.lua", 0644, SEEN);
	begin();
	account_is("x", "seen"); /* shuntd --hook */
	hooks_end(now->s);
	assert_int_equal(unlink(program), 0);
	begin();
	refused("x", "the site's hooks failed, so nothing is accepted now; inform the administrator: "
		     "the program shunt-hook can't be started: No such file");
	assert_true(logged("hooks failed: the program shunt-hook can't be started"));
	site_set(now, "hook_failure", "accept");
	account_is("x", NULL);
}

/* ---- files ---- */

static void versions(void **state)
{
	begin();
	account_is("x", NULL);
	hooks_are("\"hooks\":[]");
	put("hooks/a.lua", 0644, "function on_submit(job) job.account = 'one' end");
	awaits("hook a.lua: in force");
	account_is("x", "one");
	put("hooks/a.lua", 0644, "function on_submit(");
	awaits("; the version before it stays in force");
	account_is("x", "one");
	hooks_are("\"name\":\"a.lua\",\"state\":\"old\",\"problem\":\"a.lua:1: ");
	put("hooks/b.lua", 0644, "x = 1");
	awaits("; it is not used");
	account_is("x", "one");
	hooks_are("\"name\":\"b.lua\",\"state\":\"unused\",\"problem\":\"b.lua");
	put("hooks/a.lua", 0644, "function on_submit(job) job.account = 'two' end");
	awaits("hook a.lua: the new version is in force");
	account_is("x", "two");
	hooks_are("\"name\":\"a.lua\",\"state\":\"in_force\",\"problem\":null");
	put("hooks/b.lua", 0644, "function on_submit(job) job.account = job.account .. '-b' end");
	awaits("hook b.lua: in force");
	account_is("x", "two-b");
	assert_int_equal(chmod(path_of("hooks"), 0777), 0);
	awaits("others than its owner may write it");
	account_is("x", "two-b"); /* what was in force is still */
	hooks_are("hooks: others than its owner may write it: chmod go-w it\",\"hooks\":[{\"name\":\"a.lua\"");
	assert_int_equal(unlink(path_of("hooks/a.lua")), 0);
	assert_int_equal(unlink(path_of("hooks/b.lua")), 0);
	assert_int_equal(chmod(path_of("hooks"), 0755), 0);
	awaits("hook a.lua was removed with its file");
	account_is("x", NULL);
	assert_false(hooks_want(now->s, HOOK_SUBMIT));
}

/* What is broken when the server starts fails until it is repaired. */
static void broken_at_the_start(void **state)
{
	put("hooks/a.lua", 0644, "nonsense");
	put("hooks/b.lua", 0666, SEEN);
	assert_int_equal(chmod(path_of("hooks/b.lua"), 0666), 0);
	begin();
	refused("x", FAILED "a.lua:1: syntax error");
	assert_true(logged("as long as that is so, it counts as failing"));
	hooks_are("\"name\":\"b.lua\",\"state\":\"broken\",\"problem\":\"others than its owner may write it");
	for (int e = 0; e < HOOK_EVENTS; e++)
		assert_true(hooks_want(now->s, (enum hook_event)e));
	put("hooks/a.lua", 0644, "function on_end(job) end");
	assert_int_equal(chmod(path_of("hooks/b.lua"), 0644), 0);
	awaits("hook a.lua: the new version is in force");
	awaits("hook b.lua: the new version is in force");
	account_is("x", "seen");
	hooks_end(now->s);
	assert_int_equal(chmod(path_of("hooks"), 0777), 0);
	begin();
	refused("x", "hooks: others than its owner may write it");
	hooks_are("\"name\":\"(directory)\",\"state\":\"broken\"");
	assert_int_equal(chmod(path_of("hooks"), 0755), 0);
	awaits("hook a.lua: in force"); /* all that were found at once come into force together */
	awaits("hook b.lua: in force");
	account_is("x", "seen");
}

/* Returns why a file can't be used; "": it can. NULL: it is not looked at. Valid until the next
 * call. */
static const char *problem_of(const char *name)
{
	static char text[300];
	struct hookdir d;
	const char *ret = NULL;

	hookdir_read(path_of("hooks"), &d);
	assert_null(d.problem);
	for (size_t i = 0; i < d.files.n; i++)
		if (strcmp(d.files.v[i].name, name) == 0) {
			snprintf(text, sizeof text, "%s", d.files.v[i].problem ? d.files.v[i].problem : "");
			assert_true(!d.files.v[i].text == !!d.files.v[i].problem);
			ret = text;
		}
	hookdir_fini(&d);
	return ret;
}

static void files_are_checked(void **state)
{
	static char large[HOOK_SOURCE_MAX + 2];
	struct hookdir d;

	put("hooks/good.lua", 0644, SEEN);
	assert_string_equal(problem_of("good.lua"), "");
	put("hooks/.hidden.lua", 0644, SEEN);
	assert_null(problem_of(".hidden.lua"));
	put("hooks/a.lua.new", 0644, SEEN);
	assert_null(problem_of("a.lua.new"));
	put("hooks/.lua", 0644, SEEN);
	assert_null(problem_of(".lua"));
	put("hooks/a b.lua", 0644, SEEN);
	assert_null(problem_of("a b.lua"));
	memset(large, ' ', sizeof large - 1);
	put("hooks/large.lua", 0644, large);
	assert_string_equal(problem_of("large.lua"), "it has more than the 256 KB that are allowed");
	large[HOOK_SOURCE_MAX] = '\0';
	put("hooks/large.lua", 0644, large);
	assert_string_equal(problem_of("large.lua"), "");
	assert_int_equal(symlink("good.lua", path_of("hooks/link.lua")), 0);
	assert_string_equal(problem_of("link.lua"), "it is a symbolic link");
	assert_int_equal(mkdir(path_of("hooks/dir.lua"), 0755), 0);
	assert_string_equal(problem_of("dir.lua"), "it is not a regular file");
	assert_int_equal(mkfifo(path_of("hooks/pipe.lua"), 0600), 0); /* nobody writes to it */
	assert_string_equal(problem_of("pipe.lua"), "it is not a regular file");
	for (int bit = 0; bit < 2; bit++) {
		assert_int_equal(chmod(path_of("hooks/good.lua"), bit ? 0664 : 0646), 0);
		assert_string_equal(problem_of("good.lua"), "others than its owner may write it: chmod go-w it");
	}
	assert_int_equal(chmod(path_of("hooks/good.lua"), 0600), 0);
	assert_string_equal(problem_of("good.lua"), "");
	if (geteuid() == 0) {
		assert_int_equal(chown(path_of("hooks/good.lua"), USER, 0), 0);
		assert_string_equal(problem_of("good.lua"),
				    "it belongs to uid 1: hooks must belong to root or to the server's account");
		assert_int_equal(chown(path_of("hooks"), USER, 0), 0);
		hookdir_read(path_of("hooks"), &d);
		assert_non_null(strstr(d.problem, "it belongs to uid 1"));
		assert_int_equal(d.files.n, 0);
		hookdir_fini(&d);
	}
	hookdir_read(path_of("nosuch"), &d);
	assert_null(d.problem);
	assert_int_equal(d.files.n, 0);
	hookdir_fini(&d);
	hookdir_read(path_of("shuntd"), &d);
	assert_null(d.problem);
	hookdir_fini(&d);
	put("shuntd", 0600, "a file");
	hookdir_read(path_of("shuntd"), &d);
	assert_non_null(strstr(d.problem, "shuntd: Not a directory"));
	hookdir_fini(&d);
}

/* ---- trials ---- */

static void trials(void **state)
{
	static const struct {
		const char *body;
		int status;
		const char *has;
	} rows[] = {
		{"{\"name\":\"t.lua\",\"source\":\"function on_end(job) end\"}", 200,
		 "{\"problem\":null,\"events\":[\"end\"],\"result\":null"},
		{"{\"name\":\"t.lua\",\"source\":\"function on_end(\"}", 200, "{\"problem\":\"t.lua:1: "},
		{"{\"name\":\"t.lua\",\"source\":\"function on_submit(job) job.account = job.user log('l') notify('u', 's', 't') end\",\"event\":\"submit\",\"job\":{},\"facts\":{\"user\":\"ann\"}}",
		 200,
		 "\"events\":[\"submit\"],\"result\":\"accepted\",\"message\":null,\"changes\":{\"account\":\"ann\"},\"log\":[\"l\"],\"mails\":[{\"to\":\"u\","},
		{"{\"name\":\"t.lua\",\"source\":\"function on_submit(job) refuse('no') end\",\"event\":\"submit\"}",
		 200, "\"result\":\"refused\",\"message\":\"no\",\"changes\":null"},
		{"{\"name\":\"t.lua\",\"source\":\"function on_modify(job, changes) error(job.name .. changes.name) end\",\"event\":\"modify\",\"job\":{\"name\":\"a\"},\"changes\":{\"name\":\"b\"}}",
		 200, "\"result\":\"failed\",\"message\":\"t.lua:1: ab\""},
		{"{\"name\":\"t.lua\",\"source\":\"function on_submit(job) string.find(string.rep('a', 30000), string.rep('a*', 40) .. 'b') end\",\"event\":\"submit\"}",
		 200, "{\"problem\":\"it did not end within the 100 ms of hook_time"},
		{"{\"name\":\"t.lua\",\"source\":\"\",\"event\":\"priority\"}", 400, "event"},
	};

	begin();
	site_set(now, "hook_time", "100");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ask(getuid(), "POST", "/v1/hooks/try", rows[i].body, rows[i].status, rows[i].has);
	hooks_are("\"hooks\":[]"); /* a trial changes nothing */
	account_is("x", NULL);
}

/* Questions wait for a process; those that are dropped are not answered. */
static void questions_wait(void **state)
{
	struct bare_answer a[5] = {0};
	struct http_request *r[5];
	int answered = 0;

	put("hooks/a.lua", 0644, SEEN);
	begin();
	for (int i = 0; i < 5; i++)
		r[i] = bare_begin(now->s, USER, "POST", "/v1/jobs", NULL, "{\"script\":\"true\",\"hold\":\"u\"}",
				  &a[i]);
	for (int i = 0; i < 5; i++)
		assert_false(bare_answered(r[i]));
	for (int turns = 0; turns < 1000 && answered < 5; turns++) {
		site_pause(now);
		server_turn(now->s);
		answered = 0;
		for (int i = 0; i < 5; i++)
			answered += bare_answered(r[i]);
	}
	for (int i = 0; i < 5; i++) {
		assert_int_equal(a[i].status, 201);
		bare_end(r[i]);
		strbuf_fini(&a[i].body);
	}
	hooks_are("\"calls\":5,\"failures\":0");
	hook_ask_free(hooks_ask(now->s, HOOK_SUBMIT, json_object(), "{}", 2, NULL, NULL));
	hook_ask_free(NULL);
	account_is("x", "seen");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(jobs_are_changed),
		TEST(jobs_run),
		TEST(priorities_are_given),
		TEST(hooks_fail),
		TEST(hooks_hang),
		TEST(processes_end),
		TEST(program_is_missing),
		TEST(versions),
		TEST(broken_at_the_start),
		TEST(files_are_checked),
		TEST(trials),
		TEST(questions_wait),
		TEST(processes_have_no_rights),
	};
	const char *slash = strrchr(argv[0], '/');

	if (slash && (strcmp(slash, "/shunt-hook") == 0 || (argc > 1 && strcmp(argv[1], "--hook") == 0)))
		return hook_command();
	signal(SIGPIPE, SIG_IGN); /* by default in a server */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
