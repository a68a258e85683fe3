/*
 * nursery.c - the process that forks shepherds.
 *
 * It is small and does little, because each fork copies all it holds, and every job of the machine
 * passes through it. It waits for orders, for reports of its shepherds, and for ends of its
 * children. A child does whatever could take long: ending leftovers, opening files on a slow disk,
 * querying a user database.
 */
#include "run/nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "base/vec.h"
#include "run/cgroup.h"
#include "run/glance.h"
#include "run/herd.h"
#include "run/identity.h"
#include "run/lease.h"
#include "run/listing.h"
#include "run/live.h"
#include "run/lookups.h"
#include "run/message.h"
#include "run/scribe.h"
#include "run/shepherd.h"
#include "run/sweep.h"
#include "run/task.h"
#include "run/tmpwatch.h"
#include "run/tree.h"

#define READ_SIZE 65536
/* maximum bytes sent at once: few enough for one piece, between the messages of openers */
#define ANSWERS_MOST 8192
#define CLEAN_TURNS 200 /* maximum turns, of at most 50 ms each */
#define CLEAN_QUIET 3	/* consecutive turns without a find that end the search */
#define SEND_SECONDS 2
/* microseconds that a shepherd has to end its job when the lease is over: less than the server's
 * margin */
#define LEASE_SLACK 3000000
#define LEASE_AGAIN 1000000 /* microseconds between two attempts to end a shepherd */

struct nest {
	const struct nursery_options *o;
	int live, lock, signals, datagrams, clock; /* descriptors */
	int64_t look_at;			   /* boot_us() of the next check of leases; INT64_MAX: none */
	/* real path of LIVE: distinguishes the jobs of this instance from those of others */
	char *instance;
	struct identity server; /* owner of LIVE */
	struct cgroup cgroup;
	struct herd herd;
	struct lookups lookups;
	struct tmpwatch tmpwatch;
	/* the frame's user has just been looked up: use the answer, whatever it is */
	bool answered;
	struct strbuf in, out;
};

/* ---- answers ---- */

static void answers_send(struct nest *n)
{
	for (size_t done = 0; done < n->out.n;) {
		ssize_t sent = send(n->o->fd, n->out.text + done, n->out.n - done, MSG_NOSIGNAL);
		if (sent < 0)
			break; /* the server is gone; the next read will notice */
		done += (size_t)sent;
	}
	strbuf_clear(&n->out);
}

static void answer_give(struct nest *n, const struct answer *a)
{
	answer_write(a, &n->out);
	if (n->out.n > ANSWERS_MOST)
		answers_send(n);
}

static void result_give(struct nest *n, const char *text, size_t length)
{
	size_t at = message_begin(&n->out, FRAME_RESULT);

	strbuf_add(&n->out, text, length);
	message_end(&n->out, at);
	if (n->out.n > ANSWERS_MOST)
		answers_send(n);
}

/* ---- children ---- */

static void report_take(struct nest *n, struct child *c, enum handover_report report, const char *text, size_t length)
{
	if (report == REPORT_REFUSES) {
		unlinkat(n->live, c->tag, 0);
		answer_give(n, &(struct answer){.type = ANSWER_REFUSED, .tag = c->tag, .reason = text});
	} else if (length) {
		result_give(n, text, length);
	} else {
		answer_give(n, &(struct answer){.type = ANSWER_DIED, .tag = c->tag});
	}
	herd_over(&n->herd, c, report == REPORT_WAITS);
}

static void reports_take(struct nest *n)
{
	static char text[READ_SIZE];
	enum handover_report report;
	ssize_t length;

	for (struct child *c; (c = herd_report(&n->herd, &report, text, sizeof text, &length));)
		report_take(n, c, report, text, (size_t)length);
}

static void attempt_signal(struct nest *n, const char *tag, int signal);

static void on_full(void *context, const char *tag, int word)
{
	attempt_signal(context, tag, word);
}

static void children_reap(struct nest *n)
{
	bool shepherd;

	reports_take(n); /* what they said comes before their end */
	for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;) {
		if (tmpwatch_reaped(&n->tmpwatch, pid, on_full))
			continue;
		char *tag = herd_reaped(&n->herd, pid, &shepherd);
		if (tag)
			answer_give(n, &(struct answer){.type = shepherd ? ANSWER_DIED : ANSWER_CLEANED, .tag = tag});
		free(tag);
	}
}

