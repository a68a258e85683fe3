/*
 * frames.c - see frames.h.
 */
#include "engine/frames.h"

#include "base/amount.h"
#include "base/codec.h"
#include "client/tray.h"
#include "net/link.h"

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
#define PART(member)                                                                                                   \
	{                                                                                                              \
#member, .is = SPARSE, MEMBER(struct part_frame, member)                                               \
	}
#define DIAL(member)                                                                                                   \
	{                                                                                                              \
#member, MEMBER(struct dial, member)                                                                   \
	}

enum { SETTINGS = 1 << 0, PONG = 1 << 1, COUNTED = 1 << 2, LISTED = 1 << 3 };

#define FACT(member) MEMBER(struct facts, member)
#define FACT_TEXT(member)                                                                                              \
	{                                                                                                              \
#member, .is = REQUIRED, MEMBER_CHARS(struct facts, member)                                            \
	}
#define FACT_INTS(member) MEMBER_LIST(FORM_INTS, struct facts, member, n##member)

static const struct field facts_rows[] = {
	{"cpus", .in = COUNTED | ALWAYS, .least = 1, .most = 65536, FACT(cpus)},
	{"os_cpus", .in = LISTED, .most = 65536, FACT_INTS(os_cpus)},
	{"numa_cpus", FACT_INTS(numa_cpus)},
	{"sockets", FACT(sockets)},
	{"cores", FACT(cores)},
	{"numa", FACT(numa)},
	FACT_TEXT(model),
	{"gpus", .in = COUNTED, .most = 1024, FACT(gpus)},
	{"gpu_names", .is = REQUIRED, MEMBER_AS(FORM_NAMES, struct facts, gpu_names)},
	{"memory", .in = COUNTED | ALWAYS, .least = 1, .most = MEMORY_MAX, FACT(memory)},
	{"disk", .in = COUNTED, .most = MEMORY_MAX, FACT(disk)},
	{"swap", .in = COUNTED, .most = MEMORY_MAX, FACT(swap)},
	{"speed", FACT(speed)},
	FACT_TEXT(kernel),
	FACT_TEXT(os),
	FACT_TEXT(hostname),
	FACT_TEXT(cgroup),
	{"guest", .is = SPARSE, .in = COUNTED, FACT(guest)},
	{0},
};
const struct schema facts_schema = {.fields = facts_rows};
const struct schema facts_counted = {.fields = facts_rows, .in = COUNTED};
const struct schema facts_checked = {.fields = facts_rows, .in = COUNTED | LISTED};

const struct schema hello_frame = {FIELDS(HELLO(protocol), HELLO(version), HELLO(boot), HELLO(port), HELLO(epoch),
					  HELLO(facts), HELLO(inventory))};

static const struct schema host_settings = {FIELDS(SETTING(cgroup), SETTING(root_jobs), SETTING(health_program),
						   SETTING(health_every), SETTING(health_seconds),
						   SETTING(certificate_life), SETTING(workstation))};

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

const struct schema part_frame = {FIELDS(PART(tag), PART(signal), PART(walltime), PART(cause), PART(seconds))};

const struct schema dial_frame = {
	FIELDS(DIAL(what), DIAL(id), DIAL(user), DIAL(tag), DIAL(which), DIAL(path), DIAL(from), DIAL(follow))};

const struct schema sorry_frame = {FIELDS({"reason", MEMBER(struct sorry, reason)},
					  {"retry", .is = REQUIRED, MEMBER(struct sorry, retry)},
					  {"leader", MEMBER(struct sorry, leader)})};

void pieces_send(struct link *l, const char *type, const struct spool_frame *x, const char *text, size_t n)
{
	struct spool_frame f = *x;

	f.size = (int64_t)n;
	for (size_t at = 0; at == 0 || at < n; at += SPOOL_PIECE) {
		size_t piece = n - at < SPOOL_PIECE ? n - at : SPOOL_PIECE;
		f.at = (int64_t)at;
		link_record_data(l, type, &spool_frames, &f, piece ? text + at : NULL, piece);
	}
}
