"""A server that knows no more than an older release: a relay before today's server. It refuses what the description of that release (tests/fixtures/api) does not
have, and leaves out of the answers what that release did not tell."""
import gzip
import http.client
import json
import os
import re
import socket
import threading
import urllib.parse

import lib
from openapi import Description, schema_in

API = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "api")


def description(release):
    with gzip.open("%s/%s.json.gz" % (API, release), "rt") as f:
        return Description(json.load(f))


class Refused(Exception):
    """Its arguments: status, code, message."""


class Older:
    """Takes the place of a server's socket until close(). `requests` has what was asked, `refused` what the older release does not know."""

    def __init__(self, i, release):
        self.d, self.i, self.path = description(release), i, i.home + "/run/shuntd.sock"
        self.job = set(self.d.get({"$ref": "#/components/schemas/Job"})["properties"])
        self.requests, self.refused = [], []
        os.rename(self.path, self.path + ".real")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        os.rename(self.path + ".real", self.path)
        self.listener.close()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rb") as f:
            first = f.readline().decode().split()
            headers = http.client.parse_headers(f)
            if len(first) != 3:
                return
            body = f.read(int(headers.get("Content-Length", 0)))
            self.requests.append((first[0], first[1]))
            try:
                op = self.check(first[0], first[1], body)
                status, kind, data = self.ask(first[0], first[1], headers, body, op)
            except Refused as e:
                self.refused.append((first[0], first[1], e.args[2]))
                status, kind, data = e.args[0], "application/json", json.dumps({"error": {"code": e.args[1], "message": e.args[2]}}).encode()
            client.sendall(b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, kind.encode(), len(data)) + data)

    def check(self, method, target, body):
        """Raises Refused for what the release does not know; returns its operation."""
        path, _, query = target.partition("?")
        try:
            op = self.d.operation(method, target)
        except IndexError:
            raise Refused(404, "not_found", "There is no %s." % path)
        shared = next(parameters for m, p, o, parameters in self.d.operations if o is op)
        known = {p["name"]: p for p in map(self.d.get, shared) if p["in"] == "query"}
        for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
            if name not in known:
                raise Refused(400, "bad_request", "%s: there is no such parameter" % name)
            unknown = [x for x in value.split(",") if x not in self.job] if name == "fields" and path == "/v1/jobs" else []
            if unknown:
                raise Refused(400, "bad_request", 'fields: a job has no "%s"' % unknown[0])
        if body and "requestBody" in op and is_json(body):
            unknown = list(self.unknown(schema_in(self.d.get(op["requestBody"])), json.loads(body), ""))
            if unknown:
                raise Refused(400, "bad_request", "%s: there is no such member" % unknown[0])
        return op

    def unknown(self, schema, value, at):
        """Members of a value that the schema does not have."""
        s = self.d.get(schema)
        if "oneOf" in s:
            tries = [list(self.unknown(one, value, at)) for one in s["oneOf"]]
            yield from min(tries, key=len)
        elif isinstance(value, list):
            for x in value:
                yield from self.unknown(s.get("items", {}), x, at + "[]")
        elif isinstance(value, dict) and "properties" in s:
            for k, x in value.items():
                if k in s["properties"]:
                    yield from self.unknown(s["properties"][k], x, at + "." + k)
                elif not s.get("additionalProperties"):
                    yield (at + "." + k)[1:]

    def ask(self, method, target, headers, body, op):
        c = lib.Unix(self.path + ".real")
        c.request(method, target, body or None, {k: v for k, v in headers.items() if k not in ("Host", "Connection", "Content-Length")})
        r = c.getresponse()
        data, kind = r.read(), r.getheader("Content-Type") or "text/plain"
        c.close()
        schema = schema_in(self.d.get(op["responses"].get(str(r.status), {})))
        if kind.startswith("application/json") and schema and data:
            data = json.dumps(self.known(schema, json.loads(data))).encode()
        return r.status, kind, data

    def known(self, schema, value):
        """An answer without what the release did not tell."""
        s = self.d.get(schema)
        if "oneOf" in s:
            return max((self.known(one, value) for one in s["oneOf"]), key=lambda x: len(json.dumps(x)))
        if isinstance(value, list):
            return [self.known(s.get("items", {}), x) for x in value]
        if isinstance(value, dict) and "properties" in s and not s.get("additionalProperties"):
            return {k: self.known(s["properties"][k], x) for k, x in value.items() if k in s["properties"]}
        return value


def is_json(body):
    return re.match(rb"\s*[\[{]", body)
