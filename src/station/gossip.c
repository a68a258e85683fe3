/*
 * gossip.c - see gossip.h.
 */
#include "station/gossip.h"

void gossip_fini(struct gossip *g)
{
	vec_free(&g->rumors);
	vec_free(&g->sends);
}

void gossip_learn(struct gossip *g, uint32_t about)
{
	for (size_t i = 0; i < g->rumors.n; i++)
		if (g->rumors.v[i].about == about) {
			g->rumors.v[i].left = GOSSIP_ROUNDS;
			return;
		}
	vec_push(&g->rumors, (struct gossip_rumor){about, GOSSIP_ROUNDS});
}

size_t gossip_round(struct gossip *g, const uint32_t **ret)
{
	size_t kept = 0;

	g->sends.n = 0;
	for (size_t i = 0; i < g->rumors.n; i++) {
		struct gossip_rumor r = g->rumors.v[i];
		vec_push(&g->sends, r.about);
		if (--r.left)
			g->rumors.v[kept++] = r;
	}
	g->rumors.n = kept;
	*ret = g->sends.v;
	return g->sends.n;
}

uint32_t gossip_partner(struct gossip *g, uint32_t n, uint32_t self)
{
	uint32_t i = (uint32_t)rng_below(&g->rng, n - 1);

	return i + (i >= self);
}

int64_t gossip_round_ms(int64_t interval, size_t stations)
{
	return stations <= 1000 ? interval : interval * (int64_t)stations / 1000;
}
