/*
 * json.h - writes JSON into a strbuf. Commas and escapes are automatic; nesting is up to the caller
 * and is asserted. (jansson does the reading.)
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct json {
	struct strbuf *out;
	int depth;
	bool more[64]; /* an element was already written at this depth */
	char kind[64]; /* '{' or '[' at this depth; 0 at the top */
	bool pretty;
};

/* Returns true if the first value of a text contains at most `most` others, at any depth, and no
 * object has more than JSON_MEMBERS_MOST members: 200,000 of them take a tenth of a second to read.
 * Text that is not JSON may pass. */
#define JSON_MEMBERS_MOST 20000
bool json_is_within(const char *text, size_t n, size_t most);

void json_init(struct json *j, struct strbuf *out, bool pretty);
void json_begin(struct json *j, struct strbuf *out); /* begins an object, not pretty */
/* `key` is NULL inside arrays and at the top. */
void json_open_object(struct json *j, const char *key);
void json_close_object(struct json *j);
void json_open_array(struct json *j, const char *key);
void json_close_array(struct json *j);
void json_text(struct json *j, const char *key, const char *value); /* NULL value writes null */
/* Writes a text of `n` bytes that needs no escapes. */
void json_word(struct json *j, const char *key, const char *word, size_t n);
void json_int(struct json *j, const char *key, int64_t value);
void json_double(struct json *j, const char *key, double value); /* null if not finite */
void json_bool(struct json *j, const char *key, bool value);
void json_raw(struct json *j, const char *key, const char *text); /* `text` must be valid JSON */

#endif
