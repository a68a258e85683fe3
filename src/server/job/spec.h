/*
 * spec.h - a job as it was submitted: from what clients send to specs, and to the store and back.
 */
#ifndef SERVER_SPEC_H
#define SERVER_SPEC_H

#include "core/array.h"
#include "core/reqtext.h"
#include <sys/types.h>

enum mail_point { MAIL_ABORT = 1, MAIL_BEGIN = 2, MAIL_END = 4 };

/* A job as it was submitted, or altered; the elements of an array share one. Words are ids in server.words. */
struct spec {
	uint32_t refs;
	uint32_t owner, host, queue, resources, account, project;
	uid_t uid;
	gid_t gid;
	int64_t created;  /* instant */
	uint32_t origin;  /* server.origin of the server that accepted it; 0: it is older than that field */
	int64_t at;	  /* instant, or 0 */
	int64_t walltime; /* seconds */
	int64_t deadline; /* instant, or TIME_NEVER */
	double rank;
	uint64_t script; /* in the store; 0: none */
	uint32_t request;
	int16_t priority;
	uint8_t kind, powers;
	uint8_t mail; /* enum mail_point */
	uint8_t holds;
	uint32_t files_name; /* the name in its output's paths: the one it had when it was started; 0: its name */
	uint32_t eligible;   /* of an array's elements, or 1 or 0 of a job, when it was submitted; the first ones */
	bool rerunnable, interactive, array;
	bool legacy;  /* of a store that did not keep who was eligible, nor what was altered when */
	char *depend; /* canonical text, or NULL */
	char *array_text;
	char name[]; /* NUL-terminated */
};

#endif
