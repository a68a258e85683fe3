/* chart.tsx - lines and bars over time or over another number, drawn by uPlot; for those who don't see them, `label` says what they show. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clockText, dayText, duration } from "./format";

const DAY = 86400;
/* Seconds between two lines of a chart, of durations or instants. */
const SPANS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 30 * DAY, 100 * DAY];

export interface Series {
  label: string;
  color: string; /* a name of style.css: "--accent" */
  values: (number | null)[];
  bars?: boolean;
  dashed?: boolean;
}

/* What stands below: days in UTC, each of them a value; instants of the browser's time; or plain numbers. */
type Below = "days" | "instants" | "numbers";

/* A canvas does not follow the style sheet by itself. */
function useDark(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [dark, set] = useState(query.matches);
  useEffect(() => {
    const changed = () => set(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return dark;
}

function tick(below: Below, at: number, span: number, unit: string): string {
  if (below === "numbers") return `${at}${unit}`;
  return below === "days" ? dayText(at) : span > 2 * DAY ? dayText(at, false) : clockText(at, span < 600);
}

interface Props {
  label: string;
  times: number[];
  series: Series[];
  value: (v: number) => string; /* as it stands at the side */
  below?: Below;
  belowUnit?: string;
  height?: number;
}

export function Chart({ label, times, series, value, below = "days", belowUnit = "", height = 220 }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const said = useRef(value);
  said.current = value;
  useEffect(() => {
    const at = box.current!;
    const style = getComputedStyle(at);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, font: "12px system-ui" };
    const pad = below === "days" ? DAY / 2 : 0;
    const plot = new uPlot(
      {
        width: at.clientWidth,
        height,
        ...(below === "days" ? { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC") } : {}),
        legend: { live: false },
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: below !== "numbers", range: (_u, low, high) => [low - pad, (high > low ? high : low + 1) + pad] }, y: { range: (_u, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
        axes: [
          { ...axis, space: 70, ...(below === "instants" ? { incrs: SPANS } : {}), values: (_u, all) => all.map((x) => tick(below, x, times[times.length - 1] - times[0], belowUnit)) },
          { ...axis, size: 64, ...(said.current === duration ? { incrs: SPANS } : {}), values: (_u, all) => all.map((v) => said.current(v)) },
        ],
        series: [
          {},
          ...series.map((s) => ({
            label: s.label,
            stroke: color(s.color),
            fill: s.bars ? `color-mix(in srgb, ${color(s.color)} 45%, transparent)` : undefined,
            width: s.bars || s.dashed ? 1 : 2,
            dash: s.dashed ? [6, 4] : undefined,
            paths: s.bars ? uPlot.paths.bars!({ size: [0.7, 60] }) : undefined,
            points: { show: !s.bars && s.values.length < 40 && !s.dashed },
          })),
        ],
      },
      [times, ...series.map((s) => s.values)] as uPlot.AlignedData,
      at,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: at.clientWidth, height }));
    watch.observe(at);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [times, series, below, belowUnit, height, dark]);
  return <div class="chart" role="img" aria-label={label} ref={box} />;
}
