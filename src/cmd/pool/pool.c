/*
 * pool.c - `shunt pool`: a pool of workstations without a server. The program shunt-pool does
 * everything that needs TLS.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "cmd/pool/pool_wire.h"

#define STOP_MS 10000 /* time for a daemon to stop */

struct arguments {
	const char *name, *pool, *listen, *owner, *policy, *k1, *k2, *user, *cgroup, *speed, *token_file;
	int64_t interval, lease, gossip_from, cpus, valid;
	bool foreground, no_start, no_multicast;
};

#define AT(field) offsetof(struct arguments, field)
#define POLICIES "round-robin fi fim fi/p fim/p two-level ours"
#define WORKING                                                                                                        \
	OPTION(TEXT, 0, "listen", listen, "WHERE", "take links at this port or ADDRESS:PORT; 7724 if not given"),      \
		OPTION(WORD, 0, "policy", policy, "NAME",                                                              \
		       "place tasks of this machine by this policy; fim/p if not given", .words = POLICIES),           \
		OPTION(TEXT, 0, "k1", k1, "K",                                                                         \
		       "weight of the owner's interactive processes in two-level; 1 if not given"),                    \
		OPTION(TEXT, 0, "k2", k2, "K", "weight of the owner's batch processes in two-level; 2 if not given"),  \
		OPTION(NUMBER, 0, "cpus", cpus, "N",                                                                   \
		       "run at most N tasks at a time; as many as there are processors if not given", .min = 1,        \
		       .max = 65536),                                                                                  \
		OPTION(TEXT, 0, "speed", speed, "X", "the speed of a processor; measured if not given"),               \
		OPTION(NUMBER, 0, "interval-ms", interval, "MS", "exchange loads at this interval; 1000 if not given", \
		       .min = 10, .max = 3600000),                                                                     \
		OPTION(NUMBER, 0, "lease-ms", lease, "MS",                                                             \
		       "start a task elsewhere when its station has been silent for that long; 15000 if not given",    \
		       .min = 100, .max = 3600000),                                                                    \
		OPTION(NUMBER, 0, "gossip-from", gossip_from, "N",                                                     \
		       "with more than N stations, send loads to some that pass them on; 50 if not given", .min = 1,   \
		       .max = 20000),                                                                                  \
		OPTION(TEXT, 0, "owner", owner, "POLICY",                                                              \
		       "when tasks may run: idle, share, 'hours=Mon-Fri 08:00-18:00', none; idle if not given",        \
		       .words = "idle share none"),                                                                    \
		FLAG(0, "no-multicast", no_multicast, "neither look for stations in this network nor be found"),       \
		OPTION(TEXT, 0, "user", user, "NAME", "as root: run tasks as this user; nobody if not given"),         \
		OPTION(DIR, 0, "cgroup", cgroup, "DIR",                                                                \
		       "measure the load and the quota of this control group, not the machine's"),                     \
		FLAG(0, "foreground", foreground, "stay, and log to standard error")

static const struct option create_options[] = {
	OPTION(TEXT, 0, "name", name, "STATION", "name of this station; if not given: the host's"),
	OPTION(TEXT, 0, "pool", pool, "NAME", "name of the pool; if not given: the station's"),
	FLAG(0, "no-start", no_start, "don't start the daemon"),
	WORKING,
	{0},
};
static const struct option join_options[] = {
	OPTION(TEXT, 0, "name", name, "STATION", "name of this station; if not given: the host's"),
	OPTION(FILE, 0, "token-file", token_file, "FILE", "read the token from FILE"),
	FLAG(0, "no-start", no_start, "don't start the daemon"),
	WORKING,
	{0},
};
static const struct option start_options[] = {WORKING, {0}};
static const struct option token_options[] = {
	OPTION(SECONDS, 0, "valid", valid, "DURATION", "how long it can be used", .initial = "24:00:00"),
	{0},
};

/* ---- commands run by shunt-pool ---- */

/* Runs the command of the same name, without "pool ". */
static int pass_on(const struct command *c, const void *arguments, const struct operands *operands)
{
	const char *what = c->name + strlen("pool "), *words[] = {what, operands->n ? operands->v[0] : NULL, NULL};

	return program_become(c, "shunt-pool", words, arguments);
}

static int start(const struct command *c, const void *arguments, const struct operands *operands)
{
	return program_become(c, "shunt-pool", (const char *const[]){"run", NULL}, arguments);
}

/* ---- requests to the daemon ---- */

/* Sends a request, consuming `head`. *ret is NULL if there was no answer. */
static int ask(const struct command *c, json_t *head, json_t **ret)
{
	struct pool_wire w;
	const char *data;
	struct err err;
	size_t n;
	int rc = 0;

	*ret = NULL;
	if (pool_wire_open(&w, &err) < 0) {
		pool_wire_close(&w);
		json_decref(head);
		return command_fail(c, "%s", err.text);
	}
	if (pool_wire_send(&w, head, NULL, 0) == 0)
		while ((rc = pool_wire_fill(&w)) > 0 && (rc = pool_wire_next(&w, ret, &data, &n)) == 0)
			;
	pool_wire_close(&w);
	return EXIT_OK;
}

