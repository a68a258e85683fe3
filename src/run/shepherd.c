/*
 * shepherd.c - runs one attempt and stays until nothing of it is left.
 *
 *	prepare: files, prologue, control group -> fork
 *	-> watch: signals by order, walltime, memory, lease, tasks -> first process ended
 *	-> end what it left -> nothing left -> epilogue -> result on disk, then to the server
 *
 * A room is the same without a first process: it reports that it is ready, and ends on request.
 *
 * The shepherd reaps the job's orphans, so "nothing left" means that it has no children. For a
 * short job all this takes a dozen system calls and the fork: there is no descriptor to poll, only
 * signals to wait for.
 *
 * An attempt ends in one direction only: RUNNING -> ASKED (SIGTERM, until kill_at) -> KILLED
 * (SIGKILL, again and again). The first cause counts.
 */
#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/ticks.h"
#include "run/handover.h"
#include "run/live.h"
#include "run/rights.h"
#include "run/room.h"
#include "run/script.h"
#include "run/share.h"
#include "run/shepherd_internal.h"
#include "run/site.h"
#include "run/tree.h"

/* Orders that a shepherd takes before another is forked: memory that an attempt does not free must
 * not add up. */
#define ORDERS_MOST 200

/* ---- starting ---- */

static int not_started(struct shepherd *s, const struct err *err)
{
	s->r.how = RESULT_NOT_STARTED;
	s->r.started_us = s->r.ended_us = clock_us(CLOCK_REALTIME);
	s->r.ran_ms = 0;
	strbuf_clear(&s->say);
	strbuf_puts(&s->say, err->text);
	return -ECANCELED;
}

/* Stays a separate function: after vfork the child must not touch what the parent still needs. */
static pid_t job_fork(struct shepherd *s, const struct launch *l)
{
	int group = cgroup_open(s->place->cgroup, s->o->tag);
	uint64_t namespaces = launch_has_init(l) ? CLONE_NEWPID : 0;
	struct clone_args args = {.flags = namespaces | (group >= 0 ? CLONE_INTO_CGROUP : 0),
				  .exit_signal = SIGCHLD,
				  .cgroup = (uint64_t)(group >= 0 ? group : 0)};
	pid_t pid;

	if (args.flags)
		pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	else
		pid = vfork();
	if (pid == 0)
		launch_job(l);
	if (group >= 0)
		close(group);
	return pid;
}

static int terminal_open(struct shepherd *s, int *ret_tty, struct err *err)
{
	pty_begin(&s->pty, s->o->terminal.pty, s->o->tag, s->o->terminal.patience);
	int r = shepherd_client_await(s, err);
	if (r) {
		s->r.unclear = true;
		return r;
	}
	rights_begin(s->place->who); /* the terminal belongs to the user */
	r = pty_terminal(&s->pty, ret_tty, err);
	rights_end(s->place->who);
	return r;
}

static int room_open(struct shepherd *s, struct err *err)
{
	struct strbuf text = {0};
	int r = live_add(s->place->live, &s->live_at, "ready\n", 6);

	if (r)
		return err_set(err, r, "its shepherd can't write to its live file: %s", strerror(-r));
	result_write(&(struct result){.tag = s->o->tag, .ready = true}, &text);
	shepherd_send(s, text.text, text.n);
	strbuf_fini(&text);
	return 0;
}

static int program_start(struct shepherd *s, struct err *err)
{
	struct script_head head;
	int r = script_check(s->o, s->place->who, &head, err);

	if (r)
		return r;
	if (s->launch.o->script != s->o->script) /* a restarter, with a first line of its own */
		head.known = false;
	s->launch.head = &head;
	s->launch.live = s->place->live;
	s->launch.live_at = s->live_at;
	s->launch.said_at = &s->said_at;
	s->said_at = 0;
	s->job = saving_restores(s) ? saving_restore(s, err) : job_fork(s, &s->launch);
	if (s->launch.tty >= 0)
		close(s->launch.tty);
	if (s->job < 0 && saving_restores(s)) {
		s->job = 0;
		return -ECANCELED;
	}
	if (s->job < 0) {
		s->job = 0;
		return err_set(err, -errno, "no process could be made for it: %s", strerror(errno));
	}
	s->r.session = s->job;
	/* the same line at the same offset as the child's, whose memory may not be ours */
	if (s->said_at)
		s->live_at = s->said_at;
	else
		live_session_say(s->place->live, &s->live_at, s->job);
	s->paused = shepherd_paused_early();
	if (s->paused)
		tree_signal(getpid(), SIGSTOP);
	saving_started(s);
	return 0;
}

