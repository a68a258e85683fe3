/*
 * saving.c - the shepherd's side of checkpoints.
 */
#include "run/saving.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "run/live.h"
#include "run/shepherd_internal.h"
#include "run/tree.h"

/* seconds for a directory that does not answer; then the host is unfit for the job */
#define FIND_SECONDS 60
#define LOOK_LEAST 10	     /* minimum seconds for the last look */
#define LINE_BYTES 320	     /* fixed length of the line in the live file */
#define UNHEARD (SECOND / 5) /* time until a signal without a handler is tried again */

/* ---- reports ---- */

/* Writes a line of fixed length over the last one: an attempt of weeks has thousands of
 * checkpoints. */
static void live_write(struct shepherd *s, const char *text, size_t n)
{
	char line[LINE_BYTES + 1];

	if (n + 7 > LINE_BYTES)
		return;
	snprintf(line, sizeof line, "saves %-*s\n", LINE_BYTES - 7, text);
	if (s->saving.live_at) {
		if (pwrite(s->place->live, line, LINE_BYTES, s->saving.live_at) < 0)
			return; /* the result contains it as well */
	} else {
		off_t at = s->live_at;
		if (!live_add(s->place->live, &s->live_at, line, LINE_BYTES))
			s->saving.live_at = at;
	}
}

static void tell(struct shepherd *s)
{
	struct strbuf text = {0};

	s->r.saves = s->saving.saves;
	saves_write(&s->r.saves, &text);
	live_write(s, text.text, text.n);
	strbuf_clear(&text);
	result_write(&(struct result){.tag = s->o->tag, .saved = true, .saves = s->r.saves}, &text);
	shepherd_send(s, text.text, text.n);
	strbuf_fini(&text);
}

/* ---- before the start ---- */

static bool is_criu(const struct shepherd *s)
{
	return s->o->checkpoint.method == CHECKPOINT_CRIU;
}

static const char *directory_path(const struct order *o)
{
	const char *path = o->checkpoint.saves_in;
	char *whole;

	if (*path == '/')
		return path;
	return asprintf(&whole, "%s/%s", o->home && *o->home ? o->home : "", path) < 0 ? path : whole;
}

/* Checks that CRIU works here and that the images belong to root. */
static int images_open(struct shepherd *s, struct err *err)
{
	static char dir[4096], other[4096];
	struct saving *v = &s->saving;
	int r = criu_check(s->place->who, err);

	if (!r && s->o->nhosts)
		r = err_set(err, -ENOTSUP, "CRIU can save jobs on one host only");
	if (!r)
		r = images_path(s->o->checkpoint.saves_in, dir, sizeof dir, err);
	if (!r && s->o->checkpoint.restart_of)
		r = images_path(s->o->checkpoint.restart_of, other, sizeof other, err);
	v->root = (struct identity){.uid = geteuid(), .gid = getegid()};
	v->dir = dir;
	v->other = s->o->checkpoint.restart_of ? other : NULL;
	for (int i = 0; i < 2; i++)
		if (s->output.fd[i] < 0 || fstat(s->output.fd[i], &v->output[i]))
			v->output[i] = (struct stat){0};
	return r;
}

static void scribe_begin(struct shepherd *s, enum scribe_task task, int64_t late_at)
{
	struct saving *v = &s->saving;
	int64_t left = v->until - boot_us();
	struct scribe_order x = {.task = task,
				 .o = s->o,
				 .who = is_criu(s) ? &s->saving.root : s->place->who,
				 .dir = v->dir,
				 .env = s->launch.env,
				 .cause = v->cause,
				 .until = clock_us(CLOCK_REALTIME) + left,
				 .seconds = left < 0 ? 0 : left / SECOND,
				 .number = v->number,
				 .session = s->r.session,
				 .done = s->o->checkpoint.exit_saves && v->final && s->r.how == RESULT_EXITED &&
					 s->r.status == 0,
				 .other = v->other,
				 .output = v->output,
				 .page = v->page};

	v->task = task;
	v->late_at = late_at;
	v->page->good = 0;
	v->scribe = scribe_start(&x);
}

