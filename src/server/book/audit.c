/*
 * audit.c - see audit.h.
 */
#include "server/book/audit.h"

#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "client/qmgr.h"
#include "rules/attr.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/book/books.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "store/audit.h"

#define SLICE 5000 /* maximum rows deleted per turn */
/* seconds between two searches for old records; a site makes fewer changes than SLICE in that
 * time */
#define LOOK 600

void audit_record(struct server *s, const struct asker *w, const char *kind, const char *name, const char *action,
		  const char *change, const char *undo)
{
	store_put_audit(s->store, &(struct store_audit){.seq = s->jobs->next_seq++,
							.time = s->clock->now,
							.who = w->user,
							.kind = kind,
							.name = name,
							.action = action,
							.change = change,
							.undo = undo});
}

/* ---- attributes ---- */

static const struct attr_value *value_of(const struct attrs *a, const struct attr_value *like)
{
	for (size_t i = 0; a && i < a->set.n; i++) {
		const struct attr_value *v = &a->set.v[i];
		if (v->attr == like->attr && !v->resource == !like->resource &&
		    (!v->resource || strcmp(v->resource, like->resource) == 0))
			return v;
	}
	return NULL;
}

/* Appends "name = value" in qmgr's syntax. */
static void assign(const struct attr_value *v, struct strbuf *out)
{
	strbuf_puts(out, out->n ? ", " : "");
	attr_value_name(v, out);
	strbuf_puts(out, " = ");
	qmgr_quote(v->text ? v->text : "", out);
}

struct difference {
	struct strbuf change; /* text for people */
	struct strbuf set;    /* attributes to set again */
	struct strbuf unset;  /* attributes to unset */
};

static void compare(const struct attrs *before, const struct attrs *after, struct difference *d)
{
	for (size_t i = 0; after && i < after->set.n; i++) {
		const struct attr_value *now = &after->set.v[i], *was = value_of(before, now);
		if (was && strcmp(was->text, now->text) == 0)
			continue;
		assign(now, &d->change);
		if (before)
			strbuf_printf(&d->change, " (was %s)", was ? was->text : "unset");
		if (was) {
			assign(was, &d->set);
		} else {
			strbuf_puts(&d->unset, d->unset.n ? ", " : "");
			attr_value_name(now, &d->unset);
		}
	}
	for (size_t i = 0; before && i < before->set.n; i++) {
		const struct attr_value *was = &before->set.v[i];
		if (value_of(after, was))
			continue;
		assign(was, &d->set);
		if (!after)
			continue;
		strbuf_puts(&d->change, d->change.n ? ", " : "");
		attr_value_name(was, &d->change);
		strbuf_printf(&d->change, " unset (was %s)", was->text);
	}
}

void audit_attrs(struct server *s, const struct asker *w, const char *kind, const char *name,
		 const struct attrs *before, const struct attrs *after)
{
	bool server = strcmp(kind, "server") == 0;
	const char *of = server ? "" : name, *blank = server ? "" : " ";
	struct difference d = {0};
	struct strbuf commands = {0}, undo = {0};

	compare(before, after, &d);
	if (!before)
		strbuf_printf(&commands, "delete %s %s", kind, name);
	else if (!after)
		strbuf_printf(&commands, "create %s %s%s%s", kind, name, d.set.n ? " " : "", strbuf_text(&d.set));
	else {
		if (d.unset.n)
			strbuf_printf(&commands, "unset %s%s%s %s", kind, blank, of, d.unset.text);
		if (d.set.n)
			strbuf_printf(&commands, "%sset %s%s%s %s", d.unset.n ? "; " : "", kind, blank, of, d.set.text);
	}
	if (commands.n) {
		strbuf_puts(&undo, "qmgr -c ");
		text_quote(commands.text, &undo);
		audit_record(s, w, kind, name,
			     !before  ? "created"
			     : !after ? "deleted"
				      : "changed",
			     d.change.n ? d.change.text : NULL, undo.text);
	}
	strbuf_fini(&d.change);
	strbuf_fini(&d.set);
	strbuf_fini(&d.unset);
	strbuf_fini(&commands);
	strbuf_fini(&undo);
}

/* ---- expiry ---- */

void audit_turn(struct server *s)
{
	struct audit *a = &s->books->audit;
	int64_t keep = attrs_number(s->attrs, SET_KEEP_AUDIT);

	if (keep == a->keep && s->clock->now < a->due)
		return;
	a->keep = keep;
	a->due = s->clock->now + LOOK;
	if (keep >= 0)
		store_trim_audit(s->store, s->clock->now - keep, SLICE);
}
