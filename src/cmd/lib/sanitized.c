/*
 * sanitized.c - in builds with sanitizers only: commands look for no leaks when they end, unless $ASAN_OPTIONS says so. Jobs run them, without the environment of the
 * tests, and on some processors each look takes seconds (meson.build).
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
