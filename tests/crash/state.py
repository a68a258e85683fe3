"""Everything that the API shows, to be compared before and after a restart in which nothing else happened."""
import json
import os
import time
from urllib.parse import quote

# Fields that show how long, or how much just now.
MOVING = {"used", "used_walltime", "used_cput", "load", "now", "pid", "started_at", "memory_free", "heard", "expected_start", "expected_end", "expected_made", "no_estimate", "forecast", "foreseen"}
SERVER = {"started"}  # of the server itself


def still(value, drop=frozenset()):
    """Without what changes by itself."""
    if isinstance(value, dict):
        return {k: still(v) for k, v in value.items() if k not in MOVING and k not in drop}
    return [still(v) for v in value] if isinstance(value, list) else value


def take(instance, sample):
    """{what: value}: jobs (one by one what has not ended, and `sample` of the others), arrays, queues, nodes, plan, settings."""
    found = {}
    open_ = []
    for arrays in ("collapse", "expand"):
        for row in instance.jobs(arrays=arrays):
            found[f"{row['id']} in a list"] = still(row)
            if row["state"] != "C" or hash(row["id"]) % 997 in sample:
                open_.append(row["id"])
    for id in dict.fromkeys(open_):
        found[id] = still(instance.get("/v1/jobs/" + quote(id)))
        found[f"{id}, its history"] = instance.get(f"/v1/jobs/{quote(id)}/events")["events"]
    for queue in instance.get("/v1/queues")["queues"]:
        found["queue " + queue["name"]] = still(queue)
    for node in instance.get("/v1/nodes")["nodes"]:
        node["jobs"].sort(key=lambda j: j["id"])
        found["node " + node["name"]] = still(node)
    plan = instance.get("/v1/plan")
    found["the plan"] = sorted((p for p in plan["pieces"] if p["state"] != "expected"),
                               key=lambda p: (p["job"], p["node"], p["start"], p["cpus"]))
    found["credits"] = instance.get("/v1/credits")["accounts"]
    found["the server"] = still(instance.get("/v1/server"), SERVER)
    return found


def quiet(instance, checks, sample, seconds=10):
    """The state, once nothing is about to change: what runs does so for long, or is suspended. None if that does not come."""
    until, before = time.monotonic() + seconds, None
    while time.monotonic() < until:
        rows = instance.jobs(state="R,E,W", fields="id,name,state", arrays="expand", completed=0)
        pieces = instance.get("/v1/plan")["pieces"]  # an end that is put off, a start that is due
        soon = any(p["end"] < time.time() + 30 if p["state"] == "running" else p["start"] < time.time() + 10
                   for p in pieces if p["state"] != "expected")
        if not soon and all(row["state"] == "R" and checks.job_of(row).sleep > 100 for row in rows):
            now = take(instance, sample)
            if now == before:
                return now
            before = now
        time.sleep(0.2)
    return None


def differences(before, after):
    """Sentences."""
    found = []
    for what in list(before) + [k for k in after if k not in before]:
        a, b = before.get(what), after.get(what)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            for key in sorted(a.keys() | b.keys()):
                if a.get(key) != b.get(key):
                    found.append(f"{what}: {key} was {json.dumps(a.get(key))}, and is {json.dumps(b.get(key))}")
        elif isinstance(a, list) and isinstance(b, list):
            gone, new = [x for x in a if x not in b], [x for x in b if x not in a]
            found.append(f"{what}: gone {json.dumps(gone)[:600]}, new {json.dumps(new)[:600]}")
        else:
            found.append(f"{what} was {json.dumps(a)}, and is {json.dumps(b)}"[:800])
    return found


def stopped(pid):
    """Whether a process stands still; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return None


def processes_agree(instance, checks):
    """What is shown as suspended stands still, and what is shown as running does not."""
    for row in instance.jobs(arrays="expand", state="R,S", fields="id,name,index,state"):
        job = checks.job_of(row)
        starts = [l for l in checks.record.lines(job, row["index"]) if l[0] == "start"] if job else []
        stands = stopped(starts[-1][2]) if starts else None
        if stands is None or stands == (row["state"] == "S"):
            continue
        checks.complain(job, f"{row['id']} is shown as {row['state']}, and its process {starts[-1][2]} {'stands still' if stands else 'runs'}")
