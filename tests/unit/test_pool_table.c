/*
 * test_pool_table.c - what a station knows of a pool: frames of its members, the table and its
 * ages, where tasks go, and in which order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/rng.h"
#include "station/discover.h"
#include "station/pool_home.h"
#include "station/pool_table.h"
#include "station/pool_waiting.h"
#include "support/closed.h"

#define INTERVAL 1000

static struct peer_report report_of(double speed, int cpus)
{
	return (struct peer_report){.run = 7,
				    .seq = 1,
				    .load = {.speed = speed, .idle = 1, .free = 1},
				    .cpus = cpus,
				    .memory = 1 << 20,
				    .arch = "x86_64"};
}

static void frames(void **state)
{
	const char *argv[] = {"prog", "", "\xff\xfe", NULL}, *env[] = {"A=1", NULL};
	struct peer_start s = {.id = 9,
			       .priority = -3,
			       .path = 70,
			       .job = 4,
			       .argv = argv,
			       .env = env,
			       .dir = "/tmp",
			       .memory = 5},
			  got;
	struct peer_report r = report_of(2.5, 4), back;
	struct arena *a = arena_create();
	struct strbuf data = {0};
	char *text = peer_start_write(&s, &data);
	json_t *head = json_loads(text, 0, NULL);
	struct err err;

	assert_int_equal(peer_start_read(head, data.text, data.n, a, &got, &err), 0);
	assert_int_equal(got.id, 9);
	assert_int_equal(got.priority, -3);
	assert_int_equal(got.path, 70);
	assert_int_equal(got.job, 4);
	assert_string_equal(got.dir, "/tmp");
	assert_string_equal(got.argv[2], "\xff\xfe");
	assert_null(got.argv[3]);
	assert_string_equal(got.env[0], "A=1");
	assert_null(got.env[1]);
	assert_int_equal(peer_start_read(head, data.text, data.n - 1, a, &got, &err), -EINVAL);
	json_decref(head);
	free(text);

	text = peer_report_write(&r);
	head = json_loads(text, 0, NULL);
	assert_int_equal(peer_report_read(head, &back, &err), 0);
	assert_true(back.load.speed == 2.5 && back.cpus == 4 && !back.closed);
	assert_true(back.run == r.run && back.seq == r.seq && back.memory == r.memory && back.load.idle == 1 &&
		    back.load.free == 1 && back.load.ours == 0);
	assert_string_equal(back.arch, "x86_64");
	json_object_set_new(head, "idle", json_real(1.5));
	assert_int_equal(peer_report_read(head, &back, &err), -EINVAL);
	json_decref(head);
	free(text);
	strbuf_fini(&data);
	arena_destroy(a);
}

/* Each frame with all of its members, the bounds of its numbers, and the members that it needs. */
static const struct frame {
	const char *name, *text, *needs;
	const struct schema *schema; /* NULL: it has functions of its own */
	struct {
		const char *key;
		int64_t least, most;
	} bounds[7];
} frame_list[] = {
	{"hello",
	 "{\"t\":\"hello\",\"port\":7724,\"run\":8,\"lease\":60000,\"members\":[[\"oak\",\"10.0.0.2:7724\",3]]}",
	 "port run lease", .bounds = {{"port", 1, 65535}, {"run", 1, INT64_MAX}, {"lease", 100, 3600000}}},
	{"report",
	 "{\"t\":\"report\",\"run\":7,\"seq\":2,\"speed\":2.5,\"idle\":0.5,\"free\":0.25,\"ours\":3,\"interactive\":4,"
	 "\"batch\":5,\"cpus\":6,\"memory\":9,\"closed\":true,\"arch\":\"arm64\"}",
	 "run seq speed idle free ours interactive batch cpus memory arch", .schema = &peer_report_frame,
	 .bounds = {{"run", 1, INT64_MAX},
		    {"seq", 1, INT64_MAX},
		    {"ours", 0, 1 << 20},
		    {"interactive", 0, 1 << 20},
		    {"batch", 0, 1 << 20},
		    {"cpus", 1, 65536},
		    {"memory", 0, INT64_MAX / 2}}},
	{"start", "{\"t\":\"start\",\"id\":9,\"priority\":-3,\"path\":70,\"job\":4,\"argv\":2,\"memory\":5}",
	 "id priority argv memory",
	 .bounds = {{"id", 1, INT64_MAX},
		    {"path", 0, INT64_MAX / 2},
		    {"job", 0, INT64_MAX},
		    {"argv", 1, 65536},
		    {"memory", 0, INT64_MAX / 2}}},
	{"done", "{\"id\":9,\"status\":256,\"cpu\":1200}", "id status cpu", .schema = &peer_done_frame,
	 .bounds = {{"id", 1, INT64_MAX}, {"status", 0, 0xffff}, {"cpu", 0, INT64_MAX / 2}}},
	{"note", "{\"id\":9,\"fd\":2,\"n\":65536}", "id", .schema = &peer_note_frame, .bounds = {{"id", 1, INT64_MAX}}},
	{"outcome",
	 "{\"task\":3,\"fd\":1,\"status\":256,\"cpu\":1200,\"where\":\"oak\",\"attempts\":2,\"why\":\"lost\"}", "",
	 .schema = &peer_outcome_frame},
	{"grant",
	 "{\"id\":\"p4\",\"secret\":\"s\",\"name\":\"oak\",\"csr\":\"r\",\"certificate\":\"c\",\"pool\":\"lab\","
	 "\"why\":\"no\",\"members\":{\"elm\":[\"h:1\",2]}}",
	 "", .schema = &peer_grant_frame},
	{"removed", "{\"text\":\"removed 1\\noak 2\\n\",\"signature\":\"x\"}", "text signature",
	 .schema = &peer_removed_frame},
};

