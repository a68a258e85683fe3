"""Clients: threads that submit jobs and change them, and write down what they were told; and one that administers."""
import random
import threading
import time

import books
import counting
import kept
from instance import Gone
from work import Job, QUEUES, uptime

# What clients do, how often, and the name by which --ops has it.
BASIC = "one", "bulk", "array", "depend", "hold", "release", "delete"
WIDE = ("deadlines", "emergencies", "arrays", "times", "reruns", "alters", "holds", "signals", "moves", "messages", "limits",
        "stops", "keys", "still", "quotas", "checkpoints", "offline", "credits", "throttles", "reservations")


def ops_parse(text):
    """"basic", "all", or names joined by commas; a name after a minus is left out."""
    chosen = set()
    for word in (text or "basic").split(","):
        names = set(BASIC) if word == "basic" else set(BASIC + WIDE) if word == "all" else {word.lstrip("-")}
        unknown = names - set(BASIC + WIDE)
        if unknown:
            raise SystemExit(f"--ops: {', '.join(unknown)} is not one of basic, all, {', '.join(BASIC + WIDE)}")
        chosen = chosen - names if word.startswith("-") else chosen | names
    return chosen | set(BASIC)


class Clients:
    def __init__(self, instance, record, seed, threads=4, most=120, ops=frozenset(BASIC)):
        self.instance, self.record, self.most, self.ops = instance, record, most, ops
        self.wide = bool(ops & set(WIDE))
        self.seed, self.keys = seed, 0
        self.stopping = False
        self.failure = None
        self.outstanding = 0
        self.done = {}  # how often each was
        self.still = threading.Condition()  # see pause()
        self.paused = self.moving = 0
        work = [self.run] * threads + ([self.administer] if ops & {"limits", "stops", "reservations"} else [])
        self.threads = [threading.Thread(target=w, args=(random.Random(f"{seed}/{i}"),), daemon=True)
                        for i, w in enumerate(work)]

    def start(self):
        for t in self.threads:
            t.start()

    def stop(self):
        self.stopping = True
        for t in self.threads:
            t.join(120)

    # Nothing is asked for while the state is compared.

    def pause(self):
        with self.still:
            self.paused += 1
            assert self.still.wait_for(lambda: not self.moving, 60), "a client has not had its answer for a minute"

    def resume(self):
        with self.still:
            self.paused -= 1
            self.still.notify_all()

    def stepping(self, step, *arguments):
        with self.still:
            self.still.wait_for(lambda: not self.paused)
            self.moving += 1
        try:
            step(*arguments)
        finally:
            with self.still:
                self.moving -= 1
                self.still.notify_all()

    def run(self, rng):
        try:
            mine = Mine()
            while not self.stopping:
                self.stepping(self.step, rng, mine)
                time.sleep(rng.random() * 0.1)
            for job, id, bar in mine.held:
                self.release(job, id, bar)
            for job, id in mine.suspended:
                self.change("signal", job, id, signal="resume")
            for job in mine.long:
                if not job.deleted:
                    self.delete(job)
        except Exception as e:  # reported by the main thread
            self.failure = self.failure or e

    # ---- what is done ----

    def step(self, rng, mine):
        """One thing of the table."""
        for item in [x for x in mine.suspended if rng.random() < 0.1]:
            mine.suspended.remove(item)
            self.change("signal", *item, signal="resume")
        if "still" in self.ops and rng.random() < 0.03 and not any(not j.deleted for j in mine.long[-1:]):
            mine.long.append(self.job(rng, sleep=3000, walltime=3600, queue="batch", resources=["nodes=1:ppn=1"]))
            self.new(rng, mine, mine.long[-1:])
        table = [(9, "one"), (2, "bulk"), (2, "array"), (2, "depend"), (2, "hold"), (1, "release"), (2, "delete"), (3, "deadlines"),
                 (1, "emergencies"), (2, "arrays"), (1, "times"), (2, "reruns"), (4, "alters"), (2, "holds"), (2, "signals"),
                 (2, "moves"), (2, "messages"), (5, "checkpoints"), (3, "credits"), (3, "throttles")]
        table = [(weight, name) for weight, name in table if name in self.ops]
        name = rng.choices([n for _, n in table], [w for w, _ in table])[0]
        if self.outstanding > self.most and name in ("one", "bulk", "array", "depend", "hold", "deadlines", "arrays", "times", "checkpoints", "throttles"):
            return
        if getattr(self, "do_" + name)(rng, mine) is not False:
            self.done[name] = self.done.get(name, 0) + 1

    def new(self, rng, mine, jobs):
        self.submit(jobs)
        mine.jobs += jobs

    def job(self, rng, **more):
        """Of any shape, in any queue."""
        if self.wide:
            shape = rng.choice(("", "", "", "nodes=1:ppn=2", "nodes=1:ppn=4", "nodes=2:ppn=2"))
            more = {"resources": [shape] if shape else [], "queue": rng.choice(("batch", "batch", *QUEUES)),
                    "walltime": rng.choice((30, 60, 60, 300)), **more}
        if "credits" in self.ops and rng.random() < 0.6:
            more = {"account": "low", **more}
        return Job(self.record, rng, **more)

    def do_one(self, rng, mine):
        self.new(rng, mine, [self.job(rng, rerunnable=rng.random() < 0.9)])

    def do_bulk(self, rng, mine):
        self.new(rng, mine, [self.job(rng) for _ in range(rng.randrange(2, 12))])

    def indices(self, rng):
        return sorted(rng.sample(range(30), rng.randrange(2, 6)))

    def do_array(self, rng, mine):
        self.new(rng, mine, [self.job(rng, indices=self.indices(rng), limit=rng.choice((0, 2)), sleep=0.1)])

    def sure(self, rng, mine):
        """A job to wait for. Another than a rerunnable one may be lost and so end without a trace: its successor then starts, rightly. One that is
        suspended may be ended by its walltime."""
        found = [j for j in mine.jobs[-30:] if j.id and not j.deleted and not j.element_deleted and j.rerunnable and not j.deadline()
                 and j.sleep < 100 and not j.suspended]
        return rng.choice(found) if found else None

    def do_depend(self, rng, mine):
        after = self.sure(rng, mine)
        if not after:
            return False
        self.new(rng, mine, [self.job(rng, after=after, kind=rng.choice(("afterok", "afterany")))])

    def do_arrays(self, rng, mine):
        """With limits, behind other jobs, held, or not before a time."""
        more = {"indices": self.indices(rng), "limit": rng.choice((0, 1, 2, 3)), "sleep": rng.choice((0, 0.1, 0.5))}
        behind = rng.choice(("depend", "depend", "hold", "at"))
        if behind == "depend" and self.sure(rng, mine):
            more.update(after=self.sure(rng, mine), kind=rng.choice(("afterok", "afterany")))
        elif behind == "at":
            more.update(at=int(time.time()) + rng.randrange(1, 4))
        else:
            more.update(hold="u", code=0)
        job = self.job(rng, **more)
        self.new(rng, mine, [job])
        if job.hold:
            mine.held.append((job, None, None))

    def do_times(self, rng, mine):
        self.new(rng, mine, [self.job(rng, at=int(time.time()) + rng.randrange(1, 6))])

    def do_hold(self, rng, mine):
        job = self.job(rng, hold="u", code=0)
        self.new(rng, mine, [job])
        mine.held.append((job, None, None))

    def do_release(self, rng, mine):
        if not mine.held:
            return False
        self.release(*mine.held.pop(0))

    def do_delete(self, rng, mine, message=None):
        victims = [j for j in mine.jobs[-30:] if j.id and not j.deleted and not j.wanted and j.released]
        if not victims:
            return False
        victim = rng.choice(victims)
        if self.wide and victim.indices and rng.random() < 0.5:
            index = rng.choice(victim.indices)
            victim.element_deleted.add(index)
            self.change("delete", victim, victim.id.replace("[]", f"[{index}]"))
        else:
            self.delete(victim, message)

    def do_messages(self, rng, mine):
        return self.do_delete(rng, mine, f"because {rng.randrange(1000)}")

    def do_deadlines(self, rng, mine):
        """As many as can be are told to be guaranteed; some insist on it."""
        walltime = rng.choice((30, 60))
        job = self.job(rng, walltime=walltime, deadline=int(time.time()) + walltime + rng.choice((5, 15, 40, 90)),
                       queue=rng.choice(("batch", "batch", "mine", "narrow")), **({"require_guarantee": True} if rng.random() < 0.3 else {}))
        self.new(rng, mine, [job])

    def do_credits(self, rng, mine):
        """A job with a price, or a transfer, of which nobody need be told; the books balance at any time."""
        if rng.random() < 0.6 and self.outstanding <= self.most:
            walltime = rng.choice((30, 60))
            job = self.job(rng, walltime=walltime, estimate=walltime, budget=10**8, deadline=int(time.time()) + walltime + rng.choice((15, 40, 90)),
                           queue="batch", account="low", require_guarantee=True)
            return self.new(rng, mine, [job])
        pair = rng.sample(("low", "spare"), 2)
        try:
            status, answer = self.instance.request("POST", "/v1/credits", {"op": "transfer", "account": pair[0], "to": pair[1], "amount": rng.randrange(1, 1000)})
            assert status in (200, 409, 503), f"transfer: {status} {answer}"
            status, answer = self.instance.request("GET", "/v1/credits")
        except Gone:
            return
        for text in books.balanced(answer["accounts"]) if status == 200 else ():
            raise AssertionError(text)

    def do_throttles(self, rng, mine):
        """Of an account that has limits: as a rule more than it may have at once."""
        self.new(rng, mine, [self.job(rng, account=kept.ACCOUNT, queue="batch", sleep=rng.choice((0.1, 0.3, 0.6)),
                                      resources=[rng.choice(("nodes=1:ppn=1", "nodes=1:ppn=2", "nodes=2:ppn=2"))]) for _ in range(rng.randrange(1, 4))])

    def do_checkpoints(self, rng, mine):
        """It counts for some seconds, on a part of a node: it is stopped for others, and moved when they fit by that."""
        self.new(rng, mine, [self.job(rng, steps=rng.choice((20, 80, 150)), size=0, sleep=0, queue=rng.choice(("batch", "batch", "mine")), walltime=300,
                                      resources=[rng.choice(("nodes=1:ppn=1", "nodes=1:ppn=2"))], checkpoint="periodic", **{"class": counting.CLASS})])

    def do_emergencies(self, rng, mine):
        """It may stop common and starving jobs, not those that were guaranteed."""
        job = self.job(rng, walltime=30, type="E", deadline=int(time.time()) + 30 + rng.choice((2, 5, 20)), queue="batch",
                       powers=["c_exec", "s_exec", "sc_alloc"], resources=[rng.choice(("nodes=1:ppn=4", "nodes=2:ppn=4", "nodes=4:ppn=2"))])
        self.record.emergencies.append(uptime())
        self.new(rng, mine, [job])

    def pick(self, rng, mine, states):
        """One of this client's that is in such a state now, perhaps: (job, id, index)."""
        tokens = {j.token: j for j in mine.jobs[-60:]}
        try:
            rows = self.instance.jobs(state=states, fields="id,name,index,state", arrays=rng.choice(("expand", "collapse")), completed=0)
        except (Gone, AssertionError):
            return None
        rows = [(tokens[r["name"].split("_")[0]], r) for r in rows if r["name"].split("_")[0] in tokens]
        rows = [(j, r) for j, r in rows if j.id and not j.deleted]
        if not rows:
            return None
        job, row = rng.choice(rows)
        return job, row["id"], row["index"]

    def do_reruns(self, rng, mine):
        found = self.pick(rng, mine, "R,S")
        if not found or (found[0].steps and rng.random() < 0.8):
            return False
        job, id, index = found
        def asked():
            job.reruns[index] += 1
        asked()
        at = uptime()
        if self.change("rerun", job, id, repeated=asked) == "done":  # one without an answer may have been done
            job.rerun.append((index, at))

    def do_holds(self, rng, mine):
        """Of jobs that wait or run, whether or not somebody released them."""
        found = self.pick(rng, mine, rng.choice(("Q", "Q,H,W", "R")))
        if not found or found[0].deadline():
            return False
        job, id, index = found
        if self.change("hold", job, id) != "done":
            return True
        bar = None
        status, answer = self.ask("GET", "/v1/jobs/" + id)
        if status == 200 and answer["state"] == "H" and (not job.indices or index is not None):
            bar = [index, uptime(), float("inf")]
            job.barred.append(bar)
        mine.held.append((job, id, bar))

    def do_signals(self, rng, mine):
        found = self.pick(rng, mine, "R")
        if not found or found[0].wanted or found[0].steps:  # one that is suspended keeps failing to save
            return False
        job, id, _ = found
        job.suspended = True
        self.change("signal", job, id, signal="suspend")
        mine.suspended.append((job, id))

    def do_moves(self, rng, mine):
        found = self.pick(rng, mine, "Q,H,W")
        if not found:
            return False
        job, id, _ = found
        queue = rng.choice(list(QUEUES))
        job.moved = True
        self.alter(job, id, "move", {"queue": queue})

    def do_alters(self, rng, mine):
        found = self.pick(rng, mine, rng.choice(("Q,H,W", "Q,H,W", "R,S")))
        if not found:
            return False
        job, id, _ = found
        kind = rng.choice(("name", "priority", "walltime", "shape", "deadline", "comment"))
        if kind == "name":
            self.alter(job, id, "alter", {"name": f"{job.token}_{rng.randrange(1000)}"})
        elif kind == "priority":
            self.alter(job, id, "alter", {"priority": rng.randrange(-20, 20)})
        elif kind == "walltime":
            self.alter(job, id, "alter", {"walltime": rng.choice((45, 90, 600))})
        elif kind == "shape":
            job.reshaped = True
            self.alter(job, id, "alter", {"resources": [rng.choice(("nodes=1:ppn=1", "nodes=1:ppn=3", "nodes=2:ppn=1"))]})
        elif kind == "deadline" and job.deadline() and job.more.get("type") != "E":
            self.alter(job, id, "alter", {"deadline": int(time.time()) + 600 + rng.randrange(100)})
        else:
            self.alter(job, id, "alter", {"comment": f"seen {rng.randrange(100)}"})

    def alter(self, job, id, action, changes):
        """Both may be shown until the answer is there; for good if it did not say which."""
        before = {k: set(job.may[k]) for k in changes if k in job.may}
        for k in before:
            job.may[k].add(changes[k])
        sent = {"resources": [f"walltime={changes['walltime']}"]} if "walltime" in changes else changes
        job.busy, job.claim, claim = True, None, job.claim
        element = bool(job.indices) and not id.split(".")[0].endswith("[]")
        if "walltime" in changes:
            job.limit_asked(changes["walltime"])
        try:
            told = self.change(action, job, id, **sent)
            if "walltime" in changes:
                job.limit_answered(told, element)
            for k in before:
                if told == "done" and not element:
                    job.may[k] = {changes[k]}
                elif told not in ("done", "maybe") and not job.indices:
                    job.may[k] = before[k]
            if told in ("finished", "bad_state", "refused"):
                job.claim = claim
            elif claim:
                self.claim(job, kept=claim if set(changes) <= {"name", "priority", "comment"} and told == "done" else None)
        finally:
            job.busy = False

    def claim(self, job, kept=None):
        """What it is told now. A change that asks for nothing else than before takes no promise back."""
        row = None
        while not row:
            try:
                row = self.instance.guaranteed(job.id, 10 if kept else 0)
            except Gone:
                time.sleep(0.05)
        if kept and not job.reruns and row["state"] in "QHW" and not row["guaranteed"]:
            raise AssertionError(f"{job.id} was guaranteed, {kept}, and after a change of its name, priority or comment it is not: {row}")
        if row["guaranteed"] and row["state"] in "QHW":
            job.claim = {"deadline": row["deadline"], "walltime": row["walltime"]}
            self.record.write("guaranteed", job, **job.claim)

    # ---- asking ----

    def ask(self, method, path, body=None):
        """Until there is an answer."""
        while True:
            try:
                status, answer = self.instance.request(method, path, body)
                if status != 503:
                    return status, answer
            except Gone:
                pass
            time.sleep(0.05)

    def submit(self, jobs):
        for job in jobs:
            job.asked = uptime()
            self.record.write("asked", job, size=job.size, sleep=job.sleep, code=job.code, indices=job.indices, limit=job.limit, hold=job.hold,
                              after=job.after and job.after.token, walltime=job.walltime, **job.more)
        self.record.requests.append(jobs)
        body = [job.body() for job in jobs]
        key = {"Idempotency-Key": f"{self.seed}-{jobs[0].token}"} if "keys" in self.ops and self.turn() else {}
        while True:
            try:
                status, answer = self.instance.request("POST", "/v1/jobs", body[0] if len(jobs) == 1 else {"jobs": body}, headers=key)
            except Gone as e:
                status, answer = 504, str(e)
            if status == 504:
                for job in jobs:
                    self.record.write("no answer", job, why=answer)
                if not key:
                    return
            if not key or status not in (503, 504):
                break
            time.sleep(0.05)
        if status == 201 or (status == 200 and key):
            for job, told in zip(jobs, [answer] if len(jobs) == 1 else answer["jobs"]):
                job.acknowledged(told["id"])
                if told["guaranteed"]:
                    job.claim = {"deadline": job.deadline(), "walltime": job.walltime}
                    self.record.write("guaranteed", job, **job.claim)
            return
        for job in jobs:
            self.record.write("refused", job, status=status, answer=answer)
            job.refused = True
        if status == 422 and len(jobs) == 1 and jobs[0].more.get("require_guarantee"):
            return
        if status == 422 and len(jobs) == 1 and jobs[0].more.get("deadline") and time.time() + jobs[0].walltime > jobs[0].deadline():
            return  # it was asked for in time, and repeated until a server answered
        if status != 503:
            raise AssertionError(f"a submission was refused: {status} {answer}")

    def turn(self):
        """Every second submission has a key, and is repeated until it is answered."""
        self.keys += 1
        return self.keys % 2

    def change(self, action, job, id=None, repeated=lambda: None, **more):
        """Until there is an answer: 'done', or the code of the error. None if it was accepted is not known."""
        if not job.id:
            return None
        asked = 0
        while True:
            self.record.write(action, job, id=id or job.id, **more)
            try:
                status, answer = self.instance.request("POST", "/v1/jobs/" + action, {"ids": [id or job.id], **more})
            except Gone:
                asked += 1
                repeated()
                time.sleep(0.05)
                continue
            self.record.write(action + " answered", job, status=status, answer=answer, before=asked)
            if status == 503:
                time.sleep(0.05)
                continue
            assert status == 200, f"{action} {job.id}: {status} {answer}"
            error = answer["results"][0].get("error")
            if error and error["code"] not in ("finished", "bad_state", "refused"):
                raise AssertionError(f"{action} {job.id}: {answer}")
            return "done" if not error else "maybe" if asked else error["code"]

    def release(self, job, id=None, bar=None):
        for other in job.barred:  # it may have been held more than once
            if other[2] == float("inf") and (bar is None or id is None or other[0] in (None, bar[0])):
                other[2] = uptime()
        if job.hold and job.released is False:
            job.barred.append([None, 0, uptime()])
        job.released = True
        self.change("release", job, id)

    def delete(self, job, message=None):
        job.deleted, job.message = "asked", message
        told = self.change("delete", job, **({"message": message} if message else {}))
        if told == "done":
            job.deleted = "done"

    # ---- the administrator ----

    def set(self, target, name, value):
        change = {"op": "unset", "name": name} if value is None else {"op": "set", "name": name, "value": str(value)}
        self.record.write("set", target=target, name=name, value=value)
        status, answer = self.ask("PATCH", "/v1/" + target, {"changes": [change]})
        self.record.write("set answered", target=target, name=name, status=status, answer=answer)
        assert status == 200, f"{target} {name}={value}: {status} {answer}"

    def prepare(self):
        """Queues and settings of the wider load."""
        if not self.wide:
            return
        for queue, limit in QUEUES.items():
            if queue != "batch":
                self.ask("PUT", "/v1/queues/" + queue)
                for name in ("enabled", "started"):
                    self.set("queues/" + queue, name, True)
            if limit:
                self.set("queues/" + queue, "max_user_run" if queue == "mine" else "max_running", limit)
        self.set("server", "kill_delay", 1)
        if "checkpoints" in self.ops:
            counting.prepare(self)
        if "quotas" in self.ops:
            books.give(self.instance)
        if "credits" in self.ops:
            books.deposit(self)
        if "throttles" in self.ops:
            kept.prepare(self)

    def administer(self, rng):
        try:
            while not self.stopping:
                self.stepping(self.administer_once, rng)
                time.sleep(rng.random())
            self.stepping(self.open)
            self.stepping(kept.release, self)
            for name in ("max_running", "max_user_run"):
                self.set("server", name, None)
        except Exception as e:
            self.failure = self.failure or e

    def administer_once(self, rng):
        if "limits" in self.ops and rng.random() < 0.3:
            self.set("server", rng.choice(("max_running", "max_user_run")), rng.choice((None, 3, 6, 12)))
        if "stops" in self.ops and rng.random() < 0.3:
            if self.record.closed and self.record.closed[-1][1] == float("inf"):
                self.open()
            else:
                self.set("queues/gate", "started", False)
                self.record.closed.append([uptime(), float("inf")])

        if "reservations" in self.ops and rng.random() < 0.4:
            kept.turn(self)

    def open(self):
        if self.record.closed and self.record.closed[-1][1] == float("inf"):
            self.record.closed[-1][1] = uptime()
            self.set("queues/gate", "started", True)


class Mine:
    """Of one client."""

    def __init__(self):
        self.jobs = []
        self.held = []  # (job, id, bar) to be released
        self.suspended = []  # (job, id) to be resumed
        self.long = []  # jobs that run until they are deleted, so that some do while nothing else happens
