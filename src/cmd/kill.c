/*
 * kill.c - `shunt kill`: remove jobs, waiting or running; also all of a user.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/change.h"
#include "cmd/commands.h"
#include "cmd/show.h"

struct arguments {
	bool all, everyone;
	const char *user, *message;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	{"all", OPTION_FLAG, AT(all), NULL, NULL, NULL, 0, 0, "all of my jobs; administrators name the user instead",
	 'a'},
	{"user", OPTION_TEXT, AT(user), "USER", NULL, NULL, 0, 0, "all jobs of this user (for operators)", 'u'},
	{"everyone", OPTION_FLAG, AT(everyone), NULL, NULL, NULL, 0, 0, "all jobs of all users (for operators)", 0},
	{"message", OPTION_TEXT, AT(message), "TEXT", NULL, NULL, 0, 0, "why: kept with the job, and in its mail", 'm'},
	{0},
};

static const char *const examples[] = {
	"shunt kill 101 102",
	"Remove two jobs.",
	"shunt kill --all",
	"Remove all of my jobs.",
	"shunt kill --user ana",
	"As an operator: remove all of hers.",
	NULL,
};

/* Whose jobs --all means: the name to be freed; NULL: that of one who may remove everybody's is not clear, or nobody answered; both were said. */
static char *all_of(struct change *ch)
{
	struct reply reply;
	char *user = NULL;

	if (!change_ask(ch, "GET", "/v1/whoami", NULL, NULL, &reply))
		return NULL;
	if (strcmp(object_text(reply.json, "role"), "user") == 0)
		user = mem_strdup(object_text(reply.json, "user"));
	else
		ch->code = command_misused(
			ch->c, "you may remove everybody's jobs: say whose with --user USER, or --everyone");
	reply_fini(&reply);
	return user;
}

static void kill_of(struct change *ch, json_t *body, const char *user)
{
	json_t *filter = json_pack("{s:s}", "state", "Q,H,W,R,S,B,E");

	if (user)
		json_object_set_new(filter, "user", json_string(user));
	change_matching(ch, "delete", json_incref(body), filter);
}

static int run(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct arguments *a = arguments;
	json_t *body;
	struct change ch;
	char *user;

	if ((o->n > 0) + a->all + (a->user != NULL) + a->everyone != 1)
		return command_misused(c, "name jobs, or say one of --all, --user and --everyone");
	if (!change_open(&ch, c))
		return EXIT_FAILED;
	body = json_object();
	if (a->message)
		json_object_set_new(body, "message", json_string(a->message));
	if (o->n) {
		change_jobs(&ch, "delete", json_incref(body), o->v, o->n);
	} else if (a->all) {
		user = all_of(&ch);
		if (user)
			kill_of(&ch, body, user);
		free(user);
	} else {
		kill_of(&ch, body, a->user); /* NULL: of everyone */
	}
	json_decref(body);
	return change_close(&ch);
}

const struct command command_kill = {
	.name = "kill",
	.operands = "[JOB...]",
	.operands_max = INT_MAX,
	.about = "Remove jobs, waiting or running.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
