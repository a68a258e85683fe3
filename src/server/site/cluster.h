/*
 * cluster.h - the authority, this server's certificate, and the servers there are; kept in the store.
 */
#ifndef SERVER_CLUSTER_H
#define SERVER_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asker;
struct err;
struct http_request;
struct json;
struct link;
struct server;
struct strbuf;
struct tls_context;

/* What recover() has not found is made. */
int cluster_begin(struct server *s, struct err *err);
int cluster_load(struct server *s, struct err *err); /* what a standby needs to know before recovery */
void cluster_locate(struct server *s);		     /* cluster_address() by the configuration and the open port */
int cluster_register(struct server *s, bool stopped, struct err *err);	/* tells the other servers of this one */
int cluster_look(struct server *s, bool *ret_changed, struct err *err); /* what the others have told; NULL: whatever */
/* Another that runs, or may: any, or one with jobs on its own machine. NULL: there is none. */
const char *cluster_other(const struct server *s, bool any, bool *ret_jobs);
int cluster_object(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
/* Opens the port, if there is one to open: API and agents. */
int cluster_listen(struct server *s, void (*link)(void *context, struct link *l), struct err *err);
int cluster_certify(struct server *s, const char *csr, size_t n, const char *node, uint64_t join,
		    struct strbuf *ret_cert, struct err *err);
void cluster_roles(const struct server *s, struct json *j,
		   const char *key); /* [{address, role, seen}], this one first */
void cluster_servers(const struct server *s, struct json *j,
		     const char *key); /* an array of addresses, this one first */
const char *
cluster_address(const struct server *s); /* what others call this server, with its port; "": no port is open */
struct tls_context *
cluster_tls(struct server *s); /* for connections to others; borrowed until it is renewed; NULL: no port is open */
void cluster_files(struct server *s); /* who this machine is among those that files are carried between */
void cluster_close(struct server *s); /* the port; agents' links live on */
void api_cluster(struct server *s, struct http_request *r, const struct asker *w);
json_t *agents_servers(const struct server *s); /* an array of addresses, this one first */

#endif
