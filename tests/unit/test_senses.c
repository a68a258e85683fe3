/*
 * test_senses.c - who uses a machine: devices and terminals that the test makes in a directory of
 * its own.
 */
#include <fcntl.h>
#include <linux/input.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utmpx.h>

#include <cmocka.h>

#include "station/gpus.h"
#include "station/senses.h"
#include "support/closed.h"

struct place {
	char dev[64];
	uv_loop_t loop;
	struct senses *s;
	int inputs;	 /* inputs that were reported */
	bool none_count; /* no terminal is the owner's */
};

static void on_input(void *context)
{
	((struct place *)context)->inputs++;
}

static bool counts(void *context, dev_t device, uid_t user)
{
	return !((struct place *)context)->none_count;
}

/* A path below the place's directory; good until the next call. */
static const char *at(const struct place *p, const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", p->dev, name);
	return path;
}

/* A file that stands for a terminal, typed at `ago` seconds ago. */
static void terminal(const struct place *p, const char *name, int ago)
{
	struct timespec t[2] = {{.tv_sec = time(NULL) - ago}, {.tv_nsec = UTIME_OMIT}};
	int fd = open(at(p, name), O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, t), 0);
	close(fd);
}

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	struct senses_listener l = {.input = on_input, .counts = counts, .context = p};

	strcpy(p->dev, "/tmp/shunt-senses-XXXXXX");
	if (!mkdtemp(p->dev) || mkdir(at(p, "input"), 0700) || mkdir(at(p, "pts"), 0700) || uv_loop_init(&p->loop))
		return -1;
	p->s = senses_create(&p->loop, p->dev, &l);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	static const char *const names[] = {"input/event0", "input/event1", "input", "pts/0",	"pts/3",   "pts",
					    "tty1",	    "ttyS0",	    "utmp",  "nvidia0", "nvidia1", "."};

	senses_destroy(p->s);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&p->loop), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		remove(i + 1 < sizeof names / sizeof *names ? at(p, names[i]) : p->dev);
	free(p);
	return 0;
}

static struct seen seen(const struct place *p)
{
	struct seen v;

	senses_get(p->s, &v);
	return v;
}

static void event(int fd, unsigned short type)
{
	struct input_event e = {.type = type, .value = 1};

	assert_int_equal(write(fd, &e, sizeof e), sizeof e);
}

static void test_devices(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkfifo(at(p, "input/event0"), 0600), 0);
	int fd = open(at(p, "input/event0"), O_RDWR | O_NONBLOCK);
	assert_true(fd >= 0);
	senses_look(p->s);
	assert_int_equal(senses_devices(p->s), 1);
	assert_true(seen(p).input == OWNER_NO_INPUT);
	event(fd, EV_SYN); /* nobody does that */
	uv_run(&p->loop, UV_RUN_ONCE);
	assert_int_equal(p->inputs, 0);
	event(fd, EV_KEY);
	uv_run(&p->loop, UV_RUN_ONCE);
	assert_int_equal(p->inputs, 1);
	assert_true(seen(p).input == (int64_t)uv_now(&p->loop));
	close(fd); /* unplugged */
	remove(at(p, "input/event0"));
	uv_run(&p->loop, UV_RUN_ONCE);
	uv_run(&p->loop, UV_RUN_NOWAIT);
}

/* Devices that are still there at the end are closed, each once. */
static void test_devices_at_the_end(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkfifo(at(p, "input/event0"), 0600), 0);
	assert_int_equal(mkfifo(at(p, "input/event1"), 0600), 0);
	senses_look(p->s);
	assert_int_equal(senses_devices(p->s), 2);
}

/* Records a login in a file of the place, from which the system's functions read then. */
static void login(const struct place *p, const char *user, const char *line)
{
	struct utmpx u = {.ut_type = USER_PROCESS};

	close(open(at(p, "utmp"), O_WRONLY | O_CREAT, 0600));
	utmpxname(at(p, "utmp"));
	strncpy(u.ut_user, user, sizeof u.ut_user);
	strncpy(u.ut_line, line, sizeof u.ut_line);
	strncpy(u.ut_id, line + 4, sizeof u.ut_id);
	assert_non_null(pututxline(&u));
	endutxent();
}

