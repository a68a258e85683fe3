/*
 * watch.c - an attempt while it is running: ordered signals, walltime, memory, lease, tasks, and
 * finally what it left behind.
 *
 * A short job on one host has nothing to wait for but signals, so one system call waits for them. A
 * terminal, tasks and a lease need descriptors, so poll() is used; its timer keeps counting while
 * the machine sleeps: a lease that ran out meanwhile is over as soon as it wakes.
 */
#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "base/timetext.h"
#include "run/share.h"
#include "run/shepherd_internal.h"
#include "run/task.h"
#include "run/tmpwatch.h"
#include "run/tree.h"

#define LEFT_GRACE (SECOND / 2) /* for what the first process left behind */
#define KILL_AGAIN (SECOND / 10)
/* default of the seconds before the end of the walltime at which an interactive job's terminal is
 * warned */
#define WARN_MOST 300

/* ---- waiting ---- */

void shepherd_ended(struct shepherd *s)
{
	s->r.ended_us = clock_us(CLOCK_REALTIME);
	s->r.ran_ms = (boot_us() - s->started) / 1000 + 1; /* 0 would mean an older host */
}

/* Opens what is polled along with connections. */
static int descriptors_open(struct shepherd *s, struct err *err)
{
	sigset_t set;

	shepherd_signals(&set);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->clock = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->signals < 0 || s->clock < 0)
		return err_set(err, -errno, "its shepherd has no descriptors: %s", strerror(errno));
	return 0;
}

int shepherd_watch_begin(struct shepherd *s, struct err *err)
{
	return s->o->terminal.pty || s->o->nhosts || s->o->lease > 0 ? descriptors_open(s, err) : 0;
}

static bool is_open(const struct shepherd *s)
{
	return s->o->room ? s->stage == RUNNING : s->job != 0;
}

static void clock_set(const struct shepherd *s, int64_t until)
{
	struct itimerspec t = {.it_value = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND * 1000}};

	if (until == NEVER)
		t = (struct itimerspec){0};
	timerfd_settime(s->clock, TFD_TIMER_ABSTIME, &t, NULL);
}

/* Like shepherd_pause(), but also handles other events; returns 0 for those. */
static int watch_pause(struct shepherd *s, int64_t until, siginfo_t *ret)
{
	bool terminal = s->o->terminal.pty, tasks = s->crew.listener >= 0;
	int signal = shepherd_pause(s->signals < 0 ? until : 0, ret);
	int64_t now = boot_us();

	if (s->signals < 0 || signal || now >= until)
		return signal;
	clock_set(s, until);
	vec_clear(&s->fds);
	vec_push(&s->fds, (struct pollfd){.fd = s->signals, .events = POLLIN});
	vec_push(&s->fds, (struct pollfd){.fd = s->clock, .events = POLLIN});
	size_t at = s->fds.n + (terminal ? PTY_FDS : 0);
	vec_reserve(&s->fds, at);
	if (terminal)
		pty_fds(&s->pty, s->fds.v + s->fds.n);
	s->fds.n = at;
	if (tasks)
		crew_fds(&s->crew, now, &s->fds);
	if (poll(s->fds.v, s->fds.n, -1) <= 0)
		return 0;
	if (terminal)
		pty_turn(&s->pty, s->fds.v + at - PTY_FDS);
	if (tasks)
		crew_turn(&s->crew, s->fds.v + at, s->fds.n - at, s->stage == RUNNING && is_open(s));
	return 0;
}

/* Nothing runs before the client is there: the first output must be seen, in a window of the right
 * size. */
int shepherd_client_await(struct shepherd *s, struct err *err)
{
	siginfo_t info;

	while (!pty_attached(&s->pty)) {
		if (shepherd_early(watch_pause(s, pty_next(&s->pty), &info), &info)) {
			s->r.cause = CAUSE_ORDERED;
			s->pty.hung_up = true; /* nor wait for a client with the result */
			return err_set(err, -ECANCELED, "it was ended before its terminal was there");
		}
		pty_look(&s->pty, boot_us());
		if (s->pty.hung_up) {
			s->r.cause = CAUSE_HUNG_UP;
			return err_set(err, -EPIPE, "the terminal that it was submitted from is gone");
		}
	}
	return 0;
}

