/*
 * asker.h - who asks.
 */
#ifndef SERVER_ASKER_H
#define SERVER_ASKER_H

#include <stdint.h>
#include <sys/types.h>

#include "rules/role.h"

struct asker {
	uid_t uid;
	gid_t gid;
	char user[64];
	enum role role;
	enum { BY_SOCKET, BY_TOKEN, BY_JOB, BY_SITE, BY_PAGE } by;
	char address[64];      /* of another machine; "" by the local socket */
	char token[64];	       /* the id of his token, or of his session */
	uint32_t party;	       /* under which his queues and accounts are kept (site/coordinators.h); 0: he has none */
	struct {	       /* of the owner of a job that somebody alters, who may do more than the owner */
		uint8_t holds; /* that it may have: it had them before, or they are for him who alters it to set */
		uint32_t lent; /* the account that it may be charged to, whatever its lists say; 0: none */
	};
};

#endif
