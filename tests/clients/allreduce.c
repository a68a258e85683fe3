/*
 * allreduce.c - an MPI program: adds up arrays of all ranks, from a few bytes to some megabytes,
 * and passes blocks between all pairs. Rank 0 prints one line if every number is right.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int sums_are_right(int rank, int size, int n)
{
	double *mine = malloc((size_t)n * sizeof *mine), *sum = malloc((size_t)n * sizeof *sum);
	int good = 1;

	for (int i = 0; i < n; i++)
		mine[i] = rank + i % 7;
	MPI_Allreduce(mine, sum, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		good &= sum[i] == size * (size - 1) / 2 + (double)size * (i % 7);
	free(mine);
	free(sum);
	return good;
}

static int blocks_are_right(int rank, int size, int n)
{
	int *out = malloc((size_t)n * (size_t)size * sizeof *out), *in = malloc((size_t)n * (size_t)size * sizeof *in);
	int good = 1;

	for (int i = 0; i < n * size; i++)
		out[i] = rank * 1000 + i / n;
	MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < n * size; i++)
		good &= in[i] == i / n * 1000 + rank;
	free(out);
	free(in);
	return good;
}

int main(int argc, char **argv)
{
	int rank, size, good = 1, all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int n = 1; n <= 1 << 19; n *= 8) {
		good &= sums_are_right(rank, size, n);
		good &= blocks_are_right(rank, size, n / 8 + 1);
	}
	MPI_Reduce(&good, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("allreduce %d ranks: %s\n", size, all ? "right" : "wrong");
	MPI_Finalize();
	return 0;
}
