/*
 * scribe.c - works in a job's checkpoint directory, in a process that has become its user.
 *
 * Incomplete checkpoints are never in the way: a number is used once, and directories above `last`
 * or older than those to keep are first renamed to .gone.NUMBER, so that nothing takes them for a
 * checkpoint while they are being deleted.
 */
#include "run/scribe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "run/room.h"

#define GONE ".gone."
#define LOOK_FIRST 10000000 /* nanoseconds between two checks for `done`; doubled up to LOOK_MOST */
#define LOOK_MOST 160000000
#define NUMBER_TEXT 24

static const char *number_text(int64_t number, char text[NUMBER_TEXT])
{
	snprintf(text, NUMBER_TEXT, "%" PRId64, number);
	return text;
}

/* Returns the checkpoint's number; 0: the name is not a checkpoint's. */
static int64_t checkpoint_number(const char *name)
{
	size_t n = strspn(name, "0123456789");

	return n && n < 18 && !name[n] && *name != '0' ? strtoll(name, NULL, 10) : 0;
}

static int directory_make(const char *path)
{
	char part[4096];

	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT || strlen(path) >= sizeof part)
		return -errno;
	strcpy(part, path);
	for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(part, 0700); /* it exists, or the next call fails */
		*slash = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

static int directory_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* ---- deleting ---- */

static void number_aside(int dir, int64_t number)
{
	char from[NUMBER_TEXT], to[NUMBER_TEXT + sizeof GONE];

	snprintf(to, sizeof to, GONE "%s", number_text(number, from));
	renameat(dir, from, dir, to);
}

/* Renames the checkpoints below `below` and above `above`; returns the highest number found. */
static int64_t numbers_walk(int dir, int64_t below, int64_t above)
{
	int list = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = list < 0 ? NULL : fdopendir(list);
	int64_t most = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		int64_t number = checkpoint_number(e->d_name);
		most = number > most ? number : most;
		if (number && (number < below || number > above))
			number_aside(dir, number);
	}
	if (d)
		closedir(d);
	else if (list >= 0)
		close(list);
	return most;
}

static void gone_clear(int dir, const struct identity *self)
{
	int list = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = list < 0 ? NULL : fdopendir(list);

	for (struct dirent *e; d && (e = readdir(d));)
		if (!strncmp(e->d_name, GONE, sizeof GONE - 1))
			tmpdir_clear(dir, e->d_name, self);
	if (d)
		closedir(d);
	else if (list >= 0)
		close(list);
}

