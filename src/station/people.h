/*
 * people.h - looks up the uids of a workstation's owners on a thread.
 */
#ifndef STATION_PEOPLE_H
#define STATION_PEOPLE_H

#include <sys/types.h>
#include <uv.h>

struct owners_look;

/* Looks up `names`, joined by '+'. The callback is not called after owners_cancel(). */
struct owners_look *owners_look(uv_loop_t *loop, const char *names, void (*found)(void *context, const uid_t *v, int n),
				void *context);
void owners_cancel(struct owners_look *l);

#endif
