/*
 * attr_rows.h - one row for each attribute: ROW(KEY, name, owners, members of struct attr).
 *
 * Included by attr.h for the enum and by attr_table.c for the table, so a key is the index of its
 * row. A name with several rows, for different owners, is read by the key of the first one;
 * `also` names the next one.
 */

/* Permissions. */
ROW(MANAGERS, "managers", SERVER, .type = ATTR_LIST,
    .about = "Users (user@host, * for any) who may do everything, beside root and the server's own account.")
ROW(OPERATORS, "operators", SERVER, .type = ATTR_LIST,
    .about = "Users (user@host, * for any) who may see, hold, run and delete any job, and open and close queues.")
ROW(COORDINATORS, "coordinators", QUEUE, .also = SET_COORDINATORS_ACCOUNT, .type = ATTR_LIST,
    .about = "Users (user@host, * for any) who may see, hold, alter, move, order and delete its jobs, and open "
	     "and close it.")
ROW(ACL_HOSTS, "acl_hosts", BOTH, .type = ATTR_HOSTS,
    .about =
	    "Hosts that jobs may be submitted from, when acl_host_enable is true: the server's own by its name, others by the address that requests come from.")
ROW(ACL_HOST_ENABLE, "acl_host_enable", BOTH, BOOL("False"), .about = "Only hosts in acl_hosts may submit.")
ROW(ACL_USERS, "acl_users", BOTH, .also = SET_ACL_USERS_CHARGED, .type = ATTR_LIST,
    .about = "Users (user@host, * for any) who may submit, when acl_user_enable is true; -user shuts one out.")
ROW(ACL_USER_ENABLE, "acl_user_enable", BOTH, BOOL("False"), .about = "Only users in acl_users may submit.")
ROW(ACL_GROUPS, "acl_groups", QUEUE, .also = SET_ACL_GROUPS_CHARGED, .type = ATTR_LIST,
    .about = "Groups whose members may submit, when acl_group_enable is true.")
ROW(ACL_GROUP_ENABLE, "acl_group_enable", QUEUE, BOOL("False"),
    .about = "Only members of a group in acl_groups may submit.")
ROW(QUERY_OTHER_JOBS, "query_other_jobs", SERVER, .type = ATTR_BOOL,
    .about = "Users see the jobs of others. Unset: true in a personal instance, else false.")

/* Routing. */
ROW(DEFAULT_QUEUE, "default_queue", SERVER, .type = ATTR_TEXT, .about = "Queue for jobs that do not name one.")
ROW(QUEUE_TYPE, "queue_type", QUEUE, .type = ATTR_WORD, .initial = "Execution", .words = "Execution Route",
    .about = "Execution: its jobs run. Route: it passes them to route_destinations while it is started.")
ROW(ENABLED, "enabled", QUEUE, BOOL("False"), .about = "Jobs may be submitted to it or moved into it.")
ROW(STARTED, "started", QUEUE, BOOL("False"), .about = "Its jobs may be started, or routed.")
ROW(PRIORITY, "priority", QUEUE, .also = SET_PRIORITY_PARTY, .type = ATTR_NUMBER, .initial = "0", .min = -1024,
    .max = 1023, .about = "Minutes by which its jobs count as submitted earlier when they are ordered.")
ROW(ROUTE_DESTINATIONS, "route_destinations", QUEUE, .type = ATTR_LIST,
    .about =
	    "Queues that a routing queue tries, in this order; the first that accepts the job gets it. QUEUE@SITE is a queue of another site.")
ROW(NODES, "nodes", QUEUE, .also = SET_NODES_PARTITION, .type = ATTR_NODES,
    .about = "Nodes that its jobs may use: names (n[1-8] stands for eight) and features, separated by commas. "
	     "Nodes added later are included. Unset: all nodes.")
ROW(FROM_ROUTE_ONLY, "from_route_only", QUEUE, BOOL("False"),
    .about = "Jobs enter only through a routing queue, not by submission.")

/* Requests. */
ROW(RESOURCES_DEFAULT, "resources_default", SERVER, .also = SET_RESOURCES_DEFAULT_QUEUE, .type = ATTR_AMOUNTS,
    .initial = "walltime=01:00:00", .about = "Defaults for what neither a job nor its queue specifies, as for -l.")
ROW(RESOURCES_DEFAULT_QUEUE, "resources_default", QUEUE, .type = ATTR_AMOUNTS,
    .about = "Defaults for what a job of the queue does not request, as for -l.")
ROW(RESOURCES_MAX, "resources_max", BOTH, .type = ATTR_AMOUNTS,
    .about =
	    "Maximum that a job may request: walltime, ncpus, nodect, ngpus, mem, disk, swap, or a resource of the site.")
