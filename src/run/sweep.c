/*
 * sweep.c - removes what attempts left behind. Users' directories are emptied with their owner's
 * rights.
 */
#include "run/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "run/live.h"
#include "run/rights.h"
#include "run/room.h"

#define ASIDE ".gone." /* prefix for the names of directories to be removed */

/* Returns true for a directory that jobs share; tags begin with a number. */
static bool is_shared(const char *name)
{
	return name[0] == 'x';
}

static bool is_aside(const char *name)
{
	return strncmp(name, ASIDE, sizeof ASIDE - 1) == 0;
}

/* Returns the same hash for the tag "12-3-x5f.1", for "12-3-x5f.1.d" and, from an older server, for
 * "12[3].server" and "12-3.1". */
static uint64_t job_of(const char *name)
{
	char part[64];
	size_t n = 0;

	for (; *name && *name != '.' && n < sizeof part; name++)
		if (*name != ']')
			part[n++] = *name == '[' ? '-' : *name;
	return hash_bytes(part, n);
}

#define LOOKUP (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) /* to look names up */

/* Opens a directory for reading; returns NULL if there is none. */
static DIR *directory_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? NULL : fdopendir(fd);
}

/* Collects the jobs that have a live file. */
static void jobs_find(int live, struct map *ret)
{
	DIR *d = directory_open(live, ".");

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			map_set(ret, job_of(e->d_name), 1);
	if (d)
		closedir(d);
}

static bool has(const struct map *jobs, const char *name)
{
	uint64_t one;

	return map_get(jobs, job_of(name), &one);
}

/* ---- one entry ---- */

/* Removes a directory as its owner, who made the contents. */
static void tree_remove(int dir, const char *name, const struct identity *server)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return;
	struct identity owner = {
		.uid = st.st_uid, .gid = st.st_gid, .change = geteuid() == 0 && st.st_uid != 0, .server = server};
	tmpdir_clear(dir, name, &owner);
}

static bool aside_set(int dir, const char *name)
{
	char aside[300];

	snprintf(aside, sizeof aside, ASIDE "%d.%.200s", (int)getpid(), name);
	return renameat(dir, name, dir, aside) == 0;
}

/* Writes the tag of a node file in a directory that jobs share: "12[3].server" in "x5f.1" is of the
 * attempt 12-3-x5f.1. */
static void tag_of(const char *dir, const char *name, char *ret, size_t size)
{
	size_t n = 0;

	for (; *name && *name != '.' && n + 1 < size; name++)
		if (*name != ']')
			ret[n++] = *name == '[' ? '-' : *name;
	snprintf(ret + n, size - n, "-%s", dir);
}

/* Removes the node files of all attempts without a live file from a shared directory, and unused
 * texts. */
static void shared_sweep(int nodes, const char *name, int live)
{
	DIR *d = directory_open(nodes, name);
	char tag[300];
	struct stat st;

	for (struct dirent *e; d && (e = readdir(d));) {
		bool gone;
		tag_of(name, e->d_name, tag, sizeof tag);
		if (e->d_name[0] == '.')
			gone = !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
			       st.st_nlink == 1;
		else
			gone = fstatat(live, tag, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
		if (gone)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
	unlinkat(nodes, name, AT_REMOVEDIR); /* if it is empty */
}

/* ---- all entries ---- */

/* Removes node files of jobs without an attempt, and texts to which no node file is a link any more
 * (room.c). */
static bool nodes_sweep(DIR *d, int live, const struct map *jobs)
{
	bool found = false;
	struct stat st;

	for (struct dirent *e; (e = readdir(d));) {
		const char *name = e->d_name;
		bool dot = name[0] == '.';
		if (is_aside(name))
			found = true;
		else if (!strcmp(name, ".") || !strcmp(name, "..") || (!dot && has(jobs, name)) ||
			 fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		else if (S_ISDIR(st.st_mode) && is_shared(name))
			shared_sweep(dirfd(d), name, live);
		else if (S_ISDIR(st.st_mode)) /* kept ones are of shepherds that take no other order */
			found |= (!dot || !strncmp(name, ROOM_KEPT, sizeof ROOM_KEPT - 1)) && aside_set(dirfd(d), name);
		else if (!dot || st.st_nlink == 1)
			unlinkat(dirfd(d), name, 0);
	}
	return found;
}

static bool tmp_sweep(DIR *d, int live)
{
	bool found = false;
	struct stat st;

	for (struct dirent *e; (e = readdir(d));) {
		if (is_aside(e->d_name))
			found = true;
		else if (e->d_name[0] != '.' && fstatat(live, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
			found |= aside_set(dirfd(d), e->d_name);
	}
	return found;
}

bool sweep_begin(int live, const struct identity *server)
{
	struct map jobs = {0};
	DIR *nodes = directory_open(live, "../nodes"), *tmp = directory_open(live, "../tmp");
	bool found = false;

	jobs_find(live, &jobs);
	rights_begin(server);
	if (nodes)
		found = nodes_sweep(nodes, live, &jobs);
	if (tmp)
		found |= tmp_sweep(tmp, live);
	rights_end(server);
	map_fini(&jobs);
	if (nodes)
		closedir(nodes);
	if (tmp)
		closedir(tmp);
	return found;
}

static void groups_drop(void)
{
	const struct identity nobody = {.change = geteuid() == 0};

	identity_groups(&nobody); /* drop root's groups, which users don't have */
}

void sweep_finish(int live, const struct identity *server)
{
	static const char *const names[] = {"../nodes", "../tmp"};

	groups_drop();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		DIR *d = directory_open(live, names[i]);
		for (struct dirent *e; d && (e = readdir(d));)
			if (is_aside(e->d_name))
				tree_remove(dirfd(d), e->d_name, server);
		if (d)
			closedir(d);
	}
}

/* ---- one attempt ---- */

/* Removes a job's node file, and the list of its GPUs, from a shared directory. */
static void shared_remove(int nodes, const char *name, const char *job)
{
	int fd = openat(nodes, name, LOOKUP);
	char gpus[300];

	if (fd < 0)
		return;
	snprintf(gpus, sizeof gpus, "%.290sgpu", job);
	unlinkat(fd, job, 0);
	unlinkat(fd, gpus, 0);
	close(fd);
}

/* Names are looked up and no directory is read: many attempts may have been killed at once. */
void sweep_attempt(int live, const char *tag, const struct identity *server)
{
	int nodes = openat(live, "../nodes", LOOKUP), tmp = openat(live, "../tmp", LOOKUP);
	char job[256], own[300];
	const char *rest;

	groups_drop();
	snprintf(own, sizeof own, "%.290s.d", tag);
	tree_remove(tmp, tag, server);
	tree_remove(nodes, tag, server);
	tree_remove(nodes, own, server);
	rights_begin(server);
	unlinkat(nodes, tag, 0); /* a node file, from a server that names it so */
	rest = strstr(tag, "-x");
	if (rest && live_job(live, tag, job, sizeof job))
		shared_remove(nodes, rest + 1, job);
	rights_end(server);
	if (nodes >= 0)
		close(nodes);
	if (tmp >= 0)
		close(tmp);
}
