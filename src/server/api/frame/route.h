/*
 * route.h - everything known of a request before its handler sees it: rows of one table (routes.c),
 * by which requests are refused (api.c), their parameters read (query.c), and the API described
 * (openapi.c).
 */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code.h"
#include "base/schema.h"
#include "server/api/frame/call.h"

/* Minimum role for a request. The handler decides anything finer, and `about` documents it. */
enum may {
	MAY_USER,	 /* any known user */
	MAY_OWNER,	 /* the owner of the job or token concerned, or a higher role */
	MAY_COORDINATOR, /* the coordinator of the queue or account concerned, or a higher role */
	MAY_OPERATOR,	 /* operators and managers */
	MAY_MANAGER,
	MAY_SITE, /* another site, even while the user it acts for is not known here */
	/* any client on another machine, over TLS; the request itself must prove its identity */
	MAY_ANYONE,
	MAY_VISITOR, /* any visitor of the page, likewise */
};

#define CODE(word) (UINT32_C(1) << CODE_##word)

struct route {
	const char *method;
	const char *path; /* a '*' stands for one component, the name */
	const char *id;	  /* operationId; NULL: not described */
	enum may may;
	/* it changes something: refused while the store can't be written */
	bool changes;
	bool keyed; /* an Idempotency-Key makes it safe to repeat */
	/* its body has scripts: it may be large, and its handler reads it piece by piece */
	bool large;
	bool bodiless;		   /* the body may be left out */
	const struct field *query; /* parameters, up to one without a name */
	const struct schema *body;
	handler *handle;
	int kind; /* kind of the object concerned (rules/object.h); otherwise 0 */

	/* The following members only serve the description. */
	const char *tag, *summary, *about;
	int status;		     /* HTTP status of the answer; 0: 200 */
	const struct schema *answer; /* NULL: {} */
	const char *type;	     /* media type of an answer that is not JSON */
	/* media type of an answer that may be something other than JSON */
	const char *also;
	const char *answered; /* description of the answer */
	/* CODE() bits of errors that do not follow from the other members */
	uint32_t codes;
	const char *example, *result; /* JSON examples of a body and of an answer */
};

extern const struct schema openapi_answer;
extern const struct route routes[];
extern const size_t nroutes;
/* Returns the CODE() bits of all errors that a route may answer with. */
uint32_t route_codes(const struct route *route);

#endif
