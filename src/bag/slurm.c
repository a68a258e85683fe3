/*
 * slurm.c - requests to a Slurm cluster: what is asked of its commands, and when.
 */
#include "bag/slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
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
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	COMMAND_SECONDS = 60, /* that one may take */
	CLEAR_SECONDS = 30,
	PAUSE_MOST = 600,
	OUTPUT_MOST = 1 << 20,
	REQUESTS_MOST = 9999999, /* of a run: numbers that fit into a line of squeue */
};

enum action { NOTHING, SUBMIT, LIST, CANCEL };

struct request {
	struct provider_request r;
	bool sent;	/* sbatch was called */
	bool known;	/* sbatch or squeue named its job */
	bool joined;	/* a worker came */
	bool unwanted;	/* it should not be there any more */
	int64_t unseen; /* since when squeue does not show it; 0: it does */
};

struct slurm {
	struct provider base;
	struct provider_broker broker;
	struct slurm_options options;
	VEC(struct request) all; /* by number - 1 */
	VEC(int) cancels;	 /* numbers */
	enum action action;	 /* what the running command does, and for which number */
	int number;
	pid_t pid;
	int output;
	int64_t deadline;
	int64_t listed, wait; /* when squeue was called last; seconds until it is again */
	int64_t pause, until; /* after a failure: its length, and when it ends */
};

typedef VEC(char *) word_list;

static void words_add(word_list *l, const char *option, const char *text)
{
	struct strbuf b = {0};

	strbuf_printf(&b, "%s%s", option, text);
	vec_push(l, mem_strdup(b.text));
	strbuf_fini(&b);
}

static void words_free(word_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	vec_free(l);
}

static void warn(struct slurm *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct slurm *s, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	s->options.warn(s->options.arg, text);
}

static void path_of(const struct slurm *s, int number, const char *suffix, struct strbuf *ret)
{
	char *dir = realpath(s->options.dir, NULL); /* the job may begin elsewhere */

	strbuf_printf(ret, "%s/%s-%d.%s", dir ? dir : s->options.dir, s->options.tag, number, suffix);
	free(dir);
}

static void file_remove(const struct slurm *s, int number, const char *suffix)
{
	struct strbuf path = {0};

	path_of(s, number, suffix, &path);
	unlink(path.text);
	strbuf_fini(&path);
}

/* Takes the words; they end with NULL. */
static int command_start(struct slurm *s, enum action action, int number, word_list *words, int64_t now)
{
	vec_push(words, NULL);
	s->output = memfd_create("output", MFD_CLOEXEC);
	pid_t pid = s->output < 0 ? -errno : own_start(words->v[0], words->v, -1, s->output);
	if (pid > 0) {
		s->action = action;
		s->number = number;
		s->pid = pid;
		s->deadline = now + COMMAND_SECONDS;
	} else if (s->output >= 0) {
		close(s->output);
	}
	words_free(words);
	return pid > 0 ? 0 : (int)pid;
}

/* Pauses before the next request, longer each time. */
static void failure(struct slurm *s, int64_t now, const char *what, const char *why)
{
	s->pause = s->pause == 0 ? s->options.pace : s->pause * 2 > PAUSE_MOST ? PAUSE_MOST : s->pause * 2;
	s->until = now + s->pause;
	warn(s, "slurm: %s: %s; the next request is made in %" PRId64 " s at the earliest", what, why, s->pause);
}

static void request_end(struct slurm *s, struct request *q, enum request_state state, int64_t now)
{
	if (q->r.state == REQUEST_ENDED || q->r.state == REQUEST_FAILED)
		return;
	q->r.state = state;
	q->r.ended = now;
	s->options.uninvite(s->options.arg, q->r.id);
	file_remove(s, q->r.id, "key");
	file_remove(s, q->r.id, "sh");
	if (q->joined || q->unwanted)
		file_remove(s, q->r.id, "out");
	if (state == REQUEST_ENDED && !q->joined && !q->unwanted) {
		char what[160];
		snprintf(what, sizeof what, "job %s ended before a worker came", q->r.name);
		failure(s, now, what, "its output, if any, is in the bag's directory");
	}
}

/* ---- sbatch ---- */