ROW(RESOURCES_MIN, "resources_min", BOTH, .type = ATTR_AMOUNTS,
    .about = "Minimum that a job must request, as resources_max.")
ROW(RESOURCES_AVAILABLE, "resources_available", SERVER, .type = ATTR_AMOUNTS,
    .about = "Amounts of site-wide resources that jobs use on any node, such as software licences "
	     "(resources_available.matlab = 20). Jobs request it by its name (-l matlab=2).")

/* Monthly quota: 'shunt quota'. */
ROW(QUOTA, "quota", SERVER, BOOL("True"),
    .about =
	    "Jobs are charged to their users' monthly quotas, once at least one user has a quota. Users without an entry then have none.")
ROW(QUOTA_RETURNED, "quota_returned", SERVER, .type = ATTR_NUMBER, .initial = "75", .min = 0, .max = 100,
    .about = "Percentage of a job's unused walltime that is returned to its user's quota.")

/* Limits on numbers of jobs. */
ROW(MAX_RUNNING, "max_running", BOTH, .also = SET_MAX_RUNNING_PARTY, COUNT,
    .about = "Maximum running jobs. Unset: unlimited.")
ROW(MAX_RUNNING_PARTY, "max_running", OF_PARTIES, COUNT,
    .about =
	    "Maximum running jobs: of the user, of the group, of the account and those below it, of the QoS. Unset: the value of `default` of the same kind, else unlimited.")
ROW(MAX_CPUS, "max_cpus", OF_PARTIES | QUEUE, COUNT,
    .about =
	    "CPUs that its running jobs hold together: those requested, or all CPUs of whole nodes. Unset: as max_running.")
ROW(MAX_MEMORY, "max_memory", OF_PARTIES | QUEUE, .type = ATTR_MEMORY,
    .about = "Memory that its running jobs have requested together, such as 64gb. Unset: as max_running.")
ROW(MAX_CPU_SECONDS, "max_cpu_seconds", OF_PARTIES | QUEUE, .type = ATTR_NUMBER, .min = 0,
    .max = INT64_C(1000000000000000),
    .about =
	    "CPU-seconds that its running jobs may still use: the sum over them of CPUs times remaining walltime, which shrinks as they run. Unset: as max_running.")
ROW(SOFT_MAX_RUNNING, "soft_max_running", OF_PARTIES | QUEUE, COUNT,
    .about =
	    "Soft form of max_running: it may be exceeded while no other job can use the free CPUs. Unset: the value of `default` of the same kind, else unlimited.")
ROW(SOFT_MAX_CPUS, "soft_max_cpus", OF_PARTIES | QUEUE, COUNT, .about = "Soft form of max_cpus; see soft_max_running.")
ROW(SOFT_MAX_MEMORY, "soft_max_memory", OF_PARTIES | QUEUE, .type = ATTR_MEMORY,
    .about = "Soft form of max_memory; see soft_max_running.")
ROW(SOFT_MAX_CPU_SECONDS, "soft_max_cpu_seconds", OF_PARTIES | QUEUE, .type = ATTR_NUMBER, .min = 0,
    .max = INT64_C(1000000000000000), .about = "Soft form of max_cpu_seconds; see soft_max_running.")
ROW(CREDIT_UNIT, "credit_unit", ACCOUNT, .type = ATTR_WORD, .words = "cpu_hours gpu_hours memory_gb_hours node_hours",
    .about =
	    "The resource that the account pays for with credits (\"shunt credit\"). Its jobs, and those of accounts below it, start only if it can pay for them. Unset: jobs are free.")
ROW(CREDIT_RATE, "credit_rate", ACCOUNT, .type = ATTR_NUMBER, .initial = "100", .min = 0, .max = 100000,
    .about = "Percentage of the full price that the account pays.")
ROW(LIBRA_ALPHA, "libra_alpha", SERVER, .type = ATTR_NUMBER, .initial = "100", .min = 0, .max = 1000000,
    .about =
	    "Price of a job with a budget (-l estimate=,deadline=,budget=): percent of an hour of each unit for each hour of its estimate.")
ROW(LIBRA_BETA, "libra_beta", SERVER, .type = ATTR_NUMBER, .initial = "100", .min = 0, .max = 1000000,
    .about = "Surcharge for urgency: percent of an hour of each unit, times estimate / time to the deadline.")
ROW(IGNORES_LIMITS, "ignores_limits", QOS, BOOL("False"),
    .about =
	    "Its jobs start even if that exceeds a limit on running jobs, CPUs, memory or CPU-seconds, except the limit of their own array. They still count towards those limits.")
