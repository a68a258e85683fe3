/*
 * spare.c - see spare.h.
 */
#include "run/spare.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int64_t spare_most(int fd, int64_t has)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs))
		return INT64_MAX;
	int64_t tenth = (int64_t)(fs.f_blocks / 10 * fs.f_frsize), left = (int64_t)(fs.f_bavail * fs.f_frsize);
	int64_t most = has + left - (tenth < SPARE_KEPT_FREE ? tenth : SPARE_KEPT_FREE);
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