static int lease_check(struct shepherd *s, struct err *err)
{
	if (!lease_over(&s->lease, s->place->dir, boot_us()))
		return 0;
	s->r.cause = CAUSE_LEASE;
	shepherd_lease_say(s);
	return err_set(err, -ECANCELED, "%s", strbuf_text(&s->say));
}

static void share_begin(struct shepherd *s)
{
	const struct order_share *x = &s->o->share;

	if (x->share <= 0)
		return;
	if (!cgroup_share(s->place->cgroup, s->o->tag, share_quota(x, 0, 0), x->share))
		s->share_at = s->started + SHARE_EVERY;
	else
		strbuf_printf(
			&s->say,
			"%sits share of the CPUs was not enforced: control groups can't limit CPU time on its host",
			s->say.n ? ". " : "");
}

static int job_start(struct shepherd *s, struct err *err)
{
	s->launch = (struct launch){.o = s->o,
				    .who = s->place->who,
				    .cgroup = s->place->cgroup,
				    .env = s->place->env,
				    .out = s->output.fd[0],
				    .err = s->output.fd[1],
				    .tty = -1,
				    .parent = getpid(),
				    .trouble = s->trouble};
	int r = lease_check(s, err);

	if (!r)
		r = saving_open(s, err);
	if (!r)
		r = shepherd_watch_begin(s, err);
	if (!r && s->o->terminal.pty)
		r = terminal_open(s, &s->launch.tty, err);
	if (!r)
		r = cgroup_create(s->place->cgroup, s->o, err);
	if (r)
		return r;
	int64_t now = boot_us();
	s->started = now;
	share_begin(s);
	s->r.started_us = clock_us(CLOCK_REALTIME);
	s->sample_every = SAMPLE_LIMITED;
	s->sample_at = now + SAMPLE_FIRST;
	if (s->o->nhosts)
		r = crew_open(&s->crew, &s->launch, s->place->live_path, err);
	if (!r)
		r = s->o->room ? room_open(s, err) : program_start(s, err);
	if (r) {
		crew_close(&s->crew);
		cgroup_remove(s->place->cgroup, s->o->tag);
	}
	return r;
}

/* Adds a sentence if the working directory is missing (no shared file system): the job then starts
 * in its user's home (launch.c), and its comment explains why. */
static void workdir_look(struct shepherd *s)
{
	const struct order *o = s->o;
	struct stat st;

	if (o->room || !o->workdir)
		return;
	int r = rights_stat(s->place->who, o->workdir, &st);
	if (r == -ENOENT || r == -ENOTDIR)
		strbuf_printf(&s->say,
			      "%sthe working directory %s does not exist on the host where it ran: it started in %s",
			      s->say.n ? ". " : "", o->workdir, o->home ? o->home : "/");
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
	if (output_is_spare(&s->output))
		s->output_at = boot_us();
	workdir_look(s);
	if (!r && s->o->site.prologue) {
		prctl(PR_SET_CHILD_SUBREAPER, 0); /* set by the previous attempt */
		r = site_prologue(s->o, s->output.fd[0], s->output.fd[1], err);
		s->r.unclear = r != 0; /* the prologue may have rejected the job, or the host */
		if (r == -ECANCELED)
			s->r.cause = CAUSE_ORDERED;
		getrusage(RUSAGE_CHILDREN, &s->before);
	}
	/* From here on we reap orphans; what the prologue left in the background is not ours. */
	if (!r && prctl(PR_SET_CHILD_SUBREAPER, 1))
		r = err_set(err, -errno, "its shepherd can't look after orphans: %s", strerror(errno));
	return r;
}

