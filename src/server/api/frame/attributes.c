/*
 * attributes.c - see attributes.h.
 */
#include "server/api/frame/attributes.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "rules/attr.h"
#include "rules/object.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "server/settings/setting.h"
#include "server/site/who.h"

int changes_admit(const struct server *s, enum attr_owner owner, const char *name, const json_t *body,
		  const struct asker *w, struct err *err)
{
	const char *least = owner == ATTR_QUEUE ? "enabled" : owner == ATTR_ACCOUNT ? "acl_users" : "attributes";
	const json_t *v;
	size_t i;
	int rc = 0;

	json_array_foreach(json_object_get(body, "changes"), i, v)
	{
		rc = may_set(s, w, owner, name, json_string_value(json_object_get(v, "name")), err);
		if (rc < 0)
			return rc;
	}
	return may_set(s, w, owner, name, least, err); /* checked even if nothing is changed */
}

int changes_apply(struct server *s, struct attrs *a, const json_t *body, struct err *err)
{
	const json_t *v;
	struct attrs copy;
	size_t i;
	int rc = 0;

	attrs_copy(&copy, a);
	json_array_foreach(json_object_get(body, "changes"), i, v)
	{
		const char *name = json_string_value(json_object_get(v, "name")),
			   *value = json_string_value(json_object_get(v, "value"));
		enum attr_op op;
		rc = attr_op_parse(json_string_value(json_object_get(v, "op")), &op, err);
		if (rc == 0 && op != ATTR_UNSET && !value)
			rc = err_set(err, -EINVAL, "changes[%zu] needs a value, a text", i);
		if (rc == 0 && op != ATTR_UNSET && a == s->attrs && strcasecmp(name, "default_queue") == 0 &&
		    !queue_named(s, value))
			rc = err_set(err, -EINVAL, "default_queue: unknown queue %.60s: create it first", value);
		if (rc == 0 && op != ATTR_UNSET && strcasecmp(name, "default_qos") == 0 &&
		    !object_find(s->objects, OBJECT_QOS, value))
			rc = err_set(err, -EINVAL, "default_qos: unknown qos %.60s: create it first", value);
		if (rc == 0)
			rc = setting_change(&copy, op, name, value ? value : "", err);
		if (rc < 0)
			break;
	}
	if (rc == 0 && a == s->attrs)
		rc = settings_agree(&copy, err);
	if (rc < 0) {
		attrs_fini(&copy);
		return rc;
	}
	attrs_fini(a);
	*a = copy;
	return 0;
}

bool name_is_good(const char *name)
{
	return strlen(name) <= 64 &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] == '\0';
}
