/*
 * output.c - standard output and error of a job.
 */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffix[] = {"out", "err"};
static const char *const stream[] = {"output", "error output"};

/* A pipe that nobody reads must not stop us here, so it is opened without waiting. Always appended to: the server's messages
 * to the job, and a joined stream opened twice, do not overwrite anything. */
static int target_open(const char *path, bool append)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (append ? 0 : O_TRUNC),
		      0666);

	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

/* SPARE/TAG.out, the user's own. */
static int spare_open(const struct order *o, const struct identity *who, int which, char **ret_path)
{
	if (!o->spare || asprintf(ret_path, "%s/%s.%s", o->spare, o->tag, suffix[which]) < 0)
		return -ENOENT;

	identity_files_begin(who->server);
	int fd = open(*ret_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : 0;
	identity_files_end(who->server);
	if (!r && who->change && fchown(fd, who->uid, who->gid)) {
		r = -errno;
		close(fd);
	}
	if (r) {
		free(*ret_path);
		*ret_path = NULL;
	}
	return r ? r : fd;
}

static void sentence(struct strbuf *say, const char *stream_name, const char *path, const char *why, const char *spare)
{
	strbuf_printf(say, "%sthe %s could not be %s: %s; it is in %s", say->n ? ". " : "", stream_name, path, why,
		      spare);
}

static int one_open(const struct order *o, const struct identity *who, int which, const char *path, struct strbuf *say,
		    struct err *err)
{
	char *spare = NULL, to[600];

	if (o->spool & 1 << which) { /* it will be carried from there */
		int there = spare_open(o, who, which, &spare);
		free(spare);
		return there >= 0 ? there
				  : err_set(err, there, "the %s can't be written to %.300s: %s", stream[which],
					    o->spare, strerror(-there));
	}
	identity_files_begin(who);
	int fd = target_open(path, o->append);
	identity_files_end(who);
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
	ret->fd[0] = one_open(o, who, 0, o->out, say, err);
	if (ret->fd[0] < 0)
		return ret->fd[0];
	ret->fd[1] = o->err && strcmp(o->err, o->out) ? one_open(o, who, 1, o->err, say, err) : ret->fd[0];
	if (ret->fd[1] < 0) {
		int r = ret->fd[1];
		close(ret->fd[0]);
		*ret = (struct output){.fd = {-1, -1}};
		return r;
	}
	return 0;
}

/* Our descriptor is for writing, so the bytes are read through /proc. */
static int content_copy(int fd, int to)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	fcntl(to, F_SETFL, 0); /* sendfile does not append */
	lseek(to, 0, SEEK_END);
	while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
		;
	int r = n < 0 ? -errno : 0;
	close(from);
	return r;
}

static void one_close(const struct order *o, const struct identity *who, const struct output *out, int which,
		      struct strbuf *say)
{
	char *spare = NULL;
	struct stat st;
	int fd = out->fd[which];

	if (!(o->spool & 1 << which) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 &&
	    st.st_size > 0) {
		int to = spare_open(o, who, which, &spare);
		int r = to < 0 ? to : content_copy(fd, to);
		if (to >= 0)
			close(to);
		if (!r)
			sentence(say, stream[which], "kept where it was", "the file is gone", spare);
		else
			strbuf_printf(say, "%sthe %s is lost: its file is gone, and it could not be saved: %s",
				      say->n ? ". " : "", stream[which], strerror(-r));
		free(spare);
	}
	close(fd);
}

void output_close(const struct order *o, const struct identity *who, struct output *out, struct strbuf *say)
{
	if (out->fd[1] >= 0 && out->fd[1] != out->fd[0])
		one_close(o, who, out, 1, say);
	if (out->fd[0] >= 0)
		one_close(o, who, out, 0, say);
	out->fd[0] = out->fd[1] = -1;
}
