"""Jobs that count, save their work when they are asked to, and continue from there: no completed step may be lost."""

CLASS = "counter"
SAVE_SECONDS = 5  # that a checkpoint may take, and that one must have run for to be moved

# A signal may come between the fork of a command and its exec, when it still has the shell's handler; the shell would say so.
SCRIPT = """exec 2>/dev/null
n=0
[ -z "$SHUNT_RESTART" ] || read -r n <"$SHUNT_RESTART/state"
echo "resumed $SHUNT_ATTEMPT $n 0" >>"$evidence"
asked= final=
trap 'asked=1' USR1
trap 'asked=1 final=1' USR2
while [ $n -lt {steps} ]; do
	sleep 0.1
	n=$((n + 1))
	echo "step $SHUNT_ATTEMPT $n 0" >>"$evidence"
	new=$SHUNT_CHECKPOINT_DIR/new
	if [ "$asked" ] && [ -d "$new" ] && [ ! -e "$new/done" ]; then
		asked=$final
		if echo $n >"$new/state" && : >"$new/done"; then
			read -r now rest </proc/uptime
			echo "saved $SHUNT_ATTEMPT $n $now" >>"$evidence"
			[ -z "$final" ] || exit 0
		fi
	fi
done
"""


def prepare(clients):
    clients.ask("PUT", "/v1/classes/" + CLASS)
    for name, value in (("move", True), ("checkpoint_interval", 2), ("checkpoint_duration", SAVE_SECONDS)):
        clients.set("classes/" + CLASS, name, value)
    clients.set("server", "checkpoint_path", clients.instance.home + "/checkpoints")


def attempts(lines):
    """[(resumed, [steps], [saved])] in the order of the attempts."""
    found = {}
    for what, attempt, n, _ in (l for l in lines if len(l) == 4 and l[0] in ("resumed", "step", "saved")):
        x = found.setdefault(int(attempt), [None, [], []])
        if what == "resumed":
            x[0] = int(n)
        else:
            x[1 if what == "step" else 2].append(int(n))
    return [found[k] for k in sorted(found)]


def check(checks, job, row):
    """Each attempt continues from the last step that was saved, or from the beginning when it was asked to run again."""
    lines = checks.record.lines(job, None)
    saved, highest = 0, 0
    checks.excused["moves of running jobs"] += (row["checkpoints"] or {}).get("moves", 0)
    for k, (resumed, steps, saves) in enumerate(attempts(lines)):
        if resumed is None:
            return checks.complain(job, f"attempt without a beginning: {lines}")
        again = job.reruns[None] and resumed == 0
        if resumed < saved and not again and not checks.lost_allowed:
            return checks.complain(job, f"{saved} steps were saved, and it continued from {resumed}: {row}, evidence {lines}")
        if resumed > highest:
            return checks.complain(job, f"{highest} steps were done, and it continued from {resumed}: {row}, evidence {lines}")
        if steps != list(range(resumed + 1, resumed + 1 + len(steps))):
            return checks.complain(job, f"steps are out of order: {lines}")
        checks.excused["restarts from a checkpoint"] += k > 0 and resumed > 0
        saved = saves[-1] if saves else resumed if again else max(saved, resumed)
        highest = resumed + len(steps)
    if row["exit_status"] == job.code and row["cause"] is None and highest != job.steps and not job.deleted:
        return checks.complain(job, f"{highest} of {job.steps} steps were done: {row}, evidence {lines}")
    return True
