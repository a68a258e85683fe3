/*
 * spool.c - keeps changes that users of this host submit while the server is down, and sends them
 * when it is back (client/tray.h, docs/protocol.md).
 *
 *	offer --(server gone: commands fill its tray)--> welcome
 *	--> new offer, old trays closed --> changes sent in order --> done: removed --> emptied
 *
 * The agent is not needed while the server is down: commands write into the tray themselves, so a
 * dead agent loses nothing and blocks no one. The trays are the truth; they are listed again after
 * each welcome. An offer is replaced before its tray is closed (chmod), and a tray is closed before
 * it is listed: a late command can't put anything into it, and learns that from the offer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "base/logline.h"
#include "base/ticks.h"
#include "client/tray.h"
#include "engine/frames.h"

#define WINDOW 32 /* maximum changes in flight */
#define FAR_MOST 20000
#define FAR_BYTES (512u << 20)
/* numbers left free between the last one seen in a tray and the next offer's first: more may be
 * used before the tray is closed */
#define AHEAD 100

struct item {
	uint32_t tray;
	struct tray_name name;
	int64_t time_us;
	enum { ITEM_WAITS, ITEM_SENT, ITEM_OVER } state;
};

struct closed_tray {
	char name[TRAY_NAME];
	int fd;
};

struct spool {
	char dir[PATH_MAX];
	struct offer offer; /* current offer; tray "": none */
	VEC(struct closed_tray) trays;
	VEC(struct item) items; /* sorted by number */
	size_t under_way, answered, over;
	/* something was sent since the welcome: notify the server when that was all */
	bool telling;
	/* Changes from other machines in the current tray, limited so that no one can fill the
	 * disk. */
	size_t far, far_bytes;
};

static bool is_tray(const char *name)
{
	return name[0] == 'g' && strlen(name) < TRAY_NAME;
}

/* ---- the offer ---- */

/* Returns the highest number that anyone here was given, or is about to be. Names with far higher
 * numbers, planted by users, don't use up the host's numbers. */
static uint64_t number_highest(const struct spool *p)
{
	uint64_t highest = p->offer.next ? p->offer.next - 1 : 0;
	const struct dirent *d;
	DIR *dir = opendir(p->dir);

	while (dir && (d = readdir(dir))) {
		tray_names names = {0};
		if (is_tray(d->d_name) && tray_list(p->dir, d->d_name, &names, NULL) == 0)
			for (size_t i = 0; i < names.n; i++)
				if (names.v[i].number > highest && names.v[i].number - highest <= TRAY_GAP &&
				    names.v[i].number < p->offer.end)
					highest = names.v[i].number;
		vec_free(&names);
	}
	if (dir)
		closedir(dir);
	return highest;
}

static int offer_renew(struct spool *p, struct offer *fresh, struct err *err)
{
	uint64_t highest = number_highest(p);
	int rc = tray_make(p->dir, fresh->shared, fresh->tray, err);

	if (fresh->next <= highest && highest < fresh->end)
		fresh->next = highest + 1 + (highest >= p->offer.next ? AHEAD : 0);
	if (rc == 0)
		rc = offer_write(p->dir, fresh, err);
	if (rc == 0)
		p->offer = *fresh, p->far = p->far_bytes = 0;
	return rc;
}

/* ---- contents of the trays ---- */

static int by_number(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->name.number != y->name.number ? (x->name.number > y->name.number) - (x->name.number < y->name.number)
						: (int)x->tray - (int)y->tray;
}

static void items_clear(struct spool *p)
{
	for (size_t i = 0; i < p->trays.n; i++)
		close(p->trays.v[i].fd);
	p->trays.n = p->items.n = p->under_way = p->answered = p->over = 0;
}

