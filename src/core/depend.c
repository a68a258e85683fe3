/*
 * depend.c - parses, formats and judges dependencies.
 */
#include "core/depend.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/vec.h"

#define SHOWN 80 /* characters of a faulty part quoted in its message */

static const char *const type_name[DEPEND_TYPES] = {
	[DEPEND_AFTER] = "after",
	[DEPEND_AFTEROK] = "afterok",
	[DEPEND_AFTERNOTOK] = "afternotok",
	[DEPEND_AFTERANY] = "afterany",
	[DEPEND_BEFORE] = "before",
	[DEPEND_BEFOREOK] = "beforeok",
	[DEPEND_BEFORENOTOK] = "beforenotok",
	[DEPEND_BEFOREANY] = "beforeany",
	[DEPEND_ON] = "on",
};

const char *depend_type_name(enum depend_type type)
{
	return type_name[type];
}

bool depend_is_before(enum depend_type type)
{
	return type >= DEPEND_BEFORE && type <= DEPEND_BEFOREANY;
}

enum depend_type depend_mirror(enum depend_type before)
{
	return before - DEPEND_BEFORE + DEPEND_AFTER;
}

void depends_fini(struct depends *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		free(d->v[i].id);
	free(d->v);
	*d = (struct depends){0};
}

/* ---- text ---- */

/* Cuts TORQUE's "afterokarray" and "afterstartarray" down to the plain type. */
static void type_plain(char *word)
{
	size_t n = strlen(word);

	if (n > 5 && strcasecmp(word + n - 5, "array") == 0)
		word[n -= 5] = '\0';
	if (n > 5 && strcasecmp(word + n - 5, "start") == 0)
		word[n - 5] = '\0';
}

static int type_parse(char *word, enum depend_type *ret, struct err *err)
{
	if (strncasecmp(word, "sync", 4) == 0)
		return err_set(err, -EINVAL,
			       "%.*s: jobs can't be started together by a dependency; ask for all of it in one job, "
			       "as in -l nodes=2:ppn=4",
			       SHOWN, word);
	if (isdigit((unsigned char)*word))
		return err_set(err, -EINVAL,
			       "%.*s: a type is missing before it; ids of one type are joined by ':', as in "
			       "afterok:12:13",
			       SHOWN, word);
	type_plain(word);
	for (int t = 0; t < DEPEND_TYPES; t++)
		if (strcasecmp(word, type_name[t]) == 0) {
			*ret = t;
			return 0;
		}
	return err_set(err, -EINVAL,
		       "%.*s: no such dependency; use after, afterok, afternotok, afterany, before, beforeok, "
		       "beforenotok, beforeany or on",
		       SHOWN, word);
}

static int count_parse(const char *text, uint32_t *ret, struct err *err)
{
	size_t digits = strspn(text, "0123456789");
	long n = digits && digits < 9 && !text[digits] ? strtol(text, NULL, 10) : 0;

	if (n < 1 || n > DEPEND_JOBS_MAX)
		return err_set(err, -EINVAL, "on:%.*s: must be a whole number from 1 to %d", SHOWN, text,
			       DEPEND_JOBS_MAX);
	*ret = (uint32_t)n;
	return 0;
}

static int id_parse(const char *type, const char *text, struct jobid *ret, struct err *err)
{
	int rc = jobid_parse(text, ret, err);

	if (rc == 0 && ret->kind == JOBID_SOME) {
		jobid_fini(ret);
		rc = err_set(err, -EINVAL, "%.*s: name the whole array as 12[], or its elements one by one", SHOWN,
			     text);
	}
	return rc < 0 ? err_prefix(err, rc, "%s", type) : 0;
}

/* Parses "afterok:12:13", modifying the text. At most `room` ids are accepted. */
static int depend_parse(char *part, uint32_t room, struct depend *ret, struct err *err)
{
	VEC(struct jobid) ids = {0};
	char *rest = strchr(part, ':');
	struct depend d = {0};

	if (rest)
		*rest++ = '\0';
	int rc = type_parse(part, &d.type, err);
	if (rc == 0 && !rest)
		rc = err_set(err, -EINVAL, "%s: %s", type_name[d.type],
			     d.type == DEPEND_ON ? "needs a number, as in on:2" : "needs a job, as in afterok:12");
	if (rc == 0 && d.type == DEPEND_ON) {
		rc = count_parse(rest, &d.count, err);
		rest = NULL;
	}
	while (rc == 0 && rest) {
		char *id = strsep(&rest, ":");
		struct jobid one;
		rc = id_parse(type_name[d.type], id, &one, err);
		if (rc == 0)
			vec_push(&ids, one);
		if (rc == 0 && ids.n > room)
			rc = err_set(err, -EINVAL, "more than %d jobs in one list of dependencies", DEPEND_JOBS_MAX);
	}
	d.id = ids.v;
	d.nids = (uint32_t)ids.n;
	if (rc < 0)
		vec_free(&ids);
	else
		*ret = d;
	return rc;
}

