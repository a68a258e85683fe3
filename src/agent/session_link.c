/*
 * session_link.c - what is sent to the server while there is a connection (session.c): that this
 * host is up, its state, and frames of other components.
 */
#include <time.h>

#include "agent/agent_internal.h"
#include "agent/facts.h"
#include "agent/guard.h"
#include "agent/health.h"
#include "agent/session_internal.h"
#include "engine/frames.h"
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
	json_t *owner = guard_news(a);
	struct ping p = {.n = (int64_t)++s->n,
			 .now = (int64_t)time(NULL),
			 .health = a->trouble ? a->trouble : health_text(a->health),
			 .owner = owner};

	facts_now(a->home.state, &p.state);
	s->asked[s->n % PINGS] = boot_us();
	link_record(s->link, "ping", &ping_frame, &p);
	json_decref(owner);
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
