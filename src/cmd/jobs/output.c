/*
 * output.c - `shunt output`: prints what a job has printed so far, and follows it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/jobs/watch.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/screen.h"
#include "cmd/lib/show.h"

#define TAIL_MOST 1000000
#define TAIL_ROOM ((size_t)1 << 16)

struct output_arguments {
	bool follow, error;
	int64_t tail; /* lines; -1: all */
};

static const struct option output_options[] = {
	OPTION_ROW(FLAG, 'f', "follow", offsetof(struct output_arguments, follow), NULL,
		   "continue until the job has ended; wait for it if it has not started"),
	OPTION_ROW(FLAG, 'e', "error", offsetof(struct output_arguments, error), NULL,
		   "standard error instead of standard output"),
	OPTION_ROW(NUMBER, 'n', "tail", offsetof(struct output_arguments, tail), "N",
		   "only the last N lines written so far; with --follow also those that come after them",
		   .max = TAIL_MOST),
	{0},
};
struct output {
	bool raw;
	int64_t tail;	    /* lines to keep until the end; -1: print as it arrives */
	struct strbuf kept; /* the last lines, and perhaps some before them */
	size_t room;	    /* size at which `kept` is trimmed */
	int64_t n;	    /* bytes received */
	int rc;		    /* result of writing */
};

/* Returns where the last `lines` lines begin. The last line may lack a newline. */
static size_t tail_begin(const char *text, size_t n, int64_t lines)
{
	size_t at = n;

	if (lines == 0)
		return n;
	while (at > 0 && !(text[at - 1] == '\n' && at < n && --lines == 0))
		at--;
	return at;
}

static void tail_cut(struct output *o)
{
	size_t begin = tail_begin(strbuf_text(&o->kept), o->kept.n, o->tail);

	o->kept.n -= begin;
	if (begin)
		memmove(o->kept.text, o->kept.text + begin, o->kept.n);
	o->room = 2 * o->kept.n + TAIL_ROOM;
}

static int output_print(struct output *o, const char *data, size_t n)
{
	if (o->raw)
		o->rc = screen_raw(stdout, data, n);
	else if (fwrite(data, 1, n, stdout) != n || fflush(stdout) != 0)
		o->rc = -errno;
	return o->rc;
}

static int output_piece(void *context, const char *data, size_t n)
{
	struct output *o = context;

	o->n += (int64_t)n;
	if (o->tail < 0)
		return output_print(o, data, n);
	strbuf_add(&o->kept, data, n);
	if (o->kept.n > o->room)
		tail_cut(o);
	return 0;
}

/* Asks for the job. *ret_raw: its output is written unchanged, that of another user's job not to a
 * terminal. Returns true if it is an array. */
static bool job_look(struct client *client, const char *id, bool *ret_raw)
{
	struct reply job = {0};
	struct err err;

	int rc = client_ask(client, "GET", api_path("/v1/jobs/%s", id), NULL, 0, &job, &err);
	bool array = json_is_object(json_object_get(job.json, "array_counts"));
	*ret_raw = !isatty(STDOUT_FILENO) || (rc == 0 && strcmp(object_text(job.json, "owner"), user_name()) == 0);
	reply_fini(&job);
	return array;
}

/* Reads output from byte `o->n` on. With `follow` it waits for a job that has not started. */
static int output_read(struct client *client, const char *id, const struct output_arguments *a, bool follow,
		       struct output *o, struct err *err)
{
	char from[24];
	int rc;

	snprintf(from, sizeof from, "%lld", (long long)o->n);
	while ((rc = client_read(client,
				 api_path("/v1/jobs/%s/output?stream=%s&follow=%s&from=%s", id,
					  a->error ? "err" : "out", follow ? "1" : "0", from),
				 NULL, output_piece, o, err)) < 0 &&
	       a->follow && strcmp(client_code(client), "bad_state") == 0)
		sleep(1);
	return rc;
}

/* Follows output until the job has ended, also over restarts of the server. Returns the exit
 * code. */
static int output_follow(const struct command *c, struct client *client, const char *id,
			 const struct output_arguments *a, struct output *o)
{
	struct reply job;
	struct err err;
	bool said = false, ended = false;
	int code = EXIT_OK;

	while (!ended && code == EXIT_OK) {
		int rc = output_read(client, id, a, true, o, &err);
		if (o->rc < 0)
			break;
		if (rc < 0 && rc != -ECONNRESET) {
			code = command_fail(c, "%s", err.text);
		} else if (show_resume(c, client, api_path("/v1/jobs/%s", id), rc, &said, &job, &code)) {
			ended = *object_text(job.json, "state") == 'C' && rc == 0;
			reply_fini(&job);
			if (!ended)
				sleep(1);
		}
	}
	return code;
}

/* Says where to look if a job has printed nothing but errors. */
static void errors_hint(const struct command *c, struct client *client, const char *id)
{
	struct output o = {.tail = 0, .room = TAIL_ROOM};
	struct err err;

	if (output_read(client, id, &(struct output_arguments){.error = true}, false, &o, &err) >= 0 && o.n > 0)
		command_warn(c, "job %s has printed nothing but errors: 'shunt output -e %s' shows them", id, id);
	strbuf_fini(&o.kept);
}

/* Prints the output of one job. Returns the exit code. */
static int output_one(const struct command *c, struct client *client, const char *id, const struct output_arguments *a,
		      bool raw)
{
	struct output o = {.raw = raw, .tail = a->tail, .room = TAIL_ROOM};
	struct err err;
	int code = EXIT_OK;

	if (a->tail >= 0 || !a->follow) {
		if (output_read(client, id, a, false, &o, &err) < 0)
			code = o.rc < 0 ? EXIT_OK : command_fail(c, "%s", err.text);
		tail_cut(&o);
		o.tail = -1;
		if (code == EXIT_OK && o.rc == 0)
			output_print(&o, strbuf_text(&o.kept), o.kept.n);
	}
	if (a->follow && code == EXIT_OK && o.rc == 0)
		code = output_follow(c, client, id, a, &o);
	if (o.rc < 0)
		code = command_fail(c, "standard output: %s", strerror(-o.rc));
	else if (code == EXIT_OK && o.n == 0 && !a->error)
		errors_hint(c, client, id);
	strbuf_fini(&o.kept);
	return code;
}

static int output_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct output_arguments *a = arguments;
	const char *id = operands->v[0];
	struct client *client;
	bool raw;
	int code;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	bool array = job_look(client, id, &raw);
	if (array && a->tail >= 0)
		code = command_misused(c, "--tail is for one job: name an element of the array, as in %.*s[1]",
				       (int)strcspn(id, "[."), id);
	else if (array)
		code = output_watch(c, client,
				    &(struct watching){.ids = id, .error = a->error, .follow = a->follow, .raw = raw});
	else
		code = output_one(c, client, id, a, raw);
	client_close(client);
	return code;
}

const struct command command_output = {
	.name = "output",
	.operands = "JOB",
	.about = "Print what a job has printed so far.",
	.details =
		"Of an array it prints what all elements have printed, each line with its element. The output of your own jobs is printed byte by byte. On a terminal, control characters in the output of other "
		"users' jobs are escaped (\\u001b).",
	.examples = EXAMPLES({"shunt output -f 12", "What job 12 prints, as it prints it."},
			     {"shunt output -n 20 12", "The last 20 lines."}),
	OPTIONS(struct output_arguments, output_options),
	.run = output_run,
};
