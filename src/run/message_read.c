/*
 * message_read.c - requests and answers out of JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "run/message.h"
#include "run/order_internal.h"

static char *text_get(const json_t *root, const char *key, struct arena *a)
{
	char *text = NULL;

	return text_read(json_object_get(root, key), a, &text) ? NULL : text;
}

static int64_t number_get(const json_t *root, const char *key)
{
	return json_integer_value(json_object_get(root, key));
}

const char *order_tag(const char *text, size_t n, struct arena *a)
{
	json_t *root = json_loadb(text, n, 0, NULL);
	const char *tag = text_get(root, "tag", a);

	json_decref(root);
	return tag ? tag : "";
}

static bool is_id(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < UINT32_MAX;
}

int request_read(char kind, const char *text, size_t n, struct arena *a, struct request *ret)
{
	json_t *root = json_loadb(text, n, 0, NULL);
	bool good = false, by_name = !json_object_get(root, "uid");

	*ret = (struct request){.tag = text_get(root, "tag", a),
				.user = text_get(root, "user", a),
				.path = text_get(root, "path", a),
				.signal = (int)number_get(root, "signal"),
				.id = (uint64_t)number_get(root, "id"),
				.uid = by_name ? (uid_t)-1 : (uid_t)number_get(root, "uid"),
				.gid = (gid_t)number_get(root, "gid"),
				.flags = (int)number_get(root, "flags"),
				.mode = (int)number_get(root, "mode")};
	if (kind == FRAME_SIGNAL || kind == FRAME_CLEAN || kind == FRAME_ERASE)
		good = ret->tag && ret->tag[0] && ret->tag[0] != '.' && !strchr(ret->tag, '/');
	if (kind == FRAME_OPEN || kind == FRAME_LOOK)
		good = true;
	if (kind == FRAME_OPEN || kind == FRAME_LOOK || kind == FRAME_ERASE)
		good = good && ret->user && ret->path &&
		       (by_name || (is_id(json_object_get(root, "uid")) && is_id(json_object_get(root, "gid"))));
	json_decref(root);
	return good ? 0 : -EINVAL;
}

int answer_read(const char *text, size_t n, struct arena *a, struct answer *ret, struct err *err)
{
	json_t *root = json_loadb(text, n, 0, NULL);
	const json_t *type = json_object_get(root, "type");
	int64_t t = json_integer_value(type);
	int r = 0;

	if (!json_is_integer(type) || t < ANSWER_STARTED || t > ANSWER_ERASED)
		r = err_set(err, -EPROTO, "an answer of the nursery can't be understood: %.*s", n > 100 ? 100 : (int)n,
			    text);
	else
		*ret = (struct answer){.type = (enum answer_type)t,
				       .tag = text_get(root, "tag", a),
				       .reason = text_get(root, "reason", a),
				       .pid = (pid_t)number_get(root, "pid"),
				       .id = (uint64_t)number_get(root, "id"),
				       .unclear = json_is_true(json_object_get(root, "unclear")),
				       .fs = number_get(root, "fs"),
				       .directory = json_is_true(json_object_get(root, "directory")),
				       .home = text_get(root, "home", a)};
	json_decref(root);
	return r;
}
