"""
Hosts on one machine: each with a network, process ids, a host name, users, /home, /tmp and /dev/shm of its own, joined by a switch
whose wires can be cut, slowed and made to lose packets. Everything is in namespaces that are made here and gone with their processes.

    with World(build) as w:
        server = Server(w, w.host("s1"))
        nodes = [Agent(server, w.host("n%d" % i)) for i in (1, 2, 3)]

Needs root.
"""
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

LIMIT = 60  # seconds that a command may take
USERS = {"alice": 42001, "bob": 42002, "carol": 42003}  # of every host; nobody else knows them
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:report_globals=0:malloc_context_size=8",
              "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
# Each host has two processors, however many this machine has: some scenarios need jobs that fit only on several hosts.
TOPOLOGY = {"HWLOC_SYNTHETIC": "package:1 core:2 pu:1", "HWLOC_THISSYSTEM": "1"} if os.cpu_count() > 1 else {}
TROUBLE = ("ERROR: AddressSanitizer", "runtime error:", "Assertion")


class Result:
    def __init__(self, code, out, err, command):
        self.code, self.out, self.err, self.command = code, out, err, command

    def __repr__(self):
        return f"exit code {self.code} of {self.command}\nout: {self.out[:3000]}\nerr: {self.err[:3000]}"


def sh(*args, check=True):
    p = subprocess.run(args, capture_output=True, text=True, timeout=LIMIT)
    if check and p.returncode != 0:
        raise RuntimeError(f"{' '.join(args)}: {p.stderr.strip()}")
    return p.stdout


def until(what, limit=LIMIT, step=0.02):
    """Asks until it is true; its value, or what it was in the end. A question that takes long is asked less often."""
    end = time.monotonic() + limit
    while True:
        begun = time.monotonic()
        value = what()
        now = time.monotonic()
        if value or now > end:
            return value
        time.sleep(max(step, now - begun))


def gone(pid):
    try:
        word = open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()
        return word[0] == "Z" and int(word[17]) < 2  # no thread is left that has its files open
    except OSError:
        return True


