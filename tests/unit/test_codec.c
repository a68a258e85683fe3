/*
 * test_codec.c - records by their rows: every form through JSON and back, what a missing member
 * stands for, and what is refused.
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

#include "base/arena.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/rng.h"
#include "base/strbuf.h"

#define TEXTS 50000 /* random changes of a text */

enum state { IDLE, BUSY, DOWN };
enum { KEPT = 1 << 0, SEEN = 1 << 1 };

struct limits {
	int64_t cpus;
	char *reason;
};

struct host {
	enum state state;
	uint8_t link;
	char address[16];
	char *label;
	uint32_t class;
	uint8_t mail;
	bool shared;
	int32_t ports;
	double rank;
	struct limits limits;
	const char *note;
};

static const struct field limit_rows[] = {
	{"cpus", .is = IS_INT, .missing = -1, MEMBER(struct limits, cpus)},
	{"reason", .is = IS_TEXT, MEMBER(struct limits, reason)},
	{0},
};
static const struct schema limits = {.fields = limit_rows};

/* What the getters of this table are given. */
struct subject {
	struct host host;
};

static void get_summary(const struct subject *x, struct value *v)
{
	v->kind = VALUE_INT;
	v->number = x->host.ports * 2;
}

static const struct field rows[] = {
	{"state", .is = IS_TEXT, .words = "idle|busy|down", .in = KEPT | SEEN | ALWAYS,
	 MEMBER_AS(FORM_CHOICE, struct host, state)},
	{"link", .is = IS_TEXT, .words = "none|up", .in = KEPT, MEMBER_AS(FORM_CHOICE8, struct host, link)},
	{"address", .is = IS_TEXT | IS_NULL, .in = KEPT | SEEN, MEMBER_CHARS(struct host, address)},
	{"label", .is = IS_TEXT, .in = KEPT | SEEN, MEMBER(struct host, label)},
	{"class", .is = IS_TEXT, .in = KEPT, MEMBER_AS(FORM_WORD, struct host, class)},
	{"mail", .is = IS_TEXT, .letters = "aben", .in = KEPT, MEMBER_AS(FORM_LETTERS, struct host, mail)},
	{"shared", .is = IS_BOOL, .in = KEPT | SEEN, MEMBER(struct host, shared)},
	{"ports", .is = IS_INT, .least = 1, .most = 65535, .missing = 22, .in = KEPT, MEMBER(struct host, ports)},
	{"rank", .is = IS_INT, .in = KEPT, MEMBER(struct host, rank)},
	{"limits", .is = IS_OBJECT, .of = &limits, .in = KEPT | SEEN, MEMBER_AS(FORM_RECORD, struct host, limits)},
	{"note", .is = REQUIRED | IS_TEXT, .in = KEPT | SEEN, MEMBER(struct host, note)},
	{"twice", .is = IS_INT, .in = SEEN, .get = get_summary},
	{0},
};

typedef void writer(const struct field *, uint32_t, const void *, const struct names *, struct strbuf *);

static char *written(writer *write, uint32_t in, const struct host *h, const struct names *words)
{
	struct strbuf out = {0};

	write(rows, in, h, words, &out);
	return out.text;
}

static int loaded(const char *text, struct host *h, struct names *words, struct err *err)
{
	json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);
	int rc;

	assert_non_null(o);
	memset(h, 0xa5, sizeof *h); /* whatever was there is not looked at */
	rc = record_load(rows, KEPT, o, h, words, err);
	json_decref(o);
	return rc;
}

static void test_every_form_returns(void **state)
{
	static const char all[] =
		"{\"state\":\"down\",\"link\":\"up\",\"address\":\"10.0.0.255:9999\",\"label\":\"spare\","
		"\"class\":\"fast\",\"mail\":\"be\",\"shared\":true,\"ports\":8080,\"rank\":1500000,"
		"\"limits\":{\"cpus\":4,\"reason\":\"heat\"}}";
	struct names words = {0};
	struct err err = {0};
	struct host h;
	char *text;

	(void)state;
	assert_int_equal(loaded(all, &h, &words, &err), 0);
	assert_int_equal(h.state, DOWN);
	assert_int_equal(h.link, 1);
	assert_string_equal(h.address, "10.0.0.255:9999");
	assert_string_equal(h.label, "spare");
	assert_string_equal(names_get(&words, h.class), "fast");
	assert_int_equal(h.mail, 2 | 4);
	assert_true(h.shared);
	assert_true(h.rank == 1.5);
	assert_int_equal(h.limits.cpus, 4);
	assert_string_equal(h.limits.reason, "heat");
	text = written(record_store_text, KEPT, &h, &words);
	assert_string_equal(text, all);
	free(text);
	record_free(rows, &h);
	assert_null(h.label);
	assert_null(h.limits.reason);
	names_fini(&words);
}

