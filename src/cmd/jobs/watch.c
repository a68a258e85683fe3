/*
 * watch.c - `shunt watch`: prints what all of one's jobs print, each line with its job; also for
 * `shunt output` of an array.
 *
 * It polls: each second one request for the list, one for each job that has ended, and at most
 * ASKED_MOST for those that run, in turn. That survives a restart of the server, and its cost does
 * not grow with the jobs.
 */
#include "cmd/jobs/watch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/screen.h"
#include "cmd/lib/show.h"

#define ASKED_MOST 50 /* running jobs whose output is read in one look */

/* A job whose output is shown. */
struct watched {
	int64_t n;	     /* bytes read */
	struct strbuf begun; /* begin of a line whose end has not come */
	bool done;	     /* it has ended, and all of it was shown */
	bool ended;
	char label[64], outcome[64];
};

struct watch {
	const struct watching *w;
	struct joblist jobs;
	struct names ids;
	VEC(struct watched) all;
	struct watched *now;	/* the job that is read */
	uint32_t next;		/* index of the job to begin the next look with */
	bool looked;		/* the list was read before */
	bool any;		/* there was a job to show */
	bool missed;		/* the output of a job could not be read in the last look */
	int id, state, outcome; /* cells, and a column */
	int rc;			/* result of writing */
};

static void line_print(struct watch *x, struct watched *j, const char *text, size_t n)
{
	struct strbuf line = {0};

	strbuf_printf(&line, "%s: %s%.*s\n", j->label, strbuf_text(&j->begun), (int)n, text);
	if (x->w->raw)
		x->rc = screen_raw(stdout, line.text, line.n);
	else if (fwrite(line.text, 1, line.n, stdout) != line.n || fflush(stdout) != 0)
		x->rc = -errno;
	strbuf_clear(&j->begun);
	strbuf_fini(&line);
}

static int piece(void *context, const char *data, size_t n)
{
	struct watch *x = context;
	const char *end;

	x->now->n += (int64_t)n;
	while (n > 0 && x->rc == 0 && (end = memchr(data, '\n', n))) {
		line_print(x, x->now, data, (size_t)(end - data));
		n -= (size_t)(end - data) + 1;
		data = end + 1;
	}
	strbuf_add(&x->now->begun, data, n);
	return x->rc;
}

/* Notes a job of the list. One that had ended before is left out, unless it was named. */
static void row(void *context, char **cell)
{
	struct watch *x = context;
	uint32_t at;

	if (!names_find(&x->ids, cell[x->id], &at)) {
		struct watched new = {.done = !x->w->ids && *cell[x->state] == 'C' && !x->looked};
		id_short(cell[x->id], new.label, sizeof new.label);
		at = names_add(&x->ids, cell[x->id]);
		x->any |= !new.done;
		vec_push(&x->all, new);
	}
	struct watched *j = &x->all.v[at];
	j->ended = *cell[x->state] == 'C';
	snprintf(j->outcome, sizeof j->outcome, "%s", joblist_text(&x->jobs, x->outcome, cell));
}

static void jobs_query(const struct watch *x, struct strbuf *path)
{
	strbuf_puts(path, "/v1/jobs?arrays=expand");
	query_add(path, "user", x->w->user);
	query_add(path, "ids", x->w->ids);
}

/* Reads what a job has printed since. Returns false if the server did not answer: it may be back
 * soon. A job that has not created its file has printed nothing. */
static bool output_read(struct watch *x, struct client *client, uint32_t at)
{
	struct err err;
	char from[24];

	x->now = &x->all.v[at];
	snprintf(from, sizeof from, "%lld", (long long)x->now->n);
	int rc = client_read(client,
			     api_path("/v1/jobs/%s/output?stream=%s&from=%s", names_get(&x->ids, at),
				      x->w->error ? "err" : "out", from),
			     NULL, piece, x, &err);
	return rc == 0 || *client_code(client);
}

static void job_end(struct watch *x, struct watched *j)
{
	if (j->begun.n)
		line_print(x, j, "", 0);
	if (x->w->follow)
		fprintf(stderr, "%s: %s\n", j->label, j->outcome);
	strbuf_fini(&j->begun);
	j->done = true;
}

