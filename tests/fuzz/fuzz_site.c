/*
 * fuzz_site.c - any bytes as the configuration of a simulated site: they are read or refused with a sentence.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cmd/simulate_site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ruleset site;
	struct err err = {.text = ""};

	ruleset_init(&site);
	if (simulate_site_parse((const char *)data, size, &site, &err) < 0 && !err.text[0])
		abort();
	ruleset_fini(&site);
	return 0;
}
