/*
 * history_seen.c - everything that is to be seen of a server: what the API can show, and what
 * decides what happens next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "core/cluster.h"
#include "core/job.h"
#include "plan/plan.h"
#include "property/history.h"
#include "rules/access.h"
#include "rules/gate.h"
#include "rules/quota.h"
#include "rules/role.h"
#include "sched/sched.h"
#include "server/api/jobs/show.h"
#include "server/base/asker.h"
#include "server/base/instance.h"
#include "server/base/words.h"
#include "server/book/credits.h"
#include "server/job/attempt.h"
#include "server/job/body.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/coordinators.h"
#include "server/site/who.h"
#include "store/quota.h"
#include "store/store.h"
#include "support/bare.h"

static void see(struct history *h, const char *path, struct strbuf *out)
{
	struct bare_answer a = {0};

	bare_ask(h->s, getuid(), "GET", path, NULL, &a);
	strbuf_printf(out, "%s\n%s\n", path, strbuf_text(&a.body));
	strbuf_fini(&a.body);
}

void job_see(struct history *h, uint32_t id, const struct array *a, struct strbuf *out)
{
	struct field_list all;
	struct err err;
	json_t *body = NULL;
	struct json j;

	show_whole(&all);
	body_read(h->s, id, &body, &err);
	json_init(&j, out, false);
	json_open_object(&j, NULL);
	show_members(h->s, &j, id, a, &all, body);
	json_close_object(&j);
	strbuf_puts(out, "\n");
	json_decref(body);
}

/* When it is planned to end, and that its host has its walltime. */
static void running_see(struct history *h, uint32_t id, struct strbuf *out)
{
	const struct entry *e = entry_get(h->s, id);
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);
	char tag[64];

	if (!entry_running(h->s, id))
		return;
	strbuf_printf(out, "  ends %lld limited %d\n", (long long)plan_piece(h->s->plan, id, 0)->end, e->limited);
	attempt_tag(h->s, id, entry_job(h->s, id)->attempt, tag);
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].tag, tag) == 0)
			assert_int_equal(all[i].walltime, e->spec->walltime + h->s->cluster->settings.tolerance);
	assert_int_equal(entry_job(h->s, id)->walltime, e->spec->walltime);
}

/* A user's quota as the store has them, and what the book adds up to. */
struct balance {
	char user[64];
	int64_t month, limit[QUOTA_TYPES], left[QUOTA_TYPES], added[QUOTA_TYPES], taken[QUOTA_TYPES];
};
struct balances {
	struct balance v[4];
	size_t n;
};

static int quota_add(void *context, const struct store_quota *q)
{
	struct balances *all = context;
	struct balance *b = &all->v[all->n++];

	assert_true(all->n <= 4);
	snprintf(b->user, sizeof b->user, "%s", q->user);
	b->month = q->month;
	if (!q->end || q->month <= q->end)
		memcpy(b->limit, q->limit, sizeof b->limit);
	memcpy(b->left, q->left, sizeof b->left);
	return 0;
}

static int move_add(void *context, const struct store_move *m)
{
	struct balance *b = context;

	for (int type = 0; type < QUOTA_TYPES; type++)
		if (strcmp(m->type, quota_type_name(type)) == 0) {
			b->added[type] += m->seconds;
			if (strcmp(m->cause, "month") != 0 && strcmp(m->cause, "limit") != 0)
				b->taken[type] -= m->seconds;
		}
	return 0;
}

void quota_check(struct history *h)
{
	struct balances all = {0};

	assert_int_equal(store_get_quota(h->s->store, quota_add, &all, NULL), 0);
	for (size_t i = 0; i < all.n; i++) {
		struct balance *b = &all.v[i];

		assert_int_equal(store_get_moves(h->s->store, b->month, b->user, move_add, b, NULL), 0);
		assert_memory_equal(b->added, b->left, sizeof b->left);
		for (int type = 0; type < QUOTA_TYPES; type++)
			assert_true(b->taken[type] >= 0 && b->left[type] == b->limit[type] - b->taken[type]);
	}
}

void coordinated_see(struct history *h, struct strbuf *out)
{
	const char *user = "nobody", *host = h->s->instance->host;
	const struct server *s = h->s;
	struct asker w = {.uid = 65534, .party = coordinators_party(h->s, user, host)};

	strbuf_puts(out, "nobody:");
	for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
		const struct spec *p = entry_get(s, id)->spec;
		const struct queue *q = p ? queue_of(s, p->queue) : NULL;
		const struct object *x =
			p && p->account ? object_find(s->objects, OBJECT_ACCOUNT, word_text(s, p->account)) : NULL;
		bool is = (q && role_coordinates_queue(&q->attrs, user, host)) ||
			  (x && role_coordinates_account(s->objects, x, user, host));
		if (!p)
			continue;
		assert_int_equal(asker_may(s, &w, ACT_HOLD_OTHER, p), is);
		assert_int_equal(may_see(s, &w, p), is || p->uid == w.uid || may_see_all(s, &w));
		strbuf_printf(out, " %d%d", may_see(s, &w, p), is);
	}
	strbuf_puts(out, "\n");
}

static int credit_line(void *context, const struct store_move *m)
{
	*(int64_t *)context += m->seconds;
	return 0;
}

/* The books of accounts balance: what was deposited is somewhere, the lines add up to what is
 * left, and a recomputation from where jobs have places to what is held. */
