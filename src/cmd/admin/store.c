/*
 * store.c - `shunt store copy`: runs the server's own program, since it knows the stores.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"

struct arguments {
	bool json;
};

static const struct option options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct arguments, json), NULL,
		   "print what was copied as JSON: rows and hash of each table"),
	{0},
};

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct strbuf program = {0};

	if (!program_find("shuntd", &program))
		return command_fail(
			c, "shuntd is not found beside this program nor in $PATH: install it ('make install')");

	const char *word[] = {program.text, "--copy-store", operands->v[0], operands->v[1], a->json ? "--json" : NULL,
			      NULL};
	fflush(stdout);
	execv(program.text, (char *const *)word);
	return command_fail(c, "%s: %s", program.text, strerror(errno));
}

static const char *const examples[] = {
	"shunt store copy /var/lib/shunt/shunt.db postgres://shunt@db.example.org/shunt",
	"From SQLite to PostgreSQL, as the user shunt. A password is read from ~/.pgpass.",
	"shunt store copy postgres:///shunt /var/lib/shunt/shunt.db",
	"And back.",
	"shunt store copy conf:/etc/shunt/shunt.conf conf:new.conf",
	"From the store of one configuration file to that of another.",
	NULL,
};

const struct command command_store_copy = {
	.name = "store copy",
	.operands = "FROM TO",
	.operand_kind = OPTION_FILE,
	.operands_min = 2,
	.operands_max = 2,
	.about = "Copy everything that a server keeps to a new store: SQLite, PostgreSQL.",
	.details =
		"FROM and TO are what 'store' in the configuration file takes: sqlite:PATH, PATH, or postgres://...; or conf:FILE, the store of a configuration file. "
		"Jobs, nodes, queues, tokens and the cluster's authority are copied, so no node needs to join again. Stop the server first: a store that a server uses is refused. TO must be new. "
		"At the end all tables of both are read and compared. If the copy is interrupted, no server opens TO; run the command again, and it starts over. "
		"Never put a password into a URL on a command line: use ~/.pgpass, PGPASSFILE or conf:FILE. Exit code: 0 if the stores have the same contents, 1 otherwise.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
	.alone = true,
};
