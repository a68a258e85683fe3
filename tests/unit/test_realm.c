/*
 * test_realm.c - a server's membership in its cluster: the authority and what is kept of it, the
 * address for others, certificates, the port, and the list of servers.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/overlays.h"
#include "server/site/realm.h"
#include "store/store.h"
#include "support/bare.h"
#include "support/site.h"
#include "tls/pki.h"

#define NOW INT64_C(1800000000)
#define YEAR INT64_C(31536000)

static int setup(void **state)
{
	bare_port = 7722;
	return site_setup(state, "n1:cpus=4", NOW);
}

static int teardown(void **state)
{
	struct site *f = *state;

	realm_close(f->s);
	return site_teardown(state);
}

static void pass(struct site *f, int64_t seconds)
{
	f->now += seconds;
	bare_clock(f->now * 1000000);
	clock_read(f->s);
}

static void conf(struct site *f, const char *name, const char *value)
{
	struct err err;

	if (conf_set(f->s->conf, name, value, &err) < 0)
		fail_msg("%s = %s: %s", name, value, err.text);
}

static void ready(struct site *f)
{
	struct err err;

	assert_int_equal(realm_begin(f->s, &err), 0);
}

static void on_link(void *context, struct link *l)
{
}

/* Opens the port, as the server does when it starts. */
static int opens(struct site *f, struct err *err)
{
	realm_locate(f->s);
	return realm_listen(f->s, on_link, err);
}

/* ---- the authority ---- */

static void authority_is_kept(void **state)
{
	struct site *f = *state;
	struct authority *a = &f->s->realm->authority;
	char print[FINGERPRINT_SIZE], secret[200];
	struct err err;

	ready(f);
	assert_int_equal(strlen(a->fingerprint), FINGERPRINT_SIZE - 1);
	assert_non_null(strstr(a->key, "PRIVATE KEY"));
	assert_true(strlen(a->secret) > 40);
	memcpy(print, a->fingerprint, sizeof print);
	snprintf(secret, sizeof secret, "%s", a->secret);
	ready(f); /* it replaces nothing that exists */
	assert_string_equal(a->fingerprint, print);
	assert_int_equal(store_commit(f->s->store, &err), 0);
	site_reopen(f);
	a = &f->s->realm->authority;
	assert_string_equal(a->fingerprint, print);
	assert_string_equal(a->secret, secret);
	assert_int_equal(realm_load(f->s, &err), 0); /* a standby does this again and again */
	assert_string_equal(a->fingerprint, print);
	assert_string_equal(a->secret, secret);
}

static void damaged_authorities(void **state)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{"authority", "{\"key\":\"k\"}"},
		{"authority", "{\"key\":\"k\",\"cert\":\"no certificate\"}"},
		{"authority", "{\"key\":1,\"cert\":\"c\"}"},
		{"authority", "{\"key\":null,\"cert\":\"c\"}"},
		{"secret", "{}"},
		{"secret", "{\"secret\":null}"},
		{"secret", "{\"secret\":7}"},
	};
	struct site *f = *state;
	struct authority before;
	struct err err;

	ready(f);
	before = f->s->realm->authority;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *o = json_loads(rows[i].value, 0, NULL);
		err.text[0] = '\0';
		assert_true(realm_object(f->s, rows[i].name, o, &err) < 0);
		assert_true(*err.text);
		assert_memory_equal(&before, &f->s->realm->authority, sizeof before); /* it is unchanged */
		json_decref(o);
	}
	assert_int_equal(realm_object(f->s, "another", NULL, &err), 0); /* a later version's */
}

/* ---- the address ---- */

static void addresses(void **state)
{
	static const struct {
		const char *listen, *given;
		int port; /* 0: the port is not open */
		const char *address;
	} rows[] = {
		{"none", "head.example.org", 0, ""},
		{"7722", "head.example.org", 0, "head.example.org:7722"},
		{"7722", "head.example.org:443", 0, "head.example.org:443"},
		{"7722", "[2001:db8::7]", 0, "[2001:db8::7]:7722"},
		{"7722", "[2001:db8::7]:443", 0, "[2001:db8::7]:443"},
		{"10.0.0.1:7722", "", 0, "10.0.0.1:7722"},
		{"10.0.0.1:7722", "head", 0, "head:7722"},
		{"[2001:db8::7]:80", "", 0, "[2001:db8::7]:80"},
		{"0.0.0.0:7722", "", 0, "HOST:7722"},
		{"[::]:7722", "", 0, "HOST:7722"},
		{"7722", "", 0, "HOST:7722"},
		{"10.0.0.1:0", "", 0, ""}, /* any port: none is known yet */
		{"10.0.0.1:0", "", 4711, "10.0.0.1:4711"},
	};
	struct site *f = *state;
	char host[256] = "", expected[600];
	struct err err;

	gethostname(host, sizeof host - 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		site_reopen(f);
		ready(f);
		conf(f, "cluster.listen", rows[i].listen);
		conf(f, "cluster.address", rows[i].given);
		bare_port = rows[i].port;
		if (bare_port)
			assert_int_equal(opens(f, &err), 0);
		else
			realm_locate(f->s);
		bool own = strncmp(rows[i].address, "HOST", 4) == 0;
		snprintf(expected, sizeof expected, "%s%s", own ? host : "", rows[i].address + (own ? 4 : 0));
		assert_string_equal(realm_address(f->s), expected);
	}
}

