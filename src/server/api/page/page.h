/*
 * page.h - the web page: its files, access to it, and its port on this machine.
 */
#ifndef SERVER_PAGE_H
#define SERVER_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/schema.h"
#include "server/api/frame/call.h"

struct http_request;
struct server;

/* A file of the page as it is sent, compressed with gzip. Made by tools/build-page; a build without
 * npm has none. */
struct page_file {
	const char *path, *type, *tag; /* tag: ETag of its content, in quotes */
	const unsigned char *data;
	size_t n;
};
extern const struct page_file page_files[];
extern const size_t npage_files;

/* Opens the port: a personal instance reuses its previous port if that is free, a system's server
 * uses the configured one. Failure is logged and is not an error. */
void page_open(struct server *s);
void page_renew(struct server *s); /* reads the certificate again */
void page_close(struct server *s);
void page_url(const struct server *s, char *ret, size_t size); /* writes the page's address */
/* Handles a request that came by the page's port: sends files, and refuses requests that do not
 * come from the page. Returns true if it was answered. */
bool page_answers(struct server *s, struct http_request *r);

handler api_page_link, api_session_end;
handler api_session_ways, api_session_begin; /* for unauthenticated clients */
extern const struct schema page_link_answer, session_body, session_answer, session_ways_answer;

#endif