static void test_missing_members(void **state)
{
	struct names words = {0};
	struct err err = {0};
	struct host h;
	char *text;

	(void)state;
	assert_int_equal(loaded("{\"state\":\"busy\",\"newer\":[1],\"label\":null}", &h, &words, &err), 0);
	assert_int_equal(h.ports, 22);
	assert_int_equal(h.limits.cpus, -1);
	assert_null(h.label);
	assert_string_equal(h.address, "");
	text = written(record_store_text, KEPT, &h, &words);
	assert_string_equal(text, "{\"state\":\"busy\"}");
	free(text);
	text = written(record_show_text, SEEN, &h, &words);
	assert_string_equal(
		text,
		"{\"state\":\"busy\",\"address\":null,\"shared\":false,\"limits\":{\"cpus\":-1},\"note\":\"\",\"twice\":44}");
	free(text);
	names_fini(&words);
}

static void test_what_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"[]", "must be an object"},
		{"{}", "lacks \"state\""},
		{"{\"state\":\"asleep\"}", "must be one of idle|busy|down"},
		{"{\"state\":\"\"}", "must be one of"},
		{"{\"state\":\"idle|busy\"}", "must be one of"},
		{"{\"state\":0}", "state"},
		{"{\"state\":\"idle\",\"address\":\"10.0.0.255:99999\"}", "address"},
		{"{\"state\":\"idle\",\"ports\":0}", "ports"},
		{"{\"state\":\"idle\",\"ports\":65536}", "ports"},
		{"{\"state\":\"idle\",\"mail\":\"x\"}", "mail"},
		{"{\"state\":\"idle\",\"limits\":4}", "must be an object"},
		{"{\"state\":\"idle\",\"label\":\"kept\",\"limits\":{\"cpus\":\"4\"}}", "cpus"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct names words = {0};
		struct err err = {0};
		struct host h;
		assert_int_equal(loaded(wrong[i].text, &h, &words, &err), -EINVAL);
		if (!strstr(err.text, wrong[i].says))
			fail_msg("%s: %s", wrong[i].text, err.text);
		record_free(rows, &h);
		names_fini(&words);
	}
}

static void test_same(void **state)
{
	struct host a = {.label = (char *)"x", .limits = {.reason = (char *)"y"}}, b = a;
	const struct field *address = field_find(rows, KEPT, "address", NULL),
			   *within = field_find(rows, 0, "limits", address);

	(void)state;
	assert_true(field_same(address, &a, &b));
	assert_true(field_same(within, &a, &b));
	strcpy(b.address, "other");
	b.limits.reason = (char *)"z";
	assert_false(field_same(address, &a, &b));
	assert_false(field_same(within, &a, &b));
	assert_null(field_find(rows, KEPT, "twice", NULL));
}

/* A lent text is neither copied nor freed, and an empty one stays one. */
static void test_lent_text(void **state)
{
	json_t *o = json_pack("{s:s, s:s}", "state", "idle", "note", "");
	struct err err = {0};
	struct host h;

	(void)state;
	assert_int_equal(record_load(rows, KEPT, o, &h, NULL, &err), 0);
	assert_ptr_equal(h.note, json_string_value(json_object_get(o, "note")));
	record_free(rows, &h);
	assert_string_equal(h.note, "");
	json_decref(o);
}

/* Members of an answer that is made to be shown. */
struct answer {
	const char *name;
	const char *note;
	double share;
	int64_t at;
	int16_t kept;
	int listed;
	struct limits limits;
};

static void inside_list(const struct subject *x, struct json *j)
{
	const struct answer *a = (const void *)x;

	for (int i = 0; i < a->listed; i++)
		json_int(j, NULL, i);
}

