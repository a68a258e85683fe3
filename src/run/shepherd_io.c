/*
 * shepherd_io.c - the input and output of a shepherd: clocks, signals, datagrams.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "run/handover.h"
#include "run/shepherd_internal.h"

/* ---- time and signals ---- */

void shepherd_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
	sigaddset(ret, SHEPHERD_SIGNAL);
	sigaddset(ret, SIGTERM);
}

/* Global, because a shepherd runs one attempt at a time and a signal may arrive at any time: during
 * the prologue, or while it waits for a terminal. */
static struct {
	const char *tag;
	int orders;
	int64_t walltime; /* new walltime, seconds; 0: the order's counts */
	bool paused;	  /* before the job began */
} heard = {.orders = -1};

void shepherd_listen(const char *tag, int orders)
{
	heard.tag = tag;
	heard.orders = orders;
	heard.walltime = 0;
	heard.paused = false;
}

int64_t shepherd_walltime(const struct order *o)
{
	return heard.walltime ? heard.walltime : o->walltime;
}

/* Puts the value that a SHEPHERD_SIGNAL announces into *info. Returns false if there is none: it
 * was for an earlier attempt. A later nursery has no socket and sends the value itself. */
static bool value_receive(siginfo_t *info)
{
	struct handover order;
	int value;

	if (info->si_code != SI_QUEUE)
		return false;
	if (heard.orders < 0)
		return true;
	switch (handover_receive(heard.orders, heard.tag, &order, &value)) {
	case HANDOVER_SIGNAL:
		info->si_value.sival_int = value;
		return true;
	case HANDOVER_CLOSED:
		return true;
	case HANDOVER_ORDER:
		close(order.live); /* can't be: it has an attempt */
		return false;
	case HANDOVER_NONE:
		break;
	}
	return false;
}

int shepherd_pause(int64_t until, siginfo_t *ret)
{
	sigset_t set;
	int signal;

	shepherd_signals(&set);
	if (until == NEVER) {
		signal = sigwaitinfo(&set, ret);
	} else { /* the wait does not count time that the machine sleeps, so wait in short pieces */
		int64_t us = until - boot_us();
		us = us < 0 ? 0 : us > 30 * SECOND ? 30 * SECOND : us;
		struct timespec t = {.tv_sec = us / SECOND, .tv_nsec = us % SECOND * 1000};
		signal = sigtimedwait(&set, ret, &t);
	}
	if (signal == SHEPHERD_SIGNAL && !value_receive(ret))
		return 0;
	if (signal == SHEPHERD_SIGNAL && ret->si_value.sival_int < 0)
		heard.walltime = -(int64_t)ret->si_value.sival_int;
	return signal > 0 ? signal : 0;
}

bool shepherd_early(int signal, const siginfo_t *info)
{
	bool ordered = signal == SHEPHERD_SIGNAL && info->si_code == SI_QUEUE;
	int value = ordered ? info->si_value.sival_int : signal;
	enum checkpoint_cause cause;
	int64_t seconds;

	if (value == SIGSTOP || value == SIGCONT)
		heard.paused = value == SIGSTOP;
	return value == SIGTERM || value == SIGKILL ||
	       (save_word_read(value, &cause, &seconds) && cause_is_final(cause));
}

bool shepherd_paused_early(void)
{
	return heard.paused;
}

/* ---- to the server ---- */

void shepherd_send(const struct shepherd *s, const char *text, size_t n)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (!s->place->socket || strlen(s->place->socket) >= sizeof to.sun_path)
		return;
	strcpy(to.sun_path, s->place->socket);
	/* The socket times out (SO_SNDTIMEO). If the server is not there or busy, it will read the
	 * file. */
	sendto(s->place->datagrams, text, n, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to);
}
