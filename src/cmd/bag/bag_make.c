/*
 * bag_make.c - makes the tasks of a bag from files, values and patterns, and writes them to its
 * directory once.
 */
#include "cmd/bag/bag_make.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bag/bagfile.h"
#include "bag/expand.h"
#include "bag/journal.h"
#include "base/fdio.h"
#include "base/map.h"

static int bag_file_read(const char *path, struct strbuf *ret, struct err *err)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC), rc;

	rc = fd < 0 ? -errno : fd_read(fd, SIZE_MAX, ret);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

/* Returns true if the requirements have placeholders: each task has its own files. */
static bool need_differs(const struct bag_source *s)
{
	return s->command && s->need && strchr(s->need, '{');
}

/* Adds a task with these values. */
static int add(const struct bag_source *s, const struct values *names, const struct values *values, int64_t *number,
	       struct strbuf *out, struct err *err)
{
	int rc = 0;

	++*number;
	if (need_differs(s)) {
		strbuf_puts(out, "#bag ");
		rc = expand_need(s->need, names, values, *number, out, err);
		strbuf_puts(out, "\n");
	}
	rc = rc < 0 ? rc : expand_command(s->command, names, values, *number, out, err);
	strbuf_puts(out, "\n");
	return rc < 0 ? err_prefix(err, rc, "task %" PRId64, *number) : 0;
}

/* Refuses places for columns that there are not. */
static int columns_check(const char *text, const char *path, const struct values *names, struct err *err)
{
	struct strbuf list = {0};
	char word[64];
	int rc = 0;

	for (size_t i = 0; i < names->v.n; i++)
		strbuf_printf(&list, "%s%s", i ? ", " : "", names->v.v[i]);
	if (text && expand_unknown(text, names, word))
		rc = err_set(err, -EINVAL,
			     "{%s}: the columns of %s are %s (to leave braces to the command, write '{ %s }')", word,
			     path, strbuf_text(&list), word);
	strbuf_fini(&list);
	return rc;
}

/* Adds the task of one NUL-terminated line. */
static int from_line(const struct bag_source *s, const char *line, struct values *names, bool first, int64_t *number,
		     struct strbuf *out, struct err *err)
{
	struct values values = {0};
	int rc = 0;

	if (!names)
		vec_push(&values.v, mem_strdup(line));
	else
		rc = csv_split(line, first ? names : &values, err);
	if (rc == 0 && first) {
		rc = columns_check(s->command, s->csv, names, err);
		rc = rc < 0 ? rc : columns_check(s->need, s->csv, names, err);
	} else if (rc == 0)
		rc = add(s, names, &values, number, out, err);
	values_fini(&values);
	return rc;
}

static int from_lines(const struct bag_source *s, const char *path, bool csv, int64_t *number, struct strbuf *out,
		      struct err *err)
{
	/* byte order mark with which some programs begin UTF-8 */
	static const char mark[] = "\xef\xbb\xbf";
	struct values names = {0};
	struct strbuf text = {0};
	int64_t at = 0;
	int rc = bag_file_read(path, &text, err);
	char *line = text.text, *end = line ? line + text.n : NULL;
	bool first = csv;

	if (rc == 0 && text.n > 3 && memcmp(line, mark, 3) == 0)
		line += 3;
	for (char *next; rc == 0 && line < end; line = next + 1) {
		at++;
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end; /* the strbuf ends with a NUL */
		if (memchr(line, '\0', (size_t)(next - line)))
			rc = err_set(err, -EINVAL, "the line contains a NUL byte");
		next[next > line && next[-1] == '\r' ? -1 : 0] = '\0';
		if (rc == 0 && *line) {
			rc = from_line(s, line, csv ? &names : NULL, first, number, out, err);
			first = false;
		}
		if (rc < 0)
			err_prefix(err, rc, "%s:%" PRId64, path, at);
	}
	strbuf_fini(&text);
	values_fini(&names);
	return rc;
}

static int from_glob(const struct bag_source *s, const char *pattern, int64_t *number, struct strbuf *out,
		     struct err *err)
{
	glob_t found;
	struct values values = {0};
	int rc = glob(pattern, GLOB_TILDE, NULL, &found);

	if (rc == GLOB_NOMATCH)
		return err_set(err, -ENOENT, "--glob %s: no file matches", pattern);
	if (rc != 0)
		return err_set(err, -EIO, "--glob %s: can't be read", pattern);
	for (size_t i = 0; i < found.gl_pathc && rc == 0; i++) {
		values_clear(&values);
		vec_push(&values.v, mem_strdup(found.gl_pathv[i]));
		rc = add(s, NULL, &values, number, out, err);
	}
	values_fini(&values);
	globfree(&found);
	return rc;
}

static int collect(const struct bag_source *s, struct strbuf *out, struct err *err)
{
	int64_t number = 0;
	int rc = 0;

	if (s->need) {
		struct bag_need need;
		rc = need_parse(s->need, &need, err);
		if (rc < 0)
			return err_prefix(err, rc, "--need");
		need_fini(&need);
		if (!need_differs(s))
			strbuf_printf(out, "#bag %s\n", s->need);
	}
	if (!s->command) {
		if (s->globs.n || s->csv)
			return err_set(err, -EINVAL, "--glob and --csv need a --command for their values");
		return bag_file_read(s->file, out, err);
	}
	if (s->file)
		rc = from_lines(s, s->file, false, &number, out, err);
	if (rc == 0 && s->csv)
		rc = from_lines(s, s->csv, true, &number, out, err);
	for (int i = 0; rc == 0 && i < s->globs.n; i++)
		rc = from_glob(s, s->globs.v[i], &number, out, err);
	if (rc == 0 && !s->file && !s->csv && !s->globs.n)
		rc = err_set(err, -EINVAL, "--command needs values: a FILE, --glob or --csv");
	return rc;
}

