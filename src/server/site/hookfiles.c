/*
 * hookfiles.c - see hookfiles.h.
 */
#include "server/site/hookfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "hooks/hook.h"

#define FILES_MAX 100
#define NAME_MOST 100

/* Returns true if users other than root and ourselves may change the file; the error says why. */
static bool others_may_write(const struct stat *st, struct err *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		err_set(err, -EPERM, "it belongs to uid %u: hooks must belong to root or to the server's account",
			(unsigned)st->st_uid);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		err_set(err, -EPERM, "others than its owner may write it: chmod go-w it");
	else
		return false;
	return true;
}

static int text_read(int fd, const struct stat *st, struct hookfile *f, struct err *err)
{
	size_t size = (size_t)st->st_size;
	ssize_t n = 0;

	if (st->st_size > HOOK_SOURCE_MAX)
		return err_set(err, -EFBIG, "it has more than the %d KB that are allowed", HOOK_SOURCE_MAX >> 10);
	f->text = mem_alloc(size + 1);
	while (f->n < size && (n = read(fd, f->text + f->n, size - f->n)) > 0)
		f->n += (size_t)n;
	if (n < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	f->text[f->n] = '\0';
	return 0;
}

static int hookfile_read(int dir, struct hookfile *f, struct err *err)
{
	int fd = openat(dir, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0)
		return err_set(err, -errno, "%s", errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	rc = fstat(fd, &st) < 0 ? err_set(err, -errno, "%s", strerror(errno)) : 0;
	if (rc == 0)
		snprintf(f->stamp, sizeof f->stamp, "%llu.%lld.%lld.%09ld.%lld.%09ld", (unsigned long long)st.st_ino,
			 (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
			 (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = err_set(err, -EINVAL, "it is not a regular file");
	if (rc == 0 && others_may_write(&st, err))
		rc = -EPERM;
	if (rc == 0)
		rc = text_read(fd, &st, f, err);
	close(fd);
	return rc;
}

static bool name_good(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && n <= NAME_MOST && *name != '.' && strcmp(name + n - 4, ".lua") == 0 &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")];
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct hookfile *)a)->name, ((const struct hookfile *)b)->name);
}

static void dir_problem(struct hookdir *d, const char *path, const char *why)
{
	struct err err;

	err_set(&err, 0, "%s: %s", path, why);
	d->problem = mem_strdup(err.text);
}

static void names_read(DIR *dir, struct hookdir *ret)
{
	const struct dirent *e;

	while ((e = readdir(dir)) && ret->files.n < FILES_MAX)
		if (name_good(e->d_name))
			vec_push(&ret->files, (struct hookfile){.name = mem_strdup(e->d_name)});
	if (ret->files.n)
		qsort(ret->files.v, ret->files.n, sizeof *ret->files.v, by_name);
}

void hookdir_read(const char *path, struct hookdir *ret)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct stat st;
	struct err err;

	*ret = (struct hookdir){0};
	if (!dir) {
		if (errno != ENOENT)
			dir_problem(ret, path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fstat(fd, &st) < 0)
		dir_problem(ret, path, strerror(errno));
	else if (others_may_write(&st, &err))
		dir_problem(ret, path, err.text);
	else
		names_read(dir, ret);
	for (size_t i = 0; i < ret->files.n; i++)
		if (hookfile_read(fd, &ret->files.v[i], &err) < 0) {
			free(ret->files.v[i].text);
			ret->files.v[i].text = NULL;
			ret->files.v[i].problem = mem_strdup(err.text);
		}
	closedir(dir);
}

void hookdir_fini(struct hookdir *d)
{
	for (size_t i = 0; i < d->files.n; i++) {
		free(d->files.v[i].name);
		free(d->files.v[i].text);
		free(d->files.v[i].problem);
	}
	vec_free(&d->files);
	free(d->problem);
	d->problem = NULL;
}