static void cell_age(const json_t *station, const char *key, struct strbuf *cell)
{
	int64_t age = object_number(station, key, -1);

	if (age < 0)
		strbuf_puts(cell, "-");
	else
		strbuf_printf(cell, "%.1f s", (double)age / 1000);
}

static void cell_idle(const json_t *station, const char *key, struct strbuf *cell)
{
	strbuf_printf(cell, "%.0f%%", 100 * json_number_value(json_object_get(station, key)));
}

static void cell_owner(const json_t *station, const char *key, struct strbuf *cell)
{
	cell_plain(station, "interactive", cell);
	strbuf_char(cell, '+');
	cell_plain(station, "batch", cell);
}

static const struct listing_column station_columns[] = {
	{"Station", "name", .make = cell_plain},    {"State", "state", .make = cell_plain},
	{">Age", "age_ms", .make = cell_age},	    {">Speed", "speed", .format = "%.2f"},
	{">Idle", "idle", .make = cell_idle},	    {">Tasks", "ours", .make = cell_plain},
	{">Owner", "batch", .make = cell_owner},    {">CPUs", "cpus", .make = cell_plain},
	{">Memory", "memory", .make = cell_memory}, {"Arch", "arch", .make = cell_plain},
	{"~Where", "where", .make = cell_plain},    {0},
};

static int status(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct show_arguments *a = arguments;
	json_t *o;
	int code = ask(c, json_pack("{s:s}", "t", "status"), &o);

	if (code == EXIT_OK && !o)
		code = command_fail(c, "the pool's daemon does not answer");
	if (code == EXIT_OK && a->json) {
		json_object_del(o, "t");
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (code == EXIT_OK) {
		long long tasks = object_number(o, "tasks", 0), waiting = object_number(o, "waiting", 0);
		printf("Pool %s, station %s, policy %s: %lld task%s or wait%s here, %lld of this machine's wait%s for a station.\n",
		       object_text(o, "pool"), object_text(o, "name"), object_text(o, "policy"), tasks,
		       tasks == 1 ? " runs" : "s run", tasks == 1 ? "s" : "", waiting, waiting == 1 ? "s" : "");
		listing_print(json_object_get(o, "stations"), station_columns, NULL);
	}
	json_decref(o);
	return code;
}

/* Waits until the daemon has ended, which holds a lock until then. Returns false if it lives on. */
static bool end_await(void)
{
	struct pool_home h;
	struct strbuf path = {0};
	int fd = -1;
	bool ended = true;

	if (pool_home_find(&h, NULL) == 0) {
		pool_home_path(&h, "lock", &path);
		fd = open(path.text, O_RDONLY | O_CLOEXEC);
	}
	for (int i = 0; fd >= 0 && !(ended = flock(fd, LOCK_SH | LOCK_NB) == 0) && i < STOP_MS / 20; i++)
		poll(NULL, 0, 20);
	if (fd >= 0)
		close(fd);
	strbuf_fini(&path);
	return ended;
}

static int stop(const struct command *c, const void *arguments, const struct operands *operands)
{
	json_t *o;
	int code = ask(c, json_pack("{s:s}", "t", "stop"), &o);

	json_decref(o);
	if (code == EXIT_OK && !end_await())
		code = command_fail(c, "the pool's daemon has not stopped in %d s; try again", STOP_MS / 1000);
	if (code == EXIT_OK)
		puts("The pool's daemon has stopped. Its tasks are started on other stations.");
	return code;
}

struct pause_arguments {
	int64_t seconds;
};

/* Gives the daemon an order. On failure prints the reason and sets *ret to NULL. */
static int answer(const struct command *c, json_t *head, json_t **ret)
{
	const char *error;
	int code = ask(c, head, ret);

	error = json_string_value(json_object_get(*ret, "error"));
	if (code == EXIT_OK && (!*ret || error))
		code = command_fail(c, "%s", error ? error : "the pool's daemon does not answer");
	if (code != EXIT_OK) {
		json_decref(*ret);
		*ret = NULL;
	}
	return code;
}

static int order(const struct command *c, json_t *head, const char *done)
{
	json_t *o;
	int code = answer(c, head, &o);

	if (code == EXIT_OK)
		puts(done);
	json_decref(o);
	return code;
}

static int pause_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct pause_arguments *a = arguments;

	json_int_t until = a->seconds > 0 ? (json_int_t)time(NULL) + a->seconds : INT64_MAX;

	return order(c, json_pack("{s:s,s:I}", "t", "pause", "until", until),
		     "Paused: tasks of the pool stand still here. 'shunt pool resume' ends it.");
}

static int resume_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return order(c, json_pack("{s:s,s:i}", "t", "pause", "until", 0), "Resumed: tasks of the pool may run here.");
}

static int remove_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return order(
		c, json_pack("{s:s,s:s}", "t", "remove", "name", operands->v[0]),
		"Removed: it can place no tasks and gets none. All stations hear of it, those that are off when they are back.");
}