static const struct field shown[] = {
	{"name", .is = REQUIRED | IS_TEXT, MEMBER(struct answer, name)},
	{"note", .is = IS_TEXT, MEMBER(struct answer, note)},
	{"share", .is = REQUIRED | IS_REAL, MEMBER_AS(FORM_REAL, struct answer, share)},
	{"least", .is = REQUIRED | IS_REAL | IS_NULL, .missing = -1, MEMBER_AS(FORM_REAL, struct answer, share)},
	{"at", .is = REQUIRED | IS_INSTANT, MEMBER(struct answer, at)},
	{"then", .is = IS_INSTANT, MEMBER(struct answer, at)},
	{"kept", .is = REQUIRED | IS_BOOL | IS_NULL, .missing = -1, MEMBER(struct answer, kept)},
	{"sparse", .is = SPARSE | IS_BOOL, .missing = -1, MEMBER(struct answer, kept)},
	{"limits", .is = REQUIRED | IS_OBJECT | IS_NULL, .of = &limits, MEMBER_AS(FORM_RECORD, struct answer, limits)},
	{"must", .is = REQUIRED | IS_LIST, .item = IS_INT, .inside = inside_list},
	{"may", .is = IS_LIST, .item = IS_INT, .inside = inside_list},
	{"must_too", .is = IS_LIST, .item = IS_INT, .in = ALWAYS, .inside = inside_list},
	{0},
};

static void test_answers(void **state)
{
	static const struct {
		struct answer answer;
		const char *text;
	} known[] = {
		{{.share = -1, .kept = -1, .limits = {-1, NULL}},
		 "{\"name\":\"\",\"share\":-1,\"least\":null,\"at\":0,\"kept\":null,\"limits\":null,\"must\":[],\"must_too\":[]}"},
		{{"a", "b", 0.25, 7, 1, 2, {4, NULL}},
		 "{\"name\":\"a\",\"note\":\"b\",\"share\":0.25,\"least\":0.25,\"at\":7,\"then\":7,"
		 "\"kept\":true,\"sparse\":true,\"limits\":{\"cpus\":4},\"must\":[0,1],\"may\":[0,1],\"must_too\":[0,1]}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct strbuf out = {0};
		struct json j;
		json_init(&j, &out, false);
		json_open_object(&j, NULL);
		record_show(shown, 0, &known[i].answer, NULL, &j);
		json_close_object(&j);
		assert_string_equal(out.text, known[i].text);
		strbuf_fini(&out);
	}
}

static void test_reals_return(void **state)
{
	struct answer a = {.share = 0.1}, b = {0};
	const struct field *f = field_find(shown, 0, "share", NULL);
	json_t *v = json_real(0.1), *text = json_string("0.1");
	struct err err = {0};

	(void)state;
	assert_false(field_same(f, &a, &b));
	assert_true(field_missing(f, &b));
	assert_int_equal(field_read(f, v, &b, NULL, &err), 0);
	assert_true(field_same(f, &a, &b));
	assert_false(field_missing(f, &b));
	assert_int_equal(field_read(f, text, &b, NULL, &err), -EINVAL);
	json_decref(v);
	json_decref(text);
}

/* Frames: what is read outlives its JSON. */
struct seat {
	const char *name;
	uint64_t join;
};

struct frame {
	const char *path;
	char **argv;
	int *cpus;
	int ncpus;
	struct seat *seats;
	int nseats;
};

static const struct field seat_rows[] = {
	{"name", .in = ALWAYS, MEMBER(struct seat, name)},
	{"join", MEMBER(struct seat, join)},
	{0},
};
static const struct schema seats = {.fields = seat_rows};
static const struct field frame_rows[] = {
	{"path", MEMBER_AS(FORM_BYTES, struct frame, path)},
	{"argv", MEMBER(struct frame, argv)},
	{"cpus", .most = 3, MEMBER_LIST(FORM_INTS, struct frame, cpus, ncpus)},
	{"seats", .of = &seats, MEMBER_LIST(FORM_RECORDS, struct frame, seats, nseats)},
	{0},
};

static int frame_loaded(const char *text, struct frame *ret, struct arena *a, struct err *err)
{
	json_t *o = json_loads(text, 0, NULL);
	int rc;

	assert_non_null(o);
	memset(ret, 0xa5, sizeof *ret);
	rc = record_read(frame_rows, 0, o, ret, a, err);
	json_decref(o);
	return rc;
}

static void test_lists_and_bytes_return(void **state)
{
	static const char all[] = "{\"path\":{\"hex\":\"2ffe\"},\"argv\":[\"a\",{\"hex\":\"ff\"},\"\"],\"cpus\":[0,7],"
				  "\"seats\":[{\"name\":\"n1\",\"join\":-1},{\"name\":\"n2\"}]}";
	struct arena *a = arena_create();
	struct strbuf out = {0};
	struct err err = {0};
	struct frame f;

	(void)state;
	assert_int_equal(frame_loaded(all, &f, a, &err), 0);
	assert_string_equal(f.path, "/\xfe");
	assert_string_equal(f.argv[1], "\xff");
	assert_string_equal(f.argv[2], "");
	assert_null(f.argv[3]);
	assert_true(f.ncpus == 2 && f.cpus[1] == 7);
	assert_true(f.nseats == 2 && f.seats[0].join == UINT64_MAX && f.seats[1].join == 0);
	assert_string_equal(f.seats[1].name, "n2");
	record_store_text(frame_rows, 0, &f, NULL, &out);
	assert_string_equal(out.text, all);
	strbuf_clear(&out);
	assert_int_equal(frame_loaded("{}", &f, a, &err), 0);
	assert_true(f.argv && !f.argv[0] && !f.ncpus && !f.nseats && !f.path);
	record_store_text(frame_rows, 0, &f, NULL, &out);
	assert_string_equal(out.text, "{}");
	strbuf_fini(&out);
	arena_destroy(a);
}

static void test_wrong_lists_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"{\"path\":{\"hex\":\"2f00\"}}", "bytes from 01"},
		{"{\"path\":{\"hex\":\"2f0\"}}", "two digits"},
		{"{\"path\":{\"octal\":\"57\"}}", "path must be a string"},
		{"{\"argv\":\"a\"}", "argv must be an array"},
		{"{\"argv\":[\"a\",1]}", "argv[1]"},
		{"{\"cpus\":[0,1,2,3]}", "at most 3"},
		{"{\"cpus\":[0,-1]}", "cpus[1]"},
		{"{\"seats\":[{\"name\":\"n1\"},{\"join\":1}]}", "seats[1]: a record lacks \"name\""},
		{"{\"seats\":[{\"name\":null}]}", "lacks \"name\""},
	};
	struct arena *a = arena_create();
	struct frame f;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct err err = {0};
		assert_int_equal(frame_loaded(wrong[i].text, &f, a, &err), -EINVAL);
		if (!strstr(err.text, wrong[i].says))
			fail_msg("%s: %s", wrong[i].text, err.text);
	}
	arena_destroy(a);
}

