/*
 * kill.c - `shunt kill`: removes jobs, waiting or running, or all jobs of a user.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

struct arguments {
	bool all, everyone;
	const char *user, *message;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	FLAG('a', "all", all, "all of my jobs; administrators name the user instead"),
	OPTION(TEXT, 'u', "user", user, "USER", "all jobs of this user (for operators)"),
	FLAG(0, "everyone", everyone, "all jobs of all users (for operators)"),
	OPTION(TEXT, 'm', "message", message, "TEXT", "why: kept with the job, and in its mail"),
	{0},
};

/* Returns true if the scope is clear: "all" is for plain users, "everyone" for callers who may
 * remove everybody's jobs. Without a server the caller's role is not known, and only their own jobs
 * are meant. */
static bool all_is_clear(struct change *ch, bool everyone)
{
	struct reply reply = {0};
	struct err err;
	bool known = client_ask(ch->client, "GET", "/v1/whoami", NULL, 0, &reply, &err) == 0,
	     plain = strcmp(object_text(reply.json, "role"), "user") == 0;

	reply_fini(&reply);
	if (known && plain && everyone)
		ch->code = command_misused(ch->c, "you may remove your own jobs only: --all removes all of them");
	else if (known && !plain && !everyone)
		ch->code = command_misused(
			ch->c, "you may remove everybody's jobs: say whose with --user USER, or --everyone");
	return !known || plain != everyone;
}

static void kill_of(struct change *ch, json_t *body, const char *name, json_t *value)
{
	json_t *filter = json_pack("{s:s}", "state", "Q,H,W,R,S,B,E");
	char *user = mem_strdup(json_is_string(value) ? json_string_value(value) : "");

	if (value)
		json_object_set_new(filter, name, value);
	if (!change_matching(ch, "delete", json_incref(body), filter) && *user)
		ch->code = command_fail(ch->c, "%.100s has no jobs that you may remove", user);
	free(user);
}

static bool says_all(const struct operands *o)
{
	for (int i = 0; i < o->n; i++)
		if (strcasecmp(o->v[i], "all") == 0)
			return true;
	return false;
}

static int run(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct arguments *a = arguments;
	json_t *body;
	struct change ch;
	bool all = a->all || (o->n == 1 && says_all(o));

	if (o->n > 1 && says_all(o))
		return command_misused(c, "name jobs, or say all, not both");
	if ((o->n > 0) + a->all + (a->user != NULL) + a->everyone != 1)
		return command_misused(c, "name jobs, or say one of --all, --user and --everyone");
	if (!change_open(&ch, c))
		return EXIT_FAILED;
	body = json_object();
	if (a->message)
		json_object_set_new(body, "message", json_string(a->message));
	if (all) {
		if (all_is_clear(&ch, false))
			kill_of(&ch, body, "mine", json_true());
	} else if (o->n) {
		change_jobs(&ch, "delete", json_incref(body), o->v, o->n);
	} else if (a->user) {
		kill_of(&ch, body, "user", json_string(a->user));
	} else if (all_is_clear(&ch, true)) {
		kill_of(&ch, body, NULL, NULL);
	}
	json_decref(body);
	return change_close(&ch);
}

const struct command command_kill = {
	.name = "kill",
	.operands = "[JOB...]",
	.about = "Remove jobs, waiting or running.",
	.examples = EXAMPLES({"shunt kill 101 102", "Remove two jobs."}, {"shunt kill --all", "Remove all of my jobs."},
			     {"shunt kill --user ana", "As an operator: remove all of hers."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
