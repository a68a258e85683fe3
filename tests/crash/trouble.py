"""What goes wrong around a server: full disks, locks, damaged records, a second one, clocks; and thousands of jobs."""
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import time
import traceback

from instance import Gone, Instance
from load import Clients
from work import Checks, Job, Record


class Case:
    """An instance with its record, which the test fills."""

    def __init__(self, args, nodes="4x2", **more):
        self.instance = Instance(args.build, nodes=nodes, **more)
        self.record = Record(self.instance.home + "/test")
        self.checks = Checks(self.instance, self.record)
        self.clients = Clients(self.instance, self.record, 0, threads=0)
        self.rng = random.Random(1)
        self.store = self.instance.home + "/state/shunt.db"

    def submit(self, n=1, **more):
        jobs = [Job(self.record, self.rng, **{"sleep": 0, "size": 100, **more}) for _ in range(n)]
        self.clients.submit(jobs)
        return jobs if n > 1 else jobs[0]

    def says(self, *texts):
        log = self.instance.log_text()
        for text in texts:
            assert text in log, f"the log does not say: {text}"

    def waits(self, text):
        """Until the log says it."""
        until = time.monotonic() + 30
        while text not in self.instance.log_text() and time.monotonic() < until:
            time.sleep(0.05)
        self.says(text)

    def completed(self, jobs, states="C"):
        until = time.monotonic() + 30
        while any(self.instance.get("/v1/jobs/" + j.id)["state"] not in states for j in jobs):
            assert time.monotonic() < until, "jobs do not end" if states == "C" else "jobs do not start"
            time.sleep(0.05)

    def settle(self):
        """Everything has ended as it was asked for, and nothing is left."""
        assert self.checks.drained(60), "jobs do not end"
        self.checks.final()
        self.instance.stop()
        self.checks.nothing_left()


def full_disk(case):
    """Commits fail as on a full disk for a while: reading continues, clients are answered at once, and what may be done later is done, once."""
    case.instance.up(SHUNT_STORE_FAIL="6:12")
    case.clients.ops = {"keys"}
    for _ in range(8):
        case.submit()
    case.waits("the store can be written again")
    case.says("the store can't be written", "the disk is full", "the store can be written again")
    found = [case.checks.job_of(row) for row in case.instance.jobs(fields="id,name")]
    for job in case.record.known():
        assert found.count(job) == (0 if job.refused else 1), f"{job.token} is there {found.count(job)} times: {case.record.text([job.token])}"
    case.settle()


def full_disk_and_killed(case):
    """The same, but it is killed before the disk has room again: what was answered before is there."""
    case.instance.up(SHUNT_STORE_FAIL="8:1000000")
    kept = case.submit(3, hold="u", code=0)
    case.clients.instance.request("GET", "/v1/server")
    asked = []
    for _ in range(8):
        job = Job(case.record, case.rng, sleep=0, size=0)
        case.record.write("asked", job)
        try:
            status, answer = case.instance.request("POST", "/v1/jobs", job.body(), timeout=1)
        except Gone:
            status = 504
        if status == 201:
            job.acknowledged(answer["id"])
            continue
        if status == 503:  # the one before has failed meanwhile: nothing was changed
            job.refused = True
            break
        assert status == 504, answer
        asked.append(job)
        if "the store can't be written" in case.instance.log_text():  # otherwise it is only slow
            break
    assert asked, "commits did not fail"
    case.waits("the store can't be written")
    promised = case.checks.promised()
    case.instance.kill_server()
    case.instance.up()
    case.checks.listing(promised)
    for job in kept:
        case.clients.release(job)
    case.settle()


