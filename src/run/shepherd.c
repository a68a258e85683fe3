/*
 * shepherd.c - runs one attempt and stays until nothing of it is left.
 *
 *	prepare: files, prologue, control group -> fork -> watch: signals by order, walltime, memory -> first process ended ->
 *	end what it left -> nothing left -> epilogue -> result on disk, then to the server
 *
 * The shepherd is the reaper of the job's orphans, so "nothing left" is when it has no children. For a short job all this
 * is a dozen system calls besides the fork: there is no descriptor to poll, only signals to wait for.
 *
 * Ending goes one way: RUNNING -> ASKED (SIGTERM, until kill_at) -> KILLED (SIGKILL, again and again). The first cause counts.
 */
#include "run/shepherd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/launch.h"
#include "run/live.h"
#include "run/output.h"
#include "run/pty.h"
#include "run/room.h"
#include "run/site.h"
#include "run/tree.h"

#define SECOND INT64_C(1000000)
#define NEVER INT64_MAX
#define LEFT_GRACE (SECOND / 2) /* for what the first process left behind */
#define KILL_AGAIN (SECOND / 10)
#define SAMPLE_LIMITED SECOND	  /* how often memory is looked at when there is a limit; ... */
#define SAMPLE_MOST (30 * SECOND) /* ... else ever more seldom, for the peak */

enum stage { RUNNING, ASKED, KILLED };

struct shepherd {
	const struct order *o;
	const struct shepherd_place *place;
	struct result r;
	struct strbuf say; /* becomes the reason */
	struct output output;
	struct pty pty;
	off_t live_at;
	char *trouble; /* shared with the first process */
	pid_t job;     /* the first process, 0 when it has ended */
	enum stage stage;
	int ordered;					   /* the last signal by order */
	int64_t term_at, kill_at, sample_at, sample_every; /* boot_us() */
	struct rusage before;				   /* of children that were not the job's */
};

/* ---- time and signals ---- */

void shepherd_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
	sigaddset(ret, SHEPHERD_SIGNAL);
	sigaddset(ret, SIGTERM);
}

int64_t boot_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * SECOND + t.tv_nsec / 1000;
}

static int64_t wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * SECOND + t.tv_nsec / 1000;
}

int shepherd_pause(int64_t until, siginfo_t *ret)
{
	sigset_t set;

	shepherd_signals(&set);
	if (until == NEVER)
		return sigwaitinfo(&set, ret) > 0 ? ret->si_signo : 0;

	/* The wait does not count the time that the machine sleeps, so it is cut in pieces. */
	int64_t us = until - boot_us();
	us = us < 0 ? 0 : us > 30 * SECOND ? 30 * SECOND : us;
	struct timespec t = {.tv_sec = us / SECOND, .tv_nsec = us % SECOND * 1000};
	return sigtimedwait(&set, ret, &t) > 0 ? ret->si_signo : 0;
}

/* ---- ending ---- */

static void tree_end(struct shepherd *s, int signal, int64_t grace)
{
	if (s->stage != RUNNING)
		return;
	s->stage = ASKED;
	s->kill_at = boot_us() + grace;
	tree_signal(getpid(), signal);
	tree_signal(getpid(), SIGCONT); /* one that is stopped would not hear it */
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
	if (s->r.cause == CAUSE_ITSELF && s->job)
		s->r.cause = cause;
}

/* A signal by order, or of the user at the terminal. */
static void signal_give(struct shepherd *s, int signal)
{
	if (signal < 1 || signal > SIGRTMAX)
		return;
	s->ordered = signal;
	if (signal == SIGKILL) {
		cause_set(s, CAUSE_ORDERED);
		tree_finish(s);
	} else {
		tree_signal(getpid(), signal);
	}
}

/* ---- watching ---- */

static void memory_look(struct shepherd *s, int64_t now)
{
	bool limited = s->o->memory > 0 && !s->place->cgroup->memory;
	int64_t kib = tree_memory(getpid(), false);

	/* A first look counts shared pages twice: the second does not, and decides. */
	if (limited && kib > s->o->memory)
		kib = tree_memory(getpid(), true);
	if (kib > s->r.memory_kib)
		s->r.memory_kib = kib;
	if (limited && kib > s->o->memory && s->stage != KILLED) {
		cause_set(s, CAUSE_MEMORY);
		tree_finish(s);
	}
	s->sample_at = now + s->sample_every;
	s->sample_every = limited ? SAMPLE_LIMITED : s->sample_every < SAMPLE_MOST ? s->sample_every * 2 : SAMPLE_MOST;
}

static void time_look(struct shepherd *s)
{
	int64_t now = boot_us();

	if (now >= s->sample_at)
		memory_look(s, now);
	if (now >= s->term_at && s->stage == RUNNING) {
		cause_set(s, CAUSE_WALLTIME);
		tree_end(s, SIGTERM, s->o->grace * SECOND);
	}
	if (s->stage != RUNNING && now >= s->kill_at)
		tree_finish(s);
}

