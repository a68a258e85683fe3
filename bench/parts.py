"""What bench/server and bench/cluster share: a server in a directory of its own, jobs as qsub would send them, lines of results."""
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TRUE = "#!/bin/sh\ntrue\n"
ENVIRONMENT = ["PBS_O_HOME=/home/somebody", "PBS_O_LANG=C.UTF-8", "PBS_O_LOGNAME=somebody", "PBS_O_HOST=host",
               "PBS_O_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PBS_O_QUEUE=batch",
               "PBS_O_SHELL=/bin/bash", "PBS_O_WORKDIR=/home/somebody/work", "PBS_O_SYSTEM=Linux"]
WAIT = 60  # seconds that anything may take


def note(text):
    print("  " + text, file=sys.stderr, flush=True)


class Results:
    """Prints a line for each number of a bench, and keeps them for a comparison."""

    def __init__(self, bench):
        self.bench = bench
        self.rows = {}

    def add(self, row, value, unit, goal=None, column="shunt"):
        text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        self.rows.setdefault(row, {})[column] = (value, goal)
        print(f"{self.bench}/{row}/{column} {text} {unit}", flush=True)
        if goal is not None:
            print(f"{self.bench}/{row}/goal {goal:g} {unit}", flush=True)


class Connection(http.client.HTTPConnection):
    """HTTP on a UNIX socket."""

    def __init__(self, path):
        super().__init__("shunt", timeout=WAIT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def guard(home):
    """Ends the server of a bench that is killed, and removes its directory: a process that waits for this one's end, and finds nothing to do after an orderly one."""
    reads, writes = os.pipe()
    if os.fork() != 0:
        os.close(reads)  # the other end is closed with this process, however it ends
        return
    os.setsid()
    for fd in (0, 1, 2, writes):
        os.close(fd)
    os.read(reads, 1)
    try:
        with open(os.path.join(home, "run", "shuntd.pid")) as f:
            os.kill(int(f.read()), signal.SIGKILL)
    except (OSError, ValueError):
        pass
    shutil.rmtree(home, ignore_errors=True)
    os._exit(0)


class Server:
    """One server in a directory of its own."""

    def __init__(self, build, nodes, *options, conf=""):
        self.build = build
        self.nodes = nodes
        self.options = options
        self.home = tempfile.mkdtemp(prefix="shunt-bench-")
        self.environment = dict(os.environ, SHUNT_HOME=self.home)
        self.socket = os.path.join(self.home, "run", "shuntd.sock")
        guard(self.home)
        if conf:  # users of this machine connect
            os.chmod(self.home, 0o755)
            with open(os.path.join(self.home, "shunt.conf"), "w") as f:
                f.write(conf)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop_jobs()
        finally:
            os.kill(self.pid, signal.SIGTERM)
            wait_until(lambda: not alive(self.pid))
            shutil.rmtree(self.home, ignore_errors=True)

    def start(self):
        """Returns when the API answers."""
        program = os.path.join(self.build, "src", "server", "shuntd")
        subprocess.run([program, "--nodes", self.nodes, *self.options], env=self.environment, check=True, timeout=WAIT)
        self.attach()

    def attach(self):
        self.connection = Connection(self.socket)
        wait_until(self.answers)
        with open(os.path.join(self.home, "run", "shuntd.pid")) as f:
            self.pid = int(f.read())

    def start_timed(self):
        """Seconds by the clock and on the processor until the API answers."""
        before = children_seconds()
        took = timed(self.start)
        return took, children_seconds() - before + cpu_seconds(self.pid)

    def answers(self):
        try:
            return self.get("/v1/server")
        except OSError:
            self.connection.close()
            return None

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not alive(self.pid))

    def stop_jobs(self):
        self.ask("POST", "/v1/jobs/delete", {"filter": {}, "delay": 0})
        wait_until(lambda: self.counts("QRHW") == 0)

    def ask(self, method, path, body=None):
        text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request(method, path, text)
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"{sys.argv[0]}: {method} {path}: {data.decode()[:500]}")
        return data

    def get(self, path):
        return json.loads(self.ask("GET", path))

    def metrics(self):
        lines = self.ask("GET", "/v1/metrics?nodes=0").decode().splitlines()
        return {name[6:]: float(value) for name, value in (x.split() for x in lines if not x.startswith("#"))}

    def counts(self, states):
        found = self.metrics()
        return sum(found[f'jobs{{state="{x}"}}'] for x in states)

    def command(self, name, *arguments):
        return [os.path.join(self.build, "src", "cmd", name), *arguments]

    def spawn(self, *arguments):
        """The numbers that bench_spawn prints."""
        program = os.path.join(self.build, "bench", "bench_spawn")
        if not os.path.exists(program):
            subprocess.run(["ninja", "-C", self.build, "bench/bench_spawn"], check=True, stdout=subprocess.DEVNULL)
        run = subprocess.run([program, *map(str, arguments)], env=self.environment, check=True, timeout=2 * WAIT,
                             stdout=subprocess.PIPE, text=True)
        numbers = [float(x) for x in run.stdout.split()]
        if numbers[-1]:
            note(f"{numbers[-1]:.0f} failed: bench_spawn {' '.join(map(str, arguments))[:200]}")
        return numbers

    def memory(self):
        """Resident, in kB."""
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read()).group(1))


