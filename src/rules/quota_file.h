/*
 * quota_file.h - quota as a file, as Artaras had it (figure 3.3 of its description):
 *
 *	# User	normal	interactive	priority	End-date
 *	Ape	200:00	20:00		0:00		Apr 2005
 *
 * Times are hours and minutes. The date is the last month with any quota; "-" or nothing: there is no end.
 */
#ifndef RULES_QUOTA_FILE_H
#define RULES_QUOTA_FILE_H

#include "base/lines.h"
#include "base/strbuf.h"
#include "rules/quota.h"

struct quota_line {
	const char *user; /* borrowed */
	int64_t limit[QUOTA_TYPES];
	int32_t end;
};

/* Calls for each user of the file; nothing is called unless all of it can be read, so that a file is taken as a whole or not at all. -EINVAL: what is wrong
 * in which line. Below 0 from the callback ends it. */
int quota_file_read(struct lines *in, int (*one)(void *context, const struct quota_line *line), void *context,
		    struct err *err);
void quota_file_head(struct strbuf *out);
void quota_file_line(const struct quota_line *line, struct strbuf *out);

/* "200:00", hours and minutes; seconds beyond a full minute are not shown. Returns buf. */
const char *quota_hours(int64_t seconds, char *buf, size_t size);
/* Hours and minutes of any number of hours up to 100 years. */
int quota_hours_parse(const char *text, int64_t *ret_seconds, struct err *err);
/* "Apr 2005"; "-" for none. Returns buf. */
const char *quota_end(int32_t month, char *buf, size_t size);
int quota_end_parse(const char *text, int32_t *ret_month, struct err *err);

#endif
