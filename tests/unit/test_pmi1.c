/*
 * test_pmi1.c - PMI-1: lines and their answers, the barrier over two hosts, what makes no sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "pmix/pmi1.h"

/* Ranks on the hosts that the digits say. */
static void layout_make(struct layout *l, const char *hosts, uint32_t here)
{
	*l = (struct layout){.arena = arena_create(), .name = "run", .size = (uint32_t)strlen(hosts), .here = here};
	l->rank = arena_alloc(l->arena, l->size * sizeof *l->rank);
	for (uint32_t i = 0; i < l->size; i++) {
		uint32_t host = (uint32_t)(hosts[i] - '0');
		while (l->host.n <= host)
			vec_push(&l->host, (struct layout_host){.name = "n"});
		l->rank[i] = (struct layout_rank){.node = host, .host = host};
	}
	layout_derive(l);
}

static const char *answer_to(struct pmi1 *p, size_t local, const char *line, enum pmi1_deed *ret)
{
	static char text[4096];
	struct strbuf answer = {0};

	*ret = pmi1_line(p, local, line, &answer);
	snprintf(text, sizeof text, "%s", strbuf_text(&answer));
	strbuf_fini(&answer);
	return text;
}

static void says(struct pmi1 *p, const char *line, const char *answer)
{
	enum pmi1_deed deed;

	assert_string_equal(answer_to(p, 0, line, &deed), answer);
	assert_int_equal(deed, PMI1_NOTHING);
}

static void does(struct pmi1 *p, const char *line, enum pmi1_deed expected, const char *answer)
{
	enum pmi1_deed deed;

	assert_string_equal(answer_to(p, 0, line, &deed), answer);
	assert_int_equal(deed, expected);
}

static void mapped(const char *hosts, const char *expected)
{
	struct layout l;
	struct pmi1 p;
	char answer[300];

	layout_make(&l, hosts, 0);
	pmi1_init(&p, &l);
	snprintf(answer, sizeof answer, "cmd=get_result rc=0 msg=success value=%s\n", expected);
	says(&p, "cmd=get kvsname=kvs_run key=PMI_process_mapping", answer);
	pmi1_fini(&p);
	layout_fini(&l);
}

static void test_mapping(void **state)
{
	mapped("0", "(vector,(0,1,1))");
	mapped("0000", "(vector,(0,1,4))");
	mapped("001122", "(vector,(0,3,2))");
	mapped("012012", "(vector,(0,3,1),(0,3,1))");
	mapped("00012", "(vector,(0,1,3),(1,2,1))");
}