def locked(case):
    """Another process locks the store: the server says so, waits, and continues; and does not start without it."""
    case.instance.up()
    case.submit(3)
    other = sqlite3.connect(case.store, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    job = Job(case.record, case.rng, sleep=0)
    case.record.write("asked", job)
    try:
        case.instance.request("POST", "/v1/jobs", job.body(), timeout=1.5)
        raise AssertionError("a change was answered although the store is locked")
    except Gone:
        pass
    case.says("has locked it")
    assert case.instance.get("/v1/server")["trouble"], "it does not say that it is in trouble"
    other.execute("ROLLBACK")
    other.close()
    case.waits("the store can be written again")
    case.submit(3)
    case.settle()


def damaged(case):
    """Records that can't be read are set aside with a reason: the server starts, and other jobs are as they were."""
    case.instance.up()
    ran = case.submit(4, code=0)
    held = case.submit(4, code=0, hold="u")
    case.completed(ran)
    case.instance.kill_server()
    db = sqlite3.connect(case.store)
    key = lambda job: int(job.id.split(".")[0]) << 20
    db.execute("UPDATE job SET head = '{\"name\": ' WHERE key = ?", (key(held[0]),))
    db.execute("UPDATE event SET data = 'nonsense' WHERE job = ? AND type = 7", (key(ran[0]),))
    db.execute("UPDATE event SET nodes = 'nowhere' WHERE job = ? AND type = 7", (key(ran[1]),))
    db.execute("UPDATE event SET type = 99, data = NULL WHERE job = ? AND type = 12", (key(ran[2]),))
    db.commit()
    db.close()
    case.instance.up()
    case.says("set aside", f"job {held[0].id.split('.')[0]}")
    db = sqlite3.connect(case.store)
    aside = db.execute("SELECT what, reason FROM damaged").fetchall()
    db.close()
    assert len(aside) >= 3 and all(reason for _, reason in aside), f"set aside: {aside}"
    status, _ = case.instance.request("GET", "/v1/jobs/" + held[0].id)
    assert status == 404, "the damaged job is there"
    for job in held[1:]:
        case.clients.release(job)
    again = case.submit(2)
    case.completed(held[1:] + again)
    for job in ran + held[1:] + again:
        lines = case.record.lines(job, None)
        assert [l[0] for l in lines] == ["start", "end"], f"{job.id}: {lines}"
    for job in ran[:3]:
        row = case.instance.get("/v1/jobs/" + job.id)
        assert row["state"] in "HC", f"{job.id}, whose history is damaged, is in state {row['state']}"
    assert again[0].id.split(".")[0] > held[-1].id.split(".")[0], "a number was given again"
    case.instance.stop()


def second(case):
    """Another server for the same directory is refused, and the first one continues."""
    case.instance.up()
    job = case.submit()
    for more in ([], ["--foreground"]):
        r = subprocess.run(case.instance.arguments + more, env=case.instance.environment, capture_output=True,
                           text=True, timeout=60)
        assert r.returncode == 1 and "a server runs here already" in r.stderr, f"{r.returncode}: {r.stderr}"
        assert str(case.instance.server.pid) in r.stderr, f"it does not say which: {r.stderr}"
    case.submit(3)
    case.settle()


def clock(case, program):
    """The clock is set forward and back by hours while jobs run, and while the server is down."""
    path = case.instance.home + "/clock"

    def set_clock(hours):
        with open(path, "r+b" if os.path.exists(path) else "wb") as f:
            f.write(struct.pack("=q", hours * 3600))

    set_clock(0)
    case.instance.environment.update(LD_PRELOAD=program, SHUNT_TEST_CLOCK=path,
                                     ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
    case.instance.up()
    for hours in (5, -7, 2, -30):
        running = case.submit(3, sleep=1)
        case.submit(2, indices=[1, 2], sleep=0.4)
        case.completed(running, "REC")
        set_clock(hours)
        case.submit(2)
        case.instance.get("/v1/plan")
        if hours in (-7, -30):  # it comes back in the past
            case.instance.kill_server()
            case.instance.up()
        case.submit(2, sleep=0.4)
    assert case.instance.server.poll() is None, "the server died"
    case.says("the clock was set forward", "the clock was set back")
    case.settle()
    case.instance.up()
    used = [(r["id"], r["used"]["walltime"]) for r in case.instance.jobs(fields="id,used") if r.get("used")]
    wrong = [u for u in used if not 0 <= u[1] < 600]
    assert used and not wrong, f"walltimes that the clock's steps are in: {wrong[:5]} of {len(used)}"
    case.instance.stop()


def many(case, total):
    """Thousands of jobs through 64 CPUs: each runs once and ends well."""
    out = case.instance.home + "/ran"
    body = {"script": f"#!/bin/sh\necho $PBS_JOBID >>{out}\n", "output": "/dev/null", "error": "/dev/null", "mail": "n",
            "resources": ["walltime=60"]}
    case.instance.up()
    ids = []
    for i in range(0, total, 1000):
        jobs = [dict(body, name=f"m{k}") for k in range(i, min(i + 1000, total))]
        status, answer = case.instance.request("POST", "/v1/jobs", {"jobs": jobs})
        assert status == 201, answer
        ids += [j["id"] for j in answer["jobs"]]
    assert len(set(ids)) == total, "ids were given twice"
    until = time.monotonic() + 800
    while time.monotonic() < until:
        counts = case.instance.get("/v1/server")["counts"]
        if not any(n for state, n in counts.items() if state != "C"):
            break
        time.sleep(0.5)
    rows = case.instance.jobs(fields="id,state,exit_status")
    bad = [r for r in rows if r["state"] != "C" or r["exit_status"] != 0]
    assert not bad, f"{len(bad)} did not end with 0: {bad[:5]}"
    with open(out) as f:
        ran = f.read().split()
    assert sorted(ran) == sorted(ids), f"{len(ran)} runs of {len(set(ran))} jobs instead of {total}"
    case.instance.stop()
    case.checks.nothing_left()


def preload_build(directory):
    """The clock's library, or None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    library = os.path.join(directory, "clock.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock.c")
    if not compiler:
        return None
    subprocess.run([compiler, "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


CASES = (full_disk, full_disk_and_killed, locked, damaged, second, clock)


def run(args, tap):
    for test in (many,) if args.many else CASES:
        if args.only and test.__name__ != args.only:
            continue
        case = Case(args, nodes="16x4" if test is many else "4x2")
        name, more = test.__doc__.split(":")[0].split(".")[0], []
        began = time.monotonic()
        try:
            if test is clock:
                library = preload_build(case.instance.home)
                if not library:
                    tap.result(True, f"{name} # SKIP no C compiler")
                    case.instance.remove()
                    continue
                more = [library]
            elif test is many:
                more = [args.many]
            test(case, *more)
        except (AssertionError, Gone, OSError, sqlite3.Error, KeyError) as e:
            case.checks.complain(None, "".join(traceback.format_exception(e)))
        tap.result(not case.checks.complaints, f"{name} ({time.monotonic() - began:.0f} s)",
                   "\n".join(case.checks.complaints[:20]) + "\nthe log ends with:\n" + case.instance.log_text()[-3000:])
        case.instance.remove(keep=args.keep and bool(case.checks.complaints))
