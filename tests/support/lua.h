/*
 * lua.h - hooks of a bare server (bare.h): Lua runs in the test's own process, by the code of the
 * real worker (hooks/chain.h).
 *
 * Answers arrive when lua_answer() is called, and while bare_ask() waits: in between, a server can
 * be dropped with questions pending.
 */
#ifndef SUPPORT_LUA_H
#define SUPPORT_LUA_H

#include <stddef.h>

struct server;

void lua_set(const char *text); /* sets the hook; NULL: none. Borrowed */
/* answers at most this many questions, oldest first */
void lua_answer(struct server *s, size_t most);
void lua_forget(void);		/* drops all questions: the server was dropped */
unsigned lua_called(int event); /* number of answers for an enum hook_event */

#endif
