/*
 * page.c - `shunt page`: prints a link that opens the page in a browser, signed in.
 */
#include <stdio.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"
#include "cmd/lib/object.h"
#include "cmd/lib/show.h"

static const struct option page_options[] = {{0}};

static int page(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct client *client;
	struct reply r = {0};
	struct err err;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	if (client_ask(client, "POST", "/v1/page", NULL, 0, &r, &err) < 0)
		code = command_fail(c, "%s", err.text);
	else
		printf("%s\n", object_text(r.json, "url"));
	reply_fini(&r);
	client_close(client);
	return code;
}

/* Prints the link at the end of `shunt up`; nothing if there is no page: `shunt page` says why. */
void page_print(const struct where *w)
{
	struct client *client;
	struct reply r = {0};
	struct err err;

	if (server_open(w, &client, &err) == 0) {
		client_patience(client, 0);
		if (client_ask(client, "POST", "/v1/page", NULL, 0, &r, &err) == 0)
			printf("\nOr use a browser; this link signs you in once ('shunt page' prints another):\n  %s\n",
			       object_text(r.json, "url"));
		reply_fini(&r);
		client_close(client);
	}
}

const struct command command_page = {
	.name = "page",
	.about = "Print a link that opens the page in a browser and signs you in.",
	.details =
		"The page shows the cluster, its jobs and their output, and submits jobs. The link works once, within ten "
		"minutes. That of your own server works only in a browser on this machine; from elsewhere, forward the port over ssh: "
		"ssh -L PORT:127.0.0.1:PORT HOST.",
	.examples = EXAMPLES({"shunt page", "Print a link; open it in a browser on this machine."},
			     {"shunt page --cluster pine", "The same for a cluster that you are logged in to."}),
	.options = page_options,
	.size = 1,
	.run = page,
};
