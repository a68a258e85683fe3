/*
 * convert_standing.c - Maui's standing reservations: lines "SRCFG[name] KEY=VALUE ...", several per
 * reservation. Its hours need the period, the days and both times, so they are set once all lines
 * are read.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "convert/convert_internal.h"

#define DAY_MINUTES 1440
#define EVERY_DAY 127

static const char *const day_names[7] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

static struct standing *standing_of(struct conversion *c, const char *name)
{
	for (size_t i = 0; i < c->standing.n; i++)
		if (strcmp(c->standing.v[i].name, name) == 0)
			return &c->standing.v[i];
	vec_push(&c->standing, ((struct standing){.name = mem_strdup(name), .to = DAY_MINUTES, .days = EVERY_DAY}));
	return &c->standing.v[c->standing.n - 1];
}

/* Reads "08:00:00"; "1:08:00:00" of a week has no equivalent. Two numbers are taken as hours and
 * minutes, with a remark: Maui reads them as minutes and seconds. */
static void time_read(struct conversion *c, const char *key, const char *value, int *ret)
{
	int64_t field[4];
	const char *at = value;
	int n = 0;

	while (n < 4 && digits_scan(&at, 10000, &field[n]) && ++n && *at == ':')
		at++;
	if (*at || n < 2 || n > 3 || field[0] > 24 || field[1] > 59 || (field[0] == 24 && field[1])) {
		convert_remark(c, "%.40s=%.60s is not a time of the day such as 08:00:00", key, value);
		return;
	}
	if (n == 2)
		convert_remark(c, "%.40s=%.60s is read as hours and minutes", key, value);
	else if (field[2])
		convert_remark(c, "%.40s=%.60s: seconds are left out", key, value);
	*ret = (int)(field[0] * 60 + field[1]);
}

static void days_read(struct conversion *c, char *value, unsigned *ret)
{
	unsigned days = 0;

	if (strcasecmp(value, "ALL") == 0) {
		*ret = EVERY_DAY;
		return;
	}
	for (char *one, *rest = value; (one = strsep(&rest, ",+:"));) {
		int d = 0;
		while (d < 7 && strncasecmp(one, day_names[d], 3) != 0)
			d++;
		if (d < 7)
			days |= 1u << d;
		else
			convert_remark(c, "DAYS=%.40s: use Mon to Sun, or ALL", one);
	}
	if (days)
		*ret = days;
}

/* Reads a list "ann+,bob"; marks behind a name say how much it counts. */
static void list_read(struct conversion *c, struct attrs *a, const char *acl, const char *key, char *value)
{
	for (char *one, *rest = value; (one = strsep(&rest, ",:"));) {
		size_t n = strcspn(one, "+-=&~*");
		if (*one == '!') {
			convert_remark(c, "%.40s=%.60s: exclusions have no equivalent", key, one);
			continue;
		}
		if (one[n])
			convert_remark(c, "%.40s=%.60s: the mark behind the name has no equivalent", key, one);
		one[n] = '\0';
		if (*one)
			convert_add(c, a, acl, one);
	}
}

static void hosts_read(struct conversion *c, struct attrs *a, char *value)
{
	if (strncasecmp(value, "r:", 2) == 0) {
		convert_remark(c, "HOSTLIST=%.80s: regular expressions are not supported; list the nodes", value);
		return;
	}
	for (char *p = value; *p; p++)
		if (*p == ' ' || *p == ':')
			*p = ',';
	convert_set(c, a, "nodes", strcasecmp(value, "ALL") == 0 ? "all" : value);
}

static void pair_read(struct conversion *c, struct standing *x, struct attrs *a, const char *key, char *value)
{
	static const struct {
		const char *key, *acl;
	} lists[] = {{"USERLIST", "acl_users"},
		     {"GROUPLIST", "acl_groups"},
		     {"ACCOUNTLIST", "acl_accounts"},
		     {"CLASSLIST", "acl_queues"},
		     {"QOSLIST", "acl_qos"}};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (strcasecmp(key, lists[i].key) == 0) {
			list_read(c, a, lists[i].acl, key, value);
			return;
		}
	if (strcasecmp(key, "STARTTIME") == 0)
		time_read(c, key, value, &x->from);
	else if (strcasecmp(key, "ENDTIME") == 0)
		time_read(c, key, value, &x->to);
	else if (strcasecmp(key, "DAYS") == 0)
		days_read(c, value, &x->days);
	else if (strcasecmp(key, "PERIOD") == 0 && strcasecmp(value, "WEEK") != 0)
		x->always = strcasecmp(value, "INFINITY") == 0;
	else if (strcasecmp(key, "HOSTLIST") == 0)
		hosts_read(c, a, value);
	else if (strcasecmp(key, "TASKCOUNT") == 0) {
		if (convert_set(c, a, "node_count", value))
			convert_remark(c, "TASKCOUNT=%.40s becomes as many nodes: reservations take whole nodes",
				       value);
	} else if (strcasecmp(key, "NODEFEATURES") == 0)
		convert_set(c, a, "features", value);
	else if (strcasecmp(key, "RESOURCES") == 0)
		convert_remark(c, "RESOURCES=%.60s: reservations take whole nodes", value);
	else
		convert_remark(c, "%.60s=%.80s of reservation %.60s has no equivalent", key, value, x->name);
}

void convert_standing(struct conversion *c, const char *name, char *text)
{
	struct attrs *a = convert_object(c, OBJECT_RESERVATION, name);
	struct standing *x;

	if (!a)
		return;
	x = standing_of(c, name);
	free(x->file);
	x->file = mem_strdup(c->file);
	x->line = c->line;
	for (char *word; (word = convert_word(&text));) {
		char *equals = strchr(word, '=');
		if (!equals) {
			convert_remark(c, "%.80s is not KEY=VALUE", word);
			continue;
		}
		*equals = '\0';
		pair_read(c, x, a, word, equals + 1);
	}
}

void convert_standing_end(struct conversion *c)
{
	for (size_t i = 0; i < c->standing.n; i++) {
		struct standing *x = &c->standing.v[i];
		struct strbuf hours = {0};

		if (x->always) {
			x->from = 0;
			x->to = DAY_MINUTES;
			x->days = EVERY_DAY;
		}
		for (int d = 0; d < 7; d++)
			if (x->days & 1u << d)
				strbuf_printf(&hours, "%s%s %02d:%02d-%02d:%02d", hours.n ? ", " : "", day_names[d],
					      x->from / 60, x->from % 60, x->to / 60, x->to % 60);
		c->file = x->file;
		c->line = x->line;
		convert_set(c, convert_object(c, OBJECT_RESERVATION, x->name), "hours", hours.text);
		strbuf_fini(&hours);
	}
}

void convert_standing_fini(struct conversion *c)
{
	for (size_t i = 0; i < c->standing.n; i++) {
		free(c->standing.v[i].name);
		free(c->standing.v[i].file);
	}
	vec_free(&c->standing);
}
