/*
 * program.h - commands that start a program: options, then the program's name and its own
 * arguments.
 */
#ifndef CMD_PROGRAM_H
#define CMD_PROGRAM_H

#include "cmd/lib/command.h"

/* Reads the options and calls `run` with the program's words; there is at least one if the command
 * needs one (`operands`). Returns the exit code. */
int program_main(const struct command *c, int argc, char **argv,
		 int (*run)(const struct command *c, const void *arguments, char **argv));

#endif
