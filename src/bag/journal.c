/*
 * journal.c - appends and checks the records of a bag.
 *
 * Bytes of a record after length and checksum: kind 1, flags 1, worker's length 1, 0, status 4,
 * attempt 4, length of err 4, task 8, hash 8, began 8, took 8, worker, err, out.
 */
#include "bag/journal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fdio.h"
#include "base/mem.h"

enum {
	HEAD = 8,
	FIXED = 48,
	FLAG_LAST = 1,
	FLAG_CUT = 2,
};

static const char magic[8] = "SHBAG\0\1\n";

static void put32(char *to, uint32_t x)
{
	x = htole32(x);
	memcpy(to, &x, 4);
}

static void put64(char *to, uint64_t x)
{
	x = htole64(x);
	memcpy(to, &x, 8);
}

static uint32_t get32(const char *from)
{
	uint32_t x;

	memcpy(&x, from, 4);
	return le32toh(x);
}

static uint64_t get64(const char *from)
{
	uint64_t x;

	memcpy(&x, from, 8);
	return le64toh(x);
}

void journal_record_put(struct strbuf *out, const struct record *r)
{
	size_t nworker = r->nworker > 255 ? 255 : r->nworker, begin = out->n;
	char b[HEAD + FIXED];

	b[8] = (char)r->kind;
	b[9] = (char)((r->last ? FLAG_LAST : 0) | (r->cut ? FLAG_CUT : 0));
	b[10] = (char)nworker;
	b[11] = 0;
	put32(b + 12, (uint32_t)r->status);
	put32(b + 16, r->attempt);
	put32(b + 20, (uint32_t)r->nerr);
	put64(b + 24, r->task);
	put64(b + 32, r->hash);
	put64(b + 40, (uint64_t)r->began);
	put64(b + 48, (uint64_t)r->took);
	strbuf_add(out, b, sizeof b);
	strbuf_add(out, r->worker ? r->worker : "", r->worker ? nworker : 0);
	strbuf_add(out, r->err ? r->err : "", r->nerr);
	strbuf_add(out, r->out ? r->out : "", r->nout);

	size_t n = out->n - begin - HEAD;
	put32(out->text + begin, (uint32_t)n);
	put32(out->text + begin + 4, (uint32_t)crc32_z(0, (const unsigned char *)out->text + begin + HEAD, n));
}

size_t record_next(const char *bytes, size_t n, struct record *ret)
{
	if (n < HEAD + FIXED)
		return 0;
	size_t size = get32(bytes);
	const char *b = bytes + HEAD;
	if (size < FIXED || size > n - HEAD)
		return 0;
	if (crc32_z(0, (const unsigned char *)b, size) != get32(bytes + 4))
		return 0;
	size_t nworker = (unsigned char)b[2], nerr = get32(b + 12);
	if (b[0] < RECORD_BAG || b[0] > RECORD_ALLOCATION || nworker + nerr > size - FIXED)
		return 0;
	*ret = (struct record){
		.kind = (enum record_kind)b[0],
		.last = b[1] & FLAG_LAST,
		.cut = b[1] & FLAG_CUT,
		.status = (int32_t)get32(b + 4),
		.attempt = get32(b + 8),
		.task = get64(b + 16),
		.hash = get64(b + 24),
		.began = (int64_t)get64(b + 32),
		.took = (int64_t)get64(b + 40),
		.worker = b + FIXED,
		.nworker = nworker,
		.err = b + FIXED + nworker,
		.nerr = nerr,
		.out = b + FIXED + nworker + nerr,
		.nout = size - FIXED - nworker - nerr,
	};
	return HEAD + size;
}

/* Owns its descriptor, which holds the lock. */
struct journal {
	int fd;
	char *path;
	struct strbuf added;
	int broken; /* -errno of a failed write, after which nothing may be written */
};

typedef void (*each_record)(void *arg, const struct record *r);

/* Calls `each` for the valid records of a file; returns where they end, or -errno. 0: the file
 * has no complete header yet. */
static off_t scan(int fd, const char *path, each_record each, void *arg, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	size_t n = (size_t)st.st_size, at = sizeof magic;
	if (n == 0)
		return 0;
	char *map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (n < sizeof magic || memcmp(map, magic, sizeof magic) != 0) {
		bool begun = n < sizeof magic && memcmp(map, magic, n) == 0;
		munmap(map, n);
		return begun ? 0 : err_set(err, -EINVAL, "%s is not the journal of a bag", path);
	}
	struct record r;
	for (size_t step; (step = record_next(map + at, n - at, &r)) > 0; at += step)
		if (each)
			each(arg, &r);
	munmap(map, n);
	return (off_t)at;
}

/* Opens and locks the journal. -EBUSY: another process has it. Tries again if the file was
 * replaced (compacted) meanwhile. */
static int lock_open(const char *path, int flags, struct err *err)
{
	for (;;) {
		struct stat mine, there;
		int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0666);
		if (fd < 0)
			return err_set(err, -errno, "%s: %s", path, strerror(errno));
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
			close(fd);
			return err_set(err, -EBUSY, "%s: another broker is running this bag", path);
		}
		if (fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino)
			return fd;
		close(fd);
	}
}

