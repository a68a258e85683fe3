/*
 * test_beside.c - what the server reads and runs beside its requests: users' files, output of jobs,
 * uploads, programs whose output is an answer, backups and copies of its store.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "run/nursery.h"
#include "run/order.h"
#include "server/api/frame/audience.h"
#include "server/api/page/files.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/life/wait/amounts.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/backup.h"
#include "server/site/belongings.h"
#include "server/site/copystore.h"
#include "store/store.h"
#include "support/bare.h"
#include "support/site.h"
#include "support/skip.h"

#define NOW INT64_C(1800000000)
#define USER 1 /* daemon, whom every system has */

static struct site *now; /* the site of the test that runs */

/* Opens files of the test's own directory alone; a directory is listed as empty. */
static int opens(const char *path, int flags, int mode)
{
	static const char list[] = "{\"entries\":[],\"more\":false}";

	if (strncmp(path, now->dir, strlen(now->dir)) != 0) {
		errno = EACCES;
		return -1;
	}
	int fd = open(path, flags | O_CLOEXEC, mode);
	if (fd < 0 || !(flags & O_DIRECTORY))
		return fd;
	close(fd);
	fd = memfd_create("list", MFD_CLOEXEC);
	assert_int_equal(write(fd, list, sizeof list - 1), sizeof list - 1);
	return fd;
}

static int setup_with(void **state, const char *nodes)
{
	int rc = site_setup(state, nodes, NOW);

	now = *state;
	bare_opens = opens;
	site_waits(now);
	return rc;
}

static int setup(void **state)
{
	return setup_with(state, "n1:cpus=4");
}

static int setup_many(void **state)
{
	return setup_with(state, "8001x1");
}

static int teardown(void **state)
{
	bare_opens = NULL;
	return site_teardown(state);
}

/* Puts the test's directory, and a number, into a text. Valid until the next call. */
static const char *here(const char *fmt, ...)
{
	static char text[4][1000];
	static int turn;
	char *ret = text[turn++ % 4];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ret, sizeof *text, fmt, ap);
	va_end(ap);
	return ret;
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

static void put(const char *name, int mode, const char *text)
{
	assert_int_equal(file_replace(here("%s/%s", now->dir, name), (mode_t)mode, text, strlen(text), 0), 0);
}

static void content_is(const char *path, const char *text)
{
	struct strbuf out = {0};

	assert_int_equal(file_read(path, 0, 1 << 20, &out), 0);
	assert_string_equal(strbuf_text(&out), text);
	strbuf_fini(&out);
}

/* Returns the only file that a pattern fits. Valid until the next call. */
static const char *only(const char *pattern)
{
	static char path[300];
	glob_t g;

	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 1);
	snprintf(path, sizeof path, "%s", g.gl_pathv[0]);
	globfree(&g);
	return path;
}

/* Takes what is printed, until printed() compares it. */
static int terminal = -1;

