/*
 * api_server_log.c - the last lines of the server's log as an answer.
 */
#include <stdint.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/schemas.h"
#include "server/base/log.h"
#include "server/server.h"

static const struct schema line = {
	"LogLine", FIELDS({"time", .is = REQUIRED | IS_INSTANT, MEMBER(struct log_kept, time)},
			  {"level", .is = REQUIRED | IS_TEXT, "how severe it is", .words = SEVERITY_WORDS("|"),
			   MEMBER_AS(FORM_CHOICE, struct log_kept, severity)},
			  {"text", .is = REQUIRED | IS_TEXT, MEMBER(struct log_kept, text)})};
const struct schema server_log_answer = {
	FIELDS({"lines", .is = REQUIRED | IS_LIST, "oldest first", .of = &line, .item = IS_OBJECT})};

void api_server_log(struct server *s, const struct call *c)
{
	const char *level = request_query(c->r, "level");
	enum severity least = SEVERITY_DEBUG;
	struct strbuf out = {0};
	const struct log_kept *k;
	uint64_t at = 0;
	struct json j;

	if (level)
		severity_parse(level, &least); /* the route's table has checked it */
	json_begin(&j, &out);
	json_open_array(&j, "lines");
	while (s->log && (k = log_next(s->log, least, &at)))
		schema_show(&line, NULL, k, NULL, &j);
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}
