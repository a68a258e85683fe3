/*
 * fuzz_site.c - any bytes as the configuration of a simulated site, as qmgr commands or as the
 * server's file: they are read, or refused with a message.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cmd/sim/simulate_site.h"
#include "sim/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct simulate_site site;
	struct err err = {.text = ""};
	struct cluster *c = cluster_create();

	simulate_site_init(&site);
	if (simulate_site_parse("fuzz", (const char *)data, size, &site, &err) < 0 && !err.text[0])
		abort();
	if (site.machine && machine_build(c, site.machine, &err) < 0 && !err.text[0])
		abort();
	simulate_site_fini(&site);
	cluster_destroy(c);
	return 0;
}