/* Returns the mode that open() would give a new file. */
static mode_t mode_new(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Writes the file atomically. Returns -EEXIST if it exists and must not be replaced. */
static int tasks_write(const char *path, const struct strbuf *text, bool replace, struct err *err)
{
	struct strbuf new = {0};

	strbuf_printf(&new, "%s.XXXXXX", path);
	int fd = mkostemp(new.text, O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	bool good = f && fwrite(text->text, 1, text->n, f) == text->n && fflush(f) == 0 && fdatasync(fd) == 0 &&
		    fchmod(fd, mode_new()) == 0;
	int rc = good ? 0 : -errno;
	if (f && fclose(f) != 0)
		rc = -errno;
	if (rc == 0 && (replace ? rename(new.text, path) : link(new.text, path)) < 0)
		rc = -errno;
	if (rc < 0)
		err_set(err, rc, "%s: %s", path, strerror(-rc));
	if (fd >= 0)
		unlink(new.text);
	strbuf_fini(&new);
	return rc;
}

static int journal_drop(const char *dir, struct err *err)
{
	struct strbuf path = {0};

	strbuf_printf(&path, "%s/journal", dir);
	int rc = journal_remove(path.text, err);
	strbuf_fini(&path);
	return rc;
}

static bool tasks_same(const char *path, const struct strbuf *text)
{
	struct strbuf there = {0};
	bool same = bag_file_read(path, &there, NULL) == 0 && there.n == text->n &&
		    memcmp(strbuf_text(&there), text->text, text->n) == 0;

	strbuf_fini(&there);
	return same;
}

/* Refuses the lines of graphs, which order tasks: to a bag they are comments. */
static int order_check(const char *text, struct err *err)
{
	int64_t line = 1;

	for (const char *at = text; at; at = strchr(at, '\n'), at += at != NULL, line++)
		if (strncmp(at + strspn(at, " \t"), "#task", 5) == 0 && strchr(" \t\r\n", at[strspn(at, " \t") + 5]))
			return err_set(
				err, -EINVAL,
				"line %" PRId64
				": #task orders tasks, but those of a bag are independent: use 'shunt spawn --graph', or "
				"a bag for each step and --after",
				line);
	return 0;
}

static int check(const struct bag_source *s, const struct strbuf *text, struct err *err)
{
	struct bag bag;
	int rc = bag_parse(strbuf_text(text), text->n, &bag, err);

	if (rc == 0) {
		rc = bag.tasks.n ? 0 : err_set(err, -EINVAL, "there are no tasks");
		bag_fini(&bag);
	}
	rc = rc < 0 ? rc : order_check(strbuf_text(text), err);
	return rc < 0 ? err_prefix(err, rc, "%s", s->file ? s->file : s->csv ? s->csv : "the tasks") : 0;
}

/* Makes sure that the directory has these tasks. */
static int settle(const char *dir, const struct strbuf *text, bool restart, struct err *err)
{
	struct strbuf path = {0};
	int rc = restart ? journal_drop(dir, err) : 0;

	strbuf_printf(&path, "%s/tasks", dir);
	if (rc == 0 && mkdir(dir, 0777) < 0 && errno != EEXIST)
		rc = err_set(err, -errno, "%s: %s", dir, strerror(errno));
	if (rc == 0 && !tasks_same(path.text, text))
		rc = tasks_write(path.text, text, restart, err);
	if (rc == -EEXIST) /* from an earlier run, or one that began at the same time */
		rc = tasks_same(path.text, text)
			     ? 0
			     : err_set(err, rc,
				       "%s has results of other tasks: use --restart to drop them, or another --dir",
				       dir);
	strbuf_fini(&path);
	return rc;
}

int bag_make(const struct bag_source *s, const char *dir, bool restart, struct strbuf *ret_dir, struct err *err)
{
	struct strbuf text = {0};
	const char *file = s->file && strcmp(s->file, "-") != 0 ? s->file : s->csv;

	if (!s->file && !s->csv && !s->globs.n && !s->command) {
		strbuf_puts(ret_dir, dir);
		while (ret_dir->n > 1 && ret_dir->text[ret_dir->n - 1] == '/')
			ret_dir->text[--ret_dir->n] = '\0';
		return restart ? journal_drop(dir, err) : 0;
	}
	int rc = collect(s, &text, err);
	if (dir)
		strbuf_puts(ret_dir, dir);
	else if (file)
		strbuf_printf(ret_dir, "%s.bag", file);
	else /* the same tasks: the same bag */
		strbuf_printf(ret_dir, "%08" PRIx64 ".bag", hash_bytes(strbuf_text(&text), text.n) >> 32);
	rc = rc < 0 ? rc : check(s, &text, err);
	rc = rc < 0 ? rc : settle(ret_dir->text, &text, restart, err);
	strbuf_fini(&text);
	return rc;
}
