/*
 * plan.tsx - the plan as a picture: nodes from top to bottom, time from left to right. A canvas: thousands of elements would be slow, and only what
 * is in the window is drawn. A table has the same for those who can't see it.
 */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { duration, instant } from "./format";
import { Instant, jobLink, Problem, short, useLive } from "./parts";
import { hueOf, layOut, near, span, tick, type Placed, type Plan, type PlanNode } from "./planlayout";
import { t, type Sentence } from "./text";

const LEFT = 110; /* names of nodes */
const TOP = 26; /* times */
const LISTED = 100;

interface Window {
  from: number; /* instants */
  to: number;
  y: number; /* pixels that are scrolled away */
  row: number; /* height of a node */
}

class Picture {
  readonly rows: Placed[][];
  readonly hues = new Map<string, number>(); /* of owners and names */
  constructor(
    readonly plan: Plan,
    readonly dark: boolean,
  ) {
    this.rows = layOut(plan);
  }

  box(p: Placed, w: Window, width: number): [number, number, number, number] {
    const scale = (width - LEFT) / (w.to - w.from);
    const lane = (w.row - (w.row > 8 ? 4 : 1)) / this.plan.nodes[p.row].cpus;
    const x = Math.max(LEFT, LEFT + (p.piece.start - w.from) * scale);
    const end = LEFT + (p.piece.end - w.from) * scale;
    return [x, TOP + p.row * w.row - w.y + (w.row > 8 ? 2 : 0) + p.cpu * lane, Math.max(1.5, end - x), Math.max(1.5, p.piece.cpus * lane - 1)];
  }

  visible(w: Window, height: number): Placed[] {
    const first = Math.max(0, Math.floor(w.y / w.row)),
      last = Math.min(this.rows.length, Math.ceil((w.y + height - TOP) / w.row));
    return this.rows.slice(first, last).flatMap((row) => row.filter((p) => p.piece.end > w.from && p.piece.start < w.to));
  }

  at(w: Window, width: number, height: number, x: number, y: number): Placed | null {
    if (x < LEFT || y < TOP) return null;
    return (
      this.visible(w, height).find((p) => {
        const [bx, by, bw, bh] = this.box(p, w, width);
        return x >= bx && x <= bx + bw && y >= by && y <= by + bh;
      }) ?? null
    );
  }

  draw(c: CanvasRenderingContext2D, w: Window, width: number, height: number, chosen: Placed | null): void {
    const ink = this.dark ? "#e7ece9" : "#1c2420",
      line = this.dark ? "#333c37" : "#d9ddd8",
      quiet = this.dark ? "#a3b0a9" : "#55605a";
    c.clearRect(0, 0, width, height);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    const scale = (width - LEFT) / (w.to - w.from),
      step = tick(w.to - w.from, (width - LEFT) / 90);
    const zone = new Date(w.from * 1000).getTimezoneOffset() * 60;
    for (let at = Math.ceil((w.from - zone) / step) * step + zone; at < w.to; at += step) {
      const x = LEFT + (at - w.from) * scale;
      c.fillStyle = line;
      c.fillRect(x, TOP, 1, height - TOP);
      c.fillStyle = quiet;
      if (x < width - 60) c.fillText(instant(at), x + 3, TOP / 2);
    }
    c.save();
    c.beginPath();
    c.rect(0, TOP, width, height - TOP);
    c.clip();
    const first = Math.max(0, Math.floor(w.y / w.row)),
      last = Math.min(this.plan.nodes.length, Math.ceil((w.y + height - TOP) / w.row));
    for (let i = first; i < last; i++) {
      const node = this.plan.nodes[i],
        y = TOP + i * w.row - w.y;
      c.fillStyle = line;
      if (i && node.partition !== this.plan.nodes[i - 1].partition) c.fillRect(0, y - 1, width, 2);
      else if (w.row > 6) c.fillRect(LEFT, y, width, 1);
      for (const r of node.reservations ?? []) {
        const x = Math.max(LEFT, LEFT + (r.start - w.from) * scale);
        c.fillStyle = this.dark ? "#ffffff18" : "#00000014";
        c.fillRect(x, y, LEFT + ((r.end ?? w.to) - w.from) * scale - x, w.row);
      }
      if (w.row >= 14) {
        c.fillStyle = node.up ? ink : quiet;
        c.fillText(node.name.length > 15 ? `${node.name.slice(0, 14)}…` : node.name, 4, y + w.row / 2, LEFT - 10);
      }
    }
    for (const p of this.visible(w, height)) this.piece(c, p, w, width, chosen);
    const now = LEFT + (this.plan.now - w.from) * scale;
    if (now > LEFT) {
      c.fillStyle = this.dark ? "#ff9a92" : "#a8261f";
      c.fillRect(now, TOP, 2, height);
    }
    c.restore();
  }