static void quoted(struct strbuf *out, const char *text)
{
	strbuf_puts(out, "'");
	for (; *text; text++)
		if (*text == '\'')
			strbuf_puts(out, "'\\''");
		else
			strbuf_add(out, text, 1);
	strbuf_puts(out, "'");
}

/* Slurm's tasks: the largest one of the bag fits into each. */
static int64_t tasks_of(const struct slurm *s, const struct request *q)
{
	return (q->r.processors + s->options.each - 1) / s->options.each;
}

static int script_write(struct slurm *s, const struct request *q, struct err *err)
{
	struct strbuf text = {0}, key = {0}, path = {0};

	path_of(s, q->r.id, "key", &key);
	path_of(s, q->r.id, "sh", &path);
	strbuf_puts(&text, "#!/bin/sh\nSHUNT_BAG_PROGRAM=");
	quoted(&text, s->broker.program);
	strbuf_puts(&text, "\nSHUNT_BAG_KEY=");
	quoted(&text, key.text);
	strbuf_printf(
		&text,
		"\nexport SHUNT_BAG_PROGRAM SHUNT_BAG_KEY\n"
		"nodes=${SLURM_JOB_NUM_NODES:-1}\n"
		"exec srun --nodes=\"$nodes\" --ntasks=\"$nodes\" --ntasks-per-node=1 --cpu-bind=none sh -c '\n"
		"exec \"$SHUNT_BAG_PROGRAM\" bag worker --credential \"$SHUNT_BAG_KEY\" --number \"$SLURM_NODEID\" "
		"--name \"slurm-$SLURM_JOB_ID-$SLURM_NODEID\" --milli-cpus \"${SLURM_CPUS_ON_NODE}000\" --seconds %" PRId64
		"'\n",
		q->r.seconds);
	int rc = credential_write(path.text, text.text, text.n, err);
	if (rc == 0) /* a secret for each node that it may get */
		rc = s->options.invite(s->options.arg, key.text, tasks_of(s, q), q->r.id, err);
	strbuf_fini(&text);
	strbuf_fini(&key);
	strbuf_fini(&path);
	return rc;
}

static void submit(struct slurm *s, struct request *q, int64_t now)
{
	struct strbuf path = {0}, out = {0};
	word_list w = {0};
	struct err err;
	char text[64];

	q->sent = true;
	q->r.submitted = now;
	int rc = script_write(s, q, &err);
	if (rc < 0) {
		failure(s, now, "a script can't be written", err.text);
		request_end(s, q, REQUEST_FAILED, now);
		return;
	}
	path_of(s, q->r.id, "sh", &path);
	path_of(s, q->r.id, "out", &out);
	words_add(&w, "", "sbatch");
	words_add(&w, "", "--parsable");
	words_add(&w, "", "--no-requeue");
	words_add(&w, "--job-name=", s->options.tag);
	snprintf(text, sizeof text, "%d", q->r.id);
	words_add(&w, "--comment=", text);
	snprintf(text, sizeof text, "%" PRId64, tasks_of(s, q));
	words_add(&w, "--ntasks=", text);
	snprintf(text, sizeof text, "%" PRId64, s->options.each);
	words_add(&w, "--cpus-per-task=", text);
	snprintf(text, sizeof text, "%" PRId64, (q->r.seconds + 59) / 60);
	words_add(&w, "--time=", text);
	words_add(&w, "--output=", out.text);
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
		failure(s, now, "sbatch", strerror(-rc));
		request_end(s, q, REQUEST_FAILED, now);
	}
	strbuf_fini(&path);
	strbuf_fini(&out);
}

