/*
 * frames.mjs - how long the browser takes for a frame of a view: URL VIEW. Prints JSON, ms: p95 of the frames, the longest task by the clock and by the processor, the median of
 * drawing. Started by bench/page.
 */
import { chromium } from "playwright-core";

const [url, view] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
page.setDefaultTimeout(120000);
/* What the page itself does in a frame: on a machine that others use, frames are late for other reasons as well. */
await page.addInitScript(() => {
  const own = window.requestAnimationFrame.bind(window);
  window.spent = [];
  window.requestAnimationFrame = (f) =>
    own((t) => {
      const begin = performance.now();
      f(t);
      window.spent.push(performance.now() - begin);
    });
});
await page.goto(url);
await page.locator(".load").waitFor();
await page.evaluate((v) => (location.hash = v), view);
await page.locator(view === "#/plan" ? "canvas.plan" : "table.jobs tbody tr").first().waitFor();
await page.waitForTimeout(3000);
await page.evaluate(() => {
  window.tasks = [];
  window.spent = [];
  window.gaps = [];
  new PerformanceObserver((list) => list.getEntries().forEach((e) => window.tasks.push(e.duration))).observe({ type: "longtask" });
  let last = performance.now();
  const step = (now) => (window.gaps.push(now - last), (last = now), requestAnimationFrame(step));
  requestAnimationFrame(step);
});
await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline", "devtools.timeline", "toplevel"] });
if (view === "#/plan") {
  await page.locator("canvas.plan").focus();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press(i % 10 < 3 ? "+" : i % 10 < 8 ? "ArrowRight" : "-");
    await page.waitForTimeout(100);
  }
} else await page.waitForTimeout(10000);
/* What the page's main thread used for each task: not what it waited for others on this machine. */
const trace = JSON.parse((await browser.stopTracing()).toString()).traceEvents;
const mains = new Set(trace.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid} ${e.tid}`));
const used = trace.filter((e) => e.name.endsWith("RunTask") && e.tdur && mains.has(`${e.pid} ${e.tid}`)).map((e) => e.tdur / 1000);
const found = await page.evaluate(() => ({ gaps: window.gaps.sort((a, b) => a - b), tasks: window.tasks, spent: window.spent.filter((x) => x > 0.5).sort((a, b) => a - b) }));
console.log(JSON.stringify({ p95: found.gaps[Math.floor(found.gaps.length * 0.95)], longest: Math.max(0, ...found.tasks), used: used.reduce((a, b) => Math.max(a, b), 0), drawn: found.spent[Math.floor(found.spent.length / 2)] ?? 0 }));
await browser.close();
