/*
 * lead.c - leadership among several servers on one store.
 *
 * The table `lead` has one row: an epoch that only grows, its owner, and its expiry. Taking over
 * takes three steps: cut off the connections of the old leader, so that its transactions have
 * ended, committed or not; take the row, unless it was renewed meanwhile; and read the number of
 * the last commit, after which no other server can add any.
 *
 * An old leader that wakes up finds another epoch whatever it tries (-ESTALE). That fences the
 * store. What it reports to others is fenced by time: its lease, counted from a moment before it
 * asked, was over before the database let anyone else have it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ticks.h"
#include "store/pile.h"
#include "store/store_internal.h"

#define POLITE_MS 300

int lead_lost(const struct store *s, struct err *err)
{
	return err_set(err, -ESTALE, "store %s: another server leads now, and writes to it: this one must stop",
		       s->back->name(s->db));
}

static struct value borrowed(const char *text)
{
	return (struct value){(int64_t)strlen(text), text};
}

static int take_leader(void *context, const struct value *row)
{
	struct store_leader *l = context;

	l->epoch = (uint64_t)row[0].n;
	snprintf(l->owner, sizeof l->owner, "%s", row[1].text ? row[1].text : "");
	snprintf(l->address, sizeof l->address, "%s", row[2].text ? row[2].text : "");
	l->left = row[3].n;
	return 0;
}

int store_get_leader(struct store *s, struct store_leader *ret, struct err *err)
{
	*ret = (struct store_leader){0};
	return s->back->query(s->db, GET_LEAD, NULL, take_leader, ret, err);
}

static int take_epoch(void *context, const struct value *row)
{
	*(int64_t *)context = row[0].n;
	return 0;
}

static bool led_by_another(const struct store_leader *l, const char *owner)
{
	return l->left > 0 && strcmp(l->owner, owner) != 0;
}

static int busy(const struct store *s, const struct store_leader *l, struct err *err)
{
	return err_set(err, -EBUSY, "store %s: another server leads: %s", s->back->name(s->db),
		       *l->address ? l->address : l->owner);
}

/* Removes a leader whose lease is over, but does not disturb another server that is taking over
 * at this moment. */
static int leader_remove(struct store *s, const char *owner, struct store_leader *ret, struct err *err)
{
	int rc = s->back->hold ? s->back->hold(s->db, POLITE_MS, 0, err) : 0;

	if (rc != -EBUSY)
		return rc;
	rc = store_get_leader(s, ret, err);
	if (rc == 0 && led_by_another(ret, owner))
		return busy(s, ret, err);
	return rc < 0 ? rc : s->back->hold(s->db, 0, 0, err);
}

/* Takes the row, unless another server has it. */
static int row_take(struct store *s, const struct value *in, int64_t *ret_epoch, struct err *err)
{
	int rc;

	*ret_epoch = 0;
	rc = s->back->query(s->db, TAKE_LEAD, in, take_epoch, ret_epoch, err);
	if (rc == 0 && *ret_epoch && s->back->hold)
		rc = s->back->hold(s->db, 0, *ret_epoch, err);
	if (rc == 0 && *ret_epoch)
		rc = meta_get(s->back, s->db, META_COMMIT, &s->number, err);
	if (rc == 0 && *ret_epoch)
		rc = pile_look(s, err);
	if ((rc < 0 || !*ret_epoch) && s->back->hold)
		s->back->release(s->db);
	return rc;
}

int store_lead(struct store *s, const char *owner, const char *address, uint64_t at_least, int64_t lease_ms,
	       struct store_leader *ret, struct err *err)
{
	struct value in[] = {{.n = (int64_t)at_least}, borrowed(owner), borrowed(address), {.n = lease_ms}};
	int64_t began = clock_us(CLOCK_BOOTTIME), epoch;
	int rc = store_get_leader(s, ret, err);

	if (rc == 0 && led_by_another(ret, owner))
		return busy(s, ret, err);
	if (rc == 0)
		rc = leader_remove(s, owner, ret, err);
	if (rc == 0)
		rc = row_take(s, in, &epoch, err);
	if (rc < 0)
		return rc;
	if (!epoch) { /* the leader has woken up, or another standby was faster */
		rc = store_get_leader(s, ret, err);
		return rc < 0 ? rc : busy(s, ret, err);
	}
	s->epoch = epoch;
	s->lease_ms = s->back->hold ? lease_ms : 0;
	s->kept_us = began;
	*ret = (struct store_leader){.epoch = (uint64_t)epoch, .left = s->lease_ms};
	snprintf(ret->owner, sizeof ret->owner, "%s", owner);
	snprintf(ret->address, sizeof ret->address, "%s", address);
	return 0;
}

bool store_leads(const struct store *s)
{
	return s->epoch && (!s->lease_ms || clock_us(CLOCK_BOOTTIME) < s->kept_us + s->lease_ms * 1000);
}

int64_t store_kept(const struct store *s)
{
	return s->kept_us;
}

int store_keep(struct store *s, int64_t lease_ms, struct err *err)
{
	struct value in[] = {{.n = lease_ms}, {.n = s->epoch}};
	int64_t began = clock_us(CLOCK_BOOTTIME), epoch = 0;

	if (s->epoch && !s->lease_ms)
		return 0;
	int rc = s->epoch ? s->back->query(s->db, KEEP_LEAD, in, take_epoch, &epoch, err) : -ESTALE;
	if (rc == -ESTALE || (rc == 0 && !epoch))
		return lead_lost(s, err);
	if (rc < 0)
		return rc;
	s->lease_ms = lease_ms;
	s->kept_us = began;
	if (store_leads(s))
		return 0;
	return err_set(err, -EBUSY, "store %s: it answers too slowly for a lease of %lld ms", s->back->name(s->db),
		       (long long)lease_ms);
}

int store_yield(struct store *s, struct err *err)
{
	struct value in = {.n = s->epoch};
	int rc = s->lease_ms ? s->back->query(s->db, DROP_LEAD, &in, NULL, NULL, err) : 0;

	s->epoch = 0;
	if (s->back->hold)
		s->back->release(s->db);
	return rc;
}

int store_register(struct store *s, const char *kind, const char *name, const char *value, struct err *err)
{
	struct value in[] = {borrowed(kind), borrowed(name), borrowed(value)};

	return s->back->query(s->db, PUT_OBJECT, in, NULL, NULL, err);
}
