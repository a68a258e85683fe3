/*
 * tmpwatch.c - see tmpwatch.h.
 *
 * The reading process has root's rights: a user may have forbidden himself to read a directory. It
 * follows nothing that could lead it out of a $TMPDIR: each name is opened or examined in its
 * directory, without links and without mounts, and the answer of a user's own file system (FUSE) is
 * not waited for. Only files of the directory's owner count, a file with several names in parts.
 * So do files without a name that a process of the attempt has open.
 *
 * What can't be counted within FILES_MOST and DEPTH_MOST counts as too much, so that reading is
 * bounded for each user. What jobs requested of the disk (-l disk) is theirs, until nothing else is
 * left to end: a node may give all of it away.
 */
#include "run/tmpwatch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/fdio.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "run/lease.h"
#include "run/live.h"
#include "run/spare.h"
#include "run/tree.h"

#define LOOK_EVERY INT64_C(1000000) /* us */
#define PAUSE_MOST INT64_C(60000000)
#define READ_MOST INT64_C(600000000) /* us after which a reading process is killed */
#define FILES_MOST 1000000	     /* files of a user that are counted */
#define DEPTH_MOST 500
#define ENDED_MOST 200 /* attempts ended after one reading: what is written fits into a pipe */

/* What counts, in this order: bytes beyond the disk that was requested, bytes, files. */
enum measure { BEYOND, BYTES, FILES, MEASURES };

/* What an attempt has, or a user. */
struct holding {
	int64_t of[MEASURES];
};

struct holder {
	char *tag;
	uid_t uid;
	size_t user; /* index in `users` */
	pid_t shepherd;
	struct holding has;
	int64_t left; /* files that may still be counted; 0: there may be more than were */
	bool chosen;
};

struct owner {
	uid_t uid;
	struct holding has;
};

struct reading {
	int live, tmp;
	dev_t device;
	struct spare_room room;
	VEC(struct holder) holders;
	VEC(struct owner) users;
	struct map users_by_uid;
};

/* ---- is there room? ---- */

static int tmp_open(int live)
{
	return openat(live, "../tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Returns true if a directory has an entry whose name does not begin with a dot. */
static bool has_entry(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	bool any = false;

	for (struct dirent *e; d && !any && (e = readdir(d));)
		any = e->d_name[0] != '.';
	if (d)
		closedir(d);
	else if (own >= 0)
		close(own);
	return any;
}

static bool is_low(const struct spare_room *r)
{
	return r->bytes < r->keep_bytes / 2 || r->files < r->keep_files / 2;
}

/* ---- counting, in a process of its own ---- */

static int directory_enter(int at, const char *name)
{
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_BENEATH};
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof how);

	if (fd < 0 && errno == ENOSYS) /* a kernel before 5.6 */
		fd = openat(at, name, (int)how.flags);
	return fd;
}

/* Counts one file, which several names share. A user's file system may claim any size. */
static void file_count(const struct reading *r, const struct statx *x, struct holder *h)
{
	int64_t links = x->stx_nlink ? x->stx_nlink : 1;
	int64_t bytes = x->stx_blocks > (uint64_t)r->room.size / 512 ? r->room.size : (int64_t)x->stx_blocks * 512;

	h->left--;
	h->has.of[FILES]++;
	if (x->stx_uid == h->uid)
		h->has.of[BYTES] += bytes / links;
}

static bool look_at(int fd, const char *name, int flags, struct statx *ret)
{
	return statx(fd, name, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, ret) == 0;
}

/* Counts what is below a directory, and closes it. */
static void directory_count(const struct reading *r, int fd, int depth, struct holder *h)
{
	DIR *d = fdopendir(fd);
	struct statx x;

	if (!d) {
		close(fd);
		return;
	}
	for (struct dirent *e; h->left > 0 && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !look_at(dirfd(d), e->d_name, AT_SYMLINK_NOFOLLOW, &x))
			continue;
		bool directory = S_ISDIR(x.stx_mode);
		x.stx_nlink = directory ? 1 : x.stx_nlink;
		file_count(r, &x, h);
		if (!directory)
			continue;
		int child = depth < DEPTH_MOST ? directory_enter(dirfd(d), e->d_name) : -1;
		if (child >= 0)
			directory_count(r, child, depth + 1, h);
		else if (depth >= DEPTH_MOST || errno == EMFILE)
			h->left = 0;
	}
	closedir(d);
}

