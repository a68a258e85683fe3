/* frames.mjs - how long the browser takes for a frame of a view: URL VIEW. Prints JSON, ms: p95 of the frames, the longest task, the median of drawing. Started by bench/page. */
import { chromium } from "playwright-core";

const [url, view] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
page.setDefaultTimeout(120000);
/* A full machine: 1,000 nodes with ten pieces each. */
const CPUS = 16,
  now = Math.floor(Date.now() / 1000);
const nodes = Array.from({ length: 1000 }, (_, i) => ({ name: `n${i + 1}`, cpus: CPUS, up: true }));
const pieces = nodes.flatMap((n, i) =>
  Array.from({ length: 10 }, (_, k) => ({ job: `${i * 10 + k + 1}.bench`, name: `job${(i * 7 + k) % 977}`, owner: `user${(i + k) % 20}`, node: n.name, cpus: 8, start: now + (k >> 1) * 3600 - 600, end: now + (k >> 1) * 3600 + 2900, state: k < 2 ? "running" : k < 6 ? "reserved" : "expected" })),
);
if (view === "#/plan") await page.route("**/v1/plan", (r) => r.fulfill({ json: { now, nodes, pieces, foreseen: now } }));
/* What the page itself does in a frame: on a machine that others use, frames are late for other reasons, too. */
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
if (view === "#/plan") {
  await page.locator("canvas.plan").focus();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press(i % 10 < 3 ? "+" : i % 10 < 8 ? "ArrowRight" : "-");
    await page.waitForTimeout(100);
  }
} else await page.waitForTimeout(10000);
const found = await page.evaluate(() => ({ gaps: window.gaps.sort((a, b) => a - b), tasks: window.tasks, spent: window.spent.filter((x) => x > 0.5).sort((a, b) => a - b) }));
console.log(JSON.stringify({ p95: found.gaps[Math.floor(found.gaps.length * 0.95)], longest: Math.max(0, ...found.tasks), drawn: found.spent[Math.floor(found.spent.length / 2)] ?? 0 }));
await browser.close();
