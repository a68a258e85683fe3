/* history.tsx - jobs that have ended, as long as the site keeps them: how well they used what they had, submitting them again, clearing them away. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, Refused, type PastJob } from "./api";
import { duration, memory, number, serverNow } from "./format";
import { Ending, ending, Instant, JobName, Problem, short, Table, type Column } from "./parts";
import { t, type Sentence } from "./text";

const STATES = ["", "completed", "failed", "walltime", "memory", "deleted", "lost", "expired", "dependency", "not_started", "preempted"];
const DAYS = ["1", "7", "30", "365", ""];
const ROWS = 100;

/* Cleared entries are only left out of one's own view: what is kept of jobs is the site's to decide. */
const CLEARED = "shunt-cleared";
const CLEARED_MOST = 2000;

function clearedRead(): string[] {
  try {
    return JSON.parse(localStorage.getItem(CLEARED) ?? "[]") as string[];
  } catch {
    return [];
  }
}

const mark = (job: PastJob) => `${job.id}@${job.ended}`;

function percent(part: number, whole: number): number | null {
  return whole > 0 ? Math.min(100, Math.round((100 * part) / whole)) : null;
}

function Share({ value, label }: { value: number | null; label: string }): JSX.Element | null {
  if (value === null) return null;
  return (
    <span class={value < 30 ? "share low" : "share"}>
      <meter min={0} max={100} low={30} optimum={100} value={value} aria-label={label} /> {value} %
    </span>
  );
}

function columns(clear: (job: PastJob) => void): Column<PastJob>[] {
  return [
    { head: t("col.name"), cell: (job) => <JobName job={job} /> },
    { head: t("col.state"), cell: (job) => <Ending outcome={ending(job.state, job.exit_status)} /> },
    { head: t("col.owner"), cell: (job) => job.owner },
    { head: t("col.ended"), cell: (job) => <Instant at={job.ended} /> },
    { head: t("col.ran"), class: "n", cell: (job) => (job.started ? duration(job.ran_ms / 1000) : "") },
    { head: t("col.cpu.used"), cell: (job) => <Share value={percent(job.cpu_ms, job.ran_ms * job.cpus)} label={t("history.cpu", { id: short(job.id) })} /> },
    { head: t("col.memory.used"), cell: (job) => (job.memory_kib ? <Share value={percent(job.peak_kib, job.memory_kib)} label={t("history.memory", { id: short(job.id) })} /> : job.peak_kib ? memory(job.peak_kib) : "") },
    { head: t("col.time.used"), cell: (job) => <Share value={percent(job.ran_ms / 1000, job.walltime)} label={t("history.time", { id: short(job.id) })} /> },
    {
      head: t("col.actions"),
      cell: (job) => (
        <span class="row-actions">
          {!job.id.includes(":") /* of jobs that another system ran only the accounting is known */ && (
            <a href={`#/submit/${encodeURIComponent(short(job.id))}`}>{t("action.resubmit")}</a>
          )}
          <button type="button" class="plain" aria-label={t("history.clear.one", { id: short(job.id) })} onClick={() => clear(job)}>
            {t("history.clear")}
          </button>
        </span>
      ),
    },
  ];
}

interface Filter {
  user: string;
  name: string;
  state: string;
  days: string;
}

function pathOf(f: Filter, after: string | null): string {
  const q = new URLSearchParams({ limit: String(ROWS) });
  for (const k of ["user", "name", "state"] as const) if (f[k]) q.set(k, k === "name" ? `${f[k]}*` : f[k]);
  if (f.days) q.set("since", String(Math.floor(serverNow() / 3600) * 3600 - Number(f.days) * 86400));
  if (after) q.set("after", after);
  return `/v1/history?${q}`;
}

function usePast(f: Filter): { jobs: PastJob[] | null; more: (() => void) | null; error: Refused | null } {
  const [jobs, setJobs] = useState<PastJob[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<Refused | null>(null);
  const read = (before: PastJob[], after: string | null, signal?: AbortSignal) =>
    get<{ jobs: PastJob[]; next: string | null }>(pathOf(f, after), signal).then(
      (a) => (setJobs([...before, ...a.jobs]), setNext(a.next), setError(null)),
      (e) => e instanceof Refused && (setError(e), setJobs(before)),
    );
  const key = JSON.stringify(f);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => void read([], null, stop.signal), 200);
    return () => (clearTimeout(timer), stop.abort());
  }, [key]);
  return { jobs, more: next ? () => void read(jobs ?? [], next) : null, error };
}

export function HistoryView({ user }: { user: string }): JSX.Element {
  const [filter, setFilter] = useState<Filter>({ user, name: "", state: "", days: "30" });
  const [cleared, setCleared] = useState<string[]>(clearedRead);
  const { jobs, more, error } = usePast(filter);
  const keep = (list: string[]) => {
    const last = list.slice(-CLEARED_MOST);
    localStorage.setItem(CLEARED, JSON.stringify(last));
    setCleared(last);
  };
  const gone = new Set(cleared);
  const rows = (jobs ?? []).filter((job) => !gone.has(mark(job)));
  const hidden = (jobs?.length ?? 0) - rows.length;
  const set = (change: Partial<Filter>) => setFilter({ ...filter, ...change });
  return (
    <main id="content" tabIndex={-1} aria-busy={!jobs}>
      <h1>{t("history.title")}</h1>
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          {t("col.name")}
          <input type="search" value={filter.name} onInput={(e) => set({ name: e.currentTarget.value.trim() })} />
        </label>
        <label>
          {t("jobs.state")}
          <select value={filter.state} onChange={(e) => set({ state: e.currentTarget.value })}>
            {STATES.map((s) => (
              <option key={s} value={s}>
                {s ? t(`past.${s}` as Sentence) : t("jobs.state.all")}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t("history.since")}
          <select value={filter.days} onChange={(e) => set({ days: e.currentTarget.value })}>
            {DAYS.map((d) => (
              <option key={d} value={d}>
                {d ? t(d === "1" ? "history.day" : "history.days", { n: d }) : t("history.ever")}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={!!filter.user} onChange={(e) => set({ user: e.currentTarget.checked ? user : "" })} /> {t("jobs.mine")}
        </label>
        <span class="quiet" role="status">
          {jobs ? t("history.shown", { n: number(rows.length) }) : t("loading")}
        </span>
      </form>
      <Problem error={error} />
      <div class="actions">
        <button type="button" disabled={!rows.length} onClick={() => keep([...cleared, ...rows.map(mark)])}>
          {t("history.clear.all")}
        </button>
        {hidden > 0 && (
          <button type="button" class="plain" onClick={() => keep([])}>
            {t("history.unclear", { n: number(hidden) })}
          </button>
        )}
      </div>
      {jobs && (
        <div class="scroll" tabIndex={0} role="region" aria-label={t("history.title")}>
          <Table rows={rows} id={mark} columns={columns((job) => keep([...cleared, mark(job)]))} none={t("history.none")} class="jobs" />
        </div>
      )}
      {more && (
        <p>
          <button type="button" onClick={more}>
            {t("jobs.more")}
          </button>
        </p>
      )}
    </main>
  );
}
