/*
 * hold.h - stops an attempt while a workstation's owner is working, and continues it afterwards;
 * called by processes other than its shepherd.
 *
 * It uses the attempt's control group if it has one (cgroup.freeze, or the freezer of version 1),
 * else SIGSTOP to all of its processes. The shepherd keeps running: ordered signals, leases and
 * walltimes still apply.
 */
#ifndef RUN_HOLD_H
#define RUN_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Gives this process and its future children the lowest priority for CPUs and disks. Returns false
 * with errno. */
bool background_enter(void);

/* Stops everything below a shepherd. Returns true if all of it is stopped. Call it repeatedly for
 * as long as the attempt must not run: the next call catches programs that were just starting. */
bool hold_stop(pid_t shepherd, const char *tag);
/* Continues what hold_stop() stopped. `stopped`: the user had suspended the job before; it stays
 * stopped where SIGSTOP is the only means. */
void hold_continue(pid_t shepherd, const char *tag, bool stopped);

/* Asks the kernel to reclaim some of the attempt's memory, in steps short enough not to take long:
 * caches, and other pages if there is swap space. Call it repeatedly. Version 2 only. */
void hold_reclaim(pid_t shepherd, const char *tag);
/* Limits all attempts here together to `spare` bytes more than they use now (less if negative);
 * beyond that the kernel slows them down and reclaims memory (memory.high). Any one attempt is
 * named. Version 2 only. */
void hold_memory(pid_t shepherd, const char *tag, int64_t spare);

/* Returns the number of its threads that are running or ready; *ret_cpu_ms: CPU time of all its
 * processes so far. */
int hold_running(pid_t shepherd, int64_t *ret_cpu_ms);

#endif
