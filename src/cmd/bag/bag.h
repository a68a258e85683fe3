/*
 * bag.h - shared by the commands for bags.
 */
#ifndef CMD_BAG_H
#define CMD_BAG_H

#include <jansson.h>
#include <stdbool.h>

#include "bag/broker.h"
#include "base/strbuf.h"
#include "cmd/lib/command.h"

/* Options of `run` and `retry` that say how tasks are run. */
struct bag_how {
	int64_t workers, cpus, gpus, retries, losses, replicas, agree, invite, grace;
	const char *memory, *output;
	bool stream, apart, filler;
	struct texts on;
	int64_t requests, request_cpus, request_time;
	const char *submit, *adapter;
};
/* clang-format off */
#define BAG_HOW_OPTIONS(TYPE) \
	{"workers", OPTION_NUMBER, offsetof(TYPE, how.workers), "N", "1", NULL, 0, 1024, "Share the CPUs evenly among N worker processes; 0 needs --invite.", 0}, \
	{"cpus", OPTION_NUMBER, offsetof(TYPE, how.cpus), "N", NULL, NULL, 1, 100000, "Run tasks on N CPUs; otherwise on all that this process may use.", 'j'}, \
	{"gpus", OPTION_NUMBER, offsetof(TYPE, how.gpus), "N", "0", NULL, 0, 64, "Give tasks that need GPUs numbers from 0 to N-1 in CUDA_VISIBLE_DEVICES.", 0}, \
	{"memory", OPTION_TEXT, offsetof(TYPE, how.memory), "SIZE", NULL, NULL, 0, 0, "Memory for tasks that state what they need; otherwise all of this machine's.", 0}, \
	{"retries", OPTION_NUMBER, offsetof(TYPE, how.retries), "N", "2", NULL, 0, 200, "Run a task that fails up to N more times before it is set aside.", 0}, \
	{"losses", OPTION_NUMBER, offsetof(TYPE, how.losses), "N", "5", NULL, 1, 200, "Set a task aside when N workers have vanished while they ran it.", 0}, \
	{"grace", OPTION_SECONDS, offsetof(TYPE, how.grace), "TIME", "10", NULL, 0, BAG_GRACE_MOST, "Kill a task TIME after the SIGTERM that it gets at its time=, at Ctrl-C and when the bag is cancelled.", 0}, \
	{"output-limit", OPTION_TEXT, offsetof(TYPE, how.output), "SIZE", "16mb", NULL, 0, 0, "Keep at most SIZE of each output of a task, up to 1gb; what is beyond it is dropped, with a warning.", 0}, \
	{"replicas", OPTION_NUMBER, offsetof(TYPE, how.replicas), "N", "1", NULL, 1, 100, "When no task waits, run up to N copies of a task on idle workers; the first to succeed counts.", 0}, \
	{"agree", OPTION_NUMBER, offsetof(TYPE, how.agree), "N", "1", NULL, 1, 20, "Run each task until N results have the same output, on different workers if there are enough.", 0}, \
	{"on", OPTION_TEXTS, offsetof(TYPE, how.on), "PLACE", NULL, NULL, 0, 0, "Run tasks on PLACE: 'local', this host; 'slurm', 'pbs' or 'shunt', a cluster; 'ssh:HOSTS', as in ssh:n[1-4]. May be given more than once. Otherwise local.", 0}, \
	{"requests", OPTION_NUMBER, offsetof(TYPE, how.requests), "N", "3", NULL, 1, 64, "Have at most N requests at the cluster at once.", 0}, \
	{"request-cpus", OPTION_NUMBER, offsetof(TYPE, how.request_cpus), "N", "16", NULL, 1, 10000, "Request at most N CPUs at a time.", 0}, \
	{"request-time", OPTION_SECONDS, offsetof(TYPE, how.request_time), "TIME", "1h", NULL, 60, 31536000, "Request CPUs for at most TIME.", 0}, \
	{"adapter", OPTION_TEXT, offsetof(TYPE, how.adapter), "NAME", "ours", NULL, 0, 0, "How requests are chosen: ours, adaptive, mixed or static; for comparison initial, adaptive-as-printed, mixed-max or static-max.", 0}, \
	{"filler", OPTION_FLAG, offsetof(TYPE, how.filler), NULL, NULL, NULL, 0, 0, "Use only what is idle on a Shunt server (--on shunt): no other job starts later.", 0}, \
	{"submit", OPTION_TEXT, offsetof(TYPE, how.submit), "OPTIONS", NULL, NULL, 0, 0, "More options for sbatch or qsub, separated by blanks: '-p long -A me'.", 0}, \
	{"invite", OPTION_NUMBER, offsetof(TYPE, how.invite), "N", "0", NULL, 0, 10000, "Write N credentials, DIR/worker-1.key and so on: each lets one 'shunt bag worker --credential FILE' on another host join.", 0}, \
	{"copy-files", OPTION_FLAG, offsetof(TYPE, how.apart), NULL, NULL, NULL, 0, 0, "Workers on other hosts and clusters share no files with this one: each task runs there in a directory of its own, with the files of its in=, and those of its out= come back.", 0}, \
	{"stream", OPTION_FLAG, offsetof(TYPE, how.stream), NULL, NULL, NULL, 0, 0, "Print the outputs of tasks as they finish.", 's'}
/* clang-format on */

/* Returns the number of CPUs that this process may use. */
int64_t bag_cpus_here(void);

/* Finds the directory of an operand: itself, or that of a bag file. */
void bag_dir(const char *operand, struct strbuf *ret);

/* A view of several bags: the named ones, or all in the current directory. */
struct bags_view {
	int (*add)(const char *dir, json_t *all, struct err *err); /* adds the data of one bag */
	void (*print)(const json_t *all);
	bool json;		     /* print as JSON */
	const char *none;	     /* message if there is nothing */
	void (*others)(json_t *all); /* adds other data if no bag is named; or NULL */
};
int bags_show(const struct command *c, const struct operands *operands, const struct bags_view *v);

/* Writes "exit code 3", "signal 9 (Killed)" or "its worker was lost". Returns buf. */
const char *bag_status_text(int32_t status, char *buf, size_t size);

#endif
