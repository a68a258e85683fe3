"""
What the scenarios of a cluster share: one of three hosts and a server, made when it is first asked for; jobs and what they wrote; the end,
at which nothing may be left.
"""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scenario"))
import hosts
if hosts.impossible():
    print("1..0 # SKIP " + hosts.impossible())
    sys.exit(0)
import lib
from lib import has, holds, missing, report, same, scenario
from hosts import *

BUILD = os.path.dirname(os.path.dirname(lib.commands))
labs = []


class Lab:
    """A server s1, and hosts n1, n2, ... with agents. BASE in the configuration, and in programs that it names, is the world's directory. `builds`: directories of
    other builds, by the names of the hosts whose daemon is from there."""

    def __init__(self, conf="", programs={}, settings={}, agents=True, hosts=3, builds={}):
        self.world = World(BUILD)
        labs.append(self)
        self.names = [f"n{i + 1}" for i in range(hosts)]
        self.hosts = [self.world.host(n) for n in self.names]
        self.agents = []
        for name, text in programs.items():
            self.program(name, text)
        self.server = Server(self.world, self.world.host("s1"), conf=conf.replace("BASE", self.world.base), settings={"kill_delay": 1, "start_retry": 1, **settings},
                             build=builds.get("s1"))
        if agents:
            self.agents += [Agent(self.server, h, build=builds.get(h.name)) for h in self.hosts]

    def program(self, name, text):
        """A program that is root's, seen from all hosts."""
        path = f"{self.world.base}/{name}"
        with open(path, "w") as f:
            f.write(text.replace("BASE", self.world.base))
        os.chmod(path, 0o755)

    def host(self, name):
        return self.world.hosts[name]

    def agent(self, name):
        return self.agents[self.names.index(name)]

    # ---- jobs ----

    def sub(self, script, *args, **more):
        return self.server.sub("-N", "t", *args, script=script, **more)

    def read(self, id, which="o", user="alice"):
        """What a job wrote, wherever that is; None: nothing is there."""
        name = f"/home/{user}/t.{which}" + id.split(".")[0].replace("[", "-").replace("]", "")
        texts = [t for t in (h.read(name) for h in self.world.hosts.values()) if t is not None]
        return texts[0] if texts else None

    def done(self, id, user="alice", limit=LIMIT):
        """Waits for its end: (exit status, standard output, standard error)."""
        j = self.server.wait(id, limit=limit)
        return j["exit_status"], self.read(id, "o", user), self.read(id, "e", user)

    def job(self, script, *args, user="alice", limit=LIMIT, **more):
        return self.done(self.sub(script, *args, user=user, **more), user, limit)

    def runs(self, id, hosts=None):
        """Waits until its script runs (it has made the file `up` in its user's home, on each of those hosts); the job."""
        j = self.server.wait(id, "R")
        user = j["owner"]
        hosts = hosts or [node_of(j)]
        number = id.split(".")[0]
        holds(f"{number} runs on {', '.join(hosts)}", until(lambda: all(self.host(h).read(f"/home/{user}/up.{number}") for h in hosts)), self.trouble())
        return j

    def tag(self, id, attempt=1):
        """What its attempt's files are called."""
        number = id.split(".")[0].replace("[", "-").replace("]", "")
        homes = [a.home for a in self.agents] + [self.server.home + "/state"]
        found = [os.path.basename(f) for h in homes for f in glob.glob(f"{h}/live/{number}-x*.{attempt}")]
        return found[0] if found else f"{number}.{attempt}"

    def used(self, id):
        j = self.server.job(id)
        return j["exec_host"], j["comment"]

    # ---- processes ----

    def left(self, hosts=None):
        """Processes of users on hosts, as texts."""
        found = []
        for h in hosts or self.world.hosts.values():
            for p in h.processes():
                try:
                    line = lib.line_of(p) if os.stat(f"/proc/{p}").st_uid >= 42001 else ""
                    if line and not re.search("shunt-nursery|exim|sendmail", line): # which open files and bring mail as users
                        found.append(f"{h.name}: {line}")
                except OSError:
                    pass
        return found

    def nothing_left(self, name, hosts=None):
        until(lambda: not self.left(hosts), 10)
        return same(name, self.left(hosts), [])

    def trouble(self):
        return self.world.logs()

    # ---- the end ----

    def close(self):
        self.nothing_left("no process of a user is left")
        for d in self.world.daemons:
            holds(f"the log of {d.name} has no fault", not any(t in d.log_text() for t in TROUBLE), d.log_text()[-4000:])
        self.world.close()
        labs.remove(self)


def node_of(job):
    return job["exec_host"].split("/")[0]


# Says that the script runs, for Lab.runs().
UP = "echo x >~/up.${PBS_JOBID%%.*}\n"


@lib.atexit.register
def close_all():
    for l in list(labs):
        l.world.close()


def cleared(function, prepare):
    """The scenario, with a cluster; if it fails, its jobs are not in the way of the next."""
    def run():
        try:
            if not labs:
                prepare()
            function()
        except BaseException:
            for l in labs:
                if l.agents:
                    l.server("qdel", "-p", "all", limit=10)
            raise
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


def main(prepare):
    """Runs the file's scenarios, or those whose names are given; `prepare` makes their cluster."""
    lib.scenarios[:] = [cleared(s, prepare) for s in lib.scenarios] + [the_end]
    if len(sys.argv) > 3:
        sys.argv.append("the_end")
    lib.main()


def the_end():
    """Nothing is left"""
    for l in list(labs):
        l.close()
