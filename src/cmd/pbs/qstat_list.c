/*
 * qstat_list.c - lists of jobs, one line each: plain, and wider with -a.
 *
 * A list may have tens of thousands of lines, so it is read as tab-separated text and written
 * through one buffer.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/timetext.h"
#include "base/utf8.h"
#include "cmd/pbs/qstat.h"
#include "core/reqtext.h"

#define NAME_WIDTH 16
#define NODES_WIDTH 77
#define BUFFER (1 << 20)

enum { FIELD_ID, FIELD_NAME, FIELD_OWNER, FIELD_STATE, FIELD_QUEUE, FIELD_USED, PLAIN_FIELDS };
static const char plain_fields[] = "id,name,owner,state,queue,used";
enum {
	FIELD_SESSION = PLAIN_FIELDS,
	FIELD_NODECT,
	FIELD_CPUS,
	FIELD_MEMORY,
	FIELD_WALLTIME,
	FIELD_HOSTS,
	FIELD_COMMENT,
	FIELD_PLANNED,
	FIELD_MADE, /* -T only */
	WIDE_FIELDS
};
#define WIDE "id,name,owner,state,queue,used,session,nodect,cpus,memory,walltime,exec_host,comment,"
static const char wide_fields[] = WIDE "planned_start";
/* The server has to compute these. */
static const char estimate_fields[] = WIDE "expected_start,expected_made";

struct list {
	struct qstat *q;
	struct strbuf out;
	bool wide;     /* the list of -a */
	bool terminal; /* the output is a terminal */
	int64_t rows, of_operand;
	int64_t made; /* time of the oldest forecast shown; 0: none */
};

static void list_flush(struct list *l)
{
	fwrite(strbuf_text(&l->out), 1, l->out.n, stdout);
	strbuf_clear(&l->out);
}

/* Appends text in `width` columns: cut, or padded with blanks (on the left if negative), and a
 * blank after it. */
static void column_add(struct strbuf *out, const char *text, int width)
{
	static const char blanks[] = "                                        ";
	int most = abs(width), used = 0;
	size_t n = 0;
	int32_t c;

	/* most texts are plain ASCII */
	for (; used < most && text[n] >= ' ' && text[n] < 0x7f; n++)
		used++;
	for (int k; (k = utf8_next(text + n, &c)) > 0 && used + 1 <= most; n += (size_t)k)
		used += utf8_columns(c);
	if (width < 0)
		strbuf_add(out, blanks, (size_t)(most > used ? most - used : 0));
	strbuf_add(out, text, n);
	if (width > 0)
		strbuf_add(out, blanks, (size_t)(most > used ? most - used : 0));
	strbuf_puts(out, " ");
}

/* Returns a number of {"cput":12,...}; -1: missing. */
static int64_t used_find(const char *cell, const char *key)
{
	char quoted[40];

	if (!*cell)
		return -1;
	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	const char *at = strstr(cell, quoted);
	if (!at)
		return -1;
	at += strlen(quoted);
	return strncmp(at + strspn(at, " "), "null", 4) == 0 ? -1 : (int64_t)strtod(at, NULL);
}

/* Cuts the beginning of a long name: its end says more. */
static const char *name_cut(const char *name, char buf[NAME_WIDTH + 1])
{
	size_t n = strlen(name);

	if (n <= NAME_WIDTH)
		return name;
	const char *tail = name + n - (NAME_WIDTH - 3);
	while ((*tail & 0xc0) == 0x80)
		tail++;
	snprintf(buf, NAME_WIDTH + 1, "...%s", tail);
	return buf;
}

/* Ends a line: on a terminal without trailing blanks, which would wrap at 80 columns; programs get
 * them as from TORQUE. */
static void line_end(struct strbuf *out, bool terminal)
{
	out->n--;
	while (terminal && out->n > 0 && out->text[out->n - 1] == ' ')
		out->n--;
	strbuf_puts(out, "\n");
}

static void plain_row(struct list *l, char *const *cell)
{
	bool wide = l->q->a->wide;
	char name[NAME_WIDTH + 1], buf[40];
	int64_t cput = used_find(cell[FIELD_USED], "cput");

	if (l->rows == 0 && wide)
		strbuf_puts(
			&l->out,
			"Job ID                         Name                                     User            Time Use S Queue\n"
			"------------------------------ ---------------------------------------- --------------- -------- - -----\n");
	else if (l->rows == 0)
		strbuf_puts(&l->out, "Job ID                    Name             User            Time Use S Queue\n"
				     "------------------------- ---------------- --------------- -------- - -----\n");
	column_add(&l->out, cell[FIELD_ID], wide ? 30 : 25);
	column_add(&l->out, wide ? cell[FIELD_NAME] : name_cut(cell[FIELD_NAME], name), wide ? 40 : NAME_WIDTH);
	column_add(&l->out, cell[FIELD_OWNER], 15);
	column_add(&l->out, cput > 0 ? duration_format(cput, buf, sizeof buf) : "0", -8);
	column_add(&l->out, cell[FIELD_STATE], 1);
	column_add(&l->out, cell[FIELD_QUEUE], 15);
	line_end(&l->out, l->terminal);
}

