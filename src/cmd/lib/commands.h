/*
 * commands.h - the list of all commands, in the order of the help. Each row, command_NAME, is in
 * the file of its command. A new command needs only its name here.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/lib/command.h"

/* clang-format off */
/* The server, and submitting and changing jobs. */
#define COMMANDS_JOBS(C) \
	C(up) C(down) C(shutdown) C(status) C(page) C(submit) C(qsub) C(resubmit) C(retry) C(template_list) \
	C(template_show) C(template_save) C(template_share) C(template_delete) C(shell) C(qdel) C(cancel) \
	C(kill) C(move) C(qalter) C(qhold) C(qrls) C(qmove) C(qmsg) C(qorder) C(qrerun) C(qsig) C(qrun) \
	C(qmgr) C(qenable) C(qdisable) C(qstart) C(qstop) C(qterm) C(nqs2pbs) C(artaras2qmgr)
/* Other machines: nodes that join, users who log in. */
#define COMMANDS_MACHINES(C) \
	C(token_create) C(token_list) C(token_revoke) C(site_add) C(site_list) C(site_remove) C(courier) \
	C(owner) C(owner_pause) C(owner_resume) C(overlay_add) C(overlay_list) C(overlay_pause) \
	C(overlay_resume) C(overlay_remove) C(keeper) C(join) C(login) C(logout) C(clusters) C(config_check) \
	C(import_config) C(store_copy) C(backup) C(restore)
/* Pools of workstations. */
#define COMMANDS_POOLS(C) \
	C(pool_create) C(pool_join) C(pool_token) C(pool_start) C(pool_stop) C(pool_remove) C(pool_renew) \
	C(pool_pause) C(pool_resume) C(pool_status) C(spawn)
/* Inside jobs. */
#define COMMANDS_INSIDE(C) \
	C(launch) C(rsh) C(shunt_rsh) C(pbsdsh) C(pmix)
/* Bags of tasks. */
#define COMMANDS_BAGS(C) \
	C(bag_run) C(bag_status) C(bag_results) C(bag_retry) C(bag_cancel) C(bag_top) C(bag_worker) \
	C(bag_relay) C(allocations)
/* Showing things. */
#define COMMANDS_SHOWN(C) \
	C(qstat) C(qselect) C(pbsnodes) C(tracejob) C(showq) C(checkjob) C(showbf) C(showstart) C(showstats) \
	C(showgrid) C(diagnose) C(doctor) C(audit) C(showres) C(setres) C(releaseres) C(queue) C(js) C(job) \
	C(why) C(plan) C(whatif) C(nodes) C(nodes_offline) C(nodes_drain) C(nodes_online) C(nodes_set) \
	C(nodes_remove) C(partitions) C(reservations) C(reservations_add) C(reservations_change) \
	C(reservations_remove) C(priority) C(hooks) C(hooks_check) C(hooks_test) C(fairshare) C(log) \
	C(history) C(history_import) C(usage) C(quota) C(quota_set) C(quota_drop) C(quota_import) \
	C(quota_export) C(quota_log) C(credit) C(credit_deposit) C(credit_withdraw) C(credit_transfer) \
	C(credit_statement) C(report) C(output) C(watch) C(top)
/* The simulator and help. */
#define COMMANDS_OTHER(C) \
	C(simulate) C(experiment_bag) C(experiment_cover) C(experiment_owners) C(experiment_pool) \
	C(experiment_move) C(experiment_push) C(experiment_traces) C(policies) C(tutorial) C(help_page) \
	C(version) C(completions) C(manual)

#define COMMANDS(C) \
	COMMANDS_JOBS(C) COMMANDS_MACHINES(C) COMMANDS_POOLS(C) COMMANDS_INSIDE(C) COMMANDS_BAGS(C) \
	COMMANDS_SHOWN(C) COMMANDS_OTHER(C)
/* clang-format on */

#define COMMAND_DECLARE(name) extern const struct command command_##name;
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

#endif
