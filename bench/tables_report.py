"""The tables that bench/tables makes: how numbers of an experiment are kept in the CSV file, and how they are printed."""
import math
import os
import re
import statistics

EXPERIMENTS = ["push", "cover", "move", "owners", "traces", "bag"]
BAG_SITES = ["SDSC-SP2-source", "SDSC-BLUE-source", "CTC-512"]
EQUAL = 1.001  # where hardly anything queues, this counts as below 1
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09]


# ---- numbers of an experiment ----

def keys(o):
    """(workload, policy) of an object of an experiment's JSON."""
    if "heuristic" in o:
        return o["trace"], o["heuristic"]
    if "method" in o:
        return f"{o['speeds']} {o['load']:g}", o["method"]
    if "way" in o:
        return f"{o['model']} {o['load']:g}", o["way"]
    if "sizes" in o:
        return o["sizes"], f"{o['policy']} {o['cost']}"
    if "experiment" in o:
        return f"{o['model']} {o['experiment']}" if "model" in o else f"source {o['experiment']}", o.get("policy", "published")
    return f"interval {o['interval']:g}", "fim"


def numbers(o, prefix=""):
    """Yields (measure, value, half) of an object."""
    for name, v in o.items():
        if isinstance(v, dict) and "value" in v:
            yield prefix + name, v["value"], v["interval95"]
        elif isinstance(v, dict):
            yield from numbers(v, name + "_")
        elif isinstance(v, (int, float)) and not isinstance(v, bool) and not name.endswith("_half"):
            yield prefix + name, v, o.get(name + "_half") or o.get(re.sub("_ratio$", "_half", name) if name.endswith("_ratio") else "", "")


def flatten(table, found):
    if table == "traces":
        found = [{**p, "trace": t["trace"], "heuristic": p["policy"], "published_jobs": t["published_jobs"],
                  "published_turnaround_easy": t["published_turnaround_easy"]} for t in found for p in t["policies"]]
    elif table == "push":
        found = found["runs"] + found["source"]
    for o in found:
        workload, policy = keys(o)
        for measure, value, half in numbers(o):
            yield {"table": table, "workload": workload, "policy": policy, "measure": measure, "value": f"{value:.6g}",
                   "half": f"{half:.3g}" if half != "" else ""}


class Numbers:
    """What the file has of a table; of a number that is there twice, the last."""

    def __init__(self, lines, table):
        self.at = {(x["workload"], x["policy"], x["measure"]): x for x in lines if x["table"] == table}

    def __call__(self, workload, policy, measure, digits=2):
        x = self.at.get((workload, policy, measure))
        return "" if not x else f"{float(x['value']):,.{digits}f}"

    def value(self, *key):
        x = self.at.get(key)
        return float(x["value"]) if x and x["value"] != "nan" else None

    def half(self, workload, policy, measure, digits=2):
        x = self.at.get((workload, policy, measure))
        return f"{float(x['half']):,.{digits}f}" if x and x["half"] else "0"

    def both(self, *key, digits=2):
        return f"{self(*key, digits=digits)} ± {self.half(*key, digits=digits)}" if key in self.at else ""

    def policies(self):
        return list(dict.fromkeys(k[1] for k in self.at))


def table_of(head, rows):
    return "\n".join("| " + " | ".join(map(str, r)) + " |" for r in [head, *rows]).replace("|\n", f"|\n|{'---|' * len(head)}\n", 1) + "\n"


# ---- policies ----

def ratio_text(value, half=None):
    text = f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.3f}"
    text = f"**{text}**" if value > EQUAL else text
    return text if half is None else f"{text} ± {half:.3f}".replace("± 0.", "± .")


def interval(of, drawn):
    """Geometric mean of the ratios of copies, by seed, and half of its 95% interval. Where each seed has drawn a workload of its own its copies are
    alike, and count as one number."""
    logs = [math.log(v) for values in of.values() for v in values]
    mean = math.exp(statistics.mean(logs))
    if drawn and len(of) > 1:
        logs = [statistics.mean(map(math.log, values)) for values in of.values()]
    if len(logs) < 2:
        return mean, 0
    return mean, mean * STUDENT[min(len(logs), len(STUDENT) + 1) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))


