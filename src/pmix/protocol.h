/*
 * protocol.h - the protocol between `shunt launch` and the shunt-pmix of each host.
 *
 *	launch --+-- shunt-pmix, host 0 --- ranks 0, 1
 *	         +-- shunt-pmix, host 1 --- ranks 2, 3
 *
 * Frames (cable.h) go over the standard input and output of shunt-pmix, which is a child of the
 * launcher, or a task of the job on another host. Hosts talk only through the launcher: no port is
 * opened, and the only secret is the run's name, which only its processes know.
 *
 * To shunt-pmix:
 *	setup			layout.h; once, first
 *	in + data, in_end	input of rank 0; the launcher waits for in_ok after each `in`,
 *				so that no other frame waits behind it
 *	signal {"signal"}	for all ranks, as soon as each has a handler for it
 *	stop {"signal"}		the same, and two seconds later SIGKILL
 *	fence {"who"} + data	everybody's data, for the oldest fence of these ranks
 *	ask {"id","rank"}	requests the data of the rank; answered by `told`
 *	told {"id","status"} + data
 *
 * From shunt-pmix, which closes when all ranks have ended:
 *	started			all ranks of the host run
 *	out, err {"rank"} + data
 *	in_ok
 *	exit {"rank","code","signal","connected","finalized"}
 *				the rank ended, by the signal if that is not 0; the last two
 *				are about PMIx
 *	abort {"rank","status"}	a rank requests that all end
 *	spawn {"rank"}		a rank requests more ranks: not supported, all end
 *	unfit {"rank","reason"}	a rank requests something else that is not supported: all end
 *	fence {"who"} + data	the ranks `who` ("*": all) of this host wait; their data
 *	ask, told		as above, in the other direction
 *	failed {"reason","code"}
 *				the ranks cannot be started
 */
#ifndef PMIX_PROTOCOL_H
#define PMIX_PROTOCOL_H

#define STOP_SECONDS 2 /* between `stop` and SIGKILL */

#endif
