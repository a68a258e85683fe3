/* hooked.h - events of jobs for the site's hooks (site/hooks.h), and the effects of their
 * answers. */
#ifndef SERVER_LIFE_HOOKED_H
#define SERVER_LIFE_HOOKED_H

#include <jansson.h>
#include <stdint.h>

#include "hooks/hook.h"

struct hook_answer;
struct server;

/* Queues the start or end of a job for its hooks, which get it after the commit, at most once. */
void hook_later(struct server *s, uint32_t id, enum hook_event e);
/* Sends the queued events to the hooks, after the commit. */
void hooks_send(struct server *s);
/* Applies a hook's answer about a job: log lines and mails. hooked_mails() sends the mails
 * alone, for a job that does not exist. */
void hooked_note(struct server *s, uint32_t id, const struct hook_answer *a);
void hooked_mails(struct server *s, const struct hook_answer *a);
/* Returns the facts of a job that hooks can read but not change: user, group, id, state, ...
 * Owned by the caller. */
json_t *hook_facts(struct server *s, uint32_t id);

#endif
