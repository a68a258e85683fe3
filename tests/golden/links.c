/*
 * links.c - links of test_peers.c, in place of net/link.c. See peers.h.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "golden/peers.h"
#include "net/link.h"
#include "server/link/standby.h"
#include "support/site.h"

static struct link *links[LINKS];

struct link **link_at(const char *name)
{
	for (int i = 0; i < LINKS; i++)
		if (name ? links[i] && strcmp(links[i]->name, name) == 0 : !links[i])
			return &links[i];
	return NULL;
}

void link_peer(const struct link *l, struct cert_names *ret)
{
	*ret = l->who;
}
void link_events_set(struct link *l, const struct link_events *e, void *context)
{
	l->events = e;
	l->context = context;
}
void link_trust(struct link *l)
{
	say("%s < trusted", l->name);
}
void link_address(const struct link *l, char *ret, size_t size)
{
	snprintf(ret, size, "%s", l->address);
}
bool link_orphaned(const struct link *l)
{
	return l->orphaned;
}
size_t link_queued(const struct link *l)
{
	return l->queued;
}
void link_expire(struct link *l, int64_t until)
{
	say("%s < expires in %lld s", l->name, (long long)(until - now_us / 1000000));
}
void link_close(struct link *l, const char *reason)
{
	if (!l->over)
		say("%s < closed: %s", l->name, reason);
	if (!l->over)
		l->over = mem_strdup(reason);
}
void link_pause(struct link *l, bool pause)
{
	say("%s < %s", l->name, pause ? "paused" : "continues");
}
void link_notice_end(struct link *l)
{
	say("%s < its end is noticed", l->name);
}
void link_abort(struct link *l, const char *reason)
{
	link_close(l, reason);
}
void link_send(struct link *l, const char *head, size_t nhead, const void *data, size_t n)
{
	json_t *o = json_loadb(head, nhead, 0, NULL);
	char *text = json_dumps(o, JSON_SORT_KEYS);

	if (n)
		say("%s < %s, %zu bytes:\n%.*s", l->name, text, n, n > SHOWN ? SHOWN : (int)n, (const char *)data);
	else
		say("%s < %s", l->name, text);
	if (l->over)
		say("*** after its end");
	free(text);
	json_decref(o);
}
void link_pack(struct link *l, const void *data, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_t *head = json_vpack_ex(NULL, 0, fmt, ap);
	va_end(ap);
	char *text = json_dumps(head, JSON_COMPACT);
	link_send(l, text, strlen(text), data, n);
	free(text);
	json_decref(head);
}
void link_record_data(struct link *l, const char *type, const struct schema *t, const void *record, const void *data,
		      size_t n)
{
	struct strbuf head = {0};
	struct json j;

	json_begin(&j, &head);
	json_text(&j, "t", type);
	record_show(t->fields, t->in, record, NULL, &j);
	json_close_object(&j);
	link_send(l, head.text, head.n, data, n);
	strbuf_fini(&head);
}
void link_record(struct link *l, const char *type, const struct schema *t, const void *record)
{
	link_record_data(l, type, t, record, NULL, 0);
}

void link_free(struct link **at, const char *reason)
{
	struct link *l = *at;

	*at = NULL;
	if (l->events && l->events->closed)
		l->events->closed(l->context, l, reason);
	free(l->over);
	free(l);
}

/* Frees all links, when their server is gone. */
void links_forget(void)
{
	quiet = true;
	for (int i = 0; i < LINKS; i++)
		if (links[i])
			link_free(&links[i], "the server is gone");
	quiet = false;
}

/* Reports the end of links that the server has closed. */
void links_end(void)
{
	for (int i = 0; i < LINKS; i++)
		if (links[i] && links[i]->over) {
			char *reason = mem_strdup(links[i]->over);
			link_free(&links[i], reason);
			free(reason);
		}
}

/* Opens "LINK server|NODE JOIN ADDRESS". */
void link_begin(char *args)
{
	struct link *l = mem_zalloc(sizeof *l);
	char who[64];
	int join;

	if (sscanf(args, "%31s %63s %d %63s", l->name, who, &join, l->address) != 4)
		fail_msg("link %s", args);
	if (link_at(l->name)) {
		say("*** it is open");
		free(l);
		return;
	}
	l->who = (struct cert_names){.role = strcmp(who, "server") == 0	  ? CERT_SERVER
					     : strcmp(who, "nobody") == 0 ? CERT_NOBODY
									  : CERT_NODE,
				     .join = (uint64_t)join};
	snprintf(l->who.name, sizeof l->who.name, "%s", who);
	*link_at(NULL) = l;
	lead_link(site->s, l);
}

/* Delivers "LINK > {HEAD} DATA". */
void frame_deliver(struct link *l, char *text)
{
	json_error_t error;
	json_t *head = json_loads(text, JSON_DISABLE_EOF_CHECK, &error);

	if (!head)
		fail_msg("%s: %s", text, error.text);
	const char *data = text + error.position;
	struct strbuf many = {0};
	data += *data == ' ';
	for (long i = 0, n = *data == '*' ? atol(data + 1) : 0; i < n; i++)
		strbuf_puts(&many, "x");
	data = many.n ? many.text : data;
	if (!l->over && l->events && l->events->frame)
		l->events->frame(l->context, l, head, *data ? data : NULL, strlen(data));
	strbuf_fini(&many);
	json_decref(head);
}
