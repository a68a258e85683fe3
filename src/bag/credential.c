/*
 * credential.c - credentials as text and as files.
 */
#include "bag/credential.h"
#include "base/base64.h"
#include "base/fdio.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

void secret_make(char ret[SECRET_SIZE])
{
	unsigned char bytes[(SECRET_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		abort();
	hex_encode(bytes, sizeof bytes, ret);
}

void credential_put(const struct credential *c, const char (*secrets)[SECRET_SIZE], size_t n, struct strbuf *out)
{
	for (int i = 0; i < c->nwhere; i++)
		strbuf_printf(out, "where %s\n", c->where[i]);
	strbuf_printf(out, "fingerprint %s\n", c->fingerprint);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(out, "secret %s\n", secrets[i]);
}

/* Reads the value after `word` in a line: `least` to `most` characters out of `allowed`; NULL:
 * any printable character. */
static bool value(const char *text, size_t n, const char *word, const char *allowed, size_t least, size_t most,
		  char *ret)
{
	size_t skip = strlen(word);

	if (n < skip + least || n > skip + most || memcmp(text, word, skip) != 0)
		return false;
	for (size_t i = skip; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~' || (allowed && !strchr(allowed, text[i])))
			return false;
	if (ret) {
		memcpy(ret, text + skip, n - skip);
		ret[n - skip] = '\0';
	}
	return true;
}

static bool line_take(const char *text, size_t n, int64_t *number, struct credential *c)
{
	static const char digits[] = "0123456789abcdef";
	char where[sizeof c->where[0]];

	if (value(text, n, "where ", NULL, 1, sizeof where - 1, where)) {
		/* A word that looks like an option must not become one. */
		if (c->nwhere == CREDENTIAL_PLACES || where[0] == '-')
			return false;
		strcpy(c->where[c->nwhere++], where);
		return true;
	}
	if (value(text, n, "fingerprint ", digits, 64, 64, c->fingerprint))
		return true;
	return value(text, n, "secret ", digits, SECRET_SIZE - 1, SECRET_SIZE - 1, (*number)-- == 0 ? c->secret : NULL);
}

int credential_parse(const char *text, size_t n, int64_t number, struct credential *ret, struct err *err)
{
	struct credential c = {0};
	int line = 1;

	for (size_t at = 0; at < n; line++) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t size = end ? (size_t)(end - (text + at)) : n - at;
		if (size > 0 && text[at] != '#' && !line_take(text + at, size, &number, &c))
			return err_set(
				err, -EINVAL,
				"line %d is not part of a credential (allowed: where, fingerprint and secret, as the broker writes them)",
				line);
		at += size + (end != NULL);
	}
	if (!c.nwhere || !c.fingerprint[0])
		return err_set(err, -EINVAL, "the credential does not say where its broker is");
	if (!c.secret[0])
		return err_set(err, -ENOENT, "the credential has fewer secrets than workers");
	*ret = c;
	return 0;
}

int credential_read(const char *path, int64_t number, struct credential *ret, struct err *err)
{
	struct strbuf text = {0};
	struct stat st;
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
	else if (!standard && S_ISREG(st.st_mode) && (st.st_mode & 077))
		rc = err_set(err, -EACCES, "%s may be read by others: its mode must be 600", path);
	if (rc == 0 && (rc = fd_read(fd, CREDENTIAL_MOST + 1, &text)) < 0)
		rc = rc == -EFBIG ? 0 : err_set(err, rc, "%s: %s", path, strerror(-rc));
	if (fd >= 0 && !standard)
		close(fd);
	if (rc == 0) {
		rc = credential_parse(strbuf_text(&text), text.n, number, ret, err);
		rc = rc < 0 ? err_prefix(err, rc, "%s", path) : 0;
	}
	strbuf_fini(&text);
	return rc;
}

int credential_write(const char *path, const char *text, size_t n, struct err *err)
{
	int rc = file_replace(path, 0600, text, n, 0);

	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}
