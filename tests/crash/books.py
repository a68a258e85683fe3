"""What users and accounts were charged: the lines of the books of quota and of credits against the record and the evidence."""
import collections
import os
import pwd

ME = pwd.getpwuid(os.geteuid()).pw_name
LIMIT = 10**9  # seconds: nothing is refused
RETURNED = 75  # percent of what was not used
SAVING = 2     # seconds at the end of an attempt that counted, in which it may have saved its work to make room
SLACK = 8      # seconds of an attempt before its first line and after its last


def give(instance):
    status, answer = instance.request("POST", "/v1/quota", {"quota": [{"user": ME, "limit": {
        "normal": LIMIT, "priority": LIMIT, "interactive": LIMIT}}]})
    assert status == 200, f"quota: {status} {answer}"


def back(walltime, used):
    """What is returned to a job that ran for that long."""
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


def noticed(began, downs):
    """When the server knew of a start: at once, or when it was back, if it was killed before it knew."""
    return max([until for since, until in downs if since - 1 < began < until], default=began)


def lineless(job, index, lines):
    """Seconds of attempts that their owner asked to run again while they showed nothing: before their first line, where a signal may have stopped them, or
    after their last one."""
    starts, ends = ({l[1]: float(l[3]) for l in lines if l[0] == what and len(l) == 4} for what in ("start", "end"))
    seconds = 0.0
    for asked in (asked for which, asked in job.rerun if which == index):
        attempt = max((a for a in starts if starts[a] < asked), key=starts.get, default=None)
        if attempt is None or ends.get(attempt, asked) < asked:
            seconds += asked - (ends[attempt] if attempt else job.asked or asked)
    return seconds


def rerun(job, index, lines, walltime, downs, lost):
    """(least, most) seconds that its owner paid for attempts when it asked to run them again: from when the server knew of them until it asked, each
    attempt once. `lost`: each kill of the server took the attempts with it."""
    begun, ends = ({l[1]: float(l[3]) for l in lines if l[0] == what and len(l) == 4} for what in ("start", "end"))
    paid = {}
    for asked in (asked for which, asked in job.rerun if which == index):
        before = [(began, attempt) for attempt, began in begun.items() if began < asked]
        if before:
            began, attempt = max(before)
            killed = [since for since, _ in downs if since > began] if lost else []
            paid.setdefault(attempt, int(min([asked, ends.get(attempt, asked), *killed]) - noticed(began, downs)) - 1)
    most = used(lines, walltime, 0)[1] + lineless(job, index, lines)
    return max(0, sum(n for n in paid.values() if n > 0)), int(most) if job.reruns[index] else 0


def held(job, lines, walltime):
    """The most that a job may hold at its end: what a running one no longer needs is settled then."""
    return max(w for w, _, _ in job.limits) if any(l[0] == "start" for l in lines) else walltime


def number(id):
    return int(id.split("[")[0].split(".")[0])


class Books:
    """Lines by job, as the book has them."""

    def __init__(self, checks):
        self.checks, self.record = checks, checks.record
        instance = checks.instance
        moves = instance.get(f"/v1/quota/moves?user={ME}")["moves"]
        quota = [q for q in instance.get(f"/v1/quota?user={ME}")["quota"] if q["user"] == ME][0]
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
        """`rows`: {token: {index: row}} of all jobs, which have ended. Each request was charged once, each rerun for its attempt, each job settled once."""
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
            taken, altered = sum(self.taken.pop(n, 0) for n in numbers), sum(self.altered[n] for n in numbers)
            reruns = [rerun(job, i, self.record.lines(job, i), row["walltime"], self.record.downs, self.checks.lost_allowed) for job in there for i, row in rows[job.token].items()]
            least, most = (sum(n) for n in zip(*reruns))
            highest = sum(held(job, self.record.lines(job, i), row["walltime"]) for job in there for i, row in rows[job.token].items())
            if not asked + least <= taken + altered <= max(asked, highest) + most:
                self.checks.complain(there[0], f"{taken} s were taken and {altered} s by alterations, instead of {asked} s and {least}-{most} s "
                                               f"for reruns, with {[(r['id'], r['walltime']) for r in all][:10]}")
            asked = sum(job.walltime * len(job.indices or [0]) for job in there)
            if altered == 0 and not asked + least <= taken <= asked + most:
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
        highest = back(max(walltime, held(job, evidence, walltime)), least) if began else walltime
        lowest = back(walltime, most + (0 if began else SLACK))
        if began and row["exit_status"] in (-2, -3, -4) and not self.checks.lost_allowed:
            highest = max(walltime, held(job, evidence, walltime))  # its host may have ended it before the server knew that it ran
        if not int(lowest) - 1 <= got <= highest:
            return self.checks.complain(job, f"between {int(lowest)} s and {highest} s were to be returned: {say}")
        return True


