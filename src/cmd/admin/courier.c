/*
 * courier.c - see courier.h.
 */
#include "cmd/admin/courier.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/codec.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/client.h"
#include "client/sitework.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"

#define PIECE (192 * 1024) /* bytes of output transferred at once */

/* Reports to the server. Returns -errno if it does not answer, which ends the round. A job that is
 * no longer away counts as success. */
static int report(struct courier *k, const struct site_job *job, struct site_report what)
{
	struct err err;

	what.try = job->try;
	json_t *body = schema_json(&site_report_schema, &what);
	int rc = client_ask_json(k->home, "POST", api_path("/v1/courier/%s", job->name), body, NULL, &err);
	json_decref(body);
	return rc;
}

static void trouble(struct courier *k, const struct site_job *job, const char *why)
{
	report(k, job, (struct site_report){.result = SITE_TROUBLE, .why = why});
}

/* Handles an answer that no site gives: what the site has done is not known. */
static void strange(struct courier *k, const struct site_job *job)
{
	trouble(k, job, "its answer is not one of a Shunt server's");
}

static void accepted(struct courier *k, const struct site_job *job, const char *id)
{
	report(k, job, (struct site_report){.result = SITE_ACCEPTED, .there = id});
}

/* Returns true if an error is the site's final answer, not a problem of the connection or of the
 * moment. "forbidden" may be about the user: it is a refusal, but shows nothing about the site's
 * jobs. */
static bool is_final(const struct client *c, int rc)
{
	const char *code = client_code(c);

	return rc < 0 && *code && strcmp(code, "unavailable") != 0 && strcmp(code, "not_leader") != 0 &&
	       strcmp(code, "outcome_unknown") != 0 && strcmp(code, "too_many") != 0 &&
	       strcmp(code, "unauthorized") != 0;
}

/* Withdraws the job from the site, which then no longer accepts it. If it already has, reports
 * that; else the job is back. A job that it accepted and has forgotten since then has ended. */
static void withdraw(struct courier *k, struct client *peer, const struct site_job *job, const char *why)
{
	json_t *body = json_pack("{s:s}", "key", job->key);
	struct reply r = {0};
	struct err err;

	int rc = client_ask_json(peer, "POST", "/v1/jobs/withdraw", body, &r, &err);
	const char *id = object_text(r.json, "id");

	/* An error proves nothing: a site that cannot look up accounts denies that any user
	 * exists. */
	if (rc < 0)
		trouble(k, job, err.text);
	else if (*id && job->there && json_is_true(json_object_get(r.json, "forgotten"))) {
		json_t *lost = json_pack("{s:s, s:i}", "cause", "lost", "exit_status", -1);
		report(k, job,
		       (struct site_report){
			       .result = SITE_ENDED, .job = lost, .why = "the site has forgotten how it ended"});
		json_decref(lost);
	} else if (*id)
		accepted(k, job, id);
	else if (!json_is_null(json_object_get(r.json, "id"))) /* it did not say that it has none */
		strange(k, job);
	else
		report(k, job, (struct site_report){.result = SITE_BACK, .why = why});
	k->moved = true;
	reply_fini(&r);
	json_decref(body);
}

static void offer(struct courier *k, struct client *peer, const struct site_job *job)
{
	struct reply body = {0}, r = {0};
	struct err err;
	int rc;

	rc = client_ask(k->home, "GET", api_path("/v1/courier/%s", job->name), NULL, 0, &body, &err);
	if (rc == 0) {
		rc = client_submit_key(peer, job->key, body.json, &r, &err);
		if (rc == 0 && !*object_text(r.json, "id"))
			strange(k, job);
		else if (rc == 0)
			accepted(k, job, object_text(r.json, "id"));
		else if (is_final(peer, rc))
			withdraw(k, peer, job, err.text);
		else
			trouble(k, job, err.text);
		k->moved = true;
	}
	reply_fini(&r);
	reply_fini(&body);
}

/* ---- output ---- */

struct homing {
	struct courier *k;
	const struct site_job *job;
	const char *stream;
	struct strbuf piece;
	int64_t at;
	struct err err;
	bool failed; /* cannot be written here */
};

static int piece_put(struct homing *h)
{
	struct strbuf text = {0};
	json_t *body;

	base64_encode(strbuf_text(&h->piece), h->piece.n, &text);
	body = json_pack("{s:s, s:I, s:s}", "stream", h->stream, "from", (json_int_t)h->at, "data", strbuf_text(&text));
	int rc = client_ask_json(h->k->home, "POST", api_path("/v1/courier/%s/output", h->job->name), body, NULL,
				 &h->err);
	h->failed = rc < 0 && strcmp(client_code(h->k->home), "refused") == 0;
	h->at += (int64_t)h->piece.n;
	strbuf_clear(&h->piece);
	json_decref(body);
	strbuf_fini(&text);
	return rc;
}

static int piece_take(void *context, const char *data, size_t n)
{
	struct homing *h = context;

	strbuf_add(&h->piece, data, n);
	return h->piece.n >= PIECE ? piece_put(h) : 0;
}

/* Fetches one output stream. Returns -errno if it is to be retried later; `lost` gets the reason if
 * it cannot be fetched at all. */
static int output_fetch(struct courier *k, struct client *peer, const struct site_job *job, const char *stream,
			struct strbuf *lost)
{
	struct homing h = {.k = k, .job = job, .stream = stream};
	struct strbuf path = {0};
	struct err err;
	int rc;

