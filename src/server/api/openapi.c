/*
 * openapi.c - the API's description for programs, GET /openapi.json, generated from the rows of
 * routes.c and the tables of schema.h. docs/openapi.yaml has the same content (tools/update-docs).
 *
 * A schema with a name is written once, among the components, and referenced elsewhere.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/code.h"
#include "base/json.h"
#include "base/phrase.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/route.h"
#include "server/job/keys.h"

struct description {
	struct json j;
	VEC(const struct schema *) named; /* schemas to write among the components */
};

static const char about[] =
	"Everything that Shunt's commands do, they do through this: HTTP/1.1 with JSON on the server's UNIX socket. The user is "
	"known from the socket (peer credentials); there is nothing to log in to.\n\n"
	"    curl --unix-socket \"$SHUNT_HOME/run/shuntd.sock\" http://shunt/v1/jobs\n\n"
	"From other machines the same is asked over TLS 1.3, with a token:\n\n"
	"    curl --cacert ca.crt -H \"Authorization: Bearer $TOKEN\" https://pine:7722/v1/jobs\n\n"
	"Instants are seconds since 1970 (UTC), durations seconds, memory KiB. What is not known is null. A body with a member "
	"that is not described is refused. A change is answered when it is on disk. Any request can be answered with 400 (a "
	"path, parameter, header or body that can't be read), 404 `not_found` (no such path), 405 (no such method there), 413 (a "
	"body that is too large: 4 MiB, of submissions 64 MiB unless configured otherwise), 429 and 503 (too many connections or "
	"requests). A request that is not HTTP, or whose head has more than 60 KB, is refused by the HTTP library with 400, 414 "
	"or 431, without a JSON body.\n";

/* ---- values ---- */

static void schema_write(struct description *d, const char *key, const struct schema *t);

static void words_write(struct json *j, const char *words, bool null)
{
	json_open_array(j, "enum");
	for (const char *p = words; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
		char word[64];
		snprintf(word, sizeof word, "%.*s", (int)strcspn(p, "|"), p);
		json_text(j, NULL, word);
	}
	if (null)
		json_text(j, NULL, NULL);
	json_close_array(j);
}

static void bounds_write(struct json *j, const struct field *f, const char *least, const char *most)
{
	if (f->least || (f->most && strcmp(least, "minimum") == 0))
		json_int(j, least, f->least);
	if (f->most && f->most != INT64_MAX)
		json_int(j, most, f->most);
}

static void text_write(struct json *j, const struct field *f)
{
	char pattern[64];

	json_text(j, "type", "string");
	if (f->words)
		words_write(j, f->words, f->is & IS_NULL);
	if (f->letters) {
		snprintf(pattern, sizeof pattern, "^[%s]*$", f->letters);
		json_text(j, "pattern", pattern);
	}
	if (!(f->is & IS_LIST))
		bounds_write(j, f, "minLength", "maxLength");
}

static void members_write(struct description *d, unsigned is, const struct field *f);

static void list_write(struct description *d, const struct field *f)
{
	const struct field item = {.is = f->item, .of = f->of, .words = f->words};

	json_text(&d->j, "type", "array");
	bounds_write(&d->j, f, "minItems", "maxItems");
	json_open_object(&d->j, "items");
	members_write(d, f->item, &item);
	json_close_object(&d->j);
}

static void map_write(struct description *d, const struct field *f)
{
	json_text(&d->j, "type", "object");
	if (f->item == IS_ANY) {
		json_bool(&d->j, "additionalProperties", true);
		return;
	}
	json_open_object(&d->j, "additionalProperties");
	members_write(d, f->item, &(struct field){.is = f->item});
	json_close_object(&d->j);
}

static void object_members(struct description *d, const struct schema *t);

/* Writes one kind of value, without its braces. */
static void kind_write(struct description *d, unsigned kind, const struct field *f)
{
	struct json *j = &d->j;

	switch (kind) {
	case IS_TEXT:
		text_write(j, f);
		break;
	case IS_BYTES:
		json_text(j, "type", "string");
		json_text(j, "format", "byte");
		break;
	case IS_INT:
	case IS_INSTANT:
		json_text(j, "type", "integer");
		json_text(j, "format", "int64");
		bounds_write(j, f, "minimum", "maximum");
		break;
	case IS_REAL:
		json_text(j, "type", "number");
		break;
	case IS_BOOL:
		json_text(j, "type", "boolean");
		break;
	case IS_LIST:
		list_write(d, f);
		break;
	case IS_OBJECT:
		if (f->of)
			object_members(d, f->of);
		else
			map_write(d, f);
		break;
	}
}

