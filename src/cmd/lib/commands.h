/*
 * commands.h - the commands' rows, each defined in its own file.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/lib/command.h"

extern const struct command command_simulate;	     /* simulate.c */
extern const struct command command_experiment_push; /* experiment.c */
extern const struct command command_experiment_move;
extern const struct command command_experiment_bag;
extern const struct command command_experiment_cover, command_experiment_owners, command_experiment_pool;
extern const struct command command_experiment_traces;
extern const struct command command_policies;  /* policies.c */
extern const struct command command_help_page; /* help.c */
extern const struct command command_version;
extern const struct command command_completions; /* completions.c */
extern const struct command command_manual;	 /* manual.c */

/* Submitting and changing jobs. */
extern const struct command command_up, command_down, command_shutdown, command_status;		      /* instance.c */
extern const struct command command_page;							      /* page.c */
extern const struct command command_qsub, command_submit;					      /* qsub.c */
extern const struct command command_qdel, command_qalter;					      /* qdel.c */
extern const struct command command_qhold, command_qrls, command_qmove, command_qmsg, command_qorder; /* qjobs.c */
extern const struct command command_qrerun, command_qsig, command_qrun;
extern const struct command command_qenable, command_qdisable, command_qstart, command_qstop,
	command_qterm;					     /* qqueues.c */
extern const struct command command_qmgr;		     /* qmgr.c */
extern const struct command command_resubmit, command_retry; /* again.c */
extern const struct command command_cancel;		     /* qdel.c */
extern const struct command command_tutorial;		     /* tutorial.c */
extern const struct command command_watch;		     /* watch.c */
extern const struct command command_kill;		     /* kill.c */
extern const struct command command_move;		     /* move.c */
extern const struct command command_nqs2pbs;		     /* nqs2pbs.c */
extern const struct command command_artaras2qmgr;

/* Other machines. */
extern const struct command command_token_create, command_token_list, command_token_revoke; /* token.c */
extern const struct command command_overlay_add, command_overlay_list, command_overlay_pause, command_overlay_resume,
	command_overlay_remove;									       /* overlay.c */
extern const struct command command_keeper;							       /* keeper.c */
extern const struct command command_site_add, command_site_list, command_site_remove, command_courier; /* site.c */
extern const struct command command_join;							       /* join.c */
extern const struct command command_owner, command_owner_pause, command_owner_resume;		       /* owner.c */
extern const struct command command_login, command_logout, command_clusters;			       /* login.c */
extern const struct command command_config_check;						       /* config.c */
extern const struct command command_import_config;				 /* importconfig.c */
extern const struct command command_store_copy, command_backup, command_restore; /* store.c */
extern const struct command command_nodes_offline, command_nodes_drain, command_nodes_online, command_nodes_set,
	command_nodes_remove; /* nodes_change.c */

/* Inside jobs. */
extern const struct command command_rsh, command_shunt_rsh, command_pbsdsh; /* rsh.c, pbsdsh.c */
extern const struct command command_launch, command_pmix;		    /* launch.c */

/* Bags of tasks. */
extern const struct command command_bag_run, command_bag_retry; /* bag.c */
extern const struct command command_bag_worker;			/* bag_worker.c */
extern const struct command command_bag_relay;			/* bag_relay.c */
extern const struct command command_bag_status, command_bag_results, command_bag_cancel,
	command_bag_top;			 /* bag_show.c */
extern const struct command command_allocations; /* allocations.c */

/* Pools of workstations. */
extern const struct command command_pool_create, command_pool_join, command_pool_token, command_pool_start,
	command_pool_stop, command_pool_status, command_pool_pause, command_pool_resume, command_pool_remove,
	command_pool_renew;		   /* pool.c */
extern const struct command command_spawn; /* spawn.c */

/* Showing things. */
extern const struct command command_qstat, command_qselect, command_pbsnodes, command_tracejob;
extern const struct command command_js, command_queue, command_nodes, command_whatif, command_plan, command_top;
extern const struct command command_partitions;
extern const struct command command_showq;			   /* showq.c */
extern const struct command command_checkjob;			   /* checkjob.c */
extern const struct command command_showbf, command_showstart;	   /* showstart.c */
extern const struct command command_showstats, command_showgrid;   /* showstats.c */
extern const struct command command_diagnose;			   /* diagnose.c */
extern const struct command command_audit;			   /* audit.c */
extern const struct command command_doctor;			   /* doctor.c */
extern const struct command command_reservations, command_showres; /* reservations.c */
extern const struct command command_reservations_add, command_reservations_change, command_reservations_remove,
	command_setres, command_releaseres; /* setres.c */
extern const struct command command_priority;
extern const struct command command_fairshare;
extern const struct command command_hooks, command_hooks_check, command_hooks_test;
extern const struct command command_job, command_why;	 /* job.c */
extern const struct command command_log, command_output; /* log.c */
extern const struct command command_history;		 /* history.c */
extern const struct command command_history_import;	 /* import.c */
extern const struct command command_usage;		 /* usage.c */
extern const struct command command_report;		 /* report.c */
extern const struct command command_credit, command_credit_deposit, command_credit_withdraw, command_credit_transfer,
	command_credit_statement; /* credit.c */
extern const struct command command_quota, command_quota_set, command_quota_drop, command_quota_import,
	command_quota_export, command_quota_log; /* quota.c */

#endif
