/*
 * tray.c - see tray.h.
 */
#include "client/tray.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/codec.h"
#include "base/fdio.h"
#include "base/file.h"
#include "base/strbuf.h"

#define REQUEST "request"
#define OFFER_MOST 4096
#define TRIES 10000 /* attempts to get a number: others take some at the same time */
/* at most this many names removed from a directory that holds more than a change */
#define DEEP 16

static int random_name(char ret[TRAY_NAME], const char *prefix, struct err *err)
{
	unsigned char bytes[12];
	size_t n = strlen(prefix);

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return err_set(err, -errno, "can't make a random name: %s", strerror(errno));
	memcpy(ret, prefix, n);
	hex_encode(bytes, sizeof bytes, ret + n);
	return 0;
}

/* Writes all bytes, durably. */
static int write_all(int fd, const char *text, size_t n)
{
	int rc = fd_write(fd, text, n);

	return rc == 0 && fsync(fd) < 0 ? -errno : rc;
}

/* ---- the offer ---- */

static bool tray_is_right(const char *name)
{
	size_t n = strlen(name);

	return n > 1 && n < TRAY_NAME && name[0] == 'g' && strspn(name + 1, "0123456789abcdef") == n - 1;
}

static bool word_is_right(const char *text)
{
	size_t n = strlen(text);

	return n < TRAY_LEASE && strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == n;
}

#define OFFERS(member) MEMBER(struct offer, member)
const struct schema offer_schema = {FIELDS(
	{"tray", MEMBER_CHARS(struct offer, tray)}, {"next", .in = ALWAYS, .least = 1, .most = INT64_MAX, OFFERS(next)},
	{"end", .most = INT64_MAX, OFFERS(end)}, {"server", .in = ALWAYS, MEMBER_CHARS(struct offer, server)},
	{"shared", OFFERS(shared)}, {"wait", .most = 1000000, OFFERS(wait)},
	{"lease", MEMBER_CHARS(struct offer, lease)}, {"cluster", MEMBER_CHARS(struct offer, cluster)})};

#define FRAME(member)                                                                                                  \
	{                                                                                                              \
#member, .is = SPARSE, MEMBER(struct spool_frame, member)                                              \
	}
const struct schema spool_frames = {FIELDS(FRAME(view), FRAME(name), FRAME(size), FRAME(at), FRAME(number), FRAME(age),
					   FRAME(why), FRAME(again), FRAME(stale), FRAME(lease))};

void spool_frame_read(const json_t *head, struct spool_frame *ret)
{
	if (record_load(spool_frames.fields, 0, head, ret, NULL, NULL) < 0)
		*ret = (struct spool_frame){0};
}

int offer_load(const json_t *o, struct offer *ret, struct err *err)
{
	int rc;

	*ret = (struct offer){0};
	rc = record_load(offer_schema.fields, 0, o, ret, NULL, err);
	if (rc < 0)
		return err_prefix(err, rc, "it is not an offer of the spool");
	return word_is_right(ret->lease) && word_is_right(ret->cluster)
		       ? 0
		       : err_set(err, -EINVAL, "the spool's offer has a lease or cluster that can't be");
}

int offer_parse(const char *text, size_t n, struct offer *ret, struct err *err)
{
	json_t *o = json_loadb(text, n, 0, NULL);
	int rc = offer_load(o, ret, err);

	if (rc == 0 && !tray_is_right(ret->tray))
		rc = err_set(err, -EINVAL, "the spool's offer names no tray");
	json_decref(o);
	return rc;
}

int offer_read(const char *dir, struct offer *ret, struct err *err)
{
	char path[PATH_MAX];
	struct strbuf text = {0};

	snprintf(path, sizeof path, "%s/offer", dir);
	int rc = file_read(path, O_NOFOLLOW | O_NONBLOCK, OFFER_MOST, &text);
	rc = rc < 0 ? err_set(err, rc, "%s", strerror(-rc)) : offer_parse(strbuf_text(&text), text.n, ret, err);
	strbuf_fini(&text);
	return rc < 0 ? err_prefix(err, rc, "%.300s", path) : 0;
}