/* ---- the end ---- */

static int64_t cpu_us(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * SECOND + u->ru_utime.tv_usec + u->ru_stime.tv_usec;
}

/* CPU time of the processes that have ended. */
static int64_t ended_cpu_ms(const struct shepherd *s)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (cpu_us(&u) - cpu_us(&s->before)) / 1000;
}

int64_t shepherd_cpu_ms(const struct shepherd *s)
{
	struct cgroup_usage group = cgroup_usage(s->place->cgroup, s->o->tag);

	return group.cpu_ms >= 0 ? group.cpu_ms : ended_cpu_ms(s) + tree_cpu(getpid());
}

/* Takes the usage of an attempt of which no process is left. */
static void usage_take(struct shepherd *s)
{
	struct cgroup_usage group = cgroup_usage(s->place->cgroup, s->o->tag);

	s->r.cpu_ms = group.cpu_ms >= 0 ? group.cpu_ms : ended_cpu_ms(s);
	if (s->largest_kib > s->r.memory_kib)
		s->r.memory_kib = s->largest_kib;
	if (group.memory_kib >= 0)
		s->r.memory_kib = group.memory_kib;
	if (group.out_of_memory && s->r.cause == CAUSE_ITSELF)
		s->r.cause = CAUSE_MEMORY;
	char used[32], limit[32];
	if (s->r.cause == CAUSE_MEMORY && !s->r.disk)
		strbuf_printf(&s->say, "%sit used %s of memory; its limit is %s", s->say.n ? ". " : "",
			      memory_human(s->r.memory_kib, used, sizeof used),
			      memory_human(s->o->memory, limit, sizeof limit));
}

/* Adds the reason in the words that users of PBS, and their programs, look for. A job that ended
 * before its walltime to save its work has not exceeded it. */
static void killed_say(struct shepherd *s)
{
	const struct order *o = s->o;
	int64_t limit = shepherd_walltime(o);
	char line[320] = "";

	if (s->r.cause == CAUSE_WALLTIME && s->r.ran_ms / 1000 < limit && s->r.saves.state == SAVE_GOOD)
		snprintf(line, sizeof line,
			 "=>> shunt: job ended after %lld s, to be saved before its walltime of %lld s: "
			 "continue it with shunt submit --restart %.100s\n",
			 (long long)(s->r.ran_ms / 1000), (long long)limit, o->id);
	else if (s->r.cause == CAUSE_WALLTIME && s->r.ran_ms / 1000 < limit)
		snprintf(line, sizeof line,
			 "=>> shunt: job ended after %lld s, to be saved before its walltime of %lld s, "
			 "but it made no checkpoint\n",
			 (long long)(s->r.ran_ms / 1000), (long long)limit);
	else if (s->r.cause == CAUSE_WALLTIME)
		snprintf(line, sizeof line, "=>> PBS: job killed: walltime %lld exceeded limit %lld\n",
			 (long long)(s->r.ran_ms / 1000), (long long)limit);
	else if (s->r.disk)
		snprintf(line, sizeof line,
			 "=>> shunt: job killed: its $TMPDIR filled a disk that Shunt itself needs\n");
	else if (s->r.cause == CAUSE_MEMORY)
		snprintf(line, sizeof line, "=>> PBS: job killed: mem %lldkb exceeded limit %lldkb\n",
			 (long long)s->r.memory_kib, (long long)o->memory);
	if (line[0])
		output_say(&s->output, line);
}

/* Finds out why a job ended that was to save its work. After the signal it may have ended for that
 * reason and still need its checkpoints, except at its walltime: there a success is the end of its
 * work, as it is without the signal. */
