/*
 * refused.c - see refused.h.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/http.h"
#include "server/api/jobs/refused.h"
#include "server/api/jobs/submit_work.h"
#include "server/api/jobs/submitted.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/submit.h"
#include "server/life/world/dispatch.h"
#include "server/server.h"

void submission_date(const struct http_request *r, struct spec *p)
{
	if (!request_time_us(r))
		return;
	p->created = request_time_us(r) / 1000000;
	p->rank = (double)request_time_us(r) / 1e6;
}

/* Returns a reduced copy of a refused submission, with less on each attempt, until it can become a
 * job. It has no dependencies or holds, and an array has one element. */
static json_t *refused_body(const json_t *body, int attempt)
{
	static const char *const who[] = {"name", "mail", "mail_to", "submit_args", "array"};
	json_t *less = attempt < 2 ? json_copy((json_t *)body) : json_object();

	for (size_t i = 0; i < sizeof who / sizeof *who && attempt == 2; i++)
		if (json_object_get(body, who[i]))
			json_object_set(less, who[i], json_object_get(body, who[i]));
	if (attempt > 0)
		json_object_del(less, "queue");
	json_object_del(less, "depend");
	json_object_del(less, "hold");
	if (json_object_get(body, "array"))
		json_object_set_new(less, "array", json_string("0"));
	return less;
}

void refused_keep(struct server *s, struct submit_work *w, const struct err *why)
{
	struct submission x = {0};
	json_t *body = NULL;
	int rc = -EINVAL;
	uint32_t id;

	for (int i = 0; i < 4 && rc < 0; i++) {
		submission_fini(&x);
		json_decref(body);
		body = refused_body(w->body, i);
		rc = submission_read(s, &w->who, body, false, request_arena(w->r), &x, NULL);
	}
	if (rc == 0) {
		submission_date(w->r, x.spec);
		s->jobs->priorities |= x.spec->priority != 0;
		total_count(s, x.spec, 1);
		uint64_t number = number_for(s, request_number(w->r));
		submission_accept(s, number, &x, NULL);
		if (entry_find(s, number, x.spec->array ? 0 : -1, &id))
			job_end_waiting(s, id, END_REFUSED, &(struct payload){.text = why->text});
		if (w->keyed)
			submitted_key(s, w->r, &w->who, w->key, &x, 1, number);
	}
	submission_fini(&x);
	json_decref(body);
}
