/*
 * identity.c - users and groups.
 *
 * In system mode the nursery is root. It trusts its server with users' jobs, but not with root
 * itself, and not with a uid under another user's name. A lookup may query a directory over the
 * network: an answer is good for a minute, and usable for some minutes more while another is
 * fetched.
 */
#include "run/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "run/order.h"

#define KEPT 64	       /* users in the cache */
#define FRESH_FOR 60   /* seconds that an answer is fresh */
#define USABLE_FOR 300 /* seconds that it may be used while another is fetched */
#define GROUPS_MAX 65536
#define BUFFER_MAX (16 << 20)

struct known {
	char *user, *home, *shell;
	char *trouble; /* why the user is not known; NULL: it is */
	uid_t uid;
	gid_t gid; /* primary group in the user database */
	gid_t *groups;
	int ngroups;
	time_t since;
};

static struct known known[KEPT];

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

/* ---- looking up, in a separate process; only identity_keep() reads what it writes ---- */

struct answer_head {
	int error; /* 0; ENOENT: no such user; or why the lookup failed */
	uid_t uid;
	gid_t gid;
	int ngroups;
	size_t home, shell; /* bytes, with the terminating NUL */
};

static int passwd_look(const char *user, struct passwd *entry, char **buf)
{
	struct passwd *found = NULL;
	int error = ERANGE;

	for (size_t size = 4096; error == ERANGE && size <= BUFFER_MAX; size *= 4) {
		*buf = mem_realloc(*buf, size, 1);
		error = getpwnam_r(user, entry, *buf, size, &found);
	}
	if (found)
		return 0;
	/* Modules report "not found" in different ways (getpwnam(3)). */
	return error == 0 || error == ESRCH || error == EBADF || error == EPERM ? ENOENT : error;
}

static int groups_look(const char *user, gid_t gid, gid_t **groups, int *n)
{
	*n = 64;
	for (;;) {
		int room = *n;
		*groups = mem_realloc(*groups, (size_t)room, sizeof **groups);
		if (getgrouplist(user, gid, *groups, n) >= 0)
			return 0;
		if (*n <= room) /* some libraries do not return the number */
			*n = room * 2;
		if (*n > GROUPS_MAX)
			return E2BIG;
	}
}

void identity_look(const char *user, struct strbuf *out)
{
	struct answer_head h = {0};
	struct passwd entry;
	char *buf = NULL;
	gid_t *groups = NULL;

	h.error = passwd_look(user, &entry, &buf);
	if (!h.error)
		h.error = groups_look(user, entry.pw_gid, &groups, &h.ngroups);
	if (h.error) {
		h.ngroups = 0;
		strbuf_add(out, (const char *)&h, sizeof h);
	} else {
		const char *home = entry.pw_dir && *entry.pw_dir ? entry.pw_dir : "/";
		const char *shell = entry.pw_shell && *entry.pw_shell ? entry.pw_shell : "/bin/sh";
		h.uid = entry.pw_uid;
		h.gid = entry.pw_gid;
		h.home = strlen(home) + 1;
		h.shell = strlen(shell) + 1;
		strbuf_add(out, (const char *)&h, sizeof h);
		strbuf_add(out, home, h.home);
		strbuf_add(out, shell, h.shell);
		strbuf_add(out, (const char *)groups, (size_t)h.ngroups * sizeof *groups);
	}
	free(groups);
	free(buf);
}

/* ---- keeping ---- */

/* Returns the slot for a user, by the hash of the name. Another user in the slot is forgotten. */
static struct known *known_at(const char *user)
{
	size_t place = 0;

	for (const char *p = user; *p; p++)
		place = place * 31 + (unsigned char)*p;
	return &known[place % KEPT];
}

static time_t age(const struct known *k, const char *user)
{
	return k->user && strcmp(k->user, user) == 0 ? now() - k->since : USABLE_FOR;
}

enum identity_age identity_age(const char *user, bool by_name)
{
	const struct known *k = known_at(user);
	time_t t = age(k, user);

	if (geteuid() != 0 && !by_name)
		return IDENTITY_FRESH; /* there is only one: this process's own */
	if (k->trouble)		       /* a failure answers the frames that waited for it; ask again next time */
		return IDENTITY_NONE;
	return t < FRESH_FOR ? IDENTITY_FRESH : t < USABLE_FOR ? IDENTITY_STALE : IDENTITY_NONE;
}

