/* post.h - what leaves after the commit: replies, signals, mail, and results to forget. */
#ifndef SERVER_POST_H
#define SERVER_POST_H

#include <stdint.h>

#include "base/logline.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct http_request;
struct server;
struct store_event;
struct store_life;
struct store_move;

/* A reply that waits for the commit of the change it reports. */
struct reply_later {
	struct http_request *r;
	int status;
	struct strbuf body;
	int64_t since; /* boot_us */
};

struct signal_order {
	char tag[64];
	int signal;
	int64_t walltime; /* not 0: new walltime of the job, seconds; replaces the signal */
	int64_t save;	  /* not 0: seconds to save its work and end; replaces the signal */
	uint8_t cause;	  /* why it has to save: enum checkpoint_cause */
};

struct mail_later {
	uint32_t job;
	uint8_t point; /* enum mail_point */
};

struct hook_later {
	uint32_t job;
	uint8_t event; /* enum hook_event */
};

/* A directory to delete as its user (life/run/erase.h). */
struct erase_later {
	char *name, *path, *user;
	uid_t uid;
	gid_t gid;
};

struct post {
	VEC(struct reply_later) replies;
	VEC(struct signal_order) signals;
	VEC(struct mail_later) mails;
	/* starts and ends to report to the hooks (life/run/hooked.h) */
	VEC(struct hook_later) hooks;
	int hooks_asked;	/* number being reported now */
	uint64_t hooks_dropped; /* number dropped because too many were waiting */
	/* Callbacks that show an event to watching clients, after the commit. */
	void (*show)(struct server *s, const struct store_event *e);
	void (*show_life)(struct server *s, const struct store_life *e);
	/* quota moves; may be NULL */
	void (*show_move)(struct server *s, const struct store_move *m);
	/* log lines; may be NULL */
	void (*heard)(struct server *s, enum severity severity, const char *text);
	VEC(char *) told; /* tags of the results stored in this turn: forgotten after the commit */
	VEC(struct erase_later) erases;
	int erasing; /* number sent and not yet answered */
};

/* Replies to a change once it is on disk. Takes over the body's text. */
void reply_later(struct server *s, struct http_request *r, int status, struct strbuf *body);
/* Replies with an empty object. */
void reply_empty(struct server *s, struct http_request *r, int status);
/* Sends the replies, after the commit. */
void replies_send(struct server *s);

#endif
