/*
 * card.c - see card.h.
 */
#include "pam/card.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parses a number and the space after it; NULL: malformed. */
static char *number_take(char *at, uint64_t most, uint64_t *ret)
{
	char *end;

	if (*at < '0' || *at > '9')
		return NULL;
	errno = 0;
	unsigned long long n = strtoull(at, &end, 10);
	if (errno || n > most || *end != ' ')
		return NULL;
	*ret = n;
	return end + 1;
}

static bool user_take(char *at, struct card *c)
{
	uint64_t uid, since;

	if (c->id) /* already set */
		return false;
	at = number_take(at, (uid_t)-2, &uid); /* -1 is not a uid */
	at = at ? number_take(at, INT64_MAX, &since) : NULL;
	if (!at || !*at)
		return false;
	c->uid = (uid_t)uid;
	c->since = (int64_t)since;
	c->id = at;
	return true;
}

static bool group_take(char *at, struct card *c)
{
	if (*at != '/' || c->ngroups == CARD_GROUPS)
		return false;
	c->group[c->ngroups++] = at;
	return true;
}

bool card_read(char *text, struct card *ret)
{
	bool good = true;
	char *end;

	*ret = (struct card){0};
	for (char *line = text; good && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!strncmp(line, "user ", 5))
			good = user_take(line + 5, ret);
		else if (!strncmp(line, "group ", 6))
			good = group_take(line + 6, ret);
		else if (*line == '{')
			ret->ended = true;
	}
	return good && ret->id;
}
