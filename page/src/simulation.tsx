/* simulation.tsx - the last month under another policy: computed beside the server, and compared with the policy of today. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, post, type Refused } from "./api";
import { Chart, type Series } from "./chart";
import { decimal, duration, instant, number, serverNow } from "./format";
import { Card, Problem, Table, useLive, useNow, type Column } from "./parts";
import { t, type Sentence } from "./text";

interface Head {
  id: number;
  days: number;
  policies: string[];
  asked: number;
  made: number | null;
}
interface Run {
  policy: string;
  jobs: number;
  refused: number;
  refusals: { reason: string; jobs: number }[];
  wait_mean: number;
  wait_median: number;
  wait_p90: number;
  wait_max: number;
  turnaround_mean: number;
  bslow_mean: number;
  utilisation: number;
  user_wait_worst: number;
  use: number[];
  queue: number[];
  wait_percentiles: number[];
  users: { user: string; jobs: number; wait: number }[];
}
interface Simulation extends Head {
  result: { jobs: number; procs: number; over_time: { begin: number; end: number; samples: number }; runs: Run[] };
}
interface Known {
  policy: string;
  policies: { name: string; about: string }[];
  running: Head | null;
  simulations: Head[];
}

const DAYS = [7, 30, 90, 365];
const COLORS = ["--accent", "--wait", "--busy", "--bad"];
const PERCENTILES = Array.from({ length: 101 }, (_, i) => i);

/* Those that tell policies apart; less is better but for use. */
const MEASURES: [keyof Run & string, Sentence, (v: number) => string, "less" | "more"][] = [
  ["wait_mean", "simulation.wait.mean", duration, "less"],
  ["wait_median", "simulation.wait.median", duration, "less"],
  ["wait_p90", "simulation.wait.p90", duration, "less"],
  ["wait_max", "simulation.wait.max", duration, "less"],
  ["user_wait_worst", "simulation.wait.worst", duration, "less"],
  ["turnaround_mean", "simulation.turnaround", duration, "less"],
  ["bslow_mean", "simulation.slowdown", (v) => decimal(v), "less"],
  ["utilisation", "simulation.use", (v) => `${decimal(100 * v)} %`, "more"],
];

function changed(before: number, after: number): string {
  if (before < 1) return "";
  const part = Math.round((100 * (after - before)) / before);
  return `${part > 0 ? "+" : part < 0 ? "−" : "±"}${Math.abs(part)} %`;
}

function Numbers({ runs }: { runs: Run[] }): JSX.Element {
  const columns: Column<(typeof MEASURES)[number]>[] = [
    { head: t("simulation.measure"), cell: (m) => t(m[1]) },
    ...runs.map((r, i) => ({
      head: r.policy,
      class: "n",
      cell: (m: (typeof MEASURES)[number]) => {
        const all = runs.map((x) => x[m[0]] as number);
        const best = all[i] === (m[3] === "less" ? Math.min(...all) : Math.max(...all)) && new Set(all).size > 1;
        return best ? <strong class="good">{m[2](all[i])}</strong> : m[2](all[i]);
      },
    })),
  ];
  return <Table rows={MEASURES} id={(m) => m[0]} columns={columns} />;
}

function Users({ runs }: { runs: Run[] }): JSX.Element {
  const [now, then] = runs;
  const other = new Map(then.users.map((u) => [u.user, u.wait]));
  const columns: Column<Run["users"][number]>[] = [
    { head: t("col.user"), cell: (u) => u.user },
    { head: t("nav.jobs"), class: "n", cell: (u) => number(u.jobs) },
    { head: now.policy, class: "n", cell: (u) => duration(u.wait) },
    { head: then.policy, class: "n", cell: (u) => duration(other.get(u.user) ?? 0) },
    { head: t("simulation.change"), class: "n", cell: (u) => changed(u.wait, other.get(u.user) ?? 0) },
  ];
  return <Table rows={now.users.filter((u) => other.has(u.user))} id={(u) => u.user} columns={columns} none={t("admin.none")} />;
}

