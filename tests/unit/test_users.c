/*
 * test_users.c - users are looked up on threads: answers are shared, grow old, fail, come too late,
 * and don't fill the memory. The C library's functions are replaced by this file's, and so is the
 * clock.
 */
#include "server/base/users.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/server.h"

#define HANGS 4000  /* from here on: until `released` */
#define NOBODY 5000 /* from here on there are none */
#define MINUTE 60

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool released, failing;
static int lookups;
static uint64_t seconds = 1000; /* time of the clock */
static int called;		/* waits that ended */

uint64_t __wrap_uv_hrtime(void);
uint64_t __wrap_uv_hrtime(void)
{
	return seconds * UINT64_C(1000000000);
}

int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *buf, size_t size, struct passwd **ret);
int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *buf, size_t size, struct passwd **ret)
{
	bool fails;

	pthread_mutex_lock(&lock);
	lookups++;
	while (uid >= HANGS && uid < NOBODY && !released)
		pthread_cond_wait(&changed, &lock);
	fails = failing;
	pthread_mutex_unlock(&lock);
	*ret = NULL;
	if (fails)
		return EIO;
	if (uid >= NOBODY)
		return 0;
	snprintf(buf, size, "u%u", (unsigned)uid);
	*entry = (struct passwd){
		.pw_name = buf, .pw_uid = uid, .pw_gid = 100, .pw_dir = (char *)"/home", .pw_shell = (char *)""};
	*ret = entry;
	return 0;
}

int __wrap_getgrouplist(const char *user, gid_t gid, gid_t *groups, int *n);
int __wrap_getgrouplist(const char *user, gid_t gid, gid_t *groups, int *n)
{
	int room = *n;

	*n = 200;
	for (int i = 0; i < room && i < 200; i++)
		groups[i] = gid + (gid_t)i;
	return room < 200 ? -1 : 200;
}

int __wrap_getgrgid_r(gid_t gid, struct group *entry, char *buf, size_t size, struct group **ret);
int __wrap_getgrgid_r(gid_t gid, struct group *entry, char *buf, size_t size, struct group **ret)
{
	*ret = NULL;
	if (size < 10000) /* a group of many members */
		return ERANGE;
	if (gid % 2)
		return 0;
	snprintf(buf, size, "g%u", (unsigned)gid);
	*entry = (struct group){.gr_name = buf, .gr_gid = gid};
	*ret = entry;
	return 0;
}

/* What users.c needs of the server. */
void turn_wake(struct server *s)
{
}
void server_log(const struct server *s, enum severity severity, const char *fmt, ...)
{
}

static void on_done(struct server *s, void *context)
{
	called++;
	if (context) /* like a request that is received again */
		users_find(s, *(struct user_key *)context, &(const struct user *){NULL}, NULL);
}

static void release(bool yes)
{
	pthread_mutex_lock(&lock);
	released = yes;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static struct server *server_make(void)
{
	struct server *s = mem_zalloc(sizeof *s);

	s->users = mem_zalloc(sizeof *s->users);
	s->loop = mem_zalloc(sizeof *s->loop);
	uv_loop_init(s->loop);
	release(false);
	failing = false;
	lookups = called = 0;
	return s;
}

static void settle(struct server *s)
{
	while (users_busy(s))
		uv_run(s->loop, UV_RUN_ONCE);
}

static void server_free(struct server *s)
{
	release(true);
	settle(s);
	users_forget(s);
	assert_int_equal(s->users->list.n, 0);
	if (s->users->ticks)
		uv_close((uv_handle_t *)&s->users->timer, NULL);
	uv_run(s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(s->loop), 0);
	free(s->loop);
	free(s->users->list.v);
	free(s->users->queue.v);
	map_fini(&s->users->index);
	free(s->users);
	free(s);
}

static struct user_key by_id(uint32_t id)
{
	return (struct user_key){USER_BY_ID, id, NULL};
}

static enum lookup find(struct server *s, uint32_t id, const struct user **ret, struct err *err)
{
	return users_find(s, by_id(id), ret, err);
}

static void one_lookup_for_all(void **state)
{
	struct server *s = server_make();
	const struct user *u = NULL;

	assert_int_equal(find(s, 1, &u, NULL), LOOKUP_PENDING);
	assert_int_equal(find(s, 1, &u, NULL), LOOKUP_PENDING);
	users_wait(s, by_id(1), on_done, NULL);
	users_wait(s, by_id(1), on_done, NULL);
	assert_null(user_known(s, 1));
	settle(s);
	assert_int_equal(called, 2);
	assert_int_equal(lookups, 1);
	assert_int_equal(find(s, 1, &u, NULL), LOOKUP_KNOWN);
	assert_string_equal(u->name, "u1");
	assert_string_equal(u->shell, "/bin/sh");
	assert_int_equal(u->ngroups, 100); /* 200 groups, half of which have no name */
	assert_true(user_in(u, 102));
	assert_false(user_in(u, 103));
	assert_string_equal(user_group(s, 1, 100), "g100");
	assert_null(user_group(s, 1, 1000)); /* until that was asked for */
	assert_int_equal(users_find(s, (struct user_key){GROUP_BY_ID, 1000, NULL}, &u, NULL), LOOKUP_PENDING);
	settle(s);
	assert_string_equal(user_group(s, 1, 1000), "g1000");
	server_free(s);
}

static void answers_grow_old(void **state)
{
	struct server *s = server_make();
	const struct user *u;

	find(s, 1, &u, NULL);
	find(s, NOBODY, &u, NULL);
	settle(s);
	assert_int_equal(find(s, NOBODY, &u, NULL), LOOKUP_NONE);
	seconds += 3;
	assert_int_equal(find(s, NOBODY, &u, NULL), LOOKUP_PENDING); /* it may have been made */
	settle(s);
	lookups = 0;
	assert_int_equal(find(s, 1, &u, NULL), LOOKUP_KNOWN);
	assert_int_equal(lookups, 0);
	seconds += MINUTE;
	assert_int_equal(find(s, 1, &u, NULL), LOOKUP_KNOWN); /* and another is fetched */
	settle(s);
	assert_int_equal(lookups, 1);
	seconds += 6 * MINUTE;
	assert_int_equal(find(s, 1, &u, NULL), LOOKUP_PENDING);
	assert_non_null(user_known(s, 1));
	settle(s);
	users_forget(s);
	assert_null(user_known(s, 1));
	server_free(s);
}

static void failures(void **state)
{
	struct server *s = server_make();
	struct err err;
	const struct user *u;

	failing = true;
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_PENDING);
	settle(s);
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_FAILED);
	assert_string_equal(err.text, "Input/output error");
	seconds += 3;
	failing = false;
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_PENDING);
	settle(s);
	failing = true;
	seconds += 2 * MINUTE;
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_KNOWN); /* the other could not be fetched: this one stays */
	settle(s);
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_KNOWN);
	settle(s);
	seconds += 4 * MINUTE;
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_PENDING);
	settle(s);
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_FAILED);
	server_free(s);
}

