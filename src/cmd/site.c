/*
 * site.c - `shunt site add`, `list`, `remove`: other servers that jobs can be handed over to; and `shunt courier`, which the server starts to talk to them.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/table.h"
#include "client/client.h"
#include "cmd/change.h"
#include "cmd/commands.h"
#include "cmd/show.h"
#include "tls/pki.h"

struct add_arguments {
	const char *server, *token;
};

#define AT(field) offsetof(struct add_arguments, field)
static const struct option add_options[] = {
	{"server", OPTION_TEXT, AT(server), "HOST[:PORT]", NULL, NULL, 0, 0,
	 "where the site's server is reached; several joined by blanks", 0},
	{"token", OPTION_TEXT, AT(token), "TOKEN", NULL, NULL, 0, 0,
	 "the token that the site made for this one; without it, or with -, it is asked for, or read from standard input",
	 0},
	{0},
};

static const char *const add_examples[] = {
	"shunt site add east --server east.example.org:7722",
	"As a manager: jobs can be submitted to QUEUE@east. Asks for the token that 'shunt token create --site' printed there.",
	NULL,
};

static void site_path(struct strbuf *path, const char *name)
{
	strbuf_puts(path, "/v1/sites/");
	url_quote(name, path);
}

static int add(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct add_arguments *a = arguments;
	struct strbuf path = {0};
	char *asked = NULL;
	struct change ch = {.code = EXIT_FAILED};
	struct err err;
	json_t *body;

	if (!a->server || !*a->server)
		return command_misused(c, "--server is missing: where the server of site %s is reached", o->v[0]);
	if ((!a->token || strcmp(a->token, "-") == 0) && !(asked = token_read("-", &err)))
		return command_fail(c, "%s", err.text);
	body = json_pack("{s:s, s:s}", "servers", a->server, "token", asked ? asked : a->token);
	free(asked);
	if (!body)
		return command_misused(c, "--server and --token are texts in UTF-8");
	site_path(&path, o->v[0]);
	if (change_open(&ch, c)) {
		if (change_ask(&ch, "PUT", path.text, body, NULL, NULL))
			printf("Jobs can be handed over to site %s: qsub -q QUEUE@%s\n", o->v[0], o->v[0]);
		change_close(&ch);
	}
	json_decref(body);
	strbuf_fini(&path);
	return ch.code;
}

const struct command command_site_add = {
	.name = "site add",
	.operands = "NAME",
	.operands_min = 1,
	.operands_max = 1,
	.about = "Let jobs be handed over to another Shunt server.",
	.details =
		"NAME is what users write after the @ of a queue. Adding a site that is there already changes its servers and its token.",
	.examples = add_examples,
	.options = add_options,
	.size = sizeof(struct add_arguments),
	.run = add,
};

static void list_print(const json_t *answer)
{
	static const char *const columns[] = {"name", "server", ">jobs"};
	const json_t *sites = json_object_get(answer, "sites");
	struct table *t = table_create(columns, 3);
	json_t *x;
	size_t i;

	json_array_foreach(sites, i, x)
	{
		table_cell(t, "%s", object_text(x, "name"));
		table_cell(t, "%s", object_text(x, "servers"));
		table_cell(t, "%lld", (long long)object_number(x, "jobs", 0));
	}
	if (json_array_size(sites))
		table_print(t, stdout, 0);
	table_destroy(t);
}

static int list(const struct command *c, const void *arguments, const struct operands *o)
{
	return show_answer(c, "/v1/sites", ((const struct show_arguments *)arguments)->json, list_print);
}

const struct command command_site_list = {
	.name = "site list",
	.operands = "",
	.about = "List the sites that jobs can be handed over to, with the number of this server's jobs there.",
	.options = show_options,
	.size = sizeof(struct show_arguments),
	.run = list,
};

static int remove_site(const struct command *c, const void *arguments, const struct operands *o)
{
	struct strbuf path = {0};
	struct change ch;

	if (!change_open(&ch, c))
		return EXIT_FAILED;
	site_path(&path, o->v[0]);
	change_ask(&ch, "DELETE", path.text, NULL, NULL, NULL);
	strbuf_fini(&path);
	return change_close(&ch);
}

const struct command command_site_remove = {
	.name = "site remove",
	.operands = "NAME",
	.operands_min = 1,
	.operands_max = 1,
	.about = "Remove a site, once none of this server's jobs are there.",
	.run = remove_site,
};

/* ---- the courier ---- */

#define PIECE (192 * 1024) /* bytes of output that are carried at once */
#define REST_MS 500
#define IDLE_ROUNDS 20 /* without a job, after which it ends */

struct peer_site {
	char *name;
	struct client *client; /* NULL: it could not be opened */
};

struct courier {
	struct client *home;
	VEC(struct peer_site) sites;
	bool moved; /* something has changed: the next round comes soon */
};