/* Counts the files that a process has open or mapped and that have no name any more. */
static void links_count(const struct reading *r, pid_t pid, const char *directory, struct map *seen, struct holder *h)
{
	char path[64], target[300];
	struct statx x;
	uint64_t known;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, directory);
	DIR *d = opendir(path);
	for (struct dirent *e; d && h->left > 0 && (e = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof target);
		if (n <= 10 || (n < (ssize_t)sizeof target && memcmp(target + n - 10, " (deleted)", 10) != 0) ||
		    !look_at(dirfd(d), e->d_name, 0, &x) || !S_ISREG(x.stx_mode) || x.stx_nlink ||
		    makedev(x.stx_dev_major, x.stx_dev_minor) != r->device || map_get(seen, x.stx_ino, &known))
			continue;
		map_set(seen, x.stx_ino, 1);
		file_count(r, &x, h);
	}
	if (d)
		closedir(d);
}

static void nameless_count(const struct reading *r, struct holder *h)
{
	struct map seen = {0};
	pid_list processes = {0};

	tree_list(h->shepherd, &processes);
	for (size_t i = 0; i < processes.n; i++) {
		links_count(r, processes.v[i], "fd", &seen, h);
		links_count(r, processes.v[i], "map_files", &seen, h);
	}
	vec_free(&processes);
	map_fini(&seen);
}

static size_t user_of(struct reading *r, uid_t uid)
{
	uint64_t at;

	if (map_get(&r->users_by_uid, uid, &at))
		return (size_t)at;
	vec_push(&r->users, (struct owner){.uid = uid});
	map_set(&r->users_by_uid, uid, r->users.n - 1);
	return r->users.n - 1;
}

/* Counts what an attempt has. One whose shepherd has gone is cleaned up by others. */
static void attempt_count(struct reading *r, const char *tag)
{
	int shepherd = live_shepherd(r->live, tag), fd = shepherd < 0 ? -1 : directory_enter(r->tmp, tag);
	struct stat st;

	if (shepherd >= 0)
		close(shepherd);
	if (fd < 0)
		return;
	if (fstat(fd, &st)) {
		close(fd);
		return;
	}
	struct holder h = {.tag = mem_strdup(tag),
			   .uid = st.st_uid,
			   .user = user_of(r, st.st_uid),
			   .shepherd = live_pid(r->live, tag)};
	h.left = FILES_MOST - r->users.v[h.user].has.of[FILES];
	directory_count(r, fd, 0, &h);
	nameless_count(r, &h);
	int64_t beyond = h.has.of[BYTES] - live_disk(r->live, tag) * 1024;
	h.has.of[BEYOND] = beyond > 0 ? beyond : 0;
	for (int i = 0; i < MEASURES; i++)
		r->users.v[h.user].has.of[i] += h.has.of[i];
	vec_push(&r->holders, h);
}

/* ---- choosing ---- */

/* Returns how far a user is above the bound. */
static int64_t excess(const struct reading *r, const struct owner *u, enum measure m)
{
	return u->has.of[m] - (m == FILES ? r->room.keep_files : r->room.keep_bytes);
}

static struct owner *user_choose(struct reading *r, enum measure m)
{
	struct owner *most = NULL;

	for (size_t i = 0; i < r->users.n; i++) {
		struct owner *u = &r->users.v[i];
		if (excess(r, u, m) > 0 && (!most || excess(r, u, m) > excess(r, most, m)))
			most = u;
	}
	return most;
}

static struct holder *attempt_choose(struct reading *r, const struct owner *u, enum measure m)
{
	struct holder *most = NULL;

	for (size_t i = 0; i < r->holders.n; i++) {
		struct holder *h = &r->holders.v[i];
		if (!h->chosen && &r->users.v[h->user] == u && (!most || h->has.of[m] > most->has.of[m]))
			most = h;
	}
	return most;
}

static void attempt_report(struct holder *h, enum measure m, struct strbuf *out)
{
	int64_t n = m == FILES ? h->has.of[FILES] : h->has.of[BYTES] >> 20;
	int word = TMPDIR_WORD | (m == FILES ? TMPDIR_FILES : 0) | (int)(n < TMPDIR_MOST ? n : TMPDIR_MOST);

	h->chosen = true;
	strbuf_printf(out, "%d %s\n", word, h->tag);
}

/* Chooses attempts of users who have more than the bound, until there is room. */
static void attempts_choose(struct reading *r, enum measure m, struct strbuf *out)
{
	int64_t *has = m == FILES ? &r->room.files : &r->room.bytes;
	int64_t wanted = (m == FILES ? r->room.keep_files : r->room.keep_bytes) / 2;

	for (int n = 0; *has < wanted && n < ENDED_MOST; n++) {
		struct owner *u = user_choose(r, m);
		struct holder *h = u ? attempt_choose(r, u, m) : NULL;
		if (!h)
			break;
		attempt_report(h, m, out);
		r->room.bytes += h->has.of[BYTES];
		r->room.files += h->has.of[FILES];
		for (int i = 0; i < MEASURES; i++)
			u->has.of[i] -= h->has.of[i];
	}
}

