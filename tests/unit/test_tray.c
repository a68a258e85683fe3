/*
 * test_tray.c - changes left for a server that is down: numbers are given once, commands that are
 * stopped or killed anywhere hold up nobody, and what others put there is not taken for a user's
 * change.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "client/tray.h"

#define BODY "{\"script\":\"true\"}"

static char dir[64], path[256];
static const struct change submission = {.path = "/v1/jobs", .body = BODY};
static struct offer offer;
static int tray;

static const char *at(const char *name)
{
	snprintf(path, sizeof path, "%s/%s/%s", dir, offer.tray, name);
	return path;
}

static int setup(void **state)
{
	offer = (struct offer){.tray = "g01", .next = 13, .server = "pine", .wait = 3};
	strcpy(dir, "/tmp/shunt-tray-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(mkdir(at(""), 0700), 0);
	assert_int_equal(offer_write(dir, &offer, NULL), 0);
	tray = open(at(""), O_RDONLY | O_DIRECTORY);
	assert_true(tray >= 0);
	return 0;
}

static int teardown(void **state)
{
	char command[256];

	close(tray);
	snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", dir, dir);
	return system(command);
}

static uint64_t put(void)
{
	uint64_t number = 0;
	struct err err;

	assert_int_equal(tray_put(dir, &offer, &submission, &number, &err), 0);
	return number;
}

static size_t names(void)
{
	const struct dirent *d;
	size_t n = 0;
	DIR *open = opendir(at(""));

	while ((d = readdir(open)))
		n += d->d_name[0] != '.';
	closedir(open);
	return n;
}

static int read_one(uint64_t number, struct kept *ret, struct err *err)
{
	return tray_read(tray, &(struct tray_name){.number = number}, getegid(), ret, err);
}

static void test_offer(void **state)
{
	static const char *const wrong[] = {
		"",
		"{}",
		"[]",
		"null",
		"{\"tray\":\"../x\",\"next\":1,\"server\":\"a\",\"wait\":1}",
		"{\"tray\":\"g/1\",\"next\":1,\"server\":\"a\",\"wait\":1}",
		"{\"tray\":\"g1\",\"next\":0,\"server\":\"a\",\"wait\":1}",
		"{\"tray\":\"g1\",\"next\":1,\"server\":7,\"wait\":1}",
		"{\"tray\":\"g1\",\"next\":1,\"server\":\"a\",\"wait\":-1}",
		"{\"tray\":\"g1\",\"next\":1,\"server\":\"a\",\"wait\":1,\"end\":-1}",
		"{\"tray\":\"g1\",\"next\":1,\"server\":\"a\",\"wait\":1,\"lease\":\"a b\"}",
	};
	struct offer x;
	struct err err;

	assert_int_equal(offer_read(dir, &x, &err), 0);
	assert_string_equal(x.tray, "g01");
	assert_string_equal(x.server, "pine");
	assert_int_equal(x.next, 13);
	assert_int_equal(x.wait, 3);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(offer_parse(wrong[i], strlen(wrong[i]), &x, &err), -EINVAL);
	assert_int_equal(offer_remove(dir, &err), 0);
	assert_int_equal(offer_remove(dir, &err), 0);
	assert_int_equal(offer_read(dir, &x, &err), -ENOENT);
}

static void test_life(void **state)
{
	struct tray_name name = {.number = 13};
	tray_names list = {0};
	struct kept x;
	struct err err;

	assert_int_equal(put(), 13);
	assert_int_equal(put(), 14);
	assert_int_equal(tray_list(dir, offer.tray, &list, &err), 0);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.v[0].number, 13);
	assert_int_equal(tray_read(tray, &list.v[0], getegid(), &x, &err), 0);
	int64_t time_us = x.time_us;
	kept_fini(&x);
	assert_int_equal(tray_read(tray, &list.v[1], getegid(), &x, &err), 0);
	char *body = json_dumps(x.body, JSON_COMPACT);
	assert_string_equal(body, BODY);
	free(body);
	assert_string_equal(x.path, "/v1/jobs");
	assert_int_equal(x.uid, geteuid());
	kept_fini(&x);
	assert_int_equal(tray_take(tray, &name, 13, 0), 0);
	assert_true(name.taken);
	assert_int_equal(tray_read(tray, &name, getegid(), &x, &err), 0);
	assert_int_equal(x.time_us, time_us);
	kept_fini(&x);
	/* also for the server that comes after one that was killed */
	vec_clear(&list);
	assert_int_equal(tray_list(dir, offer.tray, &list, &err), 0);
	assert_true(list.v[0].number == 13 && list.v[0].taken && list.v[0].time_us == time_us);
	assert_int_equal(tray_take(tray, &list.v[0], 13, 0), 0);
	assert_int_equal(tray_take(tray, &(struct tray_name){.number = 13}, 13, 0), -ENOENT);
	assert_int_equal(tray_remove(tray, &name), 0);
	assert_int_equal(names(), 1);
	vec_free(&list);
}

