"""A PostgreSQL at the switch of a World: every host reaches it, and no fault touches it."""
import glob
import os
import pwd
import signal
import subprocess

from hosts import sh, until

PORT = 5544


def missing():
    """Returns why there is no database here; an empty text if there can be one."""
    if not glob.glob("/usr/lib/postgresql/*/bin/initdb"):
        return "PostgreSQL is not installed"
    return "" if any(p.pw_name == "postgres" for p in pwd.getpwall()) else "there is no account postgres"


class Postgres:
    def __init__(self, world):
        self.dir = f"{world.base}/postgres"
        account = pwd.getpwnam("postgres")
        os.mkdir(self.dir)
        os.chown(self.dir, account.pw_uid, account.pw_gid)
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        who = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        sh(*who, f"{programs}/initdb", "-D", f"{self.dir}/data", "-A", "trust", "-U", "shunt", "-E", "UTF8", "--locale=C", "-N")
        with open(f"{self.dir}/data/pg_hba.conf", "a") as f:
            f.write("host all all 10.99.0.0/24 trust\n")
        self.args = ["nsenter", f"--net=/proc/{world.switch.pid}/ns/net", *who, f"{programs}/postgres", "-D", f"{self.dir}/data", "-k",
                     self.dir, "-p", str(PORT), "-c", "listen_addresses=10.99.0.254"]
        self.url = f"postgres://shunt@10.99.0.254:{PORT}/postgres"
        self.start()

    def start(self):
        log = f"{self.dir}/log"
        with open(log, "wb") as f:
            self.process = subprocess.Popen(self.args, stdout=f, stderr=subprocess.STDOUT)
        if not until(lambda: "ready to accept" in open(log).read(), 60):
            raise RuntimeError(open(log).read())

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
