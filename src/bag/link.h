/*
 * link.h - connections to other hosts: the broker's gate (gate.c), and a worker's way out (the program shunt-connect). Both speak TLS in a process of their
 * own, so that `shunt` need not load OpenSSL.
 */
#ifndef BAG_LINK_H
#define BAG_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "bag/credential.h"

struct gate_link {
	int fd;		      /* -1: none */
	pid_t pid;	      /* it ends when `fd` is closed */
	struct credential at; /* where workers find it; without a secret */
};
/* Starts the gate in front of a UNIX socket. */
int gate_open(const char *socket, struct gate_link *ret, struct err *err);
bool gate_lost(struct gate_link *g); /* it ended by itself */
void gate_close(struct gate_link *g);

/* Puts where others reach this host at `port` into a credential. */
void places_here(struct credential *c, int port);

/* Connects to the broker: a descriptor, whose other end is the child *ret_pid. -errno with a sentence. */
int link_open(const struct credential *c, pid_t *ret_pid, struct err *err);

#endif
