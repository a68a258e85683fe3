/*
 * qsub_script.c - reads or makes the script, and checks that it looks like one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fdio.h"
#include "base/text.h"
#include "cmd/pbs/qsub.h"
#include "core/jobschema.h"

static int text_read(int fd, struct strbuf *text, const char *label, struct err *err)
{
	int rc = fd_read(fd, JOB_SCRIPT_MOST, text);

	if (rc == -EFBIG)
		return err_set(err, rc, "%s: a script may have %u MB; keep data in files of their own", label,
			       JOB_SCRIPT_MOST >> 20);
	return rc < 0 ? err_set(err, rc, "%s: %s", label, strerror(-rc)) : 0;
}

/* Rejects binaries. */
static int text_check(const struct source *s, struct err *err)
{
	const char *text = strbuf_text(&s->text);
	const char *line = memchr(text, '\n', s->text.n);
	const char *dot = strchr(s->label, '/') ? "" : "./";

	if (s->text.n >= 4 && memcmp(text, "\177ELF", 4) == 0)
		return err_set(err, -ENOEXEC, "%.200s is a program, not a script: write 'qsub -- %s%.200s'", s->label,
			       dot, s->label);
	const char *nul = memchr(text, '\0', s->text.n);
	if (nul) {
		int number = 1;
		for (const char *p = text; p < nul; p++)
			number += *p == '\n';
		return err_set(err, -EINVAL, "%.200s is not a text: line %d has a NUL byte", s->label, number);
	}
	if (line && line > text && line[-1] == '\r')
		return err_set(
			err, -EINVAL,
			"%.200s has the line ends of Windows (CR LF), which shells don't understand: convert it with "
			"'sed -i \"s/\\r$//\" %.200s'",
			s->label, s->label);
	return 0;
}

static int file_open(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return err_set(err, -ENOENT,
			       "script file %.200s not found: name a file, or write 'qsub -- COMMAND' to run a command",
			       path);
	if (fd < 0)
		return err_set(err, -errno, "script file %.300s can't be read: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(err, -EISDIR, "%.300s is a directory: name a script in it", path);
	}
	return fd;
}

