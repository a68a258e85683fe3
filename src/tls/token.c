/*
 * token.c - the text of a token, "ID.SECRET.FINGERPRINT". No OpenSSL here: commands read tokens
 * without loading it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "tls/pki.h"

#define DIGITS_WRITTEN 32 /* digits of a fingerprint: 128 bits, which nobody can forge */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* Copies a part of the text, which must have at least `least` characters, all of `alphabet`. */
static bool part_copy(const char *from, size_t n, size_t least, const char *alphabet, char *to, size_t size)
{
	if (n < least || n >= size || strspn(from, alphabet) < n)
		return false;
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

/* Splits off secret and fingerprint from the end: they contain no dot, but an ID may.
 * The error never repeats the text, since it may be a mistyped secret. */
int token_parse(const char *text, struct token *ret, struct err *err)
{
	struct token t;
	const char *print = strrchr(text, '.');
	const char *secret = print ? memrchr(text, '.', (size_t)(print - text)) : NULL;

	if (!secret || !part_copy(text, (size_t)(secret - text), 2, LETTERS DIGITS ".-", t.id, sizeof t.id) ||
	    !part_copy(secret + 1, (size_t)(print - secret) - 1, 1, LETTERS DIGITS "-_", t.secret, sizeof t.secret) ||
	    !part_copy(print + 1, strlen(print + 1), DIGITS_WRITTEN, DIGITS "abcdefABCDEF", t.fingerprint,
		       sizeof t.fingerprint))
		return err_set(err, -EINVAL,
			       "this is not a token, or not all of one: copy it whole, as it was shown "
			       "(three parts with dots between them, the last of 32 digits)");
	for (char *p = t.fingerprint; *p; p++)
		if (*p >= 'A' && *p <= 'F')
			*p += 'a' - 'A';
	*ret = t;
	return 0;
}

void token_write(const struct token *t, char ret[TOKEN_SIZE])
{
	snprintf(ret, TOKEN_SIZE, "%s.%s.%.*s", t->id, t->secret, DIGITS_WRITTEN, t->fingerprint);
}

/* ---- reading a token from the user ---- */

#define TOKEN_TEXT_MAX 1024

/* Asks on the terminal without echo, as for a password. */
static ssize_t terminal_ask(char *ret, size_t size)
{
	struct termios before, quiet;
	bool set = tcgetattr(STDIN_FILENO, &before) == 0;
	ssize_t n;

	quiet = before;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	fprintf(stderr, "Token: ");
	if (set)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	n = read(STDIN_FILENO, ret, size);
	if (set)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	fputc('\n', stderr);
	return n;
}

static ssize_t all_read(int fd, char *ret, size_t size)
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < size && (got = read(fd, ret + n, size - n)) > 0)
		n += (size_t)got;
	return got < 0 ? got : (ssize_t)n;
}

char *token_read(const char *file, struct err *err)
{
	bool input = strcmp(file, "-") == 0;
	char text[TOKEN_TEXT_MAX + 1] = "";
	int fd = input ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0		  ? -1
		    : input && isatty(fd) ? terminal_ask(text, TOKEN_TEXT_MAX)
					  : all_read(fd, text, TOKEN_TEXT_MAX);
	char *begin = text + strspn(text, " \t\r\n");
	char *token = NULL;

	if (n < 0)
		err_set(err, -errno, "%s: the token can't be read: %s", input ? "standard input" : file,
			strerror(errno));
	else if (!*begin)
		err_set(err, -EINVAL,
			"%s: no token is in it: it is the text that 'shunt token create' prints, for a pool 'shunt pool token'",
			input ? "standard input" : file);
	else {
		begin[strcspn(begin, " \t\r\n")] = '\0';
		token = mem_strdup(begin);
	}
	explicit_bzero(text, sizeof text);
	if (fd > STDIN_FILENO)
		close(fd);
	return token;
}
