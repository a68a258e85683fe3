"""
What scenarios with the real server stand on: an instance in a directory of its own, commands with a limit in time,
waiting for a state by asking, and outputs compared with texts in which what differs from run to run has a name.

Every comparison is one line of TAP. A scenario is a function; one that raises is one failure more, and the next
continues.
"""
import atexit
import difflib
import functools
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

FORKS = threading.Lock()  # while a pipe is open for writing here: a child of another thread would keep it open
LIMIT = 60  # seconds that a command may take, on a usual machine that is busy
PATIENCE = int(os.environ.get("SHUNT_PATIENCE", "1"))  # times as long on a slow one
LEAKS = "detect_leaks=%d" % ("SHUNT_LEAKS_SERVERS" in os.environ)  # of servers and their children: each look takes time
HOST = socket.gethostname().split(".")[0]
ME = pwd.getpwuid(os.geteuid()).pw_name

count = 0
failed = 0
scenarios = []
instances = []


def scenario(function):
    scenarios.append(function)
    return function


def report(good, name, detail=""):
    """A line of TAP, and what is to be known of a failure."""
    global count, failed
    count += 1
    failed += not good
    print("%s %d - %s" % ("ok" if good else "not ok", count, name.replace("#", "No.").replace("\n", " ")))
    if not good:
        for line in detail.splitlines():
            print("#   " + line)
    sys.stdout.flush()
    return good


def skip(name, reason):
    """A line of TAP for what can't be tried here."""
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, reason), flush=True)


def missing(name, programs):
    """Reports a case as skipped, and returns true, if one of the programs is not installed, or is an mpirun that does not work by itself."""
    for p in programs:
        if not shutil.which(p):
            skip(name, p + " is not installed")
            return True
        if p.startswith("mpirun") and not mpirun_works(p):
            skip(name, p + " cannot run one process here")
            return True
    return False


@functools.cache
def mpirun_works(program):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.run([program, "-np", "1", "--oversubscribe", "true"], env=env, capture_output=True, timeout=60).returncode == 0


def same(name, got, expected):
    """The two are equal; expected texts may be indented, and begin with a newline, for the reader's sake."""
    if isinstance(expected, str):
        expected = dedent(expected)
    if got == expected:
        return report(True, name)
    if isinstance(got, str) and isinstance(expected, str):
        lines = difflib.unified_diff(expected.splitlines(), got.splitlines(), "expected", "got", lineterm="", n=2)
        return report(False, name, "\n".join(lines) or "they differ in the newline at the end")
    return report(False, name, "expected %r\ngot      %r" % (expected, got))


def dedent(text):
    if not text.startswith("\n"):
        return text
    lines = text[1:].split("\n")
    indent = min((len(l) - len(l.lstrip(" ")) for l in lines[:-1] if l.strip()), default=0)
    return "\n".join(l[indent:] for l in lines[:-1]) + "\n"


def holds(name, good, detail=""):
    return report(bool(good), name, str(detail))


def has(name, text, pattern):
    """A regular expression is found in a text."""
    return report(bool(re.search(pattern, text or "", re.M)), name,
        "no /%s/ in\n%s" % (pattern, (text or "nothing")[:3000]))


