"""What was asked for and acknowledged (the record), what jobs left as evidence that they ran, and whether the two and
the server's own account agree."""
import json
import os
import threading
import time

SCRIPT = """#!/bin/sh
# {token}
evidence={directory}/evidence/{token}${{PBS_ARRAYID:+.$PBS_ARRAYID}}
if [ -f "$evidence" ]; then
	while read -r what attempt pid; do
		[ "$what" = start ] && grep -qa "PBS_JOBID=$PBS_JOBID" /proc/$pid/environ 2>/dev/null &&
			echo "overlap $SHUNT_ATTEMPT $pid" >>"$evidence"
	done <"$evidence"
fi
echo "start $SHUNT_ATTEMPT $$" >>"$evidence"
{before}{output}{wait}echo "end $SHUNT_ATTEMPT $$" >>"$evidence"
exit {code}
"""


class Job:
    """One submission: a job, or an array."""

    def __init__(self, record, rng, code=None, size=None, sleep=None, indices=None, limit=0, hold="", after=None,
                 kind="afterany", rerunnable=True):
        self.record = record
        self.token = record.token()
        self.code = rng.randrange(4) if code is None else code
        self.size = rng.choice((0, 10, 3000, 70000)) if size is None else size
        self.sleep = rng.choice((0, 0, 0.1, 0.4, 1, 2)) if sleep is None else sleep
        self.indices, self.limit, self.hold, self.after, self.kind = indices, limit, hold, after, kind
        self.rerunnable = rerunnable
        self.priority = rng.randrange(-20, 20)
        self.walltime = rng.choice((60, 300, 3600))
        self.id = None          # as acknowledged
        self.answered = False   # the submission
        self.refused = False    # and the answer was no
        self.released = not hold  # somebody has asked for it
        self.deleted = None     # "asked", "done", "late"
        self.wanted = False     # others depend on it: it is not deleted
        if after:
            after.wanted = True

    def body(self):
        before = ""
        if self.after and not self.after.impossible():
            before = "".join(f'grep -qs ^end {self.record.evidence(self.after, i)} || echo "early 0 0" >>"$evidence"\n'
                             for i in self.after.indices or [None])
        script = SCRIPT.format(token=self.token, directory=self.record.directory, before=before, code=self.code,
                               output=f"yes {self.token} | head -c {self.size}\n" if self.size else "",
                               wait=f"sleep {self.sleep}\n" if self.sleep else "")
        b = {"script": script, "name": self.token, "workdir": self.record.directory + "/out", "join": "oe",
             "resources": [f"walltime={self.walltime}"], "priority": self.priority, "mail": "n",
             "rerunnable": self.rerunnable}
        if self.indices:
            b["array"] = ",".join(map(str, self.indices)) + (f"%{self.limit}" if self.limit else "")
        if self.hold:
            b["hold"] = self.hold
        if self.after:
            b["depend"] = f"{self.kind}:{self.after.id}"
        return b

    def acknowledged(self, id):
        self.record.write("accepted", self, id=id)
        self.id, self.answered = id, True

    def output(self, id):
        number, _, index = id.split(".")[0].rstrip("]").partition("[")
        return f"{self.record.directory}/out/{self.token}.o{number}" + (f"-{index}" if index else "")

    def expected(self):
        line = (self.token + "\n").encode()
        return (line * (self.size // len(line) + 1))[:self.size]

    def impossible(self):
        """It can never run, because of how the job before it ended."""
        return self.after and self.kind == "afterok" and (self.after.code != 0 or self.after.impossible())


class Record:
    def __init__(self, directory):
        self.directory = directory
        self.jobs = {}  # by token
        self.lock = threading.Lock()
        os.makedirs(directory + "/evidence")
        os.makedirs(directory + "/out")
        self.file = open(directory + "/record", "a", buffering=1)

    def token(self):
        with self.lock:
            token = f"j{len(self.jobs)}"
            self.jobs[token] = None
        return token

    def write(self, what, job=None, **more):
        with self.lock:
            self.file.write(json.dumps({"time": round(time.time(), 4), "what": what,
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
        """[(what, attempt, pid)] that the job wrote."""
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

    def __init__(self, instance, record, lost_allowed=False):
        self.instance, self.record, self.lost_allowed = instance, record, lost_allowed
        self.complaints = []
        self.seen = {}  # number -> token, for ever

    def complain(self, job, text):
        text = f"{job.token} ({job.id}): {text}" if job else text
        if text not in self.complaints:
            self.complaints.append(text)
        return False

    def number(self, job, id):
        number = id.split(".")[0].split("[")[0]
        if self.seen.setdefault(number, job.token) != job.token:
            self.complain(job, f"the number {number} was given before, to {self.seen[number]}")

    def listing(self, before):
        """After a restart: all jobs of `before` (taken when nothing was under way) are there, once, with their ids."""
        found = {}
        for row in self.instance.jobs(fields="id,name,state,holds,priority"):
            job = self.record.jobs.get(row["name"])
            if not job:
                self.complain(None, f"{row['id']} is named {row['name']}, which nobody asked for")
                continue
            if row["name"] in found:
                self.complain(job, f"it is there twice: {found[row['name']]['id']}, {row['id']}")
            found[row["name"]] = row
            self.number(job, row["id"])
        for job, deleted in before:
            row = found.get(job.token)
            if not row:
                self.complain(job, "it was accepted, and is not there")
                continue
            if row["id"] != job.id:
                self.complain(job, f"it is called {row['id']} now")
            if row["priority"] != job.priority:
                self.complain(job, f"its priority is {row['priority']} instead of {job.priority}")
            if not job.released and row["state"] not in "HC":
                self.complain(job, f"it was held, and its state is {row['state']}")
            if deleted == "done" and row["state"] not in "CE":
                self.complain(job, f"it was deleted, and its state is {row['state']}")
        return found

    def promised(self):
        return [(j, None if j.indices else j.deleted) for j in self.record.known() if j.id]

    def plan(self):
        """No node holds more than it has."""
        p = self.instance.get("/v1/plan")
        cpus = {n["name"]: n["cpus"] for n in p["nodes"]}
        edges = {}
        for piece in p["pieces"]:
            change = (piece["start"], piece["cpus"]), (piece["end"], -piece["cpus"])
            edges.setdefault(piece["node"], []).extend(change)
        for node, changes in edges.items():
            used = 0
            for at, n in sorted(changes, key=lambda c: (c[0], c[1])):
                used += n
                if used > cpus[node]:
                    self.complain(None, f"the plan has {used} CPUs of {node} at {at}")
        for node in self.instance.get("/v1/nodes")["nodes"]:
            held = [c for j in node["jobs"] for c in j["cpus"]]
            if len(set(held)) != len(held) or len(held) > node["cpus"]:
                self.complain(None, f"{node['name']}: CPUs given twice: {node['jobs']}")

    def drained(self, seconds):
        """Waits until all jobs have ended; those still held are released. False if they do not."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            rest = self.instance.jobs(fields="id,name,state,substate,comment", arrays="expand", completed=0)
            if not rest:
                return True
            time.sleep(0.1)
        for row in rest[:20]:
            self.complain(self.record.jobs.get(row["name"]), f"it does not end: {row}")
        return False

    def final(self):
        """Each job against its evidence, when nothing runs any more."""
        rows = {}
        for row in self.instance.jobs(arrays="expand", fields="id,name,index,state,exit_status,cause,comment,attempt"):
            rows.setdefault(row["name"], {})[row["index"]] = row
        collapsed = {r["name"]: r for r in self.instance.jobs(fields="id,name,priority,walltime,rerunnable,array_spec")}
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

    def attributes(self, job, row):
        for key, asked in (("priority", job.priority), ("walltime", job.walltime), ("rerunnable", job.rerunnable)):
            if row[key] != asked:
                self.complain(job, f"{key} is {row[key]} instead of {asked}")
        self.number(job, row["id"])

    def element(self, job, index, row):
        lines = self.record.lines(job, index)
        starts = [l for l in lines if l[0] == "start"]
        ends = [l for l in lines if l[0] == "end"]
        status, say = row["exit_status"], f"{row['id']}: {row}, evidence {lines}"
        bad = [l for l in lines if l[0] in ("overlap", "early") or len(l) != 3]
        if bad:
            self.complain(job, f"{bad[0][0]}: {say}")
        if row["state"] != "C":
            return self.complain(job, f"not completed: {say}")
        if job.deleted and row["cause"] == "deleted":
            if len(starts) > 1 and not self.lost_allowed or (status == -3 and starts):
                return self.complain(job, f"it was deleted, and ran: {say}")
            return True
        if job.deleted == "done" and job.answered and not job.indices:
            # It may have ended by itself at that moment, if it had begun.
            if not ends:
                return self.complain(job, f"it was deleted, and that did not end it: {say}")
        if job.impossible():
            if starts or status != -3:
                self.complain(job, f"it could not run, and did: {say}")
            return True
        if self.lost_allowed:
            return self.repeated(job, index, row, starts, ends, status, say)
        if len(starts) != 1 or len(ends) != 1:
            return self.complain(job, f"it did not run exactly once: {say}")
        if status != job.code:
            return self.complain(job, f"its exit status is {status} instead of {job.code}: {say}")
        return self.written(job, row, exact=True)

    def repeated(self, job, index, row, starts, ends, status, say):
        """When shepherds were killed, attempts may be repeated, one after the other, and the last one is whole."""
        attempts = [int(a) for _, a, _ in starts]
        if attempts != sorted(set(attempts)):
            return self.complain(job, f"attempts are repeated or out of order: {say}")
        if not job.rerunnable and (len(starts) > 1 or status not in (job.code, -2)):
            return self.complain(job, f"it must not run again: {say}")
        if status == -2 and not job.rerunnable:
            return True
        if not ends or ends[-1][1] != starts[-1][1] or status != job.code:
            return self.complain(job, f"its last attempt is not whole: {say}")
        return self.written(job, row, exact=False)

    def written(self, job, row, exact):
        path = job.output(row["id"])
        try:
            with open(path, "rb") as f:
                text = f.read()
        except OSError as e:
            return self.complain(job, f"its output is not there: {e}")
        if text != job.expected() if exact else not text.endswith(job.expected()):
            return self.complain(job, f"{path} has {len(text)} bytes instead of {job.size}, or others: {text[:80]!r}")
        return True

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
