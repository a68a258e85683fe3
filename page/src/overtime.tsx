/* overtime.tsx - the cluster over a week or a year: CPUs in use and waiting jobs, computed from the history, and how long jobs waited in each queue. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, Refused, type PastJob } from "./api";
import { Chart } from "./chart";
import { decimal, duration, number, serverNow } from "./format";
import { Problem, Table, type Column } from "./parts";
import { t } from "./text";

const PAGE = 10000;
const PAGES = 3; /* the newest 30,000 jobs are enough to see the course */
const POINTS = 200;

interface Sum {
  name: string | null;
  jobs: number;
  started: number;
  waited: number;
}
interface Past {
  jobs: PastJob[];
  whole: boolean; /* no older job was left out */
  sums: Sum[];
}

async function read(since: number, signal: AbortSignal): Promise<Past> {
  const { sums } = await get<{ sums: Sum[] }>(`/v1/history/sums?by=queue&since=${since}`, signal);
  const jobs: PastJob[] = [];
  let after: string | null = "";
  for (let i = 0; i < PAGES && after !== null; i++) {
    const page: { jobs: PastJob[]; next: string | null } = await get(`/v1/history?since=${since}&limit=${PAGE}${after ? `&after=${encodeURIComponent(after)}` : ""}`, signal);
    jobs.push(...page.jobs);
    after = page.next;
  }
  return { jobs, whole: after === null, sums };
}

/* The mean of a step function in each of the intervals; it is `amount` from `from` until `to` for each job. */
function means(begin: number, step: number, spans: { from: number; to: number; amount: number }[]): number[] {
  const sums = new Array<number>(POINTS).fill(0);
  const steps = new Array<number>(POINTS + 1).fill(0); /* of those that cover whole intervals */
  for (const s of spans) {
    const from = Math.max(0, (s.from - begin) / step),
      to = Math.min(POINTS, (s.to - begin) / step);
    if (!(to > from)) continue;
    const first = Math.floor(from),
      last = Math.min(POINTS - 1, Math.floor(to));
    if (first === last) sums[first] += (to - from) * s.amount;
    else {
      sums[first] += (first + 1 - from) * s.amount;
      sums[last] += (to - last) * s.amount;
      steps[first + 1] += s.amount;
      steps[last] -= s.amount;
    }
  }
  let whole = 0;
  return sums.map((x, i) => x + (whole += steps[i]));
}

export function OverTime({ days }: { days: number }): JSX.Element {
  const [past, setPast] = useState<Past | null>(null);
  const [error, setError] = useState<Refused | null>(null);
  const now = useMemo(() => Math.floor(serverNow()), [days]);
  useEffect(() => {
    const stop = new AbortController();
    setPast(null);
    read(now - days * 86400, stop.signal).then(setPast, (e) => e instanceof Refused && setError(e));
    return () => stop.abort();
  }, [days]);
  const [times, cpus, waiting] = useMemo(() => {
    const oldest = past?.whole === false ? Math.min(...past.jobs.map((j) => j.ended)) : now - days * 86400;
    const step = (now - oldest) / POINTS;
    const jobs = past?.jobs ?? [];
    return [
      Array.from({ length: POINTS }, (_, i) => oldest + (i + 0.5) * step),
      [{ label: t("load.cpus"), color: "--busy", values: means(oldest, step, jobs.filter((j) => j.started).map((j) => ({ from: j.started!, to: j.ended, amount: j.cpus }))) }],
      [{ label: t("load.waiting"), color: "--wait", values: means(oldest, step, jobs.map((j) => ({ from: j.submitted, to: j.started ?? j.ended, amount: 1 }))) }],
    ];
  }, [past]);
  const columns: Column<Sum>[] = [
    { head: t("col.queue"), cell: (s) => s.name ?? "" },
    { head: t("overtime.jobs"), class: "n", cell: (s) => number(s.jobs) },
    { head: t("overtime.wait"), class: "n", cell: (s) => (s.started ? duration(s.waited / s.started) : "") },
  ];
  const most = (values: (number | null)[]) => decimal(values.reduce<number>((m, v) => Math.max(m, v ?? 0), 0));
  if (!past) return error ? <Problem error={error} /> : <p class="empty">{t("loading")}</p>;
  return (
    <>
      <p class="quiet">{t(past.whole ? "overtime.about" : "overtime.about.part", { n: number(past.jobs.length) })}</p>
      <div class="pair">
        <figure>
          <figcaption>{t("load.cpus")}</figcaption>
          <Chart label={t("overtime.cpus.label", { n: most(cpus[0].values) })} times={times} series={cpus} value={number} below="instants" height={180} />
        </figure>
        <figure>
          <figcaption>{t("load.waiting")}</figcaption>
          <Chart label={t("overtime.waiting.label", { n: most(waiting[0].values) })} times={times} series={waiting} value={number} below="instants" height={180} />
        </figure>
      </div>
      <Table rows={past.sums} id={(s) => s.name ?? ""} columns={columns} none={t("history.none")} />
    </>
  );
}
