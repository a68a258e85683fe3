/*
 * away.h - jobs handed over to another site (settings/remotes.h): the origin's side. docs/sites.md
 * has the protocol.
 *
 * A job in a queue of another site is blocked here (BLOCK_QUEUE) until it has left that queue. When
 * nothing else blocks it, it is offered; the offer is stored, with a key for this try, before the
 * site is contacted. From then on the job neither runs here nor is deleted until the site has
 * confirmed that it does not have it and never will under that key. When the job has ended there,
 * its output is home before its end is stored here.
 *
 * A separate process talks to the site (site/courier.h). Its reports are checked against the try,
 * so that a late report changes nothing.
 */
#ifndef SERVER_LIFE_AWAY_H
#define SERVER_LIFE_AWAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/job/keys.h"

struct err;
struct server;
struct strbuf;

/* Returns true if the courier has work for the job: it was offered, or only its queue blocks it;
 * in the second case it is offered now. */
bool away_due(struct server *s, uint32_t id);
/* Writes the key of the present try. */
void away_key(const struct server *s, uint32_t id, char ret[KEY_MAX + 1]);
#define AWAY_NAME 32
/* Writes the courier's name for the job: "12", or "12-3" for an array element. */
void away_name(const struct server *s, uint32_t id, char ret[AWAY_NAME]);
/* Finds an away job by that name. */
bool away_find(const struct server *s, const char *name, uint32_t *ret);
/* Returns true if some job may be due. */
bool away_any(struct server *s);

/* Appends where a job in a queue of another site is, or what it waits for. */
void away_explain(const struct server *s, uint32_t id, struct strbuf *out);

/* ---- requests of the owner for an away job (entry_away()) ---- */
void away_delete(struct server *s, uint32_t id, const char *why, const char *who);
/* Moves it back into a queue here if the site does not have it. CODE_BAD_STATE: the site has it. */
int away_return(struct server *s, uint32_t id, const char *queue, const char *who, struct err *err);
/* Refuses any other change. CODE_BAD_STATE: "it is at site east as 7.east". */
int away_refuse(const struct server *s, uint32_t id, struct err *err);

/* ---- reports of the courier about a try; a report that does not fit the known state changes
 * nothing ---- */
void away_accepted(struct server *s, uint32_t id, uint32_t try, const char *answered);
/* Handles that the site does not have it and never will under that key. `why`: reason of the
 * refusal; NULL: withdrawn as requested. */
void away_back(struct server *s, uint32_t id, uint32_t try, const char *why);
/* Records its state at the site. `guaranteed`: the site guarantees its deadline. */
void away_state(struct server *s, uint32_t id, uint32_t try, char state, bool guaranteed);
/* Handles its end at the site. Its output is home, or `comment` names its location. `job`: as in
 * the site's API. */
void away_ended(struct server *s, uint32_t id, uint32_t try, const json_t *job, const char *comment);
/* Records why the site cannot be reached, or gave an unexpected answer, for users to see. */
void away_trouble(struct server *s, uint32_t id, uint32_t try, const char *why);

#endif
