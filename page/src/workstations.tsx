/* workstations.tsx - nodes that somebody works at: whether the owner has them now, what they gave, and the owner's usual hours. */
import type { JSX } from "preact";
import { duration, number } from "./format";
import { Card, Instant, Table, type Column } from "./parts";
import { language, t } from "./text";

export interface Owner {
  claims: boolean;
  since?: number;
  why?: string | null;
  given: number;
  claimed: number;
  lost: number;
  stops: number;
  left: number;
  habit: string;
}
interface Station {
  name: string;
  workstation?: string | null;
  owner?: Owner;
}

const HOURS = 24;

/* "Mon", by its number from Sunday on. */
function dayName(day: number): string {
  return new Intl.DateTimeFormat(language(), { weekday: "short", timeZone: "UTC" }).format(new Date(Date.UTC(2023, 0, 1 + day)));
}

/* 0 (never) to 1 (always); null: not known. */
function share(letter: string | undefined): number | null {
  return !letter || letter === "." ? null : (letter.charCodeAt(0) - 97) / 20;
}

/* "Mon 9-17, Tue 9-17": hours in which the owner uses it more often than not. */
function words(habit: string): string {
  const days: string[] = [];
  for (let day = 0; day < 7; day++) {
    const spans: string[] = [];
    for (let h = 0; h < HOURS; h++) {
      if ((share(habit[day * HOURS + h]) ?? 0) < 0.5) continue;
      let end = h;
      while (end < HOURS && (share(habit[day * HOURS + end]) ?? 0) >= 0.5) end++;
      spans.push(`${h}–${end}`);
      h = end;
    }
    if (spans.length) days.push(`${dayName(day)} ${spans.join(", ")}`);
  }
  return days.join("; ") || t("station.habit.none");
}

/* A week as a picture: a row for each day, a field for each hour. */
export function Habit({ habit }: { habit: string }): JSX.Element {
  const known = [...habit].some((c) => c !== ".");
  if (!known) return <p class="quiet">{t("station.habit.unknown")}</p>;
  return (
    <figure>
      <figcaption>{t("station.habit")}</figcaption>
      <div class="habit" role="img" aria-label={`${t("station.habit")}: ${words(habit)}`}>
        {Array.from({ length: 7 }, (_, day) => [
          <b key={`d${day}`}>{dayName(day)}</b>,
          ...Array.from({ length: HOURS }, (_, h) => {
            const s = share(habit[day * HOURS + h]);
            return <i key={`${day} ${h}`} class={s === null ? "unknown" : ""} title={`${dayName(day)} ${h}–${h + 1}: ${s === null ? "?" : `${Math.round(100 * s)} %`}`} ref={(e) => e?.style.setProperty("--share", `${Math.round(100 * (s ?? 0))}%`)} />;
          }),
        ])}
        <b />
        {Array.from({ length: 8 }, (_, i) => (
          <small key={i}>{3 * i}</small>
        ))}
      </div>
    </figure>
  );
}

/* Nothing where there are none. */
export function Workstations({ nodes }: { nodes: Station[] }): JSX.Element | null {
  const all = nodes.filter((n): n is Station & { owner: Owner } => !!n.owner);
  if (!all.length) return null;
  const columns: Column<(typeof all)[number]>[] = [
    { head: t("nodes.name"), cell: (n) => <a href={`#/nodes/${encodeURIComponent(n.name)}`}>{n.name}</a> },
    { head: t("station.policy"), cell: (n) => n.workstation },
    {
      head: t("station.owner"),
      cell: (n) =>
        n.owner.claims ? (
          <>
            <span class="state state-H">{t("station.claimed")}</span> {n.owner.since ? <Instant at={n.owner.since} /> : null} <span class="quiet">{n.owner.why}</span>
          </>
        ) : (
          <span class="state state-ok">{t("station.free")}</span>
        ),
    },
    { head: t("station.given"), class: "n", cell: (n) => duration(n.owner.given) },
    { head: t("station.had"), class: "n", cell: (n) => duration(n.owner.claimed) },
    { head: t("station.stops"), class: "n", cell: (n) => number(n.owner.stops) },
    { head: t("station.left"), class: "n", cell: (n) => (n.owner.left ? t("station.left.lost", { n: number(n.owner.left), lost: duration(n.owner.lost) }) : 0) },
  ];
  return (
    <Card title={t("station.title")} aside={<span class="quiet">{t("station.sum", { n: all.filter((n) => n.owner.claims).length, all: all.length })}</span>}>
      <div class="scroll" tabIndex={0} role="region" aria-label={t("station.title")}>
        <Table rows={all} id={(n) => n.name} columns={columns} />
      </div>
    </Card>
  );
}
