"""What the two parts under systemd share: commands as root and as users, jobs asked for by the commands alone."""
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
