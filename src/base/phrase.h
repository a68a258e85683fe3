/*
 * phrase.h - splits a message into its template and values, for clients in other languages.
 *
 * The form is a printf format from the source: "There is no queue %s." with the text "There is no
 * queue x." gives the template "There is no queue {1}." and the value "x". Values are found by the
 * words between them, so that nothing has to be recorded when a message is made.
 */
#ifndef BASE_PHRASE_H
#define BASE_PHRASE_H

#include <stddef.h>

#include "base/code.h"
#include "base/json.h"

struct err;
struct schema;

/* Writes "template" and "values" into the open object. Writes nothing if the form is NULL, has
 * no words of its own, or does not match the text. */
void phrase_json(struct json *j, const char *form, const char *text);

extern const struct schema error_schema; /* schema of an error in the API */

/* Writes an error into the open object: "code" and "message" and, if known, "where" (the
 * prefixes), "template" and "values". `form` and `begins` are as in struct err. */
void error_json(struct json *j, enum code code, const char *text, const char *form, size_t begins);
void err_json(struct json *j, const struct err *err);

#endif
