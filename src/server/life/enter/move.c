/*
 * move.c - see move.h.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/job.h"
#include "rules/weigh.h"
#include "server/base/asker.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/move.h"
#include "server/life/enter/submit.h"
#include "server/life/wait/order.h"
#include "server/server.h"
#include "store/store.h"

int job_move(struct server *s, uint32_t id, const char *queue, enum mover by, const char *who, struct arena *a,
	     struct err *err)
{
	const struct spec *old = entry_get(s, id)->spec;
	struct asker owner = owner_of(s, old);
	struct submission x = {.spec = spec_copy(old),
			       .element = job_key_index(entry_get(s, id)->key) >= 0,
			       .away = entry_get(s, id)->away};
	int rc;

	x.spec->holds = entry_get(s, id)->holds;
	rc = move_check(s, &owner, &x, queue, by, a, err);
	if (rc == 0) {
		const struct queue *from = queue_of(s, old->queue), *to = queue_of(s, x.spec->queue);
		double rank = weigh_moved(from ? &from->attrs : NULL, to ? &to->attrs : NULL, entry_job(s, id)->rank);
		entry_alter(s, id,
			    &(struct payload){.spec = x.spec,
					      .text = arena_printf(a, "moved to queue %s", word_text(s, x.spec->queue)),
					      .who = who});
		rank_set(s, id, rank);
	}
	spec_unref(x.spec);
	return rc;
}

void job_route(struct server *s, uint32_t id)
{
	uint64_t key = entry_get(s, id)->key;
	uint32_t from = entry_get(s, id)->spec->queue;
	struct array *whole = job_key_index(key) >= 0 ? array_find(s, job_key_number(key)) : NULL;
	struct arena *a = arena_create();
	struct err err;

	if (job_move(s, id, word_text(s, from), MOVER_OWNER, NULL, a, &err) == 0 && whole && whole->spec &&
	    whole->spec->queue == from) /* so does the array's displayed queue */
		array_alter(s, whole, entry_get(s, id)->spec, key);
	arena_destroy(a);
}
