"""Two hosts by a real sshd, on a port of its own with keys of its own. Both are this host."""
from lib import *

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
CONF = """
ListenAddress 127.0.0.1:{port}
HostKey {d}/host
AuthorizedKeysFile {d}/authorized
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
CLIENT = """
Host shut
    IdentityFile {d}/host
Host n1 n2
    IdentityFile {d}/mine
Host *
    HostName 127.0.0.1
    Port {port}
    User {user}
    HostKeyAlias here
    IdentitiesOnly yes
    UserKnownHostsFile {d}/known
    StrictHostKeyChecking yes
"""


class Hosts:
    """n1 and n2, which are this host; shut lets nobody in."""

    def __init__(self, i=None):
        self.i = i = i or Instance(up=False)
        self.d = i.root + "/ssh"
        os.makedirs(self.d)
        os.makedirs(i.path("commands"), exist_ok=True)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        with socket.socket() as x:
            x.bind(("127.0.0.1", 0))
            port = x.getsockname()[1]
        for key in ("host", "mine"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "%s/%s" % (self.d, key)], check=True)
        self.put("authorized", open(self.d + "/mine.pub").read())
        self.put("known", "here " + open(self.d + "/host.pub").read())
        self.put("sshd.conf", CONF.format(port=port, d=self.d))
        self.put("client.conf", CLIENT.format(port=port, d=self.d, user=ME))
        i.write("commands/ssh", '#!/bin/sh\nexec %s -F %s/client.conf "$@"\n' % (shutil.which("ssh"), self.d), 0o755)
        i.env["PATH"] = i.path("commands") + ":" + i.env["PATH"]
        i.env["SHUNT_BAG_PACE"] = "1"
        self.sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", self.d + "/sshd.conf"], stdin=subprocess.DEVNULL, stderr=open(self.d + "/log", "w"), env=i.env)
        if not until(lambda: i("ssh", "n1", "true").code == 0):
            raise RuntimeError("sshd: " + open(self.d + "/log").read()[-1000:])

    def put(self, name, text):
        with open("%s/%s" % (self.d, name), "w") as f:
            f.write(text)
        os.chmod("%s/%s" % (self.d, name), 0o600)

    def stop(self):
        self.sshd.terminate()
        self.sshd.wait()
        self.i.stop()


def installed():
    return os.path.exists(SSHD) and shutil.which("ssh-keygen")
