/*
 * hooked.h - what the site's hooks (site/hooks.h) hear of jobs, and what they say becomes of.
 */
#ifndef SERVER_LIFE_HOOKED_H
#define SERVER_LIFE_HOOKED_H

#include <jansson.h>
#include <stdint.h>

#include "hooks/hook.h"

struct hook_answer;
struct server;
struct spec;

/* A job has started or ended: its hooks hear of it after the commit, at most once. */
void hook_later(struct server *s, uint32_t id, enum hook_event e);
void hooks_send(struct server *s); /* after the commit */
/* What a hook said of a job: lines of its log, and mails. The mails alone, if the job is not there. */
void hooked_note(struct server *s, uint32_t id, const struct hook_answer *a);
void hooked_mails(struct server *s, const struct hook_answer *a);
/* Facts of a job that hooks can read and not change: user, group, id, state, ... The caller's. */
json_t *hook_facts(struct server *s, uint32_t id);

#endif
