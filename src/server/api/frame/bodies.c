/*
 * bodies.c - schemas of the bodies of requests. The members of a submission are those of
 * core/jobschema.h, which submission.c checks as it reads them.
 */
#include "core/jobschema.h"
#include "server/api/frame/schemas.h"

/* ---- submissions ---- */

static const struct schema settings_body = {"Settings", "What is given at submission and may change later.",
					    job_members, .in = AT_ALTER, .late = true};
const struct schema whatif_body = {
	"Submission",	     "Either `script`, `script_base64` or `interactive` is required (but for what-if).",
	job_members,	     .in = AT_SUBMIT,
	.without = AT_ALTER, .base = &settings_body,
	.late = true};
static const struct schema bulk = {
	FIELDS({"jobs", .is = REQUIRED | IS_LIST, "up to 10,000, of which all are accepted or none", .of = &whatif_body,
		.item = IS_OBJECT, .least = 1, .most = 10000})};
const struct schema submission_body = {.base = &whatif_body, .either = &bulk, .late = true};
static const struct field again_fields[] = {
	{"only", .is = IS_TEXT, "of an array: only the elements that have failed; of another job: only if it has",
	 .words = "all|failed", .otherwise = "all"},
	{0},
};
const struct schema again_body = {"Again", "What is to differ from the job as it was submitted.", again_fields,
				  .base = &whatif_body};
static const struct field force_fields[] = {
	{"force", .is = IS_BOOL, "do it even if that breaks guaranteed deadlines", .otherwise = "false"},
	{0},
};
const struct schema alteration_body = {
	"Alteration",
	"Of a running job only `name`, `mail`, `mail_to`, `comment` and the walltime among `resources` may change.",
	force_fields, .base = &settings_body};

/* ---- actions ---- */

static const struct field filter_fields[] = {
	{"user", .is = IS_TEXT},
	{"mine", .is = IS_BOOL, "only the caller's own jobs"},
	{"state", .is = IS_TEXT, "letters", .most = LETTERS_MOST},
	{"queue", .is = IS_TEXT},
	{"name", .is = IS_TEXT},
	{0},
};
static const struct schema filter = {.fields = filter_fields};

const struct schema rerun_body = {
	"Selection", "Either `ids` or `filter`. An array's id means all its elements.",
	FIELDS({"ids", .is = IS_LIST, .item = IS_TEXT},
	       {"filter", .is = IS_OBJECT, "all jobs that match and that the user may touch", .of = &filter})};

static const struct field deletion_fields[] = {
	{"message", .is = IS_TEXT},
	{"purge", .is = IS_BOOL, "managers: forget it even if it can't be ended", .otherwise = "false"},
	{"delay", .is = IS_INT, "seconds between SIGTERM and SIGKILL", .most = INT64_MAX},
	{0},
};
static const struct field hold_fields[] = {
	{"holds", .is = IS_TEXT, "of `u` (user), `o` (operator), `s` (system)", .letters = JOB_HOLDS,
	 .most = LETTERS_MOST, .otherwise = "u"},
	{0},
};
static const struct field signal_fields[] = {
	{"signal", .is = REQUIRED | IS_TEXT | IS_INT,
	 "name or number; `suspend` and `resume` are SIGSTOP and SIGCONT to the whole tree", .most = INT64_MAX},
	{0},
};
static const struct field run_fields[] = {{"nodes", .is = IS_TEXT, "where", .example = "n1+n2"}, {0}};
static const struct field move_fields[] = {{"queue", .is = REQUIRED | IS_TEXT}, {0}};
static const struct field message_fields[] = {
	{"text", .is = REQUIRED | IS_TEXT},
	{"to", .is = IS_TEXT, .words = "out|err|both", .otherwise = "err"},
	{0},
};

const struct schema deletion_body = {.fields = deletion_fields};
const struct schema delete_body = {.fields = deletion_fields, .base = &rerun_body};
static const struct schema forced = {.fields = force_fields, .base = &rerun_body};
const struct schema alter_body = {.fields = job_members, .in = AT_ALTER, .base = &forced, .late = true};
const struct schema hold_body = {.fields = hold_fields, .base = &rerun_body};
const struct schema signal_body = {.fields = signal_fields, .base = &rerun_body};
const struct schema run_body = {.fields = run_fields, .base = &rerun_body};
const struct schema move_body = {.fields = move_fields, .base = &rerun_body};
const struct schema message_body = {.fields = message_fields, .base = &rerun_body};

/* ---- server, queues and nodes ---- */

static const struct schema change = {FIELDS({"op", .is = REQUIRED | IS_TEXT, .words = "set|add|remove|unset"},
					    {"name", .is = REQUIRED | IS_TEXT},
					    {"value", .is = IS_TEXT, "as qmgr has it; not for unset"})};
const struct schema changes_body = {
	"Changes",
	FIELDS({"changes", .is = REQUIRED | IS_LIST, "all are made, or none", .of = &change, .item = IS_OBJECT},
	       {"force", .is = IS_BOOL, "do it even if that breaks guaranteed deadlines", .otherwise = "false"})};

static const struct field node_fields[] = {
	{"offline", .is = IS_BOOL},
	{"force", .is = IS_BOOL, "do it even if that breaks guaranteed deadlines", .otherwise = "false"},
	{"state", .is = IS_TEXT, "the same as offline", .words = "offline|free"},
	{"drain_at", .is = IS_INT | IS_NULL,
	 "when it is to be out of service, an instant after now: until then jobs start there that end before; null: it stays"},
	{"note", .is = IS_TEXT | IS_NULL},
	{"class", .is = IS_TEXT | IS_NULL},
	{"workstation", .is = IS_TEXT | IS_NULL,
	 "the policy for its owner: docs/workstations.md; null: it is not a workstation"},
	{"features", .is = IS_LIST | IS_TEXT, "words; as a text, joined by commas", .item = IS_TEXT},
	{"cpus", .is = IS_INT | IS_NULL, "at most as many as there are; null: all"},
	{"gpus", .is = IS_INT | IS_NULL, "at most as many as there are; null: all"},
	{"speed", .is = IS_REAL | IS_NULL, "how fast it is beside a usual node, from 0.001 to 1000; null: 1"},
	{"shared", .is = IS_BOOL | IS_NULL, "its CPUs are divided among jobs with a budget; null: they are not"},
	{0},
};
const struct schema node_body = {.fields = node_fields};
