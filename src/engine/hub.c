/*
 * hub.c - hosts: this machine and, through their links, the others.
 *
 * A host may be disconnected, and any order, signal or answer in flight on its link is lost. When
 * it is back, its inventory (host_up) is compared with the parts that should be there. A part that
 * is missing was never started if its order was the last we know of; a part that no attempt claims
 * is ended.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/frames.h"

#define TAG_MAX 64
/* Signals to send again after a reconnect: they may have been lost with the connection, and sending
 * them twice is harmless. */
#define REPEATED (SIGNAL_BIT(SIGTERM) | SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGCONT))

/* ---- hosts and their parts ---- */

static struct host *host_find(const struct engine *e, const char *name)
{
	uint32_t id;

	return names_find(&e->host_names, name, &id) ? e->hosts.v[id] : NULL;
}

struct host *host_get(struct engine *e, const char *name)
{
	struct host *h = host_find(e, name);

	if (h)
		return h;
	h = mem_zalloc(sizeof *h);
	h->name = mem_strdup(name);
	h->here = strcmp(name, HOST_HERE) == 0;
	names_add(&e->host_names, name);
	vec_push(&e->hosts, h);
	return h;
}

bool host_is_there(const struct engine *e, const struct host *h)
{
	return h->here ? e->here != NULL : h->link != NULL;
}

const char *host_title(const struct host *h)
{
	return h->here ? "the server's machine" : h->name;
}

struct part *host_part(const struct engine *e, const struct host *h, const char *tag)
{
	struct gang *g = gang_find(e, tag);

	for (int i = 0; g && i < g->n; i++)
		if (g->part[i].host == h)
			return &g->part[i];
	return NULL;
}

void part_settle_in(struct part *p, struct gang *g, struct host *h)
{
	p->gang = g;
	p->host = h;
	p->after = h->parts;
	if (p->after)
		p->after->before = p;
	h->parts = p;
}

void part_move_out(struct part *p)
{
	if (p->after)
		p->after->before = p->before;
	if (p->before)
		p->before->after = p->after;
	else
		p->host->parts = p->after;
}

/* ---- to a host ---- */

static void order_here(struct engine *e, struct part *p)
{
	struct arena *a = arena_create();
	struct order o;
	struct err err;

	if (order_read(p->order.text, p->order.n, a, &o, &err) == 0) {
		errands_order(e->here, &o);
		e->here_waits = true;
	} else {
		part_hear(e, p, &(struct news){.report = SAYS_REFUSED, .reason = err.text});
	}
	arena_destroy(a);
}

static void order_there(struct engine *e, struct part *p)
{
	struct strbuf head = {0};
	struct err err;

	strbuf_puts(&head, "{\"t\":\"order\",\"order\":");
	strbuf_add(&head, p->order.text, p->order.n);
	strbuf_puts(&head, "}");
	if (p->script.n <= LINK_DATA_MAX && head.n <= LINK_HEAD_MAX) {
		link_send(p->host->link, head.text, head.n, p->script.text, p->script.n);
	} else {
		err_set(&err, 0, "its script has %zu bytes and its environment %zu: at most %u and %u can be sent",
			p->script.n, head.n, LINK_DATA_MAX, LINK_HEAD_MAX);
		part_hear(e, p, &(struct news){.report = SAYS_REFUSED, .reason = err.text});
	}
	strbuf_fini(&head);
}

void host_order(struct engine *e, struct part *p)
{
	if (p->host->here)
		order_here(e, p);
	else
		order_there(e, p);
}

void host_signal(struct engine *e, struct host *h, const char *tag, int signal)
{
	if (h->here)
		errands_signal(e->here, tag, signal);
	else
		link_record(h->link, "signal", &part_frame, &(struct part_frame){.tag = tag, .signal = signal});
	e->here_waits |= h->here;
}

void host_signals(struct engine *e, struct part *p)
{
	for (int signal = 1; signal <= 64; signal++)
		if (p->wanted & SIGNAL_BIT(signal))
			host_signal(e, p->host, p->gang->tag, signal);
	p->given |= p->wanted & REPEATED;
	p->wanted = 0;
}

void host_limit(struct engine *e, struct part *p)
{
	if (!p->limit)
		return;
	if (p->host->here)
		errands_limit(e->here, p->gang->tag, p->limit);
	else
		link_record(p->host->link, "limit", &part_frame,
			    &(struct part_frame){.tag = p->gang->tag, .walltime = p->limit});
	e->here_waits |= p->host->here;
}

/* Repeating it is harmless: the time can only be shortened. */
void host_save(struct engine *e, struct part *p)
{
	enum checkpoint_cause cause;
	int64_t seconds;

	if (!save_word_read(p->save, &cause, &seconds))
		return;
	if (p->host->here)
		errands_save(e->here, p->gang->tag, cause, seconds);
	else
		link_record(p->host->link, "save", &part_frame,
			    &(struct part_frame){.tag = p->gang->tag, .cause = save_words[cause], .seconds = seconds});
	e->here_waits |= p->host->here;
}

void host_forget(struct engine *e, struct host *h, const char *tag)
{
	if (h->here)
		errands_forget(e->here, tag);
	else
		link_record(h->link, "forget", &part_frame, &(struct part_frame){.tag = tag});
	e->here_waits |= h->here;
}

