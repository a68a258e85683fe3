/*
 * batch.c - requests to a batch system: which of its commands are called, and when.
 */
#include "bag/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bag/credential.h"
#include "bag/own.h"
#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/vec.h"

enum {
	/* limit, in multiples of the pace, for a command to finish and for a job to be missing
	 * from the listing */
	PATIENCE = 6,
	CLEAR_SECONDS = 30,
	PAUSE_MOST = 600,
	OUTPUT_MOST = 64 << 20,
	REQUESTS_MOST = 9999, /* requests of a run; the number must fit into a job name of PBS */
	SECONDS_LEAST = 60,   /* shortest request, whatever is refused */
};

enum action { NOTHING, SUBMIT, LIST, CANCEL, SHRINK, PLAN, LABEL };

struct request {
	struct provider_request r;
	bool sent;		/* it was submitted */
	bool known;		/* the name of its job is known */
	bool unwanted;		/* it should no longer exist */
	int64_t wanted;		/* processors to shrink it to; 0: nothing to do */
	int unseen;		/* listings in a row that did not have it */
	int64_t over_at;	/* when it ended, by provider_now(); 0: it has not */
	struct batch_line line; /* its line in the current listing; number 0: none yet */
};

struct job_name {
	char text[64];
};

struct batch {
	struct provider base;
	const struct batch_dialect *dialect;
	struct provider_user user;
	/* processors and seconds shrink when the cluster refuses */
	struct provider_options options;
	const char *name;	      /* name part of the tag */
	char server[WHERE_MOST + 32]; /* for env: the Shunt server to use; "": the default one */
	VEC(struct request) all;      /* by number - 1 */
	VEC(struct job_name) cancels; /* the cluster's names of the jobs to cancel */
	enum action action;	      /* the running command, and the number of its request */
	int number;
	pid_t pid;
	int output;
	/* The times of this struct are by provider_now(): nothing here depends on the wall clock. */
	int64_t now;	      /* at the last poll() */
	int64_t deadline;     /* end of the running command's time */
	int64_t listed, wait; /* time of the last listing; seconds until the next */
	int64_t pause, until; /* after a failure: length of the pause, and when it ends */
	struct rebuild plan;
	/* nonzero if a plan is wanted; time of the last query, 0: never */
	int64_t plan_wanted, planned;
	int64_t known;	/* when the known plan was queried */
	bool unplanned; /* the last query failed */
	/* when a command last changed something at the cluster; older plans do not show it */
	int64_t changed;
	/* when a job was last given a label, the number of its request, and the label */
	int64_t labelled;
	int label_of;
	char label[PROGRESS_SIZE];
};

void words_add(name_list *l, const char *option, const char *text)
{
	struct strbuf b = {0};

	strbuf_printf(&b, "%s%s", option, text);
	vec_push(l, mem_strdup(b.text));
	strbuf_fini(&b);
}

void words_number(name_list *l, const char *option, int64_t number)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRId64, number);
	words_add(l, option, text);
}

bool line_next(const char *text, size_t n, size_t *at, char *ret, size_t size)
{
	if (*at >= n)
		return false;
	const char *line = text + *at, *end = memchr(line, '\n', n - *at);
	size_t length = end ? (size_t)(end - line) : n - *at;

	*at += length + (end != NULL);
	length = length < size ? length : size - 1;
	memcpy(ret, line, length);
	ret[length] = '\0';
	return true;
}

