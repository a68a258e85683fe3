/*
 * jobspec_options.c - the options that describe a job: TORQUE's and PBS Pro's letters, and a plain
 * word for each. Where a letter has two meanings (-t, -p, -w) the value decides.
 */
#include <stddef.h>
#include <stdio.h>

#include "cmd/pbs/jobspec.h"
#include "cmd/pbs/pbsattr.h"

#define AT(field) offsetof(struct job_arguments, field)
/* A member of a job; the option has its name with '-' for '_'. */
#define MEMBER(letter, name, value, list, about) OPTION(MEMBER, letter, name, members, value, about, .words = list)
#define TEXTS(letter, name, field, value, about) OPTION(TEXTS, letter, name, field, value, about)
#define WORD(letter, name, field, value, list, about) OPTION(WORD, letter, name, field, value, about, .words = list)

const char *jobspec_key(const char *option, char *ret, size_t size)
{
	snprintf(ret, size, "%s", option);
	for (char *p = ret; *p; p++)
		if (*p == '-')
			*p = '_';
	return ret;
}

/* clang-format off */
const struct option qsub_options[] = {
	TEXTS('l', "resources", resources, "LIST",
	      "what it needs: nodes=2:ppn=4, select=2:ncpus=4:mem=8gb, ncpus=4, mem=8gb, walltime=1:30:00, ..."),
	MEMBER('N', "name", "NAME", NULL, "the job's name; if not given: the script's"),
	OPTION(TEXT, 'q', "queue", into.queue, "QUEUE", "submit to queue QUEUE"),
	OPTION(TEXT, 0, "partition", into.partition, "NAME|any", "run in this partition, or in any that suits it, alone; the same as -l partition=NAME"),
	OPTION(TEXT, 0, "reservation", into.reservation, "NAME", "run only inside this reservation, as -l advres=NAME"),
	MEMBER('o', "output", "PATH", NULL, "where its standard output goes; a directory: the usual name in it"),
	MEMBER('e', "error", "PATH", NULL, "where its standard error goes"),
	MEMBER('j', "join", "oe|eo|n", "oe eo n", "join both: oe into the output file, eo into the error file"),
	OPTION(TEXT, 'k', "keep", files.keep, "LETTERS", "keep output in the home directory: of o, e; n for none; d is accepted: output is always written where it belongs"),
	OPTION(TEXT, 'R', "remove", remove, "LETTERS", "don't keep the output (o), the error output (e), or both (oe)"),
	TEXTS('t', "-t", t, "TYPE|RANGE", "C, Q, E or N: the type, as --type; 1-100%5: an array, as --array"),
	OPTION(TEXT, 'J', "array", array, "RANGE", "an array of jobs: 1-100, 1-9:2, 1,5,7-9; %5 after it: at most 5 at once"),
	OPTION(TEXT, 0, "each", each.value, "VALUE...", "an array with an element for each value, which replaces {} in the command: --each a b -- ./program {}"),
	OPTION(FILE, 0, "each-line", each.lines, "FILE", "the same for each line of a file; -: of standard input"),
	WORD(0, "type", type, "TYPE", "normal priority interactive nice C Q E N",
	     "normal (or C, common), priority (or Q: it has a deadline), interactive (it has this terminal), nice (or N: until its deadline, jobs submitted later go first), or E (emergency)"),
	OPTION(FILE, 0, "job", items.file, "FILE", "read a job description, lines \"Key = value\"; options of the command line win"),
	OPTION(TEXT, 0, "class", items.class, "CLASS", "class of the program, which says how it is saved and restarted: script, or one of the site's (qmgr -c 'list class')"),
	OPTION(TEXT, 0, "processors", items.processors, "NUMBER", "number of processors; the same as -l procs=NUMBER"),
	OPTION(TEXT, 0, "run-time", items.runtime, "HH:MM", "maximum run-time; the same as -l walltime=HH:MM:00"),
	OPTION(TEXT, 0, "checkpoint-interval", items.interval, "HH:MM", "time between two checkpoints"),
	OPTION(TEXT, 0, "checkpoint-duration", items.duration, "HH:MM", "maximum duration of a checkpoint; also 90s"),
	TEXTS('p', "-p", p, "NUMBER|DATE",
	     "a number: the priority, as --priority; a date: the deadline, as --deadline"),
	OPTION(TEXT, 0, "deadline", terms.deadline, "DATE", "when it must be done: 18:00, 2026-11-16T18:00, \"16-11-2026 18:00\", or +2h from now"),
	OPTION(TEXT, 0, "estimate", terms.estimate, "TIME", "how long it will run; with a deadline and a budget; the same as -l estimate=TIME"),
	OPTION(TEXT, 0, "budget", terms.budget, "HOURS", "what it may cost: accepted only if that covers the price and the deadline can be guaranteed; the same as -l budget=HOURS"),
	FLAG(0, "require-guarantee", guarantee.required, "refuse the job unless its deadline can be guaranteed now"),
	OPTION(TEXT, 0, "powers", powers, "LIST", "of an emergency job: sc_alloc, q_alloc, e_alloc, c_exec, s_exec, q_exec, e_exec"),
	OPTION(TEXT, 0, "priority", priority, "NUMBER", "from -1024 to 1023: among one's own jobs, higher is first"),
	MEMBER(0, "depend", "LIST", NULL, "wait for others: afterok:12:13,afterany:14; the same as -W depend=LIST"),
	OPTION(TEXT, 'a', "at", at, "DATE", "not before this: [[[CC]YY]MMDD]hhmm[.SS], or any form of --deadline"),
	FLAG('h', "hold", hold, "hold it until qrls releases it"),
	TEXTS('v', "variables", variables, "LIST",
	     "variables for its environment: NAME=value, or NAME as it is here"),
	FLAG('V', "export-all", export_all, "give it the whole environment of this shell"),
	OPTION(TEXT, 'd', "workdir", files.workdir, "PATH", "where it starts; if not given: here"),
	TEXTS('w', "-w", w, "TERMS|PATH",
	      "Libra's deadline=DATE,budget=HOURS,estimate=TIME: the same as -l with these; anything else: a directory, as -d"),
	OPTION(TEXT, 'S', "shell", shell, "PATH", "the interpreter of the script; if not given: its #! line, else your shell"),
	OPTION(TEXT, 'F', "arguments", arguments, "WORDS", "arguments of the script: \"a 'b c'\" are two"),
	OPTION(TEXT, 'm', "mail", mail, "LETTERS", "mail when it is aborted (a), begins (b), ends (e); n: never"),
	MEMBER('M', "mail-to", "LIST", NULL, "whom to mail; if not given: you"),
	WORD('r', "rerunnable", rerunnable, "y|n", "y n",
	     "whether it may be started again after the machine failed"),
	MEMBER('A', "account", "TEXT", NULL, "the account to charge"),
	MEMBER('P', "project", "TEXT", NULL,
	     "the project (as in PBS Pro; TORQUE's proxy user is not supported)"),
	MEMBER('c', "checkpoint", "WORDS", NULL,
	     "checkpoints: n (none), enabled, c=MINUTES, interval=MINUTES, duration=SECONDS, depth=NUMBER, dir=PATH, saver=PATH, restarter=PATH"),
	MEMBER(0, "restart", "JOB", NULL,
	     "start from the last checkpoint of a job of yours that has ended, with its script unless another is given"),
	OPTION(TEXT, 0, "template", template, "NAME", "begin with a template of yours or of the site ('shunt template list'), with its script unless another is given"),
	OPTION(TEXT, 'u', "-u", users, "USER", "accepted for yourself only: jobs run as the user who submits them"),
	MEMBER(0, "umask", "OCTAL", NULL, "the umask it starts with"),
	MEMBER(0, "comment", "TEXT", NULL, "a sentence kept with the job"),
	TEXTS('W', "-W", more, "NAME=VALUE,...", pbsattr_more_names),
	FLAG('I', "interactive", interactive, "a shell on the nodes, on this terminal, as soon as it runs"),
	FLAG(0, "yes", seat.yes, "with -I: displace running jobs without asking, however long that takes"),
	OPTION(TEXT, 0, "wait-at-most", seat.wait_at_most, "SECONDS", "with -I: displace running jobs without asking if that takes at most this long (also MM:SS), else fail"),
	FLAG('x', "-x", seat.command, "with -I: run the script's words instead of a shell"),
	FLAG('X', "-X", seat.x11, "with -I: pass on DISPLAY and XAUTHORITY"),
	FLAG(0, "block", block, "wait until it has ended, and exit with its exit code; the same as -W block=true"),
	FLAG('z', "silent", silent, "don't print the job's id"),
	FLAG(0, "json", json, "print the server's answer as JSON"),
	OPTION(TEXT, 'C', "-C", prefix, "PREFIX", "what directives in the script begin with, instead of #PBS (or $PBS_DPREFIX); empty: none"),
	OPTION(TEXT, 'D', "-D", files.root, "PATH", "a root directory for the job: only / is accepted"),
	OPTION(TEXT, 'T', "-T", files.prologue, "NAME", "refused: prologues are set by the site"),
	FLAG('n', "exclusive", exclusive, "no other job on its nodes while it runs; the same as -l place=excl"),
	OPTION(SECONDS, 'b', "-b", patience, "SECONDS", "accepted: commands wait for the server by themselves"),
	FLAG('f', "-f", tolerant, "accepted: every job is safe from a restart of the server"),
	{0},
};