/* To the server: -errno when it does not answer, and then all is over. A job that is no longer away is as good. */
static int report(struct courier *k, const json_t *job, json_t *what)
{
	struct strbuf path = {0};
	struct err err;

	strbuf_printf(&path, "/v1/courier/%s", object_text(job, "name"));
	json_object_set(what, "try", json_object_get(job, "try"));
	int rc = client_ask_json(k->home, "POST", path.text, what, NULL, &err);
	json_decref(what);
	strbuf_fini(&path);
	return rc;
}

static void trouble(struct courier *k, const json_t *job, const struct err *err)
{
	report(k, job, json_pack("{s:s, s:s}", "result", "trouble", "why", err->text));
}

/* Whether an error is the site's last word on what was asked, and not a matter of the connection or of the moment. */
static bool is_final(const struct client *c, int rc)
{
	const char *code = client_code(c);

	return rc < 0 && *code && strcmp(code, "unavailable") != 0 && strcmp(code, "not_leader") != 0 &&
	       strcmp(code, "outcome_unknown") != 0 && strcmp(code, "too_many") != 0 &&
	       strcmp(code, "unauthorized") != 0;
}

/* The site is not to accept it any more. If it has done so, that is told; else the job is back. */
static void withdraw(struct courier *k, struct client *peer, const json_t *job, const char *why)
{
	json_t *body = json_pack("{s:s}", "key", object_text(job, "key"));
	struct reply r = {0};
	struct err err;

	if (client_ask_json(peer, "POST", "/v1/jobs/withdraw", body, &r, &err) < 0)
		/* One that asks for nobody there has nothing there: it was refused for the same reason. */
		if (is_final(peer, -1) && strcmp(client_code(peer), "forbidden") == 0 && why)
			report(k, job, json_pack("{s:s, s:s}", "result", "back", "why", why));
		else
			trouble(k, job, &err);
	else if (*object_text(r.json, "id"))
		report(k, job, json_pack("{s:s, s:s}", "result", "accepted", "there", object_text(r.json, "id")));
	else
		report(k, job, json_pack("{s:s, s:s?}", "result", "back", "why", why));
	k->moved = true;
	reply_fini(&r);
	json_decref(body);
}

static void offer(struct courier *k, struct client *peer, const json_t *job)
{
	struct strbuf path = {0};
	struct reply body = {0}, r = {0};
	struct err err;
	int rc;

	strbuf_printf(&path, "/v1/courier/%s", object_text(job, "name"));
	rc = client_ask(k->home, "GET", path.text, NULL, 0, &body, &err);
	if (rc == 0) {
		rc = client_submit_key(peer, object_text(job, "key"), body.json, &r, &err);
		if (rc == 0)
			report(k, job,
			       json_pack("{s:s, s:s}", "result", "accepted", "there", object_text(r.json, "id")));
		else if (is_final(peer, rc))
			withdraw(k, peer, job, err.text);
		else
			trouble(k, job, &err);
		k->moved = true;
	}
	reply_fini(&r);
	reply_fini(&body);
	strbuf_fini(&path);
}

/* ---- output ---- */

struct homing {
	struct courier *k;
	const json_t *job;
	const char *stream;
	struct strbuf piece;
	int64_t at;
	struct err err;
	bool failed; /* it can't be written here */
};

static int piece_put(struct homing *h)
{
	struct strbuf path = {0}, text = {0};
	json_t *body;

	strbuf_printf(&path, "/v1/courier/%s/output", object_text(h->job, "name"));
	base64_encode(strbuf_text(&h->piece), h->piece.n, &text);
	body = json_pack("{s:s, s:I, s:s}", "stream", h->stream, "from", (json_int_t)h->at, "data", strbuf_text(&text));
	int rc = client_ask_json(h->k->home, "POST", path.text, body, NULL, &h->err);
	h->failed = rc < 0 && strcmp(client_code(h->k->home), "refused") == 0;
	h->at += (int64_t)h->piece.n;
	strbuf_clear(&h->piece);
	json_decref(body);
	strbuf_fini(&path);
	strbuf_fini(&text);
	return rc;
}

static int piece_take(void *context, const char *data, size_t n)
{
	struct homing *h = context;

	strbuf_add(&h->piece, data, n);
	return h->piece.n >= PIECE ? piece_put(h) : 0;
}

/* One stream of what it wrote. -errno: later again; `lost` gets why it can't be brought home at all. */
static int output_fetch(struct courier *k, struct client *peer, const json_t *job, const char *stream,
			struct strbuf *lost)
{
	struct homing h = {.k = k, .job = job, .stream = stream};
	struct strbuf path = {0};
	struct err err;
	int rc;