/* Records from text: any text gives what its JSON gives. */
struct letter {
	const char *to, *note;
	uint8_t weight;
	int32_t floor;
	int64_t sent;
	uint64_t number;
	bool urgent;
	enum state state;
	struct frame frame;
	struct seat seat;
};

static const struct field letter_rows[] = {
	{"to", .in = ALWAYS, .most = 8, MEMBER_AS(FORM_BYTES, struct letter, to)},
	{"note", MEMBER(struct letter, note)},
	{"weight", MEMBER(struct letter, weight)},
	{"floor", .missing = -1, MEMBER(struct letter, floor)},
	{"sent", .least = -5, .most = 1000, MEMBER(struct letter, sent)},
	{"number", MEMBER(struct letter, number)},
	{"urgent", MEMBER(struct letter, urgent)},
	{"state", .in = ALWAYS, .words = "idle|busy|down", MEMBER_AS(FORM_CHOICE, struct letter, state)},
	{"argv", MEMBER(struct letter, frame.argv)},
	{"cpus", .most = 3, MEMBER_LIST(FORM_INTS, struct letter, frame.cpus, frame.ncpus)},
	{"seat", .of = &seats, MEMBER_AS(FORM_RECORD, struct letter, seat)},
	{0},
};

static void text_compare(const char *text, size_t n)
{
	char *exact = malloc(n ? n : 1); /* a byte behind the text is found by the sanitizer */
	struct arena *a = arena_create();
	struct strbuf expected = {0}, found = {0};
	struct err err = {.text = ""}, other = {.text = ""};
	struct letter x, y;

	memcpy(exact, text, n);
	memset(&x, 0xa5, sizeof x);
	memset(&y, 0x5a, sizeof y);
	json_t *o = json_loadb(exact, n, 0, NULL);
	int rc = record_read(letter_rows, 0, o, &x, a, &err);
	json_decref(o);
	int same = record_read_text(letter_rows, 0, exact, n, &y, a, &other);
	free(exact);
	if (rc != same || strcmp(err.text, other.text) != 0)
		fail_msg("%.*s: %d (%s), not %d (%s)", (int)n, text, same, other.text, rc, err.text);
	if (rc == 0) {
		record_store_text(letter_rows, 0, &x, NULL, &expected);
		record_store_text(letter_rows, 0, &y, NULL, &found);
		assert_string_equal(found.text, expected.text);
	}
	strbuf_fini(&expected);
	strbuf_fini(&found);
	arena_destroy(a);
}