static bool is_kill(int signal, const siginfo_t *info)
{
	return signal == SHEPHERD_SIGNAL && info->si_value.sival_int == SIGKILL;
}

/* Returns the exit status; -ETIME if the scribe had to be killed, -ECANCELED if the job is not
 * wanted any more. */
static int scribe_wait(struct shepherd *s, bool (*unwanted)(int signal, const siginfo_t *info))
{
	pid_t pid = s->saving.scribe;
	siginfo_t info;
	int status, why = 0;

	s->saving.scribe = 0;
	if (pid < 0)
		return (int)pid;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		int signal = shepherd_pause(s->saving.late_at, &info);
		bool stop = unwanted(signal, &info);
		if (!why && (stop || boot_us() >= s->saving.late_at)) {
			why = stop ? -ECANCELED : -ETIME;
			s->saving.late_at = NEVER;
			kill(pid, SIGKILL);
		}
	}
	return why ? why : WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static void environment_set(struct shepherd *s)
{
	const char *dir = s->saving.dir, *from = s->saving.page->other ? s->saving.other : dir;
	int64_t number = s->saving.page->number;
	size_t n = 0;

	while (s->place->env[n])
		n++;
	char **env = mem_zalloc((n + 3) * sizeof *env);
	memcpy(env, s->place->env, n * sizeof *env);
	if (asprintf(&env[n++], "SHUNT_CHECKPOINT_DIR=%s", dir) < 0)
		abort(); /* out of memory */
	if (number && asprintf(&env[n++], "SHUNT_RESTART=%s/%" PRId64, from, number) < 0)
		abort();
	s->launch.env = env;
}

/* Runs the restarter the same way as the script: it is the user's, just like that. */
static void restarter_set(struct shepherd *s)
{
	const char *from = s->saving.page->other ? s->saving.other : s->saving.dir;
	char **argv = mem_zalloc(2 * sizeof *argv);

	if (asprintf(&argv[0], "%s/%" PRId64, from, s->saving.page->number) < 0)
		abort(); /* out of memory */
	s->saving.order = *s->o;
	s->saving.order.script = s->o->checkpoint.restarter;
	s->saving.order.argv = argv;
	s->launch.o = &s->saving.order;
}

static void arguments_set(struct shepherd *s)
{
	size_t n = 0;

	if (!s->saving.page->number)
		return;
	if (s->o->checkpoint.restarter) {
		restarter_set(s);
		return;
	}
	if (!s->o->checkpoint.restart_argument)
		return;
	while (s->o->argv[n])
		n++;
	char **argv = mem_zalloc((n + 2) * sizeof *argv);
	memcpy(argv, s->o->argv, n * sizeof *argv);
	argv[n] = "-Restart";
	s->saving.order = *s->o;
	s->saving.order.argv = argv;
	s->launch.o = &s->saving.order;
}

int saving_open(struct shepherd *s, struct err *err)
{
	struct saving *v = &s->saving;

	if (s->o->checkpoint.method == CHECKPOINT_NONE || s->o->room)
		return 0;
	v->page = mmap(NULL, sizeof *v->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (v->page == MAP_FAILED)
		abort(); /* out of memory */
	v->dir = is_criu(s) ? NULL : directory_path(s->o);
	v->other = s->o->checkpoint.restart_of;
	if (is_criu(s) && images_open(s, err)) {
		s->r.unclear = true;
		return -ECANCELED;
	}
	scribe_begin(s, SCRIBE_FIND, boot_us() + FIND_SECONDS * SECOND);
	int r = scribe_wait(s, shepherd_early);
	if (r) {
		s->r.unclear = true;
		if (r == -ECANCELED)
			s->r.cause = CAUSE_ORDERED;
		if (r == -ENODATA)
			return err_set(err, r,
				       "there is no checkpoint in %.300s any more, and it was to start from that",
				       v->other);
		return err_set(err, r, "its checkpoint directory %.300s can't be used: %s", v->dir, strerror(-r));
	}
	if (!is_criu(s)) {
		environment_set(s);
		arguments_set(s);
	}
	v->saves.number = v->saves.restarted = v->page->number;
	return 0;
}

static int64_t interval(const struct shepherd *s)
{
	const struct order_checkpoint *c = &s->o->checkpoint;
	bool heard = c->method != CHECKPOINT_SIGNAL || c->periodic_signal > 0;

	return c->interval > 0 && heard ? c->interval * SECOND : 0;
}

bool saving_restores(const struct shepherd *s)
{
	return s->saving.page && is_criu(s) && s->saving.page->number;
}

static void restore_run(struct shepherd *s, const char *dir)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		dup2(null, i);
	launch_place(&s->launch);
	criu_restore(dir, s->place->who, s->output.fd);
}

