/*
 * sha256.c - see sha256.h.
 */
#include "base/sha256.h"

#include <string.h>

static const uint32_t rounds[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t big_endian(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void block_add(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = big_endian(block + 4 * i);
	for (int i = 16; i < 64; i++) {
		uint32_t low = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t high = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + low + w[i - 7] + high;
	}
	for (int i = 0; i < 8; i++)
		v[i] = state[i];
	/* Instead of moving all eight values in each round, the place of the first one moves. */
	for (int i = 0; i < 64; i++) {
		uint32_t a = v[-i & 7], b = v[(1 - i) & 7], c = v[(2 - i) & 7], e = v[(4 - i) & 7];
		uint32_t s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25),
			 s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
		uint32_t choice = (e & v[(5 - i) & 7]) ^ (~e & v[(6 - i) & 7]), majority = (a & b) ^ (a & c) ^ (b & c);
		uint32_t sum = v[(7 - i) & 7] + s1 + choice + rounds[i] + w[i];
		v[(3 - i) & 7] += sum;
		v[(7 - i) & 7] = sum + s0 + majority;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_init(struct sha256 *s)
{
	*s = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
				       0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n) {
		size_t at = s->length % sizeof s->block, part = sizeof s->block - at < n ? sizeof s->block - at : n;
		memcpy(s->block + at, p, part);
		s->length += part;
		if (at + part == sizeof s->block)
			block_add(s->state, s->block);
		p += part;
		n -= part;
	}
}

void sha256_finish(struct sha256 *s, unsigned char ret[SHA256_SIZE])
{
	uint64_t bits = s->length * 8;
	unsigned char length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(s, "\x80", 1);
	while (s->length % sizeof s->block != sizeof s->block - sizeof length)
		sha256_add(s, "", 1);
	sha256_add(s, length, sizeof length);
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 4; k++)
			ret[4 * i + k] = (unsigned char)(s->state[i] >> (24 - 8 * k));
}
