/*
 * fuzz_hook.c - any bytes as the answer of the hooks' process, and as the source of a hook.
 * Whatever the source is, the call ends, and its verdict can be read back.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "hooks/chain.h"
#include "hooks/hook.h"

static int looks;

static bool late(void *context)
{
	return ++looks > 20;
}

static void answer_try(const char *text, size_t n)
{
	json_t *o = json_loadb(text, n, JSON_ALLOW_NUL, NULL), *job = json_object();
	struct hook_answer a;

	if (o && hook_answer_read(o, &a, NULL) == 0) {
		hook_changes_apply(job, a.changes);
		hook_answer_fini(&a);
	}
	json_decref(job);
	json_decref(o);
}

/* Removes functions that only another process could end. */
static const char prologue[] =
	"string.find, string.match, string.gmatch, string.gsub, table.move, table.concat, table.unpack, table.insert, table.remove = nil ";

static void source_try(const char *noise, size_t size, enum hook_event e)
{
	size_t n = sizeof prologue - 1 + size;
	char *text = mem_alloc(n);
	json_t *job = json_pack("{s:s, s:[s]}", "name", "a", "resources", "nodes=1:ppn=2,walltime=1:00"),
	       *facts = json_pack("{s:s}", "user", "ann");
	struct hook_file f = {{"a.lua", text, n}, 15, NULL};
	struct hook_chain c = {.file = &f, .n = 1, .limits = {1 << 20, late, NULL}, .failure_refuses = true};
	struct hook_subject s = {e, job, job, facts, NULL};
	struct hook_answer a, again;
	struct strbuf out = {0};
	json_t *o;

	memcpy(text, prologue, sizeof prologue - 1);
	memcpy(text + sizeof prologue - 1, noise, size);
	looks = 0;
	hook_chain_call(&c, &s, &a);
	hook_answer_write(&a, &out);
	o = json_loads(out.text, 0, NULL);
	if (!o || hook_answer_read(o, &again, NULL) < 0)
		abort();
	hook_answer_fini(&again);
	hook_answer_fini(&a);
	strbuf_fini(&out);
	json_decref(o);
	json_decref(job);
	json_decref(facts);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 1)
		return 0;
	if (*data == 'j')
		answer_try((const char *)data + 1, n - 1);
	else
		source_try((const char *)data + 1, n - 1, (enum hook_event)(*data % HOOK_EVENTS));
	return 0;
}