pid_t saving_restore(struct shepherd *s, struct err *err)
{
	struct saving *v = &s->saving;
	char dir[4200], why[CRIU_WHY] = "";

	snprintf(dir, sizeof dir, "%s/%" PRId64, v->page->other ? v->other : v->dir, v->page->number);
	v->scribe = fork();
	if (v->scribe == 0)
		restore_run(s, dir);
	v->late_at = boot_us() + (FIND_SECONDS + s->o->checkpoint.duration) * SECOND;
	int r = scribe_wait(s, shepherd_early);
	pid_t pid = r ? r : criu_restored(dir, why);
	if (pid > 0)
		return pid;
	if (r)
		criu_restored(dir, why);
	tree_kill(getpid()); /* processes that it may have restored already */
	while (waitpid(-1, NULL, 0) > 0)
		;
	s->r.unclear = true;
	if (r == -ECANCELED)
		s->r.cause = CAUSE_ORDERED;
	return err_set(err, -ECANCELED, "CRIU can't restore it from checkpoint %" PRId64 ": %s", v->page->number,
		       *why	     ? why
		       : r == -ETIME ? "it took too long"
				     : strerror(-r));
}

void saving_started(struct shepherd *s)
{
	if (!s->saving.page)
		return;
	s->saving.next_at = interval(s) ? s->started + interval(s) : NEVER;
	if (s->saving.saves.restarted)
		tell(s);
}

/* ---- one checkpoint ---- */

static void ended(struct shepherd *s, bool good);

/* Gives the scribe a quarter of the time left, since the program needs the rest. */
static void directory_ask(struct shepherd *s)
{
	struct saving *v = &s->saving;
	int64_t now = boot_us(), part = (v->until - now) / 4;

	scribe_begin(s, SCRIBE_PREPARE, now + (part > SECOND ? part : SECOND));
	if (v->scribe < 0) {
		v->scribe = 0;
		ended(s, false);
	}
}

static void prepare(struct shepherd *s, enum checkpoint_cause cause, int64_t until)
{
	struct saving *v = &s->saving;
	int64_t now = boot_us();

	v->cause = cause;
	v->final |= cause_is_final(cause);
	v->begun = now;
	v->until = until;
	v->heard_at = 0;
	v->number = -1;
	v->saves.state = SAVE_BEGUN;
	v->saves.cause = cause;
	tell(s);
	directory_ask(s);
}

static void signal_try(struct shepherd *s)
{
	struct saving *v = &s->saving;
	const struct order_checkpoint *c = &s->o->checkpoint;
	int signal = v->final ? c->preempt_signal : c->periodic_signal;

	v->signal_at = NEVER;
	if (c->method != CHECKPOINT_SIGNAL || signal <= 0)
		v->heard_at = boot_us();
	else if (s->o->launcher ? process_signal_heard(s->job, signal) : tree_signal_heard(getpid(), v->scribe, signal))
		v->heard_at = boot_us();
	else
		v->signal_at = boot_us() + UNHEARD;
	if (v->final)
		tree_signal(getpid(), SIGCONT); /* a stopped process would not handle the signal */
}

static void prepared(struct shepherd *s, bool ready)
{
	struct saving *v = &s->saving;

	v->number = ready ? v->page->number : 0;
	if (ready || v->final)
		/* signal it even without a directory: it will be ended, and may save itself in
		 * another way */
		signal_try(s);
	if (!ready) {
		ended(s, false);
		return;
	}
	scribe_begin(s, SCRIBE_AWAIT, v->until);
	if (v->scribe < 0) {
		v->scribe = 0;
		ended(s, false);
	}
}

