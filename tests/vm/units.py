"""What the parts under systemd share: commands as root and as users, jobs asked for by the commands alone."""
import glob
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../scenario"))
from lib import *

ROOT = "/sys/fs/cgroup"
PATIENCE = 90  # seconds: the machine is slow
HOME = "/home/alice"


def sh(*args, user=None, input=None):
    return run(list(args), user=user, input=input, cwd=HOME if user else "/", limit=PATIENCE)


def active(unit):
    return sh("systemctl", "is-active", unit).out.strip() == "active"


def sub(*args, script):
    """A job of alice; its number."""
    r = sh("qsub", *args, user="alice", input=script)
    if r.code != 0:
        raise RuntimeError("qsub: %r" % r)
    return r.out.split(".")[0]


def job(id):
    r = sh("qstat", "-x", "-f", id)
    return dict(re.findall(r"<(\w+)>([^<]*)</\1>", r.out))


def job_is(id, state):
    return until(lambda: job(id).get("job_state") == state and job(id), PATIENCE)


def output(id, least=1):
    path = "%s/STDIN.o%s" % (HOME, id)
    until(lambda: os.path.exists(path) and len(open(path).read().splitlines()) >= least, PATIENCE)
    return open(path).read().splitlines() if os.path.exists(path) else []


def journal(unit):
    return sh("journalctl", "-u", unit, "-n", "40", "--no-pager").out + sh("systemctl", "status", unit, "--no-pager").out


GROUP = "group=/sys/fs/cgroup$(sed s/0::// /proc/self/cgroup)\n"
WAITS = GROUP + "echo $group; cat $group/memory.max; until [ -e go-$PBS_JOBID ]; do sleep 0.2; done; rm go-$PBS_JOBID; echo done\n"


def go_on(id):
    sh("touch", "go-%s.vm" % id, user="alice")


def runs_on(unit, how, change, *args):
    """A job that began before what is done to the unit ends well after it."""
    id = sub("-l", "mem=100mb", *args, script=WAITS)
    lines = output(id, 2)
    before = job_is(id, "R")
    same("a job runs, with its memory limited", lines[1:], [str(100 << 20)])
    change()
    holds("%s: the unit is active" % how, until(lambda: active(unit), PATIENCE), journal(unit))
    holds("the server answers", until(lambda: sh("shunt", "status").code == 0, PATIENCE), journal("shunt"))
    after = until(lambda: job(id), PATIENCE)
    same("its job is the same", after.get("session_id"), before.get("session_id"))
    go_on(id)
    j = job_is(id, "C")
    same("and ends well", (j and j.get("exit_status"), output(id, 3)[-1:]), ("0", ["done"]))
    holds("its group is removed", lines and until(lambda: not os.path.exists(lines[0]), PATIENCE), lines)


def join():
    """This machine becomes the node "second" of its own server."""
    text = sh("shunt", "token", "create").out
    words = re.search(r"^ +(shunt join \S+)\n.*?^ +(\S+\.\S+\.\S+)$", text, re.M | re.S)
    holds("shunt token create", words, text)
    r = sh(*words.group(1).split(), words.group(2), "--name", "second")
    holds("shunt join", r.code == 0, r)
    holds("its unit is active", until(lambda: active("shunt-agent"), PATIENCE), journal("shunt-agent"))
    has("and enabled", sh("systemctl", "is-enabled", "shunt-agent").out, "enabled")
    holds("the node is free", until(lambda: re.search("^second +free", sh("shunt", "nodes").out, re.M), PATIENCE),
        sh("shunt", "nodes").out + journal("shunt-agent"))
