/*
 * jobschema.c - see jobschema.h.
 */
#include "core/jobschema.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/names.h"
#include "base/timetext.h"
#include "core/kind.h"
#include "core/spec.h"

#define WORD_MOST 255
#define ARGS_MOST 65536
#define PROGRAM_MOST 1024
#define INSTANT_MOST (INT64_C(1) << 40)

#define HAS(member) MEMBER(struct spec, member)
#define WORD(member) MEMBER_AS(FORM_WORD, struct spec, member)
#define BITS(member) MEMBER_AS(FORM_LETTERS, struct spec, member)
#define FEW(member) MEMBER(struct spec_rare, member)

static const struct field base64_fields[] = {{"base64", .is = REQUIRED | IS_BYTES}, {0}};
static const struct schema base64 = {.fields = base64_fields};

const struct field job_members[] = {
	/* ---- identity ---- */
	{"name", .is = IS_TEXT, "printable characters, no blank, no `/`", .least = 1, .most = JOB_NAME_MOST,
	 .otherwise = "STDIN",
	 .in = STORED | IN_HISTORY | ALWAYS | AT_SUBMIT | AT_ALTER | RUNNING | SHOWN | HOOKED | AGAIN | BRIEF,
	 MEMBER_AS(FORM_INLINE, struct spec, name)},
	{"owner", .is = IS_TEXT, .in = STORED | IN_HISTORY | ALWAYS | SHOWN, WORD(owner)},
	{"uid", .is = IS_INT, .in = STORED, HAS(uid)},
	{"gid", .is = IS_INT, .in = STORED, HAS(gid)},
	{"group", .is = IS_TEXT | IS_NULL, "its owner's, when it was submitted", .in = STORED | IN_HISTORY | SHOWN,
	 WORD(group)},
	{"home", .is = IS_TEXT, .in = STORED, WORD(home)},
	{"host", .is = IS_TEXT | IS_NULL, "where it was submitted", .in = STORED | SHOWN, WORD(host)},
	{"submit_host", .is = IS_TEXT | IS_NULL, .most = WORD_MOST, .in = AT_SUBMIT, WORD(host)},
	{"queue", .is = IS_TEXT, "default: the server's default_queue", .most = WORD_MOST,
	 .in = STORED | IN_HISTORY | ALWAYS | AT_SUBMIT | JUDGED | SHOWN | HOOKED | AGAIN | BRIEF | PLANNED,
	 WORD(queue)},
	{"account", .is = IS_TEXT | IS_NULL, .most = WORD_MOST,
	 .in = STORED | IN_HISTORY | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED | HERE | AGAIN | BRIEF | PLANNED,
	 WORD(account)},
	{"project", .is = IS_TEXT | IS_NULL, .most = WORD_MOST,
	 .in = STORED | IN_HISTORY | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED | HERE | AGAIN | BRIEF, WORD(project)},
	{"label", .is = IS_TEXT | IS_NULL, "a text of the user's own, which Shunt does not interpret", .most = 64,
	 .in = STORED | RARE | AT_SUBMIT | AT_ALTER | RUNNING | SHOWN | HOOKED | AGAIN | BRIEF | IN_MORE, FEW(label)},
	{"qos", .is = IS_TEXT | IS_NULL, "its quality of service", .in = STORED | IN_HISTORY | SHOWN | BRIEF | PLANNED,
	 WORD(qos)},
	{"reservation", .is = IS_TEXT | IS_NULL, "the reservation it is bound to", .in = STORED | SHOWN | PLANNED,
	 WORD(reservation)},
	{"program", .is = IS_TEXT | IS_NULL, "the command line of its program, for people; null: as its name",
	 .most = PROGRAM_MOST, .example = "/opt/MolSim -steps 100", .in = STORED | IN_BODY | AT_SUBMIT | SHOWN,
	 HAS(program)},
	{"script", .is = IS_TEXT, "the text, up to 4 MiB", .in = AT_SUBMIT},
	{"script_base64", .is = IS_BYTES, "a script that is not UTF-8", .in = AT_SUBMIT},
	{"script", .is = IS_INT, .in = STORED, HAS(script)},
	{"args", .is = IS_LIST,
	 "arguments of the script; with `environment` up to 2 MiB, each text counted with 32 bytes more",
	 .item = IS_TEXT, .in = IN_BODY | AT_SUBMIT | AT_ALTER},
	{"environment", .is = IS_LIST, "each NAME=value, or what is not UTF-8 as base64", .of = &base64,
	 .item = IS_TEXT | IS_OBJECT, .in = IN_BODY | AT_SUBMIT | AT_ALTER},
	{"array", .is = IS_TEXT | IS_NULL, "elements, and how many run at once", .example = "1-100%5",
	 .in = STORED | AT_SUBMIT | JUDGED, HAS(array_text)},
	{"max_run_subjobs", .is = IS_INT | IS_NULL, "of an array: elements that may run at once; 0: no limit",
	 .most = 100000, .in = AT_SUBMIT | AT_ALTER | RUNNING | HERE},
	{"interactive", .is = IS_BOOL, "it has a terminal; under the policy artaras it starts at once or is refused",
	 .otherwise = "false", .in = STORED | AT_SUBMIT | SHOWN, HAS(interactive)},
	{"now", .is = IS_BOOL, .in = STORED, HAS(now)},
	{"displace", .is = IS_INT | IS_NULL,
	 "of an interactive job that starts at once: running jobs may be displaced if that takes at most this many seconds. "
	 "Without it none is, and a job that can't start otherwise is refused (`would_displace`)",
	 .least = 0, .most = INT32_MAX, .in = AT_SUBMIT},
	{"restart", .is = IS_TEXT | IS_NULL,
	 "a job of the same user that has ended: this one starts from its last checkpoint, with its script and whatever else is not given here",
	 .example = "12", .in = AT_SUBMIT},
	{"restart", .is = IS_INT, .in = STORED | RARE, FEW(restart)},
	{"class", .is = IS_TEXT | IS_NULL, "its program class: how it is saved and restarted", .most = 64,
	 .in = STORED | IN_BODY | AT_SUBMIT | JUDGED | SHOWN | HOOKED | HERE, WORD(class)},
	{"checkpoint", .is = IS_TEXT | IS_NULL, .most = JOB_TEXT_MOST,
	 .in = STORED | IN_BODY | AT_SUBMIT | AT_ALTER | JUDGED | HOOKED | ECHOED, WORD(checkpoint)},

	/* ---- request ---- */
	{"resources", .is = IS_LIST, "texts as after `-l`, in order", .item = IS_TEXT,
	 .example = "[\"nodes=2:ppn=4\", \"walltime=1:00:00\"]", .in = AT_SUBMIT | AT_ALTER | RUNNING},
	{"resources", .is = IS_TEXT | IS_NULL, "canonical text after `-l`", .example = "nodes=2:ppn=4",
	 .in = STORED | IN_HISTORY | ALWAYS | SHOWN | PLANNED, WORD(resources)},
	{"walltime", .is = IS_INT, "seconds", .in = STORED | IN_HISTORY | SHOWN | PLANNED, HAS(walltime)},
	{"exclusive", .is = IS_TEXT | IS_NULL,
	 "no other job on its nodes, or on their machines, while it runs; if not given, what `resources` says",
	 .words = "none|node|host", .in = AT_SUBMIT | AT_ALTER | HOOKED},
	{"share", .is = IS_INT | IS_NULL,
	 "thousandths of a CPU that it has of a shared node; null: its CPUs are its own", .in = STORED | SHOWN | RARE,
	 FEW(share)},

	/* ---- time and order ---- */
	{"type", .is = IS_TEXT, "common, with a deadline (QoS), emergency, nice", .words = "C|Q|E|N", .otherwise = "C",
	 .in = AT_SUBMIT | AT_ALTER | HOOKED | ECHOED},
	{"kind", .is = IS_INT, .most = KIND_COUNT - 1, .in = STORED | PLANNED, HAS(kind)},
	{"deadline", .is = IS_INT | IS_TEXT | IS_NULL,
	 "an instant, or text as after `--deadline`; makes a job of type C one of type Q; of type N: when it stops letting jobs submitted later go first",
	 .in = AT_SUBMIT | AT_ALTER | HOOKED | ECHOED},
	{"deadline", .is = IS_INSTANT, .missing = TIME_NEVER, .in = STORED | PLANNED, HAS(deadline)},
	{"nice", .is = IS_INSTANT, .in = STORED | PLANNED, HAS(nice)},
	{"powers", .is = IS_LIST, "of emergency jobs", .item = IS_TEXT,
	 .words = "sc_alloc|q_alloc|e_alloc|c_exec|s_exec|q_exec|e_exec", .in = AT_SUBMIT | HERE},
	{"powers", .is = IS_INT, .in = STORED | PLANNED, HAS(powers)},
	{"require_guarantee", .is = IS_BOOL, "refuse if the deadline can't be guaranteed now", .otherwise = "false",
	 .in = IN_BODY | AT_SUBMIT},
	{"priority", .is = IS_INT, "among the user's own jobs that wait", .least = -1024, .most = 1023,
	 .otherwise = "0", .in = STORED | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED | BRIEF, HAS(priority)},
	{"at", .is = IS_INSTANT | IS_NULL, "not before this instant", .most = INSTANT_MOST,
	 .in = STORED | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED | HERE, HAS(at)},
	{"hold", .is = IS_TEXT, "of `u`, `o`, `s`", .letters = JOB_HOLDS, .in = AT_SUBMIT | AT_ALTER | HOOKED | HERE,
	 BITS(holds)},
	{"holds", .is = IS_INT, .most = 7, .in = STORED, HAS(holds)},
	{"depend", .is = IS_TEXT | IS_NULL, .example = "afterok:12:13,afterany:14",
	 .in = STORED | AT_SUBMIT | AT_ALTER | JUDGED | SHOWN | HOOKED | HERE, HAS(depend)},
	{"rerunnable", .is = IS_BOOL, "may be started again after a failure of the machine", .otherwise = "true",
	 .missing = true, .in = STORED | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED | AGAIN, HAS(rerunnable)},

	{"retries", .is = IS_TEXT | IS_NULL,
	 "how often it is run again by itself after it has failed, and perhaps after which exit codes (a signal is 128 and its number), and with how much memory after it was killed for that",
	 .most = 200, .example = "2:on=75,100-110:mem=x2", .in = IN_BODY | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED},

	/* ---- cost ---- */
	{"estimate", .is = IS_INT | IS_NULL, "seconds that it will run; with a deadline and a budget", .least = 1,
	 .most = INSTANT_MOST, .in = AT_SUBMIT},
	{"estimate", .is = IS_INT | IS_NULL, "of a job with a budget: seconds that it is said to run",
	 .in = STORED | SHOWN | RARE, FEW(libra.estimate)},
	{"budget", .is = IS_INT | IS_NULL,
	 "what it may cost, in unit-seconds: it is accepted if that covers the price and the deadline can be guaranteed",
	 .least = 0, .most = INT64_MAX, .in = AT_SUBMIT},
	{"budget", .is = IS_INT, .in = STORED | RARE, FEW(libra.budget)},
	{"window", .is = IS_INT, .in = STORED | RARE, FEW(libra.window)},
	{"libra_alpha", .is = IS_INT, .in = STORED | RARE, FEW(libra.alpha)},
	{"libra_beta", .is = IS_INT, .in = STORED | RARE, FEW(libra.beta)},
	{"quota_month", .is = IS_INT, .in = STORED | RARE, FEW(claim.month)},
	{"quota_type", .is = IS_INT, .most = QUOTA_TYPES - 1, .in = STORED | RARE, FEW(claim.type)},
	{"quota", .is = IS_INT, .in = STORED | RARE, FEW(claim.seconds)},

	/* ---- files and mail ---- */
	{"workdir", .is = IS_TEXT | IS_NULL, "absolute: where it starts and where relative paths lead",
	 .most = JOB_TEXT_MOST, .otherwise = "/", .in = IN_BODY | AT_SUBMIT | SHOWN},
	{"shell", .is = IS_TEXT | IS_NULL, "path of the interpreter; default: the `#!` line, else the user's shell",
	 .most = JOB_TEXT_MOST, .in = IN_BODY | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED},
	{"output", .is = IS_TEXT | IS_NULL,
	 "path, relative to workdir; a directory: the default name in it; of an array, `-INDEX` is added unless the name distinguishes elements",
	 .most = JOB_TEXT_MOST, .in = IN_BODY | AT_SUBMIT | AT_ALTER | HOOKED | ECHOED},
	{"error", .is = IS_TEXT | IS_NULL, "as output", .most = JOB_TEXT_MOST,
	 .in = IN_BODY | AT_SUBMIT | AT_ALTER | HOOKED | ECHOED},
	{"files_name", .is = IS_TEXT, .in = STORED, WORD(files_name)},
	{"join", .is = IS_TEXT | IS_NULL, .words = "oe|eo|n", .otherwise = "n", .most = 4,
	 .in = IN_BODY | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED},
	{"keep", .is = IS_TEXT | IS_NULL, "of `o`, `e`: in the home directory; `d` is accepted", .letters = "oedn",
	 .otherwise = "n", .most = 16, .in = IN_BODY | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED},
	{"stagein", .is = IS_TEXT | IS_NULL, .most = JOB_TEXT_MOST, .in = IN_BODY | AT_SUBMIT | AT_ALTER | SHOWN},
	{"stageout", .is = IS_TEXT | IS_NULL, .most = JOB_TEXT_MOST, .in = IN_BODY | AT_SUBMIT | AT_ALTER | SHOWN},
	{"umask", .is = IS_TEXT | IS_NULL, "octal", .most = 16, .in = IN_BODY | AT_SUBMIT | AT_ALTER | SHOWN | HOOKED},
	{"mail", .is = IS_TEXT, "of `a`, `b`, `e`, or `n`", .letters = "abenpf", .otherwise = "a",
	 .missing = MAIL_ABORT, .in = AT_SUBMIT | AT_ALTER | RUNNING | SHOWN | HOOKED | HERE | AGAIN, BITS(mail)},
	{"mail", .is = IS_INT, .missing = MAIL_ABORT, .in = STORED, HAS(mail)},
	{"mail_to", .is = IS_TEXT | IS_NULL, "joined by commas; default the user", .most = JOB_TEXT_MOST,
	 .in = IN_BODY | AT_SUBMIT | AT_ALTER | RUNNING | SHOWN | HOOKED},
	{"comment", .is = IS_TEXT | IS_NULL, .most = JOB_TEXT_MOST,
	 .in = IN_BODY | AT_SUBMIT | AT_ALTER | RUNNING | HOOKED | ECHOED},
	{"submit_args", .is = IS_TEXT | IS_NULL, .most = ARGS_MOST, .in = IN_BODY | AT_SUBMIT | SHOWN},

	/* ---- submission ---- */
	{"created", .is = IS_INSTANT, .in = STORED | IN_HISTORY | ALWAYS | SHOWN, HAS(created)},
	{"rank_us", .is = IS_INT, .in = STORED, HAS(rank)},
	{"eligible", .is = IS_INT, .missing = UINT32_MAX, .in = STORED, HAS(eligible)},
	{"origin", .is = IS_INT, .in = STORED, HAS(origin)},
	{"came", .is = IS_INT, .in = STORED | RARE, FEW(came)},
	{"from", .is = IS_TEXT, .in = STORED | RARE, MEMBER_AS(FORM_WORD, struct spec_rare, from)},
	{"through", .is = IS_TEXT, .in = STORED | RARE, MEMBER_AS(FORM_WORD, struct spec_rare, through)},
	{"site", .is = IS_TEXT | IS_NULL, .most = JOB_TEXT_MOST, .in = IN_BODY | HERE},
	{"visitor", .is = IS_BOOL, .in = STORED, HAS(visitor)},
	{0},
};

