/*
 * opener.c - opens files as users. Requests and answers are matched by number; ours have the
 * highest bit set, so that other callers can use the rest.
 */
#include "engine/opener.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

#define OURS (UINT64_C(1) << 63)

struct opening {
	struct opener *o;
	uint64_t id;
	/* one of the two is set: to open a file, or to look at a path */
	void (*done)(void *context, int fd, const char *reason);
	void (*looked)(void *context, const struct sight *s);
	void *context;
};

struct opener {
	struct local *local;
	uint64_t last;
	VEC(struct opening *) asked; /* a handful at most */
};

struct opener *opener_create(struct local *l)
{
	struct opener *o = mem_zalloc(sizeof *o);

	o->local = l;
	return o;
}

void opener_destroy(struct opener *o)
{
	for (size_t i = 0; i < o->asked.n; i++)
		free(o->asked.v[i]);
	vec_free(&o->asked);
	free(o);
}

static struct opening *opening_add(struct opener *o, void *context)
{
	struct opening *q = mem_zalloc(sizeof *q);

	*q = (struct opening){.o = o, .id = ++o->last | OURS, .context = context};
	vec_push(&o->asked, q);
	return q;
}

struct opening *opener_look(struct opener *o, const struct opener_user *who, const char *path,
			    void (*looked)(void *context, const struct sight *s), void *context)
{
	struct opening *q = opening_add(o, context);

	q->looked = looked;
	local_look(o->local, q->id, who->uid, who->gid, who->name, path);
	local_flush(o->local);
	return q;
}

struct opening *opener_ask(struct opener *o, const struct opener_user *who, const char *path, int flags, int mode,
			   void (*done)(void *context, int fd, const char *reason), void *context)
{
	struct opening *q = opening_add(o, context);

	q->done = done;
	local_open(o->local, q->id, who->uid, who->gid, who->name, path, flags, mode);
	local_flush(o->local);
	return q;
}

void opening_cancel(struct opening *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->o->asked.n; i++)
		if (q->o->asked.v[i] == q) {
			vec_remove(&q->o->asked, i);
			break;
		}
	free(q);
}

/* Removes and returns a request; without callbacks if no one waits for it any more. */
static struct opening opening_take(struct opener *o, uint64_t id)
{
	struct opening q = {0};

	for (size_t i = 0; i < o->asked.n; i++)
		if (o->asked.v[i]->id == id) {
			q = *o->asked.v[i];
			opening_cancel(o->asked.v[i]);
			break;
		}
	return q;
}

bool opener_answer(struct opener *o, uint64_t id, int fd, const char *reason)
{
	if (!(id & OURS))
		return false;

	struct opening q = opening_take(o, id);

	if (q.done)
		q.done(q.context, fd, fd < 0 && !reason ? "no reason was given" : reason);
	else if (fd >= 0)
		close(fd);
	return true;
}

bool opener_looked(struct opener *o, uint64_t id, const struct sight *s)
{
	if (!(id & OURS))
		return false;

	struct opening q = opening_take(o, id);

	if (q.looked)
		q.looked(q.context, s);
	return true;
}