static void warn(const struct batch *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(const struct batch *s, const char *format, ...)
{
	struct strbuf text = {0};
	va_list args;

	strbuf_printf(&text, "%s: ", s->dialect->kind);
	va_start(args, format);
	strbuf_vprintf(&text, format, args);
	va_end(args);
	s->user.warn(s->user.arg, text.text);
	strbuf_fini(&text);
}

static void path_of(const struct batch *s, int number, const char *suffix, struct strbuf *ret)
{
	char *dir = realpath(s->user.dir, NULL); /* the job may start in another directory */

	strbuf_printf(ret, "%s/%s-%d.%s", dir ? dir : s->user.dir, s->name, number, suffix);
	free(dir);
}

static void file_remove(const struct batch *s, int number, const char *suffix)
{
	struct strbuf path = {0};

	path_of(s, number, suffix, &path);
	unlink(path.text);
	strbuf_fini(&path);
}

/* Reads the parts of "KIND:NAME", "KIND@CLUSTER:NAME" and "KIND@/HOME:NAME". */
static void tag_read(struct batch *s, const char *tag)
{
	const char *name = strchr(tag, ':'), *at = strchr(tag, '@');

	s->name = name ? name + 1 : tag;
	if (at && name && at < name && name - at <= WHERE_MOST + 1)
		snprintf(s->server, sizeof s->server, "%s=%.*s", at[1] == '/' ? "SHUNT_HOME" : "SHUNT_CLUSTER",
			 (int)(name - at - 1), at + 1);
}

/* Prepends `env` and the server's variable to the command. */
static void server_words(const struct batch *s, name_list *words)
{
	name_list w = {0};

	if (!s->server[0])
		return;
	words_add(&w, "", "env");
	if (s->server[6] == 'H') {
		words_add(&w, "", "-u");
		words_add(&w, "", "SHUNT_CLUSTER");
	}
	words_add(&w, "", s->server);
	for (size_t i = 0; i < words->n; i++)
		vec_push(&w, words->v[i]);
	vec_free(words);
	*words = w;
}

/* Starts a command. Takes ownership of the words and appends NULL. */
static int command_start(struct batch *s, enum action action, int number, name_list *words, int64_t now)
{
	server_words(s, words);
	vec_push(words, NULL);
	s->output = memfd_create("output", MFD_CLOEXEC);
	pid_t pid = s->output < 0 ? -errno : own_start(words->v[0], words->v, -1, s->output);
	if (pid > 0) {
		s->action = action;
		s->number = number;
		s->pid = pid;
		s->deadline = now + PATIENCE * s->user.pace;
	} else if (s->output >= 0) {
		close(s->output);
	}
	name_list_free(words);
	return pid > 0 ? 0 : (int)pid;
}

static void output_read(int fd, struct strbuf *ret)
{
	lseek(fd, 0, SEEK_SET);
	fd_read(fd, OUTPUT_MOST, ret);
}

/* Returns the last line that a command printed. */
static const char *last_line(struct strbuf *text)
{
	while (text->n && (text->text[text->n - 1] == '\n' || text->text[text->n - 1] == '\r'))
		text->text[--text->n] = '\0';
	char *line = strrchr(strbuf_text(text), '\n');
	char *last = line ? line + 1 : text->n ? text->text : NULL;
	for (char *c = last; c && *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	if (last && strlen(last) > 400)
		last[400] = '\0';
	return last && *last ? last : "it printed nothing";
}

/* Pauses before the next request, longer each time. */
static void failure(struct batch *s, int64_t now, const char *what, const char *why)
{
	s->pause = s->pause == 0 ? s->user.pace : s->pause * 2 > PAUSE_MOST ? PAUSE_MOST : s->pause * 2;
	s->until = now + s->pause;
	warn(s, "%s: %s; the next request is made in %" PRId64 " s at the earliest", what, why, s->pause);
}

/* Returns the last line of a job's output. */
static void job_output(const struct batch *s, int number, struct strbuf *ret)
{
	struct strbuf path = {0}, text = {0};
	char piece[4096];

	path_of(s, number, "out", &path);
	FILE *f = fopen(path.text, "re");
	if (f && fseek(f, -(long)sizeof piece, SEEK_END) < 0)
		rewind(f);
	strbuf_add(&text, piece, f ? fread(piece, 1, sizeof piece, f) : 0);
	if (f)
		fclose(f);
	strbuf_puts(ret, last_line(&text));
	strbuf_fini(&path);
	strbuf_fini(&text);
}

static bool over(const struct request *q)
{
	return q->r.state == REQUEST_ENDED || q->r.state == REQUEST_FAILED;
}

static void request_end(struct batch *s, struct request *q, enum request_state state)
{
	if (over(q))
		return;
	q->r.state = state;
	q->r.ended = (int64_t)time(NULL);
	q->over_at = s->now;
	q->r.fate = q->r.fate ? q->r.fate : q->unwanted ? FATE_TAKEN : FATE_UNKNOWN;
	s->user.over(s->user.arg, q->r.id);
	file_remove(s, q->r.id, "key");
	file_remove(s, q->r.id, "sh");
	if (state == REQUEST_ENDED && !q->r.joined && !q->unwanted) {
		struct strbuf why = {0};
		char what[160];
		snprintf(what, sizeof what, "job %s ended before a worker came", q->r.name);
		job_output(s, q->r.id, &why);
		snprintf(q->r.failure, sizeof q->r.failure, "%s: %s", what, why.text);
		failure(s, s->now, what, why.text);
		strbuf_fini(&why);
	}
	file_remove(s, q->r.id, "out");
}

/* ---- submission ---- */

/* Returns the number of chunks. The largest task that must not be divided fits into each. */
static int64_t chunks_of(const struct batch *s, const struct request *q)
{
	return (q->r.processors + s->options.shape.each - 1) / s->options.shape.each;
}

static int script_write(struct batch *s, const struct request *q, struct err *err)
{
	struct strbuf text = {0}, key = {0}, path = {0}, command = {0};

	path_of(s, q->r.id, "key", &key);
	path_of(s, q->r.id, "sh", &path);
	int rc = s->user.prepare(s->user.arg, &q->r, chunks_of(s, q), key.text, &command, err);
	strbuf_puts(&text, "#!/bin/sh\nscript=");
	text_quote(path.text, &text);
	strbuf_printf(&text, " seconds=%" PRId64 "\nif [ \"$1\" != node ]; then\n%s\nfi\nSHUNT_END=$2\nSHUNT_KEY=",
		      q->r.seconds, s->dialect->launch);
	text_quote(key.text, &text);
	strbuf_printf(&text,
		      "\n%s\nexport SHUNT_KEY SHUNT_END SHUNT_NODE SHUNT_CPUS SHUNT_MEMORY SHUNT_ALLOCATION\n%s\n",
		      s->dialect->node, strbuf_text(&command));
	rc = rc < 0 ? rc : credential_write(path.text, text.text, text.n, err);
	strbuf_fini(&text);
	strbuf_fini(&key);
	strbuf_fini(&path);
	strbuf_fini(&command);
	return rc;
}

static void submit_failed(struct batch *s, struct request *q, const char *why, int64_t now)
{
	snprintf(q->r.failure, sizeof q->r.failure, "%s: %.200s", s->dialect->submit, why);
	request_end(s, q, REQUEST_FAILED); /* if its job exists after all, it will be listed */
}

static void submit(struct batch *s, struct request *q, int64_t now)
{
	struct strbuf path = {0}, out = {0};
	name_list w = {0};
	struct err err;

	q->sent = true;
	q->r.submitted = (int64_t)time(NULL);
	int rc = script_write(s, q, &err);
	if (rc < 0) {
		failure(s, now, "a script can't be written", err.text);
		submit_failed(s, q, err.text, now);
		return;
	}
	path_of(s, q->r.id, "sh", &path);
	path_of(s, q->r.id, "out", &out);
	struct batch_request r = {.name = s->name,
				  .id = q->r.id,
				  .chunks = chunks_of(s, q),
				  .each = s->options.shape.each,
				  .gpus = s->options.shape.gpus,
				  .seconds = q->r.seconds,
				  .memory = s->options.shape.memory,
				  .last = s->options.filler,
				  .script = path.text,
				  .output = out.text};
	s->dialect->submit_words(&r, &w);
	if (s->options.words) {
		char *copy = mem_strdup(s->options.words), *rest = copy;
		for (char *word; (word = strsep(&rest, " \t")) != NULL;)
			if (*word)
				words_add(&w, "", word);
		free(copy);
	}
	words_add(&w, "", path.text);
	rc = command_start(s, SUBMIT, q->r.id, &w, now);
	if (rc < 0) {
		failure(s, now, s->dialect->submit, strerror(-rc));
		submit_failed(s, q, strerror(-rc), now);
	}
	strbuf_fini(&path);
	strbuf_fini(&out);
}

static bool speaks_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

/* Returns the limit that a message names after a word such as "limit": seconds as [D-]HH:MM:SS,
 * or a number; 0: none. */
static int64_t named_limit(const char *text, bool time)
{
	static const char *const words[] = {"limit", "max", "most", "allowed", "only", NULL};
	const char *from = NULL;

	for (int i = 0; words[i]; i++) {
		const char *at = strcasestr(text, words[i]);
		if (at && (!from || at < from))
			from = at;
	}
	for (const char *at = from; at && *at; at++) {
		int day = 0, hour, minute, second, used = 0;
		if (*at < '0' || *at > '9')
			continue;
		if (time && (sscanf(at, "%6d-%3d:%2d:%2d%n", &day, &hour, &minute, &second, &used) == 4 ||
			     (day = 0, sscanf(at, "%6d:%2d:%2d%n", &hour, &minute, &second, &used) == 3)))
			return ((int64_t)day * 24 + hour) * 3600 + minute * 60 + second;
		size_t n = strspn(at, "0123456789");
		if (!time && n < 8 && at[n] != ':' && at[n] != '-')
			return atoll(at);
		at += n - 1;
	}
	return 0;
}

static int64_t smaller(int64_t now, int64_t named, int64_t least)
{
	int64_t to = named >= least && named < now ? named : now / 2;

	return to > least ? to : least;
}

/* Returns true if the cluster accepts only smaller or fewer requests; the limits are reduced
 * then, and no pause is made. */
static bool shrink(struct batch *s, const struct request *q, const char *why)
{
	static const char *const number[] = {"submit limit", "too many jobs", "maximum number of jobs", "max_queu",
					     NULL};
	static const char *const time[] = {"time limit", "timelimit", "walltime", NULL};
	static const char *const size[] = {"node config", "cpu", "processor", "ppn", "nodes", "size", "nodect", NULL};
	static const char *const any[] = {"policy", "exceed", "resource limit", NULL};
	struct provider_options *o = &s->options;
	int64_t out = 0, procs = o->processors, seconds = o->seconds, requests = o->requests;

	/* it was made before the limit was known */
	if (q->r.seconds > seconds || q->r.processors > procs)
		return true;
	for (size_t i = 0; i < s->all.n; i++)
		out += s->all.v[i].known && !over(&s->all.v[i]);
	bool late = speaks_of(why, time), large = speaks_of(why, size), some = speaks_of(why, any);
	if (speaks_of(why, number) && out > 0) {
		o->requests = out;
	} else if (late || large || some) {
		if (late || !large)
			o->seconds = smaller(q->r.seconds, named_limit(why, true), SECONDS_LEAST);
		if (large || !late)
			o->processors = smaller(q->r.processors, named_limit(why, false), o->shape.each);
	}
	if (o->requests == requests && o->processors >= procs && o->seconds >= seconds)
		return false;
	warn(s, "%s: %s; from now on at most %" PRId64 " requests of %" PRId64 " CPUs and %" PRId64 " s are made",
	     s->dialect->submit, why, o->requests, o->processors, o->seconds);
	return true;
}

/* Handles a request that the cluster does not accept: the next one is smaller, has another shape,
 * or comes after a pause. */
static void refused(struct batch *s, const struct request *q, const char *what, const char *why, int64_t now)
{
	static const char *const size[] = {"node config", "cpu",    "processor", "ppn", "nodes",
					   "nodect",	  "memory", "gres",	 "gpu", NULL};

	if (shrink(s, q, why))
		return;
	if (!s->user.refused || !speaks_of(why, size) || !s->user.refused(s->user.arg, why))
		failure(s, now, what, why);
}

static void cancel_add(struct batch *s, const char *job)
{
	struct job_name name;

	snprintf(name.text, sizeof name.text, "%s", job);
	vec_push(&s->cancels, name);
}

static void submitted(struct batch *s, bool good, struct strbuf *text, int64_t now)
{
	struct request *q = &s->all.v[s->number - 1];
	const char *line = last_line(text);

	if (good && s->dialect->submit_parse(line, q->r.name)) {
		q->known = true;
		if (q->unwanted)
			cancel_add(s, q->r.name);
		return;
	}
	strcpy(q->r.name, "?");
	refused(s, q, s->dialect->submit, line, now);
	submit_failed(s, q, line, now);
}

/* ---- listing, plan, cancelling ---- */

static void list(struct batch *s, int64_t now)
{
	name_list w = {0};

	s->dialect->list_words(s->name, &w);
	s->listed = now;
	if (command_start(s, LIST, 0, &w, now) < 0)
		s->wait = PAUSE_MOST;
}

/* Returns true if `a` is more likely the job of a request than `b`: prefers jobs that are alive,
 * then running ones, then the one that the submission named. */
static bool is_rather(const struct request *q, const struct batch_line *a, const struct batch_line *b)
{
	static const int rank[] = {[REQUEST_PENDING] = 1, [REQUEST_RUNNING] = 2, [REQUEST_ENDED] = 0};

	if (rank[a->state] != rank[b->state])
		return rank[a->state] > rank[b->state];
	return q->known && strcmp(a->job, q->r.name) == 0;
}

/*
 * Keeps the line of a request's job. A site's wrapper around the submit command may submit twice:
 * both jobs have the request's number, and the request ends with the last of them. The other job is
 * cancelled, unless it may be the one whose nodes have joined (provider_user.once).
 */
static void line_take(struct batch *s, const struct batch_line *l)
{
	if (l->number < 1 || (size_t)l->number > s->all.n)
		return;
	struct request *q = &s->all.v[l->number - 1];
	struct batch_line other = *l;
	if (q->line.number == 0 || is_rather(q, l, &q->line)) {
		other = q->line;
		q->line = *l;
	}
	if (other.number && other.state != REQUEST_ENDED &&
	    (other.state == REQUEST_PENDING || !s->user.once || over(q) || q->unwanted))
		cancel_add(s, other.job);
}

static void seen(struct batch *s, struct request *q, const struct batch_line *l, int64_t now)
{
	snprintf(q->r.name, sizeof q->r.name, "%s", l->job);
	q->known = true;
	q->unseen = 0;
	if (l->state == REQUEST_ENDED) {
		q->r.fate = over(q) ? q->r.fate : l->fate;
		snprintf(q->r.outcome, sizeof q->r.outcome, "%s", l->outcome);
		request_end(s, q, REQUEST_ENDED);
	} else if (over(q) || q->unwanted) {
		cancel_add(s, l->job);
	} else if (l->never[0]) {
		refused(s, q, "its job can't start", l->never, now);
		snprintf(q->r.failure, sizeof q->r.failure, "its job can't start: %s", l->never);
		cancel_add(s, l->job);
		request_end(s, q, REQUEST_FAILED);
	} else {
		q->r.state = l->state;
		if (l->state == REQUEST_RUNNING && !q->r.started)
			q->r.started = (int64_t)time(NULL);
	}
}

static void missing(struct batch *s, struct request *q, int64_t now)
{
	if (over(q) || (s->user.alive && s->user.alive(s->user.arg, q->r.id)))
		return;
	if (q->known)
		cancel_add(s, q->r.name);
	request_end(s, q, REQUEST_ENDED);
}

static void listed(struct batch *s, bool good, struct strbuf *text, int64_t now)
{
	struct batch_line l;
	size_t at = 0;

	if (!good) {
		s->wait = s->wait * 2 > PAUSE_MOST ? PAUSE_MOST : s->wait * 2;
		warn(s, "%s: %s; it is called again in %" PRId64 " s", s->dialect->list, last_line(text), s->wait);
		return;
	}
	s->wait = s->user.pace;
	for (size_t i = 0; i < s->all.n; i++)
		s->all.v[i].unseen += s->all.v[i].sent && s->all.v[i].unseen <= PATIENCE;
	for (size_t i = 0; i < s->all.n; i++)
		s->all.v[i].line.number = 0;
	while (s->dialect->next(s->name, strbuf_text(text), text->n, &at, &l))
		line_take(s, &l);
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i].line.number)
			seen(s, &s->all.v[i], &s->all.v[i].line, now);
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i].unseen && (s->all.v[i].unseen > PATIENCE || /* whatever the clock says */
					   /* its nodes have joined and left */
					   (s->all.v[i].r.joined && s->user.alive)))
			missing(s, &s->all.v[i], now);
}

