/*
 * share.c - see share.h.
 */
#include "run/share.h"

#define LEAST 10 /* thousandths; the least that the kernel accepts */

int64_t share_quota(const struct order_share *o, int64_t used_ms, int64_t ran_ms)
{
	int64_t work = o->share_work - (used_ms > 0 ? used_ms : 0), time = o->share_time * 1000 - ran_ms;
	__int128 quota = o->share;

	if (work > 0)
		quota = time > 0 ? ((__int128)work * 1000 + time - 1) / time : o->share_most;
	if (quota > o->share_most)
		quota = o->share_most;
	return quota < LEAST ? LEAST : (int64_t)quota;
}
