"""Clients: threads that submit, hold, release and delete, and write down what they were told."""
import random
import threading
import time

from instance import Gone
from work import Job


class Clients:
    def __init__(self, instance, record, seed, threads=4, most=120):
        self.instance, self.record, self.most = instance, record, most
        self.stopping = False
        self.failure = None
        self.outstanding = 0
        self.threads = [threading.Thread(target=self.run, args=(random.Random(f"{seed}/{i}"),), daemon=True)
                        for i in range(threads)]

    def start(self):
        for t in self.threads:
            t.start()

    def stop(self):
        self.stopping = True
        for t in self.threads:
            t.join(120)

    def run(self, rng):
        try:
            mine, held = [], []
            while not self.stopping:
                self.step(rng, mine, held)
                time.sleep(rng.random() * 0.1)
            for job in held:
                self.release(job)
        except Exception as e:  # reported by the main thread
            self.failure = self.failure or e

    def step(self, rng, mine, held):
        if self.outstanding > self.most:
            return
        what = rng.randrange(20)
        ready = [j for j in mine[-30:] if j.id and not j.deleted]
        sure = [j for j in ready if j.rerunnable]  # another may be lost and so end without a trace: its successor then starts, rightly
        if what < 9:
            new = [Job(self.record, rng, rerunnable=rng.random() < 0.9)]
        elif what < 11:
            new = [Job(self.record, rng) for _ in range(rng.randrange(2, 12))]
        elif what < 13:
            new = [Job(self.record, rng, indices=sorted(rng.sample(range(30), rng.randrange(2, 6))),
                       limit=rng.choice((0, 2)), sleep=0.1)]
        elif what < 15 and sure:
            new = [Job(self.record, rng, after=rng.choice(sure), kind=rng.choice(("afterok", "afterany")))]
        elif what < 17:
            new = [Job(self.record, rng, hold="u", code=0)]
            held += new
        elif what < 18 and held:
            self.release(held.pop(0))
            return
        else:
            victims = [j for j in ready if not j.wanted and j.released]
            if victims:
                self.delete(rng.choice(victims))
            return
        self.submit(new)
        mine += new

    def submit(self, jobs):
        for job in jobs:
            self.record.write("asked", job, size=job.size, sleep=job.sleep, code=job.code)
        body = [job.body() for job in jobs]
        try:
            status, answer = self.instance.request("POST", "/v1/jobs", body[0] if len(jobs) == 1 else {"jobs": body})
        except Gone as e:
            for job in jobs:
                self.record.write("no answer", job, why=str(e))
            return
        if status == 201:
            for job, told in zip(jobs, [answer] if len(jobs) == 1 else answer["jobs"]):
                job.acknowledged(told["id"])
            return
        for job in jobs:
            self.record.write("refused", job, status=status, answer=answer)
            job.refused = True
        if status != 503:
            raise AssertionError(f"a submission was refused: {status} {answer}")

    def change(self, action, job):
        """Until there is an answer: 'done', or the code of the error. None if it was accepted is not known."""
        if not job.id:
            return None
        asked = 0
        while True:
            self.record.write(action, job)
            try:
                status, answer = self.instance.request("POST", "/v1/jobs/" + action, {"ids": [job.id]})
            except Gone:
                asked += 1
                time.sleep(0.05)
                continue
            self.record.write(action + " answered", job, status=status, answer=answer, before=asked)
            if status == 503:
                time.sleep(0.05)
                continue
            assert status == 200, f"{action} {job.id}: {status} {answer}"
            error = answer["results"][0].get("error")
            if error and error["code"] not in ("finished", "bad_state"):
                raise AssertionError(f"{action} {job.id}: {answer}")
            return "done" if not error else "maybe" if asked else error["code"]

    def release(self, job):
        job.released = True
        self.change("release", job)

    def delete(self, job):
        job.deleted = "asked"
        told = self.change("delete", job)
        if told == "done":
            job.deleted = "done"