static void tray_empty(struct spool *p, const char *name)
{
	struct closed_tray t = {.fd = -1};
	char path[PATH_MAX + TRAY_NAME];
	tray_names names = {0};

	snprintf(t.name, sizeof t.name, "%s", name);
	snprintf(path, sizeof path, "%s/%s", p->dir, name);
	t.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (t.fd < 0)
		return;
	if (tray_close(t.fd) == 0 && tray_list(p->dir, name, &names, NULL) == 0)
		for (size_t i = 0; i < names.n; i++)
			if (tray_take(t.fd, &names.v[i], names.v[i].number, 0) == 0)
				vec_push(&p->items, (struct item){.tray = (uint32_t)p->trays.n, .name = names.v[i]});
	tray_sweep(t.fd);
	vec_free(&names);
	vec_push(&p->trays, t);
}

/* Makes times follow the order of the numbers. Owners can make a time later but not earlier, so
 * each is reduced to at most those that follow. */
static void times_settle(struct spool *p)
{
	int64_t least = clock_us(CLOCK_REALTIME);

	for (size_t i = p->items.n; i-- > 0;) {
		int64_t time = p->items.v[i].name.time_us;
		least = time && time < least ? time : least;
		p->items.v[i].time_us = least;
	}
}

static void trays_collect(struct spool *p)
{
	const struct dirent *d;
	DIR *dir = opendir(p->dir);

	items_clear(p);
	while (dir && (d = readdir(dir)))
		if (is_tray(d->d_name) && strcmp(d->d_name, p->offer.tray) != 0)
			tray_empty(p, d->d_name);
	if (dir)
		closedir(dir);
	if (p->items.n)
		qsort(p->items.v, p->items.n, sizeof *p->items.v, by_number);
	times_settle(p);
}

/* ---- sending ---- */

static void item_end(struct spool *p, struct item *x)
{
	int rc = tray_remove(p->trays.v[x->tray].fd, &x->name);

	if (rc < 0 && rc != -ENOENT)
		log_line(SEVERITY_ERROR, "change %" PRIu64 " in %s/%s can't be removed: %s", x->name.number, p->dir,
			 p->trays.v[x->tray].name, strerror(-rc));
	p->under_way -= x->state == ITEM_SENT;
	p->over += x->state != ITEM_OVER;
	x->state = ITEM_OVER;
}

static void item_send(struct spool *p, struct link *server, struct item *x)
{
	struct strbuf text = {0};
	struct kept kept;
	struct err err;
	int rc = tray_text(p->trays.v[x->tray].fd, &x->name, getegid(), &kept, &text, &err);

	if (rc < 0 || text.n == 0) {
		if (rc < 0 && rc != -ENODATA)
			log_line(SEVERITY_WARNING, "change %" PRIu64 " of uid %d can't be sent to the server: %s",
				 x->name.number, (int)kept.uid, err.text);
		item_end(p, x);
	} else {
		int64_t age = clock_us(CLOCK_REALTIME) - x->time_us;
		pieces_send(server, "kept", &(struct spool_frame){.number = x->name.number, .age = age}, text.text,
			    text.n);
		x->state = ITEM_SENT;
		p->under_way++;
		p->telling = true;
	}
	strbuf_fini(&text);
}

/* Removes the trays when all is done, and notifies the server that nothing more comes from earlier
 * leases. */
static void spool_empty(struct spool *p, struct link *server)
{
	char path[PATH_MAX + TRAY_NAME];

	for (size_t i = 0; i < p->trays.n; i++) {
		snprintf(path, sizeof path, "%s/%s", p->dir, p->trays.v[i].name);
		if (rmdir(path) < 0 && errno != ENOENT)
			log_line(SEVERITY_WARNING, "%s can't be removed: %s", path, strerror(errno));
	}
	if (p->answered)
		log_line(SEVERITY_NOTICE, "sent %zu change%s that users made while the server was down", p->answered,
			 p->answered == 1 ? "" : "s");
	if (p->telling)
		link_record(server, "emptied", &spool_frames, &(struct spool_frame){.lease = p->offer.lease});
	p->telling = false;
	items_clear(p);
}

static void spool_more(struct spool *p, struct link *server)
{

	for (size_t i = 0; i < p->items.n && p->under_way < WINDOW; i++)
		if (p->items.v[i].state == ITEM_WAITS)
			item_send(p, server, &p->items.v[i]);
	if (p->trays.n && p->over == p->items.n)
		spool_empty(p, server);
}

