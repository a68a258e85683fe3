/*
 * message.c - the frames between server and nursery.
 */
#include "run/message.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>

#include "base/codec.h"
#include "base/jsonread.h"

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

/* ---- requests ---- */

#define NO_ID UINT32_MAX

static const struct field request_rows[] = {
	{"tag", MEMBER(struct request, tag)},
	{"signal", MEMBER(struct request, signal)},
	{"id", MEMBER(struct request, id)},
	{"uid", .missing = NO_ID, .most = NO_ID - 1, MEMBER(struct request, uid)},
	{"gid", .missing = NO_ID, .most = NO_ID - 1, MEMBER(struct request, gid)},
	{"user", MEMBER(struct request, user)},
	{"path", MEMBER_AS(FORM_BYTES, struct request, path)},
	{"flags", MEMBER(struct request, flags)},
	{"mode", MEMBER(struct request, mode)},
	{"from", MEMBER_AS(FORM_BYTES, struct request, from)},
	{0},
};

static void request_write(enum frame_kind kind, const struct request *q, struct strbuf *out)
{
	size_t at = message_begin(out, kind);

	record_store_text(request_rows, 0, q, NULL, out);
	message_end(out, at);
}

static void tag_frame(enum frame_kind kind, const char *tag, int signal, struct strbuf *out)
{
	request_write(kind, &(struct request){.tag = tag, .signal = signal, .uid = NO_ID, .gid = NO_ID}, out);
}

void nursery_signal(const char *tag, int signal, struct strbuf *out)
{
	tag_frame(FRAME_SIGNAL, tag, signal, out);
}

void nursery_clean(const char *tag, struct strbuf *out)
{
	tag_frame(FRAME_CLEAN, tag, SIGKILL, out);
}

void nursery_forget(const char *tag, struct strbuf *out)
{
	tag_frame(FRAME_FORGET, tag, 0, out);
}

static void path_frame(enum frame_kind kind, struct request q, const struct nursery_user *who, struct strbuf *out)
{
	q.uid = who->uid;
	q.gid = who->uid == BY_NAME ? NO_ID : who->gid;
	q.user = who->name;
	request_write(kind, &q, out);
}

void nursery_look(uint64_t id, const struct nursery_user *who, const char *path, struct strbuf *out)
{
	path_frame(FRAME_LOOK, (struct request){.id = id, .path = path}, who, out);
}

void nursery_open(uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path, int flags, int mode,
		  struct strbuf *out)
{
	path_frame(FRAME_OPEN, (struct request){.id = id, .path = path, .flags = flags, .mode = mode},
		   &(struct nursery_user){uid, gid, user}, out);
}

void nursery_rename(uint64_t id, const struct nursery_user *who, const char *from, const char *path, struct strbuf *out)
{
	path_frame(FRAME_OPEN, (struct request){.id = id, .path = path, .from = from}, who, out);
}

void nursery_erase(const char *tag, const struct nursery_user *who, const char *path, struct strbuf *out)
{
	path_frame(FRAME_ERASE, (struct request){.tag = tag, .path = path}, who, out);
}

static bool is_tag(const char *tag)
{
	return tag && tag[0] && tag[0] != '.' && !strchr(tag, '/');
}

int request_read(char kind, const char *text, size_t n, struct arena *a, struct request *ret)
{
	bool tagged = kind == FRAME_SIGNAL || kind == FRAME_CLEAN || kind == FRAME_FORGET || kind == FRAME_ERASE,
	     placed = kind == FRAME_OPEN || kind == FRAME_LOOK || kind == FRAME_ERASE;
	int r = record_read_text(request_rows, 0, text, n, ret, a, NULL);

	if (r < 0 || !(tagged || placed) || (tagged && !is_tag(ret->tag)))
		return -EINVAL;
	return placed && (!ret->user || !ret->path || (ret->uid == NO_ID) != (ret->gid == NO_ID)) ? -EINVAL : 0;
}

const char *order_tag(const char *text, size_t n, struct arena *a)
{
	json_t *root = json_read(text, n, 0, NULL);
	const json_t *tag = json_object_get(root, "tag");
	const char *copy = json_is_string(tag) ? arena_strndup(a, json_string_value(tag), json_string_length(tag)) : "";

	json_decref(root);
	return copy;
}

/* ---- answers ---- */

static const struct field answer_rows[] = {
	{"type", .in = ALWAYS, .most = ANSWER_ERASED, MEMBER_AS(FORM_U32, struct answer, type)},
	{"tag", MEMBER(struct answer, tag)},
	{"pid", MEMBER(struct answer, pid)},
	{"id", MEMBER(struct answer, id)},
	{"fs", MEMBER(struct answer, fs)},
	{"directory", MEMBER(struct answer, directory)},
	{"home", MEMBER_AS(FORM_BYTES, struct answer, home)},
	{"reason", MEMBER(struct answer, reason)},
	{"unclear", MEMBER(struct answer, unclear)},
	{0},
};

void answer_write(const struct answer *a, struct strbuf *out)
{
	size_t at = message_begin(out, FRAME_ANSWER);

	record_store_text(answer_rows, 0, a, NULL, out);
	message_end(out, at);
}

int answer_read(const char *text, size_t n, struct arena *a, struct answer *ret, struct err *err)
{
	struct answer answer;
	int r = record_read_text(answer_rows, 0, text, n, &answer, a, NULL);

	if (r < 0)
		return err_set(err, -EPROTO, "an answer of the nursery can't be understood: %.*s",
			       n > 100 ? 100 : (int)n, text);
	*ret = answer;
	return 0;
}
