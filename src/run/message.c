/*
 * message.c - what server and nursery say to each other, in frames; message_read.c is the way back.
 */
#include "run/message.h"

#include <errno.h>
#include <signal.h>

#include "base/json.h"
#include "run/order_internal.h"

size_t message_begin(struct strbuf *out, char kind)
{
	const char head[5] = {0, 0, 0, 0, kind};
	size_t at = out->n;

	strbuf_add(out, head, sizeof head);
	return at;
}

void message_end(struct strbuf *out, size_t at)
{
	size_t n = out->n - at - 4;

	for (int i = 0; i < 4; i++)
		out->text[at + (size_t)i] = (char)(n >> 8 * i);
}

ssize_t message_next(const char *buf, size_t n, char *ret_kind, const char **ret_text, size_t *ret_length)
{
	size_t length = 0;

	if (n < 4)
		return 0;
	for (int i = 0; i < 4; i++)
		length |= (size_t)(unsigned char)buf[i] << 8 * i;
	if (length < 1 || length > FRAME_MAX)
		return -EMSGSIZE;
	if (n < 4 + length)
		return 0;
	*ret_kind = buf[4];
	*ret_text = buf + 5;
	*ret_length = length - 1;
	return (ssize_t)(4 + length);
}

void nursery_order(const struct order *o, struct strbuf *out)
{
	size_t at = message_begin(out, FRAME_ORDER);

	order_write(o, out);
	message_end(out, at);
}

static void tag_frame(enum frame_kind kind, const char *tag, int signal, struct strbuf *out)
{
	size_t at = message_begin(out, kind);
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	json_text(&j, "tag", tag);
	json_int(&j, "signal", signal);
	json_close_object(&j);
	message_end(out, at);
}

void nursery_signal(const char *tag, int signal, struct strbuf *out)
{
	tag_frame(FRAME_SIGNAL, tag, signal, out);
}

void nursery_limit(const char *tag, int64_t walltime, struct strbuf *out)
{
	tag_frame(FRAME_SIGNAL, tag, walltime_word(walltime), out);
}

void nursery_clean(const char *tag, struct strbuf *out)
{
	tag_frame(FRAME_CLEAN, tag, SIGKILL, out);
}

static void path_frame(enum frame_kind kind, uint64_t id, const struct nursery_user *who, const char *path, int flags,
		       int mode, struct strbuf *out)
{
	size_t at = message_begin(out, kind);
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	json_int(&j, "id", (int64_t)id);
	if (who->uid != (uid_t)-1) {
		json_int(&j, "uid", who->uid);
		json_int(&j, "gid", who->gid);
	}
	json_text(&j, "user", who->name);
	text_write(&j, "path", path);
	json_int(&j, "flags", flags);
	json_int(&j, "mode", mode);
	json_close_object(&j);
	message_end(out, at);
}

void nursery_look(uint64_t id, const struct nursery_user *who, const char *path, struct strbuf *out)
{
	path_frame(FRAME_LOOK, id, who, path, 0, 0, out);
}

void nursery_open(uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path, int flags, int mode,
		  struct strbuf *out)
{
	path_frame(FRAME_OPEN, id, &(struct nursery_user){uid, gid, user}, path, flags, mode, out);
}

void nursery_erase(const char *tag, const struct nursery_user *who, const char *path, struct strbuf *out)
{
	size_t at = message_begin(out, FRAME_ERASE);
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	json_text(&j, "tag", tag);
	json_int(&j, "uid", who->uid);
	json_int(&j, "gid", who->gid);
	json_text(&j, "user", who->name);
	text_write(&j, "path", path);
	json_close_object(&j);
	message_end(out, at);
}

void answer_write(const struct answer *a, struct strbuf *out)
{
	struct json j;
	size_t at = message_begin(out, FRAME_ANSWER);

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	json_int(&j, "type", a->type);
	if (a->tag)
		json_text(&j, "tag", a->tag);
	if (a->pid)
		json_int(&j, "pid", a->pid);
	if (a->id)
		json_int(&j, "id", (int64_t)a->id);
	if (a->fs)
		json_int(&j, "fs", a->fs);
	if (a->directory)
		json_bool(&j, "directory", true);
	if (a->type == ANSWER_LOOKED && a->home)
		text_write(&j, "home", a->home);
	if (a->reason)
		json_text(&j, "reason", a->reason);
	if (a->unclear)
		json_bool(&j, "unclear", true);
	json_close_object(&j);
	message_end(out, at);
}
