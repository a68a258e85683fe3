/*
 * browser.mjs - drives the page in Chromium. Started by tests/scenario/browser, which has the server: a line "do WORD" on standard output asks it for
 * something, and it answers with a line; "ok NAME" and "not ok NAME: WHY" are results.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const url = process.argv[2];
const origin = new URL(url).origin;
const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function ok(name, good, why = "") {
  console.log(good ? `ok ${name}` : `not ok ${name}: ${String(why).replaceAll("\n", " ").slice(0, 900)}`);
}

async function ask(word) {
  console.log(`do ${word}`);
  return (await answers.next()).value;
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, colorScheme: "light", ignoreHTTPSErrors: true });
context.setDefaultTimeout(Number(process.env.PATIENCE ?? 120000));
await context.grantPermissions(["notifications"]);
const page = await context.newPage();
/* Notifications that the page made. */
await page.addInitScript(() => {
  window.notes = [];
  window.Notification = class extends Notification {
    constructor(title, more) {
      super(title, more);
      window.notes.push(title);
    }
  };
});
/* What moves on the page without having been touched. */
await page.addInitScript(() => {
  window.shifts = [];
  const add = (e) => e.hadRecentInput || window.shifts.push({ value: e.value, what: e.sources.map((s) => s.node?.className ?? s.node?.nodeName).join(" ") });
  new PerformanceObserver((list) => list.getEntries().forEach(add)).observe({ type: "layout-shift", buffered: true });
});
const strangers = [],
  faults = [];
let down = false;
page.on("request", (r) => new URL(r.url()).origin === origin || strangers.push(r.url()));
page.on("pageerror", (e) => faults.push(e.stack ?? e.message));
/* That there is no output, or no samples of a job that is over, is an answer. */
const answered = (m) => /\b404\b/.test(m.text()) && /\/(usage|output)\?/.test(m.location().url);
page.on("console", (m) => m.type() === "error" && !down && !answered(m) && faults.push(`${m.text()} ${m.location().url}`));

async function accessible(name, p = page) {
  await p.evaluate(axe);
  const found = await p.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const bad = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  ok(`axe finds nothing serious: ${name}`, bad.length === 0, bad.map((v) => `${v.id}: ${v.nodes[0].html}`).join("; "));
}

async function fits(name) {
  const [wide, room, what] = await page.evaluate(() => {
    const scrolls = (e) => e && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
    const out = [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > window.innerWidth && !scrolls(e.parentElement));
    return [document.documentElement.scrollWidth, window.innerWidth, out.at(-1)?.outerHTML];
  });
  ok(`nothing sticks out on a phone: ${name}`, wide <= room, `${wide} > ${room}: ${what}`);
}

async function go(hash, heading) {
  await page.evaluate((h) => (location.hash = h), hash);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

async function signIn() {
  await page.goto(url);
  await page.getByText("You have no jobs yet.").waitFor();
  ok("the link signs in, and its key is out of the address", !page.url().includes("key="), page.url());
  await page.keyboard.press("Tab");
  ok("the first stop of the keyboard skips the head", (await page.evaluate(() => document.activeElement.className)) === "skip");
  await accessible("overview");
}

/* From the link to a finished job, by the form alone. */
async function firstJob() {
  await page.getByRole("link", { name: "Submit your first job" }).click();
  await page.getByLabel("Name").fill("no good");
  await page.getByText("A name can't contain blanks").waitFor();
  await page.getByLabel("Name").fill("first");
  await page.getByLabel("Commands").fill(`echo "<img src=x onerror=document.title='hacked'>"\nwhile [ ! -e "${process.env.MARK}" ]; do sleep 0.2; done\necho "the ${"end"}"`);
  await page.getByText("It would start at once.").waitFor();
  const hint = async (label, text, name) => {
    await page.getByLabel(label).fill(text);
    return (await page.locator(`#${name}-hint`).textContent()) ?? "";
  };
  const meant = [await hint("Time limit", "1:30", "walltime"), await hint("Time limit", "90m", "walltime"), await hint("Memory", "4g", "memory")];
  ok("what qsub accepts is accepted, and shown as what it means", meant.join() === "= 1 min 30 s,= 1 h 30 min,= 4 GB", meant.join());
  await page.getByLabel("Memory").fill("");
  await page.getByLabel("Time limit").fill("1:00:00");
  await page.getByText("It would start at once.").waitFor();
  ok("the form writes the script", (await page.getByLabel("The script").last().textContent()).includes("#PBS -N first\n"));
  await accessible("submit");
  await page.getByText("More options").click();
  await page.getByRole("group", { name: "Files" }).getByLabel("Join output and errors").selectOption("both into the output file");
  await page.getByLabel("held until it is released").check();
  await page.getByText("Its start can't be foreseen: it would be held").waitFor();
  ok("a held job's forecast says that it has none", true);
  await page.getByLabel("held until it is released").uncheck();
  await page.getByLabel("Directory", { exact: true }).fill(process.env.WORK); // not the home, which other runs share
  await page.getByLabel("Comment").fill("by the form");
  await page.getByRole("button", { name: /^Keep as template/ }).click();
  await page.getByRole("button", { name: 'Remove template "first"' }).waitFor();
  const written = await page.getByLabel("The script").last().textContent();
  ok("rarer options are in the script, and the form is kept as a template", /#PBS -j oe\n#PBS --comment "by the form"\n/.test(written), written);
  await page.getByLabel("Nodes", { exact: true }).fill("99");
  await page.locator(".forecast .problem").waitFor();
  ok("what can't be is said before it is submitted", true);
  await page.getByLabel("Nodes", { exact: true }).fill("1");
  await page.getByText("It would start at once.").waitFor();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: /^first/ }).waitFor();
  await page.locator(".now .state-R").waitFor();
  const output = page.getByRole("log");
  await output.getByText("<img src=x").waitFor();
  ok("markup in output is text", (await page.locator(".output img").count()) === 0 && /^first 1: running/.test(await page.title()), await page.title());
  await page.locator(".pair .chart canvas").nth(1).waitFor();
  ok("what the job requested and uses, as charts that grow", (await page.getByText("Memory, at most").count()) === 1);
  await accessible("a running job");
  await ask("mark");
  await output.getByText("the end").waitFor();
  await page.locator(".now .state-ok").waitFor();
  ok("its end shows by itself", true);
  const shifts = await page.evaluate(() => window.shifts);
  ok("little has moved by itself from the link to the end of the first job", shifts.reduce((sum, s) => sum + s.value, 0) < 0.1, JSON.stringify(shifts));
  ok("the timeline", (await page.locator(".timeline").textContent()).includes("submitted"));
}

