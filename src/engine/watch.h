/*
 * watch.h - a descriptor in the loop that its owner may close at any time, even from its own
 * callback.
 */
#ifndef ENGINE_WATCH_H
#define ENGINE_WATCH_H

#include <uv.h>

struct watch;

/* Takes over a descriptor that can be polled. Nothing is watched for until watch_for(). */
struct watch *watch_open(uv_loop_t *loop, int fd, void (*ready)(void *context, int events), void *context);
void watch_for(struct watch *w, int events); /* UV_READABLE, UV_WRITABLE; 0: nothing */
int watch_fd(const struct watch *w);
void watch_close(struct watch *w); /* no more callbacks; NULL is allowed */

#endif
