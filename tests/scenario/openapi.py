"""The API's own description (GET /openapi.json), and answers held against it."""
import re


class Bad(Exception):
    """An answer that it must not give."""


class Description:
    def __init__(self, document):
        self.document = document
        self.seen = set()  # ids of the schemas of members that answers had
        self.merged = {}  # by id: schemas whose allOf was merged
        self.operations = [(method.upper(), path, op, item.get("parameters", []) + op.get("parameters", []))
            for path, item in document["paths"].items() for method, op in item.items() if method in ("get", "put", "post", "patch", "delete")]

    def target(self, reference):
        at = self.document
        for part in reference[2:].split("/"):
            at = at[part]
        return at

    def get(self, schema):
        """A schema without references, its allOf merged."""
        while "$ref" in schema:
            schema = self.target(schema["$ref"])
        if "allOf" in schema and id(schema) not in self.merged:
            merged = self.merged[id(schema)] = {"type": "object", "properties": {}, "required": []}
            for part in map(self.get, schema["allOf"]):
                merged["properties"].update(part.get("properties", {}))
                merged["required"] += part.get("required", [])
        return self.merged.get(id(schema), schema)

    # ---- itself ----

    def references(self, value):
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            value = list(value.values())
        for inner in value if isinstance(value, list) else []:
            yield from self.references(inner)

    def problems(self):
        """What nothing else would notice."""
        for reference in sorted(set(self.references(self.document))):
            try:
                self.target(reference)
            except (KeyError, TypeError):
                yield reference + " leads nowhere"
        names = set()
        for method, path, op, parameters in self.operations:
            declared = {p["name"] for p in map(self.get, parameters) if p["in"] == "path"}
            if declared != {part[1:-1] for part in path.split("/") if part.startswith("{")}:
                yield "%s: its parts are not those declared, %s" % (path, sorted(declared))
            if op["operationId"] in names:
                yield "two operations %s" % op["operationId"]
            names.add(op["operationId"])

    # ---- answers ----

    def check(self, schema, value, at="answer"):
        s = self.get(schema)
        if value is None:
            if s.get("nullable") or not s.get("type") and not s.get("oneOf"):
                return
            raise Bad("%s is null" % at)
        if "oneOf" in s:
            problems = []
            for one in s["oneOf"]:
                try:
                    return self.check(one, value, at)
                except Bad as e:
                    problems.append(str(e))
            raise Bad("%s fits none: %s" % (at, "; ".join(problems)))
        kind = s.get("type")
        good = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}.get(kind, object)
        if not isinstance(value, good) or (isinstance(value, bool) and kind not in ("boolean", None)):
            raise Bad("%s is %r, not %s" % (at, value, kind))
        if "enum" in s and value not in s["enum"]:
            raise Bad("%s is %r, not one of %s" % (at, value, s["enum"]))
        if kind == "array":
            for k, x in enumerate(value):
                self.check(s.get("items", {}), x, "%s[%d]" % (at, k))
        if kind == "object":
            self.check_object(s, value, at)

    def check_object(self, s, value, at):
        properties, more = s.get("properties"), s.get("additionalProperties", None)
        for key in s.get("required", []):
            if key not in value:
                raise Bad("%s lacks %s" % (at, key))
        for key, x in value.items():
            if properties and key in properties:
                self.seen.add(id(properties[key]))
                self.check(properties[key], x, "%s.%s" % (at, key))
            elif isinstance(more, dict):
                self.check(more, x, "%s.%s" % (at, key))
            elif more is None:
                raise Bad("%s.%s is not documented" % (at, key))

    def operation(self, method, target):
        """The one that a request is for."""
        path = target.split("?")[0]
        found = [op for m, p, op, _ in self.operations if m == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", p), path)]
        named = [op for op in found if any(p == path and m == method and o is op for m, p, o, _ in self.operations)]
        return (named or found)[0]

    def unseen(self, schema, at=""):
        """Members of an answer that are documented, and that no answer had yet."""
        s = self.get(schema)
        for one in s.get("oneOf", []):
            yield from self.unseen(one, at)
        if s.get("type") == "array":
            yield from self.unseen(s.get("items", {}), at + "[]")
        for key, inner in s.get("properties", {}).items():
            if id(inner) not in self.seen:
                yield at + "." + key
            else:
                yield from self.unseen(inner, at + "." + key)

    # ---- an older version ----

    def lost(self, older):
        """What a client of the older version would miss: operations, parameters, statuses and members that are gone, values that are refused now."""
        there = {(m, p): (op, parameters) for m, p, op, parameters in self.operations}
        for m, p, op, parameters in older.operations:
            at = "%s %s" % (m, p)
            if (m, p) not in there:
                yield at + " is gone"
                continue
            now, new = ({(x["in"], x["name"]): x for x in map(d.get, ps)} for d, ps in ((older, parameters), (self, there[m, p][1])))
            for key, x in new.items():
                if x.get("required") and not now.get(key, {}).get("required"):
                    yield "%s: parameter %s is required now" % (at, key[1])
            for key, x in now.items():
                if key in new:
                    yield from self.narrowed(older, x["schema"], new[key]["schema"], "%s?%s" % (at, key[1]))
                else:
                    yield "%s: parameter %s is gone" % (at, key[1])
            bodies = [schema_in(d.get(o["requestBody"])) if "requestBody" in o else None for d, o in ((older, op), (self, there[m, p][0]))]
            if bodies[0]:
                yield from self.narrowed(older, bodies[0], bodies[1] or {}, at + " body") if bodies[1] else [at + " takes no body"]
            for code, answer in op["responses"].items():
                if code not in there[m, p][0]["responses"]:
                    yield "%s no longer answers %s" % (at, code)
                elif schema_in(older.get(answer)):
                    yield from self.changed(older, schema_in(older.get(answer)), schema_in(self.get(there[m, p][0]["responses"][code])) or {}, "%s %s" % (at, code))

    def pairs(self, older, a, b, at, compare, seen):
        """Compares the parts of two schemas of the same type."""
        for k, x in a.get("properties", {}).items():
            if k in b.get("properties", {}):
                yield from compare(older, x, b["properties"][k], at + "." + k, seen)
            elif not isinstance(b.get("additionalProperties"), dict):
                yield "%s.%s is gone" % (at, k)
        if a.get("type") == "array":
            yield from compare(older, a.get("items", {}), b.get("items", {}), at + "[]", seen)
        if all(isinstance(x.get("additionalProperties"), dict) for x in (a, b)):
            yield from compare(older, a["additionalProperties"], b["additionalProperties"], at + ".*", seen)

    def narrowed(self, older, was, now, at, seen=frozenset()):
        """What could be sent as `was` and can't be as `now`."""
        a, b = older.get(was), self.get(now)
        if (id(a), id(b)) in seen or not b:
            return
        seen |= {(id(a), id(b))}
        if "oneOf" in a or "oneOf" in b:
            for one in a.get("oneOf", [a]):
                tries = [list(self.narrowed(older, one, other, at, seen)) for other in b.get("oneOf", [b])]
                if all(tries):
                    yield min(tries, key=len)[0]
            return
        if b.get("type") and a.get("type") != b["type"] and (a.get("type"), b["type"]) != ("integer", "number"):
            yield "%s was %s, is %s" % (at, a.get("type"), b["type"])
            return
        if "enum" in b and ("enum" not in a or set(a["enum"]) - set(b["enum"])):
            yield "%s can no longer be %s" % (at, sorted(set(a.get("enum", ["another word"])) - set(b["enum"])))
        for k in set(b.get("required", [])) - set(a.get("required", [])):
            yield "%s.%s is required now" % (at, k)
        for k in ("maximum", "maxLength", "maxItems", "minimum", "minLength", "minItems"):
            if k in b and (k not in a or (b[k] < a[k] if k.startswith("max") else b[k] > a[k])):
                yield "%s: %s was %s, is %s" % (at, k, a.get(k), b[k])
        yield from self.pairs(older, a, b, at, self.narrowed, seen)

    def changed(self, older, was, now, at, seen=frozenset()):
        """What a reader of `was` can't rely on in `now`."""
        a, b = older.get(was), self.get(now)
        if (id(a), id(b)) in seen:
            return
        seen |= {(id(a), id(b))}
        if "oneOf" in a or "oneOf" in b:
            for one in b.get("oneOf", [b]):
                tries = [list(self.changed(older, other, one, at, seen)) for other in a.get("oneOf", [a])]
                if all(tries):
                    yield min(tries, key=len)[0]
            return
        if a.get("type") and a["type"] != b.get("type") and (a["type"], b.get("type")) != ("number", "integer"):
            yield "%s was %s, is %s" % (at, a["type"], b.get("type"))
            return
        if b.get("nullable") and not a.get("nullable"):
            yield "%s may be null now" % at
        for k in set(a.get("required", [])) - set(b.get("required", [])):
            yield "%s.%s was always there" % (at, k)
        yield from self.pairs(older, a, b, at, self.changed, seen)


def schema_in(x):
    """The schema of a body, or of an answer; None: it has none."""
    return next(iter(x.get("content", {}).values()), {}).get("schema")
