/*
 * route.h - everything that is known of a request before its handler sees it: rows of one table (routes.c), by which requests are refused (api.c), their
 * parameters read (query.c), and the API described (openapi.c).
 */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code.h"
#include "base/schema.h"
#include "server/api/frame/call.h"

/* The least that one must be. What is finer than that is decided by the handler, and said in `about`. */
enum may {
	MAY_USER,	 /* any that is known */
	MAY_OWNER,	 /* the owner of the job or token that it is about, or whoever stands above him there */
	MAY_COORDINATOR, /* of the queue or the account that it is about, or whoever stands above him */
	MAY_OPERATOR,	 /* and managers */
	MAY_MANAGER,
	MAY_SITE,    /* another site, also while the user for whom it asks is not known here */
	MAY_ANYONE,  /* of other machines, over TLS: the request itself is to prove who it is */
	MAY_VISITOR, /* of the page, the same */
};

#define CODE(word) (UINT32_C(1) << CODE_##word)

struct route {
	const char *method;
	const char *path; /* a '*' stands for one part of it, the name */
	const char *id;	  /* operationId; NULL: it is not described */
	enum may may;
	bool changes;		   /* something: refused while the store can't be written */
	bool keyed;		   /* an Idempotency-Key makes it safe to repeat */
	bool large;		   /* its body has scripts: it may be large, and its handler reads it bit by bit */
	bool bodiless;		   /* the body may be left out */
	const struct field *query; /* parameters, up to one without a name */
	const struct schema *body;
	handler handle;
	int kind; /* of the object that it is about (rules/object.h); else 0 */

	/* The rest is for the description. */
	const char *tag, *summary, *about;
	int status;		      /* of the answer; 0: 200 */
	const struct schema *answer;  /* NULL: {} */
	const char *type;	      /* of an answer that is not JSON */
	const char *also;	      /* of one that may be something else than JSON */
	const char *answered;	      /* what the answer is */
	uint32_t codes;		      /* CODE() of errors that do not follow from the rest */
	const char *example, *result; /* JSON: of a body, of an answer */
};

extern const struct schema openapi_answer;
extern const struct route routes[];
extern const size_t nroutes;
/* Errors that a route may answer with, all of them. */
uint32_t route_codes(const struct route *route);

#endif
