/*
 * rounds.c - an MPI program that lasts: a number goes round all ranks, each adds one, until the
 * file named by the first argument is there; then rank 0 says whether the number is right. The
 * second argument is a file that rank 0 makes after the first round.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, rounds = 0, stop = 0;
	long number = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while (!stop) {
		if (rank > 0)
			MPI_Recv(&number, 1, MPI_LONG, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		number++;
		MPI_Send(&number, 1, MPI_LONG, (rank + 1) % size, 0, MPI_COMM_WORLD);
		if (rank == 0)
			MPI_Recv(&number, 1, MPI_LONG, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		rounds++;
		stop = rank == 0 && access(argv[1], F_OK) == 0;
		if (rank == 0 && rounds == 1)
			fclose(fopen(argv[2], "w"));
		MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
		usleep(50000);
	}
	printf("rank %d of %d\n", rank, size);
	fflush(stdout);
	if (rank == 0)
		printf("rounds are %s\n", number == (long)rounds * size ? "right" : "wrong");
	MPI_Finalize();
	return 0;
}
