/*
 * routes.c - the table of all requests; the first matching row answers. docs/openapi.yaml is
 * generated from it; docs/api.md is the contract in prose.
 */
#include "server/api/frame/route.h"

#include "base/logline.h"
#include "client/sitework.h"
#include "rules/object.h"
#include "server/api/admin/machine.h"
#include "server/api/books/api_credits.h"
#include "server/api/books/api_import.h"
#include "server/api/books/api_quota.h"
#include "server/api/frame/api.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/backfill.h"
#include "server/api/page/files.h"
#include "server/api/page/overview.h"
#include "server/api/page/page.h"
#include "server/api/stream/api_lives.h"
#include "server/api/stream/events.h"
#include "server/api/stream/output.h"
#include "server/api/stream/terminal.h"
#include "server/settings/remotes.h"
#include "store/history.h"

#define SEQ_MOST (INT64_C(1) << 56)
#define TIME_MOST (INT64_C(1) << 40)

/* ---- parameters ---- */

static const struct field past_events_query[] = {
	{"after", .is = IS_INT, "only events after this one: `next` of the previous page", .most = SEQ_MOST},
	{0},
};

/* Parameters that select jobs of the history. */
#define PAST_QUERY                                                                                                     \
	{"user", .is = IS_TEXT}, {"group", .is = IS_TEXT}, {"account", .is = IS_TEXT}, {"project", .is = IS_TEXT},     \
		{"qos", .is = IS_TEXT}, {"queue", .is = IS_TEXT},                                                      \
		{"state", .is = IS_TEXT, "how it ended", .words = HISTORY_STATES},                                     \
		{"name", .is = IS_TEXT, "with * at its end: all that begin with it", .example = "sim*"},               \
		{"since", .is = IS_INT, "ended at this instant or later", .most = TIME_MOST},                          \
		{"until", .is = IS_INT, "ended before this instant", .most = TIME_MOST},                               \
	{                                                                                                              \
		"attempts", IS_INT, "1: also attempts that were followed by another", .most = 1, .otherwise = "0"      \
	}

static const struct field files_query[] = {
	{"path", .is = IS_TEXT, "below the caller's home if it does not begin with /", .most = 4095,
	 .example = "results/run1"},
	{0},
};

static const struct field change_query[] = {
	{"new", .is = IS_TEXT,
	 "true: refuse if there is one of that name; false: refuse if there is none. Where `PATCH` creates objects, it does either if this is not given",
	 .words = "true|false"},
	{"dry_run", .is = IS_TEXT, "true: change nothing, and answer what would happen", .words = "true|false"},
	{0},
};

/* ---- the rows ---- */

/* Parameters of a route, for its row. */
#define QUERY(...) .query = ((const struct field[]){__VA_ARGS__, {0}})

#define ACTION(name, op, who, text, ...)                                                                               \
	{                                                                                                              \
		"POST", "/v1/jobs/" name, op, who, .changes = true, .keyed = true, .handle = api_action,               \
						   .tag = "actions", .summary = text, .answer = &results_answer,       \
						   .answered = "One result for each id, in order.",                    \
						   .codes = CODE(REFUSED) | CODE(KEY_REUSED), __VA_ARGS__              \
	}

/* Routes of one kind of named objects. */
#define OBJECT(method, path, plural, op, who, kind_, ...)                                                              \
	{                                                                                                              \
		method, "/v1/" plural path, op, who, .kind = OBJECT_##kind_, .tag = plural, __VA_ARGS__                \
	}
