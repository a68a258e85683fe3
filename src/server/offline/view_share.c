/*
 * view_share.c - see view_share.h.
 */
#include "server/offline/view_share.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "client/tray.h"
#include "engine/frames.h"
#include "net/link.h"
#include "server/base/clock.h"
#include "server/link/agents.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"

/* bytes of a view, at most, so that it does not delay other traffic of the link */
#define MOST (16u << 20)
#define SPOOLS 3 /* nodes that serve a user whose own host is not a node */

static uint64_t address_hash(const char *address)
{
	return hash_bytes(address, strlen(address)) | 1;
}

static void view_send(struct link *l, const char *name, const struct strbuf *text)
{
	size_t n = text ? text->n : 0;

	if (n > MOST || link_queued(l) > MOST)
		return;
	pieces_send(l, "view", &(struct spool_frame){.name = name}, n ? text->text : NULL, n);
}

/* A connected node on a hash ring. A token uses the nodes that follow it there, so that most tokens
 * keep theirs when nodes come and go. */
struct spot {
	uint64_t at;
	uint32_t node;
};

struct hosts_now {
	struct map by_address; /* address -> node + 1 */
	VEC(struct spot) ring;
};

static int spot_cmp(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->node > y->node) - (x->node < y->node);
}

static void hosts_find(const struct server *s, struct hosts_now *ret)
{
	char address[64];

	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		const struct node_info *node = &s->hosts->nodes.v[i];
		const struct link *l = agents_link_of(s, i);
		if (!l)
			continue;
		link_address(l, address, sizeof address);
		map_set(&ret->by_address, address_hash(address), (uint64_t)i + 1);
		if (node->agent && *node->agent->address)
			vec_push(&ret->ring, (struct spot){hash_bytes(&node->join, sizeof node->join), i});
	}
	if (ret->ring.n > 1)
		qsort(ret->ring.v, ret->ring.n, sizeof *ret->ring.v, spot_cmp);
}

static void hosts_fini(struct hosts_now *x)
{
	map_fini(&x->by_address);
	vec_free(&x->ring);
}

/* Collects the nodes whose agents keep files for the user of this token: the one of its own host,
 * otherwise some others. */
static size_t spools_of(const struct hosts_now *x, const struct token_record *t, uint32_t ret[SPOOLS])
{
	struct spot me = {.at = hash_bytes(&t->number, sizeof t->number)};
	size_t low = 0, high = x->ring.n, n = 0;
	uint64_t node;

	if (map_get(&x->by_address, address_hash(t->from), &node)) {
		ret[0] = (uint32_t)node - 1;
		return 1;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (spot_cmp(&x->ring.v[middle], &me) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; n < SPOOLS && n < x->ring.n; n++)
		ret[n] = x->ring.v[(low + n) % x->ring.n].node;
	return n;
}

void view_spools(struct server *s, const struct token_record *t, struct json *j, const char *key)
{
	struct hosts_now hosts = {0};
	uint32_t node[SPOOLS];

	hosts_find(s, &hosts);
	json_open_array(j, key);
	for (size_t i = 0, n = s->conf->offline ? spools_of(&hosts, t, node) : 0; i < n; i++)
		json_text(j, NULL, s->hosts->nodes.v[node[i]].agent->address);
	json_close_array(j);
	hosts_fini(&hosts);
}

void view_share(struct server *s, const struct strbuf *all, const struct strbuf *(*page)(void *context, uid_t uid),
		void *context)
{
	const struct tokens *tokens = tokens_of(s);
	struct hosts_now hosts = {0};
	struct map given = {0};
	uint32_t node[SPOOLS];
	char name[64];

	hosts_find(s, &hosts);
	for (size_t i = 0; i < tokens->list.n; i++) {
		const struct token_record *t = &tokens->list.v[i];
		if (t->kind != TOKEN_LOGIN || !*t->from || t->expires <= s->clock->now)
			continue;
		token_view(t, name);
		for (size_t k = 0, n = spools_of(&hosts, t, node); k < n; k++) {
			struct link *l = agents_link_of(s, node[k]);
			if (!map_get(&given, (uint64_t)node[k] + 1,
				     &(uint64_t){0})) /* an empty text makes the agent forget it */
				view_send(l, "all", all);
			map_set(&given, (uint64_t)node[k] + 1, 1);
			/* with `all`, the page holds only the user's quota */
			view_send(l, name, page(context, t->uid));
		}
	}
	hosts_fini(&hosts);
	map_fini(&given);
}
