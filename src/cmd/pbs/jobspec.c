/*
 * jobspec.c - converts options to keys of the API's job. Everything that can be checked here is, so
 * that a message can name the line of a script; the server checks what depends on the cluster.
 */
#include "cmd/pbs/jobspec.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/timetext.h"
#include "client/script.h"
#include "cmd/lib/show.h"
#include "core/array.h"
#include "core/jobschema.h"
#include "core/reqtext.h"

#define PRIORITY_MIN (-1024)
#define PRIORITY_MAX 1023

void jobspec_init(struct jobspec *s)
{
	*s = (struct jobspec){.job = json_object()};
}

void jobspec_fini(struct jobspec *s)
{
	for (size_t i = 0; i < s->variables.n; i++) {
		free(s->variables.v[i].name);
		free(s->variables.v[i].value);
	}
	vec_free(&s->variables);
	json_decref(s->job);
	s->job = NULL;
}

void jobspec_text(struct jobspec *s, const char *key, const char *text)
{
	json_t *value = json_string(text);

	if (!value) {
		char *plain = mem_strdup(text);
		for (char *p = plain; *p; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
		value = json_string(plain);
		free(plain);
	}
	json_object_set_new(s->job, key, value);
}

const char *directory_here(char *buf, size_t size)
{
	const char *pwd = getenv("PWD");
	struct stat here, there;

	if (pwd && pwd[0] == '/' && strlen(pwd) < size && stat(".", &here) == 0 && stat(pwd, &there) == 0 &&
	    here.st_dev == there.st_dev && here.st_ino == there.st_ino)
		return strcpy(buf, pwd);
	return getcwd(buf, size) ? buf : strcpy(buf, "/");
}

/* Checks that `text` has only `letters`. */
static int letters_check(const char *option, const char *text, const char *letters, struct err *err)
{
	if (text[0] && text[strspn(text, letters)] == '\0')
		return 0;
	return err_set(err, -EINVAL, "%s %.60s: write letters of \"%s\"", option, text, letters);
}

static int deadline_set(struct jobspec *s, const char *option, const char *text, struct err *err)
{
	int64_t t;
	int rc = instant_parse(text, time(NULL), &t, err);

	if (rc < 0)
		return err_prefix(err, rc, "%s %.60s", option, text);
	json_object_set_new(s->job, "deadline", json_integer(t));
	return 0;
}

static int resources_add(struct jobspec *s, const char *option, const struct texts *texts, struct err *err)
{
	struct arena *arena = arena_create();
	json_t *list = json_object_get(s->job, "resources");
	char deadline[16];
	int rc = 0;

	snprintf(deadline, sizeof deadline, "%s deadline", option);

	for (int i = 0; i < texts->n && rc == 0; i++) {
		struct reqtext r;
		reqtext_init(&r);
		r.reservation = s->alters ? "" : NULL;
		if (!s->repeats || !strstr(texts->v[i], "=x"))
			rc = reqtext_parse(&r, texts->v[i], arena, err);
		if (rc < 0)
			err_prefix(err, rc, "%s", option);
		if (rc == 0 && r.deadline)
			rc = deadline_set(s, deadline, r.deadline, err);
		if (rc == 0 && !list)
			json_object_set_new(s->job, "resources", list = json_array());
		if (rc == 0)
			json_array_append_new(list, json_string(texts->v[i]));
	}
	arena_destroy(arena);
	return rc;
}

int jobspec_resource(struct jobspec *s, const char *text, struct err *err)
{
	return resources_add(s, "-l", &(struct texts){.v = (const char *[]){text}, .n = 1}, err);
}

/* Sets an option that names one thing, as -l KEY=NAME does. */
static int named_set(struct jobspec *s, const char *option, const char *key, const char *text, struct err *err)
{
	struct strbuf list = {0};
	int rc;

	strbuf_printf(&list, "%s=%s", key, text);
	if (strchr(text, ','))
		rc = err_set(err, -EINVAL, "--%s %.60s: give exactly one name", option, text);
	else
		rc = jobspec_resource(s, list.text, err);
	strbuf_fini(&list);
	return rc;
}

static int priority_set(struct jobspec *s, const char *option, const char *text, struct err *err)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < PRIORITY_MIN || n > PRIORITY_MAX)
		return err_set(err, -EINVAL, "%s %.60s: a priority is a number from %d to %d", option, text,
			       PRIORITY_MIN, PRIORITY_MAX);
	json_object_set_new(s->job, "priority", json_integer(n));
	return 0;
}

/* Handles -p 10 and -p 2026-11-16T18:00: a number is a priority, what has a digit a deadline. */
static int p_set(struct jobspec *s, const char *text, struct err *err)
{
	const char *digits = text + (text[0] == '-' || text[0] == '+');
	bool number = isdigit((unsigned char)*digits) && digits[strspn(digits, "0123456789")] == '\0';

	return number || !strpbrk(text, "0123456789") ? priority_set(s, "-p", text, err)
						      : deadline_set(s, "-p", text, err);
}

