/*
 * ask.h - sends one request to the server's API over TLS and waits for the answer, for a machine
 * that has no certificate yet.
 */
#ifndef AGENT_ASK_H
#define AGENT_ASK_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "tls/pki.h"

/* Normalizes "host", "host:port", "[v6]" or "[v6]:port" to a form with a port. Returns -EINVAL. */
int ask_where(const char *where, int port, char *ret, size_t size, struct err *err);

struct ask_answer {
	json_t *body;		  /* owned by the caller */
	struct cert_names server; /* names of the server that answered */
	struct strbuf ca;	  /* certificate of the authority, which matches the fingerprint */
};
/* POSTs `body` to `path`. Any status but 200 and 201 is an error with the server's own sentence;
 * 403 becomes -EPERM. */
int ask_post(const char *where, const char *fingerprint, const char *path, const json_t *body, struct ask_answer *ret,
	     struct err *err);

#endif
