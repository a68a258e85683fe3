/*
 * code.c - the table of error codes.
 */
#include "base/code.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const struct code_row table[CODES] = {
	[CODE_BAD_REQUEST] = {"bad_request", 400, EINVAL,
			      "a path, parameter, header or body that can't be read, or is not allowed here"},
	[CODE_UNAUTHORIZED] = {"unauthorized", 401, EACCES, "over TLS, no valid token was shown"},
	[CODE_FORBIDDEN] = {"forbidden", 403, EPERM, "this user may not do it"},
	[CODE_UNKNOWN_JOB] = {"unknown_job", 404, ENOENT, "there is no such job, or the user may not see it"},
	[CODE_UNKNOWN_QUEUE] = {"unknown_queue", 404, ENOENT, "there is no such queue"},
	[CODE_UNKNOWN_NODE] = {"unknown_node", 404, ENOENT, "there is no such node"},
	[CODE_UNKNOWN_ATTRIBUTE] = {"unknown_attribute", 404, ENOENT, "there is no such attribute"},
	[CODE_NOT_FOUND] = {"not_found", 404, ENOENT, "there is no such path, token or file"},
	[CODE_METHOD_NOT_ALLOWED] = {"method_not_allowed", 405, ENOSYS, "there is no such method on this path"},
	[CODE_BAD_STATE] = {"bad_state", 409, EBUSY, "not possible in its present state"},
	[CODE_FINISHED] = {"finished", 409, EALREADY, "the job has ended"},
	[CODE_WOULD_DISPLACE] =
		{"would_displace", 409, EBUSY,
		 "an interactive job could start only in the place of running ones, which its `displace` does not allow"},
	[CODE_TOO_LARGE] = {"too_large", 413, EFBIG, "the body has too many bytes"},
	[CODE_REFUSED] = {"refused", 422, EDQUOT,
			  "understood, but a rule forbids it: limits, ACL, deadline not guaranteed"},
	[CODE_KEY_REUSED] = {"key_reused", 422, EINVAL, "the `Idempotency-Key` came with another body before"},
	[CODE_TOO_MANY] = {"too_many", 429, EAGAIN,
			   "too many requests a second, connections or failed logins of this user or address"},
	[CODE_UNAVAILABLE] = {"unavailable", 503, EAGAIN,
			      "**nothing was done**, and it is safe to try again: the store can't be written, the "
			      "server is shutting down, or there are too many connections"},
	[CODE_NOT_LEADER] = {"not_leader", 503, EAGAIN, "**nothing was done**: another server leads"},
	[CODE_OUTCOME_UNKNOWN] = {"outcome_unknown", 504, EINPROGRESS,
				  "**it may be done**: the store could not be written in time; the request is carried "
				  "out if that is fixed while the server runs"},
};

const struct code_row *code_row(enum code code)
{
	assert(code < CODES);
	return &table[code == CODE_NONE ? CODE_BAD_REQUEST : code];
}

enum code code_find(const char *word)
{
	for (enum code i = CODE_BAD_REQUEST; i < CODES; i++)
		if (strcmp(table[i].word, word) == 0)
			return i;
	return CODE_NONE;
}
