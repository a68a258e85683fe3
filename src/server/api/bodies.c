/*
 * bodies.c - what the bodies of requests may hold. The tables of a submission say what spec.c reads, which checks each member itself.
 */
#include "base/timetext.h"
#include "server/api/schemas.h"
#include "server/site/tokens.h"

/* ---- submissions ---- */

static const struct field settings[] = {
	{"name", .is = IS_TEXT, "printable characters, no blank, no `/`", .least = 1, .most = 236,
	 .otherwise = "STDIN"},
	{"resources", .is = IS_LIST, "texts as after `-l`, in order", .item = IS_TEXT,
	 .example = "[\"nodes=2:ppn=4\", \"walltime=1:00:00\"]"},
	{"exclusive", .is = IS_TEXT | IS_NULL,
	 "no other job on its nodes, or on their machines, while it runs; if not given, what `resources` says",
	 .words = "none|node|host"},
	{"max_run_subjobs", .is = IS_INT | IS_NULL, "of an array: elements that may run at once; 0: no limit",
	 .most = 100000},
	{"type", .is = IS_TEXT, "common, with a deadline (QoS), emergency, nice", .words = "C|Q|E|N", .otherwise = "C"},
	{"deadline", .is = IS_INT | IS_TEXT | IS_NULL,
	 "an instant, or text as after `--deadline`; makes a job of type C one of type Q; of type N: when it stops letting jobs submitted later go first"},
	{"priority", .is = IS_INT, "among the user's own jobs that wait", .least = -1024, .most = 1023,
	 .otherwise = "0"},
	{"at", .is = IS_INSTANT | IS_NULL, "not before this instant"},
	{"hold", .is = IS_TEXT, "of `u`, `o`, `s`", .letters = "uosn"},
	{"depend", .is = IS_TEXT | IS_NULL, .example = "afterok:12:13,afterany:14"},
	{"shell", .is = IS_TEXT | IS_NULL, "path of the interpreter; default: the `#!` line, else the user's shell"},
	{"output", .is = IS_TEXT | IS_NULL,
	 "path, relative to workdir; a directory: the default name in it; of an array, `-INDEX` is added unless the name tells elements apart"},
	{"error", .is = IS_TEXT | IS_NULL, "as output"},
	{"join", .is = IS_TEXT, .words = "oe|eo|n", .otherwise = "n"},
	{"keep", .is = IS_TEXT, "of `o`, `e`: in the home directory; `d` is accepted", .otherwise = "n"},
	{"mail", .is = IS_TEXT, "of `a`, `b`, `e`, or `n`", .otherwise = "a"},
	{"mail_to", .is = IS_TEXT | IS_NULL, "joined by commas; default the user"},
	{"rerunnable", .is = IS_BOOL, "may be started again after a failure of the machine", .otherwise = "true"},
	{"account", .is = IS_TEXT | IS_NULL},
	{"comment", .is = IS_TEXT | IS_NULL},
	{"checkpoint", .is = IS_TEXT | IS_NULL},
	{"class", .is = IS_TEXT | IS_NULL, "its program class: how it is saved and restarted"},
	{"stagein", .is = IS_TEXT | IS_NULL},
	{"stageout", .is = IS_TEXT | IS_NULL},
	{"umask", .is = IS_TEXT | IS_NULL, "octal"},
	{0},
};

static const struct field base64_fields[] = {{"base64", .is = REQUIRED | IS_BYTES}, {0}};
static const struct schema base64 = {.fields = base64_fields};

