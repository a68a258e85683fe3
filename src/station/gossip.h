/*
 * gossip.h - spreads reports in a pool that is too large for every station to talk to every other.
 * Pure: randomness is seeded.
 *
 * Every round a station sends what it has learned lately, including its own report, to a few others
 * chosen at random, and it repeats each report for some rounds. After about log(N) rounds all
 * stations have heard it: the share that has not is e^-(partners x rounds), 6 in a million. Only
 * the newest report of a station is passed on.
 *
 * A station makes a new report when its load has left the band, and otherwise every GOSSIP_BEAT
 * rounds as a sign of life. A round lasts one interval up to 1,000 stations, and N/1,000 intervals
 * beyond, so that the bytes a station sends per second do not grow with the pool.
 */
#ifndef STATION_GOSSIP_H
#define STATION_GOSSIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/vec.h"

#define GOSSIP_FROM 50	  /* largest pool, in stations, in which each talks to all others */
#define GOSSIP_PARTNERS 3 /* per round */
#define GOSSIP_ROUNDS 4	  /* rounds in which a station passes on one report */
#define GOSSIP_BEAT 10	  /* rounds between two reports of a station whose load is steady */

struct gossip_rumor {
	uint32_t about; /* the caller's number for the station */
	uint8_t left;	/* rounds left */
};

struct gossip {
	struct rng rng;
	VEC(struct gossip_rumor) rumors;
	VEC(uint32_t) sends; /* stations whose reports are sent in this round */
};

void gossip_fini(struct gossip *g);
/* Notes a newer report about a station; it is passed on from the next round. */
void gossip_learn(struct gossip *g, uint32_t about);
/* Begins a round: returns the stations whose reports go to each partner, valid until the next
 * call. */
size_t gossip_round(struct gossip *g, const uint32_t **ret);
/* Picks a random partner among n > 1 stations, other than `self`. */
uint32_t gossip_partner(struct gossip *g, uint32_t n, uint32_t self);
int64_t gossip_round_ms(int64_t interval, size_t stations);

#endif
