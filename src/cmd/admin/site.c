/*
 * site.c - `shunt site add`, `list`, `remove`: other servers to which jobs can be moved; and `shunt
 * courier`, which the server starts to talk to them.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "cmd/admin/courier.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "tls/pki.h"

struct add_arguments {
	const char *server, *token;
};

#define AT(field) offsetof(struct add_arguments, field)
static const struct option add_options[] = {
	OPTION(TEXT, 0, "server", server, "HOST[:PORT]",
	       "where the site's server is reached; several joined by blanks"),
	OPTION(TEXT, 0, "token", token, "TOKEN",
	       "the token that the site made for this one; without it, or with -, it is asked for, or read from standard input"),
	{0},
};

static int add(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct add_arguments *a = arguments;
	char *asked = NULL;
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
	int code = change_one(c, "PUT", api_path("/v1/sites/%s", o->v[0]), body);
	if (code == EXIT_OK)
		printf("Jobs can be handed over to site %s: qsub -q QUEUE@%s\n", o->v[0], o->v[0]);
	return code;
}

const struct command command_site_add = {
	.name = "site add",
	.operands = "NAME",
	.about = "Let jobs be handed over to another Shunt server.",
	.details =
		"NAME is what users write after the @ of a queue. Adding a site that is there already changes its servers and its token.",
	.examples = EXAMPLES(
		{"shunt site add east --server east.example.org:7722",
		 "As a manager: jobs can be submitted to QUEUE@east. Asks for the token that 'shunt token create --site' printed there."}),
	OPTIONS(struct add_arguments, add_options),
	.run = add,
};

static const struct listing sites = {
	.path = "/v1/sites",
	.key = "sites",
	.columns = (const struct listing_column[]){{"name", "name", .make = cell_plain},
						   {"server", "servers", .make = cell_plain},
						   {">jobs", "jobs", .make = cell_plain},
						   {0}},
	.none = "No sites. 'shunt site add' adds one that jobs can be handed over to.",
};

const struct command command_site_list = {
	.name = "site list",
	.about = "List the sites that jobs can be handed over to, with the number of this server's jobs there.",
	OPTIONS(struct show_arguments, show_options),
	.run = listing_run,
	.listing = &sites,
};

static int remove_site(const struct command *c, const void *arguments, const struct operands *o)
{
	return change_one(c, "DELETE", api_path("/v1/sites/%s", o->v[0]), NULL);
}

const struct command command_site_remove = {
	.name = "site remove",
	.operands = "NAME",
	.about = "Remove a site, once none of this server's jobs are there.",
	.run = remove_site,
};

/* ---- the courier ---- */

#define REST_MS 500
#define IDLE_ROUNDS 20 /* rounds without a job after which it ends */

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
		n = courier_round(&k);
		idle = n == 0 ? idle + 1 : 0;
	}
	courier_fini(&k);
	return EXIT_OK;
}

const struct command command_courier = {
	.name = "courier",
	.operands = "SOCKET",
	.about = "Hand jobs over to other sites. The server starts it.",
	.run = courier,
	.hidden = 1,
	.alone = true,
};