static void printing(void)
{
	int fd = open(here("%s/printed", now->dir), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fflush(stdout);
	terminal = dup(1);
	assert_true(fd >= 0 && dup2(fd, 1) == 1);
	close(fd);
}

static void printed(const char *text)
{
	struct strbuf out = {0};

	fflush(stdout);
	dup2(terminal, 1);
	close(terminal);
	assert_int_equal(file_read(here("%s/printed", now->dir), 0, 1 << 20, &out), 0);
	if (!strstr(strbuf_text(&out), text))
		fail_msg("%s is not in %s", text, strbuf_text(&out));
	strbuf_fini(&out);
}

/* ---- files ---- */

static void files_are_read(void **state)
{
	put("data", 0600, "some bytes\n");
	ask(USER, "GET", here("/v1/files/content?path=%s/data", now->dir), NULL, 200, "some bytes\n");
	ask(USER, "GET", here("/v1/files/content?path=%s/none", now->dir), NULL, 404, "No such file");
	ask(USER, "GET", "/v1/files/content?path=/etc/shadow", NULL, 404, "Permission denied");
	ask(USER, "GET", here("/v1/files/content?path=%s/../data", now->dir), NULL, 400, "A path has no");
	ask(USER, "GET", here("/v1/files?path=%s", now->dir), NULL, 200, "\"entries\":[],\"more\":false");
	says(now->dir);
	ask(USER, "GET", here("/v1/files?path=%s/data", now->dir), NULL, 404, "Not a directory");
}

static void files_are_written(void **state)
{
	const char *path = here("/v1/files/content?path=%s/new", now->dir);

	ask(USER, "PUT", path, "first", 200, "\"size\":5");
	content_is(here("%s/new", now->dir), "first");
	ask(USER, "PUT", path, "second", 409, "File exists");
	content_is(here("%s/new", now->dir), "first");
	ask(USER, "PUT", here("/v1/files/content?path=%s/no/new", now->dir), "x", 409, "No such file");
	ask(USER, "POST", "/v1/uploads?name=good", "this is not a tar file", 400, "");
	ask(USER, "POST", "/v1/uploads?name=-x", "x", 400, "The name of the directory has 1 to 64");
	ask(USER, "POST", "/v1/uploads", "x", 400, "name is missing");
}

#define PENDING 40

/* A user whose file system does not answer does not hinder other users. */
static void files_do_not_answer(void **state)
{
	const char *path = here("/v1/files/content?path=%s/data", now->dir);
	struct bare_answer answer[PENDING + 1] = {0};
	struct http_request *r[PENDING + 1];
	int refused = 0;

	bare_opens = NULL;
	for (int i = 0; i < PENDING; i++) {
		r[i] = bare_begin(now->s, USER, "GET", path, NULL, NULL, &answer[i]);
		refused += bare_answered(r[i]);
	}
	r[PENDING] = bare_begin(now->s, getuid(), "GET", path, NULL, NULL, &answer[PENDING]);
	assert_in_range(refused, 1, PENDING - 1);
	assert_non_null(strstr(strbuf_text(&answer[PENDING - 1].body), "too many files are being opened"));
	assert_false(bare_answered(r[PENDING]));
	for (uint64_t id = 1; id <= PENDING; id++)
		files_opened(now->s, UINT64_C(1) << 62 | id, -1, "it does not exist");
	for (int i = 0; i <= PENDING; i++) {
		assert_true(bare_answered(r[i]));
		bare_end(r[i]);
		strbuf_fini(&answer[i].body);
	}
}

static void uploads_do_not_end(void **state)
{
	const char *path = here("/v1/files/content?path=%s/new", now->dir);
	const uid_t who[] = {USER, USER, USER, getuid()};
	struct bare_answer answer[4] = {0};
	struct http_request *r[4];

	bare_opens = NULL;
	for (int i = 0; i < 4; i++)
		r[i] = bare_begin(now->s, who[i], "PUT", path, NULL, "text", &answer[i]);
	assert_true(bare_answered(r[2]));
	assert_int_equal(answer[2].status, 429);
	assert_false(bare_answered(r[3]));
	for (uint64_t id = 1; id <= 3; id++)
		files_opened(now->s, UINT64_C(1) << 62 | id, -1, "it does not exist");
	for (int i = 0; i < 4; i++) {
		assert_true(bare_answered(r[i]));
		bare_end(r[i]);
		strbuf_fini(&answer[i].body);
	}
}

/* Large bodies are read one after the other: one that leaves while it is read, or while it waits,
 * does not hinder those behind it. */
static void large_bodies_leave(void **state)
{
	static char body[400000];
	struct bare_answer answer[5] = {0};
	struct http_request *r[5];

	snprintf(body, sizeof body, "{\"hold\":\"u\",\"script\":\"%*s\"}", 300000, "true");
	ask(getuid(), "GET", "/v1/jobs/1", NULL, 404, ""); /* the user is known from now on */
	for (int i = 0; i < 5; i++)
		r[i] = bare_receive(now->s, getuid(), "POST", "/v1/jobs", body, &answer[i]);
	bare_end(r[0]);
	bare_end(r[2]);
	bare_settle(now->s);
	server_turn(now->s);
	for (int i = 1; i < 5; i += i == 1 ? 2 : 1) {
		assert_true(bare_answered(r[i]));
		assert_int_equal(answer[i].status, 201);
		assert_non_null(strstr(answer[i].body.text, i == 1   ? "\"id\":\"1."
							    : i == 3 ? "\"id\":\"2."
								     : "\"id\":\"3."));
		bare_end(r[i]);
		strbuf_fini(&answer[i].body);
	}
	assert_int_equal(answer[0].status + answer[2].status, 0);
}

/* ---- answers of a process beside the server ---- */

/* They are computed one after the other, so no user may have many. */
static void answers_of_one(void **state)
{
	struct bare_answer answer[8] = {0};
	struct http_request *r[8];
	int refused = 0;

	ask(getuid(), "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}", 201, "");
	for (int i = 0; i < 8; i++) {
		r[i] = bare_begin(now->s, getuid(), "GET", "/v1/jobs/1/why", NULL, NULL, &answer[i]);
		refused += bare_answered(r[i]);
	}
	assert_int_equal(refused, 4);
	for (int i = 0; i < 8; i++) {
		while (!bare_answered(r[i])) {
			server_turn(now->s);
			site_pause(now);
		}
		assert_int_equal(answer[i].status, i < 4 ? 200 : 429);
		bare_end(r[i]);
		strbuf_fini(&answer[i].body);
	}
	ask(getuid(), "GET", "/v1/jobs/1/why", NULL, 200, "held");
}

/* ---- output ---- */

static const char *job_run(void)
{
	static char tag[64];
	const struct bare_attempt *all;
	size_t n;

	ask(USER, "POST", "/v1/jobs",
	    here("{\"script\":\"true\",\"output\":\"%s/out\",\"error\":\"%s/err\"}", now->dir, now->dir), 201, "");
	for (int i = 0; i < 3; i++)
		server_turn(now->s);
	n = bare_attempts(&all);
	assert_int_equal(n, 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_started(now->s, tag);
	server_turn(now->s);
	return tag;
}

static void output_grows(void **state)
{
	const char *tag = job_run();

	ask(USER, "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}", 201, "");
	ask(USER, "GET", "/v1/jobs/2/output", NULL, 409, "The job has not started yet");
	ask(USER, "GET", "/v1/jobs/1/output", NULL, 200, ""); /* it is yet to be created */
	assert_int_equal(now->a.body.n, 0);
	put("out", 0600, "line 1\nline 2\n");
	put("err", 0600, "oops\n");
	ask(USER, "GET", "/v1/jobs/1/output", NULL, 200, "line 1\nline 2\n");
	ask(USER, "GET", "/v1/jobs/1/output?from=7", NULL, 200, "line 2\n");
	assert_int_equal(now->a.body.n, 7);
	ask(USER, "GET", "/v1/jobs/1/output?stream=err", NULL, 200, "oops\n");
	ask(2, "GET", "/v1/jobs/1/output", NULL, 404, "no job 1");
	site_set(now, "query_other_jobs", "True");
	ask(2, "GET", "/v1/jobs/1/output", NULL, 403, "Only its owner and managers");
	ask(USER, "GET", "/v1/jobs/1/terminal", NULL, 409, "it is not interactive");
	ask(2, "GET", "/v1/jobs/1/terminal", NULL, 403, "its owner's alone");
	bare_forget(tag);
	dispatch_engine.attempt_ended(
		now->s, &(struct result){.tag = tag, .how = RESULT_EXITED, .ended_us = NOW * 1000000, .session = 1});
	server_turn(now->s);
	ask(USER, "GET", "/v1/jobs/1/output", NULL, 200, "line 1\nline 2\n");
	ask(USER, "GET", "/v1/jobs/1/output?follow=1", NULL, 200, "line 1\nline 2\n");
	assert_int_equal(unlink(here("%s/out", now->dir)), 0);
	ask(USER, "GET", "/v1/jobs/1/output", NULL, 404, "The output can't be read");
}

/* ---- programs ---- */

#define RESULT "{\"jobs\":3,\"procs\":4,\"over_time\":{\"begin\":0,\"end\":60,\"samples\":1},\"runs\":[],\"other\":1}"

/* Lets a script stand for the command `shunt`. */
static void shunt_is(const char *script)
{
	put("shunt", 0700, script);
	now->s->instance->rsh[0] = '\0';
	snprintf(now->s->instance->rsh, sizeof now->s->instance->rsh, "%s/rsh", now->dir);
}

static void simulations(void **state)
{
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"nosuch\"]}", 400, "is not a policy");
	snprintf(now->s->instance->rsh, sizeof now->s->instance->rsh, "%s/rsh", now->dir);
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"easy\"]}", 409, "can't be started");
	shunt_is("#!/bin/sh\necho 'shunt simulate: no jobs ended' >&2; exit 1\n");
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"easy\"]}", 409,
	    "The simulation failed: no jobs ended");
	shunt_is("#!/bin/sh\necho no JSON\n");
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"easy\"]}", 409, "something else than a result");
	shunt_is("#!/bin/sh\necho \"$@\" >> $0.asked\necho '" RESULT "'\n");
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"easy\",\"shunt\",\"easy\"],\"days\":7}", 200,
	    "\"days\":7,\"policies\":[\"easy\",\"shunt\"],\"asked\":1800000000,\"made\":1800000000");
	assert_null(strstr(strbuf_text(&now->a.body), "other"));
	content_is(here("%s/shunt.asked", now->dir),
		   "simulate --from-history 7d --live --policy easy,shunt --json --over-time --cores 1\n");
	/* the same again is known, unless it is to be computed again */
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"easy\",\"shunt\"],\"days\":7}", 200, "\"id\":4");
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"easy\",\"shunt\"],\"days\":7,\"again\":true}", 200,
	    "\"id\":5");
	ask(getuid(), "POST", "/v1/simulations", "{\"policies\":[\"easy\",\"shunt\"]}", 200, "\"days\":30");
	ask(getuid(), "GET", "/v1/simulations", NULL, 200, "\"running\":null,\"simulations\":[{\"id\":6,");
	ask(getuid(), "GET", "/v1/simulations/5", NULL, 200, "\"jobs\":3");
	ask(getuid(), "GET", "/v1/simulations/1", NULL, 404, "is not kept");
	ask(getuid(), "GET", "/v1/simulations/5x", NULL, 404, "is not kept");
}

