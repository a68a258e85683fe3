/*
 * script.h - a script: whether its text is the one that was ordered, and which program runs it.
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

/* What an order has of its script's text (struct order_print). */
struct script_print {
	char sha256[65]; /* in hex */
	int64_t hash;	 /* never 0 */
};

void script_print_make(struct script_print *ret, const void *text, size_t n);
void order_print_set(struct order *o, const struct script_print *p, struct arena *a);
/* By the best that the order has; one that has nothing matches any text. */
bool order_print_matches(const struct order *o, const void *text, size_t n);
/* 0: the file is the text that the order means. Else -errno and the sentence: it is not run. With the rights of `who`. */
int script_check(const struct order *o, const struct identity *who, struct err *err);
/* Replaces the process by the script's interpreter, or, without a script, the shell. `before`: words that stand before the script, or NULL. Returns the exit code to
 * leave with if it can't, after a line on standard error. */
int script_exec(const struct order *o, char **before, char **env);

#endif
