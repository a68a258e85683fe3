/*
 * commands.h - the rows of the table, each in its own file.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/command.h"

extern const struct command command_simulate;	     /* simulate.c */
extern const struct command command_experiment_push; /* experiment.c */
extern const struct command command_experiment_traces;
extern const struct command command_policies;  /* policies.c */
extern const struct command command_help_page; /* help.c */
extern const struct command command_version;
extern const struct command command_completions; /* completions.c */
extern const struct command command_manual;	 /* manual.c */

#endif
