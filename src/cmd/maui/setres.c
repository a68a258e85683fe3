/*
 * setres.c - creates, changes and removes reservations: `shunt reservations add`, `change` and
 * `remove`, and Maui's setres and releaseres.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/day.h"
#include "base/timetext.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

struct arguments {
	const char *name, *nodes, *start, *end, *duration, *hours, *except, *comment, *features, *amounts, *per_node;
	const char *users, *groups, *accounts, *queues, *qos, *jobs;
	bool maintenance, ignore_jobs, force, dry_run, json;
};

#define AT(field) offsetof(struct arguments, field)
/* Options of both families of commands; Maui's letters mean the same in all of them. */
#define SHARED                                                                                                                                                        \
	OPTION(TEXT, 's', "start", start, "TIME",                                                                                                                     \
	       "When it begins: 2026-12-24T08:00, 08:00, +2h, or Maui's HH:MM_MO/DD."),                                                                               \
		OPTION(TEXT, 'e', "end", end, "TIME", "When it ends, as --start."),                                                                                   \
		OPTION(TEXT, 'd', "duration", duration, "TIME",                                                                                                       \
		       "How long it lasts, such as 4:00:00 or 2h, instead of --end."),                                                                                \
		OPTION(TEXT, 0, "hours", hours, "HOURS",                                                                                                              \
		       "Make it weekly, in local time, such as 'Mon 08:00-12:00, Thu 14:00-18:00'."),                                                                 \
		OPTION(TEXT, 0, "except", except, "DATE[,DATE...]", "Days on which a weekly reservation is skipped."),                                                \
		OPTION(TEXT, 'u', "users", users, "USER[,USER...]", "Users whose jobs may run inside."),                                                              \
		OPTION(TEXT, 'g', "groups", groups, "GROUP[,GROUP...]", "Groups whose jobs may run inside."),                                                         \
		OPTION(TEXT, 'a', "accounts", accounts, "ACCOUNT[,ACCOUNT...]",                                                                                       \
		       "Accounts whose jobs may run inside."),                                                                                                        \
		OPTION(TEXT, 'q', "queues", queues, "QUEUE[,QUEUE...]", "Queues whose jobs may run inside."),                                                         \
		OPTION(TEXT, 'Q', "qos", qos, "QOS[,QOS...]", "Qualities of service whose jobs may run inside."),                                                     \
		OPTION(TEXT, 'j', "jobs", jobs, "NUMBER[,NUMBER...]", "Jobs that may run inside."),                                                                   \
		OPTION(TEXT, 'f', "features", features, "FEATURE[:FEATURE...]",                                                                                       \
		       "Features of the nodes to choose, if a number is given."),                                                                                     \
		OPTION(TEXT, 'r', "amounts", amounts, "NAME=N[,NAME=N...]",                                                                                           \
		       "Amounts to keep of what the site has (resources_available), such as licences; or Maui's PROCS=N, MEM=MB, DISK=MB and SWAP=MB of each node."), \
		OPTION(TEXT, 0, "per-node", per_node, "NAME=N[,NAME=N...]",                                                                                           \
		       "Reserve a part of each node instead of all of it: ncpus=2, mem=4gb, disk=10gb, swap=1gb."),                                                   \
		OPTION(TEXT, 'm', "comment", comment, "TEXT", "Comment."),                                                                                            \
		FLAG('M', "maintenance", maintenance, "Admit no job; may overlap other reservations."),                                                               \
		FLAG(0, "ignore-jobs", ignore_jobs, "Create it even if running jobs extend into it."),                                                                \
		FLAG(0, "force", force, "Create it even if that breaks guaranteed deadlines."),                                                                       \
		FLAG(0, "dry-run", dry_run, "Change nothing; list the affected jobs."),                                                                               \
		FLAG(0, "json", json, "Print JSON, with --dry-run."),                                                                                                 \
	{                                                                                                                                                             \
		0                                                                                                                                                     \
	}

static const struct option add_options[] = {
	OPTION(TEXT, 'n', "nodes", nodes, "NODES", "Nodes to reserve: n[1-4], all, or a number of nodes to choose."),
	SHARED,
};
static const struct option set_options[] = {
	OPTION(TEXT, 'n', "name", name, "NAME", "Name of the reservation; by default the user's name with a number."),
	SHARED,
};

static void change_add(json_t *list, const char *name, const char *value)
{
	if (value)
		json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "op", "set", "name", name, "value", value));
}

/* Parses Maui's [HH[:MM[:SS]]][_MO[/DD[/YY]]]: the next such time, or on a day. As in Maui, what
 * is not given of the hour and the date is that of now. */
