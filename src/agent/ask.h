/*
 * ask.h - one request to the server's API over TLS, for a machine that has no certificate yet: it waits for the answer.
 */
#ifndef AGENT_ASK_H
#define AGENT_ASK_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "tls/pki.h"

/* "host", "host:port", "[v6]", "[v6]:port" -> always with a port. -EINVAL. */
int ask_where(const char *where, int port, char *ret, size_t size, struct err *err);

struct ask_answer {
	json_t *body;		  /* the caller's */
	struct cert_names server; /* who has answered */
	struct strbuf ca;	  /* the authority, which the fingerprint fits */
};
/* POSTs `body` to `path`. Any answer but 200 and 201 is an error, with the server's own sentence; -EPERM is its 403. */
int ask_post(const char *where, const char *fingerprint, const char *path, const json_t *body, struct ask_answer *ret,
	     struct err *err);

#endif
