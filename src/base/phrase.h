/*
 * phrase.h - what a sentence was made of: its template and the values, for clients that speak another language.
 *
 * The form is printf's, as in the source: "There is no queue %s." with the text "There is no queue x." gives the template "There is no queue {1}." and the value
 * "x". Values are found by the words between them, so that nothing has to be kept when a sentence is made.
 */
#ifndef BASE_PHRASE_H
#define BASE_PHRASE_H

#include <stddef.h>

#include "base/code.h"
#include "base/json.h"

struct err;
struct schema;

/* Writes "template" and "values" into the open object; nothing if the form is NULL, has no words of its own, or is not that of the text. */
void phrase_json(struct json *j, const char *form, const char *text);

extern const struct schema error_schema; /* an error as the API shows it */

/* Writes an error into the open object: "code" and "message"; if they are known, "where" (what was
 * put before the sentence), "template" and "values". Form and begins as in struct err. */
void error_json(struct json *j, enum code code, const char *text, const char *form, size_t begins);
void err_json(struct json *j, const struct err *err);

#endif
