/*
 * network.c - recognizes network file systems, on which output need not be transferred.
 */
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include "engine/errands_internal.h"

#define FUSE 0x65735546

static const uint64_t kinds[] = {
	0x6969,	    /* NFS */
	0x517B,	    /* SMB */
	0xFF534D42, /* CIFS */
	0xFE534D42, /* SMB 2 */
	0x0BD00BD0, /* Lustre */
	0x47504653, /* GPFS */
	0x19830326, /* BeeGFS */
	0x00C36400, /* Ceph */
	0x5346414F, /* AFS */
	0x6B414653, /* AFS in the kernel */
	0x01021997, /* 9P */
	0x20030528, /* OrangeFS */
	0xAAD7AAEA, /* PanFS */
};
static const char *const fuses[] = {"fuse.sshfs",   "fuse.glusterfs", "fuse.ceph",
				    "fuse.juicefs", "fuse.moosefs",   "fuse.nfs"};

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* A FUSE file system may be anything, so look in the table of mounts. The last of the longest
 * matches counts. */
static bool fuse_is_network(const char *dir)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	size_t longest = 0;
	struct mntent *m;
	bool found = false;

	while (f && (m = getmntent(f))) {
		if (!is_below(dir, m->mnt_dir) || strlen(m->mnt_dir) < longest)
			continue;
		longest = strlen(m->mnt_dir);
		found = false;
		for (size_t i = 0; i < sizeof fuses / sizeof *fuses; i++)
			found |= strcmp(m->mnt_type, fuses[i]) == 0;
	}
	if (f)
		endmntent(f);
	return found;
}

bool network_is(uint64_t type, const char *dir)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i] == (type & 0xFFFFFFFF))
			return true;
	return (type & 0xFFFFFFFF) == FUSE && fuse_is_network(dir);
}