ROW(MAX_USER_RUN, "max_user_run", BOTH, COUNT, .alias = "max_user_running",
    .about = "Maximum running jobs of one user. Unset: unlimited.")
ROW(MAX_QUEUED, "max_queued", SERVER, COUNT, .alias = "max_queuable",
    .about = "Maximum waiting and running jobs; each element of an array counts. Unset: unlimited.")
ROW(MAX_QUEUABLE, "max_queuable", QUEUE, COUNT, .alias = "max_queued",
    .about = "Maximum waiting and running jobs of the queue; each element of an array counts. Unset: unlimited.")
ROW(MAX_USER_QUEUABLE, "max_user_queuable", BOTH, COUNT, .alias = "max_user_queued",
    .about = "Maximum waiting and running jobs of one user; each element of an array counts. Unset: unlimited.")
ROW(MAX_ARRAY_SIZE, "max_array_size", SERVER, .type = ATTR_NUMBER, .initial = "100000", .min = 1,
    .max = ARRAY_COUNT_MAX, .alias = "max_job_array_size", .about = "Maximum number of elements in one array.")

/* Scheduling. */
ROW(SCHEDULING, "scheduling", SERVER, BOOL("True"),
    .about = "The server starts jobs. False: running jobs continue, but none is started.")
ROW(POLICY, "policy", SERVER, .type = ATTR_POLICY, .initial = "shunt",
    .about = "The scheduling policy; \"shunt policies\" lists them.")
ROW(NODE_PACK, "node_pack", SERVER, .type = ATTR_BOOL,
    .about = "True: jobs go to the fullest nodes that they fit on. False: parts of a job go to different nodes. "
	     "Unset: the policy decides.")
ROW(NODE_ALLOCATION, "node_allocation", SERVER, .type = ATTR_WORD,
    .words = "first_available min_resource load fastest spread contiguous push cover",
    .about =
	    "How nodes are chosen for a job among those that fit. first_available: the first ones. min_resource: those with the least free. load: those with the smallest share of CPUs in use. "
	    "fastest: those with the highest speed. spread: as many nodes as possible, those with the most free first. contiguous: neighbours in the list of nodes. "
	    "push: as min_resource, and planned jobs are moved to other nodes to make room. cover: starts as many jobs as possible on as few nodes as possible. Unset: the policy decides.")
ROW(TOLERANCE, "tolerance", SERVER, SECONDS("0"),
    .about = "Seconds that a job may run beyond its walltime before it is ended.")
ROW(RESERVATION_DEPTH, "reservation_depth", SERVER, .type = ATTR_NUMBER, .initial = "100", .min = 0, .max = JOBS_MAX,
    .about =
	    "Maximum waiting jobs with a reservation: by default one under policies such as easy, and 100 where every job reserves (conservative) or starves. "
	    "The others start where they fit beside the reservations. 0: unlimited; each cycle then takes longer the more jobs are waiting.")
ROW(STARVE_AFTER, "starve_after", SERVER, SECONDS(NULL), .alias = "max_starve",
    .about = "Seconds of waiting after which a common job gets a reservation. Unset: the policy decides.")

ROW(PRIORITY_ORDER, "priority_order", SERVER, .type = ATTR_WORD, .initial = "policy", .words = "policy sum product",
    .about =
	    "Order of waiting jobs. policy: the policy decides. sum: by priority, the sum of the weighted factors. product: by priority, "
	    "the product of stages: each factor is scaled to 0 to 1 and raised to the power of its weight.")
ROW(PRIORITY_WEIGHT, "priority_weight", SERVER, WEIGHTS, .initial = "queue_time=1",
    .about =
	    "The weight of a factor of the priority, such as priority_weight.cpus; \"shunt priority --factors\" lists them.")
ROW(PRIORITY_LOW, "priority_low", SERVER, WEIGHTS,
    .about = "Value of a factor at which its stage is 0. Unset: as shown by \"shunt priority --factors\".")
ROW(PRIORITY_HIGH, "priority_high", SERVER, WEIGHTS, .about = "The value of a factor at which its stage is 1.")
ROW(FAIRSHARE_WINDOW, "fairshare_window", SERVER, .type = ATTR_NUMBER, .initial = "1", .min = 1, .max = 366,
    .about = "Length of a fairshare window, in days. All usage within a window counts the same.")
ROW(FAIRSHARE_DEPTH, "fairshare_depth", SERVER, .type = ATTR_NUMBER, .initial = "30", .min = 1, .max = 3660,
    .about = "Number of windows whose usage counts for fairshare. Older usage is ignored.")
