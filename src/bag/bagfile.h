/*
 * bagfile.h - bag files: a task per line.
 *
 *	# a comment
 *	#bag cpus=2 time=10m
 *	simulate --seed 1 > out.1
 *
 * A line is a command. Blank lines and comments count nothing. `#bag` states what the tasks after it need, up to the next `#bag`; words that it leaves out
 * return to their defaults. A bag that was made from a command and values (expand.h) is written in the same form, so that one parser reads both.
 */
#ifndef BAG_BAGFILE_H
#define BAG_BAGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	BAG_LINE_MOST = 128 * 1024, /* bytes of a command: what Linux takes as one argument */
	BAG_TASKS_MOST = 100 * 1000 * 1000,
	BAG_NEEDS_MOST = 65536, /* different needs in one bag */
	BAG_CPU = 1000,		/* a CPU in the units of `cpus` */
};

/* What a task needs of a worker. */
struct bag_need {
	int64_t cpus;	 /* thousandths of a CPU; `cpus=0.5` is 500 */
	int64_t gpus;	 /* whole ones */
	int64_t memory;	 /* KiB; 0: unknown */
	int64_t seconds; /* it is killed after that time, and not started where less is left; 0: without limit */
	char *in, *out;	 /* patterns of files, joined by commas; NULL: none. Owned */
};

/* 16 bytes: a bag may have millions. The number of a task is its position, from 1. */
struct bag_task {
	uint64_t at;   /* of its command in the text */
	uint32_t n;    /* bytes */
	uint32_t need; /* position in `needs` */
};

/* Owns its tasks and needs, and the text if it was opened from a file. */
struct bag {
	const char *text;
	size_t n;
	bool mapped;
	VEC(struct bag_task) tasks;
	VEC(struct bag_need) needs;
};

/* Reads a text, which is borrowed for the life of the bag. -EINVAL with the line's number; -E2BIG. */
int bag_parse(const char *text, size_t n, struct bag *ret, struct err *err);
/* The same for a file, which is mapped and must not change. */
int bag_open(const char *path, struct bag *ret, struct err *err);
/* The file `tasks` of a bag's directory. -ENOENT: it has none. */
int bag_open_in(const char *dir, struct bag *ret, struct err *err);
void bag_fini(struct bag *b);

/* The words after `#bag`: "cpus=0.5 gpus=1 mem=2gb time=10m in=a.csv out=b.txt". `ret` is owned by the caller. */
int need_parse(const char *text, struct bag_need *ret, struct err *err);
/* The same words again, the shortest form; "" if everything is a default. */
void need_format(const struct bag_need *need, struct strbuf *out);
void need_fini(struct bag_need *need);
bool need_equal(const struct bag_need *a, const struct bag_need *b);

#endif