int offer_write(const char *dir, const struct offer *l, struct err *err)
{
	mode_t mode = l->shared ? 0644 : 0600;
	char path[PATH_MAX];
	struct strbuf text = {0};

	snprintf(path, sizeof path, "%s/offer", dir);
	record_store_text(offer_schema.fields, 0, l, NULL, &text);
	int rc = file_replace(path, mode, text.text, text.n, REPLACE_SYNC);
	/* on a full disk the former offer has the only room: for a moment there is none */
	if (rc == -ENOSPC && unlink(path) == 0)
		rc = file_replace(path, mode, text.text, text.n, REPLACE_SYNC);
	strbuf_fini(&text);
	return rc < 0 ? err_set(err, rc, "%.300s: %s", path, strerror(-rc)) : 0;
}

int offer_remove(const char *dir, struct err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/offer", dir);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(err, -errno, "%.300s: %s", path, strerror(errno));
	return 0;
}

/* ---- a change ---- */

#define KEPT(member)                                                                                                   \
	{                                                                                                              \
#member, MEMBER(struct kept, member)                                                                   \
	}
/* A sealed body is a text, of which every byte counts. */
static const struct field kept_rows[] = {
	KEPT(path), KEPT(lease), KEPT(nonce), KEPT(token), KEPT(seal), KEPT(sealed), KEPT(body), {0},
};

static void request_drop(struct kept *x)
{
	record_free(kept_rows, x);
	json_decref(x->body);
	x->body = NULL;
}

void kept_fini(struct kept *x)
{
	request_drop(x);
	*x = (struct kept){0};
}

/* Returns true for "/v1/jobs", with or without an action. */
static bool path_is_right(const char *path)
{
	static const char jobs[] = "/v1/jobs";
	size_t n = strlen(jobs);

	if (strncmp(path, jobs, n) != 0)
		return false;
	path += n;
	return *path == '\0' ||
	       (*path == '/' && path[1] && path[1 + strspn(path + 1, "abcdefghijklmnopqrstuvwxyz")] == '\0');
}

void seal_text(const char *lease, const char *nonce, const char *path, const char *body, struct strbuf *ret)
{
	strbuf_printf(ret, "shunt change\n%s\n%s\n%s\n%s", lease, nonce, path, body);
}

static bool seal_is_right(const struct kept *x)
{
	const char *const words[] = {x->lease, x->nonce, x->token, x->seal};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!words[i] || !word_is_right(words[i]))
			return false;
	return true;
}

static int kept_check(struct kept *x, struct err *err)
{
	if (!x->path || !path_is_right(x->path) || !json_is_object(x->body))
		return err_set(err, -EINVAL,
			       "it must be an object with path (\"/v1/jobs\", or that with an action) and body");
	/* A number is for one change; and nobody waits at a terminal. */
	if (json_object_get(x->body, "jobs") || json_is_true(json_object_get(x->body, "interactive")))
		return err_set(err, -EINVAL,
			       "a list of jobs, or an interactive job, can't be submitted while no server runs");
	return 0;
}

int kept_parse(const char *text, size_t n, struct kept *ret, struct err *err)
{
	json_error_t why;
	json_t *o = json_loadb(text, n, JSON_ALLOW_NUL, &why);
	int rc;

	if (!o)
		return err_set(err, -EINVAL, "it is not JSON: %s at byte %d", why.text, why.position);
	rc = record_load(kept_rows, 0, o, ret, NULL, err);
	if (!ret->sealed)
		json_incref(ret->body);
	else
		ret->body = seal_is_right(ret) ? json_loads(ret->sealed, JSON_ALLOW_NUL, NULL) : NULL;
	if (rc == 0)
		rc = kept_check(ret, err);
	if (rc < 0)
		request_drop(ret);
	json_decref(o);
	return rc;
}

void change_format(const struct offer *l, const struct change *c, struct strbuf *out)
{
	struct kept x = {.path = (char *)c->path,
			 .lease = (char *)l->lease,
			 .nonce = (char *)c->nonce,
			 .token = (char *)c->token,
			 .seal = (char *)c->seal,
			 .sealed = (char *)c->body};

	if (*l->lease)
		record_store_text(kept_rows, 0, &x, NULL, out);
	else
		strbuf_printf(out, "{\"path\":\"%s\",\"body\":%s}", c->path, c->body);
}

