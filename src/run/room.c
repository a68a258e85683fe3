/*
 * room.c - node file, temporary directory, environment.
 */
#include "run/room.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int nodefile_write(const struct order *o, struct err *err)
{
	const char *text = o->nodefile ? o->nodefile : "";
	int fd = open(o->nodefile_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return err_set(err, -errno, "the node file %s can't be made: %s", o->nodefile_path, strerror(errno));
	ssize_t n = write(fd, text, strlen(text));
	int r = n == (ssize_t)strlen(text) ? 0 : n < 0 ? -errno : -ENOSPC;
	close(fd);
	if (r) {
		unlink(o->nodefile_path);
		return err_set(err, r, "the node file %s can't be written: %s", o->nodefile_path, strerror(-r));
	}
	return 0;
}

/* What the server has made becomes the user's; nothing else does, whatever the order says. */
static int give(int fd, const struct identity *who, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid == who->uid)
		return 0;
	if (st.st_uid != who->server->uid || (S_ISREG(st.st_mode) && st.st_nlink != 1))
		return -EPERM;
	return fchown(fd, who->uid, who->gid) || fchmod(fd, mode) ? -errno : 0;
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return at->level == 0 ? 0 : remove(path) && 0; /* go on: what can be removed is */
}

/* With the user's rights, so that no link leads us anywhere. */
static void tmpdir_remove(const struct order *o, const struct identity *who)
{
	identity_files_begin(who);
	nftw(o->tmpdir, entry_remove, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	identity_files_end(who);
	identity_files_begin(who->server);
	rmdir(o->tmpdir);
	identity_files_end(who->server);
}

static int tmpdir_make(const struct order *o, const struct identity *who, struct err *err)
{
	identity_files_begin(who->server);
	int r = mkdir(o->tmpdir, 0700) && errno != EEXIST ? -errno : 0;
	identity_files_end(who->server);
	int fd = r ? -1 : open(o->tmpdir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!r)
		r = fd < 0 ? -errno : give(fd, who, 0700);
	if (fd >= 0)
		close(fd);
	return r ? err_set(err, r, "the directory for temporary files %s can't be made for user %s: %s", o->tmpdir,
			   o->user, strerror(-r))
		 : 0;
}

/* A script that can't be read is the job's own trouble, which it will find. */
static void script_give(const struct order *o, const struct identity *who)
{
	int fd = open(o->script, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return;
	give(fd, who, 0400);
	close(fd);
}

int room_make(const struct order *o, const struct identity *who, struct err *err)
{
	int r = 0;

	if (o->nodefile_path) {
		identity_files_begin(who->server);
		r = nodefile_write(o, err);
		identity_files_end(who->server);
	}
	if (!r && o->script && who->change)
		script_give(o, who);
	if (!r && o->tmpdir)
		r = tmpdir_make(o, who, err);
	return r;
}

void room_clear(const struct order *o, const struct identity *who)
{
	identity_files_begin(who->server);
	if (o->nodefile_path)
		unlink(o->nodefile_path);
	identity_files_end(who->server);
	if (o->tmpdir)
		tmpdir_remove(o, who);
}

static bool is_named(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

char **room_environment(const struct order *o, const char *instance, struct arena *a)
{
	const char *names[] = {"SHUNT_TAG", "PBS_NODEFILE", "TMPDIR"},
		   *values[] = {arena_printf(a, "%s@%s", o->tag, instance), o->nodefile_path, o->tmpdir};
	size_t n = 0, kept = 0;

	while (o->env[n])
		n++;
	char **env = arena_alloc(a, (n + 4) * sizeof *env);
	for (size_t i = 0; i < n; i++) {
		bool ours = false;
		for (int k = 0; k < 3; k++)
			ours = ours || (values[k] && is_named(o->env[i], names[k]));
		if (!ours)
			env[kept++] = o->env[i];
	}
	for (int k = 0; k < 3; k++)
		if (values[k])
			env[kept++] = arena_printf(a, "%s=%s", names[k], values[k]);
	return env;
}
