/*
 * stage.c - file staging: the texts of -W stagein and stageout.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "server/job/stage.h"

/* Returns the length of the first entry of "here@host:path,..."; 0 at the end. */
size_t stage_next(const char *at)
{
	return strcspn(at, ",");
}

int stage_split(const char *what, const char *at, size_t n, size_t *ret_here, size_t *ret_host, struct err *err)
{
	const char *sign = memchr(at, '@', n), *colon = sign ? memchr(sign, ':', n - (size_t)(sign - at)) : NULL;

	if (!colon || sign == at || colon == sign + 1 || colon + 1 == at + n)
		return err_set(err, -EINVAL,
			       "%s \"%.*s\" must be LOCAL_PATH@HOST:PATH, several of them joined by commas", what,
			       (int)(n < 200 ? n : 200), at);
	*ret_here = (size_t)(sign - at);
	*ret_host = (size_t)(colon - sign) - 1;
	return 0;
}

int stage_check(const char *what, const char *text, struct err *err)
{
	size_t here, host, n;
	int rc = 0, count = 0;

	for (const char *at = text; at && *at && rc == 0; at += n + (at[n] == ',')) {
		n = stage_next(at);
		rc = stage_split(what, at, n, &here, &host, err);
		if (++count > STAGE_MAX)
			rc = err_set(err, -EINVAL, "%s: at most %d files", what, STAGE_MAX);
	}
	return rc;
}
