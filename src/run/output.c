/*
 * output.c - standard output and error of a job.
 */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/rights.h"
#include "run/spare.h"

static const char *const suffix[] = {"out", "err"};
static const char *const stream[] = {"output", "error output"};

/* Opens without waiting, so that a pipe without a reader does not block us. Always appends: the
 * server's messages to the job, and a joined stream opened twice, must not overwrite anything. */
static int target_open(const struct identity *who, const char *path, bool append)
{
	int fd = rights_open(who, path, O_WRONLY | O_CREAT | O_APPEND | (append ? 0 : O_TRUNC), 0666);

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

/* Opens SPARE/TAG.out, owned by the user. */
static int spare_open(const struct order *o, const struct identity *who, int which, char **ret_path)
{
	if (!o->spare || asprintf(ret_path, "%s/%s.%s", o->spare, o->tag, suffix[which]) < 0)
		return -ENOENT;

	int fd = rights_open(who->server, *ret_path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	int r = fd < 0 ? fd : rights_give(who, fd, 0600);
	if (r && fd >= 0)
		close(fd);
	if (r) {
		free(*ret_path);
		*ret_path = NULL;
		return r;
	}
	fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

static void sentence(struct strbuf *say, const char *stream_name, const char *path, const char *why, const char *spare)
{
	strbuf_printf(say, "%sthe %s could not be %s: %s; it is in %s", say->n ? ". " : "", stream_name, path, why,
		      spare);
}

static int one_open(const struct order *o, const struct identity *who, int which, const char *path, bool *ret_spare,
		    struct strbuf *say, struct err *err)
{
	char *spare = NULL, to[600];

	*ret_spare = true;
	if (o->carry.spool & 1 << which) { /* it will be carried from there */
		int there = spare_open(o, who, which, &spare);
		free(spare);
		return there >= 0 ? there
				  : err_set(err, there, "the %s can't be written to %.300s: %s", stream[which],
					    o->spare, strerror(-there));
	}
	int fd = target_open(who, path, o->append);
	*ret_spare = fd < 0;
	if (fd >= 0)
		return fd;

	int other = spare_open(o, who, which, &spare);
	if (other < 0)
		return err_set(err, fd, "the %s %.300s can't be written: %s", stream[which], path, strerror(-fd));
	snprintf(to, sizeof to, "written to %.500s", path);
	sentence(say, stream[which], to, strerror(-fd), spare);
	free(spare);
	return other;
}

int output_open(const struct order *o, const struct identity *who, struct output *ret, struct strbuf *say,
		struct err *err)
{
	*ret = (struct output){.fd = {-1, -1}, .to = {o->out, o->err}};
	if (!o->out)
		return 0;
	ret->fd[0] = one_open(o, who, 0, o->out, &ret->spare[0], say, err);
	if (ret->fd[0] < 0)
		return ret->fd[0];
	ret->fd[1] =
		o->err && strcmp(o->err, o->out) ? one_open(o, who, 1, o->err, &ret->spare[1], say, err) : ret->fd[0];
	if (ret->fd[1] < 0) {
		int r = ret->fd[1];
		close(ret->fd[0]);
		*ret = (struct output){.fd = {-1, -1}};
		return r;
	}
	return 0;
}

void output_say(const struct output *out, const char *line)
{
	struct pollfd ready = {.fd = out->fd[1], .events = POLLOUT};

	if (out->fd[1] < 0 || poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT))
		return;
	if (write(out->fd[1], line, strlen(line)) < 0)
		return; /* the disk is full: the result has the cause as well */
}

/* ---- limiting output in the spare directory ---- */

bool output_is_spare(const struct output *out)
{
	return (out->fd[0] >= 0 && out->spare[0]) || (out->fd[1] >= 0 && out->spare[1]);
}

/* Returns how many bytes one file of the directory may have. Files that will be carried on have no
 * limit per user: users wait for them, and they soon leave. */
static int64_t bound_of(const struct order *o, const struct identity *who, int which, int fd, const struct stat *st)
{
	int64_t most = spare_most(fd, st->st_blocks * INT64_C(512));

	if (!(o->carry.spool & 1 << which)) {
		int dir = rights_open(who->server, o->spare, O_PATH | O_DIRECTORY, 0);
		rights_begin(who->server);
		int64_t user = SPARE_PER_USER - (dir < 0 ? 0 : spare_used(dir, st->st_uid, st->st_ino));
		rights_end(who->server);
		if (dir >= 0)
			close(dir);
		most = user < most ? user : most;
	}
	return most < 0 ? 0 : most;
}

void output_bound(const struct order *o, const struct identity *who, struct output *out)
{
	struct stat st;

	for (int i = 0; i < 2; i++) {
		if (out->fd[i] < 0 || !out->spare[i] || fstat(out->fd[i], &st))
			continue;
		int64_t has = st.st_blocks * INT64_C(512), most;
		if (has <= out->looked[i])
			continue;
		most = bound_of(o, who, i, out->fd[i], &st);
		if (has > most && ftruncate(out->fd[i], most) == 0)
			out->cut[i] = true;
		out->looked[i] = has > most ? most : has;
	}
}

static void cut_say(struct strbuf *say, int which)
{
	strbuf_printf(
		say,
		"%sthe %s was cut: output that can't be delivered is kept while the disk has room, up to %lld MB of a user",
		say->n ? ". " : "", stream[which], (long long)(SPARE_PER_USER >> 20));
}

/* Copies one stretch without a hole. */
static int stretch_copy(int from, off_t at, off_t end, int to, off_t base)
{
	if (lseek(to, base + at, SEEK_SET) < 0)
		return -errno;
	while (at < end) {
		ssize_t n = sendfile(to, from, &at, end - at < 1 << 20 ? (size_t)(end - at) : 1 << 20);
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0; /* the file has become shorter meanwhile */
	}
	return 0;
}

/* Copies a file. Our descriptor is for writing, so another is opened to read: as the user, who may
 * have write but not read access to others' files. Holes stay holes: a file may be larger than the
 * disk that it is copied to. */
static int content_copy(const struct identity *who, int fd, int to, off_t size)
{
	int from = rights_reopen(who, fd, O_RDONLY), r = 0;

	if (from < 0)
		return from;
	fcntl(to, F_SETFL, 0); /* sendfile can't append */
	off_t base = lseek(to, 0, SEEK_END), at = 0, end;
	while (!r && at < size && (at = lseek(from, at, SEEK_DATA)) >= 0 && at < size) {
		end = lseek(from, at, SEEK_HOLE);
		end = end < 0 || end > size ? size : end;
		r = stretch_copy(from, at, end, to, base);
		at = end;
	}
	if (!r && ftruncate(to, base + size))
		r = -errno;
	close(from);
	return r;
}

static void one_close(const struct order *o, const struct identity *who, const struct output *out, int which,
		      struct strbuf *say)
{
	char *spare = NULL;
	struct stat st;
	int fd = out->fd[which];

	if (!(o->carry.spool & 1 << which) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 &&
	    st.st_size > 0) {
		int to = spare_open(o, who, which, &spare);
		struct stat there;
		int64_t most =
			to >= 0 && fstat(to, &there) == 0 ? bound_of(o, who, which, to, &there) - there.st_size : 0;
		bool cut = st.st_blocks * INT64_C(512) > most; /* holes take no space */
		int r = to < 0 ? to : content_copy(who, fd, to, !cut ? st.st_size : most > 0 ? most : 0);
		if (to >= 0)
			close(to);
		if (r)
			strbuf_printf(say, "%sthe %s is lost: its file is gone, and it could not be saved: %s",
				      say->n ? ". " : "", stream[which], strerror(-r));
		else
			sentence(say, stream[which], "kept where it was", "the file is gone", spare);
		if (!r && cut)
			cut_say(say, which);
		free(spare);
	}
	if (out->cut[which])
		cut_say(say, which);
	close(fd);
}

void output_close(const struct order *o, const struct identity *who, struct output *out, struct strbuf *say)
{
	output_bound(o, who, out);
	if (out->fd[1] >= 0 && out->fd[1] != out->fd[0])
		one_close(o, who, out, 1, say);
	if (out->fd[0] >= 0)
		one_close(o, who, out, 0, say);
	out->fd[0] = out->fd[1] = -1;
}
