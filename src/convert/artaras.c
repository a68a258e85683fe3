/*
 * artaras.c - see artaras.h.
 */
#include "convert/artaras.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/vec.h"
#include "rules/attr.h"
#include "rules/quota_file.h"

/* ---- settings ---- */

static const struct {
	const char *key, *attribute;
	bool words; /* false: hours and minutes */
} settings[] = {
	{"Interactive limit", "interactive_walltime", false},
	{"Interactive warn limit", "interactive_warning", false},
	{"Checkpoint interval limit", "checkpoint_interval_min", false},
	{"Checkpoint duration limit", "checkpoint_duration_max", false},
	{"Log entries", "log_events", true},
};
#define SETTINGS (sizeof settings / sizeof *settings)

static char *trim(char *text)
{
	text += strspn(text, " \t\r");
	for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]); n--)
		text[n - 1] = '\0';
	return text;
}

/* Converts words separated by blanks or commas; the attribute must know each. */
static int list_convert(const char *attribute, char *value, struct strbuf *out, struct err *err)
{
	const char *known = attr_find(ATTR_SERVER, attribute)->words, *word;
	char *rest = value;
	int n = 0;

	strbuf_printf(out, "set server %s = \"", attribute);
	while ((word = strsep(&rest, ", \t"))) {
		const char *at = *word ? strcasestr(known, word) : NULL;
		size_t length = strlen(word);
		if (!*word)
			continue;
		while (at && ((at > known && at[-1] != ' ') || (at[length] && at[length] != ' ')))
			at = strcasestr(at + 1, word);
		if (!at)
			return err_set(err, -EINVAL, "\"%.40s\" is not a kind of event; known: %s", word, known);
		strbuf_printf(out, "%s%.*s", n++ ? "," : "", (int)length, at);
	}
	strbuf_puts(out, "\"\n");
	return n ? 0 : err_set(err, -EINVAL, "the value is missing");
}

static int setting_convert(char *line, struct strbuf *out, struct err *err)
{
	char *equals = strchr(line, '='), *value;
	size_t i = 0;
	int64_t seconds;

	if (!equals)
		return err_set(err, -EINVAL, "a setting is \"Name = value\"");
	*equals = '\0';
	line = trim(line);
	value = trim(equals + 1);
	while (i < SETTINGS && strcasecmp(settings[i].key, line) != 0)
		i++;
	if (i == SETTINGS) {
		struct strbuf all = {0};
		for (i = 0; i < SETTINGS; i++)
			strbuf_printf(&all, "%s%s", i ? ", " : "", settings[i].key);
		err_set(err, -EINVAL, "unknown setting \"%.60s\"; known: %s", line, strbuf_text(&all));
		strbuf_fini(&all);
		return -EINVAL;
	}
	if (settings[i].words)
		return list_convert(settings[i].attribute, value, out, err);
	if (quota_hours_parse(value, &seconds, err) < 0)
		return -EINVAL;
	strbuf_printf(out, "set server %s = %lld\n", settings[i].attribute, (long long)seconds);
	return 0;
}

/* ---- classes ---- */

static int signal_read(const char *text, const char *what, long *ret, struct err *err)
{
	char *end;

	*ret = strtol(text, &end, 10);
	if (end == text || *end || *ret < 0 || *ret > 64)
		return err_set(err, -EINVAL, "the %s signal is a number from 0 to 64, and not \"%.40s\"", what, text);
	return 0;
}

static bool is_name(const char *text)
{
	return strlen(text) <= 64 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == strlen(text) &&
	       *text != '.' && *text != '-';
}

static int class_convert(char *line, struct strbuf *out, struct err *err)
{
	VEC(char *) word = {0};
	long periodic = 0, preempt = 0;
	int rc = 0;

	for (char *rest = line, *w; (w = strsep(&rest, " \t\r"));)
		if (*w)
			vec_push(&word, w);
	if (word.n != 4)
		rc = err_set(
			err, -EINVAL,
			"a class has four columns: name, periodic signal, preempt signal, restart action; here are %zu",
			word.n);
	else if (!is_name(word.v[0]))
		rc = err_set(err, -EINVAL, "\"%.70s\" can't be the name of a class", word.v[0]);
	else if (strcasecmp(word.v[3], "arg") && strcasecmp(word.v[3], "none") && strcmp(word.v[3], "-"))
		rc = err_set(err, -EINVAL, "the restart action is arg or none, and not \"%.40s\"", word.v[3]);
	if (rc == 0)
		rc = signal_read(word.v[1], "periodic", &periodic, err);
	if (rc == 0)
		rc = signal_read(word.v[2], "preempt", &preempt, err);
	if (rc == 0) {
		if (periodic == SIGPWR || preempt == SIGSYS)
			strbuf_printf(
				out, "# %s: 30 and 31 are SIGUSR1 and SIGUSR2 of SunOS; those of Linux are 10 and 12\n",
				word.v[0]);
		strbuf_printf(
			out, "create class %s\nset class %s periodic_signal = %ld\nset class %s preempt_signal = %ld\n",
			word.v[0], word.v[0], periodic, word.v[0], preempt);
		strbuf_printf(out, "set class %s restart_argument = %s\n", word.v[0],
			      strcasecmp(word.v[3], "arg") ? "False" : "True");
		/* Its programs save into files of their own and exit. */
		strbuf_printf(out, "set class %s exit_saves = True\n", word.v[0]);
	}
	vec_free(&word);
	return rc;
}

int artaras_convert(struct lines *in, struct strbuf *out, struct err *err)
{
	struct strbuf all = {0};
	struct err why;
	int classes = -1, rc;
	char *line;

	while ((rc = lines_next(in, &line, err)) == 1) {
		line = trim(line);
		if (!*line || *line == '#')
			continue;
		if (classes < 0)
			classes = !strchr(line, '=');
		rc = classes ? class_convert(line, &all, &why) : setting_convert(line, &all, &why);
		if (rc < 0) {
			err_set(err, rc, "line %lld: %s", (long long)lines_number(in), why.text);
			break;
		}
	}
	if (rc == 0 && classes < 0)
		rc = err_set(err, -EINVAL, "there is neither a setting nor a class in it");
	if (rc == 0)
		strbuf_puts(out, strbuf_text(&all));
	strbuf_fini(&all);
	return rc;
}
