/*
 * test_bag_wire.c - messages between brokers and workers: what was put is read; nothing else is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bag/wire.h"

static const struct wire samples[] = {
	{.kind = WIRE_HELLO,
	 .version = 1,
	 .pid = 77,
	 .died = true,
	 .cpus = 64000,
	 .memory = -1,
	 .seconds = -1,
	 .text = "oak",
	 .ntext = 3,
	 .err = "key",
	 .nerr = 3},
	{.kind = WIRE_TASK,
	 .task = UINT32_MAX,
	 .attempt = 3,
	 .cpus = 500,
	 .gpus = 1,
	 .seconds = 60,
	 .grace = -3,
	 .output = 1 << 20,
	 .text = "echo a",
	 .ntext = 6},
	{.kind = WIRE_RESULT,
	 .task = 1,
	 .attempt = 1,
	 .status = -1,
	 .began = INT64_MAX,
	 .took = INT64_MIN,
	 .cut = true,
	 .text = "a\0b",
	 .ntext = 3,
	 .err = "e",
	 .nerr = 1},
	{.kind = WIRE_CHUNK, .task = 5, .to_err = true, .text = "x", .ntext = 1},
	{.kind = WIRE_DROP, .task = 200},
	{.kind = WIRE_RECALL},
	{.kind = WIRE_RETURNED, .task = 128},
	{.kind = WIRE_END},
	{.kind = WIRE_ASK, .text = "status", .ntext = 6},
	{.kind = WIRE_ANSWER, .text = "{}", .ntext = 2},
	{.kind = WIRE_APART, .task = 3, .text = "out.*", .ntext = 5},
	{.kind = WIRE_FILE,
	 .task = 3,
	 .attempt = 0755,
	 .to_err = true,
	 .text = "out.1",
	 .ntext = 5,
	 .err = "a\0b",
	 .nerr = 3},
};

static void round_trip(void **state)
{
	(void)state;
	struct strbuf out = {0};
	size_t at = 0;

	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		wire_add(&out, &samples[i]);
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		const struct wire *a = &samples[i];
		struct wire b;
		ssize_t n = wire_next(out.text + at, out.n - at, &b);
		assert_true(n > 0);
		for (ssize_t less = 0; less < n; less++) {
			struct wire none;
			assert_int_equal(wire_next(out.text + at, (size_t)less, &none), 0);
		}
		assert_int_equal(a->kind, b.kind);
		assert_true(a->task == b.task && a->attempt == b.attempt && a->cpus == b.cpus && a->gpus == b.gpus);
		assert_true(a->died == b.died && a->grace == b.grace && a->output == b.output);
		assert_true(a->memory == b.memory && a->seconds == b.seconds && a->status == b.status);
		assert_true(a->began == b.began && a->took == b.took && a->cut == b.cut && a->to_err == b.to_err);
		assert_true(a->pid == b.pid && a->version == b.version && a->ntext == b.ntext && a->nerr == b.nerr);
		assert_true(!a->ntext || memcmp(a->text, b.text, a->ntext) == 0);
		assert_true(!a->nerr || memcmp(a->err, b.err, a->nerr) == 0);
		at += (size_t)n;
	}
	assert_int_equal(at, out.n);
	strbuf_fini(&out);
}

static void refused(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = {
		{"\0\0\0\0\1", 5},					       /* nothing in it */
		{"\1\0\0\0\0", 5},					       /* no such kind */
		{"\1\0\0\0\15", 5},					       /* nor this */
		{"\1\0\20\0\10", 5},					       /* too long by a byte */
		{"\5\0\0\0\4\1\2\1a", 9},				       /* neither true nor false */
		{"\0\0\0\1", 4},					       /* too long, and not whole */
		{"\1\0\0\0\5", 5},					       /* a number is missing */
		{"\3\0\0\0\5\1\1", 7},					       /* something is left over */
		{"\3\0\0\0\11\5a", 7},					       /* a text longer than the message */
		{"\7\0\0\0\5\xff\xff\xff\xff\xff\1", 11},		       /* more than 32 bits */
		{"\14\0\0\0\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 16}, /* more than 64 */
	};
	struct wire w;

	assert_int_equal(wire_next("\0\0\20\0\12", 5, &w), 0); /* the longest, not yet whole */
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(wire_next(bad[i].bytes, bad[i].n, &w), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(refused)};
	return cmocka_run_group_tests_name("bag_wire", tests, NULL, NULL);
}