const struct option qalter_options[] = {
	TEXTS('l', "resources", resources, "LIST", "what it needs: nodes=2:ppn=4, walltime=1:30:00, ..."),
	MEMBER('N', "name", "NAME", NULL, "its name"),
	MEMBER('o', "output", "PATH", NULL, "where its standard output goes"),
	MEMBER('e', "error", "PATH", NULL, "where its standard error goes"),
	MEMBER('j', "join", "oe|eo|n", "oe eo n", "join both: oe into the output file, eo into the error file"),
	OPTION(TEXT, 'k', "keep", files.keep, "LETTERS", "keep output in the home directory: of o, e; n for none"),
	OPTION(TEXT, 'R', "remove", remove, "LETTERS", "don't keep the output (o), the error output (e), or both (oe)"),
	TEXTS('t', "-t", t, "TYPE|%N",
	      "C, Q, E or N: the type, as --type; %5: at most 5 elements of an array run at once; %0: all"),
	WORD(0, "type", type, "C|Q|E|N", "normal priority nice C Q E N", "common, with a deadline, emergency, or nice"),
	TEXTS('p', "-p", p, "NUMBER|DATE",
	     "a number: the priority, as --priority; a date: the deadline, as --deadline"),
	OPTION(TEXT, 0, "deadline", terms.deadline, "DATE", "when it must be done: 18:00, 2026-11-16T18:00, or +2h from now"),
	OPTION(TEXT, 0, "priority", priority, "NUMBER", "from -1024 to 1023: among one's own jobs, higher is first"),
	MEMBER(0, "depend", "LIST", NULL, "wait for others: afterok:12:13,afterany:14"),
	OPTION(TEXT, 'a', "at", at, "DATE", "not before this: [[[CC]YY]MMDD]hhmm[.SS], or any form of --deadline"),
	OPTION(TEXT, 'h', "hold", holds, "LETTERS", "its holds: of u, o, s; n for none"),
	OPTION(TEXT, 'S', "shell", shell, "PATH", "the interpreter of the script"),
	OPTION(TEXT, 'm', "mail", mail, "LETTERS", "mail when it is aborted (a), begins (b), ends (e); n: never"),
	MEMBER('M', "mail-to", "LIST", NULL, "whom to mail"),
	WORD('r', "rerunnable", rerunnable, "y|n", "y n",
	     "whether it may be started again after the machine failed"),
	MEMBER('A', "account", "TEXT", NULL, "the account to charge"),
	MEMBER('P', "project", "TEXT", NULL, "the project"),
	MEMBER('c', "checkpoint", "WORDS", NULL, "checkpoints, as qsub has it"),
	OPTION(TEXT, 'u', "-u", users, "USER", "accepted if it is yourself"),
	MEMBER(0, "umask", "OCTAL", NULL, "the umask it starts with"),
	MEMBER(0, "comment", "TEXT", NULL, "a sentence kept with the job"),
	TEXTS('W', "-W", more, "NAME=VALUE,...", pbsattr_more_names),
	FLAG(0, "force", guarantee.broken, "for operators: give a running job more time even if that breaks guaranteed deadlines"),
	CHOICE_ROWS(AT(choice)),
	{0},
};