/* The last line that a command printed. */
static const char *last_line(struct strbuf *text)
{
	while (text->n && (text->text[text->n - 1] == '\n' || text->text[text->n - 1] == '\r'))
		text->text[--text->n] = '\0';
	char *line = strrchr(strbuf_text(text), '\n');
	const char *last = line ? line + 1 : strbuf_text(text);
	for (char *c = line ? line + 1 : text->n ? text->text : (char[]){0}; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	return *last ? last : "it printed nothing";
}

static void submitted(struct slurm *s, bool good, struct strbuf *text, int64_t now)
{
	struct request *q = &s->all.v[s->number - 1];
	const char *line = last_line(text);
	size_t digits = strspn(line, "0123456789");

	if (good && digits > 0 && digits < sizeof q->r.name && (line[digits] == '\0' || line[digits] == ';')) {
		snprintf(q->r.name, sizeof q->r.name, "%.*s", (int)digits, line);
		q->known = true;
		if (q->unwanted)
			vec_push(&s->cancels, s->number);
		return;
	}
	failure(s, now, "sbatch", line);
	request_end(s, q, REQUEST_FAILED, now); /* if its job exists after all, squeue will show it */
}

/* ---- squeue, scancel ---- */

static void list(struct slurm *s, int64_t now)
{
	word_list w = {0};

	words_add(&w, "", "squeue");
	words_add(&w, "", "--noheader");
	words_add(&w, "", "--states=all");
	words_add(&w, "--name=", s->options.tag);
	words_add(&w, "", "--format=%i|%k|%T");
	s->listed = now;
	if (command_start(s, LIST, 0, &w, now) < 0)
		s->wait = PAUSE_MOST;
}

static void seen(struct slurm *s, const struct slurm_line *l, int64_t now)
{
	if (l->number < 1 || (size_t)l->number > s->all.n)
		return;
	struct request *q = &s->all.v[l->number - 1];
	bool over = q->r.state == REQUEST_ENDED || q->r.state == REQUEST_FAILED;
	snprintf(q->r.name, sizeof q->r.name, "%s", l->job);
	q->known = true;
	q->unseen = 0;
	if (l->state == REQUEST_ENDED) {
		request_end(s, q, REQUEST_ENDED, now);
	} else if (over || q->unwanted) {
		vec_push(&s->cancels, l->number);
	} else {
		q->r.state = l->state;
		if (l->state == REQUEST_RUNNING && !q->r.started)
			q->r.started = now;
	}
}

static void listed(struct slurm *s, bool good, struct strbuf *text, int64_t now)
{
	struct slurm_line l;
	size_t at = 0;

	if (!good) {
		s->wait = s->wait * 2 > PAUSE_MOST ? PAUSE_MOST : s->wait * 2;
		warn(s, "slurm: squeue: %s; it is called again in %" PRId64 " s", last_line(text), s->wait);
		return;
	}
	s->wait = s->options.pace;
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i].sent && !s->all.v[i].unseen)
			s->all.v[i].unseen = now;
	while (slurm_next(strbuf_text(text), text->n, &at, &l))
		seen(s, &l, now);
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i].unseen && now - s->all.v[i].unseen >= 6 * s->options.pace)
			request_end(s, &s->all.v[i], REQUEST_ENDED, now);
}

static void cancel_send(struct slurm *s, int64_t now)
{
	word_list w = {0};

	words_add(&w, "", "scancel");
	for (size_t i = 0; i < s->cancels.n; i++)
		words_add(&w, "", s->all.v[s->cancels.v[i] - 1].r.name);
	vec_clear(&s->cancels);
	if (command_start(s, CANCEL, 0, &w, now) < 0)
		s->wait = PAUSE_MOST; /* squeue shows them again */
}

/* ---- what a provider does ---- */

static void output_read(int fd, struct strbuf *ret)
{
	char piece[4096];
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while (ret->n < OUTPUT_MOST && (n = read(fd, piece, sizeof piece)) > 0)
		strbuf_add(ret, piece, (size_t)n);
}

/* Whether no command runs any more. */
static bool command_done(struct slurm *s, int64_t now)
{
	struct strbuf text = {0};
	int status = -1;

	if (s->action == NOTHING)
		return true;
	if (!own_ended(s->pid, &status)) {
		if (now >= s->deadline)
			kill(-s->pid, SIGKILL); /* reaped next time */
		return false;
	}
	output_read(s->output, &text);
	close(s->output);
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (WIFSIGNALED(status))
		strbuf_printf(&text, "\nno answer in %d s", COMMAND_SECONDS);
	enum action action = s->action;
	s->action = NOTHING;
	if (action == SUBMIT)
		submitted(s, good, &text, now);
	else if (action == LIST)
		listed(s, good, &text, now);
	strbuf_fini(&text);
	return true;
}

static void poll_all(struct provider *p, int64_t now)
{
	struct slurm *s = (struct slurm *)p;
	bool out = false;

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
		/* What has failed is looked for, too, for some time. */
		out = out || (q->sent && (!q->r.ended || now - q->r.ended < 12 * s->options.pace));
	}
	if (out && now - s->listed >= s->wait)
		list(s, now);
}

