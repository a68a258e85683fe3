/*
 * attr_value.c - converts one attribute value from text to its canonical text and number, and does
 * arithmetic on it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/day.h"
#include "base/hostlist.h"
#include "base/hours.h"
#include "base/timetext.h"
#include "core/reqtext.h"
#include "rules/attr_internal.h"

#define SHOWN 80	   /* characters of a faulty value quoted in its message */
#define TEXT_MAX 1000	   /* bytes of a text */
#define ELEMENT_MAX 255	   /* bytes of a list element */
#define ELEMENTS_MAX 10000 /* elements of a list */
/* TORQUE joins hosts with '+'; PBS puts '+' before a name that is admitted */
#define LIST_SEPARATORS ",+"

/* ---- forms of values ---- */

enum form {
	FORM_BOOL,
	FORM_NUMBER,
	FORM_SECONDS,
	FORM_CLOCK,
	FORM_MEMORY,
	FORM_TEXT,
	FORM_WORD,
	FORM_LIST,
	FORM_HOURS,
	FORM_TIME,
	FORM_REQUEST
};

static bool is_default(const struct attr *attr)
{
	return attr_is(attr, SET_RESOURCES_DEFAULT);
}

/* Returns true for site-wide resources: all of them are numbers, and none has two names. */
static bool is_available(const struct attr *attr)
{
	return attr_is(attr, SET_RESOURCES_AVAILABLE) || attr_is(attr, SET_AMOUNTS);
}

static bool word_is(const char *word, const char *words)
{
	size_t n = strlen(word);

	for (const char *p = words; n && (p = strstr(p, word)); p += n)
		if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

static enum form amount_form(const struct attr *attr, const char *resource)
{
	if (is_available(attr))
		return FORM_NUMBER;
	if (word_is(resource, "walltime cput pcput"))
		return FORM_CLOCK;
	if (word_is(resource, "mem pmem vmem pvmem disk swap"))
		return FORM_MEMORY;
	return is_default(attr) ? FORM_REQUEST : FORM_NUMBER;
}

static enum form value_form(const struct attr_value *v)
{
	static const enum form form[] = {
		[ATTR_BOOL] = FORM_BOOL,     [ATTR_NUMBER] = FORM_NUMBER, [ATTR_DURATION] = FORM_SECONDS,
		[ATTR_TEXT] = FORM_TEXT,     [ATTR_WORD] = FORM_WORD,	  [ATTR_POLICY] = FORM_TEXT,
		[ATTR_LIST] = FORM_LIST,     [ATTR_HOSTS] = FORM_LIST,	  [ATTR_WEIGHTS] = FORM_NUMBER,
		[ATTR_MEMORY] = FORM_MEMORY, [ATTR_NODES] = FORM_LIST,	  [ATTR_HOURS] = FORM_HOURS,
		[ATTR_TIME] = FORM_TIME,
	};

	return v->attr->type == ATTR_AMOUNTS ? amount_form(v->attr, v->resource) : form[v->attr->type];
}

char *attr_resource(const struct attr *attr, const char *text, struct err *err)
{
	static const struct {
		const char *names, *name;
	} same[] = {{"ncpus procs cpus size", "ncpus"}, {"nodect nodes", "nodect"}, {"ngpus gpus", "ngpus"}};
	char name[64];
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (n >= sizeof name || (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i])))
			n = 0;
	if (n == 0 && attr->type == ATTR_WEIGHTS) {
		err_set(err, -EINVAL, "needs a factor, as in %s.%.*s", attr->name, (int)strcspn(attr->words, " "),
			attr->words);
		return NULL;
	}
	if (n == 0) {
		err_set(err, -EINVAL, "needs a resource of letters, digits, '.', '-' and '_', as in %s.walltime",
			attr->name);
		return NULL;
	}
	for (size_t i = 0; i <= n; i++)
		name[i] = (char)tolower((unsigned char)text[i]);
	if (attr->type == ATTR_WEIGHTS && !word_is(name, attr->words)) {
		err_set(err, -EINVAL, "unknown factor \"%s\"; factors are %s", name, attr->words);
		return NULL;
	}
	for (size_t i = 0;
	     i < sizeof same / sizeof *same && attr->type == ATTR_AMOUNTS && !is_default(attr) && !is_available(attr);
	     i++)
		if (word_is(name, same[i].names))
			return mem_strdup(same[i].name);
	return mem_strdup(name);
}

