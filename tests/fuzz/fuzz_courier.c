/*
 * fuzz_courier.c - any answers of another site to the process that talks to it
 * (cmd/admin/courier.h). The clients are functions of this file: the server's own answers are
 * correct, those of the site are the input. Reports must follow from the answers: a job has
 * returned only if the site answered that it has none, and is at the site only with an id.
 *
 * Input: answers separated by NUL bytes, each "CODE\nBODY": an empty code is a success.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/client.h"
#include "cmd/admin/courier.h"
#include "cmd/lib/object.h"

struct client {
	bool home;
	char code[32];
	bool has_none; /* its last answer was {"id": null} */
};

static struct client home = {.home = true}, peer;
static const char *next, *end;

/* For tests: told of every request, whose body may be NULL; and whether the output that is brought
 * home can't be written. */
void (*courier_asked)(const char *who, const char *method, const char *path, const json_t *body);
bool courier_refused;

static void asked(const struct client *c, const char *method, const char *path, const json_t *body)
{
	if (courier_asked)
		courier_asked(c->home ? "home" : "site", method, path, body);
}

/* Returns the next answer of the input. */
static int answer(struct client *c, struct reply *ret, struct err *err)
{
	size_t left = (size_t)(end - next);
	const char *stop = memchr(next, '\0', left), *line;
	size_t n = stop ? (size_t)(stop - next) : left;
	json_t *json;

	line = memchr(next, '\n', n);
	snprintf(c->code, sizeof c->code, "%.*s", line ? (int)(line - next) : 0, next);
	json = line ? json_loadb(line + 1, n - (size_t)(line + 1 - next), 0, NULL) : NULL;
	next = stop ? stop + 1 : end;
	c->has_none = !*c->code && json_is_null(json_object_get(json, "id"));
	if (ret)
		ret->json = json;
	else
		json_decref(json);
	return *c->code || !line ? err_set(err, -EIO, "%s, as the site says", c->code) : 0;
}

static const char work[] =
	"{\"jobs\": ["
	"{\"name\": \"1\", \"site\": \"east\", \"user\": \"u\", \"key\": \"k\", \"try\": 1, \"phase\": \"offered\", \"wish\": null, \"there\": null},"
	"{\"name\": \"2-3\", \"site\": \"east\", \"user\": \"u\", \"key\": \"k\", \"try\": 2, \"phase\": \"offered\", \"wish\": \"delete\", \"there\": null},"
	"{\"name\": \"3\", \"site\": \"east\", \"user\": \"u\", \"key\": \"k\", \"try\": 3, \"phase\": \"there\", \"wish\": null, \"there\": \"7.east\"},"
	"{\"name\": \"4\", \"site\": \"east\", \"user\": \"u\", \"key\": \"k\", \"try\": 4, \"phase\": \"there\", \"wish\": \"delete\", \"there\": \"8[2].east\"}],"
	" \"next\": 0, \"any\": true, \"sites\": [{\"name\": \"east\", \"servers\": \"h:1\", \"token\": \"t\"}]}";

static void report_check(const json_t *what)
{
	const char *result = object_text(what, "result");

	assert(json_is_integer(json_object_get(what, "try")));
	if (strcmp(result, "accepted") == 0)
		assert(*object_text(what, "there"));
	else if (strcmp(result, "back") == 0)
		assert(peer.has_none);
	else if (strcmp(result, "state") == 0)
		assert(*object_text(what, "state"));
	else if (strcmp(result, "ended") == 0)
		assert(json_is_object(json_object_get(what, "job")));
	else
		assert(strcmp(result, "trouble") == 0 && *object_text(what, "why"));
}

int client_ask_json(struct client *c, const char *method, const char *path, const json_t *body, struct reply *ret,
		    struct err *err)
{
	assert(body && *method && path);
	asked(c, method, path, body);
	if (!c->home)
		return answer(c, ret, err);
	bool output = strstr(path, "/output");
	strcpy(c->code, output && courier_refused ? "refused" : "");
	if (strcmp(path, "/v1/courier") == 0)
		ret->json = json_loads(work, 0, NULL);
	else if (!output)
		report_check(body);
	return *c->code ? err_set(err, -EIO, "no room") : 0;
}

int client_ask(struct client *c, const char *method, const char *path, const char *body, size_t n, struct reply *ret,
	       struct err *err)
{
	asked(c, method, path, NULL);
	if (!c->home)
		return answer(c, ret, err);
	ret->json = json_pack("{s:s}", "script", "true");
	return 0;
}

int client_submit_key(struct client *c, const char *key, const json_t *body, struct reply *ret, struct err *err)
{
	assert(*key && json_is_object(body));
	asked(c, "submit", key, body);
	return answer(c, ret, err);
}

int client_read(struct client *c, const char *path, const char *accept,
		int (*take)(void *context, const char *data, size_t n), void *context, struct err *err)
{
	const char *from = next;
	asked(c, "GET", path, NULL);
	int rc = answer(c, NULL, err);

	return rc < 0 ? rc : take(context, from, (size_t)(next - from));
}

int client_open_token(const char *where, const char *token_text, struct client **ret, struct err *err)
{
	asked(&peer, where, token_text, NULL);
	*ret = &peer;
	return 0;
}

const char *client_code(const struct client *c)
{
	return c->code;
}

void client_close(struct client *c)
{
}

void client_patience(struct client *c, int seconds)
{
}

void client_user(struct client *c, const char *user)
{
	assert(*user);
	asked(c, "as", user, NULL);
}

void reply_fini(struct reply *r)
{
	strbuf_fini(&r->body);
	json_decref(r->json);
	*r = (struct reply){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct courier k = {.home = &home};

	next = (const char *)data;
	end = next + size;
	assert(courier_round(&k) == 1);
	asked(&home, "moved:", k.moved ? "yes" : "no", NULL);
	courier_fini(&k);
	return 0;
}