# Accounts that pay: "low" for CPUs, "above" it for nodes; credits move between "low" and "spare".

DEPOSIT = 10**9  # unit-seconds: every job can be paid


def deposit(clients):
    for name, unit in (("above", "node_hours"), ("low", "cpu_hours"), ("spare", "cpu_hours")):
        clients.ask("PUT", "/v1/accounts/" + name)
        clients.set("accounts/" + name, "credit_unit", unit)
    clients.set("accounts/low", "parent", "above")
    for name in ("above", "low"):
        status, answer = clients.ask("POST", "/v1/credits", {"op": "deposit", "account": name, "amount": DEPOSIT})
        assert status == 200, f"deposit: {status} {answer}"


def balanced(accounts):
    """What is wrong with what accounts have; transfers take place at once or not at all."""
    for a in accounts:
        if a["deposited"] != a["balance"] + a["spent"] + a["expired"] + a["withdrawn"]:
            yield f"the books of an account do not balance: {a}"
        if a["balance"] < 0 or a["escrow"] < 0 or a["available"] != a["balance"] - a["escrow"] or a["available"] < 0:
            yield f"an account is below zero: {a}"
    of = {a["account"]: a for a in accounts}
    if of["low"]["balance"] + of["low"]["spent"] + of["spare"]["balance"] != DEPOSIT:
        yield f"{DEPOSIT} were deposited: {of['low']}, {of['spare']}"


class Credits:
    """Lines by account and job."""

    def __init__(self, checks):
        self.checks, self.record = checks, checks.record
        instance = checks.instance
        accounts = instance.get("/v1/credits")["accounts"]
        for text in balanced(accounts):
            checks.complain(None, text)
        self.lines, self.of = 0, {}
        for a in accounts:
            lines = instance.get(f"/v1/credits/statement?account={a['account']}")["lines"]
            self.lines += len(lines)
            if a["escrow"]:
                checks.complain(None, f"all jobs have ended, and credits are held: {a}")
            if sum(l["amount"] for l in lines) != a["balance"] or len({l["seq"] for l in lines}) != len(lines):
                checks.complain(None, f"the lines of {a['account']} do not add up to its balance: {a}")
            self.of[a["account"]] = by_job = collections.defaultdict(list)
            for l in lines:
                if l["job"]:
                    by_job[l["job"]].append(-l["amount"])

    def check(self, rows):
        """`rows`: {token: {index: row}} of all jobs, which have ended."""
        for job in self.record.known():
            for index, row in rows.get(job.token, {}).items():
                self.job(job, index, row)
        for account, jobs in self.of.items():
            for id, amounts in jobs.items():
                self.checks.complain(None, f"{account} paid {amounts} for {id}, which nobody asked it to")

    def job(self, job, index, row):
        """Charged once for its end, if it ran and was not lost, and once for each rerun that its owner asked for and each displacement, at most."""
        paid = self.of["low"].pop(row["id"], [])
        above = self.of["above"].pop(row["id"], [])
        evidence = self.record.lines(job, index)
        say = f"{row['id']}: {row}, paid {paid}, above {above}, evidence {evidence}"
        if row["account"] != "low":
            return not paid and not above or self.checks.complain(job, f"another account paid: {say}")
        reruns = job.reruns[index] + job.reruns[None] * bool(job.indices)
        ran = row["substate"] == "done" and row["exit_status"] != -2 and any(l[0] == "start" for l in evidence)
        if len(paid) != len(above):
            return self.checks.complain(job, f"one account paid, and the other did not: {say}")
        if not ran <= len(paid) <= max(1 + reruns, row["attempt"]):  # its own jobs may have displaced it
            return self.checks.complain(job, f"{reruns} reruns were asked for: {say}")
        cpus = 4 if job.reshaped else row["cpus"]
        _, most = used(evidence, row["walltime"], 0)
        if row["price"] is not None:
            if ran and row["ended"] <= row["deadline"] and row["price"] not in paid:
                return self.checks.complain(job, f"it did not pay its price: {say}")
            most = row["price"] * len(paid) / cpus
        least = used(evidence, row["walltime"], SAVING if job.steps else 0)[0] * (1 if job.reshaped else cpus)
        if ran and row["price"] is None and not self.checks.lost_allowed and not job.suspended and sum(paid) < least:
            return self.checks.complain(job, f"at least {least} were to be paid: {say}")
        if sum(paid) > cpus * (most + SLACK) + len(paid):
            return self.checks.complain(job, f"at most {cpus * (most + SLACK):.0f} were to be paid: {say}")
        return True