/* Closes what a child must not hold, above all the lock, which means that the nursery is
 * running. */
static void child_close(struct nest *n)
{
	close(n->lock);
	close(n->signals);
	close(n->clock);
	herd_close(&n->herd);
}

/* ---- orders ---- */

static int order_start(struct nest *n, struct handover *h, pid_t *ret_pid, struct err *err)
{
	h->live = live_create(n->live, h->tag, &n->server, err);
	if (h->live < 0)
		return h->live;
	pid_t pid = herd_order(&n->herd, h);
	close(h->live);
	*ret_pid = pid;
	if (pid > 0)
		return 0;
	unlinkat(n->live, h->tag, 0);
	return err_set(err, (int)pid, "no process could be made for its shepherd: %s", strerror(-(int)pid));
}

/* Closes what a shepherd must not hold. A reader of the server's standard error must not have to
 * wait for the shepherd to close it. */
static void on_shepherd(void *context)
{
	struct nest *n = context;

	child_close(n);
	close(n->o->fd);
	dup2(STDIN_FILENO, STDERR_FILENO);
}

static void look_set(struct nest *n, int64_t at);

static void lease_began(struct nest *n, const struct order_glance *g)
{
	int64_t at = g->lease > 0 ? boot_us() + (g->lease + g->grace) * 1000000 : INT64_MAX;

	if (at < n->look_at)
		look_set(n, at);
}

/* Returns true if the frame need not wait for its user. */
static bool user_ready(struct nest *n, const char *user, bool by_name)
{
	enum identity_age age = n->answered ? IDENTITY_FRESH : identity_age(user, by_name);

	if (age == IDENTITY_STALE)
		lookups_refresh(&n->lookups, user);
	return age != IDENTITY_NONE;
}

static void refuse(struct nest *n, const char *tag, const char *reason, bool unclear)
{
	answer_give(n, &(struct answer){.type = ANSWER_REFUSED, .tag = tag, .reason = reason, .unclear = unclear});
}

/* Reads the members that are needed here, if necessary by reading the whole order. */
static int order_look(const char *text, size_t length, struct arena *a, struct order_glance *ret, struct err *err)
{
	struct order o;

	if (order_glance(text, length, a, ret) == 0)
		return 0;
	int r = order_read(text, length, a, &o, err);
	if (!r)
		*ret = (struct order_glance){.tag = o.tag,
					     .user = o.user,
					     .uid = o.uid,
					     .gid = o.gid,
					     .lease = o.lease,
					     .grace = o.grace,
					     .by_name = o.foreign.by_name,
					     .look_up = o.foreign.look_up};
	return r;
}

static void order_take(struct nest *n, const char *text, size_t length, struct arena *a)
{
	struct order_glance g;
	struct err err;
	pid_t pid;
	int rc;

	if (order_look(text, length, a, &g, &err)) {
		refuse(n, order_tag(text, length, a), err.text, false);
		return;
	}
	if (g.by_name) { /* order_settle() was not called */
		refuse(n, g.tag, "its order is not settled for this host", false);
		return;
	}
	if (!user_ready(n, g.user, g.look_up)) {
		lookups_park(&n->lookups, g.user, g.tag, FRAME_ORDER, text, length);
		return;
	}
	struct handover h = {.tag = g.tag, .user = g.user, .text = text, .n = length};
	rc = identity_get(g.look_up ? BY_NAME : g.uid, g.gid, g.user, n->o->root_jobs, &h.who, &err);
	if (!rc)
		rc = order_start(n, &h, &pid, &err);
	if (rc) {
		refuse(n, g.tag, err.text, rc == -EPERM); /* EPERM: the user may not have jobs */
		return;
	}
	lease_began(n, &g);
	tmpwatch_begin(&n->tmpwatch);
	answer_give(n, &(struct answer){.type = ANSWER_STARTED, .tag = g.tag, .pid = pid});
}

/* ---- signals ---- */

/* Sends the signal and closes the pidfd. */
static int shepherd_signal(int fd, int signal)
{
	siginfo_t info = {.si_signo = SHEPHERD_SIGNAL, .si_code = SI_QUEUE};

	if (fd < 0)
		return fd;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = signal;
	int r = syscall(SYS_pidfd_send_signal, fd, SHEPHERD_SIGNAL, &info, 0) ? -errno : 0;
	close(fd);
	return r;
}