	strbuf_puts(&path, "/v1/jobs/");
	url_quote(object_text(job, "there"), &path);
	strbuf_printf(&path, "/output?stream=%s", stream);
	rc = client_read(peer, path.text, NULL, piece_take, &h, &err);
	if (rc == 0 && (h.piece.n || h.at == 0))
		rc = piece_put(&h);
	if (h.failed) {
		strbuf_printf(lost, "%sits output can't be written (%s): it is kept there", lost->n ? "; " : "",
			      h.err.text);
		rc = 0;
	} else if (is_final(peer, rc) && strcmp(client_code(peer), "bad_state") != 0) {
		strbuf_printf(lost, "%sthe site has no output of it: %s", lost->n ? "; " : "", err.text);
		rc = 0;
	} else if (rc < 0 && strcmp(client_code(peer), "bad_state") == 0) {
		rc = 0; /* it never ran */
	}
	strbuf_fini(&h.piece);
	strbuf_fini(&path);
	return rc;
}

static void ended(struct courier *k, struct client *peer, const json_t *job, json_t *shown)
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
		       json_pack("{s:s, s:O, s:s?}", "result", "ended", "job", shown, "why",
				 lost.n ? lost.text : NULL));
	k->moved = true;
	strbuf_fini(&lost);
}

static void delete_there(struct client *peer, const json_t *job)
{
	json_t *body = json_pack("{s:[s]}", "ids", object_text(job, "there"));
	struct err err;

	client_ask_json(peer, "POST", "/v1/jobs/delete", body, NULL, &err); /* what came of it is seen next time */
	json_decref(body);
}

static void look(struct courier *k, struct client *peer, const json_t *job)
{
	struct strbuf path = {0};
	struct reply r = {0};
	struct err err;
	int rc;

	strbuf_puts(&path, "/v1/jobs/");
	url_quote(object_text(job, "there"), &path);
	rc = client_ask(peer, "GET", path.text, NULL, 0, &r, &err);
	if (rc == 0 && strcmp(object_text(r.json, "state"), "C") == 0) {
		ended(k, peer, job, r.json);
	} else if (rc == 0) {
		if (strcmp(object_text(job, "wish"), "delete") == 0)
			delete_there(peer, job);
		report(k, job,
		       json_pack("{s:s, s:s, s:b}", "result", "state", "state", object_text(r.json, "state"),
				 "guaranteed", json_is_true(json_object_get(r.json, "guaranteed"))));
	} else if (strcmp(client_code(peer), "unknown_job") == 0) {
		/* Its store was set back: it has neither the job nor, perhaps, the key. */
		withdraw(k, peer, job, "the site has lost it");
	} else {
		trouble(k, job, &err);
	}
	reply_fini(&r);
	strbuf_fini(&path);
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

/* Opened anew in each round: servers and tokens may have changed, and who did not answer may do so now. */
static void sites_close(struct courier *k)
{
	for (size_t i = 0; i < k->sites.n; i++) {
		client_close(k->sites.v[i].client);
		free(k->sites.v[i].name);
	}
	vec_free(&k->sites);
}

static void serve(struct courier *k, const json_t *sites, const json_t *job)
{
	struct client *peer = site_client(k, sites, object_text(job, "site"));

	if (!peer)
		return;
	client_user(peer, object_text(job, "user"));
	if (strcmp(object_text(job, "phase"), "there") == 0)
		look(k, peer, job);
	else if (*object_text(job, "wish"))
		withdraw(k, peer, job, NULL);
	else
		offer(k, peer, job);
}

/* All jobs once: how many; -errno: the server does not answer. */
static int64_t round_go(struct courier *k)
{
	int64_t from = 0, n = 0;

	do {
		json_t *body = json_pack("{s:I}", "from", (json_int_t)from), *job;
		struct reply r = {0};
		struct err err;
		size_t i;
		int rc = client_ask_json(k->home, "POST", "/v1/courier", body, &r, &err);
		json_decref(body);
		json_array_foreach(json_object_get(r.json, "jobs"), i, job)
			serve(k, json_object_get(r.json, "sites"), job);
		n += json_is_true(json_object_get(r.json, "any"));
		from = object_number(r.json, "next", 0);
		reply_fini(&r);
		if (rc < 0)
			return rc;
	} while (from);
	sites_close(k);
	return n;
}

static int courier(const struct command *c, const void *arguments, const struct operands *o)
{
	struct courier k = {0};
	struct pollfd server = {.fd = 0, .events = POLLIN};
	struct err err;
	int64_t n = 0;
	int idle = 0;

	if (client_open_at(o->v[0], &k.home, &err) < 0)
		return command_fail(c, "%s", err.text);
	client_patience(k.home, 0);
	while (n >= 0 && idle < IDLE_ROUNDS && poll(&server, 1, k.moved ? 20 : REST_MS) == 0) {
		k.moved = false;
		n = round_go(&k);
		idle = n == 0 ? idle + 1 : 0;
	}
	sites_close(&k);
	client_close(k.home);
	return EXIT_OK;
}

const struct command command_courier = {
	.name = "courier",
	.operands = "SOCKET",
	.operands_min = 1,
	.operands_max = 1,
	.about = "Hand jobs over to other sites. The server starts it.",
	.run = courier,
	.hidden = 1,
	.alone = true,
};
