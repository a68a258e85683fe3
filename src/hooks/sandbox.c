/*
 * sandbox.c - see sandbox.h.
 */
#include "hooks/sandbox.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#define LOOK 1000	      /* instructions between two checks of the clock */
#define STEPS INT64_C(100000) /* maximum checks in a call: 100 million instructions, some seconds */

static void *bounded_alloc(void *context, void *old, size_t had, size_t wants)
{
	struct sandbox *b = context;
	void *p;

	if (!old)
		had = 0; /* for a new object Lua passes its type here */
	if (wants == 0) {
		free(old);
		b->used -= had;
		return NULL;
	}
	if (wants > had && wants - had > b->limits.memory - b->used)
		return NULL;
	p = realloc(old, wants);
	if (p)
		b->used += wants - had;
	return p;
}

static struct sandbox *sandbox_of(lua_State *L)
{
	return *(struct sandbox **)lua_getextraspace(L);
}

/* Stops a call that has run too long. From then on each instruction fails, so pcall() in a loop
 * does not help. */
static void look(lua_State *L, lua_Debug *ar)
{
	struct sandbox *b = sandbox_of(L);

	if (!b->stopped && ++b->steps <= STEPS && !(b->limits.late && b->limits.late(b->limits.context)))
		return;
	b->stopped = true;
	lua_sethook(L, look, LUA_MASKCOUNT, 1);
	luaL_error(L, "it ran for too long");
}

/* Like setmetatable(), but refuses a finalizer. */
static int bounded_setmetatable(lua_State *L)
{
	int type = lua_type(L, 2);

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_argcheck(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table expected");
	if (type == LUA_TTABLE) {
		lua_pushliteral(L, "__gc");
		if (lua_rawget(L, 2) != LUA_TNIL)
			return luaL_error(L, "__gc is not available to hooks");
		lua_pop(L, 1);
	}
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "cannot change a protected metatable");
	lua_settop(L, 2);
	lua_setmetatable(L, 1);
	return 1;
}

static void remove_names(lua_State *L, const char *const *names)
{
	for (; *names; names++) {
		lua_pushnil(L);
		lua_setfield(L, -2, *names);
	}
}

static int open_libraries(lua_State *L)
{
	static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
					     {LUA_TABLIBNAME, luaopen_table},
					     {LUA_STRLIBNAME, luaopen_string},
					     {LUA_MATHLIBNAME, luaopen_math},
					     {LUA_UTF8LIBNAME, luaopen_utf8}};
	static const char *const base[] = {"dofile", "loadfile", "load", "collectgarbage", "print", "warn", NULL};
	static const char *const string[] = {"dump", NULL};

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
		luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
		lua_pop(L, 1);
	}
	lua_pushglobaltable(L);
	remove_names(L, base);
	lua_pushcfunction(L, bounded_setmetatable);
	lua_setfield(L, -2, "setmetatable");
	lua_getglobal(L, LUA_STRLIBNAME);
	remove_names(L, string);
	return 0;
}

void sandbox_init(struct sandbox *b, const struct hook_limits *limits)
{
	*b = (struct sandbox){.limits = *limits};
	b->L = lua_newstate(bounded_alloc, b);
	if (!b->L)
		return;
	*(struct sandbox **)lua_getextraspace(b->L) = b;
	lua_pushcfunction(b->L, open_libraries);
	if (lua_pcall(b->L, 0, 0, 0) != LUA_OK) {
		sandbox_fini(b);
		return;
	}
	lua_sethook(b->L, look, LUA_MASKCOUNT, LOOK);
}

void sandbox_fini(struct sandbox *b)
{
	if (b->L)
		lua_close(b->L);
	b->L = NULL;
}

static int no_memory(const struct sandbox *b, struct err *err)
{
	return err_set(err, -EINVAL, "it needs more memory than the %zu KB of hook_memory", b->limits.memory >> 10);
}

static int why_failed(struct sandbox *b, int status, struct err *err)
{
	const char *text = lua_type(b->L, -1) == LUA_TSTRING ? lua_tostring(b->L, -1) : NULL;

	if (status == LUA_ERRMEM)
		return no_memory(b, err);
	if (!text)
		return err_set(err, -EINVAL, "it raised an error that is not a text (a %s)", luaL_typename(b->L, -1));
	if (b->stopped && text[strcspn(text, "\n")] == '\0' && strstr(text, "it ran for too long"))
		return err_set(err, -EINVAL, "%.*s", 400, text);
	return b->stopped ? err_set(err, -EINVAL, "it ran for too long") : err_set(err, -EINVAL, "%.*s", 400, text);
}

int sandbox_call(struct sandbox *b, int nargs, struct err *err)
{
	int status = lua_pcall(b->L, nargs, 0, 0), rc = 0;

	if (status != LUA_OK) {
		rc = why_failed(b, status, err);
		lua_pop(b->L, 1);
	}
	return rc;
}

int sandbox_run(struct sandbox *b, const char *name, const char *text, size_t n, struct err *err)
{
	char chunk[300];
	int status;

	if (!b->L)
		return no_memory(b, err);
	chunk[0] = '@';
	strncpy(chunk + 1, name, sizeof chunk - 2);
	chunk[sizeof chunk - 1] = '\0';
	status = luaL_loadbufferx(b->L, text, n, chunk, "t");
	if (status != LUA_OK) {
		int rc = why_failed(b, status, err);
		lua_pop(b->L, 1);
		return rc;
	}
	return sandbox_call(b, 0, err);
}
