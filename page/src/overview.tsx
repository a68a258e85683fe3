/* overview.tsx - load, the user's own jobs, who runs, who waits and why: one request, of a size that does not grow with the queue. */
import type { JSX } from "preact";
import type { Job, Overview } from "./api";
import { clockSet, instant, number } from "./format";
import { Card, Instant, jobLink, Meter, Problem, Progress, Relative, short, State, useLive, useNow } from "./parts";
import { t } from "./text";

function Load({ o }: { o: Overview }): JSX.Element {
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

function Name({ job }: { job: Job }): JSX.Element {
  return (
    <>
      <a href={jobLink(job.id)}>{job.name}</a> <small>{short(job.id)}</small>
    </>
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
            <Name job={job} />
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

function Running({ jobs, now }: { jobs: Job[]; now: number }): JSX.Element {
  if (!jobs.length) return <p class="empty">{t("overview.running.none")}</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("col.name")}</th>
          <th scope="col">{t("col.owner")}</th>
          <th scope="col" class="n">
            {t("col.cpus")}
          </th>
          <th scope="col">{t("col.ends")}</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id}>
            <td>
              <Name job={job} />
            </td>
            <td>{job.owner}</td>
            <td class="n">{job.cpus}</td>
            <td>
              <Instant at={job.expected_end} /> <Progress job={job} now={now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Waiting({ jobs }: { jobs: Job[] }): JSX.Element {
  if (!jobs.length) return <p class="empty">{t("overview.waiting.none")}</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("col.name")}</th>
          <th scope="col">{t("col.owner")}</th>
          <th scope="col" class="n">
            {t("col.cpus")}
          </th>
          <th scope="col">{t("col.why")}</th>
          <th scope="col">{t("col.start")}</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id}>
            <td>
              <Name job={job} />
            </td>
            <td>{job.owner}</td>
            <td class="n">{job.cpus}</td>
            <td class="why">{job.comment}</td>
            <td>{job.expected_start || job.planned_start ? <Instant at={job.expected_start ?? job.planned_start} /> : <span class="quiet">{job.no_estimate}</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Users({ o }: { o: Overview }): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("col.user")}</th>
          <th scope="col" class="n">
            {t("col.running")}
          </th>
          <th scope="col">{t("col.cpus")}</th>
          <th scope="col" class="n">
            {t("col.waiting")}
          </th>
        </tr>
      </thead>
      <tbody>
        {o.users.map((u) => (
          <tr key={u.user}>
            <td>{u.user}</td>
            <td class="n">{number(u.running)}</td>
            <td>
              {number(u.cpus)} <Meter value={u.cpus} all={o.machine.cpus} label={t("load.of", { used: u.cpus, all: o.machine.cpus })} />
            </td>
            <td class="n">{number(u.waiting)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function OverviewView(): JSX.Element {
  const { data, error } = useLive<Overview>("/v1/overview", () => true);
  const now = useNow();
  if (data) clockSet(data.machine.now);
  return (
    <main id="content" tabIndex={-1} aria-busy={!data}>
      <h1>{data ? data.machine.name : t("overview.title")}</h1>
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
                <a class="button primary" href="#/submit">
                  {t("nav.submit")}
                </a>
              }
            >
              <Own jobs={data.own_jobs} now={now} />
            </Card>
            <Card title={t("overview.running")} aside={<a href="#/jobs">{t("overview.all")}</a>}>
              <Running jobs={data.running_jobs} now={now} />
            </Card>
            <Card title={t("overview.waiting")} class="wide">
              <Waiting jobs={data.waiting_jobs} />
            </Card>
            {data.users.length > 0 && (
              <Card title={t("overview.users")}>
                <Users o={data} />
              </Card>
            )}
          </div>
        </>
      ) : (
        <p class="empty">{t("loading")}</p>
      )}
    </main>
  );
}
