/*
 * hold.h - an attempt is made to stand still while a workstation's owner works, and goes on afterwards; from outside, by who is not its shepherd.
 *
 * By its control group where it has one (cgroup.freeze, or the freezer of version 1), else by SIGSTOP to all of its processes. Its shepherd goes on:
 * signals by order, leases and walltimes hold as ever.
 */
#ifndef RUN_HOLD_H
#define RUN_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Puts this process behind everything else, for processors and disks; children are born so. False: errno. */
bool background_enter(void);

/* Stops everything below a shepherd. True: all of it stands still. To be repeated while it is to: programs that are just being started are met by the next call. */
bool hold_stop(pid_t shepherd, const char *tag);
/* What was stopped so goes on; `stopped`: it was stopped by its user's order before, and stays so where SIGSTOP is all there is. */
void hold_continue(pid_t shepherd, const char *tag, bool stopped);

/* Asks the kernel for some of its memory, little enough not to take long: caches, and the rest where there is swap space. To be repeated. Version 2 only. */
void hold_reclaim(pid_t shepherd, const char *tag);
/* All attempts here together may have so many bytes more than now before they are slowed down and their memory is taken (memory.high); less than 0: fewer. Version 2 only; any one of them
 * is named. */
void hold_memory(pid_t shepherd, const char *tag, int64_t spare);

/* Threads of it that run or are ready; *ret_cpu_ms: processor time of all that it ran so far. */
int hold_running(pid_t shepherd, int64_t *ret_cpu_ms);

#endif
