/*
 * test_checkpoint.c - jobs that save their work and continue from it: real processes, a real
 * nursery.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/criu.h"
#include "run/script.h"
#include "run/tree.h"
#include "support/nest.h"
#include "support/skip.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, nest_setup, nest_teardown)

/* Counts, a step every 20 ms; saves after a step; each step is in `steps`. Asked for the last
 * time it ends. */
#define COUNT(most)                                                                                                    \
	"n=0; [ -z \"$SHUNT_RESTART\" ] || n=$(cat $SHUNT_RESTART/n)\n"                                                \
	"echo \"$# $*\" >>arguments\n"                                                                                 \
	"trap ask=1 USR1; trap 'ask=1; last=1' USR2; : >>ready; echo x >ready\n"                                       \
	"while [ $n -lt " #most " ]; do\n"                                                                             \
	"  n=$((n+1)); echo $n >>steps; sleep 0.02\n"                                                                  \
	"  [ -z \"$ask\" ] && continue; ask=\n"                                                                        \
	"  cp $SHUNT_CHECKPOINT_DIR/notice notices\n"                                                                  \
	"  echo $n >$SHUNT_CHECKPOINT_DIR/new/n; : >$SHUNT_CHECKPOINT_DIR/new/done\n"                                  \
	"  [ -z \"$last\" ] || exit 0\n"                                                                               \
	"done; echo $n >result"

static struct order saving_order(struct nest *n, const char *tag, const char *script)
{
	struct order o = nest_order(n, tag, script);

	o.checkpoint = (struct order_checkpoint){.method = CHECKPOINT_SIGNAL,
						 .saves_in = "saves/job",
						 .periodic_signal = SIGUSR1,
						 .preempt_signal = SIGUSR2,
						 .duration = 20,
						 .restart_argument = true};
	return o;
}

/* "1\n2\n..." up to `most`, each once. */
static void steps_check(struct nest *n, int most)
{
	const char *at = nest_read(n, nest_path(n, "steps"));

	for (int i = 1; i <= most; i++) {
		char *end;
		assert_int_equal(strtol(at, &end, 10), i);
		at = end;
	}
	assert_string_equal(at, "\n");
}

/* It is stopped again and again, and ends with the steps of one that was left alone. */
static void test_preempted(void **state)
{
	struct nest *n = *state;
	char tag[16];
	struct result r;

	for (int i = 1;; i++) {
		snprintf(tag, sizeof tag, "7.%d", i);
		struct order o = saving_order(n, tag, COUNT(60));
		unlink(nest_path(n, "ready"));
		nest_send(n, &o);
		nest_answer(n, ANSWER_STARTED, tag);
		if (i < 9) {
			nest_await(n, nest_path(n, "ready"));
			nest_save(n, tag, SAVE_PREEMPTED, 0);
		}
		r = nest_result(n, tag);
		assert_int_equal(r.how, RESULT_EXITED);
		assert_int_equal(r.status, 0);
		assert_int_equal(r.saves.restarted, i - 1);
		if (r.cause == CAUSE_ITSELF)
			break;
		assert_int_equal(r.cause, CAUSE_ORDERED);
		assert_int_equal(r.saves.state, SAVE_GOOD);
		assert_int_equal(r.saves.cause, SAVE_PREEMPTED);
		assert_int_equal(r.saves.number, i);
		assert_true(r.saves.covers_ms <= r.ran_ms);
		assert_true(i < 9);
	}
	steps_check(n, 60);
	assert_string_equal(nest_read(n, nest_path(n, "result")), "60\n");
	assert_int_equal(access(nest_path(n, "saves/job"), F_OK), -1); /* it succeeded: nothing is left */
	assert_int_equal(access(nest_path(n, "saves"), F_OK), 0);
	contains(nest_read(n, nest_path(n, "arguments")), "0 \n1 -Restart\n1 -Restart\n");
	contains(nest_read(n, nest_path(n, "notices")), "cause=preempted\nfinal=yes\n");
	contains(nest_read(n, nest_path(n, "notices")), "/saves/job/");
}

