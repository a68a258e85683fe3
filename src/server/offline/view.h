/*
 * view.h - the queue as a file, for commands to read while the server is down (client/offline.h): STATE/offline/view, a line of JSON for each job.
 *
 * It is written anew when something has changed, but not more often than that is cheap: in slices, and to the disk by another thread. Where users may not see each
 * other's jobs, each has a file of their own, view.UID, which others can't read, and the whole is for the server's account and root. Jobs that are accepted meanwhile are
 * appended before their users are told, so that a server that is killed leaves no job out.
 */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H

#include <stdint.h>

struct server;

void view_begin(struct server *s);  /* at the server's start, before it accepts jobs */
void view_turn(struct server *s);   /* begins a new one if it is time for it */
void view_append(struct server *s); /* after a commit: adds jobs that were accepted */
int64_t
view_next(const struct server *s); /* when it will be, in microseconds of the clock; TIME_NEVER: nothing has changed */
void view_end(struct server *s);   /* the last one, at once */

#endif
