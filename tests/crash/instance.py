"""A server in a directory of its own: starting it, asking it, and killing it or what belongs to it."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from urllib.parse import quote

TROUBLE = ("ERROR: AddressSanitizer", "runtime error:", "Assertion", "set aside")


class Gone(Exception):
    """No answer: whether the request was carried out is not known."""


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("shunt", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Instance:
    open = set()  # those that are not removed yet
    ending = False
    starting = threading.Lock()

    def __init__(self, build, nodes="16x4", store=None, preload=None):
        if Instance.ending:
            raise Gone("we were told to end")
        self.program = os.path.join(os.path.realpath(build), "src/server/shuntd")
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="shunt-crash-"))
        count, each = map(int, nodes.split("x"))
        self.cpus = count * each
        self.arguments = [self.program, "--nodes", nodes, "--name", "crash"]
        if store:
            self.arguments += ["--store", store]
        self.environment = dict(os.environ, SHUNT_HOME=self.home, ASAN_OPTIONS="detect_leaks=0:report_globals=0",
                                UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
        if preload:
            self.environment["LD_PRELOAD"] = preload
        self.log = os.path.join(self.home, "log")
        self.socket = os.path.join(self.home, "run/shuntd.sock")
        self.live = os.path.join(self.home, "state/live")
        self.server = None
        Instance.open.add(self)

    def start(self, **faults):
        """Begins to start it; see wait_up()."""
        with Instance.starting, open(self.log, "ab") as log:
            if Instance.ending:
                raise Gone("we were told to end")
            self.server = subprocess.Popen(self.arguments + ["--foreground"], env=dict(self.environment, **faults),
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def wait_up(self, seconds=60):
        """True when it answers; False when it ended before."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.server.poll() is not None:
                return False
            try:
                self.request("GET", "/v1/server", timeout=10)
                return True
            except Gone:
                time.sleep(0.01)
        raise AssertionError(f"the server (process {self.server.pid}) did not answer within {seconds} s")

    def log_events(self):
        """Everything that happens is in the event log from now on; asked again where the server has died."""
        for _ in range(100):
            try:
                for name, value in (("log_format", "json"), ("log_events", "all")):
                    status, answer = self.request("PATCH", "/v1/server", {"changes": [{"op": "set", "name": name, "value": value}]})
                    assert status == 200, f"{name}: {status} {answer}"
                return
            except Gone:
                time.sleep(0.1)
        raise AssertionError("the event log can't be turned on")

    def up(self, **faults):
        self.start(**faults)
        assert self.wait_up(), "the server ended before it was up:\n" + self.log_text()[-2000:]

    def request(self, method, path, body=None, timeout=20, headers={}):
        """(status, answer), or Gone."""
        c = Connection(self.socket, timeout)
        try:
            c.request(method, path, None if body is None else json.dumps(body), headers)
            r = c.getresponse()
            text = r.read()
            return r.status, json.loads(text) if "json" in r.headers["Content-Type"] else text
        except (OSError, http.client.HTTPException) as e:
            raise Gone(f"{method} {path}: {e!r}") from e
        finally:
            c.close()

    def get(self, path):
        """Once it has done what users left while it was down."""
        until = time.monotonic() + 30
        status, answer = self.request("GET", path)
        while status == 503 and time.monotonic() < until:
            time.sleep(0.02)
            status, answer = self.request("GET", path)
        assert status == 200, f"GET {path}: {status} {answer}"
        return answer

    def jobs(self, **query):
        """All jobs, page by page."""
        found, after = [], None
        while True:
            q = dict(query, limit=400, **({"after": after} if after else {}))
            page = self.get("/v1/jobs?" + "&".join(f"{k}={quote(str(v))}" for k, v in q.items()))
            found += page["jobs"]
            after = page["next"]
            if not after:
                return found

    def guaranteed(self, id, seconds=10):
        """What it shows of a job whose deadline was guaranteed, once that is so again or the job does not wait any more: one that was to be started, and
        was not, has no place until the next cycle."""
        until = time.monotonic() + seconds
        row = self.get("/v1/jobs/" + id)
        while not row["guaranteed"] and row["state"] in "QHW" and time.monotonic() < until:
            time.sleep(0.02)
            row = self.get("/v1/jobs/" + id)
        return row

    def log_text(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def complaints(self):
        """What must never be in the log."""
        return [line for line in self.log_text().splitlines() if any(t in line for t in TROUBLE)]

    # Killing. Only processes whose environment or arguments name our directory are touched.

    def processes(self):
        """pid -> (parent, arguments) of everything of this instance that is alive: nurseries, shepherds, jobs."""
        mark, found = ("SHUNT_HOME=" + self.home).encode(), {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as f:
                    stat = f.read().rsplit(")", 1)[1].split()
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    arguments = f.read().split(b"\0")
                if stat[0] in "ZX":
                    continue
                if self.live.encode() not in arguments:
                    with open(f"/proc/{pid}/environ", "rb") as f:
                        if mark not in f.read().split(b"\0"):
                            continue
                found[int(pid)] = int(stat[1]), arguments
            except OSError:
                continue
        found.pop(os.getpid(), None)
        return found

    def nursery(self):
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children") as f:
            children = f.read().split()
        for pid in children:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if b"--nursery" in f.read().split(b"\0"):
                        return int(pid)
            except OSError:
                continue
        return None

    def kill_server(self):
        self.server.kill()
        self.server.wait()

    def kill_nursery(self):
        """True if there was one."""
        try:
            pid = self.nursery()
            if pid:
                os.kill(pid, signal.SIGKILL)
            return bool(pid)
        except OSError:
            return False

    def kill_everything(self):
        self.kill_server()
        for _ in range(100):
            rest = self.processes()
            if not rest:
                return
            # All stand still first: a shell whose command was killed a moment before itself would say so, and continue.
            for blow in (signal.SIGSTOP, signal.SIGKILL):
                for pid in rest:
                    try:
                        os.kill(pid, blow)
                    except OSError:
                        pass
            time.sleep(0.005)
        raise AssertionError(f"processes that can't be killed: {rest}")

    def stop(self):
        if self.server and self.server.poll() is None:
            self.server.terminate()
            try:
                self.server.wait(30)
            except subprocess.TimeoutExpired:
                raise AssertionError("the server did not stop within 30 s of SIGTERM")

    def remove(self, keep=False):
        """Ends what is left of it. `keep`: its directory stays."""
        if self.server:
            self.kill_everything()
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)
        Instance.open.discard(self)


def has_ended(server, seconds=20):
    """A process that dies closes its connections before it can be waited for."""
    try:
        server.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def remove_all(*_):
    """When we are told to end, by a signal: nothing stays behind."""
    Instance.ending = True
    time.sleep(0.1)  # for one that is being started
    for instance in list(Instance.open):
        instance.remove()
    os._exit(1)
