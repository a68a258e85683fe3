/*
 * qmgr_show.c - `list` and `print`. qmgr can read what print writes: everything that is set, queues
 * before what refers to them.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cmd/lib/object.h"
#include "cmd/lib/query.h"
#include "cmd/pbs/qmgr.h"

/* Returns true if the command asks for this attribute; "resources_max" means all of it. */
static bool wanted(const struct qmgr_command *m, const char *name)
{
	for (int i = 0; i < m->nchanges; i++) {
		size_t n = strlen(m->change[i].name);
		if (strncasecmp(m->change[i].name, name, n) == 0 && (name[n] == '\0' || name[n] == '.'))
			return true;
	}
	return m->nchanges == 0;
}

/* Returns a value as text: the API has texts, and may have plain numbers and booleans. */
static const char *attribute_text(const json_t *value, char *buf, size_t size)
{
	if (json_is_string(value))
		return value_text(value);
	if (json_is_boolean(value))
		return json_is_true(value) ? "True" : "False";
	if (json_is_real(value))
		snprintf(buf, size, "%g", json_real_value(value));
	else
		snprintf(buf, size, "%lld", (long long)json_integer_value(value));
	return json_is_number(value) ? buf : "";
}

/* Prints "set queue short " or "\t", then "name = value"; a list as = and +=. */
static void attribute_print(const struct qmgr_command *m, const char *before, const char *name, const json_t *value)
{
	struct strbuf quoted = {0};
	const char *op = "=";
	char buf[32];
	size_t n = json_is_array(value) ? json_array_size(value) : 1;

	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
		const char *text = attribute_text(one, buf, sizeof buf);
		strbuf_clear(&quoted);
		if (m->verb == QMGR_PRINT)
			qmgr_quote(text, &quoted);
		else
			strbuf_puts(&quoted, text);
		printf("%s%s %s %s\n", before, name, op, strbuf_text(&quoted));
		op = "+=";
	}
	strbuf_fini(&quoted);
}

static void attributes_print(const struct qmgr_command *m, const char *before, json_t *attributes)
{
	const char *name;
	json_t *value;

	json_object_foreach(attributes, name,
			    value) if (wanted(m, name) && !json_is_null(value) && !json_is_object(value))
		attribute_print(m, before, name, value);
}

static void counts_print(const json_t *object)
{
	static const struct {
		const char *letter, *word;
	} row[] = {{"Q", "Queued"},  {"H", "Held"},    {"W", "Waiting"},
		   {"R", "Running"}, {"E", "Exiting"}, {"C", "Complete"}};
	const json_t *counts = json_object_get(object, "counts");

	printf("\tstate_count =");
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		printf(" %s:%lld", row[i].word, (long long)object_number(counts, row[i].letter, 0));
	printf("\n");
}

static void queue_print(const struct qmgr_command *m, const json_t *queue)
{
	const char *name = object_text(queue, "name");
	json_t *attributes = json_object_get(queue, "attributes");
	struct strbuf before = {0};

	if (m->verb == QMGR_LIST) {
		printf("Queue %s\n", name);
		if (m->nchanges == 0)
			counts_print(queue);
		attributes_print(m, "\t", attributes);
		printf("\n");
		return;
	}
	printf("#\n# Create and define queue %s\n#\ncreate queue %s\n", name, name);
	strbuf_printf(&before, "set queue %s ", name);
	/* The type comes first: other attributes are checked against it. */
	if (wanted(m, "queue_type") && json_object_get(attributes, "queue_type"))
		attribute_print(m, before.text, "queue_type", json_object_get(attributes, "queue_type"));
	json_t *others = json_copy(attributes);
	json_object_del(others, "queue_type");
	attributes_print(m, before.text, others);
	json_decref(others);
	strbuf_fini(&before);
}

/* Prints an object of any kind. */
static void object_print(const struct qmgr_command *m, enum qmgr_object kind, const json_t *object)
{
	const char *what = qmgr_object_name(kind), *name = object_text(object, "name");
	struct strbuf before = {0};

	if (m->verb == QMGR_LIST) {
		printf("%c%s %s\n", toupper((unsigned char)*what), what + 1, name);
		if (m->nchanges == 0 && kind == QMGR_KIND + OBJECT_PARTITION)
			printf("\tstate = %s\n\tncpus = %lld\n", object_text(object, "state"),
			       (long long)object_number(object, "cpus", 0));
		strbuf_puts(&before, "\t");
	} else {
		printf("#\n# Create and define %s %s\n#\ncreate %s %s\n", what, name, what, name);
		strbuf_printf(&before, "set %s %s ", what, name);
	}
	attributes_print(m, before.text, json_object_get(object, "attributes"));
	if (m->verb == QMGR_LIST)
		printf("\n");
	strbuf_fini(&before);
}

static const json_t *list_of(const struct reply *r, const char *key)
{
	return json_is_array(r->json) ? r->json : json_object_get(r->json, key);
}

