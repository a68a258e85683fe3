/*
 * qsub_musl.c - what qsub needs as well when it is linked with musl instead of glibc.
 *
 * musl's `stdout` and `stderr` are constants, but screen_begin() changes them: the linker (--wrap)
 * puts these in their place, and functions that print on them in that of those that know only
 * musl's. The archives of libraries were built for glibc: they call functions of it that check
 * sizes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WRAPPER __attribute__((used))

int __snprintf_chk(char *text, size_t n, int flag, size_t size, const char *fmt, ...);
int __vsnprintf_chk(char *text, size_t n, int flag, size_t size, const char *fmt, va_list ap);
char *__strncpy_chk(char *to, const char *from, size_t n, size_t size);

WRAPPER int __vsnprintf_chk(char *text, size_t n, int flag, size_t size, const char *fmt, va_list ap)
{
	return vsnprintf(text, n < size ? n : size, fmt, ap);
}

WRAPPER int __snprintf_chk(char *text, size_t n, int flag, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = __vsnprintf_chk(text, n, flag, size, fmt, ap);
	va_end(ap);
	return rc;
}

WRAPPER char *__strncpy_chk(char *to, const char *from, size_t n, size_t size)
{
	return strncpy(to, from, n < size ? n : size);
}

#ifdef MUSL_TRIED /* when the build is configured: do the archives link, and run? */
#include <jansson.h>
#include <zlib.h>

int main(void)
{
	z_stream stream = {0};
	json_t *json = json_loads("{}", 0, NULL);

	return json_dumpf(json, stdout, 0) || inflateInit(&stream) || inflate(&stream, 0) == Z_OK ||
	       inflateEnd(&stream);
}
#else
#include "cmd/lib/screen.h"

WRAPPER int __wrap_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
WRAPPER int __wrap_puts(const char *text);
WRAPPER int __wrap_putchar(int c);

WRAPPER int __wrap_printf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vfprintf(stdout, fmt, ap);
	va_end(ap);
	return n;
}

WRAPPER int __wrap_puts(const char *text)
{
	return fprintf(stdout, "%s\n", text) < 0 ? EOF : 0;
}

WRAPPER int __wrap_putchar(int c)
{
	return fputc(c, stdout);
}
#endif
