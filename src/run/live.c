/*
 * live.c - live files, which record what was started here, what is running, and how it ended; read
 * and written without a server.
 */
#include "run/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/ticks.h"
#include "run/cgroup.h"
#include "run/lease.h"
#include "run/nursery.h"

#define LIVE_BYTES 65536 /* enough, because a result's reason is bounded */
#define SPARES 64

struct content {
	bool locked, ready, gone;
	int64_t lease, since; /* seconds; boot_us() */
	int64_t disk;	      /* KiB */
	pid_t pid, session;
	struct saves saves;
	char *result, *job; /* point into `text`, end in NUL; NULL: none */
	char text[LIVE_BYTES + 1];
};

/* The server puts files and the nursery takes them, each going through the same few names in its
 * own order. If the next name is occupied, or missing, they do without. */
static const char *spare_name(unsigned n, char *buf, size_t size)
{
	snprintf(buf, size, ".free.%u", n % SPARES);
	return buf;
}

/* Takes a used file, empties and locks it, and gives it its new name. Empty means that it begins
 * with NUL: whatever is written ends in a NUL, where readers stop. (Truncating costs a millisecond
 * on some file systems, for every job.) Returns -EEXIST if the new name exists, -ENOENT if there is
 * no file to take. */
static int spare_take(int dir, const char *tag)
{
	static unsigned next;
	char name[32];
	int fd = openat(dir, spare_name(next, name, sizeof name), O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -ENOENT;
	int r = -ENOENT;
	/* Its last shepherd may still be exiting. */
	if (!flock(fd, LOCK_EX | LOCK_NB) && pwrite(fd, "", 1, 0) == 1)
		r = renameat2(dir, name, dir, tag, RENAME_NOREPLACE) ? (errno == EEXIST ? -EEXIST : -ENOENT) : 0;
	if (r) {
		close(fd);
		return r;
	}
	next++;
	return fd;
}

static int file_make(int dir, const char *tag, const struct identity *owner)
{
	int fd = openat(dir, tag, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	/* The lock waits at most for a reader that is testing it. */
	if ((owner->change && fchown(fd, owner->uid, owner->gid)) || flock(fd, LOCK_EX)) {
		int r = -errno;
		close(fd);
		unlinkat(dir, tag, 0);
		return r;
	}
	return fd;
}

int live_create(int dir, const char *tag, const struct identity *owner, struct err *err)
{
	int fd = spare_take(dir, tag);

	if (fd == -ENOENT)
		fd = file_make(dir, tag, owner);
	if (fd == -EEXIST)
		return err_set(err, fd, "%s was started already", tag);
	if (fd < 0)
		return err_set(err, fd, "%s: the file that says it runs can't be made: %s", tag, strerror(-fd));
	return fd;
}

int live_add(int fd, off_t *at, const char *line, size_t n)
{
	struct iovec v[] = {{(char *)line, n}, {"", 1}};
	ssize_t done = pwritev(fd, v, 2, *at);
	int r = done < 0 ? -errno : -ENOSPC;

	if (done == (ssize_t)n + 1) {
		*at += (off_t)n; /* the next line replaces the NUL */
		return 0;
	}
	if (ftruncate(fd, *at))
		return -errno;
	return r;
}

int live_session_say(int fd, off_t *at, pid_t pid)
{
	char line[96];

	return live_add(fd, at, line, (size_t)snprintf(line, sizeof line, "session %d %s\n", (int)pid, live_boot()));
}

int live_begin(int fd, off_t *at, const struct order *o, uid_t uid, const struct cgroup *c)
{
	struct strbuf text = {0};

	strbuf_printf(&text, "pid %d %s\n", (int)getpid(), live_boot());
	strbuf_printf(&text, "user %lu %lld %.*s\n", (unsigned long)uid, (long long)clock_us(CLOCK_REALTIME),
		      (int)strcspn(o->id, "\n"), o->id);
	if (o->disk > 0)
		strbuf_printf(&text, "disk %lld\n", (long long)o->disk);
	if (o->lease > 0)
		strbuf_printf(&text, "lease %lld %lld\n", (long long)(o->lease + o->grace), (long long)boot_us());
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (cgroup_has(c, i, o))
			strbuf_printf(&text, "group %s/%s\n", c->dir[i], o->tag);
	int r = live_add(fd, at, text.text, text.n);
	strbuf_fini(&text);
	return r;
}

bool live_removed(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

const char *live_boot(void)
{
	static char id[40];

	if (!id[0]) {
		int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, id, sizeof id - 1);
		if (fd >= 0)
			close(fd);
		id[n > 0 ? strcspn(id, "\n") : 0] = '\0';
		if (!id[0])
			strcpy(id, "unknown");
	}
	return id;
}

static void content_parse(struct content *c)
{
	char *end, boot[40];
	long long lease, since, disk;
	int id = 0;

	for (char *line = c->text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (*line == '{')
			c->result = line;
		else if (!strncmp(line, "saves ", 6))
			saves_read(line + 6, strlen(line + 6), &c->saves);
		else if (!strcmp(line, "ready"))
			c->ready = true;
		else if (!strcmp(line, "gone"))
			c->gone = true;
		else if (sscanf(line, "user %*u %*d %n", &id) == 0 && id > 0) {
			c->job = line + id;
			id = 0;
		} else if (sscanf(line, "lease %lld %lld", &lease, &since) == 2) {
			c->lease = lease;
			c->since = since;
		} else if (sscanf(line, "disk %lld", &disk) == 1) {
			c->disk = disk;
		} else if (sscanf(line, "pid %d", &c->pid) != 1 &&
			   sscanf(line, "session %d %39s", &c->session, boot) == 2 && strcmp(boot, live_boot()))
			c->session = 0;
	}
}

/* Returns -ENOENT if there is no such file. Tries the lock before it reads the file: a shepherd
 * writes its result before it releases the lock. */
static int content_read(int dir, const char *tag, struct content *c)
{
	int fd = openat(dir, tag, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	c->pid = c->session = 0;
	c->ready = c->gone = false;
	c->lease = c->since = c->disk = 0;
	c->saves = (struct saves){0};
	c->result = c->job = NULL;
	c->locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	ssize_t n = pread(fd, c->text, LIVE_BYTES, 0);
	close(fd);
	c->text[n > 0 ? n : 0] = '\0';
	content_parse(c);
	return 0;
}

int live_shepherd(int dir, const char *tag)
{
	struct content *c = mem_alloc(sizeof *c);
	int r = -ESRCH;

	/* A shepherd that was just forked has not written its pid yet. */
	for (int turn = 0; turn < 1000; turn++) {
		r = content_read(dir, tag, c);
		if (r || !c->locked || c->pid)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (!r && (!c->locked || !c->pid))
		r = -ESRCH;
	if (!r) {
		/* The lock is still held after the pidfd was opened, so it is that process and not
		 * a later one. */
		int fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
		r = fd < 0 ? -errno : fd;
		if (fd >= 0 && (content_read(dir, tag, c) || !c->locked)) {
			close(fd);
			r = -ESRCH;
		}
	}
	free(c);
	return r;
}

int64_t live_lease_end(int dir, const char *tag, int64_t word)
{
	struct content *c = mem_alloc(sizeof *c);
	int64_t end = INT64_MAX;

	if (!content_read(dir, tag, c) && c->locked && c->lease > 0 && !c->gone)
		end = (word == INT64_MIN ? c->since : word) + c->lease * 1000000;
	free(c);
	return end;
}

pid_t live_pid(int dir, const char *tag)
{
	struct content *c = mem_alloc(sizeof *c);
	pid_t pid = content_read(dir, tag, c) ? 0 : c->pid;

	free(c);
	return pid;
}

int64_t live_disk(int dir, const char *tag)
{
	struct content *c = mem_alloc(sizeof *c);
	int64_t disk = content_read(dir, tag, c) ? 0 : c->disk;

	free(c);
	return disk;
}

bool live_job(int dir, const char *tag, char *ret, size_t size)
{
	struct content *c = mem_alloc(sizeof *c);
	bool known = !content_read(dir, tag, c) && c->job && strlen(c->job) < size;

	if (known)
		strcpy(ret, c->job);
	free(c);
	return known;
}

pid_t live_session(int dir, const char *tag)
{
	struct content *c = mem_alloc(sizeof *c);
	pid_t session = content_read(dir, tag, c) ? 0 : c->session;

	free(c);
	return session;
}

enum live_state live_look(const char *live, const char *tag, struct arena *a, struct result *ret, pid_t *ret_pid)
{
	int dir = open(live, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct content *c = mem_alloc(sizeof *c);
	enum live_state state = LIVE_LOST;
	int r = dir < 0 ? -errno : content_read(dir, tag, c);

	if (dir >= 0)
		close(dir);
	if (r) {
		state = r == -ENOENT ? LIVE_NONE : LIVE_LOST;
	} else if (c->result && !result_read(c->result, strlen(c->result), a, ret, NULL)) {
		/* its shepherd may still be exiting, but has written the result */
		state = LIVE_ENDED;
	} else if (c->locked) {
		state = LIVE_RUNNING;
		*ret_pid = c->pid;
		*ret = (struct result){.tag = tag, .session = c->session, .ready = c->ready, .saves = c->saves};
	} else if (!c->pid && !c->result) {
		state = LIVE_NEVER;
	} else {
		*ret = (struct result){.tag = tag, .saves = c->saves};
	}
	free(c);
	return state;
}

void live_reuse(int dir, const char *tag)
{
	static unsigned next;
	char name[32];

	if (!renameat2(dir, tag, dir, spare_name(next, name, sizeof name), RENAME_NOREPLACE))
		next++;
	else
		unlinkat(dir, tag, 0);
}

void live_remove(const char *live, const char *tag)
{
	int dir = open(live, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct content *c = mem_alloc(sizeof *c);

	/* Don't keep a file without a result: its shepherd may still want to write it (the disk was
	 * full). */
	if (dir >= 0 && !content_read(dir, tag, c) && c->result)
		live_reuse(dir, tag);
	else if (dir >= 0)
		unlinkat(dir, tag, 0);
	if (dir >= 0)
		close(dir);
	free(c);
}

int live_list(const char *live, void (*one)(void *context, const char *tag), void *context, struct err *err)
{
	DIR *d = opendir(live);

	if (!d)
		return err_set(err, -errno, "%s: can't be read: %s", live, strerror(errno));
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			one(context, e->d_name);
	closedir(d);
	return 0;
}