int scribe_erase(const char *dir)
{
	struct identity self = {.uid = geteuid(), .gid = getegid()};
	const char *slash = strrchr(dir, '/');
	struct stat st;
	char above[4096];

	self.server = &self;
	if (*dir != '/' || !slash[1] || strlen(dir) >= sizeof above)
		return -EINVAL;
	snprintf(above, sizeof above, "%.*s", (int)(slash - dir), dir);
	int at = open(*above ? above : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return errno == ENOENT ? 0 : -errno;
	tmpdir_clear(at, slash + 1, &self);
	int r = fstatat(at, slash + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 ? -ENOTEMPTY : errno == ENOENT ? 0 : -errno;
	close(at);
	return r;
}

/* ---- tasks ---- */

/* Returns the number that `last` names; 0: none; -errno: it can't be read now, so nothing
 * may be deleted. */
static int64_t last_read(int dir)
{
	char name[NUMBER_TEXT] = "";
	ssize_t n = readlinkat(dir, "last", name, sizeof name - 1);
	int64_t number = n > 0 ? checkpoint_number(name) : 0;

	/* EINVAL: the user has put something else there */
	if (n < 0 && errno != ENOENT && errno != EINVAL)
		return -errno;
	if (!number)
		return 0;
	int fd = directory_open(dir, name);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	close(fd);
	return number;
}

static int link_set(int dir, const char *name, int64_t number)
{
	char text[NUMBER_TEXT], fresh[32];

	snprintf(fresh, sizeof fresh, ".%s", name);
	unlinkat(dir, fresh, 0);
	return symlinkat(number_text(number, text), dir, fresh) || renameat(dir, fresh, dir, name) ? -errno : 0;
}

static int find(const struct scribe_order *s, int dir, const struct identity *self)
{
	int64_t number = s->o->checkpoint.from_start ? 0 : last_read(dir);

	if (number < 0)
		return (int)number;
	if (s->o->checkpoint.from_start)
		unlinkat(dir, "last", 0);
	unlinkat(dir, "new", 0);
	unlinkat(dir, "notice", 0);
	/* checkpoints that were incomplete when an attempt was killed */
	numbers_walk(dir, 0, number);
	gone_clear(dir, self);
	s->page->other = !number && s->o->checkpoint.restart_of;
	if (s->page->other) {
		int other = open(s->other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		number = other >= 0 ? last_read(other) : errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
		if (number <= 0)
			return number ? (int)number : -ENODATA;
	}
	s->page->number = number;
	return 0;
}

static int notice_write(const struct scribe_order *s, int dir, int64_t number)
{
	char text[4096 + 512];
	int n = snprintf(text, sizeof text,
			 "cause=%s\nfinal=%s\nnumber=%" PRId64 "\ndeadline=%" PRId64 "\nseconds=%" PRId64
			 "\ndirectory=%s/%" PRId64 "\n",
			 save_words[s->cause], cause_is_final(s->cause) ? "yes" : "no", number, s->until / 1000000,
			 s->seconds, s->dir, number);

	unlinkat(dir, ".notice", 0);
	int fd = openat(dir, ".notice", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ssize_t put = write(fd, text, (size_t)n);
	int r = put == n ? 0 : put < 0 ? -errno : -ENOSPC;
	close(fd);
	return !r && renameat(dir, ".notice", dir, "notice") ? -errno : r;
}

static int prepare(const struct scribe_order *s, int dir)
{
	int64_t last = last_read(dir), number = last < 0 ? 0 : numbers_walk(dir, 0, last) + 1;
	char name[NUMBER_TEXT];

	if (last < 0)
		return (int)last;
	if (mkdirat(dir, number_text(number, name), 0700))
		return -errno;
	int r = link_set(dir, "new", number);
	if (!r)
		r = notice_write(s, dir, number);
	if (!r)
		s->page->number = number;
	return r;
}

/* Checks only the type: the user may create anything as `done`. */
static bool is_done(int checkpoint)
{
	struct stat st;

	return fstatat(checkpoint, "done", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* Makes the checkpoint good: it is from the rename on. A second signal finds neither notice nor
 * `new`, so nothing more is written to it. */
static int commit(const struct scribe_order *s, int dir, int checkpoint)
{
	unlinkat(dir, "notice", 0);
	unlinkat(dir, "new", 0);
	if (syncfs(checkpoint))
		return -errno;
	int r = link_set(dir, "last", s->number);
	if (!r && fsync(dir))
		r = -errno;
	if (!r)
		s->page->good = s->number;
	return r;
}

static void surplus_drop(const struct scribe_order *s, int dir, const struct identity *self)
{
	int keep = s->o->checkpoint.keep < 1 ? 1 : s->o->checkpoint.keep;

	numbers_walk(dir, s->number - keep + 1, s->number);
	gone_clear(dir, self);
}

static int saver_run(const struct scribe_order *s, int checkpoint)
{
	char number[NUMBER_TEXT], session[NUMBER_TEXT], path[4096 + NUMBER_TEXT];
	char *argv[] = {(char *)s->o->checkpoint.saver, path, session, (char *)save_words[s->cause], NULL};
	int status;

	snprintf(path, sizeof path, "%s/%s", s->dir, number_text(s->number, number));
	number_text(s->session, session);
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (fchdir(checkpoint) == 0)
			execve(argv[0], argv, s->env);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECANCELED;
}

static int images_write(const struct scribe_order *s)
{
	char number[NUMBER_TEXT], path[4096 + NUMBER_TEXT];

	snprintf(path, sizeof path, "%s/%s", s->dir, number_text(s->number, number));
	return criu_dump(s->session, path, s->output, s->page->why);
}

static int await(const struct scribe_order *s, int dir, const struct identity *self)
{
	char name[NUMBER_TEXT];
	struct timespec pause = {.tv_nsec = LOOK_FIRST};
	int checkpoint = directory_open(dir, number_text(s->number, name)), r = 0;

	if (checkpoint < 0)
		return checkpoint;
	gone_clear(dir, self);
	if (s->o->checkpoint.method == CHECKPOINT_SCRIPT)
		r = saver_run(s, checkpoint);
	if (s->o->checkpoint.method == CHECKPOINT_CRIU)
		r = images_write(s);
	while (s->o->checkpoint.method == CHECKPOINT_SIGNAL && !is_done(checkpoint)) {
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec < LOOK_MOST ? pause.tv_nsec * 2 : LOOK_MOST;
	}
	return r ? r : commit(s, dir, checkpoint);
}

static int look(const struct scribe_order *s, int dir)
{
	char name[NUMBER_TEXT];
	int checkpoint;

	checkpoint = directory_open(dir, number_text(s->number, name));
	if (checkpoint < 0)
		return checkpoint;
	return s->done || is_done(checkpoint) ? commit(s, dir, checkpoint) : -ENODATA;
}

static int task_do(const struct scribe_order *s)
{
	struct identity self = {.uid = s->who->uid, .gid = s->who->gid};
	if (s->task == SCRIBE_ERASE)
		return scribe_erase(s->dir);

	int r = s->task == SCRIBE_FIND ? directory_make(s->dir) : 0;
	int dir = r ? r : open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	self.server = &self;
	if (dir < 0)
		return r ? r : -errno;
	switch (s->task) {
	case SCRIBE_FIND:
		return find(s, dir, &self);
	case SCRIBE_PREPARE:
		return prepare(s, dir);
	case SCRIBE_AWAIT:
	case SCRIBE_LOOK:
		r = s->task == SCRIBE_AWAIT ? await(s, dir, &self) : look(s, dir);
		break;
	case SCRIBE_ERASE:
		break;
	}
	int64_t last = r ? last_read(dir) : 0;
	if (!r)
		surplus_drop(s, dir, &self);
	else if (last >= 0)
		numbers_walk(dir, 0, last);
	if (r && s->task == SCRIBE_LOOK)
		gone_clear(dir, &self);
	return r;
}

pid_t scribe_start(const struct scribe_order *s)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t all;

	if (pid)
		return pid < 0 ? -errno : pid;
	/* The job's signals are not meant for us, and root's descriptors must be closed, above all
	 * the locked live file. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	close_range(3, ~0U, 0);
	if (identity_become(s->who))
		_exit(EPERM);
	/* set after the change of user, which would clear it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(ECHILD);
	umask(077);
	_exit(-task_do(s) & 0xff);
}
