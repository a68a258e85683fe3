"""
Those whom nobody wants: a client and an agent that speak TLS and frames (docs/protocol.md) as they like, certificates that nobody should have issued, and
frames that make no sense, made from a seed. A socket of a host's is made in its network, by a process that is outside.

As a program, for what must be done by a user, it says frames to a UNIX socket and prints the answers:

    hostile.py SOCKET '{"t": "task", ...}'...
"""
import ctypes
import json
import os
import random
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import time

LIMIT = 10  # seconds
FRAMES, HTTP = "shunt/1", "http/1.1"
TYPES = ("hello", "ping", "renew", "facts", "started", "ready", "refused", "ended", "lost", "welcome", "sorry", "settings", "certificate", "bye", "order",
         "signal", "forget", "clean", "task", "file", "stream", "dial", "in", "in_end", "window", "data", "end", "failed", "", "nonsense")
KEYS = ("tag", "result", "reason", "pid", "facts", "inventory", "csr", "n", "load", "memory_free", "users", "health", "epoch", "port", "version", "boot", "signal",
        "order", "node", "argv", "env", "id", "what", "state", "retry", "protocol", "name")


# ---- sockets ----

def in_network(host, function):
    """Calls it in a host's network."""
    libc = ctypes.CDLL(None, use_errno=True)
    before, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/proc/{host.pid}/ns/net", os.O_RDONLY)
    try:
        if libc.setns(there, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        return function()
    finally:
        libc.setns(before, 0x40000000)
        os.close(before)
        os.close(there)


def tcp(host, to, port):
    """A connection from a host to another, by its name."""
    def connect():
        return socket.create_connection((host.world.hosts[to].address, port), LIMIT)
    return in_network(host, connect)


def listen(host, port):
    def bind():
        s = socket.create_server(("", port), reuse_port=True)
        s.settimeout(LIMIT)
        return s
    return in_network(host, bind)


def context(server=False, cert=None, key=None, ca=None, version=ssl.TLSVersion.TLSv1_3, alpn=FRAMES):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    c.minimum_version = c.maximum_version = version
    if cert:
        c.load_cert_chain(cert, key)
    if ca:
        c.load_verify_locations(ca)
    if alpn:
        c.set_alpn_protocols([alpn])
    return c


def is_closed(s):
    """Whether the other side hangs up, whatever it says before."""
    try:
        while s.recv(65536):
            pass
    except socket.timeout:
        return False
    except OSError:
        pass
    return True


class Wire:
    """Frames over TLS, or over whatever socket is given."""

    def __init__(self, s):
        self.s, self.rest = s, b""

    @classmethod
    def open(cls, host, to, port, **more):
        """Raises OSError (ssl.SSLError is one) where it is refused in the handshake; with TLS 1.3 that may be later."""
        s = tcp(host, to, port)
        try:
            return cls(context(**more).wrap_socket(s))
        except BaseException:
            s.close()
            raise

    def send(self, head, data=b""):
        text = head if isinstance(head, bytes) else json.dumps(head).encode()
        self.s.sendall(struct.pack(">II", 4 + len(text) + len(data), len(text)) + text + data)

    def receive(self):
        """A head; None: it was closed."""
        try:
            while True:
                if len(self.rest) >= 4:
                    n = struct.unpack(">I", self.rest[:4])[0]
                    if len(self.rest) >= 4 + n:
                        head = self.rest[8:8 + struct.unpack(">I", self.rest[4:8])[0]]
                        self.rest = self.rest[4 + n:]
                        return json.loads(head)
                part = self.s.recv(65536)
                if not part:
                    return None
                self.rest += part
        except socket.timeout:
            return {"t": "silence"}
        except OSError:
            return None

    def until(self, *types):
        """The next frame of one of these types; None: it was closed."""
        while True:
            head = self.receive()
            if head is None or head.get("t") in types + ("silence",):
                return head

    def ask(self, head, *types):
        try:
            self.send(head)
        except OSError:
            return None
        return self.until(*types)

    def close(self):
        self.s.close()


def refusal(host, to, port, first={"t": "hello"}, **more):
    """True if such a caller is shut out, in the handshake or before an answer to its message."""
    try:
        w = Wire.open(host, to, port, **more)
    except OSError:
        return True
    try:
        return w.ask(first, "welcome", "sorry", "started", "refused") is None
    finally:
        w.close()


# ---- certificates ----

def openssl(*args, input=None):
    return subprocess.run(["openssl", *args], check=True, capture_output=True, text=True, timeout=20, input=input).stdout


def names_of(cert):
    """The role in it: "shunt:node:n1:3"."""
    text = openssl("x509", "-in", cert, "-noout", "-ext", "subjectAltName")
    return [w[4:] for w in text.replace(",", " ").split() if w.startswith("URI:shunt:")][0]


def authority(folder, name):
    """One of our own, with that name: (key, certificate)."""
    key, cert = f"{folder}/own-ca.key", f"{folder}/own-ca.crt"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=" + name, "-days", "9",
            "-addext", "basicConstraints=critical,CA:TRUE")
    return key, cert


def real_authority(folder, server):
    """The server's own, taken from its store."""
    db = sqlite3.connect(f"file:{server.home}/state/shunt.db?mode=ro", uri=True)
    own = next(json.loads(v) for row in db.execute("select * from object") for v in row if isinstance(v, str) and '"key"' in v and "PRIVATE KEY" in v)
    db.close()
    for n in ("key", "cert"):
        with open(f"{folder}/real.{n}", "w") as f:
            f.write(own[n])
    return folder + "/real.key", folder + "/real.cert"


