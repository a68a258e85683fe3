/*
 * frames.h - what the server and a process that runs hooks send each other: frames (base/frame.h)
 * whose heads are these structs.
 *
 * - HOOK_DO_FILES: `files`, and their texts as data. Sets the hooks; no answer.
 * - HOOK_DO_CHECK: `name`, and a text. Answer: `events` or `error`.
 * - HOOK_DO_CALL: `event`, `facts`, `site`, `refuses`, and what is submitted, or an object with
 *   `job` and, for modify, `asked`. Answers: `at` before each file's call; then `answer` for each
 *   job; finally `done`.
 * - HOOK_DO_TRY: like a call, with `name` and `bytes`, and that text before the rest. Answers: like
 *   those of a call, but for this text only, the last one with `events`; or `error`.
 * - HOOK_DO_PRIORITY: `site`, and an array of jobs. Answers: `answer` with what ran; then `done`,
 *   `values` and `failed`.
 */
#ifndef HOOKS_FRAMES_H
#define HOOKS_FRAMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/schema.h"

struct hook_file;

#define HOOK_FRAME_MAX ((size_t)1 << 30)

enum hook_do { HOOK_DO_FILES, HOOK_DO_CHECK, HOOK_DO_CALL, HOOK_DO_TRY, HOOK_DO_PRIORITY };

struct hook_request {
	enum hook_do what;
	struct hook_file *files; /* without their texts, which have source.n bytes each */
	int nfiles;
	const char *name, *event; /* NULL: none */
	const json_t *facts, *site;
	bool refuses;  /* a hook that fails refuses the job */
	int64_t bytes; /* length of the text */
	/* limits of a call: processor time in us, bytes. The caller ends a process that stays in a
	 * call for longer. */
	int64_t time_us, memory;
};
extern const struct field hook_request_rows[];

struct hook_reply {
	const char *at;	      /* file whose call begins; NULL: none does */
	const char *error;    /* sentence that says why the text can't be used; NULL: none */
	const json_t *answer; /* struct hook_answer, see hook_answer_read(); NULL: none */
	int64_t done;	      /* number of jobs; -1: not done */
	int64_t events;	      /* bits of enum hook_event; -1: not checked */
	const json_t *values; /* number or null for each job; NULL: none */
	bool failed;	      /* some jobs got no number */
};
extern const struct field hook_reply_rows[];

#endif
