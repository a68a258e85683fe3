/*
 * quota_file.c - see quota_file.h.
 */
#include "rules/quota_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "base/timetext.h"
#include "base/vec.h"

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
				     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
/* The order of the columns differs from that of the types. */
static const enum quota_type columns[QUOTA_TYPES] = {QUOTA_NORMAL, QUOTA_INTERACTIVE, QUOTA_PRIORITY};

const char *quota_hours(int64_t seconds, char *buf, size_t size)
{
	long long minutes = llabs((long long)seconds) / 60;

	snprintf(buf, size, "%s%lld:%02lld", seconds <= -60 ? "-" : "", minutes / 60, minutes % 60);
	return buf;
}

/* Parses an unsigned number. Returns the rest of the text, or NULL. */
static const char *number(const char *text, int64_t most, int64_t *ret)
{
	char *rest;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	*ret = strtoll(text, &rest, 10);
	return errno || *ret > most ? NULL : rest;
}

int quota_hours_parse(const char *text, int64_t *ret_seconds, struct err *err)
{
	int64_t hours, minutes = 0;
	const char *p = number(text, DURATION_MAX / 3600, &hours);

	if (p && *p == ':')
		p = strlen(p) == 3 ? number(p + 1, 59, &minutes) : NULL;
	if (!p || *p)
		return err_set(err, -EINVAL,
			       "a time is hours and minutes up to %lld:00, for example 200:00, and not \"%.40s\"",
			       (long long)(DURATION_MAX / 3600), text);
	*ret_seconds = hours * 3600 + minutes * 60;
	return 0;
}

const char *quota_end(int32_t month, char *buf, size_t size)
{
	if (month)
		snprintf(buf, size, "%s %d", months[(month - 1) % 100 % 12], month / 100);
	else
		snprintf(buf, size, "-");
	return buf;
}

int quota_end_parse(const char *text, int32_t *ret_month, struct err *err)
{
	const char *name = text;
	int64_t year;

	*ret_month = 0;
	if (!*text || !strcmp(text, "-"))
		return 0;
	for (int m = 0; m < 12; m++) {
		const char *p = text + 3;

		if (strncasecmp(name, months[m], 3) != 0 || (*p != ' ' && *p != '\t'))
			continue;
		p = number(p + strspn(p, " \t"), 9999, &year);
		if (!p || *p || year < 1970)
			break;
		*ret_month = (int32_t)year * 100 + m + 1;
		return 0;
	}
	return err_set(err, -EINVAL, "an end is a month and a year, for example \"Apr 2005\", and not \"%.40s\"", text);
}

/* Cuts off the next word. Returns what follows it. */
static char *cut(char **ret_word, char *p)
{
	*ret_word = p;
	p += strcspn(p, " \t");
	if (*p)
		*p++ = '\0';
	return p + strspn(p, " \t");
}

/* Parses a line. Returns 1 for a user, 0 for an empty line. */
static int line_read(char *p, struct quota_line *ret, struct err *err)
{
	char *word;
	int rc;

	p[strcspn(p, "#\r\n")] = '\0';
	p += strspn(p, " \t");
	for (size_t n = strlen(p); n && strchr(" \t", p[n - 1]); n--)
		p[n - 1] = '\0';
	if (!*p)
		return 0;
	p = cut(&word, p);
	if (strlen(word) > 255)
		return err_set(err, -EINVAL, "a user's name has at most 255 bytes");
	ret->user = word;
	for (int i = 0; i < QUOTA_TYPES; i++) {
		p = cut(&word, p);
		if (!*word)
			return err_set(err, -EINVAL, "the %s quota of user %s is missing", quota_type_name(columns[i]),
				       ret->user);
		rc = quota_hours_parse(word, &ret->limit[columns[i]], err);
		if (rc < 0)
			return err_prefix(err, rc, "%s quota of user %s", quota_type_name(columns[i]), ret->user);
	}
	rc = quota_end_parse(p, &ret->end, err);
	return rc < 0 ? err_prefix(err, rc, "end of user %s", ret->user) : 1;
}

int quota_file_read(struct lines *in, int (*one)(void *context, const struct quota_line *line), void *context,
		    struct err *err)
{
	VEC(struct quota_line) found = {0};
	struct names users = {0}; /* owns the names in `found` */
	char *text;
	int rc;

	while ((rc = lines_next(in, &text, err)) > 0) {
		struct quota_line line = {0};
		uint32_t known;

		rc = line_read(text, &line, err);
		if (rc > 0 && names_find(&users, line.user, &known))
			rc = err_set(err, -EINVAL, "user %s has a line already", line.user);
		if (rc < 0) {
			err_prefix(err, rc, "line %lld", (long long)lines_number(in));
			break;
		}
		if (rc > 0) {
			line.user = names_get(&users, names_add(&users, line.user));
			vec_push(&found, line);
		}
	}
	for (size_t i = 0; rc >= 0 && i < found.n; i++)
		rc = one(context, &found.v[i]);
	vec_free(&found);
	names_fini(&users);
	return rc < 0 ? rc : 0;
}

void quota_file_head(struct strbuf *out)
{
	strbuf_puts(out, "# User\tnormal\tinteractive\tpriority\tEnd-date\n");
}

void quota_file_line(const struct quota_line *line, struct strbuf *out)
{
	char buf[40];

	strbuf_puts(out, line->user);
	for (int i = 0; i < QUOTA_TYPES; i++)
		strbuf_printf(out, "\t%s", quota_hours(line->limit[columns[i]], buf, sizeof buf));
	strbuf_printf(out, "\t%s\n", quota_end(line->end, buf, sizeof buf));
}