/* A host that has no word from its server: the work is saved before the job has to end. */
static void test_lease(void **state)
{
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", COUNT(100000));

	o.lease = 10; /* no file: from its own start */
	o.grace = 1;
	o.checkpoint.duration = 5;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "7.1");
	struct result r = nest_result(n, "7.1");
	assert_int_equal(r.cause, CAUSE_LEASE);
	assert_int_equal(r.saves.state, SAVE_GOOD);
	assert_int_equal(r.saves.cause, SAVE_PERIODIC);
	assert_int_equal(r.saves.good, 1); /* once for an end */
	assert_true(r.saves.covers_ms > 0);
	o = saving_order(n, "7.2", COUNT(100000));
	o.lease = 10;
	o.checkpoint.duration = 5;
	o.checkpoint.periodic_signal = 0; /* it can only be asked to end */
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "7.2");
	r = nest_result(n, "7.2");
	assert_int_equal(r.saves.restarted, 1);
	assert_int_equal(r.cause, CAUSE_SHUTDOWN);
	assert_int_equal(r.saves.state, SAVE_GOOD);
	assert_int_equal(r.saves.number, 2);
}

static void test_periodic(void **state)
{
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", COUNT(100000));
	struct saves s;
	struct result r;
	pid_t pid;

	o.checkpoint.interval = 1;
	nest_send(n, &o);
	pid = nest_answer(n, ANSWER_STARTED, "7.1").pid;
	nest_saved(n, "7.1", SAVE_BEGUN);
	s = nest_saved(n, "7.1", SAVE_GOOD);
	assert_int_equal(s.number, 1);
	s = nest_saved(n, "7.1", SAVE_GOOD);
	assert_int_equal(s.number, 2);
	assert_int_equal(s.cause, SAVE_PERIODIC);
	assert_int_equal(s.good, 2);
	assert_true(s.covers_ms >= 2000);
	assert_null(nest_read(n, nest_path(n, "saves/job/1/n"))); /* one is kept */
	assert_non_null(nest_read(n, nest_path(n, "saves/job/last/n")));
	/* Its shepherd is killed: the live file knows what there is. */
	assert_int_equal(live_look(n->live, "7.1", n->a, &r, &pid), LIVE_RUNNING);
	assert_true(r.saves.number >= 2);
	kill(pid, SIGKILL);
	nest_answer(n, ANSWER_DIED, "7.1");
	assert_int_equal(live_look(n->live, "7.1", n->a, &r, &pid), LIVE_LOST);
	assert_true(r.saves.number >= 2);
	struct strbuf out = {0};
	nursery_clean("7.1", &out);
	nest_frames(n, &out);
	nest_answer(n, ANSWER_CLEANED, "7.1");
	o = saving_order(n, "7.2", "echo $SHUNT_RESTART $1 >from");
	r = nest_run(n, &o);
	assert_int_equal(r.cause, CAUSE_ITSELF);
	assert_true(r.saves.restarted >= 2);
	contains(nest_read(n, nest_path(n, "from")), "/saves/job/");
	contains(nest_read(n, nest_path(n, "from")), " -Restart\n");
}

