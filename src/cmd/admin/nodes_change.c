/*
 * nodes_change.c - `shunt nodes offline`, `drain`, `online`, `set` and `remove`, for
 * administrators. Nodes may be written as lists: n[1-4].
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/timetext.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"
#include "core/speed.h"

/* Sends a request for each node of the lists; `path` is a format of api_path(). Consumes `body`. */
static int nodes_each(const struct command *c, char *const *word, int n, const char *method, const char *path,
		      json_t *body)
{
	struct change ch = {0};
	struct err err;

	if (!change_open(&ch, c))
		n = 0;
	for (int i = 0; i < n; i++) {
		name_list names = {0};
		if (hostlist_parse(word[i], &names, &err) < 0)
			ch.code = command_fail(c, "%s", err.text);
		for (size_t k = 0; k < names.n; k++)
			change_ask(&ch, method, api_path(path, names.v[k]), body, NULL, NULL);
		name_list_free(&names);
	}
	json_decref(body);
	return ch.client && change_close(&ch) == EXIT_OK ? EXIT_OK : EXIT_FAILED;
}

/* ---- offline, drain, online ---- */

/* The arguments of all commands here; each has options for some of them. */
struct arguments {
	const char *at, *note;
	bool force;
};

#define AT(field) offsetof(struct arguments, field)
#define NOTE OPTION(TEXT, 'm', "note", note, "TEXT", "why: shown with the node until it is online again")
#define FORCE FLAG(0, "force", force, "even if that breaks guaranteed deadlines")

static const struct option offline_options[] = {NOTE, FORCE, {0}};
static const struct option drain_options[] = {
	OPTION(TEXT, 0, "at", at, "TIME", "when: 18:00, 2026-11-20T18:00 or +2h; without it: at once"),
	NOTE,
	FORCE,
	{0},
};

/* Also `offline`, which has no --at. */
static int drain(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct err err;
	int64_t at = 0;

	if (a->at && instant_parse(a->at, (int64_t)time(NULL), &at, &err) < 0)
		return command_misused(c, "--at %s: %s", a->at, err.text);
	json_t *body = a->at ? json_pack("{s:I}", "drain_at", (json_int_t)at) : json_pack("{s:b}", "offline", true);
	if (a->force)
		json_object_set_new(body, "force", json_true());
	if (a->note)
		json_object_set_new(body, "note", json_string(a->note));
	return nodes_each(c, operands->v, operands->n, "PATCH", "/v1/nodes/%s", body);
}

const struct command command_nodes_offline = {
	.name = "nodes offline",
	.operands = "NODE...",
	.about = "Take nodes out of service: running jobs continue, and no others start.",
	.details = "It holds until 'shunt nodes online', also when the server or the node is restarted.",
	.examples = EXAMPLES(
		{"shunt nodes offline n[3-5] -m 'new disks'", "No job starts on these three; running jobs continue."}),
	OPTIONS(struct arguments, offline_options),
	.run = drain,
};

const struct command command_nodes_drain = {
	.name = "nodes drain",
	.operands = "NODE...",
	.about = "Take nodes out of service at a given time: no job starts there that would run longer.",
	.details =
		"Jobs that are running there continue, even beyond that time. 'shunt nodes online' cancels it, before and after; 'shunt "
		"nodes' and 'shunt plan' show the time, and 'shunt why' names it if a job waits because of it.",
	.examples = EXAMPLES({"shunt nodes drain n[3-5] --at 18:00 -m 'new disks'",
			      "Until six jobs start there if they end by then; afterwards none does."}),
	OPTIONS(struct arguments, drain_options),
	.run = drain,
};

static int online(const struct command *c, const void *arguments, const struct operands *operands)
{
	return nodes_each(c, operands->v, operands->n, "PATCH", "/v1/nodes/%s",
			  json_pack("{s:b,s:n}", "offline", false, "note"));
}

const struct command command_nodes_online = {
	.name = "nodes online",
	.operands = "NODE...",
	.about = "Put nodes back into service, and remove their notes.",
	.examples = EXAMPLES({"shunt nodes online n[3-5]", "Jobs may start there again."}),
	.run = online,
};

/* ---- set ---- */

/* Returns "fast,ib" as a list; "" is an empty one. */
static json_t *list_of(const char *text)
{
	json_t *list = json_array();

	for (const char *p = text; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		if (n)
			json_array_append_new(list, json_stringn(p, n));
		p += n;
	}
	return list;
}