static void one_that_hangs(void **state)
{
	struct server *s = server_make();
	struct user_key k = by_id(HANGS), later = by_id(HANGS + 1);
	struct err err;
	const struct user *u;

	assert_int_equal(find(s, HANGS, &u, &err), LOOKUP_PENDING);
	users_wait(s, k, on_done, &k);
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_PENDING);
	users_wait(s, by_id(1), on_done, NULL);
	while (called == 0) /* the other is not held up */
		uv_run(s->loop, UV_RUN_ONCE);
	assert_int_equal(find(s, 1, &u, &err), LOOKUP_KNOWN);
	seconds += 10;
	assert_int_equal(find(s, HANGS + 1, &u, &err), LOOKUP_PENDING);
	users_wait(s, later, on_done, &later);
	seconds += 21;
	while (called == 1)
		uv_run(s->loop, UV_RUN_ONCE);
	assert_true(uv_is_active((uv_handle_t *)&s->users->timer)); /* for the other */
	seconds += 10;
	while (called == 2)
		uv_run(s->loop, UV_RUN_ONCE);
	assert_false(uv_is_active((uv_handle_t *)&s->users->timer));
	assert_int_equal(find(s, HANGS, &u, &err), LOOKUP_FAILED);
	assert_string_equal(err.text, "the user database has not answered for 30 s");
	assert_int_equal(lookups, 3); /* no thread more is lost */
	release(true);
	settle(s);
	assert_int_equal(find(s, HANGS, &u, &err), LOOKUP_KNOWN);
	server_free(s);
}

static void memory_is_bounded(void **state)
{
	struct server *s = server_make();
	struct err err;
	const struct user *u;
	int busy = 0;

	for (uint32_t i = 0; i < 30000; i++) {
		if (find(s, NOBODY + i, &u, &err) == LOOKUP_FAILED) {
			assert_string_equal(err.text, "too many users are being looked up");
			busy++;
			settle(s);
		}
		assert_true(s->users->list.n <= 10000);
		assert_true(s->users->queue.n <= 1000);
	}
	assert_true(busy > 0);
	server_free(s);
}

static void names(void **state)
{
	struct server *s = server_make();
	struct user_key k = {USER_BY_NAME, 0, "root"};
	const struct user *u = NULL;

	assert_int_equal(users_find(s, k, &u, NULL), LOOKUP_PENDING);
	settle(s);
	assert_int_equal(users_find(s, k, &u, NULL), LOOKUP_KNOWN);
	assert_int_equal(u->uid, 0);
	k.name = "there is no such user";
	assert_int_equal(users_find(s, k, &u, NULL), LOOKUP_PENDING);
	settle(s);
	assert_int_equal(users_find(s, k, &u, NULL), LOOKUP_NONE);
	server_free(s);
}

static void stopped_meanwhile(void **state)
{
	static struct server *volatile kept; /* those that never got a thread stay: the process ends with them */
	struct server *s = kept = server_make();
	struct user_key k[20];
	struct err err;
	const struct user *u;

	for (uint32_t i = 0; i < 20; i++) { /* some run, some wait for a thread */
		k[i] = by_id(HANGS + i);
		assert_int_equal(users_find(s, k[i], &u, &err), LOOKUP_PENDING);
		users_wait(s, k[i], on_done, &k[i]);
	}
	users_stop(s);
	assert_int_equal(called, 20);
	assert_true(users_busy(s));
	assert_int_equal(find(s, HANGS, &u, &err), LOOKUP_FAILED);
	assert_string_equal(err.text, "the server is shutting down");
	release(true);
	settle(s);
	assert_true(lookups < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_lookup_for_all), cmocka_unit_test(answers_grow_old),  cmocka_unit_test(failures),
		cmocka_unit_test(one_that_hangs),     cmocka_unit_test(memory_is_bounded), cmocka_unit_test(names),
		cmocka_unit_test(stopped_meanwhile),
	};

	setenv("UV_THREADPOOL_SIZE", "12", 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
