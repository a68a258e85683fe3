/*
 * where.c - finds the files of an instance.
 */
#include "client/where.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/unixsock.h"

#define SYSTEM_CONF "/etc/shunt/shunt.conf"
#define KNOCK_MS 2000

static int path_set(char *to, size_t size, struct err *err, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static int path_set(char *to, size_t size, struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(to, size, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < size)
		return 0;
	return err_set(err, -ENAMETOOLONG, "%.60s...: the path is too long: set SHUNT_HOME to a shorter one", to);
}

/* Returns an absolute path from the environment, or NULL: XDG says to ignore relative ones. */
static const char *path_of(const char *variable)
{
	const char *path = getenv(variable);

	return path && path[0] == '/' ? path : NULL;
}

static int home_find(const char **ret, struct err *err)
{
	const char *home = path_of("HOME");
	const struct passwd *entry = home ? NULL : getpwuid(getuid());

	if (!home && entry && entry->pw_dir && entry->pw_dir[0] == '/')
		home = entry->pw_dir;
	if (!home)
		return err_set(
			err, -EINVAL,
			"your home directory is not known: set HOME, or SHUNT_HOME to where Shunt shall keep its files");
	*ret = home;
	return 0;
}

/* Places everything under SHUNT_HOME; a relative path starts at the current directory. */
static int where_home(const char *home, struct where *w, struct err *err)
{
	char here[2048] = "";
	int rc;

	if (home[0] != '/' && !getcwd(here, sizeof here))
		return err_set(err, -errno,
			       "SHUNT_HOME=%.200s is not an absolute path, and the current directory is not known: %s",
			       home, strerror(errno));
	if ((rc = path_set(w->home, sizeof w->home, err, "%s%s%s", here, here[0] ? "/" : "", home)) < 0)
		return rc;
	for (size_t n = strlen(w->home); n > 1 && w->home[n - 1] == '/'; n--)
		w->home[n - 1] = '\0';
	path_set(w->run, sizeof w->run, NULL, "%s/run", w->home); /* long enough for SHUNT_HOME */
	path_set(w->state, sizeof w->state, NULL, "%s/state", w->home);
	path_set(w->conf, sizeof w->conf, NULL, "%s/shunt.conf", w->home);
	return path_set(w->log, sizeof w->log, NULL, "%s/log", w->home);
}

static int where_xdg(struct where *w, struct err *err)
{
	const char *state = path_of("XDG_STATE_HOME"), *conf = path_of("XDG_CONFIG_HOME"),
		   *run = path_of("XDG_RUNTIME_DIR");
	const char *home = "";
	int rc = state && conf ? 0 : home_find(&home, err);

	if (rc == 0)
		rc = path_set(w->state, sizeof w->state, err, "%s%s/shunt", state ? "" : home,
			      state ? state : "/.local/state");
	if (rc == 0)
		rc = path_set(w->conf, sizeof w->conf, err, "%s%s/shunt/shunt.conf", conf ? "" : home,
			      conf ? conf : "/.config");
	if (rc == 0)
		rc = run ? path_set(w->run, sizeof w->run, err, "%s/shunt", run)
			 : path_set(w->run, sizeof w->run, err, "%s/run", w->state);
	return rc < 0 ? rc : path_set(w->log, sizeof w->log, err, "%s/log", w->state);
}

int where_personal(struct where *ret, struct err *err)
{
	const char *home = getenv("SHUNT_HOME");

	memset(ret, 0, sizeof *ret);
	return home && home[0] ? where_home(home, ret, err) : where_xdg(ret, err);
}

int where_system(struct where *ret, struct err *err)
{
	memset(ret, 0, sizeof *ret);
	ret->system = true;
	strcpy(ret->run, "/run/shunt");
	strcpy(ret->state, "/var/lib/shunt");
	strcpy(ret->conf, SYSTEM_CONF);
	strcpy(ret->log, "/var/log/shunt/shuntd.log");
	return 0;
}

bool where_has_socket(const struct where *w)
{
	char path[sizeof w->run + 16];

	snprintf(path, sizeof path, "%s/shuntd.sock", w->run);
	return access(path, F_OK) == 0;
}

/* Returns true if nobody listens on the socket: its server was killed. */
static bool socket_is_dead(const struct where *w)
{
	char path[sizeof w->run + 16];

	snprintf(path, sizeof path, "%s/shuntd.sock", w->run);
	int fd = unix_connect(path, KNOCK_MS, NULL);
	if (fd >= 0)
		close(fd);
	return fd == -ECONNREFUSED || fd == -ENOENT;
}

/* Returns true if the personal instance is the one to use. Root administers the system's server,
 * which leftovers of a server of root's own must not hide. For other users a dead server of their
 * own is better reported than silently replaced by another. */
static bool personal_counts(const struct where *w)
{
	if (w->home[0])
		return true;
	return where_has_socket(w) && (geteuid() != 0 || !socket_is_dead(w));
}

int where_find(struct where *ret, struct err *err)
{
	int rc = where_personal(ret, err);

	if (rc == 0 && personal_counts(ret))
		return 0;
	struct where *site = mem_alloc(sizeof *site);
	where_system(site, NULL);
	if (!getenv("SHUNT_HOME") && (where_has_socket(site) || access(SYSTEM_CONF, F_OK) == 0)) {
		*ret = *site;
		rc = 0;
	}
	free(site);
	return rc;
}

int where_spools(char ret[WHERE_PATH], struct err *err)
{
	const char *state = path_of("XDG_STATE_HOME"), *home = "";
	int rc = state ? 0 : home_find(&home, err);

	return rc < 0 ? rc : path_set(ret, WHERE_PATH, err, "%s%s/shunt/spool", home, state ? state : "/.local/state");
}

int where_clusters(char ret[WHERE_PATH], struct err *err)
{
	const char *conf = path_of("XDG_CONFIG_HOME"), *home = "";
	int rc = conf ? 0 : home_find(&home, err);

	return rc < 0 ? rc : path_set(ret, WHERE_PATH, err, "%s%s/shunt/clusters", home, conf ? conf : "/.config");
}