  piece(c: CanvasRenderingContext2D, p: Placed, w: Window, width: number, chosen: Placed | null): void {
    const [x, y, bw, bh] = this.box(p, w, width);
    const key = `${p.piece.owner}${p.piece.name}`;
    if (!this.hues.has(key)) this.hues.set(key, hueOf(key));
    const h = this.hues.get(key)!,
      solid = p.piece.state === "running",
      expected = p.piece.state === "expected";
    const light = this.dark ? (solid ? 38 : 24) : solid ? 72 : 88;
    c.fillStyle = p.piece.owner ? `hsl(${h} 45% ${light}%)` : this.dark ? "#444" : "#ccc";
    c.fillRect(x, y, bw, bh);
    if ((bh > 4 && bw > 4) || p === chosen) {
      c.strokeStyle = `hsl(${h} 45% ${this.dark ? 62 : 38}%)`;
      c.lineWidth = p === chosen ? 3 : p.piece.state === "guaranteed" ? 2 : 1;
      c.setLineDash(expected ? [4, 3] : []);
      c.strokeRect(x + 0.5, y + 0.5, bw - 1, bh - 1);
      c.setLineDash([]);
    }
    if (bh > 13 && bw > 44 && p.piece.name) {
      const most = Math.floor((bw - 8) / 7); /* a clip for each of thousands would cost more than the letters */
      c.fillStyle = this.dark ? "#f4f7f5" : "#16201b";
      c.fillText(p.piece.name.length > most ? `${p.piece.name.slice(0, most - 1)}…` : p.piece.name, x + 5, y + Math.min(bh / 2, 12), bw - 8);
    }
    if (p.piece.deadline && p.piece.deadline > w.from && p.piece.deadline < w.to) {
      const at = LEFT + ((p.piece.deadline - w.from) * (width - LEFT)) / (w.to - w.from);
      c.fillStyle = this.dark ? "#e6bd6a" : "#7a5200";
      c.fillRect(at, y, 2, Math.max(bh, 4));
    }
  }
}

function describe(p: Placed): string {
  const x = p.piece;
  return t("plan.piece", {
    name: x.name ?? t("plan.hidden"),
    id: x.job ? short(x.job) : "",
    owner: x.owner ?? "",
    state: t(`plan.${x.state}` as Sentence),
    cpus: x.cpus,
    node: x.node,
    from: instant(x.start),
    to: instant(x.end),
    span: duration(x.end - x.start),
  });
}

/* A part of the plan that was marked: nodes over a time. */
interface Marked {
  nodes: PlanNode[];
  from: number;
  to: number;
}

const STEP = 300; /* seconds to which marked times are rounded */

/* What can be done with it: a reservation, or a job of that size to see when it would run. */
function MarkedLinks({ marked: m, manager }: { marked: Marked; manager: boolean }): JSX.Element {
  const names = m.nodes.map((n) => n.name).join(",");
  return (
    <>
      {t("plan.marked", { nodes: names, from: instant(m.from), to: instant(m.to) })}{" "}
      {manager && <a href={`#/reserve/${encodeURIComponent(names)}/${m.from}/${m.to}`}>{t("plan.reserve")}</a>}{" "}
      <a href={`#/try/${m.nodes.length}/${Math.min(...m.nodes.map((n) => n.cpus))}/${m.to - m.from}/${m.from}`}>{t("plan.try")}</a>
    </>
  );
}

