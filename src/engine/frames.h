/*
 * frames.h - frames with which an agent and its server introduce themselves and stay in touch
 * (docs/protocol.md). Both ends use these schemas; texts and JSON are borrowed.
 */
#ifndef ENGINE_FRAMES_H
#define ENGINE_FRAMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostlist.h"

struct link;
struct schema;
struct spool_frame;

/* What a machine has. Read them into an arena. */
struct facts {
	int cpus;
	int *os_cpus, nos_cpus;	    /* the machine's number of each CPU, or none */
	int *numa_cpus, nnuma_cpus; /* NUMA node of each CPU; -1: not known */
	int sockets, cores, numa;
	int gpus;
	name_list gpu_names;
	int64_t memory, disk, swap; /* KiB */
	int64_t speed;		    /* operations per second of a small loop, in millions */
	char model[256], kernel[65], os[256], hostname[256], cgroup[8];
	bool guest; /* it stops when no server answers any more */
};
extern const struct schema facts_schema;
extern const struct schema facts_counted; /* numbers that the server computes with, and `guest` */
extern const struct schema facts_checked; /* these and os_cpus */

struct hello {
	int protocol, port; /* port: the agent's own */
	const char *version, *boot;
	uint64_t epoch; /* highest epoch that the agent has seen */
	const json_t *facts, *inventory;
};
extern const struct schema hello_frame;

/* A text that is NULL was not sent, by an older server. */
struct host_settings {
	const char *cgroup, *health_program;
	const char *workstation; /* its policy; "": the node is not a workstation */
	bool root_jobs;
	int health_every, health_seconds;
	int64_t certificate_life;
};

struct welcome {
	int protocol, heartbeat; /* heartbeat: seconds */
	const char *version, *name, *ca;
	uint64_t epoch;
	struct host_settings settings;
	const json_t *servers; /* addresses to try, the sender's first */
	const json_t *revoked, *spool;
};
extern const struct schema welcome_frame;
extern const struct schema settings_frame; /* `settings` and `servers` of a struct welcome */

/* The current state of a machine. */
struct host_state {
	double load;	     /* load average of the last minute */
	int64_t memory_free; /* KiB available to programs; -1: not known */
	int64_t users;	     /* users that are logged in, each counted once */
	int64_t disk_free;   /* KiB that the agent can write below its directory; -1: not known */
};

struct ping {
	int64_t n;
	struct host_state state;
	int64_t now;	     /* the sender's clock; -1: not known */
	const char *health;  /* what is wrong; "": healthy */
	const json_t *owner; /* news of a workstation's owner, or NULL */
};
extern const struct schema ping_frame;
extern const struct schema pong_frame; /* `n` and `now` of a struct ping */

/* Orders about a part that was started: frames `signal`, `limit`, `save`, `forget`, `clean`. */
struct part_frame {
	const char *tag;
	int signal;
	int64_t walltime; /* limit: seconds that it may run in all */
	const char *cause;
	int64_t seconds; /* save: time to make a checkpoint; 0: as its order says */
};
extern const struct schema part_frame;

/* A request to connect and send a file. */
struct dial {
	uint64_t id;
	const char *what, *user, *tag, *which, *path;
	int64_t from; /* offset of the first byte */
	bool follow;
};
extern const struct schema dial_frame;

/* Why the server does not take an agent. */
struct sorry {
	const char *reason;
	int64_t retry;	    /* seconds to wait; < 0: the node was removed from the cluster */
	const char *leader; /* address of the server that leads, or NULL */
};
extern const struct schema sorry_frame;

/* Sends a text in frames of a type, each with a piece; an empty text in one frame without data. */
void pieces_send(struct link *l, const char *type, const struct spool_frame *x, const char *text, size_t n);

#endif
