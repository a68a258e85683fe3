/*
 * fuzz_card.c - any bytes as a live file read by pam_shunt.so: the results lie within the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pam/card.h"

static void within(const char *at, const char *text, size_t size)
{
	if (at < text || at + strlen(at) > text + size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct card c;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (card_read(text, &c)) {
		if (c.uid == (uid_t)-1 || c.since < 0 || c.ngroups < 0 || c.ngroups > CARD_GROUPS || !*c.id)
			abort();
		within(c.id, text, size);
		for (int i = 0; i < c.ngroups; i++)
			within(c.group[i], text, size);
	}
	free(text);
	return 0;
}
