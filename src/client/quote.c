/*
 * quote.c - percent-encoding.
 */
#include <string.h>

#include "client/client.h"

void url_quote(const char *text, struct strbuf *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~,:@";

	while (*text) {
		size_t n = strspn(text, plain);
		strbuf_add(out, text, n);
		text += n;
		if (*text)
			strbuf_printf(out, "%%%02X", (unsigned char)*text++);
	}
}