/* Reads a frame as its receiver does, and writes what was read: *ret, or NULL with an error. */
static json_t *frame_again(const struct frame *f, const json_t *head, struct err *err)
{
	static const char words[] = "/tmp\0prog\0x\0A=1";
	union {
		struct peer_done done;
		struct peer_note note;
		struct peer_outcome outcome;
		struct peer_grant grant;
		struct peer_removed removed;
	} any = {0};
	struct arena *a = arena_create();
	struct peer_hello hello;
	struct peer_report report;
	struct peer_start start;
	struct strbuf data = {0}, out = {0};
	char *text = NULL;
	struct json j;

	if (strcmp(f->name, "hello") == 0) {
		text = peer_hello_read(head, a, &hello, err) == 0 ? peer_hello_write(&hello) : NULL;
	} else if (strcmp(f->name, "report") == 0) {
		text = peer_report_read(head, &report, err) == 0 ? peer_report_write(&report) : NULL;
	} else if (strcmp(f->name, "start") == 0) {
		bool good = peer_start_read(head, words, sizeof words, a, &start, err) == 0;
		text = good ? peer_start_write(&start, &data) : NULL;
		assert_true(!good || (data.n == sizeof words && memcmp(data.text, words, data.n) == 0));
	} else if (record_load(f->schema->fields, 0, head, &any, NULL, err) == 0) {
		json_begin(&j, &out);
		record_store(f->schema->fields, 0, &any, NULL, &j);
		json_close_object(&j);
		text = out.text;
	}
	json_t *ret = text ? json_loads(text, 0, NULL) : NULL;
	free(text);
	strbuf_fini(&data);
	arena_destroy(a);
	return ret;
}

/* Returns true if a frame is taken with another value of that member, NULL: without it. Otherwise
 * the error must name the member. */
static bool frame_takes(const struct frame *f, const char *key, json_t *value)
{
	json_t *head = json_loads(f->text, 0, NULL);
	struct err err = {.text = ""};

	if (value)
		json_object_set_new(head, key, value);
	else
		json_object_del(head, key);
	json_t *again = frame_again(f, head, &err);
	bool good = again != NULL;

	if (!good && strstr(err.text, "announced")) /* in bounds, but this test sends two words */
		good = true;
	else if (good && json_is_real(value)) /* 1.0 is written as 1 */
		assert_true(json_number_value(json_object_get(again, key)) == json_real_value(value));
	else if (good ? !json_equal(head, again) : !strstr(err.text, key))
		fail_msg("%s of %s: %s", key, f->name, good ? "it does not come back" : err.text);
	json_decref(again);
	json_decref(head);
	return good;
}