/* ---- the port ---- */

static uv_timer_t *renewal;

/* Finds the timer that is due in two thirds of a year. */
static void on_handle(uv_handle_t *h, void *s)
{
	if (h->type == UV_TIMER && h->data == s && uv_is_active(h) && uv_timer_get_repeat((uv_timer_t *)h) == 0)
		renewal = (uv_timer_t *)h;
}

/* Lets the certificate's renewal be due now. */
static void renew(struct site *f)
{
	renewal = NULL;
	uv_walk(f->s->loop, on_handle, f->s);
	assert_non_null(renewal);
	uv_timer_set_repeat(renewal, 1);
	uv_timer_again(renewal);
	while (uv_timer_get_repeat(renewal)) /* until it has set its next instant */
		uv_run(f->s->loop, UV_RUN_NOWAIT);
}

static void certificates_are_renewed(void **state)
{
	struct site *f = *state;
	struct tls_context *before;
	struct err err;
	char *key;
	uint64_t line = 0;

	f->s->log = log_create(SEVERITY_DEBUG);
	ready(f);
	conf(f, "cluster.listen", "7722");
	conf(f, "cluster.address", "head.example.org");
	assert_int_equal(realm_certified(f->s), 0);
	assert_null(realm_tls(f->s));
	assert_int_equal(opens(f, &err), 0);
	assert_string_equal(realm_address(f->s), "head.example.org:7722");
	assert_non_null(strstr(log_next(f->s->log, SEVERITY_NOTICE, &line)->text,
			       "other machines: port 7722, called head.example.org:7722, authority "));
	assert_int_equal(realm_certified(f->s), NOW + YEAR);
	before = realm_tls(f->s);
	assert_non_null(before);
	pass(f, 1000);
	assert_int_equal(opens(f, &err), 0); /* it is open */
	assert_int_equal(realm_certified(f->s), NOW + YEAR);
	renew(f);
	assert_int_equal(realm_certified(f->s), NOW + 1000 + YEAR);
	assert_true(uv_timer_get_due_in(renewal) > (uint64_t)(YEAR / 3 * 2 - 60) * 1000);
	key = f->s->realm->authority.key;
	f->s->realm->authority.key = mem_strdup("no key");
	pass(f, 1000);
	renew(f);
	assert_non_null(strstr(log_next(f->s->log, SEVERITY_ERROR, &line)->text, "(trying again in an hour)"));
	assert_int_equal(realm_certified(f->s), NOW + 1000 + YEAR);
	assert_true(uv_timer_get_due_in(renewal) <= 3600 * 1000);
	free(f->s->realm->authority.key);
	f->s->realm->authority.key = key;
	renew(f);
	assert_int_equal(realm_certified(f->s), NOW + 2000 + YEAR);
	realm_close(f->s);
	assert_false(uv_is_active((uv_handle_t *)renewal));
	realm_close(f->s);
}

static void ports(void **state)
{
	struct site *f = *state;
	struct err err;

	ready(f);
	assert_int_equal(opens(f, &err), 0); /* a personal one has none unless it is needed */
	assert_null(f->s->realm->listener);
	conf(f, "cluster.listen", "none");
	assert_int_equal(opens(f, &err), 0);
	assert_null(f->s->realm->listener);
	bare_port = 0;
	conf(f, "cluster.listen", "7722");
	assert_true(opens(f, &err) < 0);
	assert_string_equal(err.text, "listen in section [cluster]: no ports here");
	assert_null(f->s->realm->listener);
	conf(f, "cluster.listen", "");
	f->s->instance->where.system = true;
	assert_true(opens(f, &err) < 0);
	assert_non_null(strstr(realm_address(f->s), ":7722")); /* a system's own port */
	f->s->realm->authority.cert[30] ^= 1;
	assert_true(opens(f, &err) < 0);
	assert_non_null(strstr(err.text, "this server's certificate: "));
}

static void nodes_are_certified(void **state)
{
	struct site *f = *state;
	struct strbuf key = {0}, csr = {0}, cert = {0};
	struct cert_names names;
	int64_t from, until;
	struct err err;

	ready(f);
	bare_clock(0); /* certificates hold by the machine's clock */
	f->s->conf->certificate_life = 86400;
	assert_int_equal(pki_key(&key, &err), 0);
	assert_int_equal(pki_request(key.text, &csr, &err), 0);
	assert_int_equal(realm_certify(f->s, csr.text, csr.n, "n7", 12, &cert, &err), 0);
	assert_int_equal(pki_issued(f->s->realm->authority.cert, cert.text, &err), 0);
	assert_int_equal(pki_names(cert.text, &names, &err), 0);
	assert_int_equal(names.role, CERT_NODE);
	assert_string_equal(names.name, "n7");
	assert_int_equal(names.join, 12);
	assert_int_equal(pki_validity(cert.text, &from, &until, &err), 0);
	assert_int_equal(until - from, 2 * 86400); /* it begins a day ago */
	assert_true(realm_certify(f->s, "nonsense", 8, "n7", 12, &cert, &err) < 0);
	strbuf_fini(&key);
	strbuf_fini(&csr);
	strbuf_fini(&cert);
}