static void saving_finish(struct shepherd *s)
{
	const struct saving *v = &s->saving;

	saving_close(s);
	if (s->r.cause != CAUSE_ITSELF)
		return;
	bool succeeded = s->r.how == RESULT_EXITED && !s->r.status;
	bool asked = v->final && v->heard_at && !(succeeded && v->cause == SAVE_LIMIT);
	if (asked || (v->final && v->saves.state == SAVE_GOOD))
		s->r.cause = saving_result(s);
	else if (succeeded)
		saving_erase(s);
}

static void job_finished(struct shepherd *s)
{
	struct err err;

	crew_close(&s->crew);
	if (s->o->room)
		shepherd_ended(s);
	usage_take(s);
	killed_say(s);
	cgroup_remove(s->place->cgroup, s->o->tag);
	if (s->trouble[0]) { /* it never became the user */
		err_set(&err, 0, "%s", s->trouble);
		not_started(s, &err);
	}
	if (s->o->site.epilogue) {
		prctl(PR_SET_CHILD_SUBREAPER, 0);
		if (site_epilogue(s->o, &s->r, s->output.fd[0], s->output.fd[1], &err))
			strbuf_printf(&s->say, "%s%s", s->say.n ? ". " : "", err.text);
	}
}

/* Writes the result. Returns false if the disk was full for a while: by now the server has the
 * result from the datagram, or from the file, which could be written later. */
static bool result_write_down(struct shepherd *s, const struct strbuf *text)
{
	int r = live_add(s->place->live, &s->live_at, text->text, text->n);

	if (!r)
		return true;
	shepherd_send(s, text->text, text->n - 1);
	while (r && !live_removed(s->place->live)) {
		nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
		r = live_add(s->place->live, &s->live_at, text->text, text->n);
	}
	return false;
}

