"""Throttles of an account, and a node that is reserved for others now and then: what must hold at any time, by the evidence of the jobs."""
import time

import work

ACCOUNT, JOBS, CPUS = "capped", 3, 5
NODE, NAME = "n4", "kept"


def prepare(clients):
    clients.ask("PUT", "/v1/accounts/" + ACCOUNT)
    clients.set("accounts/" + ACCOUNT, "max_running", JOBS)
    clients.set("accounts/" + ACCOUNT, "max_cpus", CPUS)


def turn(clients):
    """Reserves the node for nobody's jobs, or releases it. Jobs that run there continue; it is refused if a deadline would break."""
    kept = clients.record.kept
    if kept and kept[-1][1] == float("inf"):
        return release(clients)
    changes = [{"op": "set", "name": name, "value": value} for name, value in (("nodes", NODE), ("acl_users", "nobody-at-all"), ("ignore_jobs", "True"),
                                                                            ("start", time.strftime("%Y-%m-%dT%H:%M:%S")), ("duration", "3600"))]
    clients.record.write("reserving", node=NODE)
    status, answer = clients.ask("PATCH", f"/v1/reservations/{NAME}", {"changes": changes})
    clients.record.write("reserved", status=status, answer=answer)
    assert status in (200, 201, 409, 422), f"reservation: {status} {answer}"
    if status < 300:
        kept.append([work.uptime(), float("inf")])


def release(clients):
    if clients.record.kept and clients.record.kept[-1][1] == float("inf"):
        clients.record.kept[-1][1] = work.uptime()
        status, answer = clients.ask("DELETE", "/v1/reservations/" + NAME)
        assert status in (200, 404), f"release: {status} {answer}"


def check(checks, rows):
    jobs = [j for j in checks.record.known() if j.more.get("account") == ACCOUNT]
    n = checks.most(jobs)
    if n > JOBS:
        checks.complain(None, f"{n} jobs of account {ACCOUNT} ran at once, and the limit is {JOBS}")
    n = checks.most([j for j in jobs if not j.reshaped], work.Job.cpus)
    if n > CPUS:
        checks.complain(None, f"jobs of account {ACCOUNT} had {n} CPUs at once, and the limit is {CPUS}")
    checks.excused["jobs of an account with limits"] = len(jobs)
    checks.excused["times that a node was reserved"] = len(checks.record.kept)
    for job in checks.record.known():
        for row in rows.get(job.token, {}).values():
            if row["started"] and NODE in [part.split("/")[0] for part in (row["exec_host"] or "").split("+")]:
                inside(checks, job, row)


def inside(checks, job, row):
    """When its last attempt, which was on the node, was decided, against the times at which the node was reserved. Times of events are whole seconds; the process may
    begin later."""
    decided = [e["time"] for e in checks.instance.get(f"/v1/jobs/{row['id']}/events")["events"] if e["type"] == "start"]
    at = work.from_epoch(decided[-1]) if decided else 0
    for since, until in checks.record.kept:
        if since < at and at + 1 < until:
            checks.complain(job, f"{row['id']} was started on {NODE} at {at}, which was reserved from {since} to {until}")