/* Adds NAME=VALUE to the body. Returns false if it is not a known setting. */
static bool setting_add(json_t *body, const char *word)
{
	const char *value = strchr(word, '=') + 1;
	size_t n = (size_t)(value - word) - 1;
	char name[32], *end;
	struct err err;
	uint32_t speed;
	long long number = strtoll(value, &end, 10);

	snprintf(name, sizeof name, "%.*s", (int)n, word);
	if (strcmp(name, "features") == 0)
		json_object_set_new(body, name, list_of(value));
	else if (strcmp(name, "class") == 0 || strcmp(name, "note") == 0 || strcmp(name, "workstation") == 0)
		json_object_set_new(body, name, *value ? json_string(value) : json_null());
	else if ((strcmp(name, "cpus") == 0 || strcmp(name, "gpus") == 0) && *value && !*end)
		json_object_set_new(body, name, json_integer(number));
	else if (strcmp(name, "speed") == 0 && speed_parse(*value ? value : "1", &speed, &err) == 0)
		json_object_set_new(body, name, json_real((double)speed / SPEED_USUAL));
	else if (strcmp(name, "shared") == 0 && (!*value || truth_of(value) >= 0))
		json_object_set_new(body, name, json_boolean(*value && truth_of(value)));
	else
		return false;
	return true;
}

static const struct option set_options[] = {FORCE, {0}};

static int set(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	char **node = calloc((size_t)operands->n, sizeof *node);
	json_t *body = json_object();
	int n = 0, code = EXIT_OK;

	for (int i = 0; i < operands->n && code == EXIT_OK; i++)
		if (!strchr(operands->v[i], '='))
			node[n++] = operands->v[i];
		else if (!setting_add(body, operands->v[i]))
			code = command_misused(
				c,
				"\"%s\": use class=NAME, features=A,B, note=TEXT, cpus=N, gpus=N, speed=N (0.001 to 1000), shared=true|false or workstation=POLICY",
				operands->v[i]);
	if (code == EXIT_OK && (n == 0 || json_object_size(body) == 0))
		code = command_misused(c, "%s is missing", n == 0 ? "NODE" : "NAME=VALUE");
	if (a->force)
		json_object_set_new(body, "force", json_true());
	if (code == EXIT_OK)
		code = nodes_each(c, node, n, "PATCH", "/v1/nodes/%s", json_incref(body));
	json_decref(body);
	free(node);
	return code;
}

const struct command command_nodes_set = {
	.name = "nodes set",
	.operands = "NODE... NAME=VALUE...",
	.about =
		"Change nodes: class, features, note, speed, how many of their CPUs and GPUs jobs may use, whether jobs with a budget share their CPUs, and whether they are workstations.",
	.details = "An empty value removes a class, the features, a note or the policy of a workstation.",
	.examples = EXAMPLES(
		{"shunt nodes set n3 class=big features=fast,ib", "Jobs may ask for it by these words: -l nodes=1:ib."},
		{"shunt nodes set n3 cpus=12", "Give jobs twelve of its CPUs only."},
		{"shunt nodes set n4 shared=true",
		 "Divide its CPUs among jobs with a budget, in shares (docs/libra.md)."},
		{"shunt nodes set n5 'workstation=idle; quiet=5m'",
		 "Its owner comes first: jobs stop at the first key press, and continue after five quiet minutes (docs/workstations.md)."}),
	OPTIONS(struct arguments, set_options),
	.run = set,
};

/* ---- remove ---- */

static const struct option remove_options[] = {
	FLAG(0, "force", force,
	     "also if jobs run there (rerunnable ones are queued again, others fail), or if that breaks guaranteed deadlines"),
	{0},
};

static int remove_them(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;

	return nodes_each(c, operands->v, operands->n, "DELETE", a->force ? "/v1/nodes/%s?force=1" : "/v1/nodes/%s",
			  NULL);
}

const struct command command_nodes_remove = {
	.name = "nodes remove",
	.operands = "NODE...",
	.about = "Remove machines that have joined: their certificates are revoked.",
	.details =
		"Nodes of the configuration file are removed there. To come back a machine joins again, with a new token.",
	.examples = EXAMPLES({"shunt nodes remove n3", "Its certificate is worth nothing from now on."}),
	OPTIONS(struct arguments, remove_options),
	.run = remove_them,
};
