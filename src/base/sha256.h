/*
 * sha256.h - SHA-256 (FIPS 180-4) without a library: the nursery checks scripts with it and forks
 * for its work, and a fork copies the pages of every library that the process has touched.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32 /* bytes of a digest */

struct sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes so far */
	unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t n);
void sha256_finish(struct sha256 *s, unsigned char ret[SHA256_SIZE]);

#endif
