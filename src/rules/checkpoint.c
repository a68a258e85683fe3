/*
 * checkpoint.c - parses the words of `qsub -c`.
 */
#include "rules/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/timetext.h"

struct value {
	const char *word; /* for messages */
	char *text;	  /* text after '='; NULL: none */
	struct arena *a;
	struct checkpoint_wish *w;
};

static int seconds_take(const struct value *v, int64_t unit, int64_t *ret, struct err *err)
{
	int64_t n;
	bool plain = v->text && strspn(v->text, "0123456789") == strlen(v->text);
	int rc = v->text ? duration_parse(v->text, &n, err) : err_set(err, -EINVAL, "a duration is missing");

	if (rc)
		return err_prefix(err, rc, "checkpoint: %.40s", v->word);
	n = plain && n <= DURATION_MAX / unit ? n * unit : n;
	if (n < 1 || n > INT_MAX)
		return err_set(err, -EINVAL, "checkpoint: %.40s must be at least one second, and at most 68 years",
			       v->word);
	*ret = n;
	return 0;
}

static int take_nothing(const struct value *v, struct err *err)
{
	return 0;
}

static int take_makes(const struct value *v, struct err *err)
{
	v->w->makes = true;
	return 0;
}

static int take_periodic(const struct value *v, struct err *err)
{
	v->w->makes = v->w->periodic = true;
	return v->text ? seconds_take(v, 60, &v->w->interval, err) : 0;
}

static int take_interval(const struct value *v, struct err *err)
{
	v->w->makes = v->w->periodic = true;
	return seconds_take(v, 60, &v->w->interval, err);
}

static int take_duration(const struct value *v, struct err *err)
{
	v->w->makes = true;
	return seconds_take(v, 1, &v->w->duration, err);
}

static int take_depth(const struct value *v, struct err *err)
{
	char *end = NULL;
	long n = v->text ? strtol(v->text, &end, 10) : 0;

	if (!end || *end || n < 1 || n > CHECKPOINT_DEPTH_MAX)
		return err_set(err, -EINVAL, "checkpoint: %.40s must be a number from 1 to %d", v->word,
			       CHECKPOINT_DEPTH_MAX);
	v->w->makes = true;
	v->w->depth = (int)n;
	return 0;
}

static int path_take(const struct value *v, const char **ret, struct err *err)
{
	if (!v->text || *v->text != '/' || strlen(v->text) > 3000)
		return err_set(err, -EINVAL, "checkpoint: %.60s must have an absolute path of at most 3000 bytes",
			       v->word);
	v->w->makes = true;
	*ret = v->text;
	return 0;
}

static int take_dir(const struct value *v, struct err *err)
{
	return path_take(v, &v->w->dir, err);
}

static int take_saver(const struct value *v, struct err *err)
{
	return path_take(v, &v->w->saver, err);
}

static int take_restarter(const struct value *v, struct err *err)
{
	return path_take(v, &v->w->restarter, err);
}

static const struct {
	const char *word;
	enum { PLAIN, MAY, MUST } value;
	int (*take)(const struct value *v, struct err *err);
} words[] = {
	{"n", PLAIN, take_nothing},	   {"none", PLAIN, take_nothing},     {"u", PLAIN, take_nothing},
	{"s", PLAIN, take_makes},	   {"shutdown", PLAIN, take_makes},   {"enabled", PLAIN, take_makes},
	{"c", MAY, take_periodic},	   {"w", MAY, take_periodic},	      {"periodic", PLAIN, take_periodic},
	{"interval", MUST, take_interval}, {"duration", MUST, take_duration}, {"depth", MUST, take_depth},
	{"dir", MUST, take_dir},	   {"saver", MUST, take_saver},	      {"restarter", MUST, take_restarter},
};
#define NWORDS (sizeof words / sizeof *words)

static int word_take(struct value *v, char *word, bool *none, struct err *err)
{
	char *equals = strchr(word, '=');
	size_t n = equals ? (size_t)(equals - word) : strlen(word), i = 0;

	while (i < NWORDS && (strlen(words[i].word) != n || strncmp(words[i].word, word, n) != 0))
		i++;
	if (i == NWORDS || (words[i].value == PLAIN && equals))
		return err_set(
			err, -EINVAL,
			"checkpoint: \"%.40s\" is not one of n, s, c, c=MINUTES, w, w=MINUTES, u, none, enabled, "
			"shutdown, periodic, interval=MINUTES, duration=SECONDS, depth=NUMBER, dir=PATH, saver=PATH, restarter=PATH",
			word);
	v->word = word;
	v->text = equals ? equals + 1 : NULL;
	*none |= words[i].take == take_nothing;
	return words[i].take(v, err);
}

int checkpoint_parse(const char *text, struct arena *a, struct checkpoint_wish *ret, struct err *err)
{
	struct checkpoint_wish w = {0};
	struct value v = {.a = a, .w = &w};
	bool none = false;
	int rc = 0;

	for (const char *at = text ? text : ""; *at && !rc;) {
		size_t n = strcspn(at, ",");
		rc = word_take(&v, arena_strndup(a, at, n), &none, err);
		at += n + (at[n] == ',');
	}
	if (!rc && none && w.makes)
		rc = err_set(err, -EINVAL, "checkpoint: \"%.40s\": a job makes checkpoints, or none", text);
	if (!rc)
		*ret = w;
	return rc;
}