/* Sends a signal to an attempt: to our own child, which is found before it has written anything, or
 * to whichever shepherd holds the live file. An earlier nursery forked that one, so that it has no
 * other attempt than this. */
static void attempt_signal(struct nest *n, const char *tag, int signal)
{
	struct child *c = herd_find(&n->herd, tag);

	if (!c || herd_signal(c, signal))
		shepherd_signal(live_shepherd(n->live, tag), signal);
}

static void signal_take(struct nest *n, const struct request *q)
{
	attempt_signal(n, q->tag, q->signal);
	answer_give(n, &(struct answer){.type = ANSWER_SIGNALED, .tag = q->tag});
}

static void leftovers_end(struct nest *n, const char *tag)
{
	char name[256];
	int quiet = 0;

	/* A process in the middle of an exec shows no environment for a moment, so look
	 * repeatedly. */
	for (int turn = 0; turn < CLEAN_TURNS && quiet < CLEAN_QUIET; turn++) {
		if (shepherd_signal(live_shepherd(n->live, tag), SIGKILL) ==
		    0) { /* its shepherd lives: it ends the job and reports that */
			quiet = 0;
		} else {
			cgroup_kill(&n->cgroup, tag);
			quiet = tree_kill_tagged(tag, n->instance, live_session(n->live, tag)) ? 0 : quiet + 1;
		}
		if (quiet < CLEAN_QUIET)
			nanosleep(&(struct timespec){.tv_nsec = quiet ? 20000000 : 50000000}, NULL);
	}
	cgroup_remove(&n->cgroup, tag);
	task_name(tag, name, sizeof name);
	unlinkat(n->live, name, 0); /* socket on which the shepherd listened */
	sweep_attempt(n->live, tag, &n->server);
}

static void clean_take(struct nest *n, const char *tag)
{
	struct child *c = herd_find(&n->herd, tag);

	if (c) /* it is still alive: the process forked below waits for its end */
		herd_signal(c, SIGKILL);
	pid_t pid = fork();

	if (pid == 0) {
		child_close(n);
		close(n->o->fd);
		leftovers_end(n, tag);
		_exit(0);
	}
	if (pid > 0)
		herd_add(&n->herd, pid, tag);
	else
		leftovers_end(n, tag); /* no process can be forked, so do it here */
	if (pid < 0)
		answer_give(n, &(struct answer){.type = ANSWER_CLEANED, .tag = tag});
}

/* ---- leases ---- */

static void look_set(struct nest *n, int64_t at)
{
	struct itimerspec t = {.it_value = {.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000}};

	n->look_at = at;
	if (at == INT64_MAX)
		t = (struct itimerspec){0};
	timerfd_settime(n->clock, TFD_TIMER_ABSTIME, &t, NULL);
}

/* Ends an attempt whose shepherd did not end it with the lease, because it was stopped or hangs:
 * kills the shepherd and what it leaves. Nothing may run past the lease, even if the shepherd gets
 * no CPU. */
static void shepherd_end(struct nest *n, const char *tag)
{
	const struct child *c = herd_find(&n->herd, tag);
	/* our own child is not reaped yet, so that its pid is safe */
	int fd = c ? (int)syscall(SYS_pidfd_open, c->pid, 0) : live_shepherd(n->live, tag);

	if (fd < 0)
		return;
	syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
	clean_take(n, tag);
}

struct lease_look {
	struct nest *n;
	int64_t now, word, next;
};

static void lease_one(void *context, const char *tag)
{
	struct lease_look *l = context;
	int64_t end = live_lease_end(l->n->live, tag, l->word);

	if (end != INT64_MAX)
		end += LEASE_SLACK;
	if (end <= l->now) {
		shepherd_end(l->n, tag);
		end = l->now + LEASE_AGAIN;
	}
	if (end < l->next)
		l->next = end;
}

static void leases_look(struct nest *n)
{
	struct lease_look l = {n, boot_us(), lease_word(n->instance), INT64_MAX};

	/* suspended: none ends sooner than one lease after the next word */
	if (l.word == INT64_MAX)
		l.word = l.now;
	live_list(n->instance, lease_one, &l, NULL);
	look_set(n, l.next);
}

/* ---- files ---- */

static void opened_send(struct nest *n, const struct answer *a, int fd)
{
	struct strbuf frame = {0};

	answer_write(a, &frame);
	unix_send(n->o->fd, &(struct iovec){frame.text, frame.n}, 1, &fd, fd >= 0, 0);
	strbuf_fini(&frame);
}

