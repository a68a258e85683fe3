/*
 * machine.h - the machine at a glance: whether it starts jobs, how many nodes it has; also for the time when the server is down (view.h).
 */
#ifndef SERVER_MACHINE_H
#define SERVER_MACHINE_H

#include <stdbool.h>

#include "base/schema.h"

struct call;
struct json;
struct server;

extern const struct schema machine_answer;

void api_machine(struct server *s, const struct call *c);
/* Writes its members into an open object, for a reader who sees the jobs of all users or not. */
void machine_write(const struct server *s, struct json *j, bool all_jobs);

#endif
