/*
 * page.h - the page: its files, who may see it, and the port that it has on this machine.
 */
#ifndef SERVER_PAGE_H
#define SERVER_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/schema.h"

struct call;
struct http_request;
struct server;

/* A file of the page as it is sent: compressed by gzip. Made by tools/build-page; there are none in a build without npm. */
struct page_file {
	const char *path, *type, *tag; /* tag: of its content, in quotes */
	const unsigned char *data;
	size_t n;
};
extern const struct page_file page_files[];
extern const size_t npage_files;

/* Opens the port: of a personal instance the one that it had before, if it is free; of a system's that of the configuration. That there is none is logged, and
 * no error. */
void page_open(struct server *s);
void page_renew(struct server *s); /* reads the certificate anew */
void page_close(struct server *s);
void page_url(const struct server *s, char *ret, size_t size); /* where it is */
/* Of a request by the page's port: refuses what does not come from the page, sends files. True: it was answered. */
bool page_answers(struct server *s, struct http_request *r);

void api_page_link(struct server *s, const struct call *c);
void api_session_ways(struct server *s, const struct call *c);	/* without an asker */
void api_session_begin(struct server *s, const struct call *c); /* the same */
void api_session_end(struct server *s, const struct call *c);
extern const struct schema page_link_answer, session_body, session_answer, session_ways_answer;

#endif
