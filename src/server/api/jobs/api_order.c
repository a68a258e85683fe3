/*
 * api_order.c - qorder: exchanges the places of two waiting jobs.
 */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/job.h"
#include "net/http.h"
#include "plan/plan.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/post.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/order.h"
#include "server/server.h"
#include "server/site/who.h"

struct exchange {
	const json_t *ids;
};
const struct schema order_body = {FIELDS({"ids", .is = REQUIRED | IS_LIST, "two waiting jobs of one queue",
					  .item = IS_TEXT, .least = 2, .most = 2, MEMBER(struct exchange, ids)})};

void api_order(struct server *s, const struct call *c)
{
	struct exchange x;
	uint32_t id[2] = {0};
	struct err err;

	call_read(c, &x);
	for (size_t i = 0; i < 2; i++) {
		const char *text = json_string_value(json_array_get(x.ids, i));
		struct array *a;
		if (!api_job(s, c->r, c->w, text, &id[i], &a))
			return;
		if (may_do(s, c->w, ACT_ORDER, entry_get(s, id[i])->spec, text, &err) < 0) {
			api_refuse(c->r, &err);
			return;
		}
		if (entry_job(s, id[i])->state > STATE_ALLOCATED) {
			http_error(c->r, CODE_BAD_STATE, "Job %.100s does not wait any more.", text);
			return;
		}
	}
	if (entry_get(s, id[0])->spec->queue != entry_get(s, id[1])->spec->queue) {
		http_error(c->r, CODE_BAD_STATE, "The two jobs are in different queues.");
		return;
	}

	double first = entry_job(s, id[0])->rank;

	rank_set(s, id[0], entry_job(s, id[1])->rank);
	rank_set(s, id[1], first);
	reply_empty(s, c->r, 200);
}