static void plan_ask(struct batch *s, int64_t now)
{
	name_list w = {0};

	s->dialect->plan_words(&s->options, &w);
	s->plan_wanted = 0;
	s->planned = now;
	if (command_start(s, PLAN, 0, &w, now) < 0) {
		s->planned = now + PAUSE_MOST;
		s->unplanned = true;
		rebuild_clear(&s->plan); /* the one that is known grows old */
	}
}

static void plan_read(struct batch *s, bool good, struct strbuf *text)
{
	int64_t now = (int64_t)time(NULL); /* the clock of the cluster's answer */

	rebuild_clear(&s->plan);
	s->unplanned = !good || s->dialect->plan_parse(s->name, strbuf_text(text), text->n, now, &s->plan) < 0;
	if (s->unplanned) {
		rebuild_clear(&s->plan);
		return;
	}
	rebuild_plan(&s->plan, now, s->user.pace + s->dialect->grain);
	s->known = s->planned;
	for (size_t i = 0; i < s->plan.jobs.n; i++) {
		const struct rebuild_job *j = &s->plan.jobs.v[i];
		if (j->number > 0 && (size_t)j->number <= s->all.n && !j->running)
			s->all.v[j->number - 1].r.planned = j->start;
	}
}

static void cancel_send(struct batch *s, int64_t now)
{
	name_list w = {0};

	s->dialect->cancel_words(&w);
	for (size_t i = 0; i < s->cancels.n; i++)
		words_add(&w, "", s->cancels.v[i].text);
	vec_clear(&s->cancels);
	if (command_start(s, CANCEL, 0, &w, now) < 0)
		s->wait = PAUSE_MOST; /* they will be listed again */
}

