/*
 * table.c - tables for terminals.
 *
 * Cells are stored row by row in one list and their texts in one buffer, because a list of a
 * hundred thousand jobs has half a million cells. A rule is a row without cells. Each column is as
 * wide as its widest cell; printing cuts it to the terminal.
 */
#include "base/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/vec.h"

#define GAP 2	    /* blanks between columns */
#define NARROWEST 3 /* minimum width to which a column is cut */
#define AT_ONCE (1 << 16)

/* Order in which columns are cut. */
enum rank { RANK_FIRST, RANK_TEXT, RANK_LAST, RANK_NUMBER, RANK_END };

/* Width that a column keeps while others can still be cut. */
static const int readable[RANK_END] = {[RANK_FIRST] = 8, [RANK_TEXT] = 7, [RANK_LAST] = 12, [RANK_NUMBER] = 1 << 20};

struct column {
	char *title;
	bool right;
	enum rank rank;
	bool (*style)(FILE *out, const char *text);
};

/* The texts of the cells follow each other, each with a NUL. */
struct cell {
	uint32_t length;
	int width; /* columns on the terminal */
};

struct table {
	struct column *column;
	int n;
	struct strbuf text;
	VEC(struct cell) cells;
	VEC(size_t) rules; /* numbers of the rows that have a rule before them */
};

struct table *table_create(const char *const *columns, int ncolumns)
{
	assert(ncolumns > 0);

	struct table *t = mem_zalloc(sizeof *t);
	t->n = ncolumns;
	t->column = mem_zalloc((size_t)ncolumns * sizeof *t->column);
	for (int i = 0; i < ncolumns; i++) {
		struct column *c = &t->column[i];
		const char *word = columns[i];
		bool first = false, last = false;
		bool whole = false;
		for (; *word && strchr(">~!=", *word); word++) {
			c->right |= *word == '>';
			first |= *word == '~';
			last |= *word == '!';
			whole |= *word == '=';
		}
		c->rank = first ? RANK_FIRST : last ? RANK_LAST : c->right || whole ? RANK_NUMBER : RANK_TEXT;
		c->title = mem_strdup(word);
	}
	return t;
}

void table_destroy(struct table *t)
{
	if (!t)
		return;
	for (int i = 0; i < t->n; i++)
		free(t->column[i].title);
	strbuf_fini(&t->text);
	free(t->column);
	vec_free(&t->cells);
	vec_free(&t->rules);
	free(t);
}

/* Adds a cell of printable ASCII, which is as wide as it is long and needs no cleaning. Returns
 * false for other text. */
static bool plain_cell(struct table *t, const char *text)
{
	size_t n = 0;

	while (text[n] >= ' ' && text[n] < 0x7f)
		n++;
	if (text[n])
		return false;
	vec_push(&t->cells, (struct cell){.length = (uint32_t)n, .width = (int)n});
	strbuf_add(&t->text, text, n + 1);
	return true;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	struct strbuf cell = {0};
	size_t at = t->text.n;
	struct cell x;
	va_list ap;

	va_start(ap, fmt);
	if (fmt[0] == '%' && fmt[1] == 's' && !fmt[2]) { /* the most common format */
		const char *text = va_arg(ap, const char *);
		if (plain_cell(t, text)) {
			va_end(ap);
			return;
		}
		text_clean(&t->text, text, strlen(text), TEXT_LINE);
	} else {
		strbuf_vprintf(&cell, fmt, ap);
		text_clean(&t->text, cell.text, cell.n, TEXT_LINE);
	}
	va_end(ap);
	x.length = (uint32_t)(t->text.n - at);
	strbuf_add(&t->text, "", 1);
	x.width = utf8_width(t->text.text + at);
	vec_push(&t->cells, x);
	strbuf_fini(&cell);
}

void table_rule(struct table *t)
{
	assert(t->cells.n % (size_t)t->n == 0);
	vec_push(&t->rules, t->cells.n / (size_t)t->n);
}

static int terminal_width(FILE *out)
{
	struct winsize ws;
	const char *env = getenv("COLUMNS");
	/* commands replace stdout with a stream that has no descriptor */
	int fd = out == stdout ? STDOUT_FILENO : fileno(out);

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	return env && atoi(env) > 0 ? atoi(env) : 80;
}

/* Narrows the widest column of each rank until the table fits, rank by rank: first to a readable
 * width, then further. */
static void widths_cut(const struct table *t, int *width, int limit)
{
	int total = GAP * (t->n - 1);

	for (int i = 0; i < t->n; i++)
		total += width[i];
	for (int pass = 0; pass < 2; pass++) {
		for (enum rank rank = RANK_FIRST; rank < RANK_END; rank++) {
			int floor = pass == 0 ? readable[rank] : NARROWEST;
			while (total > limit) {
				int widest = -1;
				for (int i = 0; i < t->n; i++)
					if (t->column[i].rank == rank && width[i] > floor &&
					    (widest < 0 || width[i] > width[widest]))
						widest = i;
				if (widest < 0)
					break;
				width[widest]--;
				total--;
			}
		}
	}
}