/* Formats memory for -G and -M, rounded up. */
static const char *memory_text(const struct qstat_arguments *a, const char *cell, char *buf, size_t size)
{
	int64_t kib = strtoll(cell, NULL, 10);

	if (kib <= 0)
		return " -- ";
	if (a->giga)
		snprintf(buf, size, "%" PRId64 "gb", (kib + (1 << 20) - 1) >> 20);
	else if (a->mega)
		snprintf(buf, size, "%" PRId64 "mw", (kib + (1 << 13) - 1) >> 13);
	else
		memory_format(kib, buf, size);
	return buf;
}

/* Takes the server's name from its jobs: it cannot be asked during an answer. */
static void wide_heading(struct list *l, const char *id)
{
	const struct qstat_arguments *a = l->q->a;
	const char *dot = strchr(id, '.');

	strbuf_printf(&l->out, "\n%s: \n", dot ? dot + 1 : "");
	if (a->wide)
		strbuf_printf(
			&l->out,
			"%102sReq'd     Req'd       %s\n"
			"Job ID                         Username        Queue           Jobname         SessID   NDS  TSK   "
			"Memory    Time      S Time\n"
			"------------------------------ --------------- --------------- --------------- -------- ---- ----- "
			"--------- --------- - ---------\n",
			"", a->estimate ? "Start" : "Elap");
	else
		strbuf_printf(&l->out,
			      "%60sReq'd  Req'd   %s\n"
			      "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
			      "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n",
			      "", a->estimate ? "Est" : "Elap");
}

/* Appends nodes without their domains, broken at '+'. */
static void nodes_add(struct strbuf *out, const char *hosts, bool one_line)
{
	int column = 0;

	strbuf_puts(out, "   ");
	for (const char *p = hosts; *p;) {
		int n = (int)strcspn(p, "+"), name = (int)strcspn(p, ".+"), rest = 0;
		const char *slash = memchr(p, '/', (size_t)n);
		if (slash && slash > p + name)
			rest = n - (int)(slash - p);
		else
			name = n;
		if (!one_line && column > 0 && column + name + rest + 1 > NODES_WIDTH) {
			strbuf_puts(out, "\n   ");
			column = 0;
		}
		strbuf_printf(out, "%s%.*s%.*s", p > hosts ? "+" : "", name, p, rest, slash ? slash : "");
		column += name + rest + 1;
		p += n;
		p += *p == '+';
	}
	strbuf_puts(out, *hosts ? "" : "-- ");
}

