/*
 * sandbox.h - a Lua state that is bounded in memory, instructions and time.
 *
 * It has the libraries base, table, string, math and utf8, without functions that read files or
 * bytecode, and without finalizers (these run where no instruction is counted).
 */
#ifndef HOOKS_SANDBOX_H
#define HOOKS_SANDBOX_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/hook.h"

struct sandbox {
	lua_State *L; /* NULL: the memory limit is too small for an empty state */
	size_t used;
	int64_t steps; /* instructions executed, in units of the check interval */
	bool stopped;  /* ran for too long: every further instruction is an error */
	struct hook_limits limits;
};

void sandbox_init(struct sandbox *b, const struct hook_limits *limits);
void sandbox_fini(struct sandbox *b);
/* Calls a function with the arguments on the stack, like lua_pcall(), without results. -EINVAL
 * with a message that says what went wrong and where. */
int sandbox_call(struct sandbox *b, int nargs, struct err *err);
/* Compiles a text and runs its top level. */
int sandbox_run(struct sandbox *b, const char *name, const char *text, size_t n, struct err *err);

#endif
