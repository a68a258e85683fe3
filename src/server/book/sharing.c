/*
 * sharing.c - see sharing.h.
 */
#include "server/book/sharing.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "core/job.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/words.h"
#include "server/book/books.h"
#include "server/book/ended.h"
#include "server/book/history.h"
#include "server/book/ledger.h"
#include "server/job/attempt.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "store/history.h"
#include "store/store.h"

#define ROWS_OF_TURN 1000 /* ledger rows, or days, read per turn */
#define RETRY 60	  /* seconds */

/* The words of a spec that identify its member. */
struct party {
	uint32_t account, group, owner;
};

struct sharing {
	struct shares *x;
	struct fairshare_settings settings; /* settings with which the days were read */
	/* days: the first that counts; the first that was read */
	int64_t first, from;
	struct map members; /* hash of a party -> index in parties + 1 */
	VEC(struct known {
		struct party party;
		uint32_t member;
	}) parties;
	int64_t rows;  /* rows read in this turn */
	int64_t retry; /* instant before which the ledger is not read again after an error */
};

struct sharing *sharing_create(void)
{
	struct sharing *g = mem_zalloc(sizeof *g);

	g->x = shares_create();
	return g;
}

const struct shares *sharing_shares(const struct server *s)
{
	return s->books->sharing->x;
}

static bool sharing_ready(const struct sharing *g)
{
	return g->settings.depth && g->from <= g->first;
}

/* ---- the copy of the ledger ---- */

static uint32_t member_of(struct sharing *g, const struct ledger_row *x)
{
	return shares_member(g->x, x->account, x->group, x->user);
}

void sharing_add(struct server *s, const struct ledger_row *x)
{
	struct sharing *g = s->books->sharing;

	if (!g->settings.depth || !x->used.alloc_ms)
		return;

	int64_t day = ledger_day(x->day);

	if (day >= g->from)
		shares_use(g->x, member_of(g, x), day, x->used.alloc_ms);
}

void sharing_again(struct server *s)
{
	s->books->sharing->settings.depth = 0;
}

void sharing_settings(struct server *s)
{
	struct fairshare_settings f;

	fairshare_settings_of(&f, s->attrs);
	if (memcmp(&f, &s->books->sharing->settings, sizeof f) != 0)
		sharing_again(s);
}

static void sharing_restart(struct sharing *g, const struct fairshare_settings *f, int64_t now)
{
	int64_t today = ledger_day(ledger_date(now));

	shares_forget_use(g->x);
	g->settings = *f;
	g->first = (today / f->window - f->depth + 1) * f->window;
	if (g->first < 0) /* there were no jobs before 1970 */
		g->first = 0;
	g->from = today + 2; /* allows for a clock that is set back a little */
}

static int row_take(void *context, const struct ledger_row *row)
{
	struct server *s = context;
	struct sharing *g = s->books->sharing;

	g->rows++;
	if (row->used.alloc_ms)
		shares_use(g->x, member_of(g, row), ledger_day(row->day), row->used.alloc_ms);
	return 0;
}

static void sharing_read(struct server *s, int64_t most)
{
	struct sharing *g = s->books->sharing;
	struct fairshare_settings f;
	struct err err;

	if (!g->settings.depth) {
		fairshare_settings_of(&f, s->attrs);
		sharing_restart(g, &f, s->clock->now);
	}
	for (g->rows = 0; !sharing_ready(g) && g->rows < most; g->rows++) {
		int64_t date = ledger_date_of(g->from - 1);
		if (ledger_read(s->store, date, date, row_take, s, &err) < 0) {
			server_log(s, SEVERITY_ERROR, "fairshare: the ledger can't be read: %s", err.text);
			g->retry = s->clock->now + RETRY;
			return;
		}
		g->from--;
	}
}

void sharing_begin(struct server *s, bool now)
{
	if (now)
		sharing_read(s, INT64_MAX);
}

void sharing_committed(struct server *s)
{
	if (sharing_reads(s))
		sharing_read(s, ROWS_OF_TURN);
}

bool sharing_complete(const struct server *s)
{
	return sharing_ready(s->books->sharing);
}

bool sharing_reads(const struct server *s)
{
	return !sharing_ready(s->books->sharing) && s->clock->now >= s->books->sharing->retry;
}

/* ---- members and standings ---- */

static uint32_t party_member(struct server *s, const struct spec *p)
{
	struct sharing *g = s->books->sharing;
	struct party party = {p->account, p->group, p->owner};
	uint64_t key = hash_bytes(&party, sizeof party), at;
	char group[64];

	if (p->group && map_get(&g->members, key, &at) &&
	    memcmp(&g->parties.v[at - 1].party, &party, sizeof party) == 0)
		return g->parties.v[at - 1].member;

	uint32_t member = shares_member(g->x, p->account ? word_text(s, p->account) : "",
					group_name(s, p, group, sizeof group), word_text(s, p->owner));
	if (p->group) {
		vec_push(&g->parties, (struct known){party, member});
		map_set(&g->members, key, g->parties.n);
	}
	return member;
}

struct running {
	struct server *s;
	int64_t today;
	int64_t passed_ms; /* since midnight */
	uint32_t member;
};

static void day_run(void *context, const struct ledger_row *x)
{
	struct running *r = context;

	shares_run(r->s->books->sharing->x, r->member, ledger_day(x->day), x->used.alloc_ms);
}

static void attempt_run(void *context, struct attempt *t)
{
	struct running *r = context;
	const struct entry *e = entry_get(r->s, t->job);
	int64_t ran = e->spec && entry_job(r->s, t->job)->attempt == t->attempt ? ran_until_now(r->s, t->job) : 0;
	struct history_row row = {.ended = r->s->clock->now, .ran_ms = ran};

	if (ran <= 0)
		return;
	for (uint32_t i = 0; i < t->nfrags; i++)
		row.cpus += t->ncpus[i];
	r->member = party_member(r->s, e->spec);
	if (ran <= r->passed_ms)
		shares_run(r->s->books->sharing->x, r->member, r->today, ran * row.cpus);
	else
		ledger_split(&r->s->books->last_end, &row, day_run, r);
}

void sharing_rank(struct server *s)
{
	struct sharing *g = s->books->sharing;
	int64_t date = ledger_date(s->clock->now);
	struct running r = {.s = s, .today = ledger_day(date)};

	if (!sharing_ready(g))
		return;
	r.passed_ms = (s->clock->now - ledger_midnight(s->clock->now)) * 1000;
	shares_aim(g->x, s->objects);
	shares_settle(g->x);
	attempts_each(s, attempt_run, &r);
	shares_rank(g->x, &g->settings, r.today);
}

double sharing_standing(struct server *s, const struct spec *p)
{
	struct sharing *g = s->books->sharing;
	uint32_t member = party_member(s, p);

	if (shares_stale(g->x))
		sharing_rank(s);
	return shares_standing(g->x, member);
}
