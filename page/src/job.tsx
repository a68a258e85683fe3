/* job.tsx - one job: what is happening to it in plain words, its output as it grows, and what has happened so far. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { post, send, type Forecast, type Job } from "./api";
import { ArrayCard } from "./array";
import { clock, duration, instant, memory, relative } from "./format";
import { Outputs } from "./output";
import { Card, Confirm, Instant, Problem, Progress, short, State, useLive, useNow, whyOf } from "./parts";
import { errorText, eventText, plain, type JobEvent, type Said } from "./said";
import { t, type Sentence } from "./text";
import { Use } from "./use";

/* How it ended, or what it waits for; one sentence each. */
function Now({ job, now }: { job: Job; now: number }): JSX.Element {
  const start = job.expected_start ?? job.planned_start;
  const over = job.state === "C";
  return (
    <Card title={t(over ? "job.how" : "job.now")}>
      <p class="now">
        <State job={job} />
        {over && !job.array_counts && <span>{job.started ? t("job.ran", { span: duration((job.ended ?? job.started) - job.started), at: instant(job.ended) }) : t("job.never")}</span>}
        {job.state === "R" && job.started && <span>{t("job.running", { span: duration(now - job.started), at: instant(job.started + (job.walltime ?? 0)) })}</span>}
        {whyOf(job) && <span>{whyOf(job)}</span>}
        {start && job.state !== "R" && !over && <span>{t("job.expected", { when: relative(start, now), at: instant(start) })}</span>}
        {job.no_estimate && job.no_estimate !== job.comment && <span class="quiet">{plain(job.no_estimate)}</span>}
        {job.deadline && <span>{t(job.guaranteed ? "job.guaranteed" : "job.deadline", { at: instant(job.deadline) })}</span>}
      </p>
      <Progress job={job} now={now} />
    </Card>
  );
}

