/*
 * quote.c - percent-encoding.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

char *url_unquote(const char *text, size_t n)
{
	struct strbuf out = {0};

	for (size_t i = 0; i < n; i++) {
		char hex[3] = {0};
		if (text[i] == '%' && i + 2 < n && isxdigit((unsigned char)text[i + 1]) &&
		    isxdigit((unsigned char)text[i + 2])) {
			memcpy(hex, text + i + 1, 2);
			i += 2;
			strbuf_add(&out, (char[]){(char)strtol(hex, NULL, 16)}, 1);
		} else {
			strbuf_add(&out, text[i] == '+' ? " " : text + i, 1);
		}
	}
	return out.text ? out.text : mem_strdup("");
}