static void shrink_send(struct batch *s, struct request *q, int64_t now)
{
	struct batch_request r = {
		.each = s->options.shape.each, .gpus = s->options.shape.gpus, .seconds = q->r.seconds};
	name_list w = {0};

	r.chunks = (q->wanted + r.each - 1) / r.each;
	s->dialect->shrink_words(&r, q->r.name, &w);
	if (command_start(s, SHRINK, q->r.id, &w, now) < 0)
		q->wanted = 0; /* it stays as it is */
}

static void shrunk(struct batch *s, bool good)
{
	struct request *q = &s->all.v[s->number - 1];

	if (good)
		q->r.processors = q->wanted;
	q->wanted = 0; /* the cluster may have refused */
}

/* ---- provider ---- */

/* Handles the running command if it has ended; returns true if no command is running any more. */
static bool command_done(struct batch *s, int64_t now)
{
	struct strbuf text = {0};
	int status = -1;

	if (s->action == NOTHING)
		return true;
	if (!own_ended(s->pid, &status)) {
		if (now >= s->deadline)
			kill(-s->pid, SIGKILL); /* reaped at the next poll */
		return false;
	}
	output_read(s->output, &text);
	close(s->output);
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (WIFSIGNALED(status))
		strbuf_printf(&text, "\nno answer in %" PRId64 " s", PATIENCE * s->user.pace);
	enum action action = s->action;
	s->action = NOTHING;
	if (action != LIST && action != PLAN && action != LABEL)
		s->changed = now;
	if (action == SUBMIT)
		submitted(s, good, &text, now);
	else if (action == LIST)
		listed(s, good, &text, now);
	else if (action == SHRINK)
		shrunk(s, good);
	else if (action == PLAN)
		plan_read(s, good, &text);
	strbuf_fini(&text);
	return true;
}

