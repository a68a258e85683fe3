/*
 * store.c - `shunt store copy`, `shunt backup` and `shunt restore`: they run the server's own
 * program, since it knows the stores.
 */
#include <stdio.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"

#define SYSTEM_BACKUPS "/var/backups/shunt"

struct arguments {
	bool json, system;
	int64_t keep;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	FLAG(0, "json", json, "print what was copied as JSON: rows and hash of each table"),
	{0},
};

#define SYSTEM_ROW FLAG(0, "system", system, "the system's server, even if you have one of your own")

static const struct option backup_options[] = {
	SYSTEM_ROW,
	OPTION(NUMBER, 0, "keep", keep, "N", "remove older backups in that directory, all but the newest N", .min = 1,
	       .max = 1000000),
	FLAG(0, "json", json, "print what was copied as JSON: rows and hash of each table"),
	{0},
};

static const struct option restore_options[] = {
	SYSTEM_ROW,
	FLAG(0, "json", json, "print what was copied as JSON: rows and hash of each table"),
	{0},
};

static int instance_find(const struct arguments *a, struct where *ret, struct err *err)
{
	return a->system ? where_system(ret, err) : where_find(ret, err);
}

static int copy_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;

	return program_become(
		c, "shuntd",
		(const char *const[]){"--copy-store", operands->v[0], operands->v[1], a->json ? "--json" : NULL, NULL},
		NULL);
}

static int backup_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	char dir[WHERE_PATH + 16], keep[40];
	struct where w;
	struct err err;

	if (instance_find(a, &w, &err) < 0)
		return command_fail(c, "%s", err.text);
	snprintf(dir, sizeof dir, "%s", operands->n ? operands->v[0] : SYSTEM_BACKUPS);
	if (!operands->n && !w.system)
		snprintf(dir, sizeof dir, "%s/backups", w.state);
	snprintf(keep, sizeof keep, "--keep=%lld", a->keep > 0 ? (long long)a->keep : 0);
	return program_become(c, "shuntd",
			      (const char *const[]){"--backup", dir, keep, w.system ? "--system" : "--foreground",
						    a->json ? "--json" : NULL, NULL},
			      NULL);
}

static int restore_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct where w;
	struct err err;

	if (instance_find(a, &w, &err) < 0)
		return command_fail(c, "%s", err.text);
	return program_become(c, "shuntd",
			      (const char *const[]){"--restore", operands->v[0], w.system ? "--system" : "--foreground",
						    a->json ? "--json" : NULL, NULL},
			      NULL);
}

const struct command command_store_copy = {
	.name = "store copy",
	.operands = "FROM TO",
	.operand_kind = OPTION_FILE,
	.about = "Copy everything that a server keeps to a new store: SQLite, PostgreSQL.",
	.details =
		"FROM and TO are what 'store' in the configuration file takes: sqlite:PATH, PATH, or postgres://...; or conf:FILE, the store of a configuration file. "
		"Jobs, nodes, queues, tokens and the cluster's authority are copied, so no node needs to join again. Stop the server first: a store that a server uses is refused. TO must be new. "
		"At the end all tables of both are read and compared. If the copy is interrupted, no server opens TO; run the command again, and it starts over. "
		"Never put a password into a URL on a command line: use ~/.pgpass, PGPASSFILE or conf:FILE. Exit code: 0 if the stores have the same contents, 1 otherwise.",
	.examples = EXAMPLES({"shunt store copy /var/lib/shunt/shunt.db postgres://shunt@db.example.org/shunt",
			      "From SQLite to PostgreSQL, as the user shunt. A password is read from ~/.pgpass."},
			     {"shunt store copy postgres:///shunt /var/lib/shunt/shunt.db", "And back."},
			     {"shunt store copy conf:/etc/shunt/shunt.conf conf:new.conf",
			      "From the store of one configuration file to that of another."}),
	OPTIONS(struct arguments, options),
	.run = copy_run,
	.alone = true,
};

const struct command command_backup = {
	.name = "backup",
	.operands = "[DIRECTORY]",
	.operand_kind = OPTION_DIR,
	.about = "Write everything that the server keeps to a file; the server may run.",
	.details =
		"The file is DIRECTORY/shunt-TIME.db (UTC), by default in " SYSTEM_BACKUPS
		" for a system's server, as root, and in 'backups' in the state for one of your own. It holds jobs, events, scripts, settings, nodes, "
		"tokens and the cluster's authority as they were at one instant, and is checked at the end: keep it as you would a password. It is a store in SQLite's "
		"format even if the server uses PostgreSQL. 'shunt restore' puts it back. The configuration file, accounting files and users' output are not in it.",
	.examples = EXAMPLES({"shunt backup --system --keep 14", "Once a day from a timer: the backups of two weeks."},
			     {"shunt backup /mnt/safe", "To another disk."}),
	OPTIONS(struct arguments, backup_options),
	.run = backup_run,
	.alone = true,
};

const struct command command_restore = {
	.name = "restore",
	.operands = "FILE",
	.operand_kind = OPTION_FILE,
	.about = "Replace everything that the server keeps by the contents of a backup.",
	.details =
		"Stop the server first. A store in SQLite is kept beside the new one, as shunt.db.before-TIME; a PostgreSQL database must be empty (dropdb, createdb). "
		"Jobs that have ended since the backup are run again, those accepted since are gone: docs/admin-guide.md, 'Backup and restore', has what else to mind.",
	.examples = EXAMPLES({"shunt restore --system /var/backups/shunt/shunt-20261118T020000Z.db",
			      "After 'systemctl stop shunt', as root."}),
	OPTIONS(struct arguments, restore_options),
	.run = restore_run,
	.alone = true,
};
