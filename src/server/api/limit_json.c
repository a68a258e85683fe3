/*
 * limit_json.c - a limit that keeps a job waiting, as the API shows it.
 */
#include "server/api/limit_json.h"

#include <stddef.h>

#include "base/json.h"
#include "base/schema.h"
#include "rules/limit.h"
#include "server/base/words.h"
#include "server/server.h"

static const struct field limit_fields[] = {
	{"of", .is = REQUIRED | IS_TEXT, "whose limit it is",
	 .words = "server|users|array|queue|queue_users|user|group|account|qos"},
	{"name", .is = REQUIRED | IS_TEXT | IS_NULL,
	 "of the queue, user, group, account or QoS; null: the default, or none"},
	{"measure", .is = REQUIRED | IS_TEXT,
	 .words = "jobs|cpus|memory|cpu_seconds|cpu_credits|gpu_credits|memory_credits|node_credits"},
	{"most", .is = REQUIRED | IS_INT},
	{"used", .is = REQUIRED | IS_INT},
	{"asked", .is = REQUIRED | IS_INT, "by the job"},
	{"soft", .is = REQUIRED | IS_BOOL, "it starts when no other job can use what it needs"},
	{0},
};
const struct schema limit_schema = {.fields = limit_fields};

void limit_json(const struct server *s, const struct limit_reached *l, int64_t asked, struct json *j)
{
	static const char *const of[LIMIT_KINDS] = {
		[LIMIT_ALL] = "server",
		[LIMIT_USER] = "users",
		[LIMIT_ARRAY] = "array",
		[LIMIT_QUEUE] = "queue",
		[LIMIT_QUEUE_USER] = "queue_users",
		[LIMIT_OF_USER] = "user",
		[LIMIT_OF_GROUP] = "group",
		[LIMIT_OF_ACCOUNT] = "account",
		[LIMIT_OF_QOS] = "qos",
	};
	static const char *const measure[LIMIT_MEASURES] = {"jobs",	      "cpus",	     "memory",
							    "cpu_seconds",    "cpu_credits", "gpu_credits",
							    "memory_credits", "node_credits"};

	json_open_object(j, "limit");
	json_text(j, "of", of[l->kind]);
	json_text(j, "name", l->kind == LIMIT_ARRAY || l->of == 0 ? NULL : word(s, (uint32_t)l->of));
	json_text(j, "measure", measure[l->measure]);
	json_int(j, "most", l->most);
	json_int(j, "used", l->used);
	json_int(j, "asked", asked);
	json_bool(j, "soft", l->soft);
	json_close_object(j);
}