	strbuf_puts(&path, "/v1/jobs/");
	url_quote(job->there, &path);
	strbuf_printf(&path, "/output?stream=%s", stream);
	rc = client_read(peer, path.text, NULL, piece_take, &h, &err);
	if (rc == 0 && (h.piece.n || h.at == 0))
		rc = piece_put(&h);
	if (h.failed) {
		strbuf_printf(lost, "%sits output can't be written (%s): it is kept there", lost->n ? "; " : "",
			      h.err.text);
		rc = 0;
	} else if (is_final(peer, rc) && strcmp(client_code(peer), "bad_state") != 0 &&
		   strcmp(client_code(peer), "forbidden") != 0) {
		strbuf_printf(lost, "%sthe site has no output of it: %s", lost->n ? "; " : "", err.text);
		rc = 0;
	} else if (rc < 0 && strcmp(client_code(peer), "bad_state") == 0) {
		rc = 0; /* it never ran */
	}
	strbuf_fini(&h.piece);
	strbuf_fini(&path);
	return rc;
}

static void ended(struct courier *k, struct client *peer, const struct site_job *job, json_t *shown)
{
	const char *join = object_text(shown, "join");
	bool joined = strcmp(join, "oe") == 0 || strcmp(join, "eo") == 0;
	struct strbuf lost = {0};
	int rc = 0;

	if (json_is_integer(json_object_get(shown, "started"))) {
		rc = output_fetch(k, peer, job, "out", &lost);
		if (rc == 0 && !joined)
			rc = output_fetch(k, peer, job, "err", &lost);
	}
	if (rc == 0)
		report(k, job,
		       (struct site_report){.result = SITE_ENDED, .job = shown, .why = lost.n ? lost.text : NULL});
	k->moved = true;
	strbuf_fini(&lost);
}

static void delete_there(struct client *peer, const struct site_job *job)
{
	json_t *body = json_pack("{s:[s]}", "ids", job->there);
	struct err err;

	/* the next round sees the result */
	client_ask_json(peer, "POST", "/v1/jobs/delete", body, NULL, &err);
	json_decref(body);
}

static void look(struct courier *k, struct client *peer, const struct site_job *job)
{
	struct reply r = {0};
	struct err err;
	int rc;

	rc = client_ask(peer, "GET", api_path("/v1/jobs/%s", job->there), NULL, 0, &r, &err);
	if (rc == 0 && strcmp(object_text(r.json, "state"), "C") == 0) {
		ended(k, peer, job, r.json);
	} else if (rc == 0 && !*object_text(r.json, "state")) {
		strange(k, job);
	} else if (rc == 0) {
		if (job->wish && strcmp(job->wish, "delete") == 0)
			delete_there(peer, job);
		report(k, job,
		       (struct site_report){.result = SITE_STATE,
					    .state = object_text(r.json, "state"),
					    .guaranteed = json_is_true(json_object_get(r.json, "guaranteed"))});
	} else if (strcmp(client_code(peer), "unknown_job") == 0) {
		/* The site's store was set back: it has lost the job and perhaps the key. */
		withdraw(k, peer, job, "the site has lost it");
	} else {
		trouble(k, job, err.text);
	}
	reply_fini(&r);
}

static struct client *site_client(struct courier *k, const json_t *sites, const char *name)
{
	struct client *c = NULL;
	struct err err;
	json_t *x;
	size_t i;

	for (i = 0; i < k->sites.n; i++)
		if (strcmp(k->sites.v[i].name, name) == 0)
			return k->sites.v[i].client;
	json_array_foreach(sites, i, x) if (strcmp(object_text(x, "name"), name) == 0 &&
					    client_open_token(object_text(x, "servers"), object_text(x, "token"), &c,
							      &err) == 0) client_patience(c, 0);
	vec_push(&k->sites, (struct peer_site){mem_strdup(name), c});
	return c;
}

/* Closes the sites, which are opened again in each round: servers and tokens may have changed, and
 * an absent site may answer now. */
static void sites_close(struct courier *k)
{
	for (size_t i = 0; i < k->sites.n; i++) {
		client_close(k->sites.v[i].client);
		free(k->sites.v[i].name);
	}
	vec_free(&k->sites);
}

static void serve(struct courier *k, const json_t *sites, const struct site_job *job)
{
	struct client *peer = site_client(k, sites, job->site);

	if (!peer)
		return;
	client_user(peer, job->user);
	if (job->phase == SITE_THERE)
		look(k, peer, job);
	else if (job->wish)
		withdraw(k, peer, job, NULL);
	else
		offer(k, peer, job);
}

int64_t courier_round(struct courier *k)
{
	int64_t from = 0, n = 0;

	do {
		json_t *body = json_pack("{s:I}", "from", (json_int_t)from), *x;
		struct site_job job;
		struct reply r = {0};
		struct err err;
		size_t i;
		int rc = client_ask_json(k->home, "POST", "/v1/courier", body, &r, &err);
		json_decref(body);
		json_array_foreach(json_object_get(r.json, "jobs"), i,
				   x) if (record_load(site_job_schema.fields, 0, x, &job, NULL, NULL) == 0)
			serve(k, json_object_get(r.json, "sites"), &job);
		n += json_is_true(json_object_get(r.json, "any"));
		from = object_number(r.json, "next", 0);
		reply_fini(&r);
		if (rc < 0)
			return rc;
	} while (from);
	sites_close(k);
	return n;
}

void courier_fini(struct courier *k)
{
	sites_close(k);
	client_close(k->home);
}
