"""The API's own description (GET /openapi.json), and answers held against it."""
import re


class Bad(Exception):
    """An answer that it must not give."""


class Description:
    def __init__(self, document):
        self.document = document
        self.seen = set()  # ids of the schemas of members that answers had
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
        if "allOf" in schema:
            merged = {"type": "object", "properties": {}, "required": []}
            for part in map(self.get, schema["allOf"]):
                merged["properties"].update(part.get("properties", {}))
                merged["required"] += part.get("required", [])
            return merged
        return schema

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