static int request_write(int dir, const struct offer *l, const struct change *c, struct err *err)
{
	struct strbuf text = {0};
	int fd = openat(dir, REQUEST, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, l->shared ? 0640 : 0600);

	change_format(l, c, &text);
	int rc = fd < 0 ? -errno : text.n > TRAY_MOST ? -EFBIG : write_all(fd, text.text, text.n);
	if (fd >= 0)
		close(fd);
	if (rc == 0 && fsync(dir) < 0)
		rc = -errno;
	strbuf_fini(&text);
	if (rc == -EFBIG)
		return err_set(err, rc, "the request has more than the %u MB that can be kept while no server runs",
			       TRAY_MOST >> 20);
	return rc < 0 ? err_set(err, rc, "can't keep the request for the server's next start: %s", strerror(-rc)) : 0;
}

static bool is_there(int tray, uint64_t number)
{
	char name[TRAY_NAME];
	struct stat st;

	snprintf(name, sizeof name, "%" PRIu64, number);
	return fstatat(tray, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Returns a free number whose predecessor is taken. Numbers are taken in order, so this is usually
 * the first free one. */
static uint64_t number_free(int tray, uint64_t first)
{
	uint64_t taken = first, step = 1;

	if (!is_there(tray, first))
		return first;
	for (; is_there(tray, taken + step) && step < UINT64_C(1) << 40; step *= 2)
		taken += step;
	uint64_t open = taken + step;
	while (open - taken > 1) {
		uint64_t middle = taken + (open - taken) / 2;
		if (is_there(tray, middle))
			taken = middle;
		else
			open = middle;
	}
	return open;
}

/* Gives the change the next free number. A rename over an empty directory of the user's own would
 * succeed; an empty directory is not a change. */
static int number_take(int tray, const char *name, const struct offer *l, uint64_t *ret, struct err *err)
{
	uint64_t number = number_free(tray, l->next);

	for (int i = 0; i < TRIES; i++, number++) {
		char to[TRAY_NAME];
		if (l->end && number >= l->end)
			return err_set(err, -ENOSPC, "this host has no more ids to give while the server is down");
		snprintf(to, sizeof to, "%" PRIu64, number);
		if (renameat(tray, name, tray, to) == 0) {
			*ret = number;
			return 0;
		}
		int error = errno;
		/* another user's file or empty directory counts as taken */
		if (!is_there(tray, number))
			return err_set(err, -error, "can't give the request a number: %s", strerror(error));
	}
	return err_set(err, -EBUSY, "can't give the request a number: too many are taken at the same time");
}

static void change_drop(int tray, const char *name)
{
	char path[TRAY_NAME + 16];

	snprintf(path, sizeof path, "%s/" REQUEST, name);
	unlinkat(tray, path, 0);
	unlinkat(tray, name, AT_REMOVEDIR);
}

static bool offer_holds(const char *dir, const struct offer *l)
{
	struct offer now;

	return offer_read(dir, &now, NULL) == 0 && strcmp(now.tray, l->tray) == 0;
}

/* Takes a change back because a server is reading this tray, or has read it. */
static int take_back(int tray, uint64_t number, const char *name, struct err *err)
{
	char from[TRAY_NAME];

	snprintf(from, sizeof from, "%" PRIu64, number);
	if (renameat(tray, from, tray, name) < 0)
		return 0; /* the server has it */
	change_drop(tray, name);
	return err_set(err, -ESTALE, "the server has been started meanwhile");
}

static int change_put(const char *dir, int tray, const struct offer *l, const struct change *c, uint64_t *ret,
		      struct err *err)
{
	char name[TRAY_NAME];
	mode_t mask;
	int rc = random_name(name, "t", err);

	if (rc < 0)
		return rc;
	mask = umask(l->shared ? 0007 : 0077); /* a later chmod would clear the set-group-ID bit */
	rc = mkdirat(tray, name, 0770) < 0 ? -errno : 0;
	int own = rc < 0 ? -1 : openat(tray, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (own < 0) {
		rc = rc < 0 ? rc : -errno;
		umask(mask);
		change_drop(tray, name);
		return err_set(err, rc, "can't keep the request for the server's next start: %s", strerror(-rc));
	}
	rc = request_write(own, l, c, err);
	umask(mask);
	if (rc == 0)
		rc = number_take(tray, name, l, ret, err);
	if (rc < 0) {
		change_drop(tray, name);
	} else if (fsync(own) < 0 || fsync(tray) < 0) {
		rc = err_set(err, -errno, "can't keep the request for the server's next start: %s", strerror(errno));
		if (take_back(tray, *ret, name, NULL) == 0)
			rc = 0; /* the server keeps what it took */
	} else if (!offer_holds(dir, l)) {
		rc = take_back(tray, *ret, name, err);
	}
	close(own);
	return rc;
}

static int tray_open(const char *dir, const char *tray)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", dir, tray);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int tray_put(const char *dir, const struct offer *l, const struct change *c, uint64_t *ret_number, struct err *err)
{
	int tray = tray_open(dir, l->tray);

	if (tray < 0 && !offer_holds(dir, l))
		return err_set(err, -ESTALE, "the server has been started meanwhile");
	if (tray < 0)
		return err_set(err, tray, "can't keep the request for the server's next start: %.300s/%s: %s", dir,
			       l->tray, strerror(-tray));
	int rc = change_put(dir, tray, l, c, ret_number, err);
	if (rc < 0 && rc != -ESTALE && !offer_holds(dir, l)) /* its tray may be gone */
		rc = err_set(err, -ESTALE, "the server has been started meanwhile");
	close(tray);
	return rc;
}

int tray_make(const char *dir, bool shared, char ret[TRAY_NAME], struct err *err)
{
	char path[PATH_MAX];
	int rc = random_name(ret, "g", err);

	if (rc < 0)
		return rc;
	snprintf(path, sizeof path, "%s/%s", dir, ret);
	int fd = mkdir(path, 0700) < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || (shared && fchmod(fd, 03777) < 0))
		rc = err_set(err, -errno, "%.300s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- reading a tray ---- */

void tray_name_format(const struct tray_name *x, char ret[TRAY_NAME])
{
	if (x->taken && x->time_us)
		snprintf(ret, TRAY_NAME, "m%" PRIu64 "-%" PRId64, x->number, x->time_us);
	else
		snprintf(ret, TRAY_NAME, "%s%" PRIu64, x->taken ? "m" : "", x->number);
}

static bool name_parse(const char *text, struct tray_name *ret)
{
	char again[TRAY_NAME];

	char *end;

	*ret = (struct tray_name){.taken = *text == 'm'};
	ret->number = strtoull(text + ret->taken, &end, 10);
	if (ret->taken && *end == '-')
		ret->time_us = strtoll(end + 1, NULL, 10);
	tray_name_format(ret, again);
	return strcmp(again, text) == 0 && ret->time_us >= 0 && ret->number > 0 && ret->number < INT64_MAX;
}

static int by_number(const void *a, const void *b)
{
	const struct tray_name *x = a, *y = b;

	return x->number != y->number ? (x->number > y->number) - (x->number < y->number) : x->taken - y->taken;
}

/* Lists a tray by number. Closes `fd`, which is negative if the open failed. */
static int names_read(int fd, tray_names *ret)
{
	DIR *open = fd < 0 ? NULL : fdopendir(fd);
	struct tray_name x;
	const struct dirent *d;

	if (!open) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while ((d = readdir(open)))
		if (name_parse(d->d_name, &x))
			vec_push(ret, x);
	closedir(open);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof *ret->v, by_number);
	return 0;
}

int tray_list(const char *dir, const char *tray, tray_names *ret, struct err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", dir, tray);
	int rc = names_read(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret);
	return rc < 0 ? err_set(err, rc, "%.300s: %s", path, strerror(-rc)) : 0;
}

/* Finds the owner; only the owner and the server can have put anything into the directory. */
static int owner_find(int fd, gid_t group, uid_t *ret, struct stat *st, struct err *err)
{
	if (fstat(fd, st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	*ret = st->st_uid;
	if (st->st_mode & 0007 || (st->st_mode & 0020 && group != (gid_t)-1 && st->st_gid != group))
		return err_set(err, -EACCES, "others can write to it or read it");
	return 0;
}

static int request_read(int dir, uid_t owner, struct strbuf *text, struct err *err)
{
	struct stat st;
	int fd = openat(dir, REQUEST, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = err_set(err, errno == ENOENT ? -ENODATA : -errno, "its request can't be opened: %s",
			     strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_uid != owner || st.st_nlink != 1)
		rc = err_set(err, -EACCES, "its request is not a file of its owner");
	else if (st.st_size > TRAY_MOST || (rc = fd_read(fd, TRAY_MOST, text)) == -EFBIG)
		rc = err_set(err, -EFBIG, "its request has more than %u MB", TRAY_MOST >> 20);
	else if (rc < 0)
		rc = err_set(err, rc, "its request can't be read: %s", strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Returns the change time: a rename and the owner's chmod() update it, but nobody can set it
 * back. */
static int64_t time_of(const struct stat *st)
{
	return (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000;
}

int tray_text(int tray, const struct tray_name *name, gid_t group, struct kept *ret, struct strbuf *ret_text,
	      struct err *err)
{
	char text[TRAY_NAME];
	struct stat st;

	*ret = (struct kept){.number = name->number, .uid = (uid_t)-1};
	tray_name_format(name, text);
	int fd = openat(tray, text, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_set(err, errno == ENOENT ? -ENOENT : -EINVAL, "it can't be opened: %s", strerror(errno));
	int rc = owner_find(fd, group, &ret->uid, &st, err);
	if (rc == 0) {
		ret->time_us = name->time_us ? name->time_us : time_of(&st);
		rc = request_read(fd, ret->uid, ret_text, err);
	}
	close(fd);
	return rc;
}

int tray_read(int tray, const struct tray_name *name, gid_t group, struct kept *ret, struct err *err)
{
	struct strbuf text = {0};
	int rc = tray_text(tray, name, group, ret, &text, err);

	if (rc == 0)
		rc = kept_parse(strbuf_text(&text), text.n, ret, err);
	strbuf_fini(&text);
	return rc;
}

/* Removes the m from a name. An older server left such names in open trays, so it may be a change
 * that its user was promised. */
static int name_untake(int tray, const struct tray_name *x)
{
	char from[TRAY_NAME], to[TRAY_NAME];

	tray_name_format(x, from);
	snprintf(to, sizeof to, "%" PRIu64, number_free(tray, x->number));
	return renameat(tray, from, tray, to) < 0 ? -errno : 0;
}

static int names_untake(int tray)
{
	tray_names names = {0};
	int rc = names_read(openat(tray, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &names);

	for (size_t i = 0; i < names.n && rc == 0; i++)
		if (names.v[i].taken)
			rc = name_untake(tray, &names.v[i]);
	vec_free(&names);
	return rc;
}

int tray_close(int tray)
{
	struct stat st;

	if (fstat(tray, &st) < 0)
		return -errno;
	if (!(st.st_mode & S_ISVTX)) /* closed before, or of a server for one user */
		return 0;
	int rc = fchmod(tray, 01755) < 0 ? -errno : names_untake(tray);
	return rc == 0 && fchmod(tray, 0755) < 0 ? -errno : rc;
}

int tray_take(int tray, struct tray_name *name, uint64_t number, int64_t least_us)
{
	struct tray_name to = {number, true, name->time_us};
	char old[TRAY_NAME], new[TRAY_NAME];
	struct stat st;

	if (name->taken)
		return 0;
	tray_name_format(name, old);
	if (fstatat(tray, old, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	to.time_us = time_of(&st) > least_us ? time_of(&st) : least_us;
	tray_name_format(&to, new);
	if (renameat(tray, old, tray, new) < 0)
		return -errno;
	*name = to;
	return 0;
}

/* Removes the remaining contents of a spooled directory, none of which we made: one level, a few
 * names, no links followed. */
static void rest_remove(int tray, const char *name)
{
	int fd = openat(tray, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *open = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;

	if (!open) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (int i = 0; i < DEEP && (d = readdir(open)); i++)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			unlinkat(fd, d->d_name, 0);
	closedir(open);
}

static int name_remove(int tray, const char *name)
{
	if (unlinkat(tray, name, 0) == 0) /* it was a plain file */
		return 0;
	rest_remove(tray, name);
	return unlinkat(tray, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int tray_remove(int tray, const struct tray_name *name)
{
	char text[TRAY_NAME];

	tray_name_format(name, text);
	return name_remove(tray, text);
}

void tray_sweep(int tray)
{
	int fd = openat(tray, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = fd < 0 ? NULL : fdopendir(fd);
	struct tray_name x;
	const struct dirent *d;

	if (!open) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((d = readdir(open)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && !name_parse(d->d_name, &x))
			name_remove(tray, d->d_name);
	closedir(open);
}
