/*
 * workfile.c - reads and writes our own workload file (docs/workload-format.md): what users submit,
 * one job per line, in words of the form name=value.
 *
 * Traces are taken as they are, but the author of a workload file wants to know of a mistake, so
 * the first one stops the reading.
 */
#include <errno.h>
#include <stdbool.h>

#include "core/depend.h"
#include "rules/libra.h"
#include "sim/workload_internal.h"

#define MAGIC "#shunt-workload"
#define BLANKS " \t"

enum word {
	AT,
	USER,
	REQ,
	PROCS,
	WALLTIME,
	RUN,
	TYPE,
	DEADLINE,
	POWERS,
	ID,
	QUEUE,
	ARRAY,
	DEPEND,
	START,
	HOLD,
	EXIT,
	PRIORITY,
	HOST,
	GROUPS,
	PARTITION,
	CHECKPOINT,
	ACCOUNT,
	QOS,
	RESERVATION,
	ESTIMATE,
	BUDGET,
	WORDS
};
#define OF_TERMS                                                                                                       \
	(1u << QUEUE | 1u << ARRAY | 1u << DEPEND | 1u << START | 1u << HOLD | 1u << EXIT | 1u << PRIORITY |           \
	 1u << HOST | 1u << GROUPS | 1u << ACCOUNT | 1u << QOS | 1u << RESERVATION | 1u << ESTIMATE | 1u << BUDGET)
#define PRIORITY_MAX 1024
#define ELEMENTS_MAX 5000000 /* maximum jobs of a file with arrays */

/* A line being read; values not stated are -1. */
struct draft {
	struct workload *w;
	struct wjob job;
	int64_t req_walltime;
	bool deadline_after; /* the deadline counts from the submission */
	bool nice;	     /* type=nice: the deadline is when the job stops being nice */
	struct wterms terms;
	bool start_after, release_after; /* these times count from the submission */
};

static const char *const power_name[] = {"sc_alloc", "q_alloc", "e_alloc", "c_exec", "s_exec", "q_exec", "e_exec"};
#define POWER_COUNT (sizeof power_name / sizeof *power_name)

static int at_read(struct draft *d, const char *value, struct err *err)
{
	return duration_parse(value, &d->job.submit, err);
}

static int user_read(struct draft *d, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, -EINVAL, "a name must follow");
	d->job.user = names_add(&d->w->users, value);
	return 0;
}

static int req_read(struct draft *d, const char *value, struct err *err)
{
	return workload_request(d->w, value, &d->job.text, &d->req_walltime, err);
}

static int whole_read(const char *value, int64_t max, int64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	int64_t v = strtoll(value, &end, 10);
	if (end == value || *end || errno || v < 1 || v > max)
		return err_set(err, -EINVAL, "must be a whole number from 1 to %lld", (long long)max);
	*ret = v;
	return 0;
}

static int procs_read(struct draft *d, const char *value, struct err *err)
{
	int64_t procs = 0;
	int rc = whole_read(value, PROCS_MAX, &procs, err);

	if (rc == 0)
		d->job.procs = (int32_t)procs;
	return rc;
}

static int length_read(const char *value, int64_t *ret, struct err *err)
{
	int64_t seconds;
	int rc = duration_parse(value, &seconds, err);

	if (rc == 0 && seconds == 0)
		rc = err_set(err, -EINVAL, "must be at least a second");
	if (rc == 0)
		*ret = seconds;
	return rc;
}

static int type_read(struct draft *d, const char *value, struct err *err)
{
	static const struct {
		const char *name;
		enum job_kind kind;
		bool interactive, nice;
	} types[] = {{"C", KIND_COMMON, false, false},	   {"Q", KIND_QOS, false, false},
		     {"E", KIND_EMERGENCY, false, false},  {"normal", KIND_COMMON, false, false},
		     {"priority", KIND_QOS, false, false}, {"interactive", KIND_EMERGENCY, true, false},
		     {"nice", KIND_COMMON, false, true}};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(value, types[i].name) == 0) {
			d->job.kind = types[i].kind;
			d->job.interactive = types[i].interactive;
			d->nice = types[i].nice;
			return 0;
		}
	return err_set(err, -EINVAL, "must be C or normal, Q (QoS) or priority, E (emergency), interactive, or nice");
}

