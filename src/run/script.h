/*
 * script.h - checks that a script's text is the one that was ordered, and runs it.
 */
#ifndef RUN_SCRIPT_H
#define RUN_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/identity.h"
#include "run/order.h"

/* Fingerprint of a script's text, as in an order (struct order_print). */
struct script_print {
	char sha256[65]; /* in hex */
	int64_t hash;	 /* never 0 */
};

void script_print_make(struct script_print *ret, const void *text, size_t n);
void order_print_set(struct order *o, const struct script_print *p, struct arena *a);
/* Compares by the strongest hash that the order has; an order without one matches any text. */
bool order_print_matches(const struct order *o, const void *text, size_t n);
#define SCRIPT_HEAD 1024 /* maximum bytes of a "#!" line */

/* Beginning of a script's text. */
struct script_head {
	char text[SCRIPT_HEAD]; /* ends in NUL */
	size_t n;
	bool known; /* it was read */
};

/* Lets the user read the script, and checks, with the rights of `who`, that the file has the
 * ordered text. Returns 0, or -errno and a sentence: then it must not run. */
int script_check(const struct order *o, const struct identity *who, struct script_head *ret, struct err *err);
/* Replaces the process by the script's interpreter or, without a script, the shell. `before`: words
 * to put before the script, or NULL. Reads the script's head if it is not known. If that fails,
 * prints a line on standard error and returns the exit code to use. */
int script_exec(const struct order *o, const struct script_head *head, char **before, char **env);

#endif
