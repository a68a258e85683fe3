/*
 * users.c - users by id, remembered for a minute: every request and every start asks, and the C library reads a file each time.
 */
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/base/clock.h"
#include "server/base/users.h"
#include "server/server.h"

#define REMEMBERED 60 /* seconds */

static void user_free(struct user *a)
{
	free(a->name);
	free(a->home);
	free(a->shell);
	free(a->group);
	*a = (struct user){0};
}

const struct user *user_of(struct server *s, uid_t uid)
{
	uint64_t *at = map_at(&s->users->index, (uint64_t)uid + 1);
	const struct passwd *pw;
	const struct group *g;
	struct user *a;

	if (*at == 0) {
		vec_push(&s->users->list, (struct user){0});
		*at = s->users->list.n;
	}
	a = &s->users->list.v[*at - 1];
	if (a->asked && s->clock->now - a->asked < REMEMBERED)
		return a->name ? a : NULL;
	pw = getpwuid(uid);
	user_free(a);
	a->asked = s->clock->now;
	if (!pw) {
		a->asked -= REMEMBERED - 2; /* it may be made in a moment */
		return NULL;
	}
	a->name = mem_strdup(pw->pw_name);
	a->home = mem_strdup(pw->pw_dir && *pw->pw_dir ? pw->pw_dir : "/");
	a->shell = mem_strdup(pw->pw_shell && *pw->pw_shell ? pw->pw_shell : "/bin/sh");
	a->gid = pw->pw_gid;
	g = getgrgid(a->gid);
	a->group = g ? mem_strdup(g->gr_name) : NULL;
	return a;
}
