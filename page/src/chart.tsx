/* chart.tsx - lines and bars over days (in UTC), drawn by uPlot; for those who don't see them, `label` says what they show. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  label: string;
  color: string; /* a name of style.css: "--accent" */
  values: (number | null)[];
  bars?: boolean;
}

export function Chart({ label, times, series, unit, height = 220 }: { label: string; times: number[]; series: Series[]; unit: string; height?: number }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
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
        scales: { y: { range: (_u, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
        axes: [axis, { ...axis, size: 56, values: (_u, all) => all.map((v) => `${v} ${unit}`) }],
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
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => plot.redraw();
    dark.addEventListener("change", redraw);
    return () => {
      dark.removeEventListener("change", redraw);
      watch.disconnect();
      plot.destroy();
    };
  }, [times, series, unit, height]);
  return <div class="chart" role="img" aria-label={label} ref={box} />;
}