static void test_lines(void **state)
{
	char line[2000];
	struct layout l;
	struct pmi1 p;

	layout_make(&l, "0011", 0);
	pmi1_init(&p, &l);
	does(&p, "cmd=init pmi_version=1 pmi_subversion=1", PMI1_CONNECTED,
	     "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	says(&p, "cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
	says(&p, "cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_run\n");
	says(&p, "cmd=get_universe_size", "cmd=universe_size size=4\n");
	says(&p, "cmd=get_appnum", "cmd=appnum appnum=0\n");
	says(&p, "cmd=get kvsname=kvs_run key=P0", "cmd=get_result rc=-1 msg=key_P0_not_found value=unknown\n");
	says(&p, "cmd=put kvsname=kvs_run key=P0 value=a=b#c", "cmd=put_result rc=0 msg=success\n");
	says(&p, "cmd=get kvsname=kvs_run key=P0", "cmd=get_result rc=0 msg=success value=a=b#c\n");
	says(&p, "cmd=put key= value=x", "cmd=put_result rc=-1 msg=bad_key_or_value\n");
	says(&p, "cmd=put key=x", "cmd=put_result rc=-1 msg=bad_key_or_value\n");
	snprintf(line, sizeof line, "cmd=put key=k value=%01100d", 7);
	says(&p, line, "cmd=put_result rc=-1 msg=bad_key_or_value\n");
	says(&p, "cmd=put key=P0 value=again", "cmd=put_result rc=0 msg=success\n");
	says(&p, "cmd=get key=P0", "cmd=get_result rc=0 msg=success value=again\n");
	says(&p, "cmd=put key=a=b value=x", "cmd=put_result rc=-1 msg=bad_key_or_value\n");
	says(&p, "cmd=get key=", "cmd=get_result rc=-1 msg=key__not_found value=unknown\n");
	says(&p, "cmd=get", "cmd=get_result rc=-1 msg=key__not_found value=unknown\n");
	says(&p, "cmd=lookup_name service=x", "cmd=lookup_result rc=-1 msg=not_supported\n");
	says(&p, "cmd=publish_name service=x port=y", "cmd=publish_result rc=-1 msg=not_supported\n");
	says(&p, "cmd=unpublish_name service=x", "cmd=unpublish_result rc=-1 msg=not_supported\n");
	assert_string_equal(strbuf_text(&p.fresh), "P0=a=b#c\nP0=again\n");
	does(&p, "cmd=finalize", PMI1_FINALIZED, "cmd=finalize_ack\n");
	does(&p, "cmd=abort exitcode=7", PMI1_ABORT, "");
	assert_int_equal(p.status, 7);
	does(&p, "cmd=abort", PMI1_ABORT, "");
	assert_int_equal(p.status, 0);
	does(&p, "mcmd=spawn", PMI1_SPAWN, "");
	does(&p, "cmd=init pmi_version=2 pmi_subversion=0", PMI1_UNFIT,
	     "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
	assert_non_null(strstr(p.reason, "speaks PMI 2"));
	does(&p, "cmd=teleport", PMI1_UNFIT, "");
	assert_non_null(strstr(p.reason, "teleport"));
	does(&p, "", PMI1_UNFIT, "");
	does(&p, "=", PMI1_UNFIT, "");
	pmi1_fini(&p);
	layout_fini(&l);
}

/* The longest key and value go through, also when they come from another host. */
static void test_bounds(void **state)
{
	char key[80], line[2000], data[4000], answer[2000];
	struct layout l;
	struct pmi1 p;

	layout_make(&l, "00", 0);
	pmi1_init(&p, &l);
	for (int more = 0; more < 2; more++) {
		snprintf(line, sizeof line, "cmd=put key=%0*d value=x", 64 + more, 1);
		says(&p, line,
		     more ? "cmd=put_result rc=-1 msg=bad_key_or_value\n" : "cmd=put_result rc=0 msg=success\n");
		snprintf(line, sizeof line, "cmd=put key=k value=%0*d", 1024 + more, 1);
		says(&p, line,
		     more ? "cmd=put_result rc=-1 msg=bad_key_or_value\n" : "cmd=put_result rc=0 msg=success\n");
	}
	snprintf(key, sizeof key, "%064d", 2);
	snprintf(data, sizeof data, "first=1\n%s=%01024d\n%01200d=x\nlast=2\n", key, 3, 0);
	pmi1_pass(&p, data, strlen(data));
	snprintf(line, sizeof line, "cmd=get key=%s", key);
	snprintf(answer, sizeof answer, "cmd=get_result rc=0 msg=success value=%01024d\n", 3);
	says(&p, line, answer);
	says(&p, "cmd=get key=first", "cmd=get_result rc=0 msg=success value=1\n");
	says(&p, "cmd=get key=last", "cmd=get_result rc=0 msg=success value=2\n");
	pmi1_fini(&p);
	layout_fini(&l);
}

/* What ranks of two hosts put is known to all after a barrier, and not before it was passed. */
static void test_barrier(void **state)
{
	struct layout l[2];
	struct pmi1 p[2];
	struct strbuf all = {0};
	enum pmi1_deed deed = PMI1_NOTHING;
	int fd;
	char text[64] = "";

	for (uint32_t i = 0; i < 2; i++) {
		layout_make(&l[i], "0011", i);
		pmi1_init(&p[i], &l[i]);
	}
	fd = pmi1_open(&p[0], 0);
	assert_true(fd >= 0);
	assert_int_equal(send(fd, "cmd=put key=P0 value=x\ncmd=barri", 32, 0), 32);
	pmi1_read(&p[0], 0);
	assert_true(pmi1_next(&p[0], 0, &deed));
	assert_false(pmi1_next(&p[0], 0, &deed));
	assert_int_equal(send(fd, "er_in\n", 6, 0), 6);
	pmi1_read(&p[0], 0);
	assert_true(pmi1_next(&p[0], 0, &deed));
	assert_int_equal(deed, PMI1_NOTHING);
	answer_to(&p[0], 0, "cmd=barrier_in", &deed); /* a rank counts once */
	assert_int_equal(deed, PMI1_NOTHING);
	answer_to(&p[0], 1, "cmd=put key=P1 value=y", &deed);
	answer_to(&p[0], 1, "cmd=barrier_in", &deed);
	assert_int_equal(deed, PMI1_FENCE);
	answer_to(&p[1], 0, "cmd=put key=P2 value=z", &deed);
	answer_to(&p[1], 0, "cmd=barrier_in", &deed);
	answer_to(&p[1], 1, "cmd=barrier_in", &deed);
	assert_int_equal(deed, PMI1_FENCE);
	for (int i = 0; i < 2; i++)
		strbuf_add(&all, p[i].fresh.text, p[i].fresh.n);
	for (int i = 0; i < 2; i++)
		pmi1_pass(&p[i], all.text, all.n);
	says(&p[0], "cmd=get key=P2", "cmd=get_result rc=0 msg=success value=z\n");
	says(&p[1], "cmd=get key=P0", "cmd=get_result rc=0 msg=success value=x\n");
	assert_true(recv(fd, text, sizeof text - 1, 0) > 0);
	assert_non_null(strstr(text, "put_result"));
	assert_non_null(strstr(text, "cmd=barrier_out\n"));
	answer_to(&p[0], 0, "cmd=barrier_in", &deed); /* the next one begins from the start */
	assert_int_equal(deed, PMI1_NOTHING);
	assert_int_equal(p[0].fresh.n, 0);
	answer_to(&p[0], 1, "cmd=barrier_in", &deed);
	assert_int_equal(deed, PMI1_FENCE);
	close(fd);
	for (int i = 0; i < 2; i++) {
		pmi1_fini(&p[i]);
		layout_fini(&l[i]);
	}
	strbuf_fini(&all);
}

/* A line without end, a rank that is gone. */
static void test_bad_ends(void **state)
{
	static char much[4096];
	enum pmi1_deed deed;
	struct layout l;
	struct pmi1 p;
	int fd;

	layout_make(&l, "00", 0);
	pmi1_init(&p, &l);
	fd = pmi1_open(&p, 0);
	memset(much, 'x', sizeof much);
	for (int i = 0; i < 100 && p.rank.v[0].fd >= 0; i++) {
		if (send(fd, much, sizeof much, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		pmi1_read(&p, 0);
		assert_false(pmi1_next(&p, 0, &deed));
	}
	assert_int_equal(p.rank.v[0].fd, -1);
	close(fd);
	fd = pmi1_open(&p, 1);
	close(fd);
	pmi1_read(&p, 1);
	assert_int_equal(p.rank.v[1].fd, -1);
	pmi1_pass(&p, "no line", 7);
	pmi1_pass(&p, "=\n\n=x\nk\n", 8);
	pmi1_fini(&p);
	layout_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapping), cmocka_unit_test(test_lines),	 cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_barrier), cmocka_unit_test(test_bad_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
