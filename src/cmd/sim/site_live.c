/*
 * site_live.c - see site_live.h.
 */
#include "cmd/sim/site_live.h"

#include <string.h>

#include "cmd/lib/show.h"

/* Prefixes of attributes that control access, prices or rights. */
static const char *const left_out[] = {"acl_",	      "coordinators", "credit_",  "default_",	 "enabled",
				       "from_route",  "hook",	      "managers", "max_queu",	 "max_user_queu",
				       "operators",   "queue_type",   "quota",	  "reservation", "resources_default",
				       "resources_m", "route_",	      "started",  NULL};

static bool is_left_out(const char *name)
{
	bool out = false;

	for (int i = 0; left_out[i] && !out; i++)
		out = strncmp(name, left_out[i], strlen(left_out[i])) == 0;
	/* Jobs of another system, or of a queue that no longer exists, go to the default queue. */
	return out && strcmp(name, "reservation_depth") != 0 && strcmp(name, "default_queue") != 0;
}

/* Sets an attribute. One that this program does not know because it is older than the server is
 * left out. */
static void attribute_take(struct attrs *a, enum attr_op op, const char *name, const json_t *value)
{
	const char *text = json_is_string(value) ? value_text(value) : json_is_true(value) ? "True" : "False";
	struct err err;
	char number[32];

	if (json_is_number(value)) {
		snprintf(number, sizeof number, "%lld", (long long)json_number_value(value));
		text = number;
	}
	attrs_change(a, op, name, text, &err);
}

static void attributes_take(struct attrs *a, const json_t *object)
{
	const char *name;
	const json_t *value, *one;
	size_t i;

	json_object_foreach((json_t *)object, name, value)
	{
		if (is_left_out(name) || json_is_null(value) || json_is_object(value))
			continue;
		if (json_is_array(value))
			json_array_foreach(value, i, one) attribute_take(a, i ? ATTR_ADD : ATTR_SET, name, one);
		else
			attribute_take(a, ATTR_SET, name, value);
	}
}

static int queues_take(const struct command *c, struct client *client, struct ruleset *ret)
{
	struct reply reply;
	const json_t *queue;
	int code = EXIT_OK;
	struct err err;
	size_t i;

	if (!show_get(c, client, "/v1/queues", &reply, &code))
		return code;
	json_array_foreach(json_object_get(reply.json, "queues"), i, queue)
	{
		int at = ruleset_add(ret, object_text(queue, "name"));
		if (at < 0)
			continue;
		attributes_take(&ret->queues.v[at].attrs, json_object_get(queue, "attributes"));
		attrs_change(&ret->queues.v[at].attrs, ATTR_SET, "enabled", "True", &err);
		attrs_change(&ret->queues.v[at].attrs, ATTR_SET, "started", "True", &err);
	}
	reply_fini(&reply);
	return code;
}

static int objects_take(const struct command *c, struct client *client, enum object_kind kind, struct ruleset *ret)
{
	const char *plural = object_table[kind].plural;
	struct reply reply;
	const json_t *x;
	int code = EXIT_OK;
	char path[32];
	size_t i;

	snprintf(path, sizeof path, "/v1/%s", plural);
	if (!show_get(c, client, path, &reply, &code))
		return code;
	json_array_foreach(json_object_get(reply.json, plural), i, x) attributes_take(
		&object_make(&ret->objects, kind, object_text(x, "name"))->attrs, json_object_get(x, "attributes"));
	reply_fini(&reply);
	return code;
}

int site_live(const struct command *c, struct client *client, struct ruleset *ret)
{
	static const enum object_kind kinds[] = {OBJECT_USER, OBJECT_GROUP, OBJECT_ACCOUNT, OBJECT_QOS};
	struct reply reply;
	int code = EXIT_OK;
	struct err err;

	if (!show_get(c, client, "/v1/server", &reply, &code))
		return code;
	attributes_take(&ret->attrs, json_object_get(reply.json, "attributes"));
	attrs_change(&ret->attrs, ATTR_SET, "policy", object_text(reply.json, "policy"), &err);
	reply_fini(&reply);
	code = queues_take(c, client, ret);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && code == EXIT_OK; i++)
		code = objects_take(c, client, kinds[i], ret);
	return code;
}
