/*
 * skip.h - a case is left out, and the reason is known: tools/run-tests lists both.
 */
#ifndef TESTS_SKIP_H
#define TESTS_SKIP_H

#define skip_because(...)                                                                                              \
	do {                                                                                                           \
		print_message("# " __VA_ARGS__);                                                                       \
		print_message("\n");                                                                                   \
		skip();                                                                                                \
	} while (0)

#endif
