/*
 * schemas.h - schemas of bodies (bodies.c) and of answers, which are defined next to the functions
 * that write them.
 */
#ifndef SERVER_SCHEMAS_H
#define SERVER_SCHEMAS_H

#include "base/schema.h"

#define LETTERS_MOST 64 /* letters of states or holds: each job of an action is compared with them */
#define CREDIT_UNIT_WORDS "cpu_hours|gpu_hours|memory_gb_hours|node_hours"

extern const struct schema submission_body, whatif_body, again_body;
extern const struct schema alteration_body;
extern const struct schema deletion_body;
extern const struct schema delete_body, alter_body, hold_body, signal_body, rerun_body, run_body, move_body,
	message_body, order_body, place_body;
extern const struct schema changes_body, shutdown_body;
extern const struct schema node_body;
extern const struct schema token_body, join_body, login_body, template_body;
extern const struct schema import_body;

extern const struct schema used_schema; /* struct job_used */
extern const struct schema job_schema, list_answer, elements_answer, job_events_answer, why_answer;
extern const struct schema submitted_answer, whatif_answer, results_answer, placed_answer;
extern const struct schema server_answer, server_log_answer, site_answer, audit_answer, attributes_answer,
	cluster_answer;
extern const struct schema object_answer, classes_answer, users_answer, groups_answer, accounts_answer, qos_answer,
	reservation_answer, reservations_answer, dry_answer;
extern const struct schema partition_answer, partitions_answer;
extern const struct schema queue_answer, queues_answer, node_answer, nodes_answer, lives_answer;
extern const struct schema overlays_answer, overlay_body, overlay_patch, overlay_delete_body, keeper_body,
	keeper_change_body;
extern const struct schema sites_answer, withdraw_body, withdrawn_answer, courier_work_body, courier_piece_body;
extern const struct schema templates_answer, template_whole;
extern const struct schema new_token_answer, tokens_answer, joined_answer, whoami_answer;
extern const struct schema hooks_answer, trial_body, tried_answer;
extern const struct schema clusters_answer, cluster_link_answer;
extern const struct schema simulation_body, simulation_answer, simulations_answer;
extern const struct schema plan_answer, priority_answer, fairshare_answer;
extern const struct schema past_answer, sums_answer, usage_answer, added_answer;

#endif
