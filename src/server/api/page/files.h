/*
 * files.h - a user's own files on this machine: lists of directories, downloads, archives that are uploaded.
 *
 * Every path is opened by a process that has become the user (run/rights.h): what one could not touch in a shell, one can't touch here.
 */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/schema.h"

struct asker;
struct call;
struct err;
struct server;
struct http_request;

void api_files_list(struct server *s, const struct call *c);
void api_files_read(struct server *s, const struct call *c);
void api_upload(struct server *s, const struct call *c); /* upload.c */
extern const struct schema files_answer, upload_answer;

/* Opens a file as the user who asks; `done` gets a descriptor, which is then its own, or why there is none. It is called once, later. */
typedef void (*file_done)(void *context, int fd, const char *reason);
void file_ask(struct server *s, const struct asker *w, const char *path, int flags, int mode, file_done done,
	      void *context);
/* From the engine. False: it was not asked for here. */
bool files_opened(struct server *s, uint64_t id, int fd, const char *reason);
/* An absolute path without ".." at which something may be, below the user's home if it is relative, or "". CODE_BAD_REQUEST. */
int file_path(struct server *s, const struct asker *w, const char *text, char ret[4096], struct err *err);

#endif
