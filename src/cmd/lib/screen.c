/*
 * screen.c - standard output and standard error as streams that clean what passes through them, so
 * that no command can forget to.
 */
#include "cmd/lib/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/lib/command.h"

#ifdef __GLIBC__
#define FAILED 0 /* what a stream's function returns then */
#else
/* The two are constants elsewhere: pbs/qsub_musl.c. */
FILE *__wrap_stdout, *__wrap_stderr;
#undef stdout
#undef stderr
#define stdout __wrap_stdout
#define stderr __wrap_stderr
#define FAILED (-1)
#endif

/* One of the two streams. The first bytes of a character that arrives in two pieces wait here. */
struct screen {
	int fd;
	char begun[4];
	size_t nbegun;
	struct strbuf in, out; /* empty between writes; kept to reuse their memory */
	int failed;	       /* errno of the first write that failed; 0: none did */
};

static struct screen screens[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static int clean_write(struct screen *s, const char *data, size_t n)
{
	strbuf_clear(&s->out);
	text_clean(&s->out, data, n, TEXT_LINES);
	return fd_write(s->fd, s->out.text, s->out.n);
}

/* A callback of fopencookie(): returns FAILED with errno set. */
static ssize_t screen_write(void *cookie, const char *data, size_t n)
{
	struct screen *s = cookie;
	size_t all = n;
	int rc;

	if (s->nbegun) {
		strbuf_clear(&s->in);
		strbuf_add(&s->in, s->begun, s->nbegun);
		strbuf_add(&s->in, data, n);
		data = s->in.text;
		n = s->in.n;
	}
	s->nbegun = utf8_unfinished(data, n);
	n -= s->nbegun;
	memcpy(s->begun, data + n, s->nbegun);
	if (text_is_clean(data, n, TEXT_LINES))
		rc = fd_write(s->fd, data, n);
	else
		rc = clean_write(s, data, n);
	if (rc < 0 && !s->failed)
		s->failed = -rc;
	errno = -rc;
	return rc < 0 ? FAILED : (ssize_t)all;
}

void screen_begin(void)
{
	FILE *out = fopencookie(&screens[0], "w", (cookie_io_functions_t){.write = screen_write});
	FILE *err = fopencookie(&screens[1], "w", (cookie_io_functions_t){.write = screen_write});

	/* Without memory for the streams nothing can be printed safely. */
	if (!out || !err)
		_exit(1);
	setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	setvbuf(err, NULL, _IONBF, 0);
	stdout = out;
	stderr = err;
}

int screen_end(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (screens[0].failed != EPIPE)
		fprintf(stderr, "shunt: standard output: %s\n", strerror(screens[0].failed));
	return code == EXIT_OK ? EXIT_FAILED : code;
}

int screen_raw(FILE *out, const char *data, size_t n)
{
	if (fflush(out) != 0)
		return -errno;
	return fd_write(out == stderr ? STDERR_FILENO : STDOUT_FILENO, data, n);
}

void screen_style(FILE *out, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof text)
		screen_raw(out, text, (size_t)n);
}
