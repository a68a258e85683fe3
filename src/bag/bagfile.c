/*
 * bagfile.c - parses bag files: lines, and the needs of tasks.
 */
#include "bag/bagfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/map.h"
#include "base/timetext.h"

enum {
	CPUS_MOST = 1000 * 1000, /* whole CPUs */
	GPUS_MOST = 10000,
};

/* Parses "2", "0.5" or ".25" into thousandths of a CPU. */
static int cpus_parse(const char *text, int64_t *ret)
{
	int64_t whole = 0, part = 0, unit = BAG_CPU;
	const char *at = text;

	bool any = digits_scan(&at, CPUS_MOST, &whole);
	if (!any && *at != '.')
		return -EINVAL;
	if (*at == '.') {
		for (at++; *at >= '0' && *at <= '9' && unit > 1; at++, any = true) {
			unit /= 10;
			part += (*at - '0') * unit;
		}
	}
	if (!any || *at || whole * BAG_CPU + part < 1)
		return -EINVAL;
	*ret = whole * BAG_CPU + part;
	return 0;
}

static int word_parse(const char *name, const char *value, struct bag_need *need, struct err *err)
{
	const char *at = value;
	int rc = 0;

	if (strcmp(name, "cpus") == 0) {
		if (cpus_parse(value, &need->cpus) < 0)
			return err_set(err, -EINVAL, "cpus=%.40s: must be 0.001-%d, with at most three decimals", value,
				       CPUS_MOST);
	} else if (strcmp(name, "gpus") == 0) {
		if (!digits_scan(&at, GPUS_MOST, &need->gpus) || *at)
			return err_set(err, -EINVAL, "gpus=%.40s: must be a whole number, 0-%d", value, GPUS_MOST);
	} else if (strcmp(name, "mem") == 0) {
		rc = memory_parse(value, &need->memory, err);
	} else if (strcmp(name, "time") == 0) {
		rc = duration_parse(value, &need->seconds, err);
		if (rc == 0 && need->seconds == 0)
			rc = err_set(err, -EINVAL, "must be at least 1 second");
	} else if (strcmp(name, "in") == 0 || strcmp(name, "out") == 0) {
		if (!*value)
			return err_set(err, -EINVAL, "%s=: names no file", name);
		char **to = name[0] == 'i' ? &need->in : &need->out;
		free(*to);
		*to = mem_strdup(value);
	} else {
		return err_set(err, -EINVAL, "%.40s: tasks can need cpus, gpus, mem, time, in and out", name);
	}
	return rc == 0 ? 0 : err_prefix(err, rc, "%s=%.40s", name, value);
}

int need_parse(const char *text, struct bag_need *ret, struct err *err)
{
	struct bag_need need = {.cpus = BAG_CPU};
	char *copy = mem_strdup(text), *save = NULL;
	int rc = 0;

	for (char *word = strtok_r(copy, " \t", &save); word && rc == 0; word = strtok_r(NULL, " \t", &save)) {
		char *value = strchr(word, '=');
		if (!value) {
			rc = err_set(err, -EINVAL, "%.40s: must be NAME=VALUE, as in cpus=2", word);
			break;
		}
		*value = '\0';
		rc = word_parse(word, value + 1, &need, err);
	}
	free(copy);
	if (rc < 0)
		need_fini(&need);
	else
		*ret = need;
	return rc;
}

void need_format(const struct bag_need *need, struct strbuf *out)
{
	size_t before = out->n;
	char memory[32];

	if (need->cpus % BAG_CPU)
		strbuf_printf(out, " cpus=%" PRId64 ".%03" PRId64, need->cpus / BAG_CPU, need->cpus % BAG_CPU);
	else if (need->cpus != BAG_CPU)
		strbuf_printf(out, " cpus=%" PRId64, need->cpus / BAG_CPU);
	if (need->gpus)
		strbuf_printf(out, " gpus=%" PRId64, need->gpus);
	if (need->memory)
		strbuf_printf(out, " mem=%s", memory_format(need->memory, memory, sizeof memory));
	if (need->seconds)
		strbuf_printf(out, " time=%" PRId64, need->seconds);
	if (need->in)
		strbuf_printf(out, " in=%s", need->in);
	if (need->out)
		strbuf_printf(out, " out=%s", need->out);
	if (out->n > before) /* drop the first blank */
		memmove(out->text + before, out->text + before + 1, out->n-- - before);
}