/* ---- ending ---- */

static void tree_end(struct shepherd *s, int signal, int64_t grace)
{
	if (s->stage != RUNNING)
		return;
	s->stage = ASKED;
	s->kill_at = boot_us() + grace;
	tree_signal(getpid(), signal);
	tree_signal(getpid(), SIGCONT); /* a stopped process would not handle the signal */
}

static void tree_finish(struct shepherd *s)
{
	s->stage = KILLED;
	s->kill_at = boot_us() + KILL_AGAIN;
	cgroup_kill(s->place->cgroup, s->o->tag);
	tree_kill(getpid());
}

static void cause_set(struct shepherd *s, enum result_cause cause)
{
	if (s->r.cause == CAUSE_ITSELF && is_open(s))
		s->r.cause = cause;
}

/* Takes tasks from now on: someone wants to enter the job. Without a place for them it can't be
 * entered, and runs as before. */
static void tasks_take(struct shepherd *s)
{
	struct err err;

	if (s->crew.listener >= 0 || s->stage != RUNNING)
		return;
	if (s->signals < 0 && descriptors_open(s, &err) < 0)
		return;
	crew_open(&s->crew, &s->launch, s->place->live_path, &err);
}

/* Ends the attempt for what its $TMPDIR holds: at once, since the disk is needed. */
static void tmpdir_end(struct shepherd *s, int word)
{
	if (s->stage == KILLED || !s->o->tmpdir)
		return;
	if (s->r.cause == CAUSE_ITSELF && is_open(s)) {
		s->r.disk = true;
		tmpwatch_say(word, s->o->tmpdir, &s->say);
	}
	cause_set(s, CAUSE_MEMORY);
	tree_finish(s);
}

/* Sends a signal by order, or from the user at the terminal. */
static void signal_give(struct shepherd *s, int signal)
{
	if (signal == TASKS_WORD)
		tasks_take(s);
	if (is_tmpdir_word(signal))
		tmpdir_end(s, signal);
	if (saving_word(s, signal) || signal < 1 || signal > SIGRTMAX)
		return;
	s->ordered = signal;
	if (signal == SIGSTOP || signal == SIGCONT)
		s->paused = signal == SIGSTOP;
	if (signal == SIGKILL) {
		cause_set(s, CAUSE_ORDERED);
		tree_finish(s);
	} else if (signal == SIGTERM && s->o->room) {
		cause_set(s, CAUSE_ORDERED);
		tree_end(s, SIGTERM, s->o->grace * SECOND);
	} else {
		tree_signal(getpid(), signal);
	}
}

/* ---- watching ---- */

/* Reports usage to the server, which keeps some dozens of samples per job: often at first, then
 * less and less often. */
static void used_tell(struct shepherd *s, int64_t now, int64_t kib)
{
	int64_t gap = (now - s->started) / 32;
	struct strbuf text = {0};

	if (gap > SAMPLE_MOST)
		gap = SAMPLE_MOST;
	if (!is_open(s) || now < s->told_at + gap)
		return;
	s->told_at = now;
	result_write(&(struct result){.tag = s->o->tag,
				      .how = RESULT_RUNS,
				      .ran_ms = (now - s->started) / 1000,
				      .cpu_ms = shepherd_cpu_ms(s),
				      .memory_kib = kib},
		     &text);
	shepherd_send(s, text.text, text.n);
	strbuf_fini(&text);
}

static void memory_look(struct shepherd *s, int64_t now)
{
	bool limited = s->o->memory > 0 && !s->place->cgroup->memory;
	int64_t kib = tree_memory(getpid(), false);

	/* The first measurement counts shared pages twice; the second one does not, and decides. */
	if (limited && kib > s->o->memory)
		kib = tree_memory(getpid(), true);
	if (kib > s->r.memory_kib)
		s->r.memory_kib = kib;
	if (limited && kib > s->o->memory && s->stage != KILLED) {
		cause_set(s, CAUSE_MEMORY);
		tree_finish(s);
	}
	used_tell(s, now, kib);
	s->sample_at = now + s->sample_every;
	s->sample_every = limited ? SAMPLE_LIMITED : s->sample_every < SAMPLE_MOST ? s->sample_every * 2 : SAMPLE_MOST;
}

