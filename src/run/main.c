/*
 * main.c - shunt-nursery: the nursery as a separate program. It forks for every job, and a fork
 * costs as much as the memory maps that it copies: this program has a few libraries, the server has
 * thirty.
 */
#include "run/nursery.h"

int main(int argc, char **argv)
{
	return nursery_command(argc, argv);
}
