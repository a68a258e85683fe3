/*
 * qjobs.c - the small commands that do one thing to jobs; each passes its action to change.c.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/query.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/select.h"
#include "core/array.h"
#include "core/jobid.h"
#include "core/jobschema.h"

#define JOBS .operands = "JOB..."
#define MANY_JOBS .operands = "[JOB...]"

/* Applies an action to jobs that are named or selected. */
static int act_on(const struct command *c, const char *action, json_t *body, const struct choice *x, const char *what,
		  const struct operands *o)
{
	name_list ids = {0};
	struct change ch;

	if (!change_open(&ch, c)) {
		json_decref(body);
		return EXIT_FAILED;
	}
	ch.code = jobs_choose(&ch, x, what, o, &ids);
	if (ch.code == EXIT_OK)
		change_jobs(&ch, action, json_incref(body), ids.v, (int)ids.n);
	json_decref(body);
	name_list_free(&ids);
	return change_close(&ch);
}

static int act(const struct command *c, const char *action, json_t *body, char *const *id, int n)
{
	struct change ch;

	if (!change_open(&ch, c)) {
		json_decref(body);
		return EXIT_FAILED;
	}
	change_jobs(&ch, action, body, id, n);
	return change_close(&ch);
}

/* ---- qhold, qrls ---- */

struct holds_arguments {
	const char *holds;
	struct choice choice;
};

static const struct option holds_options[] = {
	OPTION_ROW(
		TEXT, 'h', "holds", offsetof(struct holds_arguments, holds), "LETTERS",
		"which: u the user's own, o an operator's, s the system's; n none; if not given: u, and qrls also releases what the system holds after failed starts"),
	CHOICE_ROWS(offsetof(struct holds_arguments, choice)),
	{0},
};

static int holds(const struct command *c, const char *action, const struct holds_arguments *a, const char *what,
		 const struct operands *o)
{
	const char *letters = a->holds;

	if (letters && (!letters[0] || letters[strspn(letters, JOB_HOLDS)]))
		return command_misused(c, "-h %s: write letters of \"uos\"", letters);
	if (letters && strchr(letters, 'n'))
		return EXIT_OK;
	return act_on(c, action, letters ? json_pack("{s:s}", "holds", letters) : json_object(), &a->choice, what, o);
}

static void running_row(void *context, char *const *cell)
{
	if (strchr("RSE", cell[1][0]))
		command_warn(context,
			     "job %s is running and continues; it is held if it is requeued ('qrerun' does that now)",
			     cell[0]);
}

/* Warns about running jobs, to which a hold does not do what people expect. */
static void running_warn(const struct command *c, const struct operands *o)
{
	struct strbuf ids = {0};
	struct client *client;
	struct err err;

	for (int i = 0; i < o->n; i++)
		strbuf_printf(&ids, "%s%s", i ? "," : "", o->v[i]);
	if (client_open(&client, &err) == 0) {
		tsv_read(client, api_path("/v1/jobs?ids=%s&fields=id,state", strbuf_text(&ids)), 2, running_row,
			 (void *)c, &err);
		client_close(client);
	}
	strbuf_fini(&ids);
}

static int hold(const struct command *c, const void *arguments, const struct operands *o)
{
	int code = holds(c, "hold", arguments, "Hold", o);

	if (code == EXIT_OK && o->n)
		running_warn(c, o);
	return code;
}

static int release(const struct command *c, const void *arguments, const struct operands *o)
{
	return holds(c, "release", arguments, "Release", o);
}

const struct command command_qhold = {
	.name = "qhold",
	MANY_JOBS,
	.about = "Hold jobs: they are not started until they are released.",
	.details = "A running job continues; it is held when it is requeued.",
	OPTIONS(struct holds_arguments, holds_options),
	.run = hold,
	.own = true,
};

const struct command command_qrls = {
	.name = "qrls",
	MANY_JOBS,
	.about = "Release held jobs.",
	OPTIONS(struct holds_arguments, holds_options),
	.run = release,
	.own = true,
};

/* ---- qmove, qmsg, qorder ---- */

static int move(const struct command *c, const void *arguments, const struct operands *o)
{
	return act(c, "move", json_pack("{s:s}", "queue", o->v[0]), o->v + 1, o->n - 1);
}

const struct command command_qmove = {
	.name = "qmove",
	.operands = "QUEUE JOB...",
	.about = "Move waiting jobs to another queue.",
	.run = move,
	.own = true,
};

struct message_arguments {
	bool error, output;
};

static const struct option message_options[] = {
	OPTION_ROW(FLAG, 'E', "error", offsetof(struct message_arguments, error), NULL,
		   "to its error output; so it is if nothing is said"),
	OPTION_ROW(FLAG, 'O', "output", offsetof(struct message_arguments, output), NULL, "to its output"),
	{0},
};

static int message(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct message_arguments *a = arguments;
	json_t *text = json_string(o->v[0]);

	if (!text)
		return command_misused(c, "the text is not UTF-8");
	return act(c, "message",
		   json_pack("{s:o, s:s}", "text", text, "to",
			     !a->output ? "err"
			     : a->error ? "both"
					: "out"),
		   o->v + 1, o->n - 1);
}

const struct command command_qmsg = {
	.name = "qmsg",
	.operands = "TEXT JOB...",
	.about = "Write a line into the output of running jobs.",
	OPTIONS(struct message_arguments, message_options),
	.run = message,
	.own = true,
};

