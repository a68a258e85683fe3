/*
 * code.h - the words by which the API's clients tell errors apart. One table says what each means, its HTTP status, and its errno for C.
 */
#ifndef BASE_CODE_H
#define BASE_CODE_H

enum code {
	CODE_NONE, /* no word of its own: to a client it is CODE_BAD_REQUEST */
	CODE_BAD_REQUEST,
	CODE_UNAUTHORIZED,
	CODE_FORBIDDEN,
	CODE_UNKNOWN_JOB,
	CODE_UNKNOWN_QUEUE,
	CODE_UNKNOWN_NODE,
	CODE_UNKNOWN_ATTRIBUTE,
	CODE_NOT_FOUND,
	CODE_METHOD_NOT_ALLOWED,
	CODE_BAD_STATE,
	CODE_FINISHED,
	CODE_TOO_LARGE,
	CODE_REFUSED,
	CODE_WOULD_DISPLACE,
	CODE_KEY_REUSED,
	CODE_TOO_MANY,
	CODE_UNAVAILABLE,
	CODE_NOT_LEADER,
	CODE_OUTCOME_UNKNOWN,
	CODES,
};

struct code_row {
	const char *word;
	int status; /* HTTP's */
	int error;  /* errno */
	const char *about;
};

const struct code_row *code_row(enum code code);
enum code code_find(const char *word); /* CODE_NONE: there is no such word */

#endif
