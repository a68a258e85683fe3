/*
 * offline_machine.c - the machine while no server runs, and expected starts, delayed by how long
 * the server has been away.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client/offline.h"

FILE *offline_view(const char *dir, const struct offer *l)
{
	char path[PATH_MAX];
	FILE *f = NULL;

	for (int i = 0; i < 2 && !f; i++) {
		if (*l->lease)
			snprintf(path, sizeof path, "%s/views/%s", dir, i == 0 ? "all" : l->view);
		else if (i == 0)
			snprintf(path, sizeof path, "%s/view", dir);
		else
			snprintf(path, sizeof path, "%s/view.%u", dir, (unsigned)getuid());
		f = fopen(path, "re");
	}
	return f;
}

static json_t *head_read(FILE *f)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n = f ? getline(&line, &room, f) : 0;
	json_t *head = n > 0 ? json_loadb(line, (size_t)n, 0, NULL) : NULL;

	if (f)
		fclose(f);
	free(line);
	if (!json_is_object(head)) {
		json_decref(head);
		head = json_object();
	}
	return head;
}

/* Returns the first line of the server's last view as a new object: the time and the machine's
 * state. Empty if there is no view. */
static json_t *offline_head(const char *dir, const struct offer *l)
{
	return head_read(offline_view(dir, l));
}

/* A view that everybody may read has no quota; the user then has a separate file for it. */
json_t *offline_quotas(const char *dir, const struct offer *l)
{
	json_t *head = offline_head(dir, l), *quotas = json_incref(json_object_get(head, "quotas"));
	char path[PATH_MAX];

	json_decref(head);
	if (quotas)
		return quotas;
	if (*l->lease)
		snprintf(path, sizeof path, "%s/views/%s", dir, l->view);
	else
		snprintf(path, sizeof path, "%s/view.%u", dir, (unsigned)getuid());
	head = head_read(fopen(path, "re"));
	quotas = json_incref(json_object_get(head, "quotas"));
	json_decref(head);
	return quotas;
}

json_t *offline_machine(const char *dir, const struct offer *l)
{
	json_t *head = offline_head(dir, l), *machine = json_object_get(head, "machine");

	machine = json_is_object(machine) ? json_copy(machine) : json_object();
	json_object_set_new(machine, "name", json_string(l->server));
	json_object_set_new(machine, "up", json_false());
	json_object_set_new(machine, "now", json_integer((json_int_t)time(NULL)));
	if (json_is_integer(json_object_get(head, "as_of")))
		json_object_set(machine, "as_of", json_object_get(head, "as_of"));
	json_decref(head);
	return machine;
}

int64_t offline_since(const char *dir, const struct offer *l, int64_t written)
{
	json_t *head = offline_head(dir, l), *outage = json_object_get(json_object_get(head, "machine"), "shutdown");
	int64_t begin = json_integer_value(json_object_get(outage, "begin")),
		end = json_integer_value(json_object_get(outage, "until")); /* 0: not known */

	json_decref(head);
	return written && begin <= written && end > written ? end : written;
}

static void put_off(json_t *row, const char *key, int64_t by)
{
	json_t *at = json_object_get(row, key);

	if (json_is_integer(at))
		json_object_set_new(row, key, json_integer(json_integer_value(at) + by));
}

void offline_put_off(json_t *jobs, int64_t since, int64_t now)
{
	json_t *row;
	const char *key;

	if (since <= 0 || now <= since)
		return;
	json_object_foreach(jobs, key, row) if (json_is_integer(json_object_get(row, "expected_start")))
	{
		put_off(row, "expected_start", now - since);
		put_off(row, "expected_end", now - since);
	}
}
