/*
 * simulate_site.c - see simulate_site.h.
 */
#include "cmd/simulate_site.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/qmgr.h"

#define TEXT_MAX (16 << 20) /* bytes of a file */

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
		return err_set(err, -EINVAL, "there is no queue %.60s: create it first", name);
	return changes_apply(&s->queues.v[at].attrs, c, err);
}

static int command_apply(struct ruleset *s, const struct qmgr_command *c, struct err *err)
{
	int rc = 0;

	if (c->object == QMGR_NODE)
		return 0;
	if (c->verb != QMGR_CREATE && c->verb != QMGR_SET && c->verb != QMGR_UNSET)
		return err_set(err, -EINVAL, "%s: only create, set and unset say what a site is",
			       qmgr_verb_name(c->verb));
	if (c->object == QMGR_SERVER)
		return changes_apply(&s->attrs, c, err);
	if (c->object != QMGR_QUEUE || c->nnames == 0)
		return err_set(err, -EINVAL, "%.60s: name the server or a queue", c->text);
	for (int i = 0; i < c->nnames && rc == 0; i++)
		rc = queue_apply(s, c->name[i], c, err);
	return rc;
}

int simulate_site_parse(const char *text, size_t n, struct ruleset *ret, struct err *err)
{
	struct arena *arena = arena_create();
	struct qmgr_command c;
	size_t at = 0;
	int rc;

	while ((rc = qmgr_parse(text, n, &at, arena, &c, err)) > 0) {
		rc = command_apply(ret, &c, err);
		if (rc < 0)
			break;
	}
	if (rc < 0) {
		int line = 1;
		for (size_t i = 0; i + 1 < at && i < n; i++)
			line += text[i] == '\n';
		rc = err_prefix(err, -EINVAL, "line %d", line);
	}
	arena_destroy(arena);
	return rc;
}

int simulate_site_read(const char *path, struct ruleset *ret, struct err *err)
{
	FILE *in = fopen(path, "re");
	char buf[65536];
	struct strbuf text = {0};
	size_t n;
	int rc = 0;

	if (!in)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while (rc == 0 && (n = fread(buf, 1, sizeof buf, in)) > 0) {
		strbuf_add(&text, buf, n);
		if (text.n > TEXT_MAX)
			rc = err_set(err, -EINVAL, "is too large for a configuration");
	}
	if (rc == 0 && ferror(in))
		rc = err_set(err, -EIO, "can't be read");
	fclose(in);
	if (rc == 0)
		rc = simulate_site_parse(strbuf_text(&text), text.n, ret, err);
	strbuf_fini(&text);
	return rc < 0 ? err_prefix(err, rc, "%s", path) : 0;
}
