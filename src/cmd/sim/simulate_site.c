/*
 * simulate_site.c - see simulate_site.h.
 */
#include "cmd/sim/simulate_site.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "client/qmgr.h"
#include "sched/policy.h"
#include "server/settings/conf.h"

#define TEXT_MAX (16 << 20) /* size limit of a file, bytes */

static int changes_apply(struct attrs *a, const struct qmgr_command *c, struct err *err)
{
	static const enum attr_op op[] = {
		[QMGR_NAMED] = ATTR_UNSET, [QMGR_IS] = ATTR_SET, [QMGR_PLUS] = ATTR_ADD, [QMGR_MINUS] = ATTR_REMOVE};
	int rc = 0;

	for (int i = 0; i < c->nchanges && rc == 0; i++)
		rc = attrs_change(a, op[c->change[i].op], c->change[i].name, c->change[i].value, err);
	return rc;
}

static int queue_apply(struct ruleset *s, const char *name, const struct qmgr_command *c, struct err *err)
{
	int at = ruleset_find(s, name);

	if (c->verb == QMGR_CREATE && at >= 0)
		return err_set(err, -EINVAL, "queue %.60s is created twice", name);
	if (c->verb == QMGR_CREATE)
		at = ruleset_add(s, name);
	if (at < 0)
		return err_set(err, -EINVAL, "unknown queue %.60s: create it first", name);
	return changes_apply(&s->queues.v[at].attrs, c, err);
}

static int object_apply(struct ruleset *s, enum object_kind kind, const char *name, const struct qmgr_command *c,
			struct err *err)
{
	struct object *x = object_make(&s->objects, kind, name);
	int rc = changes_apply(&x->attrs, c, err);

	return rc < 0 ? rc : object_check(&s->objects, x, err);
}

/* Notes the nodes that are shared; the other settings of nodes concern the server alone. */
static void node_apply(struct simulate_site *s, const struct qmgr_command *c)
{
	for (int i = 0; i < c->nchanges; i++)
		if (c->verb != QMGR_UNSET && strcasecmp(c->change[i].name, "shared") == 0 && c->change[i].value &&
		    strcasecmp(c->change[i].value, "true") == 0)
			for (int k = 0; k < c->nnames; k++)
				vec_push(&s->shared, mem_strdup(c->name[k]));
}

static int command_apply(struct ruleset *s, const struct qmgr_command *c, struct err *err)
{
	int rc = 0;

	if (c->verb != QMGR_CREATE && c->verb != QMGR_SET && c->verb != QMGR_UNSET)
		return err_set(err, -EINVAL, "%s: only create, set and unset say what a site is",
			       qmgr_verb_name(c->verb));
	if (c->object == QMGR_SERVER)
		return changes_apply(&s->attrs, c, err);
	if (c->object == QMGR_NONE || c->nnames == 0)
		return err_set(err, -EINVAL, "%.60s: name the server, a queue or an object", c->text);
	for (int i = 0; i < c->nnames && rc == 0; i++)
		rc = c->object == QMGR_QUEUE
			     ? queue_apply(s, c->name[i], c, err)
			     : object_apply(s, (enum object_kind)(c->object - QMGR_KIND), c->name[i], c, err);
	return rc;
}

static int qmgr_read(const char *path, const char *text, size_t n, struct simulate_site *s, struct err *err)
{
	struct arena *arena = arena_create();
	struct qmgr_command c;
	size_t at = 0;
	int rc;

	s->ruled = true;
	while ((rc = qmgr_parse(text, n, &at, arena, &c, err)) > 0) {
		if (c.object == QMGR_NODE)
			node_apply(s, &c);
		else
			rc = command_apply(&s->rules, &c, err);
		if (rc < 0)
			break;
	}
	if (rc < 0) {
		int line = 1;
		for (size_t i = 0; i + 1 < at && i < n; i++)
			line += text[i] == '\n';
		rc = err_prefix(err, -EINVAL, "%.200s: line %d", path, line);
	}
	arena_destroy(arena);
	return rc;
}

/* ---- the server's configuration file ---- */

/* Returns true if the directory of hooks, by default the one beside the file, has any. */
static bool has_hooks(const char *path, const struct conf *c)
{
	const char *slash = strrchr(path, '/');
	struct strbuf dir = {0};
	bool found = false;

	if (*c->hook_directory)
		strbuf_puts(&dir, c->hook_directory);
	else
		strbuf_printf(&dir, "%.*shooks", slash ? (int)(slash - path + 1) : 0, path);
	DIR *d = opendir(strbuf_text(&dir));
	for (const struct dirent *e; d && !found && (e = readdir(d));) {
		const char *dot = strrchr(e->d_name, '.');
		found = dot && dot != e->d_name && strcmp(dot, ".lua") == 0;
	}
	if (d)
		closedir(d);
	strbuf_fini(&dir);
	return found;
}

