/*
 * history.c (bench_history) - fills a store with a history of jobs that ended in the last three
 * years, as a server would have written it.
 *
 *	bench_history STORE ROWS
 */
#include "store/history.h"

#include <stdio.h>
#include <time.h>

#include "base/rng.h"
#include "bench.h"

#define YEARS 3
#define BATCH 20000		  /* rows per commit */
#define FIRST INT64_C(1000000000) /* job numbers that the server's own jobs do not reach */
#define USERS 200
#define QUEUES 10
#define NAMES 500

static struct history_row row_make(struct rng *rng, int64_t i, int64_t rows, int64_t now, char text[5][64])
{
	int64_t user = (int64_t)rng_below(rng, USERS), cpus = INT64_C(1) << rng_below(rng, 6);
	int64_t ran = (int64_t)rng_exponential(rng, 3600) + 1,
		ended = now - (rows - i) * (YEARS * INT64_C(31536000)) / rows;
	bool failed = rng_below(rng, 20) == 0;

	snprintf(text[0], 64, "user%03lld", (long long)user);
	snprintf(text[1], 64, "group%02lld", (long long)(user / 10));
	snprintf(text[2], 64, "queue%lld", (long long)rng_below(rng, QUEUES));
	snprintf(text[3], 64, "simulation_%03lld", (long long)rng_below(rng, NAMES));
	snprintf(text[4], 64, "node%04lld/0+node%04lld/1", (long long)rng_below(rng, 1000),
		 (long long)rng_below(rng, 1000));
	return (struct history_row){
		.key = job_key((uint64_t)(FIRST + i), -1),
		.attempt = 1,
		.last = true,
		.user = text[0],
		.group = text[1],
		.account = user % 2 ? text[1] : NULL,
		.queue = text[2],
		.name = text[3],
		.resources = "nodes=1:ppn=4,mem=8gb",
		.hosts = text[4],
		.state = failed ? "failed" : "completed",
		.exit_status = failed,
		.submitted = ended - 2 * ran,
		.started = ended - ran,
		.ended = ended,
		.nodes = 1,
		.cpus = cpus,
		.memory_kib = 8 << 20,
		.walltime = 2 * ran,
		.ran_ms = ran * 1000,
		.cpu_ms = ran * 900 * cpus,
		.peak_kib = (int64_t)rng_below(rng, 8 << 20),
	};
}

int main(int argc, char **argv)
{
	struct store_leader leader;
	struct store *s;
	struct rng rng;
	struct err err;
	char text[5][64];

	if (argc != 3)
		bench_fail("usage: bench_history STORE ROWS");
	int64_t rows = bench_number(argv[2]), now = (int64_t)time(NULL);
	if (store_open(argv[1], &s, &err) < 0 || store_lead(s, "bench", "", 0, 60000, &leader, &err) < 0)
		bench_fail("%s", err.text);
	rng_seed(&rng, 1);
	for (int64_t i = 1; i <= rows; i++) {
		struct history_row row = row_make(&rng, i, rows, now, text);
		store_put_history(s, &row);
		if (i % BATCH != 0 && i != rows)
			continue;
		if (store_commit(s, &err) < 0 || store_file(s, BATCH, &err) < 0 || store_commit(s, &err) < 0)
			bench_fail("%s", err.text);
	}
	store_close(s);
	return 0;
}
