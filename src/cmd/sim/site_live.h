/*
 * site_live.h - the rules of the running server, for a simulation of jobs that it once took.
 */
#ifndef CMD_SITE_LIVE_H
#define CMD_SITE_LIVE_H

#include "client/client.h"
#include "cmd/lib/command.h"
#include "rules/queue.h"

/* What orders jobs and limits how many run: attributes of the server, its queues, users, groups,
 * accounts and QoS. What only says who is let in is left out, since they were. EXIT_OK, or the code
 * after the sentence was printed. */
int site_live(const struct command *c, struct client *client, struct ruleset *ret);

#endif
