/*
 * worker.h - the process in which hooks run (the program shunt-hook), apart from the server.
 *
 * It reads frames (base/frame.h) from its standard input, which is a socket, and answers there:
 *
 *	{"do": "files", "files": [{"name", "bytes", "events", "broken"}]} and their texts
 *		sets the hooks; no answer
 *
 *	{"do": "check", "name"} and a text
 *		{"events": bits}, or {"error": a sentence}
 *
 *	{"do": "call", "event", "facts", "site", "refuses"} and what is submitted, or an object
 *	with `job` and, for modify, `asked`
 *		{"at": file} before each file's call; then {"answer": hook_answer} for each job;
 *		finally {"done": number of jobs}
 *
 *	{"do": "try", "name", "bytes", "event", "facts", "site"}, a text of that many bytes, and
 *	the rest as for call
 *		like call, but for this text only, the last frame with "events"; or
 *		{"error": a sentence}
 *
 *	{"do": "priority", "site"} and an array of jobs
 *		{"answer"} with what ran; then {"done", "values": a number for each job,
 *		"failed": some were not reached}
 *
 * Each request has "memory" (bytes) and "time_us" (processor time), the limits of a call. The
 * caller ends a process that stays in a call for longer.
 */
#ifndef HOOKS_WORKER_H
#define HOOKS_WORKER_H

#define HOOK_FRAME_MAX ((size_t)1 << 30)

/* Drops all privileges and answers until its input ends; returns the exit status. */
int hook_command(void);

#endif