static int deadline_read(struct draft *d, const char *value, struct err *err)
{
	d->deadline_after = *value == '+';
	return duration_parse(value + d->deadline_after, &d->job.deadline, err);
}

static int power_read(struct draft *d, const char *name, size_t n, struct err *err)
{
	for (size_t i = 0; i < POWER_COUNT; i++)
		if (strlen(power_name[i]) == n && memcmp(power_name[i], name, n) == 0) {
			d->job.powers |= (uint8_t)(1 << i);
			return 0;
		}
	return err_set(err, -EINVAL, "must be a list of sc_alloc,q_alloc,e_alloc,c_exec,s_exec,q_exec,e_exec");
}

static int powers_read(struct draft *d, const char *value, struct err *err)
{
	for (const char *p = value;;) {
		size_t n = strcspn(p, ",");
		int rc = power_read(d, p, n, err);
		if (rc < 0)
			return rc;
		if (!p[n])
			return 0;
		p += n + 1;
	}
}

static int id_read(struct draft *d, const char *value, struct err *err)
{
	return whole_read(value, INT64_MAX, &d->job.id, err);
}

static int array_read(struct draft *d, const char *value, struct err *err)
{
	int rc = array_parse(value, &d->terms.array, err);

	if (rc == 0 && d->w->jobs.n + d->terms.array.count > ELEMENTS_MAX)
		rc = err_set(err, -EINVAL, "a workload with arrays has at most %d jobs", ELEMENTS_MAX);
	return rc;
}

static int depend_read(struct draft *d, const char *value, struct err *err)
{
	struct depends x = {0};
	int rc = depends_parse(value, &x, err);

	for (uint32_t i = 0; i < x.n && rc == 0; i++)
		if (x.v[i].type >= DEPEND_BEFORE)
			rc = err_set(err, -EINVAL, "must be of after, afterok, afternotok and afterany");
	depends_fini(&x);
	if (rc == 0 && *value)
		d->terms.depend = arena_strndup(d->w->arena, value, strlen(value));
	return rc;
}

/* Reads an instant, or + and a time after the submission. */
static int instant_read(const char *value, int64_t *ret, bool *ret_after, struct err *err)
{
	*ret_after = *value == '+';
	return duration_parse(value + *ret_after, ret, err);
}

static int start_read(struct draft *d, const char *value, struct err *err)
{
	return instant_read(value, &d->terms.start, &d->start_after, err);
}

static int hold_read(struct draft *d, const char *value, struct err *err)
{
	if (strcmp(value, "forever") != 0)
		return instant_read(value, &d->terms.release, &d->release_after, err);
	d->terms.release = TIME_NEVER;
	return 0;
}

static int exit_read(struct draft *d, const char *value, struct err *err)
{
	int64_t status = 0;
	int rc = strcmp(value, "0") == 0 ? 0 : whole_read(value, 255, &status, err);

	d->terms.exit = (int)status;
	return rc;
}

static int priority_read(struct draft *d, const char *value, struct err *err)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (end == value || *end || n < -PRIORITY_MAX || n >= PRIORITY_MAX)
		return err_set(err, -EINVAL, "must be a whole number from %d to %d", -PRIORITY_MAX, PRIORITY_MAX - 1);
	d->terms.priority = (int)n;
	return 0;
}

static int budget_read(struct draft *d, const char *value, struct err *err)
{
	return libra_budget_parse(value, &d->terms.budget, err);
}

static int groups_read(struct draft *d, const char *value, struct err *err)
{
	const char **list = arena_alloc(d->w->arena, (strlen(value) / 2 + 2) * sizeof *list);
	size_t n = 0;

	for (const char *p = value;; p++) {
		size_t k = strcspn(p, ",");
		if (k == 0)
			return err_set(err, -EINVAL, "must be names with commas between them");
		list[n++] = arena_strndup(d->w->arena, p, k);
		p += k;
		if (!*p)
			break;
	}
	d->terms.groups = list;
	return 0;
}

