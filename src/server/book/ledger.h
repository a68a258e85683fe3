/* ledger.h - what a history row adds to the ledger: its usage, split by day. */
#ifndef SERVER_LEDGER_H
#define SERVER_LEDGER_H

#include "store/history.h"

/* Day of the last instant that was converted to local time; {0}: none. Many jobs end in the same
 * second. */
struct ledger_instant {
	int64_t at, date, began;
};

/* Splits a run of ran_ms by days, which begin at midnight local time. CPU time is divided in
 * proportion to run time. The sums over all days are exact. A row that did not run has no days, but
 * counts as an attempt on the day of its end. */
void ledger_split(struct ledger_instant *known, const struct history_row *row,
		  void (*day)(void *context, const struct ledger_row *x), void *context);

/* Returns the date of an instant as the ledger writes it: 20261115, local time. */
int64_t ledger_date(int64_t instant);
/* Returns the start of that day. */
int64_t ledger_midnight(int64_t instant);
/* Convert dates to day numbers without gaps, and back. */
int64_t ledger_day(int64_t date);
int64_t ledger_date_of(int64_t day);

#endif