/* Sets the name; a job's name has no blanks. */
static void name_set(struct source *s, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(s->name, 237, "%s", slash ? slash + 1 : path);
	for (char *p = s->name; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			*p = '_';
	if (!s->name[0])
		strcpy(s->name, "STDIN");
}

int source_file(struct source *s, const char *path, struct err *err)
{
	bool standard = !path || strcmp(path, "-") == 0;
	int fd = STDIN_FILENO, rc;

	*s = (struct source){.label = standard ? "standard input" : path};
	name_set(s, standard ? "STDIN" : path);
	if (!standard)
		text_quote(path, &s->program);
	if (!standard && (fd = file_open(path, err)) < 0)
		return fd;
	if (standard && isatty(STDIN_FILENO))
		fprintf(stderr, "Type the script; end it with Ctrl-D in a line of its own.\n");
	rc = text_read(fd, &s->text, s->label, err);
	if (!standard)
		close(fd);
	if (rc == 0 && standard && s->text.n == 0)
		rc = err_set(
			err, -EINVAL,
			"no script: standard input is empty. Name a file, or write 'qsub -- COMMAND' to run a command");
	return rc < 0 ? rc : text_check(s, err);
}

void source_command(struct source *s, char *const *word, int n, bool functions)
{
	*s = (struct source){.label = "the command"};
	name_set(s, word[0]);
	for (int i = 0; i < n; i++) {
		strbuf_puts(&s->program, i ? " " : "");
		text_quote(word[i], &s->program);
	}
	/* "$@" is for the arguments of -F and of a restart (-Restart). */
	strbuf_printf(&s->text, "#!%s\nexec %s \"$@\"\n", functions ? "/bin/bash" : "/bin/sh",
		      strbuf_text(&s->program));
}

/* Appends a word for a shell, with "$value" for {}. */
static bool word_each(const char *word, struct strbuf *out)
{
	const char *mark = strstr(word, "{}");

	strbuf_puts(out, " ");
	for (const char *p = word; *p || p == word;) {
		size_t n = mark ? (size_t)(mark - p) : strlen(p);
		char *part = strndup(p, n);
		if (n > 0 || !*p)
			text_quote(part, out);
		free(part);
		if (!mark)
			break;
		strbuf_puts(out, "\"$value\"");
		p = mark + 2;
		mark = strstr(p, "{}");
		if (!*p)
			break;
	}
	return strstr(word, "{}") != NULL;
}

void source_each(struct source *s, char *const *word, int n, const name_list *values)
{
	bool marked = false;

	source_command(s, word, n, false);
	strbuf_clear(&s->text);
	strbuf_puts(&s->text, "#!/bin/sh\ncase $PBS_ARRAYID in\n");
	for (size_t i = 0; i < values->n; i++) {
		strbuf_printf(&s->text, "%zu) value=", i + 1);
		text_quote(values->v[i], &s->text);
		strbuf_puts(&s->text, " ;;\n");
	}
	strbuf_puts(&s->text, "esac\nexec");
	for (int i = 0; i < n; i++)
		marked |= word_each(word[i], &s->text);
	strbuf_printf(&s->text, "%s \"$@\"\n", marked ? "" : " \"$value\"");
}

int values_read(const char *path, name_list *ret, struct err *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct strbuf text = {0};

	if (fd < 0)
		return err_set(err, -errno, "--each-line %.200s: %s", path, strerror(errno));
	int rc = text_read(fd, &text, path, err);
	if (!standard)
		close(fd);
	for (const char *p = strbuf_text(&text); rc == 0 && *p; p += *p == '\n') {
		size_t n = strcspn(p, "\n");
		if (n > 0)
			vec_push(ret, strndup(p, n));
		p += n;
	}
	strbuf_fini(&text);
	return rc;
}

void source_program(const struct source *s, json_t *job)
{
	struct strbuf all = {0};
	const json_t *arg;
	size_t i, n;

	strbuf_add(&all, strbuf_text(&s->program), s->program.n);
	json_array_foreach(json_object_get(job, "args"), i, arg)
	{
		strbuf_puts(&all, " ");
		text_quote(json_string_value(arg) ? json_string_value(arg) : "", &all);
	}
	for (n = all.n < PROGRAM_MAX ? all.n : PROGRAM_MAX; n < all.n && (all.text[n] & 0xc0) == 0x80;)
		n--;
	/* also NULL if it is not UTF-8 */
	json_t *text = s->program.n ? json_stringn(all.text, n) : NULL;
	if (text)
		json_object_set_new(job, "program", text);
	strbuf_fini(&all);
}

void source_fini(struct source *s)
{
	strbuf_fini(&s->text);
	strbuf_fini(&s->program);
}

void source_put(const struct source *s, json_t *job)
{
	const char *text = strbuf_text(&s->text);
	json_t *plain = memchr(text, '\0', s->text.n) ? NULL : json_stringn(text, s->text.n);

	json_object_del(job, plain ? "script_base64" : "script"); /* a template may have it */
	if (plain) {
		json_object_set_new(job, "script", plain);
		return;
	}
	struct strbuf coded = {0};
	base64_encode(text, s->text.n, &coded);
	json_object_set_new(job, "script_base64", json_string(strbuf_text(&coded)));
	strbuf_fini(&coded);
}

/* Returns the equivalent of a common #SBATCH line. */
static const char *slurm_line(const struct source *s, int line)
{
	static const char *const pairs[][2] = {
		{"--ntasks-per-node", "-l nodes=NODES:ppn=N"},
		{"--ntasks", "-l procs=N"},
		{"-n ", "-l procs=N"},
		{"--cpus-per-task", "-l nodes=1:ppn=N"},
		{"-c ", "-l nodes=1:ppn=N"},
		{"--time", "-l walltime=HH:MM:SS"},
		{"-t ", "-l walltime=HH:MM:SS"},
		{"--mem", "-l mem=8gb"},
		{"--job-name", "-N NAME"},
		{"-J ", "-N NAME"},
		{"--partition", "-q QUEUE"},
		{"-p ", "-q QUEUE"},
		{"--output", "-o PATH"},
		{"--error", "-e PATH"},
		{"--array", "-t RANGE"},
		{"--dependency", "-W depend=LIST"},
		{"--nodes", "-l nodes=N:ppn=CPUS"},
		{"-N ", "-l nodes=N:ppn=CPUS"},
		{"--gres", "-l nodes=1:ppn=CPUS:gpus=N"},
		{"--mail-type", "-m abe"},
	};
	const char *p = strbuf_text(&s->text);

	for (int i = 1; i < line && (p = strchr(p, '\n')); i++)
		p++;
	p = p ? strstr(p, "#SBATCH") : NULL;
	p = p ? p + 7 + strspn(p + 7, " \t") : "";
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (strncmp(p, pairs[i][0], strlen(pairs[i][0])) == 0)
			return pairs[i][1];
	return "-l walltime=HH:MM:SS";
}

void source_remarks(const struct command *c, const struct source *s, const struct directives *d)
{
	if (d->foreign && d->list.n == 0)
		command_warn(c, "%s, line %d: #SBATCH lines are for Slurm and were ignored; write '#PBS %s'", s->label,
			     d->foreign, slurm_line(s, d->foreign));
	if (d->spaced)
		command_warn(c, "%s, line %d: '# PBS' is a comment and was ignored; write #PBS without the blank",
			     s->label, d->spaced);
	if (d->late)
		command_warn(c, "%s, line %d: this #PBS line comes after the first command and was ignored; move it up",
			     s->label, d->late);
	if (s->text.n == 0)
		command_warn(c, "%s is empty: the job will do nothing", s->label);
}
