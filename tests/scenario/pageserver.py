"""A system's server with a page: its certificate, and what PAM says of passwords."""
import atexit
import os
import re
import shutil
import subprocess

from lib import Instance, server, user_remove

# What PAM is asked here: every account has the password "right"; "crash" kills the caller; "slow" takes until there is a file "go", "hang" until "hanging" is gone.
PAM = """auth [success=1 default=ignore] pam_exec.so expose_authtok quiet %s
auth requisite pam_deny.so
auth required pam_permit.so
account required pam_permit.so
"""
PASSWORD = """#!/bin/sh
read -r password
case "$PAM_USER $password" in
*" right") exit 0 ;;
*crash) kill -9 $PPID ;;
*slow) : >ROOT/asked; while [ ! -e ROOT/go ]; do sleep 0.1; done; exit 0 ;;
*hang) trap '' TERM ALRM HUP; while [ -e ROOT/hanging ]; do sleep 0.2; done ;;
esac
exit 1
"""


def system_files(root):
    """A certificate for this machine, and a service of PAM."""
    os.mkdir(root + "/pam")
    with open(root + "/password", "w") as f:
        f.write(PASSWORD.replace("ROOT", root))
    os.chmod(root + "/password", 0o755)
    with open(root + "/pam/shunt", "w") as f:
        f.write(PAM % (root + "/password"))
    system_certificate(root)


def system_certificate(root):
    """A new one each time."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", root + "/key.pem", "-out", root + "/cert.pem"], check=True, capture_output=True)
    shutil.chown(root + "/key.pem", "daemon")


def system_start(more=""):
    """more: text behind the configuration."""
    i = Instance("4x8", system=True, up=False)
    system_files(i.root)
    with open(i.home + "/shunt.conf", "w") as f:
        f.write("account = daemon\n[cluster]\nlisten = 127.0.0.1:0\n[page]\nlisten = 127.0.0.1:0\ncertificate = %s/cert.pem\nkey = %s/key.pem\n%s" % (i.root, i.root, more))
    i.env["SHUNT_PAM_DIR"] = i.root + "/pam"
    i.env["SHUNT_PAM_SECONDS"] = "30"
    i.start()
    return i


def system_port(i):
    return int(re.findall(r"page: port (\d+)", open(i.home + "/log").read())[-1])


def user_make(i):
    """An account with a home of its own, removed in the end."""
    name = "pg%d" % (os.getpid() % 100000)
    atexit.register(user_remove, name)
    home = i.root + "/users/" + name
    os.makedirs(home)
    subprocess.run(["useradd", "-M", "-d", home, "-s", "/bin/sh", "-U", name], check=True, capture_output=True)
    shutil.chown(home, name, name)
    os.chmod(home, 0o700)
    return name, home


def system_possible():
    """Returns true if a system's server with a page can be started here: this build has a page, and its program for passwords."""
    built = os.path.dirname(server)
    with open(built + "/../../page/page_files.c") as f:
        page = "npage_files = 0;" not in f.read()
    return page and os.geteuid() == 0 and shutil.which("openssl") and os.path.exists(built + "/shunt-signin")