/* Writes a value that may be of several kinds, without its braces. */
static void members_write(struct description *d, unsigned is, const struct field *f)
{
	unsigned kinds = is & (IS_TEXT | IS_BYTES | IS_INT | IS_INSTANT | IS_REAL | IS_BOOL | IS_LIST | IS_OBJECT);

	if ((kinds & (kinds - 1)) == 0) {
		kind_write(d, kinds, f);
		return;
	}
	json_open_array(&d->j, "oneOf");
	for (unsigned kind = 1; kind <= kinds; kind <<= 1)
		if (kinds & kind) {
			json_open_object(&d->j, NULL);
			kind_write(d, kind, f);
			json_close_object(&d->j);
		}
	json_close_array(&d->j);
}

/* Writes a default or an example: text, or JSON unchanged. */
static void literal_write(struct json *j, const char *key, unsigned is, const char *text)
{
	if (text && is & (IS_TEXT | IS_BYTES))
		json_text(j, key, text);
	else if (text)
		json_raw(j, key, text);
}

static void field_members(struct description *d, const struct field *f)
{
	struct json *j = &d->j;

	members_write(d, f->is, f);
	if (f->is == IS_OBJECT && f->of && f->of->name) /* a reference may have no siblings */
		return;
	if (f->is & IS_NULL)
		json_bool(j, "nullable", true);
	if (f->about)
		json_text(j, "description", f->about);
	else if (f->is & IS_INSTANT)
		json_text(j, "description", "seconds since 1970 (UTC)");
	literal_write(j, "default", f->is, f->otherwise);
	literal_write(j, "example", f->is, f->example);
}

/* ---- objects ---- */

static void properties_write(struct description *d, const struct schema *t)
{
	struct json *j = &d->j;
	bool needed = false;

	json_text(j, "type", "object");
	if (!t->fields) {
		json_bool(j, "additionalProperties", true);
		return;
	}
	for (const struct field *f = schema_next(t, NULL); f; f = schema_next(t, f))
		needed |= f->is & REQUIRED;
	if (needed) {
		json_open_array(j, "required");
		for (const struct field *f = schema_next(t, NULL); f; f = schema_next(t, f))
			if (f->is & REQUIRED)
				json_text(j, NULL, f->name);
		json_close_array(j);
	}
	json_open_object(j, "properties");
	for (const struct field *f = schema_next(t, NULL); f; f = schema_next(t, f)) {
		json_open_object(j, f->name);
		field_members(d, &(struct field){.is = f->is & ~(unsigned)(REQUIRED | OF_BODY | SPARSE),
						 .about = f->about,
						 .of = f->of,
						 .item = f->item,
						 .words = f->words,
						 .letters = f->letters,
						 .least = f->least,
						 .most = f->most,
						 .otherwise = f->otherwise,
						 .example = f->example});
		json_close_object(j);
	}
	json_close_object(j);
}

/* Writes a schema's own members and those of its base, without braces. */
static void whole_members(struct description *d, const struct schema *t)
{
	struct json *j = &d->j;

	if (t->about)
		json_text(j, "description", t->about);
	if (!t->base) {
		properties_write(d, t);
	} else {
		json_open_array(j, "allOf");
		schema_write(d, NULL, t->base);
		if (t->fields) {
			json_open_object(j, NULL);
			properties_write(d, t);
			json_close_object(j);
		}
		json_close_array(j);
	}
	if (t->example)
		json_raw(j, "example", t->example);
}

static void reference_write(struct description *d, const struct schema *t)
{
	char text[128];
	size_t i = 0;

	while (i < d->named.n && d->named.v[i] != t)
		i++;
	if (i == d->named.n)
		vec_push(&d->named, t);
	snprintf(text, sizeof text, "#/components/schemas/%s", t->name);
	json_text(&d->j, "$ref", text);
}

