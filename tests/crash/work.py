"""What was asked for and acknowledged (the record), what jobs left as evidence that they ran, and whether the two and
the server's own account agree."""
import collections
import glob
import json
import os
import signal
import threading
import time

import books
import counting
import kept

# Times of the record and of the evidence are those of /proc/uptime, which nobody sets.
SCRIPT = """#!/bin/sh
# {token}
evidence={directory}/evidence/{token}${{PBS_ARRAYID:+.$PBS_ARRAYID}}
if [ -f "$evidence" ]; then
	while read -r what attempt pid at; do
		[ "$what" = start ] && grep -qa "PBS_JOBID=$PBS_JOBID" /proc/$pid/environ 2>/dev/null &&
			echo "overlap $SHUNT_ATTEMPT $pid 0" >>"$evidence"
	done <"$evidence"
fi
read -r now rest </proc/uptime
echo "start $SHUNT_ATTEMPT $$ $now" >>"$evidence"
{before}{output}{wait}read -r now rest </proc/uptime
echo "end $SHUNT_ATTEMPT $$ $now" >>"$evidence"
exit {code}
"""
# Queues of the wider load, and how many of their jobs may run at once.
QUEUES = {"batch": 0, "narrow": 2, "mine": 3, "gate": 0}
# Seconds between a limit and the end that it brings: the time to end in, and a loaded machine.
LIMIT_SLACK = 15


def uptime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def from_epoch(instant):
    """The same on the clock of the evidence."""
    return instant - time.time() + uptime()