/* What the form has kept, submitted under another name. */
async function templates() {
  await go("#/submit", "Submit a job");
  await page.getByLabel("Template").selectOption("first: by the form");
  await page.getByRole("heading", { level: 1, name: "Submit template first" }).waitFor();
  ok("a template opens with what was kept", (await page.getByLabel("Script").inputValue()).includes("the end") && (await page.getByLabel("Comment").inputValue()) === "by the form");
  await accessible("a template");
  await page.getByLabel("Name", { exact: true }).fill("kept");
  await page.getByLabel("for everybody").check();
  await page.getByRole("button", { name: 'Keep as template "kept"' }).click();
  await page.getByRole("button", { name: 'Remove template "kept"' }).waitFor();
  const all = await page.getByLabel("Template").locator("option").allTextContents();
  ok("it is kept under another name, for everybody", all.includes("kept (of the site): by the form") && all.includes("first: by the form"), all.join());
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: /^kept/ }).waitFor();
  await page.locator(".now .state-ok").waitFor();
  ok("and submitted", true);
}

/* How jobs ended, in the same words at the top of their view and in lists. */
async function ended() {
  await go("#/", /./);
  await page.getByRole("button", { name: "Notify me when they end" }).click();
  await page.getByRole("button", { name: "Notifications are on" }).waitFor();
  const [failed, gone] = JSON.parse(await ask("ended"));
  await page.waitForFunction((id) => window.notes.includes(`broken ${id}: failed (9)`), failed);
  ok("the end of one's own job is notified", true);
  await page.keyboard.press("Control+k");
  await accessible("palette");
  await page.getByRole("option", { name: /broken/ }).waitFor();
  await page.keyboard.type("brok");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: /^broken/ }).waitFor();
  ok("Ctrl+K finds a job by its name", true);
  await go(`#/jobs/${failed}`, /^broken/);
  await page.getByRole("heading", { level: 1 }).getByText("failed (9)").waitFor();
  await page.getByRole("log", { name: "Errors" }).getByText("the reason").waitFor();
  ok("a failed job says so at the top, and shows its errors beside its output", (await page.getByRole("log", { name: "Output" }).textContent()) === "100%\nred\n");
  ok("colours and progress bars are shown as a terminal shows them", (await page.locator(".output .fg1").textContent()) === "red");
  await accessible("a failed job");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download the errors" }).click();
  ok("output is downloaded", (await saved).suggestedFilename() === `broken.e${failed}`);
  await page.route(`**/v1/jobs/${failed}`, async (route) => {
    const job = await (await route.fetch()).json();
    await route.fulfill({ json: { ...job, cause: "memory", exit_status: 265 } });
  });
  await go(`#/jobs/${gone}`, /^unwanted/);
  await page.getByRole("heading", { level: 1 }).getByText("cancelled").waitFor();
  ok("a cancelled job says why it has no output", (await page.getByText("The job never ran, so it wrote nothing.").count()) === 1 && (await page.getByText("Output appears here").count()) === 0);
  await go(`#/jobs/${failed}`, /^broken/);
  await page.getByRole("heading", { level: 1 }).getByText("killed (memory)").waitFor();
  await page.unrouteAll({ behavior: "wait" });
  await go("#/jobs", "Jobs");
  await page.getByLabel("State").selectOption("ended");
  for (const where of ["#/jobs", "#/history"]) {
    await page.evaluate((h) => (location.hash = h), where);
    await page.getByRole("row", { name: /broken.*failed \(9\)/ }).waitFor();
    await page.getByRole("row", { name: /unwanted.*cancelled/ }).waitFor();
  }
  await go("#/", /./);
  await page.getByRole("listitem").filter({ hasText: /broken.*failed \(9\)/ }).waitFor();
  ok("lists use the same words", true);
}

