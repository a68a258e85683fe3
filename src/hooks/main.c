/*
 * main.c - shunt-hook: the process in which the site's hooks run. The server starts it with a
 * socket as its standard input.
 */
#include "hooks/worker.h"

int main(void)
{
	return hook_command();
}
