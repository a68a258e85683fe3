/*
 * coordinators.c - see coordinators.h.
 */
#include "server/site/coordinators.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/names.h"
#include "rules/object.h"
#include "rules/role.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/server.h"

struct party {
	char *user, *host;
	bool known;
	uint64_t as_of; /* value of turn.settings */
	struct coordinated of;
};

struct coordinators {
	struct names names; /* "user@host"; the first is nobody */
	VEC(struct party) parties;
	bool known, any; /* any: some queue or account has coordinators; most sites have none */
	uint64_t as_of;
};

struct coordinators *coordinators_create(void)
{
	struct coordinators *c = mem_zalloc(sizeof *c);

	names_add(&c->names, "");
	vec_push(&c->parties, (struct party){0});
	return c;
}

uint32_t coordinators_party(struct server *s, const char *user, const char *host)
{
	struct coordinators *c = s->coordinators;
	char name[512];
	uint32_t id;

	snprintf(name, sizeof name, "%s@%s", user, host);
	id = names_add(&c->names, name);
	if (id == c->parties.n)
		vec_push(&c->parties, (struct party){.user = mem_strdup(user), .host = mem_strdup(host)});
	return id;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool any_named(const struct server *s)
{
	struct coordinators *c = s->coordinators;
	const struct objects *o = s->objects;

	if (c->known && c->as_of == s->turn->settings)
		return c->any;
	c->any = false;
	for (size_t i = 0; i < s->jobs->queues.n && !c->any; i++)
		c->any = attrs_is_set(&s->jobs->queues.v[i]->attrs, SET_COORDINATORS);
	for (size_t i = 0; i < o->of[OBJECT_ACCOUNT].n && !c->any; i++)
		c->any = attrs_is_set(&o->of[OBJECT_ACCOUNT].v[i]->attrs, SET_COORDINATORS);
	c->as_of = s->turn->settings;
	c->known = true;
	return c->any;
}

static void look(struct server *s, struct party *p)
{
	const struct objects *o = s->objects;

	p->of.queues.n = p->of.accounts.n = 0;
	p->as_of = s->turn->settings;
	p->known = true;
	if (!any_named(s))
		return;
	for (size_t i = 0; i < s->jobs->queues.n; i++)
		if (role_coordinates_queue(&s->jobs->queues.v[i]->attrs, p->user, p->host))
			vec_push(&p->of.queues, word_add(s, s->jobs->queues.v[i]->name));
	for (size_t i = 0; i < o->of[OBJECT_ACCOUNT].n; i++)
		if (role_coordinates_account(o, o->of[OBJECT_ACCOUNT].v[i], p->user, p->host))
			vec_push(&p->of.accounts, word_add(s, o->of[OBJECT_ACCOUNT].v[i]->name));
	if (p->of.queues.n)
		qsort(p->of.queues.v, p->of.queues.n, sizeof *p->of.queues.v, by_number);
	if (p->of.accounts.n)
		qsort(p->of.accounts.v, p->of.accounts.n, sizeof *p->of.accounts.v, by_number);
}

const struct coordinated *coordinators_find(const struct server *s, uint32_t party)
{
	struct party *p = &s->coordinators->parties.v[party];

	if (party && (!p->known || p->as_of != s->turn->settings))
		look((struct server *)s, p); /* the cache is not part of the server's state */
	return &p->of;
}

static bool has(const uint32_t *v, size_t n, uint32_t word)
{
	return word && n && bsearch(&word, v, n, sizeof *v, by_number);
}

bool coordinates_queue(const struct server *s, uint32_t party, uint32_t queue)
{
	const struct coordinated *c = coordinators_find(s, party);

	return has(c->queues.v, c->queues.n, queue);
}

bool coordinates_account(const struct server *s, uint32_t party, uint32_t account)
{
	const struct coordinated *c = coordinators_find(s, party);

	return has(c->accounts.v, c->accounts.n, account);
}
