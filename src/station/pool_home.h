/*
 * pool_home.h - a station's directory: its name and settings (pool.json), its key and certificate,
 * and, on the station that created the pool, the authority that lets others join.
 *
 * The directory is $SHUNT_POOL_HOME, else /var/lib/shunt-pool for root, else
 * ~/.local/share/shunt/pool ($XDG_DATA_HOME).
 */
#ifndef STATION_POOL_HOME_H
#define STATION_POOL_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "station/gossip.h"
#include "station/peer.h"
#include "station/place.h"
#include "tls/pki.h"

#define POOL_PORT 7724
#define POOL_HOME_SYSTEM "/var/lib/shunt-pool"
#define POOL_DOOR "owner.sock" /* socket of 'shunt owner', in a station's directory */
/* the same for root's daemon, whose directory is closed to others */
#define POOL_DOOR_SYSTEM "/run/shunt-pool/owner.sock"
#define JOIN_AUTHORITY 1 /* join number of the station that created the pool */

struct pool_home {
	char dir[PATH_MAX];
};

struct pool_conf {
	char name[PEER_NAME_SIZE], pool[PEER_NAME_SIZE];
	char listen[PEER_WHERE_SIZE]; /* "7724", "127.0.0.1:0" */
	int last_port;		      /* with port 0: the port it got last, which other stations know */
	struct place_rule rule;	      /* where this station's tasks go */
	int interval_ms;	      /* between heartbeats */
	int lease_ms;
	char owner[256];       /* a policy of owner.h; "none": nobody works at this machine */
	bool multicast;	       /* true if stations may be found by multicast */
	int gossip_from;       /* largest pool, in stations, in which each talks to all */
	int cpus;	       /* tasks at a time; 0: the number of processors */
	double speed;	       /* 0: measured */
	char cgroup[PATH_MAX]; /* "": the station has the whole machine */
	char user[64];	       /* account that runs the tasks if the daemon is root */
};
#define POOL_CONF_DEFAULT                                                                                              \
	{                                                                                                              \
		.listen = "7724", .rule = {PLACE_FIM_P, PLACE_K1, PLACE_K2}, .interval_ms = 1000, .lease_ms = 15000,   \
		.gossip_from = GOSSIP_FROM, .user = "nobody", .owner = "idle", .multicast = true                       \
	}

int pool_home_find(struct pool_home *h, struct err *err);
int pool_home_make(const struct pool_home *h, struct err *err);
void pool_home_path(const struct pool_home *h, const char *name, struct strbuf *ret);		      /* "DIR/name" */
int pool_home_read(const struct pool_home *h, const char *name, struct strbuf *ret, struct err *err); /* -ENOENT */
/* Replaces the file atomically. */
int pool_home_write(const struct pool_home *h, const char *name, int mode, const char *text, struct err *err);

/* Reads pool.json; -ENOENT: not in a pool. */
int pool_conf_load(const struct pool_home *h, struct pool_conf *ret, struct err *err);
int pool_conf_store(const struct pool_home *h, const struct pool_conf *c, struct err *err);

/* ---- the authority ---- */

/* Creates the authority, and makes this station the pool's first member. */
int pool_authority_create(const struct pool_home *h, const struct pool_conf *c, struct err *err);
/* Creates a token with which one station can join within `seconds`. */
int pool_token_create(const struct pool_home *h, int64_t now, int64_t seconds, char *ret, struct err *err);
/* Returns the join number of the station of that name; 0: no such station has joined. */
uint64_t pool_station_join(const struct pool_home *h, const char *name);
/* Consumes a token and issues the certificate of station `name` for that request. -EACCES: the
 * token is wrong, used or expired; -ENOTSUP: the authority is on another station. */
int pool_token_use(const struct pool_home *h, const char *id, const char *secret, const char *name, const char *csr,
		   int64_t now, struct strbuf *ret_cert, struct err *err);

/* Issues another certificate for a station that has one, with the same name and join. */
int pool_certificate_renew(const struct pool_home *h, const struct cert_names *who, const char *csr,
			   struct strbuf *ret_cert, struct err *err);
/* Returns true if a certificate is due for renewal: a third of its life is left. */
bool pool_certificate_due(int64_t from, int64_t until, int64_t now);

#endif