/* ---- parsing ---- */

static int bool_parse(const char *text, int64_t *ret, struct err *err)
{
	char word[8] = "";

	if (strlen(text) < sizeof word)
		for (size_t i = 0; i < sizeof word - 1 && text[i]; i++)
			word[i] = (char)tolower((unsigned char)text[i]);
	if (*word && word_is(word, "true t yes y on 1"))
		*ret = 1;
	else if (*word && word_is(word, "false f no n off 0"))
		*ret = 0;
	else
		return err_set(err, -EINVAL, "must be True or False, not \"%.*s\"", SHOWN, text);
	return 0;
}

/* Returns the range of numbers that an attribute may have. */
static void value_range(const struct attr *attr, int64_t *ret_min, int64_t *ret_max)
{
	*ret_min = attr->type == ATTR_AMOUNTS ? 0 : attr->min;
	*ret_max = attr->type == ATTR_AMOUNTS ? AMOUNT_MAX : attr->max;
}

static int number_check(const struct attr_value *v, enum form form, int64_t n, struct err *err)
{
	int64_t min, max;

	value_range(v->attr, &min, &max);
	if (form == FORM_MEMORY || form == FORM_CLOCK) {
		min = 0;
		max = form == FORM_MEMORY ? MEMORY_MAX : DURATION_MAX;
	}
	if (n >= min && n <= max)
		return 0;
	return err_set(err, -EINVAL, "must be from %lld to %lld%s, not %lld", (long long)min, (long long)max,
		       form == FORM_MEMORY			    ? " KB"
		       : form == FORM_SECONDS || form == FORM_CLOCK ? " seconds"
								    : "",
		       (long long)n);
}

static int number_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *digits = text + (*text == '-' || *text == '+');
	size_t n = strspn(digits, "0123456789");

	if (n == 0 || n > 18 || digits[n])
		return err_set(err, -EINVAL, "must be a whole number, not \"%.*s\"", SHOWN, text);
	*ret = strtoll(text, NULL, 10);
	return 0;
}

/* Parses a duration, or the word for an unlimited one: -1. */
static int endless_parse(const struct attr_value *v, const char *text, int64_t *ret, struct err *err)
{
	struct err why;

	if (strcasecmp(text, v->attr->words) == 0) {
		*ret = -1;
		return 0;
	}
	int rc = duration_parse(text, ret, &why);
	if (rc == 0)
		rc = number_check(v, FORM_SECONDS, *ret, &why);
	return rc < 0 ? err_set(err, rc, "%s; or %s", why.text, v->attr->words) : 0;
}

static int amount_parse(const struct attr_value *v, enum form form, const char *text, int64_t *ret, struct err *err)
{
	int rc;

	if (form == FORM_BOOL)
		return bool_parse(text, ret, err);
	if (form == FORM_SECONDS && v->attr->words)
		return endless_parse(v, text, ret, err);
	if (form == FORM_MEMORY)
		rc = memory_parse(text, ret, err);
	else if (form == FORM_NUMBER)
		rc = number_parse(text, ret, err);
	else
		rc = duration_parse(text, ret, err);
	return rc < 0 ? rc : number_check(v, form, *ret, err);
}

static char *amount_format(enum form form, int64_t n)
{
	char text[32];

	if (form == FORM_BOOL)
		return mem_strdup(n ? "True" : "False");
	if (form == FORM_CLOCK)
		return mem_strdup(duration_format(n, text, sizeof text));
	if (form == FORM_MEMORY)
		return mem_strdup(memory_format(n, text, sizeof text));
	snprintf(text, sizeof text, "%lld", (long long)n);
	return mem_strdup(text);
}

