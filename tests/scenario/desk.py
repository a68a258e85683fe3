"""A workstation for scenarios: a server, and a real agent on this machine whose input devices and terminals are files of its own."""
import ctypes
import fcntl
import struct

from lib import *

def groups_possible(folder):
    """Returns true if control groups can be made there: a container may show them without letting anybody make one."""
    probe = "%s/shunt-probe-%d" % (folder, os.getpid())
    try:
        os.mkdir(probe)
        os.rmdir(probe)
        return True
    except OSError:
        return False


BEST = "none"  # the best way to stop jobs here
if os.geteuid() == 0 and groups_possible("/sys/fs/cgroup/freezer"):
    BEST = "v1"
# of version 2 a server takes those below its own group, which are only its own if that is the root
if os.geteuid() == 0 and os.path.exists("/sys/fs/cgroup/cgroup.controllers") and groups_possible("/sys/fs/cgroup") and "0::/\n" in open("/proc/self/cgroup"):
    BEST = "v2"
POLICY = "idle; pressure=no; quiet=%s; return=%s"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Keyboard:
    """One that the kernel has, by uinput."""

    def __init__(self):
        self.fd = os.open("/dev/uinput", os.O_WRONLY | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, 0x40045564, 1)   # UI_SET_EVBIT, EV_KEY
        fcntl.ioctl(self.fd, 0x40045565, 30)  # UI_SET_KEYBIT, KEY_A
        fcntl.ioctl(self.fd, 0x405C5503, struct.pack("HHHH80sI", 3, 1, 1, 1, b"a keyboard", 0))  # UI_DEV_SETUP
        fcntl.ioctl(self.fd, 0x5501)          # UI_DEV_CREATE

    def key(self):
        for e in ((1, 30, 1), (0, 0, 0), (1, 30, 0), (0, 0, 0)):
            os.write(self.fd, struct.pack("llHHi", 0, 0, *e))


def booted(ago):
    """Moves this process into a time namespace whose boot was `ago` seconds ago."""
    offset = ago - int(time.clock_gettime(time.CLOCK_BOOTTIME))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x80) != 0:  # CLONE_NEWTIME: for children; this process follows by setns()
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with open("/proc/self/timens_offsets", "w") as f:
        f.write("monotonic %d 0\nboottime %d 0\n" % (offset, offset))
    fd = os.open("/proc/self/ns/time_for_children", os.O_RDONLY)
    if libc.setns(fd, 0x80) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.close(fd)


def can_boot():
    try:
        return subprocess.run(["true"], preexec_fn=lambda: booted(60)).returncode == 0
    except subprocess.SubprocessError:
        return False


class Desk(Instance):
    """A server, and an agent on a machine that somebody works at. `boot`: seconds since the agent's machine was booted, as it sees it."""

    def __init__(self, quiet="1h", back="1h", cgroup="none", real=False, policy=None, env=None, boot=None):
        self.port, self.agent, self.keyboard, self.boot = free_port(), None, -1, boot
        Instance.__init__(self, nodes="none", conf="[cluster]\nlisten = 127.0.0.1:%d\naddress = 127.0.0.1:%d\nheartbeat = 1s\n[run]\n"
            "cgroup = %s\n" % (self.port, self.port, cgroup))
        self.token = self.api("POST", "/v1/tokens", {"kind": "join", "expires": 3600})[1]["token"]
        self.desk = self.root + "/desk"
        self.dev = self.root + "/dev"
        for d in ("/input", "/pts"):
            os.makedirs(self.dev + d)
        os.mkfifo(self.dev + "/input/event0")
        self.keyboard = os.open(self.dev + "/input/event0", os.O_RDWR | os.O_NONBLOCK)
        self.env.update(SHUNT_AGENT_HOME=self.desk, **({} if real else {"SHUNT_OWNER_DEV": self.dev}), **(env or {}))
        self.program = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[1]))) + "/agent/shunt-agent"
        r = self(self.program, "--join", "127.0.0.1:%d" % self.port, self.token, "--name", "desk", "--port", "0", "--no-start", "--workstation",
            policy or POLICY % (quiet, back))
        if r.code:
            raise RuntimeError("the agent can't join: %r" % r)
        self.agent_start()

    def agent_start(self):
        self.log = open(self.root + "/agent.log", "a")
        self.agent = subprocess.Popen([self.program, "--foreground"], env=self.env, stdout=self.log, stderr=self.log, cwd=self.root,
            preexec_fn=self.boot and (lambda: booted(self.boot)))
        holds("the node is there", until(self.is_up), self.node())

    def is_up(self):
        try:
            return self.owner()["connected"] and not re.search("down|joining", self.node()["state"])
        except OSError:
            return False

    def agent_end(self, sig=signal.SIGTERM):
        self.agent.send_signal(sig)
        self.agent.wait()

    def door(self):
        """A connection to the agent's socket for owners, that says nothing."""
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.desk + "/run/owner.sock")
        return s

    def node(self):
        return self.api("GET", "/v1/nodes/desk")[1]

    def key(self):
        os.write(self.keyboard, struct.pack("llHHi", 0, 0, 1, 30, 1))

    def counting(self):
        """A job whose programs count in a file each; true as long as they do."""
        job = self.sub("-l", "nodes=1:ppn=1,walltime=1:00:00", script="for i in 1 2; do (n=0; while :; do n=$((n+1)); echo $n >c$i; sleep 0.05; done) & done\nwait\n")
        holds("it runs", self.counts(), self.job(job))
        return job

    def counters(self):
        try:
            return [int(self.read("c%d" % i) or 0) for i in (1, 2)]
        except (OSError, ValueError):
            return [0, 0]

    def counts(self):
        """All of them continue: at some time, since on a busy machine they come last."""
        before = self.counters()
        return until(lambda: all(b > a for a, b in zip(before, self.counters())))

    def stands(self):
        """None of them did."""
        before = self.counters()
        time.sleep(0.3)
        return before == self.counters()

    def owner(self, *args):
        """What the agent answers to 'shunt owner', without the command."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(LIMIT)
            s.connect(self.desk + "/run/owner.sock")
            s.sendall((" ".join(args) or "show").encode() + b"\n")
            text = b""
            while part := s.recv(65536):
                text += part
        return json.loads(text)

    def stop(self):
        self("qdel", "all")
        until(lambda: not [j for j in self.api("GET", "/v1/jobs")[1]["jobs"] if j["state"] != "C"])
        if self.agent:
            self.agent_end()
            os.close(self.keyboard)
        text = open(self.root + "/agent.log", errors="replace").read()
        holds("the agent's log has no fault", not re.search("runtime error|Sanitizer|ssertion", text), text[-4000:])
        Instance.stop(self)
