/*
 * show.c - shared by commands that show things.
 */
#include "cmd/lib/show.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/change.h"
#include "cmd/lib/palette.h"
#include "cmd/lib/screen.h"

bool show_open(const struct command *c, struct client **ret)
{
	struct err err;

	if (client_open(ret, &err) == 0)
		return true;
	command_fail(c, "%s", err.text);
	return false;
}

int show_each(const struct command *c, const void *arguments, const struct operands *operands,
	      int (*one)(const struct command *c, struct client *client, const void *arguments, const char *operand,
			 bool first))
{
	struct client *client;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	for (int i = 0; i < operands->n; i++) {
		int rc = one(c, client, arguments, operands->v[i], i == 0);
		code = code ? code : rc;
	}
	client_close(client);
	return code;
}

json_t *show_ask(const struct command *c, const char *path, json_t *body, int *ret_code)
{
	struct client *client;
	struct reply reply = {0};
	json_t *answer = NULL;

	*ret_code = EXIT_FAILED;
	if (show_open(c, &client)) {
		if (body ? show_post(c, client, path, body, &reply, ret_code)
			 : show_get(c, client, path, &reply, ret_code)) {
			answer = json_incref(reply.json);
			*ret_code = EXIT_OK;
		}
		reply_fini(&reply);
		client_close(client);
	}
	json_decref(body);
	return answer;
}

int show_answer(const struct command *c, const char *path, bool json, void (*print)(const json_t *answer))
{
	int code;
	json_t *answer = show_ask(c, path, NULL, &code);

	if (answer)
		(json ? show_json : print)(answer);
	json_decref(answer);
	return code;
}

const struct option show_options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL, "print JSON instead of text"),
	{0},
};

int show_code(const struct client *client)
{
	return code_exit(client_code(client));
}

/* Prints the error, if any. */
bool show_answered(const struct command *c, const struct client *client, int rc, const struct err *err,
		   struct reply *ret, int *ret_code)
{
	if (rc == 0)
		return true;
	command_fail(c, "%s", err->text);
	*ret_code = c->own ? show_code(client) : EXIT_FAILED;
	reply_fini(ret);
	*ret = (struct reply){0};
	return false;
}

bool show_get(const struct command *c, struct client *client, const char *path, struct reply *ret, int *ret_code)
{
	struct err err;
	int rc = client_ask(client, "GET", path, NULL, 0, ret, &err);

	return show_answered(c, client, rc, &err, ret, ret_code);
}

int show_history(const struct command *c, struct client *client, const char *query,
		 bool (*one)(void *context, json_t *job), void *context)
{
	struct strbuf path = {0}, next = {0};
	int code = EXIT_OK;
	bool more = true;

	while (more) {
		struct reply reply;
		json_t *job;
		size_t i;
		strbuf_clear(&path);
		strbuf_puts(&path, query);
		query_add(&path, "limit", "10000");
		query_add(&path, "after", strbuf_text(&next));
		if (!show_get(c, client, path.text, &reply, &code))
			break;
		json_array_foreach(json_object_get(reply.json, "jobs"), i, job) more = one(context, job) && more;
		strbuf_clear(&next);
		strbuf_puts(&next, object_text(reply.json, "next"));
		more = more && next.n;
		reply_fini(&reply);
	}
	strbuf_fini(&path);
	strbuf_fini(&next);
	return code;
}

bool show_resume(const struct command *c, struct client *client, const char *path, int rc, bool *said,
		 struct reply *ret, int *ret_code)
{
	int before = client_connections(client);
	bool absent = true;

	while (absent) {
		if (!show_get(c, client, path, ret, ret_code))
			return false;
		absent = client_absent(client) != NULL;
		if (absent) {
			reply_fini(ret);
			sleep(1);
		}
	}
	if (!*said && (rc < 0 || client_connections(client) != before)) {
		command_warn(c, "the connection to the server was lost; continuing where it was");
		*said = true;
	}
	return true;
}

bool show_post(const struct command *c, struct client *client, const char *path, const json_t *body, struct reply *ret,
	       int *ret_code)
{
	struct err err;
	int rc = client_ask_json(client, "POST", path, body, ret, &err);

	return show_answered(c, client, rc, &err, ret, ret_code);
}

bool show_submit(const struct command *c, struct client *client, const char *path, const json_t *body,
		 struct reply *ret, int *ret_code)
{
	struct err err;
	int rc = client_submit(client, path, body, ret, &err);

	return show_answered(c, client, rc, &err, ret, ret_code);
}

void show_json(const json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY);

	puts(text ? text : "null");
	free(text);
}

