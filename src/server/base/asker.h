/* asker.h - the client behind a request. */
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
	char address[64]; /* address of another machine; "" for the local socket */
	char token[64];	  /* id of the token or session */
	/* number for this user's queues and accounts (site/coordinators.h); 0: none */
	uint32_t party;
	/* rights of a job's owner while another user, who may have more rights, alters the job */
	struct {
		/* holds the job may have: those it had before, and those the altering user may
		 * set */
		uint8_t holds;
		/* account the job may be charged to whatever its access lists say; 0: none */
		uint32_t lent;
	};
};

#endif
