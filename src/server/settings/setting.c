/* setting.c - sets attributes from requests, and from JSON as in the store. */
#include "server/settings/setting.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "rules/amounts.h"
#include "rules/priority.h"
#include "sched/policy.h"

#define SHOWN 60 /* characters of a value shown in its message */

/* Checks a policy and returns its own spelling. */
static int policy_check(const char *text, const char **ret, struct err *err)
{
	const struct policy *p = policy_find(text);

	if (!p)
		return err_set(err, -EINVAL, "policy: unknown policy \"%.*s\"; \"shunt policies\" lists them", SHOWN,
			       text);
	if (p->know == KNOW_RUNTIME)
		return err_set(err, -EINVAL, "policy: %s knows run times beforehand, which only the simulator can",
			       p->name);
	*ret = p->name;
	return 0;
}

/* Checks that each item of a list is one of the attribute's words. */
static int words_check(const struct attr *attr, const char *text, struct err *err)
{
	for (const char *p = text; *p; p += strspn(p, ", +")) {
		size_t n = strcspn(p, ", +");
		const char *w = attr->words;
		while (*w && (strcspn(w, " ") != n || strncmp(w, p, n) != 0)) {
			w += strcspn(w, " ");
			w += *w == ' ';
		}
		if (n && !*w)
			return err_set(err, -EINVAL, "%s: \"%.*s\" is unknown; use one of: %s", attr->name,
				       n > SHOWN ? SHOWN : (int)n, p, attr->words);
		p += n;
	}
	return 0;
}

int setting_change(struct attrs *a, enum attr_op op, const char *name, const char *value, struct err *err)
{
	const struct attr *attr = attr_find(a->owner, name);

	if (attr && attr->type == ATTR_POLICY && op == ATTR_SET && policy_check(value, &value, err) < 0)
		return -EINVAL;
	if (attr && attr->type == ATTR_LIST && attr->words && op != ATTR_UNSET && words_check(attr, value, err) < 0)
		return -EINVAL;
	return attrs_change(a, op, name, value, err);
}

int settings_agree(const struct attrs *server, struct err *err)
{
	const struct policy *p = policy_find(attrs_text(server, SET_POLICY));
	struct priority_settings priority;
	int rc = priority_settings_of(&priority, server, err);

	if (rc == 0 && p)
		rc = policy_prioritize(p, &priority, err);
	if (rc == 0 && p) {
		struct policy altered = *p;
		rc = policy_alter(&altered, server, err);
	}
	return rc < 0 ? rc : amounts_check(server, err);
}

int attrs_read(struct attrs *a, const json_t *object, struct err *err)
{
	const char *name;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)object, name, value)
	{
		struct strbuf text = {0};
		struct err why = {.text = ""};
		if (json_is_boolean(value))
			strbuf_puts(&text, json_is_true(value) ? "True" : "False");
		else if (json_is_integer(value))
			strbuf_printf(&text, "%lld", (long long)json_integer_value(value));
		else if (json_is_string(value))
			strbuf_puts(&text, json_string_value(value));
		int one = text.text ? setting_change(a, ATTR_SET, name, text.text, &why)
				    : err_set(&why, -EINVAL, "%.60s: must be a text, a number or a bool", name);
		if (one < 0 && rc == 0)
			rc = err_set(err, -EINVAL, "%s", why.text);
		strbuf_fini(&text);
	}
	return rc;
}