function Result({ x }: { x: Simulation }): JSX.Element {
  const { runs, over_time: span, procs, jobs } = x.result;
  const [times, use, queue, waits] = useMemo(() => {
    const step = (span.end - span.begin) / span.samples;
    const lines = (values: (r: Run) => number[]): Series[] => runs.map((r, i) => ({ label: r.policy, color: COLORS[i], values: values(r) }));
    return [Array.from({ length: span.samples }, (_, i) => span.begin + (i + 0.5) * step), lines((r) => r.use.map((v) => v * procs)), lines((r) => r.queue), lines((r) => r.wait_percentiles)];
  }, [x]);
  const [now, then] = runs;
  const words = { policy: then?.policy ?? "", wait: duration(then?.wait_mean ?? 0), before: duration(now.wait_mean), change: changed(now.wait_mean, then?.wait_mean ?? 0) };
  const most = runs.reduce((a, b) => (b.refused > a.refused ? b : a));
  return (
    <>
      <p class="verdict" role="status">
        {then && t(words.change ? "simulation.verdict" : "simulation.verdict.same", words)}{" "}
        <span class="quiet">
          {t("simulation.of", { jobs: number(jobs), days: x.days, at: instant(x.made) })} {most.refused > 0 && t("simulation.refused", { n: number(most.refused), why: most.refusals[0]?.reason ?? "" })}
        </span>
      </p>
      <div class="cards">
        <Card title={t("simulation.waits")}>
          <p class="quiet">{t("simulation.waits.about")}</p>
          <Chart label={t("simulation.waits")} times={PERCENTILES} series={waits} value={duration} below="numbers" belowUnit=" %" />
        </Card>
        <Card title={t("simulation.numbers")}>
          <Numbers runs={runs} />
        </Card>
        <Card title={t("simulation.queue")}>
          <Chart label={t("simulation.queue")} times={times} series={queue} value={number} below="instants" />
        </Card>
        <Card title={t("simulation.cpus")}>
          <Chart label={t("simulation.cpus")} times={times} series={use} value={number} below="instants" />
        </Card>
        {then && (
          <Card title={t("simulation.users")} class="wide">
            <Users runs={runs} />
          </Card>
        )}
      </div>
    </>
  );
}

/* While one is computed: since when. */
function Working({ since }: { since: number }): JSX.Element {
  const now = useNow();
  return (
    <p role="status">
      <progress aria-label={t("simulation.working")} /> {t("simulation.working")} {duration(now - since)}. <span class="quiet">{t("simulation.working.about")}</span>
    </p>
  );
}

export function SimulationSection(): JSX.Element {
  const { data, error, reload } = useLive<Known>("/v1/simulations", () => false);
  const [days, setDays] = useState(30);
  const [policy, setPolicy] = useState("");
  const [since, setSince] = useState<number | null>(null);
  const [shown, setShown] = useState<Simulation | null>(null);
  const [failure, setFailure] = useState<Refused | null>(null);
  const tried = policy || (data?.policies.find((p) => p.name !== data.policy && p.name === "easy") ?? data?.policies.find((p) => p.name !== data.policy))?.name || "";
  const answer = async (wanted: Promise<Simulation>, from: number) => {
    setSince(from);
    setFailure(null);
    try {
      setShown(await wanted);
    } catch (e) {
      setFailure(e as Refused);
    }
    setSince(null);
    reload();
  };
  const simulate = (w: { days: number; policies: string[]; again?: boolean }, from = serverNow()) => void answer(post<Simulation>("/v1/simulations", w), from);
  /* One that was begun before continues: the same question is answered with it. */
  useEffect(() => {
    if (data?.running && since === null) simulate({ days: data.running.days, policies: data.running.policies }, data.running.asked);
    else if (data?.simulations.length && !shown && since === null) void answer(get<Simulation>(`/v1/simulations/${data.simulations[0].id}`), serverNow());
  }, [data]);
  return (
    <>
      <p class="quiet">{t("simulation.about")}</p>
      <Problem error={error ?? failure} />
      {data && (
        <form class="filters" onSubmit={(e) => (e.preventDefault(), simulate({ days, policies: [data.policy, tried], again: shown?.days === days && shown.policies.join() === [data.policy, tried].join() }))}>
          <label>
            {t("simulation.days")}
            <select value={String(days)} onChange={(e) => setDays(Number(e.currentTarget.value))}>
              {DAYS.map((d) => (
                <option key={d} value={d}>
                  {t("history.days", { n: d })}
                </option>
              ))}
            </select>
          </label>
          <label>
            {t("simulation.policy", { policy: data.policy })}
            <select value={tried} aria-describedby="policy-about" onChange={(e) => setPolicy(e.currentTarget.value)}>
              {data.policies
                .filter((p) => p.name !== data.policy)
                .map((p) => (
                  <option key={p.name} value={p.name}>
                    {p.name}
                  </option>
                ))}
            </select>
          </label>
          <button type="submit" class="primary" disabled={since !== null}>
            {t("simulation.do")}
          </button>
          <small class="quiet" id="policy-about">
            {data.policies.find((p) => p.name === tried)?.about}
          </small>
        </form>
      )}
      {since !== null && <Working since={since} />}
      {shown && since === null && <Result x={shown} />}
      {data && data.simulations.length > 1 && (
        <Card title={t("simulation.earlier")}>
          <ul class="rows">
            {data.simulations.map((s) => (
              <li key={s.id}>
                <button type="button" class="plain grow" aria-current={s.id === shown?.id} onClick={() => void answer(get<Simulation>(`/v1/simulations/${s.id}`), serverNow())}>
                  {t("simulation.one", { policies: s.policies.join(", "), days: s.days })}
                </button>
                <span class="when">{instant(s.made)}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}
