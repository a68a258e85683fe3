/*
 * answer.c - see answer.h.
 */
#include "server/api/frame/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/twin.h"
#include "server/base/work.h"
#include "server/life/wait/foresee.h"
#include "server/server.h"

#define LIMIT 20     /* time for one answer, seconds */
#define TOLD_MOST 32 /* answers kept */
#define OF_ONE 4     /* answers that one user may wait for, since the others wait for them */

/* An answer, and what it holds for. */
struct told {
	struct asker who;
	char *path;
	struct strbuf text;
	int64_t made;	  /* when it was computed */
	uint64_t commits; /* number of commits before it */
	int64_t foreseen; /* instant of the forecast that it used */
};

struct answer {
	struct work work;
	struct server *s;
	struct http_request *r;
	answerer write;
	char *name;
	struct twin *twin; /* process that computes it; NULL: not begun, or over */
	bool over;
	struct told *told;
};

/* ---- recent answers ---- */

static void told_free(struct told *x)
{
	if (!x)
		return;
	free(x->path);
	strbuf_fini(&x->text);
	free(x);
}

/* Returns true if nothing has happened since. */
static bool told_holds(const struct server *s, const struct told *x)
{
	return s->clock->now - x->made < FORECAST_OLD && x->commits == s->stats->commits &&
	       x->foreseen == foresee_last(s);
}

/* Forgets answers that do not hold any more. */
static void told_prune(struct server *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->audience->told.n; i++) {
		struct told *x = s->audience->told.v[i];
		if (told_holds(s, x))
			s->audience->told.v[kept++] = x;
		else
			told_free(x);
	}
	s->audience->told.n = kept;
}

static const struct told *told_find(const struct server *s, const struct asker *who, const char *path)
{
	for (size_t i = 0; i < s->audience->told.n; i++) {
		const struct told *x = s->audience->told.v[i];
		if (memcmp(&x->who, who, sizeof *who) == 0 && strcmp(x->path, path) == 0)
			return x;
	}
	return NULL;
}

/* ---- the process ---- */

/* The beginning of what it sends; the text follows. */
struct head {
	struct err err; /* refusal, with pointers that are the same in both processes; CODE_NONE: none */
	size_t n;	/* length of the text */
};

static void answer_send(void *context, int fd)
{
	struct answer *a = context;
	struct strbuf out = {0}, text = {0};
	struct head head = {0};

	if (a->write(a->s, &a->told->who, a->name, &text, &head.err))
		head.n = text.n;
	strbuf_add(&out, (const char *)&head, sizeof head);
	strbuf_add(&out, text.text, head.n);
	fd_write(fd, out.text, out.n);
}

/* ---- the server ---- */

static void on_got(void *context, const char *text, size_t n)
{
	strbuf_add(&((struct answer *)context)->told->text, text, n);
}

static void on_over(void *context)
{
	struct answer *a = context;

	a->twin = NULL;
	a->over = true;
	turn_wake(a->s);
}

static void answer_free(struct server *s, struct answer *a)
{
	if (s->audience->answering == a)
		s->audience->answering = NULL;
	twin_stop(a->twin);
	told_free(a->told);
	free(a->name);
	free(a);
}

static void answer_begin(struct server *s, struct answer *a)
{
	s->audience->answering = a;
	a->told->made = s->clock->now;
	a->told->commits = s->stats->commits;
	a->told->foreseen = foresee_last(s);
	a->twin = twin_start(s->loop, &(struct twin_order){.name = "shunt-answer",
							   .seconds = LIMIT,
							   .run = answer_send,
							   .got = on_got,
							   .over = on_over,
							   .context = a});
	a->over = !a->twin;
}

/* Replies with what the process sent, and keeps it. */
static void answer_reply(struct server *s, struct answer *a)
{
	struct strbuf *text = &a->told->text;
	struct head head;

	if (text->n >= sizeof head)
		memcpy(&head, text->text, sizeof head);
	if (text->n < sizeof head || text->n - sizeof head != head.n) {
		http_error(a->r, CODE_UNAVAILABLE, "The answer could not be computed within %d s. Try again later.",
			   LIMIT);
		return;
	}
	if (!head.n) {
		http_refuse(a->r, &head.err);
		return;
	}
	memmove(text->text, text->text + sizeof head, head.n);
	text->n = head.n;
	http_reply(a->r, 200, "application/json", text->text, text->n);
	if (s->audience->told.n < TOLD_MOST && told_holds(s, a->told)) {
		vec_push(&s->audience->told, a->told);
		a->told = NULL;
	}
}

static bool answer_step(struct server *s, struct work *work)
{
	struct answer *a = (struct answer *)work;
	const struct told *known;

	if (a->over) {
		answer_reply(s, a);
		answer_free(s, a);
		turn_wake(s); /* for the next one */
		return false;
	}
	told_prune(s);
	if (!a->twin && (known = told_find(s, &a->told->who, a->told->path))) {
		http_reply(a->r, 200, "application/json", known->text.text, known->text.n);
		answer_free(s, a);
		return false;
	}
	if (!s->audience->answering)
		answer_begin(s, a);
	work->sleeps = !a->over;
	return true;
}

static void answer_stop(struct server *s, struct work *work, const char *why)
{
	struct answer *a = (struct answer *)work;

	http_error(a->r, CODE_UNAVAILABLE, "The answer could not be computed (%s). Try again later.", why);
	answer_free(s, a);
}

static const struct work_kind kind = {.step = answer_step, .stop = answer_stop, .reads = true};

static int answers_of(const struct server *s, uid_t uid)
{
	int n = 0;

	for (size_t i = 0; i < s->slices->works.n; i++) {
		const struct work *w = s->slices->works.v[i];
		n += w->kind == &kind && ((const struct answer *)w)->told->who.uid == uid;
	}
	return n;
}

void answer_apart(struct server *s, const struct call *c, answerer write)
{
	if (answers_of(s, c->w->uid) >= OF_ONE) {
		http_error(c->r, CODE_TOO_MANY, "%d answers that take long are being computed for you: wait for them.",
			   OF_ONE);
		return;
	}

	struct answer *a = mem_zalloc(sizeof *a);

	a->s = s;
	a->r = c->r;
	a->write = write;
	a->name = mem_strdup(c->name);
	a->told = mem_zalloc(sizeof *a->told);
	a->told->who = *c->w;
	a->told->path = mem_strdup(request_path(c->r));
	work_add(s, &a->work, &kind);
}