static bool maui_time(const char *text, int64_t now, int64_t *ret)
{
	int h = 0, m = 0, s = 0, month = 0, day = 0, year = 0, used = 0, end = 0, given = 0;
	int clock = (int)strcspn(text, "_");
	time_t at = (time_t)now;
	struct tm tm;

	if (strlen(text) > 20 || strspn(text, "0123456789:_/") != strlen(text) || !*text)
		return false;
	if (clock > 0 && sscanf(text, "%2d%n:%2d%n:%2d%n", &h, &used, &m, &used, &s, &used) < 1)
		return false;
	if (text[clock])
		given = sscanf(text + clock, "_%2d%n/%2d%n/%4d%n", &month, &end, &day, &end, &year, &end);
	if (used != clock || text[clock + end] || h > 23 || m > 59 || s > 59)
		return false;
	localtime_r(&at, &tm);
	tm.tm_hour = clock > 0 ? h : tm.tm_hour;
	tm.tm_min = m;
	tm.tm_sec = s;
	if (given == 3)
		tm.tm_year = year < 100 ? year + 100 : year - 1900;
	if (given >= 2)
		tm.tm_mday = day;
	if (given >= 1)
		tm.tm_mon = month - 1;
	if (given && (month < 1 || month > 12 || tm.tm_mday < 1 || tm.tm_mday > month_days(month, tm.tm_year + 1900)))
		return false;
	*ret = given ? instant_local(&tm, false) : instant_next(&tm, now);
	return true;
}

/* Adds an option's time as the API takes it. */
static int time_add(const struct command *c, json_t *list, const char *name, const char *text)
{
	int64_t now = (int64_t)time(NULL), at;
	char utc[40];
	struct err err;

	if (!text)
		return EXIT_OK;
	if (!maui_time(text, now, &at) && instant_parse(text, now, &at, &err) < 0)
		return command_misused(
			c, "--%s %s: %s", name, text,
			strchr(text, '_') ? "Maui's form is [HH[:MM[:SS]]]_MO[/DD[/YY]], with a day that the month has"
					  : err.text);
	change_add(list, name, instant_utc(at, utc, sizeof utc));
	return EXIT_OK;
}

/* Adds nodes: n[1-4], all, 4, and Maui's TASKS==4. */
static void nodes_add(json_t *list, const char *text)
{
	const char *count = text;

	if (!text)
		return;
	if (strncasecmp(text, "TASKS", 5) == 0) {
		count = text + 5;
		count += strspn(count, "=>");
	}
	if (*count && strspn(count, "0123456789") == strlen(count))
		change_add(list, "node_count", count);
	else
		change_add(list, "nodes", text);
}

/* Adds Maui's PROCS=2, MEM=512 and the like, which are per node, in MB; returns false for anything
 * else. */
static bool task_add(json_t *list, const char *name, const char *value)
{
	static const char *const names[][3] = {{"PROCS", "per_node.ncpus", ""},
					       {"MEM", "per_node.mem", "mb"},
					       {"DISK", "per_node.disk", "mb"},
					       {"SWAP", "per_node.swap", "mb"}};
	char text[64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcasecmp(name, names[i][0]) == 0) {
			bool bare = strspn(value, "0123456789") == strlen(value);
			snprintf(text, sizeof text, "%.50s%s", value, bare ? names[i][2] : "");
			change_add(list, names[i][1], text);
			return true;
		}
	return false;
}

/* Adds amounts: matlab=3,comsol=1; Maui's PROCS=2:MEM=512; with `of` "per_node":
 * ncpus=2,mem=4gb. */
static int amounts_add(const struct command *c, json_t *list, const char *of, const char *text)
{
	char *copy = text ? strdup(text) : NULL, *rest = copy, *one, name[128];
	int code = EXIT_OK;

	while (code == EXIT_OK && (one = strsep(&rest, ",:"))) {
		if (!*one)
			continue; /* Maui's list may end with a separator */
		char *value = strchr(one, '=');
		if (!value || value == one || !value[1] || value - one > 60) {
			code = command_misused(c, "--%s %s: use NAME=N, such as %s", *of == 'p' ? "per-node" : of, text,
					       *of == 'p' ? "ncpus=2" : "matlab=3");
			break;
		}
		*value++ = '\0';
		snprintf(name, sizeof name, "%s.%s", of, one);
		if (*of == 'p' || !task_add(list, one, value))
			change_add(list, name, value);
	}
	free(copy);
	return code;
}

