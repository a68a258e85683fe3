/*
 * lease.c - LIVE/.lease.
 *
 * The stamp only grows, so the next read is due when the known one expires: one read of a small
 * file per lease length.
 */
#include "run/lease.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/ticks.h"
#include "run/live.h"

#define FILE_NAME ".lease"
#define LOOK_LEAST 200000 /* microseconds between reads while suspended */

int64_t boot_us(void)
{
	return clock_us(CLOCK_BOOTTIME);
}

enum word { WORD_NONE, WORD_STAMP, WORD_SUSPENDED };

int lease_write(const char *live, int64_t asked, bool suspend, struct err *err)
{
	char path[4200], text[96];
	int n = suspend ? snprintf(text, sizeof text, "suspended %s\n", live_boot())
			: snprintf(text, sizeof text, "%lld %s\n", (long long)asked, live_boot());

	snprintf(path, sizeof path, "%s/" FILE_NAME, live);
	int r = file_replace(path, 0600, text, (size_t)n, 0);
	return r ? err_set(err, r, "%s can't be written: %s", path, strerror(-r)) : 0;
}

static enum word word_read(int dir, int64_t *ret)
{
	char text[96], boot[40] = "";
	int fd = openat(dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	long long stamp;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return WORD_NONE;
	text[n] = '\0';
	if (sscanf(text, "suspended %39s", boot) == 1)
		return strcmp(boot, live_boot()) ? WORD_NONE : WORD_SUSPENDED;
	if (sscanf(text, "%lld %39s", &stamp, boot) != 2 || strcmp(boot, live_boot()))
		return WORD_NONE;
	*ret = stamp;
	return WORD_STAMP;
}

/* Returns when the last word came; INT64_MAX: leases are suspended; INT64_MIN: never. */
static int64_t word_at(int dir)
{
	int64_t stamp = INT64_MIN;
	enum word w = word_read(dir, &stamp);

	return w == WORD_SUSPENDED ? INT64_MAX : w == WORD_STAMP ? stamp : INT64_MIN;
}

int64_t lease_word(const char *live)
{
	int dir = open(live, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t at = dir < 0 ? INT64_MIN : word_at(dir);

	if (dir >= 0)
		close(dir);
	return at;
}

void lease_begin(struct lease *l, int64_t seconds, int64_t now)
{
	*l = (struct lease){.length = seconds > 0 ? seconds * 1000000 : 0, .since = now, .look_at = INT64_MAX};
	if (l->length)
		l->look_at = now;
}

static void look(struct lease *l, int dir, int64_t now)
{
	int64_t word = word_at(dir), soon = l->length / 8 > LOOK_LEAST ? l->length / 8 : LOOK_LEAST;

	l->suspended = word == INT64_MAX;
	if (word != INT64_MIN) /* otherwise it counts from the last known word */
		l->since = word < now ? word : now;
	l->look_at = l->since + (l->suspended ? soon : l->length);
}

bool lease_over(struct lease *l, int dir, int64_t now)
{
	if (now < l->look_at)
		return false;
	look(l, dir, now);
	return now >= l->look_at;
}

int64_t lease_early(const struct lease *l, int64_t before)
{
	return l->suspended || l->look_at == INT64_MAX ? INT64_MAX : l->look_at - before;
}

bool lease_ends(struct lease *l, int dir, int64_t now, int64_t before)
{
	if (now < lease_early(l, before))
		return false;
	look(l, dir, now);
	return now >= lease_early(l, before);
}
