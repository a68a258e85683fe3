/*
 * health.h - the site's health check: a program that an agent runs from time to time. Not 0 means that this machine shall have no jobs, and its first line says why.
 */
#ifndef AGENT_HEALTH_H
#define AGENT_HEALTH_H

#include <uv.h>

struct health;

/* `changed` is called when the answer is another than before; it may be NULL. */
struct health *health_create(uv_loop_t *loop, void (*changed)(void *context), void *context);
/* From now on this program, every `every` seconds, for at most `seconds`; NULL or "": none, and all is well. */
void health_set(struct health *h, const char *program, int every, int seconds);
const char *health_text(const struct health *h); /* "": well */
void health_stop(struct health *h); /* a check under way is ended; memory goes with the loop's next turns */

#endif