def impossible():
    """Returns why hosts cannot be made here; an empty text if they can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [p for p in ("ip", "nsenter", "unshare", "mount", "setpriv") if not shutil.which(p)]
    if missing:
        return ", ".join(missing) + " not installed"
    made = subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount", "true"], capture_output=True, text=True)
    return "" if made.returncode == 0 else "namespaces cannot be made here: " + made.stderr.strip()


class World:
    """The switch, and the directory with everything that hosts write."""
    made = 0

    def __init__(self, build, keep=False):
        if impossible():
            raise RuntimeError("hosts are made of namespaces: " + impossible())
        World.made += 1
        self.build = os.path.realpath(build)
        self.keep = keep
        self.base = tempfile.mkdtemp(prefix="shunt-hosts-", dir="/var/tmp")
        os.chmod(self.base, 0o755)
        self.copy_etc()
        self.hosts = {}
        self.daemons = []
        # The switch is also a namespace: nothing of it shows outside.
        self.switch = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        until(lambda: os.readlink(f"/proc/{self.switch.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        self.in_switch("ip", "link", "set", "lo", "up")
        self.in_switch("ip", "link", "add", "br0", "type", "bridge")
        self.in_switch("ip", "link", "set", "br0", "address", "02:00:00:00:00:fe")  # else it changes with what is plugged in
        self.in_switch("ip", "addr", "add", "10.99.0.254/24", "dev", "br0")
        self.in_switch("ip", "link", "set", "br0", "up")

    def copy_etc(self):
        """Copies again while useradd of another test makes and removes files there."""
        etc = self.base + "/etc"

        def copied():
            shutil.rmtree(etc, ignore_errors=True)
            return subprocess.run(["cp", "-a", "/etc", etc], capture_output=True, timeout=LIMIT).returncode == 0
        if not until(copied, step=0.1):
            raise RuntimeError("/etc can't be copied")
        for name in filter(lambda name: name.endswith(".lock"), os.listdir(etc)):
            os.remove(f"{etc}/{name}")

    def in_switch(self, *args, check=True):
        return sh("nsenter", f"--net=/proc/{self.switch.pid}/ns/net", *args, check=check)

    def host(self, name):
        """The host of that name, made if it is new."""
        if name not in self.hosts:
            self.hosts[name] = Host(self, name, len(self.hosts) + 1)
            for h in self.hosts.values():
                h.write_hosts()
        return self.hosts[name]

    def program(self, name, build=None):
        """The path of one of our programs, of this build or of another."""
        build = build or self.build
        for folder in ("cmd", "server", "agent", "station", "tls", "pmix"):
            path = f"{build}/src/{folder}/{name}"
            if os.path.exists(path):
                return path
        raise RuntimeError(f"there is no {name} in {build}")

    def wire_program(self):
        """Built by meson with the tests, else here."""
        path = f"{self.build}/tests/wire"
        if not os.path.exists(path):
            path = f"{self.base}/wire"
            if not os.path.exists(path):
                sh("cc", "-O1", "-D_GNU_SOURCE", "-o", path, os.path.join(os.path.dirname(os.path.realpath(__file__)), "wire.c"))
        return path

    def close(self):
        for d in reversed(self.daemons):
            d.kill()
        for h in self.hosts.values():
            h.close()
        self.switch.kill()
        self.switch.wait()
        if not self.keep:
            shutil.rmtree(self.base, ignore_errors=True)

    def logs(self):
        return "".join(f"---- {d.name}\n{d.log_text()[-3000:]}\n" for d in self.daemons)

    def troubles(self):
        return [d.name for d in self.daemons if any(t in d.log_text() for t in TROUBLE)]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Host:
    def __init__(self, world, name, number):
        self.world, self.name, self.number = world, name, number
        self.address = f"10.99.0.{number}"
        self.base = f"{world.base}/{name}"
        self.wire = f"v{number}"
        self.bad = None  # the process of a bad wire
        self.frozen = []
        for d in ("etc", "home", "run"):
            os.makedirs(f"{self.base}/{d}")
        self.write_users()
        self.write_hosts()
        open(f"{self.base}/etc/hostname", "w").write(name + "\n")
        for f in set(os.listdir(f"{world.base}/etc")) - set(os.listdir(f"{self.base}/etc")):
            link = f"{world.base}/etc/{f}"
            os.symlink(os.readlink(link) if os.path.islink(link) else link, f"{self.base}/etc/{f}")
        inside = "; ".join([
            f"hostname {name}", "mount --make-rprivate /",
            f"mount --bind {self.base}/etc /etc", # whole: a file that is mounted comes off when it is replaced outside, by useradd say
            f"mount --bind {self.base}/home /home", f"mount --bind {self.base}/run /run", f"exec 9<{world.build}", "mount -t tmpfs -o mode=1777 tmpfs /tmp",
            f"mkdir -p {world.build}", f"mount -c --bind /proc/self/fd/9 {world.build}", "exec 9<&-", # it may be below /tmp
            "mount -t tmpfs -o mode=1777 tmpfs /dev/shm", "mount -t proc proc /proc", "ip link set lo up",
            "echo up", "exec sleep infinity"])
        # sleep is the first process in there: it dies, everything dies. Orphans' zombies stay until then.
        self.process = subprocess.Popen(["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
                                         inside], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "up\n":
            raise RuntimeError(f"host {name} does not come up")
        self.pid = int(sh("pgrep", "-P", str(self.process.pid)).split()[0])
        w = world.in_switch
        w("ip", "link", "add", self.wire, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid))
        w("ip", "link", "set", self.wire, "master", "br0", "up")
        self.root("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.root("ip", "link", "set", "eth0", "gso_max_segs", "1", "up") # frames of their real size,
        self.root(world.wire_program(), "--plain", "eth0")  # and with their checksums, for bad wires

    def write_users(self):
        with open(f"{self.base}/etc/passwd", "w") as f, open(f"{self.base}/etc/group", "w") as g:
            f.write(open("/etc/passwd").read())
            g.write(open("/etc/group").read())
            for user, uid in USERS.items():
                f.write(f"{user}:x:{uid}:{uid}:{user}:/home/{user}:/bin/sh\n")
                g.write(f"{user}:x:{uid}:\n")
            if "shunt:" not in open("/etc/passwd").read():
                f.write("shunt:x:42000:42000:shunt:/nonexistent:/usr/sbin/nologin\n")
                g.write("shunt:x:42000:\n")
            g.write("chemists:x:42100:alice,bob\n")
        for user, uid in USERS.items():
            os.makedirs(f"{self.base}/home/{user}", mode=0o700)
            os.chown(f"{self.base}/home/{user}", uid, uid)

    def write_hosts(self):
        with open(f"{self.base}/etc/hosts", "w") as f: # in place: it is mounted
            f.write("127.0.0.1 localhost\n10.99.0.254 switch\n")
            f.writelines(f"{h.address} {h.name}\n" for h in self.world.hosts.values())
            if self.name not in self.world.hosts:
                f.write(f"{self.address} {self.name}\n")

    # ---- programs ----

    def join(self, server, name, home, env=None, build=None):
        """This machine joins a server as node `name`; its agent's state is in `home`, and it is not started."""
        return self.run(self.world.program("shunt-agent", build), "--join", f"{server.host.name}:7722", server.token(), "--name", name, "--no-start",
                        env={**(env or {}), "SHUNT_AGENT_HOME": home})

    def command(self, args, user=None):
        who = [] if not user else ["setpriv", f"--reuid={USERS[user]}", f"--regid={USERS[user]}", "--init-groups"]
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "-p", "--", *who, *map(str, args)]

    def environment(self, user=None, env=None):
        e = {"PATH": f"{self.world.build}/src/cmd:{self.world.build}/src/agent:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
             "HOME": f"/home/{user}" if user else "/root", "USER": user or "root", "LOGNAME": user or "root", "SHELL": "/bin/sh",
             "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", **SANITIZERS, **TOPOLOGY}
        e.update(env or {})
        return e

    def run(self, *args, user=None, env=None, input="", cwd=None, limit=LIMIT):
        """A command in there, to its end."""
        cd = ["sh", "-c", 'cd "$0" && exec "$@"', cwd or (f"/home/{user}" if user else "/")]
        try:
            p = subprocess.run(self.command(cd + list(args), user), env=self.environment(user, env), capture_output=True,
                               input=input.encode("utf-8", "surrogateescape"), timeout=limit)
            return Result(p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"),
                          f"{self.name}: {' '.join(map(str, args))}")
        except subprocess.TimeoutExpired as e:
            return Result("TIMEOUT", (e.stdout or b"").decode("utf-8", "replace"), (e.stderr or b"").decode("utf-8", "replace"),
                          f"{self.name}: {' '.join(map(str, args))}")

    def root(self, *args, **more):
        r = self.run(*args, **more)
        if r.code != 0:
            raise RuntimeError(repr(r))
        return r.out

    def spawn(self, *args, user=None, env=None, log=None, **more):
        out = open(log, "ab") if log else subprocess.DEVNULL
        return subprocess.Popen(self.command(args, user), env=self.environment(user, env), stdin=subprocess.DEVNULL, stdout=out,
                                stderr=out, start_new_session=True, **more)

    def path(self, path):
        """Where a file of the host is, seen from outside."""
        return self.base + path if path.startswith("/home/") else path

    def read(self, path):
        try:
            return open(self.path(path), errors="replace").read()
        except OSError:
            return None

    def processes(self):
        """Process ids (as seen from outside) of everything in there but its first."""
        mine = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = []
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{p}/ns/pid") == mine and int(p) != self.pid and not gone(int(p)):
                    found.append(int(p))
            except OSError:
                pass
        return found

    # ---- trouble ----

    def cut(self):
        self.world.in_switch("ip", "link", "set", self.wire, "down")

    def heal(self):
        self.world.in_switch("ip", "link", "set", self.wire, "up")
        self.fast()

    def slow(self, delay_ms=0, loss=0):
        """Packets from and to it are late, or lost in that many of a hundred cases (wire.c)."""
        self.fast()
        tap = "t" + self.wire
        self.bad = subprocess.Popen(["nsenter", f"--net=/proc/{self.world.switch.pid}/ns/net", self.world.wire_program(), self.wire,
                                     tap, str(delay_ms), str(loss)], stdout=subprocess.PIPE, text=True)
        if self.bad.stdout.readline() != "up\n":
            raise RuntimeError("the bad wire does not come up")
        self.world.in_switch("ip", "link", "set", self.wire, "nomaster")
        self.world.in_switch("ip", "link", "set", tap, "master", "br0", "up")

    def fast(self):
        if self.bad:
            self.bad.kill()
            self.bad.wait()
            self.bad = None
            self.world.in_switch("ip", "link", "set", self.wire, "master", "br0")

    def freeze(self):
        self.frozen = self.processes()
        for p in self.frozen:
            kill(p, signal.SIGSTOP)

    def thaw(self):
        for p in self.frozen:
            kill(p, signal.SIGCONT)

    def crash(self):
        """As if its plug was pulled, but for its files: every process dies at once."""
        for _ in range(3):
            for p in self.processes():
                kill(p, signal.SIGKILL)
        until(lambda: not self.processes(), 10)

    def close(self):
        if self.bad:
            self.bad.kill()
            self.bad.wait()
        self.process.kill()
        self.process.wait()
        until(lambda: gone(self.pid), 10)


