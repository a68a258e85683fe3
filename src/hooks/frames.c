/*
 * frames.c - the rows of frames.h and of the answers in them.
 */
#include "hooks/frames.h"

#include <errno.h>
#include <stdlib.h>

#include "base/codec.h"
#include "hooks/chain.h"

#define HAS(member) MEMBER(struct hook_file, member)
static const struct field file_rows[] = {
	{"name", .in = ALWAYS, HAS(source.name)},
	{"bytes", HAS(source.n)},
	{"events", HAS(events)},
	{"broken", MEMBER_AS(FORM_LENT, struct hook_file, broken)},
	{0},
};
static const struct schema file = {.fields = file_rows};
#undef HAS

#define HAS(member) MEMBER(struct hook_request, member)
const struct field hook_request_rows[] = {
	{"do", .words = "files|check|call|try|priority", .in = ALWAYS,
	 MEMBER_AS(FORM_CHOICE, struct hook_request, what)},
	{"files", .of = &file, MEMBER_LIST(FORM_RECORDS, struct hook_request, files, nfiles)},
	{"name", HAS(name)},
	{"event", HAS(event)},
	{"facts", HAS(facts)},
	{"site", HAS(site)},
	{"refuses", HAS(refuses)},
	{"bytes", HAS(bytes)},
	{"time_us", HAS(time_us)},
	{"memory", HAS(memory)},
	{0},
};
#undef HAS

#define HAS(member) MEMBER(struct hook_reply, member)
const struct field hook_reply_rows[] = {
	{"at", HAS(at)},	 {"error", HAS(error)},
	{"answer", HAS(answer)}, {"done", .missing = -1, HAS(done)},
	{"values", HAS(values)}, {"events", .missing = -1, HAS(events)},
	{"failed", HAS(failed)}, {0},
};
#undef HAS

/* ---- answers ---- */

#define TEXT .is = REQUIRED | IS_TEXT
static const struct field log_rows[] = {{"file", TEXT}, {"text", TEXT}, {0}};
static const struct field mail_rows[] = {{"to", TEXT}, {"subject", TEXT}, {"text", TEXT}, {0}};
static const struct field ran_rows[] = {
	{"file", TEXT}, {"us", .is = REQUIRED | IS_INT}, {"failed", .is = IS_TEXT | IS_NULL}, {0}};
#define LIST(rows)                                                                                                     \
	.is = IS_LIST | IS_NULL, .item = IS_OBJECT, .of = &(const struct schema)                                       \
	{                                                                                                              \
		.fields = (rows)                                                                                       \
	}
#define HAS(member) MEMBER(struct hook_answer, member)
static const struct field answer_rows[] = {
	{"result", TEXT, .words = "accepted|refused|failed", .in = ALWAYS,
	 MEMBER_AS(FORM_CHOICE, struct hook_answer, result)},
	{"message", .is = IS_TEXT | IS_NULL, HAS(message)},
	{"changes", .is = IS_OBJECT | IS_NULL, HAS(changes)},
	{"log", LIST(log_rows), HAS(log)},
	{"mails", LIST(mail_rows), HAS(mails)},
	{"ran", LIST(ran_rows), HAS(ran)},
	{0},
};
static const struct schema answer = {.fields = answer_rows, .open = true};

void hook_answer_write(const struct hook_answer *a, struct strbuf *out)
{
	record_store_text(answer_rows, 0, a, NULL, out);
}

int hook_answer_read(const json_t *o, struct hook_answer *ret, struct err *err)
{
	*ret = (struct hook_answer){0};
	if (schema_check(&answer, o, err) == 0 && record_load(answer_rows, 0, o, ret, NULL, err) == 0 &&
	    (ret->message || ret->result == HOOK_ACCEPTED)) {
		json_incref(ret->changes);
		json_incref(ret->log);
		json_incref(ret->mails);
		json_incref(ret->ran);
		return 0;
	}
	free(ret->message);
	*ret = (struct hook_answer){0};
	return err_set(err, -EINVAL, "the answer of the hooks' process can't be read");
}
