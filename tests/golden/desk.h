/*
 * desk.h - an owner at a workstation, as a test plays him: his input, load and memory, GPUs that he
 * uses, and the calls that stop and continue jobs, which are printed by their tags.
 *
 * The program is linked with -Wl,--wrap for each call (tests/meson.build).
 */
#ifndef GOLDEN_DESK_H
#define GOLDEN_DESK_H

#include <stdbool.h>
#include <uv.h>

void desk_begin(void); /* the owner is away, and has not been here */
/* Carries out one of the commands `seen`, `input`, `tasks` and `gpus`; returns false for others.
 * `dir` is the directory of devices. */
bool desk_command(char *const *words, const char *dir);
/* Sends a line to the socket of `shunt owner`, and prints the answer. */
void desk_ask(const char *path, const char *line, uv_loop_t *loop, void (*each)(void));

#endif