ROW(FAIRSHARE_DECAY, "fairshare_decay", SERVER, .type = ATTR_NUMBER, .initial = "90", .min = 0, .max = 100,
    .about =
	    "Weight of a window's usage in fairshare, as a percentage of the weight of the next window. 100: all windows count the same.")
ROW(BACKFILL, "backfill", SERVER, .type = ATTR_WORD, .words = "none first_fit best_fit greedy",
    .about =
	    "Which jobs may overtake jobs that can't start, without delaying those with reservations. none: no job. first_fit: each that fits, in queue order. "
	    "best_fit: each that fits, the one with the most CPUs first. greedy: those that together leave the fewest CPUs idle. Unset: the policy decides.")

/* Running. */
ROW(KILL_DELAY, "kill_delay", SERVER, .also = SET_KILL_DELAY_QUEUE, SECONDS("10"), .alias = "grace",
    .about = "Seconds from SIGTERM to SIGKILL when a job is deleted or has used up its walltime.")
ROW(KILL_DELAY_QUEUE, "kill_delay", QUEUE, SECONDS(NULL), .alias = "grace",
    .about = "The same for jobs of the queue. Unset: the server's.")
ROW(MEM_ENFORCE, "mem_enforce", SERVER, BOOL("True"),
    .about = "Jobs that use more memory than they requested are killed.")
ROW(LOGIN_SHELL, "login_shell", SERVER, BOOL("False"),
    .about = "Job scripts are run by a login shell, which reads the user's profile.")
ROW(INTERACTIVE_GRACE, "interactive_grace", SERVER, .type = ATTR_DURATION, .initial = "30", .min = 1, .max = YEAR,
    .about = "Seconds that an interactive job waits for its terminal after it starts or its connection breaks.")
ROW(INTERACTIVE_WALLTIME, "interactive_walltime", SERVER, SECONDS(NULL), .alias = "interactive_limit",
    .about =
	    "The longest walltime of an interactive job, in seconds: a job that requests more is refused, and one that requests none gets at most this. 0: "
	    "interactive jobs are refused. Unset: as for other jobs.")
ROW(INTERACTIVE_WARNING, "interactive_warning", SERVER, SECONDS(NULL),
    .about =
	    "Seconds before the end of its walltime at which an interactive job's terminal shows a warning; 0: never. Unset: five minutes, or a tenth of the "
	    "walltime if that is less.")
ROW(INTERACTIVE_BREAKS_DEADLINES, "interactive_breaks_deadlines", SERVER, BOOL("False"),
    .about =
	    "Under the policy artaras an interactive job may displace or delay jobs even if a guaranteed deadline is missed. False: it is refused then.")
ROW(LONG_CHECKPOINT, "long_checkpoint", SERVER, SECONDS(NULL),
    .about =
	    "A checkpoint that may take longer than this many seconds is a long one: interactive jobs under the policy artaras don't wait for it, see long_checkpoint_rule. Unset: no checkpoint is long.")
ROW(LONG_CHECKPOINT_RULE, "long_checkpoint_rule", SERVER, .type = ATTR_WORD, .words = "remove nights times",
    .about =
	    "How jobs with long checkpoints are treated under the policy artaras. remove: an interactive job stops them without a checkpoint, and they resume from their last one. "
	    "nights: they run only in long_checkpoint_hours, and are saved before those end. times: an interactive job can stop them only in long_checkpoint_times. Unset: remove.")
ROW(LONG_CHECKPOINT_HOURS, "long_checkpoint_hours", SERVER, .type = ATTR_HOURS,
    .about =
	    "When jobs with long checkpoints run, such as \"Mon-Fri 19:00-07:00, Sat-Sun 00:00-24:00\", with the rule nights. Unset: at any time.")
ROW(LONG_CHECKPOINT_TIMES, "long_checkpoint_times", SERVER, .type = ATTR_HOURS,
    .about = "When interactive jobs can stop jobs with long checkpoints, with the rule times. Unset: never.")
ROW(MAX_START_FAILURES, "max_start_failures", SERVER, .type = ATTR_NUMBER, .initial = "3", .min = 1, .max = 1000,
    .about =
	    "A job is held, with the reason in its comment, after this many failures to start it with no other node left to try, after "
	    "this many that may be its own fault (prologue, account, files to be brought), or losses, and in any case after five times as many.")
ROW(START_RETRY, "start_retry", SERVER, .type = ATTR_DURATION, .initial = "10", .min = 1, .max = YEAR,
    .about =
	    "Seconds before a job that could not be started on any node, or was lost, is tried again; twice as long after every "
	    "further failure, up to an hour. The job avoids a node where it failed for six times as long.")
