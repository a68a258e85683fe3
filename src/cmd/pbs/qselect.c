/*
 * qselect.c - `qselect`: prints the ids of matching jobs, one per line, for other commands; and
 * --where, by which commands that change jobs select them in the same way.
 *
 * The server sends a line per job with the members that are tested; the tests are made here, each a
 * row of a table.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/select.h"
#include "core/array.h"
#include "core/jobschema.h"
#include "core/reqtext.h"

#define AT(field) offsetof(struct selection, field)
#define PATTERN(letter, name, value, about) OPTION(MEMBER, letter, name, members, value, about)
static const struct option options[] = {
	OPTION(TEXT, 'a', "at", at, "[OP]DATE", "execution time, as qsub -a has it: [[[CC]YY]MMDD]hhmm[.SS]"),
	PATTERN('A', "account", "PATTERN", "account, with * and ? for any characters"),
	OPTION(TEXT, 'c', "checkpoint", checkpoint, "[OP]TEXT", "Checkpoint."),
	OPTION(TEXT, 'h', "holds", holds, "LIST", "holds: of u, o, s; or n for none"),
	OPTION(TEXTS, 'l', "resources", resources, "NAME[OP]VALUE[,...]",
	       "requested resources: walltime, ncpus, nodect, mem, ngpus, or another word of the request"),
	PATTERN('N', "name", "PATTERN", "name, with * and ? for any characters"),
	OPTION(TEXT, 'p', "priority", priority, "[OP]NUMBER", "Priority."),
	PATTERN('P', "project", "PATTERN", "project, as the account"),
	OPTION(TEXT, 'q', "queue", queue, "QUEUE|QUEUE@SERVER|@SERVER", "Queue."),
	OPTION(WORD, 'r', "rerunnable", rerunnable, "y|n", "whether it may be rerun", .words = "y n"),
	OPTION(TEXT, 's', "states", states, "LETTERS", "states, as qstat has them: QR is queued or running"),
	OPTION(TEXTS, 't', "times", times, "WHICH[OP]DATE",
	       "a time: c created, q eligible, s started, m modified, e ended, a execution time; as in -ts.gt.11151200"),
	OPTION(TEXT, 'u', "user", user, "USER[,USER...]", "Owners."),
	OPTION(TEXT, 0, "older", older, "TIME",
	       "jobs that are in their state for at least this long: 2h, 3d; waiting ones since they were submitted"),
	OPTION(TEXT, 0, "exit", exits, "CODE[,CODE...]|failed",
	       "finished jobs with one of these exit codes, also as 1-9; failed: with any but 0"),
	FLAG('x', "finished", finished, "include finished jobs"),
	FLAG('H', "only-finished", only_finished, "finished jobs only"),
	FLAG('J', "arrays", arrays, "arrays only"),
	FLAG('T', "elements", elements, "the elements of arrays one by one"),
	{0},
};

enum op { OP_EQ, OP_NE, OP_GE, OP_GT, OP_LE, OP_LT };

/* A condition that a job must meet. */
struct test {
	int cell;
	enum op op;
	bool number;
	int64_t value;
	const char *text; /* NULL for a number; with * and ? if `pattern` */
	bool pattern;
	const char *resource; /* a word of the request; `text` is its value */
};

struct selecting {
	const struct selection *a;
	struct joblist jobs;
	int id, state, holds, status, began[3]; /* cells */
	int64_t age;				/* seconds; 0: any */
	struct array_spec exits;
	VEC(struct test) tests;
	name_list chosen; /* matching ids */
	struct arena *arena;
};

/* Parses ".gt." at *text and moves past it; without an operator it is equality. */
static enum op op_parse(const char **text)
{
	static const char *const names[] = {".eq.", ".ne.", ".ge.", ".gt.", ".le.", ".lt."};

	for (int i = 0; i < 6; i++)
		if (strncasecmp(*text, names[i], 4) == 0) {
			*text += 4;
			return (enum op)i;
		}
	return OP_EQ;
}

static int number_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *p = text + (*text == '-');

	if (!digits_scan(&p, INT64_MAX, ret) || *p)
		return err_set(err, -1, "\"%.60s\" is not a whole number", text);
	*ret = *text == '-' ? -*ret : *ret;
	return 0;
}

static int test_add(struct selecting *s, const char *member, const char *text,
		    int (*parse)(const char *, int64_t *, struct err *), struct err *err)
{
	struct test t = {.cell = joblist_member(&s->jobs, member), .number = parse};

	t.op = op_parse(&text);
	t.text = text;
	if (parse && parse(text, &t.value, err) < 0)
		return -1;
	vec_push(&s->tests, t);
	return 0;
}

