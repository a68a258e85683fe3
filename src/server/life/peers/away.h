/*
 * away.h - jobs that are handed over to another site (settings/remotes.h): the origin's side. docs/sites.md has the protocol.
 *
 * A job in a queue of another site is blocked here (BLOCK_QUEUE) until it has left that queue. When nothing else blocks it any more it is offered: that is
 * stored, with a key of this try, before anybody is told of it. From then on it does not run here, nor is it deleted, until the site has said that it does not
 * have it and never will under that key. When it has ended there its output is home before its end is stored here.
 *
 * Who talks to the site is a process (site/courier.h); what it reports is judged here by the try, so that a report which comes late changes nothing.
 */
#ifndef SERVER_LIFE_AWAY_H
#define SERVER_LIFE_AWAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/job/keys.h"

struct arena;
struct err;
struct payload;
struct server;
struct strbuf;

/* Whether it is to be dealt with: it was offered, or nothing but its queue blocks it; then it is offered now. */
bool away_due(struct server *s, uint32_t id);
/* The key of the present try. */
void away_key(const struct server *s, uint32_t id, char ret[KEY_MAX + 1]);
#define AWAY_NAME 32
/* How the courier calls it: "12", or "12-3" of an element of an array. */
void away_name(const struct server *s, uint32_t id, char ret[AWAY_NAME]);
bool away_find(const struct server *s, const char *name, uint32_t *ret); /* one that is away, by that name */
bool away_any(struct server *s);					 /* some job may be to be dealt with */

/* Appends where it is, or what it waits for, of one in a queue of another site. */
void away_explain(const struct server *s, uint32_t id, struct strbuf *out);

/* ---- what the owner wants of one that is away (entry_away()) ---- */
void away_delete(struct server *s, uint32_t id, const char *why, const char *who);
/* Back into a queue here, if the site does not have it. CODE_BAD_STATE: it has. */
int away_return(struct server *s, uint32_t id, const char *queue, const char *who, struct err *err);
/* Any other change. CODE_BAD_STATE: "it is at site east as 7.east". */
int away_refuse(const struct server *s, uint32_t id, struct err *err);

/* ---- what the courier reports of that try; anything that does not fit what is known changes nothing ---- */
void away_accepted(struct server *s, uint32_t id, uint32_t try, const char *answered);
/* The site does not have it, and never will under that key. `why`: it was refused; NULL: withdrawn, as was wanted. */
void away_back(struct server *s, uint32_t id, uint32_t try, const char *why);
/* `guaranteed`: its deadline, there. */
void away_state(struct server *s, uint32_t id, uint32_t try, char state, bool guaranteed);
/* It has ended there, and its output is home, or `comment` says where it is. `job`: as the site's API shows it. */
void away_ended(struct server *s, uint32_t id, uint32_t try, const json_t *job, const char *comment);
/* The site can't be reached, or answers something else: for people. */
void away_trouble(struct server *s, uint32_t id, uint32_t try, const char *why);

#endif