def brief(folder, file, ca, role, seconds):
    """A certificate like those of issue() that expires after that many seconds; below 0: it has expired."""
    files = issue(folder, file, ca, role)
    conf = f"{folder}/{file}.conf"
    with open(conf, "w") as f:
        f.write(f"[ca]\ndefault_ca=x\n[x]\ndatabase={folder}/{file}.index\nnew_certs_dir={folder}\nserial={folder}/{file}.serial\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n")
    open(f"{folder}/{file}.index", "w").close()
    with open(f"{folder}/{file}.serial", "w") as f:
        f.write(f"{random.getrandbits(60):016X}\n")
    moment = [time.strftime("%y%m%d%H%M%SZ", time.gmtime(time.time() + s)) for s in (-60, seconds)]
    openssl("ca", "-batch", "-notext", "-config", conf, "-cert", ca[1], "-keyfile", ca[0], "-in", f"{folder}/{file}.csr", "-extfile", f"{folder}/{file}.ext",
            "-startdate", moment[0], "-enddate", moment[1], "-out", files["cert"])
    return files


def issue(folder, file, ca, role):
    """A certificate by (key, certificate) of an authority."""
    key, cert, csr, ext = (f"{folder}/{file}.{x}" for x in ("key", "crt", "csr", "ext"))
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", csr, "-subj", "/CN=x")
    with open(ext, "w") as f:
        f.write(f"basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=URI:{role}\n")
    openssl("x509", "-req", "-in", csr, "-CA", ca[1], "-CAkey", ca[0], "-days", "9", "-extfile", ext, "-out", cert, "-set_serial", str(random.getrandbits(60)))
    return {"cert": cert, "key": key}


def request(folder):
    """The text of a request for a certificate, and its key."""
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder + "/r.key", "-out", folder + "/r.csr", "-subj",
            "/CN=n1", "-addext", "subjectAltName=URI:shunt:server:x")
    return open(folder + "/r.csr").read()


# ---- frames that make no sense ----

def value(r, depth=0):
    """Of any type, often at an edge."""
    kind = r.randrange(12 if depth < 3 else 9)
    if kind == 0:
        return r.choice((None, True, False))
    if kind < 4:
        return r.choice((0, 1, -1, 2**31, -2**31, 2**32, 2**63 - 1, -2**63, 65535, 65536, r.randrange(1000)))
    if kind == 4:
        return r.choice((0.5, -1e300, 1e-300, 1e308))
    if kind < 9:
        return r.choice(("", ".", "..", "/", "../../etc/passwd", "1.1", "2.1", "3.1", "\n\x1b[2J", "x" * r.randrange(5000), "%s%n", "\u202e\ufffe", "@STATE@/live"))
    if kind < 11:
        return [value(r, depth + 1) for _ in range(r.randrange(5))]
    return {r.choice(KEYS): value(r, depth + 1) for _ in range(r.randrange(5))}


def nonsense(r, tags, types=TYPES):
    """A frame's head: mostly of the right form, with values of wrong types; with the tags of jobs that run."""
    head = {"t": r.choice(types) if r.random() < 0.97 else value(r)}
    for key in r.sample(KEYS, r.randrange(6)):
        head[key] = value(r)
    if r.random() < 0.5:
        head["tag"] = r.choice(tags)
    if head["t"] in ("ended", "hello") and r.random() < 0.7:
        result = {"tag": r.choice(tags), "how": r.choice(("exited", "signaled", "not_started", 7)), "status": value(r), "cpu_ms": value(r), "memory_kib": value(r),
                  "started_us": value(r), "ended_us": value(r), "reason": value(r), "cause": value(r)}
        head["result"] = {k: v for k, v in result.items() if r.random() < 0.9}
        head["inventory"] = [{"tag": r.choice(tags), "state": r.choice(("runs", "ended", "lost", "ready", 3)), "result": result} for _ in range(r.randrange(4))]
    return head


def encoded(head, data=b""):
    text = json.dumps(head).encode()
    return struct.pack(">II", 4 + len(text) + len(data), len(text)) + text + data


def mutated(r, tags):
    """A frame's bytes: one like nonsense(), in which a few bytes are others, there twice, or gone; mostly inside the head, whose length stays right."""
    whole = bytearray(encoded(nonsense(r, tags)))
    begin = 8 if r.random() < 0.8 else 0
    for _ in range(r.randrange(4)):
        at = r.randrange(begin, len(whole))
        how = r.randrange(4)
        if how == 0:
            whole[at] ^= 1 << r.randrange(8)
        elif how == 1:
            whole[at] = r.choice(b'{}[]":,\\\0\n\xff0-9eu')
        elif how == 2:
            end = min(len(whole), at + r.randrange(1, 40))
            whole[at:at] = whole[at:end]
        else:
            del whole[at:min(len(whole), at + r.randrange(1, 8))]
        if len(whole) <= 8:
            break
    if begin == 8:
        whole[:8] = struct.pack(">II", len(whole) - 4, len(whole) - 8)
    return bytes(whole)


def main():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(LIMIT)
    s.connect(sys.argv[1])
    w = Wire(s)
    for text in sys.argv[2:]:
        w.send(text.encode())
    while (head := w.receive()) and head["t"] != "silence":
        print(json.dumps(head))


if __name__ == "__main__":
    main()
