/*
 * abort.c - an MPI program in which one rank gives up while the others wait for it. usage: abort
 * CODE [RANK]
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == (argc > 2 ? atoi(argv[2]) : 0))
		MPI_Abort(MPI_COMM_WORLD, argc > 1 ? atoi(argv[1]) : 1);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
