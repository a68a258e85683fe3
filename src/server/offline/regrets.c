/*
 * regrets.c - see regrets.h.
 */
#include "server/offline/regrets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "core/jobid.h"
#include "rules/attr.h"
#include "server/base/log.h"
#include "server/base/users.h"
#include "server/book/books.h"
#include "server/book/mail.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/settings/conf.h"

#define LINES_MAX 200 /* maximum lines of a mail */

static struct regret *regret_of(struct regrets *r, uid_t uid)
{
	for (size_t i = 0; i < r->users.n; i++)
		if (r->users.v[i].uid == uid)
			return &r->users.v[i];
	vec_push(&r->users, (struct regret){.uid = uid});
	return &r->users.v[r->users.n - 1];
}

static void line_add(struct server *s, struct regrets *r, const struct fate *x, const char *what, const char *why)
{
	struct regret *to = regret_of(r, x->uid);

	if (to->count++ < LINES_MAX)
		strbuf_printf(&to->text, "%s: %s\n", what, why);
	server_log(s, SEVERITY_NOTICE, "change %" PRIu64 " of uid %d in the spool, %s, was refused: %s", x->number,
		   (int)x->uid, what, why);
}

/* Leaves a note in the log of a job of the user's own. */
static void job_note(struct server *s, uid_t uid, const char *name, const char *what, const char *why)
{
	struct strbuf text = {0};
	struct jobid id;
	uint32_t job;

	if (jobid_parse(name, &id, NULL) < 0)
		return;
	if ((id.kind == JOBID_JOB || id.kind == JOBID_ELEMENT) && entry_find(s, id.number, id.index, &job) &&
	    entry_get(s, job)->spec && entry_get(s, job)->spec->uid == uid && entry_state(s, job) != 'C') {
		strbuf_printf(&text, "%s was asked for while the server was down, and refused: %s", what, why);
		entry_event(s, job, EVENT_NOTE, &(struct payload){.text = text.text});
		strbuf_fini(&text);
	}
	jobid_fini(&id);
}

void regrets_name(const char *path, const json_t *body, char ret[REGRET_NAME])
{
	const json_t *ids = json_object_get(body, "ids"), *id;
	const char *last = strrchr(path, '/');
	size_t i, n;

	n = (size_t)snprintf(ret, REGRET_NAME, "%.20s", strcmp(path, "/v1/jobs") == 0 ? "submit" : last + 1);
	json_array_foreach(ids, i, id) if (json_is_string(id) && n < REGRET_NAME) n +=
		(size_t)snprintf(ret + n, REGRET_NAME - n, "%s %s", i ? "," : "", json_string_value(id));
}

void regrets_add(struct server *s, struct regrets *r, const struct fate *x)
{
	char action[REGRET_NAME], what[REGRET_NAME + 100];
	const json_t *result;
	size_t i;

	if (x->why) {
		line_add(s, r, x, x->what, x->why);
		return;
	}
	snprintf(action, sizeof action, "%.*s", (int)strcspn(x->what, " "), x->what);
	json_array_foreach(json_object_get(x->answer, "results"), i, result)
	{
		const char *id = json_string_value(json_object_get(result, "id"));
		const char *why = json_string_value(json_object_get(json_object_get(result, "error"), "message"));
		if (!id || !why)
			continue;
		snprintf(what, sizeof what, "%s %.80s", action, id);
		line_add(s, r, x, what, why);
		job_note(s, x->uid, id, action, why);
	}
}

static void regret_mail(struct server *s, struct regret *x)
{
	const struct user *u = user_known(s, x->uid);
	struct err err;

	if (x->count > LINES_MAX)
		strbuf_printf(&x->text, "... and %zu more\n", x->count - LINES_MAX);
	struct mail m = {.kind = MAIL_NOTICE,
			 .from = attrs_text(s->attrs, SET_MAIL_FROM),
			 .domain = attrs_text(s->attrs, SET_MAIL_DOMAIN),
			 .to = u ? u->name : "",
			 .id = "",
			 .name = "Requests refused that were made while the Shunt server was down",
			 .text = x->text.text};
	if (u && *s->conf->mail_program && mailer_send(s->books->mailer, s->conf->mail_program, &m, &err) < 0)
		server_log(s, SEVERITY_WARNING, "mail about refused requests was not sent: %s", err.text);
}

static void regrets_fini(struct regrets *r)
{
	for (size_t i = 0; i < r->users.n; i++)
		strbuf_fini(&r->users.v[i].text);
	vec_free(&r->users);
	*r = (struct regrets){0};
}

void regrets_send(struct server *s, struct regrets *r)
{
	for (size_t i = 0; i < r->users.n; i++)
		regret_mail(s, &r->users.v[i]);
	regrets_fini(r);
}
