/*
 * history_visits.c - another site hands jobs over to this one, repeats itself, and takes back what
 * was not accepted.
 *
 * Its answers survive restarts: a key that was accepted has that id for ever, and
 * one that was withdrawn is never accepted. Drawn from h->visits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "property/history.h"
#include "server/base/clock.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "support/bare.h"

static uint64_t some(struct history *h, uint64_t n)
{
	return rng_below(&h->visits, n);
}

void visits_begin(struct history *h)
{
	struct token_record t = {.kind = TOKEN_SITE, .expires = h->s->clock->now + 1000000};

	t.user = mem_strdup("root");
	t.name = mem_strdup("north");
	token_add(h->s, &t, h->token);
}

void visits_realm(struct server *s)
{
	struct authority *a = &s->realm->authority;

	memset(a->fingerprint, 'a', sizeof a->fingerprint - 1);
	a->secret = mem_strdup("secret"); /* secret of the tokens that jobs on other hosts have */
}

static int visit(struct history *h, const char *path, const char *key, const char *body, json_t **ret)
{
	struct bare_answer a = {0};
	int status = bare_visit(h->s, h->token, "nobody", path, key, body, &a);

	*ret = json_loads(strbuf_text(&a.body), 0, NULL);
	if (h->loud)
		printf("# visit %s %s %s -> %d %s\n", path, key ? key : "", body, status, strbuf_text(&a.body));
	strbuf_fini(&a.body);
	return status;
}

static void visit_submit(struct history *h, struct visited *v, const char *key)
{
	json_t *answer;
	char body[300];

	/* The same key always asks for the same, as the origin does. */
	snprintf(body, sizeof body,
		 "{\"name\":\"v\",\"script\":\"exit 0\",\"resources\":[\"ncpus=%d,walltime=60\"],\"queue\":\"%s\"%s}",
		 1 + (int)strlen(key) % 3, key[strlen(key) - 1] == '1' ? "nosuch" : "fast",
		 key[strlen(key) - 1] == '2' ? ",\"array\":\"3\"" : "");
	int status = visit(h, "/v1/jobs", key, body, &answer);
	const char *id = json_string_value(json_object_get(answer, "id"));
	if (status == 201 || status == 200) {
		assert_non_null(id);
		assert_false(v->withdrawn);
		if (*v->id)
			assert_string_equal(id, v->id);
		snprintf(v->id, sizeof v->id, "%s", id);
	} else {
		/* What was accepted once is not refused later, as long as the origin's token
		 * holds. */
		assert_false(*v->id && status != 401 && status < 429);
	}
	json_decref(answer);
	h->submitted = h->s->jobs->next_number - 1;
}

static void visit_withdraw(struct history *h, struct visited *v, const char *key)
{
	json_t *answer;
	char body[100];

	snprintf(body, sizeof body, "{\"key\":\"%s\"}", key);
	if (visit(h, "/v1/jobs/withdraw", NULL, body, &answer) == 200) {
		const char *id = json_string_value(json_object_get(answer, "id"));
		assert_string_equal(id ? id : "", v->id);
		v->withdrawn |= !id;
	}
	json_decref(answer);
}

void op_visits(struct history *h)
{
	uint64_t at = some(h, VISITS);
	struct visited *v = &h->visited[at];
	char key[40];

	snprintf(key, sizeof key, "site:north:%d:%d", (int)at / 3, (int)at % 3);
	if (some(h, 3))
		visit_submit(h, v, key);
	else
		visit_withdraw(h, v, key);
}
