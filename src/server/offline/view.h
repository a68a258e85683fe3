/*
 * view.h - the queue as a file that commands read while the server is down (client/offline.h):
 * STATE/offline/view, a line of JSON for each job.
 *
 * The file is rewritten after changes, but only as often as that is cheap: in slices, with another
 * thread writing to the disk. Where users may not see each other's jobs, each has a file of their
 * own, view.UID, that others can't read, and only the server's account and root can read the whole.
 * Jobs accepted meanwhile are appended before their users are answered, so that a killed server
 * leaves no job out.
 */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H

#include <stdint.h>

struct server;

void view_begin(struct server *s);  /* called at the server's start, before it accepts jobs */
void view_turn(struct server *s);   /* begins a new file if one is due */
void view_append(struct server *s); /* adds jobs that were accepted; called after a commit */
/* microseconds of the clock at which the next file is due; TIME_NEVER: nothing has changed */
int64_t view_next(const struct server *s);
void view_end(struct server *s); /* writes the last file at once */

#endif