static void object_members(struct description *d, const struct schema *t)
{
	if (t->either) {
		struct schema one = *t;
		one.either = NULL;
		json_open_array(&d->j, "oneOf");
		schema_write(d, NULL, t->name || t->fields ? &one : t->base);
		schema_write(d, NULL, t->either);
		json_close_array(&d->j);
	} else if (t->name) {
		reference_write(d, t);
	} else {
		whole_members(d, t);
	}
}

static void schema_write(struct description *d, const char *key, const struct schema *t)
{
	json_open_object(&d->j, key);
	object_members(d, t);
	json_close_object(&d->j);
}

/* ---- requests ---- */

/* Writes a reference to a component. */
static void reference(struct json *j, const char *key, const char *kind, const char *name)
{
	char to[128];

	snprintf(to, sizeof to, "#/components/%s/%s", kind, name);
	json_open_object(j, key);
	json_text(j, "$ref", to);
	json_close_object(j);
}

/* Writes a parameter, with a key among the components. `f` has its name. */
static void parameter_write(struct description *d, const struct field *f, const char *key, const char *in)
{
	struct field plain = *f;

	plain.about = plain.example = NULL;
	plain.is &= ~(unsigned)REQUIRED;
	json_open_object(&d->j, key);
	json_text(&d->j, "name", f->name);
	json_text(&d->j, "in", in);
	if (strcmp(in, "path") == 0)
		json_bool(&d->j, "required", true);
	if (f->about)
		json_text(&d->j, "description", f->about);
	json_open_object(&d->j, "schema");
	field_members(d, &plain);
	json_close_object(&d->j);
	literal_write(&d->j, "example", f->is, f->example);
	json_close_object(&d->j);
}

/* ---- parameters shared by several requests ---- */

static const struct field shared_key = {
	"Idempotency-Key",
	.is = IS_TEXT,
	"Chosen by the client, new for each request, for example 128 random bits. If the same user sends the same request "
	"with the same key again within a day, a submission makes no job and returns what the first one made, and an action "
	"passes over the jobs that were changed by the first one and answers for both together.",
	.letters = "A-Za-z0-9._:~+/=-",
	.least = 1,
	.most = KEY_MAX,
};

/* Meaning of the '*' of a path: the first row that the path begins with. */
static const struct part {
	const char *under;
	const char *key; /* key among the components */
	struct field field;
} parts[] = {
	{"/v1/jobs",
	 "job",
	 {"id", .is = IS_TEXT,
	  "`12.NAME`, `12[3].NAME` an element of an array, `12[].NAME` the array; the name may be left out. `[` and `]` may be "
	  "percent-encoded.",
	  .example = "12"}},
	{"/v1/tokens", "token", {"id", .is = IS_TEXT, .example = "u7"}},
	{"", "name", {"name", .is = IS_TEXT}},
};

static const struct part *part_of(const char *path)
{
	const struct part *p = parts;

	while (strncmp(path, p->under, strlen(p->under)) != 0)
		p++;
	return p;
}

static void parameters_write(struct description *d, const struct route *x)
{
	if (!x->query && !x->keyed)
		return;
	json_open_array(&d->j, "parameters");
	if (x->keyed)
		reference(&d->j, NULL, "parameters", "key");
	for (const struct field *f = x->query; f && f->name; f++) {
		parameter_write(d, f, NULL, "query");
		if (f->header) {
			struct field same = *f;
			same.name = f->header;
			same.about = "the same, and comes first";
			parameter_write(d, &same, NULL, "header");
		}
	}
	json_close_array(&d->j);
}

static void content_write(struct description *d, const struct schema *t, const char *example)
{
	json_open_object(&d->j, "application/json");
	if (t) {
		schema_write(d, "schema", t);
	} else {
		json_open_object(&d->j, "schema");
		json_text(&d->j, "type", "object");
		json_close_object(&d->j);
	}
	if (example)
		json_raw(&d->j, "example", example);
	json_close_object(&d->j);
}

static void other_write(struct json *j, const char *type)
{
	json_open_object(j, type);
	json_open_object(j, "schema");
	json_text(j, "type", "string");
	if (strcmp(type, "application/octet-stream") == 0)
		json_text(j, "format", "binary");
	json_close_object(j);
	json_close_object(j);
}

