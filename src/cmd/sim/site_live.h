/*
 * site_live.h - reads the rules of the running server, to simulate jobs that it accepted.
 */
#ifndef CMD_SITE_LIVE_H
#define CMD_SITE_LIVE_H

#include "client/client.h"
#include "cmd/lib/command.h"
#include "rules/queue.h"

/* Reads what orders jobs and limits how many run: attributes of the server, its queues, users,
 * groups, accounts and QoS. Leaves out access rules, since the jobs were accepted. Returns EXIT_OK,
 * or the exit code after printing an error. */
int site_live(const struct command *c, struct client *client, struct ruleset *ret);

#endif