static int64_t next_instant(const struct shepherd *s)
{
	int64_t next = s->sample_at;

	if (s->stage == RUNNING && s->term_at < next)
		next = s->term_at;
	if (s->stage != RUNNING && s->kill_at < next)
		next = s->kill_at;
	return next;
}

static void first_ended(struct shepherd *s, int status)
{
	s->r.how = WIFSIGNALED(status) ? RESULT_SIGNALED : RESULT_EXITED;
	s->r.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	s->r.ended_us = wall_us();
	if (s->r.how == RESULT_SIGNALED && s->r.status == s->ordered)
		cause_set(s, CAUSE_ORDERED);
	s->job = 0;
}

/* Are there children left? */
static bool reap(struct shepherd *s)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->job)
			first_ended(s, status);
	return pid == 0;
}

static void watch(struct shepherd *s)
{
	siginfo_t info;

	for (;;) {
		int64_t until = next_instant(s);
		int signal = s->o->pty ? pty_pause(&s->pty, until, &info) : shepherd_pause(until, &info);

		if (signal == SHEPHERD_SIGNAL && info.si_code == SI_QUEUE)
			signal_give(s, info.si_value.sival_int);
		if (signal == SIGTERM) { /* the host shuts down, or someone means us */
			cause_set(s, CAUSE_ORDERED);
			tree_end(s, SIGTERM, s->o->grace * SECOND);
		}
		if (s->o->pty && s->pty.hung_up && s->stage == RUNNING) {
			cause_set(s, CAUSE_HUNG_UP);
			tree_end(s, SIGHUP, s->o->grace * SECOND);
		}
		if (s->o->pty && s->pty.signal) {
			signal_give(s, s->pty.signal);
			s->pty.signal = 0;
		}
		if (!reap(s))
			return;
		if (!s->job) /* what is left is not the job's any more */
			tree_end(s, SIGTERM, LEFT_GRACE);
		time_look(s);
	}
}

/* ---- starting ---- */

static int not_started(struct shepherd *s, const struct err *err)
{
	s->r.how = RESULT_NOT_STARTED;
	s->r.started_us = s->r.ended_us = wall_us();
	strbuf_clear(&s->say);
	strbuf_puts(&s->say, err->text);
	return -ECANCELED;
}

/* In a function of its own: after vfork the child must not touch what the parent still needs. */
static pid_t job_fork(struct shepherd *s, const struct launch *l)
{
	int group = cgroup_open(s->place->cgroup, s->o->tag);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};
	pid_t pid;

	if (group >= 0)
		pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	else
		pid = vfork();
	if (pid == 0)
		launch_job(l);
	if (group >= 0)
		close(group);
	return pid;
}

static int live_say(struct shepherd *s, const char *what, pid_t pid)
{
	char line[96];

	return live_add(s->place->live, &s->live_at, line,
			(size_t)snprintf(line, sizeof line, "%s %d %s\n", what, (int)pid, live_boot()));
}

static int terminal_open(struct shepherd *s, int *ret_tty, struct err *err)
{
	identity_files_begin(s->place->who);
	int r = pty_connect(&s->pty, s->o->pty, err);
	if (r)
		s->r.cause = CAUSE_HUNG_UP;
	else
		r = pty_terminal(&s->pty, ret_tty, err); /* the terminal is the user's, too */
	identity_files_end(s->place->who);
	return r;
}

static int job_start(struct shepherd *s, struct err *err)
{
	struct launch l = {.o = s->o,
			   .who = s->place->who,
			   .cgroup = s->place->cgroup,
			   .out = s->output.fd[0],
			   .err = s->output.fd[1],
			   .tty = -1,
			   .parent = getpid(),
			   .trouble = s->trouble};
	int r = s->o->pty ? terminal_open(s, &l.tty, err) : 0;

	if (!r)
		r = cgroup_create(s->place->cgroup, s->o, err);
	if (r)
		return r;
	l.env = s->place->env;
	s->r.started_us = wall_us();
	int64_t now = boot_us();
	s->job = job_fork(s, &l);
	if (l.tty >= 0)
		close(l.tty);
	if (s->job < 0) {
		r = err_set(err, -errno, "no process could be made for it: %s", strerror(errno));
		s->job = 0;
		cgroup_remove(s->place->cgroup, s->o->tag);
		return r;
	}
	s->r.session = s->job;
	live_say(s, "session", s->job);
	s->term_at = s->o->walltime >= 0 ? now + s->o->walltime * SECOND : NEVER;
	s->sample_every = SAMPLE_LIMITED;
	s->sample_at = now + SECOND / 4;
	return 0;
}

