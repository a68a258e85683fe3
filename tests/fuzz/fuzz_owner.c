/*
 * fuzz_owner.c - any bytes as the policy of a workstation: it is read, or refused with a message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/habit.h"
#include "station/owner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1);
	struct err err = {.text = ""};
	struct owner_view v = {.now = 1, .instant = INT64_C(1790000000), .input = 1, .cpus = 2, .memory_free = 50};
	struct owner_claim o = {0};
	struct owner_rules r;
	struct habit h;

	memcpy(text, data, size);
	text[size] = '\0';
	if (owner_rules_parse(text, &r, &err) < 0) {
		if (!err.text[0])
			abort();
	} else {
		owner_decide(&o, &r, &v);
	}
	if (habit_read(text, &h) && habit_expect(&h, v.instant, 86400) > 1)
		abort();
	free(text);
	return 0;
}
