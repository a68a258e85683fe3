/*
 * files.c - see files.h.
 */
#include "bag/files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/mem.h"

void files_patterns(const char *patterns, uint64_t task, struct strbuf *out)
{
	for (const char *place; (place = strstr(patterns, "{#}")) != NULL; patterns = place + 3) {
		strbuf_add(out, patterns, (size_t)(place - patterns));
		strbuf_printf(out, "%" PRIu64, task);
	}
	strbuf_puts(out, patterns);
}

/* Returns true for a relative path without "..". */
static bool path_good(const char *path)
{
	if (!*path || *path == '/' || strlen(path) >= PATH_MAX / 2)
		return false;
	for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
			return false;
	return true;
}

/* Copies the next of the comma-separated patterns; returns false at the end. */
static bool pattern_next(const char **at, char ret[PATH_MAX])
{
	while (**at == ',')
		(*at)++;
	size_t n = strcspn(*at, ",");
	if (n == 0)
		return false;
	snprintf(ret, PATH_MAX, "%.*s", (int)(n < PATH_MAX ? n : PATH_MAX - 1), *at);
	*at += n;
	return true;
}

/* Writes "DIR/" with glob()'s special characters escaped. */
static void dir_quote(const char *dir, struct strbuf *out)
{
	for (; *dir; dir++) {
		if (strchr("*?[]\\", *dir))
			strbuf_puts(out, "\\");
		strbuf_add(out, dir, 1);
	}
	strbuf_puts(out, "/");
}

static int pattern_find(const char *dir, const char *pattern, name_list *ret, struct err *err)
{
	struct strbuf text = {0};
	glob_t found;
	struct stat st;
	int rc;

	if (!path_good(pattern))
		return err_set(err, -EINVAL, "%s: must be a path below the current directory", pattern);
	dir_quote(dir, &text);
	strbuf_puts(&text, pattern);
	rc = glob(text.text, GLOB_NOSORT, NULL, &found);
	strbuf_fini(&text);
	if (rc != 0)
		return err_set(err, -ENOENT, "%s: no such file", pattern);
	for (size_t i = 0; i < found.gl_pathc && rc == 0; i++) {
		const char *path = found.gl_pathv[i] + strlen(dir) + 1;
		if (stat(found.gl_pathv[i], &st) < 0 || !S_ISREG(st.st_mode))
			rc = err_set(err, -EINVAL, "%s: not a file", path);
		else if (ret->n >= FILES_MOST)
			rc = err_set(err, -E2BIG, "%s: more than %d files", pattern, FILES_MOST);
		else
			vec_push(ret, mem_strdup(path));
	}
	globfree(&found);
	return rc;
}

int files_find(const char *dir, const char *patterns, name_list *ret, struct err *err)
{
	char pattern[PATH_MAX];
	int rc = 0;

	while (rc == 0 && pattern_next(&patterns, pattern))
		rc = pattern_find(dir, pattern, ret, err);
	return rc;
}

bool files_match(const char *patterns, const char *path)
{
	char pattern[PATH_MAX];

	if (!path_good(path))
		return false;
	while (pattern_next(&patterns, pattern))
		if (fnmatch(pattern, path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

int files_send(const char *dir, const char *path, uint64_t task, int64_t *left,
	       void (*send)(void *arg, const struct wire *m), void *arg, struct err *err)
{
	struct strbuf full = {0};
	struct stat st;
	bool more = false;
	ssize_t n;

	strbuf_printf(&full, "%s/%s", dir, path);
	int fd = open(full.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
	strbuf_fini(&full);
	if (fd < 0 || fstat(fd, &st) < 0) {
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	char *buffer = mem_alloc(WIRE_OUTPUT);
	do {
		n = read(fd, buffer, WIRE_OUTPUT);
		if (n < 0)
			rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
		else if ((*left -= n) < 0)
			rc = err_set(err, -EFBIG, "%s: the files of a task have more than %d MB", path,
				     FILES_BYTES >> 20);
		else if (n > 0 || !more)
			send(arg, &(struct wire){.kind = WIRE_FILE,
						 .task = task,
						 .attempt = st.st_mode & 0777,
						 .to_err = more,
						 .text = path,
						 .ntext = strlen(path),
						 .err = buffer,
						 .nerr = (size_t)n});
		more = true;
	} while (rc == 0 && n > 0);
	free(buffer);
	close(fd);
	return rc;
}

/* Creates the directories above a path. */
static void dirs_make(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
}

int files_write(const char *dir, const struct wire *m)
{
	struct strbuf path = {0}, name = {0};

	strbuf_add(&name, m->text, m->ntext);
	if (strlen(strbuf_text(&name)) != m->ntext || !path_good(strbuf_text(&name))) {
		strbuf_fini(&name);
		return -EPROTO;
	}
	strbuf_printf(&path, "%s/%s", dir, name.text);
	dirs_make(path.text);
	int fd = open(path.text, O_WRONLY | O_CLOEXEC | O_CREAT | O_NOFOLLOW | (m->to_err ? O_APPEND : O_TRUNC), 0600);
	int rc = fd < 0 ? -errno : 0;
	if (rc == 0)
		rc = fd_write(fd, m->err, m->nerr);
	if (rc == 0 && !m->to_err && fchmod(fd, m->attempt & 0777) < 0)
		rc = -errno;
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	strbuf_fini(&path);
	strbuf_fini(&name);
	return rc;
}

int files_move(const char *from, const char *to, const char *path, struct err *err)
{
	struct strbuf a = {0}, b = {0};

	strbuf_printf(&a, "%s/%s", from, path);
	strbuf_printf(&b, "%s/%s", to, path);
	dirs_make(b.text);
	int rc = rename(a.text, b.text) < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;
	strbuf_fini(&a);
	strbuf_fini(&b);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	remove(path);
	return 0;
}

void files_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
