/*
 * main.c - shunt-nursery: the nursery as a program of its own. It forks for every job, and what a fork costs is the memory that it
 * copies the maps of: this one has a few libraries, where the server has thirty.
 */
#include "run/nursery.h"

int main(int argc, char **argv)
{
	return nursery_command(argc, argv);
}
