/*
 * token.c - the text of a token, "ID.SECRET.FINGERPRINT". No OpenSSL in here: commands read tokens too, and don't load it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tls/pki.h"

#define DIGITS_WRITTEN 32 /* of a fingerprint; 128 bits: nobody makes another authority with the same */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* A part of the text, of `least` characters of `alphabet` or more. */
static bool part_copy(const char *from, size_t n, size_t least, const char *alphabet, char *to, size_t size)
{
	if (n < least || n >= size || strspn(from, alphabet) < n)
		return false;
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

/* The secret has no dot, and the fingerprint none, so they are found from the end: an ID may have some. The sentence
 * never repeats the text, since it may be a secret with a mistake in it. */
int token_parse(const char *text, struct token *ret, struct err *err)
{
	struct token t;
	const char *print = strrchr(text, '.');
	const char *secret = print ? memrchr(text, '.', (size_t)(print - text)) : NULL;

	if (!secret || !part_copy(text, (size_t)(secret - text), 2, LETTERS DIGITS ".-", t.id, sizeof t.id) ||
	    !part_copy(secret + 1, (size_t)(print - secret) - 1, 1, LETTERS DIGITS "-_", t.secret, sizeof t.secret) ||
	    !part_copy(print + 1, strlen(print + 1), DIGITS_WRITTEN, DIGITS "abcdefABCDEF", t.fingerprint,
		       sizeof t.fingerprint))
		return err_set(err, -EINVAL,
			       "this is no token, or not all of it: copy it whole, as it was shown "
			       "(three parts with dots between them, the last of 32 digits)");
	for (char *p = t.fingerprint; *p; p++)
		if (*p >= 'A' && *p <= 'F')
			*p += 'a' - 'A';
	*ret = t;
	return 0;
}

void token_write(const struct token *t, char ret[TOKEN_SIZE])
{
	snprintf(ret, TOKEN_SIZE, "%s.%s.%.*s", t->id, t->secret, DIGITS_WRITTEN, t->fingerprint);
}