static int line_check(const char *text, struct err *err)
{
	if (strlen(text) > TEXT_MAX)
		return err_set(err, -EINVAL, "must have at most %d bytes", TEXT_MAX);
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return err_set(err, -EINVAL, "must be one line without control characters");
	return 0;
}

/* Parses a word, or its beginning as in PBS: E for Execution. */
static int word_parse(const struct attr *attr, const char *text, char **ret, struct err *err)
{
	size_t n = strlen(text);

	for (const char *p = attr->words; n && *p; p += strspn(p, " ")) {
		size_t m = strcspn(p, " ");
		if (n <= m && strncasecmp(p, text, n) == 0) {
			*ret = strndup(p, m);
			return 0;
		}
		p += m;
	}
	return err_set(err, -EINVAL, "must be one of %s, not \"%.*s\"", attr->words, SHOWN, text);
}

/* Refuses what -l would refuse. Stores 0 as the number unless the value is one. */
static int request_parse(const char *resource, const char *text, char **ret, int64_t *ret_number, struct err *err)
{
	struct arena *arena = arena_create();
	struct reqtext request;
	struct strbuf option = {0};
	int rc = 0;

	reqtext_init(&request);
	strbuf_printf(&option, "%s=%s", resource, text);
	if (strchr(text, ','))
		rc = err_set(err, -EINVAL, "one resource at a time: a comma is not allowed");
	if (rc == 0)
		rc = reqtext_parse(&request, option.text, arena, err);
	if (rc == 0) {
		*ret = mem_strdup(text);
		if (number_parse(text, ret_number, NULL) < 0)
			*ret_number = 0;
	}
	strbuf_fini(&option);
	arena_destroy(arena);
	return rc;
}

/* Parses an absolute instant; the text is kept in UTC. */
static int time_parse(const char *text, char **ret, int64_t *ret_number, struct err *err)
{
	char utc[32];
	int rc = *text == '+' ? err_set(err, -EINVAL, "must be a date and a time, such as 2026-12-24T08:00")
			      : instant_parse(text, 0, ret_number, err);

	if (rc < 0)
		return rc;
	if (!instant_utc(*ret_number, utc, sizeof utc))
		return err_set(err, -EINVAL, "\"%.*s\" is out of range", SHOWN, text);
	*ret = mem_strdup(utc);
	return 0;
}

/* ---- lists ---- */

static int element_check(const char *text, struct err *err)
{
	size_t n = strlen(text);

	if (n > ELEMENT_MAX)
		return err_set(err, -EINVAL, "\"%.20s...\" is longer than %d characters", text, ELEMENT_MAX);
	for (const char *p = text; *p; p++)
		if (isspace((unsigned char)*p) || iscntrl((unsigned char)*p) || strchr("\"'\\", *p))
			return err_set(err, -EINVAL,
				       "\"%.*s\": elements are joined by ',' and hold no blanks, quotes or backslashes",
				       SHOWN, text);
	return 0;
}

static size_t list_index(const name_list *l, const char *name)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->v[i], name) != 0)
		i++;
	return i;
}

/* Adds the elements of `text` to the list, or removes them from it. */
static int list_apply(name_list *l, bool add, const char *text, bool fold, struct err *err)
{
	char *copy = mem_strdup(text), *rest = copy, *one;
	int rc = 0;

	while (rc == 0 && (one = strsep(&rest, LIST_SEPARATORS))) {
		one += strspn(one, " \t");
		for (size_t n = strlen(one); n && strchr(" \t", one[n - 1]); n--)
			one[n - 1] = '\0';
		for (char *p = one; fold && *p; p++)
			*p = (char)tolower((unsigned char)*p);
		size_t at = list_index(l, one);
		rc = element_check(one, err);
		if (rc < 0 || !*one)
			continue;
		if (at < l->n && !add) {
			free(l->v[at]);
			vec_remove(l, at);
		} else if (at == l->n && add) {
			vec_push(l, mem_strdup(one));
		}
		if (l->n > ELEMENTS_MAX)
			rc = err_set(err, -EINVAL, "more than %d elements", ELEMENTS_MAX);
	}
	free(copy);
	return rc;
}