int show_jobs_json(const struct command *c, struct client *client, const char *path)
{
	struct reply reply;
	int code = EXIT_OK;

	if (!show_get(c, client, path, &reply, &code))
		return code;
	show_json(json_object_get(reply.json, "jobs"));
	reply_fini(&reply);
	return EXIT_OK;
}

/* Prints a text for CSV. A spreadsheet takes a text that begins with one of these for a formula,
 * unless a ' comes first. */
static void csv_text(const char *text)
{
	printf(*text && strchr("=+-@\t\r", *text) ? "\"'" : "\"");
	for (; *text; text++)
		printf(*text == '"' ? "\"\"" : "%c", *text);
	putchar('"');
}

void show_csv(const json_t *object, const char *const *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_object_get(object, fields[i]);
		if (i)
			putchar(',');
		if (!object)
			printf("%s", fields[i]);
		else if (json_is_integer(v))
			printf("%lld", (long long)json_integer_value(v));
		else if (json_is_string(v))
			csv_text(value_text(v));
	}
	putchar('\n');
}

/* Warns of each name in a list that `known` does not find. */
static void names_warn(const struct command *c, const char *list, const char *what, bool (*known)(const char *name))
{
	char name[256];

	for (const char *p = list; p && *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ","), sign = strspn(p, "+-");
		snprintf(name, sizeof name, "%.*s", (int)strcspn(p + sign, "@,"), p + sign);
		if (*name && strcmp(name, "*") != 0 && !known(name))
			command_warn(c, "this machine knows no %s %s", what, name);
		p += n;
	}
}

static bool user_known(const char *name)
{
	return getpwnam(name);
}

static bool group_known(const char *name)
{
	return getgrnam(name);
}

void parties_warn(const struct command *c, const char *users, const char *groups)
{
	names_warn(c, users, "user", user_known);
	names_warn(c, groups, "group", group_known);
}

int stamp_parse(const char *text, int64_t *ret, struct err *err)
{
	size_t digits = strspn(text, "0123456789");
	const char *p = text;
	time_t now = time(NULL);
	struct tm tm, today;
	int seconds = 0, year;

	if (digits == 4 && (!text[4] || sscanf(text + 4, ".%2d", &seconds) == 1)) {
		char clock[32];
		snprintf(clock, sizeof clock, "%.2s:%.2s:%02d", text, text + 2, seconds);
		int rc = instant_parse(clock, now, ret, err);
		return rc < 0 ? err_prefix(err, rc, "\"%.60s\"", text) : 0;
	}
	localtime_r(&now, &today);
	tm = (struct tm){.tm_isdst = -1, .tm_year = today.tm_year};
	if ((digits != 8 && digits != 10 && digits != 12) ||
	    (text[digits] && (text[digits] != '.' || sscanf(text + digits, ".%2d", &seconds) != 1)))
		return err_set(err, -EINVAL,
			       "\"%.60s\" is not a date: write [[[CC]YY]MMDD]hhmm[.SS], as in 202611151430", text);
	if (digits > 8) {
		sscanf(p, digits == 12 ? "%4d" : "%2d", &year);
		tm.tm_year = digits == 12 ? year - 1900 : year < 69 ? year + 100 : year;
		p += digits - 8;
	}
	sscanf(p, "%2d%2d%2d%2d", &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min);
	tm.tm_mon--;
	tm.tm_sec = seconds;
	if (tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 ||
	    tm.tm_mday > month_days(tm.tm_mon + 1, tm.tm_year + 1900) || tm.tm_hour > 23 || tm.tm_min > 59 ||
	    seconds > 59)
		return err_set(err, -EINVAL, "\"%.60s\": there is no such date or time", text);
	*ret = instant_local(&tm, false);
	return 0;
}

int terminal_columns(void)
{
	struct winsize ws;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0 ? ws.ws_col : 80;
}

/* Prints what makes the words of a state appear in its color; NULL ends it. */
static bool state_style(FILE *out, const char *state)
{
	static const struct {
		const char *word;
		enum palette_text color;
	} colors[] = {
		{"failed", PALETTE_TROUBLE},  {"killed", PALETTE_TROUBLE}, {"down", PALETTE_TROUBLE},
		{"held", PALETTE_HELD},	      {"offline", PALETTE_HELD},   {"draining", PALETTE_HELD},
		{"running", PALETTE_RUNNING}, {"busy", PALETTE_RUNNING},
	};

	if (!state)
		screen_style(out, "\033[0m");
	for (size_t i = 0; state && i < sizeof colors / sizeof *colors; i++)
		if (strstr(state, colors[i].word)) {
			screen_style(out, "\033[38;5;%dm", (int)colors[i].color);
			return true;
		}
	return false;
}

void states_color(struct table *t)
{
	if (palette_wanted(STDOUT_FILENO) && palette_has())
		table_style(t, "state", state_style);
}
