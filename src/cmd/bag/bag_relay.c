/*
 * bag_relay.c - `shunt bag relay`: runs on a front end for workers on nodes that cannot reach their
 * broker.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bag/link.h"
#include "bag/relay.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tcp.h"
#include "cmd/lib/commands.h"

struct relay_arguments {
	const char *output;
	int64_t port;
};

#define AT(field) offsetof(struct relay_arguments, field)
static const struct option relay_options[] = {
	OPTION(FILE, 'o', "output", output, "FILE",
	       "write the credential for the worker to FILE; otherwise to CREDENTIAL.relay"),
	OPTION(NUMBER, 0, "port", port, "N", "listen on TCP port N; 0: on a free one", .initial = "0", .max = 65535),
	{0},
};

/* Copies the credential with all secrets, with this host in place of the broker's. */
static int rewrite(const char *from, const char *to, int port, struct credential *ret_broker, struct err *err)
{
	char(*secrets)[SECRET_SIZE] = NULL;
	struct credential c, here = {0};
	struct strbuf text = {0};
	size_t n = 0;
	int rc;

	while ((rc = credential_read(from, (int64_t)n, &c, err)) == 0) {
		secrets = mem_realloc(secrets, n + 1, sizeof *secrets);
		memcpy(secrets[n++], c.secret, SECRET_SIZE);
		*ret_broker = c;
	}
	if (rc == -ENOENT && n > 0) {
		places_here(&here, port);
		memcpy(here.fingerprint, ret_broker->fingerprint, sizeof here.fingerprint);
		credential_put(&here, (const char(*)[SECRET_SIZE])secrets, n, &text);
		rc = credential_write(to, text.text, text.n, err);
		explicit_bzero(text.text, text.n);
	}
	strbuf_fini(&text);
	free(secrets);
	return rc;
}

static int relay(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct relay_arguments *a = arguments;
	struct credential broker;
	struct strbuf to = {0};
	struct err err;
	int port, listener = tcp_listen((int)a->port, &port, &err);

	if (listener < 0)
		return command_fail(c, "%s", err.text);
	strbuf_printf(&to, "%s%s", a->output ? a->output : operands->v[0], a->output ? "" : ".relay");
	int rc = rewrite(operands->v[0], to.text, port, &broker, &err);
	if (rc == 0) {
		printf("Workers join through port %d with the credential %s.\n", port, to.text);
		fflush(stdout);
		rc = relay_run(listener, &broker, &err);
		unlink(to.text);
	}
	close(listener);
	strbuf_fini(&to);
	return rc < 0 ? command_fail(c, "%s", err.text) : EXIT_OK;
}

const struct command command_bag_relay = {
	.name = "bag relay",
	.operands = "CREDENTIAL",
	.operand_kind = OPTION_FILE,
	.about = "Let workers join a broker that their nodes can't reach.",
	.details =
		"Run it on a host that reaches both the broker and the nodes, such as the front end of a cluster, with a credential from 'shunt bag run --invite'. It writes another one, which names this host, "
		"and carries what workers and broker send each other, which it can't read. It ends with the bag, and removes that credential.",
	.examples = EXAMPLES({"shunt bag relay worker-1.key",
			      "On the front end; then, on a node: shunt bag worker --credential worker-1.key.relay"}),
	OPTIONS(struct relay_arguments, relay_options),
	.run = relay,
	.alone = true,
};
