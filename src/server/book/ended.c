/* ended.c - records of jobs for others to read: accounting records and mail. */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "core/advice.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/res.h"
#include "rules/attr.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/book/accounting.h"
#include "server/book/books.h"
#include "server/book/ended.h"
#include "server/book/history.h"
#include "server/book/mail.h"
#include "server/book/outbox.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "store/store.h"

#define BYTES_MOST (2u << 20) /* bytes of bodies after which mails wait for the next turn */

const char *group_name(struct server *s, const struct spec *p, char *buf, size_t size)
{
	const char *name = p->group ? word_text(s, p->group) : user_group(s, p->uid, p->gid);

	if (name)
		return name;
	snprintf(buf, size, "%u", (unsigned)p->gid);
	return buf;
}

void book_event(struct server *s, uint32_t id, char type)
{
	const struct entry *e = entry_get(s, id);
	const struct array *a = type == 'Q' ? array_find(s, job_key_number(e->key)) : NULL;
	struct record r = {.time = s->clock->now, .type = type};
	struct strbuf name = {0}, line = {0};
	char group[64], owner[400];

	if (a)
		array_id(s, a, &name);
	else
		entry_id(s, id, &name);
	snprintf(owner, sizeof owner, "%s@%s", word_text(s, e->spec->owner), word_text(s, e->spec->host));
	history_fill(s, id, &r.job, group, sizeof group);
	r.id = strbuf_text(&name);
	r.owner = r.requestor = owner;
	r.session = e->outcome && e->outcome->session > 0 ? e->outcome->session : 0;
	record_format(&r, &line);
	outbox_add(s->books->outbox, r.time, line.text, line.n);
	strbuf_fini(&line);
	strbuf_fini(&name);
}

/* Queues a mail, which is sent once the event is stored (mails_send). */
void mail_event(struct server *s, uint32_t id, enum mail_point point)
{
	if (entry_get(s, id)->spec->mail & point && *s->conf->mail_program &&
	    (entry_get(s, id)->cause != END_DELETED ||
	     entry_get(s, id)->foreign)) /* a user who deletes their own job gets no mail */
		vec_push(&s->post->mails, (struct mail_later){id, point});
}

/* Appends what the job requested and used, and what to request next time. */
static void advice_add(const struct server *s, uint32_t id, struct strbuf *out)
{
	const struct entry *e = entry_get(s, id);
	const struct charge charge = entry_charge(s, id);
	const struct advice_run run = {.ran_ms = e->outcome->ran_ms,
				       .cpu_ms = e->outcome->cpu_ms,
				       .peak_kib = e->outcome->memory_kib,
				       .nodes = charge.nodes,
				       .cpus = charge.cpus,
				       .memory_kib = charge.memory,
				       .walltime = e->spec->walltime,
				       .out_of_time = e->cause == END_WALLTIME,
				       .out_of_memory = e->cause == END_MEMORY};
	struct advice a = advice_make(&run, 1);

	advice_compare(&run, 1, out);
	advice_text(&a, &run, 1, out);
}

static void mail_send(struct server *s, uint32_t id, enum mail_point point)
{
	const struct entry *e = entry_get(s, id);
	const struct outcome *o = e->outcome;
	struct strbuf name = {0}, advice = {0};
	const json_t *body;
	struct err err;
	struct mail m = {.cput = -1, .walltime = -1, .memory = -1};

	if (!e->spec)
		return;
	if (body_brief(s, id, &s->jobs->last_body, &body, NULL) < 0)
		return;
	entry_id(s, id, &name);
	m.kind = point == MAIL_BEGIN ? MAIL_JOB_BEGUN : point == MAIL_END ? MAIL_JOB_ENDED : MAIL_JOB_ABORTED;
	m.from = attrs_text(s->attrs, SET_MAIL_FROM);
	m.domain = attrs_text(s->attrs, SET_MAIL_DOMAIN);
	m.to = json_string_value(json_object_get(body, "mail_to"));
	if (!m.to || !*m.to)
		m.to = word_text(s, e->spec->owner);
	m.id = strbuf_text(&name);
	m.name = e->spec->name;
	m.exit_status = e->exit_status;
	m.cause = cause_name(e->cause);
	if (o) {
		m.exec_host = o->exec_host;
		m.text = o->comment;
		if (o->ended_us) {
			m.cput = o->cpu_ms / 1000;
			m.walltime = o->ran_ms / 1000;
			m.memory = o->memory_kib;
			advice_add(s, id, &advice);
			m.advice = advice.text;
		}
	}
	if (mailer_send(s->books->mailer, s->conf->mail_program, &m, &err) < 0)
		server_log(s, SEVERITY_WARNING, "mail about job %s was not sent: %s", m.id, err.text);
	strbuf_fini(&name);
	strbuf_fini(&advice);
}

void mails_send(struct server *s)
{
	uint64_t begin = s->jobs->last_body.bytes;
	size_t n = s->post->mails.n, i = 0;

	for (; i < n && (s->turn->terminating || s->jobs->last_body.bytes - begin < BYTES_MOST); i++)
		mail_send(s, s->post->mails.v[i].job, s->post->mails.v[i].point);
	if (i > 0)
		memmove(s->post->mails.v, s->post->mails.v + i, (n - i) * sizeof *s->post->mails.v);
	s->post->mails.n = n - i;
}

int64_t mails_next(const struct server *s)
{
	return s->post->mails.n && !s->turn->trouble ? s->clock->now_us : TIME_NEVER;
}