#define OBJECTS(plural, Name, kind, changer, list, one, of, attr, value)                                               \
	OBJECT("GET", "", plural, "list" Name "Objects", MAY_USER, kind, .handle = api_objects, .summary = "The " of,  \
	       .answer = &list##_answer, .answered = "The objects, by name."),                                         \
		OBJECT("GET", "/*", plural, "get" Name, MAY_USER, kind, .handle = api_object,                          \
		       .summary = "One of them", .answer = &one, .answered = "The object.", .codes = CODE(NOT_FOUND)), \
		OBJECT("PUT", "/*", plural, "create" Name, MAY_MANAGER, kind, .changes = true,                         \
		       .handle = api_object_create, .summary = "Create one", .status = 201,                            \
		       .codes = CODE(BAD_REQUEST) | CODE(BAD_STATE)),                                                  \
		OBJECT("PATCH", "/*", plural, "change" Name, changer, kind, .query = change_query, .changes = true,    \
		       .body = &changes_body, .handle = api_object_change, .summary = "Change attributes",             \
		       .answer = &dry_answer, .codes = CODE(NOT_FOUND) | CODE(UNKNOWN_ATTRIBUTE) | CODE(BAD_STATE),    \
		       .example = "{\"changes\": [{\"op\": \"set\", \"name\": \"" attr "\", \"value\": \"" value       \
				  "\"}]}"),                                                                            \
		OBJECT("DELETE", "/*", plural, "delete" Name, MAY_MANAGER, kind, .changes = true,                      \
		       .handle = api_object_delete, .summary = "Remove one that nothing names",                        \
		       .codes = CODE(NOT_FOUND) | CODE(BAD_STATE))

const struct route routes[] = {
	{"GET", "/openapi.json", "getOpenapi", .handle = api_openapi, .tag = "server", .summary = "This description",
	 .answer = &openapi_answer, .answered = "OpenAPI 3.0.3"},

	{"POST", "/v1/jobs", "submitJobs", .changes = true, .keyed = true, .large = true, .body = &submission_body,
	 .handle = api_submit, .tag = "jobs", .summary = "Submit a job, or many",
	 .about = "The body is a job, or an object with a list of up to 10,000, of which all are accepted or none. "
		  "With an `Idempotency-Key` the request can be repeated safely until an answer other than 503 or "
		  "504 comes.",
	 .status = 201, .answer = &submitted_answer, .answered = "Accepted, and on disk.",
	 .codes = CODE(UNKNOWN_QUEUE) | CODE(REFUSED) | CODE(WOULD_DISPLACE) | CODE(KEY_REUSED),
	 .example = "{\"script\": \"#!/bin/sh\\necho hello\\n\", \"name\": \"hello\", \"resources\": "
		    "[\"nodes=1:ppn=2,walltime=10:00\"], \"workdir\": \"/home/ann\"}",
	 .result = "{\"id\": \"12.host\", \"number\": 12, \"guaranteed\": null, \"planned_start\": null, "
		   "\"warnings\": []}"},
	{"GET", "/v1/jobs", "listJobs",
	 QUERY({"ids", .is = IS_TEXT, "ids, joined by commas", .example = "1,2[],3[4]"},
	       {"user", .is = IS_TEXT, "owners, joined by commas"},
	       {"queue", .is = IS_TEXT, "queues, joined by commas"},
	       {"state", .is = IS_TEXT, "letters, joined by commas", .most = LETTERS_MOST, .example = "Q,R"},
	       {"name", .is = IS_TEXT},
	       {"completed", .is = IS_TEXT, "with those that have ended; recent: in the last show_completed seconds",
		.words = "0|1|recent", .otherwise = "1"},
	       {"blocked", .is = IS_INT, "1: only waiting jobs that have `blocks`; elements of arrays only one by one",
		.most = 1, .otherwise = "0"},
	       {"arrays", .is = IS_TEXT, "an array as one row, or its elements", .words = "collapse|expand",
		.otherwise = "collapse"},
	       {"order", .is = IS_TEXT,
		"schedule: running jobs sorted by planned end, then waiting jobs in the scheduler's order, then blocked jobs; array elements one by one, without pages",
		.words = "number|schedule", .otherwise = "number"},
	       {"after", .is = IS_TEXT, "the `next` of the previous page"},
	       {"limit", .is = IS_INT, "jobs of a page", .least = 1, .most = 1000000000},
	       {"fields", .is = IS_TEXT, "keys of a job, joined by commas; required for tab-separated values",
		.example = "id,name,state"}),
	 .handle = api_list, .tag = "jobs", .summary = "List jobs, by number or in the scheduler's order",
	 .also = "text/tab-separated-values", .answer = &list_answer,
	 .answered = "The jobs that match and that the user may see.", .codes = CODE(UNKNOWN_QUEUE),
	 .result = "{\"jobs\": [{\"id\": \"12.host\", \"name\": \"hello\", \"state\": \"R\"}], \"next\": null}"},

	{"POST", "/v1/jobs/withdraw", "withdrawJob", MAY_SITE, .changes = true, .body = &withdraw_body,
	 .handle = api_withdraw, .tag = "jobs",
	 .summary = "For other sites: a submission with this key is not to be accepted any more",
	 .about = "With a site's token only (docs/sites.md); also if the user of `Shunt-User` is not known here.",
	 .answer = &withdrawn_answer, .answered = "Whether one was accepted before."},
	ACTION("delete", "deleteJobs", MAY_OWNER, "End jobs, or take them out of the queue", .body = &delete_body,
	       .example = "{\"ids\": [\"12\", \"13[4]\"], \"delay\": 10}"),
	ACTION("alter", "alterJobs", MAY_OWNER, "Change jobs", .body = &alter_body,
	       .example = "{\"ids\": [\"12\"], \"resources\": [\"walltime=1:00:00\"]}"),
	ACTION("hold", "holdJobs", MAY_OWNER, "Hold jobs", .body = &hold_body,
	       .example = "{\"ids\": [\"12\"], \"holds\": \"u\"}"),
	ACTION("release", "releaseJobs", MAY_OWNER, "Release held jobs", .body = &hold_body,
	       .example = "{\"ids\": [\"12\"], \"holds\": \"u\"}"),
	ACTION("signal", "signalJobs", MAY_OWNER, "Send a signal to running jobs", .body = &signal_body,
	       .example = "{\"ids\": [\"12\"], \"signal\": \"SIGUSR1\"}"),
	ACTION("rerun", "rerunJobs", MAY_OWNER, "End running jobs and queue them again", .body = &rerun_body,
	       .example = "{\"ids\": [\"12\"]}"),
	ACTION("run", "runJobs", MAY_OPERATOR, "Start jobs now if they fit", .body = &run_body,
	       .example = "{\"ids\": [\"12\"]}"),
	ACTION("move", "moveJobs", MAY_OWNER, "Move jobs to another queue", .body = &move_body,
	       .example = "{\"ids\": [\"12\"], \"queue\": \"long\"}"),
	ACTION("message", "messageJobs", MAY_OWNER, "Write a line into the output of running jobs",
	       .body = &message_body,
	       .example = "{\"ids\": [\"12\"], \"text\": \"The machine goes down at noon.\", \"to\": \"err\"}"),
	{"POST", "/v1/jobs/order", "orderJobs", MAY_OWNER, .changes = true, .body = &order_body, .handle = api_order,
	 .tag = "actions", .summary = "Exchange two waiting jobs of one queue",
	 .codes = CODE(UNKNOWN_JOB) | CODE(BAD_STATE), .example = "{\"ids\": [\"12\", \"13\"]}"},
	{"POST", "/v1/jobs/place", "placeJob", MAY_OWNER, .changes = true, .body = &place_body, .handle = api_place,
	 .tag = "actions", .summary = "Move a waiting job to a place behind another in the queue",
	 .about = "Users move their own jobs, and only to a later expected start. Operators move any job anywhere; "
		  "`warnings` has a sentence for every deadline that was expected to be met and no longer is.",
	 .answer = &placed_answer, .answered = "It was moved.",
	 .codes = CODE(UNKNOWN_JOB) | CODE(BAD_STATE) | CODE(REFUSED),
	 .example = "{\"ids\": [\"12\"], \"after\": \"13\"}",
	 .result = "{\"results\": [{\"id\": \"12\"}], \"warnings\": []}"},

	{"POST", "/v1/jobs/*", NULL, .handle = api_action_unknown},
	{"GET", "/v1/jobs/*", "getJob", .handle = api_get, .tag = "jobs", .summary = "One job, with everything",
	 .about =
		 "Of a job that the server has forgotten (keep_completed), what the history has; `past` is true "
		 "then. A job that another system ran is found by its whole id (`slurm:12_3.cluster`). Users who may not see other users' jobs find their own. "
		 "`refused`: it was submitted while the server was down, and refused at its start.",
	 .answer = &job_schema, .answered = "The job.", .codes = CODE(BAD_REQUEST) | CODE(UNKNOWN_JOB) | CODE(REFUSED)},
	{"PATCH", "/v1/jobs/*", "alterJob", MAY_OWNER, .changes = true, .keyed = true, .bodiless = true,
	 .body = &alteration_body, .handle = api_alter_one, .tag = "jobs", .summary = "Change one job",
	 .codes = CODE(UNKNOWN_JOB) | CODE(UNKNOWN_QUEUE) | CODE(BAD_STATE) | CODE(FINISHED) | CODE(REFUSED) |
		  CODE(KEY_REUSED),
	 .example = "{\"priority\": 10, \"name\": \"later\"}"},
	{"DELETE", "/v1/jobs/*", "deleteJob", MAY_OWNER, .changes = true, .keyed = true, .bodiless = true,
	 .body = &deletion_body, .handle = api_delete_one, .tag = "jobs", .summary = "Delete one job",
	 .codes = CODE(UNKNOWN_JOB) | CODE(BAD_STATE) | CODE(FINISHED) | CODE(REFUSED) | CODE(KEY_REUSED)},
	{"GET", "/v1/jobs/*/script", "getScript", MAY_OWNER, .handle = api_script, .tag = "jobs",
	 .summary = "The script", .about = "For the job's owner and managers.", .type = "text/plain",
	 .answered = "The text.", .codes = CODE(BAD_REQUEST) | CODE(UNKNOWN_JOB) | CODE(NOT_FOUND)},
	{"GET", "/v1/jobs/*/submission", "getSubmission", MAY_OWNER, .handle = api_submission, .tag = "jobs",
	 .summary = "The job as it was submitted, with its script",
	 .about = "For the job's owner and managers. `POST /v1/jobs` of it submits the same job again.",
	 .answer = &whatif_body, .answered = "The submission.",
	 .codes = CODE(BAD_REQUEST) | CODE(UNKNOWN_JOB) | CODE(NOT_FOUND)},
	{"POST", "/v1/jobs/*/again", "submitAgain", MAY_OWNER, .changes = true, .keyed = true, .bodiless = true,
	 .body = &again_body, .handle = api_again, .tag = "jobs", .summary = "Submit the job again",
	 .about = "A new job that is submitted as this one was, by the same user; what the body has replaces the old "
		  "values, and its `resources` those of the same name. The server knows how a job was submitted until "
		  "it forgets the job (`keep_completed`).",
	 .status = 201, .answer = &submitted_answer, .answered = "Accepted, and on disk.",
	 .codes = CODE(UNKNOWN_JOB) | CODE(UNKNOWN_QUEUE) | CODE(REFUSED) | CODE(WOULD_DISPLACE) | CODE(KEY_REUSED),
	 .example = "{\"only\": \"failed\", \"resources\": [\"walltime=8:00:00\"]}",
	 .result = "{\"id\": \"13.host\", \"number\": 13, \"guaranteed\": null, \"planned_start\": null, "
		   "\"warnings\": []}"},
	{"GET", "/v1/jobs/*/elements", "getElements", .handle = api_elements, .tag = "jobs",
	 .summary = "The elements of an array by state", .answer = &elements_answer,
	 .answered = "The indices of the elements in each state, as `array` takes them.",
	 .codes = CODE(BAD_REQUEST) | CODE(UNKNOWN_JOB),
	 .result = "{\"waiting\": \"41-100\", \"held\": \"\", \"running\": \"37-40\", \"succeeded\": \"1-11,13-36\", "
		   "\"failed\": \"12\", \"cancelled\": \"\"}"},
	{"GET", "/v1/jobs/*/events", "getHistory", .query = past_events_query, .handle = api_job_events, .tag = "jobs",
	 .summary = "What happened to the job", .answer = &job_events_answer,
	 .answered = "Its events, oldest first; at most 1,000.", .codes = CODE(UNKNOWN_JOB),
	 .result = "{\"events\": [{\"seq\": 7, \"time\": 1767225600, \"type\": \"submit\", \"text\": \"submitted by "
		   "ann\"}]}"},
	{"GET", "/v1/jobs/*/usage", "getJobUsage",
	 QUERY({"follow", .is = IS_INT, "1: continue until the job ends", .most = 1, .otherwise = "0"}),
	 .handle = api_job_usage, .tag = "jobs", .summary = "What the job's last attempt uses, over time",
	 .about = "Up to 64 samples that cover the whole run, more of them at its beginning; the server has them in "
		  "memory while the job runs and of the last 500 that have ended.",
	 .type = "application/x-ndjson",
	 .answered = "A line for each sample: `time`, `cpu_ms` (processor time used so far, on all hosts) and `memory` "
		     "(KiB held then).",
	 .codes = CODE(BAD_REQUEST) | CODE(UNKNOWN_JOB)},
	{"GET", "/v1/jobs/*/why", "getWhy", .handle = api_why, .tag = "jobs", .summary = "Why the job waits",
	 .answer = &why_answer, .answered = "The reason, for people and for programs.",
	 .codes = CODE(BAD_REQUEST) | CODE(UNKNOWN_JOB),
	 .result = "{\"text\": \"waits for 2 CPUs of n1, which job 11 holds\", \"why\": \"short\", \"when\": "
		   "1767225600, \"needed\": 4, \"free\": 2, \"missing\": 2, \"holders\": [\"11.host\"]}"},
	{"GET", "/v1/jobs/*/output", "getOutput", MAY_OWNER,
	 QUERY({"stream", .is = IS_TEXT, .words = "out|err", .otherwise = "out"},
	       {"from", .is = IS_INT, "first byte", .most = SEQ_MOST, .otherwise = "0"},
	       {"follow", .is = IS_INT, "1: continue until the job ends", .most = 1, .otherwise = "0"}),
	 .handle = api_output, .tag = "jobs", .summary = "The job's output as it grows",
	 .about = "For the job's owner and managers.", .type = "application/octet-stream", .answered = "The bytes.",
	 .codes = CODE(UNKNOWN_JOB) | CODE(NOT_FOUND) | CODE(BAD_STATE)},
	{"GET", "/v1/jobs/*/terminal", "getTerminal", MAY_OWNER,
	 QUERY({"key", .is = IS_TEXT, "the client's own, not to be guessed; up to 39 characters"}),
	 .handle = api_terminal, .tag = "jobs", .summary = "The terminal of an interactive job",
	 .about = "For the job's owner, with `Connection: Upgrade` and `Upgrade: shunt-terminal`. The connection "
		  "leaves HTTP and speaks the frames of src/run/pty.h. One client at a time; one that comes again "
		  "after its connection broke has the same key.",
	 .status = 101, .answered = "The connection is the terminal from here on.",
	 .codes = CODE(UNKNOWN_JOB) | CODE(BAD_STATE) | CODE(FINISHED) | CODE(OUTCOME_UNKNOWN)},
	{"GET", "/v1/jobs/*/enter", "enterJob", MAY_OWNER,
	 QUERY({"node", .is = IS_TEXT, "a node of the job; if not given, its first"}), .handle = api_enter,
	 .tag = "jobs", .summary = "Start a program in a running job",
	 .about =
		 "For the job's owner, with `Connection: Upgrade` and `Upgrade: shunt-task`. The connection leaves HTTP "
		 "and speaks the frames of src/engine/tasks.h.",
	 .status = 101, .answered = "The connection is the program's from here on.",
	 .codes = CODE(UNKNOWN_JOB) | CODE(UNKNOWN_NODE) | CODE(BAD_STATE) | CODE(FINISHED) | CODE(OUTCOME_UNKNOWN)},
	{"GET", "/v1/jobs/*/program", "streamProgram", MAY_OWNER,
	 QUERY({"key", .is = REQUIRED | IS_TEXT, "the client's own, not to be guessed; 16 to 39 characters",
		.most = 39},
	       {"node", .is = IS_TEXT, "a node of the job; if not given, its first"}),
	 .handle = api_program, .tag = "jobs",
	 .summary = "Start a program in a running job, for clients that can't leave HTTP",
	 .about = "For the job's owner. POST takes the client's frames; the program ends when the stream is closed.",
	 .type = "application/octet-stream", .answered = "The frames of the program (src/engine/tasks.h).",
	 .codes = CODE(UNKNOWN_JOB) | CODE(UNKNOWN_NODE) | CODE(BAD_STATE) | CODE(FINISHED)},
	{"POST", "/v1/jobs/*/program", "inputProgram", MAY_OWNER,
	 QUERY({"key", .is = REQUIRED | IS_TEXT, "that of the stream", .most = 39}), .handle = api_program_input,
	 .tag = "jobs", .summary = "Send frames to a program in a running job",
	 .about = "The body has frames of src/engine/tasks.h, the first of them a task.",
	 .codes = CODE(UNKNOWN_JOB) | CODE(NOT_FOUND) | CODE(TOO_LARGE)},
	{"POST", "/v1/whatif", "whatIf", .large = true, .body = &whatif_body, .handle = api_whatif, .tag = "jobs",
	 .summary = "When such a job would start and end if it were submitted now; nothing is kept",
	 .answer = &whatif_answer, .answered = "The forecast.", .codes = CODE(UNKNOWN_QUEUE) | CODE(REFUSED),
	 .example = "{\"resources\": [\"nodes=2:ppn=4,walltime=1:00:00\"]}",
	 .result = "{\"possible\": true, \"start\": 1767225600, \"end\": 1767229200, \"nodes\": [\"n1\", \"n2\"], "
		   "\"guaranteed\": null, \"reason\": null}"},

	{"GET", "/v1/templates", "listTemplates", .handle = api_templates, .tag = "jobs",
	 .summary = "The site's templates of jobs, and the caller's own", .answer = &templates_answer,
	 .answered = "The templates, without their jobs.",
	 .result = "{\"templates\": [{\"name\": \"relax\", \"site\": true, \"by\": \"root\", \"description\": "
		   "\"relaxes a molecule\"}]}"},
	{"GET", "/v1/templates/*", "getTemplate", .handle = api_template, .tag = "jobs",
	 .summary = "One template, with its job",
	 .about = "The caller's own comes before the site's of the same name. `POST /v1/jobs` of its `job` submits it.",
	 .answer = &template_whole, .answered = "The template.", .codes = CODE(NOT_FOUND)},
	{"PUT", "/v1/templates/*", "saveTemplate", .changes = true, .body = &template_body, .handle = api_template_put,
	 .tag = "jobs", .summary = "Save a template, or replace one", .status = 201, .codes = CODE(BAD_STATE),
	 .example = "{\"site\": true, \"job\": {\"script\": \"#!/bin/sh\\nrelax in.xyz\\n\", \"resources\": "
		    "[\"ncpus=4\"], \"comment\": \"relaxes a molecule\"}}"},
	{"DELETE", "/v1/templates/*", "deleteTemplate", .changes = true, .handle = api_template_delete, .tag = "jobs",
	 .summary = "Delete a template", .codes = CODE(NOT_FOUND)},

	{"GET", "/v1/server", "getServer", .handle = api_server, .tag = "server",
	 .summary = "The server and its attributes", .answer = &server_answer, .answered = "The server."},
	{"GET", "/v1/server/log", "getServerLog", MAY_MANAGER,
	 QUERY({"level", .is = IS_TEXT, "only lines that are at least this severe", .words = SEVERITY_WORDS("|"),
		.otherwise = "debug"}),
	 .handle = api_server_log, .tag = "server", .summary = "The last lines of the server's log",
	 .answer = &server_log_answer, .answered = "The lines, at most 1000.",
	 .result =
		 "{\"lines\": [{\"time\": 1767225600, \"level\": \"warning\", \"text\": \"node n3 is down: no message "
		 "for 62 s\"}]}"},
	{"GET", "/v1/machine", "getMachine", .handle = api_machine, .tag = "server",
	 .summary = "The machine at a glance: whether it starts jobs, and how many nodes it has",
	 .answer = &machine_answer, .answered = "The machine.",
	 .result =
		 "{\"name\": \"pine\", \"now\": 1767225600, \"up\": true, \"scheduling\": true, \"policy\": \"push\", "
		 "\"nodes\": 4, \"nodes_up\": 4, \"cpus\": 32, \"partitions\": [], \"shared\": 32, \"shutdown\": null}"},
	{"GET", "/v1/overview", "getOverview", .handle = api_overview, .tag = "server",
	 .summary = "The cluster and its queue in one answer of bounded size",
	 .about = "What the page shows first. Members of jobs that have no value are left out.",
	 .answer = &overview_answer, .answered = "The overview."},
	{"GET", "/v1/backfill", "getBackfill",
	 QUERY({"queue", .is = IS_TEXT, "for jobs of this queue"},
	       {"feature", .is = IS_TEXT, "only nodes that have it"},
	       {"duration", .is = IS_INT, "only what is free for at least that many seconds", .most = TIME_MOST}),
	 .handle = api_backfill, .tag = "server", .summary = "The largest jobs that would start at once",
	 .answer = &backfill_answer, .answered = "The windows, wider and shorter ones first.",
	 .codes = CODE(UNKNOWN_QUEUE),
	 .result = "{\"now\": 1767225600, \"windows\": [{\"cpus\": 8, \"nodes\": 2, \"duration\": 3600}, {\"cpus\": 4, "
		   "\"nodes\": 1, \"duration\": null}]}"},
	{"GET", "/v1/priority", "getPriority",
	 QUERY({"limit", .is = IS_INT, "jobs that are shown", .least = 1, .most = 10000, .otherwise = "100"},
	       {"try", .is = IS_TEXT, "weights, bounds (`low.`, `high.`) and the order that would be instead",
		.example = "cpus=10,order=sum"}),
	 .handle = api_priority, .tag = "server", .summary = "The priorities of waiting jobs, factor by factor",
	 .also = "text/tab-separated-values",
	 .about =
		 "As tab-separated values, for long lists: the job, its priority, and the part of each factor that has a weight.",
	 .answer = &priority_answer,
	 .answered = "The jobs, the highest priority first. With `try` each has the place that it would have.",
	 .codes = CODE(UNKNOWN_ATTRIBUTE)},
	{"GET", "/v1/fairshare", "getFairshare", .handle = api_fairshare, .tag = "server",
	 .summary = "Who has used how much of its share", .answer = &fairshare_answer,
	 .answered =
		 "A tree of accounts, groups and users, a line each. A level without targets is left out. Who may not see other users' jobs sees no other users."},
	{"GET", "/v1/hooks", "listHooks", MAY_OPERATOR, .handle = api_hooks, .tag = "server",
	 .summary = "The site's hooks", .answer = &hooks_answer,
	 .answered = "The files, in the order in which they are called."},
	{"POST", "/v1/hooks/try", "tryHook", MAY_MANAGER, .body = &trial_body, .handle = api_hooks_try, .tag = "server",
	 .summary = "Check a hook, or see what it would say of a job", .answer = &tried_answer,
	 .answered = "What the file would have said. Nothing is changed, and no mail is sent.",
	 .example =
		 "{\"name\": \"test.lua\", \"source\": \"function on_submit(job) job.account = 'x' end\", \"event\": \"submit\", \"job\": {}}"},
	{"GET", "/v1/audit", "getAudit", MAY_MANAGER,
	 QUERY({"since", .is = IS_INT, "only changes since then", .most = TIME_MOST},
	       {"after", .is = IS_INT, "only records after this one: `next` of the previous page", .most = SEQ_MOST},
	       {"user", .is = IS_TEXT, "only changes by this user"},
	       {"kind", .is = IS_TEXT, "only changes of this kind of thing",
		.words = "server|queue|node|job|token|partition|class|user|group|account|qos|reservation"},
	       {"name", .is = IS_TEXT, "only of what has this name"}),
	 .handle = api_audit, .tag = "server",
	 .summary = "Who changed which settings, and other people's jobs, with the commands that undo it",
	 .answer = &audit_answer, .answered = "The records, oldest first, at most 500.",
	 .result =
		 "{\"records\": [{\"seq\": 12, \"time\": 1767225600, \"who\": \"ann\", \"kind\": \"queue\", \"name\": \"batch\", "
		 "\"action\": \"changed\", \"change\": \"max_running = 5 (was unset)\", \"undo\": \"qmgr -c 'unset queue batch "
		 "max_running'\"}], \"next\": null}"},
	{"GET", "/v1/site", "getSite", MAY_MANAGER, .handle = api_site, .tag = "server",
	 .summary = "What the server sees of its own machine: directories, programs, certificates",
	 .answer = &site_answer, .answered = "The machine. \"shunt doctor\" judges it."},
	{"PATCH", "/v1/server", "changeServer", MAY_MANAGER, .changes = true, .body = &changes_body,
	 .handle = api_server_change, .tag = "server", .summary = "Change attributes", .codes = CODE(UNKNOWN_ATTRIBUTE),
	 .example = "{\"changes\": [{\"op\": \"set\", \"name\": \"default_queue\", \"value\": \"batch\"}]}"},
	{"POST", "/v1/shutdown", "shutDown", MAY_MANAGER, .changes = true, .bodiless = true, .body = &shutdown_body,
	 .handle = api_shutdown, .tag = "server", .summary = "End the server, now or at a time that is announced",
	 .codes = CODE(BAD_STATE), .example = "{\"mode\": \"quick\"}"},
	{"GET", "/v1/attributes", "getAttributes", .handle = api_attributes, .tag = "server",
	 .summary = "Which attributes the server, queues and named objects have", .answer = &attributes_answer,
	 .answered = "The table."},
	{"GET", "/v1/cluster", "getCluster", .handle = api_cluster, .tag = "server",
	 .summary = "The cluster, its servers and its authority", .answer = &cluster_answer,
	 .answered = "The cluster."},

	{"GET", "/v1/queues", "listQueues", .handle = api_queues, .tag = "queues", .summary = "The queues",
	 .answer = &queues_answer, .answered = "The queues."},
	{"GET", "/v1/queues/*", "getQueue", .handle = api_queue, .tag = "queues", .summary = "One queue",
	 .answer = &queue_answer, .answered = "The queue.", .codes = CODE(UNKNOWN_QUEUE)},
	{"PUT", "/v1/queues/*", "createQueue", MAY_MANAGER, .changes = true, .handle = api_queue_create,
	 .tag = "queues", .summary = "Create a queue", .status = 201, .codes = CODE(BAD_REQUEST) | CODE(BAD_STATE)},
	{"PATCH", "/v1/queues/*", "changeQueue", MAY_COORDINATOR, .changes = true, .body = &changes_body,
	 .handle = api_queue_change, .tag = "queues", .summary = "Change attributes",
	 .about = "Operators, and the queue's coordinators, enable, disable, start and stop; the rest is for managers.",
	 .codes = CODE(UNKNOWN_QUEUE) | CODE(UNKNOWN_ATTRIBUTE),
	 .example = "{\"changes\": [{\"op\": \"set\", \"name\": \"started\", \"value\": \"True\"}]}"},
	{"DELETE", "/v1/queues/*", "deleteQueue", MAY_MANAGER, .changes = true, .handle = api_queue_delete,
	 .tag = "queues", .summary = "Remove an empty queue", .codes = CODE(UNKNOWN_QUEUE) | CODE(BAD_STATE)},
	{"GET", "/v1/queues/*/events", "getQueueEvents", .query = past_events_query, .handle = api_queue_events,
	 .tag = "queues", .summary = "What happened to the queue, who did it, and why", .answer = &lives_answer,
	 .answered =
		 "Its events, oldest first; at most 500. At least the last 500 are kept, also of a queue that was deleted.",
	 .codes = CODE(UNKNOWN_QUEUE),
	 .result = "{\"events\": [{\"seq\": 9, \"time\": 1767225600, \"queue\": \"batch\", \"type\": \"stopped\", "
		   "\"who\": \"ann\", \"reason\": null, \"text\": \"stopped: its jobs wait, by ann\"}]}"},

	OBJECTS("classes", "Class", CLASS, MAY_MANAGER, classes, object_answer,
		"program classes: how jobs are saved and restarted", "preempt_signal", "15"),
	OBJECTS("users", "User", USER, MAY_MANAGER, users, object_answer, "users with settings", "priority", "10"),
	OBJECTS("groups", "Group", GROUP, MAY_MANAGER, groups, object_answer, "groups with settings", "priority", "10"),
	OBJECTS("accounts", "Account", ACCOUNT, MAY_COORDINATOR, accounts, object_answer, "accounts", "parent",
		"physics"),
	OBJECTS("reservations", "Reservation", RESERVATION, MAY_MANAGER, reservations, reservation_answer,
		"reservations: nodes set aside for certain jobs at certain times", "duration", "4:00:00"),
	OBJECTS("qos", "Qos", QOS, MAY_MANAGER, qos, object_answer, "qualities of service", "priority", "10"),

	{"GET", "/v1/partitions", "listPartitions", .handle = api_partitions, .tag = "partitions",
	 .summary = "The partitions, and which nodes are in none", .answer = &partitions_answer,
	 .answered = "The partitions.",
	 .result = "{\"partitions\": [{\"name\": \"A\", \"nodes\": [\"n1\", \"n2\"], \"cpus\": 16, \"cpus_up\": 16, "
		   "\"state\": \"busy\", \"job\": \"12.host\", \"waiting\": 3, \"attributes\": {\"nodes\": "
		   "\"n1,n2\"}}], \"shared\": [\"n3\"]}"},
	{"GET", "/v1/partitions/*", "getPartition", .handle = api_partition, .kind = OBJECT_PARTITION,
	 .tag = "partitions", .summary = "One partition", .answer = &partition_answer, .answered = "The partition.",
	 .codes = CODE(NOT_FOUND)},
	{"PUT", "/v1/partitions/*", "createPartition", MAY_MANAGER, .changes = true, .handle = api_object_create,
	 .kind = OBJECT_PARTITION, .tag = "partitions", .summary = "Create a partition, without nodes", .status = 201,
	 .codes = CODE(BAD_REQUEST) | CODE(BAD_STATE)},
	{"PATCH", "/v1/partitions/*", "changePartition", MAY_MANAGER, .changes = true, .body = &changes_body,
	 .handle = api_object_change, .kind = OBJECT_PARTITION, .tag = "partitions",
	 .summary = "Change its nodes, or its comment",
	 .about = "Refused while a job runs on a node that would come or go, or on another of the partition. Jobs "
		  "that wait for a partition which no longer suits them are held until one does.",
	 .codes = CODE(NOT_FOUND) | CODE(UNKNOWN_ATTRIBUTE) | CODE(BAD_STATE),
	 .example = "{\"changes\": [{\"op\": \"set\", \"name\": \"nodes\", \"value\": \"n[1-4]\"}]}"},
	{"DELETE", "/v1/partitions/*", "deletePartition", MAY_MANAGER, .changes = true, .handle = api_object_delete,
	 .kind = OBJECT_PARTITION, .tag = "partitions", .summary = "Remove a partition; its nodes are shared then",
	 .codes = CODE(NOT_FOUND) | CODE(BAD_STATE)},

	{"GET", "/v1/nodes", "listNodes", .handle = api_nodes, .tag = "nodes", .summary = "The nodes",
	 .answer = &nodes_answer, .answered = "The nodes."},
	{"GET", "/v1/nodes/*", "getNode", .handle = api_node, .tag = "nodes", .summary = "One node",
	 .answer = &node_answer, .answered = "The node.", .codes = CODE(UNKNOWN_NODE)},
	{"PATCH", "/v1/nodes/*", "changeNode", MAY_OPERATOR, .changes = true, .body = &node_body,
	 .handle = api_node_change, .tag = "nodes",
	 .summary = "Take a node out of service, or back; set its note, class, features and sizes",
	 .codes = CODE(UNKNOWN_NODE) | CODE(BAD_STATE),
	 .example = "{\"offline\": true, \"note\": \"new memory on Friday\"}"},
	{"DELETE", "/v1/nodes/*", "removeNode", MAY_MANAGER, .changes = true,
	 QUERY({"force", .is = IS_INT, "1: also if jobs run there, or if that breaks guaranteed deadlines", .most = 1,
		.otherwise = "0"}),
	 .handle = api_node_remove, .tag = "nodes", .summary = "Remove a node that joined, and revoke its certificate",
	 .codes = CODE(UNKNOWN_NODE) | CODE(BAD_STATE)},
	{"GET", "/v1/nodes/*/events", "getNodeEvents", .query = past_events_query, .handle = api_node_events,
	 .tag = "nodes", .summary = "What happened to the node, who did it, and why", .answer = &lives_answer,
	 .answered =
		 "Its events, oldest first; at most 500. At least the last 500 are kept, also of a node that was removed.",
	 .codes = CODE(UNKNOWN_NODE),
	 .result = "{\"events\": [{\"seq\": 9, \"time\": 1767225600, \"node\": \"n3\", \"type\": \"offline\", "
		   "\"who\": \"ann\", \"reason\": \"new disk\", \"text\": \"taken offline, by ann: new disk\"}]}"},

	{"GET", "/v1/tokens", "listTokens", .handle = api_tokens, .tag = "tokens",
	 .summary = "One's own tokens; for managers all. Never their secrets", .answer = &tokens_answer,
	 .answered = "The tokens that have not expired."},
	{"POST", "/v1/tokens", "createToken", .changes = true, .body = &token_body, .handle = api_token_create,
	 .tag = "tokens", .summary = "Make a token for a machine that joins, or for a user of another machine",
	 .about = "Tokens by which machines join are for managers to make, and logins by the local socket.",
	 .status = 201, .answer = &new_token_answer, .answered = "Made, and on disk. The secret is shown this once.",
	 .codes = CODE(BAD_STATE), .example = "{\"kind\": \"login\", \"expires\": 604800, \"label\": \"my laptop\"}"},
	{"DELETE", "/v1/tokens/*", "revokeToken", MAY_OWNER, .changes = true, .handle = api_token_revoke,
	 .tag = "tokens", .summary = "End a token at once", .codes = CODE(NOT_FOUND)},
	{"POST", "/v1/join", "join", MAY_ANYONE, .changes = true, .body = &join_body, .handle = api_join,
	 .tag = "tokens", .summary = "Become a node, with a join token", .answer = &joined_answer,
	 .answered = "The machine is a node, and its use of the token is on disk.", .codes = CODE(BAD_STATE)},
	{"POST", "/v1/login", "login", MAY_ANYONE, .changes = true, .body = &login_body, .handle = api_login,
	 .tag = "tokens", .summary = "A login token for a user whom munge confirms, where it is on", .status = 201,
	 .answer = &new_token_answer, .answered = "Made, and on disk. The secret is shown this once.",
	 .codes = CODE(BAD_STATE)},
	{"GET", "/v1/whoami", "whoAmI", .handle = api_whoami, .tag = "tokens",
	 .summary = "Whom the server takes one for", .answer = &whoami_answer, .answered = "The user.",
	 .result =
		 "{\"user\": \"ann\", \"uid\": 1000, \"role\": \"user\", \"by\": \"token\", \"home\": \"/home/ann\"}"},

	{"POST", "/v1/page", "linkPage", .handle = api_page_link, .tag = "page",
	 .summary = "A link that signs its caller in to the page, once",
	 .about = "By the local socket, or with a login token where the page is served over TLS: the session then ends "
		  "with the token.",
	 .status = 201, .answer = &page_link_answer, .answered = "The link.", .codes = CODE(BAD_STATE)},
	{"GET", "/v1/clusters", "listClusters", .handle = api_clusters, .tag = "page",
	 .summary = "Other clusters that the user is logged in to",
	 .about = "Of a personal instance: the logins of 'shunt login'. A server of many users lists none.",
	 .answer = &clusters_answer, .answered = "The clusters.", .codes = CODE(BAD_STATE)},
	{"POST", "/v1/clusters/*", "linkCluster", .handle = api_cluster_link, .tag = "page",
	 .summary = "A link that signs the user in to the page of one of them, once",
	 .about = "The server requests it from the cluster with the login's token.", .status = 201,
	 .answer = &cluster_link_answer, .answered = "The link.", .codes = CODE(NOT_FOUND) | CODE(BAD_STATE)},
	{"GET", "/v1/session", "signInWays", MAY_VISITOR, .handle = api_session_ways, .tag = "page",
	 .summary = "How one signs in to the page", .about = "By the page's own port only.",
	 .answer = &session_ways_answer, .answered = "What it takes."},
	{"POST", "/v1/session", "signIn", MAY_VISITOR, .changes = true, .body = &session_body,
	 .handle = api_session_begin, .tag = "page",
	 .summary = "Sign in to the page: by the key of a link, a token, or a password",
	 .about = "By the page's own port only. Every request there needs the cookie that is set, and the token.",
	 .status = 201, .answer = &session_answer, .answered = "Signed in.",
	 .example = "{\"key\": \"0123456789abcdef0123456789abcdef\"}"},
	{"DELETE", "/v1/session", "signOut", .changes = true, .handle = api_session_end, .tag = "page",
	 .summary = "Sign out of the page"},

	{"GET", "/v1/files", "listFiles", .query = files_query, .handle = api_files_list, .tag = "files",
	 .summary = "What is in a directory of the server's machine, as the caller sees it", .answer = &files_answer,
	 .answered = "The directory.", .codes = CODE(NOT_FOUND)},
	{"GET", "/v1/files/content", "readFile", .query = files_query, .handle = api_files_read, .tag = "files",
	 .summary = "A file of the server's machine, read as the caller", .type = "application/octet-stream",
	 .answered = "Its bytes.", .codes = CODE(NOT_FOUND)},
	{"PUT", "/v1/files/content", "writeFile",
	 QUERY({"path", .is = REQUIRED | IS_TEXT, "below the caller's home if it does not begin with /", .most = 4095,
		.example = "results/run1"},
	       {"modified", .is = IS_INSTANT,
		"`modified` of the version that is replaced, as listed: another one is left alone. If not given, the file must be new"}),
	 .large = true, .handle = api_files_write, .tag = "files",
	 .summary = "Write a file of the server's machine as the caller",
	 .about = "The body has its bytes, at most 64 MiB.", .answer = &written_answer, .answered = "It is written.",
	 .codes = CODE(BAD_STATE)},
	{"POST", "/v1/uploads", "upload",
	 QUERY({"name", .is = REQUIRED | IS_TEXT, "of the directory in the caller's home that the archive is meant for",
		.most = 64}),
	 .large = true, .handle = api_upload, .tag = "files", .summary = "Put a tar file into the caller's home",
	 .about =
		 "The body is the archive, plain or compressed by gzip, of at most 64 MiB that unpack to at most 1 GiB. It is refused if something in it would "
		 "not stay in its directory. A job unpacks it.",
	 .status = 201, .answer = &upload_answer, .answered = "It is there.", .codes = CODE(BAD_STATE)},

	{"GET", "/v1/overlays", "listOverlays", .handle = api_overlays, .tag = "overlays",
	 .summary = "Clusters that nodes come from while jobs wait", .answer = &overlays_answer,
	 .answered = "The overlays, with the allocations that are requested or running."},
	{"PUT", "/v1/overlays/*", "putOverlay", MAY_MANAGER, .changes = true, .body = &overlay_body,
	 .handle = api_overlay_put, .tag = "overlays", .summary = "Borrow nodes from another cluster while jobs wait",
	 .status = 201, .codes = CODE(BAD_REQUEST) | CODE(BAD_STATE),
	 .example =
		 "{\"place\": \"slurm\", \"words\": \"-p long\", \"tag\": \"slurm:shunt-bag-0123456789ab\", \"max_nodes\": 16, "
		 "\"time\": 14400, \"cpus\": 8}"},
	{"PATCH", "/v1/overlays/*", "changeOverlay", MAY_MANAGER, .changes = true, .body = &overlay_patch,
	 .handle = api_overlay_change, .tag = "overlays", .summary = "Pause or resume an overlay",
	 .codes = CODE(NOT_FOUND), .example = "{\"paused\": true}"},
	{"DELETE", "/v1/overlays/*", "deleteOverlay", MAY_MANAGER, .changes = true, .bodiless = true,
	 .body = &overlay_delete_body, .handle = api_overlay_delete, .tag = "overlays",
	 .summary = "Remove an overlay: its allocations are cancelled", .codes = CODE(NOT_FOUND) | CODE(BAD_STATE)},
	{"POST", "/v1/keeper", NULL, MAY_MANAGER, .changes = true, .bodiless = true, .body = &keeper_body,
	 .handle = api_keeper, .tag = "overlays"},
	{"POST", "/v1/keeper/*", NULL, MAY_MANAGER, .changes = true, .body = &keeper_change_body,
	 .handle = api_keeper_change, .tag = "overlays"},

	{"GET", "/v1/simulations", "listSimulations", MAY_OPERATOR, .handle = api_simulations, .tag = "history",
	 .summary = "Simulations of the past that are kept, and what can be simulated", .answer = &simulations_answer,
	 .answered = "The policies, and the simulations."},
	{"GET", "/v1/simulations/*", "getSimulation", MAY_OPERATOR, .handle = api_simulation, .tag = "history",
	 .summary = "One of them", .answer = &simulation_answer, .answered = "The simulation.",
	 .codes = CODE(NOT_FOUND)},
	{"POST", "/v1/simulations", "simulate", MAY_OPERATOR, .body = &simulation_body, .handle = api_simulate,
	 .tag = "history", .summary = "Replay the jobs of the past under policies, and compare them",
	 .about = "They run on the nodes, and under the limits and priorities, that the server has now; deadlines, "
		  "dependencies, reservations, hooks and credits are not replayed. One simulation is computed at a "
		  "time, with the lowest priority, for at most 300 s; the answer comes when it is ready. What was "
		  "computed within the last hour is answered at once.",
	 .answer = &simulation_answer, .answered = "The simulation.", .codes = CODE(BAD_STATE),
	 .example = "{\"days\": 30, \"policies\": [\"shunt\", \"easy\"]}"},

	{"GET", "/v1/sites", "listSites", .handle = api_sites, .tag = "sites",
	 .summary = "Other sites that jobs can be handed over to", .answer = &sites_answer, .answered = "The sites."},
	{"PUT", "/v1/sites/*", "putSite", MAY_MANAGER, .changes = true, .body = &remote_given, .handle = api_site_put,
	 .tag = "sites", .summary = "Add a site, or change its servers and token", .status = 201,
	 .codes = CODE(BAD_REQUEST),
	 .example = "{\"servers\": \"east.example.org:7722\", \"token\": "
		    "\"s1.x.0123456789abcdef0123456789abcdef\"}"},
	{"DELETE", "/v1/sites/*", "deleteSite", MAY_MANAGER, .changes = true, .handle = api_site_delete, .tag = "sites",
	 .summary = "Remove a site that has none of this server's jobs", .codes = CODE(NOT_FOUND) | CODE(BAD_STATE)},
	{"POST", "/v1/courier", NULL, MAY_MANAGER, .changes = true, .bodiless = true, .body = &courier_work_body,
	 .handle = api_courier_work, .tag = "sites"},
	{"GET", "/v1/courier/*", NULL, MAY_MANAGER, .handle = api_courier_job, .tag = "sites"},
	{"POST", "/v1/courier/*", NULL, MAY_MANAGER, .changes = true, .body = &site_report_schema,
	 .handle = api_courier_report, .tag = "sites"},
	{"POST", "/v1/courier/*/output", NULL, MAY_MANAGER, .changes = true, .body = &courier_piece_body,
	 .handle = api_courier_output, .tag = "sites"},

	{"GET", "/v1/quota", "getQuota",
	 QUERY({"user", .is = IS_TEXT, "another's, for operators"},
	       {"all", .is = IS_INT, "1: those of all users, for operators", .most = 1, .otherwise = "0"}),
	 .handle = api_quota, .tag = "quota",
	 .summary = "Computation time that users may use in a month, and what is left", .answer = &quota_answer,
	 .answered = "One's own; or another's, or all users'."},
	{"POST", "/v1/quota", "setQuota", MAY_MANAGER, .changes = true, .body = &quota_body, .handle = api_quota_set,
	 .tag = "quota", .summary = "Set the quota of users",
	 .about =
		 "Users that are not in the list keep theirs, unless `replace` is true. Jobs are counted as soon as any user has "
		 "quota.",
	 .answer = &quota_set_answer,
	 .example = "{\"quota\": [{\"user\": \"ann\", \"limit\": {\"normal\": 720000, \"priority\": 72000, "
		    "\"interactive\": 36000}, \"end\": 202704}]}"},
	{"DELETE", "/v1/quota/*", "dropQuota", MAY_MANAGER, .changes = true, .handle = api_quota_drop, .tag = "quota",
	 .summary = "Remove a user's entry", .codes = CODE(NOT_FOUND)},
	{"GET", "/v1/quota/moves", "getQuotaMoves",
	 QUERY({"user", .is = IS_TEXT, "another's, for operators"},
	       {"month", .is = IS_INT, "as 202704; if not given, this one", .least = 197001, .most = 999912}),
	 .handle = api_quota_moves, .tag = "quota",
	 .summary = "Everything that changed a user's quota in a month, in order", .answer = &moves_answer,
	 .answered = "The book. Its lines add up to what is left."},

	{"GET", "/v1/credits", "getCredits", QUERY({"account", .is = IS_TEXT, "only this account"}),
	 .handle = api_credits, .tag = "credits", .summary = "Credits of accounts", .answer = &credits_answer,
	 .answered = "The accounts with credits that the caller may charge; for operators, all of them."},
	{"POST", "/v1/credits", "changeCredits", MAY_MANAGER, .changes = true, .body = &credits_body,
	 .handle = api_credits_change, .tag = "credits", .summary = "Deposit, withdraw or transfer credits",
	 .codes = CODE(NOT_FOUND) | CODE(BAD_STATE),
	 .example = "{\"op\": \"deposit\", \"account\": \"physics\", \"amount\": 36000000, \"expires\": 1830000000}"},
	{"GET", "/v1/credits/statement", "getCreditStatement",
	 QUERY({"account", .is = REQUIRED | IS_TEXT},
	       {"month", .is = IS_INT, "as 202704; if not given, this one", .least = 197001, .most = 999912}),
	 .handle = api_credits_statement, .tag = "credits",
	 .summary = "Everything that changed an account's credits in a month, in order", .answer = &statement_answer,
	 .answered = "The statement. The lines of all months add up to the balance.", .codes = CODE(NOT_FOUND)},

	{"GET", "/v1/plan", "getPlan", .handle = api_plan, .tag = "watching",
	 .summary = "Who holds what on which node when", .answer = &plan_answer,
	 .answered = "What runs and what is reserved."},
	{"GET", "/v1/events", "watchEvents",
	 QUERY({"after", .is = IS_INT, "sequence number of the last event known", .most = SEQ_MOST,
		.header = "Last-Event-ID"}),
	 .handle = api_events, .tag = "watching",
	 .summary = "Every change of a job that the user may see, of nodes and of queues, as it happens",
	 .about = "Server-Sent Events. What is later than `Last-Event-ID` (or `after`) and still in the store is "
		  "sent first. A comment line every 15 s keeps the connection alive.",
	 .type = "text/event-stream",
	 .answered = "The stream; `data` is a JSON object with `seq`, `time`, `job`, `type`, `text`, `state`, and "
		     "`exit_status` of a job that has ended. With `event: node` or `event: queue` it is a "
		     "LifeEvent."},
	{"GET", "/v1/log", "getLog",
	 QUERY({"job", .is = IS_TEXT, "lines of this job"},
	       {"days", .is = IS_INT, "how far back", .most = 3650, .otherwise = "1"}),
	 .handle = api_log, .tag = "watching", .summary = "Lines of the accounting and event log",
	 .about = "Of one's own jobs; for operators, of all.", .type = "text/plain", .answered = "The lines."},
	{"GET", "/v1/metrics", "getMetrics",
	 QUERY({"nodes", .is = IS_INT, "0: without the lines of each node, which are very many on a large machine",
		.most = 1, .otherwise = "1"}),
	 .handle = api_metrics, .tag = "watching", .summary = "Counters and gauges for Prometheus",
	 .type = "text/plain", .answered = "Prometheus text."},

	{"GET", "/v1/history", "listHistory",
	 QUERY({"id", .is = IS_TEXT, "a job, an element of an array, or an array with all its elements",
		.example = "12[]"},
	       PAST_QUERY,
	       {"form", .is = IS_TEXT, "job: each as `GET /v1/jobs/ID` shows a job that the server has forgotten",
		.words = "row|job", .otherwise = "row"},
	       {"limit", .is = IS_INT, "rows of a page", .least = 1, .most = 10000, .otherwise = "1000"},
	       {"after", .is = IS_TEXT, "the `next` of the previous page"}),
	 .handle = api_history, .tag = "history", .summary = "Jobs that have ended, newest first",
	 .about = "They are kept long after the queue has forgotten them. Users who may not see other users' jobs "
		  "see their own.",
	 .answer = &past_answer, .answered = "The jobs."},
	{"POST", "/v1/history", "importHistory", MAY_MANAGER, .changes = true, .body = &import_body,
	 .handle = api_import, .tag = "history", .summary = "Add jobs that another system ran",
	 .about = "What they used is added to the ledger. A job is known by its id and the instant of its end: one "
		  "that is there already is not added again. Jobs that ended before what `keep_history` keeps are "
		  "left out. All jobs of a request are added, or none; they may have run on 5,000 days in all, each "
		  "job counted by itself.",
	 .answer = &added_answer, .answered = "How many were added.",
	 .example = "{\"jobs\": [{\"id\": \"slurm:12.old\", \"owner\": \"ann\", \"state\": \"completed\", "
		    "\"submitted\": 1769767200, \"started\": 1769767201, \"ended\": 1769770801, \"cpus\": 2, "
		    "\"ran_ms\": 3600000}]}"},
	{"GET", "/v1/history/sums", "sumHistory",
	 QUERY({"by", .is = IS_TEXT, "the column", .words = "all|user|group|account|queue|state|qos",
		.otherwise = "all"},
	       PAST_QUERY),
	 .handle = api_history_sums, .tag = "history",
	 .summary = "What jobs that have ended had and used, summed up by a column", .answer = &sums_answer,
	 .answered = "The sums."},
	{"GET", "/v1/usage", "getUsage",
	 QUERY({"first", .is = IS_INT, "a day, as 20261101", .least = 19700101, .most = 99991231},
	       {"last", .is = IS_INT, "a day", .least = 19700101, .most = 99991231}, {"user", .is = IS_TEXT}),
	 .handle = api_usage, .tag = "history", .summary = "The ledger, what was had and used on each day",
	 .answer = &usage_answer, .answered = "A row for each day, user, group, account and queue."},
};
const size_t nroutes = sizeof routes / sizeof *routes;

uint32_t route_codes(const struct route *route)
{
	uint32_t codes = route->codes | CODE(UNAUTHORIZED) | CODE(FORBIDDEN) | CODE(TOO_MANY) | CODE(UNAVAILABLE) |
			 CODE(NOT_LEADER);

	if (route->query || route->body || route->keyed)
		codes |= CODE(BAD_REQUEST);
	if (route->body)
		codes |= CODE(TOO_LARGE);
	if (route->changes)
		codes |= CODE(OUTCOME_UNKNOWN);
	return codes;
}