void need_fini(struct bag_need *need)
{
	free(need->in);
	free(need->out);
	*need = (struct bag_need){0};
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool need_equal(const struct bag_need *a, const struct bag_need *b)
{
	return a->cpus == b->cpus && a->gpus == b->gpus && a->memory == b->memory && a->seconds == b->seconds &&
	       same(a->in, b->in) && same(a->out, b->out);
}

/* Returns the index of these needs, which the bag takes over. Needs are shared, because a file
 * may alternate between two for each task. */
static int need_add(struct bag *b, struct map *known, struct bag_need *need, uint32_t *ret, struct err *err)
{
	struct strbuf text = {0};
	uint64_t at;

	need_format(need, &text);
	uint64_t hash = hash_bytes(strbuf_text(&text), text.n);
	strbuf_fini(&text);
	if (map_get(known, hash, &at) && need_equal(&b->needs.v[at], need)) {
		need_fini(need);
		*ret = (uint32_t)at;
		return 0;
	}
	if (b->needs.n >= BAG_NEEDS_MOST) {
		need_fini(need);
		return err_set(err, -E2BIG, "a bag can have at most %d different needs", BAG_NEEDS_MOST);
	}
	map_set(known, hash, b->needs.n);
	*ret = (uint32_t)b->needs.n;
	vec_push(&b->needs, *need);
	return 0;
}

/* Parses `#bag WORDS`. */
static int directive(struct bag *b, struct map *known, const char *words, size_t n, uint32_t *ret, struct err *err)
{
	struct bag_need need;
	char *copy = mem_alloc(n + 1);

	memcpy(copy, words, n);
	copy[n] = '\0';
	int rc = need_parse(copy, &need, err);
	free(copy);
	return rc < 0 ? rc : need_add(b, known, &need, ret, err);
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int line_read(struct bag *b, struct map *known, const char *line, size_t n, uint32_t *need, struct err *err)
{
	while (n > 0 && blank(*line))
		line++, n--;
	while (n > 0 && blank(line[n - 1]))
		n--;
	if (n > BAG_LINE_MOST)
		return err_set(err, -E2BIG, "the line has %zu bytes; at most %d are allowed", n, BAG_LINE_MOST);
	if (memchr(line, '\0', n))
		return err_set(err, -EINVAL, "the line contains a NUL byte");
	if (n == 0)
		return 0;
	if (n >= 4 && memcmp(line, "#bag", 4) == 0 && (n == 4 || blank(line[4])))
		return directive(b, known, line + 4, n - 4, need, err);
	if (*line == '#')
		return 0;
	if (b->tasks.n >= BAG_TASKS_MOST)
		return err_set(err, -E2BIG, "a bag can have at most %d tasks", BAG_TASKS_MOST);
	vec_push(&b->tasks, (struct bag_task){.at = (uint64_t)(line - b->text), .n = (uint32_t)n, .need = *need});
	return 0;
}

int bag_parse(const char *text, size_t n, struct bag *ret, struct err *err)
{
	struct bag b = {.text = text, .n = n};
	struct map known = {0};
	struct bag_need usual = {.cpus = BAG_CPU};
	uint32_t need;
	int64_t number = 1;

	int rc = need_add(&b, &known, &usual, &need, err);
	for (const char *at = text, *end = text + n; at < end && rc == 0; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		rc = line_read(&b, &known, at, (size_t)(stop - at), &need, err);
		if (rc < 0)
			err_prefix(err, rc, "line %" PRId64, number);
		at = stop + 1;
	}
	map_fini(&known);
	if (rc < 0)
		bag_fini(&b);
	else
		*ret = b;
	return rc;
}

/* Maps and parses a file, which must not change. */
static int bag_open(const char *path, struct bag *ret, struct err *err)
{
	struct stat st;
	void *text = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (rc == 0 && st.st_size > 0) {
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		rc = text == MAP_FAILED ? -errno : 0;
	}
	close(fd);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, rc == -EINVAL ? "not a regular file" : strerror(-rc));
	rc = bag_parse(text ? text : "", text ? (size_t)st.st_size : 0, ret, err);
	if (rc < 0) {
		if (text)
			munmap(text, (size_t)st.st_size);
		return err_prefix(err, rc, "%s", path);
	}
	ret->mapped = text != NULL;
	return 0;
}

int bag_open_in(const char *dir, struct bag *ret, struct err *err)
{
	struct strbuf path = {0};

	strbuf_printf(&path, "%s/tasks", dir);
	int rc = bag_open(path.text, ret, err);
	strbuf_fini(&path);
	return rc == -ENOENT || rc == -ENOTDIR
		       ? err_set(err, -ENOENT, "%s is not a bag: it has no file 'tasks' (see 'shunt bag run')", dir)
		       : rc;
}

void bag_fini(struct bag *b)
{
	for (size_t i = 0; i < b->needs.n; i++)
		need_fini(&b->needs.v[i]);
	vec_free(&b->needs);
	vec_free(&b->tasks);
	if (b->mapped)
		munmap((void *)(uintptr_t)b->text, b->n);
	*b = (struct bag){0};
}