static int *widths_find(const struct table *t, int limit)
{
	int *width = mem_zalloc((size_t)t->n * sizeof *width);

	for (int i = 0; i < t->n; i++)
		width[i] = utf8_width(t->column[i].title);
	for (size_t k = 0; k < t->cells.n;)
		for (int i = 0; i < t->n && k < t->cells.n; i++, k++)
			if (t->cells.v[k].width > width[i])
				width[i] = t->cells.v[k].width;
	if (limit > 0)
		widths_cut(t, width, limit);
	return width;
}

/* Appends as much of `s` as fits with an ellipsis. */
static void cut_add(struct strbuf *line, const char *s, int width)
{
	int32_t c;
	int used = 0;

	for (int n; (n = utf8_next(s, &c)) > 0 && used + utf8_columns(c) < width; s += n) {
		strbuf_add(line, s, (size_t)n);
		used += utf8_columns(c);
	}
	strbuf_puts(line, "…");
	strbuf_blanks(line, width - used - 1);
}

/* Output buffer: many lines are written at once. */
struct paper {
	struct strbuf text;
	size_t line; /* offset of the current line */
	int blanks;  /* pending blanks, written only if something follows on the line */
	FILE *out;
};

/* Appends a cell; `own` is its width. */
static void cell_add(struct paper *p, const char *s, size_t n, int own, int width, bool right)
{
	int room = width > own ? width - own : 0;

	strbuf_blanks(&p->text, p->blanks + (right ? room : 0));
	p->blanks = GAP + (right ? 0 : room);
	if (own > width)
		cut_add(&p->text, s, width);
	else
		strbuf_add(&p->text, s, n);
}

static void paper_write(struct paper *p)
{
	fwrite(strbuf_text(&p->text), 1, p->text.n, p->out);
	strbuf_clear(&p->text);
	p->line = 0;
}

static void line_end(struct paper *p)
{
	while (p->text.n > p->line && p->text.text[p->text.n - 1] == ' ')
		p->text.n--;
	strbuf_add(&p->text, "\n", 1);
	p->line = p->text.n;
	p->blanks = 0;
	if (p->text.n >= AT_ONCE)
		paper_write(p);
}

static void rule_print(const struct table *t, const int *width, struct paper *p)
{
	for (int i = 0; i < t->n; i++) {
		strbuf_blanks(&p->text, i ? GAP : 0);
		for (int k = 0; k < width[i]; k++)
			strbuf_puts(&p->text, "-");
	}
	line_end(p);
}

/* Prints a row, and moves *text past the texts of its cells. */
static void row_print(const struct table *t, const int *width, size_t row, const char **text, struct paper *p)
{
	const struct cell *cell = &t->cells.v[row * (size_t)t->n], *end = t->cells.v + t->cells.n;

	for (int i = 0; i < t->n && cell < end; i++, cell++) {
		bool (*style)(FILE *, const char *) = t->column[i].style;
		bool styled = false;
		if (style) {
			strbuf_blanks(&p->text, p->blanks);
			p->blanks = 0;
			paper_write(p);
			styled = style(p->out, *text);
		}
		cell_add(p, *text, cell->length, cell->width, width[i], t->column[i].right);
		if (styled) {
			paper_write(p);
			style(p->out, NULL);
		}
		*text += cell->length + 1;
	}
	line_end(p);
}

void table_percent(struct table *t, int64_t part, int64_t whole)
{
	if (whole > 0)
		table_cell(t, "%.0f%%", 100.0 * (double)part / (double)whole);
	else
		table_cell(t, "-");
}

void table_style(struct table *t, const char *heading, bool (*style)(FILE *out, const char *text))
{
	for (int i = 0; i < t->n; i++)
		if (strcmp(t->column[i].title, heading) == 0)
			t->column[i].style = style;
}

void table_print(const struct table *t, FILE *out, int width)
{
	int *w = widths_find(t, width ? width : terminal_width(out));
	size_t rows = (t->cells.n + (size_t)t->n - 1) / (size_t)t->n, rule = 0;
	struct paper paper = {.out = out};
	const char *text = t->text.text;

	for (int i = 0; i < t->n; i++)
		cell_add(&paper, t->column[i].title, strlen(t->column[i].title), utf8_width(t->column[i].title), w[i],
			 t->column[i].right);
	line_end(&paper);
	for (size_t row = 0; row <= rows; row++) {
		for (; rule < t->rules.n && t->rules.v[rule] == row; rule++)
			rule_print(t, w, &paper);
		if (row < rows)
			row_print(t, w, row, &text, &paper);
	}
	paper_write(&paper);
	strbuf_fini(&paper.text);
	free(w);
}
