/*
 * test_bag_ssh.c - hosts reached by ssh, which a script stands in for: what it is called with, and
 * what becomes of a host when it ends.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/files.h"
#include "bag/provider.h"
#include "base/file.h"
#include "support/closed.h"

/* n1 stays; n2 is not there; n3 ends well; n4 ends without a word. */
static const char ssh[] = "#!/bin/sh\ncd ${0%/*}\necho \"$1 $2 $3 $4 $5 $6\" >asked.$5\ncat >key.$5\ncase $5 in\n"
			  "n1) exec sleep 1000;;\n"
			  "n2) printf 'first\\nno\\tway to n2\\r\\n\\n'; exit 255;;\n"
			  "n3) exit 0;;\nesac\nexit 3\n";

struct told {
	int over;
	char warning[5][150]; /* the last one of each host, n1 to n4 */
};

static char dir[64];
static struct told told;

static int prepare(void *arg, const struct provider_request *r, int64_t nodes, const char *key, struct strbuf *command,
		   struct err *err)
{
	assert_int_equal(nodes, 1);
	strbuf_printf(command, "worker %d\n", r->id);
	return file_replace(key, 0600, "secret", 6, 0);
}

static void over(void *arg, int id)
{
	((struct told *)arg)->over++;
}

static void warn(void *arg, const char *text)
{
	char *host = ((struct told *)arg)->warning[text[sizeof "ssh: n" - 1] - '0'];

	snprintf(host, sizeof told.warning[0], "%s", text);
}

static int setup(void **state)
{
	char path[4200];

	strcpy(dir, "/tmp/shunt-test-XXXXXX");
	told = (struct told){0};
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/ssh", dir);
	assert_int_equal(file_replace(path, 0700, ssh, sizeof ssh - 1, 0), 0);
	snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	return 0;
}

static int teardown(void **state)
{
	files_remove(dir);
	return 0;
}

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static const struct provider_user user = {
	.dir = dir, .tag = "ssh:shunt-bag-7", .pace = 10, .prepare = prepare, .over = over, .warn = warn, .arg = &told};

static struct provider *made(const char *place)
{
	const struct provider_options options = {.requests = 9, .processors = 9, .seconds = 60};
	struct err err = {.text = ""};
	struct provider *p = provider_create(place, &user, &options, &err);

	assert_string_equal(err.text, "");
	return p;
}

/* Polls at one instant until the request is over. */
static struct provider_request ended(struct provider *p, int id, int64_t now)
{
	struct provider_request r;

	do {
		p->kind->poll(p, now);
		usleep(1000);
		assert_true(p->kind->look(p, id, &r));
	} while (r.state == REQUEST_RUNNING);
	return r;
}

static void limits_are(struct provider *p, int64_t used, int64_t pending)
{
	struct provider_limits l;

	p->kind->limits(p, &l);
	assert_int_equal(l.used, used);
	assert_int_equal(l.pending, pending);
	assert_true(l.processors == 1 && l.seconds == -1 && !l.elastic);
}

