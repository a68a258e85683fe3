/*
 * ledger.c - see ledger.h.
 */
#include "server/book/ledger.h"

#include <time.h>

/* Returns the date of an instant and the start of that day. */
static int64_t day_find(int64_t instant, int64_t *ret_began)
{
	time_t t = (time_t)instant;
	struct tm tm, midnight;

	localtime_r(&t, &tm);
	int64_t day = (tm.tm_year + 1900) * INT64_C(10000) + (tm.tm_mon + 1) * 100 + tm.tm_mday;
	*ret_began = instant - (tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec);
	t = (time_t)*ret_began;
	localtime_r(&t, &midnight);
	if (midnight.tm_mday == tm.tm_mday && midnight.tm_gmtoff == tm.tm_gmtoff)
		return day; /* avoids mktime, which checks the time zone file each time */
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1; /* a day may have 23 or 25 hours */
	*ret_began = (int64_t)mktime(&tm);
	if (*ret_began > instant) /* midnight was skipped, or came twice */
		*ret_began = instant;
	return day;
}

/* Returns the same, from `known` if the instant is that of the last call. */
static int64_t day_of(struct ledger_instant *known, int64_t instant, int64_t *ret_began)
{
	if (!known->date || known->at != instant) {
		known->date = day_find(instant, &known->began);
		known->at = instant;
	}
	*ret_began = known->began;
	return known->date;
}

int64_t ledger_date(int64_t instant)
{
	return day_find(instant, &(int64_t){0});
}

int64_t ledger_midnight(int64_t instant)
{
	int64_t began;

	day_find(instant, &began);
	return began;
}

int64_t ledger_day(int64_t date)
{
	struct tm tm = {.tm_year = (int)(date / 10000) - 1900,
			.tm_mon = (int)(date / 100 % 100) - 1,
			.tm_mday = (int)(date % 100)};

	return (int64_t)timegm(&tm) / 86400;
}

int64_t ledger_date_of(int64_t day)
{
	time_t t = (time_t)(day * 86400);
	struct tm tm;

	gmtime_r(&t, &tm);
	return (tm.tm_year + 1900) * INT64_C(10000) + (tm.tm_mon + 1) * 100 + tm.tm_mday;
}

/* Returns the share of the first `part` of `whole`, in integers whose differences add up. */
static int64_t share(int64_t amount, int64_t part, int64_t whole)
{
	return whole ? (int64_t)((__int128)amount * part / whole) : 0;
}

void ledger_split(struct ledger_instant *known, const struct history_row *row,
		  void (*day)(void *context, const struct ledger_row *x), void *context)
{
	/* Goes backwards from the end, in ms; the last millisecond counts for its day. */
	int64_t end = row->ended * 1000, begin = end - row->ran_ms, told = 0, began;
	bool first = true;

	while (first || end > begin) {
		int64_t date = day_of(known, end > begin ? (end - 1) / 1000 : end / 1000, &began);
		int64_t from = began * 1000 > begin ? began * 1000 : begin;
		if (from >= end) /* the clock makes no sense: take everything that is left */
			from = begin;
		int64_t ran = end > begin ? end - from : 0;
		int64_t cpu = row->ran_ms ? share(row->cpu_ms, told + ran, row->ran_ms) -
						    share(row->cpu_ms, told, row->ran_ms)
					  : row->cpu_ms;
		day(context, &(struct ledger_row){.day = date,
						  .user = row->user,
						  .group = row->group,
						  .account = row->account ? row->account : "",
						  .queue = row->queue,
						  .attempts = first,
						  .used = {.ran_ms = ran,
							   .alloc_ms = ran * row->cpus,
							   .gpu_ms = ran * row->gpus,
							   .cpu_ms = cpu}});
		told += ran;
		end = from;
		first = false;
	}
}
