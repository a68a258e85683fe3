/* words.h - interned texts (names of users, queues, hosts), identified by numbers. */
#ifndef SERVER_WORDS_H
#define SERVER_WORDS_H

#include <stdint.h>

struct server;

/* Returns the text of a number; "" for 0. */
const char *word_text(const struct server *s, uint32_t id);
/* Interns a text; NULL and "" give 0. */
uint32_t word_add(struct server *s, const char *text);
/* Returns the number of a text; 0: unknown, or only tried (tried.h). */
uint32_t word_find(const struct server *s, const char *text);

#endif
