/*
 * spawn.h - starts a command as fast as the system lets us: vfork, and no shell where the command has nothing for one.
 */
#ifndef BAG_SPAWN_H
#define BAG_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* What a thread keeps between the commands that it starts. {0} is new. */
struct spawner {
	char *text;   /* words of the last command */
	size_t ntext; /* room */
	char **words;
	size_t nwords;
	char *name, *path; /* the last program that was looked up in $PATH, and where it was found */
};
void spawner_fini(struct spawner *s);

/* Splits a command into words if /bin/sh would run exactly these: no quotes but '...', no expansion, no redirection, no keyword, no assignment. Returns how
 * many; 0: a shell is needed. The words are in s->words, and NULL after them. */
size_t spawner_split(struct spawner *s, const char *command, size_t n);

struct spawn_files {
	int in, out, err; /* descriptors of the child's standard streams */
	const char *dir;  /* where it begins; NULL: here */
};
/* Starts it in a process group of its own, with the environment `env`; the kernel kills it when the calling thread ends. Returns its pid or -errno. A
 * program that can't be found or executed is left to the shell, which reports it with exit code 126 or 127. */
pid_t spawner_start(struct spawner *s, const char *command, size_t n, const struct spawn_files *files,
		    char *const *env);

#endif
