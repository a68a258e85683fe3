/*
 * gossip.h - how reports reach all stations of a pool that is too large for each to talk to each. Pure: randomness is seeded.
 *
 * Every round a station sends what it has learned lately, its own report included, to a few others at random, and goes on with each report for some rounds. After about log(N) rounds
 * all have heard it: the share that has not is e^-(partners x rounds), 6 in a million. Only the newest report of a station travels on.
 *
 * A station makes a new report when its load has left the band, and else every GOSSIP_BEAT rounds, to show that it lives. A round lasts one interval up to 1,000 stations, and N/1,000
 * intervals beyond, so that what a station sends in a second does not grow with the pool.
 */
#ifndef STATION_GOSSIP_H
#define STATION_GOSSIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/vec.h"

#define GOSSIP_FROM 50	  /* stations: more don't talk to all */
#define GOSSIP_PARTNERS 3 /* in a round */
#define GOSSIP_ROUNDS 4	  /* in which a station passes on one report */
#define GOSSIP_BEAT 10	  /* rounds between two reports of a station whose load does not change */

struct gossip_rumor {
	uint32_t about; /* a number for the station, the caller's */
	uint8_t left;	/* rounds */
};

struct gossip {
	struct rng rng;
	VEC(struct gossip_rumor) rumors;
	VEC(uint32_t) sends; /* of this round */
};

void gossip_fini(struct gossip *g);
/* There is a newer report about that station: it is passed on from the next round. */
void gossip_learn(struct gossip *g, uint32_t about);
/* Begins a round: what is to be sent, the same to each partner, until the next call. */
size_t gossip_round(struct gossip *g, const uint32_t **ret);
/* A partner among n, other than `self`; n > 1. */
uint32_t gossip_partner(struct gossip *g, uint32_t n, uint32_t self);
int64_t gossip_round_ms(int64_t interval, size_t stations);

#endif
