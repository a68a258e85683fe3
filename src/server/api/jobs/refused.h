/*
 * refused.h - submissions made while no server was running (offline.h), some of which the server
 * then refuses.
 */
#ifndef SERVER_REFUSED_H
#define SERVER_REFUSED_H

struct err;
struct http_request;
struct server;
struct spec;
struct submit_work;

/* Dates a job from when it was submitted, which also counts for its order. Does nothing for one
 * that was sent to a running server. */
void submission_date(const struct http_request *r, struct spec *p);
/* Keeps a refused submission, since its user was shown an id: it becomes a job that has ended, with
 * the reason, and the user gets mail. */
void refused_keep(struct server *s, struct submit_work *w, const struct err *why);

#endif
