/*
 * ended.h - accounting records of events, and mail about jobs.
 */
#ifndef SERVER_ENDED_H
#define SERVER_ENDED_H

#include <stddef.h>
#include <stdint.h>

#include "server/job/spec.h"

struct server;

void book_event(struct server *s, uint32_t id, char type);
void mail_event(struct server *s, uint32_t id, enum mail_point point);
void mails_send(struct server *s);
int64_t mails_next(const struct server *s); /* when it has to be called again; TIME_NEVER: not yet */
const char *group_name(struct server *s, const struct spec *p, char *buf, size_t size);

#endif