/* Returns true if a user's process serves the file system (FUSE, mounted by that user): it may
 * never answer, and any reader or writer of the file would wait forever. */
static bool is_served_by_user(const struct stat *st)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *type, *owner;
	unsigned major, minor;
	size_t size = 0;
	bool found = false;

	while (f && !found && getline(&line, &size, f) > 0)
		found = sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 && makedev(major, minor) == st->st_dev &&
			(type = strstr(line, " - fuse")) && (owner = strstr(type, "user_id=")) &&
			strtoul(owner + 8, NULL, 10) != 0;
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Renames a file to what `path` names, so that a link stays; deletes it if that fails. */
static int path_rename(const char *from, const char *path)
{
	char *to = realpath(path, NULL);
	int r = !to || rename(from, to) ? -errno : 0;

	if (r)
		unlink(from);
	free(to);
	return r;
}

static int file_open(const struct identity *who, const struct request *q, struct err *err)
{
	const char *path = q->path;
	struct stat st;
	int fd = -1, r = identity_groups(who);

	umask(0); /* use the requested mode as it is */
	if (!r)
		r = identity_become(who);
	if (!r && q->from)
		r = path_rename(q->from, path);
	if (!r && (fd = open(path, q->flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, q->mode & 0777)) < 0)
		r = -errno;
	if (r)
		return err_set(err, r, "%s: can't be opened: %s", path, strerror(-r));
	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !(q->flags & O_DIRECTORY))) {
		close(fd);
		return err_set(err, -EINVAL, "%s: is not a file", path);
	}
	if (who->change && is_served_by_user(&st)) {
		close(fd);
		return err_set(err, -EPERM, "%s: is on a file system that is mounted by a user (FUSE)", path);
	}
	if (!(q->flags & O_DIRECTORY))
		return fd;
	r = listing_make(fd);
	close(fd);
	return r < 0 ? err_set(err, r, "%s: can't be listed: %s", path, strerror(-r)) : r;
}

static int path_erase(const struct identity *who, const char *path, struct err *err)
{
	char images[4096];

	if (images_named(path)) { /* images belong to root */
		int bad = images_path(path, images, sizeof images, err);
		if (!bad && (bad = scribe_erase(images)))
			err_set(err, bad, "%s: can't be deleted: %s", images, strerror(-bad));
		return bad;
	}

	int r = identity_groups(who);

	if (!r)
		r = identity_become(who);
	if (!r)
		r = scribe_erase(path);
	return r ? err_set(err, r, "%s: can't be deleted: %s", path, strerror(-r)) : 0;
}

static int path_look(const struct identity *who, const struct request *q, struct answer *a, struct err *err)
{
	int r = identity_groups(who);
	struct statfs fs;
	struct stat st;

	if (!r)
		r = identity_become(who);
	if (!r && statfs(q->path, &fs))
		r = -errno;
	if (r)
		return err_set(err, r, "%s: %s", q->path, strerror(-r));
	a->fs = (int64_t)(fs.f_type & 0xFFFFFFFF);
	a->directory = stat(q->path, &st) == 0 && S_ISDIR(st.st_mode);
	return 0;
}

/* Runs in a separate process, because file systems may be slow. */
static void path_take(struct nest *n, char kind, const struct request *q)
{
	struct answer a = {.type = kind == FRAME_LOOK	 ? ANSWER_LOOKED
				   : kind == FRAME_ERASE ? ANSWER_ERASED
							 : ANSWER_OPENED,
			   .id = q->id,
			   .tag = q->tag};
	struct identity who;
	struct err err;

	if (q->flags != O_DIRECTORY &&
	    ((q->flags & ~(O_WRONLY | O_CREAT | O_EXCL | O_TRUNC | O_APPEND)) ||
	     (q->flags && !(q->flags & O_WRONLY))) &&
	    q->flags != O_RDWR)
		a.reason = "it can be opened for reading, writing or both, or be listed, and in no other way";
	else if (identity_get(q->uid, q->gid, q->user, n->o->root_jobs, &who, &err))
		a.reason = err.text;
	else
		a.home = who.home;
	pid_t pid = a.reason ? -1 : fork();
	if (pid == 0) {
		child_close(n);
		int fd = kind == FRAME_OPEN ? file_open(&who, q, &err) : -1;
		int r = kind == FRAME_LOOK    ? path_look(&who, q, &a, &err)
			: kind == FRAME_ERASE ? path_erase(&who, q->path, &err)
					      : fd;
		if (r < 0)
			a.reason = err.text;
		opened_send(n, &a, fd);
		_exit(0);
	}
	if (pid < 0 && !a.reason)
		a.reason = "no process could be made to open it";
	if (pid < 0)
		answer_give(n, &a);
}

