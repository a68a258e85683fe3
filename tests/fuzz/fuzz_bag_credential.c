/*
 * fuzz_bag_credential.c - any bytes as a credential: one that is accepted can be written again, and
 * is not an option.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "bag/credential.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct credential c, again;
	struct strbuf out = {0};
	struct err err;

	if (credential_parse((const char *)data, size, size % 3, &c, &err) < 0)
		return 0;
	for (int i = 0; i < c.nwhere; i++)
		assert(c.where[i][0] && c.where[i][0] != '-');
	credential_put(&c, (const char(*)[SECRET_SIZE]) & c.secret, 1, &out);
	assert(credential_parse(out.text, out.n, 0, &again, &err) == 0 && memcmp(&c, &again, sizeof c) == 0);
	strbuf_fini(&out);
	return 0;
}
