/*
 * pam_shunt.c - admits users who have a job on the node, and makes their login part of that job.
 *
 *	account required pam_shunt.so [users=A,B] [groups=A,B] [live=DIR]
 *		[adopt=required|optional]
 *
 * Live files (run/live.h) show what runs here, without the agent or the server: a locked file has a
 * shepherd. The login moves into the control groups of its user's newest job, so it counts against
 * that job's limits and is killed with it: a group is removed only when nothing is left in it
 * (cgroup_remove() in run/cgroup.c), and no process can move into a removed group. So a login never
 * outlives its job.
 *
 * It runs in sshd as root: it keeps nothing between calls, starts no thread, never aborts, and
 * leaves no descriptor open. On any error the user is refused; root never is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "pam/card.h"

#define EXPORT __attribute__((visibility("default")))
#define LIVE_DIRS 4

struct options {
	const char *live[LIVE_DIRS]; /* directories of live files */
	int nlive;
	const char *users, *groups; /* A,B: admitted without a job; NULL: none */
	bool adopt_optional;	    /* also admit if the job has no control groups */
};

struct job {
	char text[CARD_TEXT + 1];
	struct card card; /* points into the text */
};

/* ---- jobs ---- */

/* Returns true if the file is locked: its shepherd is alive. */
static bool is_running(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static bool job_read(int dir, const char *tag, uid_t owner, struct job *ret)
{
	int fd = openat(dir, tag, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == owner) && is_running(fd))
		n = pread(fd, ret->text, CARD_TEXT, 0);
	close(fd);
	if (n < 0)
		return false;
	ret->text[n] = '\0';
	return card_read(ret->text, &ret->card) && !ret->card.ended;
}

/* Opens the directory, and checks that only its owner may write in it. */
static DIR *live_open(pam_handle_t *pamh, const char *path, uid_t *ret_owner)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0) {
		if (errno != ENOENT)
			pam_syslog(pamh, LOG_ERR, "%s: %s", path, strerror(errno));
		return NULL;
	}
	bool safe = fstat(fd, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
	DIR *d = safe ? fdopendir(fd) : NULL;
	if (!d) {
		pam_syslog(pamh, LOG_ERR, "%s: %s", path,
			   safe ? strerror(errno) : "others than its owner can write there");
		close(fd);
		return NULL;
	}
	*ret_owner = st.st_uid;
	return d;
}

/* Finds the user's newest job older than `before`, in one of the slots; NULL: none. */
static struct job *job_newest(pam_handle_t *pamh, const struct options *o, uid_t uid, int64_t before,
			      struct job slot[2])
{
	struct job *best = NULL, *next = &slot[0];
	uid_t owner = 0;

	for (int i = 0; i < o->nlive; i++) {
		DIR *d = live_open(pamh, o->live[i], &owner);
		for (struct dirent *e; d && (e = readdir(d));)
			if (e->d_name[0] != '.' && job_read(dirfd(d), e->d_name, owner, next) &&
			    next->card.uid == uid && next->card.since < before &&
			    (!best || next->card.since > best->card.since)) {
				best = next;
				next = best == &slot[0] ? &slot[1] : &slot[0];
			}
		if (d)
			closedir(d);
	}
	return best;
}

/* Moves this process into a control group. Returns 0, or -errno if the job is just ending or has
 * not begun. */
static int group_enter(const char *group)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/cgroup.procs", group) >= (int)sizeof path)
		return -ENAMETOOLONG;
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	int r = write(fd, "0", 1) == 1 ? 0 : -errno;
	close(fd);
	return r;
}

static int job_enter(const struct card *c)
{
	int r = c->ngroups ? 0 : -ENOTSUP;

	for (int i = 0; !r && i < c->ngroups; i++)
		r = group_enter(c->group[i]);
	return r;
}

/* ---- exceptions: admitted without a job ---- */

/* Returns true if `name` is in `list`, such as "A,B". */
static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && !strncmp(at, name, n))
			return true;
	return false;
}