static int partition_read(struct draft *d, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, -EINVAL, "the name of a partition must follow, or any");
	d->job.partition = strcmp(value, "any") == 0 ? PARTITION_ANY : names_add(&d->w->partitions, value) + 1;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct draft *d, const char *value, struct err *err);
	size_t text, length; /* or where the draft has the text, or the time of at least a second */
} words[WORDS] = {
	[AT] = {"at", .read = at_read},
	[USER] = {"user", .read = user_read},
	[REQ] = {"req", .read = req_read},
	[PROCS] = {"procs", .read = procs_read},
	[WALLTIME] = {"walltime", .length = offsetof(struct draft, job.walltime)},
	[RUN] = {"run", .length = offsetof(struct draft, job.runtime)},
	[TYPE] = {"type", .read = type_read},
	[DEADLINE] = {"deadline", .read = deadline_read},
	[POWERS] = {"powers", .read = powers_read},
	[ID] = {"id", .read = id_read},
	[QUEUE] = {"queue", .text = offsetof(struct draft, terms.queue)},
	[ARRAY] = {"array", .read = array_read},
	[DEPEND] = {"depend", .read = depend_read},
	[START] = {"start", .read = start_read},
	[HOLD] = {"hold", .read = hold_read},
	[EXIT] = {"exit", .read = exit_read},
	[PRIORITY] = {"priority", .read = priority_read},
	[HOST] = {"host", .text = offsetof(struct draft, terms.host)},
	[GROUPS] = {"groups", .read = groups_read},
	[PARTITION] = {"partition", .read = partition_read},
	[CHECKPOINT] = {"checkpoint", .length = offsetof(struct draft, job.checkpoint)},
	[ACCOUNT] = {"account", .text = offsetof(struct draft, terms.account)},
	[QOS] = {"qos", .text = offsetof(struct draft, terms.qos)},
	[RESERVATION] = {"reservation", .text = offsetof(struct draft, terms.reservation)},
	[ESTIMATE] = {"estimate", .length = offsetof(struct draft, terms.estimate)},
	[BUDGET] = {"budget", .read = budget_read},
};

static int text_read(const struct draft *d, const char *value, const char **ret, struct err *err)
{
	if (!*value)
		return err_set(err, -EINVAL, "a name must follow");
	*ret = arena_strndup(d->w->arena, value, strlen(value));
	return 0;
}

static int value_read(struct draft *d, enum word i, const char *value, struct err *err)
{
	char *at = (char *)d;

	if (words[i].text)
		return text_read(d, value, (const char **)(void *)(at + words[i].text), err);
	if (words[i].length)
		return length_read(value, (int64_t *)(void *)(at + words[i].length), err);
	return words[i].read(d, value, err);
}

static int word_read(struct draft *d, char *word, unsigned *seen, struct err *err)
{
	char excerpt[EXCERPT_SIZE], *equals = strchr(word, '=');

	line_excerpt(word, excerpt);
	for (int i = 0; equals && i < WORDS; i++) {
		if (strncmp(word, words[i].name, (size_t)(equals - word)) != 0 || words[i].name[equals - word])
			continue;
		if (*seen & 1u << i)
			return err_set(err, -EINVAL, "%s: %s= is said twice", excerpt, words[i].name);
		*seen |= 1u << i;
		int rc = value_read(d, (enum word)i, equals + 1, err);
		return rc < 0 ? err_prefix(err, rc, "%s", excerpt) : 0;
	}
	struct strbuf known = {0};
	for (int i = 0; i < WORDS; i++)
		strbuf_printf(&known, " %s=", words[i].name);
	err_set(err, -EINVAL, "%s: unknown; use%s", excerpt, known.text);
	strbuf_fini(&known);
	return -EINVAL;
}