const void *spec_part(const struct spec *p, const struct field *f)
{
	return f->in & RARE ? (const void *)p->rare : p;
}

void spec_store(const struct spec *p, const struct names *words, struct json *j)
{
	for (const struct field *f = job_members; f->name; f++)
		if (f->in & STORED)
			field_store(f, spec_part(p, f), words, j);
}

int spec_load(const json_t *head, struct spec *p, struct spec_rare *rare, struct names *words, struct err *err)
{
	const struct field *f = NULL, *found;
	const char *key;
	json_t *value;
	int rc = 0;

	memset(rare, 0, sizeof *rare);
	for (const struct field *m = job_members; m->name; m++) {
		if (m->in & ALWAYS && !json_object_get(head, m->name))
			return err_set(err, -EINVAL, "a job's record lacks \"%s\"", m->name);
		if (m->in & STORED && m->form != FORM_INLINE)
			field_reset(m, m->in & RARE ? (void *)rare : p);
	}
	json_object_foreach((json_t *)head, key, value)
	{
		found = field_find(job_members, STORED, key, f);
		if (!found)
			continue; /* written by a newer server */
		f = found;
		rc = field_read(f, value, f->in & RARE ? (void *)rare : p, words, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

bool spec_differs(const struct spec *a, const struct spec *b, uint32_t in)
{
	for (const struct field *f = job_members; f->name; f++)
		if (f->in & in && !field_same(f, spec_part(a, f), spec_part(b, f)))
			return true;
	return false;
}