static const struct field submission_fields[] = {
	{"script", .is = IS_TEXT, "the text, up to 16 MiB"},
	{"script_base64", .is = IS_BYTES, "what is not UTF-8"},
	{"args", .is = IS_LIST, "arguments of the script", .item = IS_TEXT},
	{"queue", .is = IS_TEXT, "default: the server's default_queue"},
	{"powers", .is = IS_LIST, "of emergency jobs", .item = IS_TEXT,
	 .words = "sc_alloc|q_alloc|e_alloc|c_exec|s_exec|q_exec|e_exec"},
	{"estimate", .is = IS_INT | IS_NULL, "seconds that it will run; with a deadline and a budget", .least = 1},
	{"budget", .is = IS_INT | IS_NULL,
	 "what it may cost, in unit-seconds: it is accepted if that covers the price and the deadline can be guaranteed",
	 .least = 0},
	{"require_guarantee", .is = IS_BOOL, "refuse if the deadline can't be guaranteed now", .otherwise = "false"},
	{"array", .is = IS_TEXT | IS_NULL, "elements, and how many run at once", .example = "1-100%5"},
	{"environment", .is = IS_LIST, "each NAME=value, or what is not UTF-8 as base64", .of = &base64,
	 .item = IS_TEXT | IS_OBJECT},
	{"workdir", .is = IS_TEXT, "absolute: where it starts and where relative paths lead", .otherwise = "/"},
	{"interactive", .is = IS_BOOL, "it has a terminal; under the policy artaras it starts at once or is refused",
	 .otherwise = "false"},
	{"displace", .is = IS_INT | IS_NULL,
	 "of an interactive job that starts at once: running jobs may be displaced if that takes at most this many seconds. "
	 "Without it none is, and a job that can't start otherwise is refused (`would_displace`)",
	 .least = 0, .most = INT32_MAX},
	{"project", .is = IS_TEXT | IS_NULL},
	{"restart", .is = IS_TEXT | IS_NULL,
	 "a job of the same user that has ended: this one starts from its last checkpoint, with its script and whatever else is not given here",
	 .example = "12"},
	{"submit_host", .is = IS_TEXT | IS_NULL},
	{"submit_args", .is = IS_TEXT | IS_NULL},
	{"program", .is = IS_TEXT | IS_NULL, "the command line of its program, for people: up to 1,024 bytes",
	 .example = "/opt/MolSim -steps 100"},
	{0},
};

static const struct schema settings_body = {"Settings", "What is given at submission and may change later.", settings,
					    .late = true};
const struct schema whatif_body = {"Submission",
				   "Either `script`, `script_base64` or `interactive` is required (but for what-if).",
				   submission_fields, .base = &settings_body, .late = true};
static const struct field bulk_fields[] = {
	{"jobs", .is = REQUIRED | IS_LIST, "up to 10,000, of which all are accepted or none", .of = &whatif_body,
	 .item = IS_OBJECT, .least = 1, .most = 10000},
	{0},
};
static const struct schema bulk = {.fields = bulk_fields};
const struct schema submission_body = {.base = &whatif_body, .either = &bulk, .late = true};
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
	{"state", .is = IS_TEXT, "letters"},
	{"queue", .is = IS_TEXT},
	{"name", .is = IS_TEXT},
	{0},
};
static const struct schema filter = {.fields = filter_fields};

static const struct field selection_fields[] = {
	{"ids", .is = IS_LIST, .item = IS_TEXT},
	{"filter", .is = IS_OBJECT, "all jobs that match and that the user may touch", .of = &filter},
	{0},
};
const struct schema rerun_body = {"Selection", "Either `ids` or `filter`. An array's id means all its elements.",
				  .fields = selection_fields};

