/*
 * top.c - `shunt-top`, which `shunt top` starts: shows jobs and nodes live on the whole screen.
 *
 * It updates every second; if lists are so long that requests take a while, they use at most a
 * twentieth of the time.
 */
#include "cmd/jobs/top.h"

#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "base/ticks.h"
#include "cmd/lib/query.h"

#define TICK_MS 1000
#define SHARE 20
#define ESCAPE 27
#define TEXT_WIDTH 76 /* columns of a text that is easy to read */

static const char help[] = "Keys\n"
			   "\n"
			   "  arrows, Page Up, Page Down, Home, End    move\n"
			   "  Enter, o    what the marked job has printed, as it grows\n"
			   "  i           everything about it\n"
			   "  w           what it waits for\n"
			   "  h           hold it, or release it if it is held\n"
			   "  d           delete it (asks first)\n"
			   "  /           only lines that contain a text; an empty one shows all again\n"
			   "  a           include finished jobs\n"
			   "  e           elements of arrays one by one, or arrays again\n"
			   "  n           nodes, or jobs again\n"
			   "  Escape      back\n"
			   "  q           back; from the jobs: quit\n";

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = 1;
}

static int lines_of(const struct top *t)
{
	return t->view == VIEW_JOBS ? (int)t->jobs.n : t->view == VIEW_NODES ? (int)t->nodes.n : top_text_lines(t);
}

/* Returns the marked job, or NULL. */
static const struct top_job *job_marked(const struct top *t)
{
	return t->view == VIEW_JOBS && t->at >= 0 && t->at < (int)t->jobs.n ? &t->jobs.v[t->at] : NULL;
}

static void mark_keep(struct top *t)
{
	const struct top_job *j = job_marked(t);

	if (t->view == VIEW_JOBS)
		snprintf(t->marked, sizeof t->marked, "%s", j ? j->id : "");
}

/* Finds the marked job again after the list has changed, and keeps it on the screen. */
static void mark_find(struct top *t)
{
	int n = lines_of(t), height = top_height();

	for (int i = 0; t->view == VIEW_JOBS && t->marked[0] && i < n; i++)
		if (strcmp(t->jobs.v[i].id, t->marked) == 0)
			t->at = i;
	if (t->at >= n)
		t->at = n - 1;
	if (t->at < 0)
		t->at = 0;
	if (t->view != VIEW_TEXT) {
		if (t->at < t->first)
			t->first = t->at;
		if (t->at >= t->first + height)
			t->first = t->at - height + 1;
	} else if (t->at_end || t->first > n - height) {
		t->first = n - height;
	}
	if (t->first < 0)
		t->first = 0;
}

static void move_by(struct top *t, int by)
{
	if (t->view == VIEW_TEXT) {
		t->first += by;
		t->at_end = t->output_of[0] && t->first >= lines_of(t) - top_height();
	} else {
		t->at += by;
		if (t->at >= lines_of(t))
			t->at = lines_of(t) - 1;
		if (t->at < 0)
			t->at = 0;
		mark_keep(t);
	}
	mark_find(t);
}

static void text_open(struct top *t, const char *title)
{
	t->back = t->view == VIEW_TEXT ? t->back : t->view;
	t->view = VIEW_TEXT;
	t->first = 0;
	t->at_end = false;
	t->output_of[0] = '\0';
	snprintf(t->title, sizeof t->title, "%s", title);
}

static void view_set(struct top *t, enum top_view view)
{
	t->view = view;
	t->at = t->first = 0;
	top_read(t);
	mark_find(t);
}

static void output_open(struct top *t, const char *id)
{
	char title[128];

	snprintf(title, sizeof title, "output of %s", id);
	strbuf_clear(&t->text);
	t->output_from = 0;
	text_open(t, title);
	snprintf(t->output_of, sizeof t->output_of, "%s", id);
	t->at_end = true;
	top_read_output(t);
	mark_find(t);
}

static void about_open(struct top *t, const char *id, bool why)
{
	char title[128];

	snprintf(title, sizeof title, "%s %s", why ? "why" : "job", id);
	top_ask_job(t, id, why, COLS < TEXT_WIDTH ? COLS : TEXT_WIDTH);
	text_open(t, title);
}

/* Reads a line of text at the bottom; returns false on Escape. */
static bool line_read(const char *prompt, char *text, size_t size)
{
	size_t n = strlen(text);

	timeout(-1);
	for (;;) {
		mvhline(LINES - 1, 0, ' ', COLS);
		mvprintw(LINES - 1, 0, "%s%s", prompt, text);
		refresh();
		int key = getch();
		if (key == '\n' || key == '\r' || key == KEY_ENTER)
			return true;
		if (key == ESCAPE || key == ERR)
			return false;
		if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n > 0)
			text[--n] = '\0';
		else if (key >= ' ' && key < 256 && key != 127 && n + 1 < size) {
			text[n++] = (char)key;
			text[n] = '\0';
		}
	}
}