static void other_clusters(void **state)
{
	ask(getuid(), "GET", "/v1/clusters", NULL, 200, "\"clusters\":[]"); /* a server of many users */
	ask(getuid(), "POST", "/v1/clusters/east", "{}", 404, "Only the user of a personal instance");
	now->s->instance->multi = false;
	shunt_is("#!/bin/sh\necho '[{\"name\":\"east\",\"servers\":\"e:1\",\"secret\":1}]'\n");
	ask(getuid(), "GET", "/v1/clusters", NULL, 200,
	    "{\"clusters\":[{\"name\":\"east\",\"servers\":\"e:1\",\"trouble\":null}]}");
	shunt_is("#!/bin/sh\n[ \"$*\" = 'page --cluster=east' ] && echo https://east/x#k\n");
	ask(getuid(), "POST", "/v1/clusters/east", "{}", 201, "\"url\":\"https://east/x#k\"");
	shunt_is("#!/bin/sh\necho ftp://east/\n");
	ask(getuid(), "POST", "/v1/clusters/east", "{}", 409, "not the address of a page");
	shunt_is("#!/bin/sh\necho 'shunt page: no login' >&2; exit 1\n");
	ask(getuid(), "POST", "/v1/clusters/east", "{}", 409, "no login");
	shunt_is("#!/bin/sh\nexit 3\n");
	ask(getuid(), "GET", "/v1/clusters", NULL, 409, "'shunt' ");
}