static int changes_make(const struct command *c, const struct arguments *a, const char *nodes, bool now, json_t *list)
{
	int code;

	nodes_add(list, nodes);
	change_add(list, "features", a->features);
	code = amounts_add(c, list, "amounts", a->amounts);
	if (code == EXIT_OK)
		code = amounts_add(c, list, "per_node", a->per_node);
	if (code == EXIT_OK)
		code = time_add(c, list, "start", a->start ? a->start : now && !a->hours ? "+0s" : NULL);
	if (code == EXIT_OK)
		code = time_add(c, list, "end", a->end);
	change_add(list, "duration", a->duration);
	change_add(list, "hours", a->hours);
	change_add(list, "except", a->except);
	parties_warn(c, a->users, a->groups);
	change_add(list, "acl_users", a->users);
	change_add(list, "acl_groups", a->groups);
	change_add(list, "acl_accounts", a->accounts);
	change_add(list, "acl_queues", a->queues);
	change_add(list, "acl_qos", a->qos);
	change_add(list, "acl_jobs", a->jobs);
	change_add(list, "comment", a->comment);
	change_add(list, "maintenance", a->maintenance ? "True" : NULL);
	change_add(list, "ignore_jobs", a->ignore_jobs ? "True" : NULL);
	change_add(list, "breaks_deadlines", a->force ? "True" : NULL);
	return code;
}

/* ---- the result of a dry run ---- */

static void cell_later(const json_t *x, const char *key, struct strbuf *cell)
{
	int64_t before = object_number(x, key, -1), after = object_number(x, "start_then", -1);
	char text[40];

	if (json_is_true(json_object_get(x, "running")))
		strbuf_puts(cell, "runs into it");
	else if (json_is_true(json_object_get(x, "guaranteed")))
		strbuf_puts(cell, "its guaranteed deadline would break");
	else if (before >= 0 && after < 0)
		strbuf_puts(cell, "no start can be predicted");
	else if (after > before)
		strbuf_printf(cell, "starts %s later", duration_human(after - before, text, sizeof text));
	else
		strbuf_puts(cell, "starts elsewhere");
}

static void dry_print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"job", "id", .make = cell_id},
		{"owner", "owner", .make = cell_plain},
		{"~effect", "start", .make = cell_later},
		{0},
	};
	const char *refused = object_text(answer, "refused");

	listing_print(json_object_get(answer, "jobs"), columns, "No job is affected.");
	if (*refused)
		printf("It would be refused: %s\n", refused);
}

static int reserve(const struct command *c, const struct arguments *a, const char *name, bool new, json_t *list)
{
	json_t *body = json_pack("{s:O}", "changes", list);
	struct reply reply;
	struct change ch;

	if (!change_open(&ch, c)) {
		json_decref(body);
		return EXIT_FAILED;
	}
	if (change_ask(&ch, "PATCH",
		       api_path("/v1/reservations/%s?new=%s&dry_run=%s", name, new ? "true" : "false",
				a->dry_run ? "true" : ""),
		       body, NULL, &reply)) {
		if (a->dry_run && a->json)
			show_json(reply.json);
		else if (a->dry_run)
			dry_print(reply.json);
		else if (c->own && new)
			printf("reservation %s created\n", name);
		reply_fini(&reply);
	}
	json_decref(body);
	return change_close(&ch) == EXIT_OK ? EXIT_OK : EXIT_FAILED;
}

static int make(const struct command *c, const struct arguments *a, const char *name, const char *nodes, bool new)
{
	json_t *list = json_array();
	int code = changes_make(c, a, nodes, new, list);

	if (code == EXIT_OK && json_array_size(list) == 0)
		code = command_misused(c, "nothing to change: give an option");
	if (code == EXIT_OK)
		code = reserve(c, a, name, new, list);
	json_decref(list);
	return code;
}

static int add(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;

	if (!a->nodes && !a->amounts)
		return command_misused(
			c,
			"--nodes is missing: give nodes, such as --nodes n[1-4], or a number, such as --nodes 4; or --amounts");
	if (!a->hours && !a->end && !a->duration)
		return command_misused(
			c, "the end is missing: give --end or --duration, or --hours for a weekly reservation");
	return make(c, a, operands->v[0], a->nodes, true);
}

static int change(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;

	return make(c, a, operands->v[0], a->nodes, false);
}

static bool name_is_used(const struct command *c, const char *name)
{
	struct reply reply = {0};
	struct change ch;
	bool used = false;

	if (change_open(&ch, c)) {
		used = client_ask(ch.client, "GET", api_path("/v1/reservations/%s", name), NULL, 0, &reply, NULL) == 0;
		reply_fini(&reply);
		change_close(&ch);
	}
	return used;
}

