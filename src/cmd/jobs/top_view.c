/*
 * top_view.c - draws the screen of shunt-top.
 */
#include <curses.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/timetext.h"
#include "base/utf8.h"
#include "cmd/jobs/top.h"
#include "cmd/lib/palette.h"
#include "cmd/lib/show.h"

#define HEAD 3 /* lines above the list */
#define FOOT 1
#define BAR 24

enum { COLOUR_RUNNING = 1, COLOUR_WAITING, COLOUR_HELD, COLOUR_TROUBLE, COLOUR_BAR };

int top_height(void)
{
	int n = LINES - HEAD - FOOT;

	return n > 1 ? n : 1;
}

/* Draws text from column x on, cut at `width` columns. Everything on the screen passes through here
 * and is cleaned. */
static void put(int y, int x, int width, const char *text)
{
	struct strbuf clean = {0};
	int used = 0, n;
	int32_t c;

	if (width <= 0 || y < 0 || y >= LINES || x >= COLS)
		return;
	text_clean(&clean, text, strlen(text), TEXT_LINE);
	text = strbuf_text(&clean);
	if (x + width > COLS)
		width = COLS - x;
	move(y, x);
	int all = utf8_width(text);
	for (; (n = utf8_next(text, &c)) > 0; text += n) {
		int columns = utf8_columns(c);
		if (all > width && used + columns >= width) { /* the text is cut */
			addstr("…");
			break;
		}
		addnstr(text, n);
		used += columns;
	}
	strbuf_fini(&clean);
}

static void bar_draw(int y, int x, int width, int64_t used, int64_t all)
{
	int n = all > 0 ? (int)((used * width + all - 1) / all) : 0;

	mvaddch(y, x, '[');
	attron(COLOR_PAIR(COLOUR_BAR));
	for (int i = 0; i < width; i++)
		addch(i < n ? '|' : ' ');
	attroff(COLOR_PAIR(COLOUR_BAR));
	addch(']');
}

/* Draws name, bar, numbers and clock; leaves out what does not fit, the bar first. */
static void head_draw(const struct top *t)
{
	char line[512], clock[16], age[40];
	time_t now = time(NULL);
	struct tm tm;
	int x = 0, end = COLS - 9;

	localtime_r(&now, &tm);
	strftime(clock, sizeof clock, "%H:%M:%S", &tm);
	attron(A_BOLD);
	snprintf(line, sizeof line, "Shunt %s", t->server);
	put(0, 0, COLS < 80 ? 14 : 24, line);
	attroff(A_BOLD);
	x = COLS < 80 ? 15 : 25;
	snprintf(line, sizeof line,
		 COLS < 72 ? "%" PRId64 "/%" PRId64 " CPUs, %" PRId64 " run, %" PRId64 " wait"
			   : "%" PRId64 " of %" PRId64 " CPUs, %" PRId64 " running, %" PRId64 " waiting",
		 t->cpus_used, t->cpus, t->running, t->waiting);
	int room = end - x - (int)strlen(line) - 4, bar = room > BAR ? BAR : room;
	if (bar >= 6) {
		bar_draw(0, x, bar, t->cpus_used, t->cpus);
		x += bar + 3;
	}
	put(0, x, end - x - 1, line);
	put(0, end + 1, 8, clock);
	if (t->trouble[0]) {
		attron(COLOR_PAIR(COLOUR_TROUBLE));
		put(1, 0, COLS, t->trouble);
		attroff(COLOR_PAIR(COLOUR_TROUBLE));
	} else if (t->filter[0] && t->view != VIEW_TEXT) {
		snprintf(line, sizeof line, "only lines with \"%s\" (/ changes it)", t->filter);
		put(1, 0, COLS, line);
	} else if (t->age >= FORECAST_OLD) {
		snprintf(line, sizeof line, "expected starts (~) are as of %s ago",
			 duration_human(t->age, age, sizeof age));
		put(1, 0, COLS, line);
	}
}

static void heading_draw(const char *text)
{
	attron(A_REVERSE);
	mvhline(HEAD - 1, 0, ' ', COLS);
	put(HEAD - 1, 0, COLS, text);
	attroff(A_REVERSE);
}

static int state_colour(char state)
{
	switch (state) {
	case 'R':
	case 'B':
	case 'E':
		return COLOUR_RUNNING;
	case 'H':
	case 'S':
		return COLOUR_HELD;
	case 'C':
		return 0;
	}
	return COLOUR_WAITING;
}

#define WHY_WIDTH 24 /* desired width; until then the others shrink, in the order of `gives` */

struct layout {
	int width[TOP_TIGHT];
};

static struct layout layout_find(void)
{
	/* A start on another day needs 10 columns: "~Mon 01:10". */
	static const int least[TOP_TIGHT] = {6, 8, 0, 9, 4, 0, 10, 0};
	static const int gives[] = {TOP_NAME, TOP_OWNER, TOP_ID, TOP_CPUS};
	struct layout l = {{9, 18, 10, 9, 5, 16, 10, 0}};
	int used = 0;

	for (int i = 0; i < TOP_WHY; i++)
		used += l.width[i] + 1;
	if (COLS < 96) { /* half a time would be useless */
		used -= l.width[TOP_TIME] - 8;
		l.width[TOP_TIME] = 8;
	}
	if (COLS < 72) {
		used -= 9;
		l.width[TOP_TIME] = 0;
	}
	for (size_t i = 0; i < sizeof gives / sizeof *gives; i++)
		while (COLS - used < WHY_WIDTH && l.width[gives[i]] > least[gives[i]]) {
			l.width[gives[i]]--;
			used -= l.width[gives[i]] ? 1 : 2; /* a removed column needs no gap */
		}
	l.width[TOP_WHY] = COLS - used;
	return l;
}