/* ---- answers that take long ---- */

/* With many nodes a process computes why a job waits; the answer is kept as long as nothing
 * happens. */
static void answers_apart(void **state)
{
	struct strbuf first = {0};

	ask(USER, "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}", 201, "");
	ask(USER, "GET", "/v1/jobs/1/why", NULL, 200, "\"why\":\"held\"");
	strbuf_puts(&first, strbuf_text(&now->a.body));
	ask(USER, "GET", "/v1/jobs/1/why", NULL, 200, "");
	assert_string_equal(strbuf_text(&now->a.body), first.text);
	assert_int_equal(now->s->audience->told.n, 1);
	ask(getuid(), "GET", "/v1/jobs/1/why", NULL, 200, "\"why\":\"held\""); /* another client: another answer */
	assert_int_equal(now->s->audience->told.n, 2);
	ask(USER, "POST", "/v1/jobs/release", "{\"ids\":[\"1\"]}", 200, "");
	ask(USER, "GET", "/v1/jobs/1/why", NULL, 200, "");
	if (strstr(strbuf_text(&now->a.body), "\"why\":\"held\""))
		fail_msg("it was released: %s", strbuf_text(&now->a.body));
	strbuf_fini(&first);
}

/* ---- copies of the store ---- */

static const char *store_path(void)
{
	return here("%s/shunt.db", now->dir);
}