/* All members of all frames come back; numbers have their bounds, and what must be there must. */
static void members_of_frames(void **state)
{
	char text[128], word[32];
	const char *key;
	json_t *value;

	for (const struct frame *f = frame_list; f < frame_list + sizeof frame_list / sizeof *frame_list; f++) {
		json_t *head = json_loads(f->text, 0, NULL);
		assert_non_null(head);
		for (const struct field *row = NULL; f->schema && (row = schema_next(f->schema, row)) != NULL;)
			assert_non_null(json_object_get(head, row->name));
		json_object_foreach(head, key, value)
		{
			assert_true(frame_takes(f, key, json_deep_copy(value)));
			snprintf(text, sizeof text, " %s ", f->needs);
			snprintf(word, sizeof word, " %s ", key);
			if (strcmp(key, "t") != 0 && strcmp(key, "members") != 0 &&
			    frame_takes(f, key, NULL) != !strstr(text, word))
				fail_msg("%s without %s", f->name, key);
		}
		json_decref(head);
		for (size_t i = 0; i < sizeof f->bounds / sizeof *f->bounds && f->bounds[i].key; i++) {
			int64_t least = f->bounds[i].least, most = f->bounds[i].most;
			key = f->bounds[i].key;
			if (!frame_takes(f, key, json_integer(least ? least : 1)) ||
			    !frame_takes(f, key, json_integer(most)) || frame_takes(f, key, json_integer(least - 1)) ||
			    (most < INT64_MAX && frame_takes(f, key, json_integer(most + 1))))
				fail_msg("the bounds of %s in %s", key, f->name);
		}
	}
}

/* Loads are numbers in their bounds, names are printable words; a list of members has its most. */
static void texts_of_frames(void **state)
{
	static const struct {
		const char *key;
		double least, most;
	} reals[] = {{"speed", 1e-3, 1e6}, {"idle", 0, 1}, {"free", 0, 1}};
	const struct frame *hello = &frame_list[0], *report = &frame_list[1];
	static const char *const bad[] = {"", "a b", "x\n", "\u00e9", "sixteen-letters."};

	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
		assert_true(frame_takes(report, reals[i].key, json_real(reals[i].least)));
		assert_true(frame_takes(report, reals[i].key, json_real(reals[i].most)));
		assert_false(frame_takes(report, reals[i].key, json_real(reals[i].least * 0.9 - 1e-9)));
		assert_false(frame_takes(report, reals[i].key, json_real(reals[i].most * 1.1)));
	}
	assert_true(frame_takes(report, "arch", json_string("fifteen-letters")));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_false(frame_takes(report, "arch", json_string(bad[i])));
		assert_false(i < 4 && frame_takes(hello, "members", json_pack("[[s,s,i]]", bad[i], "h:1", 1)));
		assert_false(i < 4 && frame_takes(hello, "members", json_pack("[[s,s,i]]", "oak", bad[i], 1)));
	}
	char name[PEER_WHERE_SIZE + 1];
	memset(name, 'x', sizeof name);
	for (size_t n = 1; n < sizeof name; n++) {
		if (n != PEER_NAME_SIZE && n != PEER_NAME_SIZE - 1 && n < PEER_WHERE_SIZE - 1)
			continue;
		assert_int_equal(frame_takes(hello, "members", json_pack("[[s%,s,i]]", name, n, "h:1", 1)),
				 n < PEER_NAME_SIZE);
		assert_int_equal(frame_takes(hello, "members", json_pack("[[s,s%,i]]", "oak", name, n, 1)),
				 n < PEER_WHERE_SIZE);
	}
	json_t *all = json_array();
	for (int i = 0; i < PEER_MEMBERS_MOST; i++)
		json_array_append_new(all, json_pack("[s,s,i]", "oak", "h:1", 0));
	assert_true(frame_takes(hello, "members", json_deep_copy(all)));
	json_array_append_new(all, json_pack("[s,s,i]", "oak", "h:1", 0));
	assert_false(frame_takes(hello, "members", all));
	assert_int_equal(peer_join_read(NULL), 0);
	json_t *below = json_integer(-1);
	assert_int_equal(peer_join_read(below), 0);
	json_decref(below);
}

