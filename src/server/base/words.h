/* words.h - interned texts (names of users, queues, hosts), identified by numbers. */
#ifndef SERVER_WORDS_H
#define SERVER_WORDS_H

#include <stdint.h>

struct server;

const char *word_text(const struct server *s, uint32_t id);   /* "" for 0 */
uint32_t word_add(struct server *s, const char *text);	      /* NULL and "" are 0 */
/* 0: unknown, or only tried (tried.h) */
uint32_t word_find(const struct server *s, const char *text);

#endif