/* Draws the next text of a line. */
static void column_put(const struct layout *l, int column, int y, int *x, const char *text)
{
	if (l->width[column] <= 0)
		return;
	put(y, *x, l->width[column], text);
	*x += l->width[column] + 1;
}

static void job_draw(const struct top_job *j, int y, bool marked)
{
	struct layout l = layout_find();
	int x = 0;

	if (marked) {
		attron(A_REVERSE);
		mvhline(y, 0, ' ', COLS);
	}
	for (int i = 0; i < TOP_TIGHT; i++) {
		bool tight = i == TOP_TIME && l.width[i] <= 8;
		int colour = i == TOP_STATE ? COLOR_PAIR(state_colour(j->state)) : 0;
		attron(colour);
		column_put(&l, i, y, &x, j->text[tight ? TOP_TIGHT : i]);
		attroff(colour);
	}
	if (marked)
		attroff(A_REVERSE);
}

static void jobs_heading(void)
{
	static const char *const titles[TOP_TIGHT] = {"job", "name", "user", "state", "cpus", "time", "start", "why"};
	struct layout l = layout_find();
	int x = 0;

	attron(A_REVERSE);
	mvhline(HEAD - 1, 0, ' ', COLS);
	for (int i = 0; i < TOP_TIGHT; i++)
		column_put(&l, i, HEAD - 1, &x, titles[i]);
	attroff(A_REVERSE);
}

static void node_draw(const struct top_node *n, int y, bool marked)
{
	char line[256];

	if (marked) {
		attron(A_REVERSE);
		mvhline(y, 0, ' ', COLS);
	}
	put(y, 0, 19, n->name);
	put(y, 20, 9, n->state);
	snprintf(line, sizeof line, "%4" PRId64 "/%-4" PRId64, n->used, n->cpus);
	put(y, 30, 10, line);
	bar_draw(y, 41, BAR, n->used, n->cpus);
	snprintf(line, sizeof line, "%6.2f %5d", n->load, n->jobs);
	put(y, 41 + BAR + 3, 20, line);
	put(y, 41 + BAR + 18, COLS, n->note);
	if (marked)
		attroff(A_REVERSE);
}

int top_text_lines(const struct top *t)
{
	int n = 0;

	for (size_t i = 0; i < t->text.n; i++)
		n += t->text.text[i] == '\n';
	return n + (t->text.n > 0 && t->text.text[t->text.n - 1] != '\n');
}

/* Draws a text from its first visible line on; cuts long lines. */
static void text_draw(const struct top *t)
{
	const char *p = strbuf_text(&t->text);
	char line[1024];

	for (int i = 0; i < t->first && *p; i++) {
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	for (int y = HEAD; y < HEAD + top_height() && *p; y++) {
		size_t n = strcspn(p, "\n");
		snprintf(line, sizeof line, "%.*s", n < sizeof line ? (int)n : (int)sizeof line - 1, p);
		put(y, 0, COLS, line);
		p += n;
		p += *p == '\n';
	}
}

static void list_draw(const struct top *t)
{
	int n = t->view == VIEW_JOBS ? (int)t->jobs.n : (int)t->nodes.n;

	for (int i = t->first; i < n && i < t->first + top_height(); i++) {
		if (t->view == VIEW_JOBS)
			job_draw(&t->jobs.v[i], HEAD + i - t->first, i == t->at);
		else
			node_draw(&t->nodes.v[i], HEAD + i - t->first, i == t->at);
	}
	if (n == 0 && !t->trouble[0])
		put(HEAD + 1, 2, COLS,
		    t->filter[0]	   ? "Nothing fits the filter."
		    : t->view == VIEW_JOBS ? "No jobs to show."
					   : "No nodes to show.");
}

static void foot_draw(const struct top *t)
{
	static const char *const keys[] = {
		"q quit  ? help  o output  i details  w why  h hold/release  d delete  e elements  / filter  a finished  n nodes",
		"q back  / filter  ? help", "q back  arrows scroll  End follow"};

	if (t->message[0]) {
		attron(A_BOLD);
		put(LINES - 1, 0, COLS - 1, t->message);
		attroff(A_BOLD);
	} else {
		attron(A_DIM);
		put(LINES - 1, 0, COLS - 1, keys[t->view]);
		attroff(A_DIM);
	}
}

void top_draw(struct top *t)
{
	static bool coloured;

	if (!coloured && has_colors()) {
		bool rich;
		start_color();
		use_default_colors();
		rich = COLORS >= 256 && palette_wanted(STDOUT_FILENO);
		init_pair(COLOUR_RUNNING, rich ? PALETTE_RUNNING : -1, -1);
		init_pair(COLOUR_WAITING, -1, -1);
		init_pair(COLOUR_HELD, rich ? PALETTE_HELD : -1, -1);
		init_pair(COLOUR_TROUBLE, rich ? PALETTE_TROUBLE : -1, -1);
		init_pair(COLOUR_BAR, rich ? PALETTE_RUNNING : -1, -1);
	}
	coloured = true;
	erase();
	head_draw(t);
	if (t->view == VIEW_JOBS)
		jobs_heading();
	else if (t->view == VIEW_NODES)
		heading_draw("node                state          cpus  used                         load  jobs   note");
	else
		heading_draw(t->title);
	if (t->view == VIEW_TEXT)
		text_draw(t);
	else
		list_draw(t);
	foot_draw(t);
	refresh();
}
