/*
 * limit_json.c - shows a limit that keeps a job waiting.
 */
#include "server/api/frame/limit_json.h"

#include <stddef.h>

#include "base/codec.h"
#include "rules/limit.h"
#include "server/base/words.h"
#include "server/server.h"

struct limit_shown {
	struct limit_reached l;
	const char *name;
	int64_t asked;
};

const struct schema limit_schema = {FIELDS(
	{"of", .is = REQUIRED | IS_TEXT, "whose limit it is",
	 .words = "server|users|array|queue|queue_users|user|group|account|qos",
	 MEMBER_AS(FORM_CHOICE, struct limit_shown, l.kind)},
	{"name", .is = REQUIRED | IS_TEXT | IS_NULL,
	 "of the queue, user, group, account or QoS; null: the default, or none", MEMBER(struct limit_shown, name)},
	{"measure", .is = REQUIRED | IS_TEXT,
	 .words = "jobs|cpus|memory|cpu_seconds|cpu_credits|gpu_credits|memory_credits|node_credits",
	 MEMBER_AS(FORM_CHOICE, struct limit_shown, l.measure)},
	{"most", .is = REQUIRED | IS_INT, MEMBER(struct limit_shown, l.most)},
	{"used", .is = REQUIRED | IS_INT, MEMBER(struct limit_shown, l.used)},
	{"asked", .is = REQUIRED | IS_INT, "by the job", MEMBER(struct limit_shown, asked)},
	{"soft", .is = REQUIRED | IS_BOOL, "it starts when no other job can use what it needs",
	 MEMBER(struct limit_shown, l.soft)})};

void limit_json(const struct server *s, const struct limit_reached *l, int64_t asked, struct json *j)
{
	bool named = l->kind != LIMIT_ARRAY && l->of;

	record_show(
		limit_schema.fields, 0,
		&(struct limit_shown){.l = *l, .name = named ? word_text(s, (uint32_t)l->of) : NULL, .asked = asked},
		NULL, j);
}
