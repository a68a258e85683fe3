/*
 * jsonread_internal.h - the tokens of JSON as programs write it, for json_read() and for records
 * that are read from text (codec_text.c). Each function returns false if it finds
 * anything else.
 */
#ifndef BASE_JSONREAD_INTERNAL_H
#define BASE_JSONREAD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSONREAD_KEY 64 /* bytes of the longest key, with its NUL */

struct jsonread {
	const char *at, *end;
	bool unique;	    /* a key may not appear twice in an object */
	struct strbuf text; /* a text with its escapes replaced */
};

void jsonread_blanks(struct jsonread *r); /* skips them */
/* Skips a character and the blanks in front of it. */
bool jsonread_skip(struct jsonread *r, char c);
/* Returns true if only blanks are left. */
bool jsonread_end(struct jsonread *r);
/* Reads a text after its opening quote; it is valid until the next call and has no NUL. *ret_high:
 * it has bytes above 0x7f, which may not be UTF-8. */
bool jsonread_text(struct jsonread *r, const char **ret, size_t *ret_n, bool *ret_high);
/* These do not skip blanks. */
bool jsonread_number(struct jsonread *r, int64_t *ret);
bool jsonread_word(struct jsonread *r, const char *word);
/* Skips a value, and does not check what is inside. */
bool jsonread_value(struct jsonread *r);
/* Reads a key after its opening quote, and the colon. */
bool jsonread_key(struct jsonread *r, char ret[JSONREAD_KEY]);

#endif
