/*
 * screenshots.mjs - pictures of the page: URL DIRECTORY PHASE [ONLY]. Started by tools/screenshots, which has the server and brings it into each phase: empty, busy (some jobs and an
 * array have failed), down. In the last one this kills the server, whose process is SERVER, below the open page.
 */
import { chromium } from "playwright-core";

const [url, directory, phase, only = ""] = process.argv.slice(2); /* only: the beginning of names */
const wide = [1280, 860, "light"],
  dark = [1280, 860, "dark"],
  phone = [390, 844, "light"],
  night = [390, 844, "dark"];
const VIEWS = {
  empty: [
    ["overview-empty", "#/", ...wide],
    ["overview-empty-phone", "#/", ...phone],
    ["jobs-empty", "#/jobs", ...dark],
    ["plan-empty", "#/plan", ...wide],
  ],
  busy: [
    ["overview", "#/", ...wide],
    ["overview-dark", "#/", ...dark],
    ["overview-phone", "#/", ...phone],
    ["jobs", "#/jobs", ...wide],
    ["jobs-dark", "#/jobs", ...dark],
    ["jobs-phone", "#/jobs", ...phone],
    ["job", "#/jobs/RUNNING", 1280, 1240, "light"],
    ["job-phone", "#/jobs/RUNNING", ...night],
    ["shell", "#/shell/RUNNING", ...dark],
    ["job-waiting", "#/jobs/WAITING", ...wide],
    ["job-failed", "#/jobs/FAILED", ...wide],
    ["job-failed-dark", "#/jobs/FAILED", ...dark],
    ["array", "#/jobs/ARRAY", 1280, 1100, "light"],
    ["array-phone", "#/jobs/ARRAY", 390, 1240, "dark"],
    ["again", "#/submit/FAILED", ...wide],
    ["change", "#/change/WAITING", ...wide],
    ["submit", "#/submit", ...wide],
    ["submit-phone", "#/submit", ...phone],
    ["plan", "#/plan", ...wide],
    ["plan-dark", "#/plan", ...dark],
    ["history", "#/history", ...wide],
    ["usage", "#/usage", ...wide],
    ["nodes", "#/nodes/n2", ...wide],
    ["reservations", "#/admin/reservations", ...wide],
    ["simulation", "#/admin/simulation", 1280, 1000, "light"],
    ["kiosk", "#/kiosk", 1920, 1080, "dark"],
  ],
  down: [
    ["job-down", "#/jobs/RUNNING", ...dark],
    ["job-down-phone", "#/jobs/RUNNING", ...phone],
    ["overview-down", "#/", ...wide],
  ],
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ locale: "en-GB" });
page.setDefaultTimeout(120000);

async function go(hash) {
  await page.evaluate((h) => (location.hash = h), hash.replace(/[A-Z]{5,}/, (name) => encodeURIComponent(process.env[name])));
}

/* What a person would have done in a view before the picture. */
const deeds = {
  submit: async () => {
    await page.getByLabel("Commands").fill("module load fenics\nmpirun ./wing --mesh fine.msh");
    await page.getByLabel("Name").fill("wing");
    await page.getByLabel("Nodes", { exact: true }).fill("2");
    await page.getByLabel("CPUs per node").fill("8");
    await page.getByLabel("Time limit").fill("90m");
    await page.locator(".forecast p:not(.empty)").waitFor();
  },
  simulation: async () => {
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.locator(".verdict").waitFor();
  },
  shell: async () => {
    await page.getByLabel("What you type").focus();
    await page.keyboard.type("PS1='\\[\\033[1;32m\\]$PBS_JOBNAME\\[\\033[0m\\]$ '; clear\ntail -n 5 wing.o*; ls --color -ld state wing.o*\nuptime\n");
    await page.getByRole("log").getByText(/load average/).waitFor();
  },
  history: () => page.getByLabel("Name").fill("wing"),
  array: async () => {
    await page.getByLabel("Element", { exact: true }).fill("42");
    await page.getByRole("log").first().waitFor();
  },
};

await page.goto(url);
await page.locator(".load").waitFor();
for (const [name, hash, width, height, colorScheme] of VIEWS[phase].filter((v) => v[0].startsWith(only))) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await go(hash);
  if (name === "job-down") {
    await page.getByRole("log").first().waitFor(); /* the view is open when the server goes */
    process.kill(Number(process.env.SERVER), "SIGKILL");
    await page.locator(".lost").waitFor();
  }
  await deeds[name.split("-")[0]]?.();
  await page.waitForTimeout(1500); /* the newest data, and a drawn canvas */
  await page.screenshot({ path: `${directory}/${name}.png` });
}
await browser.close();