static void node_print(const struct qmgr_command *m, const json_t *node)
{
	const char *name = object_text(node, "name"), *note = object_text(node, "note");
	struct strbuf before = {0};

	if (m->verb == QMGR_PRINT) {
		strbuf_printf(&before, "set node %s ", name);
		printf("#\n# Node %s, of %lld CPU%s\n#\n", name, (long long)object_number(node, "cpus", 0),
		       object_number(node, "cpus", 0) == 1 ? "" : "s");
		if (strncmp(object_text(node, "state"), "offline", 7) == 0 ||
		    strncmp(object_text(node, "state"), "draining", 8) == 0)
			printf("%sstate = offline\n", before.text);
	} else {
		strbuf_puts(&before, "\t");
		printf("Node %s\n", name);
		attribute_print(m, before.text, "state", json_object_get(node, "state"));
		attribute_print(m, before.text, "np", json_object_get(node, "cpus"));
	}
	if (m->verb == QMGR_LIST || json_number_value(json_object_get(node, "speed")) != 1)
		attribute_print(m, before.text, "speed", json_object_get(node, "speed"));
	if (m->verb == QMGR_LIST || json_is_true(json_object_get(node, "shared")))
		attribute_print(m, before.text, "shared", json_object_get(node, "shared"));
	if (note[0])
		attribute_print(m, before.text, "note", json_object_get(node, "note"));
	if (m->verb == QMGR_LIST)
		printf("\n");
	strbuf_fini(&before);
}

static void one_print(const struct qmgr_command *m, enum qmgr_object kind, const json_t *object)
{
	if (kind == QMGR_QUEUE)
		queue_print(m, object);
	else if (kind == QMGR_NODE)
		node_print(m, object);
	else
		object_print(m, kind, object);
}

/* Returns how many accounts are above an object. */
static int depth_of(const json_t *list, const json_t *object)
{
	int depth = 0;
	const char *parent;

	while (depth <= ACCOUNT_DEPTH_MAX && *(parent = object_text(json_object_get(object, "attributes"), "parent"))) {
		const json_t *other;
		size_t i;
		depth++;
		json_array_foreach(list, i, other) if (strcmp(object_text(other, "name"), parent) == 0) object = other;
	}
	return depth;
}

static void all_print(struct change *ch, const struct qmgr_command *m, enum qmgr_object kind)
{
	char path[32];
	struct reply r;
	json_t *object;
	size_t i;

	snprintf(path, sizeof path, "/v1/%s", qmgr_object_plural(kind));
	if (change_ask(ch, "GET", path, NULL, NULL, &r)) {
		const json_t *list = list_of(&r, qmgr_object_plural(kind));
		/* parents come before those that name them */
		bool tree = kind == QMGR_KIND + OBJECT_ACCOUNT && m->verb == QMGR_PRINT;
		for (int depth = 0; depth <= (tree ? ACCOUNT_DEPTH_MAX : 0); depth++)
			json_array_foreach(list, i, object) if (!tree || depth_of(list, object) == depth)
				one_print(m, kind, object);
	}
	reply_fini(&r);
}

static void server_print(struct change *ch, const struct qmgr_command *m)
{
	struct reply r;

	if (!change_ask(ch, "GET", "/v1/server", NULL, NULL, &r)) {
		reply_fini(&r);
		return;
	}
	json_t *attributes = json_object_get(r.json, "attributes");
	if (m->verb == QMGR_LIST) {
		printf("Server %s\n", object_text(r.json, "name"));
		if (m->nchanges == 0) {
			printf("\tserver_state = %s\n", object_text(r.json, "state"));
			counts_print(r.json);
		}
		attributes_print(m, "\t", attributes);
		if (wanted(m, "pbs_version"))
			printf("\tpbs_version = %s\n", object_text(r.json, "version"));
		printf("\n");
	} else {
		if (m->nchanges == 0) {
			printf("#\n# Create queues and set their attributes.\n#\n");
			all_print(ch, m, QMGR_QUEUE);
			for (int kind = QMGR_KIND; kind < QMGR_OBJECTS; kind++)
				all_print(ch, m, (enum qmgr_object)kind);
		}
		printf("#\n# Set server attributes.\n#\n");
		attributes_print(m, "set server ", attributes);
	}
	reply_fini(&r);
}

/* Prints one object by name. */
static void named_print(struct change *ch, const struct qmgr_command *m, const char *name)
{
	struct reply r;

	if (change_ask(ch, "GET", api_path("/v1/%s/%s", qmgr_object_plural(m->object), name), NULL, name, &r))
		one_print(m, m->object, r.json);
	reply_fini(&r);
}

void qmgr_show(struct change *ch, const struct qmgr_command *m)
{
	if (m->object == QMGR_SERVER || m->object == QMGR_NONE)
		server_print(ch, m);
	else if (m->nnames == 0)
		all_print(ch, m, m->object);
	for (int i = 0; i < m->nnames; i++)
		named_print(ch, m, m->name[i]);
}