static int prepare(struct shepherd *s, struct err *err)
{
	int r = identity_groups(s->place->who);

	if (r)
		return err_set(err, r, "the groups of user %s can't be set: %s", s->o->user, strerror(-r));
	r = room_make(s->o, s->place->who, err);
	if (r)
		return r;
	umask((mode_t)(s->o->umask < 0 ? 077 : s->o->umask));
	r = output_open(s->o, s->place->who, &s->output, &s->say, err);
	if (!r && s->o->prologue) {
		r = site_prologue(s->o, s->output.fd[0], s->output.fd[1], err);
		if (r == -ECANCELED)
			s->r.cause = CAUSE_ORDERED;
		getrusage(RUSAGE_CHILDREN, &s->before);
	}
	/* From here orphans are ours; what the prologue left in the background is not. */
	if (!r && prctl(PR_SET_CHILD_SUBREAPER, 1))
		r = err_set(err, -errno, "its shepherd can't look after orphans: %s", strerror(errno));
	return r;
}

/* ---- the end ---- */

static int64_t cpu_us(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * SECOND + u->ru_utime.tv_usec + u->ru_stime.tv_usec;
}

static void usage_take(struct shepherd *s)
{
	struct cgroup_usage group = cgroup_usage(s->place->cgroup, s->o->tag);
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	s->r.cpu_ms = group.cpu_ms >= 0 ? group.cpu_ms : (cpu_us(&u) - cpu_us(&s->before)) / 1000;
	if (u.ru_maxrss > s->r.memory_kib)
		s->r.memory_kib = u.ru_maxrss;
	if (group.memory_kib >= 0)
		s->r.memory_kib = group.memory_kib;
	if (group.out_of_memory && s->r.cause == CAUSE_ITSELF)
		s->r.cause = CAUSE_MEMORY;
	if (s->r.cause == CAUSE_MEMORY)
		strbuf_printf(&s->say, "%sit used %lld KiB of memory; its limit is %lld KiB", s->say.n ? ". " : "",
			      (long long)s->r.memory_kib, (long long)s->o->memory);
}

static void job_finished(struct shepherd *s)
{
	struct err err;

	usage_take(s);
	cgroup_remove(s->place->cgroup, s->o->tag);
	if (s->trouble[0]) { /* it never became the user's */
		snprintf(err.text, sizeof err.text, "%s", s->trouble);
		not_started(s, &err);
	}
	if (s->o->epilogue) {
		prctl(PR_SET_CHILD_SUBREAPER, 0);
		if (site_epilogue(s->o, &s->r, s->output.fd[0], s->output.fd[1], &err))
			strbuf_printf(&s->say, "%s%s", s->say.n ? ". " : "", err.text);
	}
}

static void result_send(const struct shepherd *s, const struct strbuf *text)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (!s->place->socket || strlen(s->place->socket) >= sizeof to.sun_path)
		return;
	strcpy(to.sun_path, s->place->socket);
	/* The socket gives up after a while (SO_SNDTIMEO). Nobody there, or busy: the file has it. */
	sendto(s->place->datagrams, text->text, text->n - 1, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to);
}

/* A disk that is full delays the result, no more: until it is written, or the server has it by the datagram and has removed the file. */
static void result_tell(struct shepherd *s)
{
	struct strbuf text = {0};

	result_write(&s->r, &text);
	strbuf_puts(&text, "\n");
	int r = live_add(s->place->live, &s->live_at, text.text, text.n);
	result_send(s, &text);
	while (r && !live_removed(s->place->live)) {
		nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
		r = live_add(s->place->live, &s->live_at, text.text, text.n);
	}
}

/* After vfork the first process has our memory, after clone3 it has its own. */
static char *trouble_make(const struct cgroup *c)
{
	static char plain[TROUBLE_SIZE];

	if (c->kind != CGROUP_V2)
		return plain;
	char *shared = mmap(NULL, TROUBLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort(); /* no memory */
	return shared;
}

void shepherd_main(const struct order *o, const struct shepherd_place *place)
{
	struct shepherd s = {.o = o,
			     .place = place,
			     .output = {.fd = {-1, -1}},
			     .sample_at = NEVER,
			     .term_at = NEVER,
			     .pty = {.master = -1, .conn = -1, .signals = -1}};
	struct err err;

	setpgid(0, 0); /* what is meant for the nursery and its group is not for us */
	int r = live_say(&s, "pid", getpid());
	if (r) /* then nobody could find it, nor know that it began */
		err_set(&err, r, "its shepherd can't write to its live file: %s", strerror(-r));
	s.trouble = trouble_make(place->cgroup);
	if (r || prepare(&s, &err) || job_start(&s, &err)) {
		not_started(&s, &err);
	} else {
		watch(&s);
		job_finished(&s);
	}
	output_close(o, place->who, &s.output, &s.say);
	room_clear(o, place->who);
	s.r.tag = o->tag;
	s.r.reason = s.say.n ? s.say.text : NULL;
	if (o->pty)
		pty_finish(&s.pty, &s.r);
	result_tell(&s);
	_exit(0);
}
