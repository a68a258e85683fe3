"""Sessions of commands in the documentation, and what they print.

A block between ``` with lines that begin with a prompt ("$ ", "# ", "oak# ", "alice@pine$ ") is a session: what stands below a command is its
output; "..." is anything.
"""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Sessions that take several hosts: tests/hosts/guides has them.
HOSTS = re.compile(r"^\w+[#$] |^\w+@\w+\$ |^shunt (join|login|token|nodes|clusters)|^(cat|qsub) ring|^shunt log 1$|^qsub -N far|^shunt output 4")
BUILDS = re.compile(r"^(\w+# )?make ")  # takes minutes, and writes outside of the test's directory
TOKEN = r"\b[ju]\d+\.[\w-]+\.[0-9a-f]{16,}\b"


def blocks(path, section=""):
    """(the text before it, its lines) of each block; of one section where it is named."""
    text = open(os.path.join(ROOT, path), encoding="utf-8").read()
    if section:
        text = text.split("\n## %s\n" % section)[1].split("\n## ")[0] + "\n"
    at = 0
    for m in re.finditer(r"^```\n(.*?)^```$", text, re.M | re.S):
        yield text[at:m.start()].strip().rsplit("\n\n", 1)[-1], m.group(1)
        at = m.end()


def recipe(title):
    """The indented blocks of a section of docs/recipes.md."""
    text = open(os.path.join(ROOT, "docs/recipes.md"), encoding="utf-8").read().split("\n## %s\n" % title)[1].split("\n## ")[0]
    return [re.sub("^    ", "", b, flags=re.M) for b in re.findall(r"(?:^    .*\n(?:\n(?=    ))*)+", text + "\n", re.M)]


def sessions(block):
    """(prompt and command, expected) of a block."""
    m = re.match(r"((?:\w+(?:@\w+)?)?[$#]) \S", block)
    prompt = r"[$]" if m and m.group(1) == "$" else r"(?:\w+(?:@\w+)?)?[$#]" # of a user's session "# " is output
    parts = re.split(r"^(%s (?=\S).*)\n" % prompt, block, flags=re.M)
    return [] if parts[0].strip() else list(zip(parts[1::2], parts[2::2]))


def alike(text, me, host):
    """Without names and times, and with single blanks."""
    text = re.sub(r"\b%s\b" % re.escape(me), "ana", text)
    text = re.sub(r"\b%s\b" % re.escape(host), "pine", text)
    text = re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)?", "DATE", text)
    text = re.sub(r"~?\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d\d:\d\d\b", "CLOCK", text)
    text = re.sub(r"\bCLOCK:\d\d (?=\w+_hours\b)", "CLOCK ", text)  # a price depends on the second
    text = re.sub(r"\b(\d+[dhms] ?)+\b", "TIME ", text)
    # Who ends first is a matter of the second in which jobs started.
    text = re.sub(r"held by jobs? .*?planned\s+to\s+end", "held by JOBS planned to end", text, flags=re.S)
    text = re.sub(TOKEN, "TOKEN", text)
    text = re.sub(r"\b[ju]\d+\b", "T", text)
    text = re.sub(r"process \d+", "process N", text)
    text = re.sub(r"^ +\|now.*\n^node +\|.*\n", "AXIS\n", text, flags=re.M)
    text = re.sub(r"#+", "#", re.sub(r"=+", "=", re.sub(r"-+", "-", text)))
    text = re.sub(r"\b\d+ running, \d+ of 40 done", "N running, N of 40 done", text)
    text = re.sub(r"/[\w/.-]*/(log|shunt|state)\b", "PATH", text)
    return [re.sub(r"[ \n]+", " ", line).strip() for line in text.strip().split("\n")]


def matches(got, expected):
    """Lines are the same; "..." stands for any number of them. A sentence may be wrapped elsewhere."""
    if "..." not in expected:
        # a duration may be wrapped inside: "29m" and "59s"
        flat = lambda lines: re.sub(r"(TIME ?)+", "TIME ", " ".join(lines))
        return got == expected or flat(got) == flat(expected)
    k = expected.index("...")
    return got[:k] == expected[:k] and len(got) >= len(expected) - 1 and (k == len(expected) - 1
        or got[-(len(expected) - 1 - k):] == expected[k + 1:])
