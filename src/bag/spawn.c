/*
 * spawn.c - vfork and execve. The child shares our memory until execve, so it only makes system
 * calls.
 */
#include "bag/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

void spawner_fini(struct spawner *s)
{
	free(s->text);
	free(s->words);
	free(s->name);
	free(s->path);
	*s = (struct spawner){0};
}

static void room(struct spawner *s, size_t ntext)
{
	if (s->ntext < ntext) {
		s->text = mem_realloc(s->text, ntext, 1);
		s->ntext = ntext;
	}
	if (s->nwords < ntext / 2 + 2) {
		s->nwords = ntext / 2 + 2;
		s->words = mem_realloc(s->words, s->nwords, sizeof *s->words);
	}
}

/* Returns true if a character has a meaning to the shell anywhere outside of quotes. */
static bool special(char c)
{
	return c == '\0' || strchr("|&;<>()$`\\\"*?[]{}\n", c);
}

size_t spawner_split(struct spawner *s, const char *command, size_t n)
{
	size_t words = 0, at = 0;
	char *to;

	room(s, n + 1);
	to = s->text;
	while (at < n) {
		if (command[at] == ' ' || command[at] == '\t') {
			at++;
			continue;
		}
		if (command[at] == '#' || command[at] == '~')
			return 0;
		s->words[words++] = to;
		while (at < n && command[at] != ' ' && command[at] != '\t') {
			if (special(command[at]) || (command[at] == '=' && words == 1))
				return 0;
			if (command[at] != '\'') {
				*to++ = command[at++];
				continue;
			}
			const char *end = memchr(command + at + 1, '\'', n - at - 1);
			/* 'if' in quotes is a program, without them a keyword: leave that to the
			 * shell */
			if (!end || words == 1)
				return 0;
			size_t inside = (size_t)(end - command) - at - 1;
			memcpy(to, command + at + 1, inside);
			to += inside;
			at += inside + 2;
		}
		*to++ = '\0';
	}
	s->words[words] = NULL;
	return words;
}

/* Finds a program as execvp() would; returns NULL if there is none. */
static const char *find(struct spawner *s, const char *name)
{
	if (strchr(name, '/'))
		return name;
	if (s->name && strcmp(s->name, name) == 0)
		return s->path;
	const char *at = getenv("PATH");
	char *full = NULL;
	for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; at && !full;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t n = strcspn(at, ":");
		full = mem_zalloc(n + strlen(name) + 2);
		memcpy(full, at, n);
		strcat(full, n ? "/" : "");
		strcat(full, name);
		if (access(full, X_OK) != 0) {
			free(full);
			full = NULL;
		}
	}
	if (!full)
		return NULL;
	free(s->name);
	free(s->path);
	s->name = mem_strdup(name);
	s->path = full;
	return full;
}

/* Runs a program. The child writes `ret_failed` if it can't execute. Not inlined, because the
 * child of vfork() uses this frame. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static pid_t
run(const char *path, char *const *words, const struct spawn_files *files, char *const *env, volatile int *ret_failed)
{
	pid_t parent = getpid(), pid = vfork();

	if (pid != 0)
		return pid;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (files->dir && chdir(files->dir) < 0) {
		*ret_failed = errno;
		_exit(127);
	}
	if ((files->in == 0 || dup2(files->in, 0) == 0) && dup2(files->out, 1) == 1 && dup2(files->err, 2) == 2)
		execve(path, words, env);
	*ret_failed = errno;
	_exit(127);
}

static pid_t try(const char *path, char *const *words, const struct spawn_files *files, char *const *env)
{
	volatile int failed = 0;
	pid_t pid = run(path, words, files, env, &failed);

	if (pid < 0)
		return -errno;
	if (failed) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return -failed;
	}
	return pid;
}

pid_t spawner_start(struct spawner *s, const char *command, size_t n, const struct spawn_files *files, char *const *env)
{
	if (spawner_split(s, command, n) > 0) {
		const char *path = find(s, s->words[0]);
		pid_t pid = path ? try(path, s->words, files, env) : -ENOENT;
		if (pid > 0 || pid == -EAGAIN || pid == -ENOMEM)
			return pid;
		/* It may have moved since it was found, or be a builtin, a script without #! or
		 * a mistake: leave it to the shell. */
		free(s->name);
		s->name = NULL;
	}
	room(s, n + 1);
	memcpy(s->text, command, n);
	s->text[n] = '\0';
	char *const shell[] = {"sh", "-c", s->text, NULL};
	return try("/bin/sh", shell, files, env);
}
