/* overview.tsx - load, the user's own jobs, who runs, who waits and why: one request, of a size that does not grow with the queue. */
import type { JSX } from "preact";
import type { Job, Overview } from "./api";
import { clockSet, instant, number } from "./format";
import { NotifyToggle } from "./notify";
import { Card, Instant, JobName, Meter, Problem, Progress, Relative, State, Table, useLive, useNow, whyOf, type Column } from "./parts";
import { plain } from "./said";
import { t } from "./text";

export function Load({ o }: { o: Overview }): JSX.Element {
  const m = o.machine;
  return (
    <dl class="load">
      <div>
        <dt>{t("load.cpus")}</dt>
        <dd>
          <b>{number(o.cpus_used)}</b> / {number(m.cpus)}
          <Meter value={o.cpus_used} all={m.cpus} label={t("load.of", { used: o.cpus_used, all: m.cpus })} />
        </dd>
      </div>
      <div>
        <dt>{t("load.nodes")}</dt>
        <dd>
          <b>{number(m.nodes_up)}</b> / {number(m.nodes)}
          <Meter value={m.nodes_up} all={m.nodes} label={t("load.of", { used: m.nodes_up, all: m.nodes })} />
        </dd>
      </div>
      <div>
        <dt>{t("load.running")}</dt>
        <dd>
          <b>{number(o.running)}</b>
        </dd>
      </div>
      <div>
        <dt>{t("load.waiting")}</dt>
        <dd>
          <b>{number(o.waiting)}</b>
        </dd>
      </div>
    </dl>
  );
}

function Own({ jobs, now }: { jobs: Job[]; now: number }): JSX.Element {
  if (!jobs.length)
    return (
      <p class="empty">
        {t("overview.none")}{" "}
        <a class="button" href="#/submit">
          {t("overview.first")}
        </a>
      </p>
    );
  return (
    <ul class="rows">
      {jobs.map((job) => (
        <li key={job.id}>
          <span class="grow">
            <JobName job={job} />
          </span>
          <Progress job={job} now={now} />
          <State job={job} />
          <span class="when">
            <Relative at={job.ended ?? job.started ?? job.expected_start ?? job.created} now={now} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/* By now, not once: the language may change. */
const who = (): Column<Job>[] => [
  { head: t("col.name"), cell: (job) => <JobName job={job} /> },
  { head: t("col.owner"), cell: (job) => job.owner },
  { head: t("col.cpus"), class: "n", cell: (job) => job.cpus },
];

export function Running({ jobs, now }: { jobs: Job[]; now: number }): JSX.Element {
  const ends: Column<Job> = {
    head: t("col.ends"),
    cell: (job) => (
      <>
        <Instant at={job.expected_end} /> <Progress job={job} now={now} />
      </>
    ),
  };
  return <Table rows={jobs} id={(job) => job.id} columns={[...who(), ends]} none={t("overview.running.none")} />;
}

export function Waiting({ jobs }: { jobs: Job[] }): JSX.Element {
  const columns: Column<Job>[] = [
    ...who(),
    { head: t("col.why"), class: "why", cell: (job) => whyOf(job) },
    {
      head: t("col.start"),
      cell: (job) => (job.expected_start || job.planned_start ? <Instant at={job.expected_start ?? job.planned_start} /> : <span class="quiet">{job.no_estimate && plain(job.no_estimate)}</span>),
    },
  ];
  return <Table rows={jobs} id={(job) => job.id} columns={columns} none={t("overview.waiting.none")} />;
}

function Users({ o }: { o: Overview }): JSX.Element {
  const columns: Column<Overview["users"][number]>[] = [
    { head: t("col.user"), cell: (u) => u.user },
    { head: t("col.running"), class: "n", cell: (u) => number(u.running) },
    {
      head: t("col.cpus"),
      cell: (u) => (
        <>
          {number(u.cpus)} <Meter value={u.cpus} all={o.machine.cpus} label={t("load.of", { used: u.cpus, all: o.machine.cpus })} />
        </>
      ),
    },
    { head: t("col.waiting"), class: "n", cell: (u) => number(u.waiting) },
  ];
  return <Table rows={o.users} id={(u) => u.user} columns={columns} />;
}

export function OverviewView(): JSX.Element {
  const { data, error } = useLive<Overview>("/v1/overview", () => true);
  const now = useNow();
  if (data) clockSet(data.machine.now);
  return (
    <main id="content" tabIndex={-1} aria-busy={!data}>
      <h1>
        {data ? data.machine.name : t("overview.title")}{" "}
        <small>
          <a href="#/kiosk">{t("kiosk.enter")}</a>
        </small>
      </h1>
      <Problem error={error} />
      {data ? (
        <>
          {!data.machine.scheduling && <p class="problem">{t("load.stopped")}</p>}
          {data.machine.shutdown && <p class="problem">{t("load.shutdown", { at: instant(data.machine.shutdown.begin) })}</p>}
          <Load o={data} />
          <div class="cards">
            <Card
              title={t("overview.own")}
              aside={
                <span class="row-actions">
                  {data.own_jobs.length > 0 && <NotifyToggle />}
                  <a class="button primary" href="#/submit">
                    {t("nav.submit")}
                  </a>
                </span>
              }
            >
              <Own jobs={data.own_jobs} now={now} />
            </Card>
            <Card title={t("overview.running")} aside={<a href="#/jobs">{t("overview.all")}</a>}>
              <Running jobs={data.running_jobs} now={now} />
            </Card>
            <Card title={t("overview.waiting")} class="wide">
              <Waiting jobs={data.waiting_jobs} />
              {data.waiting > data.waiting_jobs.length && (
                <p class="quiet">
                  {t("overview.waiting.more", { shown: number(data.waiting_jobs.length), all: number(data.waiting) })} <a href="#/jobs">{t("overview.all")}</a>
                </p>
              )}
            </Card>
            {data.users.length > 0 && (
              <Card title={t("overview.users")}>
                <Users o={data} />
              </Card>
            )}
          </div>
        </>
      ) : (
        !error && <p class="empty">{t("loading")}</p>
      )}
    </main>
  );
}
