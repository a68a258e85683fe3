/*
 * files.h - files that go with a task (in=, out=), to workers that share no file system with the broker, and back.
 *
 *	broker -> worker: APART (the task has a directory of its own; which files come back), FILE for each piece of each file, then TASK
 *	worker -> broker: FILE for each piece, then RESULT
 *
 * Paths are relative, and never lead upward; what comes is taken only if it was asked for. Patterns are those of glob(), joined by commas; {#} in them is the
 * number of the task.
 */
#ifndef BAG_FILES_H
#define BAG_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "bag/wire.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	FILES_MOST = 1000,	 /* of a task, each way */
	FILES_BYTES = 256 << 20, /* of a task, each way */
};

typedef VEC(char *) file_list;
void file_list_free(file_list *l);

/* `patterns` with the number of the task in them. */
void files_patterns(const char *patterns, uint64_t task, struct strbuf *out);
/* The files below `dir` that match; each pattern must match one. -errno with a sentence that begins with the pattern. */
int files_find(const char *dir, const char *patterns, file_list *ret, struct err *err);
/* Whether a path that somebody sent is good, and one of these. */
bool files_match(const char *patterns, const char *path);

/* Reads a file below `dir` and hands it out, piece by piece, as FILE messages. `left` is what may still be sent. */
int files_send(const char *dir, const char *path, uint64_t task, int64_t *left,
	       void (*send)(void *arg, const struct wire *m), void *arg, struct err *err);
/* Writes a piece to its path below `dir`, and makes directories on the way. */
int files_write(const char *dir, const struct wire *m);
/* Moves a file from below one directory to below another, replacing what is there. */
int files_move(const char *from, const char *to, const char *path, struct err *err);
void files_remove(const char *dir); /* with everything in it */

#endif
