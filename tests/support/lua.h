/*
 * lua.h - hooks of a bare server (bare.h): Lua that runs in the test's own process, by the code of the real one (hooks/chain.h).
 *
 * Answers come when lua_answer() is called, and while bare_ask() waits: in between a server can be dropped with questions under way.
 */
#ifndef SUPPORT_LUA_H
#define SUPPORT_LUA_H

#include <stddef.h>

struct server;

void lua_set(const char *text);			/* in force from now on; NULL: no hook is. Borrowed */
void lua_answer(struct server *s, size_t most); /* so many of the questions, the oldest first */
void lua_forget(void);				/* nobody waits for answers any more: the server was dropped */
unsigned lua_called(int event);			/* how many answers there were, of an enum hook_event */

#endif