/* ---- the servers ---- */

/* Registers a server as it registers itself. */
static void registers(struct site *f, const char *owner, const char *address, bool jobs, bool stopped)
{
	char name[100], text[300];
	struct err err;

	snprintf(name, sizeof name, "server:%s", owner);
	snprintf(text, sizeof text, "{\"address\":\"%s\",\"seen\":%lld,\"jobs\":%s,\"stopped\":%s}", address,
		 (long long)f->now, jobs ? "true" : "false", stopped ? "true" : "false");
	assert_int_equal(store_register(f->s->store, "cluster", name, text, &err), 0);
}

static bool looks(struct site *f)
{
	struct err err;
	bool changed;

	assert_int_equal(realm_look(f->s, &changed, &err), 0);
	return changed;
}

static void servers_are(struct site *f, const char *text)
{
	json_t *list = agents_servers(f->s);
	char *found = json_dumps(list, JSON_COMPACT);

	assert_string_equal(found, text);
	free(found);
	json_decref(list);
}

static void roles_are(struct site *f, const char *text)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_array(&j, NULL);
	realm_roles(f->s, &j);
	json_close_array(&j);
	assert_string_equal(strbuf_text(&out), text);
	strbuf_fini(&out);
}

static void servers(void **state)
{
	struct site *f = *state;
	struct err err;
	bool jobs;

	snprintf(f->s->realm->owner, sizeof f->s->realm->owner, "own");
	servers_are(f, "[]");
	conf(f, "cluster.listen", "7722");
	conf(f, "cluster.address", "own");
	realm_locate(f->s);
	assert_false(looks(f));
	servers_are(f, "[\"own:7722\"]");
	assert_null(realm_other(f->s, true, &jobs));
	assert_int_equal(realm_register(f->s, false, &err), 0);
	assert_false(looks(f)); /* itself is not another */
	registers(f, "a", "a:1", false, false);
	pass(f, 10);
	registers(f, "b", "b:1", true, false);
	assert_true(looks(f));
	assert_false(looks(f));
	servers_are(f, "[\"own:7722\",\"b:1\",\"a:1\"]");
	assert_string_equal(realm_other(f->s, true, &jobs), "b:1");
	assert_false(jobs);
	assert_string_equal(realm_other(f->s, false, &jobs), "b:1");
	assert_true(jobs);
	registers(f, "b", "b:1", true, true);
	assert_false(looks(f));
	assert_string_equal(realm_other(f->s, true, &jobs), "a:1"); /* b was stopped */
	assert_null(realm_other(f->s, false, &jobs));		    /* a runs no jobs */
	pass(f, 140);
	looks(f);
	roles_are(f, "[{\"address\":\"own:7722\",\"role\":\"leader\",\"seen\":1800000150},"
		     "{\"address\":\"b:1\",\"role\":\"stopped\",\"seen\":1800000010},"
		     "{\"address\":\"a:1\",\"role\":\"standby\",\"seen\":1800000000}]");
	pass(f, 1);
	roles_are(f, "[{\"address\":\"own:7722\",\"role\":\"leader\",\"seen\":1800000151},"
		     "{\"address\":\"b:1\",\"role\":\"stopped\",\"seen\":1800000010},"
		     "{\"address\":\"a:1\",\"role\":\"silent\",\"seen\":1800000000}]");
	pass(f, 600 - 151);
	assert_string_equal(realm_other(f->s, true, &jobs), "a:1");
	pass(f, 1);
	assert_null(realm_other(f->s, true, &jobs)); /* it counts as gone */
	pass(f, 30 * 86400 - 602);
	assert_false(looks(f));
	pass(f, 1);
	assert_true(looks(f)); /* it is forgotten */
	servers_are(f, "[\"own:7722\",\"b:1\"]");
	for (int i = 0; i < 9; i++) {
		char name[] = {(char)('p' + i), '\0'};
		registers(f, name, i ? name : "own:7722", false, false);
	}
	assert_int_equal(store_register(f->s->store, "cluster", "server:z", "{\"seen\":\"x\"}", &err), 0);
	looks(f);
	json_t *list = agents_servers(f->s);
	assert_int_equal(json_array_size(list), 4); /* at most, none twice */
	json_decref(list);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(authority_is_kept),
		TEST(damaged_authorities),
		TEST(addresses),
		TEST(certificates_are_renewed),
		TEST(ports),
		TEST(nodes_are_certified),
		TEST(servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