/* Returns true if the plan must be read now: every PATIENCE paces, or five times per pace for a
 * filler. */
static bool plan_due(const struct batch *s, int64_t now)
{
	int64_t every = (s->plan.processors ? PATIENCE : 1) * s->user.pace;

	if (s->options.filler)
		every = s->user.pace > 5 ? s->user.pace / 5 : 1;
	return s->plan_wanted && now - s->planned >= every;
}

/* Lets the first running job show how far the work is, at most once per pace. */
static void label_send(struct batch *s, int64_t now)
{
	const struct request *q = s->all.v, *end = q + s->all.n;
	char text[PROGRESS_SIZE] = "";
	name_list w = {0};

	if (!s->dialect->label_words || !s->user.progress || now - s->labelled < s->user.pace)
		return;
	while (q < end && (!q->known || q->r.state != REQUEST_RUNNING))
		q++;
	s->labelled = now;
	if (q < end)
		s->user.progress(s->user.arg, text);
	if (!text[0] || (q->r.id == s->label_of && strcmp(text, s->label) == 0))
		return;
	s->label_of = q->r.id;
	strcpy(s->label, text);
	s->dialect->label_words(q->r.name, text, &w);
	command_start(s, LABEL, q->r.id, &w, now); /* the next one makes up for a failure */
}

