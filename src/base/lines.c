/*
 * lines.c - reads lines from a buffer that is filled by zlib or from memory.
 *
 * The unread part of the buffer is [at, end). A line is returned only when the buffer holds all of
 * it, or all that is kept of a long one.
 */
#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"

#define LINE_KEPT 65536
#define BUFFER_SIZE (4 * LINE_KEPT)

struct lines {
	gzFile file; /* NULL: read from `data` instead */
	const char *data;
	size_t left;

	char *path;
	size_t at, end;
	bool done;     /* there is no more input */
	bool skipping; /* the next input is the rest of a line that was cut */
	int64_t number;
	char buf[BUFFER_SIZE + 1]; /* one more byte for a NUL */
};

int lines_open(const char *path, struct lines **ret, struct err *err)
{
	bool std = strcmp(path, "-") == 0;
	int fd = std ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));

	gzFile file = gzdopen(fd, "rb");
	if (!file) {
		close(fd);
		return err_set(err, -ENOMEM, "%s: zlib can't open it", path);
	}
	gzbuffer(file, BUFFER_SIZE);

	struct lines *l = lines_over(NULL, 0);
	l->file = file;
	l->path = mem_strdup(std ? "standard input" : path);
	*ret = l;
	return 0;
}

struct lines *lines_over(const void *data, size_t n)
{
	struct lines *l = mem_alloc(sizeof *l);

	/* Do not zero the buffer: that would cost more than reading a small file. */
	memset(l, 0, offsetof(struct lines, buf));
	l->data = data;
	l->left = n;
	return l;
}

/* Checks for a read error: zlib reports a truncated file only with a read of 0 bytes. */
static int read_failed(struct lines *l, struct err *err)
{
	int code, saved = errno;
	const char *text = gzerror(l->file, &code);

	if (code == Z_OK || code == Z_STREAM_END)
		return 0;
	if (code == Z_ERRNO)
		return err_set(err, saved ? -saved : -EIO, "%s: %s", l->path, strerror(saved ? saved : EIO));
	return err_set(err, -EIO, "%s: line %lld: %s", l->path, (long long)l->number + 1,
		       code == Z_BUF_ERROR ? "the compressed file is cut short" : text);
}

static int fill(struct lines *l, struct err *err)
{
	memmove(l->buf, l->buf + l->at, l->end - l->at);
	l->end -= l->at;
	l->at = 0;

	size_t room = BUFFER_SIZE - l->end;
	if (l->file) {
		errno = 0;
		int n = gzread(l->file, l->buf + l->end, (unsigned)room);
		if (n <= 0) {
			l->done = true;
			return read_failed(l, err);
		}
		l->end += (size_t)n;
		return 0;
	}
	if (room > l->left)
		room = l->left;
	l->done = room == 0;
	if (room) {
		memcpy(l->buf + l->end, l->data, room);
		l->data += room;
		l->left -= room;
		l->end += room;
	}
	return 0;
}

/* Finds the length of the next line: up to its end, to the end of the file, or to where a long
 * one is cut. */
static int line_find(struct lines *l, size_t *ret_n, bool *ret_ended, struct err *err)
{
	for (;;) {
		const char *from = l->buf + l->at, *nl = memchr(from, '\n', l->end - l->at);
		*ret_ended = nl != NULL;
		*ret_n = nl ? (size_t)(nl - from) : l->end - l->at;
		if (nl || l->done || *ret_n > LINE_KEPT)
			return 0;
		int rc = fill(l, err);
		if (rc < 0)
			return rc;
	}
}

int lines_next(struct lines *l, char **ret_line, struct err *err)
{
	size_t n;
	bool ended;

	do {
		int rc = line_find(l, &n, &ended, err);
		if (rc < 0)
			return rc;
		if (!l->skipping)
			break;
		l->skipping = !ended && n > 0;
		l->at += n + ended;
	} while (n > 0 || ended);
	if (n == 0 && !ended)
		return 0;

	char *line = l->buf + l->at;
	l->at += n + ended;
	l->skipping = !ended && !l->done;
	l->number++;
	if (n > 0 && line[n - 1] == '\r')
		n--;
	if (n > LINE_KEPT)
		n = LINE_KEPT;
	line[n] = '\0';
	*ret_line = line;
	return 1;
}

int64_t lines_number(const struct lines *l)
{
	return l->number;
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	if (l->file)
		gzclose(l->file);
	free(l->path);
	free(l);
}