static void backups(void **state)
{
	char store[100], dir[100], mark[100], restored[100], backup[200];
	int rc;
	struct err err;
	struct stat st;

	snprintf(store, sizeof store, "%s", store_path());
	snprintf(dir, sizeof dir, "%s/backups", now->dir);
	snprintf(mark, sizeof mark, "%s/backed-up", now->dir);
	snprintf(restored, sizeof restored, "%s/other.db", now->dir);
	ask(getuid(), "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}", 201, "");
	assert_true(backup_make(store, dir, 1, mark, true, &err) < 0);
	assert_non_null(strstr(err.text, "No such file"));
	assert_int_equal(stat(mark, &st), -1);
	assert_int_equal(mkdir(dir, 0700), 0);
	put("backups/unfinished.db", 0600, "what a killed backup left");
	int other = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(backup_make(store, dir, 1, mark, true, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another backup is being made there"));
	assert_int_equal(stat(mark, &st), -1);
	assert_int_equal(close(other), 0);
	printing();
	rc = backup_make(store, dir, 1, mark, false, &err);
	printed("1 job, 1 job description, 1 script");
	assert_int_equal(rc, 0);
	assert_int_equal(stat(mark, &st), 0);
	assert_int_equal(stat(here("%s/unfinished.db", dir), &st), -1);
	put("backups/shunt-20200101T000000Z.db", 0600, "old");
	printing();
	rc = backup_make(store, dir, 1, mark, true, &err);
	printed("\"same\": true");
	assert_int_equal(rc, 0);
	only(here("%s/shunt-*", dir)); /* one is kept */
	assert_int_equal(stat(here("%s/shunt-20200101T000000Z.db", dir), &st), -1);
	/* the clock was ahead: the new one is kept, and is the last by its name */
	put("backups/shunt-29991231T235959Z.db", 0600, "ahead");
	printing();
	assert_int_equal(backup_make(store, dir, 1, mark, true, &err), 0);
	printed("\"same\": true");
	snprintf(backup, sizeof backup, "%s", only(here("%s/shunt-*", dir)));
	assert_string_equal(backup, here("%s/shunt-30000101T000000Z.db", dir));

	assert_true(backup_restore(here("%s/none.db", dir), restored, false, &err) < 0);
	put("bad.db", 0600, "this is not a store");
	put("other.db", 0600, "nor is this");
	assert_true(backup_restore(here("%s/bad.db", now->dir), restored, false, &err) < 0);
	content_is(restored, "nor is this"); /* it is unchanged */
	printing();
	rc = backup_restore(backup, restored, false, &err);
	printed("What was there before is in ");
	assert_int_equal(rc, 0);
	content_is(only(here("%s.before-*", restored)), "nor is this");

	struct store *s;
	assert_int_equal(store_open(restored, &s, &err), 0);
	assert_string_equal(store_id(s), store_id(now->s->store));
	store_close(s);
}

static void copies(void **state)
{
	char store[100], to[100], conf[100], long_name[3000];
	struct err err;

	snprintf(store, sizeof store, "%s", store_path());
	snprintf(to, sizeof to, "%s/copy.db", now->dir);
	snprintf(conf, sizeof conf, "conf:%s/conf", now->dir);
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	assert_int_equal(copy_store(long_name, to, false, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too long"));
	assert_int_equal(copy_store("postgresql://u:secret@h/db", to, false, &err), -EINVAL);
	assert_non_null(strstr(err.text, "which every user of this machine can read"));
	assert_true(copy_store(conf, to, false, &err) < 0);
	put("conf", 0600, "# empty\n");
	assert_int_equal(copy_store(conf, to, false, &err), -EINVAL);
	assert_non_null(strstr(err.text, "sets no 'store'"));
	assert_true(copy_store(store, to, false, &err) < 0);
	assert_non_null(strstr(err.text, "another process has locked it")); /* the server */
	ask(getuid(), "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}", 201, "");
	store_close(now->s->store);
	now->s->store = NULL;
	printing();
	int rc = copy_store(store, to, false, &err);
	printed("Now set 'store' in the configuration file");
	assert_int_equal(rc, 0);
	assert_true(copy_store(store, to, false, &err) < 0); /* there is one */
	assert_int_equal(store_open(store, &now->s->store, &err), 0);
}

static void belongings(void **state)
{
	struct err err;
	struct stat st;
	char id[80];

	assert_int_equal(belongings_check(now->s, &err), 0); /* no files */
	assert_int_equal(belongings_set_aside(now->s, &err), -ENOENT);
	belongings_mark(now->s);
	snprintf(id, sizeof id, "%s\n", store_id(now->s->store));
	content_is(here("%s/store-id", now->dir), id);
	assert_int_equal(belongings_check(now->s, &err), 0);
	put("store-id", 0600, "another\n");
	put("scripts/1", 0600, "true\n");
	assert_int_equal(belongings_check(now->s, &err), -ESTALE);
	assert_non_null(strstr(err.text, "belong to another store, another;"));
	assert_non_null(strstr(err.text, "'shuntd --system --set-aside'"));
	printing();
	int rc = belongings_set_aside(now->s, &err);
	printed("The files of the other store are in ");
	assert_int_equal(rc, 0);
	content_is(only(here("%s/set-aside-*/scripts/1", now->dir)), "true\n");
	content_is(only(here("%s/set-aside-*/store-id", now->dir)), "another\n");
	assert_int_equal(belongings_check(now->s, &err), 0);
	assert_int_equal(mkdir(here("%s/scripts", now->dir), 0700), 0);
	put("scripts/7", 0600, "true\n");
	put("scripts/.keep", 0600, "");
	belongings_sweep(now->s);
	assert_int_equal(stat(here("%s/scripts/7", now->dir), &st), -1);
	assert_int_equal(stat(here("%s/scripts/.keep", now->dir), &st), 0);
}

/* Runs a program that reports amounts, which writes the file "ran" at its end, and waits until the
 * server shows what it reported, or logs why it does not count. */
static void amounts_run(const char *script, const char *shown, const char *logged)
{
	const struct log_kept *k = NULL;
	struct err err;
	uint64_t at = 0;

	put("licences", 0700, here("#!/bin/sh\ncd %s || exit 1\n%s\n", now->dir, script));
	if (now->s->log)
		log_destroy(now->s->log);
	now->s->log = log_create(SEVERITY_WARNING);
	assert_int_equal(
		conf_set(now->s->conf, "amounts.program", *script ? here("%s/licences", now->dir) : "/none", &err), 0);
	amounts_start(now->s);
	for (int i = 0; i < 3000 && !k; i++) {
		site_pause(now);
		server_turn(now->s);
		k = log_next(now->s->log, SEVERITY_WARNING, &at);
		if (!logged && site_ask(now, 0, "GET", "/v1/server", NULL) == 200 && strstr(now->a.body.text, shown))
			return;
	}
	if (!k || !logged)
		fail_msg("%s: %s: %s", script, k ? k->text : "nothing", strbuf_text(&now->a.body));
	assert_string_equal(k->text,
			    here("the program that reports amounts, %s, %s; keeping the amounts it reported before",
				 *script ? here("%s/licences", now->dir) : "/none", logged));
	ask(0, "GET", "/v1/server", NULL, 200, shown);
}

static void amounts_are_reported(void **state)
{
	static const char kept[] =
		"\"amounts\":[{\"name\":\"idl\",\"total\":10,\"used\":0,\"elsewhere\":0,\"free\":10},"
		"{\"name\":\"matlab\",\"total\":6,\"used\":3,\"elsewhere\":2,\"free\":1}]";
	struct err err;

	if (getuid() != 0)
		skip_because("users other than root can't start jobs of others");
	assert_int_equal(conf_set(now->s->conf, "amounts.every", "86400", &err), 0);
	assert_int_equal(site_set(now, "resources_available.idl", "10"), 200);
	assert_int_equal(site_set(now, "resources_available.matlab", "6"), 200);
	ask(USER, "POST", "/v1/jobs",
	    "{\"script\":\"true\",\"workdir\":\"/\",\"resources\":[\"ncpus=1,matlab=3,walltime=60\"]}", 201, "");
	server_turn(now->s);
	amounts_run("echo $SHUNT_USED >used; echo '# of the site'; echo matlab 6 2; echo other 9 9", kept, NULL);
	content_is(here("%s/used", now->dir), "idl=0 matlab=3\n");
	amounts_run("echo matlab 6 9; exit 3", kept, "ended with exit status 3");
	amounts_run("echo matlab 6 9; kill -9 $$", kept, "ended with signal 9");
	amounts_run("echo matlab", kept,
		    "printed something else than amounts: line 1: a line must be \"NAME TOTAL [IN-USE-ELSEWHERE]\"");
	amounts_run("echo matlab 6 9; head -c 70000 /dev/zero", kept, "printed more than 65536 bytes");
	assert_int_equal(conf_set(now->s->conf, "amounts.timeout", "1", &err), 0);
	amounts_run("echo matlab 6 9; exec sleep 1000", kept, "took longer than amounts.timeout");
	amounts_run("", kept, "can't be started: No such file or directory");
	log_destroy(now->s->log);
	now->s->log = NULL;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_read),
		TEST(files_are_written),
		TEST(output_grows),
		TEST(simulations),
		TEST(other_clusters),
		TEST(backups),
		TEST(copies),
		TEST(belongings),
		cmocka_unit_test_setup_teardown(answers_apart, setup_many, teardown),
		TEST(files_do_not_answer),
		TEST(uploads_do_not_end),
		TEST(large_bodies_leave),
		cmocka_unit_test_setup_teardown(answers_of_one, setup_many, teardown),
		TEST(amounts_are_reported), /* its timers stay in the loop */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
