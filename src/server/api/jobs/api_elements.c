/*
 * api_elements.c - the elements of an array by state, in a text that is short even for many.
 */
#include <stdint.h>

#include "base/codec.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/counts.h"
#include "server/job/jobs.h"

struct elements_shown {
	const char *of[ELEMENT_STATES];
};

#define IN_STATE(name, state)                                                                                          \
	{                                                                                                              \
		name, .is = REQUIRED | IS_TEXT, MEMBER(struct elements_shown, of[state])                               \
	}

const struct schema elements_answer = {
	FIELDS(IN_STATE("waiting", ELEMENT_WAITING), IN_STATE("held", ELEMENT_HELD),
	       IN_STATE("running", ELEMENT_RUNNING), IN_STATE("succeeded", ELEMENT_SUCCEEDED),
	       IN_STATE("failed", ELEMENT_FAILED), IN_STATE("cancelled", ELEMENT_CANCELLED))};

void api_elements(struct server *s, const struct call *c)
{
	struct strbuf by[ELEMENT_STATES] = {0};
	struct elements_shown shown;
	struct array *a;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a))
		return;
	if (!a) {
		http_error(c->r, CODE_BAD_REQUEST, "Job %.100s is not an array.", c->name);
		return;
	}
	array_elements(s, a, by);
	for (int i = 0; i < ELEMENT_STATES; i++)
		shown.of[i] = strbuf_text(&by[i]);
	api_show(s, c->r, &elements_answer, &shown);
	for (int i = 0; i < ELEMENT_STATES; i++)
		strbuf_fini(&by[i]);
}