class Head(Server):
    """A server that other machines join; of its own it has the nodes of the configuration."""

    def __init__(self, build, nodes="none", connections=1000):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.where = "127.0.0.1:%d" % free.getsockname()[1]
        self.connections = connections  # all agents have one address here: it may have as many
        super().__init__(build, nodes)

    def start(self):
        with open(os.path.join(self.home, "shunt.conf"), "w") as f:
            f.write(f"[cluster]\nlisten = {self.where}\n[api]\nconnections_per_user = {self.connections}\nconnections = {self.connections}\nidle = 600\n")
        super().start()


class Fleet:
    """bench_agents, and what it says: n agents with that many CPUs each, whose jobs take that many ms."""

    def __init__(self, server, n, cpus, takes):
        token = json.loads(server.ask("POST", "/v1/tokens", {"kind": "join", "uses": n}))["token"]
        program = os.path.join(server.build, "bench", "bench_agents")
        self.process = subprocess.Popen([program, server.where, token, str(n), str(cpus), str(takes)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def said(self, word, limit=3 * WAIT):
        """The seconds that its word comes with."""
        if not select.select([self.process.stdout], [], [], limit)[0]:
            sys.exit(f"{sys.argv[0]}: the agents did not say {word} within {limit} s")
        found = self.process.stdout.readline().split()
        if not found or found[0] != word:
            sys.exit(f"{sys.argv[0]}: the agents said {found}, not {word}")
        return float(found[1])


def cpu_seconds(pid):
    """Of all its threads; by the scheduler's own account, since a tick of the other (/proc/PID/stat) is 10 ms."""
    tasks = f"/proc/{pid}/task"
    return sum(int(open(f"{tasks}/{t}/schedstat").read().split()[0]) for t in os.listdir(tasks)) / 1e9


def on_cpu(server, work):
    """Seconds that the server's processor time grew by meanwhile, and what the work returns."""
    before = cpu_seconds(server.pid)
    found = work()
    return cpu_seconds(server.pid) - before, found


def children_seconds():
    """Processor time of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, pause=0.005, wait=WAIT):
    end = time.monotonic() + wait
    while not (found := condition()):
        if time.monotonic() > end:
            sys.exit(f"{sys.argv[0]}: waited {wait} s in vain")
        time.sleep(pause)
    return found


def job(**more):
    """A job as qsub would send it."""
    return {"script": TRUE, "name": "bench", "output": "/dev/null", "error": "/dev/null", "workdir": "/tmp",
            "environment": ENVIRONMENT, "submit_host": "host", **more}


def bodies(jobs, size=1000):
    return [json.dumps({"jobs": jobs[i:i + size]}).encode() for i in range(0, len(jobs), size)]


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def timed(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def pace(path, queue, requests, per_second):
    """Sends requests at a rate over a connection; their times in seconds go into the queue."""
    connection, took = Connection(path), []
    begin = time.monotonic()
    for i, (method, target, body) in enumerate(requests):
        time.sleep(max(0, begin + i / per_second - time.monotonic()))
        sent = time.monotonic()
        connection.request(method, target, body)
        connection.getresponse().read()
        took.append(time.monotonic() - sent)
    queue.put(took)