static void test_text_gives_what_its_json_gives(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"to\":\"a\",\"state\":\"busy\"}",
		" { \"to\" : \"a\" , \"state\" : \"idle\" , \"weight\" : 255 , \"urgent\" : true } ",
		"{\"to\":\"a\",\"state\":\"busy\"}x",
		"{\"to\":\"a\",\"state\":\"busy\",}",
		"{\"to\":null,\"state\":\"busy\"}",
		"{\"to\":\"123456789\",\"state\":\"busy\"}",
		"{\"to\":\"a\",\"state\":\"lost\"}",
		"{\"to\":\"a\",\"to\":\"b\",\"state\":\"busy\",\"cpus\":[1],\"cpus\":[]}",
		"{\"state\":\"down\",\"to\":{\"hex\":\"ff\"},\"argv\":[{\"hex\":\"fe\"}]}",
		"{\"to\":\"a\",\"state\":\"busy\",\"weight\":256}",
		"{\"to\":\"a\",\"state\":\"busy\",\"sent\":-6}",
		"{\"to\":\"a\",\"state\":\"busy\",\"cpus\":[0,1,2,3]}",
		"{\"to\":\"a\",\"state\":\"busy\",\"cpus\":[2147483648]}",
		"{\"to\":\"a\",\"state\":\"busy\",\"note\":\"\\u00e4\\u0000\"}",
		"{\"to\":\"a\",\"state\":\"busy\",\"seat\":{\"name\":\"n1\"},\"new\":[{}]}",
	};
	static const char text[] =
		"{\"to\":\"b\\\"c\",\"note\":\"\xc3\xa4\",\"weight\":7,\"floor\":-20,\"sent\":400,"
		"\"number\":90071992547,\"urgent\":true,\"state\":\"down\",\"argv\":[\"A=\\n\",\"\"],"
		"\"cpus\":[0,12]}";
	static const char letters[] = "\"\\{}[]:,0123-.eEtrufalsn \n\t/bx\x80\xc3\xa4\x7f";
	struct rng r;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		text_compare(texts[i], strlen(texts[i]));
	text_compare(text, sizeof text - 1);
	rng_seed(&r, 1);
	for (int i = 0; i < TEXTS; i++) {
		char changed[sizeof text];
		memcpy(changed, text, sizeof text);
		for (uint64_t k = 1 + rng_below(&r, 3); k > 0; k--)
			changed[rng_below(&r, sizeof text - 1)] = letters[rng_below(&r, sizeof letters)];
		text_compare(changed, sizeof text - 1 - (rng_below(&r, 8) ? 0 : rng_below(&r, sizeof text - 1)));
	}
}