/* Checks the words against each other, and fills in what follows from them. */
static int job_complete(struct draft *d, unsigned seen, struct err *err)
{
	struct wjob *j = &d->job;

	if (!(seen & 1u << AT))
		return err_set(err, -EINVAL, "at= is missing: when is the job submitted?");
	if (!(seen & 1u << REQ) == !(seen & 1u << PROCS) && (seen & 1u << REQ || !workload_parted(d->w, &d->job)))
		return err_set(err, -EINVAL, "a job has either req= (as after qsub -l) or procs=");
	if (j->walltime < 0)
		j->walltime = d->req_walltime;
	if (j->walltime < 0 && d->terms.estimate)
		j->walltime = d->terms.estimate;
	j->assumed = j->walltime <= 0;
	if (j->assumed)
		j->walltime = j->runtime;
	if (j->runtime < 0)
		j->runtime = j->walltime;
	if (j->walltime < 0)
		return err_set(err, -EINVAL, "walltime= or run= is missing: how long is the job?");
	if (!(seen & 1u << USER))
		j->user = names_add(&d->w->users, "user");
	if (j->interactive) {
		if (seen & (1u << DEADLINE | 1u << POWERS | 1u << CHECKPOINT))
			return err_set(
				err, -EINVAL,
				"an interactive job starts at once: it has no deadline=, powers= or checkpoint=");
		j->deadline = j->submit + j->walltime;
		j->powers = POWER_C_EXEC | POWER_S_EXEC | POWER_Q_EXEC;
		return 0;
	}
	if (!(seen & 1u << DEADLINE) && (j->kind != KIND_COMMON || d->nice))
		return err_set(err, -EINVAL,
			       "a job of type %s needs a deadline=", d->nice ? "nice" : "Q, priority or E");
	if (seen & 1u << POWERS && j->kind != KIND_EMERGENCY)
		return err_set(err, -EINVAL, "powers= are for jobs of type E only");
	if (d->deadline_after)
		j->deadline += j->submit;
	if (j->deadline <= j->submit)
		return err_set(err, -EINVAL, "the deadline is not after the submission (+2h counts from there)");
	if (seen & (1u << ESTIMATE | 1u << BUDGET) &&
	    (j->kind != KIND_QOS || !(seen & 1u << ESTIMATE) || !(seen & 1u << BUDGET)))
		return err_set(err, -EINVAL, "estimate= and budget= go together, with type=Q and a deadline=");
	if (d->terms.estimate && d->terms.estimate != j->walltime)
		return err_set(err, -EINVAL, "the estimate of a job is its walltime: leave walltime= out");
	if (d->terms.estimate && seen & (1u << ARRAY | 1u << DEPEND | 1u << START | 1u << HOLD))
		return err_set(err, -EINVAL,
			       "a job with a budget may start at once: it has no array=, depend=, start= or hold=");
	if (d->nice) {
		j->nice = j->deadline;
		j->deadline = TIME_NEVER;
	}
	return 0;
}

/* Adds the jobs of a line, one or the elements of an array, which share its terms. */
static void jobs_add(struct draft *d, unsigned seen)
{
	struct workload *w = d->w;
	uint32_t n = seen & 1u << ARRAY ? (uint32_t)d->terms.array.count : 1;

	if (seen & OF_TERMS) {
		if (d->start_after)
			d->terms.start += d->job.submit;
		if (d->release_after)
			d->terms.release += d->job.submit;
		vec_push(&w->terms, d->terms);
		d->terms.array = (struct array_spec){0};
		d->job.terms = (uint32_t)w->terms.n;
	}
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&w->jobs, d->job);
		d->job.id++;
		d->job.element++;
	}
}

static int job_read(struct workload *w, char *line, int64_t number, struct err *err)
{
	struct draft d = {
		.w = w,
		.job = {.runtime = -1, .walltime = -1, .deadline = TIME_NEVER, .text = -1},
		.req_walltime = -1,
	};
	unsigned seen = 0;
	char *rest;

	d.job.id = (int64_t)w->jobs.n + 1;
	d.job.line = (uint32_t)number;
	for (char *word = strtok_r(line, BLANKS, &rest); word && *word != '#'; word = strtok_r(NULL, BLANKS, &rest)) {
		int rc = word_read(&d, word, &seen, err);
		if (rc < 0) {
			array_fini(&d.terms.array);
			return rc;
		}
	}
	int rc = job_complete(&d, seen, err);
	if (rc == 0)
		jobs_add(&d, seen);
	array_fini(&d.terms.array);
	return rc;
}

