/*
 * quota_file.h - quota in a text file, in the format of Artaras (figure 3.3 of its description):
 *
 *	# User	normal	interactive	priority	End-date
 *	Ape	200:00	20:00		0:00		Apr 2005
 *
 * Times are hours and minutes. The date is the last month with any quota; "-" or nothing means no
 * end.
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

/* Calls `one` for each user in the file, but only after the whole file has been read without
 * error. -EINVAL: the message names the line and the error. A negative result of the callback
 * ends the calls. */
int quota_file_read(struct lines *in, int (*one)(void *context, const struct quota_line *line), void *context,
		    struct err *err);
void quota_file_head(struct strbuf *out);
void quota_file_line(const struct quota_line *line, struct strbuf *out);

/* Formats "200:00", hours and minutes, rounded down. Returns buf. */
const char *quota_hours(int64_t seconds, char *buf, size_t size);
/* Parses hours and minutes, up to 100 years. */
int quota_hours_parse(const char *text, int64_t *ret_seconds, struct err *err);
/* Formats "Apr 2005", or "-" for none. Returns buf. */
const char *quota_end(int32_t month, char *buf, size_t size);
int quota_end_parse(const char *text, int32_t *ret_month, struct err *err);

#endif
