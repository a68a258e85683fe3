/*
 * turn.c - see turn.h.
 */
#include "server/base/turn.h"

#include "server/base/clock.h"
#include "server/server.h"

/* Something came in by another way than a request, perhaps after a long sleep; the turn follows in any case, since it follows every poll. */
void turn_wake(struct server *s)
{
	clock_read(s);
	s->turn->dirty = true;
}
