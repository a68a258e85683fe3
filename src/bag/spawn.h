/*
 * spawn.h - starts a command as fast as the system allows: with vfork, and without a shell where
 * the command needs none.
 */
#ifndef BAG_SPAWN_H
#define BAG_SPAWN_H

#include <sys/types.h>

#include "base/err.h"

/* State that a thread keeps between the commands it starts. {0} is empty. */
struct spawner {
	char *text;   /* words of the last command */
	size_t ntext; /* capacity */
	char **words;
	size_t nwords;
	char *name, *path; /* the last program looked up in $PATH, and where it was found */
};
void spawner_fini(struct spawner *s);

/* Splits a command into words if /bin/sh would run exactly these: no quotes but '...', no
 * expansion, no redirection, no keyword, no assignment. Returns how many; 0: a shell is needed.
 * The words are in s->words, followed by NULL. */
size_t spawner_split(struct spawner *s, const char *command, size_t n);

struct spawn_files {
	int in, out, err; /* descriptors of the child's standard streams */
	const char *dir;  /* its working directory; NULL: the current one */
};
/* Starts a command in its own process group, with the environment `env`; the kernel kills it
 * when the calling thread ends. Returns its pid or -errno. A program that can't be found or
 * executed is left to the shell, which reports it with exit code 126 or 127. */
pid_t spawner_start(struct spawner *s, const char *command, size_t n, const struct spawn_files *files,
		    char *const *env);

#endif