int depends_parse(const char *text, struct depends *ret, struct err *err)
{
	VEC(struct depend) list = {0};
	uint32_t ids = 0;
	int rc = 0;

	if (strlen(text) > DEPEND_TEXT_MAX)
		return err_set(err, -EINVAL, "a list of dependencies has at most %d characters", DEPEND_TEXT_MAX);
	char *copy = mem_strdup(text), *rest = *copy ? copy : NULL;
	while (rc == 0 && rest) {
		struct depend d;
		rc = depend_parse(strsep(&rest, ","), DEPEND_JOBS_MAX - ids, &d, err);
		if (rc == 0) {
			ids += d.nids;
			vec_push(&list, d);
		}
	}
	free(copy);
	struct depends all = {list.v, (uint32_t)list.n};
	if (rc < 0)
		depends_fini(&all);
	else
		*ret = all;
	return rc;
}

int depends_count(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == ':';
	return n;
}

void depends_format(const struct depends *d, struct strbuf *out)
{
	for (uint32_t i = 0; i < d->n; i++) {
		const struct depend *one = &d->v[i];
		strbuf_printf(out, "%s%s", i ? "," : "", type_name[one->type]);
		if (one->type == DEPEND_ON)
			strbuf_printf(out, ":%u", one->count);
		for (uint32_t k = 0; k < one->nids; k++) {
			strbuf_puts(out, ":");
			jobid_format(&one->id[k], NULL, out);
		}
	}
}

/* ---- judging ---- */

void depend_fate_add(struct depend_fate *sum, const struct depend_fate *element)
{
	sum->gone = sum->gone || element->gone;
	sum->started = sum->started && element->started;
	sum->ended = sum->ended && element->ended;
	if (element->ended && sum->status == 0)
		sum->status = element->status;
}

enum depend_state depend_judge(enum depend_type type, const struct depend_fate *fate)
{
	if (type == DEPEND_AFTER) /* a job no longer known has ended; nothing more can be learned */
		return fate->gone || fate->started ? DEPEND_SATISFIED
		       : fate->ended		   ? DEPEND_IMPOSSIBLE
						   : DEPEND_WAITING;
	if (type == DEPEND_AFTERANY)
		return fate->gone || fate->ended ? DEPEND_SATISFIED : DEPEND_WAITING;
	if (fate->gone)
		return DEPEND_IMPOSSIBLE;
	if (!fate->ended)
		return DEPEND_WAITING;
	return (fate->status == 0) == (type == DEPEND_AFTEROK) ? DEPEND_SATISFIED : DEPEND_IMPOSSIBLE;
}

void depend_explain(enum depend_type type, const struct jobid *id, const struct depend_fate *fate,
		    enum depend_state state, struct strbuf *why)
{
	static const char *const awaited[] = {
		[DEPEND_AFTER] = "to start",
		[DEPEND_AFTEROK] = "to end with exit status 0",
		[DEPEND_AFTERNOTOK] = "to end with an exit status other than 0",
		[DEPEND_AFTERANY] = "to end",
	};

	strbuf_printf(why, "%s:", type_name[type]);
	jobid_format(id, NULL, why);
	strbuf_puts(why, state == DEPEND_WAITING ? ": waits for job " : ": job ");
	jobid_format(id, NULL, why);
	if (state == DEPEND_WAITING)
		strbuf_printf(why, " %s", awaited[type]);
	else if (fate->gone)
		strbuf_puts(why, " is no longer known, and so is its exit status");
	else if (!fate->started)
		strbuf_puts(why, " ended without having been started");
	else
		strbuf_printf(why, " ended with exit status %d", fate->status);
}

enum depend_state depends_judge(const struct depends *d,
				struct depend_fate (*fate_of)(void *context, const struct jobid *id), void *context,
				uint32_t released, struct strbuf *why)
{
	enum depend_state worst = DEPEND_SATISFIED;
	struct strbuf say = {0};

	for (uint32_t i = 0; i < d->n && worst != DEPEND_IMPOSSIBLE; i++) {
		const struct depend *one = &d->v[i];
		if (one->type == DEPEND_ON && released < one->count && worst == DEPEND_SATISFIED) {
			worst = DEPEND_WAITING;
			strbuf_printf(&say, "on:%u: waits for %u more of other jobs' before dependencies", one->count,
				      one->count - released);
		}
		for (uint32_t k = 0; k < one->nids && one->type < DEPEND_BEFORE && worst != DEPEND_IMPOSSIBLE; k++) {
			struct depend_fate fate = fate_of(context, &one->id[k]);
			enum depend_state state = depend_judge(one->type, &fate);
			if (state > worst) {
				worst = state;
				strbuf_clear(&say);
				depend_explain(one->type, &one->id[k], &fate, state, &say);
			}
		}
	}
	if (why)
		strbuf_add(why, strbuf_text(&say), say.n);
	strbuf_fini(&say);
	return worst;
}
