"""
Stores of older versions (tests/fixtures/stores), opened by the server of today: what the API shows of them must stay what it was.

The clock of that server is set to the time at which the store was saved, and goes slowly (tests/crash/clock.c), and nothing is scheduled, so only seconds
differ from run to run; `steady` leaves out the fields that count them.
"""
import glob
import gzip
import json
import os
import pwd
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import lib

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures", "stores")
CONF = "[cluster]\nlisten = 127.0.0.1:0\naddress = s1:7722\n"
NODES = "n[11-12]:cpus=4"


class Postgres:
    """A PostgreSQL with a UNIX socket only, in a directory that is removed in the end; None where it is not installed."""

    @staticmethod
    def programs():
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        root = os.geteuid() == 0
        if not found or not shutil.which("psql") or (root and not any(p.pw_name == "postgres" for p in pwd.getpwall())):
            return None
        return found[-1]

    def __init__(self):
        self.bin = self.programs()
        self.dir = tempfile.mkdtemp(prefix="shunt-pg-")
        self.who = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.dir, account.pw_uid, account.pw_gid)
            self.who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        os.chmod(self.dir, 0o755)
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": self.dir, "TZ": "UTC", "PGHOST": self.dir, "PGUSER": "shunt"}
        self.process = None
        try:
            self.program(self.bin + "/initdb", "-D", self.dir + "/data", "-A", "trust", "-U", "shunt", "-E", "UTF8", "--locale=C", "-N")
            self.start()
        except BaseException:
            self.stop()
            raise

    def program(self, *args, input=None):
        p = subprocess.run(args, env=self.env, cwd=self.dir, input=input, capture_output=True, timeout=120, **self.who)
        if p.returncode:
            raise RuntimeError("%s: %s" % (" ".join(args), p.stderr.decode()))
        return p.stdout

    def start(self):
        with open(self.dir + "/log", "ab") as f:
            self.process = subprocess.Popen([self.bin + "/postgres", "-D", self.dir + "/data", "-k", self.dir, "-c", "listen_addresses=",
                "-c", "fsync=off"], env=self.env, cwd=self.dir, stdout=f, stderr=f, **self.who)
        ready = lib.until(lambda: subprocess.run([self.bin + "/pg_isready", "-q"], env=self.env).returncode == 0, 60)
        if not ready:
            raise RuntimeError(open(self.dir + "/log").read())

    def create(self, database):
        self.program("createdb", database)
        return "postgres:///%s?host=%s&user=shunt" % (database, self.dir)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)
        shutil.rmtree(self.dir, ignore_errors=True)


def clock_library():
    """Beside the programs under test, or None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    path = tempfile.mkdtemp(prefix="shunt-clock-")
    lib.atexit.register(shutil.rmtree, path, True)
    if not compiler:
        return None
    os.chmod(path, 0o755)
    subprocess.run([compiler, "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-o", path + "/clock.so", HERE + "/../crash/clock.c"], check=True)
    return path + "/clock.so"


def unpack(path):
    with gzip.open(path) as f:
        return f.read()


def pack(path, data):
    """Writes the same file for the same data."""
    with open(path, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
        z.write(data)


def instance(saved, library, store=None, sqlite=None, name="test"):
    """A server on a store (a URL, or the bytes of a SQLite file), at the time `saved`."""
    i = lib.Instance(NODES, name, conf=CONF, args=["--store", store] if store else [], up=False)
    if sqlite:
        os.mkdir(i.home + "/state")
        with open(i.home + "/state/shunt.db", "wb", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(sqlite)
    begin(i, saved, library)
    return i


def begin(i, saved, library):
    """Starts it, at the time `saved`."""
    with open(i.root + "/clock", "wb") as f:
        f.write(struct.pack("=q", int(saved - time.time())))
    usual = dict(i.env)
    i.env.update(LD_PRELOAD=library, SHUNT_TEST_CLOCK=i.root + "/clock", SHUNT_TEST_CLOCK_SLOW="100", ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
    i.start()
    i.env = usual


def end(i):
    """Its jobs run nowhere, or on nodes that are not there: nothing is to be waited for."""
    if not lib.gone(i.pid):
        i.kill()
    i.kill_left()
    i.remove()


def text(x):
    return json.dumps(x, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def shown(api):
    """Everything that the API shows of what a store holds. `api(method, path)` gives a status and an answer."""
    def get(path):
        status, data = api("GET", path)
        if isinstance(data, bytes):
            data = data.decode("latin-1")
        return data if status == 200 else {"status": status, "answer": data}

    jobs = [j["id"] for how in ("collapse", "expand") for j in get("/v1/jobs?completed=1&limit=1000&fields=id&arrays=" + how)["jobs"]]
    view = {"server": get("/v1/server"), "queues": get("/v1/queues"), "nodes": get("/v1/nodes"), "tokens": get("/v1/tokens"),
        "cluster": get("/v1/cluster"), "plan": get("/v1/plan"), "jobs": {}}
    for id in sorted(set(jobs)):
        path = "/v1/jobs/" + id.replace("[", "%5B").replace("]", "%5D")
        view["jobs"][id] = {"job": get(path), "events": get(path + "/events"), "script": get(path + "/script")}
    return view


# What the machine, the build and the moment of the start decide.
PASSING = {"server": {"home", "log", "state_directory", "host", "pid", "version", "uptime", "uptime_s", "clock_ahead"}, "cluster": {"address", "servers", "version", "epoch"}}


def steady(view, saved):
    """Without what differs from run to run. Times after the start of the server are one word: what it did then is compared, not when. What is
    only expected of the plan is also left out."""
    def of(x, leave_out):
        if isinstance(x, dict):
            runs = x.get("state") == "R"
            return {k: None if k in ("expected_start", "expected_end", "made") else of(v, leave_out) for k, v in x.items() if k not in leave_out and not (runs and k.startswith("used"))}
        if isinstance(x, list):
            return [of(v, leave_out) for v in x if not isinstance(v, dict) or v.get("state") != "expected"]
        if isinstance(x, str):
            return re.sub(r"retried at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "retried at DATE", x)
        late = isinstance(x, int) and not isinstance(x, bool) and saved - 5 <= x < saved + 600
        return "AFTER" if late else x
    return {k: of(v, PASSING.get(k, ())) for k, v in view.items()}


def known(got, expected):
    """What is shown, without the fields that came later."""
    if isinstance(got, dict) and isinstance(expected, dict):
        return {k: known(v, expected[k]) for k, v in got.items() if k in expected}
    if isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        return [known(g, e) for g, e in zip(got, expected)]
    return got