void host_clean(struct engine *e, struct host *h, const char *tag)
{
	link_record(h->link, "clean", &part_frame, &(struct part_frame){.tag = tag});
}

/* ---- from a host ---- */

static const char *tag_read(const json_t *o)
{
	const char *tag = json_string_value(json_object_get(o, "tag"));

	if (!tag)
		tag = json_string_value(json_object_get(json_object_get(o, "result"), "tag"));
	return tag && *tag && strlen(tag) < TAG_MAX && !strchr(tag, '/') ? tag : NULL;
}

/* Ends an attempt that no job claims. Before the first sweep it is kept, because the server may not
 * have attached it yet. `item`: of an inventory, or a frame. */
static void stranger_meet(struct engine *e, struct host *h, const char *tag, const json_t *item)
{
	if (e->swept) {
		host_clean(e, h, tag);
		return;
	}
	if (!h->strangers)
		h->strangers = json_object();
	json_object_set_new(h->strangers, tag, json_deep_copy(item));
}

static void item_take(struct engine *e, struct host *h, const json_t *item)
{
	const char *tag = tag_read(item);
	struct part *p = tag ? host_part(e, h, tag) : NULL;
	struct arena *a;
	struct result r;
	struct news n;

	if (!tag)
		return;
	if (!p) {
		stranger_meet(e, h, tag, item);
		return;
	}
	p->seen = h->seen;
	a = arena_create();
	if (saves_load(json_object_get(item, "saves"), &r.saves) == 0)
		part_hear(e, p, &(struct news){.report = SAYS_SAVED, .saves = &r.saves});
	if (news_read(item, a, &r, &n))
		part_hear(e, p, &n);
	arena_destroy(a);
}

void engine_host_up(struct engine *e, const char *host, struct link *link, const json_t *inventory)
{
	struct host *h = host_get(e, host);

	json_decref(h->strangers);
	h->strangers = NULL;
	h->link = link;
	h->seen = ++e->inventories;
	for (size_t i = 0; i < json_array_size(inventory); i++)
		item_take(e, h, json_array_get(inventory, i));
	for (struct part *p = h->parts; p; p = p->after) {
		if (p->seen != h->seen)
			part_hear(e, p, &(struct news){.report = SAYS_NOTHING});
		p->wanted |= p->given;
		if (!part_is_under_way(p))
			continue;
		host_limit(e, p);
		host_save(e, p);
		if (p->wanted)
			host_signals(e, p);
	}
	engine_settle(e);
}

void engine_host_down(struct engine *e, const char *host)
{
	struct host *h = host_find(e, host);

	if (!h)
		return;
	h->link = NULL;
	json_decref(h->strangers);
	h->strangers = NULL;
}

void engine_host_lost(struct engine *e, const char *host)
{
	struct host *h = host_find(e, host);

	for (struct part *p = h ? h->parts : NULL; p; p = p->after) {
		if (!part_is_under_way(p))
			continue;
		if (h->link) /* it may have been removed */
			host_signal(e, h, p->gang->tag, SIGKILL);
		part_hear(e, p, &(struct news){.report = SAYS_GIVEN_UP});
	}
	engine_settle(e);
}

bool engine_frame(struct engine *e, const char *host, const json_t *head, const char *data, size_t n)
{
	struct host *h = host_find(e, host);
	const char *tag = tag_read(head);
	struct arena *a = arena_create();
	struct part *p;
	struct result r;
	struct news news;
	bool ours = news_read(head, a, &r, &news);

	if (ours && h && h->link && tag) {
		p = host_part(e, h, tag);
		if (p)
			part_hear(e, p, &news);
		else if (news.report != SAYS_REFUSED && news.report != SAYS_SAVED && news.report != SAYS_USED)
			stranger_meet(e, h, tag, head);
		engine_settle(e);
	}
	arena_destroy(a);
	return ours;
}

struct link *engine_link(const struct engine *e, const char *host)
{
	struct host *h = host_find(e, host);

	return h ? h->link : NULL;
}

/* ---- at recovery ---- */

void host_recall(struct engine *e, struct part *p)
{
	json_t *item = json_object_get(p->host->strangers, p->gang->tag);

	if (!item) {
		part_hear(e, p, &(struct news){.report = SAYS_NOTHING});
		return;
	}
	json_incref(item);
	json_object_del(p->host->strangers, p->gang->tag);
	item_take(e, p->host, item);
	json_decref(item);
}

void hub_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context)
{
	e->swept = true;
	for (size_t i = 0; i < e->hosts.n; i++) {
		struct host *h = e->hosts.v[i];
		for (void *at = json_object_iter(h->strangers); at; at = json_object_iter_next(h->strangers, at)) {
			const char *tag = json_object_iter_key(at);
			if (!host_part(e, h, tag) && !known(context, tag))
				host_clean(e, h, tag);
		}
		json_decref(h->strangers);
		h->strangers = NULL;
	}
}

void hub_free(struct engine *e)
{
	for (size_t i = 0; i < e->hosts.n; i++) {
		json_decref(e->hosts.v[i]->strangers);
		free(e->hosts.v[i]->name);
		free(e->hosts.v[i]);
	}
	vec_free(&e->hosts);
	names_fini(&e->host_names);
}
