/*
 * ledger.h - what a row of the history adds to the ledger: its use, on the days on which it fell.
 */
#ifndef SERVER_LEDGER_H
#define SERVER_LEDGER_H

#include "store/history.h"

/* It ran for ran_ms up to its end; days begin at midnight where the server is. CPU time is shared out over the days as its run time is. The sums over
 * all days are exact. The days of one that did not run are none, but it counts as an attempt on the day of its end. */
void ledger_split(const struct history_row *row, void (*day)(void *context, const struct ledger_row *x), void *context);

/* Days as the ledger calls them, 20261115; where the server is. */
int64_t ledger_date(int64_t instant);
int64_t ledger_midnight(int64_t instant); /* when that day began */
/* The same as numbers without gaps, and back. */
int64_t ledger_day(int64_t date);
int64_t ledger_date_of(int64_t day);

#endif