function Canvas({ picture, manager }: { picture: Picture; manager: boolean }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useRef({ width: 800, height: 400 });
  const [window_, setWindow] = useState<Window | null>(null);
  const [chosen, setChosen] = useState<Placed | null>(null);
  const drag = useRef<{ x: number; y: number; w: Window; moved: boolean; marks: boolean } | null>(null);
  const [marked, setMarked] = useState<(Marked & { box: { left: string; top: string; width: string; height: string } }) | null>(null);
  const nodes = picture.plan.nodes.length;
  const initial = (times = near): Window => {
    const [from, to] = times(picture.plan);
    return { from, to, y: 0, row: Math.max(3, Math.min(120, Math.floor((size.current.height - TOP) / Math.max(1, nodes)))) };
  };
  const w = window_ ?? initial();
  const bounded = (n: Window): Window => ({ ...n, y: Math.max(0, Math.min(n.y, Math.max(0, nodes * n.row - size.current.height + TOP))) });
  const move = (n: Window) => setWindow(bounded(n));
  const zoom = (factor: number, x = size.current.width / 2) => {
    const at = w.from + ((x - LEFT) / (size.current.width - LEFT)) * (w.to - w.from);
    const length = (w.to - w.from) * factor;
    if (length < 20 || length > 400 * 86400) return;
    move({ ...w, from: at - (at - w.from) * factor, to: at + (w.to - at) * factor });
  };
  const shift = (part: number) => move({ ...w, from: w.from + (w.to - w.from) * part, to: w.to + (w.to - w.from) * part });

  useEffect(() => {
    const c = canvas.current!;
    let frame = 0;
    const draw = () => {
      const ratio = devicePixelRatio || 1;
      const { width, height } = c.getBoundingClientRect();
      size.current = { width, height };
      if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
        c.width = Math.round(width * ratio);
        c.height = Math.round(height * ratio);
      }
      const g = c.getContext("2d")!;
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      picture.draw(g, window_ ? w : initial(), width, height, chosen);
    };
    const soon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(draw);
    };
    soon();
    const watch = new ResizeObserver(soon);
    watch.observe(c);
    return () => {
      cancelAnimationFrame(frame);
      watch.disconnect();
    };
  }, [picture, window_, chosen]);

  const where = (e: MouseEvent): [number, number] => {
    const r = canvas.current!.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  };
  /* The rectangle between two points, in whole nodes and five minutes. */
  const mark = (x0: number, y0: number, x1: number, y1: number) => {
    const scale = (w.to - w.from) / (size.current.width - LEFT);
    const time = (x: number) => Math.round((w.from + (x - LEFT) * scale) / STEP) * STEP;
    const row = (y: number) => Math.max(0, Math.min(nodes - 1, Math.floor((y - TOP + w.y) / w.row)));
    const from = Math.max(Math.ceil(picture.plan.now / STEP) * STEP, time(Math.min(x0, x1))),
      to = Math.max(from + STEP, time(Math.max(x0, x1)));
    const first = row(Math.min(y0, y1)),
      last = row(Math.max(y0, y1));
    const px = (n: number) => `${n}px`;
    const box = { left: px(LEFT + (from - w.from) / scale), top: px(TOP + first * w.row - w.y), width: px((to - from) / scale), height: px((last - first + 1) * w.row) };
    setMarked({ nodes: picture.plan.nodes.slice(first, last + 1), from, to, box });
  };
  const step = (by: number) => {
    const all = picture.rows.flat().sort((a, b) => a.piece.start - b.piece.start || a.row - b.row);
    const i = chosen ? all.findIndex((p) => p.piece.job === chosen.piece.job && p.row === chosen.row) : by > 0 ? -1 : 0;
    setChosen(all.length ? all[(i + by + all.length) % all.length] : null);
  };
  const open = (p: Placed | null) => {
    if (p?.piece.job) location.hash = jobLink(p.piece.job);
  };
  const keys: Record<string, () => void> = {
    ArrowLeft: () => shift(-0.15),
    ArrowRight: () => shift(0.15),
    ArrowUp: () => move({ ...w, y: w.y - 3 * w.row }),
    ArrowDown: () => move({ ...w, y: w.y + 3 * w.row }),
    "+": () => zoom(0.7),
    "=": () => zoom(0.7),
    "-": () => zoom(1.4),
    Home: () => setWindow(initial(span)),
    n: () => step(1),
    p: () => step(-1),
    Enter: () => open(chosen),
  };
  return (
    <>
      <div class="planned">
        <canvas
          ref={canvas}
          class="plan"
          tabIndex={0}
          role="application"
          aria-label={t("plan.title")}
          aria-describedby="plan-keys"
          onKeyDown={(e) => {
            const act = e.ctrlKey || e.metaKey || e.altKey ? undefined : keys[e.key];
            if (!act) return;
            e.preventDefault();
            act();
          }}
          onWheel={(e) => {
            e.preventDefault();
            if (e.ctrlKey || e.metaKey) zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, where(e)[0]);
            else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) shift((e.deltaX || e.deltaY) / 1500);
            else move({ ...w, y: w.y + e.deltaY });
          }}
          onPointerDown={(e) => {
            const [x, y] = where(e);
            drag.current = { x, y, w, moved: false, marks: e.shiftKey };
            setMarked(null);
            e.currentTarget.setPointerCapture(e.pointerId);
          }}
          onPointerMove={(e) => {
            const [x, y] = where(e),
              d = drag.current;
            if (!d) {
              setChosen(picture.at(w, size.current.width, size.current.height, x, y));
              return;
            }
            if (Math.abs(x - d.x) + Math.abs(y - d.y) > 4) d.moved = true;
            if (!d.moved) return;
            if (d.marks) {
              mark(d.x, d.y, x, y);
              return;
            }
            const by = ((d.x - x) / (size.current.width - LEFT)) * (d.w.to - d.w.from);
            move({ ...d.w, from: d.w.from + by, to: d.w.to + by, y: d.w.y + d.y - y });
          }}
          onPointerUp={(e) => {
            const d = drag.current;
            drag.current = null;
            if (d && !d.moved) open(picture.at(w, size.current.width, size.current.height, ...where(e)));
          }}
        />
        {marked && <i style={marked.box} />}
      </div>
      <p class="described" role="status">
        {marked ? <MarkedLinks marked={marked} manager={manager} /> : chosen ? describe(chosen) : <span class="quiet">{t("plan.hint")}</span>}
      </p>
      <div class="actions">
        <button type="button" onClick={() => zoom(0.7)}>
          {t("plan.in")}
        </button>
        <button type="button" onClick={() => zoom(1.4)}>
          {t("plan.out")}
        </button>
        <button type="button" onClick={() => setWindow(null)}>
          {t("plan.near")}
        </button>
        <button type="button" onClick={() => setWindow(initial(span))}>
          {t("plan.all")}
        </button>
        <span class="quiet" id="plan-keys">
          {t("plan.keys")}
        </span>
      </div>
    </>
  );
}