/* Blanks, and members that have no row, do not hinder a glance; unusual texts do. */
static void test_glance(void **state)
{
	static const char *const usual[] = {
		"{\"to\":\"a\",\"weight\":200,\"urgent\":true,\"state\":\"busy\",\"cpus\":[1,2]}",
		" {\n\"to\" :\t\"a\" ,\r\n \"weight\" : 200 , \"urgent\" : true , \"state\" : \"busy\", \"cpus\" : [ 1 , 2 ] } \n",
		("{\"new\":{\"x\":[\"}\",\"\\\"]\",{}]},\"to\":\"a\",\"more\" : -1.5e3 ,\"weight\":200,\"urgent\":true,"
		 "\"state\":\"busy\",\"old\":null,\"cpus\":[1,2],\"last\":[]}"),
	};
	static const char *const unusual[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"to\":\"a\"}",
		"{\"state\":\"busy\"}",
		"{\"to\":\"a\",\"state\":\"busy\"",
		"{\"to\":\"a\",\"state\":\"busy\"}}",
		"{\"to\":\"a\",\"state\":\"lost\"}",
		"{\"to\":\"123456789\",\"state\":\"busy\"}",
		"{\"to\":\"a\",\"state\":\"busy\",\"weight\":256}",
		"{\"to\":\"a\",\"state\":\"busy\",\"weight\":-1}",
		"{\"to\":\"a\",\"state\":\"busy\",\"sent\":-6}",
		"{\"to\":\"a\",\"state\":\"busy\",\"sent\":1001}",
		"{\"to\":\"a\",\"state\":\"busy\",\"sent\":01}",
		"{\"to\":\"a\",\"state\":\"busy\",\"sent\":1.5}",
		"{\"to\":\"a\",\"state\":\"busy\",\"urgent\":1}",
		"{\"to\":\"a\",\"state\":\"busy\",\"urgent\":trues}",
		"{\"to\":\"a\",\"state\":\"busy\",\"cpus\":[1,2,3,4]}",
		"{\"to\":\"a\",\"state\":\"busy\",\"cpus\":[1,-1]}",
		"{\"to\":\"a\",\"state\":\"busy\",\"cpus\":[1,]}",
	};
	struct arena *a = arena_create();
	struct letter x;

	(void)state;
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		memset(&x, 0xa5, sizeof x);
		assert_true(record_glance(letter_rows, usual[i], strlen(usual[i]), &x, a));
		assert_string_equal(x.to, "a");
		assert_int_equal(x.weight, 200);
		assert_int_equal(x.floor, -1);
		assert_true(x.urgent);
		assert_int_equal(x.state, 1);
		assert_int_equal(x.frame.ncpus, 2);
		assert_int_equal(x.frame.cpus[1], 2);
	}
	for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
		if (record_glance(letter_rows, unusual[i], strlen(unusual[i]), &x, a))
			fail_msg("read: %s", unusual[i]);
	arena_destroy(a);
}

struct guest {
	name_list servers;
	const json_t *more;
	struct frame frame;
};
static const struct schema frame_schema = {.fields = frame_rows};
static const struct field guest_rows[] = {
	{"servers", .is = REQUIRED | IS_LIST, MEMBER_AS(FORM_NAMES, struct guest, servers)},
	{"more", MEMBER(struct guest, more)},
	{"frame", .of = &frame_schema, MEMBER_AS(FORM_RECORD, struct guest, frame)},
	{0},
};

static void test_names_and_json_return(void **state)
{
	static const char all[] = "{\"servers\":[\"a:1\",\"b:2\"],\"more\":{\"x\":[1,null]},\"frame\":{\"cpus\":[3],"
				  "\"seats\":[{\"name\":\"n1\"}]}}";
	json_t *o = json_loads(all, 0, NULL), *bad = json_pack("{s:[s,i]}", "servers", "a", 1);
	struct arena *a = arena_create();
	struct strbuf out = {0};
	struct guest g;
	struct err err;

	(void)state;
	assert_int_equal(record_read(guest_rows, 0, o, &g, a, &err), 0);
	assert_true(g.servers.n == 2 && strcmp(g.servers.v[1], "b:2") == 0);
	record_store_text(guest_rows, 0, &g, NULL, &out);
	assert_string_equal(out.text, all);
	strbuf_clear(&out);
	record_show_text(frame_rows, 0, &g.frame, NULL, &out);
	assert_string_equal(out.text, "{\"cpus\":[3],\"seats\":[{\"name\":\"n1\",\"join\":0}]}");
	strbuf_clear(&out);
	assert_int_equal(field_read(guest_rows, json_object_get(bad, "servers"), &g, NULL, &err), -EINVAL);
	assert_int_equal(g.servers.n, 2);
	record_free(guest_rows, &g);
	assert_int_equal(g.servers.n, 0);
	g = (struct guest){0};
	record_show_text(guest_rows, 0, &g, NULL, &out);
	assert_string_equal(out.text, "{\"servers\":[],\"frame\":{}}");
	strbuf_fini(&out);
	json_decref(o);
	json_decref(bad);
	arena_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_returns),
		cmocka_unit_test(test_missing_members),
		cmocka_unit_test(test_what_is_wrong_is_refused),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_lent_text),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_reals_return),
		cmocka_unit_test(test_lists_and_bytes_return),
		cmocka_unit_test(test_wrong_lists_are_refused),
		cmocka_unit_test(test_text_gives_what_its_json_gives),
		cmocka_unit_test(test_glance),
		cmocka_unit_test(test_names_and_json_return),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
