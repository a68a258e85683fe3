/*
 * order_internal.h - what writing and reading of orders share. (They are files of their own: jansson and base/json.h have a
 * function of the same name.)
 */
#ifndef RUN_ORDER_INTERNAL_H
#define RUN_ORDER_INTERNAL_H

#include <stddef.h>

#include "base/arena.h"

enum kind { TEXT, TEXTS, INT, INT64, ID, FLAG, INTS, HOSTS, FILES, WORD, SAVES };

struct field {
	const char *key;
	enum kind kind;
	size_t at;
	const char *const *words; /* of a WORD: names of the enum's values, NULL-terminated */
	size_t count;		  /* of INTS, HOSTS and FILES: where their number is */
};

extern const struct field order_fields[], result_fields[], saves_fields[]; /* the last has no key */

/* Strings of any bytes: as they are if they are UTF-8, else {"hex": "..."}. */
struct json;
struct json_t;
struct order_host;
struct order_file;
extern const char *const file_words[]; /* by enum file_use */
void text_write(struct json *j, const char *key, const char *s);
int text_read(const struct json_t *v, struct arena *a, char **ret); /* -EINVAL if it is neither */
void hosts_write(struct json *j, const char *key, const struct order_host *hosts, int n);
int hosts_read(const struct json_t *v, struct arena *a, struct order_host **ret, int *ret_n);

#endif