static bool is_in_group(pam_handle_t *pamh, const char *list, const char *user)
{
	char group[256];

	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
		size_t n = strcspn(at, ",");
		if (!n || n >= sizeof group)
			continue;
		memcpy(group, at, n);
		group[n] = '\0';
		if (pam_modutil_user_in_group_nam_nam(pamh, user, group) > 0)
			return true;
	}
	return false;
}

/* ---- the module ---- */

static bool options_read(pam_handle_t *pamh, int argc, const char **argv, struct options *ret)
{
	*ret = (struct options){0};
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "users=", 6)) {
			ret->users = argv[i] + 6;
		} else if (!strncmp(argv[i], "groups=", 7)) {
			ret->groups = argv[i] + 7;
		} else if (!strncmp(argv[i], "live=/", 6) && ret->nlive < LIVE_DIRS) {
			ret->live[ret->nlive++] = argv[i] + 5;
		} else if (!strcmp(argv[i], "adopt=optional")) {
			ret->adopt_optional = true;
		} else if (strcmp(argv[i], "adopt=required")) {
			pam_syslog(pamh, LOG_ERR,
				   "unknown option '%s' (allowed: users=, groups=, live=/DIR, adopt=required|optional)",
				   argv[i]);
			return false;
		}
	}
	if (!ret->nlive) {
		ret->live[ret->nlive++] = "/var/lib/shunt-agent/live";
		ret->live[ret->nlive++] = "/var/lib/shunt/live";
	}
	return true;
}

static int refuse(pam_handle_t *pamh, int flags, const char *user, const char *why)
{
	pam_syslog(pamh, LOG_NOTICE, "%s refused: %s", user, why);
	if (!(flags & PAM_SILENT))
		pam_error(pamh, "Access denied: %s", why);
	return PAM_PERM_DENIED;
}

/* Admits the user to the newest job that can be entered: one that is just ending or beginning
 * cannot. */
static int admit(pam_handle_t *pamh, int flags, const struct options *o, const char *user, uid_t uid)
{
	struct job slot[2], *j = job_newest(pamh, o, uid, INT64_MAX, slot);
	int r = 0;

	if (!j)
		return refuse(pamh, flags, user,
			      "you have no job on this node: log in while one of your jobs runs here (see qstat -n)");
	for (; j; j = job_newest(pamh, o, uid, j->card.since, slot)) {
		r = job_enter(&j->card);
		if (!r || (r == -ENOTSUP && o->adopt_optional)) {
			pam_syslog(pamh, LOG_INFO, "%s admitted: job %s%s", user, j->card.id,
				   r ? ", which has no control group" : "");
			return PAM_SUCCESS;
		}
		pam_syslog(pamh, LOG_WARNING, "%s: job %s can't be entered: %s", user, j->card.id,
			   r == -ENOTSUP ? "it has no control group" : strerror(-r));
	}
	return refuse(pamh, flags, user,
		      r == -ENOTSUP ? "jobs on this node have no control groups, which your login would belong to"
				    : "your job on this node is starting or ending: try again");
}

static int check(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	const char *user = NULL;
	struct options o;
	int r = pam_get_user(pamh, &user, NULL);

	if (r != PAM_SUCCESS || !user || !*user)
		return PAM_USER_UNKNOWN;
	const struct passwd *pw = pam_modutil_getpwnam(pamh, user);
	if (!pw)
		return PAM_USER_UNKNOWN;
	if (pw->pw_uid == 0)
		return PAM_SUCCESS;
	if (!options_read(pamh, argc, argv, &o))
		return refuse(pamh, flags, user, "the options of pam_shunt are wrong: inform your administrator");
	if (is_listed(o.users, user) || is_in_group(pamh, o.groups, user))
		return PAM_SUCCESS;
	return admit(pamh, flags, &o, user, pw->pw_uid);
}

EXPORT int pam_sm_acct_mgmt(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	return check(pamh, flags, argc, argv);
}

/* Adopts the login here as well, for stacks in which another module (pam_systemd) moves the
 * process in between. */
EXPORT int pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	int r = check(pamh, flags, argc, argv);

	return r == PAM_PERM_DENIED ? PAM_SESSION_ERR : r;
}

EXPORT int pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	return PAM_SUCCESS;
}
