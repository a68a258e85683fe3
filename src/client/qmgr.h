/*
 * qmgr.h - the language of qmgr, read into commands.
 *
 *	create queue short, long queue_type = Execution, enabled = true
 *	set server managers += "ann@*", default_queue = short
 *	print queue short; list node @active		# ';' or the line's end ends a command
 *
 * Verbs and objects may be cut short (c q short). A value ends at a blank or ';', or at a comma
 * that another "name =" follows; quotes hold it together. A backslash at the end of a line
 * continues it; '#' at the beginning of a word begins a comment.
 */
#ifndef CLIENT_QMGR_H
#define CLIENT_QMGR_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "rules/object.h"

enum qmgr_verb {
	QMGR_CREATE,
	QMGR_DELETE,
	QMGR_SET,
	QMGR_UNSET,
	QMGR_LIST,
	QMGR_PRINT,
	QMGR_ACTIVE, /* sets the objects that later commands without names refer to */
	QMGR_HELP,
	QMGR_QUIT,
};

enum qmgr_object {
	QMGR_NONE,
	QMGR_SERVER,
	QMGR_QUEUE,
	QMGR_NODE,
	QMGR_KIND, /* first kind of named objects: QMGR_KIND + OBJECT_CLASS is a class */
	QMGR_OBJECTS = QMGR_KIND + OBJECT_KINDS,
};

enum qmgr_op {
	QMGR_NAMED, /* list, print, unset: a name without a value */
	QMGR_IS,
	QMGR_PLUS,
	QMGR_MINUS,
};

struct qmgr_change {
	const char *name;
	enum qmgr_op op;
	const char *value; /* "" for QMGR_NAMED */
};

/* One parsed command. Strings live in the arena given to the parser. */
struct qmgr_command {
	enum qmgr_verb verb;
	enum qmgr_object object;
	/* names of queues, nodes or objects, without "@server"; none: all, or the active ones */
	const char **name;
	int nnames;
	struct qmgr_change *change;
	int nchanges;
	const char *text; /* source text, on one line */
};

/* Parses one command of text[*at..n) and moves *at past it. Returns 1 if there was one, 0 at the
 * end, or -EINVAL with what is wrong and what is allowed; *at is then behind the bad command. */
int qmgr_parse(const char *text, size_t n, size_t *at, struct arena *arena, struct qmgr_command *ret, struct err *err);

const char *qmgr_verb_name(enum qmgr_verb verb);
const char *qmgr_object_name(enum qmgr_object object);
const char *qmgr_object_plural(enum qmgr_object object);
/* Appends a value, quoted where the language needs it. */
void qmgr_quote(const char *value, struct strbuf *out);

#endif