void spool_done(struct agent *a, struct link *server, const json_t *head)
{
	struct spool *p = a->spool;
	struct spool_frame done;

	spool_frame_read(head, &done);
	for (size_t i = 0; i < p->items.n; i++) {
		struct item *x = &p->items.v[i];
		if (x->name.number != done.number || x->state != ITEM_SENT)
			continue;
		if (done.again) {
			x->state = ITEM_WAITS; /* see host_spool_turn() */
			p->under_way--;
			return;
		}
		if (done.why)
			log_line(SEVERITY_NOTICE, "the server refused change %" PRIu64 ": %s", done.number, done.why);
		p->answered++;
		item_end(p, x);
		break;
	}
	spool_more(p, server);
}

/* ---- answers from the server ---- */

void host_spool_lease(struct agent *a, struct link *server, const json_t *lease)
{
	struct spool *p = a->spool;
	struct offer fresh;
	struct err err = {.text = ""};
	int rc;

	if (!lease) /* a server of an older version: the changes wait for a newer one */
		return;
	if (offer_load(lease, &fresh, NULL) == 0 && *fresh.lease && fresh.end > fresh.next) {
		rc = offer_renew(p, &fresh, &err);
	} else {
		rc = offer_remove(p->dir, &err);
		p->offer = (struct offer){0};
	}
	if (rc < 0) {
		log_line(SEVERITY_ERROR, "commands on this host need a running server until this is fixed: %s",
			 err.text);
		offer_remove(p->dir, NULL);
		return;
	}
	trays_collect(p);
	spool_more(p, server);
}

/* Closes the tray, as after a welcome, if someone here could not reach the server although this
 * agent can. */
void host_spool_turn(struct agent *a, struct link *server)
{
	struct spool *p = a->spool;
	tray_names names = {0};
	struct offer fresh = p->offer;
	struct err err;

	if (p->items.n == 0 && *p->offer.tray && tray_list(p->dir, p->offer.tray, &names, NULL) == 0 && names.n) {
		if (offer_renew(p, &fresh, &err) == 0)
			trays_collect(p);
		else
			log_line(SEVERITY_ERROR, "changes made while the server was down can't be collected: %s",
				 err.text);
	}
	vec_free(&names);
	spool_more(p, server);
}

const struct offer *spool_offer(const struct agent *a)
{
	return a->spool && *a->spool->offer.tray && *a->spool->offer.lease ? &a->spool->offer : NULL;
}

int spool_keep(struct agent *a, const struct kept *x, uint64_t *ret_number, struct err *err)
{
	struct spool *p = a->spool;
	struct change c = {.path = x->path, .body = x->sealed, .nonce = x->nonce, .token = x->token, .seal = x->seal};
	size_t n = x->sealed ? strlen(x->sealed) : 0;
	int rc;

	if (!spool_offer(a) || !x->sealed || strcmp(x->lease, p->offer.lease) != 0)
		return err_set(err, -ESTALE, "it is not sealed for the present lease of this host");
	if (p->far >= FAR_MOST || p->far_bytes + n > FAR_BYTES)
		return err_set(err, -ENOSPC,
			       "%s keeps %zu requests of other machines for the server already, and takes no more",
			       a->member.name, p->far);
	rc = tray_put(p->dir, &p->offer, &c, ret_number, err);
	if (rc == 0) {
		p->far++;
		p->far_bytes += n;
	}
	return rc;
}

int spool_start(struct agent *a, struct err *err)
{
	struct spool *p = mem_zalloc(sizeof *p);

	a->spool = p;
	snprintf(p->dir, sizeof p->dir, "%.*s/offline", PATH_MAX - 16, a->home.state);
	/* none, or damaged: the next welcome brings another */
	if (offer_read(p->dir, &p->offer, err) < 0)
		p->offer = (struct offer){0};
	return 0;
}

void spool_stop(struct agent *a)
{
	if (!a->spool)
		return;
	items_clear(a->spool);
	vec_free(&a->spool->items);
	vec_free(&a->spool->trays);
	free(a->spool);
	a->spool = NULL;
}
