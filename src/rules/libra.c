/*
 * libra.c - see libra.h.
 */
#include "rules/libra.h"

#include <assert.h>
#include <string.h>

#include "base/timetext.h"
#include "rules/quota_file.h"

#define WINDOW_MOST (INT64_C(1) << 40)

int libra_budget_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *colon = strchr(text, ':');

	return colon && strchr(colon + 1, ':') ? duration_parse(text, ret, err) : quota_hours_parse(text, ret, err);
}

int64_t libra_seconds(const struct libra_terms *t)
{
	__int128 window = t->window, x;

	assert(t->estimate > 0 && t->window > 0);
	x = t->estimate * (t->alpha * window + (__int128)t->beta * LIBRA_UNIT);
	x = (x + 100 * window - 1) / (100 * window);
	return x < CREDIT_MOST ? (int64_t)x : CREDIT_MOST;
}

int64_t libra_price(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r)
{
	return credit_of(tariff, r, libra_seconds(t));
}

int64_t libra_window(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r)
{
	struct libra_terms x = *t;
	int64_t low = 1, high = WINDOW_MOST; /* the price falls as the window grows */

	x.window = high;
	if (libra_price(&x, tariff, r) > t->budget)
		return 0;
	while (low < high) {
		x.window = low + (high - low) / 2;
		if (libra_price(&x, tariff, r) > t->budget)
			low = x.window + 1;
		else
			high = x.window;
	}
	return low;
}

/* ---- shares ---- */

static int64_t without_reserve(int64_t seconds)
{
	return seconds - (seconds * LIBRA_RESERVE + 99) / 100;
}

bool libra_divide(const struct libra_terms *t, int64_t cpus, struct libra_part *ret)
{
	int64_t walltime = t->window < WINDOW_MOST ? without_reserve(t->window) : 0, time = without_reserve(walltime);
	__int128 all = (__int128)cpus * t->estimate * SHARE_CPU;

	if (time < 1 || t->estimate > time || all / time >= INT32_MAX)
		return false;
	*ret = (struct libra_part){walltime, (int64_t)((all + time - 1) / time)};
	return true;
}
