/*
 * qmgr.h - the language of qmgr, read into commands.
 *
 *	create queue short, long queue_type = Execution, enabled = true
 *	set server managers += "ann@*", default_queue = short
 *	print queue short; list node @active		# ';' or the line's end ends a command
 *
 * Verbs and objects may be cut short (c q short). A value ends at a blank or ';', or at a comma that another "name ="
 * follows; quotes hold it together. A backslash at the end of a line continues it; '#' at the beginning of a word
 * begins a comment.
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
	QMGR_ACTIVE, /* names the objects that later commands mean when they name none */
	QMGR_HELP,
	QMGR_QUIT,
};

enum qmgr_object {
	QMGR_NONE,
	QMGR_SERVER,
	QMGR_QUEUE,
	QMGR_NODE,
	QMGR_KIND, /* and the kinds of named objects from here on: QMGR_KIND + OBJECT_CLASS is a class */
	QMGR_OBJECTS = QMGR_KIND + OBJECT_KINDS,
};

enum qmgr_op {
	QMGR_NAMED, /* list, print, unset: only the name */
	QMGR_IS,
	QMGR_PLUS,
	QMGR_MINUS,
};

struct qmgr_change {
	const char *name;
	enum qmgr_op op;
	const char *value; /* "" of QMGR_NAMED */
};

/* Strings live in the arena that was given to the parser. */
struct qmgr_command {
	enum qmgr_verb verb;
	enum qmgr_object object;
	const char **name; /* of queues, nodes or objects, without "@server"; none: all, or the active ones */
	int nnames;
	struct qmgr_change *change;
	int nchanges;
	const char *text; /* as it was written, in one line */
};

/* Reads one command of text[*at..n) and moves *at past it. 1: there it is; 0: there is none any more; -EINVAL with
 * what is wrong and what is allowed, *at behind the bad one. */
int qmgr_parse(const char *text, size_t n, size_t *at, struct arena *arena, struct qmgr_command *ret, struct err *err);

const char *qmgr_verb_name(enum qmgr_verb verb);
const char *qmgr_object_name(enum qmgr_object object);
const char *qmgr_object_plural(enum qmgr_object object);
/* A value as the language has it: in quotes where it needs them. */
void qmgr_quote(const char *value, struct strbuf *out);

#endif
