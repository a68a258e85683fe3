/*
 * refused.h - submissions of the time when no server ran (offline.h), some of which are refused when one does.
 */
#ifndef SERVER_REFUSED_H
#define SERVER_REFUSED_H

struct err;
struct http_request;
struct server;
struct spec;
struct submit_work;

/* When it was submitted counts for the order, too. Nothing, for one that came to a server. */
void submission_date(const struct http_request *r, struct spec *p);
/* Its user was told an id: it becomes a job that has ended, with the reason, and they get mail. */
void refused_keep(struct server *s, struct submit_work *w, const struct err *why);

#endif
