/*
 * upgrade.c - connections that leave HTTP: from then on someone else reads and writes their bytes.
 *
 * MHD keeps its side of the connection until it is released, so that it counts among its user's;
 * the new owner has a duplicate of the descriptor, which stays valid if http stops first.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/http_internal.h"

struct upgrade {
	struct http_request *r; /* NULL: http no longer uses it */
	void (*taken)(void *context, int fd, void *handle);
	void *context;
	struct MHD_UpgradeResponseHandle *mhd; /* NULL: not taken yet, or given back */
	int fd;
};

/* Lets MHD close its end of the connection; the request ends in a later run of MHD. */
void upgrade_end(struct upgrade *u)
{
	struct http_request *r = u->r;

	if (!u->mhd)
		return;
	MHD_upgrade_action(u->mhd, MHD_UPGRADE_ACTION_CLOSE);
	u->mhd = NULL;
	u->r = NULL;
	r->upgrade = NULL;
	http_wake(r->http);
}

void upgrade_drop(struct upgrade *u)
{
	free(u);
}

static void on_upgraded(void *context, struct MHD_Connection *mhd, void *request, const char *extra, size_t nextra,
			MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
	struct upgrade *u = context;

	u->mhd = handle;
	/* Bytes that came before the answer can't be put back: a client that doesn't wait for it
	 * violates the protocol. */
	u->fd = nextra == 0 && !u->r->http->stopping ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (u->fd < 0) {
		upgrade_end(u);
		free(u);
		return;
	}
	u->taken(u->context, u->fd, u);
}

void http_upgrade(struct http_request *r, const char *protocol, void (*taken)(void *context, int fd, void *handle),
		  void *context)
{
	struct upgrade *u = mem_zalloc(sizeof *u);

	*u = (struct upgrade){.r = r, .taken = taken, .context = context, .fd = -1};
	r->upgrade = u;
	http_header(r, MHD_HTTP_HEADER_UPGRADE, protocol);
	request_answer(r, MHD_HTTP_SWITCHING_PROTOCOLS, NULL, MHD_create_response_for_upgrade(on_upgraded, u));
}

void http_release(void *handle)
{
	struct upgrade *u = handle;

	shutdown(u->fd, SHUT_RDWR); /* MHD's side would keep it open for a while */
	close(u->fd);
	upgrade_end(u);
	free(u);
}
