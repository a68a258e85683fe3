/*
 * history_overlays.c - overlays are added, paused and removed, and their keeper says what becomes
 * of its requests. No node ever comes. Drawn from h->overlays.
 */
#include <unistd.h>

#include "base/mem.h"
#include "property/history.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "server/settings/overlays.h"

#define NAME "cloud"

static uint64_t some(struct history *h, uint64_t n)
{
	return rng_below(&h->overlays, n);
}

static void pause_set(struct history *h, bool paused)
{
	ask(h, getuid(), "PATCH", "/v1/overlays/" NAME, "{\"paused\":%s%s}", paused ? "true" : "false",
	    paused && some(h, 2) ? ",\"why\":\"nothing came\"" : "");
}

/* Not by a request, which would need a port. */
static void add(struct history *h)
{
	struct overlay given = {.place = mem_strdup("slurm"),
				.words = mem_strdup("-p long"),
				.tag = mem_strdup("slurm:shunt-bag-0123456789ab"),
				.nodes = 1 + (int64_t)some(h, 4),
				.seconds = 300,
				.cpus = 1, /* what fits it also fits NODES (history.c) */
				.idle = 60};

	overlay_store(h->s, overlay_add(h->s, NAME, &given));
	world_changed(h->s);
	pause_set(h, some(h, 4) == 0);
}

void op_overlays(struct history *h)
{
	const struct overlay *o = overlay_find(h->s, NAME);

	if (!o) {
		add(h);
		return;
	}
	switch (some(h, 8)) {
	case 0:
		ask(h, getuid(), "DELETE", "/v1/overlays/" NAME, "{}");
		break;
	case 1:
		ask(h, getuid(), "POST", "/v1/keeper/" NAME, "{\"gone\":true}");
		break;
	case 2:
		pause_set(h, some(h, 4) == 0);
		break;
	case 3:
	case 4:
		ask(h, getuid(), "POST", "/v1/keeper/" NAME, "{\"request\":%lld,\"nodes\":%d}", (long long)o->last + 1,
		    1 + (int)some(h, 2));
		break;
	case 5:
		ask(h, getuid(), "POST", "/v1/keeper/" NAME, "{\"request\":%lld,\"over\":true}",
		    (long long)o->last + 1 - (long long)some(h, (uint64_t)o->last + 1));
		break;
	default:
		ask(h, getuid(), "POST", "/v1/keeper", "{}");
		break;
	}
}
