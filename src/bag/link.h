/*
 * link.h - connections to other hosts: the broker's gate (gate.c), and a worker's connection to it
 * (the program shunt-connect). Both speak TLS in a separate process, so that `shunt` need not load
 * OpenSSL.
 */
#ifndef BAG_LINK_H
#define BAG_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "bag/credential.h"

struct gate_link {
	int fd;		      /* -1: none */
	pid_t pid;	      /* the process ends when `fd` is closed */
	struct credential at; /* addresses of the gate; without a secret */
};
/* Starts the gate in front of a UNIX socket. */
int gate_open(const char *socket, struct gate_link *ret, struct err *err);
bool gate_lost(struct gate_link *g); /* true if it has exited by itself */
void gate_close(struct gate_link *g);

/* Adds the addresses at which others reach this host, with `port`, to a credential. */
void places_here(struct credential *c, int port);

/* Connects to the broker: returns a descriptor whose other end is the child *ret_pid, or -errno.
 * The address that answered becomes the first one of `c`. -ECONNREFUSED: nothing listens at any
 * of them. */
int bag_link_open(struct credential *c, pid_t *ret_pid, struct err *err);

#endif
