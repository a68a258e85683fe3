/*
 * asker.h - who asks.
 */
#ifndef SERVER_ASKER_H
#define SERVER_ASKER_H

#include <sys/types.h>

enum role { ROLE_USER, ROLE_OPERATOR, ROLE_MANAGER };

struct asker {
	uid_t uid;
	gid_t gid;
	char user[64];
	enum role role;
	enum { BY_SOCKET, BY_TOKEN, BY_JOB } by;
	char address[64]; /* of another machine; "" by the local socket */
	char token[64];	  /* the id of his token */
};

#endif