static void credits_check(struct history *h)
{
	struct server *s = h->s;

	for (size_t i = 0; i < s->objects->of[OBJECT_ACCOUNT].n; i++) {
		const struct object *x = s->objects->of[OBJECT_ACCOUNT].v[i];
		struct credit_state state;
		int64_t sum = 0, held = 0;
		char name[80];

		if (!credits_get(s, x, &state))
			continue;
		snprintf(name, sizeof name, CREDIT_BOOK_PREFIX "%s", x->name);
		for (int64_t month = month_of(EPOCH); month <= month_of(h->now_us / 1000000); month++)
			assert_int_equal(store_get_moves(s->store, month, name, credit_line, &sum, NULL), 0);
		assert_int_equal(sum, state.balance);
		assert_true(state.balance >= 0 && state.escrow <= state.balance);
		for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
			const struct job *job = entry_job(s, id);
			const struct object *a = entry_get(s, id)->spec && entry_get(s, id)->spec->account
							 ? object_find(s->objects, OBJECT_ACCOUNT,
								       word_text(s, entry_get(s, id)->spec->account))
							 : NULL;
			bool has =
				job->state == STATE_ALLOCATED || job->state == STATE_NOW || job->state == STATE_RUNNING;
			while (a && a != x)
				a = account_above(s->objects, a);
			if (has && a)
				held += limit_need_job(s->cluster, job, sched_cpus(s->sched, id))
						.v[credit_measure(state.tariff.unit)];
		}
		held = credit_price(&state.tariff, held);
		assert_int_equal(state.escrow, held < state.balance ? held : state.balance);
	}
}

/* Everything, a line each. */
void dump(struct history *h, struct strbuf *out)
{
	struct server *s = h->s;

	for (uint32_t id = 1; id < s->jobs->entries.n; id++)
		if (entry_get(s, id)->spec) {
			const struct entry *e = entry_get(s, id);
			job_see(h, id, NULL, out);
			strbuf_printf(out, "  claim %d %d %lld spent %lld\n", e->spec->rare->claim.month,
				      e->spec->rare->claim.type, (long long)e->spec->rare->claim.seconds,
				      (long long)(e->outcome ? e->outcome->spent_ms : 0));
			strbuf_printf(out, "  key %llx block %x limited %d rank %.6f guaranteed %d since %lld\n",
				      (unsigned long long)e->key, gate_blocks(s->gate, id), sched_limited(s->sched, id),
				      entry_job(s, id)->rank, entry_job(s, id)->guaranteed,
				      (long long)entry_job(s, id)->since);
			running_see(h, id, out);
			away_see(h, id, out);
			job_check(entry_job(s, id));
		}
	for (uint64_t number = 1; number < s->jobs->next_number; number++) /* which is not the order they came in */
		if (array_find(s, number) && array_find(s, number)->spec) {
			job_see(h, array_find(s, number)->first, array_find(s, number), out);
			away_check(h, array_find(s, number));
		}
	strbuf_printf(out, "priorities %d\n", s->jobs->priorities);
	see(h, "/v1/queues", out);
	see(h, "/v1/nodes", out);
	see(h, "/v1/partitions", out);
	see(h, "/v1/classes", out);
	see(h, "/v1/users", out);
	see(h, "/v1/groups", out);
	see(h, "/v1/accounts", out);
	see(h, "/v1/qos", out);
	see(h, "/v1/reservations", out);
	see(h, "/v1/sites", out);
	see(h, "/v1/overlays", out);
	see(h, "/v1/quota?all=1", out);
	see(h, "/v1/credits", out);
	credits_check(h);
	coordinated_see(h, out);
	for (uint32_t n = 0; n < s->hosts->nodes.n; n++) {
		const struct node_info *i = &s->hosts->nodes.v[n];
		char path[64];
		strbuf_printf(out, "  life %d %d %lld %lld drained %d leaves %lld\n", i->life.service, i->life.link,
			      (long long)i->life.at, (long long)i->life.since, i->drained, (long long)i->leaves);
		snprintf(path, sizeof path, "/v1/nodes/n%u/events", n + 1);
		see(h, path, out);
	}
	see(h, "/v1/queues/slow/events", out);
	see(h, "/v1/queues/extra/events", out);
	see(h, "/v1/server", out);
	see(h, "/v1/machine", out);
	if (h->loud)
		for (uint32_t n = 0; n < s->plan->nnodes; n++)
			for (size_t i = 0; i < s->plan->node[n].pieces.n; i++) {
				const struct piece *x = &s->plan->node[n].pieces.v[i];
				printf("#   node %u: job %u %lld..%lld%s\n", n, x->job, (long long)(x->start - EPOCH),
				       (long long)(x->end - EPOCH), x->running ? " runs" : "");
			}
	plan_check(s->plan);
}

/* The first line that differs, cut to what differs. */
void differ(const char *a, const char *b)
{
	while (*a && *b) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
		if (n != m || memcmp(a, b, n) != 0) {
			size_t k = 0, from;
			while (k < n && k < m && a[k] == b[k])
				k++;
			from = k > 60 ? k - 60 : 0;
			printf("# %.*s\n# before: ...%.*s\n# after:  ...%.*s\n", n < 60 ? (int)n : 60, a,
			       (int)(n - from < 160 ? n - from : 160), a + from, (int)(m - from < 160 ? m - from : 160),
			       b + from);
		}
		a += n + (a[n] == '\n');
		b += m + (b[m] == '\n');
	}
}
