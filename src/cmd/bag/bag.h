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
	OPTION_ROW(NUMBER, 0, "workers", offsetof(TYPE, how.workers), "N", "Share the CPUs evenly among N worker processes; 0 needs --invite.", .initial = "1", .max = 1024), \
	OPTION_ROW(NUMBER, 'j', "cpus", offsetof(TYPE, how.cpus), "N", "Run tasks on N CPUs; otherwise on all that this process may use.", .min = 1, .max = 100000), \
	OPTION_ROW(NUMBER, 0, "gpus", offsetof(TYPE, how.gpus), "N", "Give tasks that need GPUs numbers from 0 to N-1 in CUDA_VISIBLE_DEVICES.", .initial = "0", .max = 64), \
	OPTION_ROW(TEXT, 0, "memory", offsetof(TYPE, how.memory), "SIZE", "Memory for tasks that state what they need; otherwise all of this machine's."), \
	OPTION_ROW(NUMBER, 0, "retries", offsetof(TYPE, how.retries), "N", "Run a task that fails up to N more times before it is set aside.", .initial = "2", .max = 200), \
	OPTION_ROW(NUMBER, 0, "losses", offsetof(TYPE, how.losses), "N", "Set a task aside when N workers have vanished while they ran it.", .initial = "5", .min = 1, .max = 200), \
	OPTION_ROW(SECONDS, 0, "grace", offsetof(TYPE, how.grace), "TIME", "Kill a task TIME after the SIGTERM that it gets at its time=, at Ctrl-C and when the bag is cancelled.", .initial = "10", .max = BAG_GRACE_MOST), \
	OPTION_ROW(TEXT, 0, "output-limit", offsetof(TYPE, how.output), "SIZE", "Keep at most SIZE of each output of a task, up to 1gb; what is beyond it is dropped, with a warning.", .initial = "16mb"), \
	OPTION_ROW(NUMBER, 0, "replicas", offsetof(TYPE, how.replicas), "N", "When no task waits, run up to N copies of a task on idle workers; the first to succeed counts.", .initial = "1", .min = 1, .max = 100), \
	OPTION_ROW(NUMBER, 0, "agree", offsetof(TYPE, how.agree), "N", "Run each task until N results have the same output, on different workers if there are enough.", .initial = "1", .min = 1, .max = 20), \
	OPTION_ROW(TEXTS, 0, "on", offsetof(TYPE, how.on), "PLACE", "Run tasks on PLACE: 'local', this host; 'slurm', 'pbs' or 'shunt', a cluster; 'ssh:HOSTS', as in ssh:n[1-4]. May be given more than once. Otherwise local."), \
	OPTION_ROW(NUMBER, 0, "requests", offsetof(TYPE, how.requests), "N", "Have at most N requests at the cluster at once.", .initial = "3", .min = 1, .max = 64), \
	OPTION_ROW(NUMBER, 0, "request-cpus", offsetof(TYPE, how.request_cpus), "N", "Request at most N CPUs at a time.", .initial = "16", .min = 1, .max = 10000), \
	OPTION_ROW(SECONDS, 0, "request-time", offsetof(TYPE, how.request_time), "TIME", "Request CPUs for at most TIME.", .initial = "1h", .min = 60, .max = 31536000), \
	OPTION_ROW(TEXT, 0, "adapter", offsetof(TYPE, how.adapter), "NAME", "How requests are chosen: ours, adaptive, mixed or static; for comparison initial, adaptive-as-printed, mixed-max or static-max.", .initial = "ours"), \
	OPTION_ROW(FLAG, 0, "filler", offsetof(TYPE, how.filler), NULL, "Use only what is idle on a Shunt server (--on shunt): no other job starts later."), \
	OPTION_ROW(TEXT, 0, "submit", offsetof(TYPE, how.submit), "OPTIONS", "More options for sbatch or qsub, separated by blanks: '-p long -A me'."), \
	OPTION_ROW(NUMBER, 0, "invite", offsetof(TYPE, how.invite), "N", "Write N credentials, DIR/worker-1.key and so on: each lets one 'shunt bag worker --credential FILE' on another host join.", .initial = "0", .max = 10000), \
	OPTION_ROW(FLAG, 0, "copy-files", offsetof(TYPE, how.apart), NULL, "Workers on other hosts and clusters share no files with this one: each task runs there in a directory of its own, with the files of its in=, and those of its out= come back."), \
	OPTION_ROW(FLAG, 's', "stream", offsetof(TYPE, how.stream), NULL, "Print the outputs of tasks as they finish.")
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