static int order(const struct command *c, const void *arguments, const struct operands *o)
{
	struct change ch;

	if (!change_open(&ch, c))
		return EXIT_FAILED;
	json_t *body = json_pack("{s:[s, s]}", "ids", o->v[0], o->v[1]);
	struct reply r = {0};
	struct err err;
	if (client_ask_json(ch.client, "POST", "/v1/jobs/order", body, &r, &err) < 0) {
		/* The message shows which of them is unknown. */
		bool second = strstr(err.text, o->v[1]) && !strstr(err.text, o->v[0]);
		change_failed(&ch, o->v[second ? 1 : 0], client_code(ch.client), err.text);
	}
	reply_fini(&r);
	json_decref(body);
	return change_close(&ch);
}

const struct command command_qorder = {
	.name = "qorder",
	.operands = "JOB JOB",
	.about = "Exchange two waiting jobs in their queue.",
	.run = order,
	.own = true,
};

/* ---- qrerun, qsig, qrun ---- */

struct rerun_arguments {
	bool force;
	const char *more;
};

static const struct option rerun_options[] = {
	OPTION_ROW(FLAG, 'f', "force", offsetof(struct rerun_arguments, force), NULL,
		   "accepted: a running job is ended and queued again in any case"),
	OPTION_ROW(TEXT, 'W', "-W", offsetof(struct rerun_arguments, more), "force", "the same", .words = "force"),
	{0},
};

/* Submits a job that has ended again; some elements of an array as an array. Returns false if it
 * has not ended. */
static bool ended_again(struct change *ch, const char *operand)
{
	char one[64], array[32];
	struct jobid id = {0};
	struct reply r = {0};
	json_t *body = json_object();
	bool ended = false;

	if (jobid_parse(operand, &id, NULL) == 0) {
		bool some = id.kind == JOBID_SOME;
		snprintf(one, sizeof one, "%llu[%lld]", (unsigned long long)id.number,
			 some ? (long long)array_next(&id.some, -1) : 0);
		ended = client_ask(ch->client, "GET", api_path("/v1/jobs/%s", some ? one : operand), NULL, 0, &r,
				   NULL) == 0 &&
			*object_text(r.json, "state") == 'C';
		reply_fini(&r);
	}
	if (ended && show_submit(ch->c, ch->client, api_path("/v1/jobs/%s/again", again_which(operand, body, array)),
				 body, &r, &ch->code))
		printf("Submitted job %s, as job %s was.\n", object_text(r.json, "id"), operand);
	reply_fini(&r);
	json_decref(body);
	jobid_fini(&id);
	return ended;
}

static int rerun(const struct command *c, const void *arguments, const struct operands *o)
{
	VEC(char *) others = {0};
	struct change ch;

	if (!change_open(&ch, c))
		return EXIT_FAILED;
	for (int i = 0; i < o->n; i++)
		if (!ended_again(&ch, o->v[i]))
			vec_push(&others, o->v[i]);
	if (others.n)
		change_jobs(&ch, "rerun", NULL, others.v, (int)others.n);
	vec_free(&others);
	return change_close(&ch);
}

const struct command command_qrerun = {
	.name = "qrerun",
	JOBS,
	.about = "End running jobs and queue them again; submit finished ones again.",
	.details =
		"A job or elements of an array that have finished are submitted again as they were, as a new job, whose "
		"id is printed; 'shunt resubmit' and 'shunt retry' do the same with changes.",
	OPTIONS(struct rerun_arguments, rerun_options),
	.run = rerun,
	.own = true,
};

struct signal_arguments {
	const char *signal;
};

static const struct option signal_options[] = {
	OPTION_ROW(TEXT, 's', "signal", offsetof(struct signal_arguments, signal), "SIGNAL",
		   "a name, with or without SIG, or a number; suspend and resume stop and continue it",
		   .initial = "SIGTERM", .words = "SIGTERM SIGKILL SIGINT SIGUSR1 SIGUSR2 suspend resume"),
	{0},
};

static int signal_send(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct signal_arguments *a = arguments;

	return act(c, "signal", json_pack("{s:s}", "signal", a->signal), o->v, o->n);
}

const struct command command_qsig = {
	.name = "qsig",
	JOBS,
	.about = "Send a signal to running jobs.",
	OPTIONS(struct signal_arguments, signal_options),
	.run = signal_send,
	.own = true,
};

struct run_arguments {
	const char *nodes;
	bool later;
};

static const struct option run_options[] = {
	OPTION_ROW(TEXT, 'H', "nodes", offsetof(struct run_arguments, nodes), "NODES",
		   "on these: n1+n2; if not given: wherever it fits"),
	OPTION_ROW(FLAG, 'a', "-a", offsetof(struct run_arguments, later), NULL,
		   "accepted: it never waits until the job runs"),
	{0},
};

static int run_now(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct run_arguments *a = arguments;
	json_t *body = json_object();

	if (a->nodes)
		json_object_set_new(body, "nodes", json_string(a->nodes));
	return act(c, "run", body, o->v, o->n);
}

const struct command command_qrun = {
	.name = "qrun",
	JOBS,
	.about = "Start waiting jobs now, out of turn, if they fit (operators).",
	OPTIONS(struct run_arguments, run_options),
	.run = run_now,
	.own = true,
};