static const struct field deletion_fields[] = {
	{"message", .is = IS_TEXT},
	{"purge", .is = IS_BOOL, "managers: forget it even if it can't be ended", .otherwise = "false"},
	{"delay", .is = IS_INT, "seconds between SIGTERM and SIGKILL", .most = INT64_MAX},
	{0},
};
static const struct field hold_fields[] = {
	{"holds", .is = IS_TEXT, "of `u` (user), `o` (operator), `s` (system)", .letters = "uosn", .otherwise = "u"},
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
static const struct field order_fields[] = {
	{"ids", .is = REQUIRED | IS_LIST, "two waiting jobs of one queue", .item = IS_TEXT, .least = 2, .most = 2},
	{0},
};
static const struct field place_fields[] = {
	{"ids", .is = REQUIRED | IS_LIST, "a waiting job, or an array", .item = IS_TEXT, .least = 1, .most = 1},
	{"after", .is = REQUIRED | IS_TEXT, "the job that it is to be behind; `0`: it is to be the first"},
	{0},
};

const struct schema deletion_body = {.fields = deletion_fields};
const struct schema delete_body = {.fields = deletion_fields, .base = &rerun_body};
static const struct schema forced = {.fields = force_fields, .base = &rerun_body};
const struct schema alter_body = {.fields = settings, .base = &forced, .late = true};
const struct schema hold_body = {.fields = hold_fields, .base = &rerun_body};
const struct schema signal_body = {.fields = signal_fields, .base = &rerun_body};
const struct schema run_body = {.fields = run_fields, .base = &rerun_body};
const struct schema move_body = {.fields = move_fields, .base = &rerun_body};
const struct schema message_body = {.fields = message_fields, .base = &rerun_body};
const struct schema order_body = {.fields = order_fields};
const struct schema place_body = {.fields = place_fields};

/* ---- server, queues and nodes ---- */

static const struct field change_fields[] = {
	{"op", .is = REQUIRED | IS_TEXT, .words = "set|add|remove|unset"},
	{"name", .is = REQUIRED | IS_TEXT},
	{"value", .is = IS_TEXT, "as qmgr has it; not for unset"},
	{0},
};
static const struct schema change = {.fields = change_fields};
static const struct field changes_fields[] = {
	{"changes", .is = REQUIRED | IS_LIST, "all are made, or none", .of = &change, .item = IS_OBJECT},
	{"force", .is = IS_BOOL, "do it even if that breaks guaranteed deadlines", .otherwise = "false"},
	{0},
};
const struct schema changes_body = {"Changes", .fields = changes_fields};

static const struct field shutdown_fields[] = {
	{"mode", .is = IS_TEXT,
	 "what becomes of running jobs. quick: they go on; delay: they make checkpoints where they can, stop, and wait to run again; immediate: the same without checkpoints; kill: they are "
	 "deleted. cancel: a shutdown that was announced is called off",
	 .words = "quick|delay|immediate|kill|cancel", .otherwise = "quick"},
	{"begin", .is = IS_INSTANT, "when; if not given, now"},
	{"until", .is = IS_INSTANT, "when the machine is expected to be back"},
	{"force", .is = IS_BOOL, "do it even if that breaks guaranteed deadlines", .otherwise = "false"},
	{0},
};
const struct schema shutdown_body = {.fields = shutdown_fields};

static const struct field node_fields[] = {
	{"offline", .is = IS_BOOL},
	{"force", .is = IS_BOOL, "do it even if that breaks guaranteed deadlines", .otherwise = "false"},
	{"state", .is = IS_TEXT, "the same as offline", .words = "offline|free"},
	{"drain_at", .is = IS_INT | IS_NULL,
	 "when it is to be out of service, an instant after now: until then jobs start there that end before; null: it stays"},
	{"note", .is = IS_TEXT | IS_NULL},
	{"class", .is = IS_TEXT | IS_NULL},
	{"workstation", .is = IS_TEXT | IS_NULL,
	 "the policy for its owner: docs/workstations.md; null: it is no workstation"},
	{"features", .is = IS_LIST | IS_TEXT, "words; as a text, joined by commas", .item = IS_TEXT},
	{"cpus", .is = IS_INT | IS_NULL, "at most as many as there are; null: all"},
	{"gpus", .is = IS_INT | IS_NULL, "at most as many as there are; null: all"},
	{"speed", .is = IS_REAL | IS_NULL, "how fast it is beside a usual node, from 0.001 to 1000; null: 1"},
	{"shared", .is = IS_BOOL | IS_NULL, "its CPUs are divided among jobs with a budget; null: they are not"},
	{0},
};
const struct schema node_body = {.fields = node_fields};

/* ---- tokens ---- */

static const struct field token_fields[] = {
	{"kind", .is = REQUIRED | IS_TEXT, .words = "join|login|site"},
	{"expires", .is = IS_INT | IS_NULL,
	 "seconds from now, of a join at most 30 days; if not given an hour, of a login 30 days, of a site a year",
	 .least = 1, .most = LOGIN_LIFE_MAX},
	{"uses", .is = IS_INT | IS_NULL, "how many machines may join", .least = 1, .most = USES_MAX, .otherwise = "1"},
	{"name", .is = IS_TEXT | IS_NULL, "the only node that a join is for; what the site is called", .most = 63},
	{"user", .is = IS_TEXT | IS_NULL, "whose login it is, if not one's own (managers)", .most = 63},
	{"label", .is = IS_TEXT | IS_NULL, .most = 200},
	{0},
};
const struct schema token_body = {.fields = token_fields};

static const struct field join_fields[] = {
	{"token", .is = REQUIRED | IS_TEXT},
	{"csr", .is = REQUIRED | IS_TEXT, "a request for a certificate, PEM", .most = 16384},
	{"name", .is = IS_TEXT | IS_NULL, "of the node; may be left out if the token is for one name", .most = 255},
	{"facts", .is = REQUIRED | IS_OBJECT, "what docs/protocol.md lists"},
	{"leaves", .is = IS_INSTANT | IS_NULL,
	 "when the machine is not there any more: the node is drained so long before that its jobs have ended by then"},
	{"workstation", .is = IS_TEXT | IS_NULL, "the policy for its owner: docs/workstations.md"},
	{"before", .is = IS_TEXT | IS_NULL,
	 "the certificate that the node had, PEM, if it joins again: it keeps the number of its join, and with it its jobs' files"},
	{"proof", .is = IS_TEXT | IS_NULL,
	 "the csr signed with the key of that certificate, base64 (docs/protocol.md)"},
	{0},
};
const struct schema join_known = {.fields = join_fields};
const struct schema join_body = {.fields = join_fields, .late = true}; /* once the token is known to be one */

static const struct field login_fields[] = {
	{"munge", .is = REQUIRED | IS_TEXT,
	 "a credential whose text is `shunt:` and the first 32 digits of the cluster's fingerprint", .most = 65536},
	{"expires", .is = IS_INT | IS_NULL, "seconds from now", .least = 1, .most = LOGIN_LIFE_MAX,
	 .otherwise = "86400"},
	{0},
};
const struct schema login_body = {.fields = login_fields};

/* ---- history ---- */

#define TIME_MOST (INT64_C(1) << 40)

static const struct field foreign_fields[] = {
	{"id", .is = REQUIRED | IS_TEXT, "the system and what that called it: slurm:12_3.cluster, pbs:12.server",
	 .least = 1, .most = 200},
	{"last", .is = IS_BOOL, "false: it was run again", .otherwise = "true"},
	{"name", .is = IS_TEXT | IS_NULL, .most = 1000},
	{"owner", .is = REQUIRED | IS_TEXT, .least = 1, .most = 200},
	{"group", .is = IS_TEXT | IS_NULL, .most = 200},
	{"account", .is = IS_TEXT | IS_NULL, .most = 200},
	{"project", .is = IS_TEXT | IS_NULL, .most = 200},
	{"queue", .is = IS_TEXT | IS_NULL, .most = 200},
	{"state", .is = REQUIRED | IS_TEXT, .words = STATES_ENDED},
	{"exit_status", .is = IS_INT | IS_NULL, .least = -100000, .most = 100000},
	{"submitted", .is = REQUIRED | IS_INT, .least = 1, .most = TIME_MOST},
	{"started", .is = IS_INT | IS_NULL, .most = TIME_MOST},
	{"ended", .is = REQUIRED | IS_INT, .least = 1, .most = TIME_MOST},
	{"resources", .is = IS_TEXT | IS_NULL, .most = 8000},
	{"hosts", .is = IS_TEXT | IS_NULL, .most = 64000},
	{"nodes", .is = IS_INT | IS_NULL, .most = 1000000},
	{"cpus", .is = IS_INT | IS_NULL, .most = 1000000},
	{"gpus", .is = IS_INT | IS_NULL, .most = 1000000},
	{"memory_kib", .is = IS_INT | IS_NULL, .most = INT64_C(1) << 50},
	{"walltime", .is = IS_INT | IS_NULL, "seconds", .most = DURATION_MAX},
	{"ran_ms", .is = IS_INT | IS_NULL, .most = DURATION_MAX * 1000}, /* x CPUs: below 2^63 */
	{"cpu_ms", .is = IS_INT | IS_NULL, .most = INT64_C(1) << 60},
	{"peak_kib", .is = IS_INT | IS_NULL, .most = INT64_C(1) << 50},
	{"comment", .is = IS_TEXT | IS_NULL, .most = 4000},
	{0},
};
static const struct schema foreign = {"ForeignJob", .fields = foreign_fields};
static const struct field import_fields[] = {
	{"jobs", .is = REQUIRED | IS_LIST, .of = &foreign, .item = IS_OBJECT, .most = 500},
	{0},
};
const struct schema import_body = {.fields = import_fields};