static int array_set(struct jobspec *s, const char *option, const char *text, struct err *err)
{
	struct array_spec array = {0};
	int rc = array_parse(text, &array, err);

	array_fini(&array);
	if (rc < 0)
		return err_prefix(err, rc, "%s", option);
	jobspec_text(s, "array", text);
	return 0;
}

int jobspec_throttle(struct jobspec *s, const char *option, const char *text, struct err *err)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end || n > ARRAY_COUNT_MAX)
		return err_set(err, -EINVAL, "%s%.60s: write how many elements may run at once, up to %d, or 0 for all",
			       option, text, ARRAY_COUNT_MAX);
	json_object_set_new(s->job, "max_run_subjobs", json_integer(n));
	return 0;
}

/* Handles -t Q and -t 1-100%5: a letter is a type, a range an array. -t %5 is for an existing
 * array. */
static int t_set(struct jobspec *s, const char *text, struct err *err)
{
	char type[2] = {(char)toupper((unsigned char)text[0]), '\0'};

	if (isdigit((unsigned char)text[0]))
		return array_set(s, "-t", text, err);
	if (text[0] == '%')
		return jobspec_throttle(s, "-t %", text + 1, err);
	if (!type[0] || text[1] || !strchr("CQEN", type[0]))
		return err_set(err, -EINVAL, "-t %.60s: write C, Q, E or N for the type, or 1-100 for an array", text);
	jobspec_text(s, "type", type);
	return 0;
}

static int at_set(struct jobspec *s, const char *text, struct err *err)
{
	int64_t t;
	bool plain = text[strspn(text, "0123456789.")] == '\0';
	int rc = plain ? stamp_parse(text, &t, err) : instant_parse(text, time(NULL), &t, err);

	if (rc < 0)
		return err_prefix(err, rc, plain ? "-a" : "-a %.60s", text);
	json_object_set_new(s->job, "at", json_integer(t));
	return 0;
}

static int arguments_set(struct jobspec *s, const char *text, struct err *err)
{
	struct arena *arena = arena_create();
	struct words words;
	int rc = words_split(text, strlen(text), false, arena, &words, err);

	if (rc == 0) {
		json_t *list = json_array();
		for (int i = 0; i < words.n; i++) {
			json_t *word = json_string(words.v[i]);
			if (!word || json_array_append_new(list, word) < 0)
				rc = err_set(err, -EINVAL, "\"%.60s\" is not UTF-8", words.v[i]);
		}
		json_object_set_new(s->job, "args", list);
	}
	arena_destroy(arena);
	return rc < 0 ? err_prefix(err, rc, "-F") : 0;
}

static void powers_set(struct jobspec *s, const char *text)
{
	json_t *list = json_array();

	for (const char *p = text; *p; p += strspn(p, ", ")) {
		size_t n = strcspn(p, ", ");
		if (n)
			json_array_append_new(list, json_stringn(p, n));
		p += n;
	}
	json_object_set_new(s->job, "powers", list);
}

/* Handles "queue", "queue@server" or "@server"; the server checks the server's name. */
static void queue_set(struct jobspec *s, const char *text)
{
	if (text[0])
		jobspec_text(s, "queue", text);
}

/* Takes the first shell of "/bin/sh@host,...", whatever the host. */
static void shell_set(struct jobspec *s, const char *text)
{
	char shell[PATH_MAX];

	snprintf(shell, sizeof shell, "%.*s", (int)strcspn(text, "@,"), text);
	jobspec_text(s, "shell", shell);
}

static void workdir_set(struct jobspec *s, const char *text)
{
	char here[PATH_MAX], path[2 * PATH_MAX];

	snprintf(path, sizeof path, "%s%s%s", text[0] == '/' ? "" : directory_here(here, sizeof here),
		 text[0] == '/' ? "" : "/", text);
	jobspec_text(s, "workdir", path);
	s->workdir = true;
}

/* Writes "deadline=x, budget=y," as "deadline=x,budget=y"; returns false if it is not only Libra's
 * terms. */
static bool terms_read(const char *text, struct strbuf *ret)
{
	static const char *const names[] = {"deadline=", "budget=", "estimate="};

	for (const char *p = text + strspn(text, ", "); *p; p += strspn(p, ", ")) {
		size_t n = strcspn(p, ","), i = 0;
		while (i < sizeof names / sizeof *names && strncmp(p, names[i], strlen(names[i])) != 0)
			i++;
		if (i == sizeof names / sizeof *names)
			return false;
		strbuf_printf(ret, "%s%.*s", ret->n ? "," : "", (int)n, p);
		p += n;
	}
	return ret->n > 0;
}

