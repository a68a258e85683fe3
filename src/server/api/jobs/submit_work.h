/*
 * submit_work.h - a submission in progress: api_submit.c takes it from step to step.
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

struct call;
struct hook_ask;
struct http_request;
struct server;

/* A submission in progress. All of its jobs are read and checked before any is accepted, and those
 * already read count in limits. A small one is accepted in one turn; a large one is processed in
 * slices (work.h, intake.h). */
struct submit_work {
	struct work work;
	struct http_request *r;
	struct asker who;
	const char *text; /* text of the jobs: the request's body, or what was made of it */
	size_t ntext;
	json_t *body; /* its value; for a large one, an array of the jobs read so far */
	size_t at;    /* position in its text */
	VEC(struct submission) jobs;
	struct trial trial; /* words and requests interned for the jobs until they are accepted */
	struct quota_bill bill;
	bool bulk;
	bool special; /* some have deadlines: the answer shows if these are guaranteed */
	bool keyed;
	char key[KEY_MAX + 1];
	uint64_t first; /* number of the first job */
	size_t staged;	/* submissions whose records are in the store */
	size_t begun;	/* submissions whose jobs all exist */
	/* core id of the next submission's first job; number of its jobs that exist */
	uint32_t id, done;
	size_t written; /* jobs written to the answer */
	size_t asked;	/* submissions whose guarantees were checked */
	int64_t until;	/* how far the search for the next guarantee has come; 0: not begun */
	enum { SUBMIT_HOOK, SUBMIT_READ, SUBMIT_ASK, SUBMIT_STAGE, SUBMIT_BEGIN, SUBMIT_WRITE, SUBMIT_UNDO } phase;
	struct hook_ask *hook; /* question to the site's hooks and their answer; NULL: none */
	bool before;	       /* some are to run before other waiting jobs */
	struct err err;	       /* UNDO: the reason */
	struct strbuf out;
	struct json j;
};

/* Begins a submission of `job`, which is given away; NULL: of the request's body. */
void submit_start(struct server *s, const struct call *c, json_t *job);

#endif