/* Handles the end of a dump. It has left the processes as they were, or stopped; one that was
 * interrupted may have damaged them. */
static void dumped(struct shepherd *s, bool good, bool cut)
{
	struct saving *v = &s->saving;

	if (*v->page->why)
		strbuf_printf(&s->say, "%scheckpoint %" PRId64 " failed: %s", s->say.n ? ". " : "", v->number,
			      v->page->why);
	v->page->why[0] = '\0';
	if (cut && !v->final) {
		strbuf_printf(&s->say,
			      "%sCRIU did not save it within %" PRId64 " s: it continues from the checkpoint before",
			      s->say.n ? ". " : "", s->o->checkpoint.duration);
		v->cause = SAVE_SHUTDOWN; /* the job is not to blame */
	}
	v->ends = cut || (good && v->final);
	if (!v->ends)
		tree_signal(getpid(), s->paused && !v->final ? SIGSTOP : SIGCONT);
}

static void ended(struct shepherd *s, bool good)
{
	struct saving *v = &s->saving;
	int64_t now = boot_us();

	v->saves.state = good ? SAVE_GOOD : SAVE_FAILED;
	v->saves.took_ms = (now - v->begun) / 1000;
	if (good) {
		v->saves.good++;
		v->saves.number = v->number;
		v->saves.saved_us = clock_us(CLOCK_REALTIME);
		v->saves.covers_ms = ((v->heard_at ? v->heard_at : v->begun) - s->started) / 1000;
	} else {
		v->saves.failed++;
	}
	v->number = 0;
	v->signal_at = v->final ? v->signal_at : NEVER;
	v->next_at = !interval(s) || v->final ? NEVER : v->begun + interval(s) > now ? v->begun + interval(s) : now;
	tell(s);
	if (v->waits && !v->ends) {
		v->waits = false;
		prepare(s, v->waiting, v->waiting_until);
	}
}

bool saving_reaped(struct shepherd *s, pid_t pid, int status)
{
	struct saving *v = &s->saving;
	bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	if (!v->scribe || pid != v->scribe)
		return false;
	v->scribe = 0;
	v->late_at = NEVER;
	if (s->stage == KILLED || !s->job)
		return true; /* the last look decides */
	/* If the disk was too busy, prepare a final checkpoint again while half of the time is
	 * left. */
	if (v->task == SCRIBE_PREPARE && WIFSIGNALED(status) && v->final &&
	    boot_us() < v->begun + (v->until - v->begun) / 2)
		directory_ask(s);
	else if (v->task == SCRIBE_PREPARE)
		prepared(s, well);
	else {
		if (is_criu(s))
			dumped(s, v->page->good == v->number, WIFSIGNALED(status));
		ended(s, v->page->good == v->number);
	}
	return true;
}

/* ---- when ---- */

void saving_begin(struct shepherd *s, enum checkpoint_cause cause, int64_t until)
{
	struct saving *v = &s->saving;
	bool final = cause_is_final(cause);
	int64_t now = boot_us();

	if (!v->page || v->ends || s->stage != RUNNING || !s->job)
		return;
	if (v->final || v->waits) { /* the time can only be shortened */
		if (final && v->final && until < v->until)
			v->until = until;
		if (final && v->waits && until < v->waiting_until)
			v->waiting_until = until;
		return;
	}
	if (!v->number) {
		prepare(s, cause, until);
	} else if (final) {
		v->waits = true;
		v->waiting = cause;
		v->waiting_until = until;
		int64_t half = now + (until - now) / 2;
		v->until = half < v->until ? half : v->until;
		v->late_at = half < v->late_at ? half : v->late_at;
	}
}

bool saving_word(struct shepherd *s, int word)
{
	enum checkpoint_cause cause;
	int64_t seconds;

	if (!save_word_read(word, &cause, &seconds))
		return false;
	if (!seconds)
		seconds = s->o->checkpoint.duration;
	saving_begin(s, cause, boot_us() + seconds * SECOND);
	return true;
}

