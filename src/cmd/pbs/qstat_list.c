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

#include "base/timetext.h"
#include "cmd/lib/joblist.h"
#include "cmd/pbs/qstat.h"

#define NODES_WIDTH 77
#define BUFFER (1 << 20)
#define COLUMNS_MOST 12

/* Widths of columns; negative: aligned right. */
static const int plain[COLUMNS_MOST] = {25, 16, 15, -8, 1, 15, 23},
		 plain_wide[COLUMNS_MOST] = {30, 40, 15, -8, 1, 15, 23},
		 all[COLUMNS_MOST] = {15, 8, 8, 10, -6, -3, -3, -6, -5, 1, -5, 23},
		 all_wide[COLUMNS_MOST] = {30, 15, 15, 15, -8, -4, -5, -9, -9, 1, -9, 23};

struct list {
	struct qstat *q;
	struct joblist jobs;
	const int *width;
	int id, state, hosts, comment, made; /* cells */
	struct strbuf out;
	bool wide;     /* the list of -a */
	bool terminal; /* the output is a terminal */
	int64_t rows, of_operand;
	int64_t forecast; /* time of the oldest forecast shown; 0: none */
};

static void list_flush(struct list *l)
{
	fwrite(strbuf_text(&l->out), 1, l->out.n, stdout);
	strbuf_clear(&l->out);
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

/* Appends the headings and a rule below them. */
static void heading_add(struct list *l)
{
	const struct joblist_column *c = l->jobs.columns.v;

	for (int i = 0; *c[i].heading; i++)
		column_add(&l->out, c[i].heading, abs(l->width[i]));
	line_end(&l->out, true);
	for (int i = 0; *c[i].heading; i++) {
		/* the last column of texts has no end */
		bool open = !*c[i + 1].heading && l->width[i] > 0;
		for (int k = open ? (int)strlen(c[i].heading) : abs(l->width[i]); k > 0; k--)
			strbuf_puts(&l->out, "-");
		strbuf_puts(&l->out, " ");
	}
	line_end(&l->out, true);
}

/* Takes the server's name from its jobs: it cannot be asked during an answer. */
static void wide_heading(struct list *l, const char *id)
{
	const struct qstat_arguments *a = l->q->a;
	const char *dot = strchr(id, '.');

	strbuf_printf(&l->out, "\n%s: \n", dot ? dot + 1 : "");
	if (a->wide)
		strbuf_printf(&l->out, "%102sReq'd     Req'd       %s\n", "", a->estimate ? "Start" : "Elap");
	else
		strbuf_printf(&l->out, "%60sReq'd  Req'd   %s\n", "", a->estimate ? "Est" : "Elap");
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

/* Appends nodes and comment, on lines of their own unless -1. */
static void more_add(struct list *l, char *const *cell)
{
	const struct qstat_arguments *a = l->q->a;

	if (a->nodes) {
		strbuf_puts(&l->out, a->one_line ? "" : "\n");
		nodes_add(&l->out, cell[l->hosts], a->one_line);
	}
	if (a->comments && (*cell[l->comment] || !a->one_line))
		strbuf_printf(&l->out, "%s   %s", a->one_line ? "" : "\n", *cell[l->comment] ? cell[l->comment] : "--");
}

static void row(void *context, char **cell)
{
	struct list *l = context;
	const struct qstat_arguments *a = l->q->a;

	l->of_operand++;
	if (a->arrays && !strchr(cell[l->id], '['))
		return;
	if (a->history && *cell[l->state] == 'C')
		*cell[l->state] = 'F'; /* PBS Pro's letter for its own option */
	if (l->rows == 0 && l->wide)
		wide_heading(l, cell[l->id]);
	if (l->rows++ == 0)
		heading_add(l);
	for (int i = 0; *l->jobs.columns.v[i].heading; i++)
		column_add(&l->out, joblist_text(&l->jobs, i, cell), l->width[i]);
	if (l->wide) {
		l->out.text[--l->out.n] = '\0';
		more_add(l, cell);
		strbuf_puts(&l->out, "\n");
	} else {
		line_end(&l->out, l->terminal);
	}
	int64_t made = a->estimate ? cell_number(cell[l->made]) : 0;
	if (made > 0 && (l->forecast == 0 || made < l->forecast))
		l->forecast = made;
	if (l->out.n > BUFFER)
		list_flush(l);
}

static void past_row(void *context, const json_t *job)
{
	joblist_object(&((struct list *)context)->jobs, job);
}

/* Requests what the list needs; the server has to compute expected starts. */
static void list_init(struct list *l, struct qstat *q)
{
	const struct qstat_arguments *a = q->a;
	struct strbuf columns = {0};

	*l = (struct list){.q = q,
			   .jobs = {.row = row, .context = l},
			   .terminal = terminal_columns() > 0,
			   .wide = a->all || a->nodes || a->comments || a->running || a->idle || a->estimate ||
				   a->user || a->giga || a->mega};
	l->width = l->wide ? (a->wide ? all_wide : all) : a->wide ? plain_wide : plain;
	if (l->wide)
		strbuf_printf(&columns,
			      "Job_ID:id Username:owner Queue:queue Jobname:name SessID:session?_--_ NDS:nodect?_--_ "
			      "TSK:cpus?_--_ Memory:memory_%s?_--_ Time:limit%s?_--_ S:state Time:%s%s?_--_",
			      a->giga	? "gb"
			      : a->mega ? "mw"
			      : a->wide ? "text"
					: "tight",
			      a->wide ? "" : "_tight", a->estimate ? "expected" : "elapsed", a->wide ? "" : "_tight");
	else
		strbuf_printf(&columns, "Job_ID:id Name:%s User:owner Time_Use:cpu_time S:state Queue:queue",
			      a->wide ? "name" : "pbs_name");
	if (a->x || a->history)
		strbuf_puts(&columns, " Outcome:ended?_--_");
	joblist_add(&l->jobs, columns.text);
	l->id = joblist_member(&l->jobs, "id");
	l->state = joblist_member(&l->jobs, "state");
	if (a->nodes)
		l->hosts = joblist_member(&l->jobs, "exec_host");
	if (a->comments)
		l->comment = joblist_member(&l->jobs, "comment");
	if (a->estimate)
		l->made = joblist_member(&l->jobs, "expected_made");
	strbuf_fini(&columns);
}

static void list_read(struct list *l, const char *operand)
{
	bool past = qstat_wants_past(l->q), id = operand && qstat_is_job(operand);
	struct strbuf path = {0};
	struct err err;

	qstat_path(l->q, operand, &path);
	l->of_operand = 0;
	if (past && !id)
		qstat_past(l->q, operand, past_row, l);
	bool read = joblist_read(&l->jobs, l->q->client, &path, &err) == 0;
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

	if (l->forecast > 0 && now - l->forecast >= FORECAST_OLD)
		strbuf_printf(&l->out, "Expected starts are as of %s ago.\n",
			      duration_human(now - l->forecast, age, sizeof age));
}

void qstat_list(struct qstat *q)
{
	struct list l;

	list_init(&l, q);
	for (int i = 0; i < q->operands->n; i++)
		list_read(&l, q->operands->v[i]);
	if (q->operands->n == 0)
		list_read(&l, NULL);
	if (l.rows == 0 && q->code == EXIT_OK)
		parties_warn(q->command, q->a->user, NULL);
	made_print(&l);
	list_flush(&l);
	joblist_fini(&l.jobs);
	strbuf_fini(&l.out);
}
