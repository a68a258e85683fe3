/*
 * test_payload.c - payloads of events: what is read from the store is written again as it was, also
 * if an older server wrote it.
 */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/job.h"
#include "server/job/entry.h"
#include "server/server.h"

struct world {
	struct names words;
	struct cluster cluster;
	struct server s;
};

static void world_init(struct world *w)
{
	*w = (struct world){0};
	w->s.words = &w->words;
	w->s.cluster = &w->cluster;
	names_add(&w->cluster.node_names, "n0");
	names_add(&w->cluster.node_names, "n1");
}

static void world_fini(struct world *w)
{
	names_fini(&w->words);
	names_fini(&w->cluster.node_names);
}

/* `text` NULL: an event without data. */
static int loaded(struct world *w, int type, const char *text, json_t **ret_data, struct payload *ret, struct err *err)
{
	*ret_data = text ? json_loads(text, 0, NULL) : NULL;
	assert_true(!text || *ret_data);
	return payload_read(&w->s, type, *ret_data, ret, err);
}

static void check_again(int type, const char *text, const char *again)
{
	struct strbuf out = {0};
	struct err err = {0};
	struct payload p;
	struct world w;
	json_t *data;

	world_init(&w);
	if (loaded(&w, type, text, &data, &p, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	payload_write(&w.s, type, &p, &out);
	assert_string_equal(strbuf_text(&out), again);
	strbuf_fini(&out);
	json_decref(data);
	world_fini(&w);
}

static void test_written_as_read(void **state)
{
	static const struct {
		int type;
		const char *text;
	} kept[] = {
		{EVENT_START, "{\"urgent\":true}"},
		{EVENT_STARTED, "{\"began_us\":7,\"boot\":-9}"},
		{EVENT_START_FAILED, "{\"text\":\"no memory\",\"comment\":\"\",\"failures\":{\"total\":2,\"rounds\":1,"
				     "\"until\":99,\"nowhere\":true,\"count\":3,\"avoid\":120,\"node\":\"n0\"}}"},
		{EVENT_HOLDS, "{\"text\":\"released\",\"who\":\"ana\",\"holds\":0,\"failures\":{}}"},
		{EVENT_PREEMPT, "{\"spent_ms\":1200,\"moves\":true}"},
		{EVENT_FINISH,
		 "{\"exit_status\":271,\"cause\":3,\"foreign\":true,\"lingers\":true,\"cpu_ms\":5,\"memory_kib\":6,"
		 "\"started_us\":1000,\"ended_us\":9000,\"ran_ms\":0,\"session\":77}"},
		{EVENT_DELETE, "{\"exit_status\":-3,\"cause\":3}"},
		{EVENT_INTENT,
		 "{\"comment\":\"moved\",\"foreign\":true,\"text\":\"rerun\",\"delay\":30,\"saving\":\"move\",\"drops\":true,"
		 "\"billed\":true,\"paid\":60}"},
		{EVENT_INTENT, "{\"who\":\"ana\",\"text\":\"delete\"}"},
		{EVENT_NOTE, "{\"text\":\"a \\\"note\\\"\"}"},
		{EVENT_ALTER, "{\"who\":\"ana\",\"limit\":0}"},
		{EVENT_SUSPEND, "{\"suspended\":false}"},
		{EVENT_RANK, "{\"rank_us\":-1500000}"},
		{EVENT_AWAY, "{\"phase\":\"there\",\"wish\":\"return\",\"state\":\"Q\",\"try\":2,\"id\":\"9.far\","
			     "\"from\":\"batch\",\"refused\":true}"},
		{EVENT_AWAY, "{\"phase\":\"here\"}"},
		{EVENT_GONE, "{\"attempt\":4}"},
		{EVENT_SAVED, "{\"attempt\":2,\"saves\":{\"state\":\"good\",\"good\":3,\"number\":7},\"lost_ms\":9}"},
		{EVENT_SAVED, "{\"saves\":{}}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		check_again(kept[i].type, kept[i].text, kept[i].text);
	check_again(EVENT_ALLOCATE, NULL, "");
}

static void test_of_older_servers(void **state)
{
	(void)state;
	check_again(
		EVENT_FINISH,
		"{\"exit_status\":0,\"cpu_ms\":0,\"memory_kib\":0,\"started_us\":1000,\"ended_us\":9000,\"session\":0}",
		"{\"started_us\":1000,\"ended_us\":9000,\"ran_ms\":8}");
	check_again(EVENT_START_FAILED, "{\"failures\":3}", "{\"failures\":{\"total\":3,\"rounds\":3}}");
	check_again(EVENT_START_FAILED, "{\"failures\":{\"total\":1,\"count\":1,\"avoid\":9,\"node\":\"gone\"}}",
		    "{\"failures\":{\"total\":1}}");
	check_again(EVENT_HOLDS, "{\"holds\":255}", "{\"holds\":7}");
	check_again(EVENT_STARTED, "{}", "");
}

/* A job whose history has a hole is not started by mistake. */
static void test_what_is_damaged_is_refused(void **state)
{
	static const struct {
		int type;
		const char *text, *says;
	} wrong[] = {
		{EVENT_FINISH, "{\"exit_status\":\"0\"}", "exit_status"},
		{EVENT_START_FAILED, "{\"failures\":true}", "must be an object"},
		{EVENT_INTENT, "{}", "lacks \"text\""},
		{EVENT_AWAY, "{}", "lacks \"phase\""},
		{EVENT_AWAY, "{\"phase\":\"gone\"}", "here|offered|there"},
		{EVENT_AWAY, NULL, "must be an object"},
		{EVENT_ALTER, "{\"text\":\"altered\"}", "what it was altered to is missing"},
		{EVENT_SAVED, "{\"attempt\":1}", "lacks \"saves\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct err err = {0};
		struct payload p;
		struct world w;
		json_t *data;
		world_init(&w);
		assert_int_equal(loaded(&w, wrong[i].type, wrong[i].text, &data, &p, &err), -EINVAL);
		if (!strstr(err.text, wrong[i].says))
			fail_msg("%s: %s", wrong[i].text, err.text);
		json_decref(data);
		world_fini(&w);
	}
}

/* What a missing member stands for is shown as well, and the words of another site are not
 * needed. */
static void test_glance(void **state)
{
	json_t *data = json_pack("{s:{s:s}, s:s}", "saves", "state", "good", "who", "ana");
	struct payload p;

	(void)state;
	payload_glance(EVENT_SAVED, data, &p);
	assert_int_equal(p.saves.last.state, SAVE_GOOD);
	assert_int_equal(p.saves.last.cause, SAVE_PERIODIC);
	assert_string_equal(p.who, "ana");
	json_object_set_new(data, "from", json_string("batch"));
	payload_glance(EVENT_AWAY, data, &p);
	assert_string_equal(p.who, "ana");
	json_object_set_new(data, "text", json_string("rerun"));
	payload_glance(EVENT_INTENT, data, &p);
	assert_int_equal(p.intent, INTENT_RERUN);
	payload_glance(EVENT_NOTE, NULL, &p);
	assert_null(p.text);
	json_decref(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_as_read),
		cmocka_unit_test(test_of_older_servers),
		cmocka_unit_test(test_what_is_damaged_is_refused),
		cmocka_unit_test(test_glance),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