/* Settings come back; one that is out of bounds, or no setting, keeps its default. */
static void settings(void **state)
{
	static const struct {
		const char *key;
		int64_t least, most;
	} bounds[] = {
		{"interval_ms", 10, 3600000}, {"lease_ms", 100, 3600000}, {"gossip_from", 1, PEER_MEMBERS_MOST},
		{"last_port", 0, 65535},      {"cpus", 0, 65536},
	};
	static const char all[] = "{\"name\":\"oak\",\"pool\":\"lab\",\"listen\":\"10.0.0.2:0\",\"cgroup\":\"/g\","
				  "\"user\":\"bob\",\"owner\":\"none\",\"interval_ms\":11,\"lease_ms\":101,"
				  "\"gossip_from\":3,\"last_port\":7,\"cpus\":5,\"multicast\":false,\"speed\":1.5,"
				  "\"k1\":0.125,\"k2\":0.375,\"policy\":\"ours\"}";
	char dir[] = "/tmp/shunt-test-XXXXXX", path[64];
	struct pool_home h;
	struct pool_conf c;
	struct strbuf text = {0};
	struct err err = {.text = ""};
	json_t *wanted = json_loads(all, 0, NULL), *usual = NULL, *got;
	const char *key;
	json_t *value;

	assert_non_null(mkdtemp(dir));
	snprintf(h.dir, sizeof h.dir, "%s", dir);
	assert_int_equal(pool_conf_load(&h, &c, &err), -ENOENT);
	assert_non_null(strstr(err.text, "this machine is in no pool"));
	assert_int_equal(pool_home_write(&h, "pool.json", 0644, all, &err), 0);
	assert_int_equal(pool_conf_load(&h, &c, &err), 0);
	assert_true(strcmp(c.name, "oak") == 0 && strcmp(c.pool, "lab") == 0 && strcmp(c.listen, "10.0.0.2:0") == 0 &&
		    strcmp(c.cgroup, "/g") == 0 && strcmp(c.user, "bob") == 0 && strcmp(c.owner, "none") == 0);
	assert_true(c.interval_ms == 11 && c.lease_ms == 101 && c.gossip_from == 3 && c.last_port == 7 && c.cpus == 5 &&
		    !c.multicast && c.speed == 1.5 && c.rule.k1 == 0.125 && c.rule.k2 == 0.375);
	for (int i = 0; i < 2; i++) { /* all of it, then what a name alone leaves: the defaults */
		assert_int_equal(pool_conf_store(&h, &c, &err), 0);
		assert_int_equal(pool_home_read(&h, "pool.json", &text, &err), 0);
		got = json_loads(text.text, 0, NULL);
		assert_true(i == 1 || json_equal(got, wanted));
		usual = i == 1 ? json_incref(got) : NULL;
		json_decref(got);
		assert_int_equal(pool_home_write(&h, "pool.json", 0644, "{\"name\":\"oak\",\"cpus\":true}", &err), 0);
		assert_int_equal(pool_conf_load(&h, &c, &err), 0);
	}
	json_object_foreach(usual, key, value)
		assert_true(strcmp(key, "name") == 0 || !json_equal(value, json_object_get(wanted, key)));
	for (size_t i = 0; i < 4 * (sizeof bounds / sizeof *bounds); i++) {
		const int64_t least = bounds[i / 4].least, most = bounds[i / 4].most,
			      of[] = {least - 1, least, most, most + 1};
		key = bounds[i / 4].key;
		strbuf_clear(&text);
		strbuf_printf(&text, "{\"name\":\"oak\",\"%s\":%lld}", key, (long long)of[i % 4]);
		assert_int_equal(pool_home_write(&h, "pool.json", 0644, text.text, &err), 0);
		assert_int_equal(pool_conf_load(&h, &c, &err), 0);
		assert_int_equal(pool_conf_store(&h, &c, &err), 0);
		assert_int_equal(pool_home_read(&h, "pool.json", &text, &err), 0);
		got = json_loads(text.text, 0, NULL);
		bool good = i % 4 == 1 || i % 4 == 2;
		assert_int_equal(json_integer_value(json_object_get(got, key)),
				 good ? of[i % 4] : json_integer_value(json_object_get(usual, key)));
		json_decref(got);
	}
	assert_int_equal(pool_home_write(&h, "pool.json", 0644, "{\"name\":\"oak\",\"k1\":-1,\"k2\":1e30}", &err), 0);
	assert_int_equal(pool_conf_load(&h, &c, &err), 0);
	assert_true(c.rule.k1 == PLACE_K1 && c.rule.k2 == PLACE_K2);
	assert_int_equal(pool_home_write(&h, "pool.json", 0644, "{\"name\":\"oak\",\"policy\":\"x\"}", &err), 0);
	assert_int_equal(pool_conf_load(&h, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no policy is called x"));
	assert_int_equal(pool_home_write(&h, "pool.json", 0644, "{}", &err), 0);
	assert_int_equal(pool_conf_load(&h, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "it has no name"));
	strcpy(c.user, "\xff");
	assert_int_equal(pool_conf_store(&h, &c, &err), -EINVAL);
	snprintf(path, sizeof path, "%s/pool.json", dir);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	json_decref(usual);
	json_decref(wanted);
	strbuf_fini(&text);
}

static void needs(void **state)
{
	struct pool_need need;
	struct err err;

	assert_int_equal(pool_need_parse("arch=arm64,mem=2gb", &need, &err), 0);
	assert_string_equal(need.arch, "arm64");
	assert_int_equal(need.memory, 2 << 20);
	assert_int_equal(pool_need_parse("", &need, &err), 0);
	assert_int_equal(pool_need_parse("cpus=2", &need, &err), -EINVAL);
	assert_int_equal(pool_need_parse("mem=lots", &need, &err), -EINVAL);
	assert_int_equal(pool_need_parse("mem=0", &need, &err), -EINVAL);
	assert_int_equal(pool_need_parse("arch=", &need, &err), -EINVAL);
	assert_string_equal(err.text, "arch=: allowed are arch=NAME and mem=SIZE (as in mem=2gb)");
	assert_int_equal(pool_need_parse("mem=1kb,", &need, &err), 0);
	assert_int_equal(need.memory, 1);
	assert_string_equal(need.arch, "");
	char text[80];
	snprintf(text, sizeof text, "arch=%0*d", (int)sizeof need.arch - 1, 1);
	assert_int_equal(pool_need_parse(text, &need, &err), 0);
	assert_int_equal(strlen(need.arch), sizeof need.arch - 1);
	snprintf(text, sizeof text, "arch=%0*d", (int)sizeof need.arch, 1);
	assert_int_equal(pool_need_parse(text, &need, &err), -EINVAL);
	snprintf(text, sizeof text, "mem=%060d", 1);
	assert_int_equal(pool_need_parse(text, &need, &err), -EINVAL);
	assert_non_null(strstr(err.text, "a word has at most 63 characters"));
}

/* What must be true of a station for a task to go there; what is worth a report. */
static void usable(void **state)
{
	const struct pool_need need = {.arch = "x86_64", .memory = 1 << 20};
	struct peer_report r = report_of(2, 2), other;
	struct pool_table t = {0};
	struct pool_entry *e = pool_table_add(&t, "m", "h:1"), good;

	assert_string_equal(e->member.where, "h:1");
	e->linked = true;
	assert_false(pool_entry_usable(e, &need, 0, INTERVAL)); /* nothing was heard of it */
	assert_true(pool_table_report(e, &r, 1000));
	good = *e;
	assert_true(pool_entry_usable(e, &need, 1000 + 3 * INTERVAL, INTERVAL));
	assert_false(pool_entry_usable(e, &need, 1001 + 3 * INTERVAL, INTERVAL));
	assert_false(pool_entry_usable(e, &(struct pool_need){.memory = (1 << 20) + 1}, 1000, INTERVAL));
	assert_false(pool_entry_usable(e, &(struct pool_need){.arch = "x86"}, 1000, INTERVAL));
	assert_false(pool_table_has(&t, &(struct pool_need){.memory = (1 << 20) + 1}));
	for (int i = 0; i < 4; i++) {
		*e = good;
		if (i == 0)
			e->linked = false;
		else if (i == 1)
			e->removed = true;
		else if (i == 2)
			e->report.closed = true;
		else
			e->report.run = 0;
		assert_false(pool_entry_usable(e, &need, 1000, INTERVAL));
	}
	*e = good;
	e->placed = 5;
	r.seq = 1;
	r.run = 8; /* it was restarted, and counts from the beginning */
	assert_true(pool_table_report(e, &r, 1500));
	assert_int_equal(e->placed, 0);
	assert_int_equal(e->heard, 1500);
	assert_null(pool_table_find(&t, "l"));
	assert_null(pool_table_find(&t, "n"));
	pool_table_add(&t, "n", "h:2");
	pool_table_add(&t, "a", "h:3");
	assert_string_equal(t.entries.v[0].member.name, "a");
	assert_string_equal(pool_table_find(&t, "n")->member.where, "h:2");
	pool_table_fini(&t);
	for (int i = 0; i < 12; i++) {
		other = r;
		switch (i) {
		case 0:
			other.run++;
			break;
		case 1:
			other.closed = true;
			break;
		case 2:
			other.cpus++;
			break;
		case 3:
			other.load.ours++;
			break;
		case 4:
			other.load.interactive++;
			break;
		case 5:
			other.load.batch++;
			break;
		case 6:
			other.load.idle -= 0.11;
			break;
		case 7:
			other.load.free -= 0.11;
			break;
		case 8:
			other.load.speed *= 1.11;
			break;
		case 9:
			other.load.idle -= 0.09;
			break;
		case 10:
			other.load.speed *= 1.09;
			break;
		default:
			other.seq++;
			other.memory++;
			break;
		}
		assert_int_equal(pool_band_left(&r, &other), i < 9);
	}
}

/* At the same load the station with more processors gets the task. */
static void shared_load(void **state)
{
	struct pool_table t = {.rule = {.policy = PLACE_FIM}};
	struct peer_report narrow = report_of(1, 1), wide = report_of(1, 4);

	for (int kind = 0; kind < 3; kind++) {
		*(kind == 0 ? &narrow.load.ours : kind == 1 ? &narrow.load.interactive : &narrow.load.batch) = 1;
		wide.load = narrow.load;
		struct pool_entry *e = pool_table_add(&t, "a", "h:1");
		e->linked = true;
		narrow.seq++, wide.seq++;
		pool_table_report(e, &narrow, 0);
		e = pool_table_add(&t, "b", "h:2");
		e->linked = true;
		pool_table_report(e, &wide, 0);
		struct pool_entry *got = pool_table_choose(&t, &(struct pool_need){0}, 0, INTERVAL);
		if (got)
			assert_string_equal(got->member.name, "b");
		else
			assert_int_not_equal(kind, 0);
		narrow.load.ours = narrow.load.interactive = narrow.load.batch = 0;
	}
	pool_table_fini(&t);
}

static const struct pool_entry *chosen(struct pool_table *t, int64_t now)
{
	return pool_table_choose(t, &(struct pool_need){0}, now, INTERVAL);
}

/* Only who was heard lately, takes tasks and has what is needed gets one. */
static void ages(void **state)
{
	struct pool_table t = {.rule = {.policy = PLACE_FIM}};
	struct peer_report fast = report_of(2, 1), slow = report_of(1, 2);
	struct pool_entry *e;

	assert_null(chosen(&t, 0));
	e = pool_table_add(&t, "slow", "h:1");
	e->linked = true;
	assert_null(chosen(&t, 0));
	assert_true(pool_table_report(e, &slow, 0));
	assert_false(pool_table_report(e, &slow, 500));
	e = pool_table_add(&t, "fast", "h:2");
	e->linked = true;
	pool_table_report(e, &fast, 2000);
	assert_ptr_equal(pool_table_add(&t, "fast", "h:3"), e);
	assert_int_equal(t.entries.n, 2);
	assert_string_equal(chosen(&t, 2000)->member.name, "fast");
	assert_string_equal(chosen(&t, 2000)->member.name,
			    "fast"); /* one of ours there costs as much as the slow one */
	assert_string_equal(chosen(&t, 2000)->member.name, "slow");
	assert_int_equal(e->placed, 2);
	pool_table_ended(&t, e);
	assert_int_equal(e->placed, 1);
	assert_string_equal(chosen(&t, 3500)->member.name,
			    "fast"); /* the other has been silent for more than three intervals */
	assert_null(chosen(&t, 6000));
	fast.seq++;
	fast.closed = true;
	pool_table_report(e, &fast, 6000);
	assert_null(chosen(&t, 6000));
	assert_true(pool_table_has(&t, &(struct pool_need){.arch = "x86_64"}));
	assert_false(pool_table_has(&t, &(struct pool_need){.arch = "pdp11"}));
	assert_true(pool_band_left(&slow, &fast));
	assert_false(pool_band_left(&fast, &fast));
	pool_table_fini(&t);
}

/* A task of ours that was on its way when its station reported counts, before and after its end;
 * policies that count nothing of their own don't count it. */
static void on_their_way(void **state)
{
	struct pool_table t = {.rule = {.policy = PLACE_OURS}};
	struct peer_report r = report_of(1, 1);
	struct pool_entry *e = pool_table_add(&t, "one", "h:1");

	e->linked = true;
	pool_table_report(e, &r, 0);
	assert_ptr_equal(chosen(&t, 0), e);
	e->own = 1;
	r.seq++;
	pool_table_report(e, &r, 100);
	assert_null(chosen(&t, 100));
	t.rule.policy = PLACE_FI;
	assert_ptr_equal(chosen(&t, 100), e);
	t.rule.policy = PLACE_OURS;
	pool_table_ended(&t, e);
	e->own = 0;
	assert_ptr_equal(chosen(&t, 200), e);
	e->own = 1;
	assert_null(chosen(&t, 200));
	pool_table_fini(&t);
}

/* A station that listens on one address announces itself from that one only: receivers take the
 * sender's address for the one where it listens. */
static void announces_where_it_listens(void **state)
{
	struct discover mine = {.name = "here", .port = 1234}, got;
	struct sockaddr_in from;
	int fd = discover_open(true), heard = 0;

	if (fd < 0)
		skip(); /* another program has the port, or there is no multicast */
	snprintf(mine.print, sizeof mine.print, "%032llx", (unsigned long long)getpid());
	mine.only.s_addr = htonl(INADDR_LOOPBACK);
	discover_send(fd, &mine);
	while (discover_take(fd, &got, &from))
		if (strcmp(got.print, mine.print) == 0) {
			heard++;
			assert_int_equal(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
		}
	mine.only.s_addr = INADDR_ANY;
	discover_send(fd, &mine);
	while (discover_take(fd, &got, &from))
		heard -= strcmp(got.print, mine.print) == 0;
	assert_true(heard <= 0); /* it is heard on every interface otherwise */
	close(fd);
}

#define RISING 200000 /* far more than an insertion that looks at all others could bear */
#define MIXED 2000

static bool in_order(const struct waiting *a, const struct waiting *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->job != b->job)
		return a->job < b->job;
	return a->path > b->path || (a->path == b->path && a->number < b->number);
}

static void list_check(const struct waiting_list *l)
{
	size_t n = 0;

	for (const struct waiting *w = l->first[0]; w; w = w->after[0], n++)
		if (w->after[0])
			assert_true(in_order(w, w->after[0]));
	assert_int_equal(n, l->n);
}

static void waiting_tasks_in_order(void **state)
{
	struct waiting *w = calloc(RISING, sizeof *w);
	struct waiting_list l = {0};
	struct rng r;

	(void)state;
	rng_seed(&r, 3);
	for (size_t i = 0; i < RISING; i++) {
		w[i] = (struct waiting){.path = (int64_t)i};
		waiting_add(&l, &w[i]);
	}
	list_check(&l);
	for (size_t i = RISING; i-- > 0;)
		waiting_remove(&l, &w[i]);
	assert_true(l.n == 0 && !l.first[0]);
	for (int k = 0; k < 20 * MIXED; k++) {
		struct waiting *x = &w[rng_below(&r, MIXED)];
		if (x->task) {
			waiting_remove(&l, x);
			x->task = NULL;
		} else {
			*x = (struct waiting){.task = (struct errand *)(void *)x,
					      .priority = rng_range(&r, -2, 2),
					      .job = rng_below(&r, 3),
					      .path = rng_range(&r, 0, 5)};
			waiting_add(&l, x);
		}
		if (k % 500 == 0)
			list_check(&l);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(frames),
					   cmocka_unit_test(members_of_frames),
					   cmocka_unit_test(texts_of_frames),
					   cmocka_unit_test(settings),
					   cmocka_unit_test(needs),
					   cmocka_unit_test(usable),
					   cmocka_unit_test(shared_load),
					   cmocka_unit_test(ages),
					   cmocka_unit_test(on_their_way),
					   cmocka_unit_test(announces_where_it_listens),
					   cmocka_unit_test(waiting_tasks_in_order),
					   CLOSED_TEST};

	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