/* ---- the loop ---- */

static void frame_take(struct nest *n, char kind, const char *text, size_t length)
{
	struct arena *a = arena_create();
	struct request q;

	if (kind == FRAME_ORDER)
		order_take(n, text, length, a);
	else if (request_read(kind, text, length, a, &q))
		; /* from another version */
	else if ((kind == FRAME_SIGNAL || kind == FRAME_CLEAN) &&
		 lookups_follow(&n->lookups, q.tag, kind, text, length))
		; /* its order is waiting for its user */
	else if (kind == FRAME_SIGNAL)
		signal_take(n, &q);
	else if (kind == FRAME_CLEAN)
		clean_take(n, q.tag);
	else if (kind == FRAME_FORGET)
		live_reuse(n->live, q.tag);
	else if (!user_ready(n, q.user, q.uid == BY_NAME))
		lookups_park(&n->lookups, q.user, NULL, kind, text, length);
	else
		path_take(n, kind, &q);
	arena_destroy(a);
}

static void on_unpark(void *context, char kind, const char *text, size_t length)
{
	struct nest *n = context;

	n->answered = true;
	frame_take(n, kind, text, length);
	n->answered = false;
}

static void on_child(void *context)
{
	struct nest *n = context;

	child_close(n);
	close(n->o->fd);
	close(n->datagrams);
}

/* Returns false if the server is gone or sends malformed frames. */
static bool frames_read(struct nest *n)
{
	static char part[READ_SIZE];
	ssize_t got = recv(n->o->fd, part, sizeof part, MSG_DONTWAIT), took;
	size_t at = 0, length;
	const char *text;
	char kind;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got <= 0)
		return false;
	strbuf_add(&n->in, part, (size_t)got);
	while ((took = message_next(n->in.text + at, n->in.n - at, &kind, &text, &length)) > 0) {
		frame_take(n, kind, text, length);
		at += (size_t)took;
	}
	memmove(n->in.text, n->in.text + at, n->in.n - at);
	n->in.n -= at;
	return took == 0;
}

/* Returns the milliseconds until something is due; -1: nothing is. */
static int patience_of(const struct nest *n, int lookups)
{
	int64_t at = n->herd.look_at < n->tmpwatch.look_at ? n->herd.look_at : n->tmpwatch.look_at;
	int64_t left = at == INT64_MAX ? -1 : (at - boot_us()) / 1000 + 1;
	int own = left < 0 && at != INT64_MAX ? 0 : (int)left;

	return lookups < 0 ? own : own < 0 || lookups < own ? lookups : own;
}

static void nest_serve(struct nest *n)
{
	struct signalfd_siginfo info[8];
	pollfd_vec fds = {0};
	bool more = true;

	while (more) {
		vec_clear(&fds);
		vec_push(&fds, ((struct pollfd){.fd = n->o->fd, .events = POLLIN}));
		vec_push(&fds, ((struct pollfd){.fd = n->signals, .events = POLLIN}));
		vec_push(&fds, ((struct pollfd){.fd = n->clock, .events = POLLIN}));
		vec_push(&fds, ((struct pollfd){.fd = n->herd.reports, .events = POLLIN}));
		int patience = patience_of(n, lookups_fds(&n->lookups, &fds));
		if (poll(fds.v, fds.n, patience) < 0 && errno != EINTR)
			break;
		lookups_turn(&n->lookups); /* before frames that belong to parked orders */
		if (fds.v[1].revents && read(n->signals, info, sizeof info) > 0)
			children_reap(n);
		else if (fds.v[3].revents)
			reports_take(n);
		if (fds.v[2].revents)
			leases_look(n);
		if (boot_us() >= n->herd.look_at)
			herd_look(&n->herd);
		if (boot_us() >= n->tmpwatch.look_at)
			tmpwatch_look(&n->tmpwatch, herd_is_idle(&n->herd));
		if (fds.v[0].revents)
			more = frames_read(n);
		answers_send(n);
	}
	vec_free(&fds);
}

