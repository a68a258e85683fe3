/*
 * files.h - a user's own files on this machine: listing directories, downloads, and uploads of
 * archives and single files.
 *
 * Every path is opened by a process that has switched to the user (run/rights.h): users can access
 * here exactly what they can access in a shell.
 */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/schema.h"
#include "server/api/frame/call.h"

struct asker;
struct err;
struct server;

handler api_files_list, api_files_read, api_files_write, api_upload;
extern const struct schema files_answer, upload_answer, written_answer;

/* Opens a file as the requesting user. `done` is called once, later, with a descriptor that it then
 * owns, or with the reason for a failure. */
typedef void (*file_done)(void *context, int fd, const char *reason);
void file_ask(struct server *s, const struct asker *w, const char *path, int flags, int mode, file_done done,
	      void *context);
/* Replaces the file at `path`, behind links, by `from`, as the requesting user, and opens it.
 * `from` is deleted if that fails, or if `path` is "". */
void file_rename_ask(struct server *s, const struct asker *w, const char *from, const char *path, file_done done,
		     void *context);
/* Handles the engine's answer. Returns false if it was not requested here. */
bool files_opened(struct server *s, uint64_t id, int fd, const char *reason);
/* Makes an absolute path without ".."; a relative one, or "", is below the user's home.
 * CODE_BAD_REQUEST. */
int file_path(struct server *s, const struct asker *w, const char *text, char ret[4096], struct err *err);

#endif
