/*
 * schema.h - what the members of a JSON object, or the parameters of a request, may be: tables, by which requests are checked, and from which the API's
 * description is made (api/openapi.c).
 *
 * Members that are not in the table are ignored, so that newer clients can talk to older servers. Where null is allowed it is as good as not given.
 */
#ifndef BASE_SCHEMA_H
#define BASE_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
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
	IS_LIST = 1 << 4,   /* of `item` */
	IS_OBJECT = 1 << 5, /* of `of`; without that, of members with any name that are `item` */
	IS_INSTANT = 1 << 6,
	IS_BYTES = 1 << 7, /* text, base64 */
	IS_NULL = 1 << 8,
	REQUIRED = 1 << 9,
	OF_BODY = 1 << 10, /* job_fields.c: only of one job, since it needs the job's body */
	SPARSE = 1 << 11,  /* left out of an answer if the record lacks it (codec.h) */
};

#define ALWAYS (UINT32_C(1) << 31) /* stored even if it is missing: a record without it is damaged */

/* How a C struct keeps a member (codec.h). */
enum form {
	FORM_NONE, /* it does not */
	FORM_BOOL,
	FORM_U8,
	FORM_I16,
	FORM_I32,
	FORM_U32,
	FORM_I64,
	FORM_U64,
	FORM_MICROS,  /* double, in seconds; whole microseconds in JSON */
	FORM_REAL,    /* double */
	FORM_LETTERS, /* uint8_t: a bit for each of `letters` up to `n`; a text in JSON */
	FORM_CHOICE,  /* enum: the place of a text among `words` */
	FORM_CHOICE8, /* the same in a uint8_t */
	FORM_TEXT,    /* char *, owned by the struct; NULL: none */
	FORM_LENT,    /* const char *, borrowed from the JSON that was read, or from elsewhere; NULL: none */
	FORM_BYTES,   /* the same of any bytes but NUL: {"hex": ...} in JSON if they are not UTF-8 */
	FORM_INLINE,  /* char[], NUL-terminated; it can be written only */
	FORM_CHARS,   /* char[most + 1], NUL-terminated; empty: none */
	FORM_WORD,    /* uint32_t, the number of a text in a struct names; 0: none */
	FORM_RECORD,  /* struct, with the rows of `of`; an object in JSON */
	FORM_TEXTS,   /* char **, up to a NULL: each like FORM_BYTES, in an arena */
	FORM_INTS,    /* int *, `count` of them, none negative, in an arena */
	FORM_RECORDS, /* `count` structs with the rows of `of`, in an arena */
};

struct field {
	const char *name;
	unsigned is;
	const char *about;
	void (*get)(const struct subject *x, struct value *v); /* finds a member that no struct keeps (codec.h) */
	void (*inside)(const struct subject *x,
		       struct json *j); /* the same of a list or object: writes what is in it */
	const struct schema *of;	/* of an object, or of the elements of a list that are objects */
	unsigned item;			/* of a list: what its elements are */
	const char *words;		/* "a|b": it is one of these */
	const char *letters;		/* of these, as its reader checks */
	int64_t least, most;   /* of a number; of the bytes of a text; of the elements of a list. Both 0: any */
	const char *otherwise; /* what it is if it is not given */
	const char *header;    /* of a parameter: the header that says the same, and comes first */
	const char *example;
	enum form form;
	uint16_t at;	 /* offset in its struct */
	uint16_t count;	 /* offset of a list's number of elements, an int */
	uint16_t size;	 /* bytes of an element of a list */
	uint32_t in;	 /* what it is used for: bits that its table defines, and ALWAYS */
	int64_t missing; /* the number that a missing member stands for */
};

struct schema {
	const char *name; /* in the description; NULL: written out where it is used */
	const char *about;
	const struct field *fields;  /* up to one without a name */
	uint32_t in, without;	     /* only fields with one of these bits, and none of those; in 0: all */
	const struct schema *base;   /* has the members of this one, too */
	const struct schema *either; /* or is like this one */
	bool late;		     /* its own fields are checked by their reader */
	const char *example;	     /* JSON */
};

/* Returns the first field of the schema itself after `f` (NULL: from the beginning), or NULL. */
const struct field *schema_next(const struct schema *t, const struct field *f);
/* -EINVAL with what is wrong and what is allowed. */
int schema_check(const struct schema *t, const json_t *v, struct err *err);
/* A parameter's text: a number, or a word. */
int field_check_text(const struct field *f, const char *text, struct err *err);

#endif