/* Formats a duration as PBS Pro does: HH:MM unless there is room. */
static const char *duration_text(const struct qstat_arguments *a, int64_t seconds, char *buf, size_t size)
{
	if (a->wide)
		return duration_format(seconds, buf, size);
	if (seconds < 100 * 3600)
		snprintf(buf, size, "%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60));
	else
		snprintf(buf, size, "%lldh", (long long)(seconds / 3600));
	return buf;
}

/* Formats a start: "14:05" today, "Wed14" (the hour) within a week, else "Nov20". */
static const char *start_text(const struct qstat_arguments *a, int64_t start, int64_t now, char *buf, size_t size)
{
	time_t t = (time_t)start;
	struct tm tm;

	instant_near(start, now, buf, size);
	if (!a->wide && strlen(buf) > 5 && localtime_r(&t, &tm))
		strftime(buf, size, start - now < 6 * 86400 ? "%a%H" : "%b%d", &tm);
	return buf;
}

static const char *elapsed_text(struct list *l, char *const *cell, char *buf, size_t size)
{
	int64_t used = used_find(cell[FIELD_USED], "walltime");

	if (l->q->a->estimate) {
		int64_t planned = strtoll(cell[FIELD_PLANNED], NULL, 10), made = strtoll(cell[FIELD_MADE], NULL, 10);
		if (made > 0 && (l->made == 0 || made < l->made))
			l->made = made;
		return planned > 0 ? start_text(l->q->a, planned, (int64_t)time(NULL), buf, size) : " -- ";
	}
	return used > 0 || cell[FIELD_STATE][0] == 'R' ? duration_text(l->q->a, used > 0 ? used : 0, buf, size)
						       : " -- ";
}

static void wide_row(struct list *l, char *const *cell)
{
	static const int narrow[] = {15, 8, 8, 10, -6, -3, -3, -6, -5}, widths[] = {30, 15, 15, 15, -8, -4, -5, -9, -9};
	const struct qstat_arguments *a = l->q->a;
	const int *width = a->wide ? widths : narrow;
	char memory[40], walltime[40], elapsed[40];
	struct strbuf *out = &l->out;

	if (l->rows == 0)
		wide_heading(l, cell[FIELD_ID]);
	column_add(out, cell[FIELD_ID], width[0]);
	column_add(out, cell[FIELD_OWNER], width[1]);
	column_add(out, cell[FIELD_QUEUE], width[2]);
	column_add(out, cell[FIELD_NAME], width[3]);
	column_add(out, *cell[FIELD_SESSION] ? cell[FIELD_SESSION] : " -- ", width[4]);
	column_add(out, *cell[FIELD_NODECT] ? cell[FIELD_NODECT] : " -- ", width[5]);
	column_add(out, *cell[FIELD_CPUS] ? cell[FIELD_CPUS] : " -- ", width[6]);
	column_add(out, memory_text(a, cell[FIELD_MEMORY], memory, sizeof memory), width[7]);
	int64_t limit = strtoll(cell[FIELD_WALLTIME], NULL, 10);
	column_add(out, *cell[FIELD_WALLTIME] ? duration_text(a, limit, walltime, sizeof walltime) : " -- ", width[8]);
	column_add(out, cell[FIELD_STATE], 1);
	column_add(out, elapsed_text(l, cell, elapsed, sizeof elapsed), a->wide ? -9 : -5);
	out->text[--out->n] = '\0';
	if (a->nodes) {
		strbuf_puts(out, a->one_line ? "" : "\n");
		nodes_add(out, cell[FIELD_HOSTS], a->one_line);
	}
	if (a->comments && (*cell[FIELD_COMMENT] || !a->one_line))
		strbuf_printf(out, "%s   %s", a->one_line ? "" : "\n",
			      *cell[FIELD_COMMENT] ? cell[FIELD_COMMENT] : "--");
	strbuf_puts(out, "\n");
}

static void row(void *context, char *const *cell)
{
	struct list *l = context;
	const struct qstat_arguments *a = l->q->a;

	l->of_operand++;
	if (a->arrays && !strchr(cell[FIELD_ID], '['))
		return;
	if (a->history && *cell[FIELD_STATE] == 'C')
		*cell[FIELD_STATE] = 'F'; /* PBS Pro's letter for its own option */
	if (l->wide)
		wide_row(l, cell);
	else
		plain_row(l, cell);
	l->rows++;
	if (l->out.n > BUFFER)
		list_flush(l);
}

static int columns_of(const struct list *l)
{
	return !l->wide ? PLAIN_FIELDS : l->q->a->estimate ? WIDE_FIELDS : FIELD_MADE;
}

static const char *fields_of(const struct list *l)
{
	return !l->wide ? plain_fields : l->q->a->estimate ? estimate_fields : wide_fields;
}

static char *cell_make(const json_t *value)
{
	if (json_is_string(value))
		return mem_strdup(value_text(value));
	return value && !json_is_null(value) ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : mem_strdup("");
}

/* Prints a job of the history as a row of cells. */
static void past_row(void *context, const json_t *job)
{
	struct list *l = context;
	char *keys = mem_strdup(fields_of(l)), *rest = keys, *key, *cell[WIDE_FIELDS] = {0};
	int n = 0;

	while (n < columns_of(l) && (key = strsep(&rest, ",")))
		cell[n++] = cell_make(json_object_get(job, key));
	row(l, cell);
	while (n > 0)
		free(cell[--n]);
	free(keys);
}

static void list_read(struct list *l, const char *operand)
{
	bool past = qstat_wants_past(l->q), id = operand && qstat_is_job(operand);
	struct strbuf path = {0};
	struct err err;

	qstat_path(l->q, operand, &path);
	query_add(&path, "fields", fields_of(l));
	l->of_operand = 0;
	if (past && !id)
		qstat_past(l->q, operand, past_row, l);
	bool read = tsv_read(l->q->client, path.text, columns_of(l), row, l, &err) == 0;
	if (!read)
		qstat_failed(l->q, operand, &err);
	if (read && past && id && l->of_operand == 0)
		qstat_past(l->q, operand, past_row, l);
	if (read && operand && l->of_operand == 0)
		qstat_empty(l->q, operand);
	strbuf_fini(&path);
}

static void made_print(struct list *l)
{
	int64_t now = (int64_t)time(NULL);
	char age[40];

	if (l->made > 0 && now - l->made >= FORECAST_OLD)
		strbuf_printf(&l->out, "Expected starts are as of %s ago.\n",
			      duration_human(now - l->made, age, sizeof age));
}

void qstat_list(struct qstat *q)
{
	const struct qstat_arguments *a = q->a;
	struct list l = {.q = q,
			 .terminal = terminal_columns() > 0,
			 .wide = a->all || a->nodes || a->comments || a->running || a->idle || a->estimate || a->user ||
				 a->giga || a->mega};

	for (int i = 0; i < q->operands->n; i++)
		list_read(&l, q->operands->v[i]);
	if (q->operands->n == 0)
		list_read(&l, NULL);
	made_print(&l);
	list_flush(&l);
	strbuf_fini(&l.out);
}
