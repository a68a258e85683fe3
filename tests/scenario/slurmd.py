"""A real Slurm cluster on this machine, in a directory of its own: munged, slurmctld and some slurmd, on loopback. Needs root, and Debian's slurm-wlm and munge."""
from lib import *

CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={control}
AuthType=auth/munge
AuthInfo=socket={d}/munge.sock
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldPidFile={d}/slurmctld.pid
SlurmdPidFile={d}/slurmd-%n.pid
SlurmdSpoolDir={d}/spool-%n
StateSaveLocation={d}/state
SlurmctldLogFile={d}/slurmctld.log
SlurmdLogFile={d}/slurmd-%n.log
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def installed():
    """Or a reason not to run."""
    if os.geteuid() != 0:
        return "it needs root"
    for p in ("munged", "slurmctld", "slurmd", "sbatch"):
        if not shutil.which(p):
            return "%s is not installed" % p
    return None


def ports(n):
    """The first of n free ports in a row."""
    for first in range(20000 + os.getpid() % 8000, 32000, n):
        sockets = [socket.socket() for _ in range(n)]
        try:
            for k, s in enumerate(sockets):
                s.bind(("127.0.0.1", first + k))
            return first
        except OSError:
            continue
        finally:
            for s in sockets:
                s.close()
    raise RuntimeError("no free ports")


class Slurm:
    """Its commands work with the environment of `i`."""

    def __init__(self, i, nodes, cpus):
        self.i, self.d, self.children = i, i.root + "/slurm", []
        os.makedirs(self.d + "/state")
        os.chmod(self.d, 0o755)
        first = ports(nodes + 1)
        with open(self.d + "/slurm.conf", "w") as f:
            f.write(CONF.format(host=HOST, d=self.d, control=first, first=first + 1, last=first + nodes, nodes=nodes, cpus=cpus))
        i.env["SLURM_CONF"] = self.d + "/slurm.conf"
        with open(self.d + "/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(self.d + "/munge.key", 0o600)
        self.begin("munged", "--force", "--foreground", "--key-file=%s/munge.key" % self.d, "--socket=%s/munge.sock" % self.d, "--pid-file=%s/munge.pid" % self.d,
            "--log-file=%s/munge.log" % self.d, "--seed-file=%s/munge.seed" % self.d)
        if not until(lambda: os.path.exists(self.d + "/munge.sock")):
            raise RuntimeError("munged does not start")
        self.begin("slurmctld", "-D")
        if not until(lambda: " UP" in i("scontrol", "ping").out):
            raise RuntimeError("slurmctld does not start: " + open(self.d + "/slurmctld.log").read()[-1000:])
        for k in range(1, nodes + 1):
            self.begin("slurmd", "-D", "-N", "n%d" % k)
        if not until(lambda: i("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").out.count("\n") == nodes):
            raise RuntimeError("not all nodes are idle: %r" % i("sinfo"))

    def begin(self, *args):
        with open("%s/%s.out" % (self.d, args[-1] if args[0] == "slurmd" else args[0]), "w") as out:
            self.children.append(subprocess.Popen(args, env=self.i.env, cwd=self.d, stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def jobs(self):
        """Ids of those that wait or run."""
        return self.i("squeue", "-h", "-t", "PD,R,CF", "-o", "%i").out.split()

    def stop(self):
        self.i("scancel", "--user=root")
        until(lambda: not self.i("squeue", "-h", "-o", "%i").out.strip(), 30)
        for p in reversed(self.children):
            p.terminate()
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