static void lives(void **state)
{
	struct provider *p = made("ssh:n[1-4]");
	struct provider_request r;
	struct strbuf text = {0};
	struct err err;

	p->kind->poll(p, 1000);
	limits_are(p, 0, 4);
	for (int id = 1; id <= 4; id++)
		assert_int_equal(p->kind->request(p, 5, 60, &err), id);
	assert_int_equal(p->kind->request(p, 5, 60, &err), -EAGAIN);
	assert_string_equal(err.text, "no host is free");
	limits_are(p, 4, 0);
	r = ended(p, 2, 1000);
	assert_true(r.state == REQUEST_FAILED && r.fate == FATE_TAKEN && r.ended > 0);
	assert_string_equal(r.failure, "no?way to n2");
	r = ended(p, 3, 1000);
	assert_true(r.state == REQUEST_ENDED && r.fate == FATE_ENDED);
	assert_string_equal(r.failure, "");
	r = ended(p, 4, 1000);
	assert_true(r.state == REQUEST_FAILED && r.fate == FATE_ENDED);
	assert_string_equal(told.warning[4],
			    "ssh: n4: it ended without a message; it is tried again in 10 s at the earliest");
	assert_int_equal(told.over, 3);
	assert_true(p->kind->look(p, 1, &r));
	assert_true(r.state == REQUEST_RUNNING && r.processors == 5 && r.seconds == -1 && r.submitted > 0 &&
		    r.started == r.submitted && r.id == 1 && !r.joined);
	assert_string_equal(r.name, "n1");
	assert_false(p->kind->look(p, 0, &r) || p->kind->look(p, 5, &r));
	assert_int_equal(p->kind->plan(p, NULL, &err), -ENOTSUP);

	/* the key comes on standard input alone, and goes with its request */
	for (; file_read(at("key.n1"), 0, 100, &text) < 0 || text.n < 6; usleep(1000))
		strbuf_clear(&text);
	assert_string_equal(text.text, "secret");
	strbuf_clear(&text);
	assert_int_equal(file_read(at("asked.n1"), 0, 4096, &text), 0);
	assert_memory_equal(text.text, "-oBatchMode=yes -oConnectTimeout=120 -T -- n1 cd ", 49);
	assert_non_null(strstr(text.text,
			       " 2>/dev/null\nSHUNT_KEY=- SHUNT_NODE=0 SHUNT_CPUS= SHUNT_END= SHUNT_ALLOCATION=n1\n"
			       "export SHUNT_KEY SHUNT_NODE SHUNT_CPUS SHUNT_END SHUNT_ALLOCATION\nworker 1\n"));
	assert_null(strstr(text.text, "secret"));
	assert_int_equal(access(at("shunt-bag-7-1.key"), F_OK), 0);
	assert_int_equal(access(at("shunt-bag-7-2.key"), F_OK), -1);
	strbuf_fini(&text);

	p->kind->poll(p, 1009);
	limits_are(p, 1, 0);
	p->kind->poll(p, 1010);
	limits_are(p, 1, 3);
	p->kind->joined(p, 1);
	p->kind->cancel(p, 1);
	assert_true(p->kind->look(p, 1, &r));
	assert_true(r.state == REQUEST_ENDED && r.fate == FATE_TAKEN && r.joined);
	assert_int_equal(told.over, 4);
	assert_int_equal(access(at("shunt-bag-7-1.key"), F_OK), -1);
	limits_are(p, 0, 3); /* n1 has a pause as well */
	p->kind->poll(p, 1020);
	limits_are(p, 0, 4);
	p->kind->cancel(p, 99);
	p->kind->joined(p, 99);
	p->kind->destroy(p);
	assert_int_equal(told.over, 4);
}

/* A host that is not there is tried less and less often; one that does not join is given up. */
static void pauses(void **state)
{
	static const int64_t wanted[] = {10, 20, 40, 80, 160, 320, 600, 600};
	struct provider *p = made("ssh:n2");
	struct provider_request r;
	struct err err;
	int64_t now = 1000;
	char text[100];

	for (int i = 0; i < 8; i++) {
		p->kind->poll(p, now);
		assert_int_equal(p->kind->request(p, 1, 60, &err), i + 1);
		ended(p, i + 1, now);
		snprintf(text, sizeof text, "ssh: n2: no?way to n2; it is tried again in %d s at the earliest",
			 (int)wanted[i]);
		assert_string_equal(told.warning[2], text);
		p->kind->poll(p, now + wanted[i] - 1);
		limits_are(p, 0, 0);
		now += wanted[i];
	}
	p->kind->destroy(p);
	p = made("ssh:n1");
	p->kind->poll(p, now);
	assert_int_equal(p->kind->request(p, 1, 60, &err), 1);
	p->kind->poll(p, now + 120);
	p->kind->poll(p, now + 120);
	assert_true(p->kind->look(p, 1, &r) && r.state == REQUEST_RUNNING);
	r = ended(p, 1, now + 121);
	assert_true(r.state == REQUEST_FAILED && r.fate == FATE_TAKEN);
	p->kind->destroy(p);
	/* one that had joined is not given up */
	p = made("ssh:n1");
	p->kind->poll(p, now);
	assert_int_equal(p->kind->request(p, 1, 60, &err), 1);
	p->kind->joined(p, 1);
	for (int i = 0; i < 20; i++) {
		p->kind->poll(p, now + 5000);
		usleep(1000);
	}
	assert_true(p->kind->look(p, 1, &r) && r.state == REQUEST_RUNNING);
	p->kind->destroy(p);
}

static void refused(void **state)
{
	const struct provider_options options = {.requests = 1};
	struct err err;

	assert_null(provider_create("ssh:n[1-65]", &user, &options, &err));
	assert_string_equal(err.text, "ssh:n[1-65]: must name 1 to 64 hosts");
	assert_null(provider_create("ssh:n[1", &user, &options, &err));
	assert_memory_equal(err.text, "ssh:n[1", 7);
	struct provider *p = provider_create("ssh:n[1-64]", &user, &options, &err);
	assert_non_null(p);
	p->kind->destroy(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(lives), TEST(pauses), TEST(refused), CLOSED_TEST};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("bag_ssh", tests, closed_begin, NULL);
}
