/*
 * protocol.h - the protocol between `shunt launch` and the shunt-pmix of each host.
 *
 *	launch --+-- shunt-pmix, host 0 --- ranks 0, 1        frames (cable.h) over the standard input and output of shunt-pmix, which is
 *	         +-- shunt-pmix, host 1 --- ranks 2, 3        a child of the launcher or a task of the job on another host
 *
 * Hosts talk only through the launcher: no port is opened, and the only secret is the run's name,
 * which only its processes know.
 *
 *	to shunt-pmix:	setup			(layout.h) once, first
 *			in + data, in_end	for rank 0; after each `in` the launcher waits for in_ok, so that nothing else waits behind it
 *			signal {"signal"}	to all ranks, as soon as each has a handler for it
 *			stop {"signal"}		the same, and two seconds later SIGKILL
 *			fence {"who"} + data	everybody's data, for the oldest fence of these ranks
 *			ask {"id","rank"}	requests the data of the rank; answered by `told`
 *			told {"id","status"} + data
 *	from it:	started			all ranks of the host run
 *			out, err {"rank"} + data
 *			in_ok
 *			exit {"rank","code","signal","connected","finalized"}: it ended, by the signal if that is not 0; the last two are about PMIx
 *			abort {"rank","status"}	a rank requests that all end
 *			spawn {"rank"}		a rank requests more ranks, which is not supported: all end
 *			unfit {"rank","reason"}: it requests something else that is not supported: all end
 *			fence {"who"} + data	the ranks `who` ("*": all) that are here wait, and this is their data
 *			ask, told		as above, the other way round
 *			failed {"reason","code"}: it cannot start the ranks
 *	It closes when all ranks have ended.
 */
#ifndef PMIX_PROTOCOL_H
#define PMIX_PROTOCOL_H

#define STOP_SECONDS 2 /* between `stop` and SIGKILL */

#endif
