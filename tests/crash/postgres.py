"""A PostgreSQL of our own, which ends with us."""
import atexit
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from instance import Instance


class Postgres:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="shunt-crash-postgres-")
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        who = []
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.dir, account.pw_uid, account.pw_gid)
            who = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", "--pdeathsig=INT"]
        subprocess.run([*who, f"{programs}/initdb", "-D", f"{self.dir}/data", "-A", "trust", "-U", "shunt", "-E", "UTF8", "--locale=C", "-N"],
                       check=True, stdout=subprocess.DEVNULL)
        atexit.register(self.remove)
        Instance.open.add(self)  # when we are told to end
        with open(f"{self.dir}/log", "wb") as log:
            self.process = subprocess.Popen([*who, f"{programs}/postgres", "-D", f"{self.dir}/data", "-k", self.dir, "-c", "listen_addresses="],
                                            stdout=log, stderr=log, start_new_session=True)
        self.url = f"postgres:///postgres?host={self.dir}&user=shunt"
        until = time.monotonic() + 60
        while "ready to accept" not in open(f"{self.dir}/log").read():
            assert time.monotonic() < until and self.process.poll() is None, open(f"{self.dir}/log").read()
            time.sleep(0.1)

    def remove(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(20)
        shutil.rmtree(self.dir, ignore_errors=True)