static void body_write(struct description *d, const struct route *x)
{
	if (!x->body)
		return;
	json_open_object(&d->j, "requestBody");
	json_bool(&d->j, "required", !x->bodiless);
	json_open_object(&d->j, "content");
	content_write(d, x->body, x->example);
	json_close_object(&d->j);
	json_close_object(&d->j);
}

static void answer_write(struct description *d, const struct route *x, int status, const char *text)
{
	char key[8];

	snprintf(key, sizeof key, "%d", status);
	json_open_object(&d->j, key);
	json_text(&d->j, "description", text);
	if (x->keyed) {
		json_open_object(&d->j, "headers");
		json_open_object(&d->j, "Idempotency-Replayed");
		json_text(&d->j, "description", "`true`: the key was used before");
		json_open_object(&d->j, "schema");
		json_text(&d->j, "type", "string");
		json_close_object(&d->j);
		json_close_object(&d->j);
		json_close_object(&d->j);
	}
	if (status != 101) {
		json_open_object(&d->j, "content");
		if (x->type)
			other_write(&d->j, x->type);
		else
			content_write(d, x->answer, x->result);
		if (x->also)
			other_write(&d->j, x->also);
		json_close_object(&d->j);
	}
	json_close_object(&d->j);
}

static void responses_write(struct description *d, const struct route *x)
{
	uint32_t codes = route_codes(x);
	int last = 0;

	json_open_object(&d->j, "responses");
	if (x->status == 201 && x->keyed)
		answer_write(d, x, 200, "The `Idempotency-Key` was used before; this is what the first request made.");
	answer_write(d, x, x->status ? x->status : 200, x->answered ? x->answered : "Done, and on disk.");
	for (enum code i = CODE_BAD_REQUEST; i < CODES; i++) {
		int status = code_row(i)->status;
		char key[8], name[16];
		if (!(codes & UINT32_C(1) << i) || status == last)
			continue;
		snprintf(key, sizeof key, "%d", status);
		snprintf(name, sizeof name, "Error%d", status);
		reference(&d->j, key, "responses", name);
		last = status;
	}
	json_close_object(&d->j);
}

static void operation_write(struct description *d, const struct route *x)
{
	static const char *const may[] = {"user",    "owner", "coordinator", "operator",
					  "manager", "site",  "anyone",	     "visitor"};
	struct json *j = &d->j;
	char method[8] = "";

	for (size_t i = 0; x->method[i]; i++)
		method[i] = (char)(x->method[i] | 0x20);
	json_open_object(j, method);
	json_open_array(j, "tags");
	json_text(j, NULL, x->tag);
	json_close_array(j);
	json_text(j, "operationId", x->id);
	json_text(j, "summary", x->summary);
	if (x->about)
		json_text(j, "description", x->about);
	json_text(j, "x-role", may[x->may]);
	json_bool(j, "x-changes", x->changes);
	if (x->may >= MAY_ANYONE) {
		json_open_array(j, "security");
		json_open_object(j, NULL);
		json_close_object(j);
		json_close_array(j);
	}
	parameters_write(d, x);
	body_write(d, x);
	responses_write(d, x);
	json_close_object(j);
}

static bool is_first(size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (routes[i].id && strcmp(routes[i].path, routes[at].path) == 0)
			return false;
	return true;
}

static void path_write(struct description *d, const char *path)
{
	const struct part *part = part_of(path);
	size_t n = strcspn(path, "*");
	struct strbuf text = {0};

	strbuf_add(&text, path, n);
	if (path[n])
		strbuf_printf(&text, "{%s}%s", part->field.name, path + n + 1);
	json_open_object(&d->j, text.text);
	strbuf_fini(&text);
	if (path[n]) {
		json_open_array(&d->j, "parameters");
		reference(&d->j, NULL, "parameters", part->key);
		json_close_array(&d->j);
	}
	for (size_t i = 0; i < nroutes; i++)
		if (routes[i].id && strcmp(routes[i].path, path) == 0)
			operation_write(d, &routes[i]);
	json_close_object(&d->j);
}

/* ---- the document ---- */

