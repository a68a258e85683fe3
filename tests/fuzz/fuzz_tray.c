/*
 * fuzz_tray.c - any bytes as a change left for the server, and as its offer: an accepted change can
 * be sent as a request, or there is a message.
 */
#include <assert.h>
#include <string.h>

#include "client/tray.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kept x = {0};
	struct offer o;
	struct err err = {.text = ""};

	if (kept_parse((const char *)data, size, &x, &err) == 0) {
		assert(strncmp(x.path, "/v1/jobs", 8) == 0 && !strpbrk(x.path, "?%. ") && json_is_object(x.body));
		kept_fini(&x);
	} else {
		assert(*err.text);
	}
	err.text[0] = '\0';
	if (offer_parse((const char *)data, size, &o, &err) == 0)
		assert(o.tray[0] == 'g' && !strpbrk(o.tray, "/.") && o.next > 0 && o.wait >= 0);
	else
		assert(*err.text);
	return 0;
}