/* Chooses an attempt that can't be counted: it may have all that is missing. */
static bool uncounted_choose(struct reading *r, struct strbuf *out)
{
	for (size_t i = 0; i < r->holders.n && is_low(&r->room); i++) {
		struct holder *h = &r->holders.v[i];
		if (h->left > 0)
			continue;
		h->has.of[FILES] = FILES_MOST;
		attempt_report(h, FILES, out);
		return true;
	}
	return false;
}

static _Noreturn void read_run(int live, int fd)
{
	struct reading r = {.live = live, .tmp = tmp_open(live)};
	struct rlimit files;
	struct strbuf out = {0};
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!getrlimit(RLIMIT_NOFILE, &files)) { /* a descriptor for each level */
		files.rlim_cur = files.rlim_max < 2 * DEPTH_MOST ? files.rlim_max : 2 * DEPTH_MOST;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	DIR *d = r.tmp < 0 || fstat(r.tmp, &st) ? NULL : fdopendir(r.tmp);
	if (!d)
		_exit(1);
	r.device = st.st_dev;
	spare_look(r.tmp, &r.room);
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			attempt_count(&r, e->d_name);
	spare_look(r.tmp, &r.room);
	if (!uncounted_choose(&r, &out))
		for (enum measure m = 0; m < MEASURES; m++)
			attempts_choose(&r, m, &out);
	fd_write(fd, out.text, out.n);
	_exit(0);
}

/* ---- in the nursery ---- */

void tmpwatch_begin(struct tmpwatch *w)
{
	if (w->look_at == INT64_MAX)
		w->look_at = boot_us() + LOOK_EVERY;
}

static void read_start(struct tmpwatch *w, int64_t now)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		w->leave(w->context);
		read_run(w->live, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return;
	}
	w->pid = pid;
	w->fd = fds[0];
	w->since = now;
}

void tmpwatch_look(struct tmpwatch *w, bool idle)
{
	int64_t now = boot_us();
	struct spare_room room;
	struct stat live, tmp;
	int fd;

	w->look_at = now + LOOK_EVERY;
	if (w->pid && now > w->since + READ_MOST)
		kill(w->pid, SIGKILL);
	if (w->pid)
		return;
	fd = tmp_open(w->live);
	bool shared = fd >= 0 && !fstat(w->live, &live) && !fstat(fd, &tmp) && live.st_dev == tmp.st_dev;
	if (fd >= 0 && !shared)
		w->look_at = INT64_MAX; /* a file system of its own */
	else if (idle && (!shared || !has_entry(fd)))
		w->look_at = INT64_MAX;
	else if (shared && spare_look(fd, &room) == 0 && is_low(&room))
		read_start(w, now);
	if (fd >= 0)
		close(fd);
}

/* Sets when to look again: later after a reading that ended nobody or took long. */
static void pause_set(struct tmpwatch *w, bool found)
{
	int64_t now = boot_us(), pause = found ? LOOK_EVERY : w->pause * 2;

	if (pause < 10 * (now - w->since))
		pause = 10 * (now - w->since);
	pause = pause < LOOK_EVERY ? LOOK_EVERY : pause > PAUSE_MOST ? PAUSE_MOST : pause;
	w->pause = pause;
	w->look_at = now + pause;
}

bool tmpwatch_reaped(struct tmpwatch *w, pid_t pid, void (*end)(void *context, const char *tag, int word))
{
	struct strbuf in = {0};
	char tag[256];
	int word;

	if (!w->pid || pid != w->pid)
		return false;
	w->pid = 0;
	fd_read(w->fd, 1 << 16, &in);
	close(w->fd);
	pause_set(w, in.n > 0);
	for (const char *line = strbuf_text(&in); *line; line = strchr(line, '\n') + 1)
		if (strchr(line, '\n') == NULL || sscanf(line, "%d %255s", &word, tag) != 2)
			break;
		else
			end(w->context, tag, word);
	strbuf_fini(&in);
	return true;
}

/* ---- in the shepherd ---- */

void tmpwatch_say(int word, const char *tmpdir, struct strbuf *say)
{
	int fd = open(tmpdir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct spare_room room = {0};
	char has[32], most[32];

	if (fd >= 0) {
		spare_look(fd, &room);
		close(fd);
	}
	if (word & TMPDIR_FILES) {
		snprintf(has, sizeof has, "%d files", word & TMPDIR_MOST);
		snprintf(most, sizeof most, "%lld files", (long long)room.keep_files);
	} else {
		memory_human((int64_t)(word & TMPDIR_MOST) << 10, has, sizeof has);
		memory_human(room.keep_bytes >> 10, most, sizeof most);
	}
	strbuf_printf(
		say,
		"%sits $TMPDIR held %s while the disk, which Shunt itself needs, was almost full: the jobs of a user may together hold %s there then",
		say->n ? ". " : "", has, most);
}
