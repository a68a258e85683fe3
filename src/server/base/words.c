/*
 * words.c - see words.h.
 */
#include "server/base/words.h"
#include "core/cluster.h"
#include "server/server.h"

const char *word_text(const struct server *s, uint32_t id)
{
	return id ? names_get(s->words, id) : "";
}

uint32_t word_find(const struct server *s, const char *text)
{
	uint32_t id;

	return text && *text && names_find(s->words, text, &id) && !s->words->held[id] ? id : 0;
}

uint32_t word_add(struct server *s, const char *text)
{
	if (s->words->n == 0)
		names_add(s->words, ""); /* so that 0 means no text */
	return text && *text ? names_add(s->words, text) : 0;
}
