/*
 * schema.h - tables of the members of JSON objects and of request parameters. Requests are checked
 * against them, and the API's description is generated from them (api/openapi.c).
 *
 * Members that are not in the table are refused, except where the table says that it is `open`.
 * Where null is allowed, it means the same as a missing member, and counts as one that is given.
 */
#ifndef BASE_SCHEMA_H
#define BASE_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct json;
struct subject;
struct value;

enum {
	IS_ANY = 0,
	IS_TEXT = 1 << 0,
	IS_INT = 1 << 1,
	IS_REAL = 1 << 2,
	IS_BOOL = 1 << 3,
	IS_LIST = 1 << 4, /* list of `item` */
	/* object described by `of`; without `of`, members of any name with values of `item` */
	IS_OBJECT = 1 << 5,
	IS_INSTANT = 1 << 6,
	IS_BYTES = 1 << 7, /* base64 text */
	IS_NULL = 1 << 8,
	REQUIRED = 1 << 9,
	OF_BODY = 1 << 10, /* job_fields.c: only for single jobs, because it needs the job's body */
	SPARSE = 1 << 11,  /* left out of an answer if the record lacks it (codec.h) */
};

/* Stored even if it has the missing value: a record without it is damaged. */
#define ALWAYS (UINT32_C(1) << 31)

/* Representation of a member in a C struct (codec.h). */
enum form {
	FORM_NONE, /* not stored */
	FORM_BOOL,
	FORM_U8,
	FORM_I16,
	FORM_I32,
	FORM_U32,
	FORM_I64,
	FORM_U64,
	FORM_MICROS,  /* double, in seconds; integer microseconds in JSON */
	FORM_SECONDS, /* int64_t, in milliseconds; integer seconds in JSON */
	FORM_REAL,    /* double */
	FORM_LETTERS, /* uint8_t: one bit for each of `letters` up to `n`; a text in JSON */
	FORM_CHOICE,  /* enum: index of a text in `words` */
	FORM_CHOICE8, /* FORM_CHOICE in a uint8_t */
	FORM_TEXT,    /* char *, owned by the struct; NULL: none */
	/* const char *, borrowed from the JSON that was read or from elsewhere; NULL: none */
	FORM_LENT,
	/* FORM_LENT with any bytes but NUL: {"hex": ...} in JSON if they are not UTF-8 */
	FORM_BYTES,
	FORM_INLINE,  /* char[], NUL-terminated; write-only */
	FORM_CHARS,   /* char[most + 1], NUL-terminated; empty: none */
	FORM_WORD,    /* uint32_t, number of a text in a struct names; 0: none */
	FORM_RECORD,  /* struct with the rows of `of`; an object in JSON */
	FORM_JSON,    /* const json_t *, borrowed like FORM_LENT; NULL: none */
	FORM_TEXTS,   /* char **, NULL-terminated; each like FORM_BYTES, in an arena */
	FORM_INTS,    /* int *, `count` elements, none negative, in an arena */
	FORM_RECORDS, /* `count` structs with the rows of `of`, in an arena */
	FORM_NAMES,   /* name_list, owned by the struct */
};

struct field {
	const char *name;
	unsigned is;
	const char *about;
	/* returns a member that no struct stores (codec.h) */
	void (*get)(const struct subject *x, struct value *v);
	/* what reading and writing a record needs of each row stands together, for the cache */
	enum form form;
	uint16_t at;	 /* offset in its struct */
	uint16_t count;	 /* offset of a list's length, an int */
	uint16_t size;	 /* bytes per element of a list */
	uint32_t in;	 /* uses of the member: bits that its table defines, and ALWAYS */
	int64_t missing; /* number that stands for a missing member */
	/* writes the contents of a list or object that no struct stores */
	void (*inside)(const struct subject *x, struct json *j);
	const struct schema *of; /* schema of an object, or of a list's elements */
	unsigned item;		 /* type of a list's elements */
	const char *words;	 /* "a|b": allowed values */
	const char *letters;	 /* allowed letters, checked by the reader of the member */
	/* bounds of a number, of a text's bytes, or of a list's length. Both 0: any */
	int64_t least, most;
	const char *otherwise; /* default if not given */
	/* parameters only: header with the same meaning, which takes precedence */
	const char *header;
	const char *example;
};

struct schema {
	const char *name; /* name in the API's description; NULL: described inline */
	const char *about;
	const struct field *fields; /* ends with a field without a name */
	/* only fields with one of the bits `in` and none of `without`; in 0: all */
	uint32_t in, without;
	const struct schema *base;   /* schema whose members it also has */
	const struct schema *either; /* alternative schema */
	bool late;		     /* its own fields are checked by their reader, as are their names */
	bool open;		     /* members of other names are ignored: newer senders may add some */
	const char *example;	     /* JSON */
};

/* Fields of a schema, for its initializer. */
#define FIELDS(...)                                                                                                    \
	.fields = (const struct field[])                                                                               \
	{                                                                                                              \
		__VA_ARGS__,                                                                                           \
		{                                                                                                      \
			0                                                                                              \
		}                                                                                                      \
	}

/* Returns the first field of the schema itself after `f` (NULL: from the beginning), or NULL. */
const struct field *schema_next(const struct schema *t, const struct field *f);
/* Refuses an object with a member that is in none of its tables. -EINVAL names the member, and what
 * may have been meant. */
int schema_check_names(const struct schema *t, const json_t *v, struct err *err);
/* Refuses a member that is in none of the object's tables. Always returns -EINVAL. */
int schema_refuse_name(const struct schema *t, const char *name, struct err *err);
/* Checks a value. -EINVAL says what is wrong and what is allowed. */
int schema_check(const struct schema *t, const json_t *v, struct err *err);
/* Checks a parameter's text: a number, or a word. */
int field_check_text(const struct field *f, const char *text, struct err *err);

#endif
