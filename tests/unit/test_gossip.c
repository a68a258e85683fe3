/*
 * test_gossip.c - reports reach all of 10,000 stations, also when some are gone, within a bounded
 * number of rounds and messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "station/gossip.h"

#define STATIONS 10000
#define RUMORS 8 /* rumors that are followed */

struct spread {
	int rounds;	/* until all know all, */
	int64_t sent;	/* messages about one rumor, sent by one station on average */
	int64_t missed; /* who does not know one after the last round */
};

static struct spread spread(double gone, uint64_t seed)
{
	struct gossip *all = mem_zalloc(STATIONS * sizeof *all);
	uint8_t *knows = mem_zalloc(STATIONS), *next = mem_zalloc(STATIONS), *dead = mem_zalloc(STATIONS);
	struct spread s = {0};
	struct rng rng;
	int64_t sent = 0;

	rng_seed(&rng, seed);
	for (int i = 0; i < STATIONS; i++) {
		rng_seed(&all[i].rng, rng_seed_of(seed, (uint64_t)i));
		dead[i] = i >= RUMORS && rng_unit(&rng) < gone;
	}
	for (uint32_t r = 0; r < RUMORS; r++) {
		knows[r] |= 1 << r;
		gossip_learn(&all[r], r);
	}
	for (bool busy = true; busy;) {
		busy = false;
		memcpy(next, knows, STATIONS);
		for (uint32_t i = 0; i < STATIONS; i++) {
			const uint32_t *about;
			size_t n = gossip_round(&all[i], &about);
			for (int k = 0; k < GOSSIP_PARTNERS && n && !dead[i]; k++) {
				uint32_t to = gossip_partner(&all[i], STATIONS, i);
				assert_int_not_equal(to, i);
				for (size_t j = 0; j < n; j++, sent++)
					next[to] |= 1 << about[j];
			}
		}
		for (uint32_t i = 0; i < STATIONS; i++)
			for (uint32_t r = 0; r < RUMORS; r++)
				if (next[i] & ~knows[i] & 1 << r) { /* heard in this round: passed on from the next */
					gossip_learn(&all[i], r);
					busy = true;
				}
		memcpy(knows, next, STATIONS);
		s.rounds++;
	}
	for (int i = 0; i < STATIONS; i++)
		for (int r = 0; r < RUMORS; r++)
			s.missed += !dead[i] && !(knows[i] & 1 << r);
	s.sent = sent / RUMORS / STATIONS;
	for (int i = 0; i < STATIONS; i++)
		gossip_fini(&all[i]);
	free(all);
	free(knows);
	free(next);
	free(dead);
	return s;
}

static void all_hear(void **state)
{
	struct spread s = spread(0, 1);

	print_message("# 10,000 stations: %d rounds, %lld messages by each, %lld of %d not reached\n", s.rounds,
		      (long long)s.sent, (long long)s.missed, STATIONS * RUMORS);
	assert_true(s.rounds <= 20);
	assert_true(s.sent <= GOSSIP_PARTNERS * GOSSIP_ROUNDS);
	assert_true(s.missed <= 10);
	s = spread(0.2, 2);
	print_message("# a fifth is gone: %d rounds, %lld of the others not reached\n", s.rounds, (long long)s.missed);
	assert_true(s.rounds <= 24);
	assert_true(s.missed <= STATIONS * RUMORS / 1000);
}

static void small(void **state)
{
	struct gossip g = {0};
	const uint32_t *about;

	rng_seed(&g.rng, 1);
	gossip_learn(&g, 5);
	gossip_learn(&g, 5);
	for (int i = 0; i < GOSSIP_ROUNDS; i++)
		assert_int_equal(gossip_round(&g, &about), 1);
	assert_int_equal(gossip_round(&g, &about), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(gossip_partner(&g, 2, 1), 0);
	assert_int_equal(gossip_round_ms(1000, 60), 1000);
	assert_int_equal(gossip_round_ms(1000, 10000), 10000);
	gossip_fini(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small),
		cmocka_unit_test(all_hear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
