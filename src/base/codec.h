/*
 * codec.h - members of C structs as JSON and back, each by its row (schema.h).
 *
 * A record is a struct whose rows say where each member is and in which form. Texts that many records share are words:
 * numbers in a struct names, where 0 is the empty text.
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

/* For rows: the member's place and form. A word looks like any other number, so it is named. */
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
		char **: FORM_TEXTS)
#define MEMBER(type, member) .form = FORM_OF(type, member), .at = offsetof(type, member)
#define MEMBER_AS(form_, type, member) .form = (form_), .at = offsetof(type, member)
#define MEMBER_CHARS(type, member)                                                                                     \
	.form = FORM_CHARS, .at = offsetof(type, member), .most = sizeof(((type *)NULL)->member) - 1
/* A list whose number of elements is the member `number`. */
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
json_t *value_json(const struct value *v); /* the caller's */

/* The number of a member that is kept as one, and its words' texts. */
int64_t field_number(const struct field *f, const void *record);
const char *field_text(const struct field *f, const void *record, const struct names *words); /* NULL: none */
/* Returns the member as people and programs read it; null if the record has none. */
void field_get(const struct field *f, const void *record, const struct names *words, struct value *v);
/* Returns true if the member has the value of a missing one. */
bool field_missing(const struct field *f, const void *record);
/* Sets the member to what a missing one stands for; the struct must not own a text there. */
void field_reset(const struct field *f, void *record);
/* As the store has it: a missing one is left out unless it is there ALWAYS. */
void field_store(const struct field *f, const void *record, const struct names *words, struct json *j);
/* Reads a value that was stored or sent into the record. Null changes nothing. -EINVAL with what is wrong and what is
 * allowed: the type, and the field's bounds. */
int field_read(const struct field *f, const json_t *value, void *record, struct names *words, struct err *err);
/* Returns true if both records have the same value; words must be of one struct names. */
bool field_same(const struct field *f, const void *a, const void *b);

/*
 * Whole records: those of the rows up to one without a name that have a bit of `in`; 0 selects all rows. A word needs
 * `words`; tables without words pass NULL.
 */

/* Writes the members as field_store() does into an open object. */
void record_store(const struct field *rows, uint32_t in, const void *record, const struct names *words, struct json *j);
/* Reads an object into a record that owns nothing yet: members that are not in the object get the value that a missing
 * one stands for, members without a row are a newer version's and ignored. On an error the record still owns what was
 * read. -EINVAL with what is wrong: not an object, without an ALWAYS member, or a member's value. */
int record_load(const struct field *rows, uint32_t in, const json_t *object, void *record, struct names *words,
		struct err *err);
/* The same for records whose texts and lists are an arena's: they outlive the object. */
int record_read(const struct field *rows, uint32_t in, const json_t *object, void *record, struct arena *a,
		struct err *err);
/* Writes the members as people and programs read them into an open object. One that the record lacks is null if its row
 * allows that, left out if it is not REQUIRED, and shown as it is otherwise: a number, "" for a text. A number lacks
 * nothing unless it is SPARSE, may be null, or is an instant. A list or object
 * that is not REQUIRED is left out if nothing is in it, unless it is there ALWAYS. A row with `get` or `inside` is given
 * the record as its subject; each file with such a table defines what a struct subject is there. */
void record_show(const struct field *rows, uint32_t in, const void *record, const struct names *words, struct json *j);
/* Writes a whole object by the rows of its schema. `key` is NULL inside a list. */
void schema_show(const struct schema *t, const char *key, const void *record, const struct names *words,
		 struct json *j);
/* The same as whole objects: append their text. */
void record_store_text(const struct field *rows, uint32_t in, const void *record, const struct names *words,
		       struct strbuf *out);
void record_show_text(const struct field *rows, uint32_t in, const void *record, const struct names *words,
		      struct strbuf *out);
/* Frees the texts that the record owns. */
void record_free(const struct field *rows, void *record);

/* Writes a text of any bytes as FORM_BYTES does; NULL is null. */
void bytes_write(struct json *j, const char *key, const char *text);

/* The bits of a text of letters, by their places in `letters`: those from `n` on have none. */
int letters_parse(const char *name, const char *letters, const char *text, uint8_t *ret, struct err *err);
void letters_format(const char *letters, uint8_t bits, struct strbuf *out); /* no bit: "n" */

/* Returns the row with a name among those with a bit of `in` (0: all), or NULL. The search begins behind `hint`, which may
 * be NULL: rows that are asked for in their order are found at once. */
const struct field *field_find(const struct field *rows, uint32_t in, const char *name, const struct field *hint);

#endif
