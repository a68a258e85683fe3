"""Workloads by published models, as workload files: Jann's jobs, Tsafrir's walltimes, and nodes of several kinds."""
import gzip
import os
import random
import re
import statistics
import subprocess

JANN_JOBS = 17440  # of the log's beginning, which the authors fitted
MIXED = "node n[1-40] cpus=16 mem=64gb\nnode fat[1-8] cpus=64 mem=512gb\nnode gpu[1-8] cpus=16 mem=128gb gpus=4\n"


def mixed(shunt, folder, seed):
    """Lublin's jobs for nodes of three kinds: 15% of those of one node ask for GPUs, a fifth of all for 4 GB a CPU, the others for 2."""
    work, machine = os.path.join(folder, f"mixed.{seed}.work"), os.path.join(folder, "mixed.nodes")
    subprocess.run([shunt, "simulate", "--generate", "lublin", "--machine", "flat:1280", "--jobs", "10000", "--seed", str(seed), "--save", work,
                    "--policy", "easy"], capture_output=True, check=True)
    draw = random.Random(seed)

    def request(found):
        cpus = int(found.group(1))
        nodes, ppn = min(48, -(-cpus // 16)), min(16, cpus)
        gpus = f":gpus={draw.choice([1, 1, 2, 4])}" if nodes == 1 and draw.random() < .15 else ""
        return f"req=nodes={nodes}:ppn={ppn}{gpus},mem={nodes * ppn * (2 if draw.random() < .8 else 4)}gb"

    with open(work) as f:
        text = re.sub(r"^machine .*\n", "", f.read(), flags=re.M)
    with open(work, "w") as f:
        f.write(re.sub(r"\bprocs=(\d+)", request, text))
    with open(machine, "w") as f:
        f.write(MIXED)
    return work, machine


def swf(path):
    """Yields (submission, run time, processors, estimate) of a trace's jobs."""
    with gzip.open(path, "rt") as f:
        for line in f:
            v = line.split()
            if line.startswith(";") or len(v) < 18:
                continue
            procs = int(v[7]) if int(v[7]) > 0 else int(v[4])
            if procs > 0 and int(v[3]) > 0 and int(v[8]) > 0:
                yield int(v[1]), min(int(v[3]), int(v[8])), procs, int(v[8])


class HyperErlang:
    """Two branches of `order` stages each, with the first three moments of a sample, of the lowest order that has them."""

    def __init__(self, sample):
        moments = [statistics.fmean(x ** k for x in sample) for k in (1, 2, 3)]
        for self.order in range(1, 100):
            n = self.order
            a, b, c = moments[0] / n, moments[1] / (n * (n + 1)), moments[2] / (n * (n + 1) * (n + 2))
            spread = b - a * a  # of the branches' mean stages, which have the moments a, b and c
            if spread <= 0:
                continue
            total, product = (c - a * b) / spread, (a * c - b * b) / spread
            root = total * total - 4 * product
            if product > 0 and total > 0 and root > 0:
                self.stage = (total + root ** .5) / 2, (total - root ** .5) / 2
                self.first = (a - self.stage[1]) / (self.stage[0] - self.stage[1])
                return
        self.order, self.stage, self.first = 1, (moments[0],) * 2, 1

    def draw(self, rng):
        stage = self.stage[0 if rng.random() < self.first else 1]
        return sum(rng.expovariate(1 / stage) for _ in range(self.order))


def write(path, jobs, procs):
    with open(path, "w") as f:
        f.write(f"#shunt-workload 1\nmachine flat:{procs}\n")
        for at, run, size, walltime in sorted(jobs):
            f.write(f"at={at} procs={size} run={run} walltime={walltime}\n")
    return path


def jann(trace, folder, seed, jobs=10000):
    """Jobs by the method of Jann, Pattnaik, Franke, Wang, Skovira and Riodan (JSSPP 1997), on 338 processors: for each range of sizes, between
    powers of two, gaps and run times are hyper-Erlang of common order with the first three moments of the CTC log's first 17,440 jobs, from
    which the authors' own parameters were found. Sizes within a range are drawn from the log. Walltimes are the run times."""
    rng, ranges, made = random.Random(seed), {}, []
    for _, (at, run, size, _) in zip(range(JANN_JOBS), swf(trace)):
        ranges.setdefault((size - 1).bit_length(), []).append((at, run, size))
    span = max(v[-1][0] for v in ranges.values()) * jobs / JANN_JOBS
    for v in ranges.values():
        if len(v) < 30:
            continue
        gaps = HyperErlang([b[0] - a[0] for a, b in zip(v, v[1:])])
        runs = HyperErlang([x[1] for x in v])
        at = gaps.draw(rng)
        while at < span:
            run = max(1, round(runs.draw(rng)))
            made.append((round(at), run, rng.choice(v)[2], run))
            at += gaps.draw(rng)
    return write(os.path.join(folder, f"jann.{seed}.work"), made, 338)


def tsafrir(trace, work, folder, seed):
    """The same jobs with walltimes as Tsafrir, Etsion and Feitelson (Modeling User Runtime Estimates, JSSPP 2005) find them: few values, 20 of
    which nine tenths of the jobs have, the longest allowed one often, and otherwise independent of the run time, which they are not below.
    Values and their shares are those of the CTC log (18 hours at most); longer jobs end there."""
    rng, counts, made = random.Random(seed), {}, []
    for *_, walltime in swf(trace):
        counts[walltime] = counts.get(walltime, 0) + 1
    values = sorted(counts)
    most = max(sorted(counts, key=counts.get)[-20:])
    values = [v for v in values if v <= most]
    sums = [0]
    for v in values:
        sums.append(sums[-1] + counts[v])
    with open(work) as f:
        text = f.read()
    procs = int(re.search(r"^machine flat:(\d+)", text, re.M).group(1))
    for found in re.finditer(r"^at=.*$", text, re.M):
        words = dict(w.split("=", 1) for w in found.group(0).split())
        run = min(seconds(words.get("run", words.get("walltime"))), most)
        low = next(i for i, v in enumerate(values) if v >= run)
        drawn = rng.randrange(sums[low], sums[-1])
        at = next(i for i in range(low, len(values)) if sums[i + 1] > drawn)
        made.append((seconds(words["at"]), run, int(words["procs"]), values[at]))
    return write(os.path.join(folder, f"tsafrir.{os.path.basename(work)}"), made, procs)


def seconds(text):
    total = 0
    for part in text.split(":"):
        total = total * 60 + int(part)
    return total
