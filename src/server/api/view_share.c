/*
 * view_share.c - see view_share.h.
 */
#include "server/api/view_share.h"

#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "net/link.h"
#include "server/base/clock.h"
#include "server/link/agents.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"

#define MOST (16u << 20) /* bytes of a view; the rest of the link must not wait for it */
#define PIECE (512u * 1024)

static uint64_t address_hash(const char *address)
{
	return hash_bytes(address, strlen(address)) | 1;
}

static void view_send(struct link *l, const char *name, const struct strbuf *text)
{
	size_t n = text ? text->n : 0;

	if (n > MOST || link_queued(l) > MOST)
		return;
	for (size_t at = 0; at == 0 || at < n; at += PIECE)
		link_pack(l, n ? text->text + at : NULL, n - at < PIECE ? n - at : PIECE, "{s:s,s:s,s:I,s:I}", "t",
			  "view", "name", name, "size", (json_int_t)n, "at", (json_int_t)at);
}

/* Address -> node + 1, of those that are connected. */
static void nodes_find(const struct server *s, struct map *ret)
{
	char address[64];

	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		const struct link *l = agents_link_of(s, i);
		if (!l)
			continue;
		link_address(l, address, sizeof address);
		map_set(ret, address_hash(address), (uint64_t)i + 1);
	}
}

void view_share(struct server *s, const struct strbuf *all, const struct strbuf *(*page)(void *context, uid_t uid),
		void *context)
{
	const struct tokens *tokens = tokens_of(s);
	struct map nodes = {0}, given = {0};
	char name[64];
	uint64_t node;

	nodes_find(s, &nodes);
	for (size_t i = 0; i < tokens->list.n; i++) {
		const struct token_record *t = &tokens->list.v[i];
		if (t->kind != TOKEN_LOGIN || !*t->from || t->expires <= s->clock->now ||
		    !map_get(&nodes, address_hash(t->from), &node))
			continue;
		struct link *l = agents_link_of(s, (uint32_t)node - 1);
		if (!map_get(&given, node, &(uint64_t){0})) /* without text the agent forgets it */
			view_send(l, "all", all);
		map_set(&given, node, 1);
		token_view(t, name);
		if (!all)
			view_send(l, name, page(context, t->uid));
	}
	map_fini(&nodes);
	map_fini(&given);
}
