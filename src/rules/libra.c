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

int64_t libra_share(const struct libra_run *r, int64_t now)
{
	__int128 time = r->deadline - now, share;

	if (r->left <= 0)
		return 0;
	if (time < r->left)
		return INT64_MAX;
	share = ((__int128)r->cpus * r->left * LIBRA_CPU + time - 1) / time;
	return (int64_t)share;
}

int64_t libra_load(const struct libra_node *node, int64_t now)
{
	int64_t sum = 0;

	for (size_t i = 0; i < node->n; i++) {
		int64_t share = libra_share(&node->run[i], now);
		int64_t most = node->run[i].cpus * LIBRA_CPU; /* one that is late has all of its CPUs, and no more */
		sum += share < most ? share : most;
	}
	return sum;
}

int64_t libra_place(const struct libra_node *node, size_t n, const struct libra_run *r, int64_t now)
{
	int64_t share = libra_share(r, now), least = INT64_MAX, found = -1;

	for (size_t i = 0; i < n && share != INT64_MAX; i++) {
		int64_t load = libra_load(&node[i], now);
		if (r->cpus > node[i].cpus || load + share > node[i].cpus * LIBRA_CPU)
			continue;
		if (load < least) {
			least = load;
			found = (int64_t)i;
		}
	}
	return found;
}

int64_t libra_left(const struct libra_run *r, int64_t share, int64_t elapsed)
{
	__int128 all = r->cpus * LIBRA_CPU, done = ((__int128)share * elapsed + all - 1) / all;

	return done < r->left ? r->left - (int64_t)done : 0;
}
