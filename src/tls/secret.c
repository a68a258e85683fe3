/*
 * secret.c - generates, hashes, derives and compares the secrets of tokens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/base64.h"
#include "tls/pki.h"

/* Writes URL-safe base64 without padding. */
static void text_write(const unsigned char *bytes, size_t n, char *to, size_t size)
{
	struct strbuf text = {0};

	base64_encode(bytes, n, &text);
	for (char *p = text.text; *p; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	snprintf(to, size, "%.*s", (int)strcspn(text.text, "="), text.text);
	OPENSSL_cleanse(text.text, text.n);
	strbuf_fini(&text);
}

void secret_random(char ret[64])
{
	unsigned char bytes[16];

	if (RAND_priv_bytes(bytes, sizeof bytes) != 1)
		abort(); /* never continue with a secret that can be guessed */
	text_write(bytes, sizeof bytes, ret, 64);
	OPENSSL_cleanse(bytes, sizeof bytes);
}

void secret_hash(const char *secret, char ret[FINGERPRINT_SIZE])
{
	unsigned char digest[32];

	if (EVP_Digest(secret, strlen(secret), digest, NULL, EVP_sha256(), NULL) != 1)
		abort();
	hex_encode(digest, sizeof digest, ret);
}

void secret_mac(const char *key, const char *text, char ret[64])
{
	unsigned char mac[32];

	if (!HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, strlen(text), mac, NULL))
		abort();
	text_write(mac, sizeof mac, ret, 64);
}

bool secret_equal(const char *a, const char *b)
{
	size_t n = strlen(a);

	return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}
