/* bags.tsx - bags of tasks, as the cluster sees them: each has allocations, which are jobs named after it. */
import type { JSX } from "preact";
import type { Job } from "./api";
import { number } from "./format";
import { Card, Instant, Table, type Column } from "./parts";
import { t } from "./text";

interface Bag {
  name: string;
  owner: string;
  running: number;
  waiting: number;
  cpus: number;
  until: number; /* the last planned end of those that run; 0: none */
}

/* As `shunt bag` names what it requests from a Shunt server. */
const NAME = /^(sb[0-9a-f]{8})-\d+$/;

function bagsOf(jobs: Job[]): Bag[] {
  const bags = new Map<string, Bag>();
  for (const job of jobs) {
    const name = NAME.exec(job.name)?.[1];
    if (!name || job.state === "C") continue;
    const key = `${job.owner} ${name}`;
    const bag = bags.get(key) ?? { name, owner: job.owner, running: 0, waiting: 0, cpus: 0, until: 0 };
    bags.set(key, bag);
    if (job.state === "R" || job.state === "E") {
      bag.running++;
      bag.cpus += job.cpus ?? 0;
      bag.until = Math.max(bag.until, job.expected_end ?? 0);
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
    { head: t("bags.running"), class: "n", cell: (b) => number(b.running) },
    { head: t("bags.waiting"), class: "n", cell: (b) => number(b.waiting) },
    { head: t("col.cpus"), class: "n", cell: (b) => number(b.cpus) },
    { head: t("bags.until"), cell: (b) => <Instant at={b.until} /> },
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
