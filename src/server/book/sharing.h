/*
 * sharing.h - fairshare in the server (rules/fairshare.h): what the ledger has of the days that count, and what running jobs add to it.
 *
 * The ledger is the truth, and here is a copy of the days that count. It is read a few days at a time, right after a commit, so that no turn takes long and nothing is
 * on its way to the store meanwhile; what is added to the ledger of a day that was read is added here, too. Until all days are read, everybody's
 * standing is 100.
 */
#ifndef SERVER_SHARING_H
#define SERVER_SHARING_H

#include <stdbool.h>

#include "rules/fairshare.h"

struct ledger_row;
struct server;
struct spec;

struct sharing *sharing_create(void);

/* At recovery, once the server's attributes are known: reads everything, if there is a reason to. */
void sharing_begin(struct server *s, bool now);
/* Beside store_add_ledger(). */
void sharing_add(struct server *s, const struct ledger_row *x);
/* All is read again: rows came from elsewhere. */
void sharing_again(struct server *s);
void sharing_settings(
	struct server *s); /* attributes of the server have changed: the same, if windows are others than before */
/* Nothing waits to be stored: reads on. */
void sharing_committed(struct server *s);
bool sharing_reads(const struct server *s);    /* there is more to read, now */
bool sharing_complete(const struct server *s); /* there is nothing more */

/* Who comes first as of now, with what running jobs have used. */
void sharing_rank(struct server *s);
double sharing_standing(struct server *s, const struct spec *p);
const struct shares *sharing_shares(const struct server *s);

#endif
