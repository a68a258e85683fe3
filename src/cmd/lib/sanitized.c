/*
 * sanitized.c - for builds with sanitizers only: commands do not check for leaks when they end,
 * unless $ASAN_OPTIONS says so. Jobs run them without the tests' environment, and on some
 * processors each check takes seconds (meson.build).
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
