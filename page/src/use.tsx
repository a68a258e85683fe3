/* use.tsx - what a job requested and what it uses: sums as meters, and CPUs and memory over time as charts. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, send, type Job } from "./api";
import { Chart, type Series } from "./chart";
import { decimal, duration, memory, number } from "./format";
import { persist } from "./live";
import { Broken, Card, Meter, short } from "./parts";
import { t } from "./text";

interface Sample {
  time: number;
  cpu_ms: number;
  memory: number;
}

/* Lines of JSON, as they come; all over again when another attempt begins. After a break the server sends what it has kept: what it has forgotten since stays as it was. */
function useSamples(job: Job): { samples: Sample[]; broken: boolean } {
  const [samples, set] = useState<Sample[]>([]);
  const [broken, setBroken] = useState(false);
  const begun = job.state === "R" || job.state === "E" || job.state === "S" || job.state === "C";
  useEffect(() => {
    const stop = new AbortController();
    set([]);
    if (!begun || job.past || job.array_counts) return;
    const path = `/v1/jobs/${encodeURIComponent(short(job.id))}`;
    const read = async (signal: AbortSignal, opened: () => void) => {
      const r = await send("GET", `${path}/usage?follow=1`, { signal });
      opened();
      const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop()!;
        const more = lines.map((l) => JSON.parse(l) as Sample);
        if (more.length) set((before) => [...before.filter((s) => s.time < more[0].time), ...more]);
      }
      return (await get<Job>(path, signal)).state === "C";
    };
    persist(stop.signal, read, setBroken).catch(() => undefined); /* the sums say it */
    return () => stop.abort();
  }, [job.id, job.started, begun]);
  return { samples, broken };
}

/* Samples of one second are one; the use of CPUs is that since the sample before. */
function curves(job: Job, samples: Sample[]): { times: number[]; cpus: number[]; memory: number[] } {
  const out = { times: [] as number[], cpus: [] as number[], memory: [] as number[] };
  let last: Sample = { time: job.started ?? 0, cpu_ms: 0, memory: 0 };
  for (const s of samples) {
    if (s.time <= last.time) continue;
    out.times.push(s.time);
    out.cpus.push((s.cpu_ms - last.cpu_ms) / 1000 / (s.time - last.time));
    out.memory.push(s.memory / 1024);
    last = s;
  }
  return out;
}

const BRIEF = 10; /* seconds */
const CURVE = { color: "--busy" };
const LIMIT = { color: "--wait", dashed: true };

function Charts({ job, samples }: { job: Job; samples: Sample[] }): JSX.Element | null {
  const [times, cpus, held] = useMemo((): [number[], Series[], Series[]] => {
    const c = curves(job, samples);
    const flat = (v: number) => c.times.map(() => v);
    const asked = job.memory ? [{ label: t("use.requested"), ...LIMIT, values: flat(job.memory / 1024) }] : [];
    return [c.times, [{ label: t("use.used"), ...CURVE, values: c.cpus }, { label: t("use.requested"), ...LIMIT, values: flat(job.cpus ?? 0) }], [{ label: t("use.used"), ...CURVE, values: c.memory }, ...asked]];
  }, [samples, job.cpus, job.memory, job.started]);
  if (times.length < 2) return <p class="empty">{t(job.state !== "C" ? "use.later" : (job.ended ?? 0) - (job.started ?? 0) < BRIEF ? "use.brief" : "use.gone")}</p>;
  return (
    <div class="pair">
      <figure>
        <figcaption>{t("use.cpus")}</figcaption>
        <Chart label={t("use.cpus.label", { n: decimal(cpus[0].values[times.length - 1]!), all: job.cpus ?? 0 })} times={times} series={cpus} value={number} below="instants" height={180} />
      </figure>
      <figure>
        <figcaption>{t("use.memory")}</figcaption>
        <Chart label={t("use.memory.label", { n: memory(Math.round(held[0].values[times.length - 1]! * 1024)) })} times={times} series={held} value={(v) => memory(v * 1024)} below="instants" height={180} />
      </figure>
    </div>
  );
}

function Sum({ title, used, all, text }: { title: string; used: number; all: number; text: string }): JSX.Element {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {text} {all > 0 && <Meter value={Math.min(used, all)} all={all} label={`${title}: ${text}`} />}
      </dd>
    </div>
  );
}

export function Use({ job, now }: { job: Job; now: number }): JSX.Element | null {
  const { samples, broken } = useSamples(job);
  if (!job.started || job.array_counts) return null;
  const last = samples[samples.length - 1];
  const ended = job.state === "C" || job.past;
  const ran = job.ended ? job.ended - job.started : now - job.started;
  const cpu = ended ? (job.used?.cput ?? 0) : (last?.cpu_ms ?? 0) / 1000;
  const peak = Math.max(ended ? (job.used?.memory ?? 0) : 0, ...samples.map((s) => s.memory));
  const cpus = job.cpus ?? 1;
  const known = ended || samples.length > 0;
  return (
    <Card title={t("use.title")} class="wide">
      <dl class="fields sums">
        <Sum title={t("use.time")} used={ran} all={job.walltime ?? 0} text={job.walltime ? t("load.of", { used: duration(ran), all: duration(job.walltime) }) : duration(ran)} />
        {known && <Sum title={t("use.cpu")} used={cpu} all={cpus * ran} text={t("use.cpu.of", { used: duration(cpu), all: duration(cpus * ran), share: ran > 0 ? Math.round((100 * cpu) / (cpus * ran)) : 0 })} />}
        {known && <Sum title={t("use.peak")} used={peak} all={job.memory ?? 0} text={job.memory ? t("load.of", { used: memory(peak), all: memory(job.memory) }) : memory(peak)} />}
      </dl>
      <Broken is={broken} />
      {!job.past && <Charts job={job} samples={samples} />}
    </Card>
  );
}