static int machine_read(struct workload *w, char *line, struct err *err)
{
	char *rest, *text = strtok_r(line, BLANKS, &rest), *more = strtok_r(NULL, BLANKS, &rest);

	if (w->machine)
		return err_set(err, -EINVAL, "the machine is said twice");
	if (!text || (more && *more != '#'))
		return err_set(err, -EINVAL, "machine takes one word, as in: machine nodes:40x8");
	return workload_set_machine(w, text, err);
}

/* Reads "deposit ACCOUNT HOURS [at=TIME] [expires=TIME]". */
static int deposit_read(struct workload *w, char *line, struct err *err)
{
	char *rest, *account = strtok_r(line, BLANKS, &rest), *hours = strtok_r(NULL, BLANKS, &rest);
	struct wdeposit d = {.expires = TIME_NEVER};
	size_t i = w->deposits.n;
	int rc = 0;

	if (!account || !hours || *hours == '#')
		return err_set(err, -EINVAL,
			       "deposit takes an account and hours of its unit, as in: deposit physics 1000 at=30d");
	rc = libra_budget_parse(hours, &d.amount, err);
	for (char *word; rc == 0 && (word = strtok_r(NULL, BLANKS, &rest)) && *word != '#';) {
		if (strncmp(word, "at=", 3) == 0)
			rc = duration_parse(word + 3, &d.at, err);
		else if (strncmp(word, "expires=", 8) == 0)
			rc = duration_parse(word + 8, &d.expires, err);
		else
			rc = err_set(err, -EINVAL, "%.40s: unknown; a deposit may have at= and expires=", word);
	}
	if (rc == 0 && d.expires <= d.at)
		rc = err_set(err, -EINVAL, "the deposit expires before it is made");
	if (rc < 0)
		return rc;
	d.account = arena_strndup(w->arena, account, strlen(account));
	while (i > 0 && w->deposits.v[i - 1].at > d.at)
		i--;
	vec_insert(&w->deposits, i, d);
	return 0;
}

static int line_read(struct workload *w, char *line, int64_t number, struct err *err)
{
	line += strspn(line, BLANKS);
	if (*line == '\0' || *line == '#')
		return 0;
	if (strncmp(line, "machine", 7) == 0 && (line[7] == '\0' || strchr(BLANKS, line[7])))
		return machine_read(w, line + 7, err);
	if (strncmp(line, "speeds", 6) == 0 && line[6 + strspn(line + 6, BLANKS)] == '\0') {
		w->speeds = true;
		return 0;
	}
	if (strncmp(line, "deposit", 7) == 0 && (line[7] == '\0' || strchr(BLANKS, line[7])))
		return deposit_read(w, line + 7, err);
	return job_read(w, line, number, err);
}

int workfile_read(struct lines *in, char *line, int64_t limit, struct workload *w, struct err *err)
{
	int rc;

	if (strcmp(line, MAGIC " 1") != 0)
		return err_set(err, -EINVAL, "the first line must be \"" MAGIC " 1\": other versions can't be read");
	while ((!limit || (int64_t)w->jobs.n < limit) && (rc = lines_next(in, &line, err)) != 0) {
		if (rc < 0)
			return rc;
		rc = line_read(w, line, lines_number(in), err);
		if (rc < 0)
			return err_prefix(err, rc, "line %lld", (long long)lines_number(in));
	}
	return 0;
}

static void powers_write(unsigned powers, FILE *out)
{
	const char *before = " powers=";

	for (size_t i = 0; i < POWER_COUNT; i++)
		if (powers & 1u << i) {
			fprintf(out, "%s%s", before, power_name[i]);
			before = ",";
		}
}

