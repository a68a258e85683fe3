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
	/* An earlier attempt may have left one, which others could have open: a new file, not new bytes. */
	int fd = open(o->nodefile_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0 && errno == EEXIST && unlink(o->nodefile_path) == 0)
		fd = open(o->nodefile_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
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
	rmdir(o->tmpdir);
}

static int tmpdir_make(const struct order *o, const struct identity *who, struct err *err)
{
	if (mkdir(o->tmpdir, 0700) && errno != EEXIST)
		return err_set(err, -errno, "the directory for temporary files %s can't be made: %s", o->tmpdir,
			       strerror(errno));
	if (who->change && lchown(o->tmpdir, who->uid, who->gid)) {
		int r = -errno;
		rmdir(o->tmpdir);
		return err_set(err, r, "the directory for temporary files %s can't be given to user %s: %s", o->tmpdir,
			       o->user, strerror(-r));
	}
	return 0;
}

/* The server, which is not root, wrote it for itself: it is the user's alone to read. */
static int script_give(const struct order *o, const struct identity *who, struct err *err)
{
	struct stat st;
	int r = 0, fd = open(o->script, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fstat(fd, &st))
		r = -errno;
	else if (st.st_uid != who->uid && (!S_ISREG(st.st_mode) || fchown(fd, who->uid, who->gid) || fchmod(fd, 0400)))
		r = S_ISREG(st.st_mode) ? -errno : -EINVAL;
	if (fd >= 0)
		close(fd);
	return r ? err_set(err, r, "the script %s can't be given to user %s: %s", o->script, o->user, strerror(-r)) : 0;
}

int room_make(const struct order *o, const struct identity *who, struct err *err)
{
	int r = o->nodefile_path ? nodefile_write(o, err) : 0;

	if (!r && o->script && who->change)
		r = script_give(o, who, err);

	if (!r && o->tmpdir) {
		r = tmpdir_make(o, who, err);
		if (r && o->nodefile_path)
			unlink(o->nodefile_path);
	}
	return r;
}

void room_clear(const struct order *o, const struct identity *who)
{
	if (o->nodefile_path)
		unlink(o->nodefile_path);
	if (o->tmpdir)
		tmpdir_remove(o, who);
}

static bool is_named(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

char **room_environment(const struct order *o, struct arena *a)
{
	const char *names[] = {"SHUNT_TAG", "PBS_NODEFILE", "TMPDIR"},
		   *values[] = {o->tag, o->nodefile_path, o->tmpdir};
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