/* Parses "walltime.gt.3600", "ncpus=4". */
static int resource_add(struct selecting *s, const char *text, struct err *err)
{
	static const struct {
		const char *name, *member;
		int (*parse)(const char *, int64_t *, struct err *);
	} known[] = {
		{"walltime", "walltime", duration_parse}, {"ncpus", "cpus", number_parse},
		{"nodect", "nodect", number_parse},	  {"mem", "memory", memory_parse},
		{"ngpus", "gpus", number_parse},
	};
	size_t n = strcspn(text, "=.");
	const char *rest = text + n + (text[n] == '=');

	if (n == 0 || !text[n])
		return err_set(err, -1, "\"%.60s\" needs a %s, as in walltime.gt.3600 or ncpus=4", text,
			       n ? "value" : "name");
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].name) == n && strncmp(known[i].name, text, n) == 0)
			return test_add(s, known[i].member, rest, known[i].parse, err);
	if (test_add(s, "resources", rest, NULL, err) < 0)
		return -1;
	s->tests.v[s->tests.n - 1].resource = arena_strndup(s->arena, text, n);
	return 0;
}

static int resources_add(struct selecting *s, const char *list, struct err *err)
{
	while (*list) {
		size_t n = strcspn(list, ",");
		if (resource_add(s, arena_strndup(s->arena, list, n), err) < 0)
			return err_prefix(err, -1, "-l %.*s", (int)(n < 60 ? n : 60), list);
		list += n;
		list += *list == ',';
	}
	return 0;
}

/* Parses "s.gt.11151200". */
static int time_add(struct selecting *s, const char *text, struct err *err)
{
	static const char letters[] = "acqsme";
	static const char *const members[] = {"at", "created", "queued", "started", "modified", "ended"};
	const char *which = *text ? strchr(letters, *text) : NULL;

	if (!which)
		return err_set(err, -1, "\"%.60s\" must begin with one of %s, as in s.gt.11151200", text, letters);
	return test_add(s, members[which - letters], text + 1, stamp_parse, err);
}

static int tests_make(struct selecting *s, struct err *err)
{
	const struct selection *a = s->a;
	int rc = 0;

	if (a->states && a->states[strspn(a->states, "QRHWSECFBT")])
		return err_set(err, -1, "-s %.60s: write letters of QRHWSECB, as qstat has them", a->states);
	if (a->at)
		rc |= test_add(s, "at", a->at, stamp_parse, err);
	if (a->holds)
		rc |= test_add(s, "holds", strcmp(a->holds, "n") == 0 ? "" : a->holds, NULL, err);
	for (int i = 0; i < a->members.n / 2; i++) {
		rc |= test_add(s, a->members.v[2 * i], a->members.v[2 * i + 1], NULL, err);
		s->tests.v[s->tests.n - 1].pattern = true;
	}
	if (a->older &&
	    (duration_parse(a->older, &s->age, err) < 0 || a->older[strspn(a->older, "0123456789")] == '\0'))
		return err_set(err, -1, "--older %.60s: write a time with its unit, as in 2h or 3d", a->older);
	if (a->exits && strcmp(a->exits, "failed") != 0 && array_parse(a->exits, &s->exits, err) < 0)
		return err_set(err, -1, "--exit %.60s: write exit codes, as in 1,2 or 1-9, or failed", a->exits);
	if (a->priority && rc == 0)
		rc |= test_add(s, "priority", a->priority, number_parse, err);
	if (a->rerunnable)
		rc |= test_add(s, "rerunnable", *a->rerunnable == 'y' ? "1" : "0", NULL, err);
	for (int i = 0; i < a->resources.n && rc == 0; i++)
		rc = resources_add(s, a->resources.v[i], err);
	for (int i = 0; i < a->times.n && rc == 0; i++)
		rc = time_add(s, a->times.v[i], err);
	return rc;
}

static bool op_holds(enum op op, int compared)
{
	switch (op) {
	case OP_EQ:
		return compared == 0;
	case OP_NE:
		return compared != 0;
	case OP_GE:
		return compared >= 0;
	case OP_GT:
		return compared > 0;
	case OP_LE:
		return compared <= 0;
	case OP_LT:
		return compared < 0;
	}
	return false;
}

/* Compares holds as sets: "us" equals "su". */
static int holds_compare(const char *a, const char *b)
{
	for (const char *letter = JOB_HOLDS; *letter != 'n'; letter++)
		if (!strchr(a, *letter) != !strchr(b, *letter))
			return 1;
	return 0;
}

/* Tests a word's value in "nodes=2:ppn=4,arch=x86", as a number if both are one. A job that does
 * not request the resource only differs. */