static void known_clear(struct known *k)
{
	free(k->user);
	free(k->home);
	free(k->shell);
	free(k->trouble);
	free(k->groups);
	*k = (struct known){0};
}

static void trouble_set(struct known *k, const char *user, int error)
{
	struct strbuf text = {0};

	if (error == ENOENT)
		strbuf_printf(&text, "the user %s is not known on this host", user);
	else if (error == E2BIG)
		strbuf_printf(&text, "the user %s is in too many groups", user);
	else
		strbuf_printf(&text, "the user %s can't be looked up on this host: %s", user,
			      error ? strerror(error) : "the user database does not answer");
	k->trouble = text.text;
}

void identity_keep(const char *user, const char *answer, size_t n)
{
	struct known *k = known_at(user);
	struct answer_head h = {0};

	if (n >= sizeof h)
		memcpy(&h, answer, sizeof h);
	if (n != sizeof h + h.home + h.shell + (size_t)h.ngroups * sizeof *k->groups)
		n = 0;
	if ((n == 0 || (h.error && h.error != ENOENT)) && age(k, user) < USABLE_FOR && !k->trouble)
		return; /* keep what is known for as long as it is usable */
	known_clear(k);
	k->user = mem_strdup(user);
	k->since = now();
	if (n == 0 || h.error) {
		trouble_set(k, user, n == 0 ? 0 : h.error);
		return;
	}
	answer += sizeof h;
	k->uid = h.uid;
	k->gid = h.gid;
	k->home = mem_strdup(answer);
	k->shell = mem_strdup(answer + h.home);
	k->ngroups = h.ngroups;
	k->groups = mem_alloc(((size_t)h.ngroups + 1) * sizeof *k->groups);
	memcpy(k->groups, answer + h.home + h.shell, (size_t)h.ngroups * sizeof *k->groups);
}

/* ---- using ---- */

static bool is_member(const struct known *k, gid_t gid)
{
	for (int i = 0; i < k->ngroups; i++)
		if (k->groups[i] == gid)
			return true;
	return k->gid == gid;
}

static int known_get(const char *user, const struct known **ret, struct err *err)
{
	const struct known *k = known_at(user);

	*ret = k;
	if (age(k, user) >= USABLE_FOR)
		return err_set(err, -EPERM, "the user %s has not been looked up on this host", user);
	return k->trouble ? err_set(err, -EPERM, "%s", k->trouble) : 0;
}

/* Without root the nursery can only run jobs of its own user. */
static int own_get(uid_t uid, const char *user, struct identity *ret, struct err *err)
{
	if (uid != geteuid())
		return err_set(err, -EPERM,
			       "jobs of user %s (uid %u) can't run here: this server is not root, "
			       "and runs those of uid %u only",
			       user, (unsigned)uid, (unsigned)geteuid());
	ret->uid = uid;
	ret->gid = getegid();
	return 0;
}

int identity_get(uid_t uid, gid_t gid, const char *user, bool root_jobs, struct identity *ret, struct err *err)
{
	const struct known *k = NULL;
	bool by_name = uid == BY_NAME;

	if ((by_name || geteuid() == 0) && !(uid == 0 && !root_jobs) && known_get(user, &k, err))
		return -EPERM;
	if (by_name) {
		uid = k->uid;
		gid = k->gid;
	}
	*ret = (struct identity){.home = k ? k->home : NULL, .shell = k ? k->shell : NULL};
	if (geteuid() != 0)
		return own_get(uid, user, ret, err);
	if (uid == 0 && !root_jobs)
		return err_set(err, -EPERM, "root may not have jobs here (the server's attribute root_jobs allows it)");
	if (k->uid != uid)
		return err_set(err, -EPERM, "the user %s has uid %u on this host, not %u", user, (unsigned)k->uid,
			       (unsigned)uid);
	if (!is_member(k, gid))
		return err_set(err, -EPERM, "the user %s is not in the group %u on this host", user, (unsigned)gid);
	ret->uid = uid;
	ret->gid = gid;
	ret->groups = k->groups;
	ret->ngroups = k->ngroups;
	ret->change = true;
	return 0;
}
int identity_groups(const struct identity *who)
{
	if (who->change && setgroups((size_t)who->ngroups, who->groups))
		return -errno;
	return 0;
}

int identity_become(const struct identity *who)
{
	if (!who->change)
		return 0;
	if (setresgid(who->gid, who->gid, who->gid) || setresuid(who->uid, who->uid, who->uid))
		return -errno;
	return 0;
}
