/*
 * slurm.h - workers from a Slurm cluster, through sbatch, squeue and scancel.
 *
 * All requests of a run have one job name, its *tag*, and their number as comment: so one squeue shows all of them, and one scancel ends all of them, also those
 * whose sbatch was never answered. The tag is in the bag's journal before the first sbatch.
 *
 * One command runs at a time, each for at most a minute. Nothing that a command does or leaves undone causes more requests than allowed:
 *  - a sbatch that fails, and a job that ends before a worker came, are followed by a pause, which doubles up to ten minutes, and a warning with the reason;
 *  - a job that squeue does not show for six calls' time has ended;
 *  - while squeue fails, everything stays as it was last seen, and squeue is called less often;
 *  - a job of ours that should not be there is cancelled when squeue shows it.
 */
#ifndef BAG_SLURM_H
#define BAG_SLURM_H

#include <stddef.h>

#include "bag/provider.h"

enum { TAG_SIZE = 48 };

struct slurm_options {
	const char *dir; /* of the bag: scripts and credentials are kept there */
	const char *tag;
	const char *words;		       /* more options for sbatch, separated by blanks; NULL: none */
	int64_t requests, processors, seconds; /* at once; of one; of one */
	int64_t each;			       /* processors that must be on one node */
	int64_t pace;			       /* seconds between calls of squeue */
	/* Writes a credential for `workers`; from then on they may join, until `uninvite`. */
	int (*invite)(void *arg, const char *path, int64_t workers, int id, struct err *err);
	void (*uninvite)(void *arg, int id);
	void (*warn)(void *arg, const char *text);
	void *arg;
};
/* The options are copied, their strings borrowed. */
struct provider *provider_slurm(const struct provider_broker *broker, const struct slurm_options *options);
/* Its request `id` has brought a worker. */
void slurm_joined(struct provider *p, int id);
bool slurm_has_joined(const struct provider *p, int id);
/* Ends all jobs with that tag, and waits for it up to half a minute. -errno with a sentence: they may still be there. */
int slurm_clear(const char *tag, struct err *err);

/* A line of squeue: "JOB|NUMBER|STATE". */
struct slurm_line {
	char job[64];
	int number;
	enum request_state state;
};
/* The next line of a text; false: there are no more. Lines that are something else are passed over. */
bool slurm_next(const char *text, size_t n, size_t *at, struct slurm_line *ret);

#endif
