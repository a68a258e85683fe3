/*
 * submit_work.h - a submission under way: api_submit.c takes it from step to step.
 */
#ifndef SERVER_SUBMIT_WORK_H
#define SERVER_SUBMIT_WORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "rules/quota.h"
#include "server/base/asker.h"
#include "server/base/tried.h"
#include "server/base/work.h"
#include "server/book/quotas.h"
#include "server/job/keys.h"
#include "server/job/submission.h"

struct hook_ask;
struct http_request;

/* A submission under way. All of its jobs are read and checked before any is accepted, and those that were read count in limits. A small one is accepted
 * in one turn; a large one is done in slices (work.h, intake.h). */
struct submit_work {
	struct work work;
	struct http_request *r;
	struct asker who;
	json_t *body; /* as it was sent; an array of what has been read of a large one */
	size_t at;    /* in its text */
	VEC(struct submission) jobs;
	struct trial trial; /* what they made the server intern, until they are accepted */
	struct quota_bill bill;
	bool bulk;
	bool special; /* some have deadlines: the answer says whether they are kept */
	bool keyed;
	char key[KEY_MAX + 1];
	uint64_t first;	   /* number */
	size_t staged;	   /* those whose records are in the store */
	size_t begun;	   /* those whose jobs are all there */
	uint32_t id, done; /* the core id of the next one's first job; how many of it are there */
	size_t written;	   /* of the answer */
	size_t asked;	   /* those whose guarantees were asked about */
	int64_t until;	   /* how far the search for the next one's has come; 0: it has not begun */
	enum { SUBMIT_HOOK, SUBMIT_READ, SUBMIT_ASK, SUBMIT_STAGE, SUBMIT_BEGIN, SUBMIT_WRITE, SUBMIT_UNDO } phase;
	struct hook_ask *hook; /* what the site's hooks are asked, and have said; NULL: nothing */
	bool before;	       /* some are to run before others that wait */
	struct err err;	       /* UNDO: why */
	struct strbuf out;
	struct json j;
};

#endif
