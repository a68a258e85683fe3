/*
 * api_job_usage.c - a job's resource usage, sample by sample (job/usage.h): a stream that continues
 * while it runs.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/base/turn.h"
#include "server/job/jobs.h"
#include "server/job/usage.h"
#include "server/server.h"

/* A client that follows a job; owned by audience.usage_readers. */
struct usage_reader {
	struct server *s;
	struct http_request *r;
	uint32_t job;
	uint64_t key; /* key of the job, since its index may be reused */
	uint32_t attempt;
	uint64_t sent; /* value of usage.added up to which samples were sent */
	bool follow;
};

static void sample_write(const struct usage_sample *x, struct strbuf *out)
{
	struct json j;

	json_begin(&j, out);
	json_int(&j, "time", x->time);
	json_int(&j, "cpu_ms", x->cpu_ms);
	json_int(&j, "memory", x->memory_kib);
	json_close_object(&j);
	strbuf_puts(out, "\n");
}

static const struct usage *usage_now(const struct usage_reader *x)
{
	const struct entry *e = entry_get(x->s, x->job);

	return e->spec && e->key == x->key ? usage_of(x->s, x->job) : NULL;
}

/* Writes the new samples that are still kept; all of them for a new attempt. */
static void samples_write(struct usage_reader *x, const struct usage *u, struct strbuf *out)
{
	uint64_t fresh;

	if (u->attempt != x->attempt)
		x->sent = 0;
	fresh = u->added - x->sent;
	for (uint32_t i = fresh < u->n ? u->n - (uint32_t)fresh : 0; i < u->n; i++)
		sample_write(&u->v[i], out);
	x->attempt = u->attempt;
	x->sent = u->added;
}

static bool is_over(const struct usage_reader *x)
{
	const struct entry *e = entry_get(x->s, x->job);

	return !x->follow || x->s->turn->stopped || !e->spec || e->key != x->key || entry_ended(x->s, x->job);
}

static int fill(void *context, struct strbuf *out, size_t want)
{
	struct usage_reader *x = context;
	const struct usage *u = usage_now(x);

	if (u)
		samples_write(x, u, out);
	return is_over(x) ? -1 : 0;
}

static void closed(void *context)
{
	struct usage_reader *x = context;
	struct audience *a = x->s->audience;

	for (size_t i = 0; i < a->usage_readers.n; i++)
		if (a->usage_readers.v[i] == x) {
			vec_remove(&a->usage_readers, i);
			break;
		}
	free(x);
}

void usage_turn(struct server *s)
{
	for (size_t i = 0; i < s->audience->usage_readers.n; i++) {
		struct usage_reader *x = s->audience->usage_readers.v[i];
		const struct usage *u = usage_now(x);
		if (is_over(x) || (u && (u->attempt != x->attempt || u->added != x->sent)))
			stream_wake(x->r);
	}
}

void api_job_usage(struct server *s, const struct call *c)
{
	struct usage_reader *x;
	struct array *a;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a))
		return;
	if (a) {
		http_error(c->r, CODE_BAD_REQUEST, "%.100s is an array: name one of its elements.", c->name);
		return;
	}
	x = mem_zalloc(sizeof *x);
	*x = (struct usage_reader){.s = s,
				   .r = c->r,
				   .job = id,
				   .key = entry_get(s, id)->key,
				   .follow = query_number(c, "follow", 0) != 0};
	vec_push(&s->audience->usage_readers, x);
	http_stream(c->r, 200, "application/x-ndjson", &(struct stream_source){fill, closed, x});
}