/* Returns a machine of lines "node n1 cpus=8 ...". As in the server, unknown memory is always
 * enough. */
static char *machine_text(const struct conf_nodes *nodes)
{
	struct strbuf out = {0};

	for (size_t i = 0; i < nodes->node.n; i++) {
		const struct conf_node *n = &nodes->node.v[i];
		strbuf_printf(&out, "%snode %s cpus=%lld mem=%lldkb gpus=%lld", i ? "\n" : "", n->name,
			      (long long)n->cpus, (long long)(n->memory ? n->memory : INT64_C(1) << 40),
			      (long long)n->gpus);
		if (n->disk)
			strbuf_printf(&out, " disk=%lldkb", (long long)n->disk);
		if (n->swap)
			strbuf_printf(&out, " swap=%lldkb", (long long)n->swap);
		for (char **f = n->feature; f && *f; f++)
			strbuf_printf(&out, "%s%s", f == n->feature ? " features=" : ",", *f);
	}
	return out.text;
}

static int conf_apply(const char *path, const char *text, size_t n, struct simulate_site *s, struct err *err)
{
	struct conf_nodes nodes;
	struct conf c;
	int rc;

	conf_init(&c);
	rc = conf_read(&c, path, text, n, err);
	if (rc == 0)
		rc = conf_nodes_parse(c.nodes, &nodes, err);
	if (rc == 0) {
		if (nodes.automatic)
			s->unknown = "its nodes are the machine that the server runs on (nodes = auto)";
		else if (nodes.none)
			s->unknown = "its nodes are those that join the server (nodes = none)";
		free(s->machine);
		s->machine = machine_text(&nodes);
		conf_nodes_fini(&nodes);
		s->hooks |= has_hooks(path, &c);
		if (!s->policy) /* a setting of qmgr takes precedence */
			s->policy = mem_strdup(c.policy);
	}
	conf_fini(&c);
	return rc;
}

/* Returns true if the text has NAME = VALUE or [SECTION] where qmgr has a verb and an object. */
static bool is_conf(const char *text, size_t n)
{
	const char *p = text, *end = text + n;

	while (p < end && strchr(" \t\r\n#", *p)) {
		const char *line = *p == '#' ? memchr(p, '\n', (size_t)(end - p)) : p;
		p = line ? line + 1 : end;
	}
	if (p < end && *p == '[')
		return true;
	while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
		p++;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p < end && *p == '=';
}

/* ---- either kind of file ---- */

void simulate_site_init(struct simulate_site *s)
{
	*s = (struct simulate_site){.machine = NULL};
	ruleset_init(&s->rules);
}

void simulate_site_fini(struct simulate_site *s)
{
	ruleset_fini(&s->rules);
	name_list_free(&s->shared);
	free(s->machine);
	free(s->policy);
}

int simulate_site_parse(const char *path, const char *text, size_t n, struct simulate_site *s, struct err *err)
{
	const char *policy;
	int rc;

	if (is_conf(text, n))
		return conf_apply(path, text, n, s, err);
	rc = qmgr_read(path, text, n, s, err);
	s->hooks |= rc == 0 && attrs_weight(&s->rules.attrs, SET_PRIORITY_WEIGHT, "hook", 0) != 0;
	if (rc < 0 || !attrs_is_set(&s->rules.attrs, SET_POLICY))
		return rc;
	policy = attrs_text(&s->rules.attrs, SET_POLICY);
	if (!policy_find(policy))
		return err_set(err, -EINVAL, "%.200s: unknown policy \"%.60s\"; \"shunt policies\" lists them", path,
			       policy);
	free(s->policy);
	s->policy = mem_strdup(policy);
	return 0;
}

static int site_file_read(const char *path, struct simulate_site *s, struct err *err)
{
	struct strbuf text = {0};
	int rc = file_read(path, 0, TEXT_MAX, &text);

	if (rc == -EFBIG)
		rc = err_set(err, -EINVAL, "%.200s: is too large for a configuration", path);
	else if (rc < 0)
		err_set(err, rc, "%.200s: %s", path, strerror(-rc));
	else
		rc = simulate_site_parse(path, strbuf_text(&text), text.n, s, err);
	strbuf_fini(&text);
	return rc;
}

int simulate_site_read(const char *paths, struct simulate_site *s, struct err *err)
{
	char *copy = mem_strdup(paths), *rest = copy, *path;
	int rc = 0;

	while (rc == 0 && (path = strsep(&rest, ",")))
		rc = site_file_read(path, s, err);
	free(copy);
	return rc;
}
