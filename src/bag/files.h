/*
 * files.h - files of a task (in=, out=) sent to workers that share no file system with the broker,
 * and back.
 *
 *	broker -> worker: APART (the task has its own directory; which files come back), FILE for
 *		each piece of each file, then TASK
 *	worker -> broker: FILE for each piece, then RESULT
 *
 * Paths are relative and never lead upward; only requested files are accepted. Patterns are those
 * of glob(), separated by commas; {#} in them is the number of the task.
 */
#ifndef BAG_FILES_H
#define BAG_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "bag/wire.h"
#include "base/err.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	FILES_MOST = 1000,	 /* files of a task, each way */
	FILES_BYTES = 256 << 20, /* bytes of a task's files, each way */
};

/* Replaces {#} in `patterns` by the number of the task. */
void files_patterns(const char *patterns, uint64_t task, struct strbuf *out);
/* Finds the files below `dir` that match; each pattern must match at least one. -errno: the
 * message begins with the pattern. */
int files_find(const char *dir, const char *patterns, name_list *ret, struct err *err);
/* Returns true if a path received from a peer is valid and matches a pattern. */
bool files_match(const char *patterns, const char *path);

/* Reads a file below `dir` and passes it to `send` piece by piece, as FILE messages. `left`:
 * bytes that may still be sent. */
int files_send(const char *dir, const char *path, uint64_t task, int64_t *left,
	       void (*send)(void *arg, const struct wire *m), void *arg, struct err *err);
/* Writes a piece to its path below `dir`, creating directories as needed. */
int files_write(const char *dir, const struct wire *m);
/* Moves a file from below one directory to below another, replacing an existing one. */
int files_move(const char *from, const char *to, const char *path, struct err *err);
void files_remove(const char *dir); /* with everything in it */

#endif