static void limits(struct provider *p, struct provider_limits *ret)
{
	const struct slurm *s = (const struct slurm *)p;

	*ret = (struct provider_limits){.elastic = true,
					.pending = time(NULL) < s->until ? 0 : s->options.requests,
					.processors = s->options.processors,
					.seconds = s->options.seconds};
}

static int request(struct provider *p, int64_t processors, int64_t seconds, struct err *err)
{
	struct slurm *s = (struct slurm *)p;

	if (s->all.n >= REQUESTS_MOST)
		return err_set(err, -EAGAIN, "too many requests");
	struct request q = {.r = {.id = (int)s->all.n + 1, .processors = processors, .seconds = seconds}};
	strcpy(q.r.name, "?");
	vec_push(&s->all, q);
	return q.r.id;
}

static void cancel(struct provider *p, int id)
{
	struct slurm *s = (struct slurm *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return;
	struct request *q = &s->all.v[id - 1];
	q->unwanted = true;
	if (q->known)
		vec_push(&s->cancels, id);
	request_end(s, q, REQUEST_ENDED, (int64_t)time(NULL));
}

static bool look(struct provider *p, int id, struct provider_request *ret)
{
	const struct slurm *s = (const struct slurm *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return false;
	*ret = s->all.v[id - 1].r;
	return true;
}

static int holes(struct provider *p, struct provider_hole *ret, int most, struct err *err)
{
	(void)p, (void)ret, (void)most;
	return err_set(err, -ENOTSUP, "the plan of a Slurm cluster is not read yet");
}

static void destroy(struct provider *p)
{
	struct slurm *s = (struct slurm *)p;
	int status;

	if (s->action != NOTHING) {
		kill(-s->pid, SIGKILL);
		for (int i = 0; i < 1000 && !own_ended(s->pid, &status); i++)
			usleep(1000);
		close(s->output);
	}
	for (size_t i = 0; i < s->all.n; i++) {
		s->all.v[i].unwanted = true;
		request_end(s, &s->all.v[i], REQUEST_ENDED, (int64_t)time(NULL));
	}
	vec_free(&s->all);
	vec_free(&s->cancels);
	free(s);
}

void slurm_joined(struct provider *p, int id)
{
	struct slurm *s = (struct slurm *)p;

	if (id < 1 || (size_t)id > s->all.n)
		return;
	s->all.v[id - 1].joined = true;
	s->pause = 0;
}

bool slurm_has_joined(const struct provider *p, int id)
{
	const struct slurm *s = (const struct slurm *)p;

	return id >= 1 && (size_t)id <= s->all.n && s->all.v[id - 1].joined;
}

int slurm_clear(const char *tag, struct err *err)
{
	struct slurm s = {.action = NOTHING};
	struct strbuf text = {0};
	word_list w = {0};
	int status = -1;
	const struct passwd *me = getpwuid(geteuid());

	words_add(&w, "", "scancel");
	words_add(&w, "--name=", tag);
	if (me)
		words_add(&w, "--user=", me->pw_name);
	int rc = command_start(&s, CANCEL, 0, &w, 0);
	if (rc < 0)
		return err_set(err, rc, "scancel: %s", strerror(-rc));
	for (int i = 0; i < CLEAR_SECONDS * 100 && !own_ended(s.pid, &status); i++)
		usleep(10000);
	if (own_has(s.pid)) {
		kill(-s.pid, SIGKILL);
		for (int i = 0; i < 1000 && !own_ended(s.pid, &status); i++)
			usleep(1000);
		status = -1;
	}
	output_read(s.output, &text);
	close(s.output);
	rc = status == 0 ? 0 : err_set(err, -EIO, "scancel --name=%s: %s", tag, last_line(&text));
	strbuf_fini(&text);
	return rc;
}

static const struct provider_kind slurm_kind = {
	.name = "slurm",
	.limits = limits,
	.request = request,
	.cancel = cancel,
	.look = look,
	.poll = poll_all,
	.holes = holes,
	.destroy = destroy,
};

struct provider *provider_slurm(const struct provider_broker *broker, const struct slurm_options *options)
{
	struct slurm *s = mem_zalloc(sizeof *s);

	*s = (struct slurm){.base.kind = &slurm_kind, .broker = *broker, .options = *options};
	s->wait = options->pace;
	return &s->base;
}
