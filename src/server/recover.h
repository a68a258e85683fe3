/* recover.h - recovery: folds the contents of the store. */
#ifndef SERVER_RECOVER_H
#define SERVER_RECOVER_H

struct err;
struct server;

int server_recover(struct server *s, struct err *err);
void recover_defaults(struct server *s); /* sets the defaults of a new store */
/* Asks the engine for the attempts that were under way; called once it is running. */
void recover_attempts(struct server *s);

#endif
