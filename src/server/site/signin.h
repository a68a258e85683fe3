/* signin.h - checks passwords by asking `shunt-signin` (pam/signin.h), the only process of the
 * server, apart from the nursery, that runs as root. */
#ifndef SERVER_SIGNIN_H
#define SERVER_SIGNIN_H

#include <stdbool.h>

#include "pam/signin.h"

struct err;
struct http_request;
struct server;

/* Starts the program while the server is still root. If the server has no page for others, or
 * there is no such program, signin_works() returns false. */
void signin_start(struct server *s);
bool signin_works(const struct server *s);
/* Checks a password. `done` is called once, later, with the answer and the user name; also when
 * the program is lost, or the question is dropped for newer ones. CODE_TOO_MANY: the program is
 * too slow. CODE_BAD_REQUEST: the name or password cannot be valid. */
typedef void (*signin_done)(struct server *s, struct http_request *r, const char *user, const struct signin_answer *a);
int signin_ask(struct server *s, struct http_request *r, const char *user, const char *password, signin_done done,
	       struct err *err);

#endif