/* Handles -w: deadline=+2h,budget=3,estimate=1:00:00 are Libra's terms; anything else is a
 * directory. */
static int w_set(struct jobspec *s, const char *text, struct err *err)
{
	struct strbuf terms = {0};
	int rc = 0;

	if (terms_read(text, &terms))
		rc = resources_add(s, "-w", &(struct texts){.v = (const char *[]){terms.text}, .n = 1}, err);
	else
		workdir_set(s, text);
	strbuf_fini(&terms);
	return rc;
}

void jobspec_join(struct job_arguments *a, char **operand, int *n)
{
	struct strbuf terms = {0};
	int left = 0;

	for (int i = 0; i < *n; i++) {
		const char *last = a->w.n ? a->w.v[a->w.n - 1] : "";
		bool open = *last && last[strlen(last) - 1] == ',' && terms_read(last, &terms);
		strbuf_clear(&terms);
		if (open && terms_read(operand[i], &terms))
			texts_push(&a->w, operand[i]);
		else
			operand[left++] = operand[i];
		strbuf_clear(&terms);
	}
	*n = left;
	strbuf_fini(&terms);
}

/* Picks the letters of `text` that are in `of`, in the order of `of`, each once. */
static const char *letters_pick(const char *text, const char *of, char ret[8])
{
	int n = 0;

	for (const char *p = of; *p; p++)
		if (strchr(text, *p))
			ret[n++] = *p;
	ret[n] = '\0';
	return n ? ret : "n";
}

static int mail_set(struct jobspec *s, const char *text, struct err *err)
{
	char kept[8];

	if (letters_check("-m", text, "abenpj", err) < 0)
		return err_set(
			err, -EINVAL,
			"-m %.60s: write letters: a when it is aborted, b when it begins, e when it ends; n for none",
			text);
	jobspec_text(s, "mail", letters_pick(text, "abe", kept));
	return 0;
}

static int keep_set(struct jobspec *s, const char *text, struct err *err)
{
	int rc = letters_check("-k", text, "oend", err);
	char kept[8];

	/* "doe" writes directly to the final place, which is always so here. */
	if (rc == 0)
		jobspec_text(s, "keep", strchr(text, 'd') ? "n" : letters_pick(text, "oe", kept));
	return rc;
}

static int remove_set(struct jobspec *s, const char *text, struct err *err)
{
	int rc = letters_check("-R", text, "oe", err);

	if (rc == 0 && strchr(text, 'o'))
		jobspec_text(s, "output", "/dev/null");
	if (rc == 0 && strchr(text, 'e'))
		jobspec_text(s, "error", "/dev/null");
	return rc;
}

static int holds_set(struct jobspec *s, const char *text, struct err *err)
{
	int rc = letters_check("-h", text, JOB_HOLDS, err);

	if (rc == 0)
		jobspec_text(s, "hold", strchr(text, 'n') ? "" : text);
	return rc;
}

/* Jobs run as the submitting user, so only "-u me" and "-u me@host" are accepted. */
static int users_check(const char *list, struct err *err)
{
	const char *me = user_name();
	size_t n = strcspn(list, "@,");

	if (strlen(me) == n && strncmp(list, me, n) == 0)
		return 0;
	return err_set(err, -EINVAL, "-u %.60s: a job runs as the user who submits it, and you are %s", list, me);
}

int jobspec_refused(const struct job_arguments *a, struct err *err)
{
	if (a->files.root && strcmp(a->files.root, "/") != 0)
		return err_set(err, -EINVAL,
			       "-D %.60s: jobs can't have another root directory; -d PATH is where it starts",
			       a->files.root);
	if (a->files.prologue)
		return err_set(err, -EINVAL, "-T %.60s: prologues are the site's; put it into the script",
			       a->files.prologue);
	for (int i = 0; i < a->w.n; i++) /* -wall 1:00:00, -walltime=1:00:00 */
		if (strncmp(a->w.v[i], "all", 3) == 0 && access(a->w.v[i], F_OK) < 0)
			return err_set(err, -EINVAL, "-w %.60s: no such directory; a walltime is -l walltime=HH:MM:SS",
				       a->w.v[i]);
	return a->users ? users_check(a->users, err) : 0;
}

/* Accepts Artaras's words and the letters. */
static void type_set(struct jobspec *s, const char *type)
{
	if (strcmp(type, "interactive") == 0)
		s->interactive = true;
	else
		jobspec_text(s, "type",
			     strcmp(type, "normal") == 0     ? "C"
			     : strcmp(type, "priority") == 0 ? "Q"
			     : strcmp(type, "nice") == 0     ? "N"
							     : type);
}