ROW(NODE_START_FAILURES, "node_start_failures", SERVER, .type = ATTR_NUMBER, .initial = "3", .min = 0, .max = 1000,
    .about =
	    "When this many different jobs could not be started on a node, it is unhealthy, and nothing more is started there for "
	    "node_retry. 0: never.")
ROW(NODE_RETRY, "node_retry", SERVER, .type = ATTR_DURATION, .initial = "60", .min = 1, .max = YEAR,
    .about =
	    "Seconds after which an unhealthy node is tried again; twice as long every time that fails, up to an hour. When a job "
	    "has run there, it is healthy.")
ROW(RERUN_LOST, "rerun_lost", SERVER, BOOL("True"),
    .about = "Rerunnable jobs that ran when the machine failed are queued again. False: they end as lost.")

/* Nodes on other machines. */
ROW(NODE_DOWN_AFTER, "node_down_after", SERVER, .type = ATTR_DURATION, .initial = "30", .min = 1, .max = YEAR,
    .about = "Seconds without a word from a node after which it is down: nothing new is started there.")
ROW(NODE_LOST_AFTER, "node_lost_after", SERVER, SECONDS("600"),
    .about = "Seconds without contact to a node after which its rerunnable jobs are run elsewhere; before that they "
	     "end themselves. 0: never; the server waits for them.")
ROW(SHARED_PATHS, "shared_paths", SERVER, .type = ATTR_TEXT,
    .about = "Directories, separated by commas, that are shared by all machines: output is written there directly. "
	     "Network file systems, such as NFS, are recognised without this.")

ROW(CHECKPOINT_PATH, "checkpoint_path", SERVER, .type = ATTR_TEXT, .initial = ".shunt/checkpoints",
    .about =
	    "Directory of the jobs' checkpoint directories: absolute, or relative to each user's home. Unless all nodes share "
	    "it, a job that is restarted on another node starts from the beginning. qsub -c dir=PATH overrides it for a job.")
ROW(CHECKPOINT_INTERVAL, "checkpoint_interval", SERVER, .also = SET_CHECKPOINT_INTERVAL_CLASS, .type = ATTR_DURATION,
    .initial = "3600", .min = 1, .max = YEAR,
    .about = "Seconds between periodic checkpoints of a job that requests them without an interval.")
ROW(CHECKPOINT_INTERVAL_MIN, "checkpoint_interval_min", SERVER, .also = SET_CHECKPOINT_INTERVAL_MIN_CLASS, SECONDS("0"),
    .alias = "checkpoint_min",
    .about = "Shortest interval between checkpoints, in seconds; a job that requests a shorter one gets this.")
ROW(CHECKPOINT_DURATION, "checkpoint_duration", SERVER, .also = SET_CHECKPOINT_DURATION_CLASS, .type = ATTR_DURATION,
    .initial = "60", .min = 1, .max = YEAR, .about = "Seconds that a checkpoint may take, unless the job specifies it.")
ROW(CHECKPOINT_DURATION_MAX, "checkpoint_duration_max", SERVER, .also = SET_CHECKPOINT_DURATION_MAX_CLASS,
    .type = ATTR_DURATION, .initial = "3600", .min = 1, .max = YEAR,
    .about = "Longest duration of a checkpoint that a job may request, in seconds; more is refused.")
ROW(TIME_SLICE, "time_slice", SERVER, SECONDS("0"),
    .about =
	    "Under the policy artaras: seconds for which a job that makes checkpoints keeps its partition while others wait for it. It then saves its work, "
	    "makes room for them, and continues when all that are now waiting have had their turn. 0: jobs run to their end.")
ROW(MOVE, "move", SERVER, .also = SET_MOVE_CLASS, BOOL("False"),
    .about =
	    "A running job that makes checkpoints may be stopped at one and continue elsewhere if a waiting job then fits.")
ROW(MOVE_CLASS, "move", CLASS, .type = ATTR_BOOL, .about = "The same for jobs of the class. Unset: the server's.")
ROW(START, "start", CLASS, .also = SET_START_RESERVATION, .type = ATTR_WORD, .initial = "script",
    .words = "script spmd",
    .about =
	    "script: the script is run once, and starts the rest itself. spmd: it is run once for each processor of the job, with its rank and the number of ranks in "
	    "SHUNT_RANK and SHUNT_SIZE. Unset, the class spmd has spmd.")
ROW(METHOD, "method", CLASS, .type = ATTR_WORD, .initial = "signal", .words = "signal script criu",
    .about =
	    "signal: the program saves itself when it gets a signal. script: `saver` runs beside it and saves it. criu: CRIU saves it, and it need not know; "
	    "on one host whose server or agent runs as root, with the program criu; for root's jobs only, unless users are trusted with root's rights; not with start = spmd.")
