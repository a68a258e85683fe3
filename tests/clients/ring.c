/*
 * ring.c - an MPI program: a number goes once round all ranks, each adds one; then all add up their
 * ranks. Prints a line per rank, in order.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, number = 0, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank > 0)
		MPI_Recv(&number, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	const char *node = getenv("SHUNT_NODE");
	char host[MPI_MAX_PROCESSOR_NAME];
	int length;
	MPI_Get_processor_name(host, &length);
	printf("rank %d of %d on %s\n", rank, size, node ? node : host);
	fflush(stdout);
	number++;
	if (size > 1)
		MPI_Send(&number, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
	if (rank == 0 && size > 1)
		MPI_Recv(&number, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("ring %d, sum %d\n", number, sum);
	MPI_Finalize();
	return 0;
}