static void texts_add(struct jobspec *s, const struct job_arguments *a)
{
	char key[64];

	for (int i = 0; i < a->members.n; i += 2)
		jobspec_text(s, jobspec_key(a->members.v[i], key, sizeof key), a->members.v[i + 1]);
	if (a->type)
		type_set(s, a->type);
	if (a->into.queue)
		queue_set(s, a->into.queue);
	if (a->shell)
		shell_set(s, a->shell);
	if (a->files.workdir)
		workdir_set(s, a->files.workdir);
	if (a->powers)
		powers_set(s, a->powers);
	if (a->hold)
		jobspec_text(s, "hold", "u");
	if (a->rerunnable)
		json_object_set_new(s->job, "rerunnable", json_boolean(a->rerunnable[0] == 'y'));
	if (a->exclusive)
		jobspec_text(s, "exclusive", "node");
	if (a->guarantee.required)
		json_object_set_new(s->job, "require_guarantee", json_true());
}

/* Records in advance whether other jobs may be displaced for an interactive job. */
static int displace_set(struct jobspec *s, const struct job_arguments *a, struct err *err)
{
	int64_t seconds = INT32_MAX;
	int rc = a->seat.wait_at_most ? duration_parse(a->seat.wait_at_most, &seconds, err) : 0;

	if (rc < 0)
		return err_prefix(err, rc, "--wait-at-most %.40s", a->seat.wait_at_most);
	if (!a->seat.yes && !a->seat.wait_at_most)
		return 0;
	if (!s->interactive)
		return err_set(err, -EINVAL, "--yes and --wait-at-most are for interactive jobs (-I)");
	json_object_set_new(s->job, "displace", json_integer(seconds < INT32_MAX ? seconds : INT32_MAX));
	s->answered = true;
	return 0;
}

static void flags_add(struct jobspec *s, const struct job_arguments *a)
{
	s->interactive |= a->interactive;
	s->silent |= a->silent;
	s->block |= a->block;
	s->export_all |= a->export_all;
	s->x11 |= a->seat.x11;
	s->command |= a->seat.command;
}

int jobspec_add(struct jobspec *s, const struct job_arguments *a, struct err *err)
{
	int rc = jobspec_refused(a, err);

	texts_add(s, a);
	flags_add(s, a);
	if (rc == 0)
		rc = displace_set(s, a, err);
	if (rc == 0)
		rc = resources_add(s, "-l", &a->resources, err);
	if (rc == 0 && a->into.reservation)
		rc = named_set(s, "reservation", "advres", a->into.reservation, err);
	if (rc == 0 && a->terms.estimate)
		rc = named_set(s, "estimate", "estimate", a->terms.estimate, err);
	if (rc == 0 && a->terms.budget)
		rc = named_set(s, "budget", "budget", a->terms.budget, err);
	for (int i = 0; i < a->t.n && rc == 0; i++)
		rc = t_set(s, a->t.v[i], err);
	for (int i = 0; i < a->w.n && rc == 0; i++)
		rc = w_set(s, a->w.v[i], err);
	for (int i = 0; i < a->p.n && rc == 0; i++)
		rc = p_set(s, a->p.v[i], err);
	if (rc == 0 && a->array)
		rc = array_set(s, "-J", a->array, err);
	if (rc == 0 && a->terms.deadline)
		rc = deadline_set(s, "--deadline", a->terms.deadline, err);
	if (rc == 0 && a->priority)
		rc = priority_set(s, "--priority", a->priority, err);
	if (rc == 0 && a->at)
		rc = at_set(s, a->at, err);
	if (rc == 0 && a->arguments)
		rc = arguments_set(s, a->arguments, err);
	if (rc == 0 && a->mail)
		rc = mail_set(s, a->mail, err);
	if (rc == 0 && a->files.keep)
		rc = keep_set(s, a->files.keep, err);
	if (rc == 0 && a->remove)
		rc = remove_set(s, a->remove, err);
	if (rc == 0 && a->holds)
		rc = holds_set(s, a->holds, err);
	for (int i = 0; i < a->more.n && rc == 0; i++)
		rc = jobspec_more(s, a->more.v[i], err);
	for (int i = 0; i < a->variables.n && rc == 0; i++)
		rc = jobspec_variables(s, a->variables.v[i], err);
	return rc;
}

static void directory_mark(struct jobspec *s, const char *key)
{
	const char *text = json_string_value(json_object_get(s->job, key)), *colon = text ? strchr(text, ':') : NULL;
	const char *path = colon && !memchr(text, '/', (size_t)(colon - text)) ? colon + 1 : text;
	char marked[PATH_MAX + 300];
	struct stat st;

	if (!path || !*path || path[strlen(path) - 1] == '/' || strlen(text) + 2 > sizeof marked ||
	    stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	snprintf(marked, sizeof marked, "%s/", text);
	jobspec_text(s, key, marked);
}

void jobspec_directories(struct jobspec *s)
{
	directory_mark(s, "output");
	directory_mark(s, "error");
}