def policies(lines):
    measures = ["turnaround_mean", "bslow_mean", "awf", "wait_max"]
    cells, hashes = {}, {}
    for x in lines:
        if x["table"] == "policies":
            hashes.setdefault(x["workload"], set()).add(x["sha256"])
            cells.setdefault((x["set"], x["workload"]), {}).setdefault(x["policy"], {}).setdefault((int(x["seed"]), int(x["copy"])), {})[x["measure"]] = float(x["value"])
    for used in ("tune", "look", "judge"):
        rows = []
        for (s, name), of in sorted(cells.items()):
            if s != used:
                continue
            mine, narrow = of["shunt"], of.get("shunt-narrow", {})
            first = mine[min(mine)]
            copies = [v for (_, copy), v in mine.items() if copy]
            seeds = {seed: [v for (of, copy), v in mine.items() if copy and of == seed] for seed, _ in mine}
            drawn = "generated" in hashes[name] or len(hashes[name]) > 1
            better = [sum(all(v[m] <= EQUAL for m in measures) for (_, copy), v in o.items() if copy) for o in (mine, narrow)]
            means = " / ".join(ratio_text(*interval({seed: [v[m] for v in of] for seed, of in seeds.items()}, drawn)) for m in measures)
            worst = " / ".join(ratio_text(max(v[m] for v in copies)) for m in measures)
            rows.append([name, " / ".join(ratio_text(first[m]) for m in measures), means, worst, f"{better[0]} of {len(copies)}", better[1]])
        if rows:
            yield f"policies {used}", table_of(["workload", "as recorded", "mean of the copies ± 95%", "worst copy", "all four better", "`shunt-narrow`"], rows)


# ---- experiments ----

def push(lines):
    n = Numbers(lines, "push")
    names = ["common, every 60 s", "with starving", "common, exponential, mean 60 s", "with starving", "common, mean 329 s", "with starving", "QoS", "emergency"]
    pair = lambda w, p, over: f"{n(w, p, f'gain_over_{over}_turnaround')} / {n(w, p, f'gain_over_{over}_response')}"
    yield "push", table_of(
        ["experiment", "published, push over TORQUE", *[f"{m}: oscar over torque" for m in "AC"],
         *[f"{m}: {p} over oscar, response" for p in ("shunt-light", "shunt") for m in "AC"]],
        [[f"{i} {name}", f"{n(f'source {i}', 'published', 'turnaround')} / {n(f'source {i}', 'published', 'response')}",
          *[pair(f"{m} {i}", "oscar (push depth 1)", "torque") for m in "AC"],
          *[n.both(f"{m} {i}", p, "gain_over_oscar_response") for p in ("shunt-light", "shunt") for m in "AC"]] for i, name in enumerate(names, 1)])
    ways = ["torque", "oscar (push depth 1)", "shunt-light", "shunt"]
    yield "push seconds", table_of(
        ["model and experiment", *[f"{what}: {w.split()[0]}" for what in ("mean response, s", "longest wait, s") for w in ways]],
        [[f"{m} {i}", *[n(f"{m} {i}", w, k, 0) for k in ("mean_response", "mean_wait_max") for w in ways]] for m in "AC" for i in range(1, 9)])


def cover(lines):
    n = Numbers(lines, "cover")
    methods = n.policies()
    others = methods[1:]

    def row(w):
        speeds, load = w.rsplit(" ", 1)
        return [speeds, load, *[n(w, m, "wait", 0) + " s" for m in methods],
                n(w, methods[0], "turnaround", 0) + " s", *[sign(n, w, m, "turnaround_than_cover", 0) for m in others],
                n(w, methods[0], "busy_nodes", 1), *[sign(n, w, m, "busy_nodes_than_cover", 2) for m in others]]
    yield "cover", table_of(
        ["speeds of nodes", "load", "wait: cover", *others, "turnaround: cover", *[f"{m}, difference" for m in others],
         "busy nodes: cover", *[f"{m}, difference" for m in others]], [row(w) for w in dict.fromkeys(k[0] for k in n.at)])


def sign(n, w, m, measure, digits):
    return f"{n.value(w, m, measure):+,.{digits}f} ± {n.half(w, m, measure, digits)}"


def move(lines):
    n = Numbers(lines, "move")
    costs = [10, 60, 300, 900]

    def recovered(w, policy, cost):
        v, e = n.value(w, f"{policy} {cost}", "recovered"), n.value(w, f"{policy} {cost}", "recovered_error")
        return "-" if v is None else f"{100 * v:.0f}% ±{200 * e:.0f}"
    yield "move", table_of(
        ["CPUs of a job", "policy", "wait", "if packed", "recovered at 10 s a move", "60 s", "300 s", "900 s"],
        [[{"powers_of_two": "1, 2, 4, 8", "odd": "3, 5, 6"}[w], p, n(w, f"{p} 60", "wait", 0) + " s", n(w, f"{p} 60", "wait_packed", 0) + " s", *[recovered(w, p, c) for c in costs]]
         for w in dict.fromkeys(k[0] for k in n.at) for p in ("oscar", "shunt")])