void shepherd_lease_say(struct shepherd *s)
{
	strbuf_printf(&s->say, "%sthis host had no word from the server for %lld s", s->say.n ? ". " : "",
		      (long long)s->o->lease);
}

/* Checks the lease. The grace counts from its end, not from now: the machine may have slept. */
static void lease_look(struct shepherd *s, int64_t now)
{
	int64_t before = saving_before_lease(s);

	if (before && lease_ends(&s->lease, s->place->dir, now, before) && now < s->lease.look_at &&
	    saving_before_lease(s))
		saving_lease(s);
	if (!lease_over(&s->lease, s->place->dir, now))
		return;
	int64_t last = s->lease.look_at + s->o->grace * SECOND;
	if (s->stage == RUNNING && is_open(s)) {
		cause_set(s, CAUSE_LEASE);
		shepherd_lease_say(s);
		tree_end(s, SIGTERM, s->o->grace * SECOND);
	}
	if (s->kill_at > last)
		s->kill_at = last;
	s->lease.look_at = NEVER;
}

static int64_t term_at(const struct shepherd *s)
{
	int64_t walltime = shepherd_walltime(s->o);

	return walltime < 0 ? NEVER : s->started + walltime * SECOND;
}

/* Returns when to warn on an interactive job's terminal of the end of its walltime, again if that
 * has changed. */
static int64_t warn_at(const struct shepherd *s)
{
	int64_t walltime = shepherd_walltime(s->o), before = s->o->terminal.warning, at;

	if (!s->o->terminal.pty || walltime < 0 || before == 0 || s->stage != RUNNING || s->warned == term_at(s))
		return NEVER;
	if (before < 0)
		before = walltime / 10 < WARN_MOST ? walltime / 10 : WARN_MOST;
	at = term_at(s) - before * SECOND;
	return at > s->warn_again ? at : s->warn_again;
}

static void warn(struct shepherd *s, int64_t now)
{
	int64_t left = (term_at(s) - now + SECOND / 2) / SECOND;
	char line[160], in[32], limit[32];

	snprintf(line, sizeof line, "\r\n=>> PBS: job %.60s ends in %s (walltime %s)\r\n", s->o->id,
		 duration_format(left, in, sizeof in), duration_format(shepherd_walltime(s->o), limit, sizeof limit));
	if (pty_show(&s->pty, line))
		s->warned = term_at(s);
	else
		s->warn_again = now + SECOND;
}

static void share_look(struct shepherd *s, int64_t now)
{
	struct cgroup_usage used = cgroup_usage(s->place->cgroup, s->o->tag);

	/* Where CPU time is not counted, the quota stays as it is. */
	if (used.cpu_ms >= 0)
		cgroup_share(s->place->cgroup, s->o->tag,
			     share_quota(&s->o->share, used.cpu_ms, (now - s->started) / 1000), s->o->share.share);
	s->share_at = now + SHARE_EVERY;
}

static void time_look(struct shepherd *s)
{
	int64_t now = boot_us();

	if (now >= s->share_at)
		share_look(s, now);
	if (now >= s->output_at) {
		output_bound(s->o, s->place->who, &s->output);
		s->output_at = now + OUTPUT_EVERY;
	}
	if (now >= s->sample_at)
		memory_look(s, now);
	lease_look(s, now);
	crew_look(&s->crew, now);
	saving_look(s, now);
	if (now >= warn_at(s) && now < term_at(s))
		warn(s, now);
	if (s->stage == RUNNING && now >= saving_limit_at(s, term_at(s)))
		saving_begin(s, SAVE_LIMIT, term_at(s));
	if (s->saving.ends && s->stage != KILLED) {
		cause_set(s, saving_result(s));
		tree_finish(s);
	}
	if (s->stage == RUNNING && saving_over(s, now)) {
		cause_set(s, saving_result(s));
		tree_end(s, SIGTERM, s->o->grace * SECOND);
	}
	if (s->stage == RUNNING && now >= term_at(s)) {
		cause_set(s, CAUSE_WALLTIME);
		tree_end(s, SIGTERM, s->o->grace * SECOND);
	}
	if (s->stage != RUNNING && now >= s->kill_at)
		tree_finish(s);
}