int journal_open(const char *path, const struct record *first, each_record each, void *arg, struct journal **ret,
		 struct err *err)
{
	int fd = lock_open(path, O_CREAT, err);

	if (fd < 0)
		return fd;
	off_t end = scan(fd, path, each, arg, err);
	if (end >= 0 && ftruncate(fd, end) < 0)
		end = err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (end < 0) {
		close(fd);
		return (int)end;
	}
	struct journal *j = mem_zalloc(sizeof *j);
	j->fd = fd;
	j->path = mem_strdup(path);
	if (end == 0)
		strbuf_add(&j->added, magic, sizeof magic);
	if (end <= (off_t)sizeof magic && first)
		journal_record_put(&j->added, first);
	int rc = journal_sync(j, err);
	if (rc < 0) {
		journal_close(j);
		return rc;
	}
	*ret = j;
	return 0;
}

int journal_remove(const char *path, struct err *err)
{
	int fd = lock_open(path, 0, err);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	off_t end = scan(fd, path, NULL, NULL, err);
	int rc = end < 0 ? (int)end : unlink(path) < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;
	close(fd);
	return rc;
}

int journal_view(const char *path, struct journal_view *ret, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = 0;

	*ret = (struct journal_view){.bytes = ""};
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		end = scan(fd, path, NULL, NULL, err);
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	if (end > (off_t)sizeof magic) {
		void *map = mmap(NULL, (size_t)end, PROT_READ, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			end = err_set(err, -errno, "%s: %s", path, strerror(errno));
		else
			*ret = (struct journal_view){.bytes = (char *)map + sizeof magic,
						     .n = (size_t)end - sizeof magic,
						     .map = map,
						     .nmap = (size_t)end};
	}
	ret->held = held;
	close(fd);
	return end < 0 ? (int)end : 0;
}

void journal_view_close(struct journal_view *v)
{
	if (v->map)
		munmap(v->map, v->nmap);
	*v = (struct journal_view){.bytes = ""};
}

void journal_add(struct journal *j, const struct record *r)
{
	journal_record_put(&j->added, r);
}

int journal_flush(struct journal *j, struct err *err)
{
	if (j->added.n == 0)
		return 0;
	int rc = j->broken ? j->broken : fd_write(j->fd, j->added.text, j->added.n);
	j->broken = rc;
	if (rc < 0)
		return err_set(err, rc, "%s: %s", j->path, strerror(-rc));
	if (j->added.cap > (4 << 20)) /* free the buffer after a task with much output */
		strbuf_fini(&j->added);
	strbuf_clear(&j->added);
	return 0;
}

int journal_sync(struct journal *j, struct err *err)
{
	struct stat st;
	int rc = journal_flush(j, err);

	if (rc == 0 && fdatasync(j->fd) < 0)
		rc = err_set(err, -errno, "%s: %s", j->path, strerror(errno));
	if (rc == 0 && fstat(j->fd, &st) == 0 && st.st_nlink == 0)
		rc = err_set(err, -ENOENT, "%s was removed: nothing can be kept any more", j->path);
	return rc;
}

struct filter {
	bool (*keep)(void *arg, const struct record *r);
	void *arg;
	struct journal *to;
	int rc;
	struct err *err;
};

static void pass(void *arg, const struct record *r)
{
	struct filter *f = arg;

	if (f->rc < 0 || !f->keep(f->arg, r))
		return;
	journal_add(f->to, r);
	if (f->to->added.n > (1 << 20))
		f->rc = journal_flush(f->to, f->err);
}

/* The new file is complete and locked before it takes the old one's name; the lock of the old
 * one ends with it. */
int journal_compact(struct journal *j, bool (*keep)(void *arg, const struct record *r), void *arg, struct err *err)
{
	struct strbuf path = {0};
	struct filter f = {.keep = keep, .arg = arg, .err = err};

	int rc = journal_flush(j, err);
	strbuf_printf(&path, "%s.new", j->path);
	if (rc == 0 && unlink(path.text) < 0 && errno != ENOENT)
		rc = err_set(err, -errno, "%s: %s", path.text, strerror(errno));
	if (rc == 0)
		rc = journal_open(path.text, NULL, NULL, NULL, &f.to, err);
	if (rc == 0) {
		off_t end = scan(j->fd, j->path, pass, &f, err);
		rc = end < 0 ? (int)end : f.rc;
	}
	if (rc == 0)
		rc = journal_sync(f.to, err);
	if (rc == 0 && rename(path.text, j->path) < 0)
		rc = err_set(err, -errno, "%s: %s", j->path, strerror(errno));
	if (rc == 0) {
		int old = j->fd;
		j->fd = f.to->fd;
		f.to->fd = old;
	}
	journal_close(f.to);
	strbuf_fini(&path);
	return rc;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	close(j->fd);
	free(j->path);
	strbuf_fini(&j->added);
	free(j);
}
