/*
 * revoked.c - see revoked.h.
 */
#include "tls/revoked.h"

bool revoked_add(struct revoked *r, const char *name, uint64_t join)
{
	uint32_t id = names_add(&r->names, name);

	while (r->joins.n <= id)
		vec_push(&r->joins, 0);
	if (r->joins.v[id] >= join)
		return false;
	r->joins.v[id] = join;
	return true;
}

bool revoked_has(const struct revoked *r, const struct cert_names *who)
{
	uint32_t id;

	return r && who->role == CERT_NODE && names_find(&r->names, who->name, &id) && who->join <= r->joins.v[id];
}

void revoked_fini(struct revoked *r)
{
	names_fini(&r->names);
	vec_free(&r->joins);
	*r = (struct revoked){0};
}
