/*
 * reserved.c - see reserved.h.
 */
#include "server/job/reserved.h"

#include <stdio.h>

#include "server/base/words.h"
#include "server/job/spec.h"
#include "server/server.h"

struct reservation_party reserved_party(const struct server *s, const struct spec *p, uint64_t job, char number[24])
{
	snprintf(number, 24, "%llu", (unsigned long long)job);
	return (struct reservation_party){.user = word_text(s, p->owner),
					  .host = word_text(s, p->host),
					  .group = word_text(s, p->group),
					  .account = word_text(s, p->account),
					  .queue = word_text(s, p->queue),
					  .qos = word_text(s, p->qos),
					  .job = number};
}

uint32_t reserved_keys(const struct server *s, const struct spec *p, uint64_t job)
{
	struct reservation_party party;
	char number[24];

	if (s->objects->of[OBJECT_RESERVATION].n == 0)
		return KEYS_NONE;
	party = reserved_party(s, p, job, number);
	return reservations_keys(s->objects, s->cluster, &party);
}

uint32_t reserved_bound(const struct server *s, const struct spec *p, uint64_t job)
{
	struct reservation_party party;
	const struct object *x;
	char number[24];

	if (!p->reservation)
		return 0;
	x = object_find(s->objects, OBJECT_RESERVATION, word_text(s, p->reservation));
	party = reserved_party(s, p, job, number);
	if (x && !reservation_admits(x, &party))
		return BOUND_NOWHERE;
	if (x && !reservation_binds(x))
		return 0;
	return reservation_id(s->cluster, word_text(s, p->reservation));
}
