/*
 * grounds_away.c - see grounds.h: each reason is taken away as checkjob says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "property/grounds.h"
#include "run/order.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"

bool is_code(const json_t *r, const char *code)
{
	return strcmp(json_string_value(json_object_get(r, "code")), code) == 0;
}

char state_of(struct scene *x)
{
	char path[60];
	const char *p;

	snprintf(path, sizeof path, "/v1/jobs/%s", x->subject);
	ask(x, "GET", path, "%s", "");
	p = strstr(strbuf_text(&x->f->a.body), "\"state\":\"");
	return p ? p[9] : '?';
}

json_t *reasons_of(struct scene *x)
{
	char path[60];
	json_t *why;

	snprintf(path, sizeof path, "/v1/jobs/%s/why", x->subject);
	if (ask(x, "GET", path, "%s", "") != 200)
		return NULL;
	why = json_loads(strbuf_text(&x->f->a.body), 0, NULL);
	if (x->loud)
		printf("# %s\n", strbuf_text(&x->f->a.body));
	json_t *all = json_object_get(why, "reasons"), *list = json_array(), *r;
	size_t i;

	json_array_foreach(all, i, r) if (!json_is_true(json_object_get(r, "implied"))) json_array_append(list, r);
	json_decref(why);
	return list;
}

static void end_job(struct scene *x, const char *id)
{
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);
	char tag[64];

	for (size_t i = 0; i < n; i++)
		if (is_tag_of(all[i].tag, id)) {
			snprintf(tag, sizeof tag, "%s", all[i].tag);
			bare_forget(tag);
			struct result r = {.tag = tag,
					   .how = RESULT_EXITED,
					   .started_us = NOW * 1000000,
					   .ended_us = NOW * 1000000};
			dispatch_engine.attempt_ended(x->f->s, &r);
			server_turn(x->f->s);
			return;
		}
	ask(x, "POST", "/v1/jobs/delete", "{\"ids\":[\"%s\"]}", id);
}

/* Holds the other waiting jobs. Those with promised places only if no reason is left: they may be
 * that reason, or count towards its limit. */
static void others_hold(struct scene *x, const json_t *left)
{
	json_t *list, *job;
	size_t i;

	ask(x, "GET", "/v1/jobs?completed=0&arrays=expand", "%s", "");
	list = json_loads(strbuf_text(&x->f->a.body), 0, NULL);
	json_array_foreach(json_object_get(list, "jobs"), i, job)
	{
		const char *id = json_string_value(json_object_get(job, "id"));
		size_t n = strlen(x->subject);
		if (strncmp(id, x->subject, n) == 0 && id[n] == '.')
			continue;
		if (strcmp(json_string_value(json_object_get(job, "state")), "Q") == 0 &&
		    !(left && strcmp(json_string_value(json_object_get(job, "substate")), "allocated") == 0))
			hold(x, id, "o");
	}
	json_decref(list);
}

static void limit_lift(struct scene *x, const json_t *r)
{
	const json_t *limit = json_object_get(r, "limit");
	const char *of = json_string_value(json_object_get(limit, "of")),
		   *name = json_string_value(json_object_get(limit, "name")),
		   *measure = json_string_value(json_object_get(limit, "measure"));
	const char *attr = strcmp(measure, "cpus") == 0		 ? "max_cpus"
			   : strcmp(measure, "memory") == 0	 ? "max_memory"
			   : strcmp(measure, "cpu_seconds") == 0 ? "max_cpu_seconds"
								 : "max_running";
	char path[60];

	if (strstr(measure, "_credits")) {
		ask(x, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"%s\",\"amount\":10000000}", name);
		return;
	}
	if (strcmp(of, "array") == 0) {
		ask(x, "POST", "/v1/jobs/alter", "{\"ids\":[\"%d[]\"],\"max_run_subjobs\":0}", atoi(x->subject));
	} else if (strcmp(of, "server") == 0 || strcmp(of, "users") == 0) {
		set(x, "/v1/server", *of == 'u' ? "max_user_run" : attr, "");
	} else {
		snprintf(path, sizeof path, "/v1/%s%s/%s", strcmp(of, "queue_users") == 0 ? "queue" : of,
			 strcmp(of, "qos") == 0 ? "" : "s", name);
		set(x, path, strcmp(of, "queue_users") == 0 ? "max_user_run" : attr, "");
	}
}

/* What it depends on from now on: the one relation that is left, or nothing. */
static void depend_leave(struct scene *x, const json_t *left)
{
	const char *text = left ? json_string_value(json_object_get(left, "text")) : "";

	ask(x, "POST", "/v1/jobs/alter", "{\"ids\":[\"%s\"],\"depend\":\"%.*s\"}", x->subject,
	    left ? (int)(strstr(text, ": ") - text) : 0, text);
}