static int64_t next_instant(const struct shepherd *s)
{
	int64_t next = s->sample_at < s->lease.look_at ? s->sample_at : s->lease.look_at, crew = crew_next(&s->crew);

	if (s->share_at < next)
		next = s->share_at;
	if (s->output_at < next)
		next = s->output_at;
	int64_t before = saving_before_lease(s);

	if (before && lease_early(&s->lease, before) < next)
		next = lease_early(&s->lease, before);

	if (crew < next)
		next = crew;
	if (s->o->terminal.pty && pty_next(&s->pty) < next)
		next = pty_next(&s->pty);
	if (warn_at(s) < next)
		next = warn_at(s);
	if (saving_next(s) < next)
		next = saving_next(s);
	if (s->stage == RUNNING && saving_limit_at(s, term_at(s)) < next)
		next = saving_limit_at(s, term_at(s));
	if (s->stage == RUNNING && term_at(s) < next)
		next = term_at(s);
	if (s->stage != RUNNING && s->kill_at < next)
		next = s->kill_at;
	return next;
}

static bool term_waits(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && sigismember(&set, SIGTERM) == 1;
}

static void first_ended(struct shepherd *s, int status)
{
	s->r.how = WIFSIGNALED(status) ? RESULT_SIGNALED : RESULT_EXITED;
	s->r.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	if (launch_has_init(&s->launch) && s->r.how == RESULT_EXITED && s->r.status > 128 &&
	    s->r.status <= 128 + SIGRTMAX) {
		s->r.how = RESULT_SIGNALED; /* see init.c */
		s->r.status -= 128;
	}
	shepherd_ended(s);
	if (s->r.how == RESULT_SIGNALED && s->r.status == s->ordered)
		cause_set(s, CAUSE_ORDERED);
	else if (s->r.how == RESULT_SIGNALED && s->r.status == SIGTERM && term_waits())
		/* the job got the host's SIGTERM before its shepherd did */
		cause_set(s, CAUSE_SHUTDOWN);
	s->job = 0;
}

/* Ends a room if the kernel killed one of its tasks for lack of memory. */
static void room_look(struct shepherd *s, int status)
{
	if (s->o->room && s->place->cgroup->memory && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
	    cgroup_usage(s->place->cgroup, s->o->tag).out_of_memory) {
		cause_set(s, CAUSE_MEMORY);
		tree_finish(s);
	}
}

/* Reaps children; returns true if there are any left. */
static bool reap(struct shepherd *s)
{
	struct rusage used;
	pid_t pid;
	int status;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		if (used.ru_maxrss > s->largest_kib)
			s->largest_kib = used.ru_maxrss;
		if (pid == s->job)
			first_ended(s, status);
		else if (saving_reaped(s, pid, status))
			;
		else if (crew_reaped(&s->crew, pid, status))
			room_look(s, status);
	}
	return pid == 0;
}

void shepherd_watch(struct shepherd *s)
{
	siginfo_t info;

	for (;;) {
		int64_t until = next_instant(s);
		int signal = watch_pause(s, until, &info);

		if (signal == SHEPHERD_SIGNAL && info.si_code == SI_QUEUE)
			signal_give(s, info.si_value.sival_int);
		if (signal == SIGTERM) { /* not sent by us: the host is shutting down */
			saving_begin(s, SAVE_SHUTDOWN, boot_us() + s->o->checkpoint.duration * SECOND);
			if (!s->saving.final && !s->saving.waits) {
				cause_set(s, CAUSE_SHUTDOWN);
				tree_end(s, SIGTERM, s->o->grace * SECOND);
			}
		}
		if (s->o->terminal.pty)
			pty_look(&s->pty, boot_us());
		if (s->o->terminal.pty && s->pty.hung_up && s->stage == RUNNING) {
			cause_set(s, CAUSE_HUNG_UP);
			tree_end(s, SIGHUP, s->o->grace * SECOND);
		}
		if (s->o->terminal.pty && s->pty.signal) {
			signal_give(s, s->pty.signal);
			s->pty.signal = 0;
		}
		bool left = reap(s);
		if (left && !is_open(s)) /* remaining processes no longer belong to the job */
			tree_end(s, SIGTERM, LEFT_GRACE);
		if (left || is_open(s))
			time_look(s);
		if (!left && !is_open(s)) /* perhaps a room that has just ended */
			return;
	}
}