def normal(text):
    """A text without what differs from run to run."""
    text = re.sub(r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{4}\b", "DATE", text)
    text = re.sub(r"\b\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", "DATE", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)?", "DATE", text)
    text = re.sub(r"(ctime|mtime|qtime|etime|start_time|stime|comp_time|start|end)>\d{10}<", r"\1>T<", text)
    text = re.sub(r"\b(ctime|qtime|etime|start|end)=\d{10}\b", r"\1=T", text)
    text = re.sub(r"(resources_used\.)(mem|vmem) = \d+kb", r"\1\2 = MEM", text)
    text = re.sub(r"(resources_used\.)(mem|vmem)=\d+kb", r"\1\2=MEM", text)
    text = re.sub(r"<(mem|vmem)>\d+kb<", r"<\1>MEM<", text)
    text = re.sub(r"resources_used\.(cput|walltime) = [\d:]+", r"resources_used.\1 = TIME", text)
    text = re.sub(r"resources_used\.(cput|walltime)=[\d:]+", r"resources_used.\1=TIME", text)
    text = re.sub(r"<(cput)>[\d:]+<", r"<\1>TIME<", text)
    text = re.sub(r"\bsession(_id)?( = |=|>)\d+", r"session\1\2PID", text)
    text = re.sub(r"Walltime.Remaining = \d+", "Walltime.Remaining = TIME", text)
    text = re.sub(r"<Remaining>\d+<", "<Remaining>TIME<", text)
    text = re.sub(r"@%s\b" % re.escape(HOST), "@HOST", text)
    return re.sub(r"\b%s:/" % re.escape(HOST), "HOST:/", text)


class Result:
    """What a command did."""

    def __init__(self, code, out, err, command=""):
        self.code, self.out, self.err, self.command = code, out, err, command

    def __repr__(self):
        return "exit code %s of %s\nout: %s\nerr: %s" % (self.code, self.command, self.out[:3000], self.err[:3000])


def run(args, env=None, cwd=None, input=None, user=None, limit=LIMIT, groups=None):
    """Runs a command; text in and out, with what is not UTF-8 kept (surrogateescape)."""
    if isinstance(input, str):
        input = input.encode("utf-8", "surrogateescape")
    if user:
        who = pwd.getpwnam(user)
        more = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": groups if groups is not None
            else os.getgrouplist(user, who.pw_gid)}
        env = dict(env or os.environ, HOME=who.pw_dir, USER=user, LOGNAME=user)
    else:
        more = {}
    try:
        p = subprocess.run(args, env=env, cwd=cwd, input=b"" if input is None else input, timeout=limit * PATIENCE,
            capture_output=True, **more)
        return Result(p.returncode, p.stdout.decode("utf-8", "surrogateescape"),
            p.stderr.decode("utf-8", "surrogateescape"), " ".join(map(str, args)))
    except subprocess.TimeoutExpired as e:
        return Result("TIMEOUT", (e.stdout or b"").decode("utf-8", "replace"),
            (e.stderr or b"").decode("utf-8", "replace"), " ".join(map(str, args)))


def until(what, limit=LIMIT):
    """Asks until it is true; its value, or what it was in the end. A question that takes long is asked less often."""
    end = time.monotonic() + limit * PATIENCE
    while True:
        begun = time.monotonic()
        value = what()
        now = time.monotonic()
        if value or now > end:
            return value
        time.sleep(max(0.02, now - begun))


def gone(pid):
    """The process is gone, or only waits for the process that inherited it."""
    try:
        word = open("/proc/%d/stat" % pid).read().rsplit(")")[1].split()
        return word[0] == "Z" and int(word[17]) < 2  # no thread is left that has its files open
    except OSError:
        return True