/* Options that users of Slurm or Grid Engine try. */
const char *const qsub_hints[] = {
	"--ntasks", "write -l procs=N (N CPUs anywhere) or -l nodes=1:ppn=N (on one node)",
	"--ntasks-per-node", "write -l nodes=NODES:ppn=N",
	"--cpus-per-task", "write -l nodes=1:ppn=N (N CPUs on one node)",
	"--nodes", "write -l nodes=N:ppn=CPUS",
	"--walltime", "write -l walltime=HH:MM:SS",
	"--time", "write -l walltime=HH:MM:SS",
	"--mem", "write -l mem=8gb (for the whole job)",
	"--mem-per-cpu", "write -l pmem=2gb (for each CPU)",
	"--gres", "write -l nodes=1:ppn=CPUS:gpus=N",
	"--gpus", "write -l nodes=1:ppn=CPUS:gpus=N",
	"--job-name", "write --name NAME, or -N NAME",
	"--qos", "write --type Q with --deadline DATE for a job with a deadline, else --priority NUMBER",
	"--dependency", "write --depend LIST, or -W depend=LIST",
	"--chdir", "write --workdir PATH, or -d PATH",
	"--begin", "write --at DATE, or -a DATE",
	"--export", "write -V for all, or -v NAME=value,...",
	"--mail-type", "write -m abe: aborted, begins, ends",
	"--mail-user", "write -M ADDRESS",
	"--requeue", "write -r y",
	"--wait", "write --block, or -W block=true",
	"--wrap", "write qsub [options] -- COMMAND ARGUMENTS",
	"-cwd", "jobs start where they are submitted; there is nothing to write",
	"-pe", "write -l nodes=1:ppn=N",
	"-sync", "write --block, or -W block=true",
	"-hold_jid", "write --depend afterany:ID",
	"-tc", "write -t RANGE%N",
	NULL,
};
/* clang-format on */