static bool resource_holds(const char *request, const struct test *t)
{
	size_t n = strlen(t->resource);
	int64_t has, wanted;

	for (const char *p = request; *p;) {
		size_t part = strcspn(p, ",");
		if (part > n && strncmp(p, t->resource, n) == 0 && p[n] == '=') {
			struct strbuf value = {0};
			strbuf_add(&value, p + n + 1, part - n - 1);
			bool numbers = number_parse(strbuf_text(&value), &has, NULL) == 0 &&
				       number_parse(t->text, &wanted, NULL) == 0;
			int compared = numbers ? (has > wanted) - (has < wanted) : strcmp(strbuf_text(&value), t->text);
			strbuf_fini(&value);
			return op_holds(t->op, compared);
		}
		p += part;
		p += *p == ',';
	}
	return t->op == OP_NE;
}

static bool test_holds(const struct selecting *s, const struct test *t, char *const *cell)
{
	const char *text = cell[t->cell];

	if (t->resource)
		return resource_holds(text, t);
	if (t->cell == s->holds)
		return op_holds(t->op, holds_compare(text, t->text));
	if (t->pattern)
		return op_holds(t->op, fnmatch(t->text, text, 0));
	if (!t->number)
		return op_holds(t->op, strcmp(text, t->text));
	if (!*text) /* not known: only inequality holds */
		return t->op == OP_NE;
	int64_t n = strtoll(text, NULL, 10);
	return op_holds(t->op, n < t->value ? -1 : n > t->value);
}

static bool state_fits(const char *states, char state)
{
	return !states || strchr(states, state) || (state == 'C' && strchr(states, 'F'));
}

/* Tests the time since a job ended, started or was submitted. */
static bool age_fits(const struct selecting *s, char *const *cell)
{
	int64_t began = 0;

	for (int i = 0; i < 3 && began <= 0; i++)
		began = cell_number(cell[s->began[i]]);
	return s->age == 0 || s->jobs.making.now - began >= s->age;
}

static bool exit_fits(const struct selecting *s, char *const *cell)
{
	const char *status = s->status < 0 ? "" : cell[s->status];

	if (s->status < 0)
		return true;
	if (!*status || cell[s->state][0] != 'C')
		return false;
	return s->exits.nranges ? array_has(&s->exits, cell_number(status)) : cell_number(status) != 0;
}

static void row(void *context, char **cell)
{
	struct selecting *s = context;

	if (!state_fits(s->a->states, cell[s->state][0]) || (s->a->arrays && !strchr(cell[s->id], '[')))
		return;
	if ((s->age && !age_fits(s, cell)) || !exit_fits(s, cell))
		return;
	for (size_t i = 0; i < s->tests.n; i++)
		if (!test_holds(s, &s->tests.v[i], cell))
			return;
	vec_push(&s->chosen, mem_strdup(cell[s->id]));
}

/* Tests the checkpoint setting, which lists do not include, so it is requested per job. */
static bool checkpoint_fits(const struct selecting *s, struct client *client, const char *id)
{
	const char *wanted = s->a->checkpoint;
	struct reply reply = {0};

	if (!wanted)
		return true;
	enum op op = op_parse(&wanted);
	bool fits = client_ask(client, "GET", api_path("/v1/jobs/%s", id), NULL, 0, &reply, NULL) == 0 &&
		    op_holds(op, strcmp(object_text(reply.json, "checkpoint"), wanted));
	reply_fini(&reply);
	return fits;
}

static void path_make(const struct selection *a, struct strbuf *path)
{
	bool finished = a->finished || a->only_finished || a->exits || (a->states && strpbrk(a->states, "CF"));
	char queue[256];

	strbuf_puts(path, "/v1/jobs");
	users_query(path, a->user);
	query_add(path, "completed", finished ? "1" : "0");
	query_add(path, "state", a->only_finished ? "C" : NULL);
	query_add(path, "arrays", a->elements ? "expand" : NULL);
	if (a->queue) {
		snprintf(queue, sizeof queue, "%.*s", (int)strcspn(a->queue, "@"),
			 a->queue); /* queue_here() has checked it */
		query_add(path, "queue", queue);
	}
}

/* Collects the ids of the jobs that meet the conditions. Returns an exit code, after reporting any
 * error. */
