/*
 * test_node.c - a node's life: which events are legal when, and what they lead to.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "core/node.h"

static struct node_life life;

static void happens(enum node_event_type type, int64_t time)
{
	struct err err;

	if (node_apply(&life, &(struct node_event){.type = type, .time = time, .at = time + 100}, &err) < 0)
		fail_msg("%s", err.text);
}

static void is(enum node_service service, enum node_link link)
{
	assert_string_equal(node_service_name(life.service), node_service_name(service));
	assert_string_equal(node_link_name(life.link), node_link_name(link));
}

static void refused(enum node_event_type type, const char *why)
{
	struct node_life before = life;
	struct err err = {.text = ""};

	assert_int_equal(node_apply(&life, &(struct node_event){.type = type, .time = 9}, &err), -EINVAL);
	assert_string_equal(err.text, why);
	assert_memory_equal(&before, &life, sizeof life);
}

static void a_machine(void **state)
{
	(void)state;
	life = (struct node_life){0};
	refused(NODE_CONNECT, "event connected is not legal for a node that is none, with an agent that is none");
	happens(NODE_JOIN, 1);
	is(SERVICE_IN, LINK_JOINED);
	assert_true(node_joined(&life) && node_unheard(&life) && !node_withdrawn(&life));
	happens(NODE_CONNECT, 2);
	is(SERVICE_IN, LINK_CONNECTED);
	refused(NODE_CONNECT, "event connected is not legal for a node that is in, with an agent that is connected");
	happens(NODE_OFFLINE, 3);
	happens(NODE_SILENCE, 4); /* one side at a time */
	is(SERVICE_OFFLINE, LINK_SILENT);
	happens(NODE_LOSE, 5);
	happens(NODE_CONNECT, 6);
	is(SERVICE_OFFLINE, LINK_CONNECTED);
	assert_int_equal(life.since, 6);
	refused(NODE_DRAIN, "event drain is not legal for a node that is offline, with an agent that is connected");
	happens(NODE_ONLINE, 7);
	happens(NODE_FAIL, 8);
	assert_int_equal(life.since, 7);
	happens(NODE_LEAVE, 9);
	refused(NODE_ONLINE, "event online is not legal for a node that is leaving, with an agent that is connected");
	happens(NODE_GO, 10);
	is(SERVICE_GONE, LINK_NONE);
	happens(NODE_JOIN, 11);
	is(SERVICE_IN, LINK_JOINED);
}

static void drained_at_a_time(void **state)
{
	(void)state;
	life = (struct node_life){0};
	happens(NODE_ADD, 1);
	is(SERVICE_IN, LINK_NONE);
	refused(NODE_SILENCE, "event silent is not legal for a node that is in, with an agent that is none");
	happens(NODE_DRAIN, 2);
	is(SERVICE_CLOSING, LINK_NONE);
	assert_int_equal(life.at, 102);
	assert_false(node_withdrawn(&life));
	happens(NODE_DRAIN, 3);
	assert_int_equal(life.at, 103);
	happens(NODE_CLOSE, 103);
	is(SERVICE_DRAINED, LINK_NONE);
	assert_true(node_withdrawn(&life) && life.at == 0);
	happens(NODE_ONLINE, 104);
	happens(NODE_DRAIN, 105);
	happens(NODE_ONLINE, 106);
	is(SERVICE_IN, LINK_NONE);
	assert_int_equal(life.at, 0);
}

/* The owner's side does not touch the others. */
static void claimed(void **state)
{
	(void)state;
	life = (struct node_life){0};
	happens(NODE_ADD, 1);
	assert_false(node_may(&life, NODE_CLAIM)); /* without an agent nobody knows */
	life = (struct node_life){0};
	happens(NODE_JOIN, 1);
	happens(NODE_CONNECT, 2);
	happens(NODE_CLAIM, 3);
	is(SERVICE_IN, LINK_CONNECTED);
	assert_int_equal(life.claimed, 3);
	assert_int_equal(life.since, 2);
	assert_false(node_may(&life, NODE_CLAIM));
	happens(NODE_SILENCE, 4);
	happens(NODE_OFFLINE, 5);
	assert_true(node_claimed(&life));
	happens(NODE_RELEASE, 6);
	assert_false(node_claimed(&life) || node_may(&life, NODE_RELEASE));
	happens(NODE_CLAIM, 7);
	happens(NODE_JOIN, 8); /* another machine, perhaps */
	assert_false(node_claimed(&life));
}

/* Whatever happens: what is legal is applied, what is not changes nothing, and a time is known
 * exactly when one is needed. */
static void anything(void **state)
{
	(void)state;
	struct rng r;

	rng_seed(&r, 11);
	life = (struct node_life){0};
	for (int i = 0; i < 20000; i++) {
		struct node_event e = {
			.type = (enum node_event_type)rng_below(&r, NODE_EVENT_COUNT), .time = i, .at = i + 5};
		struct node_life before = life;
		bool may = node_may(&life, e.type);
		assert_int_equal(node_apply(&life, &e, NULL), may ? 0 : -EINVAL);
		if (!may)
			assert_memory_equal(&before, &life, sizeof life);
		assert_int_equal(life.service == SERVICE_CLOSING, life.at != 0);
		assert_true(life.service != SERVICE_GONE || life.link == LINK_NONE);
		assert_true(life.service != SERVICE_NONE || life.link == LINK_NONE);
	}
}

static void words(void **state)
{
	(void)state;
	for (int i = 0; i < NODE_EVENT_COUNT; i++)
		assert_int_equal(node_event_named(node_event_name((enum node_event_type)i)), i);
	for (int i = 0; i < SERVICE_COUNT; i++)
		assert_int_equal(node_service_named(node_service_name((enum node_service)i)), i);
	for (int i = 0; i < LINK_COUNT; i++)
		assert_int_equal(node_link_named(node_link_name((enum node_link)i)), i);
	assert_int_equal(node_event_named("married"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine), cmocka_unit_test(drained_at_a_time),
		cmocka_unit_test(claimed),   cmocka_unit_test(anything),
		cmocka_unit_test(words),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
