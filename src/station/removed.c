/*
 * removed.c - see removed.h.
 */
#include "station/removed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "station/peer.h"

#define WORD "removed "

/* Parses a number up to the end of its line, and skips the newline. */
static bool number_take(const char **at, uint64_t *ret)
{
	size_t n = strspn(*at, "0123456789");

	if (n == 0 || n > 18 || (*at)[n] != '\n')
		return false;
	*ret = strtoull(*at, NULL, 10);
	*at += n + 1;
	return true;
}

static bool line_take(const char **at, struct revoked *ret)
{
	size_t n = strcspn(*at, " \n");
	char name[PEER_NAME_SIZE];
	uint64_t join;

	if (n == 0 || n >= sizeof name || (*at)[n] != ' ')
		return false;
	memcpy(name, *at, n);
	name[n] = '\0';
	*at += n + 1;
	if (!number_take(at, &join) || join == 0)
		return false;
	revoked_add(ret, name, join);
	return true;
}

int removed_parse(const char *text, uint64_t *ret_number, struct revoked *ret, struct err *err)
{
	const char *at = text;
	struct revoked all = {0};
	uint64_t number = 0;
	bool good = strncmp(at, WORD, strlen(WORD)) == 0;

	at += good ? strlen(WORD) : 0;
	good = good && number_take(&at, &number) && number > 0;
	for (int i = 0; good && *at; i++)
		good = i < REMOVED_MOST && line_take(&at, &all);
	if (!good) {
		revoked_fini(&all);
		return err_set(err, -EINVAL, "this is not a list of stations that were removed");
	}
	*ret_number = number;
	*ret = all;
	return 0;
}

int removed_take(struct removed *r, const char *ca, const char *text, const char *signature, struct err *err)
{
	struct revoked all = {0};
	uint64_t number = 0;
	int rc = removed_parse(text, &number, &all, err);

	if (rc == 0 && number > r->number)
		rc = pki_verify(ca, text, strlen(text), signature, strlen(signature), err) < 0 ? -EKEYREJECTED : 1;
	if (rc > 0) { /* replaced in place: TLS holds a pointer to it */
		for (uint32_t i = 0; i < all.joins.n; i++)
			revoked_add(&r->stations, names_get(&all.names, i), all.joins.v[i]);
		r->number = number;
		strbuf_clear(&r->text);
		strbuf_clear(&r->signature);
		strbuf_puts(&r->text, text);
		strbuf_puts(&r->signature, signature);
	}
	revoked_fini(&all);
	return rc;
}

int removed_next(const struct removed *r, const char *ca_key, const char *name, uint64_t join, struct strbuf *ret_text,
		 struct strbuf *ret_signature, struct err *err)
{
	if (r->stations.joins.n >= REMOVED_MOST)
		return err_set(err, -E2BIG, "%d stations were removed from this pool: create a new one", REMOVED_MOST);
	strbuf_clear(ret_text);
	strbuf_clear(ret_signature);
	strbuf_printf(ret_text, WORD "%llu\n", (unsigned long long)r->number + 1);
	for (uint32_t i = 0; i < r->stations.joins.n; i++)
		strbuf_printf(ret_text, "%s %llu\n", names_get(&r->stations.names, i),
			      (unsigned long long)r->stations.joins.v[i]);
	strbuf_printf(ret_text, "%s %llu\n", name, (unsigned long long)join);
	return pki_sign(ca_key, strbuf_text(ret_text), ret_text->n, ret_signature, err);
}

bool removed_has(const struct removed *r, const char *name, uint64_t join)
{
	struct cert_names who = {.role = CERT_NODE, .join = join};

	snprintf(who.name, sizeof who.name, "%s", name);
	return revoked_has(&r->stations, &who);
}

void removed_fini(struct removed *r)
{
	revoked_fini(&r->stations);
	strbuf_fini(&r->text);
	strbuf_fini(&r->signature);
	*r = (struct removed){0};
}
