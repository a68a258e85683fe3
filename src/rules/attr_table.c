/*
 * attr_table.c - the attributes of the server, of queues and of named objects.
 */
#include <string.h>
#include <strings.h>

#include "core/array.h"
#include "rules/attr.h"
#include "rules/attr_internal.h"

#define SERVER ATTR_SERVER
#define QUEUE ATTR_QUEUE
#define PARTITION ATTR_PARTITION
#define CLASS ATTR_CLASS
#define ACCOUNT ATTR_ACCOUNT
#define QOS ATTR_QOS
#define RESERVATION ATTR_RESERVATION
/* Parties that a job belongs to. */
#define OF_PARTIES (ATTR_USER | ATTR_GROUP | ATTR_ACCOUNT | ATTR_QOS)
#define BOTH (ATTR_SERVER | ATTR_QUEUE)
#define JOBS_MAX INT64_C(1000000000)
#define YEAR INT64_C(31536000)

/* rules/priority.h */
#define FACTORS "queue_time expansion cpus memory walltime deadline queue fairshare user group account qos hook"
#define WEIGHTS .type = ATTR_WEIGHTS, .words = FACTORS, .min = -JOBS_MAX, .max = JOBS_MAX
#define BOOL(initial_) .type = ATTR_BOOL, .initial = (initial_)
#define COUNT .type = ATTR_NUMBER, .min = 0, .max = JOBS_MAX
#define SECONDS(initial_) .type = ATTR_DURATION, .initial = (initial_), .min = 0, .max = YEAR

const struct attr attr_table[ATTR_ROWS] = {
#define ROW(KEY, name_, owners, ...) [SET_##KEY] = {.name = (name_), .owner = (owners), __VA_ARGS__},
#include "rules/attr_rows.h"
#undef ROW
};

const char *attr_type_name(enum attr_type type)
{
	static const char *const name[] = {
		[ATTR_BOOL] = "bool",	    [ATTR_NUMBER] = "number",	[ATTR_DURATION] = "duration",
		[ATTR_MEMORY] = "memory",   [ATTR_TEXT] = "text",	[ATTR_WORD] = "word",
		[ATTR_POLICY] = "policy",   [ATTR_LIST] = "list",	[ATTR_HOSTS] = "hosts",
		[ATTR_AMOUNTS] = "amounts", [ATTR_WEIGHTS] = "weights", [ATTR_NODES] = "nodes",
		[ATTR_HOURS] = "hours",	    [ATTR_TIME] = "time",
	};

	return name[type];
}

const char *attr_owner_name(enum attr_owner owner)
{
#define OWNER_NAME(NAME, bit, name) [bit] = name,
	static const char *const name[] = {ATTR_OWNER_TABLE(OWNER_NAME)};
#undef OWNER_NAME
	_Static_assert(ATTR_OWNERS == 1 << (sizeof name / sizeof *name), "beyond the last");
	int i = 0;

	while ((int)owner >> (i + 1))
		i++;
	return name[i];
}

static bool word_in(const char *words, const char *word, size_t n)
{
	for (const char *p = words; p && *p; p += strspn(p, " ")) {
		size_t m = strcspn(p, " ");
		if (m == n && strncasecmp(p, word, n) == 0)
			return true;
		p += m;
	}
	return false;
}

bool attr_is_dotted(const struct attr *attr)
{
	return attr->type == ATTR_AMOUNTS || attr->type == ATTR_WEIGHTS;
}

const struct attr *attr_find(enum attr_owner owner, const char *name)
{
	size_t n = strcspn(name, ".");

	for (const struct attr *a = attr_table; a < attr_table + ATTR_ROWS; a++)
		if (a->owner & owner && (name[n] == '\0' || attr_is_dotted(a)) &&
		    ((strncasecmp(a->name, name, n) == 0 && a->name[n] == '\0') || word_in(a->alias, name, n)))
			return a;
	return NULL;
}

bool attr_is(const struct attr *attr, enum attr_key key)
{
	return strcmp(attr->name, attr_table[key].name) == 0;
}
