/*
 * codec.h - converts members of C structs to JSON and back, each according to its row (schema.h).
 *
 * A record is a struct whose rows say where each member is and in which form. Texts that many
 * records share are words: numbers in a struct names, where 0 is the empty text.
 */
#ifndef BASE_CODEC_H
#define BASE_CODEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/schema.h"
#include "base/strbuf.h"

struct arena;
struct err;
struct json;
struct names;

/* Offset and form of a member, for rows. A word has the type of a plain number, so its form must
 * be given. */
#define FORM_OF(type, member)                                                                                          \
	_Generic(((type *)NULL)->member,                                                                               \
		bool: FORM_BOOL,                                                                                       \
		uint8_t: FORM_U8,                                                                                      \
		int16_t: FORM_I16,                                                                                     \
		int32_t: FORM_I32,                                                                                     \
		uint32_t: FORM_U32,                                                                                    \
		int64_t: FORM_I64,                                                                                     \
		uint64_t: FORM_U64,                                                                                    \
		double: FORM_MICROS,                                                                                   \
		char *: FORM_TEXT,                                                                                     \
		const char *: FORM_LENT,                                                                               \
		char **: FORM_TEXTS,                                                                                   \
		json_t *: FORM_JSON,                                                                                   \
		const json_t *: FORM_JSON)
#define MEMBER(type, member) .form = FORM_OF(type, member), .at = offsetof(type, member)
#define MEMBER_AS(form_, type, member) .form = (form_), .at = offsetof(type, member)
#define MEMBER_CHARS(type, member)                                                                                     \
	.form = FORM_CHARS, .at = offsetof(type, member), .most = sizeof(((type *)NULL)->member) - 1
/* A list whose number of elements is in the member `number`. */
#define MEMBER_LIST(form_, type, member, number)                                                                       \
	.form = (form_), .at = offsetof(type, member), .count = offsetof(type, number),                                \
	.size = sizeof *((type *)NULL)->member

/* A member's value on its way into JSON or a list. */
enum value_kind { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_BOOL, VALUE_TEXT, VALUE_JSON };
struct value {
	enum value_kind kind;
	int64_t number;
	double real;
	const char *text; /* borrowed, or in `scratch` */
	struct strbuf scratch;
};
void value_write(const struct value *v, const char *key, struct json *j);
json_t *value_json(const struct value *v); /* owned by the caller */

/* Returns a member that is kept as a number. */
int64_t field_number(const struct field *f, const void *record);
/* Returns the text of a text or word member, or NULL. */
const char *field_text(const struct field *f, const void *record, const struct names *words);
/* Stores the member's value for display and for the API; null if the record has none. */
void field_get(const struct field *f, const void *record, const struct names *words, struct value *v);
/* Returns true if the member has the value that stands for a missing one. */
bool field_missing(const struct field *f, const void *record);
/* Sets the member to the value that stands for a missing one; the struct must not own a text
 * there. */
void field_reset(const struct field *f, void *record);
/* Writes the member as stored: a missing one is left out unless its row has ALWAYS. */
void field_store(const struct field *f, const void *record, const struct names *words, struct json *j);
/* Reads a stored or received value into the record. Null changes nothing. -EINVAL says what is
 * wrong and what is allowed: the type and the field's bounds. */
int field_read(const struct field *f, const json_t *value, void *record, struct names *words, struct err *err);
/* Returns true if both records have the same value; words must come from the same struct names. */
bool field_same(const struct field *f, const void *a, const void *b);

/*
 * Functions on whole records use the rows, up to one without a name, that have a bit of `in`; 0
 * selects all rows. Words need `words`; tables without words pass NULL.
 */

/* Writes the members into an open object, as field_store() does. */
void record_store(const struct field *rows, uint32_t in, const void *record, const struct names *words, struct json *j);
/* Reads an object into a record that owns nothing yet. Members missing from the object get the
 * value that stands for a missing one; members without a row come from a newer version and are
 * ignored. On an error the record still owns what was read. -EINVAL says what is wrong: not an
 * object, an ALWAYS member missing, or a bad value. */
int record_load(const struct field *rows, uint32_t in, const json_t *object, void *record, struct names *words,
		struct err *err);
/* Like record_load(), with texts and lists in an arena, so that they outlive the object. */
int record_read(const struct field *rows, uint32_t in, const json_t *object, void *record, struct arena *a,
		struct err *err);
/* Like record_read(), from the text of the object, which need not be JSON. */
int record_read_text(const struct field *rows, uint32_t in, const char *text, size_t n, void *record, struct arena *a,
		     struct err *err);
/* Reads the rows' members from the text of an object, skips all others, and does not check what is
 * inside them. Returns false if a member is written in an unusual way: read the whole object. */
bool record_glance(const struct field *rows, const char *text, size_t n, void *record, struct arena *a);
/* Writes the members for display and for the API into an open object. A member that the record
 * lacks is null if its row allows null, left out if it is not REQUIRED, and otherwise shown as
 * it is: a number, or "" for a text. A number counts as lacking only if it is SPARSE, may be
 * null, or is an instant. An empty list or object that is not REQUIRED is left out unless its
 * row has ALWAYS; records in a list are shown in the same way. A row's `get` or `inside` gets the
 * record as its subject; each file with such a table defines its struct subject. */
void record_show(const struct field *rows, uint32_t in, const void *record, const struct names *words, struct json *j);
/* Writes a whole object according to its schema. `key` is NULL inside a list. */
void schema_show(const struct schema *t, const char *key, const void *record, const struct names *words,
		 struct json *j);
/* Returns a whole object according to its schema; owned by the caller. */
json_t *schema_json(const struct schema *t, const void *record);
/* Append whole objects as text, like record_store() and record_show(). */
void record_store_text(const struct field *rows, uint32_t in, const void *record, const struct names *words,
		       struct strbuf *out);
void record_show_text(const struct field *rows, uint32_t in, const void *record, const struct names *words,
		      struct strbuf *out);
/* Frees the texts and names that the record owns. */
void record_free(const struct field *rows, void *record);

/* Writes a text of any bytes, as FORM_BYTES does; NULL writes null. */
void bytes_write(struct json *j, const char *key, const char *text);

/* Converts a text of letters to bits, by their positions in `letters`; letters from 'n' on have
 * no bit. */
int letters_parse(const char *name, const char *letters, const char *text, uint8_t *ret, struct err *err);
/* "n" if no bit is set */
void letters_format(const char *letters, uint8_t bits, struct strbuf *out);

/* Returns the row with a name among those with a bit of `in` (0: all), or NULL. The search
 * starts behind `hint`, which may be NULL, so that rows looked up in order are found at once. */
const struct field *field_find(const struct field *rows, uint32_t in, const char *name, const struct field *hint);

#endif
