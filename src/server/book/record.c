/* record.c - formats accounting records. client/pbsrecord.h reads them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/timetext.h"
#include "base/utf8.h"
#include "server/book/accounting.h"

enum field_kind {
	FIELD_TEXT,
	FIELD_NUMBER,
	FIELD_KNOWN, /* a number other than 0 */
	FIELD_CLOCK, /* seconds */
	FIELD_CLOCK_MS,
	FIELD_KIB,
	FIELD_RESOURCES, /* in the syntax of -l: each part is a field */
};

/* PBS names of the history's members, in the order of PBS. */
static const struct {
	const char *key;
	enum field_kind kind;
	size_t at;
	const char *types; /* types of records that have it */
} fields[] = {
#define AT(member) offsetof(struct record, member)
	{"requestor", FIELD_TEXT, AT(requestor), "DRC"},
	{"user", FIELD_TEXT, AT(job.user), "SE"},
	{"group", FIELD_TEXT, AT(job.group), "SE"},
	{"account", FIELD_TEXT, AT(job.account), "SE"},
	{"project", FIELD_TEXT, AT(job.project), "SE"},
	{"qos", FIELD_TEXT, AT(job.qos), "SE"},
	{"jobname", FIELD_TEXT, AT(job.name), "SE"},
	{"queue", FIELD_TEXT, AT(job.queue), "QSE"},
	{"ctime", FIELD_KNOWN, AT(job.submitted), "SE"},
	{"qtime", FIELD_KNOWN, AT(job.submitted), "SE"},
	{"etime", FIELD_KNOWN, AT(job.submitted), "SE"},
	{"start", FIELD_KNOWN, AT(job.started), "SE"},
	{"owner", FIELD_TEXT, AT(owner), "SE"},
	{"exec_host", FIELD_TEXT, AT(job.hosts), "SE"},
	{"Resource_List.ncpus", FIELD_NUMBER, AT(job.cpus), "SE"},
	{"Resource_List.nodect", FIELD_NUMBER, AT(job.nodes), "SE"},
	{"Resource_List.", FIELD_RESOURCES, AT(job.resources), "SE"},
	{"Resource_List.walltime", FIELD_CLOCK, AT(job.walltime), "SE"},
	{"session", FIELD_KNOWN, AT(session), "E"},
	{"end", FIELD_KNOWN, AT(job.ended), "E"},
	{"Exit_status", FIELD_NUMBER, AT(job.exit_status), "E"},
	{"resources_used.cput", FIELD_CLOCK_MS, AT(job.cpu_ms), "E"},
	{"resources_used.mem", FIELD_KIB, AT(job.peak_kib), "E"},
	{"resources_used.walltime", FIELD_CLOCK_MS, AT(job.ran_ms), "E"},
	{"reason", FIELD_TEXT, AT(job.text), "DAR"},
#undef AT
};

static bool value_plain(const char *value)
{
	const char *p = value;

	while (*p > ' ' && *p < 0x7f && *p != '"' && *p != '\\')
		p++;
	return !*p || (!strpbrk(p, " \"\\") && text_is_clean(value, strlen(value), TEXT_LINE));
}

static void value_add(struct strbuf *out, const char *value)
{
	int32_t c;

	if (value_plain(value)) {
		strbuf_puts(out, value);
		return;
	}
	strbuf_puts(out, "\"");
	for (int n; (n = utf8_next(value, &c)) > 0; value += n) {
		if (c == '"' || c == '\\')
			strbuf_printf(out, "\\%c", (char)c);
		else if (c == '\n' || c == '\t')
			text_escape(out, c);
		else if (c >= 0 && !text_harmful(c))
			strbuf_add(out, value, (size_t)n);
		else
			/* byte by byte, so that reading it back gives the same bytes */
			for (int i = 0; i < n; i++)
				strbuf_printf(out, "\\x%02x", (unsigned char)value[i]);
	}
	strbuf_puts(out, "\"");
}

/* Writes "nodes=2:ppn=4,mem=8gb" as Resource_List.nodes=2:ppn=4 Resource_List.mem=8gb; the
 * walltime has its own field. */
static void resources_add(struct strbuf *out, const char *text)
{
	char *copy = mem_strdup(text), *rest = copy, *part;

	while ((part = strsep(&rest, ","))) {
		char *value = strchr(part, '=');
		if (!value || strncmp(part, "walltime=", 9) == 0)
			continue;
		*value++ = '\0';
		strbuf_puts(out, " Resource_List.");
		strbuf_puts(out, part);
		strbuf_char(out, '=');
		value_add(out, value);
	}
	free(copy);
}

static void key_add(struct strbuf *out, const char *key)
{
	strbuf_char(out, ' ');
	strbuf_puts(out, key);
	strbuf_char(out, '=');
}

static void field_add(struct strbuf *out, const char *key, enum field_kind kind, const void *at)
{
	char clock[32];

	if (kind == FIELD_TEXT || kind == FIELD_RESOURCES) {
		const char *text = *(const char *const *)at;
		if (!text || !*text)
			return;
		if (kind == FIELD_RESOURCES) {
			resources_add(out, text);
			return;
		}
		key_add(out, key);
		value_add(out, text);
		return;
	}
	int64_t n = *(const int64_t *)at;
	if (kind == FIELD_KNOWN && n == 0)
		return;
	key_add(out, key);
	if (kind == FIELD_CLOCK || kind == FIELD_CLOCK_MS)
		strbuf_puts(out, duration_format(kind == FIELD_CLOCK ? n : n / 1000, clock, sizeof clock));
	else
		strbuf_int(out, n);
	if (kind == FIELD_KIB)
		strbuf_puts(out, "kb");
}

/* Writes `n` digits and the character after them. */
static char *digits(char *p, int n, int value, char after)
{
	for (int i = n; i-- > 0; value /= 10)
		p[i] = (char)('0' + value % 10);
	p[n] = after;
	return p + n + 1;
}

/* Avoids printf and a separate buffer, since every job writes several records. */
void record_format(const struct record *r, struct strbuf *out)
{
	time_t t = (time_t)r->time;
	struct tm tm = {0};
	char when[32], *p = when;

	localtime_r(&t, &tm); /* strftime would check the time zone file each time */
	p = digits(p, 2, tm.tm_mon + 1, '/');
	p = digits(p, 2, tm.tm_mday, '/');
	p = digits(p, 4, tm.tm_year > 8099 ? 9999 : tm.tm_year < -1900 ? 0 : tm.tm_year + 1900, ' ');
	p = digits(p, 2, tm.tm_hour, ':');
	p = digits(p, 2, tm.tm_min, ':');
	p = digits(p, 2, tm.tm_sec, ';');
	*p++ = r->type;
	*p++ = ';';
	strbuf_add(out, when, (size_t)(p - when));
	strbuf_puts(out, r->id);
	strbuf_puts(out, ";");

	size_t at = out->n;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strchr(fields[i].types, r->type))
			field_add(out, fields[i].key, fields[i].kind, (const char *)r + fields[i].at);
	if (out->n > at) /* remove the space before the first field */
		memmove(out->text + at, out->text + at + 1, out->n-- - at);
	strbuf_puts(out, "\n");
}
