/*
 * offline_quota.c - quota while no server runs: the server's last view, minus the user's
 * submissions since, plus deleted jobs.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/members.h"
#include "base/timetext.h"
#include "client/client.h"
#include "client/offline.h"
#include "core/array.h"
#include "rules/quota.h"

/* ---- a job's charge ---- */

static int64_t walltime_of(const json_t *row)
{
	const json_t *known = json_object_get(row, "walltime");
	const char *at = member_find_text(row, "resources");
	int64_t seconds = 0;
	char text[64];

	if (json_is_integer(known))
		return json_integer_value(known);
	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, "walltime=", 9) == 0) {
			snprintf(text, sizeof text, "%.*s", (int)strcspn(at + 9, ","), at + 9);
			if (duration_parse(text, &seconds, NULL) < 0)
				seconds = 0;
		}
	return seconds;
}

static int64_t count_of(const json_t *row)
{
	struct array_spec spec = {0};
	int64_t count = 1;

	if (member_find_text(row, "array_spec") && array_parse(member_find_text(row, "array_spec"), &spec, NULL) == 0)
		count = spec.count;
	array_fini(&spec);
	return count;
}

static enum quota_type type_of(const json_t *row)
{
	const char *type = member_find_text(row, "type");

	/* a deadline makes it a priority job */
	if (!type && json_is_integer(json_object_get(row, "deadline")))
		type = "Q";
	return type && (*type == 'Q' || *type == 'E') ? QUOTA_PRIORITY : QUOTA_NORMAL;
}

static bool waits_for(const json_t *row, const char *user)
{
	const char *state = member_find_text(row, "state"), *owner = member_find_text(row, "owner");

	return state && strchr("QHW", *state) && owner && strcmp(owner, user) == 0;
}

/* Charges a job as the server will: a priority job without enough quota left counts as normal. */
static void take(struct quota *q, const json_t *row)
{
	int64_t seconds = walltime_of(row) * count_of(row);
	enum quota_type type = type_of(row);

	if (type == QUOTA_PRIORITY && q->left[type] < seconds)
		type = QUOTA_NORMAL;
	if (q->left[type] > 0)
		q->left[type] = q->left[type] > seconds ? q->left[type] - seconds : 0;
}

/* ---- the answer ---- */

static void times_read(const json_t *o, int64_t ret[QUOTA_TYPES])
{
	for (int type = 0; type < QUOTA_TYPES; type++)
		ret[type] = json_integer_value(json_object_get(o, quota_type_name(type)));
}

static json_t *now_of(const json_t *written, const json_t *before, const json_t *jobs)
{
	const char *user = member_find_text(written, "user"), *key;
	struct quota q = {.end = (int32_t)json_integer_value(json_object_get(written, "end")),
			  .month = (int32_t)json_integer_value(json_object_get(written, "month"))};
	json_t *result = json_deep_copy(written), *left = json_object(), *row;
	struct quota_moves moves;

	times_read(json_object_get(written, "limit"), q.limit);
	times_read(json_object_get(written, "left"), q.left);
	quota_turn(&q, month_of((int64_t)time(NULL)), &moves);
	json_object_foreach((json_t *)before, key, row) if (waits_for(row, user) && !json_object_get(jobs, key))
		q.left[type_of(row)] += walltime_of(row) * count_of(row);
	json_object_foreach((json_t *)jobs, key, row) if (waits_for(row, user) && !json_object_get(before, key))
		take(&q, row);
	for (int type = 0; type < QUOTA_TYPES; type++)
		json_object_set_new(left, quota_type_name(type), json_integer(q.left[type]));
	json_object_set_new(result, "left", left);
	json_object_set_new(result, "month", json_integer(q.month));
	return result;
}

/* Returns the user that a query asks for as a new string; NULL: all users. */
static char *user_asked(const char *query)
{
	const struct passwd *me = getpwuid(getuid());
	const char *at = strstr(query, "user=");

	if (strstr(query, "all=1"))
		return NULL;
	return at ? url_unquote(at + 5, strcspn(at + 5, "&")) : strdup(me ? me->pw_name : "?");
}

int offline_quota(const char *dir, const struct offer *l, const json_t *jobs, const char *query, json_t **ret,
		  struct err *err)
{
	json_t *written = offline_quotas(dir, l), *before = json_object(), *list = json_array(), *one;
	char *user = user_asked(query);
	size_t i;
	int rc = 0;

	offline_written(dir, l, before, &(int64_t){0}, NULL);
	json_array_foreach(json_object_get(written, "quota"), i, one)
	{
		const char *whose = member_find_text(one, "user");
		if (whose && (!user || strcmp(whose, user) == 0))
			json_array_append_new(list, now_of(one, before, jobs));
	}
	if (!written || (user && json_is_true(json_object_get(written, "counted")) && !json_array_size(list)))
		rc = err_set(err, -EOPNOTSUPP, "no server is running, and it saved no copy of these quotas");
	else
		*ret = json_pack("{s:O, s:O}", "counted", json_object_get(written, "counted"), "quota", list);
	json_decref(list);
	json_decref(before);
	json_decref(written);
	free(user);
	return rc;
}