static void test_terminals(void **state)
{
	struct place *p = *state;
	char user[32];

	snprintf(user, sizeof user, "user %u", getuid());
	login(p, "ana", "pts/1");
	login(p, "bo", "pts/3");
	terminal(p, "pts/0", 100);
	terminal(p, "ttyS0", 0);
	senses_look(p->s);
	assert_true(uv_now(&p->loop) - (uint64_t)seen(p).input >= 99000); /* it was before this began */
	assert_int_equal(p->inputs, 1);
	senses_look(p->s);
	assert_int_equal(p->inputs, 1);
	terminal(p, "pts/0", 50); /* somebody typed: when exactly does not count, it is seen now */
	senses_look(p->s);
	assert_int_equal(p->inputs, 2);
	assert_true((uint64_t)seen(p).input == uv_now(&p->loop));
	assert_string_equal(seen(p).where, "pts/0");
	assert_string_equal(seen(p).who, user);
	terminal(p, "pts/3", 1000); /* a login */
	senses_look(p->s);
	assert_int_equal(p->inputs, 3);
	assert_string_equal(seen(p).where, "pts/3");
	assert_string_equal(seen(p).who, "bo");
	assert_true(senses_logged_in(p->s, getuid()));
	assert_false(senses_logged_in(p->s, 4242));
	terminal(p, "tty1", 0);
	senses_look(p->s);
	assert_string_equal(seen(p).where, "tty1");
	remove(at(p, "tty1")); /* logouts, and nobody has typed */
	remove(at(p, "pts/0"));
	senses_look(p->s);
	assert_int_equal(p->inputs, 4);
	assert_true(senses_logged_in(p->s, getuid()));
	remove(at(p, "pts/3"));
	senses_look(p->s);
	assert_false(senses_logged_in(p->s, getuid()));
	utmpxname(UTMPX_FILE);
}

/* What was typed before the boot counts; that the kernel made a console at boot does not. */
static void test_boot(void **state)
{
	struct place *p = *state;
	int64_t up = (int64_t)uv_now(&p->loop) / 1000;

	terminal(p, "tty1", 0);
	senses_look(p->s);
	assert_int_equal(p->inputs, 0);
	assert_true(seen(p).input == OWNER_NO_INPUT);
	senses_remember(p->s, (up + 500) * 1000);
	assert_in_range(-seen(p).input, 499000, 501000);
	assert_string_equal(seen(p).where, "this machine");
	senses_remember(p->s, -1000); /* the clock was set back */
	assert_true(seen(p).input == (int64_t)uv_now(&p->loop));
}

static void test_console(void **state)
{
	struct place *p = *state;
	int64_t up = (int64_t)uv_now(&p->loop) / 1000;

	terminal(p, "pts/0", up + 500);
	terminal(p, "tty1", 0);
	senses_look(p->s);
	assert_in_range(-seen(p).input, 498000, 502000);
	assert_string_equal(seen(p).where, "pts/0");
	terminal(p, "tty1", -8); /* a key after its node was made */
	senses_look(p->s);
	assert_int_equal(p->inputs, 2);
	assert_string_equal(seen(p).where, "tty1");
}

static void test_not_the_owner(void **state)
{
	struct place *p = *state;

	p->none_count = true;
	terminal(p, "pts/0", 100);
	senses_look(p->s);
	terminal(p, "pts/0", 0);
	senses_look(p->s);
	assert_int_equal(p->inputs, 0);
	assert_true(seen(p).input == OWNER_NO_INPUT);
	assert_false(senses_logged_in(p->s, getuid()));
}

static void test_machine(void **state)
{
	struct seen v = seen(*state);
	double part = 0;
	FILE *f = popen("awk '/^MemTotal:/ { all = $2 } /^MemAvailable:/ { print 100 * $2 / all }' /proc/meminfo", "r");

	assert_int_equal(fscanf(f, "%lf", &part), 1);
	pclose(f);
	assert_true(v.memory_free > part / 2 && v.memory_free < part * 2 && v.memory_free <= 100);
	assert_true(v.memory_stalls >= 0 && v.runnable >= 0);
}

/* GPUs that other processes than ours have open. */
static void test_gpus(void **state)
{
	const struct place *p = *state;
	pid_list ours = {0};
	int up[2];
	char byte;

	assert_int_equal(gpus_count(p->dev), 0);
	assert_true(owner_gpus(p->dev, &ours) == 0);
	for (int i = 0; i < 2; i++)
		close(open(at(p, i ? "nvidia1" : "nvidia0"), O_WRONLY | O_CREAT, 0600));
	assert_int_equal(gpus_count(p->dev), 2);
	assert_int_equal(pipe(up), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open(at(p, "nvidia1"), O_RDONLY);
		if (write(up[1], "+", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(up[0], &byte, 1), 1);
	int fd = open(at(p, "nvidia0"), O_RDONLY); /* by the daemon itself */
	assert_true(owner_gpus(p->dev, &ours) == 1 << 1);
	vec_push(&ours, child);
	assert_true(owner_gpus(p->dev, &ours) == 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fd);
	close(up[0]);
	close(up[1]);
	vec_free(&ours);
}

/* The first loop of a process opens descriptors that stay. */
static int begin(void **state)
{
	uv_loop_t first;

	return uv_loop_init(&first) || uv_loop_close(&first) || closed_begin(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_devices, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_devices_at_the_end, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_terminals, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_boot, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_console, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_not_the_owner, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_machine, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_gpus, setup, teardown),
					   CLOSED_TEST};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, begin, NULL);
}