class Job:
    """One submission: a job, or an array."""

    def __init__(self, record, rng, code=None, size=None, sleep=None, indices=None, limit=0, hold="", after=None,
                 kind="afterany", rerunnable=True, walltime=None, steps=0, **more):
        self.record = record
        self.token = record.token()
        self.code = rng.randrange(4) if code is None else code
        self.size = rng.choice((0, 10, 3000, 70000)) if size is None else size
        self.sleep = rng.choice((0, 0, 0.1, 0.4, 1, 2)) if sleep is None else sleep
        self.indices, self.limit, self.hold, self.after, self.kind = indices, limit, hold, after, kind
        self.rerunnable = rerunnable
        self.steps = steps      # of one that counts, and saves its work (counting.py)
        self.more = more        # keys of the submission, as they are
        self.priority = rng.randrange(-20, 20)
        self.walltime = walltime or rng.choice((60, 300, 3600))
        self.id = None          # as acknowledged
        self.asked = None       # when
        self.answered = False   # the submission
        self.refused = False    # and the answer was no
        self.released = not hold  # somebody has asked for it
        self.deleted = None     # "asked", "done", "late"
        self.message = None     # that it was deleted with
        self.wanted = False     # others depend on it: it is not deleted
        self.busy = False       # a request that changes it is under way
        self.element_deleted = set()  # indices: somebody has asked for it
        self.reruns = collections.Counter()  # by index: those that somebody has asked for
        self.rerun = []         # (index, when it was asked for) of those that were answered as done
        self.claim = None       # it was told to be guaranteed: {"deadline", "walltime"}
        self.moved = self.reshaped = self.suspended = False
        self.barred = []        # (index or None for all, since, until): it must not start then
        self.limits = [[self.walltime, 0, float("inf")]]  # [walltime, since, until]: it may have been in force then
        # What the API may show of it: each a set, since an answer that did not come leaves both.
        self.may = {"priority": {self.priority}, "walltime": {self.walltime}, "rerunnable": {rerunnable},
                    "name": {self.token}, "queue": {more.get("queue", "batch")}}
        if after:
            after.wanted = True

    def body(self):
        before = ""
        if self.after and not self.after.impossible():
            before = "".join(f'grep -qs ^end {self.record.evidence(self.after, i)} || echo "early 0 0 0" >>"$evidence"\n'
                             for i in self.after.indices or [None])
        script = SCRIPT.format(token=self.token, directory=self.record.directory, before=before, code=self.code,
                               output=f"yes {self.token} | head -c {self.size}\n" if self.size else "",
                               wait=counting.SCRIPT.format(steps=self.steps) if self.steps else f"sleep {self.sleep}\n" if self.sleep else "")
        os.makedirs(self.directory(), exist_ok=True)
        b = {"script": script, "name": self.token, "workdir": self.directory(), "join": "oe",
             "resources": [f"walltime={self.walltime}"], "priority": self.priority, "mail": "n",
             "rerunnable": self.rerunnable}
        if self.indices:
            b["array"] = ",".join(map(str, self.indices)) + (f"%{self.limit}" if self.limit else "")
        if self.hold:
            b["hold"] = self.hold
        if self.after:
            b["depend"] = f"{self.kind}:{self.after.id}"
        for key, value in self.more.items():
            b[key] = b[key] + value if key == "resources" else value
        return b

    def acknowledged(self, id):
        self.record.write("accepted", self, id=id)
        self.id, self.answered = id, True

    def deadline(self):
        return self.more.get("deadline")

    def cpus(self):
        """That each element asks for."""
        n = 1
        for text in self.more.get("resources", []):
            for word in text.split(","):
                if word.startswith("nodes="):
                    nodes, _, ppn = word[6:].partition(":ppn=")
                    n = int(nodes) * int(ppn or 1)
        return n

    def directory(self):
        return f"{self.record.directory}/out/{self.token[-1]}/{self.token}"

    def outputs(self, id):
        """Paths: several if its name was changed between attempts."""
        number, _, index = id.split(".")[0].rstrip("]").partition("[")
        return glob.glob(f"{self.directory()}/*.o{number}" + (f"-{index}" if index else ""))

    def expected(self):
        line = (self.token + "\n").encode()
        return (line * (self.size // len(line) + 1))[:self.size]

    def impossible(self):
        """It can never run, because of how the job before it ended."""
        return self.after and self.kind == "afterok" and (self.after.code != 0 or self.after.impossible())

    def limit_asked(self, walltime):
        self.limits.append([walltime, uptime(), float("inf")])

    def limit_answered(self, told, element):
        """The last that was asked for is in force, is not, or may be. Elements may have limits of their own."""
        if told in ("finished", "bad_state", "refused"):
            self.limits.pop()
        elif told == "done" and not self.indices and not element:
            for limit in self.limits[:-1]:
                limit[2] = min(limit[2], uptime())

    def limits_at(self, instant):
        """Walltimes that may end it then. The server may have gone between its answer and its word to the host."""
        def heard(until):
            return max([until] + [up for down, up in self.record.downs if until - 1 < down < instant])
        return [walltime for walltime, since, until in self.limits if since <= instant and instant <= heard(until) + LIMIT_SLACK]

    def may_repeat(self, index):
        """Attempts beyond the first that something which was asked for explains: a rerun, or an emergency job, which may have waited for a while."""
        if self.steps:
            return 10**6  # it may be moved whenever others fit by that: see counting.py
        return self.reruns[index] + self.reruns[None] * bool(self.indices) + \
            sum(1 for at in self.record.emergencies if at > (self.asked or 0) - 100)


class Record:
    def __init__(self, directory):
        self.directory = directory
        self.jobs = {}  # by token
        self.requests = []  # jobs that were submitted together
        self.emergencies = []  # when they were asked for
        self.downs = []  # [since, until] without a server
        self.pauses = []  # [since, until]: the administrator had set scheduling to false
        self.kept = []  # [since, until]: a node was reserved for others (kept.py)
        self.closed = []  # [since, until]: no job of queue gate may start
        self.lock = threading.Lock()
        os.makedirs(directory + "/evidence")
        os.makedirs(directory + "/out")
        self.file = open(directory + "/record", "a", buffering=1)

    def now(self):
        return uptime()

    def token(self):
        with self.lock:
            token = f"j{len(self.jobs)}"
            self.jobs[token] = None
        return token

    def write(self, what, job=None, **more):
        with self.lock:
            self.file.write(json.dumps({"time": round(uptime(), 3), "what": what,
                                        **({"job": job.token} if job else {}), **more}) + "\n")
            if job:
                self.jobs[job.token] = job

    def text(self, tokens):
        """What is known of some jobs, for the report of a failure."""
        with open(self.directory + "/record") as f:
            lines = [line for line in f if json.loads(line).get("job") in tokens]
        return "".join(lines)

    def evidence(self, job, index):
        return f"{self.directory}/evidence/{job.token}" + ("" if index is None else f".{index}")

    def lines(self, job, index):
        """[(what, attempt, pid, when)] that the job wrote."""
        try:
            with open(self.evidence(job, index)) as f:
                return [tuple(line.split()) for line in f]
        except FileNotFoundError:
            return []

    def known(self):
        with self.lock:
            return [job for job in self.jobs.values() if job]


class Checks:
    """Compares the record and the evidence with what the server says; collects complaints."""

    def __init__(self, instance, record, lost_allowed=False, ops=()):
        self.instance, self.record, self.lost_allowed, self.ops = instance, record, lost_allowed, set(ops)
        self.complaints = []
        self.seen = {}  # number -> token, for ever
        self.excused = collections.Counter()

    def complain(self, job, text):
        text = f"{job.token} ({job.id}): {text}" if job else text
        if text not in self.complaints:
            self.complaints.append(text)
        return False

    def number(self, job, id):
        number = id.split(".")[0].split("[")[0]
        if self.seen.setdefault(number, job.token) != job.token:
            self.complain(job, f"the number {number} was given before, to {self.seen[number]}")

    def job_of(self, row):
        """Names begin with the token."""
        return self.record.jobs.get(row["name"].split("_")[0])

    def listing(self, before):
        """After a restart: all jobs of `before` (taken when nothing was under way) are there, once, with their ids."""
        found = {}
        for row in self.instance.jobs(fields="id,name,state,holds,priority,guaranteed,deadline,walltime"):
            job = self.job_of(row)
            if not job:
                self.complain(None, f"{row['id']} is named {row['name']}, which nobody asked for")
                continue
            if job.token in found:
                self.complain(job, f"it is there twice: {found[job.token]['id']}, {row['id']}")
            found[job.token] = row
            self.number(job, row["id"])
        for job, deleted, claim, priority in before:
            row = found.get(job.token)
            if not row:
                self.complain(job, "it was accepted, and is not there")
                continue
            if row["id"] != job.id:
                self.complain(job, f"it is called {row['id']} now")
            if not job.busy and job.may["priority"] == priority and row["priority"] not in priority:
                self.complain(job, f"its priority is {row['priority']} instead of {priority}")
            if not job.released and row["state"] not in "HC":
                self.complain(job, f"it was held, and its state is {row['state']}")
            if deleted == "done" and row["state"] not in "CE":
                self.complain(job, f"it was deleted, and its state is {row['state']}")
            if claim and claim is job.claim and not job.busy and row["state"] in "QHW":
                row = self.instance.guaranteed(job.id)
                said = {key: row[key] for key in ("state", "holds", "guaranteed", "deadline", "walltime")}
                if job.claim is claim and not job.reruns and row["state"] in "QHW" and said != {**said, "guaranteed": True, **claim}:
                    self.complain(job, f"it was guaranteed, {claim}, and after the restart it is {said}")
        return found

    def promised(self):
        """What was said so far: (job, deleted, guaranteed, its priority)."""
        return [(j, None if j.indices else j.deleted, None if j.busy else j.claim, set(j.may["priority"])) for j in self.record.known() if j.id]

    def plan(self):
        """No node holds more than it has. What is only expected was foreseen a moment ago, and is no part of that."""
        p = self.instance.get("/v1/plan")
        cpus = {n["name"]: n["cpus"] for n in p["nodes"]}
        edges = {}
        for piece in (x for x in p["pieces"] if x["state"] != "expected"):
            change = (piece["start"], piece["cpus"]), (piece["end"], -piece["cpus"])
            edges.setdefault(piece["node"], []).extend(change)
        for node, changes in edges.items():
            used = 0
            for at, n in sorted(changes, key=lambda c: (c[0], c[1])):
                used += n
                if used > cpus[node]:
                    there = [x for x in p["pieces"] if x["node"] == node and x["start"] <= at < x["end"]]
                    self.complain(None, f"the plan has {used} CPUs of {node} at {at}: {there}")
        for node in self.instance.get("/v1/nodes")["nodes"]:
            held = [c for j in node["jobs"] for c in j["cpus"]]
            if len(set(held)) != len(held) or len(held) > node["cpus"]:
                self.complain(None, f"{node['name']}: CPUs given twice: {node['jobs']}")

    def drained(self, seconds):
        """Waits until all jobs have ended; those still held are released. False if they do not, or nothing changes for long."""
        until, before, since = time.monotonic() + seconds, None, time.monotonic()
        while time.monotonic() < until:
            rest = self.instance.jobs(fields="id,name,state,substate,comment", arrays="expand", completed=0)
            if not rest:
                return True
            if rest != before:
                before, since = rest, time.monotonic()
            if time.monotonic() - since > 30 and not any(row["state"] in "REW" for row in rest):
                break
            time.sleep(0.1)
        for row in rest[:20]:
            why = self.instance.request("GET", f"/v1/jobs/{row['id']}/why")[1]
            self.complain(self.job_of(row), f"it does not end: {row}, because {why}")
        return False

    def final(self):
        """Each job against its evidence, when nothing runs any more."""
        rows = {}
        for row in self.instance.jobs(arrays="expand", fields="id,name,index,state,exit_status,cause,comment,attempt,used_walltime,walltime,checkpoints,account,cpus,price,deadline,ended,substate,exec_host,started"):
            rows.setdefault(row["name"].split("_")[0], {})[row["index"]] = row
        collapsed = {r["name"].split("_")[0]: r for r in
                     self.instance.jobs(fields="id,name,priority,walltime,rerunnable,queue,array_spec")}
        for job in self.record.known():
            mine = rows.get(job.token)
            if not mine:
                if job.id:
                    self.complain(job, "it was accepted, and is not there")
                if any(self.record.lines(job, i) for i in job.indices or [None]):
                    self.complain(job, "it ran, and is not there")
                continue
            if job.refused:
                self.complain(job, "it was refused, and is there")
            self.attributes(job, collapsed[job.token])
            for i in job.indices or [None]:
                if i not in mine:
                    self.complain(job, f"element {i} is not there")
                else:
                    self.element(job, i, mine[i])
                    self.starts(job, i, mine[i])
            if job.claim:
                self.guarantee(job, mine[None])
            if job.steps:
                counting.check(self, job, mine[None])
        self.limits()
        if self.ops & {"throttles", "reservations"}:
            kept.check(self, rows)
        for op, kind, what in (("quotas", books.Books, "quota"), ("credits", books.Credits, "credits")):
            if op in self.ops:
                book = kind(self)
                book.check(rows)
                self.excused[f"lines in the book of {what}"] = book.lines
        self.accounting(rows)
        self.event_log(rows)

    def event_log(self, rows):
        """The lines of the event log, if there is one, against the jobs' events, as those of the accounting."""
        kinds = {"submit": "jobsubmit", "started": "jobstart", "finish": "jobfinish", "delete": "jobremove", "expire": "jobremove"}
        found, path = collections.Counter(), self.instance.home + "/state/events.log"
        if not os.path.exists(path):
            return
        with open(path, errors="replace") as f:
            for line in f:
                try:
                    event = json.loads(line)
                    found[event.get("job"), event["event"]] += 1
                except ValueError:
                    self.complain(None, f"{path} has a line that is not whole: {line!r}")
        for token, mine in rows.items():
            for row in mine.values():
                events = [e["type"] for e in self.instance.get(f"/v1/jobs/{row['id']}/events")["events"]]
                expected = collections.Counter(kinds[e] for e in events if e in kinds)
                lines = {k: found[row["id"], k] for k in set(kinds.values()) if found[row["id"], k]}
                if lines != expected:
                    self.complain(self.record.jobs.get(token), f"{row['id']}: lines of the event log {lines}, events {events}")
        self.excused["lines of the event log"] = sum(found.values())

    def accounting(self, rows):
        """The lines of the accounting files against the jobs' events: none is missing, none is there twice, none is cut."""
        found = collections.Counter()
        for path in sorted(glob.glob(self.instance.home + "/state/accounting/*")):
            with open(path, errors="replace") as f:
                for line in f:
                    fields = line.split(";", 3)
                    if len(fields) != 4 or not line.endswith("\n") or len(fields[1]) != 1:
                        self.complain(None, f"{path} has a line that is not whole: {line!r}")
                    else:
                        found[fields[2], fields[1]] += 1
        for token, mine in rows.items():
            job = self.record.jobs.get(token)
            ids = {row["id"] for row in mine.values()}
            whole = {id.split("[")[0] + "[]." + id.split(".", 1)[1] if "[" in id else id for id in ids}
            for id in whole:
                if found[id, "Q"] != 1:
                    self.complain(job, f"{id}: {found[id, 'Q']} accounting lines that it was queued")
            for row in mine.values():
                id = row["id"]
                events = [e["type"] for e in self.instance.get(f"/v1/jobs/{id}/events")["events"]]
                ends, starts, began = found[id, "E"] + found[id, "D"], found[id, "S"], events.count("started")
                if row["state"] == "C" and ends != 1:
                    self.complain(job, f"{id}: {ends} accounting lines that it ended, events {events}")
                # one whose start was undone at once has no line
                if starts > began or (starts < began and starts + events.count("preempt") < began):
                    self.complain(job, f"{id}: {starts} accounting lines that it started, events {events}")

    def attributes(self, job, row):
        for key, allowed in job.may.items():
            if row[key] not in allowed:
                self.complain(job, f"{key} is {row[key]} instead of {allowed}")
        self.number(job, row["id"])

    def element(self, job, index, row):
        lines = self.record.lines(job, index)
        starts = [l for l in lines if l[0] == "start"]
        ends = [l for l in lines if l[0] == "end"]
        status, say = row["exit_status"], f"{row['id']}: {row}, evidence {lines}"
        bad = [l for l in lines if l[0] in ("overlap", "early") or len(l) != 4]
        deleted = job.deleted or index in job.element_deleted
        repeats = job.may_repeat(index)
        if bad:
            self.complain(job, f"{bad[0][0]}: {say}")
        if row["state"] != "C":
            return self.complain(job, f"not completed: {say}")
        attempts = [int(l[1]) for l in starts]
        if attempts != sorted(set(attempts)):
            return self.complain(job, f"attempts are repeated or out of order: {say}")
        if len(starts) > 1 + repeats and not self.lost_allowed:
            return self.complain(job, f"it ran {len(starts)} times, and {repeats} repetitions were asked for: {say}")
        if starts and not self.lost_allowed and not self.in_time(job, row, float(starts[-1][3])):
            return self.complain(job, f"it ran for longer than {job.limits}: {say}")
        if deleted and row["cause"] == "deleted":
            if status == -3 and starts and not repeats and not self.lost_allowed:
                return self.complain(job, f"it was deleted, and ran: {say}")
            if job.message and job.deleted == "done" and index not in job.element_deleted and job.message not in (row["comment"] or ""):
                return self.complain(job, f"it was deleted with the message {job.message!r}: {say}")
            return True
        if job.deleted == "done" and job.answered and not job.indices:
            # It may have ended by itself at that moment, if it had begun.
            if not ends:
                return self.complain(job, f"it was deleted, and that did not end it: {say}")
        if job.impossible():
            if starts or status != -3:
                self.complain(job, f"it could not run, and did: {say}")
            return True
        if job.deadline() and row["cause"] == "expired" and status == -4:
            return True  # whether it may: guarantee()
        if row["cause"] == "walltime":
            return self.limited(job, row, starts, ends, say)
        if self.lost_allowed or len(starts) > 1:
            return self.repeated(job, index, row, starts, ends, status, say)
        if len(starts) != 1 or len(ends) != 1:
            return self.complain(job, f"it did not run exactly once: {say}")
        if status != job.code:
            return self.complain(job, f"its exit status is {status} instead of {job.code}: {say}")
        return self.written(job, row, exact=True)

    def in_time(self, job, row, start):
        """No attempt continues after its limit, whatever ended it."""
        used = row["used_walltime"] or 0
        return used <= max(job.limits_at(start + used), default=0) + LIMIT_SLACK

    def limited(self, job, row, starts, ends, say):
        """It was ended by its walltime, the one that it has been altered to: when that was over, and neither before nor without need."""
        used, start = row["used_walltime"] or 0, float(starts[-1][3]) if starts else 0
        reached = [limit for limit in job.limits_at(start + used) if limit <= used <= limit + LIMIT_SLACK]
        if not starts or not reached:
            return self.complain(job, f"it was ended by a walltime that it did not have, of {job.limits}: {say}")
        if (ends and ends[-1][1] == starts[-1][1]) or not (job.suspended or job.sleep >= min(reached)):
            return self.complain(job, f"it was ended by its walltime, and would not have run that long: {say}")
        if row["exit_status"] not in (256 + signal.SIGTERM, 256 + signal.SIGKILL):
            return self.complain(job, f"it was ended by its walltime, and its exit status is not that of a signal: {say}")
        self.excused["jobs that their walltime ended, as it was last altered"] += 1
        return True

    def repeated(self, job, index, row, starts, ends, status, say):
        """Attempts may be repeated, one after the other, and the last one is whole."""
        if not job.rerunnable and (len(starts) > 1 + job.may_repeat(index) or status not in (job.code, -2)):
            return self.complain(job, f"it must not run again: {say}")
        if status == -2 and not job.rerunnable:
            return True
        if not ends or ends[-1][1] != starts[-1][1] or status != job.code:
            return self.complain(job, f"its last attempt is not whole: {say}")
        return self.written(job, row, exact=False)

    def written(self, job, row, exact):
        found = {}
        for path in job.outputs(row["id"]):
            with open(path, "rb") as f:
                found[path] = f.read()
        if not found:
            return self.complain(job, f"its output is not there: {job.directory()}")
        if not any(text == job.expected() if exact else text.endswith(job.expected()) for text in found.values()):
            said = {path: (len(text), text[:80]) for path, text in found.items()}
            return self.complain(job, f"its output has not the {job.size} bytes it should have: {said}")
        return True

    def starts(self, job, index, row):
        """None while it was held, nor before its time, nor while its queue was stopped since before it came."""
        for what, attempt, _, at in (l for l in self.record.lines(job, index) if l[0] == "start" and len(l) == 4):
            at = float(at)
            for which, since, until in job.barred:
                if which in (None, index) and since + 0.02 < at < until - 0.02:
                    self.complain(job, f"{row['id']} started at {at}, and was held or stopped from {since} to {until}")
            if job.more.get("at") and at < from_epoch(job.more["at"]) - 0.1:
                self.complain(job, f"{row['id']} started at {at}, before its time {from_epoch(job.more['at']):.2f}")
            for since, until in self.record.closed:
                if not job.moved and job.more.get("queue") == "gate" and since < job.asked and at < until - 0.02:
                    self.complain(job, f"{row['id']} started at {at}, and its queue was stopped from {since} to {until}")

    def guarantee(self, job, row):
        """It started in time, or nobody was there to start it, or nothing was to be started."""
        latest = from_epoch(job.claim["deadline"] - job.claim["walltime"])
        starts = [float(l[3]) for l in self.record.lines(job, None) if l[0] == "start" and len(l) == 4]
        if job.deleted or job.suspended or job.barred or any(at <= latest + 1 for at in starts):
            return True
        if any(since < latest + 1.1 and until > latest - 0.1 for since, until in self.record.downs):
            self.excused["guarantees whose latest start fell into a time without a server"] += 1
            return True
        if any(since - 1.1 < latest < until + 1.1 for since, until in self.record.pauses):
            self.excused["guarantees whose latest start fell into a time without scheduling"] += 1
            return True
        return self.complain(job, f"it was guaranteed, {job.claim}, that is a start until {latest:.2f}, and started at {starts}: {row}")

    def whole(self, jobs):
        """(start, end, job) of attempts that came to their end."""
        for job in jobs:
            for i in job.indices or [None]:
                begun = {}
                for line in self.record.lines(job, i):
                    if len(line) == 4 and line[0] == "start":
                        begun[line[1]] = float(line[3])
                    elif len(line) == 4 and line[0] == "end" and line[1] in begun:
                        yield begun[line[1]], float(line[3]), job

    def most(self, jobs, weight=lambda job: 1):
        """That ran at once, at least."""
        edges = [e for since, until, job in self.whole(jobs) for e in ((since, weight(job)), (until, -weight(job)))]
        most = now = 0
        for _, n in sorted(edges):  # ends before starts
            now += n
            most = max(most, now)
        return most

    def limits(self):
        """Of arrays, queues and the machine, by the evidence."""
        known = self.record.known()
        for job in known:
            if job.limit and self.most([job]) > job.limit:
                self.complain(job, f"{self.most([job])} elements ran at once, and the limit is {job.limit}")
        for queue, limit in QUEUES.items():
            n = self.most([j for j in known if not j.moved and j.more.get("queue") == queue])
            if limit and n > limit:
                self.complain(None, f"{n} jobs of queue {queue} ran at once, and the limit is {limit}")
        n = self.most([j for j in known if not j.reshaped], Job.cpus)
        if n > self.instance.cpus:
            self.complain(None, f"jobs had {n} CPUs at once, and there are {self.instance.cpus}")

    def nothing_left(self):
        """After the server has stopped, and all jobs had ended."""
        until = time.monotonic() + 10
        while self.instance.processes() and time.monotonic() < until:
            time.sleep(0.05)
        if self.instance.processes():
            self.complain(None, f"processes are left: {self.instance.processes()}")
        left = [n for n in os.listdir(self.instance.live) if not n.startswith(".")]
        if left:
            self.complain(None, f"live files are left: {left[:20]}")
        for line in self.instance.complaints()[:20]:
            self.complain(None, "the log: " + line)