/* After vfork the first process shares our memory, after clone3 it has its own. */
static char *trouble_make(const struct cgroup *c, const struct order *o)
{
	static char plain[TROUBLE_SIZE];

	plain[0] = '\0';
	if (c->kind != CGROUP_V2 && o->checkpoint.method != CHECKPOINT_CRIU)
		return plain;
	char *shared = mmap(NULL, TROUBLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort(); /* out of memory */
	return shared;
}

static void trouble_free(const struct cgroup *c, const struct order *o, char *trouble)
{
	if (c->kind == CGROUP_V2 || o->checkpoint.method == CHECKPOINT_CRIU)
		munmap(trouble, TROUBLE_SIZE);
}

/* Returns true if nothing of the attempt can have an effect on the next one: it had nothing but a
 * program, which ended by itself and left nothing behind. */
static bool is_ordinary(const struct shepherd *s)
{
	const struct order *o = s->o;

	return s->r.how == RESULT_EXITED && s->r.cause == CAUSE_ITSELF && s->stage == RUNNING && !s->ordered &&
	       !s->paused && !s->say.n && !o->room && s->crew.listener < 0 && !o->terminal.pty &&
	       o->checkpoint.method == CHECKPOINT_NONE && !o->site.prologue && !o->site.epilogue &&
	       o->share.share <= 0 && !o->share.background;
}

/* Runs the attempt up to its result, which is in s->r. */
static void attempt_run(struct shepherd *s)
{
	const struct order *o = s->o;
	const struct shepherd_place *place = s->place;
	struct err err;

	umask(022); /* the previous attempt may have changed it */
	getrusage(RUSAGE_CHILDREN, &s->before);
	lease_begin(&s->lease, o->lease, o->lease > 0 ? boot_us() : 0);
	int r = live_begin(place->live, &s->live_at, o, place->who->uid, place->cgroup);
	if (r) /* no one could find the attempt or know that it began */
		err_set(&err, r, "its shepherd can't write to its live file: %s", strerror(-r));
	s->trouble = trouble_make(place->cgroup, o);
	if (r || prepare(s, &err) || job_start(s, &err)) {
		not_started(s, &err);
	} else {
		shepherd_watch(s);
		if (o->lease > 0)
			live_add(place->live, &s->live_at, "gone\n", 5);
		saving_finish(s);
		job_finished(s);
	}
	output_close(o, place->who, &s->output, &s->say);
	room_clear(o, place->who, place->orders >= 0 && is_ordinary(s));
	s->r.tag = o->tag;
	s->r.reason = s->say.n ? s->say.text : NULL;
	if (o->terminal.pty)
		pty_finish(&s->pty, &s->r);
	trouble_free(place->cgroup, o, s->trouble);
}

/* Reports the result to the nursery, which passes it on, or to the server if the nursery is gone.
 * The lock is released first, so that the live file can be used again. Returns true if another
 * order may come. */
static bool attempt_report(struct shepherd *s, bool last)
{
	const struct shepherd_place *place = s->place;
	struct strbuf text = {0};

	result_write(&s->r, &text);
	strbuf_puts(&text, "\n");
	bool written = result_write_down(s, &text), again = written && !last && place->orders >= 0 && is_ordinary(s);
	close(place->live);
	struct handover_head head = {
		.slot = place->slot, .pid = getpid(), .report = again ? REPORT_WAITS : REPORT_LEAVES};
	int r = handover_report(place->reports, &head, text.text, written && text.n < HANDOVER_MAX ? text.n - 1 : 0);
	if (r && written)
		shepherd_send(s, text.text, text.n - 1);
	again = !r && again;
	strbuf_fini(&text);
	return again;
}

static void shepherd_fini(struct shepherd *s)
{
	if (s->signals >= 0)
		close(s->signals);
	if (s->clock >= 0)
		close(s->clock);
	vec_free(&s->fds);
	strbuf_fini(&s->say);
}

/* Reads an order. The nursery has only glanced at it: what it has seen must be what is there. */
static int order_open(const struct handover *h, struct arena *a, struct order *ret, struct err *err)
{
	int r = order_read(h->text, h->n, a, ret, err);

	if (r)
		return r;
	if (strcmp(ret->tag, h->tag) || strcmp(ret->user, h->user) || ret->foreign.by_name ||
	    (!ret->foreign.look_up && ret->uid != h->who.uid))
		return err_set(err, -EINVAL, "order: it names its attempt or its user twice");
	order_own(ret, &h->who, a);
	return 0;
}

static void refuse(const struct handover *h, const struct shepherd_place *place, const struct err *err)
{
	struct handover_head head = {.slot = place->slot, .pid = getpid(), .report = REPORT_REFUSES};

	close(h->live);
	handover_report(place->reports, &head, err->text, strlen(err->text));
}

/* Returns true if another order may come. */
static bool order_run(const struct handover *h, const struct shepherd_place *shared, bool last)
{
	struct arena *a = arena_create();
	struct identity who = h->who;
	struct shepherd_place place = *shared;
	struct order o;
	struct shepherd s = {.o = &o,
			     .place = &place,
			     .output = {.fd = {-1, -1}},
			     .sample_at = NEVER,
			     .share_at = NEVER,
			     .output_at = NEVER,
			     .pty = {.master = -1, .conn = -1},
			     .crew = {.listener = -1},
			     .signals = -1,
			     .clock = -1};
	struct err err;
	bool again = false;

	if (order_open(h, a, &o, &err)) {
		refuse(h, shared, &err);
	} else {
		who.server = shared->server;
		place.who = &who;
		place.live = h->live;
		place.env = room_environment(&o, place.live_path, a);
		shepherd_listen(o.tag, place.orders);
		attempt_run(&s);
		again = attempt_report(&s, last);
	}
	shepherd_fini(&s);
	arena_destroy(a);
	return again;
}

void shepherd_main(const struct handover *first, const struct shepherd_place *place)
{
	struct handover h = *first;

	setpgid(0, 0); /* signals to the nursery's process group are not for us */
	for (int left = ORDERS_MOST; order_run(&h, place, left == 1) && handover_wait(place->orders, &h); left--)
		;
	room_leave(place->server);
	_exit(0);
}
