/*
 * badrank.c - an MPI program of which one rank ends badly while the others wait for it. usage:
 * badrank kill|exit|leave|late RANK: by SIGKILL; with code 5; with code 0 but without MPI_Finalize;
 * with code 6 after it
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "kill";
	int rank, bad = argc > 2 ? atoi(argv[2]) : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == bad && strcmp(how, "kill") == 0)
		raise(SIGKILL);
	if (rank == bad && strcmp(how, "exit") == 0)
		_exit(5);
	if (rank == bad && strcmp(how, "leave") == 0)
		_exit(0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return rank == bad && strcmp(how, "late") == 0 ? 6 : 0;
}
