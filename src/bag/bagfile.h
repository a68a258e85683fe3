/*
 * bagfile.h - bag files: one task per line.
 *
 *	# a comment
 *	#bag cpus=2 time=10m
 *	simulate --seed 1 > out.1
 *
 * A line is a command. Blank lines and comments are not tasks. `#bag` states what the tasks after
 * it need, up to the next `#bag`; words it leaves out return to their defaults. A bag made from a
 * command and values (expand.h) is written in the same form, so one parser reads both.
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
	/* bytes of a command; the longest argument that Linux accepts */
	BAG_LINE_MOST = 128 * 1024,
	BAG_TASKS_MOST = 100 * 1000 * 1000,
	BAG_NEEDS_MOST = 65536, /* distinct needs in one bag */
	BAG_CPU = 1000,		/* one CPU in the units of `cpus` */
	BAG_GRACE_MOST = 3600,	/* seconds from SIGTERM to SIGKILL */
};

/* Resources that a task needs from a worker. */
struct bag_need {
	int64_t cpus;	/* thousandths of a CPU; `cpus=0.5` is 500 */
	int64_t gpus;	/* whole GPUs */
	int64_t memory; /* KiB; 0: unknown */
	/* limit after which it is killed; it does not start where less is left; 0: no limit */
	int64_t seconds;
	char *in, *out; /* comma-separated file patterns, owned; NULL: none */
};

/* Kept at 16 bytes, because a bag may have millions. The number of a task is its position, from
 * 1. */
struct bag_task {
	uint64_t at;   /* offset of its command in the text */
	uint32_t n;    /* length of the command, bytes */
	uint32_t need; /* index into `needs` */
};

/* Owns its tasks and needs, and the text if it was opened from a file. */
struct bag {
	const char *text;
	size_t n;
	bool mapped;
	VEC(struct bag_task) tasks;
	VEC(struct bag_need) needs;
};

/* Parses a text, which is borrowed for the life of the bag. -EINVAL with the line number;
 * -E2BIG. */
int bag_parse(const char *text, size_t n, struct bag *ret, struct err *err);
/* Opens the file `tasks` of a bag's directory. Returns -ENOENT if it does not exist. */
int bag_open_in(const char *dir, struct bag *ret, struct err *err);
void bag_fini(struct bag *b);

/* Parses the words after `#bag`: "cpus=0.5 gpus=1 mem=2gb time=10m in=a.csv out=b.txt". The
 * caller frees `ret` with need_fini(). */
int need_parse(const char *text, struct bag_need *ret, struct err *err);
/* Writes these words in the shortest form; "" if everything is a default. */
void need_format(const struct bag_need *need, struct strbuf *out);
void need_fini(struct bag_need *need);
bool need_equal(const struct bag_need *a, const struct bag_need *b);

#endif
