/*
 * array.tsx - an array as a whole: a bar of its elements by state, a grid of them that can be filtered, the output of any one, and running again what failed. The grid is a canvas:
 * an array may have 100,000 elements.
 */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { post, type Job } from "./api";
import { durationParse, memoryParse, number } from "./format";
import { Outputs } from "./output";
import { Card, Confirm, jobLink, Problem, short, State, useLive, whyOf } from "./parts";
import { t } from "./text";

const STATES = ["succeeded", "failed", "running", "waiting", "held", "cancelled"] as const;
type ElementState = (typeof STATES)[number];
type Elements = Record<ElementState, string>; /* indices as "1-9,12" */

const COLOURS: Record<ElementState, string> = { succeeded: "--good", failed: "--bad", running: "--busy", waiting: "--wait", held: "--held", cancelled: "--line" };

interface Element_ {
  index: number;
  state: ElementState;
}

function expand(text: string): number[] {
  return text.split(",").flatMap((range) => {
    if (!range) return [];
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/* A cell's side in pixels: large enough to hit if they are few, small enough to see all if they are many. */
function sideFor(n: number): number {
  return n <= 200 ? 24 : n <= 1000 ? 16 : n <= 10000 ? 9 : 5;
}

function Grid({ elements, chosen, onChoose }: { elements: Element_[]; chosen: number | null; onChoose: (index: number) => void }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number | null>(null); /* position that is pointed at */
  const side = sideFor(elements.length);
  const columns = Math.max(1, Math.floor(width / side));
  const rows = width ? Math.ceil(elements.length / columns) : 0;
  useEffect(() => {
    const watch = new ResizeObserver(([e]) => setWidth(e.contentRect.width));
    watch.observe(canvas.current!.parentElement!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!width) return; /* a column of 100,000 is more than a canvas can have */
    const c = canvas.current!,
      ratio = side > 5 ? devicePixelRatio || 1 : 1,
      style = getComputedStyle(c),
      colours = Object.fromEntries(STATES.map((s) => [s, style.getPropertyValue(COLOURS[s]).trim()]));
    c.width = columns * side * ratio;
    c.height = rows * side * ratio;
    const g = c.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const gap = side > 8 ? 2 : 1;
    elements.forEach((e, i) => {
      g.fillStyle = colours[e.state];
      g.fillRect((i % columns) * side, Math.floor(i / columns) * side, side - gap, side - gap);
    });
  }, [elements, columns, side, !!width]);
  const marks = useMemo(() => [...new Set([elements.findIndex((e) => e.index === chosen), at ?? -1])].filter((i) => i >= 0), [elements, chosen, at]);
  const under = (e: MouseEvent): number | null => {
    const r = canvas.current!.getBoundingClientRect();
    const i = Math.floor((e.clientY - r.top) / side) * columns + Math.min(columns - 1, Math.floor((e.clientX - r.left) / side));
    return elements[i] ? i : null;
  };
  const step = (by: number) => setAt(Math.max(0, Math.min(elements.length - 1, (at ?? -Math.sign(by)) + by)));
  const keys: Record<string, () => void> = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    ArrowUp: () => step(-columns),
    ArrowDown: () => step(columns),
    Home: () => setAt(0),
    End: () => setAt(elements.length - 1),
    Enter: () => at !== null && onChoose(elements[at].index),
  };
  const pointed = at === null ? null : elements[at];
  return (
    <>
      <div class="grid">
        <canvas
          ref={canvas}
          style={{ width: `${columns * side}px`, height: `${rows * side}px` }}
          tabIndex={0}
          role="application"
          aria-label={t("array.grid")}
          aria-describedby="array-keys"
          onPointerMove={(e) => setAt(under(e))}
          onPointerLeave={() => setAt(null)}
          onClick={(e) => {
            const i = under(e);
            if (i !== null) onChoose(elements[i].index);
          }}
          onKeyDown={(e) => {
            const act = e.ctrlKey || e.metaKey || e.altKey ? undefined : keys[e.key];
            if (!act) return;
            e.preventDefault();
            act();
          }}
        />
        {marks.map((i) => (
          <i key={i} style={{ left: `${(i % columns) * side}px`, top: `${Math.floor(i / columns) * side}px`, width: `${side}px`, height: `${side}px` }} />
        ))}
      </div>
      <p class="quiet" role="status" id="array-keys">
        {pointed ? t("array.pointed", { index: pointed.index, state: t(`array.${pointed.state}`) }) : t("array.keys")}
      </p>
    </>
  );
}

/* One element: how it is, and what it writes. */
function Chosen({ id }: { id: string }): JSX.Element {
  const { data: job, error } = useLive<Job>(`/v1/jobs/${encodeURIComponent(id)}`, (c) => !!c.job && short(c.job) === id);
  return (
    <section aria-label={t("array.element", { id })}>
      <Problem error={error} />
      {job && (
        <>
          <p>
            <a href={jobLink(job.id)}>{t("array.element", { id })}</a> <State job={job} /> <span class="quiet">{whyOf(job)}</span>
          </p>
          <Outputs job={job} bare />
        </>
      )}
    </section>
  );
}

/* A new array of the elements that failed, perhaps with more time or memory. */
function Again({ job, n, onNo }: { job: Job; n: number; onNo: () => void }): JSX.Element {
  const [walltime, setWalltime] = useState("");
  const [memory, setMemory] = useState("");
  const [failure, setFailure] = useState<Error | null>(null);
  const wrong = walltime && !(durationParse(walltime) > 0) ? t("invalid.walltime") : memory && !(memoryParse(memory) > 0) ? t("invalid.memory") : null;
  const run = async () => {
    if (wrong) return;
    const resources = [...(walltime ? [`walltime=${walltime}`] : []), ...(memory ? [`mem=${memory}`] : [])];
    try {
      const made = await post<{ id: string }>(`/v1/jobs/${encodeURIComponent(short(job.id))}/again`, { only: "failed", ...(resources.length ? { resources } : {}) });
      location.hash = jobLink(made.id);
    } catch (e) {
      setFailure(e as Error);
    }
  };
  return (
    <Confirm title={t("array.again.title", { n: number(n) })} text={t("array.again.text")} action={t("array.again.do")} onYes={() => void run()} onNo={onNo}>
      <label>
        {t("field.walltime")} <input value={walltime} placeholder={t("array.again.same")} spellcheck={false} onInput={(e) => setWalltime(e.currentTarget.value)} />
      </label>
      <label>
        {t("submit.memory")} <input value={memory} placeholder={t("array.again.same")} spellcheck={false} onInput={(e) => setMemory(e.currentTarget.value)} />
      </label>
      {wrong && <p class="problem">{wrong}</p>}
      <Problem error={failure} />
    </Confirm>
  );
}

export function ArrayCard({ job }: { job: Job }): JSX.Element {
  const id = short(job.id);
  const base = id.split("[")[0];
  const { data, error } = useLive<Elements>(`/v1/jobs/${encodeURIComponent(id)}/elements`, (c) => !!c.job && short(c.job).startsWith(`${base}[`));
  const [filter, setFilter] = useState<ElementState | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const [asked, setAsked] = useState(false);
  const all = useMemo(() => STATES.flatMap((state) => expand(data?.[state] ?? "").map((index): Element_ => ({ index, state }))).sort((a, b) => a.index - b.index), [data]);
  const counts = useMemo(() => Object.fromEntries(STATES.map((s) => [s, all.filter((e) => e.state === s).length])) as Record<ElementState, number>, [all]);
  const shown = useMemo(() => (filter ? all.filter((e) => e.state === filter) : all), [all, filter]);
  const some = STATES.filter((s) => counts[s]);
  if (!data) return <Card title={t("array.title")} class="wide"><Problem error={error} /></Card>;
  return (
    <Card
      title={t("array.title")}
      class="wide"
      aside={
        counts.failed > 0 && (
          <button type="button" class="primary" onClick={() => setAsked(true)}>
            {t("array.again", { n: number(counts.failed) })}
          </button>
        )
      }
    >
      {asked && <Again job={job} n={counts.failed} onNo={() => setAsked(false)} />}
      <div class="bar" role="img" aria-label={some.map((s) => `${number(counts[s])} ${t(`array.${s}`)}`).join(", ")}>
        {some.map((s) => (
          <i key={s} class={`part-${s}`} style={{ flexGrow: counts[s] }} />
        ))}
      </div>
      <div class="actions legend" role="group" aria-label={t("array.filter")}>
        <button type="button" aria-pressed={!filter} onClick={() => setFilter(null)}>
          {t("array.all", { n: number(all.length) })}
        </button>
        {some.map((s) => (
          <button key={s} type="button" aria-pressed={filter === s} onClick={() => setFilter(filter === s ? null : s)}>
            <i class={`swatch part-${s}`} /> {number(counts[s])} {t(`array.${s}`)}
          </button>
        ))}
        <label>
          {t("array.number")}{" "}
          <input
            type="number"
            value={chosen ?? ""}
            onInput={(e) => {
              const n = e.currentTarget.valueAsNumber;
              setChosen(all.some((x) => x.index === n) ? n : null);
            }}
          />
        </label>
      </div>
      <Grid elements={shown} chosen={chosen} onChoose={setChosen} />
      {chosen !== null && <Chosen key={chosen} id={`${base}[${chosen}]`} />}
    </Card>
  );
}
