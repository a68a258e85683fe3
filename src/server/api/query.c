/*
 * query.c - the parameters of requests that are numbers or words out of a few: one table says what is allowed, and every request is checked against
 * it before a handler sees it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net/http.h"
#include "server/api/query.h"

#define DIGITS_MOST 18 /* of a number that always fits */

static const struct parameter {
	const char *path, *name;
	int64_t min, max;
	const char *words;  /* joined by '|': one of these instead of a number */
	const char *header; /* that says the same, and comes first */
} parameters[] = {
	{"/v1/jobs", "limit", .min = 1, .max = 1000000000},
	{"/v1/jobs", "completed", .words = "0|1|recent"},
	{"/v1/jobs", "arrays", .words = "collapse|expand"},
	{"/v1/jobs/*/output", "stream", .words = "out|err"},
	{"/v1/jobs/*/output", "from", .min = 0, .max = INT64_C(1) << 56},
	{"/v1/jobs/*/output", "follow", .min = 0, .max = 1},
	{"/v1/jobs/*/events", "after", .min = 0, .max = INT64_C(1) << 56},
	{"/v1/nodes/*", "force", .min = 0, .max = 1},
	{"/v1/events", "after", .min = 0, .max = INT64_C(1) << 56, .header = "Last-Event-ID"},
	{"/v1/log", "days", .min = 0, .max = 3650},
	{"/v1/history", "limit", .min = 1, .max = 10000},
	{"/v1/history", "since", .min = 0, .max = INT64_C(1) << 40},
	{"/v1/history", "until", .min = 0, .max = INT64_C(1) << 40},
	{"/v1/history", "attempts", .min = 0, .max = 1},
	{"/v1/history", "form", .words = "row|job"},
	{"/v1/history/sums", "by", .words = "all|user|group|account|queue|state"},
	{"/v1/history/sums", "since", .min = 0, .max = INT64_C(1) << 40},
	{"/v1/history/sums", "until", .min = 0, .max = INT64_C(1) << 40},
	{"/v1/history/sums", "attempts", .min = 0, .max = 1},
	{"/v1/usage", "first", .min = 19700101, .max = 99991231},
	{"/v1/usage", "last", .min = 19700101, .max = 99991231},
};

static const char *value_of(const struct parameter *p, const struct http_request *r)
{
	const char *text = p->header ? request_header(r, p->header) : NULL;

	return text ? text : request_query(r, p->name);
}

static bool is_word(const char *words, const char *text)
{
	size_t n = strlen(text);

	for (const char *p = words; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (strcspn(p, "|") == n && strncmp(p, text, n) == 0)
			return true;
	return false;
}

static bool is_number(const struct parameter *p, const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n <= DIGITS_MOST && !text[n] && strtoll(text, NULL, 10) >= p->min &&
	       strtoll(text, NULL, 10) <= p->max;
}

static int refuse(const struct parameter *p, const char *text, struct err *err)
{
	if (p->words)
		return err_set(err, -EINVAL, "%s=%.40s: it must be one of %s", p->name, text, p->words);
	return err_set(err, -EINVAL, "%s=%.40s: it must be a whole number from %lld to %lld", p->name, text,
		       (long long)p->min, (long long)p->max);
}

int query_check(const char *path, const struct http_request *r, struct err *err)
{
	for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
		const struct parameter *p = &parameters[i];
		const char *text = strcmp(p->path, path) == 0 ? value_of(p, r) : NULL;
		if (text && !(p->words ? is_word(p->words, text) : is_number(p, text)))
			return refuse(p, text, err);
	}
	return 0;
}

int64_t query_number(const char *path, const struct http_request *r, const char *name, int64_t otherwise)
{
	for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
		const struct parameter *p = &parameters[i];
		const char *text =
			strcmp(p->path, path) == 0 && strcmp(p->name, name) == 0 && !p->words ? value_of(p, r) : NULL;
		if (text)
			return strtoll(text, NULL, 10);
	}
	return otherwise;
}
