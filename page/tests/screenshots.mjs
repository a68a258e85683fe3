/* screenshots.mjs - pictures of the page: URL DIRECTORY [ONLY]. Started by tools/screenshots, which has the server. */
import { chromium } from "playwright-core";

const [url, directory, only = ""] = process.argv.slice(2); /* only: the beginning of names */
const VIEWS = [
  ["overview", "#/", 1280, 860, "light"],
  ["job", "#/jobs/running", 1280, 1240, "light"],
  ["plan", "#/plan", 1280, 860, "light"],
  ["submit", "#/submit", 1280, 860, "light"],
  ["history", "#/history", 1280, 860, "light"],
  ["usage", "#/usage", 1280, 860, "light"],
  ["nodes", "#/nodes/n2", 1280, 860, "light"],
  ["simulation", "#/admin/simulation", 1280, 1000, "light"],
  ["kiosk", "#/kiosk", 1920, 1080, "dark"],
  ["jobs-dark", "#/jobs", 1280, 860, "dark"],
  ["plan-dark", "#/plan", 1280, 860, "dark"],
  ["overview-phone", "#/", 390, 844, "light"],
  ["job-phone", "#/jobs/running", 390, 844, "dark"],
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ locale: "en-GB" });
page.setDefaultTimeout(120000);
await page.goto(url);
await page.locator(".load").waitFor();
for (const [name, hash, width, height, colorScheme] of VIEWS.filter((v) => v[0].startsWith(only))) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await page.evaluate((h) => (location.hash = h), hash.replace("running", process.env.RUNNING));
  if (name.startsWith("submit")) {
    await page.getByLabel("Commands").fill("module load fenics\nmpirun ./wing --mesh fine.msh");
    await page.getByLabel("Name").fill("wing");
    await page.getByLabel("Nodes", { exact: true }).fill("2");
    await page.getByLabel("CPUs per node").fill("8");
    await page.locator(".forecast p:not(.empty)").waitFor();
  }
  if (name === "simulation") {
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.locator(".verdict").waitFor();
  }
  await page.waitForTimeout(1500); /* the newest data, and a drawn canvas */
  await page.screenshot({ path: `${directory}/${name}.png` });
}
await browser.close();
