/*
 * code.h - error codes for clients of the API. One table has the meaning of each, its HTTP status
 * and its errno.
 */
#ifndef BASE_CODE_H
#define BASE_CODE_H

/* In the order of their HTTP statuses. */
enum code {
	CODE_NONE, /* no code of its own; clients see CODE_BAD_REQUEST */
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
	CODE_WOULD_DISPLACE,
	CODE_TOO_LARGE,
	CODE_REFUSED,
	CODE_KEY_REUSED,
	CODE_TOO_MANY,
	CODE_UNAVAILABLE,
	CODE_NOT_LEADER,
	CODE_OUTCOME_UNKNOWN,
	CODES,
};

struct code_row {
	const char *word;
	int status; /* HTTP status */
	int error;  /* errno */
	const char *about;
};

const struct code_row *code_row(enum code code);
enum code code_find(const char *word); /* CODE_NONE if unknown */

#endif
