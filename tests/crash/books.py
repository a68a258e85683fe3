"""What users were charged: the lines of the book of quota against the record and the evidence."""
import collections

LIMIT = 10**9  # seconds: nothing is refused
RETURNED = 75  # percent of what was not used
SAVING = 2     # seconds at the end of an attempt that counted, in which it may have saved its work to make room
SLACK = 8      # seconds of an attempt before its first line and after its last


def give(instance):
    status, answer = instance.request("POST", "/v1/quota", {"quota": [{"user": "root", "limit": {
        "normal": LIMIT, "priority": LIMIT, "interactive": LIMIT}}]})
    assert status == 200, f"quota: {status} {answer}"


def back(walltime, used):
    """What is returned to a job that ran for so long."""
    return max(0, walltime - used) * RETURNED // 100


def used(lines, walltime, free):
    """(least, most) seconds that count, by its own lines. What an attempt ran after it had been told to make room, or the server had gone
    before it told it, is free: of attempts that were followed by another any part may be, of the last one `free` seconds."""
    starts = [(l[1], float(l[3])) for l in lines if l[0] == "start" and len(l) == 4]
    ends = {l[1]: float(l[3]) for l in lines if l[0] == "end" and len(l) == 4}
    last = {}  # of any line with a time
    for l in lines:
        if len(l) == 4 and float(l[3]):
            last[l[1]] = float(l[3])
    least = most = 0.0
    for k, (attempt, began) in enumerate(starts):
        least = max(0, last.get(attempt, began) - began - free)  # of the last one
        if attempt in ends:
            most += ends[attempt] - began + SLACK
        else:
            most += starts[k + 1][1] - began if k + 1 < len(starts) else walltime
    return int(least), most


def number(id):
    return int(id.split("[")[0].split(".")[0])


class Books:
    """Lines by job, as the book has them."""

    def __init__(self, checks):
        self.checks, self.record = checks, checks.record
        instance = checks.instance
        moves = instance.get("/v1/quota/moves?user=root")["moves"]
        quota = [q for q in instance.get("/v1/quota?user=root")["quota"] if q["user"] == "root"][0]
        for type, left in quota["left"].items():
            total = sum(m["seconds"] for m in moves if m["type"] == type)
            if total != left:
                checks.complain(None, f"the lines of the book add up to {total} of {type} quota, and {left} are left")
        if len({m["seq"] for m in moves}) != len(moves):
            checks.complain(None, "the book has a line twice")
        self.lines = len(moves)
        self.taken, self.altered, self.settled = collections.Counter(), collections.Counter(), collections.defaultdict(list)
        for m in moves:
            if m["cause"] == "taken":
                self.taken[number(m["job"])] -= m["seconds"]
            elif m["cause"] == "altered":
                self.altered[number(m["job"])] -= m["seconds"]
            elif m["cause"] in ("returned", "unneeded"):
                self.settled[m["job"]].append(m)

    def check(self, rows):
        """`rows`: {token: {index: row}} of all jobs, which have ended. Each request was charged once, each job settled once."""
        known = set()
        for request in self.record.requests:
            there = [job for job in request if job.token in rows]
            if not there:
                continue
            all = [row for job in there for row in rows[job.token].values()]
            first = min(number(row["id"]) for row in all)
            numbers = {number(row["id"]) for row in all}
            known |= numbers
            asked = sum(row["walltime"] for row in all)
            taken, altered = self.taken.pop(first, 0), sum(self.altered[n] for n in numbers)
            if taken + altered != asked:
                self.checks.complain(there[0], f"{taken} s were taken and {altered} s by alterations, instead of {asked} s, "
                                               f"with {[(r['id'], r['walltime']) for r in all][:10]}")
            if altered == 0 and taken != sum(job.walltime * len(job.indices or [0]) for job in there):
                self.checks.complain(there[0], f"{taken} s were taken for walltimes {[job.walltime for job in there]}")
            for job in there:
                for index, row in rows[job.token].items():
                    self.settle(job, index, row)
        for n, seconds in self.taken.items():
            self.checks.complain(None, f"{seconds} s were taken for job {n}, which nobody asked for")

    def settle(self, job, index, row):
        lines = self.settled.pop(row["id"], [])
        causes = collections.Counter(m["cause"] for m in lines)
        got, walltime = sum(m["seconds"] for m in lines), row["walltime"]
        evidence = self.record.lines(job, index)
        say = f"{row['id']}: of {walltime} s were returned {got} s by {[(m['cause'], m['type'], m['seconds']) for m in lines]}, evidence {evidence}"
        if causes["returned"] > 1 or causes["unneeded"] > 2 or (causes["returned"] and causes["unneeded"]):
            return self.checks.complain(job, f"it was settled twice: {say}")
        least, most = used(evidence, walltime, SAVING if job.steps else 0)
        began = any(l[0] == "start" for l in evidence)
        highest = back(walltime, least) if began else walltime
        lowest = back(walltime, most + (0 if began else SLACK))
        if began and row["exit_status"] in (-2, -3, -4) and not self.checks.lost_allowed:
            highest = walltime  # its host may have ended it before the server knew that it ran
        if not int(lowest) - 1 <= got <= highest:
            return self.checks.complain(job, f"between {int(lowest)} s and {highest} s were to be returned: {say}")
        return True
