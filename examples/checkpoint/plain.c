/*
 * plain.c - a program that knows nothing of checkpoints: a parent and a child that take turns in one open file. A class with the method criu saves and restores both.
 *
 *	cc -o plain plain.c;  echo './plain 1000 result' | qsub --class CLASS -c enabled
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long most = argc > 1 ? atol(argv[1]) : 100;
	FILE *out = fopen(argc > 2 ? argv[2] : "result", "w");
	int there[2], back[2], status;
	char turn = 'x';

	if (!out || pipe(there) || pipe(back))
		return 1;
	setvbuf(out, NULL, _IONBF, 0);
	pid_t parent = getpid(), child = fork();
	for (long n = 1; n <= most; n++) {
		if ((n > 1 || child == 0) && read(child ? back[0] : there[0], &turn, 1) != 1)
			return 1;
		fprintf(out, "%s %ld\n", child ? "parent" : "child", n);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		if (write(child ? there[1] : back[1], &turn, 1) != 1)
			return 1;
	}
	if (child == 0)
		return getppid() == parent ? 0 : 1; /* numbers of processes stay what they were */
	waitpid(child, &status, 0);
	printf("counted to %ld\n", most);
	return status ? 1 : 0;
}