static void poll_all(struct provider *p, int64_t now)
{
	struct batch *s = (struct batch *)p;
	bool out = false;

	s->now = now;
	if (!command_done(s, now))
		return;
	if (s->cancels.n > 0) {
		cancel_send(s, now);
		return;
	}
	for (size_t i = 0; i < s->all.n; i++) {
		struct request *q = &s->all.v[i];
		if (!q->sent && q->r.state == REQUEST_PENDING && now >= s->until) {
			submit(s, q, now);
			return;
		}
		if (q->wanted && q->known && q->r.state == REQUEST_PENDING) {
			shrink_send(s, q, now);
			return;
		}
		/* Failed requests are looked for as well, for some time. */
		out = out || (q->sent && (!q->over_at || now - q->over_at < 2 * PATIENCE * s->user.pace));
	}
	bool due = plan_due(s, now);
	/* listing and plan alternate */
	if (out && now - s->listed >= s->wait && !(due && s->options.filler && s->planned < s->listed))
		list(s, now);
	else if (due)
		plan_ask(s, now);
	else
		label_send(s, now);
}

static void limits(struct provider *p, struct provider_limits *ret)
{
	const struct batch *s = (const struct batch *)p;

	*ret = (struct provider_limits){.elastic = true,
					.pending = s->now < s->until ? 0 : s->options.requests,
					.processors = s->options.processors,
					.seconds = s->options.seconds};
}

