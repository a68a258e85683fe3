/*
 * keys.c - linked into shunt-top: keys come from standard input, and what they change on the screen
 * goes to standard output, so that no terminal is needed. COLUMNS and LINES are its size.
 *
 * A key is a character, or the name of another one: <down>. At the end of the keys the program is
 * asked to stop.
 */
#include <curses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define ROWS 64
#define WIDTH 256

WINDOW *__wrap_initscr(void);
int __wrap_wgetch(WINDOW *w);
int __wrap_wrefresh(WINDOW *w);

static const struct {
	const char *name;
	int key;
} names[] = {
	{"up", KEY_UP},	  {"down", KEY_DOWN},	{"pageup", KEY_PPAGE},	 {"pagedown", KEY_NPAGE}, {"home", KEY_HOME},
	{"end", KEY_END}, {"enter", KEY_ENTER}, {"back", KEY_BACKSPACE}, {"delete", 127},	  {"escape", 27},
	{"return", '\r'}, {"newline", '\n'},	{"resize", KEY_RESIZE},	 {"none", ERR},
};

WINDOW *__wrap_initscr(void)
{
	FILE *nowhere = fopen("/dev/null", "r+");

	newterm("xterm-256color", nowhere, nowhere);
	return stdscr;
}

/* Reads a key, and what it is called. */
static int key_read(char text[16])
{
	size_t n = 0;
	int c;

	while ((c = getchar()) == '\n')
		;
	if (c == '<') {
		while ((c = getchar()) != '>' && c != EOF && n < 15)
			text[n++] = (char)c;
		text[n] = '\0';
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (strcmp(text, names[i].name) == 0)
				return names[i].key;
		abort(); /* a key without a row */
	}
	if (c == EOF)
		raise(SIGTERM);
	snprintf(text, 16, "%c", c == EOF ? '.' : c);
	return c == EOF ? ERR : c;
}

int __wrap_wgetch(WINDOW *w)
{
	char text[16];
	int key = key_read(text);

	printf("[%s]\n", text);
	if (key == KEY_RESIZE)
		resize_term(LINES - 4, COLS);
	return w ? key : ERR;
}

/* Returns how a cell looks: '.' dim, '*' bold, '#' reversed, or the number of its color (a letter
 * if reversed). */
static wchar_t look_of(WINDOW *w, int y, int x)
{
	wchar_t text[CCHARW_MAX + 1];
	attr_t looks;
	short pair;
	cchar_t cell;

	mvwin_wch(w, y, x, &cell);
	getcchar(&cell, text, &looks, &pair, NULL);
	if (looks & A_REVERSE)
		return pair ? L'A' + pair - 1 : L'#';
	return pair ? L'0' + pair : looks & A_BOLD ? L'*' : looks & A_DIM ? L'.' : L' ';
}

/* Prints a row, without the spaces at its end, if it differs from what was shown there. */
static void row_print(int y, const char *mark, wchar_t *text, wchar_t *shown)
{
	size_t n = wcslen(text);

	while (n && text[n - 1] == L' ')
		text[--n] = L'\0';
	if (wcscmp(text, shown) != 0)
		printf("%2d%s%ls\n", y, mark, text);
	wcscpy(shown, text);
}

/* Prints the rows that differ from those of the last screen: the text, and how it looks. */
int __wrap_wrefresh(WINDOW *w)
{
	static wchar_t shown[ROWS][WIDTH], looked[ROWS][WIDTH];
	wchar_t text[WIDTH], looks[WIDTH];

	for (int y = 0; y < LINES && y < ROWS; y++) {
		mvwinnwstr(w, y, 0, text, COLS);
		for (int x = 0; x < COLS; x++)
			looks[x] = look_of(w, y, x);
		looks[COLS] = L'\0';
		row_print(y, "|", text, shown[y]);
		row_print(y, ":", looks, looked[y]);
	}
	return OK;
}
