/*
 * reserve.c - see reserve.h.
 */
#include "server/base/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/server.h"

#define RESERVE (16 << 20) /* bytes */
/* free disk space, bytes, below which no job is accepted: its files need some */
#define NEEDED (1 << 20)
#define PLENTY_US 100000 /* how long plenty of space is taken for granted */
#define SUFFIX "-reserve"

/* Extends the log. Unlike the database, it has no locks that are lost when one of its
 * descriptors is closed. */
static bool log_extend(const struct server *s)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "%.*s-wal", (int)(strlen(s->turn->reserve) - strlen(SUFFIX)), s->turn->reserve);
	if (stat(path, &st) < 0 || st.st_blocks * INT64_C(512) >= st.st_size + RESERVE)
		return true;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	/* twice the reserve where there is room: else every submission would extend it a little */
	bool full = fd >= 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, st.st_size + 2 * RESERVE) < 0 && errno == ENOSPC &&
		    fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, st.st_size + RESERVE) < 0 && errno == ENOSPC;
	if (fd >= 0)
		close(fd);
	return !full;
}

static int64_t room_left(const struct server *s)
{
	char dir[PATH_MAX];
	struct statvfs fs;

	snprintf(dir, sizeof dir, "%s", s->turn->reserve);
	*strrchr(dir, '/') = '\0';
	return statvfs(*dir ? dir : "/", &fs) ? INT64_MAX : (int64_t)(fs.f_bavail * fs.f_frsize);
}

static bool is_whole(const struct server *s)
{
	struct stat st;

	return lstat(s->turn->reserve, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == RESERVE;
}

static void reserve_make(struct server *s)
{
	int fd = open(s->turn->reserve, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || posix_fallocate(fd, 0, RESERVE) != 0)
		unlink(s->turn->reserve);
	if (fd >= 0)
		close(fd);
}

void reserve_open(struct server *s, const char *url)
{
	char path[PATH_MAX];

	if (strncmp(url, "sqlite:", 7) != 0 || !strchr(url + 7, '/'))
		return;
	snprintf(path, sizeof path, "%s" SUFFIX, url + 7);
	s->turn->reserve = mem_strdup(path);
}

bool reserve_release(struct server *s)
{
	if (!s->turn->reserve || unlink(s->turn->reserve) < 0)
		return false;
	server_log(s, SEVERITY_ERROR, "the disk of the store is full: using the reserve of %d MB", RESERVE >> 20);
	return true;
}

/* Returns true if there is no room for a job's files. Restores the reserve once there is plenty. */
static bool room_lacks(struct server *s)
{
	if (s->clock->boot_us < s->turn->reserve_us)
		return false;
	int64_t left = room_left(s);
	if (left < 2 * RESERVE)
		return left < NEEDED;
	if (!is_whole(s))
		reserve_make(s);
	s->turn->reserve_us = s->clock->boot_us + PLENTY_US;
	return false;
}

bool reserve_lacks(struct server *s)
{
	return s->turn->reserve && (room_lacks(s) || !log_extend(s));
}