static int renew_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	char when[32];
	json_t *o;
	int code = answer(c, json_pack("{s:s}", "t", "renew"), &o);

	if (code == EXIT_OK)
		printf("Renewed: the certificate of this station is valid until %s.\n",
		       instant_format(json_integer_value(json_object_get(o, "until")), when, sizeof when));
	json_decref(o);
	return code;
}

static const struct option pause_options[] = {
	OPTION_ROW(SECONDS, 0, "for", offsetof(struct pause_arguments, seconds), "DURATION",
		   "end the pause after this time"),
	{0},
};

static const struct option status_options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL, "print JSON"),
	{0},
};

const struct command command_pool_create = {
	.name = "pool create",
	.about = "Create a pool of workstations, with its own authority and without a server.",
	.details =
		"The authority's key stays on this machine: it is needed when a station joins, and at no other time. The daemon shunt-pool runs tasks of other stations here, as the user who "
		"started it, or, if that is root, as --user. Files are in ~/.local/share/shunt/pool, as root in /var/lib/shunt-pool; $SHUNT_POOL_HOME names "
		"another directory.",
	.examples = EXAMPLES({"shunt pool create --pool lab",
			      "Makes the authority of a pool called lab here, and starts this station."}),
	OPTIONS(struct arguments, create_options),
	.run = pass_on,
	.alone = true,
};
const struct command command_pool_join = {
	.name = "pool join",
	.operands = "[STATION[:PORT]]",
	.about = "Make this machine a station of a pool.",
	.details =
		"STATION is the machine on which the pool was created; in the same network it is found without being named. The token is read from the standard input, or from --token-file; it works once, and names the authority that is to be "
		"trusted. All other stations are then found by themselves.",
	.examples = EXAMPLES(
		{"shunt pool join oak",
		 "Makes this machine a station of the pool that was created on oak. Asks for the token that 'shunt pool token' printed there."}),
	OPTIONS(struct arguments, join_options),
	.run = pass_on,
	.alone = true,
};
const struct command command_pool_token = {
	.name = "pool token",
	.about = "Print a token with which one machine can join; run it where the pool was created.",
	.examples = EXAMPLES({"shunt pool token --valid 1:00:00",
			      "Prints a token with which one machine can join within the next hour."}),
	OPTIONS(struct arguments, token_options),
	.run = pass_on,
	.alone = true,
};
const struct command command_pool_start = {
	.name = "pool start",
	.about = "Start this station's daemon.",
	.examples = EXAMPLES(
		{"shunt pool start --policy ours", "Starts this station's daemon again, and remembers the policy."}),
	OPTIONS(struct arguments, start_options),
	.run = start,
	.alone = true,
};
const struct command command_pool_stop = {
	.name = "pool stop",
	.about = "Stop this station's daemon; tasks that run here are started on other stations.",
	.examples = EXAMPLES({"shunt pool stop",
			      "Ends the daemon. The machine stays a station: 'shunt pool start' brings it back."}),
	.run = stop,
	.alone = true,
};
const struct command command_pool_remove = {
	.name = "pool remove",
	.operands = "STATION",
	.about = "Remove a station from the pool; run it where the pool was created.",
	.details =
		"The authority signs a list of the stations that were removed, which all stations pass on to each other: also one that was off learns it from the first that it meets. "
		"A station that is lost or was stolen can also be removed.",
	.examples = EXAMPLES(
		{"shunt pool remove elm",
		 "Ends what elm runs for others and what others run for it, and lets no station talk to it any more. The name can be given again, with a new token."}),
	.run = remove_run,
	.alone = true,
};
const struct command command_pool_renew = {
	.name = "pool renew",
	.about = "Renew the certificate of this station.",
	.details =
		"A certificate is valid for three years, and renewed by itself when a third of that is left. The station that created the pool must be reached for that. One whose certificate has expired "
		"joins again.",
	.examples = EXAMPLES({"shunt pool renew", "Asks the station that created the pool for a new certificate."}),
	.run = renew_run,
	.alone = true,
};
const struct command command_pool_pause = {
	.name = "pool pause",
	.about = "Stop the tasks that the pool runs on this machine, at once and without a network.",
	.details =
		"They stand still, and after a minute (return= in the policy) leave the machine and are started on other stations. The pause survives restarts.",
	.examples = EXAMPLES(
		{"shunt pool pause --for 2:00:00",
		 "Tasks of others stand still here, and leave after a minute; in two hours the machine takes tasks again."}),
	OPTIONS(struct pause_arguments, pause_options),
	.run = pause_run,
	.alone = true,
};
const struct command command_pool_resume = {
	.name = "pool resume",
	.about = "End a pause: tasks of the pool may run on this machine again.",
	.examples = EXAMPLES({"shunt pool resume", "The machine takes tasks again now."}),
	.run = resume_run,
	.alone = true,
};
const struct command command_pool_status = {
	.name = "pool status",
	.about = "Show the stations of the pool as this one knows them, with the age of what it knows.",
	.examples =
		EXAMPLES({"shunt pool status", "Which stations there are, how loaded they are, and which take tasks."}),
	OPTIONS(struct show_arguments, status_options),
	.run = status,
	.alone = true,
};
