/*
 * health.h - the site's health check: a program that an agent runs from time to time. Any exit code
 * but 0 means that this machine must not get jobs, and the first line of output is the reason.
 */
#ifndef AGENT_HEALTH_H
#define AGENT_HEALTH_H

#include <uv.h>

struct health;

/* Creates it. `changed` is called when the answer changes; it may be NULL. */
struct health *health_create(uv_loop_t *loop, void (*changed)(void *context), void *context);
/* Sets the program to run every `every` seconds, for at most `seconds`; NULL or "": none, and the
 * machine counts as healthy. */
void health_set(struct health *h, const char *program, int every, int seconds);
const char *health_text(const struct health *h); /* "": healthy */
/* Ends a check in progress; the loop frees the memory in its next turns. */
void health_stop(struct health *h);

#endif