static int jobs_select(const struct command *c, struct client *client, const struct selection *a, name_list *ret)
{
	static const char *const began[] = {"ended", "started", "created"};
	struct selecting s = {.a = a, .jobs = {.row = row, .context = &s}, .arena = arena_create()};
	struct strbuf path = {0};
	char queue[256];
	struct err err;
	int code = EXIT_OK;

	s.id = joblist_member(&s.jobs, "id");
	s.state = joblist_member(&s.jobs, "state");
	s.holds = a->holds ? joblist_member(&s.jobs, "holds") : -1;
	s.status = a->exits ? joblist_member(&s.jobs, "exit_status") : -1;
	for (int i = 0; i < 3 && a->older; i++)
		s.began[i] = joblist_member(&s.jobs, began[i]);
	if (tests_make(&s, &err) < 0) {
		code = command_misused(c, "%s", err.text);
	} else if (a->queue && queue_here(client, a->queue, queue, &err) < 0) {
		code = command_fail(c, "%s", err.text);
	} else {
		path_make(a, &path);
		if (joblist_read(&s.jobs, client, &path, &err) < 0) {
			command_fail(c, "%s", err.text);
			code = show_code(client);
		}
	}
	if (code == EXIT_OK && s.chosen.n == 0)
		parties_warn(c, a->user, NULL);
	for (size_t i = 0; i < s.chosen.n; i++)
		if (checkpoint_fits(&s, client, s.chosen.v[i]))
			vec_push(ret, mem_strdup(s.chosen.v[i]));
	strbuf_fini(&path);
	joblist_fini(&s.jobs);
	vec_free(&s.tests);
	array_fini(&s.exits);
	name_list_free(&s.chosen);
	arena_destroy(s.arena);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	name_list found = {0};
	struct client *client;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	int code = jobs_select(c, client, arguments, &found);
	for (size_t i = 0; i < found.n; i++)
		puts(found.v[i]);
	name_list_free(&found);
	client_close(client);
	return code;
}

/* ---- --where ---- */

/* Reads "name=sim*,states=Q" as options of qselect. Values may have commas: a,b=c is one value and
 * another option only if it has a '='. */
static int where_read(const char *text, struct arena *arena, struct selection *ret, struct err *err)
{
	VEC(char *) words = {0};
	char **operand;
	int n, rc;

	while (*text) {
		size_t length = strcspn(text, ",");
		while (text[length] && strcspn(text + length + 1, "=") >= strcspn(text + length + 1, ","))
			length += 1 + strcspn(text + length + 1, ",");
		vec_push(&words, arena_printf(arena, "--%.*s", (int)length, text));
		text += length;
		text += *text == ',';
	}
	operand = mem_zalloc((words.n + 1) * sizeof *operand);
	rc = options_parse(&command_qselect, (int)words.n, words.v, ret, operand, &n, err);
	if (rc > 0)
		rc = err_set(err, -EINVAL, "write conditions, as in name='sim*',states=Q");
	free(operand);
	vec_free(&words);
	return rc < 0 ? err_prefix(err, rc, "--where") : 0;
}

/* Asks on a terminal. Returns true for yes, and where nobody can be asked. */
static bool agreed(const char *what, size_t n)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return true;
	fprintf(stderr, "%s %zu job%s? [y/N] ", what, n, n == 1 ? "" : "s");
	return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

int jobs_choose(struct change *ch, const struct choice *x, const char *what, const struct operands *o, name_list *ret)
{
	struct selection *a = options_create(&command_qselect);
	struct arena *arena = arena_create();
	struct err err;
	int code = EXIT_OK;

	for (int i = 0; i < o->n; i++)
		vec_push(ret, mem_strdup(o->v[i]));
	if (o->n == 0 && !x->where) {
		code = command_misused(ch->c, "name jobs, or select them with --where");
	} else if (x->where && where_read(x->where, arena, a, &err) < 0) {
		code = command_misused(ch->c, "%s", err.text);
	} else if (x->where) {
		a->user = !a->user ? user_name() : strcmp(a->user, "*") == 0 ? NULL : a->user;
		size_t before = ret->n;
		code = jobs_select(ch->c, ch->client, a, ret);
		if (code == EXIT_OK && ret->n == before)
			code = command_fail(ch->c, "no job fits --where %s", x->where);
		else if (code == EXIT_OK && !x->yes && !agreed(what, ret->n))
			code = command_fail(ch->c, "nothing was changed");
	}
	arena_destroy(arena);
	options_free(&command_qselect, a);
	return code;
}

const struct command command_qselect = {
	.name = "qselect",
	.own = true,
	.about = "Print the ids of the jobs that match, one per line.",
	.details =
		"OP is .eq. .ne. .ge. .gt. .le. or .lt.; without one it is equality. A job must fit everything that is given. "
		"Finished jobs are left out unless they are requested. qdel, qhold, qrls, qalter and 'shunt cancel' select jobs "
		"by the same conditions (--where).",
	.examples = EXAMPLES({"qdel $(qselect -u $USER -s Q)", "Delete my jobs that still wait."},
			     {"qselect -l walltime.gt.10:00:00 -p.ge.100", "Long jobs of high priority."},
			     {"qselect -N 'sim*' --exit failed", "Those of my simulations that failed."}),
	OPTIONS(struct selection, options),
	.run = run,
};
