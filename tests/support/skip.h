/*
 * skip.h - skips a test case with a reason: tools/run-tests lists both.
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