class Unix(http.client.HTTPConnection):
    def __init__(self, path, timeout=LIMIT):
        super().__init__("shunt", timeout=timeout * PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Instance:
    """A server with everything under a directory that is removed in the end."""

    def __init__(self, nodes="4x8", name="test", conf="", system=False, args=(), mode=0o755, up=True):
        self.root = tempfile.mkdtemp(prefix="shunt-scenario-")
        os.chmod(self.root, mode)
        self.home = self.root + "/home"
        self.work = self.root + "/work"
        os.mkdir(self.home)
        os.mkdir(self.work)
        self.env = {k: v for k, v in os.environ.items() if not re.match("PBS_|SHUNT_|XDG_|EDITOR|DISPLAY|UBSAN", k)}
        # Without overflows of global variables, which the programs in C look for, a command takes half the processor time.
        self.env.update(SHUNT_HOME=self.home, PATH=commands + ":" + os.environ["PATH"], TZ="UTC", LANG="C.UTF-8",
            LC_ALL="C.UTF-8",
            ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:quarantine_size_mb=16:report_globals=0:malloc_context_size=8", UBSAN_OPTIONS="print_stacktrace=1", SHELL="/bin/sh",
            USER=ME, LOGNAME=ME, NO_COLOR="1", SHUNT_FAKE_GPUS="0")
        self.args = ["--name", name, "--nodes", nodes] + list(args) + (["--system"] if system else [])
        self.pid = 0
        if conf:
            with open(self.home + "/shunt.conf", "w") as f:
                f.write(conf)
        instances.append(self)
        if up:
            self.start()

    def start(self):
        options = self.env["ASAN_OPTIONS"].replace("detect_leaks=0", LEAKS)
        r = run([server] + self.args, env=dict(self.env, ASAN_OPTIONS=options))
        if r.code != 0:
            raise RuntimeError("the server does not start: %r" % r)
        self.pid = int(open(self.home + "/run/shuntd.pid").read())
        return r

    def kill(self, sig=signal.SIGKILL):
        os.kill(self.pid, sig)
        return until(lambda: gone(self.pid))

    def restart(self):
        """As after a power cut of the server alone."""
        self.kill()
        self.start()

    # ---- commands ----

    def __call__(self, command, *args, input=None, cwd=None, user=None, env=None, limit=LIMIT):
        return run([command] + list(args), env=dict(self.env, **(env or {})), cwd=cwd or self.work, input=input,
            user=user, limit=limit)

    def says(self, command, expected, *args, code=0, err="", name=None, **more):
        """Output, messages and exit code of a command are these."""
        r = self(command, *args, **more)
        text = normal(r.out).replace(self.root, "ROOT")
        if r.code != code or normal(r.err).replace(self.root, "ROOT") != dedent(err) or text != dedent(expected):
            return same(name or " ".join((command,) + args), "exit code %s\n%s%s" % (r.code, text,
                prefixed(normal(r.err).replace(self.root, "ROOT"))),
                "exit code %s\n%s%s" % (code, dedent(expected), prefixed(dedent(err))))
        return report(True, name or " ".join((command,) + args))

    def refuses(self, command, message, *args, code=1, **more):
        """A command fails with this message, and prints nothing."""
        return self.says(command, "", *args, code=code, err=message, **more)

    def sub(self, *args, script="true\n", user=None, cwd=None, env=None):
        """Submits, and returns the id."""
        r = self("qsub", *args, input=script, user=user, cwd=cwd, env=env)
        if r.code != 0:
            raise RuntimeError("qsub: %r" % r)
        return r.out.strip()

    # ---- the API ----

    def api(self, method, path, body=None, headers=None, raw=None, limit=LIMIT):
        """The status and the answer (parsed when it is JSON)."""
        c = Unix(self.home + "/run/shuntd.sock", limit)
        try:
            c.request(method, path, raw if raw is not None else None if body is None else json.dumps(body),
                headers or {})
            r = c.getresponse()
            data = r.read()
            return r.status, json.loads(data) if (r.getheader("Content-Type") or "").startswith("application/json") else data
        finally:
            c.close()

    def api_as(self, user, method, path, body=None):
        """The same, asked by another user (of root's choosing)."""
        who = pwd.getpwnam(user)
        FORKS.acquire()
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([]), os.setgid(who.pw_gid), os.setuid(who.pw_uid)
                status, data = self.api(method, path, body)
                os.write(w, json.dumps([status, data if not isinstance(data, bytes)
                    else data.decode("utf-8", "replace")]).encode())
            finally:
                os._exit(0)
        os.close(w)
        FORKS.release()
        with os.fdopen(r) as f:
            text = f.read()
        os.waitpid(pid, 0)
        return json.loads(text) if text else [0, "no answer"]

    def job(self, id):
        status, data = self.api("GET", "/v1/jobs/" + id.replace("[", "%5B").replace("]", "%5D"))
        return data if status == 200 else {"state": "gone", "comment": "status %s, %s" % (status, data)}

    def state(self, id):
        return self.job(id)["state"]

    def wait(self, id, states="C", limit=LIMIT):
        """Waits until the job is in one of the states; the job."""
        end = time.monotonic() + limit * PATIENCE
        while True:
            j = self.job(id)
            if j["state"] in states:
                return j
            if time.monotonic() > end:
                raise RuntimeError("%s is %s, not %s: %s" % (id, j["state"], states, j.get("comment")))
            time.sleep(0.02)

    def metric(self, name):
        return float(re.search(rb"^shunt_%s (\S+)$" % name.encode(), self.api("GET", "/v1/metrics")[1], re.M).group(1))

    def turns(self, n=5, limit=LIMIT):
        """Waits until the server has completed n further turns. What it can decide without news from outside is decided
        then: the way to show that it does nothing."""
        last = self.metric("turns_total") + n + 1  # the answer may come from within a turn
        if not until(lambda: self.metric("turns_total") >= last, limit):
            raise RuntimeError("the server has not completed %d turns" % n)

    # ---- files ----

    def path(self, name):
        return os.path.join(self.work, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="surrogateescape") as f:
            return f.read()

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "wb") as f:
            f.write(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    # ---- the end ----

    def left(self):
        """Processes that belong to this instance, by their environment or arguments."""
        found = []
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(p) != os.getpid() and any(self.root.encode() in open("/proc/%s/%s" % (p, f), "rb").read()
                    for f in ("environ", "cmdline")):
                    found.append(int(p))
            except OSError:
                pass
        return found

    def kill_left(self):
        for p in self.left():
            try:
                os.kill(p, signal.SIGKILL)
            except OSError:
                pass

    def stop(self):
        """Ends the jobs and the server, and looks for what is left."""
        if self.pid and not gone(self.pid):
            r = self("shunt", "down", "--kill", "--force", limit=40)
            holds("shunt down --kill", r.code == 0 and until(lambda: gone(self.pid)), r)
        left = until(lambda: not self.left(), 10) or self.left()
        holds("no process is left", left is True, "\n".join("%s: %s" % (p, line_of(p))
            for p in ([] if left is True else left)))
        self.kill_left()
        log = open(self.home + "/log", errors="replace").read() if os.path.exists(self.home + "/log") else ""
        holds("the server's log has no fault", not re.search("runtime error|Sanitizer|assertion|Assertion", log),
            log[-4000:])
        self.remove()

    def remove(self):
        for path, dirs, _ in os.walk(self.root):
            for d in dirs:
                if not os.path.islink(os.path.join(path, d)):
                    os.chmod(os.path.join(path, d), 0o755)
        shutil.rmtree(self.root)
        if self in instances:
            instances.remove(self)


@atexit.register
def remove_all():
    """After a test that was stopped itself."""
    for i in list(instances):
        i.kill_left()
        time.sleep(0.2)
        i.remove()


def user_remove(name):
    """Also if a process of theirs has ended but is not yet waited for."""
    subprocess.run(["userdel", "-f", name], capture_output=True)


def line_of(pid):
    try:
        return open("/proc/%d/cmdline" % pid, errors="replace").read().replace("\0", " ")
    except OSError:
        return "gone"


def prefixed(text):
    return "".join("err: %s\n" % l for l in text.splitlines())


def skip_all(reason):
    """Ends the program: it cannot be tried here. A plan of no cases is allowed only where none was reported."""
    if count:
        skip("the rest", reason)
        print("1..%d" % count)
    else:
        print("1..0 # SKIP " + reason)
    sys.exit(1 if failed else 0)


def as_user():
    """Root runs the whole test once more, as an ordinary user made for it, and removes that afterwards."""
    if os.geteuid() != 0:
        skip_all("it runs as an ordinary user anyway")
    if not shutil.which("useradd"):
        skip_all("there is no useradd")
    name, home = "shu%d" % (os.getpid() % 100000), tempfile.mkdtemp(prefix="shunt-home-")
    try:
        subprocess.run(["useradd", "-M", "-d", home, "-s", "/bin/sh", "-U", name], check=True, capture_output=True)
        shutil.chown(home, name, name)
        who, python = pwd.getpwnam(name), next((p for p in (sys.executable, "/usr/bin/python3") if readable(p, name)),
            None)
        if not python or not readable(server, name) or not readable(os.path.abspath(sys.argv[0]), name):
            print("1..0 # SKIP an ordinary user can't read the build directory, or has no python3")
            return 0
        env = dict(os.environ, HOME=home, USER=name, LOGNAME=name, TMPDIR=home)
        more = [a for a in sys.argv[3:] if a != "--user"]
        args = [python, os.path.abspath(sys.argv[0]), commands + "/shunt", server] + more
        return subprocess.run(args, env=env, cwd=home, user=who.pw_uid, group=who.pw_gid, extra_groups=[]).returncode
    finally:
        user_remove(name)
        shutil.rmtree(home, ignore_errors=True)


def readable(path, user):
    return run(["test", "-r", path], user=user, cwd="/").code == 0


def main():
    """Runs the file's scenarios, or those whose names are given."""
    if "--user" in sys.argv:
        sys.exit(as_user())
    print("# as %s" % ME)
    for s in scenarios:
        if len(sys.argv) > 3 and s.__name__ not in sys.argv[3:]:
            continue
        print("# %s" % (s.__doc__ or s.__name__).strip().split("\n")[0])
        begun = time.monotonic()
        try:
            s()
        except Exception:
            report(False, s.__name__ + " ran to its end", traceback.format_exc())
        ran = time.monotonic()
        for i in list(instances):
            try:
                i.stop()
            except Exception:
                report(False, "the instance could be stopped", traceback.format_exc())
        print("# %.1f s, and %.1f s to stop" % (ran - begun, time.monotonic() - ran))
    print("1..%d" % count)
    sys.exit(1 if failed else 0)


# usage: TEST SHUNT SHUNTD [--user] [SCENARIO...]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
os.umask(0o022)
if len(sys.argv) < 3:
    sys.exit("usage: %s SHUNT SHUNTD [SCENARIO...]   (the programs: BUILD/src/cmd/shunt BUILD/src/server/shuntd)" % sys.argv[0])
commands = os.path.dirname(os.path.realpath(sys.argv[1]))
server = os.path.realpath(sys.argv[2])
