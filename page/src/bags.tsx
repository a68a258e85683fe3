/* bags.tsx - bags of tasks, as the cluster sees them: each has allocations, which are jobs named after it; one of those that run has the bag's progress as its label. */
import type { JSX } from "preact";
import type { Job } from "./api";
import { decimal, number, serverNow } from "./format";
import { Card, Instant, Table, type Column } from "./parts";
import { t } from "./text";

interface Bag {
  name: string;
  owner: string;
  running: number;
  waiting: number;
  cpus: number;
  tasks?: Progress; /* of the newest job that has one */
}

interface Progress {
  tasks: number;
  done: number;
  failed: number;
  running: number;
  rate: number; /* tasks per second */
  end: number; /* when the last task is expected to end; 0: not known */
}

/* As `shunt bag` names what it requests from a Shunt server. */
const NAME = /^(s[bf][0-9a-f]{8})-\d+$/;
/* As progress() in src/bag/broker_cluster.c writes it. */
const LABEL = /^(\d+)\/(\d+) done, (\d+) failed, (\d+) running, ([\d.]+)\/s(?:, (\d+) s)?$/;

function progressOf(label: string | null | undefined): Progress | undefined {
  const [, done, tasks, failed, running, rate, left] = (LABEL.exec(label ?? "") ?? []).map(Number);
  return tasks ? { tasks, done, failed, running, rate, end: left >= 0 ? serverNow() + left : 0 } : undefined;
}

function bagsOf(jobs: Job[]): Bag[] {
  const bags = new Map<string, Bag>();
  for (const job of jobs) {
    const name = NAME.exec(job.name)?.[1];
    if (!name || job.state === "C") continue;
    const key = `${job.owner} ${name}`;
    const bag = bags.get(key) ?? { name, owner: job.owner, running: 0, waiting: 0, cpus: 0 };
    bags.set(key, bag);
    bag.tasks = progressOf(job.label) ?? bag.tasks;
    if (job.state === "R" || job.state === "E") {
      bag.running++;
      bag.cpus += job.cpus ?? 0;
    } else bag.waiting++;
  }
  return [...bags.values()];
}

/* Nothing where there are none. */
export function Bags({ jobs, onChoose }: { jobs: Job[]; onChoose: (name: string) => void }): JSX.Element | null {
  const bags = bagsOf(jobs);
  if (!bags.length) return null;
  const columns: Column<Bag>[] = [
    {
      head: t("bags.name"),
      cell: (b) => (
        <button type="button" class="plain" onClick={() => onChoose(b.name)}>
          {b.name}
        </button>
      ),
    },
    { head: t("col.owner"), cell: (b) => b.owner },
    { head: t("bags.done"), class: "n", cell: (b) => b.tasks && t("bags.of", { done: number(b.tasks.done), tasks: number(b.tasks.tasks) }) },
    { head: t("bags.failed"), class: "n", cell: (b) => b.tasks && number(b.tasks.failed) },
    { head: t("bags.now"), class: "n", cell: (b) => b.tasks && number(b.tasks.running) },
    { head: t("bags.rate"), class: "n", cell: (b) => b.tasks && decimal(b.tasks.rate) },
    { head: t("bags.end"), cell: (b) => b.tasks && <Instant at={b.tasks.end} /> },
    { head: t("bags.running"), class: "n", cell: (b) => number(b.running) },
    { head: t("bags.waiting"), class: "n", cell: (b) => number(b.waiting) },
    { head: t("col.cpus"), class: "n", cell: (b) => number(b.cpus) },
  ];
  return (
    <Card title={t("bags.title")} class="bags">
      <p class="quiet">{t("bags.about")}</p>
      <div class="scroll" tabIndex={0} role="region" aria-label={t("bags.title")}>
        <Table rows={bags} id={(b) => `${b.owner} ${b.name}`} columns={columns} />
      </div>
    </Card>
  );
}
