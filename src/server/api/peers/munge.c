/*
 * munge.c - authenticates users of other machines by munge, where a site has it.
 *
 * The library is loaded on first use, so that nothing depends on it. Asking munged may block, so it
 * is done on libuv's pool, and the request is answered afterwards. munged ensures that a credential
 * is accepted only once and not for long. Its text must be "shunt:" and the first 32 digits of our
 * authority's fingerprint, so that a credential made for another service can't be passed on.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/http.h"
#include "server/api/frame/request.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"

/* munge_decode() of munge.h. */
typedef int (*munge_decode_function)(const char *credential, void *context, void **text, int *n, uid_t *uid,
				     gid_t *gid);

struct munge_work {
	uv_work_t work;
	struct server *s;
	struct http_request *r; /* valid until it is answered */
	char *credential;
	char expected[64];
	int64_t life;
	bool missing, right;
	uid_t uid;
};

static void decode(uv_work_t *work)
{
	struct munge_work *w = work->data;
	/* stays loaded; later calls only add a reference */
	void *library = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
	munge_decode_function decode_it = NULL;
	void *text = NULL;
	gid_t gid;
	int n = 0;

	if (library)
		*(void **)&decode_it = dlsym(library, "munge_decode");
	w->missing = !decode_it;
	if (w->missing)
		return;
	w->right = decode_it(w->credential, NULL, &text, &n, &w->uid, &gid) == 0 && text &&
		   (size_t)n == strlen(w->expected) && memcmp(text, w->expected, (size_t)n) == 0;
	free(text);
}

static void answer(struct munge_work *w);

static void answer_again(struct server *s, void *context)
{
	answer(context);
}

/* Answers the request. The credential can't be used twice, so the request is not received again. */
static void answer(struct munge_work *w)
{
	struct server *s = w->s;
	const struct user_key k = {USER_BY_ID, w->uid, NULL};
	const struct user *a = NULL;
	struct err err, why;
	enum lookup l = w->right ? users_find(s, k, &a, &why) : LOOKUP_NONE;

	if (l == LOOKUP_PENDING) {
		users_wait(s, k, answer_again, w);
		return;
	}

	if (w->missing) {
		http_error(w->r, CODE_UNAVAILABLE,
			   "libmunge.so.2 is not there on the server's machine: install munge.");
	} else if (!w->right) {
		token_failed(s, request_remote(w->r), &err);
		if (err.code == CODE_UNAUTHORIZED)
			err_code(&err, CODE_UNAUTHORIZED, "munge does not confirm this credential for this cluster.");
		api_refuse(w->r, &err);
	} else if (l == LOOKUP_FAILED) {
		refuse_lookup(w->r, &why);
	} else if (!a) {
		http_error(w->r, CODE_FORBIDDEN, "The user id %u has no account on the server's machine.",
			   (unsigned)w->uid);
	} else if (token_user_check(s, w->uid, a->name, &err) < 0) {
		api_refuse(w->r, &err);
	} else {
		token_reply_login(s, w->r, NULL, w->uid, a->name, "munge", w->life);
	}
	free(w->credential);
	free(w);
}

static void decoded(uv_work_t *work, int status)
{
	struct munge_work *w = work->data;

	if (w->s->turn->stopped) /* the request has ended */
		return;
	turn_wake(w->s);
	w->right = w->right && status == 0;
	answer(w);
}

void munge_login(struct server *s, struct http_request *r, const char *credential, int64_t life)
{
	struct munge_work *w = mem_zalloc(sizeof *w);

	w->work.data = w;
	w->s = s;
	w->r = r;
	w->credential = mem_strdup(credential);
	w->life = life;
	snprintf(w->expected, sizeof w->expected, "shunt:%.*s", SHOWN_DIGITS, s->realm->authority.fingerprint);
	uv_queue_work(s->loop, &w->work, decode, decoded);
}
