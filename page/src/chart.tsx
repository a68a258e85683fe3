/* chart.tsx - lines and bars over days (in UTC), drawn by uPlot; for those who don't see them, `label` says what they show. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { dayText } from "./format";

const DAY = 86400;

export interface Series {
  label: string;
  color: string; /* a name of style.css: "--accent" */
  values: (number | null)[];
  bars?: boolean;
}

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

export function Chart({ label, times, series, unit, height = 220 }: { label: string; times: number[]; series: Series[]; unit: string; height?: number }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const dark = useDark();
  useEffect(() => {
    const at = box.current!;
    const style = getComputedStyle(at);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, font: "12px system-ui" };
    const plot = new uPlot(
      {
        width: at.clientWidth,
        height,
        tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
        legend: { live: false },
        scales: { x: { range: (_u, low, high) => [low - DAY / 2, high + DAY / 2] }, y: { range: (_u, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
        axes: [{ ...axis, values: (_u, all) => all.map((at) => dayText(at)) }, { ...axis, size: 56, values: (_u, all) => all.map((v) => `${v} ${unit}`) }],
        series: [
          {},
          ...series.map((s) => ({
            label: s.label,
            stroke: color(s.color),
            fill: s.bars ? `color-mix(in srgb, ${color(s.color)} 45%, transparent)` : undefined,
            width: s.bars ? 1 : 2,
            paths: s.bars ? uPlot.paths.bars!({ size: [0.7, 60] }) : undefined,
            points: { show: !s.bars },
            value: (_u: uPlot, v: number | null) => (v === null ? "" : `${v.toFixed(1)} ${unit}`),
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
  }, [times, series, unit, height, dark]);
  return <div class="chart" role="img" aria-label={label} ref={box} />;
}
