/* usage.tsx - what the user had and used on each day, what is left of the quota, and how the shares stand. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, Refused } from "./api";
import { Chart, type Series } from "./chart";
import { decimal, duration, number, serverNow } from "./format";
import { OverTime } from "./overtime";
import { Card, Meter, Problem, Table, type Column } from "./parts";
import { t, type Sentence } from "./text";

interface Ledger {
  day: number; /* as 20261115 */
  owner: string;
  alloc_ms: number;
  cpu_ms: number;
}
interface Quota {
  user: string;
  limit: Record<string, number>;
  left: Record<string, number>;
  month: number;
}
interface Line {
  level: string;
  name: string;
  depth: number;
  target: number;
  used: number;
  cpu_hours: number;
}

const HOUR = 3600000;

/* Days are written as numbers; here they are days in UTC, so that each has 24 hours. Which one is today is the browser's to say. */
function dayNumber(at: Date): number {
  return at.getUTCFullYear() * 10000 + (at.getUTCMonth() + 1) * 100 + at.getUTCDate();
}

function daysBack(n: number): Date[] {
  const now = new Date(serverNow() * 1000);
  const today = Date.UTC(now.getFullYear(), now.getMonth(), now.getDate());
  return Array.from({ length: n }, (_, i) => new Date(today - (n - 1 - i) * 86400000));
}

function useAnswer<T>(path: string): { data: T | null; error: Refused | null } {
  const [state, set] = useState<{ data: T | null; error: Refused | null }>({ data: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    get<T>(path, stop.signal).then(
      (data) => set({ data, error: null }),
      (error) => error instanceof Refused && set({ data: null, error }),
    );
    return () => stop.abort();
  }, [path]);
  return state;
}

function Days({ user, days }: { user: string; days: number }): JSX.Element {
  const all = useMemo(() => daysBack(days), [days]);
  const { data, error } = useAnswer<{ usage: Ledger[] }>(`/v1/usage?first=${dayNumber(all[0])}&last=${dayNumber(all[days - 1])}${user ? `&user=${encodeURIComponent(user)}` : ""}`);
  const [times, series, total] = useMemo((): [number[], Series[], { had: number; used: number }] => {
    const had = new Map<number, number>(),
      used = new Map<number, number>();
    for (const x of data?.usage ?? []) {
      had.set(x.day, (had.get(x.day) ?? 0) + x.alloc_ms / HOUR);
      used.set(x.day, (used.get(x.day) ?? 0) + x.cpu_ms / HOUR);
    }
    const values = (m: Map<number, number>) => all.map((d) => m.get(dayNumber(d)) ?? 0);
    const sum = (m: Map<number, number>) => [...m.values()].reduce((a, b) => a + b, 0);
    return [
      all.map((d) => d.getTime() / 1000),
      [
        { label: t("usage.had"), color: "--busy", values: values(had), bars: true },
        { label: t("usage.used"), color: "--good", values: values(used) },
      ],
      { had: sum(had), used: sum(used) },
    ];
  }, [data, all]);
  const text = t("usage.sum", { had: decimal(total.had), used: decimal(total.used), share: total.had > 0 ? Math.round((100 * total.used) / total.had) : 0 });
  return (
    <>
      <Problem error={error} />
      <p>{data ? text : t("loading")}</p>
      <Chart label={text} times={times} series={series} value={(v) => `${v} h`} />
    </>
  );
}

function QuotaTable({ quota }: { quota: Quota }): JSX.Element {
  const kinds = Object.keys(quota.limit).filter((k) => quota.limit[k] > 0);
  const columns: Column<string>[] = [
    { head: t("usage.kind"), cell: (k) => t(`usage.${k}` as Sentence) },
    { head: t("usage.limit"), class: "n", cell: (k) => duration(quota.limit[k]) },
    { head: t("usage.left"), class: "n", cell: (k) => duration(quota.left[k]) },
    { head: t("usage.spent"), cell: (k) => <Meter value={quota.limit[k] - quota.left[k]} all={quota.limit[k]} label={t("usage.spent.of", { kind: t(`usage.${k}` as Sentence) })} /> },
  ];
  return <Table rows={kinds} id={(k) => k} columns={columns} none={t("usage.quota.none")} />;
}

function Shares({ lines }: { lines: Line[] }): JSX.Element {
  const columns: Column<Line>[] = [
    { head: t("usage.who"), cell: (x) => <span class={`depth-${Math.min(x.depth, 3)}`}>{x.name || t("usage.nobody")}</span> },
    { head: t("usage.target"), class: "n", cell: (x) => `${decimal(x.target)} %` },
    { head: t("usage.share"), class: "n", cell: (x) => `${decimal(x.used)} %` },
    { head: t("usage.hours"), class: "n", cell: (x) => number(Math.round(x.cpu_hours)) },
    { head: t("usage.balance"), cell: (x) => <Meter value={x.used} all={Math.max(100, x.used)} label={t("usage.balance.of", { name: x.name, used: decimal(x.used), target: decimal(x.target) })} /> },
  ];
  return <Table rows={lines} id={(x) => `${x.depth} ${x.level} ${x.name}`} columns={columns} none={t("usage.shares.none")} />;
}

export function UsageView({ user }: { user: string }): JSX.Element {
  const [days, setDays] = useState(30);
  const [mine, setMine] = useState(true);
  const quota = useAnswer<{ counted: boolean; quota: Quota[] }>("/v1/quota");
  const fairshare = useAnswer<{ shares: Line[] }>("/v1/fairshare");
  return (
    <main id="content" tabIndex={-1}>
      <h1>{t("usage.title")}</h1>
      <form class="filters" onSubmit={(e) => e.preventDefault()}>
        <label>
          {t("history.since")}
          <select value={String(days)} onChange={(e) => setDays(Number(e.currentTarget.value))}>
            {[7, 30, 90, 365].map((d) => (
              <option key={d} value={d}>
                {t("history.days", { n: d })}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={mine} onChange={(e) => setMine(e.currentTarget.checked)} /> {t("usage.mine")}
        </label>
      </form>
      <div class="cards">
        <Card title={t("usage.days")} class="wide">
          <Days user={mine ? user : ""} days={days} />
        </Card>
        <Card title={t("overtime.title")} class="wide">
          <OverTime days={days} />
        </Card>
        <Card title={t("usage.quota")}>
          <Problem error={quota.error} />
          {quota.data && (quota.data.quota.length ? quota.data.quota.map((q) => <QuotaTable key={q.user} quota={q} />) : <p class="empty">{t("usage.quota.none")}</p>)}
        </Card>
        <Card title={t("usage.shares")}>
          <Problem error={fairshare.error} />
          {fairshare.data && <Shares lines={fairshare.data.shares} />}
        </Card>
      </div>
    </main>
  );
}