ROW(PERIODIC_SIGNAL, "periodic_signal", CLASS, .type = ATTR_NUMBER, .initial = "10", .min = 0, .max = 64,
    .about =
	    "Number of the signal for a checkpoint after which the program continues; 0: it makes no such checkpoints.")
ROW(PREEMPT_SIGNAL, "preempt_signal", CLASS, .type = ATTR_NUMBER, .initial = "12", .min = 0, .max = 64,
    .about = "Number of the signal for the last checkpoint, after which the program must exit; 0: none is sent.")
ROW(RESTART_ARGUMENT, "restart_argument", CLASS, BOOL("True"),
    .about = "A restarted script gets -Restart as its last argument. $SHUNT_RESTART is set in any case.")
ROW(EXIT_SAVES, "exit_saves", CLASS, BOOL("False"),
    .about = "Exit status 0 after the preempt signal counts as a checkpoint, without the file `done`.")
ROW(SAVER, "saver", CLASS, .type = ATTR_TEXT,
    .about =
	    "The program of the method script, an absolute path: run as the job's user in the directory of the checkpoint, "
	    "with that path, the session of the job and the cause as arguments; exit status 0 is a good checkpoint. qsub -c saver=PATH overrides it for a job.")
ROW(RESTARTER, "restarter", CLASS, .type = ATTR_TEXT,
    .about =
	    "A program, an absolute path, that is run instead of the script when a job restarts: as its user, with the path of the checkpoint "
	    "as argument. Unset: the script is run again. qsub -c restarter=PATH overrides it for a job.")
ROW(CHECKPOINT_INTERVAL_CLASS, "checkpoint_interval", CLASS, .type = ATTR_DURATION, .min = 1, .max = YEAR,
    .about = "As the server's, for jobs of the class. Unset: the server's.")
ROW(CHECKPOINT_INTERVAL_MIN_CLASS, "checkpoint_interval_min", CLASS, SECONDS(NULL), .about = "The same.")
ROW(CHECKPOINT_DURATION_CLASS, "checkpoint_duration", CLASS, .type = ATTR_DURATION, .min = 1, .max = YEAR,
    .about = "The same.")
ROW(CHECKPOINT_DURATION_MAX_CLASS, "checkpoint_duration_max", CLASS, .type = ATTR_DURATION, .min = 1, .max = YEAR,
    .about = "The same.")

ROW(DELIVER_FOR, "deliver_for", SERVER, SECONDS("60"),
    .about =
	    "Seconds for which delivery of a job's output to an unreachable host is retried; then the output stays where "
	    "the job ran, and the job's comment says so.")

/* Completed jobs. */
ROW(KEEP_COMPLETED, "keep_completed", SERVER, .also = SET_KEEP_COMPLETED_QUEUE, SECONDS("86400"),
    .alias = "job_history_duration",
    .about = "Seconds that jobs stay visible after their end; then they are in the history.")
ROW(KEEP_COMPLETED_QUEUE, "keep_completed", QUEUE, SECONDS(NULL),
    .about = "The same for jobs of the queue. Unset: the server's.")
ROW(KEEP_HISTORY, "keep_history", SERVER, .type = ATTR_DURATION, .initial = "forever", .words = "forever", .min = 0,
    .max = 100 * YEAR,
    .about =
	    "How long jobs stay in the history after their end, such as 5y; what they used stays in the ledger. forever: nothing is deleted.")
ROW(KEEP_AUDIT, "keep_audit", SERVER, .type = ATTR_DURATION, .initial = "forever", .words = "forever", .min = 0,
    .max = 100 * YEAR,
    .about = "How long changes stay in the audit log (\"shunt audit\"), such as 1y. forever: nothing is deleted.")
ROW(SHOW_COMPLETED, "show_completed", SERVER, SECONDS("300"),
    .about =
	    "Seconds that lists of qstat show jobs after their end; by id, with -x and -H they are shown as long as they are kept.")
ROW(MAIL_FROM, "mail_from", SERVER, .type = ATTR_TEXT, .initial = "adm", .about = "Sender of mail about jobs.")
ROW(MAIL_DOMAIN, "mail_domain", SERVER, .type = ATTR_TEXT,
    .about = "Mail to users goes to user@DOMAIN; \"never\" sends none. Unset: to the user name alone.")
ROW(HOOK_TIME, "hook_time", SERVER, .type = ATTR_NUMBER, .initial = "500", .min = 1, .max = 10000,
    .about = "Processor time that one call of a hook may use, in milliseconds; a call that needs more fails.")
