/*
 * program.c - see program.h.
 */
#include "base/program.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

int program_self(char *ret, size_t size, struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : err_set(err, -errno, "can't find out where this program is: %s", strerror(errno));
}

int program_beside(const char *name, char *ret, size_t size, struct err *err)
{
	static const char *const folders[] = {"../libexec/shunt/", "../sbin/", "../server/",  "../agent/", "../tls/",
					      "../bag/",	   "../pmix/", "../station/", ""};
	char self[PATH_MAX];
	int rc = program_self(self, sizeof self, err);

	if (rc < 0)
		return rc;
	const char *here = dirname(self);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(ret, size, "%s/%s%s", here, folders[i], name);
		if (access(ret, X_OK) == 0)
			return 0;
	}
	return err_set(err, -ENOENT,
		       "the program %s is missing (it belongs into %.200s/../libexec/shunt): install Shunt again", name,
		       here);
}
