/*
 * signin.h - whether a password is right: asked of `shunt-signin` (pam/signin.h), the one process of the server that is root beside the nursery.
 */
#ifndef SERVER_SIGNIN_H
#define SERVER_SIGNIN_H

#include <stdbool.h>

#include "pam/signin.h"

struct err;
struct http_request;
struct server;

/* While the server is root still. A server that has no page for others, or no such program, does without: signin_works() is then false. */
void signin_start(struct server *s);
bool signin_works(const struct server *s);
/* `done` is called once, later, with the answer to this request and the name that was asked about; also when the program is lost, and when the
 * question is given up for newer ones. CODE_TOO_MANY: the program does not take questions fast enough. CODE_BAD_REQUEST: no account can be
 * called so, or have that password. */
typedef void (*signin_done)(struct server *s, struct http_request *r, const char *user, const struct signin_answer *a);
int signin_ask(struct server *s, struct http_request *r, const char *user, const char *password, signin_done done,
	       struct err *err);

#endif
