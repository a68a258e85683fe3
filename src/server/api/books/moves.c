/*
 * moves.c - see moves.h.
 */
#include "server/api/books/moves.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "net/http.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/jobs/past_job.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/reader.h"
#include "server/server.h"
#include "store/history.h"

struct moves {
	struct read_work work;
	struct http_request *r;
	const struct moves_form *form;
	int64_t month;
	char *user, *account, *server;
	struct strbuf out;
	struct json j;
};

static int move_write(void *context, const struct store_move *x)
{
	struct moves *m = context;
	struct history_row job = {.key = x->job};
	char id[400];

	schema_show(m->form->line, NULL,
		    &(struct move_line){*x, x->job ? past_id(&job, m->server, id, sizeof id) : NULL}, NULL, &m->j);
	return 0;
}

static int moves_read(struct read_work *w, struct store *store)
{
	struct moves *m = (struct moves *)w;

	json_begin(&m->j, &m->out);
	if (m->account)
		json_text(&m->j, "account", m->account);
	json_int(&m->j, "month", m->month);
	json_open_array(&m->j, m->form->lines);
	int rc = store_get_moves(store, m->month, m->user, move_write, m, &w->err);
	json_close_array(&m->j);
	json_close_object(&m->j);
	return rc;
}

static void moves_free(struct moves *m)
{
	strbuf_fini(&m->out);
	free(m->user);
	free(m->account);
	free(m->server);
	free(m);
}

static void moves_done(struct read_work *w)
{
	struct moves *m = (struct moves *)w;

	if (w->rc == 0)
		http_reply_strbuf(m->r, 200, "application/json", &m->out);
	else
		http_error(m->r, CODE_UNAVAILABLE, "The book of %s can't be read now: %s", m->form->kind, w->err.text);
	moves_free(m);
}

void moves_reply(struct server *s, const struct call *c, const struct moves_form *form, const char *user,
		 const char *account)
{
	int64_t month = query_number(c, "month", month_of(s->clock->now));
	struct moves *m;

	if (month % 100 < 1 || month % 100 > 12) {
		http_error(c->r, CODE_BAD_REQUEST, "month=%lld: it must be a month, as 202704", (long long)month);
		return;
	}
	m = mem_zalloc(sizeof *m);
	m->work = (struct read_work){.read = moves_read, .done = moves_done};
	m->r = c->r;
	m->form = form;
	m->month = month;
	m->user = mem_strdup(user);
	m->account = account ? mem_strdup(account) : NULL;
	m->server = mem_strdup(s->instance->name);
	if (reader_add(s, LANE_LONG, c->w->uid, &m->work))
		return;
	http_header(c->r, "Retry-After", "2");
	http_error(c->r, CODE_UNAVAILABLE, "Too many requests are waiting. Try again later.");
	moves_free(m);
}
