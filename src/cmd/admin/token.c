/*
 * token.c - `shunt token create`, `list`, `revoke`: tokens with which a machine joins, or a user of
 * another machine logs in.
 *
 * It prints the command for the other machine, and the token that the command asks for: the secret
 * is shown only this once.
 */

#include "base/timetext.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

struct create_arguments {
	bool join, login, json;
	int64_t expires, uses;
	const char *name, *user, *label, *site;
};

#define AT(field) offsetof(struct create_arguments, field)
static const struct option create_options[] = {
	FLAG(0, "join", join,
	     "for a machine that becomes a node ('shunt join'); this is what is made if nothing is said"),
	FLAG(0, "login", login, "for a user who works from another machine ('shunt login')"),
	OPTION(TEXT, 0, "site", site, "NAME",
	       "for another Shunt server, which hands jobs over to this one ('shunt site add'); NAME is what it is called here"),
	OPTION(SECONDS, 0, "expires", expires, "TIME",
	       "how long it is valid: 1h for a machine, 30d for a user, 365d for a site if not given"),
	OPTION(NUMBER, 0, "uses", uses, "N", "let N machines join with it; default: one", .min = 1, .max = 10000),
	OPTION(TEXT, 0, "name", name, "NODE", "the machine can join as this node only"),
	OPTION(TEXT, 0, "user", user, "USER", "with --login: for that user instead of yourself (for managers)"),
	OPTION(TEXT, 0, "label", label, "TEXT", "a note that 'shunt token list' shows"),
	FLAG(0, "json", json, "print JSON"),
	{0},
};

static json_t *create_body(const struct create_arguments *a)
{
	json_t *body = json_object();

	json_object_set_new(body, "kind", json_string(a->login ? "login" : a->site ? "site" : "join"));
	if (a->expires >= 0)
		json_object_set_new(body, "expires", json_integer(a->expires));
	if (a->uses >= 0)
		json_object_set_new(body, "uses", json_integer(a->uses));
	if (a->name || a->site)
		json_object_set_new(body, "name", json_string(a->site ? a->site : a->name));
	if (a->user)
		json_object_set_new(body, "user", json_string(a->user));
	if (a->label)
		json_object_set_new(body, "label", json_string(a->label));
	return body;
}

static void create_print(const struct create_arguments *a, const json_t *t)
{
	const char *id = object_text(t, "id"), *user = object_text(t, "user");
	char until[40];

	instant_format(object_number(t, "expires", 0), until, sizeof until);
	/* Two separate lines: others could read a token on a command line. */
	if (a->site)
		printf("On the server of site %s, run as a manager:\n\n    shunt site add NAME --server %s\n\n"
		       "NAME is what its users write after the @ of a queue of this server.\n",
		       a->site, object_text(t, "server"));
	else if (a->login)
		printf("On the other machine, run as %s:\n\n    shunt login %s\n\n", user, object_text(t, "server"));
	else
		printf("On the new node, run as root:\n\n    shunt join %s\n\n", object_text(t, "server"));
	printf("It asks for this token:\n\n    %s\n\n", object_text(t, "token"));
	if (a->login || a->site)
		printf("The token is valid until %s. ", until);
	else if (a->uses > 1)
		printf("%lld machines can join with it until %s. ", (long long)a->uses, until);
	else
		printf("One machine can join with it until %s. ", until);
	printf("Revoke it earlier with 'shunt token revoke %s'.\n", id);
}

static int create(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct create_arguments *a = arguments;
	int code;

	if (a->join + a->login + (a->site != NULL) > 1)
		return command_misused(c, "--join, --login or --site, not several of them");
	if ((a->login || a->site) && (a->uses >= 0 || a->name))
		return command_misused(c, "--uses and --name are for machines that join");
	if (!a->login && a->user)
		return command_misused(c, "--user goes with --login");
	json_t *answer = show_ask(c, "/v1/tokens", create_body(a), &code);
	if (answer && a->json)
		show_json(answer);
	else if (answer)
		create_print(a, answer);
	json_decref(answer);
	return code;
}

const struct command command_token_create = {
	.name = "token create",
	.about = "Create a token for a machine that joins, or a user who logs in.",
	.details =
		"The token is shown this once. It holds the fingerprint of the cluster's authority, by which the other machine knows "
		"that it talks to this server and to no other. Hand it over as you would a password.",
	.examples = EXAMPLES(
		{"shunt token create", "As a manager: prints what to run on a machine that is to become a node."},
		{"shunt token create --uses 16 --expires 2h", "For sixteen machines, within two hours."},
		{"shunt token create --login --expires 7d",
		 "Prints what to type on another machine, to work from there as yourself."}),
	OPTIONS(struct create_arguments, create_options),
	.run = create,
};

/* ---- list ---- */

static const struct option list_options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL, "print JSON"),
	{0},
};

static void cell_when(const json_t *token, const char *key, struct strbuf *cell)
{
	if (object_number(token, key, 0))
		cell_near(token, key, cell);
	else
		strbuf_puts(cell, "never");
}

static void cell_uses(const json_t *token, const char *key, struct strbuf *cell)
{
	int64_t uses = object_number(token, key, -1);

	if (uses >= 0)
		strbuf_int(cell, uses);
}

static void cell_note(const json_t *token, const char *key, struct strbuf *cell)
{
	const char *label = object_text(token, "label"), *name = object_text(token, "name");

	strbuf_printf(cell, "%s%s%s%s", *name ? "for " : "", name, *name && *label ? ": " : "", label);
}

static const struct listing_column token_columns[] = {
	{"id", "id", .make = cell_plain},
	{"kind", "kind", .make = cell_plain},
	{"user", "user", .make = cell_plain},
	{"made", "created", .make = cell_near},
	{"expires", "expires", .make = cell_near},
	{">uses left", "uses", .make = cell_uses},
	{"last used", "used", .make = cell_when},
	{"~note", "label", .make = cell_note},
	{0},
};

const struct command command_token_list = {
	.name = "token list",
	.about = "List your tokens, or all as a manager. Secrets are never shown.",
	OPTIONS(struct show_arguments, list_options),
	.run = listing_run,
	.listing = &(const struct listing){.path = "/v1/tokens", .key = "tokens", .columns = token_columns, .none = ""},
};

/* ---- revoke ---- */

static int revoke(const struct command *c, const void *arguments, const struct operands *operands)
{
	return change_delete(c, "tokens", operands);
}

const struct command command_token_revoke = {
	.name = "token revoke",
	.operands = "ID...",
	.about = "Revoke tokens, with effect at once.",
	.details =
		"A node that has joined stays one ('shunt nodes remove' ends that); its jobs and those of a user continue.",
	.examples = EXAMPLES({"shunt token revoke u7", "Nobody can use it from now on."}),
	.run = revoke,
};
