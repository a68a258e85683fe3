/*
 * jobfile.c - see jobfile.h.
 */
#include "client/jobfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"

/* The first key of an item is its name. */
static const struct {
	const char *key;
	enum job_item item;
} keys[] = {
	{"Program", ITEM_PROGRAM},
	{"Program class", ITEM_CLASS},
	{"Class", ITEM_CLASS},
	{"Type", ITEM_TYPE},
	{"Job type", ITEM_TYPE},
	{"Partition", ITEM_PARTITION},
	{"Processors", ITEM_PROCESSORS},
	{"Number of processors", ITEM_PROCESSORS},
	{"Maximum run-time", ITEM_RUNTIME},
	{"Run-time", ITEM_RUNTIME},
	{"Walltime", ITEM_RUNTIME},
	{"Deadline", ITEM_DEADLINE},
	{"Nice until", ITEM_DEADLINE},
	{"Checkpoint interval", ITEM_INTERVAL},
	{"Checkpoint duration", ITEM_DURATION},
};
#define NKEYS (sizeof keys / sizeof *keys)

const char *job_item_name(enum job_item item)
{
	size_t i = 0;

	while (keys[i].item != item)
		i++;
	return keys[i].key;
}

static bool counts(char c)
{
	return !strchr(" \t-_", c);
}

static bool key_is(const char *text, size_t n, const char *key)
{
	size_t i = 0;

	for (; *key; key++) {
		if (!counts(*key))
			continue;
		while (i < n && !counts(text[i]))
			i++;
		if (i == n || tolower((unsigned char)text[i++]) != tolower((unsigned char)*key))
			return false;
	}
	while (i < n && !counts(text[i]))
		i++;
	return i == n;
}

static void trim(const char **text, size_t *n)
{
	while (*n && isspace((unsigned char)**text)) {
		(*text)++;
		(*n)--;
	}
	while (*n && isspace((unsigned char)(*text)[*n - 1]))
		(*n)--;
}

static int key_unknown(const char *key, size_t n, int line, struct err *err)
{
	struct strbuf all = {0};

	for (int i = 0; i < JOB_ITEMS; i++)
		strbuf_printf(&all, "%s%s", i ? ", " : "", job_item_name((enum job_item)i));
	err_set(err, -EINVAL, "line %d: unknown item \"%.*s\" (items: %s)", line, n > 40 ? 40 : (int)n, key, all.text);
	strbuf_fini(&all);
	return -EINVAL;
}

static int line_read(const char *text, size_t n, int line, struct jobfile *ret, struct err *err)
{
	trim(&text, &n);
	if (n == 0 || *text == '#')
		return 0;

	const char *equals = memchr(text, '=', n);
	size_t i = 0, k = equals ? (size_t)(equals - text) : 0, m = equals ? n - k - 1 : 0;
	const char *key = text, *value = equals ? equals + 1 : text;

	if (!equals)
		return err_set(err, -EINVAL, "line %d: write Key = value", line);
	trim(&key, &k);
	trim(&value, &m);
	while (i < NKEYS && !key_is(key, k, keys[i].key))
		i++;
	if (i == NKEYS)
		return key_unknown(key, k, line, err);

	enum job_item item = keys[i].item;

	if (m == 0)
		return err_set(err, -EINVAL, "line %d: %s has no value", line, job_item_name(item));
	if (ret->value[item])
		return err_set(err, -EINVAL, "line %d: %s is in line %d already", line, job_item_name(item),
			       ret->line[item]);
	ret->value[item] = mem_zalloc(m + 1);
	memcpy(ret->value[item], value, m);
	ret->line[item] = line;
	return 0;
}

int jobfile_parse(const char *text, size_t n, struct jobfile *ret, struct err *err)
{
	int rc = 0, line = 1;

	*ret = (struct jobfile){0};
	if (n > JOBFILE_MOST)
		return err_set(err, -EFBIG, "line 1: a job description has at most %d bytes", JOBFILE_MOST);
	for (size_t at = 0; at < n && rc == 0; line++) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t length = end ? (size_t)(end - text) - at : n - at;
		if (memchr(text + at, '\0', length))
			rc = err_set(err, -EINVAL, "line %d: there is a NUL byte", line);
		else
			rc = line_read(text + at, length, line, ret, err);
		at += length + 1;
	}
	return rc;
}

int jobfile_read(const char *path, struct jobfile *ret, struct err *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), rc;
	struct strbuf text = {0};

	*ret = (struct jobfile){0};
	rc = fd < 0 ? -errno : fd_read(fd, JOBFILE_MOST + 1, &text);
	if (!standard && fd >= 0)
		close(fd);
	if (rc < 0 && rc != -EFBIG)
		err_set(err, rc, "job description %.200s: %s", path, strerror(-rc));
	else if ((rc = jobfile_parse(strbuf_text(&text), text.n, ret, err)) < 0)
		err_prefix(err, rc, "%.200s", standard ? "standard input" : path);
	strbuf_fini(&text);
	return rc;
}

void jobfile_fini(struct jobfile *f)
{
	for (int i = 0; i < JOB_ITEMS; i++)
		free(f->value[i]);
	*f = (struct jobfile){0};
}

int hours_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *colon = strchr(text, ':');
	char full[80];

	if (!colon || strchr(colon + 1, ':') || strlen(text) > 60)
		return duration_parse(text, ret, err);
	snprintf(full, sizeof full, "%s:00", text);
	return duration_parse(full, ret, err);
}