/* An array of which two elements fail: what it shows, and those two again in two clicks. */
async function array() {
  const id = await ask("array");
  await go(`#/jobs/${encodeURIComponent(id)}`, /^grid/);
  await page.getByRole("heading", { level: 1 }).getByText("2 of 6 failed").waitFor();
  await page.getByRole("img", { name: "4 succeeded, 2 failed" }).waitFor();
  await page.getByRole("button", { name: "2 failed", exact: true }).click();
  const grid = page.getByRole("application", { name: "Elements by state" });
  await grid.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.getByText("Element 4: failed").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("log", { name: "Output" }).getByText("element 4").waitFor();
  await page.getByLabel("Element", { exact: true }).fill("2");
  await page.getByRole("log", { name: "Output" }).getByText("element 2").waitFor();
  ok("an array shows its elements by state, and the output of any", true);
  await accessible("an array");
  await page.getByRole("button", { name: "Run the 2 failed again …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((u) => u.hash.startsWith("#/jobs/") && !u.hash.includes(encodeURIComponent(id)));
  await page.getByRole("heading", { level: 1 }).getByText("2 of 2 failed").waitFor();
  await page.route("**/elements", (route) => route.fulfill({ json: { waiting: "", held: "", running: "", succeeded: "200-99999", failed: "0-199", cancelled: "" } }));
  await go(`#/jobs/${encodeURIComponent(id)}`, /^grid/);
  await page.getByRole("button", { name: "all 100,000" }).waitFor();
  const [bad, good] = await grid.evaluate((c) => [0, c.height - 5].map((y) => [...c.getContext("2d").getImageData(1, y, 1, 1).data]));
  ok("100,000 elements are drawn, the failed ones in their colour", bad[0] > bad[1] && good[1] > good[0] && bad[3] === 255, JSON.stringify([bad, good]));
  await page.unrouteAll({ behavior: "wait" });
  await page.goBack();
  await page.getByText("all 2").waitFor();
  ok("what failed runs again by two clicks", (await page.getByText("all 2").count()) === 1);
}

async function list() {
  await go("#/jobs", "Jobs");
  await page.getByText("No job matches.").waitFor();
  const names = JSON.parse(await ask("jobs"));
  for (const name of names) await page.getByRole("link", { name, exact: true }).waitFor();
  ok("jobs appear as they are submitted", true);
  ok("markup in a name is text", (await page.locator("td b").count()) === 0);
  const wide = page.getByRole("row", { name: /wide/ });
  await wide.getByText(/needs|waits/).waitFor();
  ok("a waiting job says why", true);
  const bag = page.getByRole("row", { name: /sb0123abcd.*1,034 of 6,000/ });
  await bag.waitFor();
  ok("a bag shows its tasks, their rate and its end", /17\s+7\s+9\.5\s+\d/.test(await bag.innerText()));
  await page.getByRole("region", { name: "Bags of tasks" }).getByRole("button", { name: "sb0123abcd" }).click();
  await page.getByText("1 of 1 jobs").waitFor();
  ok("a bag is one row, which shows its jobs", true);
  await page.getByRole("searchbox").fill("");
  await page.getByRole("button", { name: /elements of job/ }).click();
  await page.getByRole("row", { name: /\[3\]/ }).getByText("held", { exact: true }).waitFor();
  ok("an array is one row, which shows its elements", true);
  await accessible("jobs");
  await page.getByRole("searchbox").fill("held2");
  await page.getByText("1 of 1 jobs").waitFor();
  await page.getByRole("checkbox", { name: /^Select job/ }).check();
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog");
  ok("deleting is confirmed first", (await dialog.textContent()).includes("can't be undone"));
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No job matches.").waitFor();
  ok("it is gone from the list", true);
  await page.getByRole("searchbox").fill("");
  await page.getByRole("button", { name: "Name" }).click();
  const shown = await page.locator("table.jobs tbody tr:not(.element) td:nth-child(3) a").allTextContents();
  ok("sorted by name", shown.length > 2 && shown.join() === [...shown].sort((a, b) => (a < b ? -1 : 1)).join(), shown.join());
}

async function past() {
  await go("#/history", "History");
  const row = page.getByRole("row", { name: /first/ });
  await row.getByText("succeeded").waitFor();
  ok("a finished job is in the history, with what it used", (await row.getByRole("meter").count()) >= 2);
  await accessible("history");
  await row.getByRole("button", { name: /Clear job/ }).click();
  await row.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: /cleared jobs again/ }).click();
  await row.getByRole("link", { name: "Submit again" }).click();
  await page.getByRole("heading", { name: /Submit job .* again/ }).waitFor();
  const old = (await page.url()).split("/").pop();
  const submission = async (id) => {
    const s = await page.evaluate(async (path) => (await fetch(path, { headers: { "Shunt-Session": localStorage.getItem("shunt-session") ?? "" } })).text(), `/v1/jobs/${id}/submission`);
    return s;
  };
  ok("cleared, shown again, and submitted again with what it was", (await page.getByLabel("Script").inputValue()).includes("the end"));
  await accessible("submit again");
  await page.getByRole("button", { name: "Submit again" }).click();
  await page.waitForURL(/#\/jobs?\/\d+/);
  const made = (await page.url()).split("/").pop();
  ok("byte for byte the same submission", made !== old && (await submission(made)) === (await submission(old)), `${await submission(made)} ${await submission(old)}`);
  await go("#/usage", "Usage");
  await page.getByText(/CPU hours allocated/).waitFor();
  await page.locator(".chart canvas").nth(2).waitFor();
  ok("the cluster over time: CPUs in use, waiting jobs, and the wait in each queue", (await page.getByRole("row", { name: /^batch 3 / }).count()) === 1);
  await page.getByText("You have no quota").waitFor();
  await accessible("usage");
}

async function portuguese() {
  await page.getByLabel("Language").selectOption("pt");
  await page.getByRole("heading", { level: 1, name: "Trabalhos" }).waitFor();
  await page.getByRole("row", { name: /wide/ }).getByText(/precisa de 8 CPUs/).waitFor();
  ok("the page speaks Portuguese, and so does the reason why a job waits", (await page.evaluate(() => document.documentElement.lang)) === "pt-BR");
  await page.getByRole("link", { name: "wide", exact: true }).click();
  await page.locator(".timeline").getByText("submetido", { exact: true }).waitFor();
  await page.getByLabel("Solicitado").fill("nodes=99:ppn=4");
  await page.getByRole("button", { name: "Prever" }).click();
  await page.getByText("pede 396 CPUs, mas os nós juntos têm 8").waitFor();
  down = true; /* what is answered by 400 is also in the browser's own list of faults */
  await page.getByLabel("Solicitado").fill("nodes=1:ppn=x");
  await page.getByRole("button", { name: "Prever" }).click();
  await page.getByText("nodes=1:ppn=x: ppn deve ser um número inteiro de 1 a 1000000").waitFor();
  ok("events, refusals and errors are said in Portuguese", true);
  down = false;
  await go("#/jobs", "Trabalhos");
  await page.getByLabel("Idioma").selectOption("en");
  await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
}

/* What a waiting job would gain, the machine as tiles, and a queue that is stopped. */
async function machine() {
  await page.getByRole("link", { name: "wide", exact: true }).click();
  await page.getByRole("button", { name: "Hold" }).click();
  await page.getByText("The job is held: it does not start until it is released.").waitFor();
  await page.getByRole("heading", { level: 1 }).getByText("held").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { level: 1 }).getByText("waiting").waitFor();
  ok("a hold shows, and is undone", true);
  await page.getByRole("button", { name: "Time limit …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "30 min more" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Change" }).click();
  await page.getByText("1:30:00", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Change …" }).click();
  await page.getByLabel("priority").fill("5");
  await page.getByLabel("label").fill("mine");
  await accessible("change a job");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: /^wide/ }).waitFor();
  const altered = await page.evaluate(async () => (await fetch(`/v1/jobs/${location.hash.split("/").pop()}`, { headers: { "Shunt-Session": localStorage.getItem("shunt-session") } })).json());
  ok("a job is changed from its view, by all that the server describes", altered.priority === 5 && altered.label === "mine" && altered.walltime === 5400, JSON.stringify(altered));
  await page.getByLabel("Requested").fill("nodes=1:ppn=1");
  await page.getByRole("button", { name: "Forecast" }).click();
  await page.getByText(/A new job like this would start/).waitFor();
  ok("what if a waiting job asked for less", true);
  await go("#/nodes", "Nodes");
  await page.getByRole("button", { name: /^n1.*busy/ }).click();
  await accessible("nodes");
  await page.getByRole("button", { name: "Take out of service" }).click();
  ok("taking a node out of service says what happens", (await page.getByRole("dialog").textContent()).includes("The 1 job(s) running there continue"));
  await page.getByRole("dialog").getByRole("button", { name: "Take out of service" }).click();
  await page.getByRole("button", { name: /^n1.*out of service/ }).waitFor();
  await page.getByRole("button", { name: "Return to service" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Return to service" }).click();
  await page.getByRole("button", { name: /^n1.*busy/ }).waitFor();
  ok("... and back", true);
  await go("#/admin", "Administration");
  const batch = page.getByRole("row", { name: /batch/ });
  await batch.getByRole("button", { name: "Stop" }).click();
  ok("stopping a queue says what happens", (await page.getByRole("dialog").textContent()).includes("No job of batch starts"));
  await page.getByRole("button", { name: "Confirm" }).click();
  await batch.getByRole("button", { name: "Start" }).click();
  await page.getByRole("button", { name: "Confirm" }).click();
  await batch.getByRole("button", { name: "Stop" }).waitFor();
  await accessible("administration");
  down = true; /* the refusal is also in the browser's own list of faults */
  await page.getByLabel("New").fill("no good");
  await page.getByRole("button", { name: "Create …" }).click();
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("alert").waitFor();
  down = false;
  await page.getByRole("link", { name: "Users" }).click();
  await page.getByRole("region", { name: "Users" }).waitFor();
  ok("an error leaves with its tab", (await page.getByRole("alert").count()) === 0);
  await go("#/admin/audit", "Administration");
  await page.getByRole("row", { name: /queue batch/ }).first().waitFor();
  ok("who changed what, and what undoes it", true);
}

/* A shell in the job that runs, and a job that holds a place for one. */
async function shell() {
  await go("#/jobs", "Jobs");
  await page.getByRole("link", { name: "filler", exact: true }).click();
  await page.getByRole("link", { name: "Shell", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: /^Shell in job/ }).waitFor();
  const screen = page.getByRole("log", { name: "What the shell writes" });
  const row = (text) => screen.locator("div").filter({ hasText: new RegExp(`^${text} *$`) });
  await page.getByLabel("What you type").focus();
  await page.keyboard.type("PS1='> '; echo in $PBS_JOBNAME; printf 'a \\033[31mred\\033[0m word\\n'\n");
  await row("in filler").waitFor();
  await row("a red word").waitFor();
  ok("a shell in a running job", (await screen.locator(".fg1").textContent()) === "red");
  await page.keyboard.type("printf '\\033[?1049h\\033[2J\\033[3;5Hthe third'; read x; printf '\\033[?1049l'; stty size\n");
  await row("    the third").waitFor();
  ok("programs draw on the whole screen", (await screen.locator("div").allTextContents()).findIndex((line) => line.includes("the third")) === 2);
  await accessible("a shell");
  await page.setViewportSize({ width: 800, height: 700 });
  const size = await screen.evaluate((e) => `${e.children.length} ${e.children[0].textContent.length}`);
  await page.keyboard.press("Enter");
  await row("in filler").waitFor();
  await screen.getByText(/^\d+ \d+/).waitFor();
  ok("the size of the window is the terminal's", (await screen.locator("div").allTextContents()).some((line) => line.trim() === size), size);
  await page.keyboard.type("echo slee''ps; sleep 600\n");
  await row("sleeps").waitFor();
  for (let i = 0; i < 100 && !(await row(">").isVisible()); i++) {
    await page.keyboard.press("Control+c"); /* one that comes before sleep has begun is lost */
    await page.waitForTimeout(200);
  }
  await page.keyboard.type("echo it is $?\n");
  await row("it is 130").waitFor();
  await row(">").waitFor(); /* before it the shell would lose the end of its input, too */
  await page.keyboard.press("Control+d");
  await page.getByText("The shell has ended.").waitFor();
  ok("Ctrl+C and Ctrl+D reach it", true);
  await page.setViewportSize({ width: 1280, height: 850 });
  await go(`#/files/${encodeURIComponent(process.env.WORK)}`, "Files");
  await page.getByRole("button", { name: "Open a terminal here" }).click();
  await page.getByText("The shell opens when the job runs: ").waitFor();
  const id = (await page.url()).split("/").at(-1);
  await go("#/jobs", "Jobs");
  await page.getByLabel("State").selectOption("ended");
  await page.getByRole("row", { name: new RegExp(`${id} .*terminal.*cancelled`) }).waitFor();
  ok("a terminal in a directory waits for its place, and gives it up when one leaves", true);
}

async function confirmed(button) {
  await button.click();
  await page.getByRole("dialog").getByRole("button", { name: "Confirm" }).click();
}

/* Actions on selected jobs; the answer says what became of them. */
async function bulk(action, fill) {
  await page.getByRole("checkbox", { name: /^Select job/ }).check();
  await page.getByRole("button", { name: `${action} …` }).click();
  const dialog = page.getByRole("dialog");
  await fill(dialog);
  const [answer] = await Promise.all([page.waitForResponse((r) => r.request().method() === "POST" && r.url().includes("/v1/jobs/")), dialog.getByRole("button", { name: action, exact: true }).click()]);
  return (await answer.json()).results[0].error?.message ?? "done";
}

/* A queue and a reservation from nothing and back, and jobs that are changed together. */
async function changes() {
  await go("#/nodes", "Nodes");
  await page.getByLabel("Colour by").selectOption("owner");
  await page.locator(".tile-owner small").first().getByText(/./).waitFor();
  await page.getByLabel("Colour by").selectOption("state");
  ok("tiles by owner and by state", (await page.locator(".tile-state small").allTextContents()).join() === "busy,busy");
  await go("#/admin/queues", "Administration");
  const night = page.getByRole("row", { name: /^night/ });
  await page.getByLabel("New").fill("night");
  await confirmed(page.getByRole("button", { name: "Create …" }));
  await confirmed(night.getByRole("button", { name: "Open" }));
  await night.getByRole("button", { name: "Close" }).waitFor();
  await night.getByRole("button", { name: "night", exact: true }).click();
  await page.getByLabel("Attribute", { exact: true }).fill("max_running");
  await page.getByLabel("Value", { exact: true }).fill("5");
  await page.getByRole("button", { name: "Set …" }).click();
  ok("what a change means is said", (await page.getByRole("dialog").textContent()).includes("max_running changes from not set to 5."));
  await page.getByRole("dialog").getByRole("button", { name: "Confirm" }).click();
  await night.getByText("max_running = 5").waitFor();
  await go("#/jobs", "Jobs");
  await page.getByRole("searchbox").fill("held1");
  await page.getByText("1 of 1 jobs").waitFor();
  const moved = await bulk("Move", (d) => d.getByLabel("Queue").selectOption("night"));
  await page.getByRole("row", { name: /held1/ }).getByText("night").waitFor();
  const altered = await bulk("Change", (d) => d.getByLabel("Priority").fill("7"));
  const again = await bulk("Run again", async () => undefined);
  await page.locator(".problem").waitFor();
  const back = await bulk("Move", (d) => d.getByLabel("Queue").selectOption("batch"));
  ok("jobs are moved, changed, and what can't be is told", moved === "done" && altered === "done" && back === "done" && again !== "done", [moved, altered, again, back].join("; "));
  await go("#/admin/queues", "Administration");
  await confirmed(page.getByRole("button", { name: "Delete night" }));
  await night.waitFor({ state: "hidden" });
  await go("#/admin/reservations", "Administration");
  const reserve = page.getByRole("region", { name: "New reservation" });
  await reserve.getByLabel("Name").fill("mended");
  await reserve.getByLabel("Nodes, or how many").fill("n1");
  const day = new Date(Date.now() + 3 * 86400000).toISOString().slice(0, 10);
  await reserve.getByLabel("From").fill(`${day}T08:00`);
  await reserve.getByLabel("Until").fill(`${day}T10:00`);
  await reserve.getByRole("button", { name: "Create …" }).click();
  await page.getByRole("dialog").getByText(/job\(s\) would start later|No job would start later/).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Confirm" }).click();
  const mended = page.getByRole("row", { name: /^mended/ });
  await mended.getByText(/nodes = n1/).waitFor();
  await accessible("reservations");
  await confirmed(page.getByRole("button", { name: "Delete mended" }));
  await mended.waitFor({ state: "hidden" });
  ok("a reservation is one form, and says whom it would delay before it is made", true);
}

/* The past under another policy, computed beside the server. */
async function simulation() {
  await go("#/admin", "Administration");
  await page.getByRole("link", { name: "Simulation" }).click();
  await page.getByLabel(/^Compare shunt/).selectOption("fcfs");
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.locator(".verdict").getByText(/With fcfs, jobs would have waited/).waitFor();
  await page.locator(".chart canvas").nth(2).waitFor();
  ok("the past under another policy, as charts", (await page.locator(".chart canvas").count()) === 3 && (await page.getByRole("row", { name: /Longest wait/ }).count()) === 1);
  await accessible("simulation");
}

/* Nodes that somebody works at: what an agent would have reported is added to the server's answer. */
async function workstations() {
  const habit = Array.from({ length: 168 }, (_, h) => (h % 24 > 8 && h % 24 < 18 && h > 23 && h < 144 ? "r" : h % 24 > 6 && h % 24 < 22 ? "c" : "a")).join("");
  const owner = { claims: true, since: Math.floor(Date.now() / 1000) - 600, why: "input at this machine", given: 40000, claimed: 90000, lost: 300, stops: 7, left: 2, gpus: [], habit };
  await page.route("**/v1/nodes", async (route) => {
    const answer = await (await route.fetch()).json();
    Object.assign(answer.nodes[0], { workstation: "idle", owner, features: ["fast", "rack2"] });
    Object.assign(answer.nodes[1], { features: ["rack10"] });
    await route.fulfill({ json: answer });
  });
  await go("#/nodes/n1", "Nodes");
  await page.getByRole("row", { name: /n1.*idle.*works there.*input at this machine/ }).waitFor();
  ok("workstations: whose they are now, and the owner's hours", (await page.getByRole("img", { name: /Mon 9–18; Tue 9–18/ }).count()) === 1);
  await accessible("workstations");
  const racks = async (by) => {
    await page.getByLabel("Group by").selectOption(by);
    return (await page.getByRole("heading", { level: 2 }).allTextContents()).filter((x) => / nodes?, CPUs /.test(x)).map((x) => x.split(" ")[0]).join();
  };
  ok("nodes are grouped by racks or names", (await racks("feature")) === "rack2,rack10" && (await racks("name")) === "n" && (await racks("none")) === "");
  await page.getByLabel("Group by").selectOption("feature");
  await accessible("racks");
  await page.unroute("**/v1/nodes");
}

async function plan() {
  await go("#/plan", "Plan");
  const canvas = page.locator("canvas.plan");
  await canvas.focus();
  await page.keyboard.press("n");
  await page.locator(".described").getByText(/CPUs of n/).waitFor();
  const colours = await canvas.evaluate((c) => new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size);
  ok("the plan is drawn", colours > 8, colours);
  await page.getByRole("button", { name: "Show all" }).click();
  const r = await canvas.boundingBox();
  const drag = async () => {
    await page.keyboard.down("Shift");
    await page.mouse.move(r.x + r.width * 0.6, r.y + 60);
    await page.mouse.down();
    await page.mouse.move(r.x + r.width * 0.8, r.y + 90, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
  };
  await drag();
  await page.getByRole("link", { name: "Reserve this" }).click();
  const reserve = page.getByRole("region", { name: "New reservation" });
  ok("what is marked in the plan can be reserved", (await reserve.getByLabel("Nodes, or how many").inputValue()) === "n1" && /T/.test(await reserve.getByLabel("From").inputValue()));
  await go("#/plan", "Plan");
  await page.getByRole("button", { name: "Show all" }).click();
  await drag();
  await page.getByRole("link", { name: "What if a job asked for this?" }).click();
  await page.locator(".forecast p:not(.empty)").waitFor();
  ok("... or tried with a job", (await page.getByLabel("CPUs per node").inputValue()) === "4");
  await go("#/plan", "Plan");
  await canvas.focus();
  await page.keyboard.press("n");
  await page.locator(".described").getByText(/CPUs of n/).waitFor();
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  await accessible("plan");
  await page.keyboard.press("Enter");
  await page.locator(".now").waitFor();
  ok("and opens a job by the keyboard", true);
}

async function phone() {
  await page.setViewportSize({ width: 390, height: 780 });
  await page.emulateMedia({ colorScheme: "dark" });
  for (const [hash, heading] of [["#/", /./], ["#/jobs", "Jobs"], ["#/jobs/1", /first/], ["#/plan", "Plan"], ["#/history", "History"], ["#/usage", "Usage"], ["#/files", "Files"], ["#/nodes", "Nodes"], ["#/admin", "Administration"], ["#/admin/simulation", "Administration"], ["#/submit", "Submit a job"]]) {
    await go(hash, heading);
    await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
    await fits(hash);
  }
  const seen = (selector) => page.locator(selector).evaluateAll((all) => all.length > 0 && all.every((e) => e.getBoundingClientRect().left >= 0 && e.getBoundingClientRect().right <= window.innerWidth));
  ok("a phone's menu shows all entries", (await page.locator("header nav a").count()) === 9 && (await seen("header nav a")));
  await go("#/jobs", "Jobs");
  await page.locator("table.jobs .state").first().waitFor();
  ok("... and its list of jobs their state", await seen("table.jobs .state"));
  await go("#/files", "Files");
  ok("the upload field's pattern is one that browsers take", await page.locator("input[pattern]").evaluate((e) => new RegExp(e.pattern, "v").test("code-1")));
  await go("#/submit", "Submit a job");
  await accessible("submit, on a phone, dark");
  await page.setViewportSize({ width: 1920, height: 1080 });
  await go("#/kiosk", /./);
  await page.locator(".kiosk .tile").first().waitFor();
  const filled = await page.evaluate(() => [document.documentElement.scrollHeight, Math.round(document.querySelector(".kiosk .cards").getBoundingClientRect().bottom), window.innerHeight]);
  ok("a wall display fills its screen", filled[0] <= filled[2] && filled[1] > filled[2] - 40, filled.join());
  ok("a wall display shows the cluster, and nothing to click but the way out", (await page.getByRole("navigation").count()) === 0);
  await accessible("wall display");
  await page.getByRole("link", { name: "Leave" }).click();
  await page.setViewportSize({ width: 1280, height: 850 });
}

/* The server is killed and started again below a job that writes lines. */
async function connection() {
  await go("#/jobs", "Jobs");
  await page.getByRole("link", { name: "filler", exact: true }).click();
  const log = page.getByRole("log", { name: "Output" });
  const lines = async () => (await log.textContent()).trimEnd().split("\n");
  await log.getByText(/line 3\n/).waitFor();
  down = true;
  await ask("kill");
  await page.getByText("The connection to the server is lost.").waitFor();
  await page.getByText("The connection is broken.").nth(1).waitFor();
  ok("a lost connection is shown, also where output and charts stand", true);
  const before = (await lines()).length;
  const charted = page.waitForResponse((r) => r.url().includes("/usage?") && r.ok());
  await ask("start");
  await page.getByText("The connection to the server is lost.").waitFor({ state: "hidden" });
  await page.waitForFunction((n) => document.querySelector("[role=log]").textContent.split("\n").length > n, before + 5);
  await charted;
  await page.getByText("The connection is broken.").first().waitFor({ state: "hidden" });
  const after = await lines();
  ok("output and charts continue where they were", after.every((l, i) => l === `line ${i + 1}`), after.filter((l, i) => l !== `line ${i + 1}`)[0]);
  down = false;
  await go("#/jobs", "Jobs");
  const name = await ask("another");
  await page.getByRole("link", { name, exact: true }).waitFor();
  ok("it comes back by itself, and the list continues", true);
}

async function framed() {
  const other = await context.newPage();
  await other.setContent(`<iframe src="${origin}/"></iframe>`);
  const frame = await other.waitForSelector("iframe").then((f) => f.contentFrame());
  await frame.waitForURL(/chrome-error/).catch(() => undefined);
  ok("another site can't frame the page (clickjacking)", frame.url().startsWith("chrome-error"), frame.url());
  await other.close();
}

async function signOut() {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(url);
  await page.getByText("This link no longer works").waitFor();
  ok("signed out; the link does not work again", true);
}

/* To another cluster that the user is logged in to, and signed in there. */
async function switched() {
  const p = await context.newPage();
  await p.goto(origin);
  await p.getByLabel("Cluster", { exact: true }).selectOption("pine");
  await p.waitForURL(/^https:/);
  await p.getByText("You have no jobs yet.").waitFor();
  ok("from one cluster to another, signed in by a link", (await p.locator(".user").textContent()).includes(process.env.SITE_USER) && !p.url().includes("key="), p.url());
  await p.close();
}

/* A system's server: by a password, over TLS. */
async function site() {
  const other = await browser.newContext({ ignoreHTTPSErrors: true });
  const p = await other.newPage();
  await p.goto(process.env.SITE);
  await p.getByLabel("User name").fill(process.env.SITE_USER);
  await p.getByLabel("Password").fill("wrong");
  await p.getByRole("button", { name: "Sign in" }).click();
  await p.getByText("The name or the password is wrong.").waitFor();
  await accessible("signing in", p);
  await p.getByLabel("Password").fill("right");
  await p.getByRole("button", { name: "Sign in" }).click();
  await p.getByText("You have no jobs yet.").waitFor();
  const [cookie] = await other.cookies();
  ok("signed in by a password, over TLS", cookie.secure && cookie.httpOnly && cookie.sameSite === "Strict" && cookie.name.startsWith("__Host-"), JSON.stringify(cookie));
  await p.evaluate(() => (location.hash = "#/files"));
  await p.getByText("This directory is empty.").waitFor();
  await p.getByLabel("Archive").setInputFiles(process.env.ARCHIVE);
  await p.getByLabel("New directory").fill("code");
  await accessible("files", p);
  await p.getByRole("button", { name: "Upload and build" }).click();
  await p.getByRole("heading", { level: 1, name: /^build-code/ }).waitFor();
  await p.getByRole("log").getByText("it is all").waitFor();
  await p.locator(".now .state-ok").waitFor();
  ok("an archive is unpacked and built by a job of the user, whose output shows", true);
  await p.evaluate(() => (location.hash = "#/files"));
  await p.getByRole("link", { name: "code/" }).click();
  const saved = p.waitForEvent("download");
  await p.getByRole("button", { name: "Download Makefile" }).click();
  ok("files are looked at and downloaded", (await saved).suggestedFilename() === "Makefile");
  await p.getByRole("button", { name: "Show Makefile" }).click();
  await p.locator("pre.output").getByText("it is").waitFor();
  await p.getByRole("button", { name: "Edit" }).click();
  await p.getByRole("textbox", { name: "Makefile" }).fill("all:\n\techo changed\n");
  await accessible("an editor", p);
  await p.getByRole("button", { name: "Save" }).click();
  await p.locator("pre.output").getByText("echo changed").waitFor();
  await p.getByRole("button", { name: "Close" }).click();
  await p.getByRole("button", { name: "Show Makefile" }).click();
  await p.locator("pre.output").getByText("echo changed").waitFor();
  ok("a small file is edited", (await p.locator("pre.output").textContent()) === "all:\n\techo changed\n", await p.locator("pre.output").textContent());
  const notes = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("some notes\n") };
  await p.getByLabel("Files, at most").setInputFiles([notes, { ...notes, name: "more.txt" }]);
  await p.getByRole("button", { name: "Upload here" }).click();
  await p.getByRole("button", { name: "Download more.txt" }).waitFor();
  await p.getByRole("button", { name: "Show notes.txt" }).click();
  await p.locator("pre.output").getByText("some notes").waitFor();
  ok("single files are uploaded", (await p.locator("pre.output").textContent()) === "some notes\n", await p.locator("pre.output").textContent());
  await p.getByLabel("Files, at most").setInputFiles([notes]);
  await p.getByRole("button", { name: "Upload here" }).click();
  await p.getByText("File exists").waitFor();
  ok("one that exists is left alone", true);
  await p.getByRole("button", { name: "Open a terminal here" }).click();
  const screen = p.getByRole("log", { name: "What the shell writes" });
  await p.getByLabel("What you type").focus();
  await p.keyboard.type("echo in ${PWD##*/}\n");
  await screen.getByText(/^in code/).waitFor();
  await p.keyboard.type("exit\n");
  await p.getByText("The shell has ended.").waitFor();
  await p.getByRole("link", { name: "terminal", exact: true }).click();
  await p.getByRole("heading", { level: 1 }).getByText("cancelled").waitFor();
  ok("a terminal in a directory, whose job goes with it", true);
  await other.close();
}

try {
  await signIn();
  await firstJob();
  await templates();
  await past();
  await ended();
  await array();
  await list();
  await portuguese();
  await machine();
  await shell();
  await changes();
  await simulation();
  await workstations();
  await plan();
  await phone();
  await framed();
  if (process.env.SITE) {
    await switched();
    await site();
  }
  await connection();
  ok("no code failed, and nothing was forbidden by the policy", faults.length === 0, faults.join("; "));
  await signOut();
  ok("nothing was asked of another site", strangers.length === 0, strangers.join(" "));
} catch (e) {
  ok("every step could be taken", false, `${e.message} | ${await page.locator("main").innerText().catch(() => "")}`);
} finally {
  await browser.close();
  process.exit(0);
}
