/*
 * file.h - whole files: read at once, and replaced so that a reader finds the old text or the new
 * one.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct strbuf;

/* Appends the contents of a file, as fd_read() does; `flags` are further ones of open(). */
int file_read(const char *path, int flags, size_t most, struct strbuf *out);

enum {
	REPLACE_SYNC = 1 << 0,	 /* the new file survives a power failure */
	REPLACE_SHARED = 1 << 1, /* several processes may replace the file at the same time */
};

/* Replaces a file. Returns 0; or -errno, and the former file stays unless only the directory could
 * not be synced. */
int file_replace(const char *path, mode_t mode, const void *data, size_t n, unsigned flags);

/* Opens an empty file beside `path`, which replacement_close() lets take its place. Returns its
 * descriptor, or -errno. */
int replacement_open(const char *path, mode_t mode, unsigned flags);
/* Closes the file: it takes the place of `path`, or is removed if `rc` is negative. Returns `rc` or
 * -errno. */
int replacement_close(int fd, const char *path, int rc, unsigned flags);

#endif