/* Reads the list, and the output of those that run or have just ended. */
static int look(struct watch *x, struct client *client, struct err *err)
{
	struct strbuf path = {0};
	uint32_t asked = 0, first = x->next;

	x->missed = false;
	jobs_query(x, &path);
	query_add(&path, "state", "R,S,E,C");
	query_add(&path, "completed", x->w->ids ? "1" : "recent");
	int rc = joblist_read(&x->jobs, client, &path, err);
	for (uint32_t k = 0; k < x->all.n && rc == 0 && x->rc == 0; k++) {
		uint32_t i = (first + k) % (uint32_t)x->all.n;
		bool runs = x->w->follow && !x->all.v[i].ended;
		if (x->all.v[i].done || (runs && asked == ASKED_MOST))
			continue;
		if (runs && ++asked == ASKED_MOST)
			x->next = i + 1;
		bool read = output_read(x, client, i);
		x->missed |= !read;
		if (x->all.v[i].ended && x->rc == 0 && read)
			job_end(x, &x->all.v[i]);
	}
	x->looked |= rc == 0;
	strbuf_fini(&path);
	return rc;
}

static void count(void *context, char *const *cell)
{
	++*(int64_t *)context;
}

/* Returns true if one of the jobs waits or runs. */
static bool any_left(struct watch *x, struct client *client)
{
	struct strbuf path = {0};
	struct err err;
	int64_t n = 0;

	jobs_query(x, &path);
	query_add(&path, "completed", "0");
	query_add(&path, "fields", "id");
	query_add(&path, "limit", "1");
	int rc = tsv_read(client, path.text, 1, count, &n, &err);
	strbuf_fini(&path);
	return rc < 0 || n > 0;
}

int output_watch(const struct command *c, struct client *client, const struct watching *w)
{
	struct watch x = {.w = w, .jobs = {.row = row, .context = &x}};
	bool more = true;
	struct err err;
	int code = EXIT_OK;

	x.outcome = joblist_add(&x.jobs, "outcome:ended");
	x.id = joblist_member(&x.jobs, "id");
	x.state = joblist_member(&x.jobs, "state");
	while (more && code == EXIT_OK) {
		more = w->follow && any_left(&x, client); /* before the last look, which has its end */
		if (look(&x, client, &err) < 0)
			code = command_fail(c, "%s", err.text);
		else if (x.rc < 0)
			code = command_fail(c, "standard output: %s", strerror(-x.rc));
		else if ((more |= w->follow && x.missed))
			sleep(1);
	}
	if (code == EXIT_OK && !x.any)
		fprintf(stderr, w->user ? "No jobs to watch.\n" : "Nothing has been started yet.\n");
	for (size_t i = 0; i < x.all.n; i++)
		strbuf_fini(&x.all.v[i].begun);
	vec_free(&x.all);
	names_fini(&x.ids);
	joblist_fini(&x.jobs);
	return code;
}

/* Returns EXIT_OK if the server knows the job; otherwise an error is printed. */
static int job_check(const struct command *c, struct client *client, const char *id)
{
	struct reply r;
	int code = EXIT_OK;

	if (show_get(c, client, api_path("/v1/jobs/%s", id), &r, &code))
		reply_fini(&r);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *o)
{
	struct strbuf ids = {0};
	struct client *client;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	for (int i = 0; i < o->n && code == EXIT_OK; i++) {
		strbuf_printf(&ids, "%s%s", i ? "," : "", o->v[i]);
		code = job_check(c, client, o->v[i]);
	}
	if (code == EXIT_OK)
		code = output_watch(c, client,
				    &(struct watching){.user = o->n ? NULL : user_name(),
						       .ids = o->n ? ids.text : NULL,
						       .follow = true,
						       .raw = !isatty(STDOUT_FILENO)});
	client_close(client);
	strbuf_fini(&ids);
	return code;
}

const struct command command_watch = {
	.name = "watch",
	.operands = "[JOB...]",
	.about = "Follow the output of all of your jobs, or of some.",
	.details =
		"Each line begins with its job. When a job ends, a line on standard error says how. The command ends "
		"when none of the jobs is left.",
	.examples = EXAMPLES({"shunt watch", "What all of my jobs print, until the last has ended."},
			     {"shunt watch 12 '13[]'", "What these print."}),
	.run = run,
};