function Details({ job }: { job: Job }): JSX.Element {
  const rows: [Sentence, JSX.Element | string | null | undefined][] = [
    ["field.owner", job.owner],
    ["field.queue", job.queue],
    ["field.resources", job.resources],
    ["field.walltime", job.walltime ? clock(job.walltime) : null],
    ["field.hosts", job.exec_host],
    ["field.used", job.used && job.state === "C" ? t("job.used", { cpu: duration(job.used.cput), memory: memory(job.used.memory) }) : null],
    ["field.account", job.account],
    ["field.workdir", job.workdir],
    ["field.output", job.output],
    ["field.submitted", job.created ? <Instant at={job.created} /> : null],
    ["field.started", job.started ? <Instant at={job.started} /> : null],
    ["field.ended", job.ended ? <Instant at={job.ended} /> : null],
  ];
  return (
    <Card title={t("job.details")}>
      <dl class="fields">
        {rows
          .filter((r) => r[1])
          .map(([key, value]) => (
            <div key={key}>
              <dt>{t(key)}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}

function reasonOf(f: Forecast): string {
  return f.error ? errorText(f.error) : f.reason ? plain(f.reason) : t("whatif.never");
}

/* What would become of a waiting job if it asked for something else; nothing is changed. */
function WhatIf({ job, now }: { job: Job; now: number }): JSX.Element {
  const [resources, setResources] = useState(job.resources ?? "");
  const [walltime, setWalltime] = useState(job.walltime ? clock(job.walltime) : "");
  const [answer, setAnswer] = useState<Forecast | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const ask = async (e: SubmitEvent) => {
    e.preventDefault();
    try {
      const list = resources.split(",").filter((r) => r.trim() && !/^\s*walltime=/.test(r));
      setAnswer(await post<Forecast>("/v1/whatif", { resources: [list.join(","), ...(walltime ? [`walltime=${walltime}`] : [])].filter(Boolean), queue: job.queue }));
      setError(null);
    } catch (x) {
      setAnswer(null);
      setError(x as Error);
    }
  };
  const start = job.expected_start ?? job.planned_start;
  return (
    <Card title={t("whatif.title")}>
      <form class="attribute" onSubmit={ask}>
        <label>
          {t("field.resources")} <input value={resources} spellcheck={false} onInput={(e) => setResources(e.currentTarget.value)} />
        </label>
        <label>
          {t("field.walltime")} <input value={walltime} spellcheck={false} onInput={(e) => setWalltime(e.currentTarget.value)} />
        </label>
        <button type="submit">{t("whatif.ask")}</button>
      </form>
      <Problem error={error} />
      <p role="status">
        {answer &&
          (answer.possible && answer.start
            ? `${t("whatif.start", { when: relative(answer.start, now), at: instant(answer.start), end: instant(answer.end) })}${start ? ` ${t("whatif.now", { at: instant(start) })}` : ""}`
            : reasonOf(answer))}
      </p>
    </Card>
  );
}

function Script({ id }: { id: string }): JSX.Element | null {
  const [text, set] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    send("GET", `/v1/jobs/${encodeURIComponent(id)}/script`, { signal: stop.signal })
      .then((r) => r.text())
      .then(set)
      .catch(() => undefined); /* it is for its owner alone, and goes with the job */
    return () => stop.abort();
  }, [id]);
  return text === null ? null : (
    <Card title={t("job.script")}>
      <pre class="script" tabIndex={0}>
        {text}
      </pre>
    </Card>
  );
}

export function JobView({ id }: { id: string }): JSX.Element {
  const about = (job?: string) => !!job && (short(job) === id || short(job).startsWith(`${id.split("[")[0]}[`));
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const { data: job, error, reload } = useLive<Job>(path, (c) => about(c.job));
  const { data: past } = useLive<{ events: JobEvent[] }>(`${path}/events`, (c) => about(c.job));
  const [asked, setAsked] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const now = useNow();
  const act = async (action: string, more: object = {}) => {
    setAsked(false);
    try {
      const r = await post<{ results: { error?: Said }[] }>(`/v1/jobs/${action}`, { ids: [id], ...more });
      setFailure(r.results[0].error ? new Error(errorText(r.results[0].error)) : null);
    } catch (e) {
      setFailure(e as Error);
    }
    reload();
  };
  if (!job)
    return (
      <main id="content" tabIndex={-1}>
        <h1>{t("job.title", { id })}</h1>
        {error ? <p class="problem">{error.status === 404 ? t("job.unknown") : error.message}</p> : <p class="empty">{t("loading")}</p>}
      </main>
    );
  return (
    <main id="content" tabIndex={-1}>
      <h1>
        {job.name} <small>{t("job.title", { id })}</small> <State job={job} />
      </h1>
      <Problem error={failure} />
      <div class="actions">
        {job.state === "H" && (
          <button type="button" onClick={() => void act("release", { holds: "u" })}>
            {t("action.release")}
          </button>
        )}
        {"HREC".includes(job.state) || (
          <button type="button" onClick={() => void act("hold", { holds: "u" })}>
            {t("action.hold")}
          </button>
        )}
        {job.state === "C" ? (
          <a class="button" href={`#/submit/${encodeURIComponent(id)}`}>
            {t("action.resubmit")}
          </a>
        ) : (
          <button type="button" class="danger" onClick={() => setAsked(true)}>
            {t("action.delete")}
          </button>
        )}
      </div>
      {asked && <Confirm title={t("confirm.delete.title", { n: 1 })} text={t("confirm.delete.text")} action={t("action.delete")} onYes={() => void act("delete")} onNo={() => setAsked(false)} />}
      <div class="cards">
        <Now job={job} now={now} />
        <Card title={t("job.timeline")}>
          <ol class="timeline">
            {(past?.events ?? []).map((e) => (
              <li key={e.seq}>
                <Instant at={e.time} /> <span>{eventText(e)}</span>
              </li>
            ))}
          </ol>
        </Card>
        {job.array_counts && !job.past ? <ArrayCard job={job} /> : <Outputs job={job} />}
        <Use job={job} now={now} />
        <Details job={job} />
        <Script id={id} />
        {(job.state === "Q" || job.state === "H" || job.state === "W") && <WhatIf job={job} now={now} />}
      </div>
    </main>
  );
}
