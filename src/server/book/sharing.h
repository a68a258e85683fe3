/*
 * sharing.h - fairshare in the server (rules/fairshare.h): usage from the ledger in the window,
 * plus the usage of running jobs.
 *
 * The ledger is authoritative; this component copies the days inside the window. It reads a few
 * days at a time, right after a commit, so that no turn takes long and no ledger rows are on their
 * way to the store; rows added to a day that was already read are added here as well. Until all
 * days are read, every standing is 100.
 */
#ifndef SERVER_SHARING_H
#define SERVER_SHARING_H

#include <stdbool.h>

#include "rules/fairshare.h"

struct ledger_row;
struct server;
struct spec;

struct sharing *sharing_create(void);

/* Starts reading at recovery, once the server's attributes are known, if fairshare is used. */
void sharing_begin(struct server *s, bool now);
/* Adds a row; called with store_add_ledger(). */
void sharing_add(struct server *s, const struct ledger_row *x);
/* Reads everything again because rows came from elsewhere. */
void sharing_again(struct server *s);
/* Attributes of the server have changed: reads everything again if the windows did. */
void sharing_settings(struct server *s);
/* Reads the next days; called when nothing waits to be stored. */
void sharing_committed(struct server *s);
/* Returns true if there is more to read now. */
bool sharing_reads(const struct server *s);
/* Returns true if everything has been read. */
bool sharing_complete(const struct server *s);

/* Ranks the parties as of now, including the usage of running jobs. */
void sharing_rank(struct server *s);
double sharing_standing(struct server *s, const struct spec *p);
const struct shares *sharing_shares(const struct server *s);

#endif