/* No `done` is a failure, and an earlier one stays the last. */
static void test_failed(void **state)
{
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", COUNT(100000));
	struct result r;
	glob_t found;

	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready"));
	nest_save(n, "7.1", SAVE_PREEMPTED, 0);
	r = nest_result(n, "7.1");
	assert_int_equal(r.saves.number, 1);

	o = saving_order(n, "7.2", "trap : USR1 USR2; echo x >ready2; while :; do sleep 0.1; done");
	o.checkpoint.interval = 1;
	o.checkpoint.duration = 1;
	o.grace = 1;
	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready2"));
	assert_int_equal(nest_saved(n, "7.2", SAVE_FAILED).number, 1);
	nest_save(n, "7.2", SAVE_PREEMPTED, 1);
	r = nest_result(n, "7.2");
	assert_int_equal(r.how, RESULT_SIGNALED);
	assert_int_equal(r.cause, CAUSE_ORDERED);
	assert_int_equal(r.saves.state, SAVE_FAILED);
	assert_int_equal(r.saves.good, 0);
	assert_true(r.saves.failed >= 2);
	assert_int_equal(r.saves.number, 1);
	/* what was not completed does not stay on the disk */
	assert_int_equal(glob(nest_path(n, "saves/job/[0-9]*"), 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	globfree(&found);

	/* In the middle of writing: nothing of it counts. */
	o = saving_order(n, "7.3",
			 "trap 'echo half >$SHUNT_CHECKPOINT_DIR/new/n; echo x >half; sleep 100' USR2; echo x >ready3\n"
			 "while :; do sleep 0.1; done");
	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready3"));
	nest_save(n, "7.3", SAVE_PREEMPTED, 0);
	nest_await(n, nest_path(n, "half"));
	nest_signal(n, "7.3", SIGKILL);
	r = nest_result(n, "7.3");
	assert_int_equal(r.saves.state, SAVE_FAILED);
	assert_int_equal(r.saves.number, 1);
	o = saving_order(n, "7.4", "cat $SHUNT_RESTART/n >from; ls $SHUNT_CHECKPOINT_DIR >list");
	nest_run(n, &o);
	assert_string_not_equal(nest_read(n, nest_path(n, "from")), "half\n");
	assert_string_equal(nest_read(n, nest_path(n, "list")), "1\nlast\n");

	/* It begins from the start. */
	o = saving_order(n, "7.5", "echo \"<$SHUNT_RESTART>\" >from; ls $SHUNT_CHECKPOINT_DIR >list");
	o.checkpoint.from_start = true;
	nest_run(n, &o);
	assert_string_equal(nest_read(n, nest_path(n, "from")), "<>\n");
	assert_string_equal(nest_read(n, nest_path(n, "list")), "");
}

static void test_walltime(void **state)
{
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", COUNT(100000));
	struct result r;

	o.walltime = 20;
	o.checkpoint.duration = 18; /* so it begins after half of it */
	nest_send(n, &o);
	r = nest_result(n, "7.1");
	assert_int_equal(r.how, RESULT_EXITED);
	assert_int_equal(r.cause, CAUSE_WALLTIME);
	assert_int_equal(r.saves.state, SAVE_GOOD);
	assert_int_equal(r.saves.cause, SAVE_LIMIT);
	assert_true(r.ran_ms < 20000);
	contains(nest_read(n, nest_path(n, "notices")), "cause=time_limit\n");
}

/* Exit code 0 after the preempt signal: saved, if its class says so; else the checkpoint before is
 * kept, since nothing shows that it had finished. */
static void test_exit(void **state)
{
	static const char script[] = "trap 'echo 9 >state; exit 0' USR2; echo x >ready; while :; do sleep 0.1; done";
	struct nest *n = *state;

	for (int i = 1; i <= 2; i++) {
		const char *tag = i == 1 ? "7.1" : "7.2";
		struct order o = saving_order(n, tag, script);
		o.checkpoint.exit_saves = i == 1;
		unlink(nest_path(n, "ready"));
		nest_send(n, &o);
		nest_await(n, nest_path(n, "ready"));
		nest_save(n, tag, SAVE_SHUTDOWN, 0);
		struct result r = nest_result(n, tag);
		assert_int_equal(r.cause, CAUSE_SHUTDOWN);
		assert_int_equal(r.saves.state, i == 1 ? SAVE_GOOD : SAVE_FAILED);
		assert_int_equal(r.saves.number, 1);
		assert_int_equal(access(nest_path(n, "saves/job/last"), F_OK), 0);
	}
}

/* A job that ends before it got the signal has ended by itself, with its own exit status; a
 * successful one needs its checkpoints no more. */
static void test_end_unasked(void **state)
{
	static const char script[] = "echo x >ready; until [ -e go ]; do sleep 0.1; done; exit `cat go`";
	struct nest *n = *state;

	for (int i = 0; i < 2; i++) {
		const char *tag = i ? "7.2" : "7.1", *code = i ? "0" : "3";
		struct order o = saving_order(n, tag, script);
		unlink(nest_path(n, "go"));
		unlink(nest_path(n, "ready"));
		unlink(nest_path(n, "saves/job/notice")); /* the first attempt has left it */
		nest_send(n, &o);
		nest_await(n, nest_path(n, "ready")); /* before, it would not be started at all */
		nest_save(n, tag, SAVE_PREEMPTED, 100);
		nest_await(n, nest_path(n, "saves/job/notice"));
		nest_write(n, nest_path(n, "going"), code, 1, 0644);
		assert_int_equal(rename(nest_path(n, "going"), nest_path(n, "go")), 0);
		struct result r = nest_result(n, tag);
		assert_int_equal(r.cause, CAUSE_ITSELF);
		assert_int_equal(r.status, atoi(code));
		assert_int_equal(access(nest_path(n, "saves/job"), F_OK), i ? -1 : 0);
	}
}

/* A job that can handle the signal only a while after it is to end still gets it. */
static void test_handler_late(void **state)
{
	static const char script[] =
		"echo x >ready; sleep 1; trap ': >$SHUNT_CHECKPOINT_DIR/new/done; exit 0' USR2; while :; do sleep 0.1; done";
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", script);

	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready"));
	nest_save(n, "7.1", SAVE_PREEMPTED, 100);
	struct result r = nest_result(n, "7.1");
	assert_int_equal(r.how, RESULT_EXITED);
	assert_int_equal(r.cause, CAUSE_ORDERED);
	assert_int_equal(r.saves.state, SAVE_GOOD);
}

/* Starts a process that blocks one signal, or all of them, and then computes or sleeps. */
static pid_t blocker_start(const int *one, bool sleeps)
{
	pid_t parent = getpid(), pid;
	int ready[2];
	sigset_t set;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(one ? sigemptyset : sigfillset)(&set);
		if (one)
			sigaddset(&set, *one);
		sigprocmask(SIG_SETMASK, &set, NULL);
		if (write(ready[1], "", 1) != 1 || getppid() != parent)
			_exit(1);
		for (volatile unsigned i = 0;; i++)
			if (sleeps)
				pause();
	}
	assert_int_equal(read(ready[0], &(char){0}, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void blocker_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A process that blocks everything for a moment, as a shell does while it starts a program, would
 * be killed by the signal; one that waits with it blocked is not. */
static void test_blocked(void **state)
{
	pid_t pid = blocker_start(NULL, false);

	assert_int_equal(process_signal_heard(pid, SIGUSR2), 0);
	blocker_end(pid);
	pid = blocker_start(&(int){SIGUSR2}, false);
	assert_int_equal(process_signal_heard(pid, SIGUSR2), 1);
	assert_int_equal(process_signal_heard(pid, SIGUSR1), 0);
	blocker_end(pid);
	pid = blocker_start(NULL, true);
	while (!process_signal_heard(pid, SIGUSR2)) /* until it sleeps */
		usleep(1000);
	blocker_end(pid);
}

/* A program beside it saves it. */
static void test_script(void **state)
{
	static const char saver[] =
		"#!/bin/sh\n[ \"$(id -u)\" = \"$(stat -c %u .)\" ] && cp ../../../state n && echo $3 >cause";
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", "echo 5 >state; echo x >ready; sleep 100");
	struct result r;

	nest_write(n, nest_path(n, "saver"), saver, strlen(saver), 0755);
	o.checkpoint.method = CHECKPOINT_SCRIPT;
	o.checkpoint.saver = nest_path(n, "saver");
	o.grace = 1;
	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready"));
	nest_save(n, "7.1", SAVE_ASKED, 0);
	assert_int_equal(nest_saved(n, "7.1", SAVE_GOOD).number, 1);
	assert_string_equal(nest_read(n, nest_path(n, "saves/job/last/n")), "5\n");
	assert_string_equal(nest_read(n, nest_path(n, "saves/job/last/cause")), "asked\n");
	unlink(nest_path(n, "state"));
	nest_save(n, "7.1", SAVE_PREEMPTED, 2);
	r = nest_result(n, "7.1");
	assert_int_equal(r.cause, CAUSE_ORDERED);
	assert_int_equal(r.saves.state, SAVE_FAILED);
	assert_int_equal(r.saves.number, 1);
}

/* The user's own programs: one saves it, the other is run instead of its script when it restarts,
 * by the interpreter that it names itself. Both are the user; the second also has the job's
 * directory and limits. */
static void test_restarter(void **state)
{
	static const char saver[] = "#!/bin/sh\nid -u >who; echo 42 >n";
	static const char restarter[] =
		"#!/bin/sh\necho \"$# $(cat $1/n) $(cat $1/who) $(id -u) ${SHUNT_RESTART#$1} $(pwd) $(ulimit -n)\"; exit 4";
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", "echo x >ready; sleep 1000");
	struct script_print print;
	struct result r;

	nest_write(n, nest_path(n, "saver"), saver, strlen(saver), 0755);
	nest_write(n, nest_path(n, "restarter"), restarter, strlen(restarter), 0755);
	o.checkpoint.method = CHECKPOINT_SCRIPT;
	o.checkpoint.saver = nest_path(n, "saver");
	o.checkpoint.restarter = nest_path(n, "restarter");
	o.checkpoint.duration = 2;
	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready"));
	nest_save(n, "7.1", SAVE_PREEMPTED, 0);
	assert_int_equal(nest_result(n, "7.1").saves.state, SAVE_GOOD);
	struct order again = saving_order(n, "7.2", "#!/bin/cat\n");
	again.checkpoint = o.checkpoint;
	again.files = 99;
	script_print_make(&print, "#!/bin/cat\n", 11);
	order_print_set(&again, &print, n->a);
	r = nest_run(n, &again);
	assert_int_equal(r.status, 4);
	assert_string_equal(nest_read(n, again.out),
			    arena_printf(n->a, "1 42 %u %u  %s 99\n", (unsigned)n->uid, (unsigned)n->uid, n->work));
	/* One that is not there is an error of the job, which is shown. */
	again = saving_order(n, "7.3", "exit 9");
	again.checkpoint = o.checkpoint;
	again.checkpoint.restarter = nest_path(n, "missing");
	assert_int_equal(nest_run(n, &again).status, 127);
	contains(nest_read(n, again.err), "missing can't be read");
}

static void test_hostile(void **state)
{
	struct nest *n = *state;
	char secret[160];
	struct order o;
	struct result r;
	struct stat st;

	snprintf(secret, sizeof secret, "%s/secret", n->dir);
	assert_int_equal(mkdir(secret, 0700), 0);
	/* Everything that the shepherd's side is about to make is there already, as something
	 * else. */
	o = saving_order(
		n, "7.1",
		arena_printf(n->a,
			     "d=$SHUNT_CHECKPOINT_DIR; mkfifo $d/notice $d/1; mkdir $d/.new $d/.last; ln -s %s $d/2\n"
			     "ln -s %s $d/last; ln -s %s $d/.gone.5\n"
			     "trap 'mkfifo $d/new/done; exit 3' USR2; echo x >ready; while :; do sleep 0.1; done",
			     secret, secret, secret));
	o.checkpoint.duration = 2;
	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready"));
	nest_save(n, "7.1", SAVE_PREEMPTED, 0);
	r = nest_result(n, "7.1");
	assert_int_equal(r.saves.state, SAVE_FAILED);
	assert_int_equal(r.saves.number, 0);
	assert_int_equal(stat(secret, &st), 0);
	assert_int_equal(st.st_uid, getuid());

	/* Directories that nobody may enter, and ones that are gone: the result says so. */
	o = saving_order(
		n, "8.1",
		"chmod 0 $SHUNT_CHECKPOINT_DIR; trap 'exit 3' USR2; echo x >ready8; while :; do sleep 0.1; done");
	o.checkpoint.saves_in = "saves/other";
	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready8"));
	nest_save(n, "8.1", SAVE_PREEMPTED, 0);
	r = nest_result(n, "8.1");
	assert_int_equal(r.how, RESULT_EXITED);
	assert_int_equal(r.status, 3);
	assert_int_equal(r.saves.state, SAVE_FAILED);
	o = saving_order(
		n, "9.1",
		"rm -r $SHUNT_CHECKPOINT_DIR; trap 'exit 3' USR2; echo x >ready9; while :; do sleep 0.1; done");
	o.checkpoint.saves_in = "saves/third";
	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready9"));
	nest_save(n, "9.1", SAVE_PREEMPTED, 0);
	assert_int_equal(nest_result(n, "9.1").saves.state, SAVE_FAILED);

	/* Another's directory is not written to. */
	o = saving_order(n, "10.1", "echo it runs");
	o.checkpoint.saves_in = secret;
	nest_send(n, &o);
	r = nest_result(n, "10.1");
	if (getuid() == 0) {
		assert_int_equal(r.how, RESULT_NOT_STARTED);
		contains(r.reason, "can't be used: Permission denied");
	}
	chmod(nest_path(n, "saves/other"), 0700);
	rmdir(secret);
}

/* A checkpoint that can't be read now is not deleted for that, nor does its job begin from the
 * start. */
static void test_unreadable(void **state)
{
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", COUNT(1000000));
	struct result r;

	nest_send(n, &o);
	nest_await(n, nest_path(n, "ready"));
	nest_save(n, "7.1", SAVE_PREEMPTED, 0);
	assert_int_equal(nest_result(n, "7.1").saves.state, SAVE_GOOD);
	assert_int_equal(chmod(nest_path(n, "saves/job/1"), 0), 0);
	o = saving_order(n, "7.2", "exit 9");
	nest_send(n, &o);
	r = nest_result(n, "7.2");
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	contains(r.reason, "can't be used: Permission denied");
	assert_int_equal(chmod(nest_path(n, "saves/job/1"), 0700), 0);
	o = saving_order(n, "7.3", "cat $SHUNT_RESTART/n");
	r = nest_run(n, &o);
	assert_int_equal(r.saves.restarted, 1);
	assert_int_equal(r.status, 0);
}

static void prologue_set(struct nest *n, struct order *o, const char *text)
{
	char *path = arena_printf(n->a, "%s/prologue", n->dir);

	nest_write(n, path, text, strlen(text), 0755);
	o->site.prologue = path;
}

/* Before its program runs there is nothing to be saved: it ends at once. */
static void test_early_final(void **state)
{
	static const enum checkpoint_cause causes[] = {SAVE_PREEMPTED, SAVE_SHUTDOWN, SAVE_MOVE};
	struct nest *n = *state;
	struct result r;
	char tag[16];

	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) { /* while the prologue runs */
		snprintf(tag, sizeof tag, "7.%zu", i + 1);
		struct order o = saving_order(n, tag, COUNT(1000000));
		prologue_set(n, &o, "#!/bin/sh\necho x; exec sleep 100");
		nest_send(n, &o);
		nest_await(n, o.out);
		nest_save(n, tag, causes[i], 0);
		r = nest_result(n, tag);
		assert_int_equal(r.how, RESULT_NOT_STARTED);
		assert_int_equal(r.cause, CAUSE_ORDERED);
	}
	struct order o =
		saving_order(n, "7.9", COUNT(1000000)); /* while it waits for its terminal, which never comes */
	o.terminal.pty = nest_path(n, "nobody.sock");
	o.terminal.patience = 100;
	nest_send(n, &o);
	nest_answer(n, ANSWER_STARTED, "7.9");
	nest_save(n, "7.9", SAVE_PREEMPTED, 0);
	r = nest_result(n, "7.9");
	assert_int_equal(r.how, RESULT_NOT_STARTED);
	assert_int_equal(r.cause, CAUSE_ORDERED);
	assert_int_equal(access(nest_path(n, "steps"), F_OK), -1);
}

/* At any moment of its start: it has not begun, or it saves what it has done. */
static void test_early_race(void **state)
{
	struct nest *n = *state;
	char tag[16];

	for (int i = 1; i <= 30; i++) {
		snprintf(tag, sizeof tag, "7.%d", i);
		struct order o = saving_order(n, tag, COUNT(1000000));
		nest_send(n, &o);
		usleep((useconds_t)(i % 10) * 1000);
		nest_save(n, tag, SAVE_PREEMPTED, 0);
		struct result r = nest_result(n, tag);
		assert_int_equal(r.cause, CAUSE_ORDERED);
		if (r.how == RESULT_NOT_STARTED)
			continue;
		assert_int_equal(r.saves.state, SAVE_GOOD);
		assert_int_equal(r.status, 0);
	}
}

/* Until its first process is stopped. */
static void stopped_await(struct nest *n, const char *tag)
{
	char path[64], c = 0;
	struct result r;
	pid_t pid;

	do {
		usleep(10000);
		assert_int_equal(live_look(n->live, tag, n->a, &r, &pid), LIVE_RUNNING);
	} while (!r.session);
	snprintf(path, sizeof path, "/proc/%d/stat", r.session);
	for (int i = 0; i < 3000 && c != 'T'; i++) {
		const char *stat = nest_read(n, path);
		c = stat ? strrchr(stat, ')')[2] : 0;
		usleep(10000);
	}
	assert_int_equal(c, 'T');
}

/* One that does not end it changes nothing; what pauses it holds when it runs. */
static void test_early_other(void **state)
{
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", "read x <on; exit 3");
	struct result r;

	prologue_set(n, &o, arena_printf(n->a, "#!/bin/sh\necho x; while ! [ -e %s/go ]; do sleep 0.1; done", n->dir));
	assert_int_equal(mkfifo(nest_path(n, "on"), 0666), 0);
	assert_int_equal(chmod(nest_path(n, "on"), 0666), 0);
	nest_send(n, &o);
	nest_await(n, o.out);
	nest_save(n, "7.1", SAVE_ASKED, 0);
	nest_signal(n, "7.1", SIGSTOP);
	nest_signal(n, "7.1", SIGCONT);
	nest_signal(n, "7.1", SIGSTOP);
	nest_write(n, arena_printf(n->a, "%s/go", n->dir), "x", 1, 0644);
	stopped_await(n, "7.1");
	nest_signal(n, "7.1", SIGCONT);
	int on = open(nest_path(n, "on"), O_RDWR | O_CLOEXEC);
	assert_int_equal(write(on, "x\n", 2), 2);
	r = nest_result(n, "7.1");
	assert_int_equal(r.how, RESULT_EXITED);
	assert_int_equal(r.status, 3);
	assert_int_equal(r.cause, CAUSE_ITSELF);
	close(on);
}

/* Saves and does nothing else. It has no children: one that is stopped before its exec also
 * keeps a shell from being stopped. */
#define SAVE_ONLY "trap ': >$SHUNT_CHECKPOINT_DIR/new/done' USR1; while :; do read x <>on; done"

static struct saves saves_now(struct nest *n, const char *tag)
{
	struct result r;
	pid_t pid;

	assert_int_equal(live_look(n->live, tag, n->a, &r, &pid), LIVE_RUNNING);
	return r.saves;
}

/* A suspended job is not asked to save its work, whether it was suspended before its start or
 * later, while another is asked twice; it is when it resumes. */
static void test_suspended(void **state)
{
	struct nest *n = *state;
	struct order o = saving_order(n, "7.1", SAVE_ONLY), other = saving_order(n, "8.1", SAVE_ONLY);
	struct saves s;

	o.checkpoint.interval = other.checkpoint.interval = 1;
	other.checkpoint.saves_in = "saves/other";
	assert_int_equal(mkfifo(nest_path(n, "on"), 0666), 0);
	assert_int_equal(chmod(nest_path(n, "on"), 0666), 0);
	prologue_set(n, &o, arena_printf(n->a, "#!/bin/sh\necho x; while ! [ -e %s/go ]; do sleep 0.1; done", n->dir));
	nest_send(n, &o);
	nest_await(n, o.out);
	nest_signal(n, "7.1", SIGSTOP);
	nest_write(n, arena_printf(n->a, "%s/go", n->dir), "x", 1, 0644);
	stopped_await(n, "7.1");
	nest_send(n, &other);
	nest_saved(n, "8.1", SAVE_GOOD);
	nest_saved(n, "8.1", SAVE_GOOD);
	assert_int_equal(saves_now(n, "7.1").state, SAVE_NONE);
	nest_signal(n, "7.1", SIGCONT);
	assert_int_equal(nest_saved(n, "7.1", SAVE_GOOD).number, 1);
	nest_signal(n, "7.1", SIGSTOP);
	stopped_await(n, "7.1");
	do { /* one that had begun */
		usleep(10000);
		s = saves_now(n, "7.1");
	} while (s.state == SAVE_BEGUN);
	n->saved.n = 0;
	nest_saved(n, "8.1", SAVE_GOOD);
	nest_saved(n, "8.1", SAVE_GOOD);
	assert_int_equal(saves_now(n, "7.1").state, s.state);
	assert_int_equal(saves_now(n, "7.1").good, s.good);
	assert_int_equal(saves_now(n, "7.1").failed, s.failed);
	nest_signal(n, "7.1", SIGCONT);
	while (nest_saved(n, "7.1", SAVE_GOOD).good <= s.good)
		;
	nest_signal(n, "7.1", SIGKILL);
	nest_signal(n, "8.1", SIGKILL);
	nest_result(n, "7.1");
	nest_result(n, "8.1");
}

/* What a job was submitted with is not its own; nor does it get there without a method. */
static void test_environment(void **state)
{
	static char *env[] = {"PATH=/usr/bin:/bin", "SHUNT_RESTART=/other", "SHUNT_CHECKPOINT_DIR=/other", NULL};
	struct nest *n = *state;
	struct order o = nest_order(n, "7.1", "echo \"<$SHUNT_RESTART><$SHUNT_CHECKPOINT_DIR>\"");

	o.env = env;
	nest_run(n, &o);
	assert_string_equal(nest_read(n, o.out), "<><>\n");
}

/* Stands for the program criu: it saves nothing, and restores by writing to the descriptors that it
 * is given. */
static const char stand_in[] = "#!/bin/sh\n"
			       "[ $1 = dump ] && exit 0\n"
			       "while [ $# -gt 0 ]; do\n"
			       "  [ $1 = -D ] && dir=$2\n"
			       "  [ $1 = --pidfile ] && echo $$ >$2\n"
			       "  [ $1 = --inherit-fd ] && { n=${2#fd[}; echo \"${2#*:}\" >>/dev/fd/${n%%]*}; }\n"
			       "  shift\n"
			       "done\n";

/* A restored job writes to the output of its new attempt; what it wrote to its other files since it
 * was saved is cut off, but for what it appends to. */
static void test_criu_files(void **state)
{
	static const char *const names[] = {"out", "err", "file", "log", "out2", "err2"};
	struct nest *n = *state;
	char why[CRIU_WHY] = "", *path = arena_printf(n->a, "%s", getenv("PATH"));
	struct stat st[2];
	int fds[6], status;

	if (geteuid() != 0)
		skip_because("CRIU needs root");
	nest_write(n, arena_printf(n->a, "%s/criu", n->dir), stand_in, sizeof stand_in - 1, 0755);
	setenv("PATH", arena_printf(n->a, "%s:%s", n->dir, path), 1);
	pid_t job = -1;
	for (int i = 0; i < 6; i++) {
		int append = i >= 3 ? O_APPEND : 0;
		if (i == 4) {
			job = fork(); /* it has the first four open */
			if (job == 0)
				pause();
		}
		fds[i] = open(nest_path(n, names[i]), O_CREAT | O_WRONLY | O_CLOEXEC | append, 0666);
		assert_true(fds[i] >= 0);
		if (i < 4)
			assert_int_equal(write(fds[i], "saved\n", 6), 6);
		if (i < 2)
			assert_int_equal(fstat(fds[i], &st[i]), 0);
	}
	assert_int_equal(criu_dump(job, n->dir, st, why), 0);
	kill(job, SIGKILL);
	assert_int_equal(waitpid(job, &status, 0), job);
	for (int i = 0; i < 4; i++)
		assert_int_equal(write(fds[i], "later\n", 6), 6);
	job = fork();
	if (job == 0)
		criu_restore(n->dir, &(struct identity){.uid = n->uid}, fds + 4);
	assert_int_equal(waitpid(job, &status, 0), job);
	assert_int_equal(status, 0);
	assert_int_equal(criu_restored(n->dir, why), job);
	assert_int_equal(criu_restored(n->dir, why), -ECANCELED); /* the number is used once */
	for (int i = 0; i < 6; i++)
		close(fds[i]);
	setenv("PATH", path, 1);
	/* CRIU names files without their first slash */
	assert_string_equal(nest_read(n, nest_path(n, "out2")), arena_printf(n->a, "%s\n", nest_path(n, "out") + 1));
	assert_string_equal(nest_read(n, nest_path(n, "err2")), arena_printf(n->a, "%s\n", nest_path(n, "err") + 1));
	assert_string_equal(nest_read(n, nest_path(n, "out")), "saved\nlater\n");
	assert_string_equal(nest_read(n, nest_path(n, "file")), "saved\n");
	assert_string_equal(nest_read(n, nest_path(n, "log")), "saved\nlater\n");
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		TEST(test_preempted),	TEST(test_lease),	 TEST(test_periodic),
		TEST(test_failed),	TEST(test_end_unasked),	 TEST(test_walltime),
		TEST(test_exit),	TEST(test_script),	 TEST(test_restarter),
		TEST(test_hostile),	TEST(test_unreadable),	 TEST(test_environment),
		TEST(test_early_final), TEST(test_early_race),	 TEST(test_early_other),
		TEST(test_suspended),	TEST(test_handler_late), cmocka_unit_test(test_blocked),
		TEST(test_criu_files),
	};

	return cmocka_run_group_tests_name("checkpoint", all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return nest_main(argc, argv, tests);
}