/* Makes a name for a reservation without one: who may use it, and a number. */
static void name_make(const struct command *c, const struct arguments *a, struct strbuf *out)
{
	const char *whose = a->users && *a->users ? a->users : a->groups && *a->groups ? a->groups : "system";
	long long number = (long long)time(NULL);

	do {
		strbuf_clear(out);
		strbuf_printf(out, "%.40s.%lld", whose, number++ % 100000);
		for (char *p = out->text; *p; p++)
			*p = *p == ',' || *p == '*' || *p == '@' ? '_' : *p;
	} while (name_is_used(c, out->text));
}

static int setres(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct strbuf name = {0};
	int code;

	if (!operands->n && !a->amounts)
		return command_misused(c, "what to reserve is missing: give nodes, such as n[1-4], or -r NAME=N");
	if (!a->hours && !a->end && !a->duration)
		return command_misused(c, "the end is missing: give -e or -d, or --hours for a weekly reservation");
	if (a->name)
		strbuf_puts(&name, a->name);
	else
		name_make(c, a, &name);
	code = make(c, a, name.text, operands->n ? operands->v[0] : NULL, true);
	strbuf_fini(&name);
	return code;
}

static int release(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct change ch;

	if (!change_open(&ch, c))
		return EXIT_FAILED;
	for (int i = 0; i < operands->n; i++) {
		if (change_ask(&ch, "DELETE", api_path("/v1/reservations/%s", operands->v[i]), NULL, NULL, NULL) &&
		    c->own)
			printf("released reservation '%s'\n", operands->v[i]);
	}
	return change_close(&ch) == EXIT_OK ? EXIT_OK : EXIT_FAILED;
}

#define ABOUT                                                                                                                                                                             \
	"A reservation is refused if it overlaps another one, if running jobs extend into it, or if it breaks guaranteed deadlines; --dry-run lists the jobs. Its lists also admit jobs " \
	"that are submitted later."

const struct command command_reservations_add = {
	.name = "reservations add",
	.operands = "NAME",
	.about = "Reserve nodes for certain jobs, once or weekly.",
	.details = ABOUT,
	.examples = EXAMPLES(
		{"shunt reservations add course --nodes n[1-4] --hours 'Mon 08:00-12:00' --groups course",
		 "Reserve four nodes for a course every Monday morning."},
		{"shunt reservations add disks --nodes n3 --start 2026-12-24T08:00 --duration 4h --maintenance --dry-run",
		 "List the jobs that a maintenance would affect."}),
	OPTIONS(struct arguments, add_options),
	.run = add,
};

const struct command command_reservations_change = {
	.name = "reservations change",
	.operands = "NAME",
	.about = "Change a reservation.",
	.details = ABOUT,
	.examples = EXAMPLES({"shunt reservations change course --except 2026-12-24,2026-12-31", "Skip these days."}),
	OPTIONS(struct arguments, add_options),
	.run = change,
};

static const struct option no_options[] = {{0}};

const struct command command_reservations_remove = {
	.name = "reservations remove",
	.operands = "NAME...",
	.about = "Remove reservations.",
	.examples = EXAMPLES(
		{"shunt reservations remove course", "Release its nodes for all jobs. Jobs bound to it keep waiting."}),
	.options = no_options,
	.run = release,
};

const struct command command_setres = {
	.name = "setres",
	.operands = "[NODES]",
	.about = "Reserve nodes as Maui does: a list of nodes, ALL, or TASKS==NUMBER.",
	.details = ABOUT,
	.examples = EXAMPLES(
		{"setres -u ann,bob -d 4:00:00 'n[1-2]'", "Reserve two nodes for two users for the next four hours."},
		{"setres -g course -n exam -s 08:00_12/24 -e 12:00_12/24 TASKS==4",
		 "Reserve any four nodes for one morning."},
		{"setres -u ann -d 4:00:00 -r PROCS=2:MEM=512 'n[1-2]'",
		 "Reserve two CPUs and 512 MB of each of two nodes; other jobs have the rest."},
		{"setres -a chem -n licences -d 8:00:00 -r matlab=3", "Keep three licences for an account."},
		{"setres -M -n disks -s +2h -d 1h --dry-run ALL",
		 "List the jobs that a maintenance of all nodes would affect."}),
	OPTIONS(struct arguments, set_options),
	.run = setres,
	.own = true,
};

const struct command command_releaseres = {
	.name = "releaseres",
	.operands = "RESERVATION...",
	.about = "Remove reservations as Maui does.",
	.examples = EXAMPLES({"releaseres exam", "Release its nodes for all jobs."}),
	.options = no_options,
	.run = release,
	.own = true,
};