ROW(HOOK_MEMORY, "hook_memory", SERVER, .type = ATTR_MEMORY, .initial = "64mb", .min = 1024, .max = 1 << 20,
    .about = "Memory that one call of a hook may use; a call that needs more fails.")
ROW(HOOK_FAILURE, "hook_failure", SERVER, .type = ATTR_WORD, .initial = "refuse", .words = "refuse accept",
    .about =
	    "What happens when a hook for submit or modify fails. refuse: the request is refused. accept: it proceeds without the hook.")
ROW(HOOK_REFRESH, "hook_refresh", SERVER, .type = ATTR_DURATION, .initial = "60", .min = 5, .max = 86400,
    .about =
	    "Seconds after which the hooks are asked again for the priority factor (priority_factor) of all waiting jobs.")
ROW(LOG_EVENTS, "log_events", SERVER, .type = ATTR_LIST,
    .words = "startup shutdown jobsubmit jobstart checkpoint jobfinish jobremove jobmove quota error all",
    .about =
	    "Kinds of events that are logged to events.log, one line each, in the state directory: startup, shutdown, jobsubmit, jobstart, checkpoint, jobfinish, jobremove, "
	    "jobmove, quota, error; or all. Unset: none.")
ROW(LOG_FORMAT, "log_format", SERVER, .type = ATTR_WORD, .initial = "text", .words = "text json",
    .about = "Format of these lines: text for people, or one JSON object each.")
ROW(COMMENT, "comment", BOTH, .also = SET_COMMENT_PARTITION, .type = ATTR_TEXT, .about = "Comment, shown by qstat -f.")

/* Partitions. */
ROW(NODES_PARTITION, "nodes", PARTITION, .also = SET_NODES_RESERVATION, .type = ATTR_NODES,
    .about =
	    "Its nodes, separated by commas; n[1-8] stands for eight. A node is in at most one partition; nodes without one run jobs that do not request a partition.")
ROW(COMMENT_PARTITION, "comment", PARTITION, .also = SET_COMMENT_PARTY, .type = ATTR_TEXT,
    .about = "Comment, shown by shunt partitions.")

/* Users, groups, accounts and qualities of service. */
ROW(COORDINATORS_ACCOUNT, "coordinators", ACCOUNT, .type = ATTR_LIST,
    .about = "Users (user@host, * for any) who may see, hold, alter, move, order and delete the jobs of the account "
	     "and of those below it, and change their acl_users.")
ROW(ACL_USERS_CHARGED, "acl_users", ACCOUNT | QOS, .also = SET_ACL_USERS_RESERVATION, .type = ATTR_LIST,
    .about =
	    "Users (user@host, * for any) whose jobs may be charged to the account, or have the QoS; -user shuts one out. A user needs to match only one of acl_users, acl_groups and acl_accounts. "
	    "Without lists everybody may use it, and an account has the lists of its parent.")
ROW(ACL_GROUPS_CHARGED, "acl_groups", ACCOUNT | QOS, .also = SET_ACL_GROUPS_RESERVATION, .type = ATTR_LIST,
    .about = "Groups whose members may use it, as acl_users.")
ROW(ACL_ACCOUNTS, "acl_accounts", QOS, .also = SET_ACL_ACCOUNTS_RESERVATION, .type = ATTR_LIST,
    .about = "Accounts whose jobs may use it, as acl_users.")
ROW(MAY_PREEMPT, "may_preempt", QOS, BOOL("False"),
    .about =
	    "Its jobs with a deadline are emergency jobs: if a deadline cannot be met otherwise, normal and starving jobs are stopped and requeued.")
ROW(DEDICATED, "dedicated", QOS, BOOL("False"), .about = "Its jobs have their nodes to themselves.")
ROW(PARENT, "parent", ACCOUNT, .type = ATTR_TEXT, .about = "Parent account.")
ROW(DEFAULT_ACCOUNT, "default_account", ATTR_USER | ATTR_GROUP, .type = ATTR_TEXT,
    .about = "Account of jobs that do not name one: the user's setting, else the group's.")
ROW(DEFAULT_QOS, "default_qos", ATTR_USER | ATTR_GROUP | ACCOUNT | BOTH, .type = ATTR_TEXT,
    .about =
	    "Quality of service of jobs that do not request one: the setting of the user, else of the account, the group, the queue, the server. One that the user may not use is skipped.")
ROW(PRIORITY_PARTY, "priority", OF_PARTIES, .type = ATTR_NUMBER, .initial = "0", .min = -JOBS_MAX, .max = JOBS_MAX,
    .about =
	    "A factor of the priority of its jobs, which counts as priority_weight.user, .group, .account and .qos say.")