def kill(pid, sig):
    try:
        os.kill(pid, sig)
    except OSError:
        pass


class Daemon:
    """A process of a host that is killed, frozen and started again."""

    def __init__(self, host, name, home, args, env):
        self.host, self.world, self.name, self.home = host, host.world, name, home
        self.args, self.env = args, env
        self.log = f"{host.base}/{name.split('@')[0]}.log"
        self.process = None
        os.makedirs(home, exist_ok=True)
        host.world.daemons.append(self)

    def start(self):
        self.process = self.host.spawn(*self.args, env=self.env, log=self.log)

    @property
    def pid(self):
        """Of the daemon itself: nsenter forks."""
        try:
            children = open(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read().split()
            return int(children[0]) if children else self.process.pid
        except OSError:
            return 0

    def signal(self, sig):
        if self.process and self.process.poll() is None:
            kill(self.pid, sig)

    def kill(self):
        """Its jobs continue."""
        if self.process:
            self.signal(signal.SIGKILL)
            until(lambda: self.process.poll() is not None, 10)

    def stop(self):
        self.signal(signal.SIGTERM)
        until(lambda: self.process.poll() is not None, 20)

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)
        if self.process:
            kill(self.process.pid, signal.SIGCONT) # nsenter, which stops with it

    def restart(self):
        self.kill()
        self.start()

    def preload(self, source, **env):
        """From its next start on it runs with a library made of a source file below tests/, which takes its orders from `env`."""
        program = f"{self.world.base}/{os.path.basename(source)[:-2]}.so"
        if not os.path.exists(program):
            sh("cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-o", program, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", source), "-ldl")
        others = [p for p in self.env.get("LD_PRELOAD", "").split(":") if p and p != program]
        self.env.update(env, LD_PRELOAD=":".join([*others, program]), ASAN_OPTIONS=SANITIZERS["ASAN_OPTIONS"] + ":verify_asan_link_order=0")

    def clock(self, seconds):
        """Its wall clock is that far ahead (crash/clock.c): from now on, or from its next start if it has none yet."""
        path = f"{self.host.base}/{self.name.split('@')[0]}.clock"
        with open(path, "r+b" if os.path.exists(path) else "wb") as f:
            f.write(int(seconds).to_bytes(8, "little", signed=True))
        self.preload("crash/clock.c", SHUNT_TEST_CLOCK=path)

    def accounts(self, answer):
        """Its look-ups of USERS succeed or fail (support/slow_users.c): from now on, or from its next start if that is new to it."""
        path = f"{self.host.base}/{self.name.split('@')[0]}.users"
        os.makedirs(path, exist_ok=True)
        for user, uid in USERS.items():
            for name in (f"{path}/{user}.fails", f"{path}/{uid}.fails"):
                if not answer:
                    open(name, "w").close()
                elif os.path.exists(name):
                    os.unlink(name)
        self.preload("support/slow_users.c", SHUNT_TEST_USERS=path)

    def log_text(self):
        try:
            return open(self.log, errors="replace").read()
        except OSError:
            return ""


CONF = """nodes = none
name = {name}
account = root
[cluster]
listen = 7722
address = {host}
heartbeat = {heartbeat}
{more}
"""


def token_of(text):
    """Of what 'shunt token create' prints: the server, and the token."""
    found = re.search(r"^ +shunt (?:join|login) (\S+)\n.*?^ +(\S+\.\S+\.\S+)$", text, re.M | re.S)
    if not found:
        raise RuntimeError("no token in: " + text)
    return found.groups()


class Server(Daemon):
    """shuntd in system mode on a host."""

    def __init__(self, world, host, name="test", nodes="none", heartbeat=1, conf="", store=None, settings=None, up=True, build=None):
        home = f"{host.base}/server"
        args = [world.program("shuntd", build), "--system", "--foreground", "--nodes", nodes] + (["--store", store] if store else [])
        super().__init__(host, f"shuntd@{host.name}", home, args, {"SHUNT_HOME": home})
        os.chmod(home, 0o755)
        with open(home + "/shunt.conf", "w") as f:
            f.write(CONF.format(name=name, host=host.name, heartbeat=heartbeat, more=conf))
        self.settings = {"node_down_after": 3, **(settings or {})}
        if up:
            self.start()
            self.wait_up()
            for k, v in self.settings.items():
                if v is not None:
                    self.root("qmgr", "-c", f"set server {k} = {v}")

    def __call__(self, *args, user=None, host=None, env=None, **more):
        """A command on the server's host (or another), as root or as a user."""
        return (host or self.host).run(*args, user=user, env={"SHUNT_HOME": self.home, **(env or {})} if (host or self.host) is self.host
                                       else env, **more)

    def root(self, *args, **more):
        r = self(*args, **more)
        if r.code != 0:
            raise RuntimeError(repr(r))
        return r.out

    def wait_up(self, limit=60):
        if not until(lambda: self.process.poll() is not None or self("shunt", "status").code == 0, limit) or self.process.poll() is not None:
            raise RuntimeError(f"{self.name} is not up:\n{self.log_text()[-3000:]}")

    def api(self, method, path, body=None):
        """By the local socket, as root: (status, answer); status 0: no answer. From outside the host, where no process has to be started for it."""
        c = http.client.HTTPConnection("shunt")
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.settimeout(20)
        try:
            c.sock.connect(self.home + "/run/shuntd.sock")
            c.request(method, path, None if body is None else json.dumps(body), {} if body is None else {"Content-Type": "application/json"})
            answer = c.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            c.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def nodes(self):
        return {n["name"]: n for n in self.api("GET", "/v1/nodes")[1]["nodes"]}

    def node_state(self, name):
        return self.nodes().get(name, {}).get("state", "gone")

    def sub(self, *args, script="true\n", user="alice", **more):
        r = self("qsub", "-v", "ASAN_OPTIONS=detect_leaks=0", *args, user=user, input=script, **more) # leaks of our commands in jobs: found elsewhere
        if r.code != 0:
            raise RuntimeError(repr(r))
        return r.out.strip()

    def job(self, id):
        status, data = self.api("GET", "/v1/jobs/" + id.replace("[", "%5B").replace("]", "%5D"))
        return data if status == 200 else {"state": "gone", "comment": f"status {status}, {data}"}

    def wait(self, id, states="C", limit=LIMIT):
        j = {}
        def there():
            nonlocal j
            j = self.job(id)
            return j.get("state") in states
        if not until(there, limit, 0.1):
            raise RuntimeError(f"{id} is {j.get('state')}, not {states}: {j.get('comment')}\n{self.world.logs()}")
        return j

    def token(self):
        text = self.root("shunt", "token", "create")
        return token_of(text)[1]


class Agent(Daemon):
    """shunt-agent on a host, joined to a server."""

    def __init__(self, server, host, name=None, env=None, up=True, build=None):
        home = f"{host.base}/agent"
        world = host.world
        super().__init__(host, f"agent@{host.name}", home, [world.program("shunt-agent", build), "--foreground"],
                         {"SHUNT_AGENT_HOME": home, **(env or {})})
        os.chmod(home, 0o755)
        self.server = server
        r = host.join(server, name or host.name, home, env=self.env, build=build)
        if r.code != 0:
            raise RuntimeError(repr(r))
        if up:
            self.start()
            self.wait_up()

    def connections(self):
        return self.log_text().count("connected to ")

    def start(self):
        self.before = self.connections()
        super().start()

    def wait_up(self, limit=30):
        """Connected since its start: for a while the server takes one that was killed for up."""
        if not until(lambda: self.connections() > self.before and re.search("free|busy", self.server.node_state(self.host.name)), limit, 0.1):
            raise RuntimeError(f"{self.name} is {self.server.node_state(self.host.name)}:\n{self.log_text()[-2000:]}")
