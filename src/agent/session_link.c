/*
 * session_link.c - what is sent to the server while there is a connection (session.c): that this
 * host is up, its state, and frames of other components.
 */
#include <stdlib.h>
#include <time.h>

#include "agent/agent_internal.h"
#include "agent/facts.h"
#include "agent/guard.h"
#include "agent/health.h"
#include "agent/session_internal.h"
#include "base/json.h"
#include "run/lease.h"

struct link *session_link(const struct agent *a)
{
	return a->session && a->session->stage == LISTENS && !a->session->stopping ? a->session->link : NULL;
}

const char *session_server(const struct agent *a)
{
	return session_link(a) ? a->session->where : NULL;
}

void session_tell(struct agent *a, const struct strbuf *head)
{
	struct session *s = a->session;

	if (session_link(a))
		link_send(s->link, head->text, head->n, NULL, 0);
	else if (s && s->stage == GREETS)
		vec_push(&s->waiting, mem_strdup(head->text));
}

void session_ping(struct session *s)
{
	struct agent *a = s->a;
	struct strbuf head = {0};
	struct facts_now now;
	struct json j;
	json_t *owner;
	char *text = NULL;

	facts_now(a->home.state, &now);
	s->n++;
	s->asked[s->n % PINGS] = boot_us();
	/* health is the output of a program: this encodes any bytes as JSON */
	json_init(&j, &head, false);
	json_open_object(&j, NULL);
	json_text(&j, "t", "ping");
	json_int(&j, "n", (int64_t)s->n);
	json_double(&j, "load", now.load);
	json_int(&j, "memory_free", now.memory_free);
	json_int(&j, "users", now.users);
	if (now.disk_free >= 0)
		json_int(&j, "disk_free", now.disk_free);
	json_int(&j, "now", (int64_t)time(NULL));
	json_text(&j, "health", a->trouble ? a->trouble : health_text(a->health));
	if ((owner = guard_news(a)) && (text = json_dumps(owner, JSON_COMPACT)))
		json_raw(&j, "owner", text);
	json_decref(owner);
	free(text);
	json_close_object(&j);
	link_send(s->link, head.text, head.n, NULL, 0);
	strbuf_fini(&head);
}

void session_facts(struct agent *a)
{
	if (session_link(a))
		link_pack(a->session->link, NULL, 0, "{s:s,s:O}", "t", "facts", "facts", a->facts);
}

void session_health(struct agent *a)
{
	if (session_link(a))
		session_ping(a->session);
}