ROW(FAIRSHARE, "fairshare", ATTR_USER | ATTR_GROUP | ACCOUNT, .type = ATTR_NUMBER, .min = 0, .max = 100,
    .about =
	    "Target share of the usage of it and its siblings together, in percent: of an account, those with the same parent; of a group, those on the same account; of a user, those in "
	    "the same group. It counts as priority_weight.fairshare says.")
ROW(COMMENT_PARTY, "comment", OF_PARTIES, .also = SET_COMMENT_RESERVATION, .type = ATTR_TEXT, .about = "Comment.")
ROW(RESERVATION, "reservation", QOS, .type = ATTR_TEXT,
    .about = "The reservation that its jobs are bound to, unless they name another one.")

/* Reservations. */
ROW(NODES_RESERVATION, "nodes", RESERVATION, .type = ATTR_NODES,
    .about = "The reserved nodes, separated by commas. n[1-8] stands for eight nodes, all for every node.")
ROW(PER_NODE, "per_node", RESERVATION, .type = ATTR_AMOUNTS,
    .about =
	    "Amounts reserved on each node, as in per_node.ncpus = 2; also mem, disk and swap. Other jobs can use the rest. Unset: whole nodes.")
ROW(AMOUNTS, "amounts", RESERVATION, .type = ATTR_AMOUNTS,
    .about = "Amounts reserved of resources_available, as in amounts.matlab = 3.")
ROW(NODE_COUNT, "node_count", RESERVATION, .type = ATTR_NUMBER, .min = 1, .max = 1000000,
    .about =
	    "Number of nodes to choose when the times are set, if nodes is not given. The nodes with the fewest jobs in the way are taken.")
ROW(FEATURES, "features", RESERVATION, .type = ATTR_TEXT,
    .about = "Features that the chosen nodes must have, such as gpu:fast.")
ROW(START_RESERVATION, "start", RESERVATION, .type = ATTR_TIME,
    .about =
	    "When the reservation begins, such as 2026-12-24T08:00; for a weekly one, the earliest begin. It takes effect once nodes and times are set.")
ROW(END, "end", RESERVATION, .type = ATTR_TIME,
    .about = "When the reservation ends; for a weekly one, after the last week. Unset: see duration.")
ROW(DURATION, "duration", RESERVATION, .type = ATTR_DURATION, .min = 1, .max = 10 * YEAR,
    .about = "Length of the reservation, in seconds or as HH:MM:SS, instead of end.")
ROW(HOURS, "hours", RESERVATION, .type = ATTR_HOURS,
    .about = "Weekly hours, in local time, such as \"Mon 08:00-12:00, Thu 14:00-18:00\".")
ROW(EXCEPT, "except", RESERVATION, .type = ATTR_LIST,
    .about = "Days on which a weekly reservation is skipped, such as 2026-12-24,2026-12-31.")
ROW(ACL_USERS_RESERVATION, "acl_users", RESERVATION, .type = ATTR_LIST,
    .about =
	    "Users (user@host, * for any) whose jobs may run inside. A job needs to match only one of the lists; without lists no job may. Matching jobs may also run elsewhere.")
ROW(ACL_GROUPS_RESERVATION, "acl_groups", RESERVATION, .type = ATTR_LIST,
    .about = "Groups whose jobs may run inside: the group that the job runs with.")
ROW(ACL_ACCOUNTS_RESERVATION, "acl_accounts", RESERVATION, .type = ATTR_LIST,
    .about = "Accounts whose jobs may run inside.")
ROW(ACL_QUEUES, "acl_queues", RESERVATION, .type = ATTR_LIST, .alias = "acl_classes",
    .about = "Queues whose jobs may run inside.")
ROW(ACL_QOS, "acl_qos", RESERVATION, .type = ATTR_LIST, .about = "QoS whose jobs may run inside.")
ROW(ACL_JOBS, "acl_jobs", RESERVATION, .type = ATTR_LIST, .about = "Numbers of jobs that may run inside.")
ROW(MAINTENANCE, "maintenance", RESERVATION, BOOL("False"),
    .about = "Admits no job, whatever its lists say, and may overlap other reservations.")
ROW(IGNORE_JOBS, "ignore_jobs", RESERVATION, BOOL("False"),
    .about = "Create it even if running jobs extend into it; they keep running. False: it is refused.")
ROW(BREAKS_DEADLINES, "breaks_deadlines", RESERVATION, BOOL("False"),
    .about = "Create it even if that breaks guaranteed deadlines. False: it is refused.")
ROW(COMMENT_RESERVATION, "comment", RESERVATION, .type = ATTR_TEXT, .about = "Comment, shown by showres.")
