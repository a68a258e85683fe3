/*
 * spare.c - see spare.h.
 */
#include "run/spare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int64_t tenth(int64_t size, int64_t most)
{
	return size / 10 < most ? size / 10 : most;
}

int spare_look(int fd, struct spare_room *ret)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs))
		return -errno;
	ret->size = (int64_t)(fs.f_blocks * fs.f_frsize);
	ret->bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
	ret->keep_bytes = tenth(ret->size, SPARE_KEPT_FREE);
	ret->files = (int64_t)fs.f_favail;
	ret->keep_files = tenth((int64_t)fs.f_files, SPARE_KEPT_FILES);
	return 0;
}

int64_t spare_most(int fd, int64_t has)
{
	struct spare_room room;

	if (spare_look(fd, &room))
		return INT64_MAX;
	int64_t most = has + room.bytes - room.keep_bytes;
	return most > SPARE_ALWAYS ? most : SPARE_ALWAYS;
}

int64_t spare_used(int dir, uid_t uid, ino_t but)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	int64_t used = 0;
	struct stat st;

	for (struct dirent *e; d && (e = readdir(d));)
		if (fstatat(own, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid &&
		    st.st_ino != but)
			used += st.st_blocks * INT64_C(512);
	if (d)
		closedir(d);
	else if (own >= 0)
		close(own);
	return used;
}
