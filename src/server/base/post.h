/*
 * post.h - what leaves after the commit: answers, signals, mail, and results that may be forgotten.
 */
#ifndef SERVER_POST_H
#define SERVER_POST_H

#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct http_request;
struct server;
struct store_event;
struct store_life;
struct store_move;

/* An answer that waits for the commit of what it tells. */
struct reply_later {
	struct http_request *r;
	int status;
	struct strbuf body;
	int64_t since; /* boot_us */
};

struct signal_order {
	char tag[64];
	int signal;
	int64_t walltime; /* not 0: this is what it may run, instead of a signal */
	int64_t save;	  /* not 0: seconds that it has to save its work and end, instead of a signal, ... */
	uint8_t cause;	  /* ... and why: enum checkpoint_cause */
};

struct mail_later {
	uint32_t job;
	uint8_t point; /* enum mail_point */
};

struct hook_later {
	uint32_t job;
	uint8_t event; /* enum hook_event */
};

/* A directory that is to be deleted as its user (life/run/erase.h). */
struct erase_later {
	char *name, *path, *user;
	uid_t uid;
	gid_t gid;
};

struct post {
	VEC(struct reply_later) replies;
	VEC(struct signal_order) signals;
	VEC(struct mail_later) mails;
	VEC(struct hook_later) hooks; /* life/run/hooked.h: starts and ends that the hooks hear of, */
	int hooks_asked;	      /* ... those that they hear of now, */
	uint64_t hooks_dropped;	      /* ... and that were too many */
	/* Shows an event to those who watch, after the commit. */
	void (*show)(struct server *s, const struct store_event *e);
	void (*show_life)(struct server *s, const struct store_life *e);
	void (*show_move)(struct server *s, const struct store_move *m); /* of quota; may be NULL */
	void (*heard)(struct server *s, const char *text);		 /* what the log says; the same */
	VEC(char *) told; /* tags whose results this turn stores: forgotten after the commit */
	VEC(struct erase_later) erases;
	int erasing; /* ... that were sent, and not answered */
};

/* Answers a change, once it is on disk. Takes the body's text over. */
void reply_later(struct server *s, struct http_request *r, int status, struct strbuf *body);
/* The same with an object without members. */
void reply_empty(struct server *s, struct http_request *r, int status);
void replies_send(struct server *s); /* after the commit */

#endif