/* Rounds a time up as the cluster does, if the limit allows it. */
static int64_t granted(const struct batch *s, int64_t seconds)
{
	int64_t grain = s->dialect->grain > 0 ? s->dialect->grain : 1, up = (seconds + grain - 1) / grain * grain;

	return up <= s->options.seconds ? up : seconds;
}

static int request(struct provider *p, int64_t processors, int64_t seconds, struct err *err)
{
	struct batch *s = (struct batch *)p;
	int64_t out = 0;

	for (size_t i = 0; i < s->all.n; i++)
		out += !over(&s->all.v[i]);
	if (out >= s->options.requests)
		return err_set(err, -EAGAIN, "%" PRId64 " requests are out, as many as allowed", out);
	if (s->all.n >= REQUESTS_MOST)
		return err_set(err, -EAGAIN, "%d requests were made: no more in this run", REQUESTS_MOST);
	struct request q = {.r = {.id = (int)s->all.n + 1, .processors = processors, .seconds = granted(s, seconds)}};
	strcpy(q.r.name, "?");
	vec_push(&s->all, q);
	return q.r.id;
}

static void cancel(struct provider *p, int id)
{
	struct batch *s = (struct batch *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return;
	struct request *q = &s->all.v[id - 1];
	q->unwanted = true;
	if (q->known)
		cancel_add(s, q->r.name);
	request_end(s, q, REQUEST_ENDED);
}

static void shrink_to(struct provider *p, int id, int64_t processors)
{
	struct batch *s = (struct batch *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return;
	struct request *q = &s->all.v[id - 1];
	if (q->r.state != REQUEST_PENDING || processors < s->options.shape.each || processors >= q->r.processors)
		return;
	if (!q->sent)
		q->r.processors = processors;
	else
		q->wanted = processors;
}

static void reshape(struct provider *p, const struct provider_shape *shape)
{
	((struct batch *)p)->options.shape = *shape;
}

static bool look(struct provider *p, int id, struct provider_request *ret)
{
	const struct batch *s = (const struct batch *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return false;
	*ret = s->all.v[id - 1].r;
	return true;
}

static int plan(struct provider *p, struct provider_plan *ret, struct err *err)
{
	struct batch *s = (struct batch *)p;

	s->plan_wanted = s->dialect->plan_words != NULL;
	if (s->plan_wanted && !s->known && !s->unplanned)
		return err_set(err, -EAGAIN, "the plan of the cluster is being read");
	if (!s->plan.processors || (s->options.filler && s->known <= s->changed))
		return err_set(err, -ENOTSUP, "the plan of the cluster is not known");
	*ret = (struct provider_plan){.processors = s->plan.processors,
				      .queued = s->plan.queued,
				      .free = s->plan.free.v,
				      .nfree = s->plan.free.n,
				      .nodes = s->plan.nodes.v,
				      .nnodes = s->plan.nodes.n,
				      .places = s->plan.places.nodes.n ? &s->plan.places : NULL,
				      .read = s->known};
	return 0;
}

static void joined(struct provider *p, int id)
{
	struct batch *s = (struct batch *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return;
	struct provider_request *r = &s->all.v[id - 1].r;
	r->joined = true;
	if (r->state == REQUEST_PENDING) { /* the listing comes later */
		r->state = REQUEST_RUNNING;
		r->started = (int64_t)time(NULL);
	}
	s->pause = 0;
}

static void resume(struct provider *p)
{
	struct batch *s = (struct batch *)p;

	s->pause = s->until = 0;
}

static void command_kill(struct batch *s)
{
	int status;

	kill(-s->pid, SIGKILL);
	for (int i = 0; i < 1000 && !own_ended(s->pid, &status); i++)
		usleep(1000);
}

static void destroy(struct provider *p)
{
	struct batch *s = (struct batch *)p;

	if (s->action != NOTHING) {
		command_kill(s);
		close(s->output);
	}
	for (size_t i = 0; i < s->all.n; i++) {
		s->all.v[i].unwanted = true;
		request_end(s, &s->all.v[i], REQUEST_ENDED);
	}
	vec_free(&s->all);
	vec_free(&s->cancels);
	rebuild_fini(&s->plan);
	free(s);
}

int batch_clear(const struct batch_dialect *d, const char *tag, struct err *err)
{
	struct batch s = {.action = NOTHING};
	struct strbuf text = {0};
	name_list w = {0};
	int status = -1;

	tag_read(&s, tag);
	d->clear_words(s.name, &w);
	int rc = command_start(&s, CANCEL, 0, &w, 0);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", d->cancel, strerror(-rc));
	for (int i = 0; i < CLEAR_SECONDS * 100 && !own_ended(s.pid, &status); i++)
		usleep(10000);
	bool late = own_has(s.pid);
	if (late) {
		command_kill(&s);
		status = -1;
	}
	output_read(s.output, &text);
	close(s.output);
	if (late)
		strbuf_printf(&text, "\nno answer in %d s", CLEAR_SECONDS);
	rc = status == 0 ? 0 : err_set(err, -EIO, "%s, jobs %s: %s", d->cancel, s.name, last_line(&text));
	strbuf_fini(&text);
	return rc;
}

static const struct provider_kind batch_kind = {
	.name = "batch",
	.shrink = shrink_to,
	.limits = limits,
	.request = request,
	.cancel = cancel,
	.look = look,
	.poll = poll_all,
	.plan = plan,
	.joined = joined,
	.reshape = reshape,
	.resume = resume,
	.destroy = destroy,
};

/* Adopts the requests of an earlier process; they count as alive until they are no longer
 * listed. */
static void adopt(struct batch *s)
{
	const struct provider_options *o = &s->options;

	for (int id = 1; id <= o->last && id <= REQUESTS_MOST; id++) {
		struct request q = {.r = {.id = id, .state = REQUEST_ENDED, .seconds = o->seconds, .joined = true},
				    .sent = true};
		for (size_t i = 0; i < o->nlive; i++)
			q.r.state = o->live[i] == id ? REQUEST_PENDING : q.r.state;
		q.over_at = q.r.ended = q.r.state == REQUEST_ENDED;
		q.r.processors = s->options.shape.each;
		strcpy(q.r.name, "?");
		vec_push(&s->all, q);
	}
	s->options.live = NULL;
}

struct provider *batch_create(const struct batch_dialect *d, const struct provider_user *user,
			      const struct provider_options *options)
{
	struct batch *s = mem_zalloc(sizeof *s);

	*s = (struct batch){.base.kind = &batch_kind, .dialect = d, .user = *user, .options = *options, .changed = -1};
	tag_read(s, user->tag);
	s->options.shape.each = options->shape.each > 1 ? options->shape.each : 1;
	s->wait = user->pace;
	adopt(s);
	return &s->base;
}
