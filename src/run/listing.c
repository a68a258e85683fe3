/*
 * listing.c - see listing.h.
 */
#include "run/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/utf8.h"

static bool is_text(const char *name)
{
	int32_t c;
	int n;

	while ((n = utf8_next(name, &c)) > 0 && c >= 0)
		name += n;
	return n == 0;
}

static const char *kind_of(const struct stat *st)
{
	return S_ISREG(st->st_mode)   ? "file"
	       : S_ISDIR(st->st_mode) ? "directory"
	       : S_ISLNK(st->st_mode) ? "link"
				      : "other";
}

static void entries_write(DIR *dir, struct json *j)
{
	const struct dirent *e;
	struct stat st;
	int n = 0;

	json_open_array(j, "entries");
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || !is_text(e->d_name) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n++ == LISTING_MOST)
			break;
		json_open_object(j, NULL);
		json_text(j, "name", e->d_name);
		json_text(j, "kind", kind_of(&st));
		json_int(j, "size", st.st_size);
		json_int(j, "modified", st.st_mtime);
		json_close_object(j);
	}
	json_close_array(j);
	json_bool(j, "more", n > LISTING_MOST);
}

int listing_make(int directory)
{
	struct strbuf text = {0};
	int copy = dup(directory), fd = -1, rc = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct json j;

	if (!dir || (fd = memfd_create("listing", MFD_CLOEXEC)) < 0)
		rc = -errno;
	if (rc == 0) {
		json_begin(&j, &text);
		entries_write(dir, &j);
		json_close_object(&j);
		rc = fd_write(fd, text.text, text.n);
	}
	if (rc < 0 && fd >= 0)
		close(fd);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	strbuf_fini(&text);
	return rc < 0 ? rc : fd;
}
