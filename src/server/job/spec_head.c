/*
 * spec_head.c - what the store has of a spec: written, and read back.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/kind.h"
#include "core/reqtext.h"
#include "rules/gate.h"
#include "rules/libra.h"
#include "server/base/words.h"
#include "server/job/spec.h"
#include "server/server.h"

void spec_head(const struct server *s, const struct spec *p, struct strbuf *out)
{
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	json_text(&j, "name", p->name);
	json_text(&j, "owner", word(s, p->owner));
	json_int(&j, "uid", p->uid);
	json_int(&j, "gid", p->gid);
	if (p->group)
		json_text(&j, "group", word(s, p->group));
	if (p->home)
		json_text(&j, "home", word(s, p->home));
	json_text(&j, "host", word(s, p->host));
	json_text(&j, "queue", word(s, p->queue));
	json_text(&j, "resources", word(s, p->resources));
	json_int(&j, "walltime", p->walltime);
	json_int(&j, "created", p->created);
	if (p->origin)
		json_int(&j, "origin", p->origin);
	if (p->rare->came)
		json_int(&j, "came", (int64_t)p->rare->came);
	json_int(&j, "rank_us", llround(p->rank * 1e6));
	json_int(&j, "eligible", p->eligible);
	if (p->script)
		json_int(&j, "script", (int64_t)p->script);
	if (p->kind != KIND_COMMON)
		json_int(&j, "kind", p->kind);
	if (p->deadline != TIME_NEVER)
		json_int(&j, "deadline", p->deadline);
	if (p->rare->libra.estimate) {
		json_int(&j, "estimate", p->rare->libra.estimate);
		json_int(&j, "window", p->rare->libra.window);
		json_int(&j, "budget", p->rare->libra.budget);
		json_int(&j, "libra_alpha", p->rare->libra.alpha);
		json_int(&j, "libra_beta", p->rare->libra.beta);
	}
	if (p->rare->share)
		json_int(&j, "share", p->rare->share);
	if (p->nice)
		json_int(&j, "nice", p->nice);
	if (p->powers)
		json_int(&j, "powers", p->powers);
	if (p->priority)
		json_int(&j, "priority", p->priority);
	if (p->mail != MAIL_ABORT)
		json_int(&j, "mail", p->mail);
	if (p->holds)
		json_int(&j, "holds", p->holds);
	if (p->at)
		json_int(&j, "at", p->at);
	if (p->depend)
		json_text(&j, "depend", p->depend);
	if (p->account)
		json_text(&j, "account", word(s, p->account));
	if (p->project)
		json_text(&j, "project", word(s, p->project));
	if (p->checkpoint)
		json_text(&j, "checkpoint", word(s, p->checkpoint));
	if (p->class)
		json_text(&j, "class", word(s, p->class));
	if (p->qos)
		json_text(&j, "qos", word(s, p->qos));
	if (p->reservation)
		json_text(&j, "reservation", word(s, p->reservation));
	if (p->program)
		json_text(&j, "program", p->program);
	if (p->rare->restart)
		json_int(&j, "restart", (int64_t)p->rare->restart);
	if (p->files_name)
		json_text(&j, "files_name", word(s, p->files_name));
	if (p->array_text)
		json_text(&j, "array", p->array_text);
	if (!p->rerunnable)
		json_bool(&j, "rerunnable", false);
	if (p->visitor)
		json_bool(&j, "visitor", true);
	if (p->rare->through)
		json_text(&j, "through", word(s, p->rare->through));
	if (p->interactive)
		json_bool(&j, "interactive", true);
	if (p->now)
		json_bool(&j, "now", true);
	if (p->rare->claim.month) {
		json_int(&j, "quota_month", p->rare->claim.month);
		json_int(&j, "quota_type", p->rare->claim.type);
		json_int(&j, "quota", p->rare->claim.seconds);
	}
	json_close_object(&j);
}

/* A head with its members, most of which any one job does not have. */
struct head {
	json_t *o;
	uint64_t marks; /* of the keys that are there: to know most of the others without a search */
};

static inline uint64_t key_mark(const char *key)
{
	return UINT64_C(1) << (((unsigned char)key[0] * 5u + strlen(key) * 11u) % 64);
}

static bool head_read(const char *text, struct head *ret, json_error_t *error)
{
	const char *key;
	json_t *value;

	*ret = (struct head){.o = json_loads(text, 0, error)};
	json_object_foreach(ret->o, key, value) ret->marks |= key_mark(key);
	return ret->o;
}

static inline json_t *head_member(const struct head *h, const char *key)
{
	return h->marks & key_mark(key) ? json_object_get(h->o, key) : NULL;
}

static inline const char *head_text(const struct head *h, const char *key)
{
	return json_string_value(head_member(h, key));
}

static inline int64_t head_int(const struct head *h, const char *key, int64_t missing)
{
	const json_t *v = head_member(h, key);

	return json_is_integer(v) ? json_integer_value(v) : missing;
}