static int lock_take(struct nest *n, struct err *err)
{
	n->lock =
		n->o->lock ? n->o->lock : openat(n->live, ".nursery", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (n->lock < 0 || flock(n->lock, LOCK_EX | LOCK_NB))
		return err_set(err, -errno, "%s/.nursery can't be locked: %s", n->o->live, strerror(errno));
	return 0;
}

/* Resets inherited handlers and ignored signals, which are not meant for jobs, and blocks the
 * signals that shepherds wait for before there is one. */
static int signals_set(struct nest *n)
{
	sigset_t set;

	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_DFL);
	shepherd_signals(&set);
	sigaddset(&set, SIGINT); /* from a terminal, meant for the server */
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	n->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return n->signals < 0 ? -errno : 0;
}

static void server_know(struct nest *n)
{
	struct stat st;

	n->server = (struct identity){.uid = geteuid(), .gid = getegid()};
	if (geteuid() == 0 && fstat(n->live, &st) == 0 && st.st_uid != 0)
		n->server = (struct identity){.uid = st.st_uid, .gid = st.st_gid, .change = true};
}

/* Removes leftovers of attempts that have no live file any more. */
static void leftovers_sweep(struct nest *n)
{
	pid_t pid = sweep_begin(n->live, &n->server) ? fork() : -1;

	if (pid != 0)
		return; /* if the fork failed, the next nursery does it */
	child_close(n);
	close(n->o->fd);
	sweep_finish(n->live, &n->server);
	_exit(0);
}

static int nest_init(struct nest *n, struct err *err)
{
	struct timeval patience = {.tv_sec = SEND_SECONDS};
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return err_set(err, -errno, "/dev/null can't be opened: %s", strerror(errno));
	if (null > 2)
		close(null);
	fcntl(n->o->fd, F_SETFD, FD_CLOEXEC);
	umask(022);
	setsid();
	n->live = open(n->o->live, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (n->live < 0)
		return err_set(err, -errno, "%s: can't be opened: %s", n->o->live, strerror(errno));
	n->instance = realpath(n->o->live, NULL);
	if (!n->instance)
		return err_set(err, -errno, "%s: has no path: %s", n->o->live, strerror(errno));
	server_know(n);
	int r = lock_take(n, err);
	if (r)
		return r;
	fcntl(n->lock, F_SETFD, FD_CLOEXEC);
	n->datagrams = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n->clock = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (n->datagrams < 0 || n->clock < 0 || signals_set(n))
		return err_set(err, -errno, "no descriptors: %s", strerror(errno));
	setsockopt(n->datagrams, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	live_boot();
	leftovers_sweep(n);
	n->herd.place = (struct shepherd_place){.dir = n->live,
						.live_path = n->instance,
						.datagrams = n->datagrams,
						.socket = n->o->socket,
						.cgroup = &n->cgroup,
						.server = &n->server};
	n->herd.leave = on_shepherd;
	n->herd.context = n;
	r = herd_init(&n->herd);
	if (r)
		return err_set(err, r, "no descriptors: %s", strerror(-r));
	return cgroup_init(&n->cgroup, n->o->cgroup, n->instance, err);
}

int nursery_main(const struct nursery_options *o)
{
	struct nest n = {.o = o, .live = -1, .lock = -1, .signals = -1, .datagrams = -1, .clock = -1};
	struct err err;

	if (nest_init(&n, &err)) {
		dprintf(o->fd, "%c%s", NURSERY_FAILED, err.text);
		return 1;
	}
	if (send(o->fd, &(char){NURSERY_READY}, 1, MSG_NOSIGNAL) != 1)
		return 1;
	n.lookups = (struct lookups){.child = on_child, .unpark = on_unpark, .context = &n};
	n.tmpwatch = (struct tmpwatch){.live = n.live, .look_at = INT64_MAX, .leave = on_child, .context = &n};
	/* for attempts that an earlier nursery started */
	leases_look(&n);
	tmpwatch_begin(&n.tmpwatch);
	nest_serve(&n);
	lookups_finish(&n.lookups);
	lookups_fini(&n.lookups);
	/* Shepherds keep running; this process only releases what it holds itself. */
	cgroup_fini(&n.cgroup);
	herd_fini(&n.herd);
	free(n.instance);
	strbuf_fini(&n.in);
	strbuf_fini(&n.out);
	return 0;
}
