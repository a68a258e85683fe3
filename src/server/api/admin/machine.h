/*
 * machine.h - the machine at a glance: whether it starts jobs, and how many nodes it has. Views for
 * the time when the server is down include it as well (view.h).
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
/* Writes the members of an open object. `all_jobs`: the reader may see the jobs of all users. */
void machine_write(const struct server *s, struct json *j, bool all_jobs);

#endif