def owners(lines):
    n = Numbers(lines, "owners")
    loads = ["0.3", "0.5", "0.7", "0.8", "0.9"]
    ways = [w for w in n.policies() if w not in ("owners alone", "fim")]
    for model, about in (("interactive", "with interactive work"), ("batch", "with interactive and batch work")):
        yield f"owners {model}", table_of([f"parallel jobs, {about}", "load 0.3", *loads[1:]],
                                          [[w, *[n.both(f"{model} {x}", w, "parallel_ratio") for x in loads]] for w in ways])
    of = lambda w, model, k: " / ".join(n(f"{model} {x}", w, k) for x in loads)
    yield "owners notice", table_of(["owners, load 0.3 / 0.5 / 0.7 / 0.8 / 0.9", "interactive", "interactive, with batch work", "batch"],
                                    [[w, of(w, "interactive", "interactive_ratio"), of(w, "batch", "interactive_ratio"), of(w, "batch", "batch_ratio")]
                                     for w in ["fim", *ways]])
    sweep = [k[0] for k in n.at if k[0].startswith("interval") and k[2] == "parallel"]
    yield "owners interval", table_of(["interval", *[w.split()[1] for w in sweep]],
                                      [["mean response of a job, units of time", *[n(w, "fim", "parallel", 0) for w in sweep]],
                                       ["reports per station and unit of time", *[n(w, "fim", "reports", 3) for w in sweep]]])


def traces(lines):
    n = Numbers(lines, "traces")
    names = list(dict.fromkeys(k[0] for k in n.at))

    def met(published, ours, digits=2):
        if not published:
            return f"- / {ours:,.{digits}f}"
        off = 100 * (ours / published - 1)
        text = "0%" if abs(off) < .05 else f"{off:+.1f}%"
        return f"{published:,.{digits}f} / {ours:,.{digits}f} ({f'**{text}**' if abs(off) > .5 else text})"
    rows = [["jobs", *[f"{n.value(t, 'easy', 'published_jobs'):,.0f} / {n.value(t, 'easy', 'jobs'):,.0f}" for t in names]]]
    for p in n.policies():
        rows.append([p, *[met(n.value(t, p, "published_bslow"), n.value(t, p, "bslow")) for t in names]])
        rows.append(["range", *[f"{n.value(t, p, 'bslow_shaken_least'):.1f}-{n.value(t, p, 'bslow_shaken_most'):.1f}" for t in names]])
    rows.append(["mean turnaround of easy, s", *[met(n.value(t, "easy", "published_turnaround_easy"), n.value(t, "easy", "turnaround"), 1)
                                                 if n.value(t, "easy", "published_turnaround_easy") else "" for t in names]])
    yield "traces", table_of(["", *names], rows)


def bag(lines):
    n, over = Numbers(lines, "bag"), Numbers(lines, "bag, static-max")
    source = {"SDSC-SP2-source": (2.05, 1.37), "SDSC-BLUE-source": (2.37, 1.59), "CTC-512": (14.74, 14.73)}
    both = lambda t, site, h: t.both(site, h, "mean_speedup") or "1"

    def row(site, h):
        published = source[site][0] if h == "adaptive" else source[site][1] if h.startswith("mixed") else ""
        return [site, h, published, both(n, site, h), both(over, site, h), n(site, h, "small"), n(site, h, "few_long"),
                f"{n(site, h, 'slower', 0)} ({n(site, h, 'surely_slower', 0)})", n(site, h, "worst"), n(site, h, "waste")]
    yield "bag", table_of(["trace", "heuristic", "source", "speed-up over static", "over static-max", "small bags", "few long tasks",
                           "slower (surely)", "worst", "waste"], [row(s, h) for s in BAG_SITES for h in n.policies()])


def report(lines, only, docs):
    have = {x["table"] for x in lines}
    made = [x for f in (policies, push, cover, move, owners, traces, bag) if f.__name__ in have for x in f(lines) if re.search(only, x[0])]
    if not docs:
        for name, text in made:
            print(f"{name}\n\n{text}")
        return
    for file in ("policies.md", "simulator.md"):
        path = os.path.join(docs, file)
        with open(path) as f:
            old = text = f.read()
        for name, table in made:
            text = re.sub(f"(<!-- begin table {re.escape(name)} -->\n).*?(<!-- end table -->\n)", lambda m: f"{m[1]}\n{table}\n{m[2]}", text, flags=re.S)
        if text != old:
            with open(path, "w") as f:
                f.write(text)
