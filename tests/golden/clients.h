/*
 * clients.h - clients that a test plays for the whole server: requests whose answers come later,
 * streams that they read and leave, and the programs that they start in jobs.
 */
#ifndef GOLDEN_CLIENTS_H
#define GOLDEN_CLIENTS_H

#include <stdbool.h>

struct server;

/* Prints a line of the recorded text. */
void clients_begin(void (*say)(const char *format, ...));
/* Plays one of these commands; returns false for others. */
bool clients_command(struct server *s, const char *word, char *args);
void clients_settle(void); /* prints what has come since, called after each turn */
void clients_end(void);	   /* all hang up */

#endif