/* Writes the schema of errors: its rows, and all codes. */
static void error_schema_write(struct description *d)
{
	struct field rows[8] = {0};
	struct strbuf words = {0};

	for (enum code i = CODE_BAD_REQUEST; i < CODES; i++)
		strbuf_printf(&words, "%s%s", words.n ? "|" : "", code_row(i)->word);
	for (size_t n = 0; error_schema.fields[n].name; n++) {
		assert(n + 1 < sizeof rows / sizeof *rows);
		rows[n] = error_schema.fields[n];
		if (strcmp(rows[n].name, "code") == 0)
			rows[n].words = words.text;
	}
	json_open_object(&d->j, "ErrorBody");
	properties_write(d, &(struct schema){.fields = rows});
	json_close_object(&d->j);
	strbuf_fini(&words);
	json_raw(&d->j, "Error",
		 "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{\"$ref\":\"#/components/"
		 "schemas/ErrorBody\"}}}");
}

static void error_response_write(struct description *d, int status)
{
	struct strbuf text = {0};
	char key[16];

	snprintf(key, sizeof key, "Error%d", status);
	json_open_object(&d->j, key);
	for (enum code i = CODE_BAD_REQUEST; i < CODES; i++)
		if (code_row(i)->status == status)
			strbuf_printf(&text, "%s`%s`: %s.", text.n ? " " : "", code_row(i)->word, code_row(i)->about);
	json_text(&d->j, "description", text.text);
	strbuf_fini(&text);
	if (status == 429 || status == 503)
		json_raw(&d->j, "headers",
			 "{\"Retry-After\":{\"description\":\"seconds\",\"schema\":{\"type\":\"integer\"}}}");
	json_raw(&d->j, "content", "{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}");
	json_close_object(&d->j);
}

static void components_write(struct description *d)
{
	struct json *j = &d->j;
	int last = 0;

	json_open_object(j, "components");
	json_raw(j, "securitySchemes",
		 "{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\",\"description\":\"from other machines; the local "
		 "socket needs none\"}}");
	json_open_object(j, "parameters");
	parameter_write(d, &shared_key, "key", "header");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		parameter_write(d, &parts[i].field, parts[i].key, "path");
	json_close_object(j);
	json_open_object(j, "responses");
	for (enum code i = CODE_BAD_REQUEST; i < CODES; i++) {
		if (code_row(i)->status != last)
			error_response_write(d, code_row(i)->status);
		last = code_row(i)->status;
	}
	json_close_object(j);
	json_open_object(j, "schemas");
	error_schema_write(d);
	for (size_t i = 0; i < d->named.n; i++) { /* each may add more */
		json_open_object(j, d->named.v[i]->name);
		whole_members(d, d->named.v[i]);
		json_close_object(j);
	}
	json_close_object(j);
	json_close_object(j);
}

static void openapi_write(struct strbuf *out)
{
	struct description d = {0};
	struct json *j = &d.j;

	json_begin(j, out);
	json_text(j, "openapi", "3.0.3");
	json_open_object(j, "info");
	json_text(j, "title", "Shunt");
	json_text(j, "version", "v1");
	json_text(j, "description", about);
	json_raw(j, "license", "{\"name\":\"Apache-2.0\",\"url\":\"https://www.apache.org/licenses/LICENSE-2.0\"}");
	json_close_object(j);
	json_raw(
		j, "servers",
		"[{\"url\":\"http://shunt\",\"description\":\"the UNIX socket; the name of the host does not matter\"},"
		"{\"url\":\"https://{server}:7722\",\"description\":\"from other machines, with a token\",\"variables\":"
		"{\"server\":{\"default\":\"localhost\"}}}]");
	json_raw(j, "security", "[{},{\"token\":[]}]");
	json_open_object(j, "paths");
	for (size_t i = 0; i < nroutes; i++)
		if (routes[i].id && is_first(i))
			path_write(&d, routes[i].path);
	json_close_object(j);
	components_write(&d);
	json_close_object(j);
	vec_free(&d.named);
}

const struct schema openapi_answer = {.open = true}; /* OpenAPI defines its members */

void api_openapi(struct server *s, const struct call *c)
{
	struct strbuf out = {0};

	openapi_write(&out);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}
