/*
 * beside.c - see beside.h.
 */
#include "server/api/frame/beside.h"

#include <semaphore.h>
#include <stdlib.h>
#include <uv.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/http.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/request.h"
#include "server/base/turn.h"
#include "server/server.h"

#define LARGE (256u << 10) /* bytes that are read in the loop, at most: some milliseconds */

/* Owned by its request; once the request has ended, by the work that is under way. */
struct reading {
	uv_work_t work;
	struct server *s;
	struct http_request *r; /* NULL: it has ended */
	const char *text;
	size_t n;
	bool over; /* it was read, and the loop knows it */
	bool parse;
	uint64_t print;
	sem_t read;
	json_t *body;
	struct err err;
};

static void reading_free(struct reading *x)
{
	json_decref(x->body);
	sem_destroy(&x->read);
	free(x);
}

static void read_text(uv_work_t *work)
{
	struct reading *x = work->data;

	x->print = hash_bytes(x->text, x->n);
	if (x->parse)
		x->body = api_json(x->text, x->n, &x->err);
	sem_post(&x->read);
}

static void next_begin(struct server *s);

static void on_read(uv_work_t *work, int status)
{
	struct reading *x = work->data;
	struct server *s = x->s;

	vec_remove(&s->audience->readings, 0);
	x->over = true;
	next_begin(s);
	turn_wake(s);
	if (x->r)
		request_again(x->r);
	else
		reading_free(x);
}

static void next_begin(struct server *s)
{
	if (s->audience->readings.n == 0)
		vec_free(&s->audience->readings);
	else
		uv_queue_work(s->loop, &s->audience->readings.v[0]->work, read_text, on_read);
}

/* Called when the request ends: before its body was read only if the server stops. */
static void reading_leave(void *context)
{
	struct reading *x = context;
	struct audience *a = x->s->audience;
	size_t at = 0;

	while (at < a->readings.n && a->readings.v[at] != x)
		at++;
	x->r = NULL;
	if (at == 0 && !x->over) {
		sem_wait(&x->read); /* the text goes with the request */
		return;
	}
	if (at < a->readings.n)
		vec_remove(&a->readings, at);
	reading_free(x);
}

bool beside_awaits(struct server *s, struct http_request *r, bool parse)
{
	size_t n;
	const char *text = request_body(r, &n);
	struct reading *x;

	if (n <= LARGE || request_attached(r))
		return false;
	x = mem_zalloc(sizeof *x);
	*x = (struct reading){.work.data = x, .s = s, .r = r, .text = text, .n = n, .parse = parse};
	sem_init(&x->read, 0, 0);
	request_attach(r, x, reading_leave);
	vec_push(&s->audience->readings, x);
	if (s->audience->readings.n == 1)
		next_begin(s);
	return true;
}

bool beside_body(const struct http_request *r, json_t **ret, struct err *err)
{
	const struct reading *x = request_attached(r);

	if (!x || !x->parse)
		return false;
	*ret = json_incref(x->body);
	if (!*ret)
		*err = x->err;
	return true;
}

bool beside_print(const struct http_request *r, uint64_t *ret)
{
	const struct reading *x = request_attached(r);

	if (x)
		*ret = x->print;
	return x;
}
