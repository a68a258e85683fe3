/*
 * count_mpi.c - the same with MPI: every rank counts, and all of them save one consistent checkpoint.
 *
 *	mpicc -o count_mpi count_mpi.c;  echo 'mpirun ./count_mpi 1000 "$@"' | qsub -l nodes=1:ppn=2 -c enabled
 *
 * The signal reaches the ranks at different moments, some of them perhaps not at all: so they agree after each step whether to save, and what one has heard all do. Each rank writes a
 * file of its own; only when all of them are written does the first rank create `done`.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t asked; /* 1: save; 2: save, and end */

static void on_periodic(int signal)
{
	(void)signal;
	if (asked < 1)
		asked = 1;
}

static void on_preempt(int signal)
{
	(void)signal;
	asked = 2;
}

static FILE *open_state(const char *dir, int rank, const char *mode)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/state.%d", dir, rank);
	return fopen(path, mode);
}

/* mpirun hears the signal, and passes it on, before the ranks are there: one that is waited for already is found by its notice. */
static void look_first(void)
{
	char path[4096], line[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/notice", getenv("SHUNT_CHECKPOINT_DIR"));
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (!strcmp(line, "final=yes\n"))
			asked = 2;
		else if (!strcmp(line, "final=no\n"))
			asked = 1;
	if (f)
		fclose(f);
}

/* The same answer in all ranks: whether everything of all of them is there. */
static int save(int rank, long n, long sum)
{
	char dir[4096], done[4200];
	int well = 0, all = 0;
	FILE *f;

	snprintf(dir, sizeof dir, "%s/new", getenv("SHUNT_CHECKPOINT_DIR"));
	snprintf(done, sizeof done, "%s/done", dir);
	f = open_state(dir, rank, "w");
	if (f) {
		well = fprintf(f, "%ld %ld\n", n, sum) > 0;
		well = fclose(f) == 0 && well;
	}
	MPI_Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (all && rank == 0) {
		f = fopen(done, "w");
		all = f && fclose(f) == 0;
	}
	MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char **argv)
{
	struct sigaction periodic = {.sa_handler = on_periodic, .sa_flags = SA_RESTART};
	struct sigaction preempt = {.sa_handler = on_preempt, .sa_flags = SA_RESTART};
	const char *from = getenv("SHUNT_RESTART");
	long most = argc > 1 ? atol(argv[1]) : 100, n = 0, sum = 0, total = 0;
	int rank, size, saved = 0;

	sigaction(SIGUSR1, &periodic, NULL);
	sigaction(SIGUSR2, &preempt, NULL);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (from) {
		FILE *f = open_state(from, rank, "r");
		if (!f || fscanf(f, "%ld %ld", &n, &sum) != 2) {
			fprintf(stderr, "count_mpi: the state of rank %d in %s can't be read\n", rank, from);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
		fclose(f);
	}
	look_first();
	while (n < most) {
		int mine = asked, any;
		n++;
		sum += n * (rank + 1); /* the work */
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		if (!any)
			continue;
		saved = save(rank, n, sum);
		if (mine == asked && (saved || any == 1)) /* the last one is tried again */
			asked = 0;
		if (saved && any == 2)
			break;
	}
	MPI_Reduce(&sum, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0 && n == most)
		printf("%d ranks counted to %ld: %ld\n", size, n, total);
	MPI_Finalize();
	return 0;
}
