"""Commands of users while there is no server: they leave what was asked for, and it is carried out at the next start."""
import os
import subprocess


class Away:
    """Commands that were begun, and what their users were told."""

    def __init__(self, clients, build):
        self.clients, self.instance, self.record = clients, clients.instance, clients.record
        self.commands = os.path.join(os.path.realpath(build), "src/cmd")
        self.begun = []  # (process, job, "submit" or "delete")
        self.mine = []
        self.halfway = False  # a server was killed while it started: it may have taken the last offer back, and made none yet

    def command(self, name, *arguments, cwd=None, input=None):
        p = subprocess.Popen([os.path.join(self.commands, name), *arguments], env=self.instance.environment, cwd=cwd, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        p.stdin.write(input or "")
        p.stdin.close()
        p.stdin = None
        return p

    def begin(self, rng):
        """Some submissions, and perhaps a deletion of one that was accepted before."""
        for _ in range(rng.randrange(1, 4)):
            self.submit(rng)
        victims = [j for j in self.mine[-20:] if j.id and not j.deleted and not j.wanted]
        if victims and rng.random() < 0.3:
            job = rng.choice(victims)
            job.deleted = "asked"
            self.record.write("delete while down", job, id=job.id)
            self.begun.append((self.command("qdel", job.id), job, "delete"))

    def submit(self, rng):
        job = self.clients.job(rng, code=rng.randrange(4))
        job.priority = 0
        job.may["priority"] = {0}
        b = job.body()
        job.asked = self.record.now()
        self.record.write("asked while down", job, size=job.size, sleep=job.sleep, code=job.code, walltime=job.walltime, **job.more)
        self.record.requests.append([job])
        resources = [word for text in b["resources"] for word in ("-l", text)]
        self.begun.append((self.command("qsub", "-N", job.token, "-j", "oe", "-m", "n", "-q", job.more.get("queue", "batch"), "-r", "y", *resources,
                                        cwd=job.directory(), input=b["script"]), job, "submit"))

    def finish(self, checks):
        """What they printed counts."""
        for p, job, what in self.begun:
            out, err = p.communicate(timeout=120)
            self.record.write(what + " while down answered", job, code=p.returncode, out=out, err=err)
            if what == "delete":
                job.deleted = "done" if p.returncode == 0 else job.deleted
            elif p.returncode == 0:
                job.acknowledged(out.strip())
                self.mine.append(job)
            elif self.halfway and "no Shunt server is running" in err:
                job.refused = True
            else:
                checks.complain(job, f"qsub while the server was down: exit code {p.returncode}, {err}")
            checks.excused[f"commands of users while the server was down ({what})"] += 1
        self.begun = []
        self.halfway = False