static void queue_start(struct scene *x, const char *text)
{
	char name[40] = "", path[60];

	assert_int_equal(sscanf(text, "its queue %39s is stopped", name), 1);
	snprintf(path, sizeof path, "/v1/queues/%s", name);
	set(x, path, "started", "True");
}

static void take_away(struct scene *x, const json_t *r, const json_t *left)
{
	const char *code = json_string_value(json_object_get(r, "code"));
	const json_t *one;
	size_t i;

	if (strncmp(code, "hold_", 5) == 0) {
		ask(x, "POST", "/v1/jobs/release", "{\"ids\":[\"%s\"],\"holds\":\"%c\"}", x->subject, code[5]);
	} else if (strcmp(code, "time") == 0) {
		ask(x, "POST", "/v1/jobs/alter", "{\"ids\":[\"%s\"],\"at\":0}", x->subject);
	} else if (strcmp(code, "queue") == 0) {
		queue_start(x, json_string_value(json_object_get(r, "text")));
	} else if (strcmp(code, "limit") == 0) {
		limit_lift(x, r);
	} else if (strcmp(code, "nodes") == 0) {
		json_array_foreach(json_object_get(r, "nodes"), i, one)
		{
			char path[60];
			snprintf(path, sizeof path, "/v1/nodes/%s", json_string_value(one));
			ask(x, "PATCH", path, "{\"offline\":false}");
		}
	} else if (strcmp(code, "booked") == 0) {
		json_array_foreach(json_object_get(r, "nodes"), i, one)
		{
			char path[60];
			snprintf(path, sizeof path, "/v1/nodes/%s", json_string_value(one));
			ask(x, "PATCH", path, "{\"drain_at\":null}");
		}
	} else if (strcmp(code, "reservation") == 0) {
		set(x, "/v1/qos/q", "reservation", "");
		ask(x, "DELETE", "/v1/reservations/exam", "%s", "");
	} else if (strcmp(code, "route") == 0 || strcmp(code, "site") == 0) {
		ask(x, "POST", "/v1/jobs/move", "{\"ids\":[\"%s\"],\"queue\":\"quiet\"}", x->subject);
	} else if (strcmp(code, "misfit") == 0) {
		set(x, "/v1/server", "resources_available.matlab", x->licensed ? LICENCES_TEXT : "");
		set(x, "/v1/queues/side", "nodes", "");
	} else if (strcmp(code, "hours") == 0) {
		set(x, "/v1/server", "long_checkpoint_rule", "");
	} else if (strcmp(code, "retry") == 0 || strcmp(code, "avoided") == 0) {
		ask(x, "POST", "/v1/jobs/release", "{\"ids\":[\"%s\"],\"holds\":\"s\"}", x->subject);
	} else if (strcmp(code, "order") == 0) {
		others_hold(x, left);
	} else if (strcmp(code, "amount") == 0 && json_array_size(json_object_get(r, "jobs")) == 0) {
		int needed = LICENCES;
		sscanf(json_string_value(json_object_get(r, "text")), "it needs %d", &needed);
		elsewhere(x, LICENCES - needed);
	} else if (strcmp(code, "depend") != 0 && strcmp(code, "scheduling") != 0) {
		json_array_foreach(json_object_get(r, "jobs"), i, one) end_job(x, json_string_value(one));
	}
}

/* Takes away all but `left`, which may be NULL. Dependencies go first, like holds: the length of a
 * job is predicted when it is released, and what ends here has run for no time at all. */
static void others_take_away(struct scene *x, const json_t *reasons, const json_t *left)
{
	bool depends = false;
	const json_t *r;
	size_t i;

	set(x, "/v1/server", "scheduling", "False");
	json_array_foreach(reasons, i, r) depends |= is_code(r, "depend");
	if (depends)
		depend_leave(x, left && is_code(left, "depend") ? left : NULL);
	json_array_foreach(reasons, i, r) if (r != left) take_away(x, r, left);
	if (!left || !is_code(left, "scheduling"))
		set(x, "/v1/server", "scheduling", "True");
	settle(x);
	settle(x);
}

bool starts_without(struct scene *x, const json_t *reasons, const json_t *left)
{
	json_t *more;
	size_t i;
	const json_t *r;
	bool misfits = false;

	others_take_away(x, reasons, left);
	/* What a job waits for that no node could hold is known when one could. */
	json_array_foreach(reasons, i, r) misfits |= is_code(r, "misfit");
	if (misfits && !left && strchr("QHW", state_of(x))) {
		more = reasons_of(x);
		json_array_foreach(more, i, r) assert_false(is_code(r, "misfit"));
		others_take_away(x, more, NULL);
		json_decref(more);
	}
	if (x->loud && !left && strchr("QHW", state_of(x)))
		json_decref(reasons_of(x)); /* which are left, for who looks at this one */
	return strchr("REC", state_of(x)) != NULL;
}