static void rare_restore(struct spec *p, const struct head *h)
{
	uint64_t came = (uint64_t)head_int(h, "came", 0), restart = (uint64_t)head_int(h, "restart", 0);

	if (came)
		spec_rare(p)->came = came;
	if (restart)
		spec_rare(p)->restart = restart;
	if (head_member(h, "estimate"))
		spec_rare(p)->libra = (struct libra_terms){.estimate = head_int(h, "estimate", 0),
							   .window = head_int(h, "window", 1),
							   .budget = head_int(h, "budget", LIBRA_NO_BUDGET),
							   .alpha = head_int(h, "libra_alpha", 0),
							   .beta = head_int(h, "libra_beta", 0)};
	if (head_int(h, "share", 0) > 0)
		spec_rare(p)->share = head_int(h, "share", 0);
	if (head_member(h, "quota_month"))
		spec_rare(p)->claim = (struct quota_claim){
			(int32_t)head_int(h, "quota_month", 0),
			(enum quota_type)(head_int(h, "quota_type", 0) % QUOTA_TYPES), head_int(h, "quota", 0)};
}

int spec_restore(struct server *s, const char *head, struct spec **ret, struct err *err)
{
	json_error_t error;
	struct head members, *h = &members;
	bool read = head_read(head, h, &error);
	const char *name = head_text(h, "name"), *resources = head_text(h, "resources");
	struct arena *a = arena_create();
	struct spec *p = NULL;
	struct strbuf canonical = {0};
	struct reqtext text;
	int rc = 0;

	if (!name || !resources || !head_text(h, "owner") || !head_text(h, "queue") ||
	    !json_is_integer(head_member(h, "created")) || head_int(h, "kind", 0) < 0 ||
	    head_int(h, "kind", 0) >= KIND_COUNT) {
		rc = err_set(err, -EINVAL, "%s", read ? "something that a job must have is missing" : error.text);
		goto out;
	}
	p = spec_create(name);
	p->owner = word_add(s, head_text(h, "owner"));
	p->uid = (uid_t)head_int(h, "uid", 0);
	p->gid = (gid_t)head_int(h, "gid", 0);
	p->group = word_add(s, head_text(h, "group"));
	p->home = word_add(s, head_text(h, "home"));
	p->host = word_add(s, head_text(h, "host"));
	p->queue = word_add(s, head_text(h, "queue"));
	p->account = word_add(s, head_text(h, "account"));
	p->project = word_add(s, head_text(h, "project"));
	p->checkpoint = word_add(s, head_text(h, "checkpoint"));
	p->class = word_add(s, head_text(h, "class"));
	p->qos = word_add(s, head_text(h, "qos"));
	p->reservation = word_add(s, head_text(h, "reservation"));
	p->files_name = word_add(s, head_text(h, "files_name"));
	p->created = head_int(h, "created", 0);
	p->origin = (uint32_t)head_int(h, "origin", 0);
	p->rank = (double)head_int(h, "rank_us", p->created * 1000000) / 1e6;
	p->script = (uint64_t)head_int(h, "script", 0);
	p->kind = (uint8_t)head_int(h, "kind", KIND_COMMON);
	p->deadline = head_int(h, "deadline", TIME_NEVER);
	p->nice = head_int(h, "nice", 0);
	p->powers = (uint8_t)head_int(h, "powers", 0);
	p->priority = (int16_t)head_int(h, "priority", 0);
	p->mail = (uint8_t)head_int(h, "mail", MAIL_ABORT);
	p->holds = (uint8_t)head_int(h, "holds", 0) & BLOCK_HOLDS;
	p->at = head_int(h, "at", 0);
	p->rerunnable = !json_is_false(head_member(h, "rerunnable"));
	p->visitor = json_is_true(head_member(h, "visitor"));
	if (head_text(h, "through"))
		spec_rare(p)->through = word_add(s, head_text(h, "through"));
	p->interactive = json_is_true(head_member(h, "interactive"));
	p->now = json_is_true(head_member(h, "now"));
	rare_restore(p, h);
	p->legacy = !head_member(h, "eligible");
	p->eligible = (uint32_t)head_int(h, "eligible", UINT32_MAX);
	if (head_text(h, "depend"))
		p->depend = mem_strdup(head_text(h, "depend"));
	if (head_text(h, "program"))
		p->program = mem_strdup(head_text(h, "program"));
	if (head_text(h, "array")) {
		p->array = true;
		p->array_text = mem_strdup(head_text(h, "array"));
	}
	p->resources = word_add(s, resources);
	p->walltime = head_int(h, "walltime", 0);
	if (p->walltime < 1)
		p->walltime = 1;
	p->request = UINT32_MAX; /* if the nodes have changed: it is kept, and held (block_begin) */
	if (spec_request(s, p, a, &text, err) == 0) {
		spec_resolve(s, &text, p);
		text.walltime = -1;
		reqtext_format(&text, &canonical);
		p->resources = word_add(s, strbuf_text(&canonical));
		strbuf_fini(&canonical);
	}
	*ret = p;
out:
	json_decref(h->o);
	arena_destroy(a);
	return rc;
}