/* Returns when the next periodic checkpoint begins. A suspended job does nothing new and would not
 * handle the signal: it is saved when it continues. */
static int64_t periodic_at(const struct shepherd *s)
{
	return s->saving.number || s->paused ? NEVER : s->saving.next_at;
}

void saving_look(struct shepherd *s, int64_t now)
{
	struct saving *v = &s->saving;

	if (!v->page)
		return;
	/* without the job, the last look does it */
	if (v->scribe && (now >= v->late_at || !s->job)) {
		kill(v->scribe, SIGKILL);
		v->late_at = NEVER;
	}
	if (s->stage != RUNNING || !s->job)
		return;
	if (now >= v->signal_at && v->number > 0)
		signal_try(s);
	if (now >= periodic_at(s))
		saving_begin(s, SAVE_PERIODIC, now + s->o->checkpoint.duration * SECOND);
}

int64_t saving_before_lease(const struct shepherd *s)
{
	int64_t time = s->o->checkpoint.duration * SECOND, most = s->lease.length / 2;

	if (!s->saving.page || s->saving.final || s->stage != RUNNING || !s->job ||
	    s->saving.leased_until == s->lease.look_at)
		return 0;
	return time < most ? time : most;
}

void saving_lease(struct shepherd *s)
{
	const struct order_checkpoint *c = &s->o->checkpoint;
	bool goes_on = c->method != CHECKPOINT_SIGNAL || c->periodic_signal > 0;

	s->saving.leased_until = s->lease.look_at;
	saving_begin(s, goes_on ? SAVE_PERIODIC : SAVE_SHUTDOWN, s->lease.look_at);
}

int64_t saving_next(const struct shepherd *s)
{
	const struct saving *v = &s->saving;
	int64_t next = NEVER;

	if (!v->page)
		return NEVER;
	if (v->scribe)
		next = v->late_at;
	if (s->stage != RUNNING || !s->job)
		return next;
	if (v->number > 0 && v->signal_at < next)
		next = v->signal_at;
	if (periodic_at(s) < next)
		next = periodic_at(s);
	if (v->final && v->until < next)
		next = v->until;
	return next;
}

bool saving_over(const struct shepherd *s, int64_t now)
{
	return s->saving.page && s->saving.final && now >= s->saving.until;
}

enum result_cause saving_result(const struct shepherd *s)
{
	return s->saving.cause == SAVE_LIMIT	  ? CAUSE_WALLTIME
	       : s->saving.cause == SAVE_SHUTDOWN ? CAUSE_SHUTDOWN
						  : CAUSE_ORDERED;
}

/* If the duration is more than half the walltime, the program still gets the first half. */
int64_t saving_limit_at(const struct shepherd *s, int64_t term_at)
{
	int64_t at = term_at - s->o->checkpoint.duration * SECOND, half = s->started + (term_at - s->started) / 2;

	if (!s->saving.page || s->saving.final || s->saving.waits || term_at == NEVER)
		return NEVER;
	return at > half ? at : half;
}

void saving_close(struct shepherd *s)
{
	struct saving *v = &s->saving;
	int64_t least = boot_us() + LOOK_LEAST * SECOND;

	if (!v->page)
		return;
	if (!v->number) {
		if (v->saves.state == SAVE_FAILED) { /* one that was cut off may have left what it made */
			scribe_begin(s, SCRIBE_LOOK, least);
			scribe_wait(s, is_kill);
		}
		return;
	}
	v->waits = false;
	if (v->number < 0) { /* killed with the job before it was asked to save anything */
		ended(s, false);
		return;
	}
	bool good = v->page->good == v->number;
	if (!good) {
		scribe_begin(s, SCRIBE_LOOK, v->until > least ? v->until : least);
		scribe_wait(s, is_kill);
		good = v->page->good == v->number;
	}
	ended(s, good);
}

/* Deletes the checkpoints. If that fails, the server has them deleted when it forgets the job. */
void saving_erase(struct shepherd *s)
{
	if (!s->saving.page)
		return;
	scribe_begin(s, SCRIBE_ERASE, boot_us() + FIND_SECONDS * SECOND);
	scribe_wait(s, is_kill);
}