function Table({ plan }: { plan: Plan }): JSX.Element {
  const first = useMemo(() => [...plan.pieces].sort((a, b) => a.start - b.start).slice(0, LISTED), [plan]);
  return (
    <details>
      <summary>{t("plan.table")}</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={t("plan.table")}>
        <table>
          <thead>
            <tr>
              {(["col.name", "col.owner", "col.state", "plan.node", "col.cpus", "plan.from", "plan.to"] as Sentence[]).map((c) => (
                <th key={c} scope="col">
                  {t(c)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first.map((p, i) => (
              <tr key={i}>
                <td>{p.job ? <a href={jobLink(p.job)}>{p.name}</a> : t("plan.hidden")}</td>
                <td>{p.owner}</td>
                <td>{t(`plan.${p.state}` as Sentence)}</td>
                <td>{p.node}</td>
                <td>{p.cpus}</td>
                <td>
                  <Instant at={p.start} />
                </td>
                <td>
                  <Instant at={p.end} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

export function PlanView({ manager }: { manager: boolean }): JSX.Element {
  const { data, error } = useLive<Plan>("/v1/plan", () => true);
  const [dark, setDark] = useState(matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)"),
      changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  const picture = useMemo(() => (data ? new Picture(data, dark) : null), [data, dark]);
  return (
    <main id="content" tabIndex={-1}>
      <h1>{t("plan.title")}</h1>
      <Problem error={error} />
      {picture ? (
        <>
          <Canvas picture={picture} manager={manager} />
          <p class="legend quiet">{t("plan.legend")}</p>
          <Table plan={picture.plan} />
        </>
      ) : (
        <p class="empty">{t("loading")}</p>
      )}
    </main>
  );
}
