/*
 * frames.c - see frames.h.
 */
#include "engine/frames.h"

#include "base/codec.h"

#define HELLO(member)                                                                                                  \
	{                                                                                                              \
#member, MEMBER(struct hello, member)                                                                  \
	}
#define SETTING(member)                                                                                                \
	{                                                                                                              \
#member, .is = REQUIRED, MEMBER(struct host_settings, member)                                          \
	}
#define WELCOME(member)                                                                                                \
	{                                                                                                              \
#member, MEMBER(struct welcome, member)                                                                \
	}
#define DIAL(member)                                                                                                   \
	{                                                                                                              \
#member, MEMBER(struct dial, member)                                                                   \
	}

enum { SETTINGS = 1 << 0, PONG = 1 << 1 };

static const struct field hello_rows[] = {
	HELLO(protocol), HELLO(version), HELLO(boot), HELLO(port), HELLO(epoch), HELLO(facts), HELLO(inventory), {0},
};
const struct schema hello_frame = {.fields = hello_rows};

static const struct field host_rows[] = {
	SETTING(cgroup),	 SETTING(root_jobs),	    SETTING(health_program), SETTING(health_every),
	SETTING(health_seconds), SETTING(certificate_life), SETTING(workstation),    {0},
};
static const struct schema host_settings = {.fields = host_rows};

static const struct field welcome_rows[] = {
	WELCOME(protocol),
	WELCOME(version),
	WELCOME(epoch),
	WELCOME(name),
	WELCOME(ca),
	WELCOME(heartbeat),
	WELCOME(revoked),
	WELCOME(spool),
	{"servers", .in = SETTINGS, MEMBER(struct welcome, servers)},
	{"settings", .of = &host_settings, .in = SETTINGS, MEMBER_AS(FORM_RECORD, struct welcome, settings)},
	{0},
};
const struct schema welcome_frame = {.fields = welcome_rows};
const struct schema settings_frame = {.fields = welcome_rows, .in = SETTINGS};

static const struct field ping_rows[] = {
	{"n", .in = PONG, MEMBER(struct ping, n)},
	{"load", MEMBER_AS(FORM_REAL, struct ping, state.load)},
	{"memory_free", .missing = -1, MEMBER(struct ping, state.memory_free)},
	{"users", MEMBER(struct ping, state.users)},
	{"disk_free", .is = SPARSE, .missing = -1, MEMBER(struct ping, state.disk_free)},
	{"now", .missing = -1, .in = PONG, MEMBER(struct ping, now)},
	{"health", .is = REQUIRED, MEMBER(struct ping, health)},
	{"owner", MEMBER(struct ping, owner)},
	{0},
};
const struct schema ping_frame = {.fields = ping_rows};
const struct schema pong_frame = {.fields = ping_rows, .in = PONG};

static const struct field dial_rows[] = {
	DIAL(what), DIAL(id), DIAL(user), DIAL(tag), DIAL(which), DIAL(path), DIAL(from), DIAL(follow), {0},
};
const struct schema dial_frame = {.fields = dial_rows};
