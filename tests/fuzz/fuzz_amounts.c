/*
 * fuzz_amounts.c - any bytes as the amounts reported by a site's program: they are read, or refused
 * with a message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rules/amounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {.text = ""};
	amount_reports all = {0};
	int rc = amounts_report_read((const char *)data, size, &all, &err);

	if (rc < 0 && (!err.text[0] || all.n))
		abort();
	for (size_t i = 0; i < all.n; i++)
		if (!all.v[i].name[0] || strlen(all.v[i].name) >= sizeof all.v[i].name || all.v[i].total < 0 ||
		    all.v[i].elsewhere < 0 || amounts_elsewhere(20, &all.v[i]) < all.v[i].elsewhere)
			abort();
	vec_free(&all);
	return 0;
}