/* The server has begun to look, or has looked, while the command wrote. */
static void test_started_meanwhile(void **state)
{
	struct offer other = offer;
	uint64_t number;
	struct err err;

	strcpy(other.tray, "g02");
	assert_int_equal(offer_write(dir, &other, &err), 0);
	assert_int_equal(tray_put(dir, &offer, &submission, &number, &err), -ESTALE);
	assert_int_equal(names(), 0);
	assert_int_equal(offer_remove(dir, &err), 0);
	assert_int_equal(tray_put(dir, &offer, &submission, &number, &err), -ESTALE);
	assert_int_equal(names(), 0);
	assert_int_equal(rmdir(at("")), 0);
	assert_int_equal(tray_put(dir, &offer, &submission, &number, &err), -ESTALE);
}

/* Many at once: each gets a number of its own, and there is no gap. */
static void test_crowd(void **state)
{
	enum { PEOPLE = 6, EACH = 25 };
	tray_names list = {0};
	int status;

	for (int i = 0; i < PEOPLE; i++)
		if (fork() == 0) {
			uint64_t number;
			for (int k = 0; k < EACH; k++)
				if (tray_put(dir, &offer, &submission, &number, NULL) < 0)
					_exit(1);
			_exit(0);
		}
	for (int i = 0; i < PEOPLE; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(tray_list(dir, offer.tray, &list, NULL), 0);
	assert_int_equal(list.n, PEOPLE * EACH);
	for (size_t i = 0; i < list.n; i++)
		assert_int_equal(list.v[i].number, 13 + i);
	vec_free(&list);
}

/* A command that says which numbers it got, until it is killed. */
static pid_t writer(int *ret_fd)
{
	int fds[2];
	uint64_t number;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		while (tray_put(dir, &offer, &submission, &number, NULL) == 0)
			if (write(fds[1], &number, sizeof number) != sizeof number)
				_exit(1);
		_exit(1);
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

/* Killed or stopped at any instant: what was said is there and whole, and the next one is not
 * held up. */
static void test_killed(void **state)
{
	struct timespec pause = {0};
	unsigned seed = 7;
	uint64_t number;
	struct kept x;
	int fd, stopped_fd;

	for (int i = 0; i < 40; i++) {
		pid_t stopped = writer(&stopped_fd), pid = writer(&fd);
		pause.tv_nsec = rand_r(&seed) % 8000000;
		nanosleep(&pause, NULL);
		kill(stopped, SIGSTOP);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(fd, &number, sizeof number) == sizeof number) {
			assert_int_equal(read_one(number, &x, NULL), 0);
			kept_fini(&x);
		}
		assert_true(put() >= 13);
		kill(stopped, SIGKILL);
		kill(stopped, SIGCONT);
		waitpid(stopped, NULL, 0);
		close(fd);
		close(stopped_fd);
	}
	tray_names list = {0};
	assert_int_equal(tray_list(dir, offer.tray, &list, NULL), 0);
	for (size_t i = 0; i < list.n; i++) {
		assert_int_equal(list.v[i].number, 13 + i);
		assert_int_equal(tray_read(tray, &list.v[i], getegid(), &x, NULL), 0); /* none is half written */
		kept_fini(&x);
	}
	tray_sweep(tray);
	assert_int_equal(names(), list.n);
	vec_free(&list);
}

static void file_put(const char *name, const char *text, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	fchmod(fd, mode);
	close(fd);
}

static void refused(uint64_t number, int rc)
{
	struct kept x;
	struct err err;

	assert_int_equal(read_one(number, &x, &err), rc);
	assert_true(*err.text);
	kept_fini(&x);
}

/* Things that are not changes, as others may leave them. */
static void test_hostile(void **state)
{
	static const char good[] = "{\"path\":\"/v1/jobs\",\"body\":{}}";
	char other[256];
	struct kept x;
	struct err err;

	assert_int_equal(mkdir(at("13"), 0700), 0); /* empty */
	refused(13, -ENODATA);
	file_put("13/request", good, 0600);
	assert_int_equal(read_one(13, &x, &err), 0);
	kept_fini(&x);
	assert_int_equal(chmod(at("13"), 0701), 0); /* others can get in */
	refused(13, -EACCES);
	assert_int_equal(chmod(at("13"), 0700), 0);
	snprintf(other, sizeof other, "%s/elsewhere", dir);
	assert_int_equal(link(at("13/request"), other), 0); /* it has another name */
	refused(13, -EACCES);
	assert_int_equal(unlink(at("13/request")), 0);
	assert_int_equal(symlink(other, at("13/request")), 0);
	refused(13, -ELOOP);
	assert_int_equal(unlink(at("13/request")), 0);
	assert_int_equal(mkfifo(at("13/request"), 0600), 0); /* does not block */
	refused(13, -EACCES);
	assert_int_equal(unlink(at("13/request")), 0);
	assert_int_equal(mkdir(at("13/request"), 0700), 0);
	refused(13, -EACCES);
	assert_int_equal(rmdir(at("13/request")), 0);
	file_put("13/request", "", 0600);
	assert_int_equal(truncate(at("13/request"), (off_t)1 << 30), 0); /* 1 GB */
	refused(13, -EFBIG);
	assert_int_equal(symlink("13", at("14")), 0);
	refused(14, -EINVAL);
	file_put("15", good, 0600);
	refused(15, -EINVAL);
	assert_int_equal(mkfifo(at("16"), 0600), 0);
	refused(16, -EINVAL);
	assert_int_equal(put(), 17); /* all of these are taken */
	for (uint64_t i = 13; i <= 17; i++)
		assert_int_equal(tray_remove(tray, &(struct tray_name){.number = i}), 0);
	assert_int_equal(names(), 0);
}

static void list_is(const char *expected)
{
	tray_names list = {0};
	char all[512] = "", name[TRAY_NAME];

	assert_int_equal(tray_list(dir, offer.tray, &list, NULL), 0);
	for (size_t i = 0; i < list.n; i++) {
		tray_name_format(&list.v[i], name);
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", name);
	}
	assert_string_equal(all, expected);
	vec_free(&list);
}

/* Names that only the server makes, in a tray where everybody can make names: they take no
 * number from others, and their times do not count. */
static void test_planted(void **state)
{
	struct tray_name name = {.number = 13};
	struct stat st;

	assert_int_equal(chmod(at(""), 03777), 0);
	assert_int_equal(put(), 13);
	assert_int_equal(mkdir(at("m13-1000000000000000"), 0700), 0);
	assert_int_equal(mkdir(at("m13"), 0700), 0);
	assert_int_equal(put(), 14);
	assert_int_equal(symlink("/", at("m20-5")), 0);
	assert_int_equal(tray_close(tray), 0);
	list_is("13 14 15 16 20 ");
	assert_int_equal(stat(at(""), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(tray_take(tray, &name, 13, 0), 0);
	assert_true(name.time_us > 1000000000000000);
	name = (struct tray_name){.number = 14};
	assert_int_equal(tray_take(tray, &name, 30, 3000000000000000), 0);
	/* what the server took over it finds again, whether it was killed or not */
	assert_int_equal(tray_close(tray), 0);
	assert_int_equal(name.number, 30);
	assert_int_equal(name.time_us, 3000000000000000);
	assert_int_equal(tray_remove(tray, &name), 0);
	assert_int_equal(tray_remove(tray, &(struct tray_name){.number = 15}), 0);
	assert_int_equal(tray_remove(tray, &(struct tray_name){.number = 16}), 0);
	assert_int_equal(tray_remove(tray, &(struct tray_name){.number = 20}), 0);
	assert_int_equal(names(), 1);
}

static void test_parse(void **state)
{
	static const char *const wrong[] = {
		"",
		"{",
		"[]",
		"{\"path\":\"/v1/jobs\"}",
		"{\"path\":\"/v1/jobs?x=1\",\"body\":{}}",
		"{\"path\":\"/v1/jobs/../shutdown\",\"body\":{}}",
		"{\"path\":\"/v1/jobs/\",\"body\":{}}",
		"{\"path\":\"/v1/shutdown\",\"body\":{}}",
		"{\"path\":\"/v1/jobs\",\"body\":[]}",
		"{\"path\":\"/v1/jobs\",\"body\":{\"jobs\":[]}}",
		"{\"path\":\"/v1/jobs\",\"body\":{\"interactive\":true}}",
		"{\"path\":\"/v1/jobs\",\"sealed\":{},\"lease\":\"a\",\"nonce\":\"n\",\"token\":\"u1\",\"seal\":\"x\"}",
		"{\"path\":\"/v1/jobs\",\"sealed\":\"[]\",\"lease\":\"a\",\"nonce\":\"n\",\"token\":\"u1\",\"seal\":\"x\"}",
		"{\"path\":\"/v1/jobs\",\"sealed\":\"{}\",\"lease\":\"a\\nb\",\"nonce\":\"n\",\"token\":\"u1\",\"seal\":\"x\"}",
		"{\"path\":\"/v1/jobs\",\"sealed\":\"{}\",\"lease\":\"a\",\"nonce\":\"n\",\"token\":\"u1\"}",
		"{\"path\":\"/v1/jobs\",\"sealed\":\"{}\",\"lease\":\"a\",\"token\":\"u1\",\"seal\":\"x\"}",
		"{\"path\":\"/v1/jobs\",\"sealed\":\"{}\\u0000\",\"lease\":\"a\",\"nonce\":\"n\",\"token\":\"u1\",\"seal\":\"x\"}",
		"{\"path\":\"/v1/jobs\",\"sealed\":\"{\\\"jobs\\\":[]}\",\"lease\":\"a\",\"nonce\":\"n\",\"token\":\"u1\",\"seal\":\"x\"}",
	};
	struct kept x = {0};
	struct err err;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(kept_parse(wrong[i], strlen(wrong[i]), &x, &err), -EINVAL);
		assert_true(*err.text);
	}
}

/* From a host with an agent: every byte of the body is as it was sealed, and numbers end. */
static void test_sealed(void **state)
{
	static const struct change sealed = {.path = "/v1/jobs",
					     .body = "{\"script\": \"a\\u0000b\\n\"  }",
					     .nonce = "n1",
					     .token = "u7",
					     .seal = "Zm9v-_"};
	struct kept x;
	struct err err;
	uint64_t number;

	snprintf(offer.lease, sizeof offer.lease, "3-77-abc");
	snprintf(offer.cluster, sizeof offer.cluster, "00ff");
	offer.end = 14;
	assert_int_equal(offer_write(dir, &offer, &err), 0);
	assert_int_equal(offer_read(dir, &offer, &err), 0);
	assert_string_equal(offer.lease, "3-77-abc");
	assert_string_equal(offer.cluster, "00ff");
	assert_int_equal(tray_put(dir, &offer, &sealed, &number, &err), 0);
	assert_int_equal(number, 13);
	assert_int_equal(read_one(13, &x, &err), 0);
	assert_string_equal(x.sealed, sealed.body);
	assert_string_equal(x.lease, "3-77-abc");
	assert_string_equal(x.nonce, "n1");
	assert_string_equal(x.token, "u7");
	assert_string_equal(x.seal, "Zm9v-_");
	assert_int_equal(json_string_length(json_object_get(x.body, "script")), 4);
	kept_fini(&x);
	assert_int_equal(tray_put(dir, &offer, &sealed, &number, &err), -ENOSPC);
	assert_int_equal(names(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_offer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_started_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_planted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sealed, setup, teardown),
		cmocka_unit_test(test_parse),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