static void terms_write(const struct wterms *t, FILE *out)
{
	struct strbuf array = {0};
	char buf[32];

	if (t->queue)
		fprintf(out, " queue=%s", t->queue);
	if (t->array.count) {
		array_format(&t->array, &array);
		fprintf(out, " array=%s", array.text);
		strbuf_fini(&array);
	}
	if (t->depend)
		fprintf(out, " depend=%s", t->depend);
	if (t->start)
		fprintf(out, " start=%s", duration_format(t->start, buf, sizeof buf));
	if (t->release)
		fprintf(out, " hold=%s",
			t->release == TIME_NEVER ? "forever" : duration_format(t->release, buf, sizeof buf));
	if (t->exit)
		fprintf(out, " exit=%d", t->exit);
	if (t->priority)
		fprintf(out, " priority=%d", t->priority);
	if (t->host)
		fprintf(out, " host=%s", t->host);
	for (const char *const *g = t->groups; g && *g; g++)
		fprintf(out, "%s%s", g == t->groups ? " groups=" : ",", *g);
	if (t->account)
		fprintf(out, " account=%s", t->account);
	if (t->qos)
		fprintf(out, " qos=%s", t->qos);
	if (t->reservation)
		fprintf(out, " reservation=%s", t->reservation);
	if (t->estimate)
		fprintf(out, " estimate=%s", duration_format(t->estimate, buf, sizeof buf));
	if (t->estimate)
		fprintf(out, " budget=%s", duration_format(t->budget, buf, sizeof buf));
}

static void job_write(const struct workload *w, size_t i, FILE *out)
{
	const struct wjob *j = &w->jobs.v[i];
	char buf[32];

	fprintf(out, "at=%s user=%s", duration_format(j->submit, buf, sizeof buf), names_get(&w->users, j->user));
	if (j->text >= 0)
		fprintf(out, " req=%s", names_get(&w->requests, (uint32_t)j->text));
	else if (j->procs)
		fprintf(out, " procs=%d", j->procs);
	if (j->partition)
		fprintf(out, " partition=%s",
			j->partition == PARTITION_ANY ? "any" : names_get(&w->partitions, j->partition - 1));
	if (!j->assumed)
		fprintf(out, " walltime=%s", duration_format(j->walltime, buf, sizeof buf));
	if (j->assumed || j->runtime != j->walltime)
		fprintf(out, " run=%s", duration_format(j->runtime, buf, sizeof buf));
	if (j->checkpoint)
		fprintf(out, " checkpoint=%s", duration_format(j->checkpoint, buf, sizeof buf));
	if (j->interactive)
		fprintf(out, " type=interactive");
	else if (j->nice)
		fprintf(out, " type=nice deadline=+%s", duration_format(j->nice - j->submit, buf, sizeof buf));
	else if (j->kind != KIND_COMMON)
		fprintf(out, " type=%c", j->kind == KIND_QOS ? 'Q' : 'E');
	if (j->deadline != TIME_NEVER && !j->interactive)
		fprintf(out, " deadline=+%s", duration_format(j->deadline - j->submit, buf, sizeof buf));
	if (!j->interactive)
		powers_write(j->powers, out);
	if (j->id != (int64_t)i + 1)
		fprintf(out, " id=%lld", (long long)j->id);
	if (j->terms)
		terms_write(&w->terms.v[j->terms - 1], out);
	fputc('\n', out);
}

static void deposit_write(const struct wdeposit *d, FILE *out)
{
	char buf[32];

	fprintf(out, "deposit %s %s", d->account, duration_format(d->amount, buf, sizeof buf));
	if (d->at)
		fprintf(out, " at=%s", duration_format(d->at, buf, sizeof buf));
	if (d->expires != TIME_NEVER)
		fprintf(out, " expires=%s", duration_format(d->expires, buf, sizeof buf));
	fputc('\n', out);
}

void workfile_write(const struct workload *w, FILE *out)
{
	fprintf(out, MAGIC " 1\n# %s\n", w->name);
	if (w->machine)
		fprintf(out, "machine %s\n", w->machine);
	else if (w->procs)
		fprintf(out, "machine flat:%lld\n", (long long)w->procs);
	if (w->speeds)
		fprintf(out, "speeds\n");
	for (size_t i = 0; i < w->deposits.n; i++)
		deposit_write(&w->deposits.v[i], out);
	for (size_t i = 0; i < w->jobs.n; i++)
		if (w->jobs.v[i].element == 0) /* the other elements are on the line of the first */
			job_write(w, i, out);
}