/* Adds or removes nodes: n[1-4] stands for four elements. */
static int nodes_apply(name_list *l, bool add, const char *text, struct err *err)
{
	name_list names = {0};
	int rc = *text ? hostlist_parse(text, &names, err) : 0;

	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = list_apply(l, add, names.v[i], false, err);
	name_list_free(&names);
	return rc;
}

static int list_make(const struct attr_value *v, const struct attr_value *old, enum attr_op op, const char *text,
		     char **ret, struct err *err)
{
	name_list l = {0};
	struct strbuf joined = {0};
	bool fold = v->attr->type == ATTR_HOSTS;
	int rc = old && op != ATTR_SET ? list_apply(&l, true, old->text, fold, err) : 0;

	if (rc == 0 && v->attr->type == ATTR_NODES)
		rc = nodes_apply(&l, op != ATTR_REMOVE, text, err);
	else if (rc == 0)
		rc = list_apply(&l, op != ATTR_REMOVE, text, fold, err);
	if (rc == 0 && l.n == 0 && op != ATTR_REMOVE)
		rc = err_set(err, -EINVAL, "the list is empty; use unset to drop it");
	for (size_t i = 0; i < l.n; i++)
		strbuf_printf(&joined, "%s%s", i ? "," : "", l.v[i]);
	if (rc == 0)
		*ret = l.n ? mem_strdup(joined.text) : NULL;
	strbuf_fini(&joined);
	name_list_free(&l);
	return rc;
}

/* ---- changes ---- */

static int amount_make(struct attr_value *v, const struct attr_value *old, enum attr_op op, enum form form,
		       const char *text, struct err *err)
{
	int64_t n = 0;
	int rc = amount_parse(v, form, text, &n, err);

	if (rc == 0 && op != ATTR_SET && form == FORM_SECONDS && v->attr->words)
		rc = err_set(err, -EINVAL, "can't be added to: set it instead");
	if (rc == 0 && op != ATTR_SET) {
		int64_t was = old ? old->number : 0;
		/* no overflow: both are far from the bounds of 64 bits */
		n = op == ATTR_ADD ? was + n : was - n;
		rc = number_check(v, form, n, err);
	}
	if (rc == 0) {
		v->number = n;
		v->text = n < 0 && v->attr->type == ATTR_DURATION && v->attr->words ? mem_strdup(v->attr->words)
										    : amount_format(form, n);
	}
	return rc;
}

int attr_value_make(struct attr_value *v, const struct attr_value *old, enum attr_op op, const char *text,
		    struct err *err)
{
	enum form form = value_form(v);
	int rc;

	v->number = 0;
	v->text = NULL;
	if (form == FORM_LIST)
		return list_make(v, old, op, text, &v->text, err);
	if (form == FORM_NUMBER || form == FORM_SECONDS || form == FORM_CLOCK || form == FORM_MEMORY)
		return amount_make(v, old, op, form, text, err);
	if (op != ATTR_SET)
		return err_set(err, -EINVAL, "only lists and numbers can be added to; set it instead");
	if (form == FORM_BOOL)
		return amount_make(v, old, op, form, text, err);
	if (form == FORM_WORD)
		return word_parse(v->attr, text, &v->text, err);
	if (form == FORM_TIME)
		return time_parse(text, &v->text, &v->number, err);
	if (form == FORM_REQUEST)
		return request_parse(v->resource, text, &v->text, &v->number, err);
	rc = line_check(text, err);
	if (rc == 0 && form == FORM_HOURS)
		rc = hours_read(text, &(struct hours){0}, err);
	if (rc == 0)
		v->text = mem_strdup(text);
	return rc;
}