static void filter_ask(struct top *t)
{
	char text[sizeof t->filter];

	snprintf(text, sizeof text, "%s", t->filter);
	if (!line_read("/", text, sizeof text))
		return;
	snprintf(t->filter, sizeof t->filter, "%s", text);
	top_read(t);
	mark_find(t);
}

static void delete_ask(struct top *t, const char *id)
{
	timeout(-1);
	mvhline(LINES - 1, 0, ' ', COLS);
	attron(A_BOLD);
	mvprintw(LINES - 1, 0, "Delete %s? (y/n) ", id);
	attroff(A_BOLD);
	refresh();
	int key = getch();
	if (key == 'y' || key == 'Y')
		top_act(t, "delete", id, "is deleted");
	else
		snprintf(t->message, sizeof t->message, "Not deleted.");
}

/* Handles keys that act on the marked job. The list may change meanwhile, so its id is copied. */
static void job_key(struct top *t, int key)
{
	const struct top_job *j = job_marked(t);
	char id[64];
	bool held;

	if (!j)
		return;
	held = j->state == 'H';
	snprintf(id, sizeof id, "%s", j->id);
	switch (key) {
	case '\n':
	case '\r':
	case KEY_ENTER:
	case 'o':
		output_open(t, id);
		break;
	case 'i':
		about_open(t, id, false);
		break;
	case 'w':
		about_open(t, id, true);
		break;
	case 'h':
		top_act(t, held ? "release" : "hold", id, held ? "is released" : "is held");
		break;
	case 'd':
		delete_ask(t, id);
		break;
	}
}

/* Handles a key; returns false to quit. */
static bool key_take(struct top *t, int key)
{
	if (key != ERR)
		t->message[0] = '\0';
	switch (key) {
	case 'q':
	case ESCAPE:
		if (t->view == VIEW_JOBS)
			return key != 'q';
		view_set(t, t->view == VIEW_TEXT ? t->back : VIEW_JOBS);
		break;
	case KEY_UP:
	case 'k':
		move_by(t, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_by(t, 1);
		break;
	case KEY_PPAGE:
		move_by(t, -top_height());
		break;
	case KEY_NPAGE:
	case ' ':
		move_by(t, top_height());
		break;
	case KEY_HOME:
		move_by(t, -(1 << 29));
		break;
	case KEY_END:
		move_by(t, 1 << 29);
		break;
	case 'n':
		view_set(t, t->view == VIEW_NODES ? VIEW_JOBS : VIEW_NODES);
		break;
	case 'e':
		t->elements = !t->elements;
		top_read(t);
		mark_find(t);
		break;
	case 'a':
		t->finished = !t->finished;
		top_read(t);
		mark_find(t);
		break;
	case '/':
		filter_ask(t);
		break;
	case '?':
		strbuf_clear(&t->text);
		strbuf_puts(&t->text, help);
		text_open(t, "help");
		break;
	case KEY_RESIZE:
		mark_find(t);
		break;
	default:
		job_key(t, key);
	}
	return true;
}

static void loop(struct top *t)
{
	int64_t next = 0;

	while (!stopped) {
		int64_t before = clock_ms(CLOCK_MONOTONIC);
		if (before >= next) {
			mark_keep(t);
			top_read(t);
			mark_find(t);
			int64_t took = clock_ms(CLOCK_MONOTONIC) - before;
			next = clock_ms(CLOCK_MONOTONIC) + (took * SHARE > TICK_MS ? took * SHARE : TICK_MS);
		}
		top_draw(t);
		int64_t wait = next - clock_ms(CLOCK_MONOTONIC);
		timeout(wait > 0 ? (int)wait : 0);
		int key = getch();
		/* Show a change made here at once. */
		if (key == 'h' || key == 'd')
			next = 0;
		if (!key_take(t, key))
			return;
	}
}

int main(int argc, char **argv)
{
	struct top t = {0};
	struct err err;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--mine") == 0)
			t.user = user_name();
		else if (strcmp(argv[i], "--user") == 0 && i + 1 < argc)
			t.user = argv[++i];
	}
	setlocale(LC_ALL, "");
	if (client_open(&t.client, &err) < 0) {
		text_print(stderr, "shunt top: ", "%s", err.text);
		return 1;
	}
	client_patience(t.client, 0); /* do not wait: shows that the server is away, and retries */
	signal(SIGTERM, stop);
	signal(SIGHUP, stop);
	signal(SIGINT, stop);
	if (!initscr())
		return 1;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	loop(&t);
	endwin();
	top_fini(&t);
	return 0;
}
