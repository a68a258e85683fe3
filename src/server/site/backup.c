/* backup.c - see backup.h. A backup is a store in a SQLite file, whatever the server's store is. */
#include "server/site/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "server/site/copystore.h"

#define NAME_PATTERN "shunt-[0-9]*T[0-9]*Z.db"
#define NAME_FORMAT "shunt-%Y%m%dT%H%M%SZ.db"
#define UNFINISHED "unfinished.db" /* what a killed backup leaves, which the next one removes */

static const char *const parts[] = {"", "-wal", "-shm"};

/* Removes a SQLite store with its log. */
static void file_remove(const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		snprintf(part, sizeof part, "%s%s", path, parts[i]);
		unlink(part);
	}
}

static int is_backup(const struct dirent *e)
{
	return fnmatch(NAME_PATTERN, e->d_name, 0) == 0;
}

/* Returns a time for the name of a new backup, later than those of all others: the clock may have
 * been ahead when they were made, and their order is that of their names. */
static time_t name_time(const char *dir)
{
	time_t at = time(NULL), newest = 0;
	struct dirent **names;
	int n = scandir(dir, &names, is_backup, alphasort);
	struct tm tm;

	for (int i = 0; i < n; i++) {
		const char *end = memset(&tm, 0, sizeof tm) ? strptime(names[i]->d_name, NAME_FORMAT, &tm) : NULL;
		if (end && !*end && timegm(&tm) > newest)
			newest = timegm(&tm);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return newest < at ? at : newest + 1;
}

/* Removes all but the newest; their names are in the order of their ages. */
static int old_remove(const char *dir, int64_t keep, struct err *err)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_backup, alphasort), rc = 0;
	char path[PATH_MAX];

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
		if (i < n - keep && unlink(path) < 0 && rc == 0)
			rc = err_set(err, -errno, "%s can't be removed: %s", path, strerror(errno));
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return n < 0 ? err_set(err, -errno, "%s: %s", dir, strerror(errno)) : rc;
}

/* Sets the time of the mark; a backup that could not be marked is a good one all the same. */
static void mark_touch(const char *mark)
{
	int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return;
	futimens(fd, NULL);
	close(fd);
}

/* Opens the directory, and locks it against other backups where its file system can. */
static int dir_lock(const char *dir, struct err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(fd);
		return err_set(err, -EBUSY, "%s: another backup is being made there", dir);
	}
	return fd;
}

int backup_make(const char *url, const char *dir, int64_t keep, const char *mark, bool json, struct err *err)
{
	char name[64], path[PATH_MAX], part[PATH_MAX];
	struct tm tm;
	struct stat st;
	int lock = dir_lock(dir, err);

	if (lock < 0)
		return lock;

	time_t at = name_time(dir);

	strftime(name, sizeof name, NAME_FORMAT, gmtime_r(&at, &tm));
	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path ||
	    snprintf(part, sizeof part, "%s/" UNFINISHED, dir) >= (int)sizeof part) {
		close(lock);
		return err_set(err, -ENAMETOOLONG, "%s: %s", dir, strerror(ENAMETOOLONG));
	}
	file_remove(part);
	int rc =
		lstat(path, &st) == 0
			? err_set(err, -EEXIST, "%s exists already", path)
			: copy_show(&(struct copy_words){.done = "Backed up", .name = path, .live = true, .json = json},
				    url, part, err);
	if (rc < 0)
		file_remove(part);
	close(lock);
	if (rc < 0)
		return rc;
	mark_touch(mark);
	return keep > 0 ? old_remove(dir, keep, err) : 0;
}

/* ---- restoring ---- */

/* Renames a SQLite store with its log; -ENOENT: there is none. */
static int file_move(const char *from, const char *to)
{
	char old[PATH_MAX], new[PATH_MAX];
	int rc = 0;

	for (size_t i = 0; i < sizeof parts / sizeof *parts && rc == 0; i++) {
		snprintf(old, sizeof old, "%s%s", from, parts[i]);
		snprintf(new, sizeof new, "%s%s", to, parts[i]);
		if (rename(old, new) < 0 && (i == 0 || errno != ENOENT))
			rc = -errno;
	}
	return rc;
}

int backup_restore(const char *file, const char *url, bool json, struct err *err)
{
	const char *path = strstr(url, "://") ? NULL : url + (strncmp(url, "sqlite:", 7) == 0 ? 7 : 0);
	char aside[PATH_MAX];
	bool moved = false;
	int rc;

	if (access(file, R_OK) < 0)
		return err_set(err, -errno, "%s: %s", file, strerror(errno));
	if (path) {
		snprintf(aside, sizeof aside, "%s.before-%lld", path, (long long)time(NULL));
		rc = file_move(path, aside);
		if (rc < 0 && rc != -ENOENT)
			return err_set(err, rc, "%s can't be renamed: %s", path, strerror(-rc));
		moved = rc == 0;
	}
	rc = copy_show(&(struct copy_words){.done = "Restored", .json = json}, file, url, err);
	if (rc < 0 && path) {
		file_remove(path);
		if (moved)
			file_move(aside, path);
	} else if (moved && !json) {
		printf("What was there before is in %s.\n", aside);
	}
	return rc;
}
